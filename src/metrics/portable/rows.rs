//! Rows of a portable delta, and their conversion from a shard's own rows and back.

use super::super::arrivals::ArrivalDelta;
use super::super::delta::{ErrorDelta, SliceDelta, Source, TaskDelta};
use super::super::exemplars::Exemplars;
use super::super::filled::Filled;
use super::super::latency::{Burst, Exact, MOST_COUNT};
use super::super::measures::MeasureDelta;
use super::super::names::Label;
use super::super::phase_times::PhaseDeltas;
use super::super::request::{RequestCounts, RequestDelta};
use super::super::traced::Traced;
use super::{Name, Slice};
use crate::phases::Phase;
use crate::tags::Tags;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Counts by latency in microseconds; many latencies are only as precise as in a histogram of three digits.
pub(crate) type Counted = BTreeMap<u64, u64>;

fn add(to: &mut Counted, from: &Counted) {
    for (us, count) in from {
        *to.entry(*us).or_default() += count;
    }
}

/// Returns whether a run can have counted this: a file may be damaged.
fn are_plausible(counted: &Counted) -> bool {
    let mut counts = counted.values();
    let all = counts.try_fold(0_u64, |sum, count| sum.checked_add(*count));
    all.is_some_and(|all| all <= MOST_COUNT)
}

/// Row of one request name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Request {
    counts: RequestCounts,
    all: Counted,
    failures: Counted,
    failed_at_once: Counted,
    service: Counted,
    filled: Option<(Exact, Counted)>,
    traced: Option<Box<Traced>>,
    phase_times: BTreeMap<Phase, (Exact, Counted)>,
}

impl From<&RequestDelta> for Request {
    fn from(row: &RequestDelta) -> Request {
        let filled = row.filled.as_ref().filter(|filled| filled.exact.count > 0);
        let mut counts = row.counts.clone();
        counts.status.sort_unstable();
        let phase_times = row.phase_times.0.iter();
        let phase_times = phase_times.filter(|(_, (exact, _))| exact.count > 0);
        Request {
            counts,
            all: row.all.counted(),
            failures: row.failures.counted(),
            failed_at_once: row.failed_at_once.counted(),
            service: row.service.counted(),
            filled: filled.map(|filled| (filled.exact, filled.counted())),
            traced: row.traced.clone().filter(|traced| !traced.is_empty()),
            phase_times: phase_times
                .map(|(phase, (exact, burst))| (*phase, (*exact, burst.counted())))
                .collect(),
        }
    }
}

impl Request {
    /// Returns how many requests the row counts.
    #[cfg(test)]
    pub(super) fn count(&self) -> u64 {
        self.counts.count()
    }

    /// Returns its counts, and its latencies.
    pub(super) fn counted(&self) -> (&RequestCounts, &Counted) {
        (&self.counts, &self.all)
    }

    /// Returns all of its measured latencies; those that were filled in are not among them.
    pub(super) fn latencies(&mut self) -> impl Iterator<Item = &mut Counted> {
        let own = [
            &mut self.all,
            &mut self.failures,
            &mut self.failed_at_once,
            &mut self.service,
        ];
        let phases = self.phase_times.values_mut().map(|(_, times)| times);
        own.into_iter().chain(phases)
    }

    pub(super) fn merge(&mut self, other: &Request) {
        self.counts.add(&other.counts);
        self.counts.status.sort_unstable();
        add(&mut self.all, &other.all);
        add(&mut self.failures, &other.failures);
        add(&mut self.failed_at_once, &other.failed_at_once);
        add(&mut self.service, &other.service);
        if let Some((exact, counted)) = &other.filled {
            let (ours, all) = self.filled.get_or_insert_default();
            *ours = ours.merged(exact);
            add(all, counted);
        }
        for (phase, (exact, counted)) in &other.phase_times {
            let (ours, all) = self.phase_times.entry(*phase).or_default();
            *ours = ours.merged(exact);
            add(all, counted);
        }
        if let Some(traced) = &other.traced {
            self.traced.get_or_insert_default().merge(traced);
        }
    }

    pub(super) fn is_plausible(&self) -> bool {
        let counted = [&self.all, &self.failures, &self.service];
        let mut beside = self.filled.iter().chain(self.phase_times.values());
        self.counts.is_plausible()
            && counted.into_iter().all(are_plausible)
            && beside.all(|(exact, all)| exact.is_plausible() && are_plausible(all))
            && self
                .traced
                .as_ref()
                .is_none_or(|traced| traced.is_plausible())
    }

    fn to_delta(&self, label: Arc<Label>) -> RequestDelta {
        let phase_times = self.phase_times.iter();
        let phase_times =
            phase_times.map(|(phase, (exact, times))| (*phase, (*exact, Burst::of(times))));
        RequestDelta {
            label,
            counts: self.counts.clone(),
            all: Burst::of(&self.all),
            failures: Burst::of(&self.failures),
            failed_at_once: Burst::of(&self.failed_at_once),
            service: Burst::of(&self.service),
            filled: self
                .filled
                .as_ref()
                .map(|(exact, counted)| Box::new(Filled::of(*exact, counted))),
            traced: self.traced.clone(),
            phase_times: PhaseDeltas(phase_times.collect()),
        }
    }
}

