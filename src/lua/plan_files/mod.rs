//! The files of a plan: read and compiled once per process and shared by all VMs. Knows nothing of users and tasks.

mod bytecode;
mod cache;
mod data_files;
mod digest;
mod modules;
mod program;
mod sources;

pub(super) use bytecode::{compile, compile_once, libraries};
pub(super) use data_files::{Kind, Order, Row, Rows};
pub(super) use modules::Missing;
#[cfg(test)]
pub(super) use modules::OWN;
pub use program::Program;
pub(super) use program::Span;
pub(super) use sources::{Place, Sources};
