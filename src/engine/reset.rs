//! Figures that begin anew in the middle of a run: after `--warmup`, when all users have started, when a
//! view asks for it, or when the plan is loaded anew. Every shard hands over what it had measured before it was told, so that a request counts
//! on one side only.

use super::conductor::Conductor;
use super::directive::Timetable;
use super::edition::Edition;
use crate::config::Config;
use crate::metrics::{Delta, NameSeries, Report};
use std::sync::Arc;
use std::time::Duration;

/// A reset that is due or under way.
#[derive(Debug)]
pub(super) struct Reset {
    /// When the figures are to begin anew by themselves, as the timetable counts.
    pub(super) due: Option<Duration>,
    /// Whether the reset under way is the end of the warm-up, and whether it is the end of an edition of the plan:
    /// then what was before is kept, as a report of its own.
    of_warmup: bool,
    of_edition: bool,
    /// When the reset under way was asked for, since the run began.
    asked: Duration,
    /// Shards that have not handed over what is from before.
    missing: usize,
    /// What shards measured since, until all have handed over.
    later: Vec<(usize, Box<Delta>)>,
    warmup: Option<Report>,
    earlier: Vec<Report>,
}

/// The most reports that are kept of editions; the first go.
const MOST_EARLIER: usize = 20;

impl Reset {
    pub(super) fn new(config: &Config, timetable: &Timetable) -> Self {
        let all_running = || timetable.all_running_at().filter(|_| config.reset_stats);
        Reset {
            due: config.warmup.or_else(all_running),
            of_warmup: false,
            of_edition: false,
            asked: Duration::ZERO,
            missing: 0,
            later: Vec::new(),
            warmup: None,
            earlier: Vec::new(),
        }
    }
}

impl Reset {
    /// Whether the figures have yet to begin by themselves.
    pub(super) fn is_due(&self) -> bool {
        self.due.is_some()
    }
}

impl Conductor {
    /// The moment of `--warmup` or `--reset-stats` has come.
    pub(super) fn reset_at_its_time(&mut self) {
        self.reset.due = None;
        self.reset.of_warmup = self.plant.config.warmup.is_some();
        self.begin_reset();
    }

    /// Users are to run another edition of the plan, each from its next iteration on. What `test_start` gave
    /// stays.
    pub(super) fn adopt(&mut self, edition: Arc<Edition>) {
        if self.is_stopping() {
            return;
        }
        edition
            .program
            .share_as(&self.directives.borrow().edition.program);
        self.reset.of_edition = true;
        self.begin_reset();
        self.tell(|directive| {
            directive.edition = edition;
            // Whoever had nothing left to do may have.
            directive.version += 1;
        });
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
        if std::mem::take(&mut self.reset.of_warmup) {
            self.reset.warmup = Some(self.store.report(now));
        } else if self.reset.of_edition {
            self.keep_edition(now);
        }
        self.store.reset(now);
        if std::mem::take(&mut self.reset.of_edition) {
            let edition = self.directives.borrow().edition.clone();
            self.store.order_by(edition.order());
            self.store.judge_by(edition.config.thresholds.clone());
        }
        for (shard, delta) in std::mem::take(&mut self.reset.later) {
            self.add(shard, delta);
        }
    }

    /// Keeps the report of the edition that ends here, but what would make it large.
    fn keep_edition(&mut self, now: Duration) {
        let mut report = self.store.report(now);
        for row in &mut report.requests {
            row.series = NameSeries::default();
        }
        if self.reset.earlier.len() == MOST_EARLIER {
            self.reset.earlier.remove(0);
            let warning = format!(
                "the plan was loaded anew so often that figures of only the last {MOST_EARLIER} times are kept"
            );
            self.store.warn(warning);
        }
        self.reset.earlier.push(report);
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
        report.warmup = self.reset.warmup.take().map(Box::new);
        report.earlier = std::mem::take(&mut self.reset.earlier);
        report
    }
}
