//! Connections: host names, TCP and TLS. Knows nothing of the HTTP spoken over them.

mod connector;
mod handshake;
mod happy_eyeballs;
mod resolver;
#[cfg(test)]
mod script;
mod stream;
mod tls;
mod verifiers;

pub(super) use connector::Connector;
#[cfg(feature = "reqwest")]
pub(super) use handshake::{handshake_error, handshake_failure};
pub use resolver::Resolver;
#[cfg(test)]
pub(crate) use script::Script;
pub(super) use stream::NetStream;
pub use tls::{Tls, TlsOptions};
