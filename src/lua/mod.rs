//! Execution of plans: one sandboxed Lua VM per user. Lua describes, Rust performs: a plan's code runs in a coroutine
//! that yields an [`Op`]; the engine carries it out and resumes the coroutine with the outcome.
//!
//! | module | subject |
//! |---|---|
//! | `loading` | declarations of a plan as plain data, its review, the stubs for editors |
//! | `hooks` | the functions of a plan that see requests and the report |
//! | `vm`, `vm_setup`, `job` | one user's VM: runs tasks, and what they begin beside them, as coroutines |
//! | `api` | the functions that a plan can call |
//! | `sandbox` | a VM before it has a plan, and the state that the functions work on |
//! | `requests` | operations, their options and their responses |
//! | `run_view` | what a plan may know of its run, and ask of it |
//! | `limits` | time and memory of a VM |
//! | `diagnostics` | errors with the file and line of the plan |
//! | `plan_files` | the files of a plan, compiled once per process |
//! | `values` | Lua values read as Rust values |
//!
//! A module imports those below it; no two files import each other.

mod api;
mod diagnostics;
#[cfg(test)]
mod fixture;
mod hooks;
mod job;
mod large_integers;
mod limits;
mod loading;
mod plan_files;
mod requests;
mod run_view;
mod sandbox;
mod values;
mod vm;
mod vm_setup;

pub(crate) use diagnostics::RaisedError;
pub use hooks::Written;
pub(crate) use hooks::{HookRequest, report};
pub(crate) use job::JobState;
pub use limits::Heartbeat;
pub(crate) use limits::{LOADING_TIME, REPORT_TIME, RunningCode, WatchedLoop, processor_ticks};
pub use loading::load;
#[cfg(any(test, feature = "gaggle"))]
pub(crate) use loading::load_bundle;
pub(crate) use loading::{
    STUBS, is_set, load_watched, read, requested_variables, review, unset_variables,
};
#[cfg(feature = "gaggle")]
pub(crate) use plan_files::Bundle;
pub use plan_files::CompiledRegex;
pub(crate) use plan_files::EnvVariables;
pub use plan_files::Program;
pub(crate) use requests::SocketOp;
pub use requests::{ExchangeEnd, Finished, Op, ReceiveTime, decode_any_message, read_in_pieces};
pub(crate) use requests::{JobFunction, RequestOp, ResponseStream};
pub(crate) use run_view::RunView;
pub(crate) use sandbox::stream;
pub(crate) use vm::Parked;
pub use vm::{Step, Vm};
pub use vm_setup::VmSetup;
