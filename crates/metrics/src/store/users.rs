//! Users at work: how many there are, and the most there were at a time.

use std::collections::{BTreeMap, BTreeSet};

/// Users of one scenario or of all. The peak is exact within a shard; users of several shards who come and go within
/// one tick count as if they had met.
#[derive(Debug, Clone, Default)]
pub(crate) struct UserCounts {
    now: i64,
    /// Users at the last tick, and the changes of each source since.
    base: i64,
    since: Vec<(ShardScenario, SourceChanges)>,
    peak: i64,
    /// Users of each source.
    standing: BTreeMap<ShardScenario, i64>,
    /// Shards that are no longer heard from: their users count as gone.
    away: BTreeSet<usize>,
}

/// Shard and number of the scenario that a change comes from.
pub(crate) type ShardScenario = (usize, usize);

/// Changes of a source since the last tick: a late shard may hand over twice within one.
#[derive(Debug, Clone, Copy, Default)]
struct SourceChanges {
    change: i64,
    rise: i64,
}

impl UserCounts {
    /// Adds a source's net change since its last delta, and its highest value in between.
    pub(crate) fn add(&mut self, source: ShardScenario, change: i64, rise: i64) {
        *self.standing.entry(source).or_default() += change;
        if self.away.contains(&source.0) {
            return;
        }
        self.now += change;
        let at = self.since.iter().position(|(other, _)| *other == source);
        let at = at.unwrap_or_else(|| {
            self.since.push((source, SourceChanges::default()));
            self.since.len() - 1
        });
        let (_, since) = &mut self.since[at];
        since.rise = since.rise.max(since.change + rise);
        since.change += change;
    }

    /// Leaves the users of a shard out until it is back.
    pub(crate) fn lose(&mut self, shard: usize) {
        if self.away.insert(shard) {
            self.now -= self.of_shard(shard);
        }
    }

    /// Counts the users of a shard again, including the changes that it has delivered meanwhile.
    pub(crate) fn find(&mut self, shard: usize) {
        if self.away.remove(&shard) {
            self.now += self.of_shard(shard);
        }
    }

    /// Returns the users of a shard according to its latest delivery.
    pub(crate) fn of_shard(&self, shard: usize) -> i64 {
        let all = self.standing.range((shard, 0)..(shard + 1, 0));
        all.map(|(_, users)| users).sum()
    }

    pub(crate) fn tick(&mut self) {
        self.peak = self.highest();
        self.base = self.now;
        self.since.clear();
    }

    pub(crate) fn now(&self) -> u64 {
        self.now.max(0) as u64
    }

    pub(crate) fn peak(&self) -> u64 {
        self.highest().max(0) as u64
    }

    /// Drops the peak; users at work stay.
    pub(crate) fn reset(&mut self) {
        self.tick();
        self.peak = self.now;
    }

    fn highest(&self) -> i64 {
        let rise: i64 = self.since.iter().map(|(_, since)| since.rise).sum();
        self.peak.max(self.now).max(self.base + rise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_shorter_than_a_tick_still_had_users() {
        let mut users = UserCounts::default();
        users.add((0, 0), 0, 4);
        assert_eq!((users.now(), users.peak()), (0, 4));
    }

    #[test]
    fn a_user_that_leaves_and_comes_back_within_a_tick_counts_once() {
        let mut users = UserCounts::default();
        users.add((0, 0), 1, 1);
        users.add((1, 0), 1, 1);
        users.tick();
        users.add((1, 0), -1, 0);
        users.add((1, 0), 1, 1);
        assert_eq!((users.now(), users.peak()), (2, 2));
    }

    #[test]
    fn users_of_a_shard_that_is_away_are_not_counted_until_it_is_back() {
        let mut users = UserCounts::default();
        users.add((0, 0), 5, 5);
        users.add((1, 0), 7, 7);
        users.tick();
        users.lose(1);
        users.lose(1);
        assert_eq!((users.now(), users.of_shard(1)), (5, 7));
        users.add((1, 0), -3, 0);
        assert_eq!(users.now(), 5);
        users.find(1);
        users.find(1);
        assert_eq!((users.now(), users.peak()), (9, 12));
    }

    #[test]
    fn after_a_reset_the_peak_starts_from_those_at_work() {
        let mut users = UserCounts::default();
        users.add((0, 0), 10, 10);
        users.tick();
        users.add((0, 0), -7, 0);
        users.reset();
        assert_eq!((users.now(), users.peak()), (3, 3));
    }
}
