//! The HTTP client of a user: a [`Session`] with its own cookies, redirects and connections. The engine's user loop
//! drives it; it knows nothing of Lua, names of requests or figures.
//!
//! | module | subject |
//! |---|---|
//! | `session` | the state of a browser: cookies, default headers, redirects, idle connections |
//! | `sockets` | connections on which a plan speaks a protocol of its own |
//! | `reqwest` | the transport for proxies, over the crate of that name |
//! | `h2` | HTTP/2, implemented by lgoose itself |
//! | `grpc` | messages, trailers and statuses of gRPC calls |
//! | `h1` | HTTP/1.1, implemented by lgoose itself |
//! | `connect` | names, TCP and TLS |
//! | `message` | requests and responses, in the form that all transports share |
//!
//! Imports go one way, from each module to those below it; `tests/layers.rs` finds circles.
//!
//! Used by `protocols`, `lua` and `engine`, and by the program for the settings of a run.
//!
//! ```
//! use lgoose_http::{check_base, over_http};
//!
//! assert!(check_base("http://127.0.0.1:8080/shop").is_ok());
//! assert!(check_base("gopher://127.0.0.1").is_err());
//! assert_eq!(over_http("wss://127.0.0.1/chat").as_deref(), Some("https://127.0.0.1/chat"));
//! ```

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

pub use allowed::AllowedHosts;
pub use client::Client;
pub use config::ClientConfig;
#[cfg(any(test, feature = "test-support"))]
pub use connect::ResponseDelay;
pub use connect::{Resolver, Tls, TlsOptions};
pub use failure::{ErrorClass, Failure};
pub use grpc::{
    CallConnection, CallProtocol, CallTerms, GrpcCode, MessageCoding, timeout_value, write_message,
};
pub use lgoose_base::phases::Phases;
pub use message::{
    ACCEPTED_CODINGS, BodyRoom, CacheUse, DigestCredentials, Discard, Exchange, MAX_BUFFER,
    Redirects, Referrer, Request, RequestExtras, Response, StreamPiece, StreamedBody,
};
pub use session::{
    CookieScope, Session, SetCookie, StoredCookie, absolute, check_allowed, check_base, is_cookie,
    is_unix_socket,
};
pub use sockets::{SocketAddress, SocketOpener, SocketStream};
pub use target::Target;
pub use transfer::{Transfer, TransferMeter};
#[cfg(feature = "reqwest")]
pub use transport::ReqwestProxy;
pub use transport::{Transport, Version};
pub use websocket::{CloseFrame, SocketOffer, SocketSide, over_http};
