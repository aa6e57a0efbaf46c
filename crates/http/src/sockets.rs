//! Sockets on which a plan speaks a protocol of its own. They are opened as connections of HTTP are, with the run's
//! names, addresses, proxies, certificates and allowed hosts. Knows nothing of those protocols.

use super::client::Client;
use super::connect::NetStream;
use super::failure::{ErrorClass, Failure};
use super::stopwatch::Stopwatch;
use super::target::{Origin, Target, UNIX};
use lgoose_base::phases::Phases;
use rustls::ClientConfig;
use std::cell::OnceCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::UdpSocket;
use tokio::time::Instant;
use url::Url;

/// The host and port of a socket.
#[derive(Debug, Clone)]
pub struct SocketAddress {
    origin: Rc<Origin>,
    /// Both, as the row of the socket shows them: `example.org:25`, `[::1]:25`; or that of a Unix socket: `unix:/run/app.sock`.
    pub text: Rc<str>,
}

impl SocketAddress {
    /// Reads `host:port`, or a URL, of which only these two count, or `unix:PATH`.
    ///
    /// # Errors
    /// The problem with it.
    pub fn parse(text: &str) -> Result<SocketAddress, String> {
        const EXAMPLE: &str = "write host:port, such as \"127.0.0.1:6379\"";
        if text.starts_with(UNIX) {
            return Origin::of_socket(text).map(SocketAddress::of_origin);
        }
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(format!("an address has no credentials; {EXAMPLE}"));
        }
        let port = authority.rsplit_once(':').map(|(_, port)| port);
        let has_port =
            port.is_some_and(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
        let authority = match scheme {
            _ if has_port => authority.to_owned(),
            "http" | "ws" => format!("{authority}:80"),
            "https" | "wss" => format!("{authority}:443"),
            _ => return Err(format!("the address has no port; {EXAMPLE}")),
        };
        let url = Url::parse(&format!("http://{authority}/"));
        let origin = url.ok().and_then(|url| Origin::of(&url).ok());
        let origin = origin.ok_or_else(|| format!("this is not an address; {EXAMPLE}"))?;
        Ok(SocketAddress::of_origin(origin))
    }

    /// The host and port of a site.
    pub fn of_site(site: &Target) -> SocketAddress {
        let shown: Rc<str> = site.origin.authority().into();
        // The host of a site is a valid address.
        SocketAddress::parse(&shown).unwrap_or_else(|_| SocketAddress {
            origin: site.origin.clone(),
            text: shown,
        })
    }

    fn of_origin(origin: Origin) -> SocketAddress {
        SocketAddress {
            text: origin.authority().into(),
            origin: Rc::new(origin),
        }
    }

    /// Whether it is that of a Unix socket.
    pub fn is_unix(&self) -> bool {
        self.origin.socket.is_some()
    }

    /// The host alone, for which a certificate must be.
    pub fn host(&self) -> &str {
        &self.origin.host
    }
}

/// The opener of one user's sockets.
#[derive(Debug)]
pub struct SocketOpener {
    client: Rc<Client>,
    /// The user's TLS configuration, which offers no version of HTTP.
    tls: OnceCell<Arc<ClientConfig>>,
}

impl SocketOpener {
    pub(super) fn new(client: Rc<Client>) -> SocketOpener {
        SocketOpener {
            client,
            tls: OnceCell::new(),
        }
    }

    /// Opens a TCP connection, with TLS if a name is given that the certificate must be for. `note` is passed the times
    /// of the completed phases, also if this future is dropped.
    ///
    /// # Errors
    /// A [`Failure`] that says why there is none.
    pub async fn connect(
        self: &Rc<Self>,
        address: &SocketAddress,
        server_name: Option<&str>,
        note: &dyn Fn(Phases),
    ) -> Result<SocketStream, Failure> {
        self.client.config.allowed.check(&address.origin)?;
        let mut noted = NotedPhases::new(note);
        let connector = &self.client.connector;
        let no_tls = || Err(Failure::new(ErrorClass::Tls, "there is no TLS yet"));
        let opened = connector.connect(&address.origin, no_tls, &mut noted.stopwatch);
        let stream = opened.await?;
        let stream = match server_name {
            None => stream,
            Some(name) => {
                let tls = self.tls()?;
                let secured = connector.start_tls(stream, name, tls, &mut noted.stopwatch);
                secured.await?
            }
        };
        noted.is_whole = true;
        Ok(SocketStream {
            stream,
            opener: self.clone(),
        })
    }

    /// Opens a socket for datagrams to and from that address alone.
    ///
    /// # Errors
    /// A [`Failure`] that says why there is none.
    pub async fn datagrams(
        &self,
        address: &SocketAddress,
        note: &dyn Fn(Phases),
    ) -> Result<UdpSocket, Failure> {
        self.client.config.allowed.check(&address.origin)?;
        let mut noted = NotedPhases::new(note);
        let connector = &self.client.connector;
        let opened = connector.datagrams(&address.origin, &mut noted.stopwatch);
        let socket = opened.await?;
        noted.is_whole = true;
        Ok(socket)
    }

