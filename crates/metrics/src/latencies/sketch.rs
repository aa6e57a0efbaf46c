//! Latencies as a point over time keeps them: coarse enough for thousands of points, and exact enough for joining
//! points. A sketch is a histogram of two significant digits in HdrHistogram's own sparse form (V2), with empty
//! counts run-length encoded; it takes some 60 to 500 bytes.

use super::burst::Burst;
use super::counted::Counted;
use super::exact::ExactFigures;
use super::histogram::{LONGEST_US, each_recorded};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Sketch of latencies. Joining two adds up their counts exactly.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sketch(Box<[u8]>);

/// Latencies as coarse as in a sketch, for another process; small while they cover only a second.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Coarse(Counted);

impl Coarse {
    /// Adds a latency in microseconds that came that many times.
    pub(crate) fn add(&mut self, us: u64, times: u64) {
        // A sketch has 256 steps at first, and 128 from each power of two to the next.
        let bits = (us >> 8).checked_ilog2().map_or(0, |more| more + 1);
        self.0.add(us >> bits << bits, times);
    }
}

/// Buffers for making sketches, so that thousands of them do not allocate anew.
pub(crate) struct Sketcher {
    histogram: Histogram<u64>,
    serializer: V2Serializer,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for Sketcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sketcher")
    }
}

impl Default for Sketcher {
    fn default() -> Self {
        Sketcher {
            histogram: empty(),
            serializer: V2Serializer::new(),
            bytes: Vec::new(),
        }
    }
}

/// Makes an empty histogram. All sketches have the same bounds, so that equal ones have equal bytes.
fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_US, 2)
        .expect("an hour in microseconds is within what a histogram can hold")
}

impl Sketcher {
    /// Makes the sketch of a histogram of microseconds.
    pub(crate) fn of(&mut self, latencies: &Histogram<u64>) -> Sketch {
        self.histogram.reset();
        each_recorded(latencies, |us, count| self.add(us, count));
        self.finish()
    }

    /// Makes the sketch of a burst.
    pub(crate) fn of_burst(&mut self, latencies: &Burst) -> Sketch {
        self.histogram.reset();
        latencies.each(|us, count| self.add(us, count));
        self.finish()
    }

    /// Joins several sketches.
    pub(crate) fn joined<'a>(&mut self, sketches: impl IntoIterator<Item = &'a Sketch>) -> Sketch {
        self.gather(sketches);
        self.finish()
    }

    /// Returns the value at each of the rising `quantiles` over several sketches, to 0.4 %, and never outside the
    /// exact extremes.
    pub(crate) fn quantiles<'a, const N: usize>(
        &mut self,
        sketches: impl IntoIterator<Item = &'a Sketch>,
        exact: &ExactFigures,
        quantiles: [f64; N],
    ) -> [Duration; N] {
        self.gather(sketches);
        self.found(exact, quantiles)
    }

    fn found<const N: usize>(&self, exact: &ExactFigures, quantiles: [f64; N]) -> [Duration; N] {
        let mut found = [Duration::ZERO; N];
        if exact.count > 0 {
            let values = self.histogram.value_at_quantiles(quantiles);
            for (slot, us) in found.iter_mut().zip(values) {
                let middle = self.histogram.median_equivalent(us);
                *slot = Duration::from_micros(middle).clamp(exact.min(), exact.max());
            }
        }
        found
    }

    /// Splits the latencies of a sketch into those that are not among `part`, and `part`.
    pub(crate) fn split(&mut self, whole: &Sketch, part: &Sketch) -> [Sketch; 2] {
        self.gather([whole]);
        if let Some(part) = part.histogram()
            && self.histogram.subtract(part).is_err()
        {
            // A verdict has come before its request.
            self.gather([whole]);
        }
        [self.finish(), part.clone()]
    }

    /// Begins a sketch with the counts of another one.
    pub(crate) fn start(&mut self, sketch: &Sketch) {
        self.gather([sketch]);
    }

    /// Adds a burst to the sketch that was begun.
    pub(crate) fn more(&mut self, latencies: &Burst) {
        latencies.each(|us, count| self.add(us, count));
    }

    /// Adds coarse latencies to the sketch that was begun.
    pub(crate) fn more_coarse(&mut self, latencies: &Coarse) {
        for (us, count) in latencies.0.iter() {
            self.add(us.min(LONGEST_US), count);
        }
    }

    /// Returns the sketch that was begun, and the value at each of the rising `quantiles`, found as
    /// [`Self::quantiles`] does.
    pub(crate) fn end<const N: usize>(
        &mut self,
        exact: &ExactFigures,
        quantiles: [f64; N],
    ) -> (Sketch, [Duration; N]) {
        let found = self.found(exact, quantiles);
        (self.finish(), found)
    }

    fn gather<'a>(&mut self, sketches: impl IntoIterator<Item = &'a Sketch>) {
        self.histogram.reset();
        for sketch in sketches {
            if let Some(histogram) = sketch.histogram() {
                self.histogram
                    .add(histogram)
                    .expect("all sketches have the same bounds");
            }
        }
    }

    fn add(&mut self, us: u64, count: u64) {
        self.histogram
            .record_n(us, count)
            .expect("what was recorded is an hour at most");
    }

    fn finish(&mut self) -> Sketch {
        if self.histogram.is_empty() {
            return Sketch::default();
        }
        self.bytes.clear();
        self.serializer
            .serialize(&self.histogram, &mut self.bytes)
            .expect("memory takes what is written, and counts stay below 2^63");
        Sketch(self.bytes.as_slice().into())
    }
}

