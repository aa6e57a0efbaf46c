//! Makes the snapshots of a group of shards for live views.

use super::group::ShardGroup;
use super::reporting;
use super::tally::{RequestTally, per_second};
use super::users::UserCounts;
use crate::over_time::RecentRates;
use crate::record::GroupedName;
use crate::snapshot::{
    LiveArrivals, LiveLoad, LiveRequests, LiveRow, LiveTag, LiveTask, Progress, Snapshot,
};
use std::sync::Arc;
use std::time::Duration;

/// The most errors in a snapshot.
const LIVE_ERRORS: usize = 20;
/// The most points over time in a snapshot.
const LIVE_POINTS: usize = 120;
/// Events that a snapshot shows.
const LIVE_EVENTS: usize = 50;

/// Makes a snapshot of the whole run, apart from its workers and the thresholds of their labels.
pub(super) fn snapshot(
    group: &mut ShardGroup,
    progress: Progress,
    loads: Arc<[LiveLoad]>,
) -> Snapshot {
    let now = group.time.now();
    let active = group.time.active(now);
    let (checks, metrics) = group.measured.measures.rows();
    let requests = &mut group.measured.requests;
    let recent = &requests.recent;
    let labels = requests.by_label.names.labels().iter();
    let rows = labels.zip(&mut requests.by_label.rows);
    let mut rows: Vec<LiveRow> = rows
        .enumerate()
        .filter(|(_, (_, row))| row.is_live())
        .map(|(at, (label, row))| LiveRow {
            worst_now: requests.series_by_name.worst_now(at),
            ..live_row(label, row, active, recent.rates(at))
        })
        .collect();
    rows.sort_by_cached_key(|row| group.identity.place_of_name(&row.name));
    let total = &mut requests.total;
    let requests = LiveRequests {
        ok: total.live_ok(),
        bytes: total.counts.traffic.received,
        bytes_sent: total.counts.traffic.sent,
        total: live_row(&GroupedName::default(), total, active, recent.total_rates()),
        rows,
    };
    let arrivals = group.measured.scenarios.arrivals();
    let tasks = reporting::tasks(group).map(|(label, row)| LiveTask {
        scenario: (*label.group).into(),
        name: (*label.name).into(),
        runs: row.runs(),
        failures: row.failed.count,
    });
    let tasks: Vec<LiveTask> = tasks.collect();
    Snapshot {
        progress: Progress {
            elapsed: now,
            measured: group.time.measured(now),
            active,
            ..progress
        },
        loads,
        users: group.measured.scenarios.users.now(),
        requests,
        tags: group.measured.requests.by_tag.texts(),
        scenarios: reporting::scenario_rows(group, UserCounts::now),
        tasks,
        checks,
        metrics,
        errors: group.measured.errors.top(LIVE_ERRORS),
        arrivals: LiveArrivals {
            started: arrivals.started,
            dropped: arrivals.dropped,
            late_p99: group.measured.arrivals.late_p99(),
        },
        connections: group.measured.generator.connections_now(),
        warnings: group.warnings.all().clone(),
        thresholds: group.judges.current(),
        recent: group.measured.requests.series.last(LIVE_POINTS),
        events: group.events.last(LIVE_EVENTS, group.time.origin_ns()),
        workers: Arc::default(),
    }
}

/// Returns the requests of one tag so far, in full if wanted; `None` if there are none.
pub(super) fn live_tag(group: &mut ShardGroup, tag: &str, in_full: bool) -> Option<LiveTag> {
    let active = group.time.active(group.time.now());
    let requests = &mut group.measured.requests;
    let labels = requests.by_label.names.labels();
    let (tagged, recent) = requests.by_tag.get_mut(tag)?;
    if !tagged.total.tally.is_live() {
        return None;
    }
    let row = in_full
        .then(|| reporting::tag_row(tag.to_owned(), tagged, labels, &group.identity, active));
    let named = tagged.names.iter_mut();
    let mut rows: Vec<LiveRow> = named
        .filter(|(_, row)| row.tally.is_live())
        .map(|(at, row)| {
            let now = row.rates(recent);
            live_row(&labels[*at], &mut row.tally, active, now)
        })
        .collect();
    rows.sort_by_cached_key(|row| group.identity.place_of_name(&row.name));
    let now = tagged.total.rates(recent);
    let total = &mut tagged.total.tally;
    let requests = LiveRequests {
        ok: total.live_ok(),
        bytes: total.counts.traffic.received,
        bytes_sent: total.counts.traffic.sent,
        total: live_row(&GroupedName::default(), total, active, now),
        rows,
    };
    Some(LiveTag {
        tag: tag.into(),
        requests,
        row,
    })
}

fn live_row(
    label: &GroupedName,
    row: &mut RequestTally,
    measured: Duration,
    now: RecentRates,
) -> LiveRow {
    let [p50, p95, p99] = row.live();
    LiveRow {
        method: (&*label.group).into(),
        name: (&*label.name).into(),
        count: row.counts.count(),
        failures: row.counts.failures(),
        messages: row.counts.traffic.messages_received,
        rate: per_second(row.counts.count(), measured),
        rate_now: now.requests,
        failures_now: now.failures,
        p50,
        p95,
        p99,
        max: row.exact().max(),
        worst_now: Default::default(),
    }
}
