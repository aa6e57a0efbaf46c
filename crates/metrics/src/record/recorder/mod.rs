//! Recorder of a shard: counts all requests, tasks and users of that shard.
//!
//! Single-threaded and without locks. The shard owns it and calls [`Recorder::take`] at each tick. It does not know the
//! other shards, the clock or the readers of the figures.

use super::names::{ITERATION, MAX_NAMES, NameInterner};
use super::sample::{
    ProvisionalCounts, RequestId, Sample, SampleFailure, TaskId, TaskRun, Traffic,
};
use super::slices::Slices;
use super::tagged_measures::TaggedMeasures;
use super::tagged_names::{TOO_MANY_TAGS, TaggedNames, TagsId};
use super::under_way::InFlightSlot;
use crate::delta::{Delta, ShardErrorOrigin, SliceDelta};
use crate::generator::Effort;
use crate::latencies::nanoseconds;
use crate::measures::{BucketLimit, Measure, MeasureDelta, MeasureKind};
use crate::report::MetricKind;
use crate::request_log::{LogRecorder, RunLogs};
use lgoose_base::error::cut;
use lgoose_base::phases::{Phase, TimedPart};
use lgoose_base::tags::Tags;
use lgoose_base::threshold::Threshold;
use lgoose_base::units::show_count;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most distinct warnings that one shard passes on.
const MAX_WARNINGS: usize = 100;

/// The warning about verdicts that come after the intervals of their requests were judged.
const LATE_VERDICTS: &str = "the plan judged requests more than 10 s after they had ended: such verdicts count in the tables, but not \
     in the intervals ('during') and aborts of thresholds";

/// Records the requests, tasks and iterations of the users of one shard.
#[derive(Debug)]
pub struct Recorder {
    requests: TaggedNames,
    tasks: NameInterner,
    /// Names of checks and metrics, grouped by kind.
    measures: NameInterner,
    kinds: Vec<MeasureKind>,
    slices: Slices,
    warned: HashSet<String>,
    /// Whether the warning of too many request names was given: its text is not built on every request.
    overflowed: bool,
    /// Origin of the times in logs and exemplars.
    origin: Instant,
    /// Log of requests and tasks; `None` if none is kept.
    request_log: Option<Box<LogRecorder>>,
    /// Phases whose times are kept one by one.
    phases: Vec<Phase>,
    /// Checks and metrics that are counted once more for a threshold on tags.
    tagged_measures: Vec<TaggedMeasures>,
    /// The tags of the checks and metrics that are counted now.
    measure_tags: Tags,
    /// The tags that the plan gave to the value of a metric that is counted now.
    value_tags: Tags,
}

impl Recorder {
    /// Makes the recorder of the shard of that number, whose run begins now. No two recorders of a run may share a
    /// number.
    pub fn new(shard: usize) -> Self {
        let slices = Slices::new(shard);
        Recorder {
            requests: TaggedNames::default(),
            tasks: NameInterner::default(),
            measures: NameInterner::default(),
            kinds: Vec::new(),
            origin: slices.zero(),
            slices,
            warned: HashSet::new(),
            overflowed: false,
            request_log: None,
            phases: Vec::new(),
            tagged_measures: Vec::new(),
            measure_tags: Tags::default(),
            value_tags: Tags::default(),
        }
    }

    /// Sets the beginning of the run, and the logs if any are kept; their times count from `origin`.
    pub fn of_run(mut self, origin: Instant, start: Instant, run_logs: Option<&RunLogs>) -> Self {
        self.slices.start(start);
        self.origin = origin;
        self.request_log = run_logs.map(|run_logs| Box::new(run_logs.request_log(origin)));
        self
    }

    /// Returns when the run began.
    #[cfg(any(test, feature = "test-support"))]
    pub fn zero(&self) -> Instant {
        self.slices.zero()
    }

