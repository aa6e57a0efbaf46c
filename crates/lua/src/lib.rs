//! Execution of plans: one sandboxed Lua VM per user. A plan's code runs in a coroutine that yields an [`Op`]; the
//! engine performs it and resumes the coroutine with the outcome.
//!
//! | module | subject |
//! |---|---|
//! | `loading` | declarations of a plan as plain data, its review, the stubs for editors |
//! | `hooks` | the functions of a plan that see requests and the report |
//! | `vm`, `vm_setup`, `job` | one user's VM: runs tasks, and the jobs that they spawn, as coroutines |
//! | `api` | the functions that a plan can call |
//! | `sandbox` | a VM before it has a plan, and the state that the functions work on |
//! | `requests` | operations, their options and their responses |
//! | `run_view` | the run as its plan sees and changes it |
//! | `limits` | time and memory of a VM |
//! | `diagnostics` | errors with the file and line of the plan |
//! | `plan_files` | the files of a plan, compiled once per process |
//! | `values` | Lua values read as Rust values |
//!
//! A module imports those below it; no two files import each other.
//!
//! Used by `engine` for users and by the program for loading plans.
//!
//! ```
//! # fn main() -> Result<(), lgoose_base::error::Error> {
//! use std::collections::BTreeMap;
//!
//! let source = r#"task { "front page", function(user) user:get "/" end }"#;
//! let (_program, plan, _settings) = lgoose_lua::load("plan.lua", source, BTreeMap::new(), 1)?;
//! assert_eq!(plan.scenarios[0].tasks[0].name.as_deref(), Some("front page"));
//! # Ok(())
//! # }
//! ```

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

pub use diagnostics::RaisedError;
pub use hooks::{HookRequest, Written, report};
pub use job::JobState;
pub use limits::{Heartbeat, LOADING_TIME, REPORT_TIME, RunningCode, WatchedLoop, processor_ticks};
pub use loading::{
    STUBS, VariableDefault, default_of, is_set, load, load_bundle, load_watched, named_hosts, read,
    requested_variables, review, unset_variables,
};
pub use plan_files::{Bundle, CompiledRegex, EnvVariables, Program, read_any_descriptions};
pub use requests::{
    ExchangeEnd, Finished, JobFunction, JobLife, MeasuredExchange, Op, ReceiveTime, RequestOp,
    ResponseStream, SocketOp, decode_any_message, page_message, read_in_pieces,
};
pub use run_view::RunView;
pub use sandbox::stream;
pub use vm::{Parked, Step, Vm};
pub use vm_setup::VmSetup;
