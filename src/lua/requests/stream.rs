//! A response that a plan reads while it comes: its events, its lines, or its pieces. The engine waits for more and counts
//! the request at the end; this knows neither.

use super::charset;
use super::expect::Expectations;
use crate::http::{StreamPiece, StreamedBody};
use crate::lua::limits::{HeapSize, Held};
use crate::lua::values::{escape_invalid_bytes, shorten_reason};
use crate::phases::TimedPart;
use bytes::{Buf as _, Bytes, BytesMut};
use mlua::AnyUserData;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// A response that is read while it comes, as the engine and the plan share it.
#[derive(Debug)]
pub struct ResponseStream {
    pub(crate) body: Rc<StreamedBody>,
    /// When the request began.
    pub(crate) start: Instant,
    /// What it was sent to, as the plan has it.
    pub(crate) url: Rc<str>,
    /// Whether the user had been told to stop before.
    pub(crate) after_stop: bool,
    /// Whether the plan reads on to the end when the user is told to stop.
    pub(crate) to_end: Cell<bool>,
    /// The messages that the plan has taken, and those that it has sent and that are not counted yet.
    messages: Cell<u64>,
    sent: Cell<u64>,
    /// How many of the messages that wait for the plan are noted.
    noted: Cell<usize>,
    /// When the latest of them had come.
    latest: Cell<Option<Instant>>,
    /// When the message had come that was taken last and is not counted.
    uncounted: Cell<Option<Instant>>,
    /// Why the plan counts the request as failed.
    pub(in crate::lua) failed: RefCell<Option<String>>,
    /// The latest of them, if the plan expects a certain last one.
    keeps_last: bool,
    last: RefCell<Option<Vec<u8>>>,
    /// Why the response is not what the plan reads.
    problem: RefCell<Option<String>>,
    /// The times of those that the engine has not counted yet.
    times: RefCell<Vec<(TimedPart, Duration)>>,
    /// Once the request was counted, why it failed, if it did.
    pub(crate) verdict: RefCell<Option<Result<(), String>>>,
    /// The line of the plan that sent the request.
    pub(crate) line: RefCell<Option<Rc<str>>>,
    reader: RefCell<StreamReader>,
}

/// A stream as a plan holds it. One that the plan lets go of is closed.
#[derive(Debug)]
pub(in crate::lua) struct PlanStream {
    pub(in crate::lua) shared: Rc<ResponseStream>,
}

impl Drop for PlanStream {
    fn drop(&mut self) {
        self.shared.body.close();
    }
}

impl HeapSize for PlanStream {
    fn heap_bytes(&self) -> usize {
        size_of::<ResponseStream>() + self.shared.body.max_buffer()
    }
}

/// A WebSocket as a plan holds it. One that the plan lets go of is closed.
#[derive(Debug)]
pub(in crate::lua) struct PlanSocket(pub(in crate::lua) PlanStream);

impl HeapSize for PlanSocket {
    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }
}

/// What one message of a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::lua) enum MessageKind {
    /// A server-sent event.
    Event,
    /// A line, without its end.
    Line,
    /// What has come since the last one.
    Chunk,
}

/// A message of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::lua) enum StreamMessage {
    Event(ServerSentEvent),
    /// A line or a chunk.
    Bytes(Bytes),
}

impl StreamMessage {
    /// Returns its bytes, of an event those of its data.
    fn data(&self) -> &[u8] {
        match self {
            StreamMessage::Event(event) => &event.data,
            StreamMessage::Bytes(bytes) => bytes,
        }
    }
}

/// An event as the HTML standard has it ("Server-sent events", interpreting an event stream).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::lua) struct ServerSentEvent {
    /// The lines of its data, joined by line feeds.
    pub(in crate::lua) data: Vec<u8>,
    /// Its type, `message` unless it says another.
    pub(in crate::lua) name: Vec<u8>,
    /// The last identity that an event up to this one has set.
    pub(in crate::lua) id: Vec<u8>,
}

