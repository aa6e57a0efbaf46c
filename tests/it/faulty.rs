//! A site that does what a script says, byte by byte: it resets, stalls, lies about lengths and never ends.
//! One thread a connection, plain or TLS. Knows nothing of the program under test.

use rustls::{HandshakeKind, ServerConfig, ServerConnection, StreamOwned};
use std::collections::HashSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// An action of the site on a connection.
pub(crate) enum Act {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes again and again, until the client has gone.
    Forever(Vec<u8>),
    /// Sends these bytes one by one, with a pause between them.
    Drip(Vec<u8>, Duration),
    /// Runs a function of the test, which may pause.
    Run(Box<dyn FnOnce() + Send>),
    /// Reads the body that the request announced. A body that waits for '100 Continue', or whose request has
    /// 'X-Unread', is not read before.
    ReadBody,
    /// Waits until the test opens the gate.
    Gate,
    /// Closes its side for writing and waits for the client to go.
    HalfClose,
    /// Does nothing until the client has gone.
    Hold,
    /// Closes; over TLS without announcing it.
    Close,
    /// Announces over TLS that it closes, and closes.
    Finish,
    /// Closes with a reset.
    Reset,
}

/// A request as received.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Request line and headers.
    pub(crate) head: String,
    /// The body as sent, chunks included.
    pub(crate) body: Vec<u8>,
    /// The number of its connection, from 0.
    pub(crate) connection: usize,
    /// The address that it came from.
    pub(crate) from: String,
    /// Whether its TLS session was resumed.
    pub(crate) resumed: bool,
}

impl Asked {
    /// Returns the value of a header, empty without it.
    pub(crate) fn header(&self, wanted: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let mut found = lines.filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.next().map_or("", |(_, value)| value.trim())
    }
}

type Script = dyn Fn(&Asked) -> Vec<Act> + Send + Sync;

struct Shared {
    script: Box<Script>,
    asked: Mutex<Vec<Asked>>,
    connections: AtomicUsize,
    late: AtomicUsize,
    closed: Mutex<HashSet<usize>>,
    open: Mutex<bool>,
    opened: Condvar,
}

/// A running site; it goes on until the test process ends.
pub(crate) struct Site {
    address: SocketAddr,
    scheme: &'static str,
    shared: Arc<Shared>,
}

impl Site {
    /// Starts a site on 127.0.0.1 that does what `script` says of each request.
    pub(crate) fn start(script: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static) -> Site {
        Site::at("127.0.0.1:0", None, script).expect("a port is free")
    }

    /// Starts a site over TLS.
    pub(crate) fn secure(
        tls: ServerConfig,
        script: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static,
    ) -> Site {
        Site::at("127.0.0.1:0", Some(Arc::new(tls)), script).expect("a port is free")
    }

    /// Starts a site at an address that this machine may not have.
    pub(crate) fn at(
        address: &str,
        tls: Option<Arc<ServerConfig>>,
        script: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static,
    ) -> std::io::Result<Site> {
        let listener = TcpListener::bind(address)?;
        let shared = Arc::new(Shared {
            script: Box::new(script),
            asked: Mutex::default(),
            connections: AtomicUsize::new(0),
            late: AtomicUsize::new(0),
            closed: Mutex::default(),
            open: Mutex::new(false),
            opened: Condvar::new(),
        });
        let site = Site {
            address: listener.local_addr()?,
            scheme: if tls.is_some() { "https" } else { "http" },
            shared: shared.clone(),
        };
        thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let number = shared.connections.fetch_add(1, Ordering::SeqCst);
                let (shared, tls) = (shared.clone(), tls.clone());
                // A client that goes away ends its connection, not the site.
                thread::spawn(move || {
                    accept(stream, tls, number, &shared).ok();
                    shared.closed().insert(number);
                });
            }
        });
        Ok(site)
    }

    pub(crate) fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns every request in the order of arrival.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.shared.asked().clone()
    }

    /// Returns the requests for a path.
    pub(crate) fn asked_for(&self, path: &str) -> Vec<Asked> {
        let all = self.asked().into_iter();
        all.filter(|asked| asked.path == path).collect()
    }

    /// Returns the number of requests that have arrived.
    pub(crate) fn received(&self) -> u64 {
        self.shared.asked().len() as u64
    }

    /// Returns the number of requests that came over connections on which nothing is sent any more.
    pub(crate) fn late(&self) -> u64 {
        self.shared.late.load(Ordering::SeqCst) as u64
    }

    /// Returns the number of connections that have been opened.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Returns whether the connection that `asked` came on has been closed.
    pub(crate) fn has_closed(&self, asked: &Asked) -> bool {
        self.shared.closed().contains(&asked.connection)
    }

    /// Opens the gate for everything that waits at it.
    pub(crate) fn open_gate(&self) {
        let mut open = self
            .shared
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *open = true;
        self.shared.opened.notify_all();
    }
}

