//! Samples how long responses wait before their shard looks at them: a task beside the users of a shard is due at
//! moments that have nothing to do with theirs, and notes how much later it gets its turn.
//!
//! Its timer is a descriptor in the shard's own epoll, and it is woken and queued as users are. So it waits as long as
//! a response that becomes readable at that moment: for the thread to get a core, to come to the end of its present turn
//! of the event loop, and to serve the tasks queued before. It measures only how long that takes, not why; time in
//! which the process stood still is no such wait.

use crate::timing::alarm::Alarm;
use lgoose_metrics::Lateness;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// The shortest time between two samples, and the most that is added to it: [`Lateness::GAP`] on average.
const SHORTEST: Duration = Lateness::GAP.checked_div(2).expect("two is not zero");
const SPAN: Duration = Lateness::GAP;

/// Fraction whose multiples spread evenly over 0 to 1 (the golden ratio), so that no rhythm of the load is sampled
/// again and again at the same place, and each run is probed alike.
const TURN: f64 = 0.618_033_988_749_894_9;

/// Takes samples until it is dropped. Ends at once where no timer is precise enough. `standstill` takes a moment at which the shard
/// is at work, and returns for how long the process has stood still until then.
///
/// While the shard is idle, there are no samples, each of which wakes the thread: `rest` waits as long as no user runs or waits
/// for a response, and returns when one went on; `None` if it had not to wait.
pub(crate) async fn probe(
    lateness: Rc<RefCell<Lateness>>,
    standstill: impl Fn(Instant) -> Duration,
    rest: impl AsyncFn() -> Option<Instant>,
) {
    let Some(mut alarm) = Alarm::precise() else {
        return;
    };
    let mut due = Instant::now();
    let mut lost = standstill(due);
    for turn in 0_u32.. {
        due = match rest().await {
            // At any moment from then on, as if samples had gone on: a user may hold the thread up from its first turn.
            Some(at) => {
                lost = standstill(at);
                at + spread(turn)
            }
            None => due + SHORTEST + spread(turn),
        };
        alarm.until(due).await;
        let now = Instant::now();
        let lost_before = std::mem::replace(&mut lost, standstill(now));
        due += lost - lost_before;
        // Samples that came due during a wait have waited as well, so that a long wait counts for as long as it was.
        let late = now.saturating_duration_since(due);
        lateness.borrow_mut().record(late);
    }
}

/// Returns an even part of the span between samples.
fn spread(turn: u32) -> Duration {
    SPAN.mul_f64((f64::from(turn) * TURN).fract())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::turn::Turn;

    #[test]
    fn samples_are_spread_over_every_rhythm() {
        for rhythm_us in [250, 1_000, 3_333, 5_000, 10_000] {
            let mut time = Duration::ZERO;
            let mut places = [0_u32; 10];
            for turn in 0..10_000 {
                time += SHORTEST + spread(turn);
                let within = time.as_micros() % rhythm_us * 10 / rhythm_us;
                places[within as usize] += 1;
            }
            let even = places.iter().all(|count| (800..=1_200).contains(count));
            assert!(even, "every {rhythm_us} µs: {places:?}");
            assert!(time.abs_diff(Lateness::GAP * 10_000) < Duration::from_millis(200));
        }
    }

    #[test]
    fn a_shard_that_stood_still_with_its_process_was_not_late() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        let lateness = Rc::new(RefCell::new(Lateness::default()));
        let start = Instant::now();
        // The first sample is taken after a minute of standstill.
        let standstill = move |now: Instant| {
            let stood_still = Duration::from_secs(60);
            if now.duration_since(start) >= SHORTEST {
                stood_still
            } else {
                Duration::ZERO
            }
        };
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async {
            if Alarm::precise().is_none() {
                return;
            }
            tokio::task::spawn_local(probe(lateness.clone(), standstill, async || None));
            while lateness.borrow().count() == 0 {
                tokio::task::yield_now().await;
            }
            let longest = lateness.borrow().longest();
            let mut none = Lateness::default();
            none.record(Duration::ZERO);
            assert_eq!(longest, none.longest());
        });
    }

    #[test]
    fn a_shard_that_is_held_up_reports_it() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        let lateness = Rc::new(RefCell::new(Lateness::default()));
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async {
            if Alarm::precise().is_none() {
                return;
            }
            tokio::task::spawn_local(probe(lateness.clone(), |_| Duration::ZERO, async || None));
            tokio::task::yield_now().await;
            // Computes for 60 ms and lets nobody else in.
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(60) {
                std::hint::spin_loop();
            }
            while lateness.borrow().count() == 0 {
                tokio::task::yield_now().await;
            }
            let longest = lateness.borrow().longest();
            assert!(longest >= Duration::from_millis(40), "{longest:?}");
        });
    }

    #[test]
    fn an_idle_shard_is_not_probed_and_one_that_is_held_up_from_its_first_turn_reports_it() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        let lateness = Rc::new(RefCell::new(Lateness::default()));
        let turn = Rc::new(Turn::default());
        let rest = {
            let turn = turn.clone();
            async move || {
                if turn.take_active() {
                    return None;
                }
                Some(turn.next().await)
            }
        };
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async {
            if Alarm::precise().is_none() {
                return;
            }
            tokio::task::spawn_local(probe(lateness.clone(), |_| Duration::ZERO, rest));
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert_eq!(lateness.borrow().count(), 0);
            turn.begin();
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(60) {
                std::hint::spin_loop();
            }
            while lateness.borrow().count() == 0 {
                tokio::task::yield_now().await;
            }
            let longest = lateness.borrow().longest();
            assert!(longest >= Duration::from_millis(40), "{longest:?}");
        });
    }
}
