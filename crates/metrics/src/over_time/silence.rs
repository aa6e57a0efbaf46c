//! Silences: times in which users waited and no response came to any of them, found from the quiet times of shards.
//!
//! Users that wait send nothing, so an outage leaves few traces in the percentiles of a run of users: a handful of
//! slow requests. A silence shows the outage itself. Driven by the store; times are nanoseconds since the run began.

use crate::latencies::nanoseconds;
use crate::record::QuietTime;
use std::collections::VecDeque;
use std::time::Duration;

/// A time without any response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Silence {
    pub(crate) from: u64,
    /// The response that ended it, or the moment up to which there was none.
    pub(crate) to: u64,
    /// The most requests that waited at once, as far as is known.
    pub(crate) waiting: u64,
}

/// Length of a silence that is worth reporting, in median latencies; it is never less than a second.
const MEDIANS: u32 = 10;
const LEAST: Duration = Duration::from_secs(1);

/// Returns the shortest time without a response, in nanoseconds, that is a silence where the median latency is this.
pub(crate) fn least_silence(median: Duration) -> u64 {
    nanoseconds((median * MEDIANS).max(LEAST))
}

impl Silence {
    pub(crate) fn length(&self) -> u64 {
        self.to.saturating_sub(self.from)
    }
}

/// Silences of a run, found from the quiet times of its shards.
#[derive(Debug, Default)]
pub(crate) struct Silences {
    shards: Vec<ShardSilence>,
    /// The moment up to which silences were looked for, in nanoseconds since the run began.
    searched_until: u64,
    /// Silences that were reported as events of the measurement, for the windows of thresholds.
    reported: Vec<Silence>,
}

#[derive(Debug, Default)]
struct ShardSilence {
    /// Quiet times that are over, in order.
    over: VecDeque<QuietTime>,
    /// The quiet time that is still going on.
    going_on: Option<QuietTime>,
}

impl ShardSilence {
    /// Returns the quiet time that contains a moment, its end included.
    fn at(&self, moment: u64) -> Option<&QuietTime> {
        let over = self.over.iter();
        over.chain(&self.going_on)
            .rev()
            .find(|quiet| quiet.from < moment)
            .filter(|quiet| {
                // A quiet time that is still going on has no end yet.
                moment <= quiet.to || Some(**quiet) == self.going_on
            })
    }
}

impl Silences {
    /// Adds a quiet time that a shard handed over.
    pub(crate) fn add(&mut self, shard: usize, over: QuietTime) {
        self.shard(shard).over.push_back(over);
    }

    /// Notes whether a shard is in a quiet time now.
    pub(crate) fn stands(&mut self, shard: usize, going_on: Option<QuietTime>) {
        self.shard(shard).going_on = going_on;
    }

    /// Notes a silence that was reported as an event.
    pub(crate) fn report(&mut self, silence: Silence) {
        self.reported.push(silence);
    }

    /// Returns those that were reported.
    pub(crate) fn reported(&self) -> impl Iterator<Item = Silence> {
        self.reported.iter().copied()
    }

    /// Forgets the reported ones: another measurement begins.
    pub(crate) fn forget_reported(&mut self) {
        self.reported.clear();
    }

    fn shard(&mut self, shard: usize) -> &mut ShardSilence {
        if self.shards.len() <= shard {
            self.shards.resize_with(shard + 1, ShardSilence::default);
        }
        &mut self.shards[shard]
    }

