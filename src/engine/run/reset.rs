//! Resets the figures in the middle of a run: after `--warmup`, when all users have started, when a view asks for it,
//! or when the plan is reloaded. Every shard is told the moment, and counts what ended before it separately from what
//! ended after it; when all have come so far, the earlier measurement is over.

use crate::config::RunConfig;
use crate::control::Refusal;
use crate::engine::load_model::timetable::Timetable;
use crate::engine::protocol::directive::{Begins, Measurement};
use crate::engine::protocol::plan_version::PlanVersion;
use crate::engine::run::director::Director;
use crate::error::Diagnostic;
use crate::metrics::{Delivery, EventKind, NameSeries, Report};
use std::sync::Arc;
use std::time::Duration;

/// How far ahead a reset is set that somebody asks for, so that shards know of it in time.
const AHEAD: Duration = Duration::from_millis(50);

/// A reset that is due or under way.
#[derive(Debug)]
pub(crate) struct Reset {
    /// When the figures are reset by the timetable.
    pub(crate) due: Option<Duration>,
    /// Whether that is the end of the warm-up.
    warmup_due: bool,
    /// The measurement that is beginning, while the store still has the one before.
    under_way: Option<UnderWay>,
    /// The reset that follows the one under way.
    again: Option<Cause>,
    /// When the measurement would have begun that a stop called off.
    called_off: Option<Duration>,
    epoch: u64,
    /// Deltas of the next measurement and who delivered them, kept until all shards have come so far.
    later: Vec<(usize, Delivery)>,
    warmup: Option<Report>,
    earlier: Vec<Report>,
}

/// A measurement that has not begun on every shard.
#[derive(Debug)]
struct UnderWay {
    epoch: u64,
    /// Beginning of the measurement, since the run began.
    at: Duration,
    cause: Cause,
}

/// Causes of a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// End of the warm-up: what was before is kept as a report of its own.
    Warmup,
    /// Another version of the plan: what was before is kept as a report of its own.
    PlanVersion,
    /// All users have started; what was before is dropped.
    Started,
    /// Somebody asks for it; what was before is kept, as with another version of the plan.
    Asked,
}

/// The most reports of earlier measurements that are kept; the oldest are dropped.
const MOST_EARLIER: usize = 20;

impl Reset {
    pub(crate) fn new(config: &RunConfig, timetable: &Timetable) -> Self {
        let all_running = || timetable.all_running_at().filter(|_| config.reset_stats);
        Reset {
            due: config.warmup.or_else(all_running),
            warmup_due: config.warmup.is_some(),
            under_way: None,
            again: None,
            called_off: None,
            epoch: 0,
            later: Vec::new(),
            warmup: None,
            earlier: Vec::new(),
        }
    }

    /// Returns when the warm-up ends by the timetable, if it has not.
    pub(crate) fn warmup_due(&self) -> Option<Duration> {
        self.due.filter(|_| self.warmup_due)
    }

    /// Returns whether the timetable still has to reset the figures.
    pub(crate) fn is_due(&self) -> bool {
        self.due.is_some()
    }

    /// Returns the cause of the reset by the timetable.
    fn cause_due(&self) -> Cause {
        if self.warmup_due {
            Cause::Warmup
        } else {
            Cause::Started
        }
    }

    fn begin(&mut self, at: Duration, cause: Cause) {
        self.under_way = Some(UnderWay {
            epoch: self.epoch + 1,
            at,
            cause,
        });
    }

    /// Returns the measurement for the directive.
    pub(crate) fn measurement(&self) -> Measurement {
        match (&self.under_way, self.due) {
            (Some(begins), _) => Measurement {
                epoch: begins.epoch,
                begins: Begins::At(begins.at),
            },
            (None, Some(due)) => Measurement {
                epoch: self.epoch + 1,
                begins: Begins::On(due),
            },
            (None, None) => Measurement {
                epoch: self.epoch,
                begins: Begins::WithTheRun,
            },
        }
    }
}

