//! How a run went over time: one point a second, coarser as the run grows.

use super::generator::{GeneratorLog, Strain};
use super::latency::{self, Exact};
use super::lateness::Latencies;
use super::report::SeriesPoint;
use hdrhistogram::Histogram;
use std::time::Duration;

/// Points kept: an hour of seconds. Beyond it neighbours are joined and each point covers twice the time.
const MAX_POINTS: usize = 3_600;

/// Points of all requests together, the open one included.
#[derive(Debug)]
pub(super) struct Series {
    points: Vec<SeriesPoint>,
    /// Whole seconds that a point covers.
    width_s: u64,
    open: Open,
}

/// The point being filled.
#[derive(Debug)]
struct Open {
    since: Duration,
    exact: Exact,
    failures: u64,
    bytes: u64,
    latencies: Histogram<u64>,
}

impl Default for Series {
    fn default() -> Self {
        Series {
            points: Vec::new(),
            width_s: 1,
            open: Open {
                since: Duration::ZERO,
                exact: Exact::default(),
                failures: 0,
                bytes: 0,
                latencies: latency::histogram(),
            },
        }
    }
}

impl Series {
    /// Adds the counters of one name within one tick.
    pub(super) fn count(&mut self, exact: &Exact, failures: u64, bytes: u64) {
        self.open.exact = self.open.exact.merged(exact);
        self.open.failures += failures;
        self.open.bytes += bytes;
    }

    /// Adds the latencies of all names within one tick.
    pub(super) fn add(&mut self, latencies: &Histogram<u64>) {
        latency::add(&mut self.open.latencies, latencies);
    }

    /// Ends a tick `now` after the measurement began; closes the point, and with it the generator's stretch,
    /// when its time is over.
    pub(super) fn tick(&mut self, now: Duration, users: u64, generator: &mut GeneratorLog) {
        let slot = |time: Duration| time.as_secs() / self.width_s;
        if slot(now) == slot(self.open.since) {
            return;
        }
        let strain = generator.strain(self.open_latencies(now, users).as_ref());
        generator.close(&strain, now.saturating_sub(self.open.since));
        if let Some(point) = self.open.point(now, users, &strain) {
            self.points.push(point);
        }
        self.open.since = now;
        self.open.exact = Exact::default();
        (self.open.failures, self.open.bytes) = (0, 0);
        self.open.latencies.reset();
        if self.points.len() >= MAX_POINTS {
            self.points = self.points.chunks(2).map(joined).collect();
            self.width_s *= 2;
        }
    }

    /// Everything up to `now`; the open point is the last one.
    pub(super) fn points(
        &self,
        now: Duration,
        users: u64,
        generator: &GeneratorLog,
    ) -> Vec<SeriesPoint> {
        let strain = generator.strain(self.open_latencies(now, users).as_ref());
        let open = self.open.point(now, users, &strain);
        let open = open.filter(|point| point.count > 0);
        self.points.iter().cloned().chain(open).collect()
    }

    /// The latencies of the open point, if it has any.
    pub(super) fn open_latencies(&self, now: Duration, users: u64) -> Option<Latencies> {
        let told = Latencies::of(&self.open.exact, &self.open.latencies)?;
        Some(told.by(users, now.saturating_sub(self.open.since)))
    }

    /// At most the last `limit` closed points.
    pub(super) fn last(&self, limit: usize) -> &[SeriesPoint] {
        &self.points[self.points.len().saturating_sub(limit)..]
    }
}

impl Open {
    /// `None` for a point that would cover no time and no request.
    fn point(&self, now: Duration, users: u64, strain: &Strain) -> Option<SeriesPoint> {
        let covers = now.saturating_sub(self.since);
        if covers.is_zero() && self.exact.count == 0 {
            return None;
        }
        let values = self.exact.quantiles(&self.latencies, [0.5, 0.95, 0.99]);
        let [p50_ms, p95_ms, p99_ms] =
            values.map(|value| (self.exact.count > 0).then_some(value.as_secs_f64() * 1e3));
        Some(SeriesPoint {
            second: self.since.as_secs(),
            seconds: covers.as_secs_f64(),
            users,
            count: self.exact.count,
            failures: self.failures,
            bytes: self.bytes,
            p50_ms,
            p95_ms,
            p99_ms,
            busy: strain.busy,
            lag_ms: strain.lag.as_secs_f64() * 1e3,
            saturated: strain.saturated,
            own_p50_ms: strain.own.map(|own| own.p50.as_secs_f64() * 1e3),
            own_p99_ms: strain.own.map(|own| own.p99.as_secs_f64() * 1e3),
        })
    }
}

/// One or two neighbours as one point. Percentiles cannot be averaged: the worse of the two is kept, so a
/// stall stays visible in a long run. Users likewise.
fn joined(pair: &[SeriesPoint]) -> SeriesPoint {
    let worse = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    };
    let mut first = pair[0].clone();
    for next in &pair[1..] {
        first.seconds += next.seconds;
        first.users = first.users.max(next.users);
        first.count += next.count;
        first.failures += next.failures;
        first.bytes += next.bytes;
        first.p50_ms = worse(first.p50_ms, next.p50_ms);
        first.p95_ms = worse(first.p95_ms, next.p95_ms);
        first.p99_ms = worse(first.p99_ms, next.p99_ms);
        first.busy = first.busy.max(next.busy);
        first.lag_ms = first.lag_ms.max(next.lag_ms);
        first.saturated |= next.saturated;
        first.own_p50_ms = worse(first.own_p50_ms, next.own_p50_ms);
        first.own_p99_ms = worse(first.own_p99_ms, next.own_p99_ms);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(series: &mut Series, at: u64, latency_us: u32) {
        let mut exact = Exact::default();
        exact.record(u64::from(latency_us) * 1_000);
        let mut latencies = latency::histogram();
        latency::record(&mut latencies, latency_us);
        series.count(&exact, 0, 10);
        series.add(&latencies);
        let generator = &mut GeneratorLog::default();
        series.tick(Duration::from_secs(at + 1), 5, generator);
    }

    #[test]
    fn a_point_holds_its_own_second_only() {
        let mut series = Series::default();
        second(&mut series, 0, 4_000);
        second(&mut series, 1, 9_000);
        let points = series.points(Duration::from_secs(2), 5, &GeneratorLog::default());
        assert_eq!(points.len(), 2);
        assert_eq!((points[1].second, points[1].count), (1, 1));
        assert_eq!(points[1].p50_ms, Some(9.0));
    }

    #[test]
    fn a_long_run_keeps_a_bounded_number_of_points_and_every_request() {
        let mut series = Series::default();
        for at in 0..10_000 {
            second(&mut series, at, if at == 5_001 { 80_000 } else { 1_000 });
        }
        let points = series.points(Duration::from_secs(10_000), 5, &GeneratorLog::default());
        assert!(points.len() <= MAX_POINTS, "{}", points.len());
        assert_eq!(points.iter().map(|point| point.count).sum::<u64>(), 10_000);
        assert!(points.iter().any(|point| point.p99_ms == Some(80.0)));
        assert!(points.is_sorted_by(|a, b| a.second < b.second));
    }

    #[test]
    fn a_silent_second_is_a_point_without_percentiles() {
        let mut series = Series::default();
        let mut generator = GeneratorLog::default();
        series.tick(Duration::from_secs(1), 0, &mut generator);
        let points = series.points(Duration::from_secs(1), 0, &generator);
        assert_eq!(
            (points.len(), points[0].count, points[0].p50_ms),
            (1, 0, None)
        );
    }
}
