//! The sandbox: a VM with Lua's libraries, without functions that reach outside or never end, and the state that
//! functions made in Rust work on.

mod host;
mod loaded_parts;
mod safe;
mod standard;
#[cfg(test)]
mod tests;
mod views;

pub use host::stream;
pub(super) use host::{ENVIRONMENT, VmHost, error_at_plan_line};
pub(super) use safe::pairs;
pub(super) use standard::{
    BASE, collect_young, library, new_state, null, standard, yield_function,
};
pub(super) use views::{entry, length, view_marker, viewed};