impl ResponseStream {
    pub(crate) fn new(
        body: Rc<StreamedBody>,
        (url, expect): (&Rc<str>, &Expectations),
        start: Instant,
        after_stop: bool,
    ) -> ResponseStream {
        ResponseStream {
            url: url.clone(),
            after_stop,
            to_end: Cell::new(false),
            keeps_last: expect.last_message().is_some(),
            last: RefCell::default(),
            problem: RefCell::default(),
            body,
            start,
            messages: Cell::new(0),
            sent: Cell::new(0),
            noted: Cell::new(0),
            latest: Cell::new(None),
            uncounted: Cell::new(None),
            failed: RefCell::new(None),
            times: RefCell::default(),
            verdict: RefCell::new(None),
            line: RefCell::new(None),
            reader: RefCell::default(),
        }
    }

    fn note(&self, at: Instant) {
        self.messages.set(self.messages.get() + 1);
        let (part, since) = match self.latest.replace(Some(at)) {
            None => (TimedPart::FirstEvent, self.start),
            Some(before) => (TimedPart::EventGap, before),
        };
        let time = at.saturating_duration_since(since);
        self.times.borrow_mut().push((part, time));
    }

    /// Returns the reason why the messages that the plan has taken make the request fail.
    pub(crate) fn wrong_messages(&self, expect: &Expectations) -> Option<String> {
        let problem = self.problem.borrow().clone();
        problem
            .or_else(|| expect.wrong_messages(self.messages.get(), self.last.borrow().as_deref()))
    }

    /// Whether its request counts as a success, as far as is known.
    pub(in crate::lua) fn is_ok(&self) -> bool {
        match &*self.verdict.borrow() {
            Some(verdict) => verdict.is_ok(),
            None => self.body.status().is_some_and(|status| status < 400),
        }
    }

    /// Returns why its request counts as failed.
    pub(in crate::lua) fn error(&self) -> Option<String> {
        self.verdict.borrow().as_ref()?.as_ref().err().cloned()
    }

    /// Returns the stream or WebSocket that a plan holds, if it holds one.
    pub(in crate::lua) fn of(held: &AnyUserData) -> Option<Rc<ResponseStream>> {
        if let Ok(stream) = held.borrow::<Held<PlanStream>>() {
            return Some(stream.shared.clone());
        }
        let socket = held.borrow::<Held<PlanSocket>>().ok()?;
        Some(socket.0.shared.clone())
    }

    /// Whether its head is that of an event stream. If not, its request fails, unless the status says that there is none.
    pub(in crate::lua) fn has_events(&self) -> bool {
        const KIND: &str = "text/event-stream";
        let headers = self.body.headers();
        let line = headers.iter().find(|(name, _)| name == "content-type");
        let kind = line.map_or(&b""[..], |(_, kind)| kind);
        let essence = kind.split(|byte| *byte == b';').next().unwrap_or_default();
        // Browsers read no other character set.
        let is_utf8 = charset::parameter(kind)
            .is_none_or(|name| name.is_empty() || name.eq_ignore_ascii_case(b"utf-8"));
        let is_events = essence.trim_ascii().eq_ignore_ascii_case(KIND.as_bytes()) && is_utf8;
        match self.body.status() {
            Some(200) if is_events => true,
            Some(200) => {
                let got = match kind {
                    b"" => "none".to_owned(),
                    kind => format!("'{}'", shorten_reason(&escape_invalid_bytes(kind))),
                };
                let problem = format!("expected content of type {KIND}, got {got}");
                self.problem.replace(Some(problem));
                false
            }
            _ => false,
        }
    }

    /// Returns the latest identity at the end of an event, if one was set, and the time after which the server wants to be
    /// connected again, if it has said one.
    pub(in crate::lua) fn place(&self) -> (Option<Vec<u8>>, Option<Duration>) {
        let reader = self.reader.borrow();
        (reader.settled_id.clone(), reader.retry)
    }

