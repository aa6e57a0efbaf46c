//! The distribution of latencies for a chart: the histogram of a row in steps of a logarithmic scale.

use lgoose_metrics::read_histogram;
use std::collections::BTreeMap;

/// The number of steps in a factor of ten; each is 5.9 % wide.
pub(super) const STEPS: f64 = 40.0;

/// Returns the number of requests in each step: step `n` begins at `10^(n / STEPS)` µs. Empty if the text is not a
/// histogram written by lgoose, as in a report that was edited.
pub(super) fn steps(histogram: &str) -> BTreeMap<u32, u64> {
    let mut steps = BTreeMap::new();
    let Some(histogram) = read_histogram(histogram) else {
        return steps;
    };
    for value in histogram.iter_recorded() {
        let us = value.value_iterated_to().max(1) as f64;
        // A billionth keeps powers of ten out of the step below.
        let step = (us.log10() * STEPS + 1e-9) as u32;
        *steps.entry(step).or_default() += value.count_since_last_iteration();
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD as BASE64;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer as _, V2Serializer};

    #[test]
    fn every_request_is_in_a_step_near_its_latency() {
        let mut histogram = Histogram::<u64>::new(3).expect("three digits");
        for us in [0, 1, 10, 1_000, 1_000, 3_600_000_000] {
            histogram.record(us).expect("it grows");
        }
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&histogram, &mut bytes)
            .expect("memory takes it");
        let steps = steps(&BASE64.encode(bytes));
        let expected = [(0, 2), (40, 1), (120, 2), (382, 1)];
        assert_eq!(steps, BTreeMap::from(expected));
    }

    #[test]
    fn what_is_no_histogram_has_no_steps() {
        for text in ["", "HISTFAAAAA==", "%%%", "AAAA"] {
            assert!(steps(text).is_empty(), "{text}");
        }
    }
}
