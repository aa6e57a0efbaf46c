//! One user's view of HTTP: a [`Session`] with cookies, redirects and connections of its own, over the
//! direct transport (HTTP/1.1 spoken by lgoose itself, HTTP/2 by `h2`) or over `reqwest`. Driven by the
//! engine's user loop; knows nothing of Lua, names or statistics.

mod blame;
mod client;
mod connection;
mod cookies;
mod delegated;
mod dial;
mod encoding;
mod failure;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod heading;
mod hop;
mod incoming;
mod message;
mod multiplexed;
mod pool;
mod progress;
mod resolver;
#[cfg(test)]
mod script;
mod session;
mod setup;
mod stream;
mod target;
mod timer;
mod tls;
mod trust;
mod watch;
mod wire;

pub use client::{Client, ClientConfig};
pub use delegated::{Proxied, Transport};
pub use encoding::ACCEPTED as ACCEPTED_CODINGS;
pub use failure::{ErrorClass, Failure};
pub use message::{Exchange, Request, Response};
pub use resolver::Resolver;
#[cfg(test)]
pub(crate) use script::Script;
pub use session::{Session, absolute, check_base};
pub use target::{Origin, Target};
pub use tls::{Tls, TlsOptions, Version};

use std::time::Duration;

/// How long each phase of a request took; zero where a phase did not happen. With redirects the phases of
/// all hops are added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timings {
    /// Looking up the host's address.
    pub dns: Duration,
    /// Opening the TCP connection.
    pub connect: Duration,
    /// The TLS handshake.
    pub tls: Duration,
    /// From the start of writing until the last byte of the request was handed to the kernel.
    pub send: Duration,
    /// From then until the first byte of the response.
    pub first_byte: Duration,
    /// From then until the last byte of the body.
    pub receive: Duration,
}
