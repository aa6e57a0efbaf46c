//! Hosts the plan: one sandboxed Lua VM per user. Lua describes, Rust performs: a plan's code runs in a
//! coroutine that yields an [`Op`]; the engine carries it out and resumes it with the answer.

mod api;
mod data;
mod declare;
mod digest;
#[cfg(test)]
mod escapes;
mod expect;
mod fault;
mod field;
mod host;
#[cfg(test)]
mod library_tests;
mod limits;
mod modules;
mod multipart;
mod op;
mod options;
mod pattern;
mod place;
mod program;
mod pulse;
mod responses;
mod review;
mod safe;
mod sandbox;
mod setting;
mod sources;
mod stock;
mod stubs;
#[cfg(test)]
mod testing;
mod values;
mod vm;

pub use expect::Expect;
pub use fault::Raised;
pub use host::stream;
pub use op::{Op, RequestOp};
pub use program::{Program, load, read};
pub use pulse::{Pulse, Running};
pub use responses::{Counted, Finished};
pub use review::review;
pub use stubs::STUBS;
pub use vm::{Step, Vm, VmSetup};
