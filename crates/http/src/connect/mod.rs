//! Connections: host names, TCP and TLS. Knows nothing of the HTTP spoken over them.

mod connector;
#[cfg(any(test, feature = "test-support"))]
mod fixture;
mod handshake;
mod happy_eyeballs;
mod local_addresses;
mod plain;
mod resolver;
mod stream;
mod tls;
#[cfg(feature = "reqwest")]
mod tunnel;
mod unix;
mod verifiers;

pub(super) use connector::Connector;
#[cfg(any(test, feature = "test-support"))]
pub use fixture::ResponseDelay;
#[cfg(feature = "reqwest")]
pub(super) use handshake::{Peer, handshake_error, handshake_failure};
#[cfg(feature = "reqwest")]
pub(super) use local_addresses::not_of_this_machine;
pub use resolver::Resolver;
pub(super) use stream::NetStream;
pub use tls::{Tls, TlsOptions};
