//! Logs of a run, from the first line to their rows in the report: those of users here, and those of workers.

use super::signals::Signals;
use lgoose_base::error::Error;
use lgoose_engine::{Outcome, WorkerLogs};
use lgoose_metrics::RunLogs;
use lgoose_metrics::control::Handle;
use lgoose_plan::config::Logs;
use lgoose_report::log::{LogWriter, WrittenLogs};

/// The logs that a run keeps, if any.
pub(super) struct RetainedLogs {
    writer: Option<LogWriter>,
    workers: Option<WorkerLogs>,
}

/// Result of writing the logs.
#[derive(Default)]
pub(super) struct LogsOutcome {
    written: Option<WrittenLogs>,
    /// Warnings about entries that workers did not deliver.
    missing: Vec<String>,
}

impl RetainedLogs {
    /// Opens the files; `workers` deliver the entries of their users.
    ///
    /// # Errors
    /// Returns a mistake for a file that cannot be written.
    pub(super) fn start(
        logs: &Logs,
        mut workers: Option<WorkerLogs>,
    ) -> Result<RetainedLogs, Error> {
        let writer = LogWriter::start(logs, workers.is_some())?;
        if let (Some(workers), Some(writer)) = (&mut workers, &writer) {
            workers.start(writer.run_logs());
        }
        Ok(RetainedLogs { writer, workers })
    }

    /// Returns the logs into which shards record.
    pub(super) fn run_logs(&self) -> Option<RunLogs> {
        self.writer.as_ref().map(LogWriter::run_logs)
    }

    /// Waits for the remaining entries of workers, and writes them. Ctrl-C and SIGTERM end the wait.
    ///
    /// # Errors
    /// Returns trouble with the thread that writes.
    pub(super) async fn finish(
        self,
        signals: &Signals,
        run: &Handle,
    ) -> Result<LogsOutcome, Error> {
        let missing = match self.workers {
            Some(workers) => fetch(workers, signals, run).await,
            None => Vec::new(),
        };
        let written = match self.writer {
            Some(writer) => Some(write(writer, signals, run).await?),
            None => None,
        };
        Ok(LogsOutcome { written, missing })
    }
}

async fn fetch(workers: WorkerLogs, signals: &Signals, run: &Handle) -> Vec<String> {
    tokio::select! {
        missing = workers.end() => missing,
        () = signals.interrupted(run) => {
            vec!["logs are incomplete: lgoose did not wait for what workers still had of them".to_owned()]
        }
    }
}

/// Writes the remaining entries. The reader of a pipe may read as slowly as it likes.
async fn write(writer: LogWriter, signals: &Signals, run: &Handle) -> Result<WrittenLogs, Error> {
    let abandon = writer.abandon();
    let mut finishing = tokio::task::spawn_blocking(|| writer.finish());
    let written = tokio::select! {
        written = &mut finishing => written,
        () = signals.interrupted(run) => {
            abandon.now();
            finishing.await
        }
    };
    written.map_err(|error| Error::cannot("end the logs", error))
}

impl LogsOutcome {
    /// Adds the logs to the report. A file that could not be written is trouble.
    pub(super) fn enter(self, outcome: &mut Outcome) {
        outcome.report.warnings.extend(self.missing);
        let Some(written) = self.written else {
            return;
        };
        outcome.report.logs = written.rows;
        outcome.report.warnings.extend(written.warnings);
        for trouble in written.troubles {
            outcome.trouble.get_or_insert(trouble);
        }
    }
}
