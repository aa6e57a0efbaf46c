//! The transport side of a gRPC call: the bytes that the plan sends, the framing of the response's messages, its
//! trailers and its status. It works on a response body that is read while it arrives, and knows no schema.

mod connect;
mod framing;
mod status;

pub(crate) use framing::{Framed, MessageReader};
pub use framing::{MessageCoding, write_message};
pub use status::GrpcCode;
pub(crate) use status::GrpcStatus;

use super::failure::{ErrorClass, Failure};
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::task::Waker;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The most bytes that wait to be sent before the plan waits, too.
const MOST_UNSENT: usize = 64 << 10;

/// The reason of a stream that is reset because nobody needs it any more (RFC 9113, section 7).
const CANCEL: u32 = 8;

/// The connection that a call takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallConnection {
    /// The one that the calls of its user to the host share.
    #[default]
    User,
    /// A new one, which is closed after the call.
    Own,
    /// The one that the calls of all users of its shard to the host share.
    Shared,
}

/// The protocol that a call goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallProtocol {
    /// gRPC, over HTTP/2.
    #[default]
    Grpc,
    /// gRPC-Web, as an ordinary request over any version of HTTP.
    Web,
    /// Connect, likewise; the body of the response is the message or an error.
    Connect,
}

/// The terms of a call beside its request.
#[derive(Debug, Clone, Default)]
pub struct CallTerms {
    /// Whether it has one request and one response, whose body is complete when it is sent.
    pub is_unary: bool,
    /// Whether it has one response.
    pub has_one_response: bool,
    /// The protocol that it goes by.
    pub protocol: CallProtocol,
    /// The connection that it takes.
    pub connection: CallConnection,
    /// Whether it ends when its time is up, however much comes.
    pub has_deadline: bool,
    /// The compression of its messages.
    pub coding: MessageCoding,
    /// The statuses that count as success; empty: OK.
    pub expected: Vec<GrpcCode>,
    /// The reason why it is not sent at all.
    pub refusal: Option<Arc<str>>,
}

/// The status of a response, and its headers in order with names in lower case.
type ResponseLines<'a> = (u16, &'a [(String, Vec<u8>)]);

/// A call, as its request and its plan share it.
#[derive(Debug)]
pub struct GrpcCall {
    pub terms: CallTerms,
    // None of these is borrowed across an await.
    reader: RefCell<MessageReader>,
    /// Whether the head of the response says that its body has messages.
    has_messages: Cell<bool>,
    /// The number of messages received.
    messages: Cell<u64>,
    /// Trailers as lines of HTTP/1.1.
    trailers: RefCell<Option<Bytes>>,
    /// The bytes that the plan has sent, and whether it will send no more.
    unsent: RefCell<Vec<u8>>,
    is_sent: Cell<bool>,
    has_sent: Cell<bool>,
    /// Whether its head has gone out.
    is_open: Cell<bool>,
    /// Whether the transport has taken sent bytes, which cannot be sent once more.
    is_taken: Cell<bool>,
    /// The reason for which the server has reset its stream.
    reset: Cell<Option<u32>>,
    /// Whether the plan has cancelled it.
    is_cancelled: Cell<bool>,
    /// The end of its time, if it has a deadline.
    due: Cell<Option<Instant>>,
    /// The task that sends it.
    sender: RefCell<Option<Waker>>,
    room: Notify,
    status: RefCell<Option<GrpcStatus>>,
}

impl GrpcCall {
    /// A call whose messages have at most so many bytes.
    pub(super) fn new(terms: CallTerms, most: usize) -> GrpcCall {
        let is_framed_as_web = terms.protocol == CallProtocol::Web;
        let is_request = terms.protocol != CallProtocol::Grpc;
        GrpcCall {
            reader: RefCell::new(MessageReader::new(most, is_framed_as_web)),
            has_messages: Cell::default(),
            messages: Cell::default(),
            trailers: RefCell::default(),
            unsent: RefCell::default(),
            // With an ordinary request, all is sent with the call.
            is_sent: Cell::new(terms.is_unary || is_request),
            has_sent: Cell::new(is_request),
            is_open: Cell::default(),
            is_taken: Cell::default(),
            reset: Cell::default(),
            is_cancelled: Cell::default(),
            due: Cell::default(),
            sender: RefCell::default(),
            room: Notify::new(),
            status: RefCell::default(),
            terms,
        }
    }

    /// Takes the head of the response.
    pub(super) fn begin(&self, status: u16, headers: &[(String, Vec<u8>)]) {
        let find = |name: &str| headers.iter().find(|(one, _)| one == name);
        let kind = find("content-type").map_or(&b""[..], |(_, kind)| kind);
        let prefix: &[u8] = match self.terms.protocol {
            CallProtocol::Grpc => b"application/grpc",
            CallProtocol::Web => b"application/grpc-web",
            CallProtocol::Connect => b"application/proto",
        };
        self.has_messages
            .set(status == 200 && kind.starts_with(prefix));
        let coding = find("grpc-encoding");
        let coding = coding.map_or_else(MessageCoding::default, |(_, name)| {
            MessageCoding::named(name)
        });
        self.reader.borrow_mut().set_coding(coding);
    }

