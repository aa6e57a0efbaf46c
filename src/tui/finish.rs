//! The view of a run that is over: the same pages, made from the report that is printed.

use super::state::{Dialog, Finished, State};
use crate::metrics::{
    Aim, Figures, LiveRequests, LiveRow, Progress, Report, RunPhase, SeriesPoint, Snapshot,
    ThresholdRow, VerdictResult,
};
use crate::units::counted;
use std::sync::Arc;
use std::time::Duration;

/// Points of a report that are looked at again.
const POINTS: usize = 120;

impl State {
    /// Shows the report of the run, which is over, from now on.
    pub(crate) fn finish(&mut self, report: &Arc<Report>) -> Arc<Snapshot> {
        let last = self.moment.take().unwrap_or_default();
        let last = Arc::new(last_snapshot(&last, report));
        self.look(&last);
        self.moment = Some(last.clone());
        self.report = Some(report.clone());
        let verdict = report.verdict.as_ref();
        let after = report.ending.as_ref().map(|ending| ending.at_s);
        self.finished = Some(Finished {
            after: after
                .and_then(|at| Duration::try_from_secs_f64(at).ok())
                .map_or(last.progress.elapsed, |at| at.max(last.progress.elapsed)),
            verdict: told(&report.thresholds),
            passed: verdict.is_none_or(|verdict| verdict.result != VerdictResult::Failed),
        });
        // What they ask for is past.
        if matches!(self.dialog, Dialog::Quit | Dialog::Reset | Dialog::Users(_)) {
            self.dialog = Dialog::None;
        }
        self.notice.clear();
        last
    }
}

/// `5 of 6 thresholds`; nothing without any.
fn told(thresholds: &[ThresholdRow]) -> String {
    let held = thresholds.iter().filter(|row| row.passed).count();
    match thresholds.len() {
        0 => String::new(),
        all => format!("{held} of {}", counted(all as u64, "threshold")),
    }
}

/// The last picture of a run with the figures of its report: one that was taken before the end lacks some.
fn last_snapshot(last: &Snapshot, report: &Report) -> Snapshot {
    let now = |row: &LiveRow| (row.rate_now, row.failures_now, row.worst_now);
    let rows = report.requests.iter().map(|request| {
        let known = last
            .requests
            .rows
            .iter()
            .find(|row| *row.method == *request.method && *row.name == *request.name);
        let (rate_now, failures_now, worst_now) = known.map(now).unwrap_or_default();
        LiveRow {
            method: request.method.as_str().into(),
            name: request.name.as_str().into(),
            rate_now,
            failures_now,
            worst_now,
            ..row(&request.figures)
        }
    });
    let ok = report.aggregated.latency_ok_ms;
    Snapshot {
        progress: Progress {
            phase: RunPhase::Stopping,
            wanted: Aim {
                users: 0,
                rate: None,
                ..last.progress.wanted
            },
            ..last.progress
        },
        requests: LiveRequests {
            rows: rows.collect(),
            total: LiveRow {
                rate_now: report.aggregated.rate,
                ..row(&report.aggregated)
            },
            ok: ok.map_or_else(Default::default, |ok| [ok.p50, ok.p95, ok.p99].map(time)),
            bytes: report.aggregated.bytes,
        },
        thresholds: report.thresholds.clone(),
        checks: report.checks.clone().into(),
        metrics: report.metrics.clone().into(),
        errors: report.errors.clone(),
        warnings: report.warnings.clone().into(),
        recent: recent(report),
        events: report.events.clone(),
        users: 0,
        ..last.clone()
    }
}

/// The last points of the report; the earlier ones are known.
fn recent(report: &Report) -> Vec<SeriesPoint> {
    let from = report.series.len().saturating_sub(POINTS);
    let points = report.series[from..].iter();
    points
        .map(|point| SeriesPoint {
            histogram: String::new(),
            ..point.clone()
        })
        .collect()
}

fn row(figures: &Figures) -> LiveRow {
    let mut row = LiveRow {
        count: figures.count,
        failures: figures.failures,
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
    Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default()
}
