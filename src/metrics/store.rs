//! Where the deltas of all shards become one run.
//!
//! Driven by whoever owns the run: [`Store::merge`] for each delta, [`Store::tick`] every 250 ms,
//! [`Store::report`] at the end. Names are what counts here; a shard's numbers are translated by a memo.

mod filling;
mod judging;
mod own_part;
mod scenarios;

use super::arrivals::ArrivalLog;
use super::by_name::ByName;
use super::delta::Delta;
use super::errors::ErrorLog;
use super::facts::Facts;
use super::generator::GeneratorLog;
use super::latency::{self, Exact};
use super::measures::MeasureLog;
use super::names::{Label, Names};
use super::recent::{Counts, Recent};
use super::recorder::{TOO_MANY_MEASURES, TOO_MANY_TASKS, too_many_requests};
use super::report::{ArrivalsRow, Report, RequestRow, TaskRow};
use super::series::Series;
use super::snapshot::{LiveRow, RunPhase, Snapshot};
use super::tally::{RequestTally, TaskTally, per_second};
use super::thresholds::Judges;
use super::users::Users;
use hdrhistogram::Histogram;
use scenarios::Scenario;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Errors that a snapshot shows.
const LIVE_ERRORS: usize = 20;
/// Points over time that a snapshot shows.
const LIVE_POINTS: usize = 120;

/// Everything measured in a run. Grows with the number of names, not of requests.
#[derive(Debug)]
pub struct Store {
    facts: Facts,
    requests: Table<RequestTally>,
    tasks: Table<TaskTally>,
    scenarios: Vec<Scenario>,
    users: Users,
    total: RequestTally,
    /// Latencies of all names since the last tick: gathered once, then added to the total and the series.
    fresh: Histogram<u64>,
    series: Series,
    by_name: ByName,
    recent: Recent,
    measures: MeasureLog,
    arrivals: ArrivalLog,
    generator: GeneratorLog,
    errors: ErrorLog,
    /// The cadences of cycles that were late.
    late: Exact,
    warnings: Arc<[String]>,
    judges: Judges,
    phase: RunPhase,
    /// The report that snapshots carry, once a view has asked for it.
    latest: Option<Arc<Report>>,
    /// The last tick, and where the measurement begins, both since the start of the run.
    now: Duration,
    origin: Duration,
}

/// Rows by name, each shard's numbers translated to them.
#[derive(Debug)]
struct Table<T> {
    names: Names,
    rows: Vec<T>,
    /// Per shard: its number of a name to the row.
    memo: HashMap<usize, Vec<Option<u32>>>,
}

impl Store {
    /// An empty store.
    pub fn new(facts: Facts) -> Self {
        Store {
            facts,
            requests: Table::new(),
            tasks: Table::new(),
            scenarios: Vec::new(),
            users: Users::default(),
            total: RequestTally::default(),
            fresh: latency::histogram(),
            series: Series::default(),
            by_name: ByName::default(),
            recent: Recent::default(),
            measures: MeasureLog::default(),
            arrivals: ArrivalLog::default(),
            generator: GeneratorLog::default(),
            errors: ErrorLog::default(),
            late: Exact::default(),
            warnings: Arc::new([]),
            judges: Judges::default(),
            phase: RunPhase::Running,
            latest: None,
            now: Duration::ZERO,
            origin: Duration::ZERO,
        }
    }

    /// Adds what a shard measured. Returns the delta, emptied, for that shard's
    /// [`Recorder::recycle`](super::Recorder::recycle).
    pub fn merge(&mut self, mut delta: Delta) -> Delta {
        self.merge_requests(&delta);
        self.merge_filled(&delta);
        for (id, row) in delta.tasks.iter().enumerate() {
            if row.ok.count + row.failed.count > 0 {
                let (at, overflow) = self.tasks.row(delta.shard, id, &row.label);
                self.tasks.rows[at].merge(row);
                if overflow {
                    self.warn(TOO_MANY_TASKS.to_owned());
                }
            }
        }
        for row in &delta.scenarios {
            self.scenario(delta.shard, row);
        }
        if self.measures.merge(&delta) {
            self.warn(TOO_MANY_MEASURES.to_owned());
        }
        self.arrivals.merge(&delta.arrivals);
        self.generator.add(delta.shard, &delta.effort);
        self.errors
            .merge(&delta, self.now.saturating_sub(self.origin));
        for warning in delta.warnings.drain(..) {
            self.warn(warning);
        }
        delta.clear();
        delta
    }

