//! The command that runs plans for whoever asks over HTTP.

use super::web::Web;
use clap::Args;
use std::path::PathBuf;

/// `lgoose serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Who has the token may run any plan below PLANS_DIR against any host, one run at a time. Each run is kept in a \
        folder of its own below --data, with its report, its plan and its options; a folder with a 'report.json' of another \
        run ('-o json=runs/mine/report.json') is listed, too. LGOOSE_… in the environment are defaults of all runs. Ctrl-C \
        stops the run that goes on, whose report is kept, and ends; a second one aborts it."
)]
pub(crate) struct Serve {
    /// The folder with the plans
    #[arg(value_name = "PLANS_DIR", default_value = ".")]
    pub plans: PathBuf,
    /// The folder that keeps the runs, made if it is not there
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Where and how it is served.
    #[command(flatten)]
    pub web: Web,
}
