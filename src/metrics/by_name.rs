//! How each request name went over time, in bounded memory.
//!
//! Driven by the store beside the series of all requests. A name has a point for a second in which it had
//! requests; when there are too many points, of one name or of all, neighbours are joined and every point
//! covers twice the time. So nothing is left out: a run of many names is told in less detail instead.

use super::columns::NameSeries;
use super::latency::{Burst, Exact};
use std::time::Duration;

/// Stretches kept, and so points of one name: an hour of seconds.
const MAX_POINTS: usize = 3_600;
/// Points kept of all names together, 24 bytes each: 100 names for an hour of seconds.
const MAX_IN_ALL: usize = 360_000;

/// The points of all names, by the store's row numbers.
#[derive(Debug)]
pub(super) struct ByName {
    /// The stretches that points are about, closed ones.
    stretches: Vec<Stretch>,
    rows: Vec<Row>,
    /// Rows with requests since the last stretch was closed.
    touched: Vec<usize>,
    since: Duration,
    /// Whole seconds that a stretch covers.
    width_s: u64,
    /// Closed points of all rows.
    points: usize,
}

/// A part of the run: whole seconds from its start to the stretch's, and how long that lasted.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    second: u64,
    seconds: f64,
}

#[derive(Debug, Default)]
struct Row {
    points: Vec<Point>,
    open: Open,
}

/// The point being filled.
#[derive(Debug, Default)]
struct Open {
    exact: Exact,
    failures: u64,
    latencies: Burst,
}

#[derive(Debug, Clone, Copy)]
struct Point {
    stretch: u32,
    count: u32,
    failures: u32,
    /// p50, p95, p99 in milliseconds; a float has more digits than a histogram.
    percentiles: [f32; 3],
}

impl Default for ByName {
    fn default() -> Self {
        ByName {
            stretches: Vec::new(),
            rows: Vec::new(),
            touched: Vec::new(),
            since: Duration::ZERO,
            width_s: 1,
            points: 0,
        }
    }
}

impl ByName {
    /// Adds what one name had within one tick.
    pub(super) fn add(&mut self, row: usize, exact: &Exact, failures: u64, latencies: &Burst) {
        if self.rows.len() <= row {
            self.rows.resize_with(row + 1, Row::default);
        }
        let open = &mut self.rows[row].open;
        if open.exact.count == 0 {
            self.touched.push(row);
        }
        open.exact = open.exact.merged(exact);
        open.failures += failures;
        open.latencies.merge(latencies);
    }

    /// Ends a tick `now` after the measurement began; closes the stretch when its time is over.
    pub(super) fn tick(&mut self, now: Duration) {
        let slot = |time: Duration| time.as_secs() / self.width_s;
        if slot(now) == slot(self.since) {
            return;
        }
        let number = self.stretches.len() as u32;
        self.points += self.touched.len();
        for row in self.touched.drain(..) {
            let Row { points, open } = &mut self.rows[row];
            points.push(open.point(number));
            open.clear();
        }
        self.stretches.push(Stretch::between(self.since, now));
        self.since = now;
        // Where points are far apart, joining neighbours may take several rounds to help.
        while self.stretches.len() >= MAX_POINTS || self.points >= MAX_IN_ALL {
            self.join();
        }
    }

    /// One row up to `now`; the open point is the last one.
    pub(super) fn columns(&mut self, row: usize, now: Duration) -> NameSeries {
        let mut columns = NameSeries::default();
        let last = Stretch::between(self.since, now);
        let number = self.stretches.len() as u32;
        let Some(Row { points, open }) = self.rows.get_mut(row) else {
            return columns;
        };
        let open = (open.exact.count > 0).then(|| open.point(number));
        for point in points.iter().copied().chain(open) {
            let stretch = self.stretches.get(point.stretch as usize);
            let Stretch { second, seconds } = *stretch.unwrap_or(&last);
            let [p50, p95, p99] = point.percentiles.map(|ms| rounded(ms.into(), 1e4));
            columns.second.push(second);
            columns.seconds.push(rounded(seconds, 1e3));
            columns.count.push(point.count.into());
            columns.failures.push(point.failures.into());
            columns.p50_ms.push(p50);
            columns.p95_ms.push(p95);
            columns.p99_ms.push(p99);
        }
        columns
    }

    /// Makes every stretch cover twice the time.
    fn join(&mut self) {
        self.width_s *= 2;
        let mut joined: Vec<Stretch> = Vec::new();
        let mut places = Vec::new();
        for stretch in &self.stretches {
            let slot = |stretch: &Stretch| stretch.second / self.width_s;
            match joined.last_mut().filter(|last| slot(last) == slot(stretch)) {
                Some(last) => last.seconds += stretch.seconds,
                None => joined.push(*stretch),
            }
            places.push(joined.len() as u32 - 1);
        }
        self.stretches = joined;
        self.points = 0;
        for Row { points, .. } in &mut self.rows {
            for point in &mut *points {
                point.stretch = places[point.stretch as usize];
            }
            points.dedup_by(|next, first| {
                let same = first.stretch == next.stretch;
                if same {
                    first.join(next);
                }
                same
            });
            self.points += points.len();
        }
    }
}

impl Stretch {
    fn between(since: Duration, now: Duration) -> Self {
        Stretch {
            second: since.as_secs(),
            seconds: now.saturating_sub(since).as_secs_f64(),
        }
    }
}

