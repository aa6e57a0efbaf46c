//! The part of the latency that was spent on the way to the server and back, by the name of the request.

use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;

/// The longest time that is told apart, in microseconds: an hour.
const MAX_US: u64 = 3_600_000_000;

/// The most names.
const MAX_NAMES: usize = 200;

/// The latencies of one name, beside the times that the server has logged of the same requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TravelRow {
    /// Method and name.
    pub name: String,
    /// Requests of which both are known.
    pub count: u64,
    /// What the run has measured.
    pub latency_ms: SpreadMs,
    /// What the server has logged.
    pub server_ms: SpreadMs,
    /// The rest: connecting, the network, queues before the server, lgoose itself.
    pub way_ms: SpreadMs,
    /// What stands behind the server took, on average, of requests that were passed on.
    pub upstream_avg_ms: Option<f64>,
}

/// A mean and two percentiles, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct SpreadMs {
    /// The mean, exact.
    pub avg: f64,
    /// The median, to two digits.
    pub p50: f64,
    /// The 95th percentile, to two digits.
    pub p95: f64,
}

/// The times of all names.
#[derive(Debug, Default)]
pub(super) struct TravelTimes {
    names: BTreeMap<u32, TimesOfName>,
}

#[derive(Debug)]
struct TimesOfName {
    count: u64,
    latency: TimeSpread,
    server: TimeSpread,
    way: TimeSpread,
    upstream_ns: (u64, u64),
}

#[derive(Debug)]
struct TimeSpread {
    sum_ns: u128,
    // `None` if there is no memory for it.
    spread: Option<Histogram<u32>>,
}

impl TimeSpread {
    fn new() -> TimeSpread {
        TimeSpread {
            sum_ns: 0,
            spread: Histogram::new_with_bounds(1, MAX_US, 2).ok(),
        }
    }

    fn record(&mut self, ns: u64) {
        self.sum_ns += u128::from(ns);
        if let Some(spread) = &mut self.spread {
            spread.saturating_record(ns / 1_000);
        }
    }

    fn spread(&self, count: u64) -> SpreadMs {
        let at = |quantile| {
            let us = self
                .spread
                .as_ref()
                .map(|all| all.value_at_quantile(quantile));
            us.unwrap_or_default() as f64 / 1e3
        };
        SpreadMs {
            avg: self.sum_ns as f64 / count.max(1) as f64 / 1e6,
            p50: at(0.5),
            p95: at(0.95),
        }
    }
}

impl TravelTimes {
    /// Adds a request: its latency, what the server took and, if it passed the request on, what stood behind it.
    pub(super) fn add(
        &mut self,
        name: u32,
        latency_ns: u64,
        server_ns: u64,
        upstream_ns: Option<u64>,
    ) {
        let is_known = self.names.contains_key(&name) || self.names.len() < MAX_NAMES;
        let name = if is_known { name } else { u32::MAX };
        let times = self.names.entry(name).or_insert_with(|| TimesOfName {
            count: 0,
            latency: TimeSpread::new(),
            server: TimeSpread::new(),
            way: TimeSpread::new(),
            upstream_ns: (0, 0),
        });
        times.count += 1;
        times.latency.record(latency_ns);
        times.server.record(server_ns);
        times.way.record(latency_ns.saturating_sub(server_ns));
        if let Some(ns) = upstream_ns {
            times.upstream_ns.0 = times.upstream_ns.0.saturating_add(ns);
            times.upstream_ns.1 += 1;
        }
    }

    /// Returns the rows, those with the most requests first.
    pub(super) fn rows<'a>(&self, name: impl Fn(u32) -> &'a str) -> Vec<TravelRow> {
        let rows = self.names.iter().map(|(number, times)| TravelRow {
            name: name(*number).to_owned(),
            count: times.count,
            latency_ms: times.latency.spread(times.count),
            server_ms: times.server.spread(times.count),
            way_ms: times.way.spread(times.count),
            upstream_avg_ms: (times.upstream_ns.1 > 0)
                .then(|| times.upstream_ns.0 as f64 / times.upstream_ns.1 as f64 / 1e6),
        });
        let mut rows: Vec<TravelRow> = rows.collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.count));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_did_not_take_was_on_the_way() {
        let mut times = TravelTimes::default();
        for ms in [10, 20, 30] {
            times.add(1, ms * 1_000_000, 5_000_000, Some(4_000_000));
        }
        times.add(0, 1_000_000, 2_000_000, None);
        let rows = times.rows(|number| if number == 1 { "GET /" } else { "GET /a" });
        let [front, other] = &rows[..] else {
            panic!("{rows:?}")
        };
        assert_eq!((&*front.name, front.count), ("GET /", 3));
        assert_eq!(
            (front.latency_ms.avg, front.server_ms.avg, front.way_ms.avg),
            (20.0, 5.0, 15.0)
        );
        assert_eq!(front.upstream_avg_ms, Some(4.0));
        assert!((front.way_ms.p50 - 15.0).abs() < 0.2, "{front:?}");
        // Clocks and resolutions differ: it is never less than nothing.
        assert_eq!(other.way_ms.avg, 0.0);
    }
}
