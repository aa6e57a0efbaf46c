//! Load on lgoose itself, second by second: how busy it was, its own part of the latency, and the seconds in which it
//! and not the target set the latency.

mod delays;
mod lateness;
mod warning;

pub use lateness::Lateness;
pub(crate) use lateness::{Latencies, OwnPart};

use crate::delta::{LatencyKind, RequestDelta, plausible};
use crate::latencies::nanoseconds;
use crate::record::SECOND;
use crate::report::{CpuLimitRow, GeneratorRow, PointGenerator};
use delays::Delays;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Share of the median or of p99 beyond which lgoose's own part marks a point.
const MOST: f64 = 0.1;
/// Time that any client needs to wake a sleeping thread: less does not mark a point, unless the thread never sleeps.
const WAKING: Duration = Duration::from_millis(1);
/// With fewer latencies than this, one thread that woke late may be all of them: only what is late by [`LATE`] marks a
/// point. A machine with nothing else to do took up to 3 ms to wake for one request a second.
const FEW: u64 = 10;
/// Busy share from which on a thread counts as never sleeping.
const BUSY: f64 = 0.9;
/// Without a probe, a point is marked if timers woke this much late on average, and no less than a tenth of the
/// median latency, or if a thread was busy in a stretch of at least [`LEAST`].
const LATE: Duration = Duration::from_millis(10);
const LEAST: Duration = Duration::from_millis(600);

/// Resources that a shard used since it last reported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effort {
    /// Length of the time that this covers.
    #[serde(deserialize_with = "plausible::time")]
    pub wall: Duration,
    /// Part of it in which the shard's thread was on a core, or ready for one without getting it.
    #[serde(deserialize_with = "plausible::time")]
    pub busy: Duration,
    /// Part of `busy` in which the thread was ready for a core without getting one.
    #[serde(deserialize_with = "plausible::time")]
    pub starved: Duration,
    /// Delay with which the shard's timer woke it; `None` if that was not measured.
    #[serde(deserialize_with = "plausible::time")]
    pub lag: Option<Duration>,
    /// Delays with which the shard's probe was run; empty without one.
    pub lateness: Lateness,
    /// Number of connections open now.
    #[serde(deserialize_with = "plausible::count")]
    pub connections: u64,
}

/// Efforts of one shard within a stretch.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StretchEffort {
    pub(crate) wall: Duration,
    busy: Duration,
    starved: Duration,
    lag: Duration,
    lags: u32,
    connections: u64,
    /// The longest delay of the thread.
    late: Duration,
}

/// A second of the measurement.
#[derive(Debug, Default)]
struct GeneratorSecond {
    /// Efforts by shard.
    stretches: Vec<StretchEffort>,
    delays: Delays,
    /// Whether a shard was caught in one call all the time, so that its users had to wait for it.
    caught: bool,
}

/// Efforts of all shards.
#[derive(Debug, Default)]
pub(crate) struct GeneratorLog {
    /// Seconds that are still open.
    open: BTreeMap<u64, GeneratorSecond>,
    /// Efforts over the whole run, by shard.
    whole: Vec<StretchEffort>,
    /// Efforts in the latest closed second, by shard.
    latest: Vec<StretchEffort>,
    closed_delays: Delays,
    lag_max: Duration,
    busiest: f64,
    connections: u64,
    judged: Duration,
    saturated: Duration,
    /// Activity of threads in the seconds in which lgoose itself set the latency.
    slow: SlowSeconds,
    /// The limit on processor time, as it was first and last seen.
    cpu_limit: Option<[CpuLimitRow; 2]>,
}

/// Activity of all threads together in the seconds in which lgoose itself set the latency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SlowSeconds {
    /// Time on a core, or ready for one.
    busy: Duration,
    /// Part of it in which they got none.
    starved: Duration,
    /// The longest delays of each second and thread.
    late: Duration,
}

/// Causes for which lgoose itself set the latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlowCause {
    /// Threads were ready for a core and got none.
    Starved,
    /// Threads were at work.
    OwnWork,
    /// Threads were late for longer than they were at work or ready for a core.
    NotMeasured,
}

impl SlowSeconds {
    fn add(&mut self, stretches: &[StretchEffort]) {
        for stretch in stretches {
            self.busy += stretch.busy;
            self.starved += stretch.starved;
            self.late += stretch.late;
        }
    }

