//! Times in which users waited for the requests that one threshold is about, and no response came to any: they leave no figures
//! behind. Gathered slice by slice, from the state of each shard at the end of a slice.

use crate::over_time::Silence;
use crate::record::{AxisSpan, WaitingRequests};
use std::collections::BTreeMap;

/// Waiting requests in the slices of a sliding window, by their beginnings.
#[derive(Debug, Default)]
pub(super) struct RowWaits(BTreeMap<u64, SliceWaits>);

#[derive(Debug, Default)]
struct SliceWaits {
    to: u64,
    /// Requests that ended in the slice.
    ended: u64,
    /// Those that had waited for long at its end.
    waiting: WaitingRequests,
}

impl RowWaits {
    /// Adds the requests of a shard in a slice, or in a part of one.
    pub(super) fn add(&mut self, span: &AxisSpan, ended: u64, waiting: WaitingRequests) {
        if ended + waiting.count > 0 {
            let slice = self.0.entry(span.from).or_default();
            slice.to = span.to;
            slice.ended += ended;
            slice.waiting.add(waiting);
        }
    }

    /// Forgets the slices that begin before a moment.
    pub(super) fn forget_before(&mut self, from: u64) {
        self.0 = self.0.split_off(&from);
    }

    /// Returns the silences of at least `least` nanoseconds in the slices that begin before `to`.
    pub(super) fn silences(&self, to: u64, least: u64) -> Vec<Silence> {
        let mut all: Vec<Silence> = Vec::new();
        let mut responded = 0;
        for (from, slice) in self.0.range(..to) {
            let since = slice.to.saturating_sub(slice.waiting.oldest).max(responded);
            match all.last_mut() {
                // The same silence goes on.
                Some(last) if slice.ended == 0 && last.to == *from && since <= last.to => {
                    last.to = slice.to;
                    last.waiting = last.waiting.max(slice.waiting.count);
                }
                _ if slice.ended == 0 => all.push(Silence {
                    from: since,
                    to: slice.to,
                    waiting: slice.waiting.count,
                }),
                _ => responded = slice.to,
            }
        }
        all.retain(|silence| silence.length() >= least);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Returns the silences of at least a second in slices of 250 ms: how many ended, how many wait, and the age of the oldest
    /// in milliseconds.
    fn silences(slices: &[(u64, u64, u64)]) -> Vec<(u64, u64, u64)> {
        let mut waits = RowWaits::default();
        for (number, (ended, count, oldest)) in slices.iter().enumerate() {
            let from = number as u64 * 250 * MS;
            let span = AxisSpan {
                epoch: 0,
                from,
                to: from + 250 * MS,
            };
            let waiting = WaitingRequests {
                count: *count,
                oldest: *oldest * MS,
            };
            waits.add(&span, *ended, waiting);
        }
        let found = waits.silences(u64::MAX, 1_000 * MS).into_iter();
        found
            .map(|silence| (silence.from / MS, silence.to / MS, silence.waiting))
            .collect()
    }

    #[test]
    fn a_silence_begins_when_its_oldest_request_began_to_wait() {
        let hangs = [
            (3, 0, 0),
            (0, 0, 0),
            (0, 2, 500),
            (0, 3, 750),
            (0, 3, 1_000),
        ];
        assert_eq!(silences(&hangs), [(250, 1_250, 3)]);
    }

    #[test]
    fn a_response_ends_a_silence_whoever_else_waits() {
        let responds = [
            (0, 2, 500),
            (0, 2, 750),
            (1, 1, 1_000),
            (0, 1, 1_250),
            (0, 1, 1_500),
        ];
        assert_eq!(silences(&responds), []);
        let again = [
            (0, 2, 1_000),
            (1, 1, 1_250),
            (0, 1, 1_500),
            (0, 1, 1_750),
            (0, 1, 2_000),
            (0, 1, 2_250),
        ];
        assert_eq!(silences(&again), [(500, 1_500, 1)]);
    }

    #[test]
    fn nobody_who_waits_is_no_silence() {
        assert_eq!(
            silences(&[(1, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 0), (1, 0, 0)]),
            []
        );
    }
}
