//! How users came to their end, as shards count it and the director adds it up.

use crate::metrics::Cause;

/// How users came to their end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Departures {
    /// Users who have done their `on_start` tasks.
    pub(crate) began: u64,
    /// Users who were lost by an error in `on_start`.
    pub(crate) lost: u64,
    /// Users who have done all their iterations.
    pub(crate) finished: u64,
}

impl Departures {
    /// Those of both together.
    pub(crate) fn and(self, other: Departures) -> Departures {
        Departures {
            began: self.began + other.began,
            lost: self.lost + other.lost,
            finished: self.finished + other.finished,
        }
    }

    /// Whether there were users and all were lost.
    pub(crate) fn all_lost(self) -> bool {
        self.lost > 0 && self.began == 0
    }

    /// Why nobody is left although nobody was told to stop.
    pub(crate) fn cause(self) -> Cause {
        match self.finished {
            _ if self.all_lost() => Cause::UsersLost,
            0 => Cause::Plan,
            _ => Cause::IterationsDone,
        }
    }
}
