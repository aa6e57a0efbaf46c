//! Delays with which lgoose itself reacted to events: recorded by a probe on each shard, merged over shards and
//! ticks, and compared with the latencies of the same time to estimate lgoose's part of them.
//!
//! Knows neither threads nor timers. A sample says how long a response that becomes readable at a random moment waits
//! until lgoose looks at it: for a core, and for what lgoose does for other requests first.

use crate::latencies::{ExactFigures, nanoseconds};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Upper bound of the first step in nanoseconds: some 16 µs, about as long as a sleeping thread takes to wake.
const FIRST_NS: u64 = 1 << 14;
/// Steps from each power of two to the next: a step is some 9 % wide.
const PER_OCTAVE: u64 = 8;
/// Number of steps, from 16 µs to 17 s; longer delays count in the last.
const STEPS: usize = 20 * PER_OCTAVE as usize + 1;
/// The fewest samples that allow an estimate.
const LEAST: u64 = 5;

/// Delays, counted by size.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "DelayCounts", into = "DelayCounts")]
pub struct Lateness {
    steps: [u32; STEPS],
    count: u64,
}

/// Number and count of each step that is not empty.
type DelayCounts = Vec<(u8, u32)>;

impl From<Lateness> for DelayCounts {
    fn from(lateness: Lateness) -> DelayCounts {
        let steps = lateness.steps.into_iter().enumerate();
        let held = steps.filter(|(_, count)| *count > 0);
        held.map(|(step, count)| (step as u8, count)).collect()
    }
}

impl From<DelayCounts> for Lateness {
    fn from(held: DelayCounts) -> Lateness {
        let mut lateness = Lateness::default();
        for (step, count) in held {
            let slot = &mut lateness.steps[usize::from(step).min(STEPS - 1)];
            *slot = slot.saturating_add(count);
            lateness.count += u64::from(count);
        }
        lateness
    }
}

/// Latencies of a stretch, as far as they matter for lgoose's own part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Latencies {
    pub(crate) count: u64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    /// Average time from one request of a user to its next, for users who wait for a response before they send
    /// another request; `None` for independent visitors.
    pub(crate) cycle: Option<Duration>,
}

/// lgoose's own part of the median and of the 99th percentile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OwnPart {
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

impl Latencies {
    /// Summarizes the latencies of independent visitors; `None` where there are none. `exact` may be of more requests.
    pub(crate) fn of(exact: &ExactFigures, all: &Histogram<u64>) -> Option<Latencies> {
        let [p50, p99] = exact.quantiles(all, [0.5, 0.99]);
        (!all.is_empty()).then_some(Latencies {
            count: all.len(),
            p50,
            p99,
            cycle: None,
        })
    }

    /// Sets the cycle, given that these are the requests of `users` users within that time.
    pub(crate) fn by(self, users: u64, within: Duration) -> Latencies {
        let cycle = within.as_secs_f64() * users as f64 / self.count.max(1) as f64;
        let cycle = Duration::try_from_secs_f64(cycle).ok();
        Latencies {
            // Once all users have ended, nobody knows how many there were.
            cycle: cycle.filter(|_| users > 0).map(|cycle| cycle.max(self.p50)),
            ..self
        }
    }
}

impl Default for Lateness {
    fn default() -> Self {
        Lateness {
            steps: [0; STEPS],
            count: 0,
        }
    }
}

impl std::fmt::Debug for Lateness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let steps = self.steps.iter().enumerate().filter(|(_, n)| **n > 0);
        f.debug_map()
            .entries(steps.map(|(step, n)| (middle(step), n)))
            .finish()
    }
}

impl Lateness {
    /// Average time between two samples: 50 in a second. Each may wake a sleeping thread, which took 65 µs of a core
    /// on a virtual machine: a third of a percent in all.
    pub const GAP: Duration = Duration::from_millis(20);

    /// Counts one delay.
    pub fn record(&mut self, delay: Duration) {
        self.record_many(delay, 1);
    }

    /// Counts the same delay that many times.
    pub(crate) fn record_many(&mut self, delay: Duration, times: u32) {
        let slot = &mut self.steps[step(nanoseconds(delay))];
        *slot = slot.saturating_add(times);
        self.count += u64::from(times);
    }

