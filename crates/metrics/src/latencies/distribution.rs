//! Reads the histograms of a report back, for charts of how many requests took how long and for comparing runs.

use super::histogram;
use crate::delta::MOST_COUNT;
use crate::report::Figures;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

impl Figures {
    /// Returns requests by latency in ranges that double: each range's upper bound in microseconds (exclusive), and
    /// its count. The ranges go from the first to the last with a request; there are none if the histogram cannot be
    /// read.
    pub fn doubling_us(&self) -> Vec<(u64, u64)> {
        read(&self.histogram).map_or_else(Vec::new, |histogram| doubling(&histogram))
    }

    /// Returns the recorded latencies in microseconds, in rising order, each with its count. Empty without requests.
    pub fn counted_us(&self) -> Vec<(u64, u64)> {
        let Some(histogram) = read(&self.histogram) else {
            return Vec::new();
        };
        let values = histogram.iter_recorded();
        values
            .map(|value| {
                (
                    value.value_iterated_to(),
                    value.count_since_last_iteration(),
                )
            })
            .collect()
    }
}

/// Returns the latency in milliseconds that so many per cent of those in a histogram of a report do not exceed, of those
/// that are not in `others` too. `None` if there are none, or the histogram cannot be read.
pub fn percentile_ms(histogram: &str, others: &str, percent: f64) -> Option<f64> {
    let mut all = read(histogram)?;
    if !others.is_empty() {
        all = histogram::less(&all, &read(others)?);
    }
    let us = all.value_at_quantile(percent / 100.0);
    (!all.is_empty()).then_some(us as f64 / 1e3)
}

/// Latencies that a histogram holds as equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// The shortest of them in microseconds.
    pub(crate) from_us: u64,
    /// Their end in microseconds, exclusive.
    pub(crate) to_us: u64,
    /// How many there were.
    pub(crate) count: u64,
}

/// Returns the buckets of a histogram as reports have it, rising. `None` if it cannot be read, or counts more than a
/// run can have measured.
pub(crate) fn buckets(histogram: &str) -> Option<Vec<Bucket>> {
    if histogram.is_empty() {
        return Some(Vec::new());
    }
    let histogram = read(histogram)?;
    let values = histogram.iter_recorded();
    let buckets = values.map(|value| {
        let us = value.value_iterated_to();
        let from_us = histogram.lowest_equivalent(us);
        Bucket {
            from_us,
            to_us: histogram.next_non_equivalent(us).max(from_us + 1),
            count: value.count_since_last_iteration(),
        }
    });
    Some(buckets.collect())
}

/// The greatest value that a histogram of a report can be made for, far above the hour that lgoose records.
const MOST_US: u64 = 1 << 40;

/// Reads the histogram of a report, uncompressed V2 in base64. `None` if it is none, if its head claims more than there
/// is or than lgoose writes, or if it counts more than a run can have measured.
pub fn read(histogram: &str) -> Option<Histogram<u64>> {
    let bytes = BASE64.decode(histogram).ok()?;
    // Cookie, length of the counts, offset, digits, lowest and highest value, ratio: the reader allocates as much as
    // they claim.
    let (head, counts) = bytes.split_at_checked(40)?;
    let number = |at: usize| head[at..at + 4].try_into().map(u32::from_be_bytes).ok();
    let highest = head[24..32].try_into().map(u64::from_be_bytes).ok()?;
    let is_ours = number(0)? == V2
        && number(4)? as usize == counts.len()
        && number(12)? <= 3
        && highest <= MOST_US;
    if !is_ours {
        return None;
    }
    let read = Deserializer::new().deserialize::<u64, _>(&mut &bytes[..]);
    read.ok().filter(|found| found.len() <= MOST_COUNT)
}

/// The first four bytes of an uncompressed histogram of version 2.
const V2: u32 = 0x1c84_9313;

fn doubling(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
    let mut counts: Vec<(u64, u64)> = Vec::new();
    for value in histogram.iter_recorded() {
        let below = (value.value_iterated_to() + 1).next_power_of_two();
        let mut next = counts.last().map_or(below, |(last, _)| last * 2);
        while next < below {
            counts.push((next, 0));
            next *= 2;
        }
        match counts.last_mut() {
            Some((last, count)) if *last == below => *count += value.count_since_last_iteration(),
            _ => counts.push((below, value.count_since_last_iteration())),
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer as _, V2Serializer};

    #[test]
    fn stretches_double_without_a_gap() {
        let mut histogram = Histogram::new(3).expect("three digits");
        for us in [100_u64, 120, 127, 128, 1_000] {
            histogram.record(us).expect("it grows");
        }
        assert_eq!(
            doubling(&histogram),
            [(128, 3), (256, 1), (512, 0), (1_024, 1)]
        );
    }

    #[test]
    fn a_head_that_claims_more_than_there_is_is_refused() {
        let mut histogram = Histogram::new(3).expect("three digits");
        histogram.record(3_600_000_000_u64).expect("it grows");
        let mut good = Vec::new();
        let written = V2Serializer::new().serialize(&histogram, &mut good);
        written.expect("memory takes it");
        assert_eq!(read(&BASE64.encode(&good)), Some(histogram));
        // 2 GiB of counts, five digits, 200 years, and compressed, which hides how much there is.
        for (at, claimed) in [(4, 1_u32 << 31), (12, 5), (24, 1 << 20), (0, 0x1c84_9314)] {
            let mut bad = good.clone();
            bad[at..at + 4].copy_from_slice(&claimed.to_be_bytes());
            assert_eq!(read(&BASE64.encode(bad)), None, "{claimed} at {at}");
        }
        for length in 0..good.len() {
            assert_eq!(read(&BASE64.encode(&good[..length])), None, "{length}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_empty() {
        let figures = Figures {
            histogram: "no histogram".to_owned(),
            ..Figures::default()
        };
        assert_eq!(figures.doubling_us(), []);
    }
}
