//! What a run answers to a command: what it has done, or why it refuses, both in words that a view can show.

use crate::error::Error;
use crate::units::{counted, show_count};
use std::fmt;
use std::sync::Arc;

/// Outcome of a command.
pub type Answer = Result<Done, Refusal>;

/// Outcome of a reload: a text to show, or the mistake in the plan.
pub type News = Result<Arc<str>, Arc<Error>>;

/// Effect of a command on the run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Done {
    /// Running tasks finish.
    Stopping,
    /// Requests under way are cut off.
    Aborting,
    /// No task is started.
    Paused,
    /// Tasks are started again.
    Resumed,
    /// Number of users that is wanted now.
    Users(u64),
    /// Iterations per second that are wanted now.
    Rate(f64),
    /// The next stage begins.
    NextStage,
    /// The figures begin anew.
    Reset,
    /// Users take the plan that was loaded anew; what to say of it.
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
            Done::Reloaded(told) => f.write_str(told),
        }
    }
}

/// Why a run does not do what a command asks for. Nothing has changed then.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// `test_start` is at work, and no user is.
    #[error("the run has not begun: 'test_start' is still at work")]
    NotBegun,
    /// Its users were told to stop.
    #[error("the run is stopping already")]
    Stopping,
    /// Another process leads the run.
    #[error("the run has a manager elsewhere, which steers it: this lgoose only watches")]
    Watched,
    /// There is nobody left to ask.
    #[error("the run is over")]
    Over,
    /// Refused because the run is paused.
    #[error("the run is paused already")]
    Paused,
    /// Refused because the run is not paused.
    #[error("the run is not paused")]
    NotPaused,
    /// More users than lgoose can run.
    #[error("{} are too many: the most is {}", counted(*wanted, "user"), show_count(*most))]
    TooManyUsers {
        /// Number that was asked for.
        wanted: u64,
        /// Largest number that is possible.
        most: u64,
    },
    /// A rate for a run of users.
    #[error("a run of users has no rate that could be set: set the number of users")]
    NoRate,
    /// No scenario shares a load with another, so it must be said whose is meant.
    #[error("each scenario has a load of its own: say which is meant")]
    OwnLoads,
    /// No scenario of that name has a load of its own.
    #[error("no scenario '{wanted}' has a load of its own; those that have: {known}")]
    NoOwnLoad {
        /// Name that was asked for.
        wanted: String,
        /// Names of those that have one.
        known: String,
    },
    /// The run has no stages.
    #[error("this run has no stages")]
    NoStages,
    /// The last stage is under way, or somebody has set the load.
    #[error("there is no stage to come: stop the run to end it")]
    LastStage,
    /// A number that is no rate.
    #[error("{0} is not a rate: give 0 or more iterations per second")]
    NotARate(f64),
    /// A reset is under way.
    #[error("the statistics are being reset already")]
    Resetting,
    /// The run has no file to load its plan from.
    #[error("this run cannot reload its plan")]
    NoReload,
    /// The plan as it is now has a mistake, or cannot be read.
    #[error("{0}")]
    Plan(Arc<Error>),
}
