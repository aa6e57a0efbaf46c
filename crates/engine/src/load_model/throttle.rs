//! Limits the requests that all users and shards of a process send together (`--throttle-requests`), or those of one
//! scenario. Every request takes the next slot of one absolute schedule and is sent when the slot comes. All shards
//! share one atomic: it costs some 20 ns, nothing beside a request, and no slot is lost to a shard that has nothing
//! to send.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Maximum lag of the schedule: slots that were not taken in time may still be taken this much later. That makes up
/// for timers, which are late by up to a millisecond, and for short stalls; and it is so short that ten seconds hold
/// at most half a percent too many requests. After a longer time without a request, the schedule begins anew.
const CATCH_UP: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct Throttle {
    start: Instant,
    interval_ns: u64,
    /// The next free slot, in nanoseconds since `begin`.
    next: AtomicU64,
}

impl Throttle {
    /// Makes a limit of `rate` requests per second, with a schedule that starts at `begin`.
    pub(crate) fn new(rate: f64, start: Instant) -> Self {
        Throttle {
            start,
            interval_ns: (1e9 / rate).round().max(1.0) as u64,
            next: AtomicU64::new(0),
        }
    }

    /// Waits for the slot of one request. Who gives up before has given the slot back.
    pub(crate) async fn pass(&self) {
        let slot = Duration::from_nanos(self.take(self.start.elapsed()));
        let mut turn = Turn {
            throttle: self,
            is_over: false,
        };
        tokio::time::sleep_until(self.start + slot).await;
        turn.is_over = true;
    }

    /// Takes a slot for each request that was sent without waiting for one. The following requests wait that much longer.
    pub(crate) fn charge(&self, requests: u32) {
        let slots = self.interval_ns.saturating_mul(requests.into());
        self.next.fetch_add(slots, Ordering::Relaxed);
    }

    /// Takes the next free slot for a request that is ready `now` after `begin`, and returns it in nanoseconds since
    /// `begin`.
    fn take(&self, now: Duration) -> u64 {
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let slot = |next: u64| {
            if now.saturating_sub(next) > CATCH_UP.as_nanos() as u64 {
                now
            } else {
                next
            }
        };
        let after = |next: u64| Some(slot(next).saturating_add(self.interval_ns));
        let order = Ordering::Relaxed;
        let (Ok(next) | Err(next)) = self.next.fetch_update(order, order, after);
        slot(next)
    }
}

/// A wait for a slot.
struct Turn<'a> {
    throttle: &'a Throttle,
    is_over: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let before = |next: u64| Some(next.saturating_sub(self.throttle.interval_ns));
            let order = Ordering::Relaxed;
            // It never fails: there is always a time before.
            let _given_back = self.throttle.next.fetch_update(order, order, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn requests_that_are_ready_go_at_equal_distances() {
        let throttle = Throttle::new(500.0, Instant::now());
        for n in 0..1_000 {
            assert_eq!(throttle.take(Duration::ZERO), n * 2_000_000);
        }
    }

    #[test]
    fn late_requests_are_caught_up_and_idle_time_is_not() {
        let throttle = Throttle::new(100.0, Instant::now());
        assert_eq!(throttle.take(ms(0)), 0);
        // Three requests are late, but by no more than may be caught up: they go at once.
        for slot in [10, 20, 30] {
            assert_eq!(throttle.take(ms(45)), slot * 1_000_000);
        }
        // After a second without a request, the schedule begins anew: a second holds a hundred again.
        for slot in [1_000, 1_010, 1_020] {
            assert_eq!(throttle.take(ms(1_000)), slot * 1_000_000);
        }
    }

    #[test]
    fn requests_that_were_sent_again_take_their_slots_afterwards() {
        let throttle = Throttle::new(100.0, Instant::now());
        assert_eq!(throttle.take(ms(0)), 0);
        throttle.charge(3);
        assert_eq!(throttle.take(ms(1)), 40_000_000);
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_waiting_leaves_the_slot_to_others() {
        let throttle = Throttle::new(10.0, Instant::now());
        throttle.pass().await;
        let patient = Duration::from_millis(50);
        for _ in 0..20 {
            let given_up = tokio::time::timeout(patient / 20, throttle.pass()).await;
            assert!(given_up.is_err());
        }
        let start = Instant::now();
        throttle.pass().await;
        assert!(start.elapsed() <= ms(51), "{:?}", start.elapsed());
    }

    #[test]
    fn ten_seconds_hold_the_rate_whenever_requests_come() {
        for rate in [150_u32, 700, 5_000] {
            let throttle = Throttle::new(f64::from(rate), Instant::now());
            let mut now = ms(0);
            let mut sent = 0;
            while now < ms(10_000) {
                // Some requests take long, and they come in bursts; in all there are more than may go.
                for _ in 0..rate / 100 * 2 {
                    let slot = Duration::from_nanos(throttle.take(now));
                    sent += u32::from(slot < ms(10_000));
                    now = now.max(slot);
                }
                now += ms(7);
            }
            let off = (f64::from(sent) / f64::from(rate * 10) - 1.0).abs();
            assert!(off < 0.01, "{rate}/s: {sent} in 10 s");
        }
    }
}
