//! The opening of a socket, which is a row: a TCP connection, one with TLS, or a socket for datagrams.

use super::OpenSocket;
use crate::{Call, CallFuture, CallValue, Meter};
use lgoose_http::{SocketAddress, SocketOpener};
use std::rc::Rc;

/// The kinds of sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketKind {
    /// A TCP connection.
    Tcp,
    /// A TCP connection that begins with a TLS handshake.
    Tls,
    /// A socket for datagrams.
    Udp,
}

impl SocketKind {
    /// Returns the kind as rows show it.
    pub fn name(self) -> &'static str {
        match self {
            SocketKind::Tcp => "TCP",
            SocketKind::Tls => "TLS",
            SocketKind::Udp => "UDP",
        }
    }
}

/// The opening of a socket.
#[derive(Debug)]
pub struct SocketConnect {
    /// The kind of the connection.
    pub kind: SocketKind,
    /// Where it leads.
    pub address: SocketAddress,
    /// The name that the certificate must be for, unless that is the host's.
    pub server_name: Option<String>,
    /// The most bytes that wait for the plan.
    pub max_buffer: usize,
    /// Opens it.
    pub opener: Rc<SocketOpener>,
}

impl Call for SocketConnect {
    fn kind(&self) -> &str {
        self.kind.name()
    }

    fn target(&self) -> &str {
        &self.address.text
    }

    fn opens_socket(&self) -> bool {
        true
    }

    fn perform<'a>(&'a self, meter: &'a Meter) -> CallFuture<'a> {
        Box::pin(async move {
            let note = |phases| meter.add_phases(phases);
            let address = &self.address;
            let name = self.server_name.as_deref().unwrap_or(address.host());
            let socket = match self.kind {
                SocketKind::Udp => {
                    let socket = self.opener.datagrams(address, &note).await?;
                    OpenSocket::datagrams(address, socket)
                }
                kind => {
                    let name = (kind == SocketKind::Tls).then_some(name);
                    let stream = self.opener.connect(address, name, &note).await?;
                    OpenSocket::stream(address, stream, self.max_buffer)
                }
            };
            Ok(CallValue::Socket(Rc::new(socket)))
        })
    }
}
