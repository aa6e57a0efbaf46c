//! Measurements of a run, one after another: the figures are reset after `--warmup`, when all users have started, when
//! a view requests it, or when the plan is reloaded. The directive sets the moment for every shard, which counts requests
//! that ended before it separately from those after it; when all have come so far, the earlier measurement is over. Driven
//! by the director.

use crate::load_model::timetable::Timetable;
use crate::messages::directive::{Directive, Measurement, MeasurementStart};
use crate::run::roster::Roster;
use lgoose_metrics::control::Refusal;
use lgoose_metrics::{Delivery, Delta, EventKind, NameSeries, Report, Store};
use lgoose_plan::config::RunConfig;
use std::time::Duration;
use tokio::sync::watch;

/// Time from the request of a reset to the reset, so that shards know of it in time.
const AHEAD: Duration = Duration::from_millis(50);

/// Measurements of a run: the one under way, and the one that is to follow it.
pub(crate) struct Measurements {
    /// The directive, which announces the next measurement to shards.
    directives: watch::Sender<Directive>,
    /// Time of the reset by the timetable.
    due: Option<Duration>,
    /// Whether that is the end of the warm-up.
    warmup_due: bool,
    /// The measurement that is beginning, while the store still has the one before.
    under_way: Option<PendingMeasurement>,
    /// The reset that follows the one under way.
    again: Option<ResetCause>,
    /// Beginning of the measurement that a stop called off.
    called_off: Option<Duration>,
    /// Whether the run is on its way to its end, and no other measurement begins.
    closed: bool,
    epoch: u64,
    /// Deltas of the next measurement and who delivered them, kept until all shards have come so far.
    later: Vec<(usize, Delivery)>,
    /// Merged deltas to give back to their shards.
    emptied: Vec<Delta>,
    warmup: Option<Report>,
    earlier: Vec<Report>,
}

/// A measurement that has not begun on every shard.
#[derive(Debug)]
struct PendingMeasurement {
    epoch: u64,
    /// Beginning of the measurement, since the run began.
    at: Duration,
    cause: ResetCause,
}

/// Causes of a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResetCause {
    /// End of the warm-up: the earlier figures are kept as a report of their own.
    Warmup,
    /// Another version of the plan: the earlier figures are kept as a report of their own.
    PlanVersion,
    /// All users have started; the earlier figures are dropped.
    Started,
    /// A request of a view; the earlier figures are kept, as with another version of the plan.
    Requested,
}

/// The most reports of earlier measurements that are kept; the oldest are dropped.
const MAX_EARLIER_REPORTS: usize = 20;

impl Measurements {
    /// Makes the measurements of a run with that timetable, and announces the first reset to its shards.
    pub(crate) fn new(
        config: &RunConfig,
        timetable: &Timetable,
        directives: watch::Sender<Directive>,
    ) -> Measurements {
        let all_running = || timetable.all_running_at().filter(|_| config.reset_stats);
        let measurements = Measurements {
            directives,
            due: config.warmup.or_else(all_running),
            warmup_due: config.warmup.is_some(),
            under_way: None,
            again: None,
            called_off: None,
            closed: false,
            epoch: 0,
            later: Vec::new(),
            emptied: Vec::new(),
            warmup: None,
            earlier: Vec::new(),
        };
        measurements.publish();
        measurements
    }

    /// Returns when the figures are reset by the timetable, if that is to come.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Returns when the warm-up ends by the timetable, if it has not.
    pub(crate) fn warmup_due(&self) -> Option<Duration> {
        self.due.filter(|_| self.warmup_due)
    }

    /// Returns the cause of the reset by the timetable.
    fn cause_due(&self) -> ResetCause {
        if self.warmup_due {
            ResetCause::Warmup
        } else {
            ResetCause::Started
        }
    }

    fn start(&mut self, at: Duration, cause: ResetCause) {
        self.under_way = Some(PendingMeasurement {
            epoch: self.epoch + 1,
            at,
            cause,
        });
    }

