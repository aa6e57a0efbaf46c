//! The HTTP client of a user: a [`Session`] with its own cookies, redirects and connections. The engine's user loop
//! drives it; it knows nothing of Lua, names of requests or figures.
//!
//! | module | subject |
//! |---|---|
//! | `session` | what a browser owns: cookies, default headers, redirects, idle connections |
//! | `sockets` | connections on which a plan speaks a protocol of its own |
//! | `reqwest` | the transport for proxies, over the crate of that name |
//! | `h2` | HTTP/2, implemented by lgoose itself |
//! | `grpc` | messages, trailers and statuses of gRPC calls |
//! | `h1` | HTTP/1.1, implemented by lgoose itself |
//! | `connect` | names, TCP and TLS |
//! | `message` | requests and responses, in the form that all transports share |
//!
//! Imports go one way, from each module to those below it; `tests/layers.rs` finds circles.

mod allowed;
mod client;
mod config;
mod connect;
mod failure;
pub mod fuzzing;
mod grpc;
mod h1;
mod h2;
mod hop;
mod message;
mod progress;
mod read_buffer;
#[cfg(feature = "reqwest")]
mod reqwest;
mod session;
mod sockets;
mod stopwatch;
mod target;
mod tracer;
mod transfer;
mod transport;
mod websocket;

pub use crate::phases::Phases;
pub(crate) use allowed::AllowedHosts;
pub use client::Client;
pub use config::ClientConfig;
#[cfg(test)]
pub(crate) use connect::ResponseDelay;
pub(crate) use connect::{Resolver, Tls, TlsOptions};
pub(crate) use failure::{ErrorClass, Failure};
pub(crate) use grpc::{CallTerms, GrpcCode, MessageCoding, timeout_value, write_message};
pub(crate) use message::{ACCEPTED_CODINGS, BodyRoom, MAX_BUFFER, StreamPiece, StreamedBody};
pub(crate) use message::{
    CacheUse, DigestCredentials, Discard, Redirects, Referrer, RequestExtras,
};
pub use message::{Exchange, Request, Response};
pub use session::Session;
#[cfg(feature = "gaggle")]
pub(crate) use session::check_allowed;
pub(crate) use session::{CookieScope, SetCookie, StoredCookie};
pub(crate) use session::{absolute, check_base, is_cookie};
pub(crate) use sockets::{SocketAddress, SocketOpener, SocketStream};
pub use target::Target;
pub use transfer::{Transfer, TransferMeter};
#[cfg(feature = "reqwest")]
pub(crate) use transport::ReqwestProxy;
pub(crate) use transport::{Transport, Version};
pub(crate) use websocket::{CloseFrame, SocketOffer, SocketSide, over_http};
