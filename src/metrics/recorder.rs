//! A shard's own counters: what every request, task and user of that shard is recorded in.
//!
//! Single-threaded and without locks. The engine's shard owns it and calls [`Recorder::take`] each tick; it
//! does not know the other shards, the clock or who reads the figures.

use super::delta::{Delta, RequestDelta, Source, TaskDelta};
use super::generator::Effort;
use super::journal::{Journal, Journals};
use super::latency::nanoseconds;
use super::measures::{Kind, Measure, MeasureDelta};
use super::names::{MAX_NAMES, Names};
use super::report::MetricKind;
use super::sample::{RequestId, Sample, TaskId, TaskRun};
use crate::units::show_count;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Distinct warnings that one shard passes on.
const MAX_WARNINGS: usize = 100;

/// Records what the users of one shard do.
#[derive(Debug)]
pub struct Recorder {
    requests: Names,
    tasks: Names,
    /// Checks and metrics with the kind of each; the delta in use has a row for all of them.
    measures: Names,
    delta: Delta,
    /// Emptied deltas that came back; one is enough when the store keeps up.
    spare: Vec<Delta>,
    told: HashSet<String>,
    /// Whether the warning of too many request names was given: its text is not built on every request.
    overflowed: bool,
    /// Where the times of logs and exemplars count from.
    origin: Instant,
    /// None if no log is kept.
    journal: Option<Box<Journal>>,
}

impl Recorder {
    /// A recorder for the shard of that number. No two recorders of a run may share a number.
    pub fn new(shard: usize) -> Self {
        Recorder {
            requests: Names::default(),
            tasks: Names::default(),
            measures: Names::default(),
            delta: Delta::new(shard),
            spare: Vec::new(),
            told: HashSet::new(),
            overflowed: false,
            origin: Instant::now(),
            journal: None,
        }
    }

    /// The same for a run that began at `origin`, with logs if they are kept.
    pub fn of_run(mut self, origin: Instant, journals: Option<&Journals>) -> Self {
        self.origin = origin;
        self.journal = journals.map(|journals| Box::new(journals.journal(origin)));
        self
    }

    /// The number of a request name. A known name costs one hash and no memory; after 2,000 distinct ones
    /// the rest counts as `(other)` and a warning says how to name requests.
    pub fn request(&mut self, method: &str, name: &str) -> RequestId {
        let interned = self.requests.intern(method, name);
        if interned.overflow && !self.overflowed {
            self.overflowed = true;
            self.warn(too_many_requests());
        }
        let labels = self.requests.labels();
        if self.delta.requests.len() < labels.len() {
            let label = labels[interned.id as usize].clone();
            self.delta.requests.push(RequestDelta::new(label));
        }
        RequestId(interned.id)
    }

    /// The number of a task or transaction of a scenario, bounded as [`Recorder::request`].
    pub fn task(&mut self, scenario: &str, name: &str) -> TaskId {
        let interned = self.tasks.intern(scenario, name);
        if interned.overflow && !self.told.contains(TOO_MANY_TASKS) {
            self.warn(TOO_MANY_TASKS.to_owned());
        }
        let labels = self.tasks.labels();
        if self.delta.tasks.len() < labels.len() {
            let label = labels[interned.id as usize].clone();
            self.delta.tasks.push(TaskDelta::new(label));
        }
        TaskId(interned.id)
    }

    /// Records one finished request.
    ///
    /// # Panics
    /// When the sample's request is not from this recorder.
    pub fn record(&mut self, sample: &Sample<'_>) {
        let id = sample.request.0;
        self.delta.requests[id as usize].record(sample);
        if let Some(failure) = &sample.failure
            && let Some(error) = self.delta.fail(Source::Request(id), failure)
        {
            error.exemplars.consider(sample, self.origin);
        }
        if let (Some(journal), Some(context)) = (&mut self.journal, &sample.context) {
            let label = &self.requests.labels()[id as usize];
            journal.request(label, sample, context);
        }
    }

