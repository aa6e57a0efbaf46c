//! Users at work: how many there are, and the most there were at a time.

/// The users of one scenario or of all. The peak is exact within a shard; users of several shards that come
/// and go within one tick count as if they had met.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Users {
    now: i64,
    /// `now` as of the last tick, and the most that shards added to it since.
    base: i64,
    rise: i64,
    peak: i64,
}

impl Users {
    /// Adds a shard's net change since its last delta, and the highest that it was in between.
    pub(super) fn add(&mut self, change: i64, rise: i64) {
        self.now += change;
        self.rise += rise;
    }

    pub(super) fn tick(&mut self) {
        self.peak = self.highest();
        self.base = self.now;
        self.rise = 0;
    }

    pub(super) fn now(&self) -> u64 {
        self.now.max(0) as u64
    }

    pub(super) fn peak(&self) -> u64 {
        self.highest().max(0) as u64
    }

    /// Forgets the peak; those at work stay.
    pub(super) fn reset(&mut self) {
        self.tick();
        self.peak = self.now;
    }

    fn highest(&self) -> i64 {
        self.peak.max(self.now).max(self.base + self.rise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_shorter_than_a_tick_still_had_users() {
        let mut users = Users::default();
        users.add(0, 4);
        assert_eq!((users.now(), users.peak()), (0, 4));
    }

    #[test]
    fn after_a_reset_the_peak_starts_from_those_at_work() {
        let mut users = Users::default();
        users.add(10, 10);
        users.tick();
        users.add(-7, 0);
        users.reset();
        assert_eq!((users.now(), users.peak()), (3, 3));
    }
}