    pub(crate) fn merge(&mut self, other: &Lateness) {
        for (sum, more) in self.steps.iter_mut().zip(other.steps) {
            *sum = sum.saturating_add(more);
        }
        self.count += other.count;
    }

    /// Returns how many delays were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the longest delay.
    pub fn longest(&self) -> Duration {
        let longest = self.steps.iter().rposition(|n| *n > 0);
        longest.map_or(Duration::ZERO, middle)
    }

    /// Returns the delay at the median, and the one at the rank that the 99th percentile has among that many
    /// latencies. Of few latencies that is the rank of the longest; with a single latency it is the median, the best
    /// guess.
    fn quantiles(&self, latencies: &Latencies) -> [Duration; 2] {
        let longer = latencies.count - (latencies.count as f64 * 0.99).ceil() as u64 + 1;
        let share = longer as f64 / (latencies.count + 1) as f64;
        [0.5, share].map(|share| self.exceeded_by(share, latencies.cycle))
    }

    /// Returns the longest delay that at least such a share of requests meets.
    ///
    /// For independent visitors, the same share of samples meets or exceeds it. But a user that waits for a response
    /// sends nothing meanwhile, so a hold-up delays it once, however long it lasts: when a response comes due within
    /// the first `cycle` of the hold-up, with most of a long hold-up still to come. So a delay counts only the
    /// samples that exceed it by no more than a cycle.
    fn exceeded_by(&self, share: f64, cycle: Option<Duration>) -> Duration {
        let expected = share * self.count as f64;
        // A hold-up that is longer than the time between two samples is sure to meet one. A shorter one meets a
        // sample by chance, so one more is required, and so is the square root of a count, by which chance varies it.
        let chance = f64::from(u8::from(self.longest() < Lateness::GAP)) + expected.sqrt();
        let enough = (expected + chance).ceil() as u64;
        let found = (0..STEPS).rev().find(|first| {
            let delay = middle(*first);
            let within = |step: &usize| cycle.is_none_or(|cycle| middle(*step) - delay <= cycle);
            let met = (*first..STEPS).take_while(within);
            self.steps[*first] > 0
                && met.map(|step| u64::from(self.steps[step])).sum::<u64>() >= enough
        });
        found.map_or(Duration::ZERO, middle)
    }

    /// Estimates the part of the latencies that the delays make up, where each latency contains one delay. `None`
    /// with too few samples or without latencies.
    ///
    /// At the median, lgoose's part is the median of the delays. From there to p99, the target's own times and the
    /// delays vary independently. If both were spread evenly, the squares of the two distances would add up, which
    /// leaves next to nothing to lgoose where the target's times vary far more than the delays. Where they hardly
    /// vary, the distances themselves add up. In between, the fourth power of the delays' share decides. Squares
    /// alone gave half of the true part beside busy loops; powers of 1.5 gave three times the true part with a target
    /// of 50 to 200 ms.
    pub(crate) fn part_of(&self, latencies: &Latencies) -> Option<OwnPart> {
        if self.count < LEAST || latencies.count == 0 {
            return None;
        }
        let [middle, high] = self.quantiles(latencies);
        let p50 = latencies.p50.min(middle);
        let spread = |middle, high: Duration| high.saturating_sub(middle).as_secs_f64();
        let whole = spread(latencies.p50, latencies.p99);
        let own = spread(p50, high);
        let ratio = if whole > 0.0 {
            (own / whole).min(1.0)
        } else {
            0.0
        };
        let even = 1.0 - (1.0 - ratio * ratio).sqrt();
        let share = even + (ratio - even) * ratio.powi(4);
        Some(OwnPart {
            p50,
            p99: p50 + Duration::from_secs_f64(whole * share),
        })
    }
}

fn step(ns: u64) -> usize {
    if ns < FIRST_NS {
        return 0;
    }
    let octave = u64::from(ns.ilog2()) - u64::from(FIRST_NS.ilog2());
    let within = ((ns >> octave) - FIRST_NS) * PER_OCTAVE / FIRST_NS;
    ((octave * PER_OCTAVE + within) as usize + 1).min(STEPS - 1)
}

