//! The command that compares runs.

use crate::config::Output;
use clap::Args;
use std::path::PathBuf;

/// `lgoose compare`.
#[derive(Debug, Args)]
#[command(
    override_usage = "lgoose compare BEFORE.json AFTER.json [options]\n       lgoose compare BEFORE.json… --after AFTER.json… [options]",
    after_help = "Reports are those of '-o json=FILE'. Exit codes: 0 no regression beyond a limit of --max-regression and beyond \
        chance, 1 one, 2 the runs are not comparable. How it is decided: docs/compare.md."
)]
pub(crate) struct Compare {
    /// The JSON reports of a run before the change and of one after it; with '--after', all of those before it
    #[arg(required = true, value_name = "REPORT.json")]
    pub file: Vec<PathBuf>,
    /// The reports after the change, where there are several runs
    #[arg(short, long, value_name = "REPORT.json", num_args = 1..)]
    pub after: Vec<PathBuf>,
    /// Fail if a figure is worse by more than this, beyond chance, such as 'p95 5%' or 'GET /cart: failures 1%' (repeatable)
    #[arg(long, value_name = "FIGURE LIMIT")]
    pub max_regression: Vec<String>,
    /// Judge by the figures also if the runs are not comparable
    #[arg(long)]
    pub anyway: bool,
    /// Write it as json, html or md, such as md=change.md or json=- (repeatable)
    #[arg(short, long, value_name = "FORMAT=PATH", value_parser = Output::parse_comparison)]
    pub output: Vec<Output>,
}
