//! Drives the load: shards of users, started and stopped on schedule. Takes a plan and a configuration,
//! gives snapshots while it runs and a report at the end; prints nothing.

mod event;
mod in_flight;
mod perform;
mod run;
mod shard;
mod show;
mod stop;
mod user;
mod watchdog;

pub use run::{Ending, Outcome, Run, run};
