//! Results of the plan's `on("report")` function when a run is over: texts to print, and files beside the plan.

use super::context::RunContext;
use super::{flags, screen};
use crate::app::loading;
use crate::app::places::{self, RunFile};
use crate::cli;
use lgoose_base::error::{Error, Trouble};
use lgoose_base::files::{FileError, FileUse, NamedFile};
use lgoose_engine::Outcome;
use lgoose_lua::Written;
use lgoose_plan::config::Config;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The texts that a plan returned for its run, and trouble with its files.
#[derive(Debug, Default)]
pub(super) struct Summary {
    texts: Vec<Vec<u8>>,
    pub(super) troubles: Vec<Error>,
}

/// Passes the report to the plan's function, if it has one, and writes the files that it returns; a signal gives it up.
/// Called once all requested outputs are written: the plan's own code may take long, or be aborted.
pub(super) async fn write(context: RunContext<'_>, outcome: &Outcome, config: &Config) -> Summary {
    let mut summary = Summary::default();
    match call(context, outcome, config).await {
        Ok(written) => {
            for one in written {
                match one {
                    Written::Text(text) => summary.texts.push(text),
                    Written::File(name, bytes) => {
                        let written = write_file(outcome, config, context.flags, &name, &bytes);
                        summary.troubles.extend(written.err());
                    }
                }
            }
        }
        Err(trouble) => summary.troubles.push(trouble),
    }
    summary
}

/// Passes the report to the plan's function, if it has one, and returns the texts and files to write.
async fn call(
    context: RunContext<'_>,
    outcome: &Outcome,
    config: &Config,
) -> Result<Vec<Written>, Error> {
    if !outcome.has_report_hook {
        return Ok(Vec::new());
    }
    let is_given_up = Arc::<AtomicBool>::default();
    let call = loading::summary_call(
        &outcome.program,
        &outcome.report,
        config.local.memory,
        is_given_up.clone(),
    )?;
    let mut called = tokio::task::spawn_blocking(call);
    let called = tokio::select! {
        called = &mut called => called,
        () = context.interrupted() => {
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

/// Writes a file that the plan names, by the rules for such files, and not over anything that the run has read or written.
fn write_file(
    outcome: &Outcome,
    config: &Config,
    run: &cli::RunArgs,
    name: &str,
    bytes: &[u8],
) -> Result<(), Error> {
    let plan = run.plan.as_deref().unwrap_or(Path::new(""));
    let file = NamedFile::from(name).of_plan(&flags::folder_of(plan, run));
    let mut taken = flags::other_files(run).read;
    taken.extend(places::read_by(&outcome.program, &config.local));
    taken.extend(places::written_by(&config.local));
    taken.extend(places::reports(&run.outputs.output));
    taken.extend(flags::log_file(run));
    let own = RunFile::named("a file of on(\"report\")", &file, FileUse::Write);
    let written = match file.check_words(FileUse::Write) {
        Ok(()) => {
            places::apart(&taken, &[own])?;
            file.replace(bytes)
        }
        Err(refusal) => Err(refusal.into()),
    };
    written.map_err(|error| {
        let line = outcome.program.report_line();
        let line = line.map_or_else(String::new, |line| format!(" ({line})"));
        let trouble = Trouble::cannot(format!(
            "write '{file}', which on(\"report\") returned{line}"
        ));
        let remedy = match &error {
            FileError::Refused(refusal) => refusal.help(),
            FileError::Io(_) => "make the folder, or name another file",
        };
        trouble.because(error).help(remedy).into()
    })
}
