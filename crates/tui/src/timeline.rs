//! The history of the whole run, second by second: the points of all snapshots and the events. Times are seconds since
//! the run began, across resets. Graphs are drawn from its columns.

use lgoose_metrics::{EventKind, SeriesPoint, Snapshot};
use std::collections::BTreeMap;
use std::time::Duration;

/// Points that are kept; beyond them, every second one is joined to the one before it.
const MAX_POINTS: usize = 20_000;
/// The last points of a snapshot that may have changed since the one before.
const LATE: usize = 6;
/// Events that are kept.
const MAX_MARKS: usize = 500;

/// Event at a moment, in one word.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EventMark {
    pub(super) at_s: f64,
    pub(super) word: &'static str,
}

/// A point, and how many seconds it stands for.
#[derive(Debug, Clone)]
struct TimelinePoint {
    span: u64,
    point: SeriesPoint,
}

/// The run so far.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// Points by the second of the run in which they began.
    points: BTreeMap<u64, TimelinePoint>,
    marks: Vec<EventMark>,
    /// Pauses that are over, and the beginning of the one under way, in seconds.
    pauses: Vec<(f64, f64)>,
    paused_since: Option<f64>,
    now_s: f64,
}

/// The points of some seconds together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TimelineColumn {
    /// Measured seconds in it; 0 where nothing is known.
    pub(super) seconds: f64,
    pub(super) count: u64,
    pub(super) failures: u64,
    pub(super) users: u64,
    pub(super) under_way: u64,
    pub(super) oldest_ms: f64,
    /// The highest p95 of any second in it.
    pub(super) ok_p95_ms: Option<f64>,
    pub(super) failed_p95_ms: Option<f64>,
    /// Whether all of it was a pause.
    pub(super) paused: bool,
}

impl TimelineColumn {
    fn add(&mut self, point: &SeriesPoint) {
        self.seconds += point.seconds;
        self.count += point.count;
        self.failures += point.failures;
        self.users = self.users.max(point.users);
        self.under_way = self.under_way.max(point.under_way);
        self.oldest_ms = self.oldest_ms.max(point.oldest_ms);
        let higher = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        self.ok_p95_ms = higher(self.ok_p95_ms, point.latency.ok_p95_ms);
        self.failed_p95_ms = higher(self.failed_p95_ms, point.latency.failed_p95_ms);
    }

    /// Returns the requests per second; `None` where nothing was measured.
    pub(super) fn rate(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.count as f64 / self.seconds)
    }

    pub(super) fn failure_rate(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.failures as f64 / self.seconds)
    }
}

impl Timeline {
    /// Takes the new points of a snapshot.
    pub(super) fn look(&mut self, snapshot: &Snapshot) {
        let origin = snapshot.progress.measured_since();
        self.now_s = snapshot.progress.elapsed.as_secs_f64();
        self.look_at_pause(snapshot);
        self.look_at_events(snapshot, origin);
        let recent = &snapshot.recent;
        let from = if self.points.is_empty() {
            0
        } else {
            // Seconds that are over and known do not change any more.
            let is_stored =
                |point: &SeriesPoint| self.points.contains_key(&(origin.as_secs() + point.second));
            let new = recent.iter().position(|point| !is_stored(point));
            new.unwrap_or(recent.len()).saturating_sub(LATE)
        };
        for (at, point) in recent.iter().enumerate().skip(from) {
            let neighbour = match recent.get(at + 1) {
                Some(next) => next.second - point.second,
                None if at > 0 => point.second - recent[at - 1].second,
                None => 1,
            };
            let stored = TimelinePoint {
                span: neighbour.clamp(1, 60),
                point: point.clone(),
            };
            self.points.insert(origin.as_secs() + point.second, stored);
        }
        if self.points.len() > MAX_POINTS {
            self.join();
        }
    }

    fn look_at_pause(&mut self, snapshot: &Snapshot) {
        let paused = snapshot.progress.phase == lgoose_metrics::RunPhase::Paused;
        match (paused, self.paused_since) {
            (true, None) => self.paused_since = Some(self.now_s),
            (false, Some(since)) => {
                self.pauses.push((since, self.now_s));
                self.paused_since = None;
            }
            _ => {}
        }
    }

