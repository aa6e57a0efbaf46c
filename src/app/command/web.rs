//! The web server of a run, as the flags say.

use super::context::RunContext;
use super::screen::aside;
use crate::app::prepare::PreparedRun;
use crate::app::runtime;
use crate::cli;
use lgoose_base::console;
use lgoose_base::error::Error;
use lgoose_base::machine;
use lgoose_base::units::show_duration;
use lgoose_metrics::control::{Command as Ask, Handle, Interrupt};
use lgoose_web::queue as serve;
use lgoose_web::{ListenAddress, RunHeading, ServerOptions, WebServer, WebThread};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// A server of a run, and the address of its page.
pub(super) struct RunServer {
    pub(super) thread: WebThread,
    pub(super) url: String,
}

/// Opens the server of a run, if the flags request one.
///
/// # Errors
/// A mistake in a flag, or trouble with the port.
pub(super) fn open(flags: &cli::RunArgs) -> Result<Option<WebServer>, Error> {
    let Some(place) = &flags.web.web else {
        return Ok(None);
    };
    WebServer::open(options(&flags.web, place), &machine::host_name()).map(Some)
}

/// Starts to serve the run.
///
/// # Errors
/// Trouble with a thread, or with the host of the run.
pub(super) fn serve(
    server: WebServer,
    flags: &cli::RunArgs,
    prepared: &PreparedRun,
    handle: &Handle,
) -> Result<RunServer, Error> {
    let (url, address) = (server.url(), server.address());
    let facts = RunHeading {
        plan: prepared.run.name.clone(),
        host: prepared.run.target.clone(),
    };
    let thread = server.start(runtime()?, handle.clone(), facts)?;
    match &flags.web.host {
        Some(host) => {
            let cannot = |error| Error::cannot("tell the host of this run", error);
            serve::send_address(host, address.map_err(cannot)?).map_err(cannot)?;
            end_with(host.clone(), handle.clone())?;
        }
        None => announce("this run", &url, &flags.web),
    }
    Ok(RunServer { thread, url })
}

/// Ends the server of a run that is over and whose outputs are written, once those that read the page or scrape the metrics have
/// its end. A signal ends the wait, and nothing else.
pub(super) async fn leave(server: RunServer, context: RunContext<'_>) {
    let flags = context.flags;
    context.handler.note_concluded();
    let skipped = context.handler.interrupted();
    let linger = server.thread.linger(flags.linger.web_linger);
    let linger = linger.filter(|_| !context.handle.is_aborted());
    if let Some(linger) = linger
        && !flags.screen.quiet
    {
        aside(&format!(
            "waiting up to {} for one more scrape of /metrics: Ctrl-C skips that, '--web-linger 0' leaves it out",
            show_duration(linger)
        ));
    }
    server.thread.leave(linger, skipped).await;
}

/// Returns the options of a server.
pub(super) fn options(flags: &cli::WebArgs, place: &cli::WebPlace) -> ServerOptions {
    ServerOptions {
        place: ListenAddress {
            host: place.host.clone(),
            port: place.port,
        },
        token: flags.web_token.clone(),
        read_only: flags.web_read_only,
        insecure: flags.web_insecure,
        origin: flags.web_origin.clone(),
        cert: flags.web_cert.clone(),
        key: flags.web_key.clone(),
    }
}

/// Prints the address of the page, and opens it in the browser if the flags request it.
pub(super) fn announce(what: &str, url: &str, flags: &cli::WebArgs) {
    // Not in the log, whose file others may read: the address may have the token.
    console::err().put(format!("page of {what}: {url}\n").into_bytes());
    if flags.open {
        show(url);
    }
}

/// Stops the run when the host of this process has gone, since nobody else could.
fn end_with(host: Arc<UnixStream>, run: Handle) -> Result<(), Error> {
    let thread = std::thread::Builder::new().name("host".to_owned());
    let waiting = thread.spawn(move || {
        serve::host_gone(&host);
        // Nobody waits for the response.
        drop(run.send(Ask::Interrupt(Interrupt::Signal)));
    });
    waiting
        .map(drop)
        .map_err(|error| Error::cannot("listen to the host of this run", error))
}

/// Opens an address in the browser of this machine, if there is one.
fn show(url: &str) {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(opener);
    command
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.spawn() {
        Ok(mut opener) => {
            // The command may run as long as the browser.
            std::thread::spawn(move || opener.wait());
        }
        Err(error) => {
            tracing::warn!(target: "lgoose::web", "cannot open the page by '{opener}': {error}; open it by its address");
        }
    }
}
