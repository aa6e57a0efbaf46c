//! `lgoose demo`: a built-in site, served until Ctrl-C.

#[cfg(feature = "demo")]
use super::screen::print_text;
#[cfg(feature = "demo")]
use crate::app::sites::site_named;
use crate::cli;
use lgoose_base::error::Error;
#[cfg(feature = "demo")]
use lgoose_base::error::exit;
#[cfg(feature = "demo")]
use lgoose_base::machine;
#[cfg(feature = "demo")]
use lgoose_demo::{Behaviour, Demo};

/// Serves the site until the process ends.
///
/// # Errors
/// A mistake if no site has that name; trouble with the port.
#[cfg(feature = "demo")]
pub(super) fn serve(flags: &cli::DemoArgs) -> Result<u8, Error> {
    let behaviour = Behaviour {
        latency: flags.latency,
        jitter: flags.jitter,
        errors: flags.errors,
    };
    let site = site_named(&flags.site)?;
    machine::raise_descriptor_limit();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let demo = Demo::start(site, flags.port, behaviour, threads)?;
    print_text(&format!(
        "demo:{} is served at {}; Ctrl-C ends it",
        flags.site,
        demo.url()
    ))?;
    demo.wait();
    Ok(exit::OK)
}

/// Returns the mistake that no site is built in.
///
/// # Errors
/// Always.
#[cfg(not(feature = "demo"))]
pub(super) fn serve(flags: &cli::DemoArgs) -> Result<u8, Error> {
    Err(crate::app::sites::missing(&flags.site).into())
}