    /// Ends a tick at `now` since the start of the run and shows the run as it is.
    pub fn tick(&mut self, now: Duration) -> Arc<Snapshot> {
        self.now = now;
        self.gather();
        self.users.tick();
        for scenario in &mut self.scenarios {
            scenario.users.tick();
        }
        self.recent.tick(now);
        self.by_name.tick(self.measured(now));
        let users = self.users.now();
        self.series
            .tick(self.measured(now), users, &mut self.generator);
        self.look();
        Arc::new(self.snapshot())
    }

    /// Forgets everything counted so far; users at work, names and warnings stay. Figures cover the time
    /// from `now` on.
    pub fn reset(&mut self, now: Duration) {
        (self.now, self.origin) = (now, now);
        self.requests.clear();
        self.tasks.clear();
        self.users.reset();
        for scenario in &mut self.scenarios {
            scenario.users.reset();
            scenario.iterations = 0;
        }
        self.total = RequestTally::default();
        self.fresh.reset();
        self.series = Series::default();
        self.by_name = ByName::default();
        self.recent = Recent::starting(now);
        self.measures.clear();
        self.arrivals = ArrivalLog::default();
        self.generator = GeneratorLog::default();
        self.errors = ErrorLog::default();
        self.late = Exact::default();
        self.judges.reset();
    }

    /// The order of rows from now on, as [`Facts::order`].
    pub fn order_by(&mut self, order: Vec<(String, String)>) {
        self.facts.order = order;
    }

    /// How far the run has come, for views.
    pub fn enter(&mut self, phase: RunPhase) {
        self.phase = phase;
    }

    /// Gives snapshots the report as it is now.
    pub fn show_report(&mut self) {
        self.latest = Some(Arc::new(self.report(self.now)));
    }