    fn look_at_events(&mut self, snapshot: &Snapshot, origin: Duration) {
        for event in &snapshot.events {
            let word = match event.kind {
                EventKind::Reset => "reset",
                EventKind::Reload => "reload",
                EventKind::Stage => "stage",
                EventKind::Steered => "set",
                EventKind::Pause => "pause",
                EventKind::Stop => "stop",
                EventKind::Worker => "worker",
                EventKind::Silence => "silence",
                EventKind::Saturation | EventKind::End => continue,
            };
            let at_s = origin.as_secs_f64() + event.at_s;
            let is_marked = |mark: &EventMark| mark.word == word && (mark.at_s - at_s).abs() < 0.5;
            if self.marks.len() < MAX_MARKS && !self.marks.iter().any(is_marked) {
                self.marks.push(EventMark { at_s, word });
            }
        }
    }

    /// Joins neighbours, so that long runs take no more memory.
    fn join(&mut self) {
        let mut joined: BTreeMap<u64, TimelinePoint> = BTreeMap::new();
        for (at, stored) in std::mem::take(&mut self.points) {
            match joined.last_entry() {
                Some(mut last) if last.key() / (2 * stored.span) == at / (2 * stored.span) => {
                    let last = last.get_mut();
                    let (ours, more) = (&mut last.point, &stored.point);
                    ours.seconds += more.seconds;
                    ours.count += more.count;
                    ours.failures += more.failures;
                    ours.users = ours.users.max(more.users);
                    ours.under_way = ours.under_way.max(more.under_way);
                    ours.oldest_ms = ours.oldest_ms.max(more.oldest_ms);
                    let higher = |ours: &mut Option<f64>, more: Option<f64>| {
                        if more > *ours {
                            *ours = more;
                        }
                    };
                    higher(&mut ours.latency.ok_p95_ms, more.latency.ok_p95_ms);
                    higher(&mut ours.latency.failed_p95_ms, more.latency.failed_p95_ms);
                    last.span += stored.span;
                }
                _ => {
                    joined.insert(at, stored);
                }
            }
        }
        self.points = joined;
    }

    /// Returns the length of the run so far, in seconds.
    pub(super) fn now_s(&self) -> f64 {
        self.now_s
    }

    /// Returns the second of the first point; 0 if there is none.
    pub(super) fn first_s(&self) -> u64 {
        self.points.keys().next().copied().unwrap_or(0)
    }

    /// Returns `many` columns of `each` seconds, from second `from` of the run on.
    pub(super) fn columns(&self, from: u64, each: u64, many: usize) -> Vec<TimelineColumn> {
        let each = each.max(1);
        let to = from + each * many as u64;
        let mut columns = vec![TimelineColumn::default(); many];
        // A point that began before may reach into the first column.
        let reach = from.saturating_sub(60);
        for (at, stored) in self.points.range(reach..to) {
            let last = at + stored.span - 1;
            for slot in (*at).max(from) / each..=last / each {
                let place = slot.checked_sub(from / each);
                if let Some(column) = place.and_then(|place| columns.get_mut(place as usize)) {
                    column.add(&stored.point);
                }
            }
        }
        let pauses = self.pauses.iter().copied();
        let pauses: Vec<(f64, f64)> = pauses
            .chain(self.paused_since.map(|since| (since, self.now_s)))
            .collect();
        for (place, column) in columns.iter_mut().enumerate() {
            let starts = (from + place as u64 * each) as f64;
            let ends = starts + each as f64;
            let paused: f64 = pauses
                .iter()
                .map(|(since, until)| (until.min(ends) - since.max(starts)).max(0.0))
                .sum();
            column.paused = paused > 0.8 * each as f64 || (paused > 0.0 && column.seconds < 0.2);
        }
        columns
    }