    /// Sends a message over a WebSocket. Returns false if nothing can be sent any more.
    pub(in crate::lua) fn send(&self, is_text: bool, bytes: &[u8]) -> bool {
        let socket = self.body.socket();
        let is_sent = socket.is_some_and(|socket| socket.send(is_text, bytes));
        self.sent.set(self.sent.get() + u64::from(is_sent));
        is_sent
    }

    /// Notes the messages of a WebSocket that have come, whether the plan takes them or not.
    pub(crate) fn note_arrived(&self) {
        if self.body.socket().is_some() && self.body.status() == Some(101) {
            let times = self.body.times_after(self.noted.get());
            self.noted.set(self.noted.get() + times.len());
            times.into_iter().for_each(|at| self.note(at));
        }
    }

    /// Takes the number of messages sent that the engine has not counted yet.
    pub(crate) fn take_sent(&self) -> u64 {
        self.sent.take()
    }

    /// Takes the times of messages that the engine has not counted yet.
    pub(crate) fn take_times(&self) -> Vec<(TimedPart, Duration)> {
        self.times.take()
    }

    /// Takes why the plan counts the request as failed, if it does.
    pub(crate) fn take_failure(&self) -> Option<String> {
        self.failed.take()
    }

    /// Counts the message that was taken last, unless it is counted.
    pub(in crate::lua) fn count_latest(&self) {
        if let Some(at) = self.uncounted.take() {
            self.note(at);
        }
    }

    /// Takes and counts the next message that has come completely, with the time at which it had; `None` if there is none yet.
    pub(in crate::lua) fn take(&self, kind: MessageKind) -> Option<(Instant, StreamMessage)> {
        let message = self.take_uncounted(kind);
        self.count_latest();
        message
    }

    /// Takes the next message of a WebSocket, and counts it unless it is counted already.
    pub(in crate::lua) fn take_message(&self) -> Option<StreamPiece> {
        // What comes with another status is no message.
        let is_open = self.body.status() == Some(101);
        let piece = self.body.take().filter(|_| is_open)?;
        match self.noted.get().checked_sub(1) {
            Some(noted) => self.noted.set(noted),
            None => self.note(piece.at),
        }
        if self.keeps_last {
            self.last.replace(Some(piece.bytes.to_vec()));
        }
        Some(piece)
    }

    /// Takes the next message; [`ResponseStream::count_latest`] counts it.
    pub(in crate::lua) fn take_uncounted(
        &self,
        kind: MessageKind,
    ) -> Option<(Instant, StreamMessage)> {
        let mut reader = self.reader.borrow_mut();
        let message = loop {
            if let Some(message) = reader.next(kind) {
                break Some(message);
            }
            match self.body.take() {
                Some(piece) => {
                    reader.at = Some(piece.at);
                    reader.unread.extend_from_slice(&piece.bytes);
                }
                None if self.body.has_ended() && !reader.is_whole => {
                    // A last line may have no end; an event without one is none.
                    reader.is_whole = true;
                }
                None => break None,
            }
        };
        self.body.hold(reader.held());
        let at = reader.at.unwrap_or(self.start);
        self.uncounted.set(message.is_some().then_some(at));
        let message = message?;
        if self.keeps_last {
            self.last.replace(Some(message.data().to_vec()));
        }
        Some((at, message))
    }
}

/// Reader of the messages in the bytes of a stream.
#[derive(Debug, Default)]
struct StreamReader {
    unread: BytesMut,
    /// How much of it is known to have no end of a line.
    searched: usize,
    /// When the latest of it came.
    at: Option<Instant>,
    /// Whether nothing more comes.
    is_whole: bool,
    /// Whether a carriage return was the last byte: a line feed after it ends no other line.
    after_return: bool,
    has_line: bool,
    event: ServerSentEvent,
    has_data: bool,
    /// The latest identity, and that which was the latest at an empty line; `None` where there was none so far.
    last_id: Option<Vec<u8>>,
    settled_id: Option<Vec<u8>>,
    retry: Option<Duration>,
}