    /// Passes a warning on to every view and the report, once.
    pub fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings = self.warnings.iter().cloned().chain([warning]).collect();
        }
    }

    /// The run so far, `elapsed` since its start. Changes no figure: it may be asked for at any time.
    pub fn report(&mut self, elapsed: Duration) -> Report {
        self.gather();
        let measured = self.measured(elapsed);
        let (checks, metrics) = self.measures.rows();
        let arrivals = self.arrivals.row();
        let (generator, saturated) = self.own_part(measured);
        let dropped = arrivals.as_ref().and_then(ArrivalsRow::warning);
        let requests = self
            .requests
            .named()
            .enumerate()
            .filter(|(_, (_, row))| row.counts.count() > 0);
        let tasks = self.tasks.named().filter(|(_, row)| row.runs() > 0);
        let mut report = Report {
            version: self.facts.version.clone(),
            plan: self.facts.plan.clone(),
            host: self.facts.host.clone(),
            started: self.facts.started.clone(),
            elapsed_s: measured.as_secs_f64(),
            users: self.users.peak(),
            seed: self.facts.seed,
            warnings: saturated
                .into_iter()
                .chain(self.warnings.iter().cloned())
                .chain(dropped)
                .collect(),
            requests: requests
                .map(|(at, (label, row))| RequestRow {
                    method: label.group.to_string(),
                    name: label.name.to_string(),
                    figures: row.figures(measured),
                    series: self.by_name.columns(at, measured),
                })
                .collect(),
            aggregated: self.total.figures(measured),
            scenarios: self.scenario_rows(Users::peak),
            tasks: tasks
                .map(|(label, row)| TaskRow {
                    scenario: label.group.to_string(),
                    name: label.name.to_string(),
                    runs: row.runs(),
                    failures: row.failed.count,
                    latency_ms: row.latency(),
                })
                .collect(),
            series: self
                .series
                .points(measured, self.users.now(), &self.generator),
            checks: checks.to_vec(),
            metrics: metrics.to_vec(),
            errors: self.errors.with_exemplars(),
            logs: Vec::new(),
            co_mitigation: self.co_mitigation(),
            thresholds: Vec::new(),
            arrivals,
            generator,
            warmup: None,
            earlier: Vec::new(),
        };
        report
            .requests
            .sort_by_key(|row| self.facts.place_of_name(&row.name));
        report
            .tasks
            .sort_by_key(|row| self.facts.place_of_task(row));
        self.judge(measured, &mut report);
        report
    }

    fn merge_requests(&mut self, delta: &Delta) {
        for (id, row) in delta.requests.iter().enumerate() {
            let (count, failures) = (row.counts.count(), row.counts.failed.count);
            if count == 0 {
                continue;
            }
            let (at, overflow) = self.requests.row(delta.shard, id, &row.label);
            if overflow {
                self.warn(too_many_requests());
            }
            self.requests.rows[at].merge(row);
            self.total.merge_counts(row);
            row.all.add_to(&mut self.fresh);
            self.generator.add_service(row);
            let exact = row.counts.ok.merged(&row.counts.failed);
            self.series.count(&exact, failures, row.counts.bytes);
            self.by_name.add(at, &exact, failures, &row.all);
            let requests = count;
            self.recent.add(at, Counts { requests, failures });
        }
    }

    /// Adds what came since the last time to the total and the series.
    fn gather(&mut self) {
        self.total.add_latencies(&self.fresh);
        self.series.add(&self.fresh);
        self.fresh.reset();
    }

    fn snapshot(&mut self) -> Snapshot {
        let measured = self.measured(self.now);
        let (checks, metrics) = self.measures.rows();
        let recent = &self.recent;
        let rows = self
            .requests
            .names
            .labels()
            .iter()
            .zip(&mut self.requests.rows);
        let mut rows: Vec<LiveRow> = rows
            .enumerate()
            .filter(|(_, (_, row))| row.counts.count() > 0)
            .map(|(at, (label, row))| live_row(label, row, measured, recent.rates(at)))
            .collect();
        rows.sort_by_cached_key(|row| self.facts.place_of_name(&row.name));
        Snapshot {
            elapsed: self.now,
            measured,
            users: self.users.now(),
            bytes: self.total.counts.bytes,
            total: live_row(
                &Label::default(),
                &mut self.total,
                measured,
                recent.total_rates(),
            ),
            rows,
            scenarios: self.scenario_rows(Users::now),
            checks,
            metrics,
            errors: self.errors.top(LIVE_ERRORS),
            dropped: self.arrivals.dropped_count(),
            connections: self.generator.connections_now(),
            warnings: self.warnings.clone(),
            thresholds: self.judges.current(),
            recent: self.series.last(LIVE_POINTS).to_vec(),
            phase: self.phase,
            report: self.latest.clone(),
        }
    }

    fn measured(&self, elapsed: Duration) -> Duration {
        elapsed.saturating_sub(self.origin)
    }
}

impl<T: Default> Table<T> {
    fn new() -> Self {
        Table {
            names: Names::default(),
            rows: Vec::new(),
            memo: HashMap::new(),
        }
    }

    /// The row of a shard's name, and whether it had to be counted with the others.
    fn row(&mut self, shard: usize, id: usize, label: &Label) -> (usize, bool) {
        let memo = self.memo.entry(shard).or_default();
        if let Some(Some(at)) = memo.get(id) {
            return (*at as usize, false);
        }
        let interned = self.names.intern(&label.group, &label.name);
        if memo.len() <= id {
            memo.resize(id + 1, None);
        }
        memo[id] = Some(interned.id);
        self.rows.resize_with(self.names.labels().len(), T::default);
        (interned.id as usize, interned.overflow)
    }

    /// Rows with their names, in the order of first appearance.
    fn named(&self) -> impl Iterator<Item = (&Arc<Label>, &T)> {
        self.names.labels().iter().zip(&self.rows)
    }

    fn clear(&mut self) {
        self.rows.fill_with(T::default);
    }
}

fn live_row(label: &Label, row: &mut RequestTally, measured: Duration, now: (f64, f64)) -> LiveRow {
    let [p50, p95, p99] = row.live();
    LiveRow {
        method: (&*label.group).into(),
        name: (&*label.name).into(),
        count: row.counts.count(),
        failures: row.counts.failed.count,
        rate: per_second(row.counts.count(), measured),
        rate_now: now.0,
        failures_now: now.1,
        p50,
        p95,
        p99,
        max: row.exact().max(),
    }
}

#[cfg(test)]
mod percentiles;
#[cfg(test)]
mod tests;