    /// Returns the events from one second of the run to another.
    pub(super) fn marks(&self, from: u64, to: u64) -> impl Iterator<Item = &EventMark> {
        let within = move |mark: &&EventMark| mark.at_s >= from as f64 && mark.at_s < to as f64;
        self.marks.iter().filter(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lgoose_metrics::{Event, PointLatency, Progress, RunPhase};

    fn point(second: u64, count: u64) -> SeriesPoint {
        SeriesPoint {
            second,
            seconds: 1.0,
            count,
            latency: PointLatency {
                ok_p95_ms: Some(count as f64),
                ..PointLatency::default()
            },
            ..SeriesPoint::default()
        }
    }

    fn snapshot(elapsed: u64, measured: u64, recent: Vec<SeriesPoint>) -> Snapshot {
        Snapshot {
            progress: Progress {
                elapsed: Duration::from_secs(elapsed),
                measured: Duration::from_secs(measured),
                ..Progress::default()
            },
            recent,
            ..Snapshot::default()
        }
    }

    fn rates(timeline: &Timeline, from: u64, each: u64, many: usize) -> Vec<f64> {
        let columns = timeline.columns(from, each, many);
        columns.iter().map(|c| c.rate().unwrap_or(-1.0)).collect()
    }

    #[test]
    fn a_reset_leaves_what_was_before_and_goes_on_at_its_time() {
        let mut timeline = Timeline::default();
        timeline.look(&snapshot(
            3,
            3,
            vec![point(0, 10), point(1, 20), point(2, 30)],
        ));
        let mut after = snapshot(6, 2, vec![point(0, 50), point(1, 60)]);
        after.events.push(Event {
            at_s: 0.0,
            lasted_s: None,
            kind: EventKind::Reset,
            text: String::new(),
        });
        timeline.look(&after);
        timeline.look(&after);
        assert_eq!(
            rates(&timeline, 0, 1, 6),
            [10.0, 20.0, 30.0, -1.0, 50.0, 60.0]
        );
        assert_eq!(rates(&timeline, 0, 2, 3), [15.0, 30.0, 55.0]);
        let marks: Vec<_> = timeline
            .marks(0, 9)
            .map(|mark| (mark.at_s, mark.word))
            .collect();
        assert_eq!(marks, [(4.0, "reset")]);
    }

    #[test]
    fn the_whole_run_stays_when_snapshots_show_its_end_only() {
        let mut timeline = Timeline::default();
        for now in 1..=300 {
            let recent = (now - 1_u64.min(now)..now).map(|second| point(second, second));
            timeline.look(&snapshot(now, now, recent.collect()));
        }
        assert_eq!(rates(&timeline, 0, 1, 300)[7], 7.0);
        assert_eq!(
            timeline.columns(0, 100, 3)[2].ok_p95_ms,
            Some(299.0),
            "the highest"
        );
    }

    #[test]
    fn a_pause_is_distinguished_from_seconds_without_requests() {
        let mut timeline = Timeline::default();
        timeline.look(&snapshot(1, 1, vec![point(0, 5)]));
        let paused = |now| Snapshot {
            progress: Progress {
                phase: RunPhase::Paused,
                ..snapshot(now, now, vec![point(0, 5)]).progress
            },
            ..snapshot(now, now, vec![point(0, 5)])
        };
        timeline.look(&paused(2));
        timeline.look(&paused(6));
        let columns = timeline.columns(0, 1, 6);
        let are_paused: Vec<bool> = columns.iter().map(|column| column.paused).collect();
        assert_eq!(are_paused, [false, false, true, true, true, true]);
    }

    #[test]
    fn a_long_run_takes_no_more_memory() {
        let mut timeline = Timeline::default();
        for now in 1..=45_000 {
            timeline.look(&snapshot(now, now, vec![point(now - 1, 4)]));
        }
        assert!(timeline.points.len() <= MAX_POINTS);
        assert_eq!(
            timeline
                .columns(0, 15_000, 3)
                .iter()
                .map(|c| c.count)
                .sum::<u64>(),
            180_000
        );
    }
}
