//! A proxy on 127.0.0.1: forwards requests for absolute URLs, tunnels by CONNECT, speaks SOCKS5, and
//! records its requests. It connects to this machine for every host, whatever its name.

use std::io::{BufRead as _, BufReader, Error, ErrorKind, Read as _, Write as _};
use std::net::{Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The credentials `me:secret` in the basic scheme.
const CREDENTIALS: &str = "Basic bWU6c2VjcmV0";

/// A running proxy; it goes on until the test process ends.
pub(crate) struct Forward {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone)]
struct Rules {
    asked: Arc<Mutex<Vec<String>>>,
    /// Whether only `me` with the password `secret` may pass.
    guarded: bool,
}

impl Forward {
    /// Starts a proxy for everyone.
    pub(crate) fn start() -> Forward {
        Forward::with(false)
    }

    /// Starts a proxy for `me` with the password `secret`.
    pub(crate) fn guarded() -> Forward {
        Forward::with(true)
    }

    fn with(guarded: bool) -> Forward {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let rules = Rules {
            asked: asked.clone(),
            guarded,
        };
        thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let rules = rules.clone();
                // A client or site that goes away ends its connection, not the proxy.
                thread::spawn(move || rules.serve(stream).ok());
            }
        });
        Forward { address, asked }
    }

    /// Returns its URL, with a user and password before the host if there are any.
    pub(crate) fn url(&self, scheme: &str, credentials: &str) -> String {
        format!("{scheme}://{credentials}{}", self.address)
    }

    /// Returns `METHOD URL` of every request forwarded, `CONNECT HOST:PORT` and `SOCKS HOST:PORT` of every tunnel.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Rules {
    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut first = [0];
        stream.peek(&mut first)?;
        match first {
            [5] => self.socks(stream),
            _ => self.http(stream),
        }
    }

    fn add(&self, what: String) {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(what);
    }

    /// Forwards one request after the other to the site of the first, and passes its responses on as they come.
    fn http(&self, mut client: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(client.try_clone()?);
        let mut site: Option<TcpStream> = None;
        loop {
            let head = read_head(&mut reader)?;
            let mut words = head[0].split(' ');
            let (method, url) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            let field = |name: &str| {
                head.iter().find_map(|line| {
                    let (known, value) = line.split_once(": ")?;
                    known.eq_ignore_ascii_case(name).then_some(value)
                })
            };
            if self.guarded && field("proxy-authorization") != Some(CREDENTIALS) {
                let refusal = "HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n";
                client.write_all(refusal.as_bytes())?;
                if method == "CONNECT" {
                    return Ok(());
                }
                continue;
            }
            self.add(format!("{method} {url}"));
            if method == "CONNECT" {
                let site = open(url)?;
                client.write_all(b"HTTP/1.1 200 Go on\r\n\r\n")?;
                return splice(client, site);
            }
            let rest = url.strip_prefix("http://").ok_or(ErrorKind::InvalidData)?;
            let (authority, path) = rest.split_once('/').ok_or(ErrorKind::InvalidData)?;
            let site = match &mut site {
                Some(site) => site,
                None => {
                    let opened = site.insert(open(authority)?);
                    let (from, to) = (opened.try_clone()?, client.try_clone()?);
                    thread::spawn(move || pass(from, to).ok());
                    opened
                }
            };
            let mut text = format!("{method} /{path} HTTP/1.1\r\n");
            for line in &head[1..] {
                if !line.to_ascii_lowercase().starts_with("proxy-") {
                    text.push_str(&format!("{line}\r\n"));
                }
            }
            text.push_str("\r\n");
            let length = field("content-length").map_or(Ok(0), str::parse);
            let mut body = vec![0; length.map_err(|_| ErrorKind::InvalidData)?];
            reader.read_exact(&mut body)?;
            site.write_all(text.as_bytes())?;
            site.write_all(&body)?;
        }
    }

    /// Serves SOCKS5 (RFC 1928), with a password if it is guarded (RFC 1929).
    fn socks(&self, mut client: TcpStream) -> std::io::Result<()> {
        let methods = take(&mut client, 2)?[1];
        take(&mut client, methods.into())?;
        client.write_all(&[5, if self.guarded { 2 } else { 0 }])?;
        if self.guarded {
            let user = take(&mut client, 2)?[1];
            let user = take(&mut client, user.into())?;
            let password = take(&mut client, 1)?[0];
            let password = take(&mut client, password.into())?;
            let known = user == b"me" && password == b"secret";
            client.write_all(&[1, u8::from(!known)])?;
            if !known {
                return Ok(());
            }
        }
        let host = match take(&mut client, 4)?[3] {
            1 => {
                let four: Vec<_> = take(&mut client, 4)?.iter().map(u8::to_string).collect();
                four.join(".")
            }
            3 => {
                let length = take(&mut client, 1)?[0];
                String::from_utf8_lossy(&take(&mut client, length.into())?).into_owned()
            }
            4 => {
                let sixteen: [u8; 16] = take(&mut client, 16)?.try_into().unwrap_or_default();
                format!("[{}]", Ipv6Addr::from(sixteen))
            }
            _ => return Err(ErrorKind::Unsupported.into()),
        };
        let port = take(&mut client, 2)?;
        let authority = format!("{host}:{}", u16::from_be_bytes([port[0], port[1]]));
        self.add(format!("SOCKS {authority}"));
        let site = open(&authority);
        let refused = if site.is_ok() { 0 } else { 5 };
        client.write_all(&[5, refused, 0, 1, 0, 0, 0, 0, 0, 0])?;
        splice(client, site?)
    }
}

/// Reads the lines of a head without the empty one; an error at the end of the connection.
fn read_head(reader: &mut BufReader<TcpStream>) -> std::io::Result<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(Error::from(ErrorKind::UnexpectedEof));
        }
        match line.trim_end() {
            "" => return Ok(lines),
            line => lines.push(line.to_owned()),
        }
    }
}

fn take(stream: &mut TcpStream, bytes: usize) -> std::io::Result<Vec<u8>> {
    let mut taken = vec![0; bytes];
    stream.read_exact(&mut taken).map(|()| taken)
}

fn open(authority: &str) -> std::io::Result<TcpStream> {
    let port = authority
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok());
    let site = TcpStream::connect(("127.0.0.1", port.unwrap_or(80)))?;
    site.set_nodelay(true)?;
    Ok(site)
}

/// Passes bytes both ways until one end closes.
fn splice(client: TcpStream, site: TcpStream) -> std::io::Result<()> {
    let (from, to) = (site.try_clone()?, client.try_clone()?);
    thread::spawn(move || pass(from, to).ok());
    pass(client, site)
}

fn pass(mut from: TcpStream, mut to: TcpStream) -> std::io::Result<()> {
    let outcome = std::io::copy(&mut from, &mut to);
    to.shutdown(Shutdown::Both)?;
    outcome.map(|_| ())
}