    /// Records one run of a task or transaction.
    ///
    /// # Panics
    /// When the task is not from this recorder.
    pub fn record_task(&mut self, run: &TaskRun<'_>) {
        let TaskId(id) = run.task;
        let ns = nanoseconds(run.latency);
        let row = &mut self.delta.tasks[id as usize];
        row.all.record(ns);
        match &run.failure {
            None => row.ok.record(ns),
            Some(failure) => {
                row.failed.record(ns);
                self.delta.fail(Source::Task(id), failure);
            }
        }
        if let Some(journal) = &mut self.journal {
            journal.task(run);
        }
    }

    /// Counts a check of the plan.
    pub fn check(&mut self, name: &str, passed: bool) {
        self.measure(Kind::Check, name).truth(passed);
    }

    /// Adds to a counter of the plan.
    pub fn counter(&mut self, name: &str, value: f64) {
        self.measure(Kind::Metric(MetricKind::Counter), name)
            .value(value);
    }

    /// Sets a gauge of the plan; the latest value of all shards is the one that is shown.
    pub fn gauge(&mut self, name: &str, value: f64, at: Instant) {
        self.measure(Kind::Metric(MetricKind::Gauge), name)
            .level(value, at);
    }

    /// Counts a true or false value of a rate of the plan.
    pub fn rate(&mut self, name: &str, held: bool) {
        self.measure(Kind::Metric(MetricKind::Rate), name)
            .truth(held);
    }

    /// Adds a value to a trend of the plan.
    pub fn trend(&mut self, name: &str, value: f64) {
        self.measure(Kind::Metric(MetricKind::Trend), name)
            .value(value);
    }

    /// The row of a check or metric, made when it is new.
    fn measure(&mut self, kind: Kind, name: &str) -> &mut Measure {
        let interned = self.measures.intern_grouped(kind.group(), name);
        if interned.overflow && !self.told.contains(TOO_MANY_MEASURES) {
            self.warn(TOO_MANY_MEASURES.to_owned());
        }
        let id = interned.id as usize;
        if self.delta.measures.len() == id {
            self.delta.measures.push(MeasureDelta {
                label: self.measures.labels()[id].clone(),
                measure: Measure::new(kind),
            });
        }
        &mut self.delta.measures[id].measure
    }

    /// A user's cycle took more than twice this cadence.
    pub(super) fn late_cycle(&mut self, cadence: Duration) {
        self.delta.late.record(nanoseconds(cadence));
    }

    /// Counts requests that a late user could not make, as if each had taken so many nanoseconds.
    pub(super) fn fill_in(&mut self, request: RequestId, ns: u64, times: u64) {
        let row = &mut self.delta.requests[request.0 as usize];
        row.filled.get_or_insert_default().record(ns, times);
    }

    /// A user of the scenario came to the end of one iteration.
    pub fn iteration(&mut self, scenario: &str) {
        self.delta.scenario(scenario).iterations += 1;
    }

    /// An iteration of a run at a rate was started, so much later than on schedule.
    pub fn arrival(&mut self, delay: Duration) {
        self.delta.arrivals.started(delay);
    }

    /// An iteration of a run at a rate found no free user.
    pub fn dropped(&mut self) {
        self.delta.arrivals.dropped();
    }

    /// A user of the scenario started.
    pub fn user_started(&mut self, scenario: &str) {
        let row = self.delta.scenario(scenario);
        row.change += 1;
        row.rise = row.rise.max(row.change);
    }

    /// A user of the scenario stopped.
    pub fn user_stopped(&mut self, scenario: &str) {
        self.delta.scenario(scenario).change -= 1;
    }

    /// Passes a warning on to every view and the report, once.
    pub fn warn(&mut self, warning: String) {
        if self.told.len() < MAX_WARNINGS && !self.told.contains(&warning) {
            self.told.insert(warning.clone());
            self.delta.warnings.push(warning);
        }
    }

    /// What the shard took of the machine since the last [`Recorder::take`].
    pub fn effort(&mut self, effort: Effort) {
        self.delta.effort = effort;
    }