    /// Returns the cause, given for how long a limit on processor time held threads back, which waited for a core then.
    pub(crate) fn cause(&self, held_back: Duration) -> SlowCause {
        if self.late > self.busy {
            SlowCause::NotMeasured
        } else if self.starved.saturating_sub(held_back) > self.busy / 4 {
            SlowCause::Starved
        } else {
            SlowCause::OwnWork
        }
    }
}

/// Summary of lgoose's load within a stretch of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct GeneratorLoad {
    /// Share of its time that the busiest thread was busy, from 0 to 1.
    pub(crate) busy: f64,
    /// Average lag of the timers of the thread that lags most.
    pub(crate) lag: Duration,
    /// lgoose's own part of the latencies; `None` without latencies or without a probe.
    pub(crate) own: Option<OwnPart>,
    /// Whether lgoose and not the target set the latency.
    pub(crate) saturated: bool,
}

impl StretchEffort {
    pub(crate) fn add(&mut self, effort: &Effort) {
        self.wall += effort.wall;
        self.busy += effort.busy;
        self.starved += effort.starved;
        if let Some(lag) = effort.lag {
            self.lag += lag;
            self.lags += 1;
        }
        self.connections = effort.connections;
        self.late = self.late.max(effort.late());
    }

    /// Returns the share of the time that it was busy, from 0 to 1.
    pub(crate) fn share(&self) -> f64 {
        if self.wall.is_zero() {
            0.0
        } else {
            (self.busy.as_secs_f64() / self.wall.as_secs_f64()).min(1.0)
        }
    }

    /// Returns the effort of both stretches; connections are those of the later one, which is this.
    fn with_earlier(&self, earlier: &StretchEffort) -> StretchEffort {
        StretchEffort {
            wall: self.wall + earlier.wall,
            busy: self.busy + earlier.busy,
            starved: self.starved + earlier.starved,
            lag: self.lag + earlier.lag,
            lags: self.lags + earlier.lags,
            connections: self.connections,
            late: self.late.max(earlier.late),
        }
    }

    pub(crate) fn mean_lag(&self) -> Duration {
        self.lag.checked_div(self.lags).unwrap_or_default()
    }
}

impl GeneratorLoad {
    /// Returns the summary as points over time show it.
    pub(crate) fn row(&self) -> PointGenerator {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        PointGenerator {
            busy: self.busy,
            lag_ms: ms(self.lag),
            saturated: self.saturated,
            own_p50_ms: self.own.map(|own| ms(own.p50)),
            own_p99_ms: self.own.map(|own| ms(own.p99)),
        }
    }

    /// Adds the stretch that follows, and keeps the worse of each figure.
    pub(crate) fn join(&mut self, next: &GeneratorLoad) {
        self.busy = self.busy.max(next.busy);
        self.lag = self.lag.max(next.lag);
        self.saturated |= next.saturated;
        self.own = match (self.own, next.own) {
            (Some(own), Some(next)) => Some(OwnPart {
                p50: own.p50.max(next.p50),
                p99: own.p99.max(next.p99),
            }),
            (own, next) => own.or(next),
        };
    }
}

impl GeneratorSecond {
    /// Summarizes the second, given the latencies of its successful requests, if there were any.
    fn strain(&self, latencies: Option<&Latencies>) -> GeneratorLoad {
        let busy = busiest(self.stretches.iter().copied());
        let lag = self.stretches.iter().map(StretchEffort::mean_lag).max();
        let lag = lag.unwrap_or_default();
        let own = self.delays.part_of(latencies);
        let saturated = match (latencies, &own) {
            (Some(all), Some(own)) => {
                let least = if all.count < FEW { LATE } else { WAKING };
                let much = |own: Duration, of: Duration| {
                    own > of.mul_f64(MOST) && (own >= least || busy >= BUSY)
                };
                much(own.p50, all.p50) || much(own.p99, all.p99)
            }
            _ if self.caught => true,
            _ if self.delays.are_probed() => false,
            _ => is_strained(self.lasted(), busy, lag, latencies.map(|all| all.p50)),
        };
        GeneratorLoad {
            busy,
            lag,
            own,
            saturated,
        }
    }

