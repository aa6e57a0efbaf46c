//! The body of a response that its reader takes while it arrives: the transports put pieces in as they arrive, each
//! with its time, and the reader takes them out. Untaken bytes are bounded. Each is the body of one request.

use super::encoding::PieceDecoder;
use super::head::headers;
use crate::failure::{ErrorClass, Failure};
use crate::grpc::{CallProtocol, CallTerms, GrpcCall};
use crate::hop::is_redirect;
use crate::read_buffer::READ_SIZE;
use crate::websocket::{CLOSE_TIMEOUT, CloseFrame, SocketSide};
use bytes::Bytes;
use lgoose_base::units::show_size;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::Waker;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

/// The most bytes of a message that wait for the reader, unless the request says otherwise.
pub const MAX_BUFFER: usize = 1 << 20;

/// The size of the buffer in bytes, beyond which the transport reads no more.
const MOST_WAITING: usize = 256 << 10;

/// The most bytes that the messages of one read may be longer than what waits, once they are unpacked.
const MOST_UNPACKED: usize = 64 << 20;

/// The most pieces that are put off, each with its time.
const MOST_PUT_OFF: usize = 4096;

/// Time for the end of a response whose reader has its last message.
const TIME_TO_END: Duration = Duration::from_millis(50);

/// A body on its way to its reader.
#[derive(Debug)]
pub struct StreamedBody {
    max_buffer: usize,
    /// The status and the head of the response, once it has come.
    head: RefCell<Option<(u16, Bytes)>>,
    // Never borrowed across an await.
    pieces: RefCell<VecDeque<StreamPiece>>,
    protocol: StreamProtocol,
    /// The time at which the head came, and whether the handshake of a WebSocket is still to be checked.
    head_at: Cell<Option<Instant>>,
    opening: Cell<bool>,
    /// The bytes in them, and those that the reader has taken and still holds.
    waiting: Cell<usize>,
    held: Cell<usize>,
    /// The pieces of a shared connection of HTTP/2 that have come while the buffer was full, as they came. The window of the
    /// stream limits them.
    put_off: RefCell<VecDeque<(Instant, Vec<u8>)>>,
    /// The decoders of its content codings.
    decoder: RefCell<PieceDecoder>,
    /// The beginning of the body of a redirect or a challenge, which is the stream's if no other response follows.
    early: RefCell<Vec<u8>>,
    /// Whether the transport waits for room.
    blocked: Cell<bool>,
    /// The messages that the plan has sent and that have come, as far as they are counted.
    messages: Cell<[u64; 2]>,
    /// The time at which the latest byte came.
    latest: Cell<Option<Instant>>,
    /// Whether the reader has closed it, or has the last message that it wants, and whether nothing more comes.
    closed: Cell<bool>,
    complete: Cell<bool>,
    ended: Cell<bool>,
    failed: Cell<bool>,
    /// Wakes the reader, and the request that the reader has closed.
    came: Notify,
    closing: Notify,
    /// Wakes the transport, which waits for room.
    taken: Notify,
    waiting_request: RefCell<Option<Waker>>,
}

/// Protocol of a stream.
#[derive(Debug)]
enum StreamProtocol {
    /// HTTP: the body of a response.
    Http,
    /// A WebSocket, with this side of the connection.
    WebSocket(Box<SocketSide>),
    /// A call of gRPC.
    Grpc(Box<GrpcCall>),
}

/// A received piece of a body: bytes, or a message of a WebSocket.
#[derive(Debug)]
pub struct StreamPiece {
    /// The time at which the piece arrived.
    pub at: Instant,
    /// Its bytes.
    pub bytes: Bytes,
    /// Whether it is a message of text.
    pub is_text: bool,
}

impl StreamedBody {
    /// Makes an empty body, of which at most so many bytes wait for the reader.
    pub fn new(max_buffer: usize) -> StreamedBody {
        StreamedBody::with(max_buffer, StreamProtocol::Http)
    }

    /// Makes the body of a WebSocket, whose messages have at most so many bytes.
    pub fn of_socket(max_buffer: usize, socket: SocketSide) -> StreamedBody {
        StreamedBody::with(max_buffer, StreamProtocol::WebSocket(Box::new(socket)))
    }