    /// Cuts the counts at each of these times since the start of a measurement, which are in rising order.
    pub fn mark(&mut self, marks: &[Duration]) {
        let marks: Arc<[u64]> = marks.iter().copied().map(nanoseconds).collect();
        self.slices.mark(marks);
    }

    /// Keeps the times of these phases from now on, as thresholds on them need.
    pub fn watch_phases(&mut self, phases: Vec<Phase>) {
        self.phases = phases;
    }

    /// Schedules measurement number `epoch` to begin at that moment, which may lie ahead. One that has begun stays
    /// as it is.
    pub fn schedule_measurement(&mut self, epoch: u64, at: Instant) {
        self.slices.schedule_measurement(epoch, at);
    }

    /// Cancels a measurement that has not begun.
    pub fn stay(&mut self) {
        self.slices.stay();
    }

    /// Returns the number of a request name. A known name costs one hash and no memory; after 2,000 distinct ones
    /// the rest counts as `(other)` and a warning says how to name requests.
    pub fn request(&mut self, method: &str, name: &str) -> RequestId {
        self.tagged_request(method, name, TagsId::default())
    }

    /// Works like [`Recorder::request`], for a request with tags.
    pub fn tagged_request(&mut self, method: &str, name: &str, tags: TagsId) -> RequestId {
        let interned = self.requests.intern(method, name, tags);
        if interned.overflow && !self.overflowed {
            self.overflowed = true;
            self.warn(too_many_requests());
        }
        RequestId(interned.id)
    }

    /// Returns the number of a set of tags. A known one costs one hash and no memory; where there are too
    /// many, values of the key that has the most count as `(other)`, and a warning says so.
    pub fn tags(&mut self, tags: &Tags) -> TagsId {
        let (id, overflow) = self.requests.tags(tags);
        if overflow && !self.warned.contains(TOO_MANY_TAGS) {
            self.warn(TOO_MANY_TAGS.to_owned());
        }
        id
    }

    /// Returns the number of a task or transaction of a scenario; bounded like [`Recorder::request`].
    pub fn task(&mut self, scenario: &str, name: &str) -> TaskId {
        let interned = self.tasks.intern(scenario, name);
        if interned.overflow && !self.warned.contains(TOO_MANY_TASKS) {
            self.warn(TOO_MANY_TASKS.to_owned());
        }
        TaskId(interned.id)
    }

    /// Notes that a request of a row is sent. The caller gives the returned flight back to [`Recorder::end_request`].
    pub fn start_request(&mut self, at: Instant, row: RequestId) -> InFlightSlot {
        self.slices.start_request(at, row)
    }

    /// Returns whether a request is under way.
    pub fn has_requests(&self) -> bool {
        self.slices.has_requests()
    }

    /// Notes that the shard was not at work for that long until `now`: no response could be noticed.
    pub fn was_away(&mut self, now: Instant, time: Duration) {
        self.slices.was_away(now, nanoseconds(time));
    }

    /// Notes that the process stood still for that long, which makes no request under way older.
    pub fn stood_still(&mut self, time: Duration) {
        self.slices.stood_still(nanoseconds(time));
    }

    /// Notes that a request that began at `start` has ended, `responded` to or not. Its figures are recorded separately.
    pub fn end_request(
        &mut self,
        flight: InFlightSlot,
        start: Instant,
        latency: Duration,
        responded: bool,
    ) {
        let ns = nanoseconds(latency);
        self.slices.end_request(flight, start, ns, responded);
    }

    /// Records a finished request whose verdict is final.
    ///
    /// # Panics
    /// When the sample's request is not from this recorder, as in all methods that take a sample.
    pub fn record(&mut self, sample: &Sample<'_>) {
        if sample.request == RequestId::UNCOUNTED {
            return;
        }
        let slice = slice_of(&mut self.slices, &self.requests, sample);
        let row = &mut slice.requests[sample.request.0 as usize].figures;
        row.enter(sample, &self.phases);
        row.conclude(sample, self.origin);
        if let Some(failure) = &sample.failure {
            fail(slice, sample, failure, self.origin);
        }
        self.log(sample);
    }

