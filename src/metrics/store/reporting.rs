//! Makes the report of a run so far.

use super::super::columns::NameSeries;
use super::super::detail::Detail;
use super::super::events::{Event, EventKind};
use super::super::identity::RunIdentity;
use super::super::latency::nanoseconds;
use super::super::names::{ITERATION, Label};
use super::super::report::{
    ArrivalsRow, GeneratorRow, PartRow, Report, RequestRow, ScenarioRow, SeriesPoint, TagRow,
    TaskRow,
};
use super::super::tally::RequestTally;
use super::super::traced::Traced;
use super::super::users::Users;
use super::Store;
use super::by_tag::Tagged;
use super::measured::Measured;
use super::scenarios::Scenario;
use std::sync::Arc;
use std::time::Duration;

impl Store {
    /// Reports the run up to `elapsed` since its start. Changes no figure: it may be asked for at any time.
    pub(crate) fn report(&mut self, elapsed: Duration) -> Report {
        self.close_at(elapsed);
        self.complete(elapsed, Detail::Whole)
    }

    /// Closes what is over at `elapsed` since the start of the run.
    pub(super) fn close_at(&mut self, elapsed: Duration) {
        self.time.advance(elapsed);
        self.close();
    }

    /// Reports the run up to the last tick.
    pub(crate) fn report_so_far(&mut self, detail: Detail) -> Report {
        self.complete(self.time.now(), detail)
    }

    /// Builds the report with its workers, their labels and the verdicts.
    fn complete(&mut self, elapsed: Duration, detail: Detail) -> Report {
        let mut report = self.build(elapsed, detail);
        let (by_label, verdicts) = self.workers.labels(elapsed, detail);
        report.workers = self.workers.rows(self.time.origin());
        report.by_label = by_label;
        self.judge(elapsed, &mut report, verdicts);
        report
    }

    /// Builds a report without a verdict.
    pub(super) fn build(&mut self, elapsed: Duration, detail: Detail) -> Report {
        let whole = detail == Detail::Whole;
        let part = if whole { self.part(elapsed) } else { None };
        let with_latencies = whole && !self.identity.no_intervals;
        let measured = self.time.active(elapsed);
        let (checks, metrics) = self.measured.measures.rows();
        let arrivals = self.measured.arrivals.row();
        let (origin, now) = (self.time.origin_ns(), nanoseconds(elapsed));
        let lasted = |from, to| self.time.lasted(from, to);
        let until = now.saturating_sub(origin);
        let users = self.measured.scenarios.users.now();
        let (all, generator) = (&mut self.measured.requests, &self.measured.generator);
        let series = match detail {
            Detail::Totals => Vec::new(),
            _ => all
                .series
                .points(until, users, lasted, generator, with_latencies),
        };
        let by_name = &mut all.series_by_name;
        let requests = rows(all.by_label.named(), measured, |at| match detail {
            Detail::Totals => NameSeries::default(),
            _ => by_name.columns(at, until, lasted, with_latencies),
        });
        let (generator, saturated) = self.own_part(measured);
        let dropped = arrivals.as_ref().and_then(ArrivalsRow::warning);
        let tasks = self
            .measured
            .tasks
            .named()
            .filter(|(label, row)| row.runs() > 0 && *label.name != *ITERATION);
        let mut events = self.events.rows(origin);
        events.extend(saturations(&series));
        events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        let silent = self.silence_warning();
        let omission = self.measured.requests.co_mitigation(&self.identity);
        let mut report = Report {
            version: self.identity.version.clone(),
            plan: self.identity.plan.clone(),
            host: self.identity.host.clone(),
            started: self.identity.started.clone(),
            elapsed_s: measured.as_secs_f64(),
            part,
            paused_s: Duration::from_nanos(until)
                .saturating_sub(measured)
                .as_secs_f64(),
            origin_ns: origin + self.identity.begin_ns,
            users: self.measured.scenarios.users.peak(),
            seed: self.identity.seed,
            warnings: saturated
                .into_iter()
                .chain(self.warnings.all().iter().cloned())
                .chain(dropped)
                .chain(silent)
                .chain(omission.as_ref().and_then(|rows| rows.warning()))
                .chain(self.events.warning())
                .collect(),
            requests,
            by_tag: match detail {
                Detail::Totals | Detail::Pages => Vec::new(),
                Detail::Whole | Detail::Live => self.tag_rows(measured),
            },
            aggregated: self.measured.requests.total.figures(measured),
            start_stop: rows(self.start_stop.named(), Duration::ZERO, |_| {
                NameSeries::default()
            }),
            scenarios: self.scenarios_with_durations(),
            tasks: tasks
                .map(|(label, row)| TaskRow {
                    scenario: label.group.to_string(),
                    name: label.name.to_string(),
                    runs: row.runs(),
                    failures: row.failed.count,
                    latency_ms: row.latency(),
                })
                .collect(),
            series,
            events,
            checks: checks.to_vec(),
            metrics: metrics.to_vec(),
            errors: self.measured.errors.with_exemplars(),
            co_mitigation: omission,
            arrivals,
            generator,
            ..Report::default()
        };
        report
            .requests
            .sort_by_key(|row| self.identity.place_of_name(&row.name));
        report
            .tasks
            .sort_by_key(|row| self.identity.place_of_task(row));
        report
    }

