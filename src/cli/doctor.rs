//! The command that looks at this machine.

use super::values::users;
use clap::Args;

/// `lgoose doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 the machine has what this many users need, 1 it lacks something. '!' marks what makes figures \
        less accurate."
)]
pub(crate) struct DoctorArgs {
    /// The number of users that the machine should run
    #[arg(short, long, value_name = "N", default_value_t = 1_000, value_parser = users)]
    pub users: u64,
}