    /// Counts a finished request before [`Recorder::conclude`] makes its verdict final; its error is not recorded yet.
    /// `may_change` says whether the plan may change the verdict until then.
    pub fn enter(&mut self, sample: &Sample<'_>, may_change: bool) {
        if sample.request == RequestId::UNCOUNTED {
            return;
        }
        if may_change {
            self.slices
                .leave_undecided(sample.start, nanoseconds(sample.latency));
        }
        let slice = slice_of(&mut self.slices, &self.requests, sample);
        slice.requests[sample.request.0 as usize]
            .figures
            .enter(sample, &self.phases);
    }

    /// Notes that a stream is opened at that moment, so that its row is there before its request is counted.
    pub fn open_stream(&mut self, request: RequestId, at: Instant) {
        if request == RequestId::UNCOUNTED {
            return;
        }
        let slice = slice_at(&mut self.slices, &self.requests, request, at, 0);
        slice.requests[request.0 as usize].figures.opened += 1;
    }

    /// Counts messages of a request that goes on at that moment, before it is counted itself, with the times of parts that they
    /// have ended.
    pub fn messages(
        &mut self,
        request: RequestId,
        at: Instant,
        traffic: Traffic,
        times: &[(TimedPart, Duration)],
    ) {
        let is_empty = times.is_empty() && traffic == Traffic::default();
        if request == RequestId::UNCOUNTED || is_empty {
            return;
        }
        let slice = slice_at(&mut self.slices, &self.requests, request, at, 0);
        let figures = &mut slice.requests[request.0 as usize].figures;
        figures.counts.traffic += traffic;
        for (part, time) in times {
            figures.part_times.record_part(*part, nanoseconds(*time));
        }
    }

    /// Corrects a request that was entered, and records its error in the second in which it ended.
    pub fn revise(&mut self, sample: &Sample<'_>, before: &ProvisionalCounts<'_>) {
        if sample.request == RequestId::UNCOUNTED {
            return;
        }
        let slice = slice_of(&mut self.slices, &self.requests, sample);
        revise(slice, sample, before, self.origin);
    }

    /// Corrects a request that was entered for the last time, and logs it.
    pub fn conclude(&mut self, sample: &Sample<'_>, before: &ProvisionalCounts<'_>) {
        if sample.request == RequestId::UNCOUNTED {
            return;
        }
        let changes = sample.failure.is_some() != before.failed;
        let is_late = self
            .slices
            .decide(sample.start, nanoseconds(sample.latency));
        if changes && is_late && !self.warned.contains(LATE_VERDICTS) {
            self.warn(LATE_VERDICTS.to_owned());
        }
        let slice = slice_of(&mut self.slices, &self.requests, sample);
        revise(slice, sample, before, self.origin);
        slice.requests[sample.request.0 as usize]
            .figures
            .conclude(sample, self.origin);
        self.log(sample);
    }

    fn log(&mut self, sample: &Sample<'_>) {
        if let (Some(request_log), Some(context)) = (&mut self.request_log, &sample.context) {
            let label = &self.requests.labels()[sample.request.0 as usize];
            request_log.request(label, sample, context);
        }
    }

    /// Records one run of a task or transaction.
    ///
    /// # Panics
    /// When the task is not from this recorder.
    pub fn record_task(&mut self, run: &TaskRun<'_>) {
        let TaskId(id) = run.task;
        let ns = nanoseconds(run.latency);
        let slice = self.slices.of(run.start, ns);
        if slice.tasks.len() <= id as usize {
            slice.cover_tasks(self.tasks.labels());
        }
        let row = &mut slice.tasks[id as usize].figures;
        row.all.record(ns);
        match &run.failure {
            None => row.ok.record(ns),
            Some(failure) => {
                row.failed.record(ns);
                let error = slice.fail(ShardErrorOrigin::Task(id), failure, 1);
                let stack = run.context.and_then(|context| context.stack);
                if let (Some(error), Some(stack)) = (error, stack) {
                    error.stack.get_or_insert_with(|| stack.to_owned());
                }
            }
        }
        if let Some(request_log) = &mut self.request_log {
            request_log.task(run);
        }
    }

