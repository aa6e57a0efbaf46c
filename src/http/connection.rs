//! One HTTP/1.1 connection of one user. hyper's connection is polled inside the user's own future instead of
//! in a task beside it, which saves a task switch and a wake-up for every request.

use super::stream::{Stamps, Stream};
use super::{ErrorClass, Failure, Origin, Resolver, Timings};
use bytes::{Bytes, BytesMut};
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::net::TcpStream;

type Driver = http1::Connection<TokioIo<Stream>, Full<Bytes>>;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) origin: Rc<Origin>,
    sender: http1::SendRequest<Full<Bytes>>,
    driver: Driver,
    stamps: Rc<Stamps>,
    closed: bool,
}

/// What came back over the connection.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) head: http::response::Parts,
    pub(super) body: Bytes,
}

enum Stage<F> {
    Waiting(F),
    Reading(http::response::Parts, Incoming, Collected),
}

impl Connection {
    /// Opens a connection to `origin`, trying its addresses in turn.
    pub(super) async fn open(
        origin: &Rc<Origin>,
        resolver: &Resolver,
        timings: &mut Timings,
    ) -> Result<Connection, Failure> {
        if origin.secure {
            return Err(Failure::new(ErrorClass::Tls, "https:// is not supported yet"));
        }
        let begin = Instant::now();
        let addresses = resolver.resolve(&origin.host, origin.port).await?;
        let resolved = Instant::now();
        timings.dns = resolved - begin;
        let tcp = connect(&addresses).await?;
        timings.connect = resolved.elapsed();
        let stamps = Rc::new(Stamps::default());
        let stream = TokioIo::new(Stream::new(tcp, stamps.clone()));
        let (sender, driver) = http1::handshake(stream)
            .await
            .map_err(|error| Failure::exchanging(&error))?;
        Ok(Connection {
            origin: origin.clone(),
            sender,
            driver,
            stamps,
            closed: false,
        })
    }

    /// Whether the connection can take another request now. Notices a server that has closed it meanwhile.
    pub(super) fn is_usable(&mut self, cx: &mut Context<'_>) -> bool {
        self.drive(cx).is_ok() && !self.closed && self.sender.is_ready()
    }

    /// Bytes received for the exchange under way or just ended.
    pub(super) fn received(&self) -> u64 {
        self.stamps.received.get()
    }

    /// Sends one request and reads the whole answer. `timings` gets what is known also when this fails.
    pub(super) async fn exchange(
        &mut self,
        request: http::Request<Full<Bytes>>,
        max_body: u64,
        timings: &mut Timings,
    ) -> Result<Answer, Failure> {
        self.stamps.reset();
        let begin = Instant::now();
        let response = self.sender.send_request(request);
        let mut stage = Stage::Waiting(std::pin::pin!(response));
        let answer = poll_fn(|cx| {
            // The driver fills the body through a channel of one frame: both are polled in turn until
            // neither gets on.
            let mut seen = None;
            loop {
                let driven = self.drive(cx);
                let step = match &mut stage {
                    Stage::Waiting(response) => match response.as_mut().poll(cx) {
                        Poll::Ready(Ok(response)) => {
                            let (head, body) = response.into_parts();
                            let length = body.size_hint().exact();
                            stage = Stage::Reading(head, body, Collected::new(length));
                            continue;
                        }
                        Poll::Ready(Err(error)) => Poll::Ready(Err(Failure::exchanging(&error))),
                        Poll::Pending => Poll::Pending,
                    },
                    Stage::Reading(_, body, collected) => {
                        let step = collected.poll(body, max_body, cx);
                        if step.is_pending() && seen != Some(collected.len()) {
                            seen = Some(collected.len());
                            continue;
                        }
                        step
                    }
                };
                return match (step, driven) {
                    (Poll::Pending, Err(failure)) => Poll::Ready(Err(failure)),
                    (step, _) => step,
                };
            }
        })
        .await;
        self.stamp(begin, timings);
        answer?;
        let Stage::Reading(head, _, collected) = stage else {
            return Err(Failure::new(ErrorClass::ClosedEarly, ""));
        };
        Ok(Answer {
            head,
            body: collected.finish(),
        })
    }

    fn stamp(&self, begin: Instant, timings: &mut Timings) {
        let end = Instant::now();
        let sent = self.stamps.sent.get().unwrap_or(end);
        // An answer may begin before the last byte of a large request was sent.
        let first_byte = self.stamps.first_byte.get().unwrap_or(end).max(sent);
        timings.send = sent - begin;
        timings.first_byte = first_byte - sent;
        timings.receive = end - first_byte;
    }

    fn drive(&mut self, cx: &mut Context<'_>) -> Result<(), Failure> {
        if self.closed {
            return Ok(());
        }
        match Pin::new(&mut self.driver).poll(cx) {
            Poll::Pending => Ok(()),
            Poll::Ready(result) => {
                self.closed = true;
                result.map_err(|error| Failure::exchanging(&error))
            }
        }
    }
}

async fn connect(addresses: &[std::net::SocketAddr]) -> Result<TcpStream, Failure> {
    let mut failure = None;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(tcp) => {
                tcp.set_nodelay(true)
                    .map_err(|error| Failure::connecting(&error, &address.to_string()))?;
                return Ok(tcp);
            }
            Err(error) => failure = Some(Failure::connecting(&error, &address.to_string())),
        }
    }
    Err(failure.unwrap_or_else(|| Failure::new(ErrorClass::Dns, "no address")))
}

/// A body as it comes in: the usual single frame is kept as it is, several are joined.
#[derive(Debug)]
enum Collected {
    Single(Bytes),
    Joined(BytesMut),
}

/// Reserve no more than this on the word of a `Content-Length` alone.
const TRUSTED_LENGTH: u64 = 1024 * 1024;

impl Collected {
    fn new(length: Option<u64>) -> Self {
        // hyper hands over at most one read (8 KiB at first, growing) at a time.
        match length {
            Some(length) if length > 8192 => {
                Collected::Joined(BytesMut::with_capacity(length.min(TRUSTED_LENGTH) as usize))
            }
            _ => Collected::Single(Bytes::new()),
        }
    }

    fn len(&self) -> u64 {
        match self {
            Collected::Single(bytes) => bytes.len() as u64,
            Collected::Joined(bytes) => bytes.len() as u64,
        }
    }

    fn push(&mut self, data: Bytes) {
        match self {
            Collected::Single(bytes) if bytes.is_empty() => *bytes = data,
            Collected::Single(bytes) => {
                let mut joined = BytesMut::with_capacity(bytes.len() + data.len());
                joined.extend_from_slice(bytes);
                joined.extend_from_slice(&data);
                *self = Collected::Joined(joined);
            }
            Collected::Joined(bytes) => bytes.extend_from_slice(&data),
        }
    }

    fn poll(&mut self, body: &mut Incoming, max_body: u64, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        loop {
            match Pin::new(&mut *body).poll_frame(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(Failure::exchanging(&error))),
                Poll::Ready(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    if self.len() + data.len() as u64 > max_body {
                        let detail = format!("body of more than {max_body} bytes");
                        return Poll::Ready(Err(Failure::new(ErrorClass::TooLarge, detail)));
                    }
                    self.push(data);
                }
            }
        }
    }

    fn finish(self) -> Bytes {
        match self {
            Collected::Single(bytes) => bytes,
            Collected::Joined(bytes) => bytes.freeze(),
        }
    }
}
