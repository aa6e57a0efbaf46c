//! Histograms of latencies: microseconds up to an hour with three significant digits.

use hdrhistogram::Histogram;

/// Longest latency that a histogram holds, in microseconds: one hour. Longer ones count as an hour.
pub(crate) const LONGEST_US: u64 = 3_600_000_000;

/// Makes an empty histogram of microseconds that grows with its values.
pub(crate) fn empty() -> Histogram<u64> {
    Histogram::new(3).expect("three significant digits are within what a histogram can hold")
}

/// Records a latency in microseconds, at most an hour.
pub(crate) fn record(histogram: &mut Histogram<u64>, us: u32) {
    histogram
        .record(u64::from(us).min(LONGEST_US))
        .expect("a growing histogram takes an hour");
}

/// Records a latency in microseconds as if it had come that many times.
pub(crate) fn record_many(histogram: &mut Histogram<u64>, us: u64, times: u64) {
    histogram
        .record_n(us.min(LONGEST_US), times)
        .expect("a growing histogram takes an hour");
}

/// Adds one histogram to another.
pub(crate) fn add(to: &mut Histogram<u64>, from: &Histogram<u64>) {
    to.add(from)
        .expect("a growing histogram takes what another one holds");
}

/// Returns one histogram without the values of another, as far as it has them: a verdict on a request may be counted
/// elsewhere than the request.
pub(crate) fn less(all: &Histogram<u64>, others: &Histogram<u64>) -> Histogram<u64> {
    let mut left = empty();
    each_recorded(all, |us, count| {
        let count = count.saturating_sub(others.count_at(us));
        if count > 0 {
            record_many(&mut left, us, count);
        }
    });
    left
}

/// Passes each value of a histogram with its count to `visit`, in rising order.
pub(crate) fn each_recorded(histogram: &Histogram<u64>, mut visit: impl FnMut(u64, u64)) {
    for value in histogram.iter_recorded() {
        visit(value.value_iterated_to(), value.count_at_value());
    }
}
