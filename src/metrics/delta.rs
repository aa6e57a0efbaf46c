//! What one shard measured since its last tick: the unit in which metrics travel.
//!
//! Filled by a [`Recorder`](super::Recorder), merged and emptied by the [`Store`](super::Store), then handed
//! back so that a tick reuses its memory. Rows carry their names, so a delta explains itself.

use super::arrivals::ArrivalDelta;
use super::exemplars::Exemplars;
use super::generator::Effort;
use super::latency::{Burst, Exact, Filled, nanoseconds};
use super::measures::MeasureDelta;
use super::names::Label;
use super::sample::{Failure, Sample};
use std::sync::Arc;

/// Distinct errors kept, here and in the store; the rest is only counted.
pub(super) const MAX_ERRORS: usize = 100;

/// Everything one shard measured within one tick. `Send`, opaque, reusable.
#[derive(Debug, Default)]
pub struct Delta {
    pub(super) shard: usize,
    pub(super) requests: Vec<RequestDelta>,
    pub(super) tasks: Vec<TaskDelta>,
    pub(super) scenarios: Vec<ScenarioDelta>,
    pub(super) measures: Vec<MeasureDelta>,
    pub(super) arrivals: ArrivalDelta,
    /// The cadences of cycles that were late.
    pub(super) late: Exact,
    pub(super) errors: Vec<ErrorDelta>,
    pub(super) errors_left_out: u64,
    pub(super) warnings: Vec<String>,
    pub(super) effort: Effort,
}

impl Delta {
    pub(super) fn new(shard: usize) -> Self {
        Delta {
            shard,
            ..Delta::default()
        }
    }

    /// Whether it says nothing at all.
    pub fn is_empty(&self) -> bool {
        self.requests.iter().all(|row| row.counts.count() == 0)
            && self
                .tasks
                .iter()
                .all(|row| row.ok.count + row.failed.count == 0)
            && self.late.count == 0
            && self.scenarios.iter().all(|row| row.is_empty())
            && self.measures.iter().all(|row| row.measure.is_empty())
            && self.arrivals.is_empty()
            && self.warnings.is_empty()
    }

    /// Makes a row for every name, those of `requests` and `tasks` being all that the shard knows.
    pub(super) fn cover(&mut self, requests: &[Arc<Label>], tasks: &[Arc<Label>]) {
        for label in requests.iter().skip(self.requests.len()) {
            self.requests.push(RequestDelta::new(label.clone()));
        }
        for label in tasks.iter().skip(self.tasks.len()) {
            self.tasks.push(TaskDelta::new(label.clone()));
        }
    }

    /// Counts a failure under its source, message and line. Equal ones are found by scanning: there are few.
    /// Its row, if it is among those that are kept.
    pub(super) fn fail(
        &mut self,
        source: Source,
        failure: &Failure<'_>,
    ) -> Option<&mut ErrorDelta> {
        let known = self.errors.iter().position(|error| {
            error.source == source
                && error.message == failure.message
                && error.line.as_deref() == failure.line
        });
        let at = match known {
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
                self.errors_left_out += 1;
                return None;
            }
        };
        let error = &mut self.errors[at];
        error.count += 1;
        Some(error)
    }

    /// The row of a scenario, made when it is new.
    pub(super) fn scenario(&mut self, name: &str) -> &mut ScenarioDelta {
        match self.scenarios.iter().position(|row| &*row.name == name) {
            Some(at) => &mut self.scenarios[at],
            None => self.scenarios.push_mut(ScenarioDelta::new(name)),
        }
    }

    /// Empties it and keeps rows and memory.
    pub(super) fn clear(&mut self) {
        for row in self
            .requests
            .iter_mut()
            .filter(|row| row.counts.count() > 0)
        {
            row.counts.clear();
            row.all.clear();
            row.failures.clear();
            row.service.clear();
        }
        if self.late.count > 0 {
            self.late = Exact::default();
            let filled = self.requests.iter_mut();
            filled
                .filter_map(|row| row.filled.as_mut())
                .for_each(|filled| filled.clear());
        }
        for row in &mut self.tasks {
            row.ok = Exact::default();
            row.failed = Exact::default();
            row.all.clear();
        }
        for row in &mut self.scenarios {
            (row.iterations, row.change, row.rise) = (0, 0, 0);
        }
        for row in &mut self.measures {
            row.measure.clear();
        }
        self.arrivals.clear();
        self.errors.clear();
        self.errors_left_out = 0;
        self.warnings.clear();
        self.effort = Effort::default();
    }
}

