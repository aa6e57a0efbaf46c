//! Series of a run over time: one point per second, coarser as the run gets longer.
//!
//! A request belongs to the second in which it ended. The latest seconds are open, since shards deliver their figures
//! some time after a second is over. A closed point keeps a [`Sketch`] of its latencies, so that points can be joined
//! and stragglers can still be added.

use crate::delta::SliceBorder;
use crate::generator::{GeneratorLoad, GeneratorLog, Latencies};
use crate::latencies::{ExactFigures, Sketch, Sketcher, histogram};
use crate::record::SECOND;
use crate::report::{PointLatency, SeriesPoint};
use hdrhistogram::Histogram;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::Duration;

/// The most points kept: an hour of seconds. Beyond it neighbours are joined and each point covers twice the time.
const MAX_POINTS: usize = 3_600;

/// Points of all requests together.
#[derive(Debug)]
pub(crate) struct Series {
    closed: Vec<Point>,
    /// Length of a point in whole seconds.
    width_s: u64,
    /// The first second that is open, and the counts of it and of those after it.
    next: u64,
    open: VecDeque<OpenSecond>,
    /// Cleared seconds, kept for reuse.
    spare: Vec<OpenSecond>,
    sketcher: Sketcher,
}

/// A second that is still being filled.
#[derive(Debug)]
struct OpenSecond {
    exact: ExactFigures,
    /// Failures; negative where a verdict was taken back.
    failures: i64,
    bytes: u64,
    latencies: Histogram<u64>,
    /// Latencies of the requests that failed at once; allocated with the first.
    failed: Option<Histogram<u64>>,
    /// Latencies of those that failed by their final verdict; likewise.
    finally_failed: Option<Histogram<u64>>,
    border: SliceBorder,
}

/// A closed point.
#[derive(Debug, Clone)]
struct Point {
    second: u64,
    lasted: Duration,
    exact: ExactFigures,
    failures: i64,
    bytes: u64,
    percentiles: [Duration; 3],
    /// 95th percentile of the successful and of the failed requests.
    apart: [Option<Duration>; 2],
    sketch: Sketch,
    /// The failed requests among those of `sketch`.
    failed_sketch: Sketch,
    border: SliceBorder,
    strain: GeneratorLoad,
}

/// Quantiles that reports show of a point.
const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

impl Default for Series {
    fn default() -> Self {
        Series {
            closed: Vec::new(),
            width_s: 1,
            next: 0,
            open: VecDeque::new(),
            spare: Vec::new(),
            sketcher: Sketcher::default(),
        }
    }
}

/// Requests that are added to a second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SecondAddition<'a> {
    pub(crate) exact: ExactFigures,
    pub(crate) failures: i64,
    pub(crate) bytes: u64,
    pub(crate) latencies: &'a Histogram<u64>,
    /// Latencies of the failed ones among them, as far as that was known at once.
    pub(crate) failed: &'a Histogram<u64>,
    /// Latencies of requests of that second, added now or before, whose final verdict is a failure.
    pub(crate) finally_failed: &'a Histogram<u64>,
}

impl Series {
    /// Adds requests that ended in a second.
    pub(crate) fn add(&mut self, second: u64, more: SecondAddition<'_>) {
        if second < self.next {
            return self.amend(second, more);
        }
        let open = self.open(second);
        open.exact = open.exact.merged(&more.exact);
        open.failures += more.failures;
        open.bytes += more.bytes;
        histogram::add(&mut open.latencies, more.latencies);
        for (of, more) in [
            (&mut open.failed, more.failed),
            (&mut open.finally_failed, more.finally_failed),
        ] {
            if !more.is_empty() {
                histogram::add(of.get_or_insert_with(histogram::empty), more);
            }
        }
    }

    /// Adds the state of a shard at the end of a second.
    pub(crate) fn stood(&mut self, second: u64, border: &SliceBorder) {
        if second >= self.next {
            let open = self.open(second);
            open.border = open.border.beside(border);
        } else if self.width_s == 1
            && let Some(point) = self.point(second)
        {
            point.border = point.border.beside(border);
        }
    }

    fn open(&mut self, second: u64) -> &mut OpenSecond {
        let place = (second - self.next) as usize;
        while self.open.len() <= place {
            self.open.push_back(self.spare.pop().unwrap_or_default());
        }
        &mut self.open[place]
    }

    /// Returns the closed point that contains a second.
    fn point(&mut self, second: u64) -> Option<&mut Point> {
        let after = self.closed.partition_point(|point| point.second <= second);
        self.closed.get_mut(after.checked_sub(1)?)
    }

