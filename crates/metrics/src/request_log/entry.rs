//! Encodes entries of a log as bytes and back: numbers first, then texts with their lengths. They carry no version,
//! since only this process, or the same version of lgoose on another machine, reads them.

use lgoose_base::trace::TraceContext;
use std::num::{NonZeroU64, NonZeroU128};

/// Longest text of an entry, in bytes: more of a name, a URL or a message helps nobody.
pub(super) const MOST_TEXT: usize = 8 * 1024;

/// Value that stands for a missing number.
const NONE: u64 = u64::MAX;

const REQUEST: u8 = 1;
const TASK: u8 = 2;
/// A request with a trace.
const TRACED: u8 = 3;

/// An entry of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "it is read in place, one at a time; a request is the usual one"
)]
pub enum LogEntry<'a> {
    /// A request was counted.
    Request(RequestEntry<'a>),
    /// A run of a task or transaction was counted.
    Task(TaskEntry<'a>),
}

/// A request. Texts are cut after 8 KiB; nothing in them is escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestEntry<'a> {
    /// The user's number, from 1; 0 stands for `test_start` and `test_stop`.
    pub user: u64,
    /// The user's scenario.
    pub scenario: &'a str,
    /// The task that made it; empty in `test_start` and `test_stop`.
    pub task: &'a str,
    /// The name that it counts under.
    pub name: &'a str,
    /// The method.
    pub method: &'a str,
    /// The requested URL, absolute.
    pub url: &'a str,
    /// URL of the final response, after redirects; empty without redirects.
    pub final_url: &'a str,
    /// Status of the final response; 0 without one.
    pub status: u16,
    /// Start of the request, in nanoseconds since the start of the run.
    pub start_ns: u64,
    /// End of the request, on the same clock.
    pub end_ns: u64,
    /// Delay of the start against the schedule, in nanoseconds; only in a run at a rate.
    pub delay_ns: Option<u64>,
    /// Number of the connection that carried it, with redirects the last one; `None` if there was none, or if it is
    /// not known.
    pub connection: Option<NonZeroU64>,
    /// Durations of dns, connect, tls, send, first byte and receive, in nanoseconds.
    pub phases_ns: [u64; 6],
    /// Bytes received.
    pub bytes: u64,
    /// Redirects followed.
    pub redirects: u32,
    /// How often it was sent again on a new connection.
    pub retries: u32,
    /// Messages sent and received, of a stream, a WebSocket or a call.
    pub message_counts: Option<[u64; 2]>,
    /// Class of a failure without a response, else empty.
    pub class: &'a str,
    /// Reason of the failure, if it failed.
    pub error: Option<&'a str>,
    /// The line of the plan that failed.
    pub line: Option<&'a str>,
    /// Its tags other than the scenario: `page=cart, region=eu`.
    pub tags: &'a str,
    /// Trace context of its first hop.
    pub trace: Option<TraceContext>,
    /// Its headers and the body's start, for the debug log alone.
    pub messages: Option<ExchangeMessages<'a>>,
}

/// Headers and body of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeMessages<'a> {
    /// Headers of the request, one a line.
    pub request_headers: &'a str,
    /// Headers of the response, one a line.
    pub response_headers: &'a str,
    /// The start of the body.
    pub body: &'a str,
    /// Length of the body in bytes.
    pub body_bytes: u64,
}

/// A run of a task or transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskEntry<'a> {
    /// See [`RequestEntry::user`].
    pub user: u64,
    /// The user's scenario.
    pub scenario: &'a str,
    /// Name of the task, or its place in the plan.
    pub name: &'a str,
    /// Whether it is a transaction.
    pub transaction: bool,
    /// Start of the run, in nanoseconds since the start of the whole run.
    pub start_ns: u64,
    /// End of the run, on the same clock.
    pub end_ns: u64,
    /// Reason of the failure, if it failed.
    pub error: Option<&'a str>,
    /// The line of the plan that failed.
    pub line: Option<&'a str>,
}

impl RequestEntry<'_> {
    /// Appends the entry to `out`, with the two pieces of `url` in place of its own URL.
    pub(super) fn encode(&self, out: &mut Vec<u8>, url: [&str; 2]) {
        let [dns, connect, tls, send, first_byte, receive] = self.phases_ns;
        let [sent, received] = self.message_counts.unwrap_or([NONE; 2]);
        let numbers = [
            self.user,
            u64::from(self.status),
            self.start_ns,
            self.end_ns,
            self.delay_ns.unwrap_or(NONE),
            self.connection.map_or(0, NonZeroU64::get),
            dns,
            connect,
            tls,
            send,
            first_byte,
            receive,
            self.bytes,
            u64::from(self.redirects),
            u64::from(self.retries),
            sent,
            received,
        ];
        match &self.trace {
            None => out.push(REQUEST),
            Some(trace) => {
                out.push(TRACED);
                let id = trace.trace_id.get();
                put_numbers(out, &[(id >> 64) as u64, id as u64]);
                put_numbers(out, &[trace.span_id.get(), trace.sampled.into()]);
            }
        }
        put_numbers(out, &numbers);
        put(out, &[self.scenario]);
        put(out, &[self.task]);
        put(out, &[self.name]);
        put(out, &[self.method]);
        put(out, &url);
        put(out, &[self.final_url]);
        put(out, &[self.class]);
        put_optional(out, self.error);
        put_optional(out, self.line);
        put(out, &[self.tags]);
        put_numbers(
            out,
            &[self.messages.map_or(NONE, |messages| messages.body_bytes)],
        );
        if let Some(messages) = &self.messages {
            put(out, &[messages.request_headers]);
            put(out, &[messages.response_headers]);
            put(out, &[messages.body]);
        }
    }
}

