//! The connector of a shard: looks up a host, opens a TCP connection and does the TLS handshake. The pools of the
//! sessions drive it.

#[cfg(test)]
use super::fixture::ResponseDelay;
use super::handshake::{Peer, handshake_failure, server_name};
use super::happy_eyeballs::race;
use super::resolver::Resolver;
use super::stream::{NetStream, OpenConnections};
use crate::http::failure::Failure;
use crate::http::stopwatch::Stopwatch;
use crate::http::target::Origin;
use rustls::ClientConfig;
use std::net::IpAddr;
use std::sync::Arc;

/// Opens the connections of a shard's sessions, and counts them.
#[derive(Debug)]
pub(in crate::http) struct Connector {
    resolver: Arc<Resolver>,
    local_address: Option<IpAddr>,
    open: OpenConnections,
    #[cfg(test)]
    script: Option<ResponseDelay>,
}

impl Connector {
    /// A connector whose connections come from `local_address`, if there is one.
    pub(in crate::http) fn new(resolver: Arc<Resolver>, local_address: Option<IpAddr>) -> Self {
        Connector {
            resolver,
            local_address,
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
        stopwatch.enter(|phases| &mut phases.dns);
        let addresses = self.resolver.resolve(&origin.host, origin.port).await;
        stopwatch.lap(|phases| &mut phases.dns);
        stopwatch.enter(|phases| &mut phases.connect);
        let tcp = race(&addresses?, self.local_address).await;
        stopwatch.lap(|phases| &mut phases.connect);
        let tcp = tcp?;
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