    /// Makes the body of a call of gRPC, whose messages have at most so many bytes.
    pub fn of_call(max_buffer: usize, terms: CallTerms) -> StreamedBody {
        let call = GrpcCall::new(terms, max_buffer);
        StreamedBody::with(max_buffer, StreamProtocol::Grpc(Box::new(call)))
    }

    fn with(max_buffer: usize, protocol: StreamProtocol) -> StreamedBody {
        StreamedBody {
            max_buffer,
            protocol,
            head_at: Cell::default(),
            opening: Cell::default(),
            head: RefCell::default(),
            pieces: RefCell::default(),
            waiting: Cell::default(),
            held: Cell::default(),
            put_off: RefCell::default(),
            decoder: RefCell::default(),
            early: RefCell::default(),
            blocked: Cell::default(),
            messages: Cell::default(),
            latest: Cell::default(),
            closed: Cell::default(),
            complete: Cell::default(),
            ended: Cell::default(),
            failed: Cell::default(),
            came: Notify::new(),
            closing: Notify::new(),
            taken: Notify::new(),
            waiting_request: RefCell::default(),
        }
    }

    /// Takes the head of a response. That of a redirect or a challenge is not the stream's, unless no other follows.
    pub fn begin(&self, status: u16, head: &[u8]) {
        self.latest.set(Some(Instant::now()));
        self.early.take();
        let lines = headers(head);
        let fields = lines.iter().filter(|(name, _)| name == "content-encoding");
        let codings = fields.map(|(_, value)| String::from_utf8_lossy(value));
        let codings: Vec<_> = codings.collect();
        let most = self.max_buffer.max(MOST_WAITING);
        self.decoder
            .replace(PieceDecoder::of(&codings.join(","), most));
        if !is_redirect(status) && status != 401 {
            self.opening.set(status == 101 && self.socket().is_some());
            self.show_head(status, head, &lines);
        }
    }

    /// Shows the head of a WebSocket, whose handshake is right.
    pub(crate) fn show(&self) {
        self.opening.set(false);
        self.came.notify_waiters();
    }

    fn show_head(&self, status: u16, head: &[u8], lines: &[(String, Vec<u8>)]) {
        if let Some(call) = self.call() {
            call.begin(status, lines);
        }
        self.head_at.set(Some(Instant::now()));
        self.head
            .replace(Some((status, Bytes::copy_from_slice(head))));
        self.came.notify_waiters();
    }

    /// Takes a piece of the body.
    ///
    /// # Errors
    /// The reader has left more than it may.
    pub fn push(&self, piece: &[u8]) -> Result<(), Failure> {
        let now = Instant::now();
        self.latest.set(Some(now));
        self.read(now, piece)
    }

    /// Takes a piece of a connection that other requests share, and that is read on while the reader of this one is slow: beyond a
    /// full buffer, pieces are put off until there is room.
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    pub(crate) fn push_shared(&self, piece: &[u8]) -> Result<(), Failure> {
        let now = Instant::now();
        self.latest.set(Some(now));
        if self.takes_more() {
            self.read(now, piece)?;
        } else {
            let mut put_off = self.put_off.borrow_mut();
            let is_full = put_off.len() >= MOST_PUT_OFF;
            match put_off.back_mut().filter(|_| is_full) {
                Some((_, last)) => last.extend_from_slice(piece),
                None => put_off.push_back((now, piece.to_vec())),
            }
        }
        if !self.takes_more() {
            self.blocked.set(true);
        }
        Ok(())
    }

    /// Whether the sender may send more: the reader has room, or wants nothing.
    pub(crate) fn takes_more(&self) -> bool {
        // Nobody reads a response that is one message before all of it has come.
        let is_whole = || self.call().is_some_and(|call| call.terms.is_unary);
        self.closed.get() || is_whole() || !self.is_full() && self.put_off.borrow().is_empty()
    }

    /// Whether its request is to take up what was put off, or to let the sender send more, once there is room.
    pub(crate) fn is_behind(&self) -> bool {
        self.blocked.get()
    }

    /// Whether bytes that have come are still put off.
    pub(crate) fn has_put_off(&self) -> bool {
        !self.put_off.borrow().is_empty()
    }

    /// Takes up what was put off, as far as there is room.
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    pub(crate) fn catch_up(&self) -> Result<(), Failure> {
        while !self.is_full() || self.closed.get() {
            let Some((at, piece)) = self.put_off.borrow_mut().pop_front() else {
                break;
            };
            if !self.closed.get()
                && let Err(failure) = self.read(at, &piece)
            {
                self.put_off.take();
                return Err(failure);
            }
        }
        if self.takes_more() {
            self.blocked.set(false);
            self.latest.set(Some(Instant::now()));
        }
        Ok(())
    }

