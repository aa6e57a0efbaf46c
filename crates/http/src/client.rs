//! The part of the HTTP client that all sessions of a shard share: settings, buffers, the connector.

use super::config::ClientConfig;
use super::connect::{Connector, Resolver};
use super::failure::Failure;
use super::h1::WriteBuffer;
use super::h2::{encode_field, is_connection_header};
use super::message::{KnownHeads, write_header};
use super::read_buffer::ReadBuffer;
use super::session::{ConnectionPool, joined_cookies};
use super::target::Target;
use super::tracer::Tracer;
use http::HeaderValue;
use http::header::COOKIE;
use std::cell::{Cell, RefCell};
use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::Arc;

/// The state that the sessions of one shard share.
#[derive(Debug)]
pub struct Client {
    pub(super) config: ClientConfig,
    pub(super) connector: Connector,
    /// The default headers but for `Cookie`, encoded for HTTP/1.1.
    pub(super) header_lines: Vec<u8>,
    /// The same headers, encoded for HTTP/2.
    pub(super) header_fields: Vec<u8>,
    /// The cookies that the default headers have.
    pub(super) cookies: Option<HeaderValue>,
    pub(super) read_buffer: Rc<ReadBuffer>,
    pub(super) write_buffer: WriteBuffer,
    pub(super) known_heads: KnownHeads,
    /// The maker of trace contexts, if requests carry them.
    pub(super) tracer: Option<Tracer>,
    connection_numbers: ConnectionNumbers,
    /// The connections of the calls of gRPC that all sessions share.
    pub(super) shared: ConnectionPool,
    /// The latest base URL, with its target: users of one scenario share it.
    base: RefCell<Option<(String, Rc<Target>)>>,
}

/// The numbers of a shard's connections: no two connections of a run have the same.
#[derive(Debug)]
struct ConnectionNumbers {
    next: Cell<u64>,
    step: u64,
}

impl Client {
    /// A client for the users of one shard; the process has one resolver.
    pub fn new(config: ClientConfig, resolver: Arc<Resolver>) -> Rc<Client> {
        Client::for_shard(config, resolver, 0, 1)
    }

    /// The client of shard `index` (from 0) out of `shards`: their connections have different numbers.
    pub fn for_shard(
        config: ClientConfig,
        resolver: Arc<Resolver>,
        index: u64,
        shards: u64,
    ) -> Rc<Client> {
        let (mut header_lines, mut header_fields) = (Vec::new(), Vec::new());
        let others = config.headers.iter().filter(|(name, _)| *name != COOKIE);
        for (name, value) in others {
            write_header(&mut header_lines, name, value);
            if !is_connection_header(name) {
                encode_field(&mut header_fields, name, value);
            }
        }
        let own = config.headers.get_all(COOKIE).into_iter();
        let cookies = own.fold(None, |all, line| {
            joined_cookies(all.as_ref(), line.as_bytes())
        });
        let transport = config.transport.clone();
        let connector = Connector::new(resolver, config.local_addresses.clone(), transport);
        let sample = config.trace_sample;
        let tracer = sample.map(|sample| Tracer::new(sample, &config.headers));
        Rc::new(Client {
            config,
            connector,
            header_lines,
            header_fields,
            cookies,
            read_buffer: Rc::default(),
            write_buffer: WriteBuffer::default(),
            known_heads: KnownHeads::default(),
            base: RefCell::default(),
            tracer,
            shared: ConnectionPool::default(),
            connection_numbers: ConnectionNumbers {
                next: Cell::new(index + 1),
                step: shards.max(1),
            },
        })
    }

    /// The target of a base URL.
    ///
    /// # Errors
    /// A [`Failure`] of class `bad url` if it cannot be requested.
    pub(super) fn base(&self, url: &str) -> Result<Rc<Target>, Failure> {
        let mut latest = self.base.borrow_mut();
        if let Some((latest_url, target)) = &*latest
            && latest_url == url
        {
            return Ok(target.clone());
        }
        let target = Rc::new(Target::of_base(url)?);
        *latest = Some((url.to_owned(), target.clone()));
        Ok(target)
    }

    /// The number of a connection that was just opened.
    pub(super) fn next_connection_number(&self) -> Option<NonZeroU64> {
        let numbers = &self.connection_numbers;
        let number = numbers.next.get();
        numbers.next.set(number + numbers.step);
        NonZeroU64::new(number)
    }

    /// The number of connections that its sessions have open. Those of `reqwest` are not known.
    pub fn open_connections(&self) -> u64 {
        self.connector.open_connections()
    }
}
