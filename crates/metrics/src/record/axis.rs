//! Time axis of a measurement: its borders divide it into slices, so that an event counts in the second in which it
//! happened, whichever tick hands it over.
//!
//! A slice lasts at most a quarter of a second: points over time cover whole seconds, and the sliding windows of
//! thresholds move by a quarter. The recorder of a shard drives the axis. Times are nanoseconds since the run began,
//! those of a span since its measurement began. The first measurement begins with the run and another one at each
//! reset; epochs number them.

use std::sync::Arc;

/// One second in nanoseconds.
pub(crate) const SECOND: u64 = 1_000_000_000;

/// Distance between the regular borders of a measurement, counted from its beginning, in nanoseconds.
pub(crate) const GRID: u64 = SECOND / 4;

/// A stretch of a measurement that no border divides: at most a quarter of one of its whole seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AxisSpan {
    /// Number of the measurement, from 0.
    pub(crate) epoch: u64,
    /// Beginning of the span, in nanoseconds since the measurement began.
    pub(crate) from: u64,
    /// End of the span (exclusive), in nanoseconds since the measurement began.
    pub(crate) to: u64,
}

impl AxisSpan {
    /// Returns the whole second of the measurement that contains the span.
    pub(crate) fn second(&self) -> u64 {
        self.from / SECOND
    }
}

/// A measurement and its beginning, in nanoseconds since the run began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct AxisMeasurement {
    epoch: u64,
    start: u64,
}

/// Borders of all measurements of a run so far, and of the next one if its beginning is known.
#[derive(Debug, Default)]
pub(crate) struct Axis {
    /// Measurements after the first, which begins with the run, in order of time.
    later: Vec<AxisMeasurement>,
    /// Additional borders within each measurement, in nanoseconds since its beginning, in order.
    marks: Arc<[u64]>,
}

impl Axis {
    /// Adds borders at these moments since the beginning of each measurement.
    pub(crate) fn mark(&mut self, marks: Arc<[u64]>) {
        self.marks = marks;
    }

    /// Schedules measurement number `epoch` to begin at a moment, and drops any that was to begin later.
    pub(crate) fn schedule(&mut self, epoch: u64, at: u64) {
        self.later.retain(|one| one.epoch < epoch && one.start < at);
        self.later.push(AxisMeasurement { epoch, start: at });
    }

    /// Returns whether measurement number `epoch`, or one after it, has begun by `now`.
    pub(crate) fn has_started(&self, epoch: u64, now: u64) -> bool {
        let mut later = self.later.iter();
        epoch == 0 || later.any(|one| one.epoch >= epoch && one.start <= now)
    }

    /// Drops the measurements that were to begin after `now`.
    pub(crate) fn stay(&mut self, now: u64) {
        self.later.retain(|one| one.start <= now);
    }

    /// Returns the span that contains a moment, and its two ends in nanoseconds since the run began.
    pub(crate) fn span_at(&self, at: u64) -> (AxisSpan, u64, u64) {
        let next = self.later.partition_point(|one| one.start <= at);
        let current = match next {
            0 => AxisMeasurement::default(),
            next => self.later[next - 1],
        };
        let since = at - current.start;
        let step = since / GRID * GRID;
        let after = self.marks.partition_point(|mark| *mark <= since);
        let from = match after {
            0 => step,
            after => step.max(self.marks[after - 1]),
        };
        let mut to = step + GRID;
        if let Some(mark) = self.marks.get(after) {
            to = to.min(*mark);
        }
        if let Some(next) = self.later.get(next) {
            to = to.min(next.start - current.start);
        }
        let span = AxisSpan {
            epoch: current.epoch,
            from,
            to,
        };
        (span, current.start + from, current.start + to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(axis: &Axis, at: u64) -> (u64, u64, u64) {
        let (span, from, to) = axis.span_at(at * 1_000_000);
        assert!(from <= at * 1_000_000 && at * 1_000_000 < to);
        assert_eq!(to - from, span.to - span.from);
        (span.epoch, span.from / 1_000_000, span.to / 1_000_000)
    }

    #[test]
    fn spans_are_quarters_of_seconds_cut_at_marks_and_where_a_measurement_starts() {
        let mut axis = Axis::default();
        assert_eq!(span(&axis, 0), (0, 0, 250));
        assert_eq!(span(&axis, 1_999), (0, 1_750, 2_000));
        axis.mark([1_200_000_000, 1_500_000_000].into());
        assert_eq!(span(&axis, 1_199), (0, 1_000, 1_200));
        assert_eq!(span(&axis, 1_200), (0, 1_200, 1_250));
        assert_eq!(span(&axis, 1_700), (0, 1_500, 1_750));
        axis.schedule(1, 2_300_000_000);
        assert_eq!(span(&axis, 2_299), (0, 2_250, 2_300));
        assert_eq!(span(&axis, 2_300), (1, 0, 250));
        assert_eq!(span(&axis, 3_450), (1, 1_000, 1_200));
        assert_eq!(span(&axis, 1_250), (0, 1_250, 1_500), "the past stays");
    }

    #[test]
    fn a_measurement_that_was_to_start_can_be_moved_or_called_off() {
        let mut axis = Axis::default();
        axis.schedule(1, 5_000_000_000);
        axis.schedule(1, 7_000_000_000);
        assert_eq!(span(&axis, 6_999), (0, 6_750, 7_000));
        assert_eq!(span(&axis, 7_000), (1, 0, 250));
        axis.stay(6_000_000_000);
        assert_eq!(span(&axis, 7_000), (0, 7_000, 7_250));
        axis.schedule(1, 8_000_000_000);
        axis.stay(8_000_000_000);
        axis.schedule(2, 8_400_000_000);
        assert_eq!(span(&axis, 8_300), (1, 250, 400));
        assert_eq!(span(&axis, 8_400), (2, 0, 250));
    }
}
