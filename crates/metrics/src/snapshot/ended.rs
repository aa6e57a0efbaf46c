//! Snapshot of a run that is over, made from its report.

use crate::report::{Figures, Report, RequestRow, ScenarioRow, SeriesPoint, TagRow};
use crate::snapshot::{
    Aim, LiveArrivals, LiveRequests, LiveRow, LiveTag, LiveWorker, Progress, RunPhase, Snapshot,
};
use std::sync::Arc;
use std::time::Duration;

/// Points of a report that are in a snapshot.
const POINTS: usize = 120;

impl Snapshot {
    /// Returns this snapshot, the last of a run, with the figures of the report: a snapshot taken before the end
    /// lacks some.
    pub fn ended(&self, report: &Report) -> Snapshot {
        let now = |row: &LiveRow| (row.rate_now, row.failures_now, row.worst_now);
        let rows = report.requests.iter().map(|request| {
            let existing = self
                .requests
                .rows
                .iter()
                .find(|row| *row.method == *request.method && *row.name == *request.name);
            let (rate_now, failures_now, worst_now) = existing.map(now).unwrap_or_default();
            LiveRow {
                rate_now,
                failures_now,
                worst_now,
                ..row(request)
            }
        });
        let tags = report.by_tag.iter().map(|row| row.tag.as_str().into());
        Snapshot {
            progress: Progress {
                phase: RunPhase::Stopping,
                wanted: Aim {
                    users: 0,
                    rate: None,
                    ..self.progress.wanted
                },
                active: seconds(report.elapsed_s),
                measured: seconds(report.elapsed_s + report.paused_s),
                ..self.progress
            },
            requests: requests(rows.collect(), &report.aggregated),
            loads: Arc::default(),
            tags: tags.collect(),
            thresholds: report.thresholds.clone(),
            checks: report.checks.clone().into(),
            metrics: report.metrics.clone().into(),
            errors: report.errors.clone(),
            warnings: report.warnings.clone().into(),
            recent: recent(report),
            events: report.events.clone(),
            users: 0,
            connections: 0,
            arrivals: LiveArrivals {
                started: report
                    .arrivals
                    .map_or(self.arrivals.started, |row| row.started),
                dropped: report
                    .arrivals
                    .map_or(self.arrivals.dropped, |row| row.dropped),
                ..self.arrivals
            },
            scenarios: scenarios(report),
            workers: workers(&self.workers, report),
            ..self.clone()
        }
    }
}

/// The figures of a tag in the report of a run that is over.
impl From<&TagRow> for LiveTag {
    fn from(tag: &TagRow) -> LiveTag {
        LiveTag {
            tag: tag.tag.as_str().into(),
            requests: requests(tag.requests.iter().map(row).collect(), &tag.aggregated),
            row: Some(tag.clone()),
        }
    }
}

fn requests(rows: Vec<LiveRow>, all: &Figures) -> LiveRequests {
    let ok = all.latency_ok_ms;
    LiveRequests {
        rows,
        total: LiveRow {
            rate_now: all.rate,
            ..figures(all)
        },
        ok: ok.map_or_else(Default::default, |ok| [ok.p50, ok.p95, ok.p99].map(time)),
        bytes: all.bytes,
        bytes_sent: all.bytes_sent.unwrap_or_default(),
    }
}

fn row(request: &RequestRow) -> LiveRow {
    LiveRow {
        method: request.method.as_str().into(),
        name: request.name.as_str().into(),
        ..figures(&request.figures)
    }
}

fn scenarios(report: &Report) -> Vec<ScenarioRow> {
    let rows = report.scenarios.iter();
    rows.map(|row| ScenarioRow {
        users: 0,
        iteration_ms: None,
        ..row.clone()
    })
    .collect()
}

fn workers(last: &[LiveWorker], report: &Report) -> Arc<[LiveWorker]> {
    let rows = last.iter().map(|worker| {
        let row = report.workers.iter().find(|row| *row.name == *worker.name);
        match row {
            Some(row) => LiveWorker {
                users: 0,
                requests: row.requests,
                failures: row.failures,
                p95: row.p95_ms.map_or(worker.p95, time),
                state: row.state,
                ..worker.clone()
            },
            None => worker.clone(),
        }
    });
    rows.collect()
}

/// Returns the last points of the report; viewers already know the earlier ones.
fn recent(report: &Report) -> Vec<SeriesPoint> {
    let from = report.series.len().saturating_sub(POINTS);
    let points = report.series[from..].iter();
    points
        .map(|point| SeriesPoint {
            histogram: String::new(),
            failed_histogram: String::new(),
            ..point.clone()
        })
        .collect()
}

fn figures(figures: &Figures) -> LiveRow {
    let mut row = LiveRow {
        count: figures.count,
        failures: figures.failures,
        messages: figures.messages.map_or(0, |messages| messages.received),
        rate: figures.rate,
        ..LiveRow::default()
    };
    if let Some(latency) = &figures.latency_ms {
        [row.p50, row.p95, row.p99, row.max] =
            [latency.p50, latency.p95, latency.p99, latency.max].map(time);
    }
    row
}

fn time(ms: f64) -> Duration {
    seconds(ms / 1e3)
}

fn seconds(s: f64) -> Duration {
    Duration::try_from_secs_f64(s).unwrap_or_default()
}