    /// Returns the measurement for the directive.
    fn measurement(&self) -> Measurement {
        match (&self.under_way, self.due) {
            (Some(under_way), _) => Measurement {
                epoch: under_way.epoch,
                start: MeasurementStart::At(under_way.at),
            },
            (None, Some(due)) => Measurement {
                epoch: self.epoch + 1,
                start: MeasurementStart::On(due),
            },
            (None, None) => Measurement {
                epoch: self.epoch,
                start: MeasurementStart::WithTheRun,
            },
        }
    }

    /// Announces the beginning of the next measurement to the shards.
    fn publish(&self) {
        let measurement = self.measurement();
        self.directives
            .send_modify(|directive| directive.measurement = measurement);
    }

    /// Resets the figures when the moment of `--warmup` or `--reset-stats` has come.
    pub(crate) fn reset_at_its_time(&mut self) {
        let clock = self.directives.borrow().clock;
        let Some(at) = self.due.and_then(|due| clock.moment(due)) else {
            return;
        };
        self.due = None;
        self.schedule(at, self.cause_due());
    }

    /// Resets the figures if that moment has come, before the clock is changed.
    pub(crate) fn reset_if_due(&mut self, now: Duration) {
        let clock = self.directives.borrow().clock;
        let at = self.due.and_then(|due| clock.moment(due));
        if at.is_some_and(|at| at <= now) {
            self.reset_at_its_time();
        }
    }

    /// Resets the figures at the request of a view. Does nothing while a reset is under way.
    pub(crate) fn reset_on_request(&mut self, now: Duration) -> Result<(), Refusal> {
        if self.under_way.is_some() {
            return Err(Refusal::Resetting);
        }
        self.schedule(now + AHEAD, ResetCause::Requested);
        Ok(())
    }

    /// Resets the figures because users take another version of the plan.
    pub(crate) fn reset_with_plan(&mut self, now: Duration) {
        self.schedule(now + AHEAD, ResetCause::PlanVersion);
    }

    /// Takes over the announced beginning of the measurement under way.
    pub(crate) fn set_start(&mut self, measurement: Measurement) {
        if let (Some(under_way), MeasurementStart::At(at)) =
            (&mut self.under_way, measurement.start)
            && under_way.epoch == measurement.epoch
        {
            under_way.at = at;
        }
    }

    /// Prepares a stop. A measurement that was requested begins now, or it never would; one that the timetable was to
    /// begin later is called off.
    pub(crate) fn prepare_stop(&mut self, now: Duration) {
        self.again = None;
        if let Some(due) = self.due.take() {
            self.called_off = self.directives.borrow().clock.moment(due);
            self.publish();
        }
        if let Some(under_way) = self.under_way.as_mut().filter(|ahead| ahead.at > now) {
            under_way.at = now;
            self.publish();
        }
    }

    /// Begins no other measurement from now on.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// Begins another measurement at that time. While one is beginning, another waits for it.
    fn schedule(&mut self, at: Duration, cause: ResetCause) {
        if self.closed {
            return;
        }
        if self.under_way.is_some() {
            self.again = Some(cause);
            return;
        }
        self.start(at, cause);
        self.publish();
    }

    /// Adds a participant's figures; those that belong to the next measurement wait until all have come so far.
    pub(crate) fn merge(
        &mut self,
        from: usize,
        mut delivery: Delivery,
        roster: &mut Roster,
        store: &mut Store,
    ) {
        let next = self.epoch + 1;
        let reached = delivery.reached_by(from, next);
        let later = delivery.split_off(next);
        if (!reached.is_empty() || later.is_some()) && self.under_way.is_none() {
            // The shard was faster than the timer here, or than the stop that called it off.
            self.reset_at_its_time();
            if let Some(at) = self.called_off.take() {
                self.start(at, self.cause_due());
            }
        }
        self.later.extend(later.map(|later| (from, later)));
        self.add(from, delivery, store);
        if let Some(under_way) = &self.under_way {
            for participant in reached {
                roster.reached(participant, under_way.epoch);
            }
        }
    }