    /// Returns the share of the busiest thread in this second and the one before together.
    fn busiest_with(&self, before: &[StretchEffort]) -> f64 {
        let stretches = self.stretches.iter().enumerate();
        busiest(stretches.map(|(shard, stretch)| match before.get(shard) {
            Some(earlier) => stretch.with_earlier(earlier),
            None => *stretch,
        }))
    }

    fn lasted(&self) -> Duration {
        let walls = self.stretches.iter().map(|stretch| stretch.wall);
        walls.max().unwrap_or_default()
    }
}

/// Returns the share of the busiest of these threads.
fn busiest(stretches: impl Iterator<Item = StretchEffort>) -> f64 {
    stretches.map(|one| one.share()).fold(0.0, f64::max)
}

/// Returns whether lgoose itself set the latency in a stretch of that length, as far as that shows without a
/// probe; `median` is that of the latencies.
pub(crate) fn is_strained(
    lasted: Duration,
    busy: f64,
    lag: Duration,
    median: Option<Duration>,
) -> bool {
    let late = lag >= LATE && median.is_some_and(|median| lag >= median / 10);
    lasted >= LEAST && (busy >= BUSY || late)
}

impl Effort {
    /// Returns the longest delay of the thread.
    fn late(&self) -> Duration {
        self.lag.unwrap_or_default().max(self.lateness.longest())
    }

    /// Shows `each` the second that contains the middle of a tick, which ended so many nanoseconds after the measurement
    /// began, with its effort. A tick of more than a second is divided; its delays belong to the last of its seconds, in
    /// which they ended.
    pub(crate) fn by_second(&self, ended: u64, mut each: impl FnMut(u64, &Effort)) {
        let wall = nanoseconds(self.wall);
        // Not before the measurement, which a tick may have begun or even ended before.
        let started = ended.saturating_sub(wall);
        if ended - started <= SECOND {
            return each((ended - (ended - started) / 2) / SECOND, self);
        }
        let last = (ended - 1) / SECOND;
        for second in started / SECOND..=last {
            let from = started.max(second * SECOND);
            let part = ended.min((second + 1) * SECOND) - from;
            let share = part as f64 / wall as f64;
            let rest = if second == last {
                self.clone()
            } else {
                Effort::default()
            };
            let part = Effort {
                wall: Duration::from_nanos(part),
                busy: self.busy.mul_f64(share),
                starved: self.starved.mul_f64(share),
                connections: self.connections,
                ..rest
            };
            each(second, &part);
        }
    }
}

impl GeneratorLog {
    /// Adds the effort of a shard in a tick that ended so many nanoseconds after the measurement began, in the seconds
    /// of [`Effort::by_second`].
    pub(crate) fn add_tick(&mut self, ended: u64, shard: usize, effort: &Effort) {
        let is_caught = nanoseconds(effort.wall).min(ended) > SECOND
            && effort.busy.as_secs_f64() >= BUSY * effort.wall.as_secs_f64();
        effort.by_second(ended, |second, part| {
            self.add(second, shard, part);
            if let Some(open) = self.open.get_mut(&second) {
                open.caught |= is_caught && part.wall >= LEAST;
            }
        });
    }

    /// Adds a shard's effort, which counts in that second of the measurement.
    fn add(&mut self, second: u64, shard: usize, effort: &Effort) {
        let open = self.open.entry(second).or_default();
        for stretches in [&mut open.stretches, &mut self.whole] {
            if stretches.len() <= shard {
                stretches.resize(shard + 1, StretchEffort::default());
            }
            stretches[shard].add(effort);
        }
        open.delays.add_responses(&effort.lateness);
        self.lag_max = self.lag_max.max(effort.late());
        self.connections = self.connections.max(self.connections_now());
    }

    /// Adds latencies of one name from their actual start within a second; only a run at a rate has any.
    pub(crate) fn add_service(&mut self, second: u64, row: &RequestDelta) {
        if !row[LatencyKind::Service].is_empty() {
            let delays = &mut self.open.entry(second).or_default().delays;
            delays.add_service(&row.counts.service, &row[LatencyKind::Service]);
        }
    }

    /// Summarizes a second that is still open, given its latencies, if there were any.
    pub(crate) fn strain(&self, second: u64, latencies: Option<&Latencies>) -> GeneratorLoad {
        let open = self.open.get(&second);
        open.map_or_else(GeneratorLoad::default, |open| open.strain(latencies))
    }

