//! The connector of a shard: looks up a host, opens a TCP connection and does the TLS handshake. The pools of the
//! sessions drive it.

#[cfg(test)]
use super::fixture::ResponseDelay;
use super::handshake::{Peer, handshake_failure, server_name};
use super::happy_eyeballs::race;
use super::resolver::Resolver;
use super::stream::{NetStream, OpenConnections};
#[cfg(feature = "reqwest")]
use super::tunnel::tunnel;
use crate::http::failure::Failure;
use crate::http::stopwatch::Stopwatch;
use crate::http::target::Origin;
use crate::http::transport::Transport;
use rustls::ClientConfig;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::net::TcpStream;

/// Opens the connections of a shard's sessions, and counts them.
#[derive(Debug)]
pub(in crate::http) struct Connector {
    resolver: Arc<Resolver>,
    local_address: Option<IpAddr>,
    #[cfg_attr(
        not(feature = "reqwest"),
        expect(dead_code, reason = "without reqwest there are no proxies")
    )]
    transport: Transport,
    open: OpenConnections,
    #[cfg(test)]
    script: Option<ResponseDelay>,
}

impl Connector {
    /// A connector whose connections come from `local_address`, if there is one, and go through the proxies of
    /// `transport`.
    pub(in crate::http) fn new(
        resolver: Arc<Resolver>,
        local_address: Option<IpAddr>,
        transport: Transport,
    ) -> Self {
        Connector {
            resolver,
            local_address,
            transport,
            open: OpenConnections::default(),
            #[cfg(test)]
            script: None,
        }
    }

    /// The same connector with a site inside the test in place of any other.
    #[cfg(test)]
    pub(in crate::http) fn with_script(mut self, script: Option<ResponseDelay>) -> Self {
        self.script = script;
        self
    }

    /// Opens a connection to `origin`; `tls` returns the user's configuration, and is called only if the origin is
    /// https.
    pub(in crate::http) async fn connect(
        &self,
        origin: &Origin,
        tls: impl FnOnce() -> Result<Arc<ClientConfig>, Failure>,
        stopwatch: &mut Stopwatch,
    ) -> Result<NetStream, Failure> {
        #[cfg(test)]
        if let Some(script) = &self.script {
            return Ok(NetStream::scripted(script.connect(), &self.open));
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
            (Some(proxy), [first, ..]) => tunnel(proxy, *first, origin, self.local_address).await,
            _ => race(&addresses, self.local_address).await,
        };
        #[cfg(not(feature = "reqwest"))]
        let opened = race(&addresses, self.local_address).await;
        stopwatch.lap(|phases| &mut phases.connect);
        opened
    }

    /// The resolver, which is shared by the whole process.
    #[cfg(feature = "reqwest")]
    pub(in crate::http) fn resolver(&self) -> &Arc<Resolver> {
        &self.resolver
    }

    /// The number of its connections that are open.
    pub(in crate::http) fn open_connections(&self) -> u64 {
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
