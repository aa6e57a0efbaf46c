//! A socket on which a plan speaks a protocol of its own. It sends and receives while the plan waits for that, and at no other
//! time: bytes that a peer sends meanwhile wait in the kernel, so that no more are held than the buffer has room for.

mod connect;
mod receive_rule;

pub use connect::{SocketConnect, SocketKind};
pub use receive_rule::ReceiveRule;

use super::CallOp;
use bytes::Bytes;
use lgoose_base::tags::Tags;
use lgoose_http::{ErrorClass, Failure, SocketAddress, SocketStream};
use lgoose_metrics::{RequestId, Traffic};
use receive_rule::Portion;
use std::cell::{Cell, OnceCell, RefCell};
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;
use tokio::sync::Notify;

/// The time in which a connection is closed as it should be; then it is closed all the same.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// The buffer of a socket that could not be opened, which nothing will ever be in.
const MOST_UNOPENED: usize = 64 << 20;
/// The longest datagram (RFC 768).
const LONGEST_DATAGRAM: usize = 65_535;

/// An open socket, or one that has been.
#[derive(Debug)]
pub struct OpenSocket {
    host: String,
    // Borrowed only within one poll.
    io: RefCell<SocketIo>,
    unread: RefCell<Unread>,
    /// The most bytes that are unread.
    max_buffer: usize,
    /// Whether nothing more will come.
    ended: Cell<bool>,
    /// The reason why it can no longer be used, or the latest failure.
    failure: RefCell<Option<Failure>>,
    /// Traffic that is not counted yet.
    traffic: Cell<Traffic>,
    /// Where that is counted, once it is known.
    pub row: OnceCell<SocketRow>,
    /// Wakes all who wait for something to come when one of them has used it: a socket itself wakes only the latest.
    used: Notify,
}

/// The row of a socket.
#[derive(Debug)]
pub struct SocketRow {
    /// The row's number in the recorder.
    pub id: RequestId,
    /// The kind, such as `TCP`.
    pub kind: Box<str>,
    /// The other end.
    pub target: String,
    /// The name that the plan gives it.
    pub name: Option<Rc<str>>,
    /// The tags of the request.
    pub tags: Option<Rc<Tags>>,
}

impl SocketRow {
    /// The row in which the opening of a socket was counted.
    pub fn of(id: RequestId, op: &CallOp) -> SocketRow {
        SocketRow {
            id,
            kind: op.call.kind().into(),
            target: op.call.target().to_owned(),
            name: op.name.clone(),
            tags: op.tags.clone(),
        }
    }
}

#[derive(Debug)]
enum SocketIo {
    Stream(Box<SocketStream>),
    Datagrams(UdpSocket),
    Closed,
}

/// Received bytes that the plan has not taken.
#[derive(Debug, Default)]
struct Unread {
    bytes: Vec<u8>,
    /// How many of them the plan has taken. To remove each from the front would move all that are behind it.
    taken: usize,
    /// How many of the others were searched for the end of the next portion.
    searched: usize,
}

impl Unread {
    fn len(&self) -> usize {
        self.bytes.len() - self.taken
    }

    /// Removes a portion from the front.
    fn take(&mut self, portion: Portion) -> Bytes {
        let (start, end) = (self.taken, self.taken + portion.used);
        // A search for something else begins anew.
        self.searched = 0;
        if start == 0 && end == self.bytes.len() {
            let mut whole = std::mem::take(&mut self.bytes);
            whole.truncate(portion.taken);
            return Bytes::from(whole);
        }
        let taken = Bytes::copy_from_slice(&self.bytes[start..start + portion.taken]);
        self.taken = end;
        if end == self.bytes.len() {
            self.bytes.clear();
            self.taken = 0;
        }
        taken
    }

    /// Returns the buffer, to add to it.
    fn compacted(&mut self) -> &mut Vec<u8> {
        if self.taken > 0 {
            self.bytes.drain(..std::mem::take(&mut self.taken));
        }
        &mut self.bytes
    }
}

/// An operation on an open socket.
#[derive(Debug)]
pub enum SocketAction {
    /// Sends all of these bytes, or these as one datagram.
    Send(Bytes),
    /// Receives as much as the rule says.
    Receive(ReceiveRule),
    /// Does a TLS handshake with that host, or else the one that it is connected to.
    StartTls(Option<String>),
    /// Closes it.
    Close,
}

