//! A site that speaks only HTTP/2, with the server of the `h2` crate. Each path does one thing.

use crate::http2_sockets::serve_socket;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;

/// The size of the body of '/large', in bytes.
const LARGE: usize = 12 << 20;
/// The number of requests for '/together/…' that are answered together.
pub(crate) const SIDE_BY_SIDE: usize = 6;

/// The connections and requests that a site has seen.
struct Seen {
    requests: Mutex<Vec<(String, HeaderMap)>>,
    /// How clients have ended their side of WebSockets.
    socket_ends: Mutex<Vec<String>>,
    connections: AtomicUsize,
    together: Barrier,
    odd: Odd,
}

/// How a site differs from others.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Odd {
    /// In nothing.
    No,
    /// It allows so many streams at a time.
    Streams(u32),
    /// Its first connection ends at once, as an attacked one does, and says that it has looked at no stream.
    Leaves,
    /// Over TLS, its first connection speaks HTTP/1.1, and closes after one response.
    Learns,
    /// It takes no WebSockets.
    Socketless,
}

/// A site that speaks only HTTP/2, on a thread of its own until the tests end.
pub(crate) struct Http2 {
    address: SocketAddr,
    seen: Arc<Seen>,
}

impl Http2 {
    pub(crate) fn start(tls: Option<rustls::ServerConfig>) -> Http2 {
        Http2::with(tls, Odd::No)
    }

    pub(crate) fn odd(odd: Odd) -> Http2 {
        Http2::with(None, odd)
    }

    /// A site over TLS that learns HTTP/2 after its first connection.
    pub(crate) fn learning(tls: rustls::ServerConfig) -> Http2 {
        Http2::with(Some(tls), Odd::Learns)
    }

    /// A site over TLS that takes no WebSockets.
    pub(crate) fn socketless(tls: rustls::ServerConfig) -> Http2 {
        Http2::with(Some(tls), Odd::Socketless)
    }

    fn with(tls: Option<rustls::ServerConfig>, odd: Odd) -> Http2 {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        listener.set_nonblocking(true).expect("a socket can be so");
        let seen = Arc::new(Seen {
            requests: Mutex::default(),
            socket_ends: Mutex::default(),
            connections: AtomicUsize::new(0),
            together: Barrier::new(SIDE_BY_SIDE),
            odd,
        });
        let shared = seen.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime
                .expect("a runtime")
                .block_on(listen(listener, tls.map(Arc::new), shared));
        });
        Http2 { address, seen }
    }

    pub(crate) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<(String, HeaderMap)> {
        self.seen
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn count(&self, path: &str) -> usize {
        self.requests()
            .iter()
            .filter(|(seen, _)| seen == path)
            .count()
    }

    /// How clients have ended their side of WebSockets: `end` or `reset`.
    pub(crate) fn socket_ends(&self) -> Vec<String> {
        let ends = self.seen.socket_ends.lock();
        ends.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }
}

async fn listen(
    listener: std::net::TcpListener,
    tls: Option<Arc<rustls::ServerConfig>>,
    seen: Arc<Seen>,
) {
    let listener = TcpListener::from_std(listener).expect("a socket that does not block");
    while let Ok((tcp, _)) = listener.accept().await {
        let number = seen.connections.fetch_add(1, Ordering::SeqCst);
        let (seen, tls) = (seen.clone(), tls.clone());
        tokio::spawn(async move {
            if seen.odd == Odd::Leaves && number == 0 {
                return leave(tcp).await;
            }
            match tls {
                None => serve(tcp, &seen).await,
                Some(tls) if seen.odd == Odd::Learns && number == 0 => {
                    answer_old(tcp, rustls::ServerConfig::clone(&tls)).await;
                }
                Some(tls) => {
                    let shaken = tokio_rustls::TlsAcceptor::from(tls).accept(tcp);
                    match shaken.into_fallible().await {
                        Ok(stream) => serve(stream, &seen).await,
                        // With bytes left unread, the end would be a reset, which may overtake the reason.
                        Err((_, tcp)) => read_to_end(tcp).await,
                    }
                }
            }
        });
    }
}

/// Sends empty SETTINGS and a GOAWAY whose last stream is 0 and whose reason is 'enhance your calm', then reads until
/// the client has gone.
async fn leave(mut tcp: TcpStream) {
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let goaway = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11];
    // A client that goes first is no matter.
    let _gone = tcp.write_all(&[&settings[..], &goaway].concat()).await;
    read_to_end(tcp).await;
}

/// Reads until the client has gone.
async fn read_to_end(mut tcp: TcpStream) {
    let mut buffer = [0; 4096];
    while let Ok(1..) = tcp.read(&mut buffer).await {}
}

