//! The command that compares runs.

use super::values::at_least_one;
use clap::Args;
use lgoose_plan::config::Output;
use std::path::PathBuf;

/// `lgoose compare`.
#[derive(Debug, Args)]
#[command(
    override_usage = "lgoose compare BEFORE.json AFTER.json [options]
       lgoose compare BEFORE.json… --after AFTER.json… [options]
       lgoose compare PLAN.lua --against URL [--repeat N] [options] -- [options of the runs]
       lgoose compare BEFORE.json… PLAN.lua [--repeat N] [options] -- [options of the runs]",
    after_help = "Reports are those of '-o json=FILE'; a plan is run now. Exit codes: 0 no regression beyond a limit of \
        --max-regression and beyond chance, 1 such a regression, 2 the runs are not comparable, 130 stopped. The method: \
        docs/compare.md."
)]
pub(crate) struct CompareArgs {
    /// The JSON reports of a run before the change and of one after it; with '--after', all reports before it. A plan stands
    /// for runs of it
    #[arg(required = true, value_name = "REPORT.json | PLAN.lua")]
    pub file: Vec<PathBuf>,
    /// The reports after the change, if there are several runs
    #[arg(short, long, value_name = "REPORT.json", num_args = 1..)]
    pub after: Vec<PathBuf>,
    /// The site after the change, to run the plan against; '--host' is the site before it
    #[arg(long, value_name = "URL")]
    pub against: Option<String>,
    /// The number of runs on each side: A B B A and so on [default: 1]
    #[arg(long, value_name = "N", value_parser = at_least_one::<u64>)]
    pub repeat: Option<u64>,
    /// Keep the reports of the runs in this folder, as before-1.json, after-1.json and so on
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Fail if a figure is worse by more than this, beyond chance, such as 'p95 5%', 'ok p95 5%' (successful requests alone) or
    /// 'GET /cart: failures 1%' (repeatable)
    #[arg(long, value_name = "FIGURE LIMIT")]
    pub max_regression: Vec<String>,
    /// Judge by the figures even if the runs are not comparable
    #[arg(long)]
    pub anyway: bool,
    /// Write the comparison as json, html or md, such as md=change.md or json=- (repeatable)
    #[arg(short, long, value_name = "FORMAT=PATH", value_parser = Output::parse_comparison)]
    pub output: Vec<Output>,
    /// The options of the runs, such as: -- -H http://127.0.0.1 -u 20 -t 70s --warmup 10s
    #[arg(
        last = true,
        value_name = "OPTIONS OF THE RUNS",
        allow_hyphen_values = true
    )]
    pub options: Vec<String>,
}
