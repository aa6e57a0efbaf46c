//! Connections of the server: a bounded number of them, each of which has to send a request and to take its response
//! within a time, and holds little until it does. Where there are too many, those that have shown no token go first.

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;

/// Time within which a request's head has to come, also after the one before, and a TLS handshake be done.
const HEAD: Duration = Duration::from_secs(10);

/// Time after which a connection that takes nothing is closed.
const STUCK: Duration = Duration::from_secs(30);

/// Bytes that are held for a connection: of a head that comes, or of a response that is not taken.
const BUFFER: usize = 16 * 1024;

/// Bytes that the kernel holds for a connection that does not take them.
const SEND_BUFFER: usize = 128 * 1024;

/// Service of all connections.
#[derive(Clone)]
pub(super) struct ConnectionServer {
    router: Router,
    tls: Option<TlsAcceptor>,
    closing: watch::Receiver<bool>,
    free: Arc<Semaphore>,
    most: u32,
    /// Connections that have shown no token, the oldest first.
    strangers: Arc<Mutex<VecDeque<Stranger>>>,
}

/// Mark of a response to a request that has shown the token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Admitted;

/// A connection, and whether it has shown the token meanwhile.
struct Stranger {
    connection: AbortHandle,
    is_admitted: Arc<AtomicBool>,
}

impl Stranger {
    fn remains(&self) -> bool {
        !self.connection.is_finished() && !self.is_admitted.load(Ordering::Relaxed)
    }
}

impl ConnectionServer {
    /// A server for at most `most` connections at a time.
    pub(super) fn new(
        router: Router,
        tls: Option<TlsAcceptor>,
        closing: watch::Receiver<bool>,
        most: u32,
    ) -> ConnectionServer {
        ConnectionServer {
            router,
            tls,
            closing,
            free: Arc::new(Semaphore::new(most as usize)),
            most,
            strangers: Arc::default(),
        }
    }

    /// Accepts connections until the server closes.
    pub(super) async fn accept(&self, listener: TcpListener) {
        let mut closing = self.closing.clone();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => self.start(stream),
                    // Out of file descriptors, most likely: some come back when connections close.
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                },
                _ = closing.wait_for(|closing| *closing) => return,
            }
        }
    }

    /// Serves a connection beside the others. One too many takes the place of the oldest that has shown no token, and is
    /// closed at once if all have.
    fn start(&self, stream: TcpStream) {
        let mut strangers = self
            .strangers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        strangers.retain(Stranger::remains);
        let permit = self.free.clone().try_acquire_owned().ok();
        if permit.is_none() {
            match strangers.pop_front() {
                Some(oldest) => oldest.connection.abort(),
                None => return,
            }
        }
        let _slower = stream.set_nodelay(true);
        let _larger = rustix::net::sockopt::set_socket_send_buffer_size(&stream, SEND_BUFFER);
        let (own, is_admitted) = (self.clone(), Arc::<AtomicBool>::default());
        let admitted = is_admitted.clone();
        let connection = tokio::spawn(async move {
            let _permit = match permit {
                Some(permit) => Ok(permit),
                // That of the oldest.
                None => own.free.clone().acquire_owned().await,
            };
            own.serve(stream, admitted).await;
        });
        strangers.push_back(Stranger {
            connection: connection.abort_handle(),
            is_admitted,
        });
    }

    async fn serve(self, stream: TcpStream, is_admitted: Arc<AtomicBool>) {
        match self.tls {
            None => talk(stream, self.router, self.closing, is_admitted).await,
            Some(tls) => {
                if let Ok(Ok(stream)) = timeout(HEAD, tls.accept(stream)).await {
                    talk(stream, self.router, self.closing, is_admitted).await;
                }
            }
        }
    }

    /// Waits until all connections have ended.
    pub(super) async fn ended(&self) {
        let _all = self.free.acquire_many(self.most).await;
    }
}

