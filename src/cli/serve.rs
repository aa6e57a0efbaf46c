//! The command that runs plans on request over HTTP.

use super::web::WebArgs;
use clap::Args;
use std::path::PathBuf;

/// `lgoose serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Anyone with the token can run any plan below PLANS_DIR against any host, one run at a time. Each run has its own \
        folder below --data, with its report, its plan and its options. A folder with a 'report.json' of another run \
        ('-o json=runs/mine/report.json') is listed, too. LGOOSE_… in the environment set defaults for all runs. Ctrl-C stops \
        the current run, keeps its report, and exits; a second one aborts the run."
)]
pub(crate) struct ServeArgs {
    /// The folder with the plans
    #[arg(value_name = "PLANS_DIR", default_value = ".")]
    pub plans: PathBuf,
    /// The folder that keeps the runs, created if it does not exist
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Let every plan read and write any file, as in a run with this flag
    #[arg(long)]
    pub allow_files: bool,
    /// Where and how it is served.
    #[command(flatten)]
    pub web: WebArgs,
}
