//! Series of each request name over time, in bounded memory.
//!
//! Driven by the store, next to the series of all requests. A name has a point for each second in which it had
//! requests. When one name or all names have too many points, neighbours are joined, so that every point covers twice
//! the time. Nothing is left out: a run with many names is just shown in less detail.

use super::columns::NameSeries;
use crate::latencies::{Burst, ExactFigures, Sketch, Sketcher};
use crate::record::SECOND;
use std::collections::BTreeMap;
use std::time::Duration;

/// The most stretches kept, and so the most points of one name: an hour of seconds.
const MAX_POINTS: usize = 3_600;
/// The most memory that the points of all names may take together, in bytes: 12 names for an hour of seconds, with
/// room to spare.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// Quantiles that reports show of a point.
const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// Points over time of all names, by the store's row numbers.
#[derive(Debug)]
pub(crate) struct ByName {
    /// Closed stretches of the run, to which the points refer.
    stretches: Vec<NameStretch>,
    rows: Vec<NamePoints>,
    /// Rows with requests in each second that is still open.
    touched: BTreeMap<u64, Vec<usize>>,
    /// The first second that is still open.
    next: u64,
    /// Length of a stretch in whole seconds.
    width_s: u64,
    /// Bytes that the closed points of all rows take, and the most that they may take.
    bytes: usize,
    most_bytes: usize,
    sketcher: Sketcher,
}

/// A stretch of the run: its start in whole seconds, and how much of it was not spent in a pause.
#[derive(Debug, Clone, Copy)]
struct NameStretch {
    second: u64,
    lasted: Duration,
}

#[derive(Debug, Default)]
struct NamePoints {
    points: Vec<NamePoint>,
    /// Open stretches by their seconds; two or three at a time.
    open: Vec<(u64, OpenStretch)>,
    /// Cleared stretches, kept for reuse.
    spare: Vec<OpenStretch>,
}

/// A point that is still being filled.
#[derive(Debug, Default)]
struct OpenStretch {
    exact: ExactFigures,
    failures: i64,
    latencies: Burst,
    /// Those of the requests whose final verdict is a failure.
    failed: Burst,
}

#[derive(Debug, Clone)]
struct NamePoint {
    stretch: u32,
    failures: i32,
    exact: ExactFigures,
    percentiles: [Duration; 3],
    sketch: Sketch,
    /// The failed requests among those of `sketch`.
    failed_sketch: Sketch,
}

/// Requests that are added to a second of one name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameAddition<'a> {
    pub(crate) exact: ExactFigures,
    pub(crate) failures: i64,
    pub(crate) latencies: &'a Burst,
    /// Latencies of requests of that second, added now or before, whose final verdict is a failure.
    pub(crate) failed: &'a Burst,
}

impl Default for ByName {
    fn default() -> Self {
        ByName {
            stretches: Vec::new(),
            rows: Vec::new(),
            touched: BTreeMap::new(),
            next: 0,
            width_s: 1,
            bytes: 0,
            most_bytes: MAX_BYTES,
            sketcher: Sketcher::default(),
        }
    }
}

impl ByName {
    /// Makes a series that keeps no points, whatever is added.
    pub(crate) fn nothing() -> ByName {
        ByName {
            most_bytes: 0,
            ..ByName::default()
        }
    }

    /// Drops all points.
    pub(crate) fn reset(&mut self) {
        *self = ByName {
            most_bytes: self.most_bytes,
            ..ByName::default()
        };
    }

    /// Adds the requests of one name within a second.
    pub(crate) fn add(&mut self, row: usize, second: u64, more: NameAddition<'_>) {
        if self.most_bytes == 0 {
            return;
        }
        if self.rows.len() <= row {
            self.rows.resize_with(row + 1, NamePoints::default);
        }
        if second < self.next {
            return self.amend(row, second, more);
        }
        let NamePoints { open, spare, .. } = &mut self.rows[row];
        let place = match open.iter().position(|(other, _)| *other == second) {
            Some(place) => place,
            None => {
                self.touched.entry(second).or_default().push(row);
                open.push((second, spare.pop().unwrap_or_default()));
                open.len() - 1
            }
        };
        open[place].1.add(&more);
    }