    /// Takes a piece of the body, and hands on the messages that are complete.
    ///
    /// # Errors
    /// A message is wrong, or `put` takes no more.
    pub(super) fn read(
        &self,
        piece: &[u8],
        mut put: impl FnMut(Bytes) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.terms.protocol == CallProtocol::Connect {
            return self.reader.borrow_mut().add_whole(piece);
        }
        if !self.has_messages.get() {
            return Ok(());
        }
        let mut reader = self.reader.borrow_mut();
        reader.add(piece);
        while let Some(framed) = reader.next()? {
            match framed {
                Framed::Message(message) => {
                    self.messages.set(self.messages.get() + 1);
                    put(message)?;
                }
                Framed::Trailers(lines) => {
                    self.trailers.replace(Some(lines));
                }
            }
        }
        Ok(())
    }

    /// The bytes of a message that is not complete.
    pub(super) fn held(&self) -> usize {
        self.reader.borrow().held()
    }

    /// Ends the response to a call by Connect, whose body has come; returns its message, if it has one.
    pub(super) fn end_connect(&self, headers: &[(String, Vec<u8>)]) -> Option<Bytes> {
        let whole = self.reader.borrow_mut().take_whole();
        if self.has_messages.get() {
            self.take_trailers(connect::trailers(headers));
            self.messages.set(1);
            return Some(whole);
        }
        if let Some(lines) = connect::error_trailers(&whole) {
            self.take_trailers(lines);
        }
        None
    }

    /// Takes the trailers of the response, as lines of HTTP/1.1.
    pub(super) fn take_trailers(&self, lines: Vec<u8>) {
        self.trailers.replace(Some(lines.into()));
    }

    /// The trailers in order, with names in lower case; none before they have come.
    pub fn trailers(&self) -> Vec<(String, Vec<u8>)> {
        let trailers = self.trailers.borrow();
        let lines = trailers.as_deref().unwrap_or_default();
        let lines = lines.split(|byte| *byte == b'\n');
        lines
            .filter_map(|line| {
                let colon = line.iter().position(|byte| *byte == b':')?;
                let name = String::from_utf8_lossy(&line[..colon]);
                let name = name.trim().to_ascii_lowercase();
                Some((name, line[colon + 1..].trim_ascii().to_vec()))
            })
            .collect()
    }

    /// Sends a message. Returns false if nothing can be sent any more.
    pub fn send(&self, message: &[u8], is_compressed: bool) -> bool {
        if self.is_sent.get() || self.status.borrow().is_some() {
            return false;
        }
        let coding = if is_compressed {
            self.terms.coding
        } else {
            MessageCoding::Identity
        };
        write_message(&mut self.unsent.borrow_mut(), message, coding);
        self.has_sent.set(true);
        self.wake();
        true
    }

    /// Whether the plan has sent a message.
    pub fn has_sent(&self) -> bool {
        self.has_sent.get()
    }

    /// Notes that the plan sends no more.
    pub fn close_send(&self) {
        self.is_sent.set(true);
        self.wake();
    }

    /// Whether the plan may send without waiting.
    pub fn has_room(&self) -> bool {
        self.unsent.borrow().len() < MOST_UNSENT || self.status.borrow().is_some()
    }

    /// Waits until there is room.
    pub async fn room(&self) {
        while !self.has_room() {
            self.room.notified().await;
        }
    }

    fn wake(&self) {
        if let Some(sender) = self.sender.take() {
            sender.wake();
        }
    }

    /// Notes the task to wake when there is something to send.
    pub(super) fn set_sender(&self, waker: &Waker) {
        if !self.terms.is_unary {
            self.sender.replace(Some(waker.clone()));
        }
    }

    /// Takes the unsent bytes.
    pub(super) fn take_unsent(&self) -> Bytes {
        let unsent = self.unsent.take();
        if !unsent.is_empty() {
            self.is_taken.set(true);
            self.room.notify_waiters();
        }
        unsent.into()
    }

    /// Whether nothing more is to be sent after the bytes already taken.
    pub(super) fn is_sent(&self) -> bool {
        self.is_sent.get() && self.unsent.borrow().is_empty()
    }

    /// The failure of a call that is not sent at all.
    pub(super) fn refused(&self) -> Option<Failure> {
        let refusal = self.terms.refusal.as_ref()?;
        Some(Failure::new(ErrorClass::Decoding, &**refusal))
    }

    /// Notes the end of its time.
    pub(super) fn set_due(&self, due: Instant) {
        self.due.set(Some(due));
    }

    /// Notes that its head goes out.
    pub(super) fn open(&self) {
        self.is_open.set(true);
    }

    /// Whether its head has gone out.
    pub(super) fn is_open(&self) -> bool {
        self.is_open.get()
    }

    /// Whether bytes of it have gone out, which cannot be sent once more.
    pub(super) fn is_taken(&self) -> bool {
        self.is_taken.get()
    }

    /// Notes the reason for which the server has reset its stream, or that it is sent once more.
    pub(super) fn set_reset(&self, reason: Option<u32>) {
        self.reset.set(reason);
    }

