//! Logs of a run on their way from the shards to the writer: all requests and tasks, as bytes.
//!
//! A [`LogRecorder`] belongs to the [`Recorder`](crate::Recorder) of one shard and is filled where requests are
//! counted, so that the two can never differ. It delivers whole [`Chunk`]s, at each tick and when one is full, and
//! never waits: entries that do not fit into the memory for logs are left out and counted. It knows neither files nor
//! formats.

mod entry;
mod travel;

pub use entry::{ExchangeMessages, LogEntry, RequestEntry, TaskEntry};
pub use travel::{pack_entries, pieces};

use crate::exemplars::messages;
use crate::record::{Context, GroupedName, Sample, TaskRun};
use entry::{MOST_TEXT, cut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// Size in bytes from which on a chunk is handed over before the tick.
const CHUNK: usize = 256 * 1024;

/// The most bytes of a body in the debug log.
const MOST_BODY: usize = 4 * 1024;

/// The most bytes of one side's headers in the debug log.
const MOST_HEADERS: usize = 16 * 1024;

/// Kinds of logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// Log of every request.
    Requests,
    /// Log of every run of a task or transaction.
    Tasks,
    /// Log of failed requests and tasks.
    Errors,
    /// Log of failed requests with their headers and bodies.
    Debug,
}

impl LogKind {
    /// All logs, each at its own number.
    pub const ALL: [LogKind; 4] = [
        LogKind::Requests,
        LogKind::Tasks,
        LogKind::Errors,
        LogKind::Debug,
    ];
}

/// Selection of the logs that are kept, by their numbers.
pub type LogSelection = [bool; LogKind::ALL.len()];

/// Number of lines of each log.
pub type LineCounts = [u64; LogKind::ALL.len()];

/// Messages from a shard to the writer of logs.
#[derive(Debug)]
pub enum LogMessage {
    /// Some entries.
    Chunk(Chunk),
    /// The end: no more entries come.
    End,
}

/// Entries of one shard. Dropping them frees their share of the memory for logs.
#[derive(Debug)]
pub struct Chunk {
    bytes: Vec<u8>,
    /// The worker that the entries came from; `None` for this process.
    worker: Option<LogWorker>,
    shared: Arc<LogRecorderState>,
}

/// A worker, as logs name it.
#[derive(Debug, Clone)]
pub struct LogWorker {
    /// A number of its own, which orders lines that are sorted.
    pub number: u16,
    /// Its name.
    pub name: Arc<str>,
}

impl Chunk {
    /// Returns the entries in their order.
    pub fn entries(&self) -> impl Iterator<Item = LogEntry<'_>> {
        entry::entries(&self.bytes)
    }

    /// Returns the worker that the entries came from; `None` for this process.
    pub fn worker(&self) -> Option<&LogWorker> {
        self.worker.as_ref()
    }

    /// Returns the entries as [`pack_entries`] takes them; those of several chunks can stand one after another.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let taken = self.bytes.capacity();
        self.shared.on_the_way.fetch_sub(taken, Ordering::Relaxed);
    }
}

/// Makes the log recorders of a run's shards.
#[derive(Debug, Clone)]
pub struct RunLogs {
    selection: LogSelection,
    out: Sender<LogMessage>,
    shared: Arc<LogRecorderState>,
}

/// State shared by the recorders of all shards; touched once per chunk, not once per request.
#[derive(Debug)]
struct LogRecorderState {
    /// Bytes of chunks that are not written yet, and the most that there may be.
    on_the_way: AtomicUsize,
    most: usize,
    /// Lines that each log would have if none were left out.
    made: [AtomicU64; LogKind::ALL.len()],
}

impl RunLogs {
    /// Makes the logs that are wanted. They send their chunks to `out`, and leave out entries that would make
    /// unwritten chunks take more than `most` bytes.
    pub fn new(selection: LogSelection, out: Sender<LogMessage>, most: usize) -> RunLogs {
        RunLogs {
            selection,
            out,
            shared: Arc::new(LogRecorderState {
                on_the_way: AtomicUsize::new(0),
                most,
                made: Default::default(),
            }),
        }
    }

    /// Returns the lines handed over so far that this log would have if none were left out.
    pub fn made(&self, log: LogKind) -> u64 {
        self.shared.made[log as usize].load(Ordering::Relaxed)
    }

    /// Tells the writer that no more entries come.
    pub fn end(&self) {
        // It does not matter if the writer has already ended.
        let _ended = self.out.send(LogMessage::End);
    }

    /// Returns the lines handed over so far that each log would have if none were left out.
    pub fn all_made(&self) -> LineCounts {
        LogKind::ALL.map(|log| self.made(log))
    }

    /// Counts lines that a worker has made, whether or not they arrive.
    pub fn add_made(&self, lines: &LineCounts) {
        for (made, lines) in self.shared.made.iter().zip(lines) {
            made.fetch_add(*lines, Ordering::Relaxed);
        }
    }

    /// Adds the packed entries of a worker. The caller must wait while too much is [on the way](RunLogs::on_the_way).
    ///
    /// # Errors
    /// If the bytes are no packed entries, or too many.
    pub fn admit(
        &self,
        packed: &[u8],
        worker: LogWorker,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let bytes = travel::unpack_entries(packed)?;
        let taken = bytes.capacity();
        self.shared.on_the_way.fetch_add(taken, Ordering::Relaxed);
        let chunk = Chunk {
            bytes,
            worker: Some(worker),
            shared: self.shared.clone(),
        };
        // A writer that has ended writes nothing; the report counts the missing lines.
        let _ended = self.out.send(LogMessage::Chunk(chunk));
        Ok(())
    }

