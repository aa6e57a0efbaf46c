//! One run on many machines: a manager and its workers, joined by NATS with JetStream.
//!
//! Carries the engine's messages between machines, and nothing else. Downward go requests to single workers (the plan,
//! events, the beginning) and the order that all of them follow, which is state; upward goes one numbered stream of
//! signals for each worker, which the broker keeps. `docs/gaggle.md` describes subjects and guarantees.

mod broker;
mod clock;
mod manager;
mod messages;
mod names;
#[cfg(feature = "internals")]
mod simulation;
mod worker;

pub(crate) use broker::{Address, Broker};
pub(crate) use manager::{Leave, Manager, Recruitment, WorkerLoss, present};
pub(crate) use messages::Presence;
pub(crate) use names::{identity, inbox};
#[cfg(feature = "internals")]
pub use simulation::simulate;
pub(crate) use worker::{Offer, serve};
