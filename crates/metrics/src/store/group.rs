//! Figures of a group of shards: all of a run, or those of the workers with one label. Driven by the store; knows
//! neither workers nor readers of the figures.

use super::judging::{self, Verdicts};
use super::measured::MeasuredFigures;
use super::reporting;
use super::time::MeasuredTime;
use super::warnings::Warnings;
use crate::delta::{Covered, Delta};
use crate::latencies::nanoseconds;
use crate::over_time::{ByName, EventKind, EventLog, Silence, Silences, least_silence};
use crate::report::{Detail, Report, RunIdentity};
use crate::thresholds::{FigureView, Judges};
use lgoose_base::units::counted;
use std::ops::Range;
use std::time::Duration;

/// Figures of a group of shards, with the verdicts on them.
#[derive(Debug)]
pub(super) struct ShardGroup {
    pub(super) identity: RunIdentity,
    pub(super) time: MeasuredTime,
    pub(super) measured: MeasuredFigures,
    pub(super) events: EventLog,
    pub(super) warnings: Warnings,
    pub(super) judges: Judges,
    silences: Silences,
}

impl ShardGroup {
    pub(super) fn new(identity: RunIdentity) -> Self {
        ShardGroup {
            identity,
            time: MeasuredTime::default(),
            measured: MeasuredFigures::new(),
            events: EventLog::default(),
            warnings: Warnings::default(),
            judges: Judges::default(),
            silences: Silences::default(),
        }
    }

    /// Makes the group of a label at this moment of the run: it has no shards yet, and no series of single names.
    pub(super) fn of_label(&self, label: &str) -> ShardGroup {
        let mut group = ShardGroup::new(self.identity.clone());
        group.judges = self.judges.of_label(label);
        group.measured.requests.series_by_name = ByName::nothing();
        group.time = self.time.without_shards();
        group
    }

    /// Notes that a shard will hand over nothing more: no second waits for it.
    pub(super) fn lose(&mut self, shard: usize) {
        self.time.cover(shard, Covered::Whole);
        self.time.undecided(shard, None);
        self.silences.stands(shard, None);
        self.measured.scenarios.lose(shard);
        self.measured.generator.lose(shard);
    }

    /// Notes that a shard that counted as lost hands over again.
    pub(super) fn find(&mut self, shard: usize) {
        self.time.uncover(shard);
        self.measured.scenarios.find(shard);
    }

    /// Adds figures of shards, except for those of an earlier measurement.
    pub(super) fn merge(&mut self, delta: &Delta) {
        for slice in delta.slices_from(self.time.epoch()) {
            self.measured
                .merge(delta.shard(), slice, &mut self.warnings);
            self.judges.gather(slice);
            for (shard, quiet) in &slice.quiet {
                self.silences.add(*shard, *quiet);
            }
        }
        for ((covered, shard), handover) in &delta.handovers {
            let shard = *shard as usize;
            self.measured
                .merge_effort(shard, *covered, &handover.effort, &self.time);
            self.silences.stands(shard, handover.quiet);
            self.time.cover(shard, *covered);
            self.time.undecided(shard, handover.undecided);
        }
    }

    /// Ends a tick at `now` since the start of the run.
    pub(super) fn advance(&mut self, now: Duration) {
        self.time.advance(now);
        self.measured.tick(now);
        self.close();
    }

    /// Closes the seconds that are over at `elapsed` since the start of the run.
    pub(super) fn close_at(&mut self, elapsed: Duration) {
        self.time.advance(elapsed);
        self.close();
    }

    /// Closes the seconds of which everything is known, and examines them.
    fn close(&mut self) {
        self.measured.close(&self.time);
        self.record_silences();
        let mut judges = std::mem::take(&mut self.judges);
        self.with_view(self.time.complete_of_measurement_ns(), |view| {
            judges.look(view)
        });
        self.judges = judges;
    }

    /// Forgets everything counted so far, except users at work, names and warnings. Figures cover the time from `now`
    /// on, which is measurement number `epoch`.
    pub(super) fn reset(&mut self, now: Duration, epoch: u64) {
        self.time.restart(now, epoch);
        self.measured.reset(now);
        self.events = EventLog::default();
        self.silences.forget_reported();
        self.judges.reset();
    }

    /// Ends a pause, which becomes an event of that text.
    pub(super) fn end_pause(&mut self, at: Duration, text: &str) {
        if let Some((since, lasted)) = self.time.resume(at) {
            self.events
                .add(since, Some(lasted), EventKind::Pause, text.to_owned());
        }
    }

