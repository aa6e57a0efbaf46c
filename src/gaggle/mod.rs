//! One run on many machines: a manager and its workers, connected through NATS with JetStream.
//!
//! This module only carries the engine's messages between machines. The manager sends requests to single workers (the
//! plan, events, the start) and publishes the order that all of them follow, which is state; each worker sends one
//! numbered stream of signals, which the broker keeps. Gathers in between can add up what many workers send.
//! `docs/gaggle.md` describes subjects and guarantees.

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

pub(crate) use broker::{Broker, BrokerAddress};
pub(crate) use gather::{gathers, serve_gather};
pub(crate) use manager::{
    BrokerRun, DisconnectHandle, Manager, Recruitment, RunTitle, WorkerLoss, attach, present,
};
pub(crate) use messages::{GatherPresence, WorkerPresence};
pub(crate) use names::{identity, inbox};
pub use simulation::simulate;
pub(crate) use worker::{PlanOffer, serve};
