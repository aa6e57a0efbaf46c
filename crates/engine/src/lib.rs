//! Drives the load: shards of users, started and stopped on schedule. Takes a plan and a configuration, publishes
//! snapshots during the run and returns a report at its end; prints nothing.
//!
//! `run` directs a run from its first user to its report; `shard` drives one thread of users; `user` runs the code of one
//! user, and `exchange` is the life of its requests and calls; `load_model` decides which user starts when, in runs of
//! users and in runs at a rate.
//!
//! Used by the program, and by `gaggle`, which has a part of the engine run on each worker.
//!
//! ```
//! use lgoose_engine::MemoryWatch;
//!
//! let mut watch = MemoryWatch::of("an example", Some(1 << 40));
//! assert!(watch.look().is_none(), "it takes less than a tebibyte");
//! ```

mod exchange;
#[cfg(any(test, feature = "test-support"))]
pub mod fixture;
mod load_model;
mod messages;
mod run;
mod shard;
#[cfg(test)]
mod tests;
mod timing;
mod user;

pub use messages::directive::{Directive, DirectivePhase};
pub use messages::journal::{
    DirectorEvent, DirectorLogEntry, PastRun, PlanFacts, ReplayEvent, ReplayMoment,
};
pub use messages::offer::{PlanVersions, VersionOffer, VersionOffers};
pub use messages::order::RunOrder;
pub use messages::plan_version::PlanVersion;
pub use messages::shard_event::{ShardEvent, ShardEventKind};
pub use messages::worker_logs::{LogFetcher, WorkerLogs};
pub use run::event_user::{EventEnd, EventOrder, EventTask};
pub use run::memory::MemoryWatch;
pub use run::shards::{LoadStart, ShardPlacement, WorkerLink};
pub use run::watchdog::{StuckShard, Watchdog, stuck_loading_error, stuck_report_error};
pub use run::worker::{WorkerRun, WorkerSignal};
pub use run::worker_event::{WorkerEvent, run_event_here};
pub use run::worker_watch::{WORKER_ALONE, WORKER_FLUSH_TIMEOUT};
pub use run::{Outcome, Run, run_at};
