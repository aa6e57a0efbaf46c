//! The thread that writes the logs: it formats the entries it receives and passes them to the files.

use super::columns;
use super::fields::{Csv, CsvHeader, FieldSink, Jsonl};
use super::progress::LogProgress;
use super::sink::{LogSink, SinkFailure};
use lgoose_base::error::{Error, Trouble};
use lgoose_base::files::{FileUse, NamedFile, Sorter, or_here};
use lgoose_metrics::{
    Chunk, LogEntry, LogKind, LogMessage, LogWorker, RequestEntry, RunLogs, TaskEntry,
};
use lgoose_plan::config::LogFormat;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};

/// The number of bytes after which lines are passed to a file; the end of a chunk flushes them, too.
const FLUSH_BYTES: usize = 256 * 1024;

/// Column of the worker, the first one in a run on workers.
const WORKER: &str = "worker";

/// All logs of a run.
#[derive(Debug)]
pub(super) struct LogOutputs {
    pub(super) logs: Vec<LogOutput>,
    pub(super) run_logs: RunLogs,
    pub(super) progress: Arc<LogProgress>,
}

impl LogOutputs {
    /// Writes until the channel closes. Returns the errors of the files that could not be written.
    pub(super) fn write(mut self, parcels: &mpsc::Receiver<LogMessage>) -> Vec<Error> {
        while let Ok(LogMessage::Chunk(chunk)) = parcels.recv() {
            self.add(&chunk);
            self.progress.steps.fetch_add(1, Ordering::Relaxed);
        }
        let LogOutputs {
            logs,
            run_logs,
            progress,
        } = self;
        let ended = logs.into_iter().map(|mut log| {
            log.write_sorted(&progress);
            let lines = progress.lines[log.layout.kind as usize].load(Ordering::Relaxed);
            log.last_line(run_logs.made(log.layout.kind).saturating_sub(lines));
            log.trouble
        });
        ended.flatten().collect()
    }

    fn add(&mut self, chunk: &Chunk) {
        for entry in chunk.entries() {
            for log in &mut self.logs {
                log.enter(&entry, chunk.worker(), &self.progress);
            }
        }
        for log in &mut self.logs {
            log.flush(&self.progress);
        }
    }
}

/// Layout of the lines of a log.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineLayout {
    pub(super) kind: LogKind,
    pub(super) format: LogFormat,
    /// Whether each line begins with the name of its worker.
    pub(super) of_workers: bool,
    /// Whether each line of a request ends with its trace.
    pub(super) traced: bool,
}

/// One log and its file.
#[derive(Debug)]
pub(super) struct LogOutput {
    layout: LineLayout,
    file: NamedFile,
    sink: LogSink,
    buffer: Vec<u8>,
    sorter: Option<Sorter>,
    /// Whether the header line, which does not count, has not been written yet.
    names_due: bool,
    /// Whether writing has ended.
    ended: bool,
    trouble: Option<Error>,
}

impl LogOutput {
    /// Creates a log that is written to that file.
    pub(super) fn new(
        layout: LineLayout,
        file: &NamedFile,
        sink: LogSink,
        sorted: bool,
    ) -> LogOutput {
        let place = file.place(FileUse::Write);
        let folder = or_here(place.parent().unwrap_or(Path::new("")));
        let mut buffer = Vec::new();
        let names_due = layout.format == LogFormat::Csv;
        if names_due {
            names(layout, &mut buffer);
        }
        LogOutput {
            layout,
            file: file.clone(),
            sink,
            names_due,
            buffer,
            sorter: sorted.then(|| Sorter::new(folder.to_owned())),
            ended: false,
            trouble: None,
        }
    }

    fn enter(&mut self, entry: &LogEntry<'_>, worker: Option<&LogWorker>, progress: &LogProgress) {
        if self.ended {
            return;
        }
        let start = self.buffer.len();
        let name = worker.map(|worker| &*worker.name);
        if !line(self.layout, entry, name, &mut self.buffer) {
            return;
        }
        if let (Some(sorter), LogEntry::Request(request)) = (&mut self.sorter, entry) {
            // Each worker counts its connections for itself.
            let first = worker.map_or(0, |worker| u64::from(worker.number) << 48);
            let connection = request
                .connection
                .map_or(u64::MAX, |number| first | number.get());
            let added = sorter.add((connection, request.start_ns), &self.buffer[start..]);
            self.buffer.truncate(start);
            if let Err(error) = added {
                self.sorter = None;
                self.end(SinkFailure::Broken(error));
            }
        } else if self.buffer.len() >= FLUSH_BYTES {
            self.flush(progress);
        }
    }

