//! The metrics, with their names and labels. `docs/web.md` lists them.

use super::family::{
    Family, FigureValue, Labels, TraceExemplar, by_status, counter, family, flag, gauge, latencies,
    with,
};
use super::{machines, plan};
use jiff::Timestamp;
use lgoose_metrics::{
    Figures, Latency, LatestTrace, Messages, Report, RequestRow, RunPhase, Snapshot,
};

/// Returns all metrics of a run.
pub fn families(report: &Report, now: &Snapshot) -> Vec<Family> {
    let mut families = requests(report);
    families.extend(load(report, now));
    families.extend(plan::judged(report));
    families.extend(plan::custom(&report.metrics));
    families.extend(machines::generator(now));
    families.extend(machines::workers(report, now));
    families
}

/// Returns the labels of a request.
fn named(row: &RequestRow) -> Labels {
    vec![("method", row.method.clone()), ("name", row.name.clone())]
}

fn requests(report: &Report) -> Vec<Family> {
    let started: Timestamp = report.started.parse().unwrap_or_default();
    let exemplar = |latest: &LatestTrace, value: f64| TraceExemplar {
        trace_id: format!("{:032x}", latest.trace_id),
        value,
        at_s: started.as_millisecond() as f64 / 1e3 + latest.end_ns as f64 / 1e9,
    };
    let rows = &report.requests;
    let each = |figure: fn(&Figures) -> FigureValue| {
        rows.iter()
            .map(move |row| (named(row), figure(&row.figures)))
    };
    let mut failures = family(
        "request_failures",
        "Failed requests",
        each(|all| counter(all.failures)),
    );
    for (at, row) in rows.iter().enumerate() {
        let failed = row.latest_failed_trace.iter();
        let failed = failed.map(|latest| ((at, 0), exemplar(latest, 1.0)));
        failures.exemplars.extend(failed);
    }
    let with_latencies = rows
        .iter()
        .filter_map(|row| Some((row, latencies(&row.figures)?)));
    let (timed, figures): (Vec<_>, Vec<_>) = with_latencies.unzip();
    let mut durations = family(
        "request_duration_seconds",
        "Latency of all requests, failed ones at the time they took",
        timed.iter().map(|row| named(row)).zip(figures),
    );
    for (at, row) in timed.iter().enumerate() {
        let latest = row.latest_traces.iter();
        let latest = latest.map(|(bucket, latest)| {
            let place = (at, usize::from(*bucket));
            (place, exemplar(latest, latest.latency_s))
        });
        durations.exemplars.extend(latest);
    }
    vec![
        family(
            "requests",
            "Requests by the status of their final response; 0 is no response",
            rows.iter()
                .flat_map(|row| by_status(&named(row), &row.figures)),
        ),
        failures,
        family(
            "received_bytes",
            "Bytes received",
            each(|all| counter(all.bytes)),
        ),
        family(
            "sent_bytes",
            "Bytes sent",
            each(|all| counter(all.bytes_sent.unwrap_or_default())),
        ),
        durations,
        of_messages(
            "received_messages",
            "Messages received, of streams and the like",
            rows,
            |all| all.received,
        ),
        of_messages("sent_messages", "Messages sent", rows, |all| all.sent),
        quantiles(
            "first_event_seconds",
            "Time from the beginning of a stream to its first message",
            rows,
            |all| all.first_event_ms,
        ),
        quantiles(
            "event_gap_seconds",
            "Time from one message of a stream to the next",
            rows,
            |all| all.event_gap_ms,
        ),
    ]
}

/// Returns a count of messages of the rows that have some.
fn of_messages(
    name: &'static str,
    help: &'static str,
    rows: &[RequestRow],
    pick: fn(Messages) -> u64,
) -> Family {
    let value = |row: &RequestRow| Some((named(row), counter(pick(row.figures.messages?))));
    family(name, help, rows.iter().filter_map(value))
}

/// Returns quantiles of times, of the rows that have some.
fn quantiles(
    name: &'static str,
    help: &'static str,
    rows: &[RequestRow],
    pick: fn(&Figures) -> Option<Latency>,
) -> Family {
    let values = rows.iter();
    let values = values.flat_map(|row| quantiles_of(pick(&row.figures), named(row)));
    family(name, help, values)
}

/// Returns the quantiles of times, in seconds.
pub(super) fn quantiles_of(
    times: Option<Latency>,
    labels: Labels,
) -> impl Iterator<Item = (Labels, FigureValue)> {
    let of = |times: Latency| [("0.5", times.p50), ("0.95", times.p95), ("0.99", times.p99)];
    let each = times.map(of).into_iter().flatten();
    each.map(move |(quantile, ms)| {
        let labels = with(labels.clone(), "quantile", quantile);
        (labels, FigureValue::Gauge(ms / 1e3))
    })
}

fn load(report: &Report, now: &Snapshot) -> Vec<Family> {
    let scenario = |name: &str| vec![("scenario", name.to_owned())];
    let aim = now.progress.wanted;
    let phase = now.progress.phase;
    let run = vec![
        ("plan", report.plan.clone()),
        ("host", report.host.clone()),
        ("version", report.version.clone()),
    ];
    let mut families = vec![
        family("run", "The run, always 1", [(run, FigureValue::Gauge(1.0))]),
        family(
            "phase",
            "The phase of the run, 1 for the current one",
            RunPhase::ALL.map(|one| (vec![("phase", one.name().to_owned())], flag(one == phase))),
        ),
        gauge(
            "run_seconds",
            "Seconds since the run began",
            now.progress.elapsed.as_secs_f64(),
        ),
        gauge(
            "measured_seconds",
            "Seconds that the figures cover, without pauses",
            report.elapsed_s,
        ),
        gauge("users", "Users at work now", now.users as f64),
        gauge(
            "users_wanted",
            "Users that the run is heading for",
            aim.users as f64,
        ),
        family(
            "scenario_users",
            "Users of a scenario now",
            now.scenarios
                .iter()
                .map(|row| (scenario(&row.name), FigureValue::Gauge(row.users as f64))),
        ),
        family(
            "iterations",
            "Iterations that were completed",
            now.scenarios
                .iter()
                .map(|row| (scenario(&row.name), counter(row.iterations))),
        ),
        family(
            "users_lost",
            "Users that an error ended in on_start",
            now.scenarios
                .iter()
                .map(|row| (scenario(&row.name), counter(row.users_lost))),
        ),
        gauge(
            "connections",
            "Connections open now",
            now.connections as f64,
        ),
    ];
    if let Some(rate) = aim.rate {
        families.push(gauge(
            "rate_wanted",
            "Iterations per second that the run is heading for",
            rate,
        ));
    }
    let at_rate = now.scenarios.iter().filter_map(|row| {
        let counts = row.arrivals?;
        Some((scenario(&row.name), counter(counts.dropped)))
    });
    let at_rate: Vec<_> = at_rate.collect();
    if !at_rate.is_empty() {
        let help = "Iterations that found no free user, in a run at a rate";
        families.push(family("iterations_dropped", help, at_rate));
    }
    families
}
