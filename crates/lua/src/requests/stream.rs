//! A response that a plan reads while it arrives: its events, its lines, or its pieces. The engine waits for more and
//! counts the request at the end; this knows neither.

use super::charset;
use super::expect::Expectations;
use super::stream_reader::{MessageKind, StreamMessage, StreamReader};
use crate::limits::{HeapSize, Held};
use crate::plan_files::GrpcMethod;
use crate::values::{escape_invalid_bytes, shorten_reason};
use lgoose_base::phases::TimedPart;
use lgoose_http::{ErrorClass, Exchange, StreamPiece, StreamedBody};
use mlua::AnyUserData;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A response that is read while it arrives, as the engine and the plan share it.
#[derive(Debug)]
pub struct ResponseStream {
    /// The body, as it arrives.
    pub body: Rc<StreamedBody>,
    /// When the request began.
    pub start: Instant,
    /// The URL of the request, as the plan has it.
    pub(crate) url: Rc<str>,
    /// Whether the user had been stopped before.
    pub after_stop: bool,
    /// Whether the plan reads on to the end after the user is stopped.
    pub to_end: Cell<bool>,
    /// The messages that the plan has taken, and those that it has sent and that are not counted yet.
    messages: Cell<u64>,
    sent: Cell<u64>,
    /// The number of noted messages among those that wait for the plan.
    noted: Cell<usize>,
    /// The time at which the latest of them came.
    latest: Cell<Option<Instant>>,
    /// The time at which the message came that was taken last and is not counted.
    uncounted: Cell<Option<Instant>>,
    /// Why the plan counts the request as failed.
    pub(crate) failed: RefCell<Option<String>>,
    /// The latest of them, if the plan expects a certain last one.
    keeps_last: bool,
    last: RefCell<Option<Vec<u8>>>,
    /// The reason for which the response is not in the form that the plan reads.
    problem: RefCell<Option<String>>,
    /// The times of those that the engine has not counted yet.
    times: RefCell<Vec<(TimedPart, Duration)>>,
    /// Once the request was counted, why it failed, if it did.
    pub verdict: RefCell<Option<Result<(), String>>>,
    /// The line of the plan that sent the request.
    pub line: RefCell<Option<Rc<str>>>,
    reader: RefCell<StreamReader>,
    /// The body of a response that has refused a WebSocket.
    refusal: RefCell<Vec<u8>>,
}

/// A stream as a plan holds it. Closed when the plan drops it.
#[derive(Debug)]
pub(crate) struct PlanStream {
    pub(crate) shared: Rc<ResponseStream>,
}

impl Drop for PlanStream {
    fn drop(&mut self) {
        self.shared.body.close();
    }
}

impl HeapSize for PlanStream {
    fn heap_bytes(&self) -> usize {
        /// The bytes that are read ahead of one stream, so that a hundred fit into the usual memory of a user.
        const USUAL: usize = 320 << 10;
        size_of::<ResponseStream>() + self.shared.body.max_buffer().min(USUAL)
    }
}

/// A WebSocket as a plan holds it. Closed when the plan drops it.
#[derive(Debug)]
pub(crate) struct PlanSocket(pub(crate) PlanStream);

impl HeapSize for PlanSocket {
    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }
}

/// A call of gRPC as a plan holds it. Cancelled when the plan drops it.
#[derive(Debug)]
pub(crate) struct PlanCall {
    stream: PlanStream,
    /// The called method, by which its messages are read.
    pub(crate) method: RefCell<Option<Arc<GrpcMethod>>>,
}

impl PlanCall {
    pub(crate) fn new(shared: Rc<ResponseStream>) -> PlanCall {
        PlanCall {
            stream: PlanStream { shared },
            method: RefCell::default(),
        }
    }

    pub(crate) fn shared(&self) -> &Rc<ResponseStream> {
        &self.stream.shared
    }
}