impl TaskEntry<'_> {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.push(TASK);
        put_numbers(
            out,
            &[
                self.user,
                u64::from(self.transaction),
                self.start_ns,
                self.end_ns,
            ],
        );
        put(out, &[self.scenario]);
        put(out, &[self.name]);
        put_optional(out, self.error);
        put_optional(out, self.line);
    }
}

/// Cuts a text to its first [`MOST_TEXT`] bytes.
pub(super) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_TEXT)]
}

fn put_numbers(out: &mut Vec<u8>, numbers: &[u64]) {
    for number in numbers {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

fn put(out: &mut Vec<u8>, pieces: &[&str]) {
    let length: usize = pieces.iter().map(|piece| piece.len()).sum();
    out.extend_from_slice(&(length as u32).to_le_bytes());
    for piece in pieces {
        out.extend_from_slice(piece.as_bytes());
    }
}

fn put_optional(out: &mut Vec<u8>, text: Option<&str>) {
    out.push(text.is_some().into());
    put(out, &[text.unwrap_or_default()]);
}

/// Returns the entries that were appended to these bytes.
pub(super) fn entries(bytes: &[u8]) -> impl Iterator<Item = LogEntry<'_>> {
    let mut cursor = EntryReader(bytes);
    std::iter::from_fn(move || cursor.entry())
}

/// Returns how many bytes the first entries take that fit into `most`, but at least those of one entry, if there is
/// any.
pub(super) fn first_entries(bytes: &[u8], most: usize) -> usize {
    let mut cursor = EntryReader(bytes);
    let mut length = 0;
    while cursor.entry().is_some() {
        let end = bytes.len() - cursor.0.len();
        if end > most && length > 0 {
            break;
        }
        length = end;
    }
    length
}

/// Reader of the bytes that [`RequestEntry::encode`] and [`TaskEntry::encode`] have written; yields `None` at the
/// end.
struct EntryReader<'a>(&'a [u8]);

impl<'a> EntryReader<'a> {
    fn entry(&mut self) -> Option<LogEntry<'a>> {
        match self.array()? {
            [REQUEST] => self.request().map(LogEntry::Request),
            [TRACED] => {
                let trace = self.trace()?;
                let request = self.request()?;
                Some(LogEntry::Request(RequestEntry { trace, ..request }))
            }
            [_] => self.task().map(LogEntry::Task),
        }
    }

    fn request(&mut self) -> Option<RequestEntry<'a>> {
        let [user, status, start_ns, end_ns, delay, connection] = self.numbers()?;
        let phases_ns = self.numbers()?;
        let [bytes, redirects, retries, sent, received] = self.numbers()?;
        let mut entry = RequestEntry {
            user,
            status: status as u16,
            start_ns,
            end_ns,
            delay_ns: (delay != NONE).then_some(delay),
            connection: NonZeroU64::new(connection),
            phases_ns,
            bytes,
            redirects: redirects as u32,
            retries: retries as u32,
            message_counts: (sent != NONE).then_some([sent, received]),
            scenario: self.text()?,
            task: self.text()?,
            name: self.text()?,
            method: self.text()?,
            url: self.text()?,
            final_url: self.text()?,
            class: self.text()?,
            error: self.optional()?,
            line: self.optional()?,
            tags: self.text()?,
            trace: None,
            messages: None,
        };
        let [body_bytes] = self.numbers()?;
        if body_bytes != NONE {
            entry.messages = Some(ExchangeMessages {
                request_headers: self.text()?,
                response_headers: self.text()?,
                body: self.text()?,
                body_bytes,
            });
        }
        Some(entry)
    }

    /// Reads a trace context; the inner `None` stands for invalid ids.
    fn trace(&mut self) -> Option<Option<TraceContext>> {
        let [high, low, span_id, sampled] = self.numbers()?;
        let trace_id = NonZeroU128::new(u128::from(high) << 64 | u128::from(low));
        let ids = trace_id.zip(NonZeroU64::new(span_id));
        Some(ids.map(|(trace_id, span_id)| TraceContext {
            trace_id,
            span_id,
            sampled: sampled == 1,
        }))
    }

    fn task(&mut self) -> Option<TaskEntry<'a>> {
        let [user, transaction, start_ns, end_ns] = self.numbers()?;
        Some(TaskEntry {
            user,
            transaction: transaction == 1,
            start_ns,
            end_ns,
            scenario: self.text()?,
            name: self.text()?,
            error: self.optional()?,
            line: self.optional()?,
        })
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn numbers<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = u64::from_le_bytes(self.array()?);
        }
        Some(numbers)
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = u32::from_le_bytes(self.array()?);
        let (text, rest) = self.0.split_at_checked(length as usize)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }

    fn optional(&mut self) -> Option<Option<&'a str>> {
        let [is_there] = self.array()?;
        let text = self.text()?;
        Some((is_there == 1).then_some(text))
    }
}
