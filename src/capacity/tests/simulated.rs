//! Sites whose capacity is known, simulated request by request, and searches on them without waiting.

use crate::capacity::{
    Decision, Judgement, Search, SearchAction, SearchAims, SearchEnd, StepLengths, StepWatch,
    StepWindow,
};
use crate::metrics::{LoadKind, PointLatency, SeriesPoint, StepResult, ThresholdRow};
use crate::threshold::Threshold;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Seconds in which a step reaches its load, and until its figures begin to count.
const RAMP_S: f64 = 2.0;
const SETTLE_S: f64 = 3.0;
/// Seconds that a confirming run measures.
const CONFIRM_S: f64 = 60.0;
/// The longest latency that is told apart, in milliseconds.
const LONGEST_MS: usize = 60_000;

/// A site.
#[derive(Debug, Clone, Copy)]
pub(super) enum ModelSite {
    /// A queue with so many workers; each request takes one for so long, or on average for so long.
    Fixed {
        workers: usize,
        service_ms: f64,
    },
    Random {
        workers: usize,
        service_ms: f64,
    },
    /// So many connections; what comes beyond that is refused.
    Connections {
        most: usize,
        service_ms: f64,
    },
    /// A queue that has half of its workers from the thirtieth second of a step on.
    Degrading {
        workers: usize,
        service_ms: f64,
    },
}

impl ModelSite {
    /// Returns latencies in milliseconds and whether the request succeeded, by the arrivals in seconds.
    fn serve(self, arrivals: &[f64], random: &mut StdRng) -> Vec<(f64, bool)> {
        let micros = |seconds: f64| (seconds * 1e6) as u64;
        let mut busy: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
        let mut serve = |at: f64| {
            let (workers, service_ms) = match self {
                ModelSite::Fixed {
                    workers,
                    service_ms,
                } => (workers, service_ms),
                ModelSite::Random {
                    workers,
                    service_ms,
                } => {
                    let uniform: f64 = random.random_range(f64::MIN_POSITIVE..1.0);
                    (workers, -service_ms * uniform.ln())
                }
                ModelSite::Connections { most, service_ms } => (most, service_ms),
                ModelSite::Degrading {
                    workers,
                    service_ms,
                } if at < 30.0 => (workers, service_ms),
                ModelSite::Degrading {
                    workers,
                    service_ms,
                } => (workers / 2, service_ms),
            };
            let now = micros(at);
            let mut start = now;
            while busy.len() >= workers || busy.peek().is_some_and(|Reverse(free)| *free <= now) {
                match (self, busy.peek()) {
                    (ModelSite::Connections { .. }, Some(Reverse(free))) if *free > now => {
                        return (0.1, false);
                    }
                    _ => {}
                }
                let Some(Reverse(free)) = busy.pop() else {
                    break;
                };
                start = start.max(free);
            }
            let end = start + (service_ms * 1e3) as u64;
            busy.push(Reverse(end));
            ((end - now) as f64 / 1e3, true)
        };
        arrivals.iter().map(|at| serve(*at)).collect()
    }

    /// Returns the 95th percentile of many requests at that rate, in milliseconds.
    fn p95_at(self, rate: f64) -> f64 {
        let mut random = StdRng::seed_from_u64(99);
        let arrivals: Vec<f64> = (0..60_000).map(|at| f64::from(at) / rate).collect();
        let served = self.serve(&arrivals, &mut random);
        let mut latencies: Vec<f64> = served[6_000..].iter().map(|(ms, _)| *ms).collect();
        latencies.sort_by(f64::total_cmp);
        latencies[latencies.len() * 95 / 100]
    }

    /// Returns the greatest rate at which it keeps the 95th percentile below a limit: what its workers can do at all if
    /// its times are fixed, else by simulation.
    pub(super) fn capacity(self, limit_ms: f64) -> f64 {
        let most = |workers: usize, service_ms: f64| workers as f64 * 1e3 / service_ms;
        match self {
            ModelSite::Fixed {
                workers,
                service_ms,
            } => most(workers, service_ms),
            ModelSite::Connections {
                most: all,
                service_ms,
            } => most(all, service_ms),
            ModelSite::Degrading {
                workers,
                service_ms,
            } => most(workers / 2, service_ms),
            ModelSite::Random {
                workers,
                service_ms,
            } => {
                let (mut low, mut high) = (0.0, most(workers, service_ms));
                for _ in 0..9 {
                    let middle = (low + high) / 2.0;
                    if self.p95_at(middle) < limit_ms {
                        low = middle
                    } else {
                        high = middle
                    }
                }
                low
            }
        }
    }
}

/// What is counted since the figures began to.
struct SimulatedCounts {
    points: Vec<SeriesPoint>,
    by_ms: Vec<u32>,
    failures: u64,
    count: u64,
}