impl HeapSize for PlanCall {
    fn heap_bytes(&self) -> usize {
        let body = &self.stream.shared.body;
        match body.call() {
            // All of it has come.
            Some(call) if call.terms.is_unary => size_of::<ResponseStream>() + body.waiting_bytes(),
            _ => size_of::<ResponseStream>() + body.max_buffer(),
        }
    }
}

impl ResponseStream {
    /// Makes the stream of a response whose head has come.
    pub fn new(
        body: Rc<StreamedBody>,
        url: &Rc<str>,
        expect: &Expectations,
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
            refusal: RefCell::default(),
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
    pub fn wrong_messages(&self, expect: &Expectations) -> Option<String> {
        let problem = self.problem.borrow().clone();
        problem
            .or_else(|| expect.wrong_messages(self.messages.get(), self.last.borrow().as_deref()))
    }

    /// Returns the reason why a call of gRPC counts as failed.
    pub fn call_verdict(&self, exchange: &Exchange) -> Option<String> {
        let failure = exchange.outcome.as_ref().err();
        if let Some(failure) = failure.filter(|failure| failure.class == ErrorClass::Aborted) {
            return Some(failure.to_string());
        }
        self.body.conclude_call(failure);
        self.body.call()?.verdict()
    }

    /// Whether its request counts as a success, as far as is known.
    pub(crate) fn is_ok(&self) -> bool {
        match (&*self.verdict.borrow(), self.body.call()) {
            (Some(verdict), _) => verdict.is_ok(),
            (None, Some(call)) => call.status().is_none_or(|status| status.is_ok()),
            (None, None) => {
                let is_opened = self.body.status().is_some_and(|status| status < 400);
                // A socket that has failed is not ok, even if some of its messages are unread.
                let is_lost = || self.body.socket().is_some() && self.body.has_failed();
                is_opened && !is_lost()
            }
        }
    }

    /// Returns why its request counts as failed.
    pub(crate) fn error(&self) -> Option<String> {
        self.verdict.borrow().as_ref()?.as_ref().err().cloned()
    }

    /// Returns the body of a response that has refused a WebSocket, once it has come.
    pub fn refusal(&self) -> Option<Vec<u8>> {
        let is_refused = self.body.socket().is_some() && self.body.status() != Some(101);
        if !is_refused {
            return None;
        }
        let mut refusal = self.refusal.borrow_mut();
        while let Some(piece) = self.body.take() {
            refusal.extend_from_slice(&piece.bytes);
        }
        Some(refusal.clone())
    }

    /// Returns the stream or WebSocket that a plan holds, if it holds one.
    pub(crate) fn of(held: &AnyUserData) -> Option<Rc<ResponseStream>> {
        if let Ok(stream) = held.borrow::<Held<PlanStream>>() {
            return Some(stream.shared.clone());
        }
        if let Ok(call) = held.borrow::<Held<PlanCall>>() {
            return Some(call.shared().clone());
        }
        let socket = held.borrow::<Held<PlanSocket>>().ok()?;
        Some(socket.0.shared.clone())
    }

    /// Whether its head is that of an event stream. If not, its request fails, unless the status excludes one.
    pub(crate) fn has_events(&self) -> bool {
        const EVENT_STREAM: &str = "text/event-stream";
        let headers = self.body.headers();
        let line = headers.iter().find(|(name, _)| name == "content-type");
        let kind = line.map_or(&b""[..], |(_, kind)| kind);
        let essence = kind.split(|byte| *byte == b';').next().unwrap_or_default();
        // Browsers read no other character set.
        let is_utf8 = charset::parameter(kind)
            .is_none_or(|name| name.is_empty() || name.eq_ignore_ascii_case(b"utf-8"));
        let is_events = essence
            .trim_ascii()
            .eq_ignore_ascii_case(EVENT_STREAM.as_bytes())
            && is_utf8;
        match self.body.status() {
            Some(200) if is_events => true,
            Some(200) => {
                let got = match kind {
                    b"" => "none".to_owned(),
                    kind => format!("'{}'", shorten_reason(&escape_invalid_bytes(kind))),
                };
                let problem = format!("expected content of type {EVENT_STREAM}, got {got}");
                self.problem.replace(Some(problem));
                false
            }
            _ => false,
        }
    }

    /// Returns the latest event identifier that is complete, if one was set, and the server's reconnection time, if it
    /// has sent one.
    pub(crate) fn place(&self) -> (Option<Vec<u8>>, Option<Duration>) {
        let reader = self.reader.borrow();
        (reader.settled_id.clone(), reader.retry)
    }

    /// Sends a message over a WebSocket. Returns false if nothing can be sent any more.
    pub(crate) fn send(&self, is_text: bool, bytes: &[u8]) -> bool {
        let socket = self.body.socket();
        let is_sent = socket.is_some_and(|socket| socket.send(is_text, bytes));
        self.sent.set(self.sent.get() + u64::from(is_sent));
        is_sent
    }

    /// Sends a message of a call. Returns false if nothing can be sent any more.
    pub(crate) fn send_message(&self, bytes: &[u8], is_compressed: bool) -> bool {
        let is_sent = self
            .body
            .call()
            .is_some_and(|call| call.send(bytes, is_compressed));
        self.sent.set(self.sent.get() + u64::from(is_sent));
        is_sent
    }

    /// Whether the stream carries messages of a WebSocket or of a call with streams, which count as they come.
    fn has_messages(&self) -> bool {
        match self.body.call() {
            Some(call) => !call.terms.is_unary,
            None => self.body.socket().is_some() && self.body.status() == Some(101),
        }
    }

    /// Notes the messages of a WebSocket or a call that have come, whether the plan takes them or not.
    pub fn note_arrived(&self) {
        if self.has_messages() {
            let times = self.body.times_after(self.noted.get());
            self.noted.set(self.noted.get() + times.len());
            times.into_iter().for_each(|at| self.note(at));
        }
    }

    /// Takes the number of messages sent that the engine has not counted yet.
    pub fn take_sent(&self) -> u64 {
        self.sent.take()
    }

    /// Takes the times of messages that the engine has not counted yet.
    pub fn take_times(&self) -> Vec<(TimedPart, Duration)> {
        self.times.take()
    }

    /// Takes why the plan counts the request as failed, if it does.
    pub fn take_failure(&self) -> Option<String> {
        self.failed.take()
    }

    /// Counts the message that was taken last, unless it is counted.
    pub(crate) fn count_latest(&self) {
        if let Some(at) = self.uncounted.take() {
            self.note(at);
        }
    }

    /// Takes and counts the next message that has come completely, with the time at which it had; `None` if there is none yet.
    pub(crate) fn take(&self, kind: MessageKind) -> Option<(Instant, StreamMessage)> {
        let message = self.take_uncounted(kind);
        self.count_latest();
        message
    }

    /// Takes the next message of a WebSocket or a call, and counts it unless it is counted already.
    pub(crate) fn take_message(&self) -> Option<StreamPiece> {
        // Bytes that come with another status are not messages.
        let is_open = self.body.status() == Some(101) || self.body.call().is_some();
        let piece = self.body.take().filter(|_| is_open)?;
        if !self.has_messages() {
            return Some(piece);
        }
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
    pub(crate) fn take_uncounted(&self, kind: MessageKind) -> Option<(Instant, StreamMessage)> {
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
                    // A last line may lack its end; an event without an end does not count.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_of_an_event_is_held() {
        let body = Rc::new(StreamedBody::new(100));
        let stream = ResponseStream::new(
            body.clone(),
            &"/".into(),
            &Expectations::default(),
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
            (5..=10).contains(&unended.count()),
            "an event without an end"
        );
    }
}
