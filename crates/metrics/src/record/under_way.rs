//! Requests of one shard that are under way: how many there are, how old the oldest is, and for how long no response
//! has come to any of them.
//!
//! Driven by the recorder when a request begins and when it ends, in nanoseconds since the run began.

use super::sample::RequestId;
use crate::delta::plausible;
use serde::{Deserialize, Serialize};

/// Place of a request that is under way; given back when it ends.
#[derive(Debug)]
#[must_use = "a request that never ends stays under way"]
pub struct InFlightSlot(u32);

/// Shortest time without a response that is reported, in nanoseconds: half of what makes an outage.
pub(crate) const LEAST_QUIET: u64 = 500_000_000;

/// Requests of one name that have waited for long at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WaitingRequests {
    #[serde(deserialize_with = "plausible::count")]
    pub(crate) count: u64,
    /// Age of the oldest of them, in nanoseconds.
    pub(crate) oldest: u64,
}

impl WaitingRequests {
    /// Adds those of another shard.
    pub(crate) fn add(&mut self, other: WaitingRequests) {
        self.count += other.count;
        self.oldest = self.oldest.max(other.oldest);
    }
}

/// Requests under way at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct InFlightCount {
    /// Requests under way.
    pub(crate) count: u64,
    /// Age of the oldest of them, in nanoseconds.
    pub(crate) oldest: u64,
}

/// A time in which a shard got no response, in nanoseconds since the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct QuietTime {
    /// The latest response before it.
    pub(crate) from: u64,
    /// The response that ended it, or the moment up to which there was none.
    pub(crate) to: u64,
    /// When the request that waited longest began to wait; `None` if none did.
    pub(crate) waited_since: Option<u64>,
    /// The most requests that waited at once, as far as is known: at its end, or when one ended without a response.
    #[serde(deserialize_with = "plausible::count")]
    pub(crate) waiting: u64,
}

