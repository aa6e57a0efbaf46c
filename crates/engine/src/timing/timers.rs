//! Timers of a shard's users. Short waits share one timer of the kernel, which costs one file descriptor per shard
//! and is precise to some 50 µs; the others use those of tokio, which come one to two milliseconds late.
//!
//! The timer wakes the user whose wait ends first, with that user's own waker. Whoever is polled then wakes all
//! others whose time has come and sets the timer for the next.

use crate::timing::alarm::Alarm;
use crate::timing::standstill::Standstill;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::time::Instant;

/// Length below which waits are precise. In longer waits, tokio's delay matters little, and where many users wait it
/// saves many wake-ups: it ends all waits of one millisecond together.
const SHORT: Duration = Duration::from_millis(100);

/// The shortest time between two rings of the alarm: where thousands of users wait, those whose waits end within it
/// are woken together, instead of each in a turn of the event loop of its own.
const GRAIN: Duration = Duration::from_micros(500);

/// Timers of one shard.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    // Not borrowed while a waker runs, which may drop another wait.
    queue: RefCell<TimerQueue>,
    /// Notices when the shard's thread stood still.
    pub(crate) standstill: Standstill,
}

/// End of a wait, and its number: two may end at the same time.
type TimerKey = (Instant, u64);

#[derive(Debug, Default)]
struct TimerQueue {
    alarm: Alarm,
    waiting: BTreeMap<TimerKey, Waker>,
    number: u64,
    /// The wait whose user the alarm wakes.
    first: Option<TimerKey>,
    /// Time at which waits last ended.
    turned: Option<Instant>,
    /// List of wakers, kept to reuse its memory.
    due: Vec<Waker>,
}

impl Timers {
    /// Makes timers of tokio alone, as simulated time needs them.
    #[cfg(any(test, feature = "test-support"))]
    pub(crate) fn coarse() -> Timers {
        let queue = TimerQueue {
            alarm: Alarm::Coarse,
            ..TimerQueue::default()
        };
        Timers {
            queue: RefCell::new(queue),
            standstill: Standstill::default(),
        }
    }

    /// Waits this long, never less. Time in which the process stood still does not count, so that not all who wait go
    /// on at once.
    pub(crate) async fn wait(&self, time: Duration) {
        let (mut remaining, mut lost) = (time, self.standstill.lost());
        while !remaining.is_zero() {
            self.pass(remaining).await;
            self.standstill.see(Instant::now());
            remaining = (self.standstill.lost() - lost).min(time);
            lost = self.standstill.lost();
        }
    }

    async fn pass(&self, time: Duration) {
        if time >= SHORT || !self.queue.borrow_mut().alarm.is_precise() {
            return tokio::time::sleep(time).await;
        }
        let due = Instant::now() + time;
        let mut wait = PendingWait {
            timers: self,
            due,
            key: None,
        };
        if !poll_fn(|cx| wait.poll(cx)).await {
            tokio::time::sleep_until(due).await;
        }
    }

    /// Wakes the users whose waits are over and sets the alarm for the next.
    fn turn(&self, now: Instant) {
        let mut due = self.queue.borrow_mut().turn(now);
        if due.is_empty() {
            return;
        }
        due.drain(..).for_each(Waker::wake);
        self.queue.borrow_mut().due = due;
    }
}

impl TimerQueue {
    /// Returns the wakers of the waits that are over, in a list that is given back.
    fn turn(&mut self, now: Instant) -> Vec<Waker> {
        let mut due = Vec::new();
        while let Some(first) = self.waiting.first_entry() {
            let key = *first.key();
            if key.0 > now {
                if self.first == Some(key) {
                    break;
                }
                let mut cx = Context::from_waker(first.get());
                let soonest = self.turned.map_or(key.0, |turned| turned + GRAIN);
                match self.alarm.poll(&mut cx, key.0.max(soonest)) {
                    Poll::Pending => {
                        self.first = Some(key);
                        break;
                    }
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(_)) => self.alarm = Alarm::Coarse,
                }
            }
            if due.is_empty() {
                due = std::mem::take(&mut self.due);
                self.turned = Some(now);
            }
            due.push(first.remove());
        }
        due
    }
}

