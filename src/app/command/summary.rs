//! What the plan's `on("report")` function returns when a run is over: texts to print, and files beside the plan.

use super::{flags, outputs, screen};
use crate::app::guard::Guard;
use crate::app::places::{self, RunFile};
use crate::app::signals::Signals;
use crate::cli;
use crate::config::Config;
use crate::control::Handle;
use crate::engine::Outcome;
use crate::error::{Error, Trouble};
use crate::lua::Written;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The texts that a plan returned for its run, and what went wrong with its files.
#[derive(Debug, Default)]
pub(super) struct Summary {
    texts: Vec<Vec<u8>>,
    pub(super) troubles: Vec<Error>,
}

/// Passes the report to the plan's function, if it has one, and writes the files that it returns; a signal gives it up.
/// Called once all that was asked for is written: the plan's own code may take long, or be aborted.
pub(super) async fn write(
    outcome: &Outcome,
    config: &Config,
    run: &cli::RunArgs,
    (guard, handle): (&Guard, &Handle),
) -> Summary {
    let mut summary = Summary::default();
    match call(outcome, config, (guard, handle)).await {
        Ok(written) => {
            for one in written {
                match one {
                    Written::Text(text) => summary.texts.push(text),
                    Written::File(name, bytes) => {
                        let written = write_file(outcome, config, run, &name, &bytes);
                        summary.troubles.extend(written.err());
                    }
                }
            }
        }
        Err(trouble) => summary.troubles.push(trouble),
    }
    summary
}

/// Passes the report to the plan's function, if it has one, and returns what is to be written.
async fn call(
    outcome: &Outcome,
    config: &Config,
    (guard, handle): (&Guard, &Handle),
) -> Result<Vec<Written>, Error> {
    let is_given_up = Arc::<AtomicBool>::default();
    let Some(call) = outcome.summary_call(config.local.memory, is_given_up.clone())? else {
        return Ok(Vec::new());
    };
    let mut called = tokio::task::spawn_blocking(call);
    let signals = Signals::Obeyed(guard.clone());
    let called = tokio::select! {
        called = &mut called => called,
        () = signals.interrupted(handle) => {
            is_given_up.store(true, Ordering::Relaxed);
            called.await
        }
    };
    called.map_err(|error| Error::cannot("wait for on(\"report\")", error))?
}

impl Summary {
    /// Prints the texts; on standard error if standard output is for a report.
    pub(super) fn show(&self, run: &cli::RunArgs) {
        for text in &self.texts {
            let text = String::from_utf8_lossy(text);
            if screen::writes_to_stdout(run) {
                screen::aside(&text)
            } else {
                screen::print_last(&text)
            }
        }
    }
}

/// Writes a file that the plan names: in its folder or below, and not over anything that the run has read or written.
fn write_file(
    outcome: &Outcome,
    config: &Config,
    run: &cli::RunArgs,
    name: &str,
    bytes: &[u8],
) -> Result<(), Error> {
    let folder = flags::folder(run);
    let path = folder.join(name);
    if !run.outputs.allow_files && places::leads_out(&folder, &PathBuf::from(name)) {
        let why = format!(
            "on(\"report\") names the file '{name}', which is not in the plan's folder; '--allow-files' lets the plan \
             write anywhere"
        );
        return Err(Error::trouble(why));
    }
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let why = format!("on(\"report\") names '{name}', which is there and is no file");
        return Err(Error::trouble(why));
    }
    let mut taken = flags::other_files(run).read;
    taken.extend(places::read_by(&outcome.program, &config.local));
    taken.extend(places::written_by(&config.local));
    taken.extend(places::reports(&run.outputs.output));
    taken.extend(flags::log_file(run));
    let file = RunFile::new("a file of on(\"report\")", &path);
    places::apart(&taken, &[file])?;
    outputs::replace(&path, bytes).map_err(|error| {
        let trouble = Trouble::cannot("write what on(\"report\") returned to");
        trouble.with_path(&path).because(error).into()
    })
}