/// Why there is nothing to receive, or nothing can be sent.
#[derive(Debug)]
pub enum SocketEnd {
    /// One of the two sides has closed it, not amid a message, or it has failed before.
    Closed(Failure),
    /// It has failed now.
    Failed(Failure),
}

impl OpenSocket {
    /// A TCP connection, of which at most `max_buffer` bytes wait for the plan.
    pub(super) fn stream(
        address: &SocketAddress,
        stream: SocketStream,
        max_buffer: usize,
    ) -> OpenSocket {
        OpenSocket::new(
            address.host(),
            SocketIo::Stream(Box::new(stream)),
            max_buffer,
        )
    }

    /// A socket for datagrams.
    pub(super) fn datagrams(address: &SocketAddress, socket: UdpSocket) -> OpenSocket {
        OpenSocket::new(address.host(), SocketIo::Datagrams(socket), 0)
    }

    /// One that could not be opened.
    pub fn unopened(failure: Failure) -> OpenSocket {
        let socket = OpenSocket::new("", SocketIo::Closed, MOST_UNOPENED);
        socket.break_off(failure);
        socket
    }

    fn new(host: &str, io: SocketIo, max_buffer: usize) -> OpenSocket {
        OpenSocket {
            host: host.to_owned(),
            io: RefCell::new(io),
            unread: RefCell::default(),
            max_buffer,
            ended: Cell::new(false),
            failure: RefCell::new(None),
            traffic: Cell::default(),
            row: OnceCell::new(),
            used: Notify::new(),
        }
    }

    /// Returns the most bytes that wait for the plan.
    pub fn max_buffer(&self) -> usize {
        self.max_buffer
    }

    /// Returns whether it is one for datagrams.
    pub fn has_datagrams(&self) -> bool {
        matches!(*self.io.borrow(), SocketIo::Datagrams(_))
    }

    /// Returns whether it is a connection with TLS.
    pub fn has_tls(&self) -> bool {
        matches!(&*self.io.borrow(), SocketIo::Stream(stream) if stream.has_tls())
    }

    /// Returns whether it is closed, by whomever.
    pub fn is_closed(&self) -> bool {
        matches!(*self.io.borrow(), SocketIo::Closed)
    }

    /// Returns the reason why it can no longer be used, or the latest failure.
    pub fn error(&self) -> Option<String> {
        self.failure.borrow().as_ref().map(Failure::to_string)
    }

    /// Takes the traffic that is not counted yet.
    pub fn take_traffic(&self) -> Traffic {
        self.traffic.take()
    }

    /// Closes it at once, for that reason. Received bytes can still be taken.
    pub(crate) fn break_off(&self, failure: Failure) {
        self.failure.borrow_mut().get_or_insert(failure);
        self.ended.set(true);
        self.io.replace(SocketIo::Closed);
        self.used.notify_waiters();
    }

    /// Closes it at once, since the plan has let go of it.
    pub fn let_go(&self) {
        self.io.replace(SocketIo::Closed);
        self.unread.take();
        self.used.notify_waiters();
    }

    /// Performs an operation. May be dropped at any time; then [`OpenSocket::cut_off`] is to be called.
    ///
    /// # Errors
    /// Why it cannot be done.
    pub async fn perform(&self, action: &SocketAction) -> Result<Bytes, SocketEnd> {
        match action {
            SocketAction::Send(bytes) => self.send(bytes).await.map(|()| Bytes::new()),
            SocketAction::Receive(ReceiveRule::Datagram) => self.receive_datagram().await,
            SocketAction::Receive(rule) => self.receive(rule).await,
            SocketAction::StartTls(name) => self.start_tls(name.as_deref()).await,
            SocketAction::Close => {
                self.close().await;
                Ok(Bytes::new())
            }
        }
    }

    /// Ends an action that takes too long, for that reason. To wait for something harms nothing; whatever else was half done
    /// leaves the connection in no known state.
    pub fn cut_off(&self, action: &SocketAction, failure: &Failure) {
        match action {
            SocketAction::Receive(_) => {}
            SocketAction::Send(_) if self.has_datagrams() => {}
            _ => self.break_off(failure.clone()),
        }
    }

