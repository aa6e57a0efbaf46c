//! Figures that begin anew in the middle of a run: after `--warmup`, when all users have started, or when a
//! view asks for it. Every shard hands over what it had measured before it was told, so that a request counts
//! on one side only.

use super::conductor::Conductor;
use super::directive::Timetable;
use crate::config::Config;
use crate::metrics::{Delta, Report};
use std::time::Duration;

/// A reset that is due or under way.
#[derive(Debug)]
pub(super) struct Reset {
    /// When the figures are to begin anew by themselves, as the timetable counts.
    pub(super) due: Option<Duration>,
    /// Whether what was before is kept, as a report of its own.
    keeps: bool,
    /// When the reset under way was asked for, since the run began.
    asked: Duration,
    /// Shards that have not handed over what is from before.
    missing: usize,
    /// What shards measured since, until all have handed over.
    later: Vec<(usize, Box<Delta>)>,
    /// The report of what was before, if it is kept.
    kept: Option<Report>,
}

impl Reset {
    pub(super) fn new(config: &Config, timetable: &Timetable) -> Self {
        let all_running = || timetable.all_running_at().filter(|_| config.reset_stats);
        Reset {
            due: config.warmup.or_else(all_running),
            keeps: config.warmup.is_some(),
            asked: Duration::ZERO,
            missing: 0,
            later: Vec::new(),
            kept: None,
        }
    }
}

impl Conductor {
    /// The moment of `--warmup` or `--reset-stats` has come.
    pub(super) fn reset_at_its_time(&mut self) {
        self.reset.due = None;
        self.begin_reset();
    }

    /// Tells the shards to hand over. A reset that is under way is not begun again.
    pub(super) fn begin_reset(&mut self) {
        if self.reset.missing == 0 && !self.is_stopping() {
            self.reset.asked = self.begin.elapsed();
            self.reset.missing = self.emptied.len();
            self.tell(|directive| directive.epoch += 1);
        }
    }

    /// Adds what a shard measured in an epoch.
    pub(super) fn merge(&mut self, shard: usize, epoch: u64, delta: Box<Delta>) {
        let current = self.directives.borrow().epoch;
        if self.reset.missing == 0 || epoch < current {
            self.add(shard, delta);
        } else {
            let first = self.reset.later.iter().all(|(known, _)| *known != shard);
            self.reset.later.push((shard, delta));
            self.reset.missing -= usize::from(first);
            if self.reset.missing == 0 {
                self.finish_reset();
            }
        }
    }

    fn finish_reset(&mut self) {
        let now = self.reset.asked;
        if std::mem::take(&mut self.reset.keeps) {
            self.reset.kept = Some(self.store.report(now));
        }
        self.store.reset(now);
        for (shard, delta) in std::mem::take(&mut self.reset.later) {
            self.add(shard, delta);
        }
    }

    fn add(&mut self, shard: usize, delta: Box<Delta>) {
        let delta = self.store.merge(*delta);
        // A shard that has ended needs no delta.
        let _ended = self.emptied[shard].send(Box::new(delta));
    }

    /// The report of the run, with that of its warm-up.
    pub(super) fn report(&mut self, elapsed: Duration) -> Report {
        for (shard, delta) in std::mem::take(&mut self.reset.later) {
            self.add(shard, delta);
        }
        let mut report = self.store.report(elapsed);
        report.warmup = self.reset.kept.take().map(Box::new);
        report
    }
}