    /// Keeps a request as an exemplar of a task's failure, which is counted by [`Recorder::record_task`].
    ///
    /// # Panics
    /// When the task is not from this recorder.
    pub fn keep_for_task(
        &mut self,
        task: TaskId,
        failure: &SampleFailure<'_>,
        sample: &Sample<'_>,
    ) {
        if sample.request == RequestId::UNCOUNTED {
            return;
        }
        let origin = self.origin;
        let slice = self.slices.open();
        slice.cover_tasks(self.tasks.labels());
        if let Some(error) = slice.fail(ShardErrorOrigin::Task(task.0), failure, 0) {
            error.exemplars.consider(sample, origin);
        }
    }

    /// Notes that a user's cycle took more than twice this cadence.
    pub(crate) fn late_cycle(&mut self, cadence: Duration) {
        self.slices.open().late.record(nanoseconds(cadence));
    }

    /// Counts requests that a late user could not make, each as if it had taken `ns` nanoseconds.
    pub(crate) fn fill_in(&mut self, request: RequestId, ns: u64, times: u64) {
        let slice = self.slices.open();
        slice.cover_requests(self.requests.labels());
        let row = &mut slice.requests[request.0 as usize].figures;
        row.filled.get_or_insert_default().record_many(ns, times);
    }

    /// Counts a check of the plan.
    pub fn check(&mut self, name: &str, passed: bool) {
        self.measured(MeasureKind::Check, name, |row, _| row.truth(passed));
    }

    /// Adds to a counter of the plan.
    pub fn counter(&mut self, name: &str, value: f64) {
        let kind = MeasureKind::Metric(MetricKind::Counter);
        self.measured(kind, name, |row, _| row.value(value));
    }

    /// Sets a gauge of the plan; reports show the latest value of all shards.
    pub fn gauge(&mut self, name: &str, value: f64, at: Instant) {
        let at = nanoseconds(at.saturating_duration_since(self.slices.zero()));
        let kind = MeasureKind::Metric(MetricKind::Gauge);
        self.measured(kind, name, |row, _| row.level(value, at));
    }

    /// Counts a true or false value of a rate of the plan.
    pub fn rate(&mut self, name: &str, held: bool) {
        let kind = MeasureKind::Metric(MetricKind::Rate);
        self.measured(kind, name, |row, _| row.truth(held));
    }

    /// Adds a value to a trend of the plan.
    pub fn trend(&mut self, name: &str, value: f64) {
        let kind = MeasureKind::Metric(MetricKind::Trend);
        self.measured(kind, name, |row, room| row.sample(value, room));
    }

    /// Counts checks and metrics with tags, as these thresholds need.
    pub fn watch_tagged_measures(&mut self, thresholds: &[Threshold]) {
        self.tagged_measures = TaggedMeasures::of_all(thresholds);
    }

    /// Returns whether anything is about the tags of checks and metrics.
    pub fn selects_measures_by_tags(&self) -> bool {
        !self.tagged_measures.is_empty()
    }

    /// Sets the tags of the checks and metrics that are counted next.
    pub fn tag_measures(&mut self, tags: Tags) {
        self.measure_tags = tags;
    }

    /// Sets the tags that the plan gave to the values of metrics that are counted next: these count in a row of their own,
    /// `size{kind=image}`, too.
    pub fn tag_values(&mut self, tags: Tags) {
        self.value_tags = tags;
    }

