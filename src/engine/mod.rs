//! Drives the load: shards of users, started and stopped on schedule. Takes a plan and a configuration, publishes
//! snapshots during the run and returns a report at its end; prints nothing.
//!
//! [`run`] directs a run from its first user to its report; a [`shard`] is one thread of users; a [`user`] does what
//! its plan asks for; [`load_model`] decides which user starts when, in runs of users and in runs at a rate.

mod load_model;
mod protocol;
mod run;
mod shard;
#[cfg(test)]
mod tests;
mod timing;
mod user;

#[cfg(feature = "gaggle")]
pub(crate) use protocol::directive::{Directive, Phase};
#[cfg(feature = "gaggle")]
pub(crate) use protocol::journal::{Entry, Moment, Past, PlanFacts, Told, What};
#[cfg(feature = "gaggle")]
pub(crate) use protocol::offer::Offer;
pub(crate) use protocol::offer::{Offers, PlanVersions};
#[cfg(feature = "gaggle")]
pub(crate) use protocol::order::Order;
pub(crate) use protocol::plan_version::PlanVersion;
#[cfg(feature = "gaggle")]
pub(crate) use protocol::signal::{Signal, SignalKind};
#[cfg(feature = "gaggle")]
pub(crate) use protocol::worker_logs::LogsWanted;
pub(crate) use protocol::worker_logs::WorkerLogs;
pub use run::Outcome;
#[cfg(feature = "gaggle")]
pub(crate) use run::event_user::{EventEnd, EventOrder, EventTask};
pub(crate) use run::shards::Place;
#[cfg(feature = "gaggle")]
pub(crate) use run::shards::{Begun, Link};
pub(crate) use run::watchdog::{Caught, Watchdog, complaint_of_loading, complaint_of_report};
#[cfg(feature = "gaggle")]
pub(crate) use run::worker::{Work, WorkerSignal};
#[cfg(feature = "gaggle")]
pub(crate) use run::worker_event::{WorkerEvent, run_event_here};
pub(crate) use run::{Run, run_at};