impl Sketch {
    /// Reads the sketch back; `None` if it is empty.
    fn histogram(&self) -> Option<Histogram<u64>> {
        Deserializer::new().deserialize(&mut &*self.0).ok()
    }

    /// Returns the sketch as reports have it: base64, empty without a value.
    pub(crate) fn text(&self) -> String {
        BASE64.encode(&self.0)
    }

    /// Returns the bytes of memory that the sketch takes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latencies::histogram;

    fn of(values: impl Iterator<Item = u64>) -> (Histogram<u64>, ExactFigures) {
        let (mut histogram, mut exact) = (histogram::empty(), ExactFigures::default());
        for us in values {
            histogram::record(&mut histogram, us as u32);
            exact.record(us * 1_000);
        }
        (histogram, exact)
    }

    #[test]
    fn joined_sketches_are_the_sketch_of_all_values_and_true_to_half_a_percent() {
        let mut sketcher = Sketcher::default();
        let values = |n: u64| (0..2_000).map(move |i| 800 + n * 130 + (i * i * 7_919) % 90_000);
        let parts: Vec<Sketch> = (0..7).map(|n| sketcher.of(&of(values(n)).0)).collect();
        let (all, exact) = of((0..7).flat_map(values));
        let whole = sketcher.of(&all);
        assert_eq!(sketcher.joined(&parts), whole);
        let quantiles = [0.01, 0.5, 0.95, 0.99, 0.999];
        let expected = exact.quantiles(&all, quantiles);
        for (found, expected) in sketcher
            .quantiles(&parts, &exact, quantiles)
            .into_iter()
            .zip(expected)
        {
            let off = found.abs_diff(expected).as_secs_f64() / expected.as_secs_f64();
            assert!(off <= 0.005, "{found:?} is not {expected:?}");
        }
    }

    #[test]
    fn coarse_latencies_make_the_sketch_of_the_latencies_themselves() {
        let mut sketcher = Sketcher::default();
        let values = || {
            (0..3_000)
                .map(|i| (i * i * 7_919) % 3_000_000)
                .chain(0..600)
        };
        let whole = sketcher.of(&of(values()).0);
        let mut coarse = Coarse::default();
        values().for_each(|us| coarse.add(us, 1));
        sketcher.start(&Sketch::default());
        sketcher.more_coarse(&coarse);
        assert_eq!(sketcher.finish(), whole);
        let different = coarse.0.iter().count();
        assert!(different < 1_500, "{different}");
    }

    #[test]
    fn a_sketch_of_a_constant_is_exact_and_an_empty_one_stays_empty() {
        let mut sketcher = Sketcher::default();
        let (histogram, exact) = of(std::iter::repeat_n(941_317, 30));
        let sketch = sketcher.of(&histogram);
        assert_eq!(
            sketcher.quantiles([&sketch], &exact, [0.5, 0.99]),
            [Duration::from_micros(941_317); 2]
        );
        assert!(sketch.heap_bytes() < 60, "{}", sketch.heap_bytes());
        let nothing = sketcher.of(&histogram::empty());
        assert_eq!(nothing, Sketch::default());
        assert_eq!(sketcher.joined([&nothing, &sketch]), sketch);
        assert!(nothing.text().is_empty());
    }
}