impl Director {
    /// Resets the figures when the moment of `--warmup` or `--reset-stats` has come.
    pub(crate) fn reset_at_its_time(&mut self) {
        let clock = self.directives.borrow().clock;
        let Some(at) = self.reset.due.and_then(|due| clock.moment(due)) else {
            return;
        };
        self.reset.due = None;
        self.begin_reset(at, self.reset.cause_due());
    }

    /// Resets the figures if that moment has come, before the clock is changed.
    pub(crate) fn reset_if_due(&mut self) {
        let clock = self.directives.borrow().clock;
        let at = self.reset.due.and_then(|due| clock.moment(due));
        if at.is_some_and(|at| at <= self.now()) {
            self.reset_at_its_time();
        }
    }

    /// Resets the figures because a view asks for it. Nothing is done while a reset is under way.
    pub(crate) fn reset_as_asked(&mut self) -> Result<(), Refusal> {
        if self.reset.under_way.is_some() {
            return Err(Refusal::Resetting);
        }
        self.begin_reset(self.now() + AHEAD, Cause::Asked);
        Ok(())
    }

    /// Lets users take another version of the plan, each from its next iteration on. They keep what `test_start`
    /// returned.
    pub(crate) fn adopt(&mut self, plan_version: Arc<PlanVersion>) -> Result<(), Refusal> {
        if self.is_stopping() {
            return Err(Refusal::Stopping);
        }
        if !plan_version
            .lanes
            .fit(&self.directives.borrow().plan_version.lanes)
        {
            let text =
                "scenarios with loads of their own have changed: that takes effect in the next run";
            let error =
                Diagnostic::new(text).help("stop this run and start it again, or undo that");
            return Err(Refusal::Plan(Arc::new(error.into())));
        }
        plan_version
            .program
            .share_as(&self.directives.borrow().plan_version.program);
        self.begin_reset(self.now() + AHEAD, Cause::PlanVersion);
        self.live_report.settings_changed();
        self.tell(|directive| {
            directive.plan_version = plan_version;
            // Shards that had nothing left to do may have something now.
            directive.version += 1;
        });
        Ok(())
    }

    /// Takes over the moment at which shards were told that the measurement under way begins.
    pub(crate) fn measured_as(&mut self, measurement: Measurement) {
        if let (Some(under_way), Begins::At(at)) = (&mut self.reset.under_way, measurement.begins)
            && under_way.epoch == measurement.epoch
        {
            under_way.at = at;
        }
    }

    /// Prepares a stop. A measurement that was asked for begins now, or it never would; one that the timetable was to
    /// begin later is called off.
    pub(crate) fn reset_before_stop(&mut self) {
        let now = self.now();
        self.reset.again = None;
        if let Some(due) = self.reset.due.take() {
            self.reset.called_off = self.directives.borrow().clock.moment(due);
            let measurement = self.reset.measurement();
            self.tell(|directive| directive.measurement = measurement);
        }
        if let Some(under_way) = self.reset.under_way.as_mut().filter(|ahead| ahead.at > now) {
            under_way.at = now;
            let measurement = self.reset.measurement();
            self.tell(|directive| directive.measurement = measurement);
        }
    }

    /// Tells the shards when the next measurement begins. While one is beginning, another waits for it.
    fn begin_reset(&mut self, at: Duration, cause: Cause) {
        if self.is_stopping() {
            return;
        }
        if self.reset.under_way.is_some() {
            self.reset.again = Some(cause);
            return;
        }
        self.reset.begin(at, cause);
        let measurement = self.reset.measurement();
        self.tell(|directive| directive.measurement = measurement);
    }

