//! A run over HTTP: a page, an interface for programs, events, metrics for Prometheus. Like the live view, it reads
//! snapshots and reports and sends commands through a [`Handle`](lgoose_metrics::control::Handle), on its own thread; knows
//! neither the engine nor a screen. `docs/web.md` is its contract.
//!
//! Used by the program, for one run and for `lgoose serve`.
//!
//! ```
//! use lgoose_web::ListenAddress;
//!
//! let address = ListenAddress { host: "127.0.0.1".to_owned(), port: Some(8_080) };
//! assert_eq!(address.port, Some(8_080));
//! ```

mod access;
mod commands;
mod connections;
mod events;
mod feed;
mod files;
mod metrics;
mod page;
pub mod queue;
mod reports;
mod responses;
mod routes;
mod scrapes;
mod serve;
mod server;
mod site;
mod status;
mod tag;
#[cfg(test)]
mod tests;
mod tls;
mod turns;

pub use server::{ListenAddress, ServerOptions, WebServer, WebThread};
pub use site::RunHeading;
