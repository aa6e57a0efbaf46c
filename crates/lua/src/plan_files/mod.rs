//! The files of a plan, read and compiled once per process and shared by all VMs. Knows nothing of users and tasks.

mod bundle;
mod bytecode;
mod cache;
mod classes;
mod costly;
mod data_files;
mod descriptions;
mod digest;
mod edition_text;
mod json_tree;
mod modules;
mod patterns;
mod program;
mod schema_work;
mod schemas;
mod sources;
mod variables;

pub use bundle::Bundle;
pub(super) use bytecode::{compile, compile_once};
pub(super) use costly::check as check_costs;
pub(super) use data_files::{CsvFormat, DataFormat, DataRow, DataRows, PlanFile, RowOrder};
pub(super) use json_tree::{JsonNode, JsonTree, JsonValue};
#[cfg(test)]
pub(super) use modules::BUILT_IN;
pub(super) use modules::ModuleError;
pub(super) use modules::has_parts;
pub use patterns::CompiledRegex;
pub(super) use patterns::Pattern;
pub use program::Program;
pub(super) use program::{DeclarationLines, RunState, TaskLocation};
pub use schemas::read_any_descriptions;
pub(super) use schemas::{GrpcMethod, Schema, described_files, find_message, find_method};
pub(super) use sources::{SourceFile, SourceLine, Sources};
pub use variables::EnvVariables;
