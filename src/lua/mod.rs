//! Hosts the plan: one sandboxed Lua VM per user. Lua describes, Rust performs: a plan's code runs in a
//! coroutine that yields an [`Op`]; the engine carries it out and resumes it with the answer.

mod api;
mod declare;
#[cfg(test)]
mod escapes;
mod expect;
mod fault;
mod field;
mod host;
mod limits;
mod op;
mod pattern;
mod program;
mod pulse;
mod responses;
mod safe;
mod sandbox;
mod values;
mod vm;

pub use expect::Expect;
pub use fault::Raised;
pub use op::{Op, RequestOp};
pub use program::{Program, load, read};
pub use pulse::{Pulse, Running};
pub use responses::Finished;
pub use vm::{Step, Vm, VmSetup};
