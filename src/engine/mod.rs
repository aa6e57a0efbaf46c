//! Drives the load: shards of users, started and stopped on schedule. Takes a plan and a configuration, publishes
//! snapshots during the run and returns a report at its end; prints nothing.
//!
//! [`run`] directs a run from its first user to its report; a [`shard`] is one thread of users; a [`user`] does what
//! its plan asks for; [`load_model`] decides which user starts when, in runs of users and in runs at a rate.

mod load_model;
mod messages;
mod run;
mod shard;
#[cfg(test)]
pub(crate) mod tests;
mod timing;
mod user;

#[cfg(feature = "gaggle")]
pub(crate) use messages::directive::{Directive, DirectivePhase};
#[cfg(feature = "gaggle")]
pub(crate) use messages::journal::{
    DirectorEvent, DirectorLogEntry, PastRun, PlanFacts, ReplayEvent, ReplayMoment,
};
#[cfg(feature = "gaggle")]
pub(crate) use messages::offer::VersionOffer;
pub(crate) use messages::offer::{PlanVersions, VersionOffers};
#[cfg(feature = "gaggle")]
pub(crate) use messages::order::RunOrder;
pub(crate) use messages::plan_version::PlanVersion;
#[cfg(feature = "gaggle")]
pub(crate) use messages::signal::{Signal, SignalKind};
#[cfg(feature = "gaggle")]
pub(crate) use messages::worker_logs::LogFetcher;
pub(crate) use messages::worker_logs::WorkerLogs;
pub use run::Outcome;
#[cfg(feature = "gaggle")]
pub(crate) use run::event_user::{EventEnd, EventOrder, EventTask};
pub(crate) use run::memory::MemoryWatch;
pub(crate) use run::shards::ShardPlacement;
#[cfg(feature = "gaggle")]
pub(crate) use run::shards::{LoadStart, WorkerLink};
pub(crate) use run::watchdog::{StuckShard, Watchdog, stuck_loading_error, stuck_report_error};
#[cfg(feature = "gaggle")]
pub(crate) use run::worker::{WorkerRun, WorkerSignal};
#[cfg(feature = "gaggle")]
pub(crate) use run::worker_event::{WorkerEvent, run_event_here};
#[cfg(feature = "gaggle")]
pub(crate) use run::worker_watch::{WORKER_ALONE, WORKER_FAREWELL};
pub(crate) use run::{Run, run_at};
