//! `lgoose demo`: a built-in site, served until Ctrl-C.

use super::screen::print_text;
use crate::app::sites::site_named;
use crate::cli;
use lgoose_base::error::Error;
use lgoose_base::error::exit;
use lgoose_base::machine;
use lgoose_demo::{Behaviour, Demo};

/// Serves the site until the process ends.
///
/// # Errors
/// A mistake if no site has that name; trouble with the port.
pub(super) fn serve(flags: &cli::DemoArgs) -> Result<u8, Error> {
    let behaviour = Behaviour {
        latency: flags.latency,
        jitter: flags.jitter,
        errors: flags.errors,
    };
    let site = site_named(&flags.site)?;
    machine::raise_descriptor_limit();
    let demo = Demo::start(site, flags.port, behaviour, machine::cores())?;
    print_text(&format!(
        "demo:{} is served at {}; Ctrl-C ends it",
        flags.site,
        demo.url()
    ))?;
    demo.wait();
    Ok(exit::OK)
}
