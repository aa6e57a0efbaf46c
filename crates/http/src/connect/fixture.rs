//! A site inside a test, without sockets: it responds to each request when its script says, on tokio's time, which
//! the test may advance. `/redirect/x` redirects to `/x`; every other path responds with `ok`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

/// The time that the response to a path takes; called when the request arrives.
#[derive(Clone)]
pub struct ResponseDelay(Arc<dyn Fn(&str) -> Duration + Send + Sync>);

impl fmt::Debug for ResponseDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}

impl ResponseDelay {
    /// A site that takes as long as `latency` says to respond to a path.
    pub fn new(latency: impl Fn(&str) -> Duration + Send + Sync + 'static) -> ResponseDelay {
        ResponseDelay(Arc::new(latency))
    }

    /// A new connection to the site.
    pub(super) fn connect(&self) -> DuplexStream {
        let (client, site) = tokio::io::duplex(1 << 16);
        let script = self.clone();
        tokio::task::spawn_local(async move { script.serve(site).await.ok() });
        client
    }

    /// Responds to the requests of one connection.
    async fn serve(&self, mut stream: DuplexStream) -> std::io::Result<()> {
        let mut read = Vec::new();
        while stream.read_buf(&mut read).await? > 0 {
            if read.ends_with(b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&read).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default();
                tokio::time::sleep((self.0)(path)).await;
                stream.write_all(response(path).as_bytes()).await?;
                read.clear();
            }
        }
        Ok(())
    }
}

/// The response to a path.
fn response(path: &str) -> String {
    match path.strip_prefix("/redirect") {
        Some(to) => format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n"),
        None => "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".to_owned(),
    }
}
