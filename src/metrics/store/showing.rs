//! Makes the snapshots of a run for live views.

use super::super::names::Label;
use super::super::snapshot::{LiveRow, Snapshot};
use super::super::tally::{RequestTally, per_second};
use super::super::users::Users;
use super::Store;
use std::time::Duration;

/// The most errors in a snapshot.
const LIVE_ERRORS: usize = 20;
/// The most points over time in a snapshot.
const LIVE_POINTS: usize = 120;
/// Events that a snapshot shows.
const LIVE_EVENTS: usize = 50;

impl Store {
    pub(super) fn snapshot(&mut self) -> Snapshot {
        let measured = self.active(self.now);
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
            .map(|(at, (label, row))| LiveRow {
                worst_now: self.by_name.worst_now(at),
                ..live_row(label, row, measured, recent.rates(at))
            })
            .collect();
        rows.sort_by_cached_key(|row| self.identity.place_of_name(&row.name));
        let ok = self.total.live_ok();
        Snapshot {
            elapsed: self.now,
            measured: self.measured(self.now),
            active: measured,
            users: self.users.now(),
            bytes: self.total.counts.bytes,
            total: live_row(
                &Label::default(),
                &mut self.total,
                measured,
                recent.total_rates(),
            ),
            ok,
            rows,
            scenarios: self.scenario_rows(Users::now),
            checks,
            metrics,
            errors: self.errors.top(LIVE_ERRORS),
            dropped: self.arrivals.dropped_count(),
            late_p99: self.arrivals.late_p99(),
            connections: self.generator.connections_now(),
            warnings: self.warnings.clone(),
            thresholds: self.current_thresholds(),
            recent: self.series.last(LIVE_POINTS),
            events: self.events.last(LIVE_EVENTS, self.origin_ns()),
            phase: self.phase,
            wanted: self.wanted,
            played: self.played,
            workers: self.workers.live(self.now, self.origin),
        }
    }
}

fn live_row(label: &Label, row: &mut RequestTally, measured: Duration, now: (f64, f64)) -> LiveRow {
    let [p50, p95, p99] = row.live();
    LiveRow {
        method: (&*label.group).into(),
        name: (&*label.name).into(),
        count: row.counts.count(),
        failures: row.counts.failures(),
        rate: per_second(row.counts.count(), measured),
        rate_now: now.0,
        failures_now: now.1,
        p50,
        p95,
        p99,
        max: row.exact().max(),
        worst_now: Default::default(),
    }
}