    /// Returns the silences of at least `least` nanoseconds that a response has ended since the last call and before
    /// `until`. Everything up to `until` must be known.
    pub(crate) fn over(&mut self, until: u64, least: u64) -> Vec<Silence> {
        let mut found = Vec::new();
        for (number, shard) in self.shards.iter().enumerate() {
            let new = shard
                .over
                .iter()
                .filter(|quiet| self.searched_until <= quiet.to && quiet.to < until);
            found.extend(new.filter_map(|quiet| self.common(number, quiet)));
        }
        found.retain(|silence| silence.length() >= least);
        found.sort_unstable_by_key(|silence| silence.from);
        // Responses that came to two shards at once end one silence.
        found.dedup_by(|later, first| later.from < first.to);
        self.searched_until = self.searched_until.max(until);
        // A quiet time that is over is needed until the overlapping ones of all shards are over: ten minutes are
        // enough.
        for shard in &mut self.shards {
            let recent = |quiet: &QuietTime| quiet.to.saturating_add(600_000_000_000) >= until;
            let old = shard
                .over
                .iter()
                .position(recent)
                .unwrap_or(shard.over.len());
            shard.over.drain(..old);
        }
        found
    }

    /// Returns the silence that is going on at `now`.
    pub(crate) fn going_on(&self, now: u64) -> Option<Silence> {
        let (number, quiet) = self
            .shards
            .iter()
            .enumerate()
            .filter_map(|(number, shard)| Some((number, shard.going_on?)))
            .max_by_key(|(_, quiet)| quiet.from)?;
        self.common(number, &QuietTime { to: now, ..quiet })
    }

    /// Returns the part of one shard's quiet time, up to its end, in which all the others were quiet too and users
    /// waited.
    fn common(&self, number: usize, quiet: &QuietTime) -> Option<Silence> {
        let (mut from, mut waited) = (quiet.from, quiet.waited_since);
        let mut waiting = quiet.waiting;
        for (other, shard) in self.shards.iter().enumerate() {
            if other == number {
                continue;
            }
            let theirs = shard.at(quiet.to)?;
            from = from.max(theirs.from);
            waited = match (waited, theirs.waited_since) {
                (Some(ours), Some(theirs)) => Some(ours.min(theirs)),
                (ours, theirs) => ours.or(theirs),
            };
            waiting += theirs.waiting;
        }
        let from = from.max(waited?);
        (from < quiet.to).then_some(Silence {
            from,
            to: quiet.to,
            waiting,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn quiet(from: u64, to: u64, waited_since: u64, waiting: u64) -> QuietTime {
        QuietTime {
            from,
            to,
            waited_since: Some(waited_since),
            waiting,
        }
    }

    #[test]
    fn an_outage_that_all_shards_saw_is_one_silence() {
        let mut all = Silences::default();
        all.add(0, quiet(10 * S, 13 * S, 10 * S, 6));
        all.add(1, quiet(10 * S + 5, 13 * S + 7, 10 * S + 5, 6));
        for shard in 0..2 {
            all.stands(shard, Some(quiet(14 * S, 14 * S + 9, 14 * S, 6)));
        }
        assert_eq!(
            all.over(14 * S, S),
            [Silence {
                from: 10 * S + 5,
                to: 13 * S,
                waiting: 12
            }]
        );
        assert_eq!(all.over(15 * S, S), [], "told once");
    }

    #[test]
    fn while_one_shard_gets_responses_there_is_no_silence() {
        let mut all = Silences::default();
        all.add(0, quiet(10 * S, 13 * S, 10 * S, 6));
        all.stands(1, Some(quiet(13 * S + S / 2, 14 * S, 14 * S, 1)));
        assert_eq!(all.over(14 * S, S), []);
        assert_eq!(all.going_on(14 * S), None);
    }

    #[test]
    fn a_silence_starts_when_the_first_user_waits() {
        let mut all = Silences::default();
        all.stands(0, Some(quiet(2 * S, 9 * S, 6 * S, 1)));
        let nobody = QuietTime {
            waited_since: None,
            ..quiet(3 * S, 9 * S, 0, 0)
        };
        all.stands(1, Some(nobody));
        let silence = all.going_on(9 * S).expect("3 s");
        assert_eq!(
            (silence.from, silence.length(), silence.waiting),
            (6 * S, 3 * S, 1)
        );
        all.stands(0, Some(nobody));
        assert_eq!(all.going_on(9 * S), None);
    }
}
