//! `lgoose check`: the plan, and what a run of it would be given.

use super::values::{users, variable};
use clap::Args;
use lgoose_base::units;
use std::path::PathBuf;

/// `lgoose check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The plan, or a list of URLs; '-' reads it from standard input
    pub plan: PathBuf,
    /// The site's base URL, checked as in a run; nothing is sent there
    #[arg(short = 'H', long, value_name = "URL")]
    pub host: Option<String>,
    /// Name the scenarios that get none of this many users
    #[arg(short, long, value_name = "N", value_parser = users)]
    pub users: Option<u64>,
    /// A variable for the plan's env() (repeatable)
    #[arg(short, long, value_name = "NAME=VALUE", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// A file with variables, one NAME=VALUE per line; --env takes precedence
    #[arg(long, value_name = "FILE")]
    pub env_file: Option<PathBuf>,
    /// Memory that the plan's data files may take [default: most of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub data_memory: Option<u64>,
    /// Let the plan read and name any file, as in a run with this flag
    #[arg(long)]
    pub allow_files: bool,
    /// End with exit code 2 if there is a warning
    #[arg(long)]
    pub deny_warnings: bool,
    /// Show the plan's call stack with errors
    #[arg(long)]
    pub backtrace: bool,
}
