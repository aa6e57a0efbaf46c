//! Results of commands: the change that a run has made, or the reason of its refusal, with a text that a view can show.

use lgoose_base::error::Error;
use lgoose_base::units::{counted, show_count};
use std::fmt;
use std::sync::Arc;

/// Result of a command.
pub type CommandResult = Result<Done, Refusal>;

/// Result of a reload: a text to show, or the mistake in the plan.
pub type ReloadResult = Result<Arc<str>, Arc<Error>>;

/// Effect of a command on the run.
#[derive(Debug, Clone, PartialEq)]
pub enum Done {
    /// The run stops once its running tasks have finished.
    Stopping,
    /// Requests in flight are cut off.
    Aborting,
    /// No new task starts.
    Paused,
    /// Tasks start again.
    Resumed,
    /// The new target number of users.
    Users(u64),
    /// The new target rate, in iterations per second.
    Rate(f64),
    /// The next stage begins.
    NextStage,
    /// The figures are reset.
    Reset,
    /// Users switch to the reloaded plan; the text describes the reload.
    Reloaded(Arc<str>),
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Done::Stopping => f.write_str("stopping: running tasks finish"),
            Done::Aborting => f.write_str("aborting: requests under way are cut off"),
            Done::Paused => f.write_str("paused"),
            Done::Resumed => f.write_str("running again"),
            Done::Users(users) => write!(f, "{} wanted", counted(*users, "user")),
            Done::Rate(rate) => write!(f, "target: {rate} iterations per second"),
            Done::NextStage => f.write_str("the next stage begins"),
            Done::Reset => f.write_str("statistics reset"),
            Done::Reloaded(text) => f.write_str(text),
        }
    }
}

/// Why a run refuses a command. A refused command changes nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refusal {
    /// `test_start` is still running, and no user has started.
    #[error("the run has not begun: 'test_start' is still at work")]
    NotStarted,
    /// The run is already stopping.
    #[error("the run is stopping already")]
    Stopping,
    /// Another process manages the run; this one only watches.
    #[error("the run has a manager elsewhere, which steers it: this lgoose only watches")]
    Watched,
    /// The run is over.
    #[error("the run is over")]
    Over,
    /// The run is already paused.
    #[error("the run is paused already")]
    Paused,
    /// The run is not paused.
    #[error("the run is not paused")]
    NotPaused,
    /// More users than lgoose can run.
    #[error("{} are too many: the most is {}", counted(*requested, "user"), show_count(*most))]
    TooManyUsers {
        /// The requested number.
        requested: u64,
        /// The largest possible number.
        most: u64,
    },
    /// The run has users and no rate.
    #[error("a run of users has no rate that could be set: set the number of users")]
    NoRate,
    /// Every scenario has its own load, so the command must name one.
    #[error("each scenario has a load of its own: say which is meant")]
    OwnLoads,
    /// No scenario of that name has its own load.
    #[error("no scenario '{requested}' has a load of its own; those that have: {available}")]
    NoOwnLoad {
        /// The requested name.
        requested: String,
        /// The names of the scenarios that have their own load.
        available: String,
    },
    /// The run has no stages.
    #[error("this run has no stages")]
    NoStages,
    /// The last stage is running, or a command has set the load.
    #[error("there is no stage to come: stop the run to end it")]
    LastStage,
    /// The number is not a valid rate.
    #[error("{0} is not a rate: give 0 or more iterations per second")]
    NotARate(f64),
    /// A reset is already in progress.
    #[error("the statistics are being reset already")]
    Resetting,
    /// The run has no plan file to reload.
    #[error("this run cannot reload its plan")]
    NoReload,
    /// The plan now has a mistake, or cannot be read.
    #[error("{0}")]
    Plan(Arc<Error>),
}
