//! Makes the snapshots of a run for live views.

use super::super::names::Label;
use super::super::snapshot::{LiveArrivals, LiveRequests, LiveRow, LiveTag, Progress, Snapshot};
use super::super::tally::{RequestTally, per_second};
use super::super::users::Users;
use super::Store;
use super::reporting;
use std::time::Duration;

/// The most errors in a snapshot.
const LIVE_ERRORS: usize = 20;
/// The most points over time in a snapshot.
const LIVE_POINTS: usize = 120;
/// Events that a snapshot shows.
const LIVE_EVENTS: usize = 50;

impl Store {
    pub(super) fn snapshot(&mut self) -> Snapshot {
        let now = self.time.now();
        let active = self.time.active(now);
        let (checks, metrics) = self.measured.measures.rows();
        let requests = &mut self.measured.requests;
        let recent = &requests.recent;
        let labels = requests.by_label.names.labels().iter();
        let rows = labels.zip(&mut requests.by_label.rows);
        let mut rows: Vec<LiveRow> = rows
            .enumerate()
            .filter(|(_, (_, row))| row.counts.count() > 0)
            .map(|(at, (label, row))| LiveRow {
                worst_now: requests.series_by_name.worst_now(at),
                ..live_row(label, row, active, recent.rates(at))
            })
            .collect();
        rows.sort_by_cached_key(|row| self.identity.place_of_name(&row.name));
        let total = &mut requests.total;
        let requests = LiveRequests {
            ok: total.live_ok(),
            bytes: total.counts.bytes,
            total: live_row(&Label::default(), total, active, recent.total_rates()),
            rows,
        };
        let arrivals = &self.measured.arrivals;
        Snapshot {
            progress: Progress {
                elapsed: now,
                measured: self.time.measured(now),
                active,
                ..self.progress
            },
            loads: self.loads.clone(),
            users: self.measured.scenarios.users.now(),
            requests,
            tags: self.measured.requests.by_tag.texts(),
            scenarios: self.scenario_rows(Users::now),
            checks,
            metrics,
            errors: self.measured.errors.top(LIVE_ERRORS),
            arrivals: LiveArrivals {
                dropped: arrivals.dropped_count(),
                late_p99: arrivals.late_p99(),
            },
            connections: self.measured.generator.connections_now(),
            warnings: self.warnings.all().clone(),
            thresholds: self.current_thresholds(),
            recent: self.measured.requests.series.last(LIVE_POINTS),
            events: self.events.last(LIVE_EVENTS, self.time.origin_ns()),
            workers: self.workers.live(self.time.now(), self.time.origin()),
        }
    }
}

impl Store {
    /// Returns the requests of one tag so far, in full if wanted; `None` if there are none.
    pub(crate) fn live_tag(&mut self, tag: &str, in_full: bool) -> Option<LiveTag> {
        let active = self.time.active(self.time.now());
        let requests = &mut self.measured.requests;
        let labels = requests.by_label.names.labels();
        let (tagged, recent) = requests.by_tag.get_mut(tag)?;
        if tagged.total.tally.counts.count() == 0 {
            return None;
        }
        let row = in_full
            .then(|| reporting::tag_row(tag.to_owned(), tagged, labels, &self.identity, active));
        let named = tagged.names.iter_mut();
        let mut rows: Vec<LiveRow> = named
            .filter(|(_, row)| row.tally.counts.count() > 0)
            .map(|(at, row)| {
                let now = row.rates(recent);
                live_row(&labels[*at], &mut row.tally, active, now)
            })
            .collect();
        rows.sort_by_cached_key(|row| self.identity.place_of_name(&row.name));
        let now = tagged.total.rates(recent);
        let total = &mut tagged.total.tally;
        let requests = LiveRequests {
            ok: total.live_ok(),
            bytes: total.counts.bytes,
            total: live_row(&Label::default(), total, active, now),
            rows,
        };
        Some(LiveTag {
            tag: tag.into(),
            requests,
            row,
        })
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