    /// Adds to a second that is already closed.
    fn amend(&mut self, row: usize, second: u64, more: NameAddition<'_>) {
        let after = self
            .stretches
            .partition_point(|stretch| stretch.second <= second);
        let mut late = OpenStretch::default();
        late.add(&more);
        let point = late.point(after.saturating_sub(1) as u32, &mut self.sketcher);
        let points = &mut self.rows[row].points;
        match points.binary_search_by_key(&point.stretch, |other| other.stretch) {
            Ok(place) => {
                self.bytes -= points[place].bytes();
                points[place].join(&point, &mut self.sketcher);
                self.bytes += points[place].bytes();
            }
            Err(place) if more.exact.count > 0 => {
                self.bytes += point.bytes();
                points.insert(place, point);
            }
            Err(_) => {}
        }
    }

    /// Closes every second that is over at `until`, in nanoseconds since the measurement began. `lasted` says how
    /// much of a second, given by its two ends, was not spent in a pause.
    pub(crate) fn close(&mut self, until: u64, lasted: impl Fn(u64, u64) -> Duration) {
        while (self.next + 1) * SECOND <= until && self.most_bytes > 0 {
            let second = self.next;
            let stretch = NameStretch {
                second,
                lasted: lasted(second * SECOND, (second + 1) * SECOND),
            };
            self.next += 1;
            match self.stretches.last_mut() {
                Some(last) if last.second / self.width_s == second / self.width_s => {
                    last.lasted += stretch.lasted;
                }
                _ => self.stretches.push(stretch),
            }
            let number = self.stretches.len() as u32 - 1;
            for row in self.touched.remove(&second).unwrap_or_default() {
                self.close_point(row, second, number);
            }
            // Where points are far apart, joining neighbours may take several rounds to help.
            while self.stretches.len() >= MAX_POINTS || self.bytes >= self.most_bytes {
                self.join();
            }
        }
    }

    fn close_point(&mut self, row: usize, second: u64, number: u32) {
        let NamePoints {
            points,
            open,
            spare,
        } = &mut self.rows[row];
        let Some(place) = open.iter().position(|(other, _)| *other == second) else {
            return;
        };
        let (_, mut closing) = open.swap_remove(place);
        let point = closing.point(number, &mut self.sketcher);
        closing.clear();
        spare.push(closing);
        match points.last_mut() {
            Some(last) if last.stretch == number => {
                self.bytes -= last.bytes();
                last.join(&point, &mut self.sketcher);
                self.bytes += last.bytes();
            }
            _ => {
                self.bytes += point.bytes();
                points.push(point);
            }
        }
    }

    /// Returns the highest p50, p95, p99 and latency that one row had in any of the last ten closed seconds.
    pub(crate) fn worst_now(&self, row: usize) -> [Duration; 4] {
        let since = self.next.saturating_sub(10);
        let points = self.rows.get(row).map_or(&[][..], |row| &row.points);
        let recent = points
            .iter()
            .rev()
            .take_while(|point| self.stretches[point.stretch as usize].second >= since);
        recent.fold([Duration::ZERO; 4], |most, point| {
            let [p50, p95, p99] = point.percentiles;
            let here = [p50, p95, p99, point.exact.max()];
            std::array::from_fn(|at| most[at].max(here[at]))
        })
    }

    /// Returns the points of one row up to `now`, in nanoseconds since the measurement began; open seconds come last.
    /// Sketches are included if `whole`.
    pub(crate) fn columns(
        &mut self,
        row: usize,
        now: u64,
        lasted: impl Fn(u64, u64) -> Duration,
        whole: bool,
    ) -> NameSeries {
        let mut columns = NameSeries::default();
        let Some(NamePoints { points, open, .. }) = self.rows.get_mut(row) else {
            return columns;
        };
        for point in points {
            let stretch = self.stretches[point.stretch as usize];
            point.show(stretch.second, stretch.lasted, &mut columns);
            if whole {
                point.show_sketches(&mut columns);
            }
        }
        open.sort_unstable_by_key(|(second, _)| *second);
        for (second, open) in open.iter_mut().filter(|(_, open)| open.exact.count > 0) {
            let from = *second * SECOND;
            let lasted = lasted(from, (from + SECOND).min(now.max(from)));
            let point = open.point(0, &mut self.sketcher);
            point.show(*second, lasted, &mut columns);
            if whole {
                point.show_sketches(&mut columns);
            }
        }
        if columns.failed_histogram.iter().all(String::is_empty) {
            columns.failed_histogram.clear();
        }
        columns
    }

