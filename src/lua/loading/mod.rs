//! Loading of a plan: its declarations as plain data, what is wrong with them, and what editors are told of them.

mod declare;
mod field;
mod load;
mod review;
mod setting;
mod stubs;

pub use load::{load, read};
pub use review::review;
pub use stubs::STUBS;
