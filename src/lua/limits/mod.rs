//! The limits of a VM: time and memory, and what a watchdog sees of them. Knows neither tasks nor engine.

mod budget;
mod heartbeat;
mod hook;
mod pattern;

pub(super) use budget::{Account, Budget, Held};
pub use heartbeat::Heartbeat;
pub(crate) use heartbeat::RunningCode;
pub(super) use hook::{Limits, NOT_ENOUGH, out_of_memory};
pub(super) use pattern::guard as guard_pattern;
