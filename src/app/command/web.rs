//! Serves the run over HTTP, as the flags say.

use crate::app::runtime;
use crate::app::supervisor::Begun;
use crate::cli;
use crate::console;
use crate::error::Error;
use crate::machine;
use crate::web::{Facts, Options, Place, Server, WebThread};
use std::process::{Command, Stdio};

/// A server of the run, and the address of its page.
pub(super) struct Web {
    pub(super) thread: WebThread,
    pub(super) url: String,
}

/// Serves the run, if the flags want that.
///
/// # Errors
/// A mistake in a flag, or trouble with the port.
pub(super) fn serve(flags: &cli::Run, begun: &Begun) -> Result<Option<Web>, Error> {
    let Some(place) = &flags.web.web else {
        return Ok(None);
    };
    let options = Options {
        place: Place {
            host: place.host.clone(),
            port: place.port,
        },
        token: flags.web.web_token.clone(),
        read_only: flags.web.web_read_only,
        insecure: flags.web.web_insecure,
        cert: flags.web.web_cert.clone(),
        key: flags.web.web_key.clone(),
    };
    let machine = machine::host_name();
    let server = Server::open(options, &machine)?;
    let url = server.url();
    let facts = Facts {
        plan: begun.prepared().name.clone(),
        host: begun.target(),
    };
    let thread = server.start(runtime()?, begun.handle().clone(), facts)?;
    // Not by the log, whose file others may read.
    console::err().put(format!("page of this run: {url}\n").into_bytes());
    if flags.web.open {
        open(&url);
    }
    Ok(Some(Web { thread, url }))
}

/// Opens an address in the browser of this machine, if there is one.
fn open(url: &str) {
    let opener = match cfg!(target_os = "macos") {
        true => "open",
        false => "xdg-open",
    };
    let mut command = Command::new(opener);
    command
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.spawn() {
        Ok(mut opener) => {
            // It may stay as long as the browser does.
            std::thread::spawn(move || opener.wait());
        }
        Err(error) => {
            tracing::warn!(target: "lgoose::web", "cannot open the page by '{opener}': {error}; open it by its address");
        }
    }
}
