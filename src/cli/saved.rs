//! The command that shows saved runs.

use clap::Args;
use lgoose_plan::config::Output;
use std::path::PathBuf;

/// `lgoose report`.
#[derive(Debug, Args)]
#[command(
    after_help = "The verdict shown is that of the run. The exit code is 0 if everything was shown and written."
)]
pub(crate) struct ReportArgs {
    /// The JSON report of a run, or the reports of all its parts ('--part'); '-' reads it from standard input
    #[arg(required = true)]
    pub file: Vec<PathBuf>,
    /// Write the report as json, yaml, csv, hdr, html, md or junit, such as md=run.md or csv=- (repeatable)
    #[arg(short, long, value_name = "FORMAT=PATH", value_parser = Output::parse)]
    pub output: Vec<Output>,
    /// Show the table of status codes even if all are the same
    #[arg(long)]
    pub status_codes: bool,
}
