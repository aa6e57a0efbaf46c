//! Drives the load: shards of users, started and stopped on schedule. Takes a plan and a configuration,
//! gives snapshots while it runs and a report at the end; prints nothing.

mod alarm;
mod conductor;
mod crew;
mod desk;
mod directive;
mod edition;
mod effort;
mod ending;
mod event;
mod gate;
mod in_flight;
mod on_call;
mod open;
mod pace;
mod perform;
mod plant;
mod ports;
mod probe;
mod reception;
mod reset;
mod run;
mod settings;
mod shard;
mod show;
mod steer;
mod stop;
mod throttle;
mod timers;
mod user;
mod watchdog;
#[cfg(test)]
mod whole_runs;

pub use directive::end_of;
pub use edition::Edition;
pub use run::{Outcome, Run, run};
pub use settings::settings_of;
