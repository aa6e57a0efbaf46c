//! Loading of a plan: its declarations as plain data, the review of a plan, and the stubs for editors.

mod constant_calls;
mod constants;
mod declare;
mod declared_tables;
mod field;
mod foreign_habits;
mod globals;
mod load;
mod load_function;
mod members;
mod mixed_rows;
mod named_hosts;
mod review;
mod scenario_fields;
mod setting;
mod stubs;
mod variables;

pub use load::{load, load_bundle, load_watched, read};
pub use named_hosts::named_hosts;
pub use review::review;
pub use stubs::STUBS;
pub use variables::{VariableDefault, default_of, is_set, requested_variables, unset_variables};