/// Answers one request over HTTP/1.1.
async fn answer_old(tcp: TcpStream, mut tls: rustls::ServerConfig) {
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    let shaken = tokio_rustls::TlsAcceptor::from(Arc::new(tls)).accept(tcp);
    let mut stream = shaken.await.expect("a client that speaks HTTP/1.1, too");
    let _asked = stream.read(&mut [0; 4096]).await;
    let good = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 4\r\n\r\ngood";
    let _sent = stream.write_all(good).await;
    let _ended = stream.shutdown().await;
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, seen: &Arc<Seen>) {
    let mut builder = h2::server::Builder::new();
    if let Odd::Streams(most) = seen.odd {
        builder.max_concurrent_streams(most);
    }
    if seen.odd != Odd::Socketless {
        builder.enable_connect_protocol();
    }
    let Ok(mut connection) = builder.handshake(stream).await else {
        return;
    };
    while let Some(Ok((request, answer))) = connection.accept().await {
        let path = request.uri().path().to_owned();
        {
            let mut requests = seen.requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.push((path.clone(), request.headers().clone()));
        }
        match path.as_str() {
            // Nothing moves on this connection any more, and it stays open.
            "/freeze" => std::future::pending().await,
            "/bye" => connection.graceful_shutdown(),
            "/go-away" => connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM),
            _ => {}
        }
        let first = seen.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let first = first.iter().filter(|(seen, _)| *seen == path).count() == 1;
        let seen = seen.clone();
        tokio::spawn(async move {
            if let Some(protocol) = request.extensions().get::<h2::ext::Protocol>() {
                assert_eq!(
                    (protocol.as_str(), request.method()),
                    ("websocket", &Method::CONNECT)
                );
                let end = serve_socket(&path, request, answer).await;
                let mut ends = seen.socket_ends.lock();
                ends.as_mut().expect("nobody panics").push(end);
                return;
            }
            // What a client does not wait for fails here, and is no matter.
            let _gone = reply(&path, first, request, answer, &seen).await;
        });
    }
}

async fn reply(
    path: &str,
    first: bool,
    request: Request<RecvStream>,
    mut answer: SendResponse<Bytes>,
    seen: &Seen,
) -> Result<(), h2::Error> {
    let plain = |status: u16| {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::from_u16(status).expect("a status");
        response
    };
    match path {
        "/refused" => answer.send_reset(Reason::REFUSED_STREAM),
        "/refused-once" if first => answer.send_reset(Reason::REFUSED_STREAM),
        "/reset" => answer.send_reset(Reason::INTERNAL_ERROR),
        "/reset-in-body" | "/left-in-body" => {
            let mut body = answer.send_response(plain(200), false)?;
            body.send_data(Bytes::from_static(b"part"), false)?;
            body.send_reset(match path {
                "/left-in-body" => Reason::NO_ERROR,
                _ => Reason::INTERNAL_ERROR,
            });
        }
        "/hold" | "/go-away" => std::future::pending().await,
        "/trailers" => {
            let mut body = answer.send_response(plain(200), false)?;
            body.send_data(Bytes::from_static(b"good"), false)?;
            let mut trailers = HeaderMap::new();
            trailers.insert("checksum", "1".parse().expect("a value"));
            body.send_trailers(trailers)?;
        }
        "/large" => {
            let mut body = answer.send_response(plain(200), false)?;
            body.send_data(vec![b'x'; LARGE].into(), true)?;
        }
        "/endless" => {
            let mut body = answer.send_response(plain(200), false)?;
            loop {
                body.reserve_capacity(1 << 16);
                let Some(granted) = std::future::poll_fn(|cx| body.poll_capacity(cx)).await else {
                    return Ok(());
                };
                body.send_data(vec![b'x'; granted?].into(), false)?;
            }
        }
        "/count" => {
            let mut stream = request.into_body();
            let mut length = 0;
            while let Some(piece) = stream.data().await {
                let piece = piece?;
                length += piece.len();
                stream.flow_control().release_capacity(piece.len())?;
            }
            let mut body = answer.send_response(plain(200), false)?;
            body.send_data(length.to_string().into(), true)?;
        }
        "/interim" => {
            answer.send_informational(plain(103))?;
            let mut body = answer.send_response(plain(200), false)?;
            body.send_data(Bytes::from_static(b"good"), true)?;
        }
        "/interim-for-ever" => {
            for _ in 0..1_000 {
                answer.send_informational(plain(103))?;
                tokio::task::yield_now().await;
            }
            std::future::pending().await
        }
        "/wrong-length" => {
            let mut response = plain(200);
            response.headers_mut().insert("content-length", 9.into());
            let mut body = answer.send_response(response, false)?;
            body.send_data(Bytes::from_static(b"good"), true)?;
        }
        "/many-headers" => {
            let mut response = plain(200);
            for nth in 0..1_000 {
                let name = http::HeaderName::try_from(format!("x-{nth}")).expect("a name");
                response.headers_mut().insert(name, 1.into());
            }
            answer.send_response(response, true)?;
        }
        "/empty" => {
            answer.send_response(plain(204), true)?;
        }
        "/to-count" => {
            let mut response = plain(307);
            response
                .headers_mut()
                .insert("location", "/count".parse().expect("a value"));
            answer.send_response(response, true)?;
        }
        path => {
            if path.starts_with("/together") {
                seen.together.wait().await;
            }
            let empty = request.method() == Method::HEAD;
            let mut body = answer.send_response(plain(200), empty)?;
            if !empty {
                body.send_data(Bytes::from_static(b"good"), true)?;
            }
        }
    }
    Ok(())
}
