//! Makes the report of a group of shards so far.

use super::by_tag::TaggedRequests;
use super::group::ShardGroup;
use super::measured::MeasuredFigures;
use super::scenarios::ScenarioCounts;
use super::tally::{RequestTally, TaskTally};
use super::users::UserCounts;
use crate::delta::dropped_warning;
use crate::exemplars::NameTraces;
use crate::latencies::nanoseconds;
use crate::over_time::{Event, EventKind, NameSeries};
use crate::record::{GroupedName, ITERATION};
use crate::report::{
    Detail, GeneratorRow, Report, RequestRow, RunIdentity, ScenarioRow, SeriesPoint, TagRow,
    TaskRow,
};
use std::sync::Arc;
use std::time::Duration;

/// Builds a report up to `elapsed` since the start of the run, without a verdict; `silent` is the warning about
/// silences.
pub(super) fn build(
    group: &mut ShardGroup,
    elapsed: Duration,
    detail: Detail,
    silent: Option<String>,
) -> Report {
    let with_latencies = detail == Detail::Whole && !group.identity.no_intervals;
    let measured = group.time.active(elapsed);
    let (checks, metrics) = group.measured.measures.rows();
    let counts = group.measured.scenarios.arrivals();
    let arrivals = group.measured.arrivals.row(counts);
    let (origin, now) = (group.time.origin_ns(), nanoseconds(elapsed));
    let lasted = |from, to| group.time.lasted(from, to);
    let until = now.saturating_sub(origin);
    let users = group.measured.scenarios.users.now();
    let (all, generator) = (&mut group.measured.requests, &group.measured.generator);
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
    let (generator, saturated) = own_part(group, measured);
    let scenarios = scenarios_with_durations(group);
    let dropped = dropped_warning(&scenarios);
    let missing = group.measured.arrivals.missing(counts);
    let mut events = group.events.rows(origin);
    events.extend(saturations(&series));
    events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let omission = group.measured.requests.co_mitigation(&group.identity);
    let mut report = Report {
        version: group.identity.version.clone(),
        plan: group.identity.plan.clone(),
        host: group.identity.host.clone(),
        started: group.identity.started.clone(),
        elapsed_s: measured.as_secs_f64(),
        paused_s: Duration::from_nanos(until)
            .saturating_sub(measured)
            .as_secs_f64(),
        origin_ns: origin + group.identity.start_ns,
        users: group.measured.scenarios.users.peak(),
        seed: group.identity.seed,
        warnings: saturated
            .into_iter()
            .chain(group.warnings.all().iter().cloned())
            .chain(missing)
            .chain(dropped)
            .chain(silent)
            .chain(omission.as_ref().and_then(|rows| rows.warning()))
            .chain(group.events.warning())
            .collect(),
        requests,
        by_tag: match detail {
            Detail::Totals | Detail::Pages => Vec::new(),
            Detail::Whole | Detail::Live => tag_rows(group, measured),
        },
        aggregated: group.measured.requests.total.figures(measured),
        scenarios,
        tasks: tasks(group)
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
        errors: group.measured.errors.with_exemplars(),
        co_mitigation: omission,
        arrivals,
        generator,
        ..Report::default()
    };
    report
        .requests
        .sort_by_key(|row| group.identity.place_of_name(&row.name));
    report
        .tasks
        .sort_by_key(|row| group.identity.place_of_task(row));
    report
}

/// Returns the figures of each tag.
fn tag_rows(group: &ShardGroup, measured: Duration) -> Vec<TagRow> {
    let requests = &group.measured.requests;
    let labels = requests.by_label.names.labels();
    let tags = requests.by_tag.rows();
    tags.filter(|(_, tagged)| tagged.total.tally.has_figures())
        .map(|(tag, tagged)| tag_row(tag, tagged, labels, &group.identity, measured))
        .collect()
}

/// Returns the tasks that have run.
pub(super) fn tasks(group: &ShardGroup) -> impl Iterator<Item = (&Arc<GroupedName>, &TaskTally)> {
    let rows = group.measured.tasks.named();
    rows.filter(|(label, row)| row.runs() > 0 && *label.name != *ITERATION)
}

/// Returns the rows of scenarios with their most users and how long iterations took.
fn scenarios_with_durations(group: &ShardGroup) -> Vec<ScenarioRow> {
    let mut rows = scenario_rows(group, UserCounts::peak);
    for (label, tally) in group.measured.tasks.named() {
        let row = rows.iter_mut().find(|row| *row.name == *label.group);
        if let (ITERATION, Some(row)) = (&*label.name, row) {
            row.iteration_ms = tally.latency();
        }
    }
    rows
}

/// Returns the rows of scenarios in the order of the plan; `users` chooses their figure of users.
pub(super) fn scenario_rows(group: &ShardGroup, users: fn(&UserCounts) -> u64) -> Vec<ScenarioRow> {
    let row = |scenario: &ScenarioCounts| ScenarioRow {
        name: scenario.name.to_string(),
        users: users(&scenario.users),
        iterations: scenario.iterations,
        iterations_failed: scenario.load.failed,
        arrivals: Some(scenario.load.arrivals()).filter(|counts| counts.due() > 0),
        users_started: scenario.load.users,
        users_lost: scenario.load.lost,
        iteration_ms: None,
    };
    let mut rows: Vec<ScenarioRow> = group.measured.scenarios.rows.iter().map(row).collect();
    rows.sort_by_key(|row| group.identity.place_of_scenario(row));
    rows
}

/// Returns the load on lgoose itgroup, and a warning about the latencies if lgoose itgroup set them.
fn own_part(group: &ShardGroup, measured: Duration) -> (Option<GeneratorRow>, Option<String>) {
    let MeasuredFigures {
        requests,
        scenarios,
        generator,
        ..
    } = &group.measured;
    let whole = requests.latencies(scenarios.users.peak(), measured);
    let users = scenarios.users.now();
    let open = |second| requests.series.open_latencies(second, users);
    let row = generator.row(whole.as_ref(), open);
    let mut warning = row.and_then(|row| row.warning(whole.as_ref(), generator.slow(open)));
    if let (Some(warning), true) = (&mut warning, group.identity.has_own_site()) {
        warning.push_str("; expected here: the built-in site has the same cores");
    }
    (row, warning)
}

/// Returns the figures of one tag.
pub(super) fn tag_row(
    tag: String,
    tagged: &TaggedRequests,
    labels: &[Arc<GroupedName>],
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
pub(super) fn rows<'a>(
    named: impl Iterator<Item = (&'a Arc<GroupedName>, &'a RequestTally)>,
    measured: Duration,
    mut series: impl FnMut(usize) -> NameSeries,
) -> Vec<RequestRow> {
    let rows = named.enumerate();
    rows.filter(|(_, (_, row))| row.has_figures())
        .map(|(at, (label, row))| {
            let traced = row.traced.as_deref();
            RequestRow {
                method: label.group.to_string(),
                name: label.name.to_string(),
                figures: row.figures(measured),
                series: series(at),
                slowest: row.slowest.list(),
                traced: traced.map(NameTraces::slowest).unwrap_or_default(),
                latest_traces: traced.map(NameTraces::latest).unwrap_or_default(),
                latest_failed_trace: traced.and_then(NameTraces::latest_failed),
            }
        })
        .collect()
}

/// Returns the stretches in which lgoose and not the target set the latency.
pub fn saturations(series: &[SeriesPoint]) -> Vec<Event> {
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
