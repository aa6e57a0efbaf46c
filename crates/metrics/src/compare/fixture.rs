//! Simulated runs whose truth is known.
//!
//! Each second has a factor of its own on all latencies, whose logarithm is an autoregressive series of the first order,
//! and each name has one of its own besides; latencies within a second are log-normal. On the
//! built-in site the logarithm of the mean of a second was found to vary by 0.008 to 0.010 with an autocorrelation of 0.12
//! to 0.17; the site here is noisier.

use crate::{
    GeneratorRow, Phases, Recorder, Report, RunIdentity, RunSettings, Sample, SampleFailure,
    SampleResponse, Store, Traffic,
};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Duration;

/// A site and the load on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SimulatedSite {
    /// Requests per second of all names together.
    pub(super) rate: f64,
    /// Standard deviation of the logarithm of a second's factor.
    pub(super) noise: f64,
    /// Its autocorrelation from one second to the next.
    pub(super) dependence: f64,
    /// Factor on all latencies.
    pub(super) slower: f64,
    /// Share of failures, where a name has no greater one.
    pub(super) failing: f64,
    /// Factor on the latencies of requests that fail.
    pub(super) failing_fast: f64,
    /// Seconds in which the first requests are up to three times as slow, less and less.
    pub(super) cold_s: f64,
}

impl Default for SimulatedSite {
    fn default() -> SimulatedSite {
        SimulatedSite {
            rate: 500.0,
            noise: 0.02,
            dependence: 0.5,
            slower: 1.0,
            failing: 0.0,
            failing_fast: 1.0,
            cold_s: 0.0,
        }
    }
}

/// Names of the site: their shares of the requests, median latencies in milliseconds and shares of failures.
const NAMES: [(&str, f64, f64, f64); 4] = [
    ("front page", 0.55, 12.0, 0.0),
    ("article", 0.3, 25.0, 0.002),
    ("search", 0.12, 40.0, 0.01),
    ("log in", 0.03, 45.0, 0.0),
];

/// An autoregressive series of the first order with a variance of 1.
pub(super) fn autoregressive(n: usize, dependence: f64, seed: u64) -> Vec<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut value = normal(random.random());
    let fresh = (1.0 - dependence * dependence).sqrt();
    (0..n)
        .map(|_| {
            value = dependence * value + fresh * normal(random.random());
            value
        })
        .collect()
}

/// The value of a normal distribution at a share of it, to six digits: PPND7 of Wichura, "Algorithm AS 241", Applied
/// Statistics 37 (1988).
fn normal(share: f64) -> f64 {
    let ratio = |above: [f64; 4], below: [f64; 4], x: f64| {
        let value = |all: [f64; 4]| all.iter().rev().fold(0.0, |sum, one| sum * x + one);
        value(above) / value(below)
    };
    let share = share.clamp(1e-9, 1.0 - 1e-9);
    let off = share - 0.5;
    if off.abs() <= 0.425 {
        let above = [
            3.387_132_717_9,
            50.434_271_938,
            159.291_132_02,
            59.109_374_72,
        ];
        let below = [1.0, 17.895_169_469, 78.757_757_664, 67.187_563_6];
        return off * ratio(above, below, 0.180_625 - off * off);
    }
    let root = (-share.min(1.0 - share).ln()).sqrt();
    let reach = if root <= 5.0 {
        let above = [
            1.423_437_277_7,
            2.756_815_39,
            1.306_728_481_6,
            0.170_238_211_03,
        ];
        let below = [1.0, 0.737_001_642_5, 0.120_211_329_75, 0.0];
        ratio(above, below, root - 1.6)
    } else {
        let above = [
            6.657_905_115,
            3.081_226_386,
            0.428_682_943_37,
            0.017_337_203_997,
        ];
        let below = [1.0, 0.241_978_942_25, 0.012_258_202_635, 0.0];
        ratio(above, below, root - 5.0)
    };
    reach.copysign(off)
}

/// Returns the report of a run of a site, counted as any run is.
pub(super) fn simulated(site: &SimulatedSite, seconds: usize, seed: u64) -> Report {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5eed);
    let series = |number: u64| autoregressive(seconds, site.dependence, seed * 16 + number);
    let common = series(0);
    let own: Vec<Vec<f64>> = (1..=NAMES.len() as u64).map(series).collect();
    // So many values of a normal distribution that drawing one of them makes no difference.
    let table: Vec<f64> = (0..4_096)
        .map(|at| normal((f64::from(at) + 0.5) / 4_096.0))
        .collect();
    let mut store = Store::new(RunIdentity::default());
    let mut recorder = Recorder::new(0);
    for second in 0..seconds {
        for (at, (name, share, median_ms, failing)) in NAMES.iter().enumerate() {
            let request = recorder.request("GET", name);
            let factor = (site.noise * (common[second] + 0.5 * own[at][second])).exp();
            let factor = match second as f64 / site.cold_s {
                past if past < 1.0 => factor * (3.0 - 2.0 * past),
                _ => factor,
            };
            let expected = site.rate * share;
            let more = random.random_bool(expected.fract());
            for _ in 0..expected as usize + usize::from(more) {
                let place = random.random_range(0..table.len());
                let ms = median_ms * factor * (0.45 * table[place]).exp() * site.slower;
                let failed = random.random_bool(failing.max(site.failing));
                let ms = if failed { ms * site.failing_fast } else { ms };
                let latency = Duration::from_secs_f64(ms / 1e3);
                let end = Duration::from_millis(second as u64 * 1_000 + 500);
                recorder.record(&Sample {
                    request,
                    // Requests of the first second may have begun before the run.
                    start: (recorder.zero() + end) - latency,
                    latency,
                    delay: None,
                    phases: Phases::default(),
                    response: SampleResponse::of_status(if failed { 503 } else { 200 }),
                    redirects: 0,
                    retries: 0,
                    traffic: Traffic::received(100),
                    failure: failed.then_some(SampleFailure {
                        message: "status 503",
                        line: None,
                    }),
                    context: None,
                });
            }
        }
        let empty = store.merge(recorder.take());
        recorder.recycle(empty);
        store.tick(Duration::from_secs(second as u64 + 1));
    }
    let mut report = store.report(Duration::from_secs(seconds as u64));
    report.seed = 1;
    report.settings = Some(RunSettings {
        plan_sha256: "1".to_owned(),
        warmup: Some("10s".to_owned()),
        ..RunSettings::default()
    });
    report.generator = Some(GeneratorRow {
        threads: 2,
        busy: 0.2,
        busiest: 0.3,
        lag_avg_ms: 0.1,
        lag_max_ms: 1.0,
        starved: 0.0,
        cpu_limit: None,
        own_p50_ms: None,
        own_p99_ms: None,
        connections: 10,
        saturated_s: 0.0,
        judged_s: seconds as f64,
    });
    report
}