    /// Returns how many bytes of entries are not written yet.
    pub fn on_the_way(&self) -> usize {
        self.shared.on_the_way.load(Ordering::Relaxed)
    }

    /// Makes the log recorder of one shard; its times count from `origin`.
    pub(crate) fn request_log(&self, origin: Instant) -> LogRecorder {
        LogRecorder {
            run_logs: self.clone(),
            origin,
            bytes: Vec::new(),
            lines: LineCounts::default(),
        }
    }
}

/// Entries of one shard that were not handed over yet.
#[derive(Debug)]
pub(crate) struct LogRecorder {
    run_logs: RunLogs,
    origin: Instant,
    bytes: Vec<u8>,
    lines: LineCounts,
}

impl LogRecorder {
    fn selects(&self, log: LogKind) -> bool {
        self.run_logs.selection[log as usize]
    }

    /// Enters a request if a log wants it.
    pub(crate) fn request(
        &mut self,
        label: &GroupedName,
        sample: &Sample<'_>,
        context: &Context<'_>,
    ) {
        let failed = sample.failure.is_some();
        let logs = [
            self.selects(LogKind::Requests),
            false,
            failed && self.selects(LogKind::Errors),
            failed && self.selects(LogKind::Debug),
        ];
        if logs == LogSelection::default() {
            return;
        }
        let details = context.details;
        let start = since(self.origin, sample.start);
        let messages =
            logs[LogKind::Debug as usize].then(|| messages(details, MOST_HEADERS, MOST_BODY));
        let final_url = match sample.redirects {
            0 => String::new(),
            _ => details.final_url(),
        };
        // The row may count some values together.
        let tags = match details.tags() {
            Some(own) if !own.are_in(&label.tags) => label.tags.with(own).beside_scenario(),
            _ => label.tags.beside_scenario(),
        };
        let entry = RequestEntry {
            user: context.user,
            scenario: cut(context.scenario),
            task: cut(context.task),
            name: cut(&label.name),
            method: cut(details.method()),
            url: "",
            final_url: cut(&final_url),
            status: sample.response.status(),
            start_ns: start,
            end_ns: start + nanoseconds(sample.latency),
            delay_ns: sample.delay.map(nanoseconds),
            connection: context.connection,
            phases_ns: sample.phases.in_order().map(nanoseconds),
            bytes: sample.traffic.received,
            redirects: sample.redirects,
            retries: sample.retries,
            message_counts: details.messages(),
            class: details.class(),
            error: sample.failure.map(|failure| cut(failure.message)),
            line: sample.failure.and_then(|failure| failure.line),
            tags: cut(&tags),
            trace: context.trace.map(|trace| trace.first),
            messages: messages.as_ref().map(|owned| owned.as_entry()),
        };
        let bytes = &mut self.bytes;
        details.url(&mut |origin, path| {
            let origin = cut(origin);
            let rest = path.floor_char_boundary(MOST_TEXT - origin.len());
            entry.encode(bytes, [origin, &path[..rest]]);
        });
        self.entered(logs);
    }

    /// Enters a run of a task or transaction if a log wants it.
    pub(crate) fn task(&mut self, run: &TaskRun<'_>) {
        let Some(context) = &run.context else {
            return;
        };
        let failed = run.failure.is_some();
        let logs = [
            false,
            self.selects(LogKind::Tasks),
            failed && self.selects(LogKind::Errors),
            false,
        ];
        if logs == LogSelection::default() {
            return;
        }
        let start = since(self.origin, run.start);
        let entry = TaskEntry {
            user: context.user,
            scenario: cut(context.scenario),
            name: cut(context.name),
            transaction: context.transaction,
            start_ns: start,
            end_ns: start + nanoseconds(run.latency),
            error: run.failure.map(|failure| cut(failure.message)),
            line: run.failure.and_then(|failure| failure.line),
        };
        entry.encode(&mut self.bytes);
        self.entered(logs);
    }

    fn entered(&mut self, logs: LogSelection) {
        for (lines, entered) in self.lines.iter_mut().zip(logs) {
            *lines += u64::from(entered);
        }
        if self.bytes.len() >= CHUNK {
            self.hand_over();
        }
    }

    /// Hands over the entries since the last time, or leaves them out if too many bytes are not written yet.
    pub(crate) fn hand_over(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        let shared = &self.run_logs.shared;
        for (made, lines) in shared.made.iter().zip(std::mem::take(&mut self.lines)) {
            made.fetch_add(lines, Ordering::Relaxed);
        }
        let taken = self.bytes.capacity();
        let before = shared.on_the_way.fetch_add(taken, Ordering::Relaxed);
        if before + taken > shared.most {
            shared.on_the_way.fetch_sub(taken, Ordering::Relaxed);
            return self.bytes.clear();
        }
        // Reserves as much as was needed this time; the last entry of a full chunk goes beyond its size.
        let next = match self.bytes.len() {
            CHUNK.. => Vec::with_capacity(CHUNK + MOST_TEXT),
            length => Vec::with_capacity(length),
        };
        let chunk = Chunk {
            bytes: std::mem::replace(&mut self.bytes, next),
            worker: None,
            shared: shared.clone(),
        };
        // Without a writer nothing is written; the lines are counted all the same.
        let _ended = self.run_logs.out.send(LogMessage::Chunk(chunk));
    }
}

impl Drop for LogRecorder {
    fn drop(&mut self) {
        self.hand_over();
    }
}

fn since(origin: Instant, at: Instant) -> u64 {
    nanoseconds(at.saturating_duration_since(origin))
}

fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}

#[cfg(test)]
mod tests;
