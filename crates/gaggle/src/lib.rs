//! One run on many machines: a manager and its workers, connected through NATS with JetStream.
//!
//! This module only carries the engine's messages between machines. The manager sends requests to single workers (the
//! plan, events, the start) and publishes the order that all of them follow, which is state; each worker sends one
//! numbered stream of signals, which the broker keeps. Gathers in between can add up the figures of many workers.
//! `docs/gaggle.md` describes subjects and guarantees.
//!
//! Used by the program.
//!
//! ```
//! use lgoose_gaggle::BrokerAddress;
//!
//! let address = BrokerAddress::parse("nats://127.0.0.1:4222").expect("an address");
//! assert_eq!(address.url(), "nats://127.0.0.1:4222");
//! assert!(BrokerAddress::parse("http://127.0.0.1").is_err());
//! ```

mod broker;
mod clock;
mod gather;
mod manager;
mod messages;
mod names;
mod reading;
mod reserving;
mod sharing;
mod simulation;
mod worker;

pub use broker::{Broker, BrokerAddress};
pub use gather::{gathers, serve_gather};
pub use manager::{
    BrokerRun, DisconnectHandle, Manager, Recruitment, RunTitle, WorkerLoss, attach, present,
};
pub use messages::{GatherPresence, WorkerPresence};
pub use names::{identity, inbox};
pub use simulation::simulate;
pub use worker::{PlanOffer, serve};