impl Open {
    /// Sorts what it holds, or asks its histogram, but changes no figure.
    fn point(&mut self, stretch: u32) -> Point {
        let (min, max) = (self.exact.min(), self.exact.max());
        let percentiles = self.latencies.quantiles([0.5, 0.95, 0.99]);
        Point {
            stretch,
            count: u32::try_from(self.exact.count).unwrap_or(u32::MAX),
            failures: u32::try_from(self.failures).unwrap_or(u32::MAX),
            percentiles: percentiles.map(|value| value.clamp(min, max).as_secs_f32() * 1e3),
        }
    }

    /// Empties it and keeps its memory.
    fn clear(&mut self) {
        (self.exact, self.failures) = (Exact::default(), 0);
        self.latencies.clear();
    }
}

impl Point {
    /// Adds the one after it.
    fn join(&mut self, next: &Point) {
        self.count = self.count.saturating_add(next.count);
        self.failures = self.failures.saturating_add(next.failures);
        for (worse, other) in self.percentiles.iter_mut().zip(next.percentiles) {
            *worse = worse.max(other);
        }
    }
}

/// A short decimal number: what is behind the histogram's digits is noise.
fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests of one row that end in the second `at`, which is then over.
    fn second(series: &mut ByName, at: u64, row: usize, latencies_ms: &[u64]) {
        let (mut exact, mut burst) = (Exact::default(), Burst::default());
        for ms in latencies_ms {
            exact.record(ms * 1_000_000);
            burst.record(ms * 1_000_000);
        }
        series.add(row, &exact, 1, &burst);
        series.tick(Duration::from_secs(at + 1));
    }

    #[test]
    fn a_name_has_a_point_for_each_second_with_requests_and_none_for_others() {
        let mut series = ByName::default();
        second(&mut series, 0, 2, &[3, 1, 2]);
        second(&mut series, 1, 0, &[7]);
        second(&mut series, 2, 2, &[5]);
        let columns = series.columns(2, Duration::from_secs(3));
        assert_eq!((columns.second, columns.count), (vec![0, 2], vec![3, 1]));
        assert_eq!(
            (columns.p50_ms, columns.p99_ms),
            (vec![2.0, 5.0], vec![3.0, 5.0])
        );
        assert_eq!(
            (columns.failures, columns.seconds),
            (vec![1, 1], vec![1.0, 1.0])
        );
        assert!(series.columns(1, Duration::from_secs(3)).is_empty());
        assert!(series.columns(9, Duration::from_secs(3)).is_empty());
    }

    #[test]
    fn the_open_point_is_the_last_one_and_goes_on() {
        let mut series = ByName::default();
        let (mut exact, mut burst) = (Exact::default(), Burst::default());
        exact.record(4_000_000);
        burst.record(4_000_000);
        series.add(0, &exact, 0, &burst);
        let early = series.columns(0, Duration::from_millis(250));
        assert_eq!((early.count, early.seconds), (vec![1], vec![0.25]));
        second(&mut series, 0, 0, &[8]);
        assert_eq!(series.columns(0, Duration::from_secs(1)).count, [2]);
    }

    #[test]
    fn a_long_run_keeps_a_bounded_number_of_points_and_every_request() {
        let mut series = ByName::default();
        for at in 0..10_000 {
            second(&mut series, at, 0, &[if at == 5_001 { 80 } else { 1 }]);
        }
        let columns = series.columns(0, Duration::from_secs(10_000));
        assert!(
            columns.second.len() < MAX_POINTS,
            "{}",
            columns.second.len()
        );
        assert_eq!(columns.count.iter().sum::<u64>(), 10_000);
        assert_eq!(columns.seconds.iter().sum::<f64>(), 10_000.0);
        assert!(columns.p99_ms.contains(&80.0));
        assert!(columns.second.is_sorted());
    }

    #[test]
    fn joined_stretches_cover_also_the_time_in_which_a_name_was_silent() {
        let mut series = ByName::default();
        second(&mut series, 0, 0, &[1]);
        second(&mut series, 1, 1, &[1]);
        second(&mut series, 2, 0, &[1]);
        second(&mut series, 3, 0, &[1]);
        series.join();
        let columns = series.columns(0, Duration::from_secs(4));
        assert_eq!((columns.second, columns.count), (vec![0, 2], vec![1, 2]));
        assert_eq!(columns.seconds, [2.0, 2.0]);
        let columns = series.columns(1, Duration::from_secs(4));
        assert_eq!((columns.second, columns.seconds), (vec![0], vec![2.0]));
    }

    #[test]
    fn two_thousand_names_are_told_in_less_detail_and_none_is_left_out() {
        let mut series = ByName::default();
        let (mut exact, mut burst) = (Exact::default(), Burst::default());
        exact.record(1_000_000);
        burst.record(1_000_000);
        for at in 0..400 {
            for row in 0..2_000 {
                series.add(row, &exact, 0, &burst);
            }
            series.tick(Duration::from_secs(at + 1));
            assert!(series.points < MAX_IN_ALL);
        }
        for row in [0, 999, 1_999] {
            let columns = series.columns(row, Duration::from_secs(400));
            assert_eq!(columns.count.iter().sum::<u64>(), 400);
        }
    }
}