    /// Adds to a point that is already closed.
    fn amend(&mut self, second: u64, more: SecondAddition<'_>) {
        let sketch = self.sketcher.of(more.latencies);
        let failed = self.sketcher.of(more.finally_failed);
        let mut sketcher = std::mem::take(&mut self.sketcher);
        if let Some(point) = self.point(second) {
            if !more.finally_failed.is_empty() {
                point.failed_sketch = sketcher.joined([&point.failed_sketch, &failed]);
            }
            let is_revised = more.failures != 0 || !more.finally_failed.is_empty();
            point.failures += more.failures;
            point.bytes += more.bytes;
            if more.exact.count > 0 {
                point.exact = point.exact.merged(&more.exact);
                point.sketch = sketcher.joined([&point.sketch, &sketch]);
                point.percentiles = sketcher.quantiles([&point.sketch], &point.exact, QUANTILES);
            }
            if is_revised {
                let parts = sketcher.split(&point.sketch, &point.failed_sketch);
                point.apart = parts.map(|part| {
                    let p95 = || sketcher.quantiles([&part], &point.exact, [0.95])[0];
                    (part != Sketch::default()).then(p95)
                });
            }
        }
        self.sketcher = sketcher;
    }

    /// Closes every second that is over at `until`, in nanoseconds since the measurement began. `lasted` says how
    /// much of a second, given by its two ends, was not spent in a pause.
    pub(crate) fn close(
        &mut self,
        until: u64,
        lasted: impl Fn(u64, u64) -> Duration,
        generator: &mut GeneratorLog,
    ) {
        while (self.next + 1) * SECOND <= until {
            let second = self.next;
            let mut open = self
                .open
                .pop_front()
                .or_else(|| self.spare.pop())
                .unwrap_or_default();
            let lasted = lasted(second * SECOND, (second + 1) * SECOND);
            let summary = open.summarize(open.border.users, lasted);
            let strain = generator.close(second, summary.as_ref(), lasted);
            let point = open.point(second, lasted, strain, &mut self.sketcher);
            self.next += 1;
            open.clear();
            self.spare.push(open);
            self.push(point);
        }
    }

    fn push(&mut self, point: Point) {
        let slot = |point: &Point| point.second / self.width_s;
        match self.closed.last_mut() {
            Some(last) if slot(last) == slot(&point) => last.join(&point, &mut self.sketcher),
            _ => self.closed.push(point),
        }
        if self.closed.len() >= MAX_POINTS {
            self.width_s *= 2;
            let mut joined: Vec<Point> = Vec::with_capacity(MAX_POINTS);
            for point in self.closed.drain(..) {
                let slot = |point: &Point| point.second / self.width_s;
                match joined.last_mut() {
                    Some(last) if slot(last) == slot(&point) => {
                        last.join(&point, &mut self.sketcher);
                    }
                    _ => joined.push(point),
                }
            }
            self.closed = joined;
        }
    }

    /// Returns all points up to `now`, in nanoseconds since the measurement began; open seconds come last. Sketches
    /// are included if `whole`.
    pub(crate) fn points(
        &mut self,
        now: u64,
        users: u64,
        lasted: impl Fn(u64, u64) -> Duration,
        generator: &GeneratorLog,
        whole: bool,
    ) -> Vec<SeriesPoint> {
        let mut points: Vec<SeriesPoint> = self.closed.iter().map(Point::row).collect();
        if whole {
            for (row, point) in points.iter_mut().zip(&self.closed) {
                point.show_sketches(row);
            }
        }
        for (place, open) in self.open.iter().enumerate() {
            let second = self.next + place as u64;
            let from = second * SECOND;
            let to = (from + SECOND).min(now.max(from));
            if open.exact.count == 0 && (to == from || open.border == SliceBorder::default()) {
                continue;
            }
            let mut border = open.border;
            if to < from + SECOND {
                border.users = users;
            }
            let lasted = lasted(from, to);
            let strain = generator.strain(second, open.summarize(border.users, lasted).as_ref());
            let point = Point {
                border,
                ..open.point(second, lasted, strain, &mut self.sketcher)
            };
            let mut row = point.row();
            if whole {
                point.show_sketches(&mut row);
            }
            points.push(row);
        }
        points
    }

    /// Returns the latencies of a second that is still open, if it has any.
    pub(crate) fn open_latencies(&self, second: u64, users: u64) -> Option<Latencies> {
        let open = self.open.get(second.checked_sub(self.next)? as usize)?;
        open.summarize(users, Duration::from_secs(1))
    }

    /// Returns at most the last `limit` closed points.
    pub(crate) fn last(&self, limit: usize) -> Vec<SeriesPoint> {
        let first = self.closed.len().saturating_sub(limit);
        self.closed[first..].iter().map(Point::row).collect()
    }

    /// Returns the bytes of memory that closed points take.
    #[cfg(test)]
    pub(crate) fn heap_bytes(&self) -> usize {
        let points = self.closed.capacity() * size_of::<Point>();
        let sketches = self.closed.iter();
        let sketches =
            sketches.map(|point| point.sketch.heap_bytes() + point.failed_sketch.heap_bytes());
        points + sketches.sum::<usize>()
    }
}

impl Default for OpenSecond {
    fn default() -> Self {
        OpenSecond {
            exact: ExactFigures::default(),
            failures: 0,
            bytes: 0,
            latencies: histogram::empty(),
            failed: None,
            finally_failed: None,
            border: SliceBorder::default(),
        }
    }
}