    /// Notes that the load goes down from that time since the start of the run: nothing that follows breaks a
    /// stretch or stops the run.
    pub(super) fn load_ended(&mut self, at: Duration) {
        self.judges.end(self.of_measurement(at));
    }

    /// Returns a time since the start of the run as nanoseconds since the measurement began.
    fn of_measurement(&self, elapsed: Duration) -> u64 {
        nanoseconds(elapsed).saturating_sub(self.time.origin_ns())
    }

    /// Builds a report up to `elapsed` since the start of the run, without a verdict.
    pub(super) fn build(&mut self, elapsed: Duration, detail: Detail) -> Report {
        let silent = self.silence_warning();
        reporting::build(self, elapsed, detail, silent)
    }

    /// Returns the verdicts up to `elapsed` since the start of the run; `labels` are those of the run's workers, if it
    /// has workers.
    pub(super) fn verdicts(&self, elapsed: Duration, labels: Option<&[String]>) -> Verdicts {
        let until = self.of_measurement(elapsed);
        let (rows, unjudged) = self.with_view(until, |view| self.judges.verdicts(view));
        let warnings = unjudged
            .into_iter()
            .filter_map(|unjudged| judging::warning(&self.measured, &unjudged, until, labels));
        let warnings = self
            .judges
            .ambiguities(labels.unwrap_or_default())
            .chain(warnings)
            .collect();
        Verdicts { rows, warnings }
    }

    fn with_view<T>(&self, until: u64, see: impl FnOnce(&FigureView<'_>) -> T) -> T {
        let lasted = |from, to| self.time.lasted(from, to);
        see(&FigureView {
            until,
            decided: self.time.decided_of_measurement_ns().min(until),
            whole: &|selector, threshold| judging::figures(&self.measured, selector, threshold),
            lasted: &lasted,
            scenarios: &|selector| judging::scenarios(&self.measured, selector),
            silences: &self.silences(),
        })
    }

    /// Enters the silences that are over as events.
    fn record_silences(&mut self) {
        let least = self.least_silence();
        let origin = self.time.origin_ns();
        let users = self.measured.scenarios.users.peak().max(1);
        for mut silence in self.silences.over(self.time.covered_ns(), least) {
            // A user may wait for several requests at once.
            silence.waiting = silence.waiting.min(users);
            silence.from = silence.from.max(origin);
            if silence.to <= silence.from || silence.length() < least {
                continue;
            }
            self.silences.report(silence);
            let text = format!(
                "no answer for {:.1} s while {} waited",
                silence.length() as f64 / 1e9,
                counted(silence.waiting, "user")
            );
            let length = Some(silence.length());
            self.events
                .add(silence.from, length, EventKind::Silence, text);
        }
    }

    fn least_silence(&self) -> u64 {
        let total = &self.measured.requests.total;
        let [median] = total.exact().quantiles(&total.all, [0.5]);
        least_silence(median)
    }

    /// Returns all silences so far, the one that goes on included, in nanoseconds since the measurement began.
    fn silences(&self) -> Vec<Silence> {
        let origin = self.time.origin_ns();
        let going_on = self
            .silences
            .going_on(self.time.covered_ns())
            .filter(|silence| {
                silence.to.saturating_sub(silence.from.max(origin)) >= self.least_silence()
            });
        let all = self.silences.reported().chain(going_on);
        all.map(|silence| Silence {
            from: silence.from.saturating_sub(origin),
            to: silence.to.saturating_sub(origin),
            ..silence
        })
        .collect()
    }

    /// Returns a warning about the percentiles if no response came for long.
    fn silence_warning(&self) -> Option<String> {
        let silences = self.silences();
        let longest = silences.iter().max_by_key(|silence| silence.length())?;
        let first = silences.iter().map(|silence| silence.from).min()?;
        let seconds = |ns: u64| ns as f64 / 1e9;
        let (of, at) = match silences.len() {
            1 => ("of", "at"),
            _ => ("of up to", "first at"),
        };
        Some(format!(
            "{} {of} {:.1} s ({at} {:.1} s, while {} waited): users who wait for a response ask for nothing, so percentiles \
             show little of it",
            counted(silences.len() as u64, "silence"),
            seconds(longest.length()),
            seconds(first),
            counted(longest.waiting, "user"),
        ))
    }

    /// Expects these shards to hand over from now on. New ones with lower numbers are not expected to.
    pub(super) fn expect_of(&mut self, shards: Range<usize>) {
        self.time.expect_of(shards);
    }
}