    /// Adds to a check or metric, to the row of its tagged values, and to the rows of thresholds on its tags.
    fn measured(&mut self, kind: MeasureKind, name: &str, add: impl Fn(&mut Measure, BucketLimit)) {
        let room = BucketLimit::among(self.kinds.len());
        add(self.measure(kind, name), room);
        if !self.value_tags.is_empty() {
            let of = format!("{name}{{{}}}", self.value_tags.beside_scenario());
            add(self.measure(kind, &of), room);
        }
        for at in 0..self.tagged_measures.len() {
            let tagged = &self.tagged_measures[at];
            if tagged.has(kind, name, &self.measure_tags) {
                let of = tagged.name.clone();
                add(self.measure(kind.tagged(), &of), room);
            }
        }
    }

    /// Returns the row of a check or metric in the open slice, and makes it if it is new.
    fn measure(&mut self, kind: MeasureKind, name: &str) -> &mut Measure {
        let interned = self.measures.intern_grouped(kind.group(), name);
        if interned.overflow && !self.warned.contains(TOO_MANY_MEASURES) {
            self.warn(TOO_MANY_MEASURES.to_owned());
        }
        let id = interned.id as usize;
        if self.kinds.len() == id {
            self.kinds.push(kind);
        }
        let rows = &mut self.slices.open().measures;
        let labels = self.measures.labels().iter().zip(&self.kinds);
        for (label, kind) in labels.take(id + 1).skip(rows.len()) {
            rows.push(MeasureDelta {
                label: label.clone(),
                measure: Measure::new(*kind),
            });
        }
        &mut rows[id].measure
    }

    /// Returns the row in which the durations of a scenario's iterations are counted.
    pub fn iterations(&mut self, scenario: &str) -> TaskId {
        TaskId(self.tasks.intern(scenario, ITERATION).id)
    }

    /// Counts a finished iteration of a user of the scenario in its row, and how long it took, from its first task to
    /// the end of its last. It `failed` if a request or task of it did.
    pub fn iteration(&mut self, scenario: &str, TaskId(row): TaskId, took: Duration, failed: bool) {
        let ns = nanoseconds(took);
        let counts = self.slices.scenario(scenario);
        counts.iterations += 1;
        counts.load.failed += u64::from(failed);
        let slice = self.slices.open();
        if slice.tasks.len() <= row as usize {
            slice.cover_tasks(self.tasks.labels());
        }
        let row = &mut slice.tasks[row as usize].figures;
        row.all.record(ns);
        row.ok.record(ns);
    }

    /// Counts an iteration of a scenario at a rate that was started with this delay.
    pub fn arrival(&mut self, scenario: &str, delay: Duration) {
        self.slices.open().arrivals.started(delay);
        self.slices.scenario(scenario).load.start();
    }

    /// Counts an iteration of a scenario at a rate that found no free user.
    pub fn dropped(&mut self, scenario: &str) {
        self.slices.scenario(scenario).load.drop_one();
    }

    /// Counts an iteration of a scenario at a rate that was started, and ended before its first request.
    pub fn given_up(&mut self, scenario: &str) {
        self.slices.scenario(scenario).load.give_up();
    }

    /// Counts a user of the scenario that an error has ended in `on_start`.
    pub fn lost(&mut self, scenario: &str) {
        self.slices.scenario(scenario).load.lost += 1;
    }

    /// Counts a user of the scenario that starts.
    pub fn user_started(&mut self, scenario: &str, at: Instant) {
        let row = self.slices.user_started(at, scenario);
        row.change += 1;
        row.load.users += 1;
        row.rise = row.rise.max(row.change);
    }

    /// Counts a user of the scenario that has stopped.
    pub fn user_stopped(&mut self, scenario: &str, at: Instant) {
        self.slices.user_stopped(at, scenario).change -= 1;
    }

