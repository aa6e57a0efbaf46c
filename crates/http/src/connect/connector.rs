//! The connector of a shard: looks up a host, opens a TCP connection and does the TLS handshake. The pools of the
//! sessions drive it.

use super::handshake::{Peer, handshake_failure, server_name};
use super::happy_eyeballs::race;
use super::local_addresses::LocalAddresses;
use super::resolver::Resolver;
use super::stream::{NetStream, OpenConnections};
#[cfg(feature = "reqwest")]
use super::tunnel::tunnel;
use super::unix;
use crate::failure::{ErrorClass, Failure};
use crate::stopwatch::Stopwatch;
use crate::target::Origin;
use crate::transport::Transport;
use rustls::ClientConfig;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::net::{TcpStream, UdpSocket};

/// Opens the connections of a shard's sessions, and counts them.
#[derive(Debug)]
pub(crate) struct Connector {
    resolver: Arc<Resolver>,
    local: LocalAddresses,
    #[cfg_attr(
        not(feature = "reqwest"),
        expect(dead_code, reason = "without reqwest there are no proxies")
    )]
    transport: Transport,
    open: OpenConnections,
}

impl Connector {
    /// A connector whose connections come from `local_addresses` in turns, if there are any, and go through the proxies
    /// of `transport`.
    pub(crate) fn new(
        resolver: Arc<Resolver>,
        local_addresses: Vec<IpAddr>,
        transport: Transport,
    ) -> Self {
        Connector {
            resolver,
            local: LocalAddresses::new(local_addresses),
            transport,
            open: OpenConnections::default(),
        }
    }

    /// Opens a connection to `origin`; `tls` returns the user's configuration, and is called only if the origin is
    /// https.
    pub(crate) async fn connect(
        &self,
        origin: &Origin,
        tls: impl FnOnce() -> Result<Arc<ClientConfig>, Failure>,
        stopwatch: &mut Stopwatch,
    ) -> Result<NetStream, Failure> {
        #[cfg(any(test, feature = "test-support"))]
        if let Some(script) = self.resolver.script() {
            return Ok(NetStream::scripted(script.connect(), &self.open));
        }
        if let Some(socket) = &origin.socket {
            stopwatch.enter(|phases| &mut phases.connect);
            let opened = unix::connect(socket).await;
            stopwatch.lap(|phases| &mut phases.connect);
            return Ok(NetStream::unix(opened?, &self.open));
        }
        let tcp = self.open(origin, stopwatch).await?;
        if !origin.secure {
            return Ok(NetStream::plain(tcp, &self.open));
        }
        stopwatch.enter(|phases| &mut phases.tls);
        let connector = tokio_rustls::TlsConnector::from(tls()?);
        let handshake = connector.connect(server_name(&origin.host)?, tcp).await;
        stopwatch.lap(|phases| &mut phases.tls);
        match handshake {
            Ok(tls) => Ok(NetStream::tls(tls, &self.open)),
            Err(error) => Err(handshake_failure(&error, Peer::Site(&origin.host))),
        }
    }

    /// Does the TLS handshake on an open connection, whose certificate must be for `host`.
    pub(crate) async fn start_tls(
        &self,
        stream: NetStream,
        host: &str,
        config: Arc<ClientConfig>,
        stopwatch: &mut Stopwatch,
    ) -> Result<NetStream, Failure> {
        stopwatch.enter(|phases| &mut phases.tls);
        let connector = tokio_rustls::TlsConnector::from(config);
        let secured = stream.secured(connector, server_name(host)?).await;
        stopwatch.lap(|phases| &mut phases.tls);
        secured.map_err(|error| handshake_failure(&error, Peer::Site(host)))
    }

    /// Opens a socket for datagrams to and from `origin` alone.
    pub(crate) async fn datagrams(
        &self,
        origin: &Origin,
        stopwatch: &mut Stopwatch,
    ) -> Result<UdpSocket, Failure> {
        #[cfg(feature = "reqwest")]
        if self.transport.intercept(origin).is_some() {
            let detail = "datagrams cannot go through a proxy";
            return Err(Failure::new(ErrorClass::Connect, detail));
        }
        stopwatch.enter(|phases| &mut phases.dns);
        let addresses = self.resolver.resolve(&origin.host, origin.port).await;
        stopwatch.lap(|phases| &mut phases.dns);
        let addresses = addresses?;
        let Some(address) = addresses.first() else {
            return Err(Failure::new(ErrorClass::Dns, "no address"));
        };
        let failed = |error| Failure::from_connect_error(&error, &address.to_string());
        let socket = self.local.udp_socket(address).await.map_err(failed)?;
        socket.connect(*address).await.map_err(failed)?;
        Ok(socket)
    }

    /// Opens a TCP connection to `origin`, or through its proxy.
    async fn open(&self, origin: &Origin, stopwatch: &mut Stopwatch) -> Result<TcpStream, Failure> {
        #[cfg(feature = "reqwest")]
        let proxy = self.transport.intercept(origin);
        #[cfg(feature = "reqwest")]
        let (host, port) = match &proxy {
            Some(proxy) => place(proxy.uri()),
            None => (&*origin.host, origin.port),
        };
        #[cfg(not(feature = "reqwest"))]
        let (host, port) = (&*origin.host, origin.port);
        stopwatch.enter(|phases| &mut phases.dns);
        let addresses = self.resolver.resolve(host, port).await;
        stopwatch.lap(|phases| &mut phases.dns);
        stopwatch.enter(|phases| &mut phases.connect);
        let addresses = addresses?;
        #[cfg(feature = "reqwest")]
        let opened = match (&proxy, &addresses[..]) {
            (Some(proxy), [first, ..]) => {
                let local = self.local.next_to(first);
                tunnel(proxy, *first, origin, local).await
            }
            _ => race(&addresses, &self.local).await,
        };
        #[cfg(not(feature = "reqwest"))]
        let opened = race(&addresses, &self.local).await;
        stopwatch.lap(|phases| &mut phases.connect);
        opened
    }

    /// The addresses that its connections come from.
    #[cfg(feature = "reqwest")]
    pub(crate) fn local(&self) -> &LocalAddresses {
        &self.local
    }

    /// The resolver, which is shared by the whole process.
    #[cfg(feature = "reqwest")]
    pub(crate) fn resolver(&self) -> &Arc<Resolver> {
        &self.resolver
    }

    /// The number of its connections that are open.
    pub(crate) fn open_connections(&self) -> u64 {
        self.open.count()
    }
}

/// The host and port of a proxy.
#[cfg(feature = "reqwest")]
fn place(proxy: &http::Uri) -> (&str, u16) {
    let host = proxy.host().unwrap_or_default();
    let usual = if proxy.scheme_str() == Some("http") {
        80
    } else {
        1080
    };
    let port = proxy.port_u16().unwrap_or(usual);
    (host.trim_start_matches('[').trim_end_matches(']'), port)
}
