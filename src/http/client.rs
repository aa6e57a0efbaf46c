//! What all sessions share: the settings of a run, and the buffers of a shard.

use super::connection::ReadSpace;
use super::stream::OpenConnections;
use super::{Resolver, Tls, Transport, Version, wire};
use http::HeaderMap;
use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Settings that all sessions of a run share.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// From the call until the last byte of the final answer.
    pub timeout: Duration,
    /// The largest body that is read, in bytes.
    pub max_body: u64,
    /// Sent with every request unless the request has one of that name.
    pub headers: HeaderMap,
    /// What sends the requests.
    pub transport: Transport,
    /// Which HTTP is spoken.
    pub version: Version,
    /// Whom to trust.
    pub tls: Arc<Tls>,
    /// Whether a connection is used for more than one request.
    pub keep_alive: bool,
    /// Whether cookies are kept and sent.
    pub cookies: bool,
    /// A user whose request is sent on to another host goes on there.
    pub sticky_follow: bool,
    /// The address that connections come from.
    pub local_address: Option<IpAddr>,
    /// A site inside the test instead of any other.
    #[cfg(test)]
    pub(crate) script: Option<super::Script>,
}

impl Default for ClientConfig {
    /// What a browser does, within a minute and 64 MiB a request.
    fn default() -> ClientConfig {
        ClientConfig {
            timeout: Duration::from_secs(60),
            max_body: 64 << 20,
            headers: HeaderMap::new(),
            transport: Transport::Direct,
            version: Version::Any,
            tls: Arc::new(Tls::trusting_the_system()),
            keep_alive: true,
            cookies: true,
            sticky_follow: false,
            local_address: None,
            #[cfg(test)]
            script: None,
        }
    }
}

/// What the sessions of one shard share.
#[derive(Debug)]
pub struct Client {
    pub(super) config: ClientConfig,
    pub(super) resolver: Arc<Resolver>,
    /// The default headers as they are sent.
    pub(super) header_lines: Vec<u8>,
    pub(super) read_space: ReadSpace,
    /// Where requests are put together; taken while one is being written.
    pub(super) write_space: RefCell<Vec<u8>>,
    pub(super) open: OpenConnections,
    numbers: Numbers,
}

/// The numbers of a shard's connections: no two connections of a run have the same.
#[derive(Debug)]
struct Numbers {
    next: Cell<u64>,
    step: u64,
}

impl Client {
    /// A client for the users of one shard; the resolver is the process's.
    pub fn new(config: ClientConfig, resolver: Arc<Resolver>) -> Rc<Client> {
        Client::one_of(config, resolver, 0, 1)
    }

    /// The client at `place` (from 0) `among` those of a run: their connections have different numbers.
    pub fn one_of(
        config: ClientConfig,
        resolver: Arc<Resolver>,
        place: u64,
        among: u64,
    ) -> Rc<Client> {
        let mut header_lines = Vec::new();
        for (name, value) in &config.headers {
            wire::write_header(&mut header_lines, name, value);
        }
        Rc::new(Client {
            config,
            resolver,
            header_lines,
            read_space: ReadSpace::default(),
            write_space: RefCell::default(),
            open: OpenConnections::default(),
            numbers: Numbers {
                next: Cell::new(place + 1),
                step: among.max(1),
            },
        })
    }

    /// The number of a connection that was just opened.
    pub(super) fn number(&self) -> Option<NonZeroU64> {
        let number = self.numbers.next.get();
        self.numbers.next.set(number + self.numbers.step);
        NonZeroU64::new(number)
    }

    /// How many connections its sessions have open; what `reqwest` has is not known.
    pub fn open_connections(&self) -> u64 {
        self.open.count()
    }
}
