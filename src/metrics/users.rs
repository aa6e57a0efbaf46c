//! Users at work: how many there are, and the most there were at a time.

/// Users of one scenario or of all. The peak is exact within a shard; users of several shards that come and go
/// within one tick count as if they had met.
#[derive(Debug, Clone, Default)]
pub(super) struct Users {
    now: i64,
    /// Users at the last tick, and the changes of each source since.
    base: i64,
    since: Vec<(Source, Since)>,
    peak: i64,
}

/// Shard and number of the scenario that a change comes from.
pub(super) type Source = (usize, usize);

/// Changes of a source since the last tick: a late shard may hand over twice within one.
#[derive(Debug, Clone, Copy, Default)]
struct Since {
    change: i64,
    rise: i64,
}

impl Users {
    /// Adds a source's net change since its last delta, and its highest value in between.
    pub(super) fn add(&mut self, source: Source, change: i64, rise: i64) {
        self.now += change;
        let at = self.since.iter().position(|(known, _)| *known == source);
        let (_, since) = match at {
            Some(at) => &mut self.since[at],
            None => self.since.push_mut((source, Since::default())),
        };
        since.rise = since.rise.max(since.change + rise);
        since.change += change;
    }

    pub(super) fn tick(&mut self) {
        self.peak = self.highest();
        self.base = self.now;
        self.since.clear();
    }

    pub(super) fn now(&self) -> u64 {
        self.now.max(0) as u64
    }

    pub(super) fn peak(&self) -> u64 {
        self.highest().max(0) as u64
    }

    /// Drops the peak; users at work stay.
    pub(super) fn reset(&mut self) {
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
        let mut users = Users::default();
        users.add((0, 0), 0, 4);
        assert_eq!((users.now(), users.peak()), (0, 4));
    }

    #[test]
    fn a_user_that_leaves_and_comes_back_within_a_tick_counts_once() {
        let mut users = Users::default();
        users.add((0, 0), 1, 1);
        users.add((1, 0), 1, 1);
        users.tick();
        users.add((1, 0), -1, 0);
        users.add((1, 0), 1, 1);
        assert_eq!((users.now(), users.peak()), (2, 2));
    }

    #[test]
    fn after_a_reset_the_peak_starts_from_those_at_work() {
        let mut users = Users::default();
        users.add((0, 0), 10, 10);
        users.tick();
        users.add((0, 0), -7, 0);
        users.reset();
        assert_eq!((users.now(), users.peak()), (3, 3));
    }
}
