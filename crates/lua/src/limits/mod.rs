//! The limits of a VM: time and memory, and their view for a watchdog. Knows neither tasks nor engine.

mod budget;
mod coroutine;
mod heartbeat;
mod held;
mod interrupt;
mod pattern;
mod texts;
mod values;
mod vm_limits;

pub(super) use budget::{Account, Budget, HeldBytes};
pub(super) use coroutine::{
    Arguments, Converted, Coroutine, PlainValue, ResumeResult, StackTable, StackValue,
    YieldedValues, has_filled_memory,
};
pub use heartbeat::{Heartbeat, RunningCode, WatchedLoop};
pub(super) use held::{HeapSize, Held};
pub use interrupt::processor_ticks;
pub(super) use interrupt::{call, enter, latest_turn, preempted_marker, within};
pub(super) use pattern::{first_place, guard as guard_pattern};
pub(super) use texts::list_of_texts;
pub(super) use values::make_values;
pub use vm_limits::{LOADING_TIME, REPORT_TIME};
pub(super) use vm_limits::{TABLE_LOOK, VmLimits, processor_time};
