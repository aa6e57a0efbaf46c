//! Deltas: what one shard measured since its last tick, the unit in which metrics travel.
//!
//! Filled by a [`Recorder`](super::Recorder), merged and emptied by the [`Store`](super::Store), then handed
//! back so that a tick reuses its memory. It consists of slices, each within one second of a measurement, so that
//! everything counts in the second in which it happened. Rows carry their names, so a delta explains itself.

use super::arrivals::ArrivalDelta;
use super::axis::AxisSpan;
use super::counted::Counted;
use super::exemplars::Exemplars;
use super::generator::Effort;
use super::latency::{Burst, ExactFigures};
use super::load_counts::LoadCounts;
use super::measures::MeasureDelta;
use super::names::GroupedName;
use super::plausible;
use super::request::RequestDelta;
use super::sample::{RequestId, SampleFailure};
use super::under_way::{QuietTime, WaitingRequests};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The most distinct errors kept, here and in the store; further ones are only counted.
pub(super) const MAX_ERRORS: usize = 100;

/// Everything one shard measured within one tick. `Send`, opaque, reusable.
#[derive(Debug, Default)]
pub struct Delta {
    pub(super) shard: usize,
    /// Slices in order of time; the last one is still open, unless the shard has ended.
    pub(super) slices: Vec<SliceDelta>,
    pub(super) warnings: Vec<String>,
    pub(super) effort: Effort,
    /// How far everything was handed over.
    pub(super) covered: Covered,
    /// The time without a response up to that moment, however short.
    pub(super) quiet: Option<QuietTime>,
    /// When the first request ended whose verdict the plan may still change, in nanoseconds since the run began.
    pub(super) undecided: Option<u64>,
}

impl Delta {
    pub(super) fn new(shard: usize) -> Self {
        Delta {
            shard,
            ..Delta::default()
        }
    }

    /// Returns the number of the shard that measured it.
    pub fn shard(&self) -> usize {
        self.shard
    }

    /// Returns whether the delta holds nothing at all.
    pub fn is_empty(&self) -> bool {
        self.slices.iter().all(SliceDelta::is_empty) && self.warnings.is_empty()
    }

    /// Returns whether the delta knows of measurement number `epoch` or a later one.
    pub fn reaches(&self, epoch: u64) -> bool {
        self.slices.iter().any(|slice| slice.span.epoch >= epoch)
    }

    /// Returns the number of the latest measurement that the delta knows of.
    pub fn epoch(&self) -> u64 {
        let epochs = self.slices.iter().map(|slice| slice.span.epoch);
        epochs.max().unwrap_or(0)
    }

    /// Empties the delta and keeps its rows and memory, for [`Recorder::recycle`](super::Recorder::recycle).
    pub fn clear(&mut self) {
        for slice in &mut self.slices {
            slice.clear();
        }
        self.warnings.clear();
        self.effort = Effort::default();
    }

    /// Splits off everything that belongs to measurement number `epoch` or a later one.
    pub fn split_off(&mut self, epoch: u64) -> Delta {
        let later = self
            .slices
            .iter()
            .position(|slice| slice.span.epoch >= epoch);
        let at = later.unwrap_or(self.slices.len());
        Delta {
            slices: self.slices.split_off(at),
            covered: self.covered,
            quiet: self.quiet,
            undecided: self.undecided,
            ..Delta::new(self.shard)
        }
    }
}

/// The longest time, in nanoseconds, for which the verdict on a request keeps the interval in which the request ended from
/// being judged.
pub(super) const UNDECIDED: u64 = 10_000_000_000;

/// How far a shard has handed over what it measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub(super) enum Covered {
    /// Up to that moment, in nanoseconds since the run began.
    Until(u64),
    /// Completely: it has ended, or nothing more is expected of it.
    Whole,
}

impl Default for Covered {
    fn default() -> Self {
        Covered::Until(0)
    }
}

impl Covered {
    /// Returns the moment up to which everything is known at `now`; both are nanoseconds since the run began.
    pub(super) fn at(self, now: u64) -> u64 {
        match self {
            Covered::Until(moment) => moment.min(now),
            Covered::Whole => now,
        }
    }

