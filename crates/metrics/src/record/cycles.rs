//! Follows the cycles of one user, to fill in the requests that it could not make while the target kept it waiting
//! (coordinated omission, as Gil Tene calls it). Owned by the user, unless `--co-mitigation` is `disabled`; knows
//! no clock.
//!
//! In a closed loop, a user sends nothing while it waits for a slow response, so its bad time counts as one slow
//! request where its usual pace would have made many. A cycle is an iteration with the pauses in it. The time of a
//! cycle is compared with the user's cadence; when it is more than twice the cadence, the cycles that would have
//! begun meanwhile are filled in with the requests of the late one. A request that began later would have waited for
//! the same end, so it takes that much less, but no less than it usually takes.
//!
//! Pauses count with their mean, so that a pause that happens to be long makes no cycle late. A late cycle enters the
//! cadence as if it had taken just twice the cadence, so that one stall does not hide the next, while a pace that
//! changed for good becomes the new cadence.

use super::recorder::Recorder;
use super::sample::RequestId;
use crate::latencies::nanoseconds;
use crate::report::Cadence;
use std::time::Duration;

/// The fewest cycles that make a cadence.
const ENOUGH: u64 = 3;
/// The most requests kept of one cycle. A plan may loop forever within one iteration.
const MOST_REQUESTS: usize = 1_000;
/// The most steps in which the missed cycles of a late one are recorded; beyond it, several share a step.
const MOST_STEPS: u64 = 10_000;

/// The cycles of one user.
#[derive(Debug)]
pub struct Cycles {
    cadence: Cadence,
    /// Whether the correction was requested.
    requested: bool,
    /// Number, total, shortest and longest of the cycles so far in nanoseconds of work, pauses left out.
    count: u64,
    total: u64,
    shortest: u64,
    longest: u64,
    pauses: u64,
    /// Count and sum of the latencies in cycles that were not late, by request.
    usual: Vec<(u64, u64)>,
    /// Requests of the cycle under way.
    requests: Vec<(RequestId, u64)>,
    paused: u64,
}

impl Cycles {
    /// Makes the record of a user that has not finished a cycle yet. It warns about requests that it leaves out only if
    /// the correction was `requested`.
    pub fn new(cadence: Cadence, requested: bool) -> Cycles {
        Cycles {
            cadence,
            requested,
            count: 0,
            total: 0,
            shortest: u64::MAX,
            longest: 0,
            pauses: 0,
            usual: Vec::new(),
            requests: Vec::new(),
            paused: 0,
        }
    }

    /// Begins the first cycle: earlier requests belong to none.
    pub fn start(&mut self) {
        self.requests.clear();
        self.paused = 0;
    }

    /// Adds a finished request to the cycle under way.
    pub fn request(&mut self, request: RequestId, latency: Duration) {
        if request == RequestId::UNCOUNTED {
            // A request without figures does not count as time of the target.
            self.pause(latency);
        } else if self.requests.len() < MOST_REQUESTS {
            self.requests.push((request, nanoseconds(latency)));
        }
    }

    /// Adds a pause of the user's own, in which it did not wait for the target.
    pub fn pause(&mut self, time: Duration) {
        self.paused += nanoseconds(time);
    }

    /// Ends a cycle that lasted `took`, pauses included, and fills in the requests that it kept the user from making.
    /// A cycle without a request does not count.
    pub fn end(&mut self, took: Duration, recorder: &mut Recorder) {
        if self.requests.is_empty() {
            return self.start();
        }
        if self.requests.len() == MOST_REQUESTS && self.requested {
            recorder.warn(
                "an iteration has more than 1,000 requests: '--co-mitigation' fills in the first of them only"
                    .to_owned(),
            );
        }
        let work = nanoseconds(took).saturating_sub(self.paused);
        let pause = self.pauses / self.count.max(1);
        let cadence = match self.cadence {
            Cadence::Average => self.total / self.count.max(1),
            Cadence::Minimum => self.shortest,
            Cadence::Maximum => self.longest,
        }
        .saturating_add(pause);
        let late = self.count >= ENOUGH && cadence > 0 && work + pause > 2 * cadence;
        if late {
            self.fill_in((work + pause) / cadence - 1, cadence, recorder);
        } else {
            self.learn();
        }
        let work = if late { 2 * cadence - pause } else { work };
        self.count += 1;
        self.total += work;
        self.shortest = self.shortest.min(work);
        self.longest = self.longest.max(work);
        self.pauses += self.paused;
        self.start();
    }

