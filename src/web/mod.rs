//! A run over HTTP: a page, an interface for programs, events, metrics for Prometheus. Like the live view, it reads
//! snapshots and reports and sends commands through a [`Handle`](crate::control::Handle), on its own thread; knows
//! neither the engine nor a screen. `docs/web.md` is its contract.

mod access;
mod commands;
mod connections;
mod events;
mod feed;
mod files;
mod metrics;
mod page;
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

pub(crate) use server::{ListenAddress, ServerOptions, WebServer, WebThread};
pub(crate) use site::RunHeading;