    /// Returns the figures of each tag.
    fn tag_rows(&self, measured: Duration) -> Vec<TagRow> {
        let requests = &self.measured.requests;
        let labels = requests.by_label.names.labels();
        let tags = requests.by_tag.rows();
        tags.filter(|(_, tagged)| tagged.total.tally.counts.count() > 0)
            .map(|(tag, tagged)| tag_row(tag, tagged, labels, &self.identity, measured))
            .collect()
    }

    /// Returns the rows of scenarios with their most users and how long iterations took.
    fn scenarios_with_durations(&self) -> Vec<ScenarioRow> {
        let mut rows = self.scenario_rows(Users::peak);
        for (label, tally) in self.measured.tasks.named() {
            let row = rows.iter_mut().find(|row| *row.name == *label.group);
            if let (ITERATION, Some(row)) = (&*label.name, row) {
                row.iteration_ms = tally.latency();
            }
        }
        rows
    }

    /// Returns the rows of scenarios in the order of the plan; `users` chooses their figure of users.
    pub(super) fn scenario_rows(&self, users: fn(&Users) -> u64) -> Vec<ScenarioRow> {
        let row = |scenario: &Scenario| ScenarioRow {
            name: scenario.name.to_string(),
            users: users(&scenario.users),
            iterations: scenario.iterations,
            iteration_ms: None,
        };
        let mut rows: Vec<ScenarioRow> = self.measured.scenarios.rows.iter().map(row).collect();
        rows.sort_by_key(|row| self.identity.place_of_scenario(row));
        rows
    }

    /// Returns the load on lgoose itself, and a warning about the latencies if lgoose itself set them.
    fn own_part(&self, measured: Duration) -> (Option<GeneratorRow>, Option<String>) {
        let Measured {
            requests,
            scenarios,
            generator,
            ..
        } = &self.measured;
        let whole = requests.latencies(scenarios.users.peak(), measured);
        let users = scenarios.users.now();
        let open = |second| requests.series.open_latencies(second, users);
        let row = generator.row(whole.as_ref(), open);
        let mut warning = row.and_then(|row| row.warning(whole.as_ref()));
        if let (Some(warning), true) = (&mut warning, self.identity.has_own_site()) {
            warning.push_str("; expected here: the built-in site has the same cores");
        }
        (row, warning)
    }

    /// Returns the data for joining this report with those of the other parts; `None` if the run is no part.
    fn part(&mut self, elapsed: Duration) -> Option<PartRow> {
        let origin_ns = self.time.origin_ns();
        let recording = self.recording.as_mut()?;
        recording.close();
        Some(PartRow {
            number: recording.number,
            of: recording.of,
            shards: self.time.shards() as u64,
            epoch: self.time.epoch(),
            origin_ns,
            ended_ns: nanoseconds(elapsed),
            co_mitigation: self
                .identity
                .co_mitigation
                .map(|cadence| (cadence, self.identity.co_wanted)),
            order: self.identity.order.clone(),
            warnings: self.warnings.all().to_vec(),
            measured: recording.pieces.clone(),
            start_stop: recording.start_stop.clone(),
        })
    }
}

/// Returns the figures of one tag.
pub(super) fn tag_row(
    tag: String,
    tagged: &Tagged,
    labels: &[Arc<Label>],
    identity: &RunIdentity,
    measured: Duration,
) -> TagRow {
    let named = tagged.names.iter();
    let named = named.map(|(at, row)| (&labels[*at], &row.tally));
    let mut requests = rows(named, measured, |_| NameSeries::default());
    requests.sort_by_key(|row| identity.place_of_name(&row.name));
    TagRow {
        tag,
        requests,
        aggregated: tagged.total.tally.figures(measured),
    }
}

/// Makes one row for each name with requests.
fn rows<'a>(
    named: impl Iterator<Item = (&'a Arc<Label>, &'a RequestTally)>,
    measured: Duration,
    mut series: impl FnMut(usize) -> NameSeries,
) -> Vec<RequestRow> {
    let rows = named.enumerate();
    rows.filter(|(_, (_, row))| row.counts.count() > 0)
        .map(|(at, (label, row))| {
            let traced = row.traced.as_deref();
            RequestRow {
                method: label.group.to_string(),
                name: label.name.to_string(),
                figures: row.figures(measured),
                series: series(at),
                traced: traced.map(Traced::slowest).unwrap_or_default(),
                latest_traces: traced.map(Traced::latest).unwrap_or_default(),
                latest_failed_trace: traced.and_then(Traced::latest_failed),
            }
        })
        .collect()
}

/// Returns the stretches in which lgoose and not the target set the latency.
fn saturations(series: &[SeriesPoint]) -> Vec<Event> {
    let stretches = series.chunk_by(|a, b| a.generator.saturated == b.generator.saturated);
    let marked = stretches.filter(|points| points[0].generator.saturated);
    marked
        .map(|points| {
            let lasted: f64 = points.iter().map(|point| point.seconds).sum();
            Event {
                at_s: points[0].second as f64,
                lasted_s: Some(lasted),
                kind: EventKind::Saturation,
                text: "lgoose itself set the latency".to_owned(),
            }
        })
        .collect()
}