impl StreamReader {
    /// Returns the bytes that it holds of messages that have not come completely.
    fn held(&self) -> usize {
        self.unread.len() + self.event.data.len() + self.event.name.len()
    }

    fn next(&mut self, kind: MessageKind) -> Option<StreamMessage> {
        match kind {
            MessageKind::Chunk => {
                self.searched = 0;
                let chunk = self.unread.split().freeze();
                (!chunk.is_empty()).then_some(StreamMessage::Bytes(chunk))
            }
            MessageKind::Line => {
                let line = self.line(|byte| byte == b'\n');
                let line = line.or_else(|| self.last_line())?;
                let mut line = line.freeze();
                if line.last() == Some(&b'\r') {
                    line.truncate(line.len() - 1);
                }
                Some(StreamMessage::Bytes(line))
            }
            MessageKind::Event => loop {
                let line = self.line(|byte| matches!(byte, b'\n' | b'\r'))?;
                if let Some(event) = self.take_field(&line) {
                    return Some(StreamMessage::Event(event));
                }
            },
        }
    }

    /// Takes the next line, without its end.
    fn line(&mut self, ends: impl Fn(u8) -> bool) -> Option<BytesMut> {
        if self.after_return && !self.unread.is_empty() {
            self.after_return = false;
            if self.unread[0] == b'\n' {
                self.unread.advance(1);
            }
        }
        let end = self.unread[self.searched..]
            .iter()
            .position(|byte| ends(*byte));
        let Some(end) = end.map(|end| self.searched + end) else {
            self.searched = self.unread.len();
            return None;
        };
        self.after_return = self.unread[end] == b'\r';
        let line = self.unread.split_to(end);
        self.unread.advance(1);
        self.searched = 0;
        Some(line)
    }

    /// Takes what is left, if nothing more comes.
    fn last_line(&mut self) -> Option<BytesMut> {
        if !self.is_whole || self.unread.is_empty() {
            return None;
        }
        self.searched = 0;
        Some(self.unread.split())
    }

    /// Takes a line of an event stream; returns the event that it completes.
    fn take_field(&mut self, line: &[u8]) -> Option<ServerSentEvent> {
        let is_first = !std::mem::replace(&mut self.has_line, true);
        let mark = "\u{feff}".as_bytes();
        let unmarked = line.strip_prefix(mark).filter(|_| is_first);
        let line = unmarked.unwrap_or(line);
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.event.data.push(b'\n');
                }
                self.has_data = true;
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.name = value.to_vec(),
            b"id" if !value.contains(&0) => self.last_id = Some(value.to_vec()),
            b"retry" => self.retry = retry(value).or(self.retry),
            // A comment, or nothing that the standard has.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<ServerSentEvent> {
        self.settled_id.clone_from(&self.last_id);
        let mut event = std::mem::take(&mut self.event);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        if event.name.is_empty() {
            event.name = b"message".to_vec();
        }
        event.id = self.last_id.clone().unwrap_or_default();
        Some(event)
    }
}