impl QuietTime {
    /// Converts the times to a clock that began `by` nanoseconds later.
    pub(crate) fn earlier(self, by: u64) -> QuietTime {
        QuietTime {
            from: self.from.saturating_sub(by),
            to: self.to.saturating_sub(by),
            waited_since: self.waited_since.map(|since| since.saturating_sub(by)),
            waiting: self.waiting,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct InFlightRequests {
    /// Beginning and row of the request at each place; `None` where the place is free.
    starts: Vec<Option<(u64, RequestId)>>,
    free: Vec<u32>,
    /// Time of the latest response.
    last_response: u64,
    /// Beginning of the earliest request that has ended without a response since then.
    unanswered: Option<u64>,
    /// The most requests under way when one ended without a response since then.
    abandoned: u64,
    /// End of the latest time in which no response could be noticed.
    away_until: u64,
}

impl InFlightRequests {
    pub(crate) fn start(&mut self, at: u64, row: RequestId) -> InFlightSlot {
        match self.free.pop() {
            Some(place) => {
                self.starts[place as usize] = Some((at, row));
                InFlightSlot(place)
            }
            None => {
                self.starts.push(Some((at, row)));
                InFlightSlot(self.starts.len() as u32 - 1)
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.starts.len()
    }

    /// Ends a request. If its response ended a long time without one, returns that time.
    pub(crate) fn end(
        &mut self,
        flight: InFlightSlot,
        at: u64,
        responded: bool,
    ) -> Option<QuietTime> {
        let is_quiet = responded && at.saturating_sub(self.last_response) >= LEAST_QUIET;
        let quiet = is_quiet.then(|| self.quiet(at));
        let under_way = (self.starts.len() - self.free.len()) as u64;
        let start = self.starts[flight.0 as usize].take();
        self.free.push(flight.0);
        if responded {
            (self.last_response, self.unanswered, self.abandoned) = (at, None, 0);
        } else {
            self.abandoned = self.abandoned.max(under_way);
            let start = start.map(|(start, _)| start);
            self.unanswered = self.unanswered.into_iter().chain(start).min();
        }
        quiet
    }

    /// Returns the time without a response up to a moment.
    pub(crate) fn quiet(&self, at: u64) -> QuietTime {
        let first = self.open().chain(self.unanswered).min();
        let first = first.filter(|first| *first < at);
        QuietTime {
            from: self.last_response,
            to: at,
            waited_since: first.map(|first| first.max(self.last_response)),
            waiting: self.at(at).count.max(self.abandoned),
        }
    }

    /// Notes that the process stood still: that time makes no request older and is no silence of the target.
    pub(crate) fn stood_still(&mut self, ns: u64) {
        let open = self.starts.iter_mut().flatten();
        open.for_each(|(start, _)| *start += ns);
        self.last_response += ns;
        if let Some(first) = &mut self.unanswered {
            *first += ns;
        }
    }

    /// Returns the requests under way at a moment after which no request has ended yet; some may have begun.
    pub(crate) fn at(&self, moment: u64) -> InFlightCount {
        let earlier = self.open().filter(|start| *start < moment);
        let (count, first) = earlier.fold((0, moment), |(count, first), start| {
            (count + 1, first.min(start))
        });
        InFlightCount {
            count,
            oldest: moment - first,
        }
    }

    /// Returns the requests that have waited for long at a moment, by their rows, each with its age.
    pub(crate) fn waiting(
        &self,
        moment: u64,
    ) -> impl Iterator<Item = (RequestId, WaitingRequests)> {
        let open = self.starts.iter().flatten();
        open.filter_map(move |(start, row)| {
            let oldest = moment.saturating_sub(self.away_until.max(*start));
            (oldest >= LEAST_QUIET).then_some((*row, WaitingRequests { count: 1, oldest }))
        })
    }

    /// Returns when those under way began.
    fn open(&self) -> impl Iterator<Item = u64> {
        self.starts.iter().flatten().map(|(start, _)| *start)
    }

    /// Notes that for so long until `now` the shard could not have noticed a response: that time is no silence of the target.
    pub(crate) fn was_away(&mut self, now: u64, ns: u64) {
        self.last_response += ns;
        self.away_until = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const ROW: RequestId = RequestId(0);

    #[test]
    fn requests_under_way_are_those_that_had_started() {
        let mut all = InFlightRequests::default();
        let first = all.start(100, ROW);
        let second = all.start(300, ROW);
        let _third = all.start(900, ROW);
        let stood = |count, oldest| InFlightCount { count, oldest };
        assert_eq!(all.at(900), stood(2, 800));
        assert_eq!(all.at(901), stood(3, 801));
        assert_eq!(all.end(first, 950, true), None);
        assert_eq!(all.at(1_000), stood(2, 700));
        let _again = all.start(1_000, ROW);
        assert_eq!(all.end(second, 1_100, true), None);
        assert_eq!(all.at(1_200), stood(2, 300));
    }

    #[test]
    fn a_time_without_a_response_is_reported_by_the_response_that_ends_it() {
        let mut all = InFlightRequests::default();
        let first = all.start(0, ROW);
        let second = all.start(700 * MS, ROW);
        assert_eq!(
            all.end(first, 800 * MS, true),
            Some(QuietTime {
                from: 0,
                to: 800 * MS,
                waited_since: Some(0),
                waiting: 2
            })
        );
        assert_eq!(all.end(second, 900 * MS, true), None);
        // No request was sent for a while, then one waited.
        let third = all.start(2_000 * MS, ROW);
        let quiet = all.end(third, 2_100 * MS, true).expect("1.2 s");
        assert_eq!(
            (quiet.from, quiet.waited_since),
            (900 * MS, Some(2_000 * MS))
        );
    }

    #[test]
    fn a_request_that_ends_without_a_response_has_waited_all_the_same() {
        let mut all = InFlightRequests::default();
        let first = all.start(0, ROW);
        assert_eq!(all.end(first, 1_000 * MS, false), None);
        let second = all.start(1_000 * MS, ROW);
        let quiet = all.end(second, 1_800 * MS, true).expect("1.8 s");
        assert_eq!((quiet.from, quiet.waited_since), (0, Some(0)));
    }

    #[test]
    fn those_who_gave_up_have_waited_at_once() {
        let mut all = InFlightRequests::default();
        let both = [all.start(0, ROW), all.start(0, ROW)];
        for flight in both {
            assert_eq!(all.end(flight, 2_000 * MS, false), None);
        }
        assert_eq!(all.quiet(2_000 * MS).waiting, 2);
        let third = all.start(2_000 * MS, ROW);
        let quiet = all.end(third, 2_100 * MS, true).expect("2.1 s");
        assert_eq!(quiet.waiting, 2);
        // Whoever waits from now on is counted anew.
        let _fourth = all.start(2_100 * MS, ROW);
        assert_eq!(all.quiet(3_000 * MS).waiting, 1);
    }
}