    /// Adds what a participant delivered; its part that belongs to the next measurement waits until all have come so
    /// far.
    pub(crate) fn merge(&mut self, from: usize, mut delivery: Delivery) {
        let next = self.reset.epoch + 1;
        let reached = delivery.reached_by(from, next);
        let later = delivery.split_off(next);
        if (!reached.is_empty() || later.is_some()) && self.reset.under_way.is_none() {
            // The shard was faster than the timer here, or than the stop that called it off.
            self.reset_at_its_time();
            if let Some(at) = self.reset.called_off.take() {
                let cause = self.reset.cause_due();
                self.reset.begin(at, cause);
            }
        }
        self.reset.later.extend(later.map(|later| (from, later)));
        self.add(from, delivery);
        if let Some(under_way) = &self.reset.under_way {
            for participant in reached {
                self.roster.reached(participant, under_way.epoch);
            }
        }
        self.finish_reset_if_all_reached();
    }

    /// Ends the earlier measurement when all shards that take part have come to the next one.
    pub(crate) fn finish_reset_if_all_reached(&mut self) {
        let under_way = self.reset.under_way.as_ref();
        if under_way.is_some_and(|under_way| self.roster.all_reached(under_way.epoch)) {
            self.finish_reset();
        }
    }

    fn finish_reset(&mut self) {
        let Some(under_way) = self.reset.under_way.take() else {
            return;
        };
        let now = under_way.at;
        match under_way.cause {
            Cause::Warmup => {
                let report = self.store.report(now);
                // Only the figures that count are joined with those of other parts.
                self.reset.warmup = Some(Report {
                    part: None,
                    ..report
                });
            }
            Cause::PlanVersion | Cause::Asked => self.keep_version(now),
            Cause::Started => {}
        }
        self.reset.epoch = under_way.epoch;
        self.live_report.figures_changed();
        self.store.reset(now, under_way.epoch);
        let (kind, text) = match under_way.cause {
            Cause::Warmup => (EventKind::Reset, "the warm-up ended"),
            Cause::Started => (EventKind::Reset, "all users had started"),
            Cause::Asked => (EventKind::Reset, "the figures were reset on request"),
            Cause::PlanVersion => (EventKind::Reload, "users switched to the edited plan"),
        };
        self.store.happened(now, kind, text);
        if under_way.cause == Cause::PlanVersion {
            let plan_version = self.directives.borrow().plan_version.clone();
            self.store.order_by(plan_version.order());
            self.store.judge_by(plan_version.config.thresholds.clone());
        }
        if self.reset.due.is_some() {
            self.store.hold_judgement();
        }
        let measurement = self.reset.measurement();
        if measurement.begins != Begins::WithTheRun {
            self.tell(|directive| directive.measurement = measurement);
        }
        for (from, delivery) in std::mem::take(&mut self.reset.later) {
            self.add(from, delivery);
        }
        if let Some(cause) = self.reset.again.take() {
            self.begin_reset(self.now() + AHEAD, cause);
        }
    }

    /// Keeps the report of the measurement that ends here, without what would make it large.
    fn keep_version(&mut self, now: Duration) {
        let mut report = self.store.report(now);
        report.part = None;
        for row in &mut report.requests {
            row.series = NameSeries::default();
        }
        for label in &mut report.by_label {
            label.series.clear();
        }
        if self.reset.earlier.len() == MOST_EARLIER {
            self.reset.earlier.remove(0);
            let warning = format!(
                "the figures were reset so often that only those before the last {MOST_EARLIER} resets are kept"
            );
            self.store.warn(warning);
        }
        self.reset.earlier.push(report);
    }

    fn add(&mut self, from: usize, delivery: Delivery) {
        match delivery {
            Delivery::Shard(delta) => {
                let emptied = self.store.merge(*delta);
                self.emptied.push(emptied);
            }
            Delivery::Worker { delta, .. } => self.store.merge_worker(from, &delta),
            Delivery::Gathered { delta, .. } => self.store.merge_gathered(&delta),
        }
    }

    /// Returns the report of the run, with that of its warm-up.
    pub(crate) fn report(&mut self, elapsed: Duration) -> Report {
        // Shards that ended without coming to this measurement have nothing to add.
        if !self.reset.later.is_empty() {
            self.finish_reset();
        }
        let mut report = self.store.report(elapsed);
        report.warmup = self.reset.warmup.take().map(Box::new);
        report.earlier = std::mem::take(&mut self.reset.earlier);
        report
    }
}
