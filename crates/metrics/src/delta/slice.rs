//! Slice of a delta: everything that shards measured within one slice of time. Rows carry their names, so a slice
//! explains itself.

use super::arrivals::ArrivalDelta;
use super::load_counts::LoadCounts;
use super::plausible;
use super::request::RequestDelta;
use crate::exemplars::Exemplars;
use crate::latencies::{Burst, Counted, ExactFigures};
use crate::measures::MeasureDelta;
use crate::record::{AxisSpan, GroupedName, QuietTime, RequestId, SampleFailure, WaitingRequests};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The most distinct errors kept, here and in the store; further ones are only counted.
pub(crate) const MAX_ERRORS: usize = 100;

/// Figures and the name that they are of.
#[derive(Debug)]
pub(crate) struct NamedRow<T> {
    pub(crate) label: Arc<GroupedName>,
    pub(crate) figures: T,
}

impl<T: Default> NamedRow<T> {
    pub(crate) fn new(label: Arc<GroupedName>) -> Self {
        NamedRow {
            label,
            figures: T::default(),
        }
    }
}

/// State of a shard at the end of a slice that is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SliceBorder {
    /// Users at work.
    #[serde(deserialize_with = "plausible::count")]
    pub(crate) users: u64,
    /// Requests under way.
    #[serde(deserialize_with = "plausible::count")]
    pub(crate) under_way: u64,
    /// Age of the oldest of them, in nanoseconds.
    pub(crate) oldest: u64,
}

impl SliceBorder {
    /// Returns the state of both shards together.
    pub(crate) fn beside(&self, other: &SliceBorder) -> SliceBorder {
        SliceBorder {
            users: self.users + other.users,
            under_way: self.under_way + other.under_way,
            oldest: self.oldest.max(other.oldest),
        }
    }
}

/// Everything that shards measured within one slice of time, or a part of it.
#[derive(Debug, Default)]
pub(crate) struct SliceDelta {
    pub(crate) span: AxisSpan,
    pub(crate) requests: Vec<NamedRow<RequestDelta>>,
    pub(crate) tasks: Vec<NamedRow<TaskDelta>>,
    pub(crate) scenarios: Vec<ScenarioDelta>,
    pub(crate) measures: Vec<MeasureDelta>,
    pub(crate) arrivals: ArrivalDelta,
    /// Cadences of the cycles that were late.
    pub(crate) late: ExactFigures,
    pub(crate) errors: Vec<ErrorDelta>,
    pub(crate) errors_left_out: i64,
    /// Requests that have waited for long at the end of the slice, until they are counted in their rows.
    pub(crate) waiting: Vec<(RequestId, WaitingRequests)>,
    /// Long times without a response that ended in the slice, by shard.
    pub(crate) quiet: Vec<(usize, QuietTime)>,
    /// State at the end of the slice; `None` while more of it may come.
    pub(crate) border: Option<SliceBorder>,
}

impl SliceDelta {
    pub(crate) fn is_empty(&self) -> bool {
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
    pub(crate) fn cover_requests(&mut self, labels: &[Arc<GroupedName>]) {
        for label in &labels[self.requests.len()..] {
            self.requests.push(NamedRow::new(label.clone()));
        }
    }

    /// Makes a row for every task; `labels` are all that the shard knows.
    pub(crate) fn cover_tasks(&mut self, labels: &[Arc<GroupedName>]) {
        for label in &labels[self.tasks.len()..] {
            self.tasks.push(NamedRow::new(label.clone()));
        }
    }

    /// Counts a failure by its source, message and line, or takes one back, and returns its row if it is among
    /// those that are kept. Equal ones are found by scanning: there are few.
    pub(crate) fn fail(
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
                    stack: None,
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

    /// Returns the counts of a scenario on a shard, and makes their row if it is new.
    pub(crate) fn scenario(&mut self, shard: usize, name: &str) -> &mut Population {
        let mut rows = self.scenarios.iter();
        let at = rows.position(|row| row.shard == shard && &*row.name == name);
        let at = at.unwrap_or_else(|| {
            self.scenarios.push(ScenarioDelta {
                shard,
                name: name.into(),
                counts: Population::default(),
            });
            self.scenarios.len() - 1
        });
        &mut self.scenarios[at].counts
    }

    /// Clears the counters and keeps rows and memory.
    pub(crate) fn clear(&mut self) {
        let requests = self.requests.iter_mut();
        for row in requests.filter(|row| !row.figures.is_empty()) {
            row.figures.clear();
        }
        self.late = ExactFigures::default();
        for row in &mut self.tasks {
            row.figures.clear();
        }
        for row in &mut self.scenarios {
            row.counts = Population::default();
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
pub(crate) struct TaskDelta<L = Burst> {
    pub(crate) ok: ExactFigures,
    pub(crate) failed: ExactFigures,
    pub(crate) all: L,
}

impl<L> TaskDelta<L> {
    pub(crate) fn is_empty(&self) -> bool {
        self.ok.count + self.failed.count == 0
    }

    /// Returns the same figures with latencies in another form.
    pub(crate) fn map<M>(&self, form: impl Fn(&L) -> M) -> TaskDelta<M> {
        TaskDelta {
            ok: self.ok,
            failed: self.failed,
            all: form(&self.all),
        }
    }
}

impl TaskDelta<Counted> {
    pub(crate) fn merge(&mut self, other: &Self) {
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

/// One scenario on one shard within one slice.
#[derive(Debug)]
pub(crate) struct ScenarioDelta {
    pub(crate) shard: usize,
    pub(crate) name: Arc<str>,
    pub(crate) counts: Population,
}

impl ScenarioDelta {
    pub(crate) fn is_empty(&self) -> bool {
        self.counts == Population::default()
    }
}

/// Users and iterations of a scenario.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Population {
    #[serde(deserialize_with = "plausible::count")]
    pub(crate) iterations: u64,
    /// Users started minus users stopped.
    #[serde(deserialize_with = "plausible::change")]
    pub(crate) change: i64,
    /// The highest value of `change` within the slice.
    #[serde(deserialize_with = "plausible::change")]
    pub(crate) rise: i64,
    pub(crate) load: LoadCounts,
}

/// Origin of an error, by the shard's own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShardErrorOrigin {
    Request(u32),
    Task(u32),
}

/// Equal errors within one slice, counted together.
#[derive(Debug)]
pub(crate) struct ErrorDelta {
    pub(crate) source: ShardErrorOrigin,
    pub(crate) message: String,
    pub(crate) line: Option<String>,
    /// How many; negative where a verdict was taken back.
    pub(crate) count: i64,
    /// Exemplars of failed requests, or of the latest requests of tasks that failed.
    pub(crate) exemplars: Exemplars,
    /// The plan's calls at the first of them, if a task raised it.
    pub(crate) stack: Option<String>,
}