    /// Notes the task of its request, which the reader wakes when there is room again.
    pub(crate) fn wait_for_room(&self, waker: &Waker) {
        self.waiting_request.replace(Some(waker.clone()));
    }

    fn read(&self, now: Instant, piece: &[u8]) -> Result<(), Failure> {
        let mut decoder = self.decoder.borrow_mut();
        let bytes = if decoder.is_empty() {
            Bytes::copy_from_slice(piece)
        } else {
            Bytes::from(decoder.decode(piece)?)
        };
        if bytes.is_empty() {
            return Ok(());
        }
        if self.head.borrow().is_none() {
            let mut early = self.early.borrow_mut();
            let room = self.max_buffer.saturating_sub(early.len());
            early.extend_from_slice(&bytes[..bytes.len().min(room)]);
            return Ok(());
        }
        if let Some(call) = self.call() {
            call.read(&bytes, |bytes| {
                self.add(StreamPiece {
                    at: now,
                    bytes,
                    is_text: false,
                })
            })?;
            // Only now: a piece may have several messages.
            self.held.set(call.held());
            return Ok(());
        }
        self.add(StreamPiece {
            at: now,
            bytes,
            is_text: false,
        })
    }

    /// Takes a message of a WebSocket.
    pub(crate) fn push_message(&self, is_text: bool, bytes: Bytes) {
        self.keep(StreamPiece {
            at: Instant::now(),
            bytes,
            is_text,
        });
    }

    /// Takes a pong of a WebSocket.
    pub(crate) fn take_pong(&self, payload: &[u8]) {
        if let Some(socket) = self.socket()
            && let Some((sent, at)) = &mut *socket.ping.borrow_mut()
            && sent == payload
        {
            at.get_or_insert_with(Instant::now);
            self.came.notify_waiters();
        }
    }

    /// Takes a piece. The transports wait for room between two reads, so that one read at most comes to a full buffer.
    fn add(&self, piece: StreamPiece) -> Result<(), Failure> {
        let most = || show_size(self.max_buffer as f64);
        if self.held.get() > self.max_buffer {
            let detail = format!(
                "a message of the stream is longer than {} ('max_buffer')",
                most()
            );
            return Err(Failure::new(ErrorClass::TooLarge, detail));
        }
        let is_unary = || self.call().is_some_and(|call| call.terms.is_unary);
        let beyond = || {
            if is_unary() { READ_SIZE } else { MOST_UNPACKED }
        };
        let waiting = self.waiting.get() + self.pieces_size();
        let usual = self.max_buffer.max(MOST_WAITING);
        if waiting > usual && waiting > usual + beyond() {
            let detail = format!(
                "more than {} have come at once ('max_buffer')",
                show_size((usual + beyond()) as f64)
            );
            return Err(Failure::new(ErrorClass::TooLarge, detail));
        }
        self.keep(piece);
        Ok(())
    }

    fn keep(&self, piece: StreamPiece) {
        if self.closed.get() && self.is_full() {
            // Nobody reads it any more.
            return;
        }
        self.waiting.set(self.waiting.get() + piece.bytes.len());
        self.pieces.borrow_mut().push_back(piece);
        self.came.notify_waiters();
    }

    /// The bytes that the pieces take themselves: messages may be empty.
    fn pieces_size(&self) -> usize {
        self.pieces.borrow().len() * size_of::<StreamPiece>()
    }

    /// The bytes of a full buffer. Messages of a call wait up to its limit.
    fn usually_waiting(&self) -> usize {
        match self.protocol {
            StreamProtocol::Grpc(_) => self.max_buffer,
            StreamProtocol::Http | StreamProtocol::WebSocket(_) => {
                self.max_buffer.min(MOST_WAITING)
            }
        }
    }

