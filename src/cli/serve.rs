//! The command that runs plans on request over HTTP.

use super::values::variable_name;
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
    /// Let every plan read only these variables of the environment (comma-separated) [default: none]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = variable_name)]
    pub env_allow: Vec<String>,
    /// Let every run send requests to these hosts only, '*' for any text (repeatable)
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// Restrict every plan to what this command line and the options of its run allow
    ///
    /// A plan sends requests only to the host of its run's options or those of '--allow-host', reads no variable of the environment
    /// except those of '--env-allow', and writes no file.
    #[arg(long)]
    pub sandbox: bool,
    /// Where and how it is served.
    #[command(flatten)]
    pub web: WebArgs,
}
