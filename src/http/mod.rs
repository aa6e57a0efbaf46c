//! The HTTP client of a user: a [`Session`] with cookies, redirects and connections of its own. Driven by the
//! engine's user loop; knows nothing of Lua, names or statistics.
//!
//! | room | subject |
//! |---|---|
//! | `session` | what a browser owns: cookies, default headers, redirects, idle connections |
//! | `reqwest` | the transport for proxies, over the crate of that name |
//! | `h2` | HTTP/2, over the crate of that name |
//! | `h1` | HTTP/1.1, spoken by lgoose itself |
//! | `connect` | names, TCP and TLS |
//! | `message` | requests and responses, as all of them see them |
//!
//! Imports go one way, from a room to those below it; `tests/layers.rs` finds circles.

mod allowed;
mod client;
mod config;
mod connect;
mod failure;
#[cfg(any(test, feature = "internals"))]
pub mod fuzzing;
mod h1;
mod h2;
mod hop;
mod message;
mod progress;
#[cfg(feature = "reqwest")]
mod reqwest;
mod session;
mod stopwatch;
mod target;
mod tracer;
mod transport;

#[cfg(any(test, feature = "internals"))]
pub use crate::phases::Phases;
pub(crate) use allowed::AllowedHosts;
pub use client::Client;
pub use config::ClientConfig;
#[cfg(test)]
pub(crate) use connect::Script;
pub(crate) use connect::{Resolver, Tls, TlsOptions};
pub(crate) use failure::ErrorClass;
#[cfg(test)]
pub(crate) use failure::Failure;
pub(crate) use message::ACCEPTED_CODINGS;
pub(crate) use message::{CacheUse, DigestCredentials, Extras, Redirects, Referrer};
pub use message::{Exchange, Request, Response};
pub use session::Session;
#[cfg(feature = "gaggle")]
pub(crate) use session::check_allowed;
pub(crate) use session::{CookieScope, KeptCookie};
pub(crate) use session::{absolute, check_base, is_cookie, parse_set_cookie};
pub use target::Target;
#[cfg(feature = "reqwest")]
pub(crate) use transport::ReqwestProxy;
pub(crate) use transport::{Transport, Version};