/// Returns the middle of a step.
fn middle(step: usize) -> Duration {
    let Some(step) = (step as u64).checked_sub(1) else {
        return Duration::from_nanos(FIRST_NS / 2);
    };
    let (octave, within) = (step / PER_OCTAVE, step % PER_OCTAVE);
    let width = (FIRST_NS << octave) / PER_OCTAVE;
    Duration::from_nanos((FIRST_NS << octave) + within * width + width / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    fn latencies(count: u64, p50: Duration, p99: Duration) -> Latencies {
        Latencies {
            count,
            p50,
            p99,
            cycle: None,
        }
    }

    /// 200 delays, of which `late` take `long` and the others 20 µs.
    fn delays(late: u32, long: Duration) -> Lateness {
        let mut lateness = Lateness::default();
        lateness.record_many(us(20), 200 - late);
        lateness.record_many(long, late);
        lateness
    }

    fn near(found: Duration, expected: Duration) -> bool {
        found.abs_diff(expected) <= expected / 10 + us(20)
    }

    #[test]
    fn every_delay_is_reported_within_a_sixteenth() {
        let mut ns = FIRST_NS;
        while ns < 16_000_000_000 {
            let shown = middle(step(ns));
            let off = shown.abs_diff(Duration::from_nanos(ns));
            assert!(off <= Duration::from_nanos(ns / 15), "{ns} ns as {shown:?}");
            ns += ns / 37;
        }
        assert_eq!(step(0), 0);
        assert_eq!(step(u64::MAX), STEPS - 1);
    }

    #[test]
    fn a_steady_target_leaves_the_tail_to_lgoose_and_a_changeful_one_does_not() {
        let late = delays(20, us(8_000));
        for (count, p50, p99, own) in [
            // The target always takes 1 ms; one request in ten met a delay of some 8 ms.
            (1_000, us(1_020), us(9_000), us(8_000)),
            // The target's own times vary from 20 to 200 ms.
            (1_000, us(60_000), us(200_000), us(250)),
            // So few requests that hardly any of them met the longest delay.
            (3, us(1_020), us(1_100), us(40)),
        ] {
            let part = late.part_of(&latencies(count, p50, p99)).expect("known");
            assert!(near(part.p99, own), "{part:?} of {p99:?}, not {own:?}");
            assert!(near(part.p50, us(20)), "{part:?}");
        }
    }

    #[test]
    fn a_single_delay_does_not_count_as_lgooses_part() {
        let all = latencies(1_000, us(200), us(900));
        let part = |late| delays(late, us(5_000)).part_of(&all).expect("known");
        assert!(part(1).p99 < us(50), "{:?}", part(1));
        assert!(part(6).p99 >= us(700), "{:?}", part(6));
    }

    #[test]
    fn lgoose_never_took_more_than_the_whole_latency() {
        let late = delays(200, us(50_000));
        let all = latencies(1_000, us(300), us(2_000));
        let part = late.part_of(&all).expect("known");
        assert_eq!((part.p50, part.p99), (us(300), us(2_000)));
    }

    #[test]
    fn a_user_waits_once_and_visitors_wait_for_all_of_the_time() {
        // For a tenth of the time, lgoose looked at nothing, 40 ms at a stretch.
        let mut late = delays(0, us(0));
        for ms in 1..=20 {
            late.record(us(2_000 * ms));
        }
        let all = latencies(4_000, us(2_000), us(40_000));
        let visitors = late.part_of(&all).expect("known");
        assert!(visitors.p99 > us(24_000), "{visitors:?}");
        // 4 users whose requests take 1 ms each: each user meets a hold-up once in some 900 requests.
        let quick = latencies(4_000, us(1_000), us(40_000)).by(4, Duration::from_secs(1));
        let users = late.part_of(&quick).expect("known");
        assert!(users.p99 < us(60), "{users:?}");
        // Users who pause for long are as independent as visitors.
        let pausing = all.by(4_000, Duration::from_secs(1));
        assert_eq!(late.part_of(&pausing), Some(visitors));
    }

    #[test]
    fn what_was_not_measured_is_not_reported() {
        let nothing = latencies(0, us(0), us(0));
        assert_eq!(delays(3, us(500)).part_of(&nothing), None);
        let some = latencies(9, us(1), us(1));
        let mut few = Lateness::default();
        few.record_many(us(5_000), LEAST as u32 - 1);
        assert_eq!(few.part_of(&some), None);
        let mut merged = few;
        merged.merge(&few);
        assert_eq!(merged.count(), 2 * few.count());
        assert!(merged.part_of(&some).is_some());
    }
}