    /// Ends the earlier measurement when all shards that take part have come to the next one, and returns whether they
    /// have.
    pub(crate) fn finish_if_all_reached(
        &mut self,
        roster: &Roster,
        store: &mut Store,
        now: Duration,
    ) -> bool {
        let under_way = self.under_way.as_ref();
        let all_reached = under_way.is_some_and(|under_way| roster.all_reached(under_way.epoch));
        if all_reached {
            self.finish(store, now);
        }
        all_reached
    }

    fn finish(&mut self, store: &mut Store, now: Duration) {
        let Some(under_way) = self.under_way.take() else {
            return;
        };
        let at = under_way.at;
        match under_way.cause {
            ResetCause::Warmup => {
                let report = store.report(at);
                // Only the figures that count are joined with those of other parts.
                self.warmup = Some(Report {
                    part: None,
                    ..report
                });
            }
            ResetCause::PlanVersion | ResetCause::Requested => self.retain_report(at, store),
            ResetCause::Started => {}
        }
        self.epoch = under_way.epoch;
        store.reset(at, under_way.epoch);
        let (kind, text) = match under_way.cause {
            ResetCause::Warmup => (EventKind::Reset, "the warm-up ended"),
            ResetCause::Started => (EventKind::Reset, "all users had started"),
            ResetCause::Requested => (EventKind::Reset, "the figures were reset on request"),
            ResetCause::PlanVersion => (EventKind::Reload, "users switched to the edited plan"),
        };
        store.happened(at, kind, text);
        if under_way.cause == ResetCause::PlanVersion {
            let plan_version = self.directives.borrow().plan_version.clone();
            store.order_by(plan_version.order());
            store.declare_counters(&plan_version.plan.counters);
            store.judge_by(plan_version.config.thresholds.clone());
        }
        if self.due.is_some() {
            store.hold_judgement();
        }
        if self.measurement().start != MeasurementStart::WithTheRun {
            self.publish();
        }
        for (from, delivery) in std::mem::take(&mut self.later) {
            self.add(from, delivery, store);
        }
        if let Some(cause) = self.again.take() {
            self.schedule(now + AHEAD, cause);
        }
    }

    /// Keeps the report of the measurement that ends here, without its series, which are large.
    fn retain_report(&mut self, at: Duration, store: &mut Store) {
        let mut report = store.report(at);
        report.part = None;
        for row in &mut report.requests {
            row.series = NameSeries::default();
        }
        for label in &mut report.by_label {
            label.series.clear();
        }
        if self.earlier.len() == MAX_EARLIER_REPORTS {
            self.earlier.remove(0);
            let warning = format!(
                "the figures were reset so often that only those before the last {MAX_EARLIER_REPORTS} resets are kept"
            );
            store.warn(warning);
        }
        self.earlier.push(report);
    }

    fn add(&mut self, from: usize, delivery: Delivery, store: &mut Store) {
        let delta = match delivery {
            Delivery::Shard(delta) => *delta,
            Delivery::Worker { delta, .. } => delta.of_worker(from),
            Delivery::Gathered { delta, .. } => (*delta).into(),
        };
        self.emptied.push(store.merge(delta));
    }

    /// Takes out the merged deltas, to give them back to their shards.
    pub(crate) fn take_emptied(&mut self) -> impl Iterator<Item = Delta> {
        self.emptied.drain(..)
    }

    /// Ends the measurement before the last one, if that is still under way when the run is over.
    pub(crate) fn conclude(&mut self, store: &mut Store, now: Duration) {
        // Shards that ended without coming to this measurement have nothing to add.
        if !self.later.is_empty() {
            self.finish(store, now);
        }
    }

    /// Returns the report of the run, with that of its warm-up.
    pub(crate) fn report(&mut self, elapsed: Duration, store: &mut Store) -> Report {
        let mut report = store.report(elapsed);
        report.warmup = self.warmup.take().map(Box::new);
        report.earlier = std::mem::take(&mut self.earlier);
        report
    }
}
