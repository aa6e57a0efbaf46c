//! Loading of a plan: its declarations as plain data, the review of a plan, and the stubs for editors.

mod declare;
mod field;
mod load;
mod review;
mod setting;
mod stubs;

#[cfg(test)]
pub use load::load_bundle;
pub use load::{load, read};
pub use review::{review, variables_asked};
pub use stubs::STUBS;