impl OpenSecond {
    /// Summarizes the latencies of the successful requests, by which the generator is judged, given the number of users and the
    /// length of the second; `None` without such requests.
    fn summarize(&self, users: u64, lasted: Duration) -> Option<Latencies> {
        let summary = Latencies::of(&self.exact, &self.successful())?;
        Some(summary.by(users, lasted))
    }

    /// Returns the latencies of the requests that did not fail at once.
    fn successful(&self) -> Cow<'_, Histogram<u64>> {
        let Some(failed) = self.failed.as_ref().filter(|failed| !failed.is_empty()) else {
            return Cow::Borrowed(&self.latencies);
        };
        let mut successful = self.latencies.clone();
        // Both are added together, so there are never more failed latencies than latencies in all.
        match successful.subtract(failed) {
            Ok(()) => Cow::Owned(successful),
            Err(_) => Cow::Borrowed(&self.latencies),
        }
    }

    /// Makes the closed point.
    fn point(
        &self,
        second: u64,
        lasted: Duration,
        strain: GeneratorLoad,
        sketcher: &mut Sketcher,
    ) -> Point {
        Point {
            second,
            lasted,
            exact: self.exact,
            failures: self.failures,
            bytes: self.bytes,
            percentiles: self.exact.quantiles(&self.latencies, QUANTILES),
            apart: self.apart(),
            sketch: sketcher.of(&self.latencies),
            failed_sketch: match &self.finally_failed {
                Some(failed) => sketcher.of(failed),
                None => Sketch::default(),
            },
            border: self.border,
            strain,
        }
    }

    /// Returns the 95th percentile of the successful and of the failed requests.
    fn apart(&self) -> [Option<Duration>; 2] {
        let p95 =
            |of: &Histogram<u64>| (!of.is_empty()).then(|| self.exact.quantiles(of, [0.95])[0]);
        let Some(failed) = self.failed.as_ref().filter(|failed| !failed.is_empty()) else {
            let all_succeeded = self.failures <= 0;
            return [p95(&self.latencies).filter(|_| all_succeeded), None];
        };
        [p95(&self.successful()), p95(failed)]
    }

    /// Empties it and keeps its memory.
    fn clear(&mut self) {
        self.exact = ExactFigures::default();
        (self.failures, self.bytes) = (0, 0);
        self.latencies.reset();
        let failed = [&mut self.failed, &mut self.finally_failed];
        for failed in failed.into_iter().flatten() {
            failed.reset();
        }
        self.border = SliceBorder::default();
    }
}

impl Point {
    /// Adds the point that follows; of figures that cannot be added up, the greater one stays.
    fn join(&mut self, next: &Point, sketcher: &mut Sketcher) {
        self.lasted += next.lasted;
        self.failures += next.failures;
        self.bytes += next.bytes;
        self.border = SliceBorder {
            users: self.border.users.max(next.border.users),
            under_way: self.border.under_way.max(next.border.under_way),
            oldest: self.border.oldest.max(next.border.oldest),
        };
        self.strain.join(&next.strain);
        for (ours, theirs) in self.apart.iter_mut().zip(next.apart) {
            *ours = (*ours).max(theirs);
        }
        if next.failed_sketch != Sketch::default() {
            self.failed_sketch = sketcher.joined([&self.failed_sketch, &next.failed_sketch]);
        }
        if next.exact.count == 0 {
            return;
        }
        self.exact = self.exact.merged(&next.exact);
        self.sketch = sketcher.joined([&self.sketch, &next.sketch]);
        self.percentiles = sketcher.quantiles([&self.sketch], &self.exact, QUANTILES);
    }

    fn row(&self) -> SeriesPoint {
        SeriesPoint {
            second: self.second,
            seconds: self.lasted.as_secs_f64(),
            users: self.border.users,
            count: self.exact.count,
            failures: self.failures.max(0) as u64,
            bytes: self.bytes,
            latency: self.latency(),
            under_way: self.border.under_way,
            oldest_ms: self.border.oldest as f64 / 1e6,
            generator: self.strain.row(),
            histogram: String::new(),
            failed_histogram: String::new(),
        }
    }

    fn show_sketches(&self, row: &mut SeriesPoint) {
        row.histogram = self.sketch.text();
        row.failed_histogram = self.failed_sketch.text();
    }

    fn latency(&self) -> PointLatency {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let measured = |time: Duration| (self.exact.count > 0).then_some(ms(time));
        let [p50_ms, p95_ms, p99_ms] = self.percentiles.map(measured);
        let [ok_p95_ms, failed_p95_ms] = self.apart.map(|time| time.map(ms));
        PointLatency {
            min_ms: measured(self.exact.min()),
            max_ms: measured(self.exact.max()),
            sum_ms: self.exact.sum_ms(),
            p50_ms,
            p95_ms,
            p99_ms,
            ok_p95_ms,
            failed_p95_ms,
        }
    }
}

#[cfg(test)]
mod tests;