    /// The status with which it has ended, once it has.
    pub fn status(&self) -> Option<GrpcStatus> {
        self.status.borrow().clone()
    }

    /// Notes that its plan cannot read a received message.
    pub fn fail(&self, details: &str) {
        let status = GrpcStatus::own(GrpcCode::INTERNAL, details);
        self.status.replace(Some(status));
        self.is_cancelled.set(false);
    }

    /// Decides its status when nothing more comes: with that head, or because the request has failed. `is_closed` says
    /// whether the plan has closed it before.
    pub(super) fn conclude(
        &self,
        head: Option<ResponseLines<'_>>,
        failure: Option<&Failure>,
        is_closed: bool,
    ) {
        if self.status.borrow().is_some() {
            return;
        }
        let status = self.decide(head, failure, is_closed);
        self.status.replace(Some(status));
        self.room.notify_waiters();
    }

    fn decide(
        &self,
        head: Option<ResponseLines<'_>>,
        failure: Option<&Failure>,
        is_closed: bool,
    ) -> GrpcStatus {
        let own = |details: &str| GrpcStatus::own(GrpcCode::INTERNAL, details);
        if let Some(refusal) = &self.terms.refusal {
            return own(refusal);
        }
        if let Some(status) = GrpcStatus::read(&self.trailers()) {
            return self.checked(status);
        }
        if is_closed {
            self.is_cancelled.set(true);
            return GrpcStatus::own(GrpcCode::CANCELLED, "the plan has cancelled the call");
        }
        if let Some(failure) = failure {
            let is_late = self.due.get().is_some_and(|due| Instant::now() >= due);
            // A server that knows the deadline resets the stream when it is over.
            if is_late && self.reset.get() == Some(CANCEL) {
                let details = "the server has cancelled the call at its deadline";
                return GrpcStatus::own(GrpcCode::DEADLINE_EXCEEDED, details);
            }
            return GrpcStatus::of_failure(failure, self.reset.get());
        }
        let Some((http, headers)) = head else {
            return own("there was no response");
        };
        // A response that has no messages may have its trailers in its head.
        if self.messages.get() == 0
            && let Some(status) = GrpcStatus::read(headers)
        {
            let lines = headers
                .iter()
                .flat_map(|(name, value)| [name.as_bytes(), b": ", value, b"\r\n"].concat());
            self.trailers.replace(Some(lines.collect()));
            return self.checked(status);
        }
        let why = if self.has_messages.get() {
            "the response has no trailers with a status"
        } else {
            "the response is not of gRPC, by its 'content-type'"
        };
        GrpcStatus::of_http(http, why)
    }

    /// Returns the status that the server has sent, unless the received messages do not fit it.
    fn checked(&self, status: GrpcStatus) -> GrpcStatus {
        let own = |details: &str| GrpcStatus::own(GrpcCode::INTERNAL, details);
        if self.reader.borrow().held() > 0 {
            return own("the response ends within a message");
        }
        match self.messages.get() {
            _ if status.code != GrpcCode::OK || !self.terms.has_one_response => status,
            0 => own("the response has no message"),
            1 => status,
            _ => own("the response has more than one message"),
        }
    }

    /// The reason why it counts as failed, as far as its status says. One that its plan has cancelled has not failed.
    pub fn verdict(&self) -> Option<String> {
        let status = self.status()?;
        let expected = &self.terms.expected;
        if expected.is_empty() {
            let has_failed = status.code != GrpcCode::OK && !self.is_cancelled.get();
            return has_failed.then(|| status.reason());
        }
        if expected.contains(&status.code) {
            return None;
        }
        let names: Vec<_> = expected.iter().map(|code| code.name()).collect();
        Some(format!(
            "expected status {}, got {}",
            names.join(" or "),
            status.reason()
        ))
    }
}

/// Returns a time as `grpc-timeout` has it: at most eight digits and a unit.
pub fn timeout_value(time: std::time::Duration) -> String {
    const MAX_COUNT: u128 = 99_999_999;
    let units = [
        (time.as_nanos(), 'n'),
        (time.as_micros(), 'u'),
        (time.as_millis(), 'm'),
        (u128::from(time.as_secs()), 'S'),
    ];
    let fitting = units.into_iter().find(|(count, _)| *count <= MAX_COUNT);
    let (count, unit) = fitting.unwrap_or((MAX_COUNT, 'S'));
    format!("{count}{unit}")
}

#[cfg(test)]
mod tests {
    use super::timeout_value;
    use std::time::Duration;

    #[test]
    fn a_timeout_has_eight_digits_at_most() {
        for (time, expected) in [
            (Duration::from_millis(1), "1000000n"),
            (Duration::from_secs(1), "1000000u"),
            (Duration::from_secs(60), "60000000u"),
            (Duration::from_secs(3600), "3600000m"),
            (Duration::from_secs(1_000_000), "1000000S"),
            (Duration::from_secs(1 << 40), "99999999S"),
        ] {
            assert_eq!(timeout_value(time), expected);
        }
    }
}