/// Reads for how long the server wants a client to wait before it connects anew: digits, in milliseconds.
fn retry(value: &[u8]) -> Option<Duration> {
    const LONGEST_MS: u64 = 86_400_000;
    let digits = std::str::from_utf8(value).ok()?;
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    // A number that does not fit is long.
    let ms = || digits.parse().unwrap_or(LONGEST_MS).min(LONGEST_MS);
    is_number.then(|| Duration::from_millis(ms()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a text in pieces of that size.
    fn read(text: &str, size: usize, kind: MessageKind) -> Vec<StreamMessage> {
        let (mut reader, mut found) = (StreamReader::default(), Vec::new());
        for piece in text.as_bytes().chunks(size) {
            reader.unread.extend_from_slice(piece);
            found.extend(std::iter::from_fn(|| reader.next(kind)));
        }
        reader.is_whole = true;
        found.extend(std::iter::from_fn(|| reader.next(kind)));
        if kind != MessageKind::Event {
            assert_eq!(reader.held(), 0, "{text:?}");
        }
        found
    }

    fn events(text: &str) -> Vec<(String, String, String)> {
        let of = |size| {
            let texts = read(text, size, MessageKind::Event)
                .into_iter()
                .map(|message| {
                    let StreamMessage::Event(event) = message else {
                        panic!("{message:?} is no event");
                    };
                    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
                    (text(event.name), text(event.data), text(event.id))
                });
            texts.collect::<Vec<_>>()
        };
        let whole = of(text.len().max(1));
        for size in 1..text.len() {
            assert_eq!(of(size), whole, "{text:?} in pieces of {size}");
        }
        whole
    }

    fn event(name: &str, data: &str, id: &str) -> (String, String, String) {
        (name.to_owned(), data.to_owned(), id.to_owned())
    }

    /// The examples of the standard, and its odd cases.
    #[test]
    fn events_are_those_of_the_standard() {
        let message = |data| event("message", data, "");
        for (text, expected) in [
            (
                "data: YHOO\ndata: +2\ndata: 10\n\n",
                vec![message("YHOO\n+2\n10")],
            ),
            (
                ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
                vec![
                    event("message", "first event", "1"),
                    event("message", "second event", ""),
                    event("message", " third event", ""),
                ],
            ),
            (
                "data\n\ndata\ndata\n\ndata:\n",
                vec![message(""), message("\n")],
            ),
            (
                "data:test\n\ndata: test\n\n",
                vec![message("test"), message("test")],
            ),
            (
                "\u{feff}data: a\r\n\r\ndata: b\r\rdata: c\n\n",
                vec![message("a"), message("b"), message("c")],
            ),
            (
                "event: add\nid: 7\ndata: x\n\nevent: rm\n\ndata: y\n\n",
                vec![event("add", "x", "7"), event("message", "y", "7")],
            ),
            (
                "id: a\0b\ndata: x\nretry: 10\nunknown: y\n\n",
                vec![message("x")],
            ),
            ("data: cut off\n", vec![]),
            ("\n\n\n", vec![]),
        ] {
            assert_eq!(events(text), expected, "{text:?}");
        }
    }

    #[test]
    fn only_the_beginning_of_an_event_is_held() {
        let body = Rc::new(StreamedBody::new(100));
        let stream = ResponseStream::new(
            body.clone(),
            (&"/".into(), &Expectations::default()),
            Instant::now(),
            false,
        );
        body.begin(200, b"HTTP/1.1 200 OK\r\n\r\n");
        let take = |text: &[u8]| body.push(text).map(|()| stream.take(MessageKind::Event));
        // Comments and empty lines keep a connection alive, for hours.
        for _ in 0..1_000 {
            assert!(take(b": ping\n\n").is_ok_and(|event| event.is_none()));
            assert!(take(b"id: 7\nretry: 10\n: more\n").is_ok_and(|event| event.is_none()));
        }
        assert!(take(b"data: a\n\n").is_ok_and(|event| event.is_some()));
        let unended = (0..100).map_while(|_| take(b"data: 0123456789\n").ok());
        assert!(
            (5..10).contains(&unended.count()),
            "an event without an end"
        );
    }

    #[test]
    fn lines_and_chunks_are_all_that_came() {
        let bytes = |text: &'static str| StreamMessage::Bytes(Bytes::from_static(text.as_bytes()));
        for size in 1..12 {
            let lines = read("a\r\n\nbc\rd\nlast", size, MessageKind::Line);
            assert_eq!(
                lines,
                [bytes("a"), bytes(""), bytes("bc\rd"), bytes("last")]
            );
        }
        assert_eq!(read("a\n", 5, MessageKind::Line), [bytes("a")]);
        assert_eq!(
            read("abcde", 2, MessageKind::Chunk),
            [bytes("ab"), bytes("cd"), bytes("e")]
        );
    }
}