/// A wait, which is given up when it is dropped.
struct PendingWait<'a> {
    timers: &'a Timers,
    due: Instant,
    key: Option<TimerKey>,
}

impl PendingWait<'_> {
    /// Returns ready when its time has come, with false if the kernel's timer failed before.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let now = Instant::now();
        if now >= self.due {
            return Poll::Ready(true);
        }
        {
            let mut queue = self.timers.queue.borrow_mut();
            if !queue.alarm.is_precise() {
                return Poll::Ready(false);
            }
            let queue = &mut *queue;
            let number = &mut queue.number;
            let key = *self.key.get_or_insert_with(|| {
                *number += 1;
                (self.due, *number)
            });
            queue.waiting.insert(key, cx.waker().clone());
            // It was woken too early, or by something else, or its waker is another one now.
            queue.first.take_if(|first| *first == key);
        }
        self.timers.turn(now);
        Poll::Pending
    }
}

impl Drop for PendingWait<'_> {
    fn drop(&mut self) {
        let Some(key) = self.key else {
            return;
        };
        let (waker, was_first) = {
            let mut queue = self.timers.queue.borrow_mut();
            let first = queue.first.take_if(|first| *first == key);
            (queue.waiting.remove(&key), first.is_some())
        };
        drop(waker);
        if was_first {
            let now = Instant::now();
            if now >= self.due {
                self.timers.queue.borrow_mut().turned = Some(now);
            }
            self.timers.turn(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use futures_util::future::join_all;
    use std::cell::Cell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[tokio::test]
    async fn every_wait_ends_and_none_early() {
        let timers = Timers::default();
        let start = Instant::now();
        let ended = Cell::new(0);
        // Shuffled, some equal; the longest ends by tokio's timer. On a busy machine many are due at once, in any order.
        let waits = (0..400).map(|n| us(n * 7_919 % 90_000 / 500 * 500 + 1));
        let waits = waits.chain([SHORT]).map(async |time| {
            timers.wait(time).await;
            assert!(start.elapsed() >= time, "{time:?}");
            ended.set(ended.get() + 1);
        });
        join_all(waits).await;
        assert_eq!(ended.get(), 401);
        assert!(timers.queue.borrow().waiting.is_empty());
    }

    #[tokio::test]
    async fn a_wait_that_is_dropped_does_not_delay_the_next() {
        let timers = Timers::default();
        let (first, second) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
        let mut gone = Box::pin(timers.wait(us(1_000)));
        let mut retained = Box::pin(timers.wait(us(2_000)));
        for (wait, woken) in [(&mut gone, &first), (&mut retained, &second)] {
            let waker = Waker::from(woken.clone());
            let polled = wait.poll_unpin(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
        }
        assert_eq!(timers.queue.borrow().waiting.len(), 2);
        drop(gone);
        assert_eq!(timers.queue.borrow().waiting.len(), 1);
        // Nobody polls: the alarm itself has to wake the one that is left.
        while !second.0.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
        assert!(!first.0.load(Ordering::SeqCst));
        retained.await;
        assert!(timers.queue.borrow().waiting.is_empty());
    }

    #[tokio::test]
    async fn a_later_wait_that_is_due_earlier_is_woken_first() {
        let timers = Timers::default();
        let late = Box::pin(timers.wait(us(90_000)));
        let early = async {
            tokio::task::yield_now().await;
            timers.wait(us(500)).await;
        };
        tokio::select! {
            biased;
            () = late => unreachable!("the other is due long before"),
            () = early => {}
        }
        assert!(timers.queue.borrow().waiting.is_empty());
    }

    #[tokio::test]
    async fn a_timer_that_fails_leaves_the_waits_to_tokio() {
        let timers = Timers::default();
        let start = Instant::now();
        let (one, two) = (timers.wait(us(3_000)), timers.wait(us(4_000)));
        let fails = async {
            tokio::task::yield_now().await;
            timers.queue.borrow_mut().alarm = Alarm::Coarse;
            timers.wait(us(100)).await;
        };
        tokio::join!(one, two, fails);
        assert!(start.elapsed() >= us(4_000));
    }
}
