//! Logs of a run, written while it runs: one thread takes the lines of the shards, formats them and writes the files.
//! No request ever waits for it: the shard leaves out the lines that the thread cannot take in time, and the last line
//! of each log and the report count them.
//!
//! Driven by `app`, which starts it before the run and ends it afterwards. Knows files and formats, but no shards.

mod columns;
mod fields;
mod progress;
mod sink;
mod writer;

use lgoose_base::error::{Diagnostic, Error};
use lgoose_metrics::{LogKind, LogMessage, LogRow, RunLogs};
use lgoose_plan::config::{LogFile, Logs};
use progress::{LogProgress, STALL_LIMIT};
use sink::LogSink;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use writer::{LineLayout, LogOutput, LogOutputs};

/// The most memory that all queued lines may take, in bytes.
const MAX_QUEUED_BYTES: usize = 64 << 20;

/// A handle that ends the writing of logs from another task.
#[derive(Debug)]
pub struct LogAbortHandle(Arc<LogProgress>);

impl LogAbortHandle {
    /// Drops everything that has not been written yet.
    pub fn now(&self) {
        self.0.abandoned.store(true, Ordering::Relaxed);
    }
}

/// The writer of a running test's logs.
#[derive(Debug)]
pub struct LogWriter {
    run_logs: RunLogs,
    files: Vec<(LogKind, LogFile)>,
    of_workers: bool,
    progress: Arc<LogProgress>,
    thread: JoinHandle<Vec<Error>>,
    /// Closed when the thread ends.
    ended: mpsc::Receiver<()>,
}

/// The result of writing the logs of a run.
#[derive(Debug)]
pub struct WrittenLogs {
    /// The rows of the report, one for each log.
    pub rows: Vec<LogRow>,
    /// Warnings for the report: lines that were left out.
    pub warnings: Vec<String>,
    /// Errors of the files that could not be written.
    pub troubles: Vec<Error>,
}

impl LogWriter {
    /// Opens the files and starts the thread. `None` if no log is requested. In a run `of_workers`, each line names its
    /// worker.
    ///
    /// # Errors
    /// Returns a mistake for a file that cannot be written: no request has been sent yet.
    pub fn start(logs: &Logs, of_workers: bool) -> Result<Option<LogWriter>, Error> {
        let files = [&logs.request, &logs.task, &logs.error, &logs.debug];
        let mut selected = [false; LogKind::ALL.len()];
        let mut open = Vec::new();
        let mut named = Vec::new();
        let progress = Arc::<LogProgress>::default();
        for (kind, file) in LogKind::ALL.into_iter().zip(files) {
            let Some(file) = file else {
                continue;
            };
            let unwritable = |error| {
                Diagnostic::new(format!("cannot write the log '{}': {error}", file.file))
                    .help("name a file in a folder that is there and can be written to")
            };
            let sink = LogSink::open(&file.file, progress.clone()).map_err(unwritable)?;
            selected[kind as usize] = true;
            let sorted = logs.sorted && kind == LogKind::Requests;
            let layout = LineLayout {
                kind,
                format: file.format,
                of_workers,
                traced: logs.traced,
            };
            open.push(LogOutput::new(layout, &file.file, sink, sorted));
            named.push((kind, file.clone()));
        }
        if open.is_empty() {
            return Ok(None);
        }
        let (out, parcels) = mpsc::channel::<LogMessage>();
        let run_logs = RunLogs::new(selected, out, MAX_QUEUED_BYTES);
        let (alive, ended) = mpsc::channel();
        let writer = LogOutputs {
            logs: open,
            run_logs: run_logs.clone(),
            progress: progress.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("logs".to_owned())
            .spawn(move || {
                let _until_the_end: mpsc::Sender<()> = alive;
                writer.write(&parcels)
            })
            .map_err(|error| Error::cannot("start the thread of the logs", error))?;
        Ok(Some(LogWriter {
            run_logs,
            files: named,
            of_workers,
            progress,
            thread,
            ended,
        }))
    }

    /// Returns the logs into which the run's shards record.
    pub fn run_logs(&self) -> RunLogs {
        self.run_logs.clone()
    }

    /// Returns a handle that ends [`LogWriter::finish`] early.
    pub fn abandon(&self) -> LogAbortHandle {
        LogAbortHandle(self.progress.clone())
    }

    /// Writes the remaining lines, as long as the files accept them, and ends the thread.
    pub fn finish(self) -> WrittenLogs {
        self.progress.over.store(true, Ordering::Relaxed);
        self.run_logs.end();
        let mut before = None;
        let mut hangs = false;
        while let Err(mpsc::RecvTimeoutError::Timeout) = self.ended.recv_timeout(STALL_LIMIT * 2) {
            let steps = self.progress.steps.load(Ordering::Relaxed);
            hangs = before.replace(steps) == Some(steps);
            if hangs {
                break;
            }
        }
        // A thread that hangs in a system call ends with the process.
        let troubles = if hangs {
            Vec::new()
        } else {
            self.thread.join().unwrap_or_else(|_| {
                let message = "the thread of the logs ended because of a bug in lgoose";
                vec![Error::trouble(message)]
            })
        };
        let rows: Vec<LogRow> = self
            .files
            .iter()
            .map(|(kind, file)| row(*kind, file.file.to_string(), &self.run_logs, &self.progress))
            .collect();
        let short = rows.iter().filter(|row| row.left_out > 0);
        let warnings = short.map(|row| warning(row, self.of_workers)).collect();
        WrittenLogs {
            rows,
            warnings,
            troubles,
        }
    }
}

fn row(kind: LogKind, file: String, run_logs: &RunLogs, progress: &LogProgress) -> LogRow {
    let lines = progress.lines[kind as usize].load(Ordering::Relaxed);
    LogRow {
        log: name(kind).to_owned(),
        file,
        lines,
        left_out: run_logs.made(kind).saturating_sub(lines),
    }
}

fn warning(row: &LogRow, of_workers: bool) -> String {
    let omitted = lgoose_base::units::show_count(row.left_out);
    let all = lgoose_base::units::show_count(row.left_out + row.lines);
    let why = if of_workers {
        "workers, the broker or the file could not take them as fast as they came, or a worker was lost"
    } else {
        "the file could not be written as fast as they came, or not at all"
    };
    format!(
        "{omitted} of {all} lines of the log '{}' were left out: {why}",
        row.file
    )
}

/// Returns the name of a log in a report.
fn name(kind: LogKind) -> &'static str {
    match kind {
        LogKind::Requests => "requests",
        LogKind::Tasks => "tasks",
        LogKind::Errors => "errors",
        LogKind::Debug => "debug",
    }
}

#[cfg(test)]
mod tests;