    /// Takes the first received bytes by the rule; `None` if they are not enough, or never will be.
    pub fn take_at_hand(&self, rule: &ReceiveRule) -> Option<Bytes> {
        let mut unread = self.unread.borrow_mut();
        let (rest, ended) = (&unread.bytes[unread.taken..], self.ended.get());
        // Whoever waits for more searches anew.
        let portion = rule.portion(rest, &mut 0, ended, self.max_buffer);
        let portion = portion.ok().flatten()?;
        self.count(|traffic| traffic.messages_received += 1);
        Some(unread.take(portion))
    }

    /// Takes the first received bytes by the rule; `None` if they are not enough.
    ///
    /// # Errors
    /// It will never be enough.
    fn take(&self, rule: &ReceiveRule) -> Result<Option<Bytes>, SocketEnd> {
        let mut unread = self.unread.borrow_mut();
        let Unread {
            bytes,
            taken,
            searched,
        } = &mut *unread;
        let ended = self.ended.get();
        match rule.portion(&bytes[*taken..], searched, ended, self.max_buffer) {
            Ok(Some(portion)) => {
                self.count(|traffic| traffic.messages_received += 1);
                Ok(Some(unread.take(portion)))
            }
            Ok(None) if !ended => Ok(None),
            Ok(None) => {
                *searched = 0;
                let is_amid = unread.len() > 0;
                drop(unread);
                Err(self.end(is_amid))
            }
            Err(failure) => {
                *searched = 0;
                drop(unread);
                Err(self.fail(failure))
            }
        }
    }

    /// Returns why there is nothing more to receive.
    fn end(&self, is_amid: bool) -> SocketEnd {
        if self.is_closed() {
            return self.closed();
        }
        let detail = if is_amid {
            "the peer has closed the connection amid a message"
        } else {
            "the peer has closed the connection"
        };
        let failure = Failure::new(ErrorClass::ClosedEarly, detail);
        self.break_off(failure.clone());
        if is_amid {
            SocketEnd::Failed(failure)
        } else {
            SocketEnd::Closed(failure)
        }
    }

    /// Notes a failure, after which a connection is closed.
    fn fail(&self, failure: Failure) -> SocketEnd {
        if self.has_datagrams() {
            self.failure.replace(Some(failure.clone()));
        } else {
            self.break_off(failure.clone());
        }
        SocketEnd::Failed(failure)
    }

    /// Returns why a closed socket cannot be used.
    fn closed(&self) -> SocketEnd {
        let before = self.failure.borrow().clone();
        let by_plan = || Failure::new(ErrorClass::ClosedEarly, "the plan has closed the socket");
        SocketEnd::Closed(before.unwrap_or_else(by_plan))
    }

    async fn receive(&self, rule: &ReceiveRule) -> Result<Bytes, SocketEnd> {
        loop {
            if let Some(taken) = self.take(rule)? {
                return Ok(taken);
            }
            if self.is_closed() {
                return Err(self.closed());
            }
            let received = tokio::select! {
                biased;
                () = self.used.notified() => Ok(()),
                received = poll_fn(|cx| self.poll_fill(cx)) => received,
            };
            // Others who wait look whether it is enough for them, and wait anew.
            self.used.notify_waiters();
            received.map_err(|error| self.fail(Failure::from_io_error(&error)))?;
        }
    }

    /// Receives bytes, for which there must be room.
    fn poll_fill(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut unread = self.unread.borrow_mut();
        let room = self.max_buffer - unread.len();
        let unread = unread.compacted();
        let received = match &mut *self.io.borrow_mut() {
            SocketIo::Stream(stream) => ready!(stream.poll_receive(cx, unread, room))?,
            _ => 0,
        };
        if received == 0 {
            self.ended.set(true);
        }
        self.count(|traffic| traffic.received += received as u64);
        Poll::Ready(Ok(()))
    }