    fn tls(&self) -> Result<Arc<ClientConfig>, Failure> {
        if let Some(config) = self.tls.get() {
            return Ok(config.clone());
        }
        let mut config = Arc::unwrap_or_clone(self.client.config.tls.user_config()?);
        config.alpn_protocols = Vec::new();
        Ok(self.tls.get_or_init(|| Arc::new(config)).clone())
    }
}

/// The phases of a socket being opened, which are noted at its end, however it ends.
struct NotedPhases<'a> {
    stopwatch: Stopwatch,
    /// Whether all of it was done.
    is_whole: bool,
    note: &'a dyn Fn(Phases),
}

impl NotedPhases<'_> {
    fn new(note: &dyn Fn(Phases)) -> NotedPhases<'_> {
        NotedPhases {
            stopwatch: Stopwatch::started_at(Instant::now()),
            is_whole: false,
            note,
        }
    }
}

impl Drop for NotedPhases<'_> {
    fn drop(&mut self) {
        if !self.is_whole {
            self.stopwatch.interrupt_at(Instant::now());
        }
        (self.note)(self.stopwatch.phases());
    }
}

/// An open TCP connection, with TLS or without.
#[derive(Debug)]
pub struct SocketStream {
    stream: NetStream,
    opener: Rc<SocketOpener>,
}

impl SocketStream {
    /// Whether it has TLS.
    pub fn has_tls(&self) -> bool {
        self.stream.has_tls()
    }

    /// Receives bytes and adds them to `unread`, at most `most` of them; returns how many, 0 at the end.
    pub fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        unread: &mut Vec<u8>,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        let mut buffer = self.opener.client.read_buffer.borrow();
        let most = most.min(buffer.len());
        let mut filled = ReadBuf::new(&mut buffer[..most]);
        match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut filled)) {
            Ok(()) => {
                unread.extend_from_slice(filled.filled());
                Poll::Ready(Ok(filled.filled().len()))
            }
            // A peer that closes TLS without saying so has closed all the same, as most programs take it.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(0)),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Sends some bytes; returns how many.
    pub fn poll_send(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    /// Passes all that was sent on to the kernel.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Notifies the other side that nothing more will be sent.
    pub fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    /// The connection after a TLS handshake that begins now, with a certificate for that name.
    ///
    /// # Errors
    /// A [`Failure`] that says why there is none. The connection is closed then.
    pub async fn start_tls(self, server_name: &str) -> Result<SocketStream, Failure> {
        let SocketStream { stream, opener } = self;
        let tls = opener.tls()?;
        let mut stopwatch = Stopwatch::started_at(Instant::now());
        let connector = &opener.client.connector;
        let secured = connector.start_tls(stream, server_name, tls, &mut stopwatch);
        let stream = secured.await?;
        Ok(SocketStream { stream, opener })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allowed::AllowedHosts;
    use crate::config::ClientConfig;
    use crate::connect::Resolver;
    use std::net::TcpListener;

    #[tokio::test]
    async fn a_host_that_is_not_allowed_gets_no_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let address = SocketAddress::parse(&address).expect("an address");
        let opener = |allowed: &str| {
            let config = ClientConfig {
                allowed: AllowedHosts::new(&[allowed.to_owned()]),
                ..ClientConfig::default()
            };
            let client = Client::new(config, Arc::new(Resolver::default()));
            Rc::new(SocketOpener::new(client))
        };
        let nobody = opener("*.example.org");
        for name in [None, Some("127.0.0.1")] {
            let refused = nobody.connect(&address, name, &|_| ()).await;
            assert_eq!(refused.expect_err("refused").class, ErrorClass::NotAllowed);
        }
        let refused = nobody.datagrams(&address, &|_| ()).await;
        assert_eq!(refused.expect_err("refused").class, ErrorClass::NotAllowed);
        listener.set_nonblocking(true).expect("it can");
        assert!(listener.accept().is_err(), "nobody has come");
        let known = opener("127.0.0.*").connect(&address, None, &|_| ()).await;
        assert!(known.is_ok());
    }

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for (text, shown) in [
            ("127.0.0.1:6379", "127.0.0.1:6379"),
            ("Example.org:25", "example.org:25"),
            ("[::1]:80", "[::1]:80"),
            ("tcp://localhost:1883", "localhost:1883"),
            ("http://localhost/page", "localhost:80"),
            ("https://localhost", "localhost:443"),
            ("unix:/run/App.sock", "unix:/run/App.sock"),
            ("unix:app:80", "unix:app:80"),
        ] {
            let address = SocketAddress::parse(text).expect(text);
            assert_eq!(&*address.text, shown);
        }
        for wrong in [
            "",
            "localhost",
            "localhost:",
            ":25",
            "a:b",
            "::1",
            "a b:25",
            "u:p@host:25",
            "host:70000",
            "tcp://host",
            "unix:",
        ] {
            assert!(SocketAddress::parse(wrong).is_err(), "{wrong}");
        }
    }
}
