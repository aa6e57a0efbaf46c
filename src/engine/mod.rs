//! Drives the load: shards of users, started and stopped on schedule. Takes a plan and a configuration,
//! gives snapshots while it runs and a report at the end; prints nothing.
//!
//! [`run`] directs a run from its first user to its report; a [`shard`] is one thread of users; a [`user`] performs
//! what its plan asks for; [`load_model`] decides who starts when, in runs of users and in runs at a rate.

mod load_model;
mod protocol;
mod run;
mod shard;
#[cfg(test)]
mod tests;
mod timing;
mod user;

pub(crate) use protocol::offer::PlanVersions;
pub(crate) use protocol::plan_version::PlanVersion;
pub use run::Outcome;
pub(crate) use run::watchdog::{Watchdog, complaint_of_loading};
pub(crate) use run::{Run, run};