    /// Passes a warning on to every view and the report, once.
    pub fn warn(&mut self, warning: String) {
        let warning = cut(warning);
        if self.warned.len() < MAX_WARNINGS && !self.warned.contains(&warning) {
            self.warned.insert(warning.clone());
            self.slices.warn(warning);
        }
    }

    /// Adds the resources that the shard used since the last [`Recorder::take`].
    pub fn effort(&mut self, effort: Effort) {
        self.slices.set_effort(effort);
    }

    /// Advances the time to `now`: the next [`Recorder::take`] returns everything until then.
    pub fn come_to(&mut self, now: Instant) {
        self.slices.come_to(now);
        self.slices.name_waiting(self.requests.labels());
    }

    /// Marks the shard as ended: the next [`Recorder::take`] returns the last delta.
    pub fn end(&mut self, now: Instant) {
        self.slices.end(now);
        self.slices.name_waiting(self.requests.labels());
    }

    /// Returns everything measured since the last call and starts anew.
    pub fn take(&mut self) -> Delta {
        if let Some(request_log) = &mut self.request_log {
            request_log.hand_over();
        }
        self.slices.take()
    }

    /// Takes a cleared delta back for the next tick, as [`Store::merge`](crate::Store::merge) returns it. One of
    /// another shard is dropped.
    pub fn recycle(&mut self, delta: Delta) {
        self.slices.recycle(delta);
    }
}

/// Returns the slice in which a request ended, with a row for it.
fn slice_of<'a>(
    slices: &'a mut Slices,
    names: &TaggedNames,
    sample: &Sample<'_>,
) -> &'a mut SliceDelta {
    let ns = nanoseconds(sample.latency);
    slice_at(slices, names, sample.request, sample.start, ns)
}

/// Returns the slice of the moment that is so many nanoseconds after another, with a row for that request.
fn slice_at<'a>(
    slices: &'a mut Slices,
    names: &TaggedNames,
    request: RequestId,
    start: Instant,
    ns: u64,
) -> &'a mut SliceDelta {
    let slice = slices.of(start, ns);
    if slice.requests.len() <= request.0 as usize {
        slice.cover_requests(names.labels());
    }
    slice
}

/// Corrects a request that was entered in this slice, and records its error.
fn revise(
    slice: &mut SliceDelta,
    sample: &Sample<'_>,
    before: &ProvisionalCounts<'_>,
    origin: Instant,
) {
    slice.requests[sample.request.0 as usize]
        .figures
        .revise(sample, before.failed);
    if sample.failure != before.failure {
        if let Some(earlier) = &before.failure {
            slice.fail(ShardErrorOrigin::Request(sample.request.0), earlier, -1);
        }
        if let Some(failure) = &sample.failure {
            fail(slice, sample, failure, origin);
        }
    }
}

/// Counts the failure of a request.
fn fail(slice: &mut SliceDelta, sample: &Sample<'_>, failure: &SampleFailure<'_>, origin: Instant) {
    if let Some(error) = slice.fail(ShardErrorOrigin::Request(sample.request.0), failure, 1) {
        error.exemplars.consider(sample, origin);
    }
}

/// Warning of the recorder and the store for too many names of tasks and transactions.
pub(crate) const TOO_MANY_TASKS: &str = "more than 2,000 names of tasks and transactions; the rest is counted as '(other)': \
     keep ids out of the names of transactions";

/// Warning of the recorder and the store for too many names of checks and metrics.
pub(crate) const TOO_MANY_MEASURES: &str = "more than 2,000 names of checks and metrics; the rest is counted as '(other)': \
     keep ids out of the names of checks and metrics";

/// Returns the warning of the recorder and the store for too many names of requests.
pub(crate) fn too_many_requests() -> String {
    format!(
        "more than {} request names; the rest is counted as '(other)': give requests that differ only in an id \
         one name, as in user:get(path, {{ name = \"product\" }})",
        show_count(MAX_NAMES as u64)
    )
}

#[cfg(test)]
mod tests;