    /// Hands over what was measured since the last call and starts anew.
    pub fn take(&mut self) -> Delta {
        if let Some(journal) = &mut self.journal {
            journal.hand_over();
        }
        let mut next = self
            .spare
            .pop()
            .unwrap_or_else(|| Delta::new(self.delta.shard));
        next.cover(self.requests.labels(), self.tasks.labels());
        for row in &self.delta.measures[next.measures.len()..] {
            next.measures.push(MeasureDelta {
                label: row.label.clone(),
                measure: Measure::new(row.measure.kind),
            });
        }
        std::mem::replace(&mut self.delta, next)
    }

    /// Takes an emptied delta back, as [`Store::merge`](super::Store::merge) returns it, for the next tick.
    /// One of another shard is dropped.
    pub fn recycle(&mut self, delta: Delta) {
        if delta.shard == self.delta.shard && delta.is_empty() {
            self.spare.push(delta);
        }
    }
}

/// What the recorder and the store say when names of tasks and transactions run over.
pub(super) const TOO_MANY_TASKS: &str = "more than 2,000 names of tasks and transactions; the rest is counted as '(other)': \
     keep ids out of the names of transactions";

/// What the recorder and the store say when names of checks and metrics run over.
pub(super) const TOO_MANY_MEASURES: &str = "more than 2,000 names of checks and metrics; the rest is counted as '(other)': \
     keep ids out of the names of checks and metrics";

/// What the recorder and the store say when names of requests run over.
pub(super) fn too_many_requests() -> String {
    format!(
        "more than {} request names; the rest is counted as '(other)': give requests that differ only in an id \
         one name, as in user:get(path, {{ name = \"product\" }})",
        show_count(MAX_NAMES as u64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Failure, Phases};

    fn sample(request: RequestId, failure: Option<Failure<'_>>) -> Sample<'_> {
        Sample {
            request,
            latency: Duration::from_millis(3),
            delay: None,
            phases: Phases::default(),
            status: 200,
            redirects: 1,
            retries: 0,
            bytes: 10,
            failure,
            context: None,
        }
    }

    #[test]
    fn what_was_taken_is_not_counted_again() {
        let mut recorder = Recorder::new(0);
        let id = recorder.request("GET", "/");
        recorder.record(&sample(id, None));
        let taken = recorder.take();
        assert_eq!(taken.requests[0].counts.count(), 1);
        assert!(recorder.take().is_empty());
    }

    #[test]
    fn a_recycled_delta_covers_names_that_came_since() {
        let mut recorder = Recorder::new(0);
        let first = recorder.request("GET", "/");
        recorder.record(&sample(first, None));
        let mut delta = recorder.take();
        let second = recorder.request("GET", "/new");
        delta.clear();
        recorder.recycle(delta);
        recorder.take();
        recorder.record(&sample(second, None));
        recorder.record(&sample(first, None));
        let delta = recorder.take();
        assert_eq!(&*delta.requests[1].label.name, "/new");
        assert_eq!(delta.requests[1].counts.count(), 1);
    }

    #[test]
    fn equal_failures_are_one_error_and_the_hundred_and_first_kind_is_left_out() {
        let mut recorder = Recorder::new(0);
        let id = recorder.request("GET", "/");
        for n in 0..102 {
            let message = format!("error {}", n.max(1));
            let failure = Failure {
                message: &message,
                line: None,
            };
            recorder.record(&sample(id, Some(failure)));
        }
        let delta = recorder.take();
        assert_eq!((delta.errors.len(), delta.errors[0].count), (100, 2));
        assert_eq!(delta.errors_left_out, 1);
    }

    #[test]
    fn a_warning_is_given_once() {
        let mut recorder = Recorder::new(0);
        recorder.warn("slow timers".to_owned());
        recorder.take();
        recorder.warn("slow timers".to_owned());
        assert!(recorder.take().warnings.is_empty());
    }

    #[test]
    fn too_many_names_warn_once_with_the_remedy() {
        let mut recorder = Recorder::new(0);
        for n in 0..MAX_NAMES + 5 {
            recorder.request("GET", &format!("/{n}"));
        }
        let warnings = recorder.take().warnings;
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains("2,000") && warnings[0].contains("name ="));
    }
}
