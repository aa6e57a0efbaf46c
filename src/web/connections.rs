//! Connections of the server: a bounded number of them, each of which has to say something and to take what it is sent
//! within a time, and holds little until it does.

use super::server::MOST;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;

/// Time within which a request's head has to come, also after the one before, and a TLS handshake be done.
const HEAD: Duration = Duration::from_secs(10);

/// Time after which a connection that takes nothing is closed.
const STUCK: Duration = Duration::from_secs(30);

/// Bytes that are held for a connection: of a head that comes, or of an answer that is not taken.
const BUFFER: usize = 16 * 1024;

/// Bytes that the kernel holds for a connection that does not take them.
const SEND_BUFFER: usize = 128 * 1024;

/// What serves all connections.
#[derive(Clone)]
pub(super) struct ConnectionServer {
    pub(super) router: Router,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) closing: watch::Receiver<bool>,
    pub(super) free: Arc<Semaphore>,
}

impl ConnectionServer {
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

    /// Serves a connection beside the others; one too many is closed at once.
    fn start(&self, stream: TcpStream) {
        let Ok(permit) = self.free.clone().try_acquire_owned() else {
            return;
        };
        let _slower = stream.set_nodelay(true);
        let _larger = rustix::net::sockopt::set_socket_send_buffer_size(&stream, SEND_BUFFER);
        let own = self.clone();
        tokio::spawn(async move {
            own.serve(stream).await;
            drop(permit);
        });
    }

    async fn serve(self, stream: TcpStream) {
        match self.tls {
            None => talk(stream, self.router, self.closing).await,
            Some(tls) => {
                if let Ok(Ok(stream)) = timeout(HEAD, tls.accept(stream)).await {
                    talk(stream, self.router, self.closing).await;
                }
            }
        }
    }

    /// Waits until all connections have ended.
    pub(super) async fn ended(&self) {
        let _all = self.free.acquire_many(MOST).await;
    }
}

/// Serves one connection until either side closes it. How it ends does not matter.
async fn talk<S>(stream: S, router: Router, mut closing: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(STUCK));
    let service = tower_service_of(router);
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
    Error = std::convert::Infallible,
    Future: Send,
> {
    TowerToHyperService::new(router)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::{get, post};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::time::Instant;

    /// Serves one connection on a clock that jumps; returns its other end.
    fn connect(router: Router) -> (DuplexStream, watch::Sender<bool>) {
        let (near, far) = tokio::io::duplex(1_024);
        let (closing, closes) = watch::channel(false);
        tokio::spawn(talk(far, router, closes));
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
}