/// Serves one connection until either side closes it. How it ends does not matter.
async fn talk<S>(
    stream: S,
    router: Router,
    mut closing: watch::Receiver<bool>,
    is_admitted: Arc<AtomicBool>,
) where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(STUCK));
    let routes = tower_service_of(router);
    let service = service_fn(|request| {
        let responding = routes.call(request);
        let is_admitted = &is_admitted;
        async move {
            let response = responding.await?;
            if response.extensions().get::<Admitted>().is_some() {
                is_admitted.store(true, Ordering::Relaxed);
            }
            Ok::<_, Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    tokio::pin!(connection);
    tokio::select! {
        _ended = connection.as_mut() => return,
        _ = closing.wait_for(|closing| *closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ended = connection.await;
}

/// A router as a service for hyper.
fn tower_service_of(
    router: Router,
) -> impl hyper::service::Service<
    Request<Incoming>,
    Response = axum::http::Response<Body>,
    Error = Infallible,
    Future: Send,
> {
    TowerToHyperService::new(router)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::{get, post};
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::time::Instant;

    /// Serves one connection on a clock that jumps; returns its other end.
    fn connect(router: Router) -> (DuplexStream, watch::Sender<bool>) {
        let (near, far) = tokio::io::duplex(1_024);
        let (closing, closes) = watch::channel(false);
        tokio::spawn(talk(far, router, closes, Arc::default()));
        (near, closing)
    }

    fn pages() -> Router {
        Router::new()
            .route("/", get(|| async { "page" }))
            .route("/large", get(|| async { "x".repeat(1_000_000) }))
            .route(
                "/body",
                post(|body: axum::body::Bytes| async move { body.len().to_string() }),
            )
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_sends_nothing_is_closed() {
        for sent in [
            "",
            "GET / HTTP/1.1\r\nHost: a\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        ] {
            let start = Instant::now();
            let (mut stream, _open) = connect(pages());
            stream.write_all(sent.as_bytes()).await.expect("it is open");
            let mut all = Vec::new();
            stream.read_to_end(&mut all).await.expect("it ends");
            let text = String::from_utf8_lossy(&all);
            assert_eq!(text.ends_with("page"), sent.ends_with("\r\n\r\n"), "{text}");
            assert_eq!(start.elapsed().as_secs(), HEAD.as_secs(), "after {sent:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_takes_nothing_is_closed() {
        let start = Instant::now();
        let (mut stream, _open) = connect(pages());
        let request = b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n";
        stream.write_all(request).await.expect("it is open");
        tokio::time::sleep(STUCK * 2).await;
        let mut all = Vec::new();
        let _cut = stream.read_to_end(&mut all).await;
        assert!(all.len() <= 1_024, "{} bytes", all.len());
        assert_eq!(start.elapsed(), STUCK * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_ends_when_the_server_closes_and_a_response_is_finished() {
        let (mut idle, closing) = connect(pages());
        closing.send_replace(true);
        let mut all = Vec::new();
        idle.read_to_end(&mut all).await.expect("it ends");
        let (mut busy, closing) = connect(pages());
        let request = b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n";
        busy.write_all(request).await.expect("it is open");
        let mut first = [0; 16];
        busy.read_exact(&mut first).await.expect("an answer");
        closing.send_replace(true);
        busy.read_to_end(&mut all).await.expect("it ends");
        assert!(all.len() > 1_000_000, "{} bytes", all.len());
    }

    /// Starts a server for two connections, whose pages admit everybody or nobody.
    async fn serve_two(admits: bool) -> (SocketAddr, watch::Sender<bool>) {
        let admit = move |mut response: axum::response::Response| async move {
            if admits {
                response.extensions_mut().insert(Admitted);
            }
            response
        };
        let router = pages().layer(axum::middleware::map_response(admit));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (closing, closes) = watch::channel(false);
        let server = ConnectionServer::new(router, None, closes, 2);
        // The futures of `accept` stay on its thread.
        tokio::task::spawn_local(async move { server.accept(listener).await });
        (address, closing)
    }

    /// Opens a connection, requests the page, and returns the bytes of it that have come.
    async fn ask(address: SocketAddr) -> (TcpStream, usize) {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        // One that is closed at once may not take it.
        let _closed = stream.write_all(request).await;
        let mut response = [0; 1_024];
        let read = stream.read(&mut response).await.unwrap_or(0);
        (stream, read)
    }

    #[tokio::test(flavor = "local")]
    async fn whoever_has_shown_no_token_makes_room_for_others() {
        let (address, _open) = serve_two(false).await;
        let (mut first, mut second) = (ask(address).await, ask(address).await);
        let third = ask(address).await;
        assert!(first.1 > 0 && second.1 > 0 && third.1 > 0);
        let mut more = [0; 16];
        let ended = first.0.read(&mut more).await.unwrap_or(0);
        assert_eq!(ended, 0, "the oldest is closed");
        let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        second.0.write_all(request).await.expect("it is open");
        assert!(second.0.read(&mut more).await.expect("it is open") > 0);
    }

    #[tokio::test(flavor = "local")]
    async fn whoever_has_shown_the_token_stays() {
        let (address, _open) = serve_two(true).await;
        let (first, second) = (ask(address).await, ask(address).await);
        let third = ask(address).await;
        assert!(first.1 > 0 && second.1 > 0);
        assert_eq!(third.1, 0, "there is no room");
    }
}
