//! The load of lgoose itself, here and on workers.

use super::family::{Family, FigureValue, by_status, counter, family, flag, gauge, latencies};
use lgoose_metrics::{LabelRow, LiveWorker, Report, Snapshot, WorkerState};

/// Returns how hard lgoose works, in the last second that is over.
pub(super) fn generator(now: &Snapshot) -> Vec<Family> {
    let last = now
        .recent
        .last()
        .map(|point| point.generator)
        .unwrap_or_default();
    vec![
        gauge(
            "generator_busy_ratio",
            "Share of its time that the busiest thread of lgoose is busy",
            last.busy,
        ),
        gauge(
            "generator_lag_seconds",
            "Mean delay of the timers of its latest thread",
            last.lag_ms / 1e3,
        ),
        gauge(
            "generator_saturated",
            "Whether lgoose and not the target sets the latency, 1 or 0",
            f64::from(u8::from(last.saturated)),
        ),
    ]
}

pub(super) fn workers(report: &Report, now: &Snapshot) -> Vec<Family> {
    let of = |name: &str| vec![("worker", name.to_owned())];
    let live = |figure: fn(&LiveWorker) -> FigureValue| {
        now.workers
            .iter()
            .map(move |row| (of(&row.name), figure(row)))
    };
    let labelled = report.by_label.iter();
    let label = |row: &LabelRow| vec![("label", row.label.clone())];
    vec![
        family(
            "worker_requests",
            "Requests of a worker",
            live(|row| counter(row.requests)),
        ),
        family(
            "worker_request_failures",
            "Failed requests of a worker",
            live(|row| counter(row.failures)),
        ),
        family(
            "worker_users",
            "Users at work on a worker",
            live(|row| FigureValue::Gauge(row.users as f64)),
        ),
        family(
            "worker_busy_ratio",
            "Share of its time that its busiest thread is busy",
            live(|row| FigureValue::Gauge(row.busy)),
        ),
        family(
            "worker_lag_seconds",
            "Mean delay of its timers",
            live(|row| FigureValue::Gauge(row.lag.as_secs_f64())),
        ),
        family(
            "worker_up",
            "Whether the worker is heard from, 1 or 0",
            live(|row| flag(row.state != WorkerState::Lost)),
        ),
        family(
            "label_requests",
            "Requests of all workers with a label",
            labelled
                .clone()
                .flat_map(|row| by_status(&label(row), &row.aggregated)),
        ),
        family(
            "label_request_failures",
            "Failed requests of all workers with a label",
            labelled
                .clone()
                .map(|row| (label(row), counter(row.aggregated.failures))),
        ),
        family(
            "label_request_duration_seconds",
            "Latency of the requests of all workers with a label",
            labelled.filter_map(|row| Some((label(row), latencies(&row.aggregated)?))),
        ),
    ]
}