    fn flush(&mut self, progress: &LogProgress) {
        if self.ended || self.buffer.is_empty() {
            return;
        }
        let (mut lines, outcome) = self.sink.write(&self.buffer);
        self.buffer.clear();
        if self.names_due && lines > 0 {
            self.names_due = false;
            lines -= 1;
        }
        progress.lines[self.layout.kind as usize].fetch_add(lines, Ordering::Relaxed);
        if let Err(ended) = outcome {
            self.end(ended);
        }
    }

    fn end(&mut self, ended: SinkFailure) {
        self.ended = true;
        if let SinkFailure::Broken(error) = ended {
            let trouble = Trouble::cannot("write the log").with_path(self.file.to_string());
            self.trouble = Some(trouble.because(error).into());
        }
    }

    /// Writes the sorted lines.
    fn write_sorted(&mut self, progress: &LogProgress) {
        let Some(sorter) = self.sorter.take() else {
            return self.flush(progress);
        };
        let read = sorter.each(|line| {
            self.buffer.extend_from_slice(line);
            if self.buffer.len() >= FLUSH_BYTES {
                self.flush(progress);
            }
            !self.ended
        });
        self.flush(progress);
        if let Err(error) = read {
            self.end(SinkFailure::Broken(error));
        }
    }

    /// Writes how many lines were left out, if the file still accepts lines.
    fn last_line(&mut self, omitted: u64) {
        if omitted == 0 {
            return;
        }
        self.buffer.clear();
        match self.layout.format {
            LogFormat::Jsonl => {
                let line = format!("{{\"left_out\":{omitted}}}\n");
                self.buffer.extend_from_slice(line.as_bytes());
            }
            LogFormat::Csv => {
                // As many fields as every row, so that readers do not stumble over it.
                let mut header = Vec::new();
                names(self.layout, &mut header);
                let header = header.trim_ascii_end().split(|byte| *byte == b',');
                let fields = header.map(|name| match name {
                    b"error" => format!("{omitted} lines were left out"),
                    _ => String::new(),
                });
                let line = fields.collect::<Vec<_>>().join(",") + "\n";
                self.buffer.extend_from_slice(line.as_bytes());
            }
        }
        // If the file accepts nothing more, only the report has the number.
        let _full = self.sink.write(&self.buffer);
    }
}

/// Appends the line of an entry; false if the log has none for it.
fn line(layout: LineLayout, entry: &LogEntry<'_>, worker: Option<&str>, out: &mut Vec<u8>) -> bool {
    let LineLayout {
        kind,
        format,
        traced,
        ..
    } = layout;
    let start = out.len();
    if format == LogFormat::Jsonl {
        out.push(b'{');
    }
    if let Some(name) = worker {
        match format {
            LogFormat::Jsonl => Jsonl(out).text(WORKER, name),
            LogFormat::Csv => Csv(out).text(WORKER, name),
        }
    }
    let has_one = match format {
        LogFormat::Csv => fields(kind, traced, entry, &mut Csv(out)),
        LogFormat::Jsonl => fields(kind, traced, entry, &mut Jsonl(out)),
    };
    if !has_one {
        out.truncate(start);
        return false;
    }
    // The comma after the last field.
    out.pop();
    out.extend_from_slice(match format {
        LogFormat::Csv => b"\n",
        LogFormat::Jsonl => b"}\n",
    });
    true
}

/// Writes the fields of an entry; false if the log has no line for it.
fn fields(kind: LogKind, traced: bool, entry: &LogEntry<'_>, to: &mut impl FieldSink) -> bool {
    match entry {
        LogEntry::Request(entry) => columns::request(kind, traced, entry, to),
        LogEntry::Task(entry) => columns::task(kind, traced, entry, to),
    }
}

/// Appends the header line: the names of the log's columns, taken from one of its lines.
fn names(layout: LineLayout, out: &mut Vec<u8>) {
    let LineLayout { kind, traced, .. } = layout;
    if layout.of_workers {
        CsvHeader(out).text(WORKER, "");
    }
    let request = RequestEntry {
        error: Some(""),
        messages: Some(lgoose_metrics::ExchangeMessages {
            request_headers: "",
            response_headers: "",
            body: "",
            body_bytes: 0,
        }),
        ..RequestEntry::default()
    };
    if !columns::request(kind, traced, &request, &mut CsvHeader(out)) {
        columns::task(kind, traced, &TaskEntry::default(), &mut CsvHeader(out));
    }
    out.pop();
    out.push(b'\n');
}