/// One request name within one tick.
#[derive(Debug)]
pub(super) struct RequestDelta {
    pub(super) label: Arc<Label>,
    pub(super) counts: RequestCounts,
    pub(super) all: Burst,
    /// The failed ones again, so that successes alone can be told by subtracting.
    pub(super) failures: Burst,
    /// All of them from their actual start, where `all` is from the scheduled one; else empty.
    pub(super) service: Burst,
    /// Filled in for late users; made at the first.
    pub(super) filled: Option<Box<Filled>>,
}

impl RequestDelta {
    pub(super) fn new(label: Arc<Label>) -> Self {
        RequestDelta {
            label,
            counts: RequestCounts::default(),
            all: Burst::default(),
            failures: Burst::default(),
            service: Burst::default(),
            filled: None,
        }
    }

    pub(super) fn record(&mut self, sample: &Sample<'_>) {
        let mut ns = nanoseconds(sample.latency);
        if let Some(delay) = sample.delay {
            self.service.record(ns);
            self.counts.service.record(ns);
            ns = ns.saturating_add(nanoseconds(delay));
        }
        self.all.record(ns);
        if sample.failure.is_none() {
            self.counts.ok.record(ns);
        } else {
            self.counts.failed.record(ns);
            self.failures.record(ns);
        }
        self.counts.bytes += sample.bytes;
        self.counts.redirects += u64::from(sample.redirects);
        self.counts.retries += u64::from(sample.retries);
        self.counts.add_status(sample.status, 1);
        for (sum, phase) in self.counts.phases.iter_mut().zip(sample.phases.in_order()) {
            sum.ns += nanoseconds(phase);
            sum.count += u64::from(!phase.is_zero());
        }
    }
}

/// The plain counters of one request name, of a tick or of a whole run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RequestCounts {
    pub(super) ok: Exact,
    pub(super) failed: Exact,
    /// All from their actual start, where `ok` and `failed` are from the scheduled one.
    pub(super) service: Exact,
    pub(super) bytes: u64,
    pub(super) redirects: u64,
    pub(super) retries: u64,
    pub(super) status: Vec<(u16, u64)>,
    pub(super) phases: [PhaseSum; 6],
}

impl RequestCounts {
    pub(super) fn count(&self) -> u64 {
        self.ok.count + self.failed.count
    }

    pub(super) fn add_status(&mut self, status: u16, count: u64) {
        match self.status.iter_mut().find(|(known, _)| *known == status) {
            Some((_, sum)) => *sum += count,
            None => self.status.push((status, count)),
        }
    }

    pub(super) fn add(&mut self, other: &RequestCounts) {
        self.ok = self.ok.merged(&other.ok);
        self.failed = self.failed.merged(&other.failed);
        self.service = self.service.merged(&other.service);
        self.bytes += other.bytes;
        self.redirects += other.redirects;
        self.retries += other.retries;
        for (status, count) in &other.status {
            self.add_status(*status, *count);
        }
        for (sum, more) in self.phases.iter_mut().zip(other.phases) {
            sum.ns += more.ns;
            sum.count += more.count;
        }
    }

    fn clear(&mut self) {
        let mut status = std::mem::take(&mut self.status);
        status.clear();
        *self = RequestCounts {
            status,
            ..RequestCounts::default()
        };
    }
}

/// The time that one phase took in all, and how many requests had it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PhaseSum {
    pub(super) ns: u64,
    pub(super) count: u64,
}

/// One task or transaction within one tick.
#[derive(Debug)]
pub(super) struct TaskDelta {
    pub(super) label: Arc<Label>,
    pub(super) ok: Exact,
    pub(super) failed: Exact,
    pub(super) all: Burst,
}

impl TaskDelta {
    pub(super) fn new(label: Arc<Label>) -> Self {
        TaskDelta {
            label,
            ok: Exact::default(),
            failed: Exact::default(),
            all: Burst::default(),
        }
    }
}

/// One scenario within one tick.
#[derive(Debug)]
pub(super) struct ScenarioDelta {
    pub(super) name: Arc<str>,
    pub(super) iterations: u64,
    /// Users started less users stopped.
    pub(super) change: i64,
    /// The highest that `change` was within the tick.
    pub(super) rise: i64,
}

impl ScenarioDelta {
    fn new(name: &str) -> Self {
        ScenarioDelta {
            name: name.into(),
            iterations: 0,
            change: 0,
            rise: 0,
        }
    }

    fn is_empty(&self) -> bool {
        (self.iterations, self.change, self.rise) == (0, 0, 0)
    }
}

/// Whose error it was, by the shard's own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Request(u32),
    Task(u32),
}

/// Equal errors within one tick.
#[derive(Debug)]
pub(super) struct ErrorDelta {
    pub(super) source: Source,
    pub(super) message: String,
    pub(super) line: Option<String>,
    pub(super) count: u64,
    /// Of requests; tasks have none.
    pub(super) exemplars: Exemplars,
}
