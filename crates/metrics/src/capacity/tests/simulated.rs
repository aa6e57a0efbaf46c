//! Sites whose capacity is known, simulated request by request, and searches on them without waiting.

use crate::capacity::{
    CapacityEstimate, Decision, IterationCounts, Judgement, Search, SearchAction, SearchAims,
    SearchEnd, StepIterations, StepLengths, StepWatch, StepWindow,
};
use crate::{CapacityStep, LoadKind, PointLatency, SeriesPoint, StepResult, ThresholdRow};
use lgoose_base::threshold::Threshold;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Seconds in which a step reaches its load, and until its figures begin to count.
const RAMP_S: f64 = 2.0;
const SETTLE_S: f64 = 3.0;
/// Seconds that a confirming run measures.
const CONFIRM_S: f64 = 60.0;
/// Seconds that a step may last, beside those of an iteration, and those of one whose iterations do not end.
const MOST_S: f64 = 90.0;
const LONGEST_S: f64 = 900.0;
/// Seconds that the search takes to begin and end a run, and to wait for the site after a step that failed.
const RUN_S: f64 = 1.0;
const PAUSE_S: f64 = 4.0;
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

    /// Returns the requests of iterations that start at these times, each with its arrival, latency and success.
    fn serve_visits(
        self,
        starts: &[f64],
        visit: Visit,
        random: &mut StdRng,
    ) -> Vec<(f64, f64, bool)> {
        let requests = (0..visit.requests).map(|number| f64::from(number) * visit.pause_s);
        let of_visit = |start: &f64| {
            let start = *start;
            requests
                .clone()
                .map(move |pause| start + pause)
                .collect::<Vec<f64>>()
        };
        let mut arrivals: Vec<f64> = starts.iter().flat_map(of_visit).collect();
        arrivals.sort_by(f64::total_cmp);
        let served = self.serve(&arrivals, random);
        let all = arrivals.iter().zip(served);
        all.map(|(at, (ms, ok))| (*at, ms, ok)).collect()
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

/// The iteration of a plan: requests with pauses between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visit {
    pub(super) requests: u32,
    pub(super) pause_s: f64,
}

impl Visit {
    /// One request.
    pub(super) const ONE: Visit = Visit {
        requests: 1,
        pause_s: 0.0,
    };

    /// Returns how long the pauses take.
    fn pauses_s(self) -> f64 {
        f64::from(self.requests - 1) * self.pause_s
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
            subject: None,
        };
        slo.iter().zip(values).map(row).collect()
    }
}

/// A step that is over.
struct SimulatedStep {
    judgement: Judgement,
    lasted_s: f64,
    step: CapacityStep,
    last_throughput: f64,
}

/// A search on a simulated site.
#[derive(Debug, Clone, Copy)]
pub(super) struct SimulatedSearch<'a> {
    pub(super) site: ModelSite,
    pub(super) visit: Visit,
    pub(super) slo: &'a [Threshold],
    /// The value of '--step-time-max', if there is one.
    pub(super) step_time_max_s: Option<f64>,
}