impl SimulatedCounts {
    fn new() -> SimulatedCounts {
        SimulatedCounts {
            points: Vec::new(),
            by_ms: vec![0; LONGEST_MS + 1],
            failures: 0,
            count: 0,
        }
    }

    fn add(&mut self, second: &[(f64, bool)]) {
        let failures = second.iter().filter(|(_, ok)| !ok).count() as u64;
        for (ms, _) in second {
            self.by_ms[(*ms as usize).min(LONGEST_MS)] += 1;
        }
        self.failures += failures;
        self.count += second.len() as u64;
        self.points.push(SeriesPoint {
            second: self.points.len() as u64,
            seconds: 1.0,
            count: second.len() as u64,
            failures,
            latency: PointLatency {
                sum_ms: second.iter().map(|(ms, _)| ms).sum(),
                ..PointLatency::default()
            },
            ..SeriesPoint::default()
        });
    }

    /// Returns the 95th percentile in milliseconds.
    fn p95(&self) -> Option<f64> {
        let (mut below, rank) = (0, self.count * 95 / 100);
        let found = self.by_ms.iter().position(|count| {
            below += u64::from(*count);
            below > rank
        });
        found.map(|ms| ms as f64 + 0.5)
    }

    fn rows(&self, slo: &[Threshold]) -> Vec<ThresholdRow> {
        let share = self.failures as f64 * 100.0 / self.count.max(1) as f64;
        let values = [self.p95(), Some(share)];
        let row = |(limit, value): (&Threshold, Option<f64>)| ThresholdRow {
            threshold: limit.to_string(),
            name: None,
            value,
            limit: limit.limit,
            unit: limit.unit.text().to_owned(),
            passed: value.is_some_and(|value| limit.holds(value)),
            broken_s: None,
        };
        slo.iter().zip(values).map(row).collect()
    }
}

/// Runs one step, and returns what came of it.
fn step(
    site: ModelSite,
    rate: f64,
    lengths: StepLengths,
    slo: &[Threshold],
    random: &mut StdRng,
) -> Judgement {
    let mut arrivals = Vec::new();
    let ramped = rate * RAMP_S / 2.0;
    for n in 0_u32.. {
        let n = f64::from(n);
        let at = if n < ramped {
            (2.0 * n * RAMP_S / rate).sqrt()
        } else {
            RAMP_S + (n - ramped) / rate
        };
        if at > lengths.most_s + 1.0 {
            break;
        }
        arrivals.push(at);
    }
    let mut ended: Vec<Vec<(f64, bool)>> = vec![Vec::new(); lengths.most_s as usize + 2];
    for (at, (ms, ok)) in arrivals.iter().zip(site.serve(&arrivals, random)) {
        if let Some(second) = ended.get_mut((at + ms / 1e3) as usize) {
            second.push((ms, ok));
        }
    }
    let mut watch = StepWatch::new(lengths, slo, Some(rate));
    let mut counted = SimulatedCounts::new();
    for (second, requests) in ended.iter().enumerate() {
        if (second as f64) < SETTLE_S {
            continue;
        }
        counted.add(requests);
        let limits = counted.rows(slo);
        let look = StepWindow {
            elapsed_s: second as f64 + 1.0,
            points: &counted.points,
            limits: &limits,
            dropped: 0,
        };
        match watch.look(&look) {
            Decision::GoOn => {}
            Decision::Anew => counted = SimulatedCounts::new(),
            Decision::Over(judgement) => return judgement,
        }
    }
    panic!("a step ends within its longest time");
}

/// Searches, and returns what was found.
pub(super) fn search(site: ModelSite, aims: SearchAims, slo: &[Threshold], seed: u64) -> SearchEnd {
    let mut random = StdRng::seed_from_u64(seed);
    let mut search = Search::new(aims);
    loop {
        let next = search.next();
        let (load, least_s, most_s) = match next {
            SearchAction::Over(end) => return end,
            SearchAction::Step {
                load,
                thorough: false,
            } => (load, 10.0, 90.0),
            SearchAction::Step {
                load,
                thorough: true,
            } => (load, CONFIRM_S, CONFIRM_S * 2.0),
            SearchAction::Confirm { load } => (load, f64::INFINITY, SETTLE_S + CONFIRM_S),
        };
        let lengths = StepLengths { least_s, most_s };
        let judgement = step(site, load, lengths, slo, &mut random);
        search.note(next, judgement.result);
        assert_ne!(judgement.result, StepResult::Generator);
    }
}

/// Returns aims in iterations per second.
pub(super) fn aims() -> SearchAims {
    SearchAims {
        by: LoadKind::Rate,
        from: 10.0,
        to: None,
        within: 0.05,
    }
}