/// Row of one task or transaction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Task {
    ok: Exact,
    failed: Exact,
    all: Counted,
}

impl From<&TaskDelta> for Task {
    fn from(row: &TaskDelta) -> Task {
        Task {
            ok: row.ok,
            failed: row.failed,
            all: row.all.counted(),
        }
    }
}

impl Task {
    pub(super) fn latencies(&mut self) -> &mut Counted {
        &mut self.all
    }

    pub(super) fn merge(&mut self, other: &Task) {
        self.ok = self.ok.merged(&other.ok);
        self.failed = self.failed.merged(&other.failed);
        add(&mut self.all, &other.all);
    }

    pub(super) fn is_plausible(&self) -> bool {
        self.ok.is_plausible() && self.failed.is_plausible() && are_plausible(&self.all)
    }

    fn to_delta(&self, label: Arc<Label>) -> TaskDelta {
        TaskDelta {
            label,
            ok: self.ok,
            failed: self.failed,
            all: Burst::of(&self.all),
        }
    }
}

/// Starts of iterations in a run at a rate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Arrivals {
    delays: Exact,
    all: Counted,
    dropped: u64,
}

impl From<&ArrivalDelta> for Arrivals {
    fn from(delta: &ArrivalDelta) -> Arrivals {
        Arrivals {
            delays: delta.delays,
            all: delta.all.counted(),
            dropped: delta.dropped,
        }
    }
}

impl Arrivals {
    pub(super) fn latencies(&mut self) -> &mut Counted {
        &mut self.all
    }

    pub(super) fn merge(&mut self, other: &Arrivals) {
        self.delays = self.delays.merged(&other.delays);
        add(&mut self.all, &other.all);
        self.dropped += other.dropped;
    }

    pub(super) fn is_plausible(&self) -> bool {
        self.delays.is_plausible() && are_plausible(&self.all) && self.dropped <= MOST_COUNT
    }
}

/// Origin of an error.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Who {
    Request(Name),
    Task(Name),
}

/// Equal errors, counted together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ErrorCount {
    count: i64,
    exemplars: Exemplars,
}

impl From<&ErrorDelta> for ErrorCount {
    fn from(error: &ErrorDelta) -> ErrorCount {
        ErrorCount {
            count: error.count,
            exemplars: error.exemplars.clone(),
        }
    }
}

impl ErrorCount {
    pub(super) fn merge(&mut self, other: &ErrorCount) {
        self.count += other.count;
        self.exemplars.merge(&other.exemplars);
    }

    pub(super) fn is_plausible(&self) -> bool {
        self.count.unsigned_abs() <= MOST_COUNT
    }
}

fn label((group, name, tags): &Name) -> Arc<Label> {
    Arc::new(Label {
        group: group.as_str().into(),
        name: name.as_str().into(),
        tags: Arc::new(tags.clone()),
    })
}

impl Slice {
    /// Converts the rows back to those of a shard, without scenarios and times without a response, which are kept by
    /// shard.
    pub(crate) fn to_delta(&self, epoch: u64, from: u64) -> SliceDelta {
        let mut delta = SliceDelta::default();
        (delta.span.epoch, delta.span.from, delta.span.to) = (epoch, from, self.to);
        let requests = self.requests.iter();
        delta.requests = requests
            .map(|(name, row)| row.to_delta(label(name)))
            .collect();
        let tasks = self.tasks.iter();
        delta.tasks = tasks.map(|(name, row)| row.to_delta(label(name))).collect();
        let measures = self.measures.iter();
        delta.measures = measures
            .map(|((kind, name), measure)| MeasureDelta {
                label: label(&(kind.group().to_owned(), name.clone(), Tags::default())),
                measure: measure.clone(),
            })
            .collect();
        delta.arrivals = ArrivalDelta {
            delays: self.arrivals.delays,
            all: Burst::of(&self.arrivals.all),
            dropped: self.arrivals.dropped,
        };
        delta.late = self.late;
        for ((who, message, line), error) in &self.errors {
            let source = match who {
                Who::Request(name) => Source::Request(delta.request_named(name)),
                Who::Task(name) => Source::Task(delta.task_named(name)),
            };
            delta.errors.push(ErrorDelta {
                source,
                message: message.clone(),
                line: line.clone(),
                count: error.count,
                exemplars: error.exemplars.clone(),
            });
        }
        delta.errors_left_out = self.errors_left_out;
        delta.border = self.border;
        delta
    }
}

impl SliceDelta {
    /// Returns the number of a request's row, and makes one if there is none.
    fn request_named(&mut self, name: &Name) -> u32 {
        let known = self
            .requests
            .iter()
            .position(|row| row.label.key() == *name);
        let at = known.unwrap_or_else(|| {
            self.requests.push(RequestDelta::new(label(name)));
            self.requests.len() - 1
        });
        at as u32
    }

    /// Returns the number of a task's row, and makes one if there is none.
    fn task_named(&mut self, name: &Name) -> u32 {
        let known = self.tasks.iter().position(|row| row.label.key() == *name);
        let at = known.unwrap_or_else(|| {
            self.tasks.push(TaskDelta::new(label(name)));
            self.tasks.len() - 1
        });
        at as u32
    }
}