impl SimulatedSearch<'_> {
    /// Runs one step.
    fn step(&self, rate: f64, lengths: StepLengths, random: &mut StdRng) -> SimulatedStep {
        // Without pauses as many iterations end as start, from the beginning.
        let longest_s = if self.visit.pauses_s() > 0.0 {
            lengths.longest_s
        } else {
            lengths.most_s
        };
        let mut starts = Vec::new();
        let ramped = rate * RAMP_S / 2.0;
        for n in 0_u32.. {
            let n = f64::from(n);
            let at = if n < ramped {
                (2.0 * n * RAMP_S / rate).sqrt()
            } else {
                RAMP_S + (n - ramped) / rate
            };
            if at > longest_s + 1.0 {
                break;
            }
            starts.push(at);
        }
        let mut ended: Vec<Vec<(f64, bool)>> = vec![Vec::new(); longest_s as usize + 2];
        for (at, ms, ok) in self.site.serve_visits(&starts, self.visit, random) {
            if let Some(second) = ended.get_mut((at + ms / 1e3) as usize) {
                second.push((ms, ok));
            }
        }
        let mut watch = StepWatch::new(lengths, self.slo, Some(rate));
        let mut counted = SimulatedCounts::new();
        let mut began = SETTLE_S;
        for (second, requests) in ended.iter().enumerate() {
            if (second as f64) < SETTLE_S {
                continue;
            }
            counted.add(requests);
            let limits = counted.rows(self.slo);
            let elapsed_s = second as f64 + 1.0;
            // An iteration ends with its last request, which takes as long as the others of that second.
            let latency_s = counted.points.last().map_or(0.0, |point| {
                point.latency.sum_ms / 1e3 / point.count.max(1) as f64
            });
            let takes_s = self.visit.pauses_s() + latency_s;
            let before = |at: f64| starts.partition_point(|start| *start <= at);
            let counts = [IterationCounts {
                due: (before(elapsed_s) - before(began)) as f64,
                ended: before(elapsed_s - takes_s).saturating_sub(before(began - takes_s)) as u64,
            }];
            let look = StepWindow {
                elapsed_s,
                points: &counted.points,
                limits: &limits,
                dropped: 0,
                iterations: StepIterations {
                    scenarios: &counts,
                    under_way: (before(elapsed_s) - before(elapsed_s - takes_s)) as f64,
                    failed: 0,
                },
            };
            match watch.look(&look) {
                Decision::GoOn => {}
                Decision::Anew => {
                    counted = SimulatedCounts::new();
                    began = elapsed_s;
                }
                Decision::Over(judgement) => {
                    let seconds = counted.points.len() as f64;
                    let served = |points: &[SeriesPoint]| -> f64 {
                        let served = points.iter().map(|point| point.count - point.failures);
                        served.sum::<u64>() as f64 / points.len() as f64
                    };
                    let last = &counted.points[counted.points.len().saturating_sub(5)..];
                    return SimulatedStep {
                        step: CapacityStep {
                            load: rate,
                            result: judgement.result,
                            settling_s: began,
                            measured_s: seconds,
                            throughput: served(&counted.points),
                            figures: limits.iter().map(|row| row.value).collect(),
                            iteration_s: Some(takes_s),
                            ..CapacityStep::default()
                        },
                        last_throughput: served(last),
                        judgement,
                        lasted_s: elapsed_s,
                    };
                }
            }
        }
        panic!("a step ends within its longest time");
    }

    /// Returns the times of a step, as `lgoose capacity` has them, once iterations are known to take so long.
    fn lengths(&self, action: SearchAction, iteration_s: Option<f64>) -> StepLengths {
        let takes_s = iteration_s.unwrap_or(0.0);
        let most_s = self.step_time_max_s.unwrap_or(MOST_S + takes_s);
        let settles_s = iteration_s.map(|takes_s| RAMP_S + takes_s);
        let longest_s = match self.step_time_max_s {
            Some(_) => most_s,
            None => most_s.max(LONGEST_S),
        };
        let confirm_s = SETTLE_S.max(settles_s.unwrap_or(0.0)) + CONFIRM_S;
        match action {
            SearchAction::Confirm { .. } => StepLengths {
                least_s: f64::INFINITY,
                most_s: confirm_s,
                longest_s: confirm_s,
                settles_s,
            },
            _ => StepLengths {
                least_s: 10.0,
                most_s,
                longest_s,
                settles_s,
            },
        }
    }

    /// Searches, and returns what was found, and how many seconds that would have taken.
    pub(super) fn run(&self, aims: SearchAims, seed: u64) -> (SearchEnd, f64) {
        let mut random = StdRng::seed_from_u64(seed);
        let mut search = Search::new(aims);
        let mut estimate = CapacityEstimate::new(aims.by, self.slo);
        let (mut iteration_s, mut seconds) = (None, 0.0);
        loop {
            let interval = search.interval();
            search.estimate(interval.and_then(|(low, high)| estimate.between(low, high)));
            let next = search.next();
            let load = match next {
                SearchAction::Over(end) => return (end, seconds),
                SearchAction::Step { load } | SearchAction::Confirm { load } => load,
            };
            let lengths = self.lengths(next, iteration_s);
            let done = self.step(load, lengths, &mut random);
            let result = done.judgement.result;
            seconds += done.lasted_s + RUN_S;
            if result == StepResult::Held {
                iteration_s = iteration_s.or(done.step.iteration_s);
            } else {
                seconds += PAUSE_S;
            }
            estimate.note(&done.step, done.last_throughput);
            search.note(next, result);
            assert_ne!(result, StepResult::Generator);
        }
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