impl Shared {
    fn closed(&self) -> std::sync::MutexGuard<'_, HashSet<usize>> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, Vec<Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Formats a complete HTTP/1.1 response with the length of its body; `headers` are lines that end in CRLF.
pub(crate) fn answer(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Vec<Act> {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status} Whatever\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    vec![Act::Send([head.as_bytes(), body].concat())]
}

/// Sends text, and waits for the next request.
pub(crate) fn say(text: impl Into<Vec<u8>>) -> Vec<Act> {
    vec![Act::Send(text.into())]
}

/// Sends text, then performs the given actions.
pub(crate) fn send(text: impl AsRef<[u8]>, then: Act) -> Vec<Act> {
    vec![Act::Send(text.as_ref().to_vec()), then]
}

/// The byte stream of a connection, plain or encrypted.
trait Stream: Read + Write {
    fn tcp(&self) -> &TcpStream;
    fn is_resumed(&self) -> bool;
    /// Announces the end where the protocol has something for it.
    fn announce_end(&mut self) -> std::io::Result<()>;
}

impl Stream for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }

    fn is_resumed(&self) -> bool {
        false
    }

    fn announce_end(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Stream for StreamOwned<ServerConnection, TcpStream> {
    fn tcp(&self) -> &TcpStream {
        &self.sock
    }

    fn is_resumed(&self) -> bool {
        self.conn.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    fn announce_end(&mut self) -> std::io::Result<()> {
        self.conn.send_close_notify();
        self.flush()
    }
}

fn accept(
    tcp: TcpStream,
    tls: Option<Arc<ServerConfig>>,
    number: usize,
    shared: &Shared,
) -> std::io::Result<()> {
    tcp.set_nodelay(true)?;
    match tls {
        None => serve(tcp, number, shared),
        Some(config) => {
            let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
            serve(StreamOwned::new(connection, tcp), number, shared)
        }
    }
}

fn serve(mut stream: impl Stream, number: usize, shared: &Shared) -> std::io::Result<()> {
    let mut unread = Vec::new();
    loop {
        let Some(head) = read_until(&mut stream, &mut unread, b"\r\n\r\n")? else {
            return Ok(());
        };
        // Bytes that are no UTF-8 are shown as Latin-1.
        let head = String::from_utf8(head).unwrap_or_else(|error| {
            let bytes = error.as_bytes().iter();
            bytes.map(|byte| char::from(*byte)).collect()
        });
        let mut words = head.split_whitespace().map(str::to_owned);
        let mut asked = Asked {
            method: words.next().unwrap_or_default(),
            path: words.next().unwrap_or_default(),
            head,
            body: Vec::new(),
            connection: number,
            from: stream.tcp().peer_addr()?.ip().to_string(),
            resumed: stream.is_resumed(),
        };
        let read_first = asked.header("expect").is_empty() && asked.header("x-unread").is_empty();
        if read_first {
            read_body(&mut stream, &mut unread, &mut asked)?;
        }
        let place = {
            let mut all = shared.asked();
            all.push(asked.clone());
            all.len() - 1
        };
        for act in (shared.script)(&asked) {
            match act {
                Act::ReadBody => {
                    read_body(&mut stream, &mut unread, &mut asked)?;
                    shared.asked()[place].body.clone_from(&asked.body);
                }
                act => {
                    if !perform(&mut stream, act, shared)? {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// Performs one action; returns false if the connection ends with it.
fn perform(stream: &mut impl Stream, act: Act, shared: &Shared) -> std::io::Result<bool> {
    match act {
        Act::Send(bytes) => stream.write_all(&bytes)?,
        Act::Forever(bytes) => loop {
            stream.write_all(&bytes)?;
        },
        Act::Drip(bytes, pause) => {
            for byte in bytes {
                stream.write_all(&[byte])?;
                thread::sleep(pause);
            }
        }
        Act::Run(function) => function(),
        Act::Gate => {
            let mut open = shared.open.lock().unwrap_or_else(PoisonError::into_inner);
            while !*open {
                open = shared
                    .opened
                    .wait(open)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
        Act::HalfClose => {
            stream.tcp().shutdown(Shutdown::Write)?;
            let is_late = stream.read(&mut [0; 4096])? > 0;
            shared
                .late
                .fetch_add(usize::from(is_late), Ordering::SeqCst);
            return until_gone(stream).map(|()| false);
        }
        Act::Hold => return until_gone(stream).map(|()| false),
        Act::Close => return Ok(false),
        Act::Finish => return stream.announce_end().map(|()| false),
        Act::Reset => {
            let at_once = Some(Duration::ZERO);
            rustix::net::sockopt::set_socket_linger(stream.tcp(), at_once)?;
            return Ok(false);
        }
        Act::ReadBody => {}
    }
    Ok(true)
}

fn until_gone(stream: &mut impl Stream) -> std::io::Result<()> {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}

/// Reads the body that the head announces, by its length or in chunks.
fn read_body(
    stream: &mut impl Stream,
    unread: &mut Vec<u8>,
    asked: &mut Asked,
) -> std::io::Result<()> {
    if asked.header("transfer-encoding") == "chunked" {
        asked.body = read_until(stream, unread, b"0\r\n\r\n")?.unwrap_or_default();
        return Ok(());
    }
    let length: usize = asked.header("content-length").parse().unwrap_or(0);
    while unread.len() < length {
        read_some(stream, unread)?;
    }
    asked.body = unread.drain(..length).collect();
    Ok(())
}

/// Reads the bytes up to and including `end`; `None` at the end of the connection.
fn read_until(
    stream: &mut impl Stream,
    unread: &mut Vec<u8>,
    end: &[u8],
) -> std::io::Result<Option<Vec<u8>>> {
    loop {
        let found = unread.windows(end.len()).position(|window| window == end);
        if let Some(place) = found {
            return Ok(Some(unread.drain(..place + end.len()).collect()));
        }
        match read_some(stream, unread) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

fn read_some(stream: &mut impl Stream, unread: &mut Vec<u8>) -> std::io::Result<()> {
    let mut buffer = [0; 16 * 1024];
    let count = stream.read(&mut buffer)?;
    if count == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    unread.extend_from_slice(&buffer[..count]);
    Ok(())
}
