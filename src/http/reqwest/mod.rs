//! The reqwest transport: one hop carried out by `reqwest`, which knows proxies. Cookies, redirects and
//! decompression stay the session's, so here a request is only sent and its response received.

mod client;
mod connector;
mod errors;
mod exchange;

pub(super) use client::new_client;
pub(super) use exchange::{OutgoingRequest, exchange};