    /// Closes a second, given how much of it was not spent in a pause.
    pub(crate) fn close(
        &mut self,
        second: u64,
        latencies: Option<&Latencies>,
        lasted: Duration,
    ) -> GeneratorLoad {
        let strain = self.strain(second, latencies);
        self.judged += lasted;
        self.busiest = self.busiest.max(strain.busy);
        if strain.saturated {
            self.saturated += lasted;
            if let Some(open) = self.open.get(&second) {
                self.slow.add(&open.stretches);
            }
        }
        let later = self.open.split_off(&(second + 1));
        for closed in std::mem::replace(&mut self.open, later).into_values() {
            self.closed_delays.merge(&closed.delays);
            self.latest = closed.stretches;
        }
        strain
    }

    /// Notes the limit on processor time, and the time withheld for it so far.
    pub(crate) fn limit(&mut self, now: CpuLimitRow) {
        let [first, _] = self.cpu_limit.unwrap_or([now, now]);
        self.cpu_limit = Some([first, now]);
    }

    /// Notes that a shard is lost, so that its connections no longer count.
    pub(crate) fn lose(&mut self, shard: usize) {
        if let Some(stretch) = self.whole.get_mut(shard) {
            stretch.connections = 0;
        }
    }

    pub(crate) fn connections_now(&self) -> u64 {
        self.whole.iter().map(|stretch| stretch.connections).sum()
    }

    /// Returns the activity of threads in the seconds in which lgoose itself set the latency, including those that are still open, as
    /// [`GeneratorLog::row`] does.
    pub(crate) fn slow(&self, open: impl Fn(u64) -> Option<Latencies>) -> SlowSeconds {
        let mut slow = self.slow;
        for (second, open_one) in &self.open {
            if open_one.strain(open(*second).as_ref()).saturated {
                slow.add(&open_one.stretches);
            }
        }
        slow
    }

    /// Returns the row of the whole run, including the seconds that are still open. `whole` are the latencies of the
    /// run, and `open` returns those of an open second. `None` before any shard has reported.
    pub(crate) fn row(
        &self,
        whole: Option<&Latencies>,
        open: impl Fn(u64) -> Option<Latencies>,
    ) -> Option<GeneratorRow> {
        let sum = |of: fn(&StretchEffort) -> Duration| -> f64 {
            self.whole.iter().map(of).sum::<Duration>().as_secs_f64()
        };
        let wall = sum(|stretch| stretch.wall);
        let lags: u32 = self.whole.iter().map(|stretch| stretch.lags).sum();
        let (mut saturated, mut judged) = (self.saturated, self.judged);
        let (mut busiest, mut before) = (self.busiest, &self.latest);
        let mut delays = Delays::default();
        delays.merge(&self.closed_delays);
        for (second, open_one) in &self.open {
            let strain = open_one.strain(open(*second).as_ref());
            let lasted = open_one.lasted().min(Duration::from_secs(1));
            judged += lasted;
            if strain.saturated {
                saturated += lasted;
            }
            // A piece of a second is looked at with the second before: alone it may be one burst, and without it the
            // average of the run could be greater.
            busiest = busiest.max(if lasted >= LEAST {
                strain.busy
            } else {
                open_one.busiest_with(before)
            });
            before = &open_one.stretches;
            delays.merge(&open_one.delays);
        }
        let own = delays.part_of(whole);
        (wall > 0.0).then(|| GeneratorRow {
            threads: self.whole.len() as u64,
            busy: (sum(|stretch| stretch.busy) / wall).min(1.0),
            starved: (sum(|stretch| stretch.starved) / wall).min(1.0),
            busiest,
            cpu_limit: self.cpu_limit.map(|[first, last]| CpuLimitRow {
                times: last.times.saturating_sub(first.times),
                held_back_s: (last.held_back_s - first.held_back_s).max(0.0),
                ..last
            }),
            lag_avg_ms: sum(|stretch| stretch.lag) * 1e3 / f64::from(lags.max(1)),
            lag_max_ms: self.lag_max.as_secs_f64() * 1e3,
            own_p50_ms: own.map(|own| own.p50.as_secs_f64() * 1e3),
            own_p99_ms: own.map(|own| own.p99.as_secs_f64() * 1e3),
            connections: self.connections,
            saturated_s: saturated.as_secs_f64(),
            judged_s: judged.as_secs_f64(),
        })
    }
}

#[cfg(test)]
mod tests;