    /// Joins neighbouring stretches, so that each covers twice the time.
    fn join(&mut self) {
        self.width_s *= 2;
        let mut joined: Vec<NameStretch> = Vec::new();
        let mut places = Vec::new();
        for stretch in &self.stretches {
            let slot = |stretch: &NameStretch| stretch.second / self.width_s;
            match joined.last_mut().filter(|last| slot(last) == slot(stretch)) {
                Some(last) => last.lasted += stretch.lasted,
                None => joined.push(*stretch),
            }
            places.push(joined.len() as u32 - 1);
        }
        self.stretches = joined;
        self.bytes = 0;
        let sketcher = &mut self.sketcher;
        for NamePoints { points, .. } in &mut self.rows {
            for point in &mut *points {
                point.stretch = places[point.stretch as usize];
            }
            points.dedup_by(|next, first| {
                let same = first.stretch == next.stretch;
                if same {
                    first.join(next, sketcher);
                }
                same
            });
            points.shrink_to_fit();
            self.bytes += points.iter().map(NamePoint::bytes).sum::<usize>();
        }
    }

    /// Returns the bytes of memory that closed points take.
    #[cfg(test)]
    pub(crate) fn heap_bytes(&self) -> usize {
        self.bytes + self.stretches.capacity() * size_of::<NameStretch>()
    }
}

impl OpenStretch {
    fn add(&mut self, more: &NameAddition<'_>) {
        self.exact = self.exact.merged(&more.exact);
        self.failures += more.failures;
        self.latencies.merge(more.latencies);
        self.failed.merge(more.failed);
    }

    /// Makes the closed point of a stretch; may sort what it holds, but changes no figure.
    fn point(&mut self, stretch: u32, sketcher: &mut Sketcher) -> NamePoint {
        let (min, max) = (self.exact.min(), self.exact.max());
        let sketch = sketcher.of_burst(&self.latencies);
        let failed_sketch = sketcher.of_burst(&self.failed);
        let percentiles = self.latencies.quantiles(QUANTILES);
        NamePoint {
            stretch,
            failures: self.failures as i32,
            exact: self.exact,
            percentiles: percentiles.map(|value| value.clamp(min, max)),
            sketch,
            failed_sketch,
        }
    }

    /// Clears the point and keeps its memory.
    fn clear(&mut self) {
        (self.exact, self.failures) = (ExactFigures::default(), 0);
        self.latencies.clear();
        self.failed.clear();
    }
}

impl NamePoint {
    /// Adds the point that follows.
    fn join(&mut self, next: &NamePoint, sketcher: &mut Sketcher) {
        self.failures = self.failures.saturating_add(next.failures);
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

    /// Returns the bytes of memory that the point takes, the allocator's overhead for its sketches included.
    fn bytes(&self) -> usize {
        const ALLOCATION: usize = 16;
        let failed = match self.failed_sketch.heap_bytes() {
            0 => 0,
            bytes => bytes + ALLOCATION,
        };
        size_of::<NamePoint>() + self.sketch.heap_bytes() + ALLOCATION + failed
    }

    fn show_sketches(&self, columns: &mut NameSeries) {
        columns.histogram.push(self.sketch.text());
        columns.failed_histogram.push(self.failed_sketch.text());
    }

    fn show(&self, second: u64, lasted: Duration, columns: &mut NameSeries) {
        let failures = self.failures.max(0) as u64;
        columns.push(second, lasted, &self.exact, failures, self.percentiles);
    }
}

#[cfg(test)]
mod tests;
