//! The reqwest transport: sends one hop with `reqwest`, which supports proxies. Cookies, redirects and decompression
//! are the session's business; this only sends a request and receives its response.

mod client;
mod connector;
mod errors;
mod exchange;

pub(super) use client::new_client;
pub(super) use exchange::{OutgoingRequest, exchange};
