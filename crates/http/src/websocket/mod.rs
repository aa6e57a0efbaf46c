//! WebSocket (RFC 6455) as a client: a request whose connection carries messages both ways once its head has come. The
//! session opens it and serves the connection; the plan sends here, and takes messages from the body of the request.

mod deflate;
mod frames;
mod handshake;
mod stream;

pub(crate) use deflate::{Deflater, Inflater};
pub use frames::CloseFrame;
pub(crate) use frames::{FrameMistake, FrameReader, FrameWriter, Incoming, Opcode, read_in_pieces};
pub use handshake::{SocketOffer, over_http};
use std::cell::{Cell, RefCell};
use std::time::Duration;
pub(crate) use stream::SocketStream;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The time limit of the other side for its part of a close.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// The most bytes that wait to be sent before whoever sends more has to wait.
pub(crate) const MOST_UNSENT: usize = 64 << 10;

/// The side of a WebSocket that belongs to its request: the connection, and the unsent bytes.
#[derive(Debug)]
pub struct SocketSide {
    pub(crate) offer: SocketOffer,
    // None of these is borrowed across an await.
    /// The connection after the handshake, and the bytes that came with its head.
    pub(crate) connection: RefCell<Option<Box<dyn SocketStream>>>,
    pub(crate) first: RefCell<Vec<u8>>,
    pub(crate) writer: RefCell<Option<FrameWriter>>,
    pub(crate) unsent: RefCell<Vec<u8>>,
    /// Wakes the request, which sends, and whoever waits for that.
    pub(crate) to_send: Notify,
    pub(crate) sent: Notify,
    pub(crate) subprotocol: RefCell<Option<String>>,
    pub(crate) is_closing: Cell<bool>,
    /// The codes of which one is expected where the server closes; without any, 1000 or none.
    pub(crate) expects: Vec<u16>,
    /// The payload of the ping whose pong somebody waits for, and when that has come.
    pub(crate) ping: RefCell<Option<(Vec<u8>, Option<Instant>)>>,
    /// The close of the server.
    pub(crate) closed: RefCell<Option<CloseFrame>>,
}

impl SocketSide {
    /// Makes the client's side of a socket.
    pub fn new(offer: SocketOffer, expects: Vec<u16>) -> SocketSide {
        SocketSide {
            offer,
            expects,
            ping: RefCell::default(),
            connection: RefCell::default(),
            first: RefCell::default(),
            writer: RefCell::default(),
            unsent: RefCell::default(),
            to_send: Notify::new(),
            sent: Notify::new(),
            subprotocol: RefCell::default(),
            is_closing: Cell::default(),
            closed: RefCell::default(),
        }
    }

    /// Takes the bytes that came with the head of a response of status 101.
    pub(crate) fn begin(&self, first: &[u8]) {
        self.first.replace(first.to_vec());
    }

    /// Takes the stream that carries the messages after such a response.
    pub(crate) fn connect(&self, stream: impl SocketStream + 'static) {
        self.connection.replace(Some(Box::new(stream)));
    }

    /// Sends a message. Returns false if nothing can be sent any more.
    pub fn send(&self, is_text: bool, bytes: &[u8]) -> bool {
        let mut writer = self.writer.borrow_mut();
        let Some(writer) = writer.as_mut().filter(|_| !self.is_closing.get()) else {
            return false;
        };
        writer.message(&mut self.unsent.borrow_mut(), is_text, bytes);
        self.to_send.notify_one();
        true
    }

    /// Sends a ping, whose pong [`SocketSide::pong`] has. Returns false if nothing can be sent any more.
    pub fn ping(&self) -> bool {
        let mut writer = self.writer.borrow_mut();
        let Some(writer) = writer.as_mut().filter(|_| !self.is_closing.get()) else {
            return false;
        };
        let payload = rand::random::<[u8; 8]>().to_vec();
        writer.control(&mut self.unsent.borrow_mut(), Opcode::Ping, &payload);
        self.ping.replace(Some((payload, None)));
        self.to_send.notify_one();
        true
    }

    /// The time at which the pong of the latest ping has come.
    pub fn pong(&self) -> Option<Instant> {
        self.ping.borrow().as_ref()?.1
    }

    /// Waits for no pong any more.
    pub fn forget_ping(&self) {
        self.ping.take();
    }

    /// Begins the closing handshake.
    pub fn close(&self, close: &CloseFrame) {
        if let Some(writer) = &mut *self.writer.borrow_mut()
            && !self.is_closing.replace(true)
        {
            writer.close(&mut self.unsent.borrow_mut(), close);
        }
        self.to_send.notify_one();
    }

    /// Whether more may be sent without waiting.
    pub fn has_room(&self) -> bool {
        self.unsent.borrow().len() < MOST_UNSENT || self.writer.borrow().is_none()
    }

    /// Waits until more may be sent.
    pub async fn room(&self) {
        while !self.has_room() {
            self.sent.notified().await;
        }
    }

    /// The subprotocol that the server has chosen.
    pub fn subprotocol(&self) -> Option<String> {
        self.subprotocol.borrow().clone()
    }

    /// The close of the server, once it has sent one.
    pub fn closed(&self) -> Option<CloseFrame> {
        self.closed.borrow().clone()
    }
}