    /// Whether the buffer is full, so that the transport waits before its next read.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.get() >= self.usually_waiting() || self.pieces_size() >= MOST_WAITING
    }

    /// Whether there is room for many pieces.
    fn is_half_empty(&self) -> bool {
        2 * self.waiting.get() <= self.usually_waiting() && 2 * self.pieces_size() <= MOST_WAITING
    }

    /// Waits until the buffer has room. The transport calls this before each read, so that a slow reader slows the server down.
    /// The wait does not count as silence of the server.
    pub(crate) async fn room_to_read(&self) {
        while !self.takes_more() {
            self.blocked.set(true);
            self.taken.notified().await;
        }
        if self.blocked.replace(false) {
            self.latest.set(Some(Instant::now()));
        }
    }

    /// Notes that its request has failed.
    pub fn fail(&self) {
        self.failed.set(true);
    }

    /// Whether its request has failed, as far as its end is known.
    pub fn has_failed(&self) -> bool {
        self.failed.get()
    }

    /// Notes that nothing more comes. The status and the head of the response are shown even if it is a redirect's.
    pub fn end(&self, response: Option<(u16, &[u8])>) {
        if let Some((status, head)) = response
            && self.head.borrow().is_none()
        {
            self.show_head(status, head, &headers(head));
            let early = self.early.take();
            if !early.is_empty() {
                self.keep(StreamPiece {
                    at: self.latest.get().unwrap_or_else(Instant::now),
                    bytes: early.into(),
                    is_text: false,
                });
            }
        }
        if let Some(call) = self.call()
            && call.terms.protocol == CallProtocol::Connect
            && response.is_some()
            && let Some(message) = call.end_connect(&self.headers())
        {
            self.keep(StreamPiece {
                at: self.latest.get().unwrap_or_else(Instant::now),
                bytes: message,
                is_text: false,
            });
        }
        self.ended.set(true);
        self.came.notify_waiters();
    }

    /// Takes the trailers of the response, as lines of HTTP/1.1.
    pub(crate) fn take_trailers(&self, lines: Vec<u8>) {
        if let Some(call) = self.call() {
            call.take_trailers(lines);
        }
    }

    /// Decides how a call of gRPC has ended, once nothing more comes; `failure` is why its request has failed.
    pub fn conclude_call(&self, failure: Option<&Failure>) {
        if let Some(call) = self.call() {
            let headers = self.headers();
            let head = self.status().map(|status| (status, &headers[..]));
            call.conclude(head, failure, self.closed.get());
        }
    }

    /// Notes that the head of a call has gone out: its plan goes on.
    pub(crate) fn open_call(&self) {
        if let Some(call) = self.call() {
            call.open();
            self.came.notify_waiters();
        }
    }

    /// Ends the request, which the reader does not want any more. A WebSocket is closed as usual.
    pub fn close(&self) {
        if let Some(socket) = self.socket() {
            socket.close(&CloseFrame::of(Some(1000)));
        }
        self.closed.set(true);
        self.closing.notify_one();
        self.taken.notify_one();
    }

    /// Notes that the reader has its last message: whatever becomes of the rest is no failure. Once closed, it waits a moment for
    /// the end, so that the connection can be used again.
    pub fn complete(&self) {
        self.complete.set(true);
    }

    /// When its last byte came, if the reader has its last message.
    pub fn completed_at(&self) -> Option<Instant> {
        self.latest.get().filter(|_| self.complete.get())
    }

    /// Whether the reader has closed it.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.get()
    }

    /// Whether nothing more comes.
    pub fn has_ended(&self) -> bool {
        self.ended.get()
    }

    /// The status of the response, once its head has come.
    pub fn status(&self) -> Option<u16> {
        self.head.borrow().as_ref().map(|(status, _)| *status)
    }

    /// The head of the response as received, once it has come.
    pub(super) fn head(&self) -> Option<Bytes> {
        self.head.borrow().as_ref().map(|(_, head)| head.clone())
    }

    /// The headers of the response in order, with names in lower case; none before they have come.
    pub fn headers(&self) -> Vec<(String, Vec<u8>)> {
        let head = self.head.borrow();
        head.as_ref()
            .map_or_else(Vec::new, |(_, head)| headers(head))
    }

    /// The side of the connection of a WebSocket.
    pub fn socket(&self) -> Option<&SocketSide> {
        match &self.protocol {
            StreamProtocol::WebSocket(socket) => Some(socket),
            StreamProtocol::Http | StreamProtocol::Grpc(_) => None,
        }
    }

    /// The call of gRPC that it belongs to.
    pub fn call(&self) -> Option<&GrpcCall> {
        match &self.protocol {
            StreamProtocol::Grpc(call) => Some(call),
            StreamProtocol::Http | StreamProtocol::WebSocket(_) => None,
        }
    }

    /// The time at which the head of the response came.
    pub fn head_at(&self) -> Option<Instant> {
        self.head_at.get()
    }

    /// Takes the next piece.
    pub fn take(&self) -> Option<StreamPiece> {
        let piece = self.pieces.borrow_mut().pop_front()?;
        self.waiting.set(self.waiting.get() - piece.bytes.len());
        if self.blocked.get() {
            self.taken.notify_one();
            if self.is_half_empty()
                && let Some(request) = self.waiting_request.take()
            {
                request.wake();
            }
        }
        Some(piece)
    }

    /// The times of the pieces that wait, after so many of them.
    pub fn times_after(&self, count: usize) -> Vec<Instant> {
        let pieces = self.pieces.borrow();
        pieces.iter().skip(count).map(|piece| piece.at).collect()
    }

    /// The bytes that wait for the reader.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting.get()
    }

    /// Notes the number of taken bytes that the reader still holds: the beginning of a message.
    pub fn hold(&self, bytes: usize) {
        self.held.set(bytes);
    }

    /// Counts messages that were sent and that have come since.
    pub fn count_messages(&self, sent: u64, received: u64) {
        let [before, earlier] = self.messages.get();
        self.messages.set([before + sent, earlier + received]);
    }

    /// The messages that are counted: sent, and received.
    pub fn messages(&self) -> [u64; 2] {
        self.messages.get()
    }

    /// The most bytes that wait for the reader.
    pub fn max_buffer(&self) -> usize {
        self.max_buffer
    }

    /// Waits until the head has come, or nothing will. A call that sends a stream goes on once its own head has gone out.
    pub async fn head_came(&self) {
        let is_open = || match self.call() {
            Some(call) if call.terms.protocol == CallProtocol::Grpc => call.is_open(),
            _ => self.head.borrow().is_some() && !self.opening.get(),
        };
        while !is_open() && !self.ended.get() {
            self.came.notified().await;
        }
    }

    /// Whether there is a piece or a pong to take, or nothing more comes.
    pub fn has_more(&self) -> bool {
        let has_pong = || self.socket().is_some_and(|socket| socket.pong().is_some());
        !self.pieces.borrow().is_empty() || self.ended.get() || has_pong()
    }

    /// Waits until there is a piece to take, or nothing more comes.
    pub async fn more(&self) {
        while !self.has_more() {
            self.came.notified().await;
        }
    }

    /// Waits until the connection takes more messages of the plan.
    pub async fn room(&self) {
        match &self.protocol {
            StreamProtocol::Http => {}
            StreamProtocol::WebSocket(socket) => socket.room().await,
            StreamProtocol::Grpc(call) => call.room().await,
        }
    }

    /// Waits until nothing more comes.
    pub async fn over(&self) {
        while !self.ended.get() {
            self.came.notified().await;
        }
    }

    /// Runs the request; `None` if the reader closes the stream, or nothing has come for that long. A WebSocket may be silent
    /// once it is open, and has some time for its close; so may a call be, unless it has a deadline, which is that time.
    pub(crate) async fn limit<F: Future>(
        &self,
        silence: Duration,
        request: Pin<&mut F>,
    ) -> Option<F::Output> {
        let start = Instant::now();
        let silent = async {
            if let Some(call) = self.call() {
                if call.terms.has_deadline {
                    call.set_due(start + silence);
                }
                sleep_until(start + silence).await;
                if call.is_open() && !call.terms.has_deadline {
                    std::future::pending().await
                }
                return;
            }
            let due = || {
                let latest = self.latest.get().unwrap_or(start);
                // A transport that waits for room cannot tell whether the server is silent.
                let since = if self.blocked.get() {
                    Instant::now()
                } else {
                    latest
                };
                since + silence
            };
            while Instant::now() < due() {
                sleep_until(due()).await;
            }
            if self.socket().is_some() && self.head.borrow().is_some() {
                std::future::pending().await
            }
        };
        let closed = async {
            while !self.closed.get() {
                self.closing.notified().await;
            }
            if self.socket().is_some() {
                sleep(CLOSE_TIMEOUT).await;
            } else if self.complete.get() {
                sleep(TIME_TO_END).await;
            }
        };
        tokio::select! {
            biased;
            outcome = request => Some(outcome),
            () = closed => None,
            () = silent => None,
        }
    }
}
