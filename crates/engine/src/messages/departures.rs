//! Counts users that were started, and how they ended. Each shard counts its own; the director adds them up.

use lgoose_metrics::Cause;
use serde::{Deserialize, Serialize};

/// Numbers of users by the way they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departures {
    /// Users that were started, each number once; 0 in a run at a rate.
    pub(crate) started: u64,
    /// Users that have completed their `on_start` tasks.
    pub(crate) began: u64,
    /// Users that were lost by an error in `on_start`.
    pub(crate) lost: u64,
    /// Users that the plan ended in `on_start` although they had more to do.
    pub(crate) quit: u64,
    /// Users that have completed all their iterations; at a rate, loads of which all have begun.
    pub(crate) finished: u64,
    /// Users that were cut off before they came to their end.
    pub(crate) cut_off: u64,
}

impl Departures {
    /// Adds the counts of both.
    pub(crate) fn and(self, other: Departures) -> Departures {
        Departures {
            started: self.started + other.started,
            began: self.began + other.began,
            lost: self.lost + other.lost,
            quit: self.quit + other.quit,
            finished: self.finished + other.finished,
            cut_off: self.cut_off + other.cut_off,
        }
    }

    /// Returns whether there were users and all ended in `on_start`.
    pub(crate) fn all_lost(self) -> bool {
        self.lost + self.quit > 0 && self.began == 0
    }

    /// Returns why no user is left without a stop.
    pub(crate) fn cause(self) -> Cause {
        match self.finished {
            _ if self.all_lost() => Cause::UsersLost,
            0 => Cause::Plan,
            _ => Cause::IterationsDone,
        }
    }
}