    /// Converts the moment to a clock that began `by` nanoseconds later.
    pub(super) fn earlier(self, by: u64) -> Covered {
        match self {
            Covered::Until(moment) => Covered::Until(moment.saturating_sub(by)),
            Covered::Whole => Covered::Whole,
        }
    }
}

// Sent as one number, whose greatest value is no moment of a run.
impl From<u64> for Covered {
    fn from(number: u64) -> Covered {
        match number {
            u64::MAX => Covered::Whole,
            moment => Covered::Until(moment),
        }
    }
}

impl From<Covered> for u64 {
    fn from(covered: Covered) -> u64 {
        match covered {
            Covered::Until(moment) => moment,
            Covered::Whole => u64::MAX,
        }
    }
}

/// Figures and the name that they are of.
#[derive(Debug)]
pub(super) struct NamedRow<T> {
    pub(super) label: Arc<GroupedName>,
    pub(super) figures: T,
}

impl<T: Default> NamedRow<T> {
    pub(super) fn new(label: Arc<GroupedName>) -> Self {
        NamedRow {
            label,
            figures: T::default(),
        }
    }
}

/// State of a shard at the end of a slice that is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SliceBorder {
    /// Users at work.
    #[serde(deserialize_with = "plausible::count")]
    pub(super) users: u64,
    /// Requests under way.
    #[serde(deserialize_with = "plausible::count")]
    pub(super) under_way: u64,
    /// Age of the oldest of them, in nanoseconds.
    pub(super) oldest: u64,
}

impl SliceBorder {
    /// Returns the state of both shards together.
    pub(super) fn beside(&self, other: &SliceBorder) -> SliceBorder {
        SliceBorder {
            users: self.users + other.users,
            under_way: self.under_way + other.under_way,
            oldest: self.oldest.max(other.oldest),
        }
    }
}

/// Everything one shard measured within one slice of time, or a part of it.
#[derive(Debug, Default)]
pub(super) struct SliceDelta {
    pub(super) span: AxisSpan,
    pub(super) requests: Vec<NamedRow<RequestDelta>>,
    pub(super) tasks: Vec<NamedRow<TaskDelta>>,
    pub(super) scenarios: Vec<ScenarioDelta>,
    pub(super) measures: Vec<MeasureDelta>,
    pub(super) arrivals: ArrivalDelta,
    /// Cadences of the cycles that were late.
    pub(super) late: ExactFigures,
    pub(super) errors: Vec<ErrorDelta>,
    pub(super) errors_left_out: i64,
    /// Requests that have waited for long at the end of the slice, until they are counted in their rows.
    pub(super) waiting: Vec<(RequestId, WaitingRequests)>,
    /// Long times without a response that ended in the slice.
    pub(super) quiet: Vec<QuietTime>,
    /// State at the end of the slice; `None` while more of it may come.
    pub(super) border: Option<SliceBorder>,
}

impl SliceDelta {
    pub(super) fn is_empty(&self) -> bool {
        self.requests.iter().all(|row| row.figures.is_empty())
            && self.tasks.iter().all(|row| row.figures.is_empty())
            && self.errors.is_empty()
            && self.errors_left_out == 0
            && self.late.count == 0
            && self.scenarios.iter().all(|row| row.is_empty())
            && self.measures.iter().all(|row| row.measure.is_empty())
            && self.arrivals.is_empty()
            && self.quiet.is_empty()
            && self.border.is_none()
    }

    /// Makes a row for every name; `labels` are all that the shard knows.
    pub(super) fn cover_requests(&mut self, labels: &[Arc<GroupedName>]) {
        for label in &labels[self.requests.len()..] {
            self.requests.push(NamedRow::new(label.clone()));
        }
    }

    /// Makes a row for every task; `labels` are all that the shard knows.
    pub(super) fn cover_tasks(&mut self, labels: &[Arc<GroupedName>]) {
        for label in &labels[self.tasks.len()..] {
            self.tasks.push(NamedRow::new(label.clone()));
        }
    }

