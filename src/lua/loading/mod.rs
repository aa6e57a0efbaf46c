//! Loading of a plan: its declarations as plain data, the review of a plan, and the stubs for editors.

mod declare;
mod field;
mod load;
mod review;
mod setting;
mod stubs;

pub use load::{load, load_bundle, read};
pub use review::review;
pub use stubs::STUBS;