    async fn receive_datagram(&self) -> Result<Bytes, SocketEnd> {
        let mut buffer = vec![0; LONGEST_DATAGRAM];
        let received = poll_fn(|cx| {
            let SocketIo::Datagrams(socket) = &*self.io.borrow() else {
                return Poll::Ready(None);
            };
            let mut filled = ReadBuf::new(&mut buffer);
            let received = ready!(socket.poll_recv(cx, &mut filled));
            Poll::Ready(Some(received.map(|()| filled.filled().len())))
        });
        let received = tokio::select! {
            biased;
            () = self.used.notified() => return Box::pin(self.receive_datagram()).await,
            received = received => received,
        };
        self.used.notify_waiters();
        match received {
            None => Err(self.closed()),
            Some(Err(error)) => Err(self.fail(Failure::from_io_error(&error))),
            Some(Ok(length)) => {
                self.count(|traffic| {
                    traffic.received += length as u64;
                    traffic.messages_received += 1;
                });
                Ok(Bytes::copy_from_slice(&buffer[..length]))
            }
        }
    }

    async fn send(&self, bytes: &[u8]) -> Result<(), SocketEnd> {
        if self.is_closed() {
            return Err(self.closed());
        }
        let mut sent = 0;
        let outcome = poll_fn(|cx| self.poll_send(cx, bytes, &mut sent)).await;
        self.used.notify_waiters();
        outcome.map_err(|error| self.fail(Failure::from_io_error(&error)))?;
        self.count(|traffic| traffic.messages_sent += 1);
        Ok(())
    }

    /// Sends the bytes after the first `sent`. Meanwhile receives as much as there is room for: a peer may take no more before its own
    /// bytes are read.
    fn poll_send(
        &self,
        cx: &mut Context<'_>,
        bytes: &[u8],
        sent: &mut usize,
    ) -> Poll<io::Result<()>> {
        loop {
            let polled = match &mut *self.io.borrow_mut() {
                SocketIo::Datagrams(socket) => socket.poll_send(cx, bytes),
                SocketIo::Stream(stream) if *sent == bytes.len() => {
                    stream.poll_flush(cx).map_ok(|()| 0)
                }
                SocketIo::Stream(stream) => stream.poll_send(cx, &bytes[*sent..]),
                SocketIo::Closed => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            };
            match polled? {
                Poll::Ready(0) if *sent < bytes.len() => {
                    return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                }
                Poll::Ready(count) => {
                    *sent += count;
                    self.count(|traffic| traffic.sent += count as u64);
                    if count == 0 || self.has_datagrams() {
                        return Poll::Ready(Ok(()));
                    }
                }
                Poll::Pending => {
                    let has_room = self.unread.borrow().len() < self.max_buffer;
                    if !has_room || self.ended.get() {
                        return Poll::Pending;
                    }
                    ready!(self.poll_fill(cx))?;
                    self.used.notify_waiters();
                }
            }
        }
    }

    async fn start_tls(&self, name: Option<&str>) -> Result<Bytes, SocketEnd> {
        if self.is_closed() {
            return Err(self.closed());
        }
        // It would be taken for data over TLS.
        if self.unread.borrow().len() > 0 {
            let detail = "the peer has sent more before the TLS handshake";
            return Err(self.fail(Failure::new(ErrorClass::Protocol, detail)));
        }
        let SocketIo::Stream(stream) = self.io.replace(SocketIo::Closed) else {
            return Err(self.closed());
        };
        let secured = stream.start_tls(name.unwrap_or(&self.host)).await;
        let stream = secured.map_err(|failure| self.fail(failure))?;
        self.io.replace(SocketIo::Stream(Box::new(stream)));
        Ok(Bytes::new())
    }

    /// Closes it, so that the peer knows.
    pub async fn close(&self) {
        let closing = poll_fn(|cx| match &mut *self.io.borrow_mut() {
            SocketIo::Stream(stream) => stream.poll_close(cx),
            _ => Poll::Ready(Ok(())),
        });
        // How that ends matters to nobody.
        let _closed = tokio::time::timeout(CLOSE_TIMEOUT, closing).await;
        self.let_go();
        self.ended.set(true);
    }

    fn count(&self, count: impl FnOnce(&mut Traffic)) {
        let mut traffic = self.traffic.get();
        count(&mut traffic);
        self.traffic.set(traffic);
    }
}