    /// Counts a failure by its source, message and line, or takes one back, and returns its row if it is among
    /// those that are kept. Equal ones are found by scanning: there are few.
    pub(super) fn fail(
        &mut self,
        source: ShardErrorOrigin,
        failure: &SampleFailure<'_>,
        count: i64,
    ) -> Option<&mut ErrorDelta> {
        let existing = self.errors.iter().position(|error| {
            error.source == source
                && error.message == failure.message
                && error.line.as_deref() == failure.line
        });
        let at = match existing {
            Some(at) => at,
            None if self.errors.len() < MAX_ERRORS => {
                self.errors.push(ErrorDelta {
                    source,
                    message: failure.message.to_owned(),
                    line: failure.line.map(str::to_owned),
                    count: 0,
                    exemplars: Exemplars::default(),
                });
                self.errors.len() - 1
            }
            None => {
                self.errors_left_out += count;
                return None;
            }
        };
        let error = &mut self.errors[at];
        error.count += count;
        Some(error)
    }

    /// Returns the row of a scenario, and makes it if it is new.
    pub(super) fn scenario(&mut self, name: &str) -> &mut ScenarioDelta {
        let at = self.scenarios.iter().position(|row| &*row.name == name);
        let at = at.unwrap_or_else(|| {
            self.scenarios.push(ScenarioDelta::new(name));
            self.scenarios.len() - 1
        });
        &mut self.scenarios[at]
    }

    /// Clears the counters and keeps rows and memory.
    pub(super) fn clear(&mut self) {
        let requests = self.requests.iter_mut();
        for row in requests.filter(|row| !row.figures.is_empty()) {
            row.figures.clear();
        }
        self.late = ExactFigures::default();
        for row in &mut self.tasks {
            row.figures.clear();
        }
        for row in &mut self.scenarios {
            (row.iterations, row.change, row.rise) = (0, 0, 0);
            row.load = LoadCounts::default();
        }
        for row in &mut self.measures {
            row.measure.clear();
        }
        self.arrivals.clear();
        self.errors.clear();
        self.errors_left_out = 0;
        self.waiting.clear();
        self.quiet.clear();
        self.border = None;
    }
}

/// One task or transaction within one slice; `L` is the form of the latencies, as in [`RequestDelta`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskDelta<L = Burst> {
    pub(super) ok: ExactFigures,
    pub(super) failed: ExactFigures,
    pub(super) all: L,
}

impl<L> TaskDelta<L> {
    pub(super) fn is_empty(&self) -> bool {
        self.ok.count + self.failed.count == 0
    }

    /// Returns the same figures with latencies in another form.
    pub(super) fn map<M>(&self, form: impl Fn(&L) -> M) -> TaskDelta<M> {
        TaskDelta {
            ok: self.ok,
            failed: self.failed,
            all: form(&self.all),
        }
    }
}

impl TaskDelta<Counted> {
    pub(super) fn merge(&mut self, other: &Self) {
        self.ok = self.ok.merged(&other.ok);
        self.failed = self.failed.merged(&other.failed);
        self.all.merge(&other.all);
    }
}

impl TaskDelta {
    /// Clears the counters and keeps their memory.
    fn clear(&mut self) {
        self.ok = ExactFigures::default();
        self.failed = ExactFigures::default();
        self.all.clear();
    }
}

/// One scenario within one slice.
#[derive(Debug)]
pub(super) struct ScenarioDelta {
    pub(super) name: Arc<str>,
    pub(super) iterations: u64,
    /// Users started minus users stopped.
    pub(super) change: i64,
    /// The highest value of `change` within the slice.
    pub(super) rise: i64,
    pub(super) load: LoadCounts,
}

impl ScenarioDelta {
    fn new(name: &str) -> Self {
        ScenarioDelta {
            name: name.into(),
            iterations: 0,
            change: 0,
            rise: 0,
            load: LoadCounts::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        (self.iterations, self.change, self.rise) == (0, 0, 0) && self.load == LoadCounts::default()
    }
}

/// Origin of an error, by the shard's own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShardErrorOrigin {
    Request(u32),
    Task(u32),
}

/// Equal errors within one slice, counted together.
#[derive(Debug)]
pub(super) struct ErrorDelta {
    pub(super) source: ShardErrorOrigin,
    pub(super) message: String,
    pub(super) line: Option<String>,
    /// How many; negative where a verdict was taken back.
    pub(super) count: i64,
    /// Exemplars of failed requests, or of the latest requests of tasks that failed.
    pub(super) exemplars: Exemplars,
}
