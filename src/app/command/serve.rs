//! `lgoose serve`: holds the queue of runs, serves it over HTTP and works it off, until it is interrupted.

use super::web::{announce, options};
use crate::app::runtime;
use crate::app::signal_handler::{self, KillNotices};
use crate::cli::{self, WebPlace};
use lgoose_base::console;
use lgoose_base::error::{Diagnostic, Error, exit, printable};
use lgoose_base::machine;
use lgoose_web::WebServer;
use lgoose_web::queue::{Plans, RunFolder, RunnerEnd, Runs, run_all};
use rustix::process::Signal as RawSignal;
use std::sync::Arc;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// Serves until it is interrupted.
///
/// # Errors
/// A mistake in the flags, or trouble with the folders, the port or the signals.
pub(super) fn serve(flags: &cli::ServeArgs) -> Result<u8, Error> {
    for path in [&flags.plans, &flags.data] {
        if path.to_str().is_none() {
            let message = format!("the name of the folder '{}' is not UTF-8", path.display());
            return Err(Diagnostic::new(message).help("name another folder").into());
        }
    }
    machine::raise_descriptor_limit();
    let plans = Plans::open(&flags.plans)?;
    let data = RunFolder::open(&flags.data)?;
    let place = flags.web.web.clone().unwrap_or(WebPlace {
        host: "127.0.0.1".to_owned(),
        port: None,
    });
    let read_only = flags.web.web_read_only;
    let server = WebServer::open(options(&flags.web, &place), &machine::host_name())?;
    let url = server.url();
    let runs = Arc::new(Runs::new(plans, data, terms_of_runs(flags)));
    let runtime = runtime()?;
    let mut interrupts = runtime.block_on(listen())?;
    let web = server.start_serve(crate::app::runtime()?, runs.clone())?;
    announce("all runs", &url, &flags.web);
    let ended = runtime.block_on(async {
        let ended = run_all(&runs, read_only, &mut interrupts, print_line).await;
        if ended == RunnerEnd::Idle {
            tokio::select! {
                () = web.leave(None, std::future::pending()) => {}
                _ = interrupts.recv() => {}
            }
        }
        ended
    });
    runtime.shutdown_background();
    Ok(match ended {
        RunnerEnd::Idle => exit::OK,
        RunnerEnd::Hurried => exit::ABORTED,
    })
}

/// Returns the flags of every run, by which the server decides what plans may do.
fn terms_of_runs(flags: &cli::ServeArgs) -> Vec<String> {
    let mut terms = Vec::new();
    if flags.allow_files {
        terms.push("--allow-files".to_owned());
    }
    if flags.sandbox {
        terms.push("--sandbox".to_owned());
    }
    // The variable is older than the flag.
    if !flags.env_allow.is_empty() || std::env::var_os("LGOOSE_ENV_ALLOW").is_none() {
        terms.push(format!("--env-allow={}", flags.env_allow.join(",")));
    }
    let hosts = flags.allow_host.iter();
    terms.extend(hosts.map(|host| format!("--allow-host={host}")));
    terms
}

/// Starts to listen for the signals that end the server; each one sends a message to the receiver. One that announces a
/// kill is a first Ctrl-C, and never a second one.
async fn listen() -> Result<mpsc::Receiver<()>, Error> {
    let cannot = |error| Error::cannot("listen for Ctrl-C", error);
    signal_handler::outlive_file_limit().map_err(cannot)?;
    let ends = [
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ];
    let signals = ends
        .into_iter()
        .chain(signal_handler::listen_for(RawSignal::HUP));
    let signals = signals.collect::<Result<_, _>>();
    let notices = KillNotices::listen().map_err(cannot)?;
    let (sender, interrupts) = mpsc::channel(8);
    tokio::spawn(pass_on(signals.map_err(cannot)?, notices, sender));
    Ok(interrupts)
}

async fn pass_on(mut signals: Vec<Signal>, mut notices: KillNotices, interrupts: mpsc::Sender<()>) {
    let mut is_first = true;
    loop {
        tokio::select! {
            () = signal_handler::any_of(&mut signals) => {}
            () = notices.received() => {
                if !is_first {
                    continue;
                }
            }
        }
        is_first = false;
        // More than eight waiting interrupts mean nothing new.
        let _interrupted_already = interrupts.try_send(());
    }
}

fn print_line(text: &str) {
    console::err().put(format!("{}\n", printable(text)).into_bytes());
}