    fn learn(&mut self) {
        for (request, latency) in &self.requests {
            let at = request.0 as usize;
            if self.usual.len() <= at {
                self.usual.resize(at + 1, (0, 0));
            }
            self.usual[at].0 += 1;
            self.usual[at].1 += latency;
        }
    }

    fn fill_in(&self, skipped: u64, cadence: u64, recorder: &mut Recorder) {
        recorder.late_cycle(Duration::from_nanos(cadence));
        let step = skipped.div_ceil(MOST_STEPS);
        for (request, latency) in &self.requests {
            let usual = match self.usual.get(request.0 as usize) {
                Some((count @ 1.., sum)) => sum / count,
                _ => (*latency).min(cadence),
            };
            for first in (1..=skipped).step_by(step as usize) {
                let cycles = step.min(skipped - first + 1);
                let started = (first + cycles / 2).saturating_mul(cadence);
                let took = latency.saturating_sub(started).max(usual);
                recorder.fill_in(*request, took, cycles);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CoMitigation, Phases, RunIdentity, Sample, SampleResponse, Store, Traffic};

    const MS: Duration = Duration::from_millis(1);

    /// One cycle: the latencies of its requests by name in milliseconds, and its pause.
    type Cycle<'a> = (&'a [(&'a str, u32)], u32);

    /// The report of one user's cycles; work is the sum of the latencies.
    fn filled_in(cadence: Cadence, cycles: &[Cycle<'_>]) -> CoMitigation {
        let mut recorder = Recorder::new(0);
        let mut user = Cycles::new(cadence, true);
        for (requests, pause) in cycles {
            let mut took = MS * *pause;
            user.pause(took);
            for (name, ms) in *requests {
                let request = recorder.request("GET", name);
                let latency = MS * *ms;
                recorder.record(&Sample {
                    request,
                    start: recorder.zero(),
                    delay: None,
                    latency,
                    phases: Phases::default(),
                    response: SampleResponse::of_status(200),
                    redirects: 0,
                    retries: 0,
                    traffic: Traffic::received(0),
                    failure: None,
                    context: None,
                });
                user.request(request, latency);
                took += latency;
            }
            user.end(took, &mut recorder);
        }
        let mut store = Store::new(RunIdentity {
            co_mitigation: Some(cadence),
            co_wanted: true,
            ..RunIdentity::default()
        });
        store.merge(recorder.take());
        let report = store.report(Duration::from_secs(1));
        report.co_mitigation.expect("it is on")
    }

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= expected / 500.0
    }

    #[test]
    fn a_stall_is_filled_in_with_what_began_while_it_lasted() {
        // 10 ms a cycle, then 55 ms: 45, 35, 25 and 15 ms would have begun 10, 20, 30 and 40 ms later.
        let mut cycles = vec![(&[("/", 10)][..], 0); 5];
        cycles.push((&[("/", 55)], 0));
        let report = filled_in(Cadence::Average, &cycles);
        assert_eq!(report.late_cycles, 1);
        assert!(near(report.cadence_ms.expect("one was late"), 10.0));
        let row = &report.requests[0].figures;
        assert_eq!((row.count, row.filled), (10, 4));
        let latency = row.latency_ms.expect("there are requests");
        assert!(near(
            latency.avg,
            (5.0 * 10.0 + 55.0 + 45.0 + 35.0 + 25.0 + 15.0) / 10.0
        ));
        assert!(
            near(latency.p50, 10.0) && near(latency.p90, 45.0),
            "{latency:?}"
        );
        assert!(near(latency.max, 55.0));
        assert_eq!(report.aggregated.filled, 4);
    }

    #[test]
    fn the_late_cycle_is_filled_in_and_not_the_next() {
        let mut cycles = vec![(&[("/", 10)][..], 0); 4];
        cycles.push((&[("/slow", 100)], 0));
        cycles.push((&[("/", 10)], 0));
        let report = filled_in(Cadence::Average, &cycles);
        let filled = report
            .requests
            .iter()
            .map(|row| (&*row.name, row.figures.filled));
        assert_eq!(filled.collect::<Vec<_>>(), [("/slow", 9)]);
    }

    #[test]
    fn requests_that_were_not_slow_are_filled_in_at_what_they_usually_take() {
        let mut cycles = vec![(&[("/a", 8), ("/b", 2)][..], 0); 4];
        cycles.push((&[("/a", 38), ("/b", 4)], 0));
        let report = filled_in(Cadence::Average, &cycles);
        let sums: Vec<f64> = report
            .requests
            .iter()
            .map(|row| {
                row.figures.latency_ms.expect("it was asked for").avg * row.figures.count as f64
            })
            .collect();
        // Three missed cycles: 28, 18 and 8 ms of /a; 2 ms each of /b.
        assert!(
            near(sums[0], 4.0 * 8.0 + 38.0 + 28.0 + 18.0 + 8.0),
            "{sums:?}"
        );
        assert!(near(sums[1], 4.0 * 2.0 + 4.0 + 3.0 * 2.0), "{sums:?}");
    }

    #[test]
    fn twice_the_cadence_is_not_late_and_three_cycles_make_one() {
        let on_time = (&[("/", 10)][..], 0);
        for (cycles, late) in [
            (vec![on_time, on_time, (&[("/", 90)][..], 0)], 0),
            (vec![on_time, on_time, on_time, (&[("/", 20)][..], 0)], 0),
            (vec![on_time, on_time, on_time, (&[("/", 21)][..], 0)], 1),
        ] {
            assert_eq!(filled_in(Cadence::Average, &cycles).late_cycles, late);
        }
    }

    #[test]
    fn the_cadence_is_the_average_the_shortest_or_the_longest_cycle() {
        let cycles = [10, 20, 30, 50].map(|ms| [("/", ms)]);
        let cycles: Vec<Cycle<'_>> = cycles.iter().map(|cycle| (&cycle[..], 0)).collect();
        for (cadence, filled) in [
            (Cadence::Average, 1),
            (Cadence::Minimum, 4),
            (Cadence::Maximum, 0),
        ] {
            assert_eq!(
                filled_in(cadence, &cycles).aggregated.filled,
                filled,
                "{cadence:?}"
            );
        }
    }

    #[test]
    fn long_pauses_make_no_cycle_late_but_belong_to_the_pace() {
        let usual = (&[("/", 10)][..], 90);
        let chance = (&[("/", 10)][..], 500);
        assert_eq!(
            filled_in(Cadence::Average, &[usual, usual, usual, chance]).late_cycles,
            0
        );
        // 100 ms a cycle: two more would have begun within 260 ms of work and the usual pause.
        let stall = (&[("/", 260)][..], 0);
        let report = filled_in(Cadence::Average, &[usual, usual, usual, stall]);
        assert_eq!(report.aggregated.filled, 2);
    }

    #[test]
    fn one_stall_does_not_hide_the_next_and_a_lasting_change_becomes_the_pace() {
        let mut cycles = vec![(&[("/", 10)][..], 0); 10];
        cycles.push((&[("/", 10_000)], 0));
        cycles.push((&[("/", 10)], 0));
        cycles.push((&[("/", 10_000)], 0));
        assert_eq!(filled_in(Cadence::Average, &cycles).late_cycles, 2);
        let mut cycles = vec![(&[("/", 10)][..], 0); 4];
        cycles.extend(vec![(&[("/", 40)][..], 0); 100]);
        let late = filled_in(Cadence::Average, &cycles).late_cycles;
        assert!((1..20).contains(&late), "{late}");
    }

    #[test]
    fn a_very_long_stall_is_filled_in_in_steps_and_loses_none() {
        let mut cycles = vec![(&[("/", 1)][..], 0); 4];
        cycles.push((&[("/", 1_000_001)], 0));
        let report = filled_in(Cadence::Average, &cycles);
        assert_eq!(report.aggregated.filled, 1_000_000);
        let latency = report.aggregated.latency_ms.expect("there are requests");
        assert!(
            near(latency.p50, 500_000.0) && near(latency.avg, 500_000.0),
            "{latency:?}"
        );
    }
}
