//! The turns of users on their thread: how far one goes before the others have theirs. Operations, the ends of tasks and
//! iterations, and jobs draw from a turn alike, whether they wait for anything or not, so that no plan holds its thread for
//! ever. Knows none of them.

use lgoose_lua::processor_ticks;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::time::Instant;

/// The most steps of a turn. A user that sends requests takes two or three before it waits.
const STEPS: u32 = 16;
/// The ticks of processor time after which a turn is over: one may come as soon as it begins.
pub(super) const TICKS: u32 = 2;
/// The processor time of a tick.
pub(super) const TICK: Duration = Duration::from_millis(10);

/// The turn of the user that a thread runs.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    remaining: Cell<u32>,
    /// The ticks when it began, and those up to which they are taken.
    begun: Cell<u32>,
    taken: Cell<u32>,
    /// Whether a turn has begun since [`Turn::take_active`].
    is_active: Cell<bool>,
    /// When the first of them began.
    first: Cell<Option<Instant>>,
    /// The task that waits for the first.
    waiting: RefCell<Option<Waker>>,
}

impl Turn {
    /// Begins a turn: the runtime has come to a user.
    pub(crate) fn begin(&self) {
        self.remaining.set(STEPS);
        let now = processor_ticks();
        self.begun.set(now);
        self.taken.set(now);
        if !self.is_active.replace(true) {
            self.begin_first();
        }
    }

    #[cold]
    fn begin_first(&self) {
        self.first.set(Some(Instant::now()));
        if let Some(waiting) = self.waiting.borrow_mut().take() {
            waiting.wake();
        }
    }

    /// Returns whether a turn has begun since this was last called.
    pub(crate) fn take_active(&self) -> bool {
        self.first.set(None);
        self.is_active.take()
    }

    /// Waits for the next turn after [`Turn::take_active`], and returns when it began.
    pub(crate) async fn next(&self) -> Instant {
        poll_fn(|context| match self.first.get() {
            Some(at) => Poll::Ready(at),
            None => {
                self.waiting.replace(Some(context.waker().clone()));
                Poll::Pending
            }
        })
        .await
    }

    /// Returns whether the user has to let the others of its thread go on.
    pub(super) fn is_over(&self) -> bool {
        self.remaining.get() == 0 || processor_ticks().wrapping_sub(self.begun.get()) >= TICKS
    }

    /// Takes the ticks that have come in the turn since they were taken last, whatever its processor time went into.
    pub(super) fn take_ticks(&self) -> u32 {
        let (now, taken) = (processor_ticks(), self.taken.get());
        if now != taken {
            self.taken.set(now);
        }
        now.wrapping_sub(taken)
    }

    /// Takes a step of the turn, unless it is over.
    pub(super) fn take_step(&self) -> bool {
        let goes_on = !self.is_over();
        if goes_on {
            self.remaining.set(self.remaining.get() - 1);
        }
        goes_on
    }

    /// Runs code of a user that has its thread for itself.
    pub(crate) async fn repeat<T>(&self, code: impl Future<Output = T>) -> T {
        let mut code = pin!(code);
        poll_fn(|context| {
            self.begin();
            let polled = code.as_mut().poll(context);
            if polled.is_pending() && self.is_over() {
                context.waker().wake_by_ref();
            }
            polled
        })
        .await
    }
}

/// The rest of a user between two turns: until the runtime has polled all others and the network, whatever wakes the user
/// meanwhile.
#[derive(Debug)]
pub(super) struct Rest {
    is_over: AtomicBool,
    user: Waker,
}

impl Rest {
    /// Begins the rest of the user of that context.
    pub(super) fn begin(context: &Context<'_>) -> Arc<Rest> {
        let rest = Arc::new(Rest {
            is_over: AtomicBool::new(false),
            user: context.waker().clone(),
        });
        let waker = Waker::from(rest.clone());
        // The runtime wakes tasks that yield after it has polled all others.
        let yielded = pin!(tokio::task::yield_now()).poll(&mut Context::from_waker(&waker));
        debug_assert!(yielded.is_pending(), "it was not polled before");
        rest
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

impl Wake for Rest {
    fn wake(self: Arc<Self>) {
        self.is_over.store(true, Ordering::Relaxed);
        self.user.wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use std::task::Poll;

    #[test]
    fn a_turn_has_an_end_and_the_next_begins_anew() {
        let turn = Turn::default();
        assert!(!turn.take_step(), "none has begun");
        for _ in 0..2 {
            turn.begin();
            let steps = (0..1_000).filter(|_| turn.take_step()).count();
            assert_eq!(steps, STEPS as usize);
        }
    }

    /// Rests so often, and is woken again and again meanwhile.
    async fn rest_often(times: usize) {
        for _ in 0..times {
            let mut rest = None;
            poll_fn(|context| {
                let rest = rest.get_or_insert_with(|| Rest::begin(context));
                context.waker().wake_by_ref();
                if rest.is_over() {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
        }
    }

    #[tokio::test]
    async fn the_runtime_goes_round_others_at_each_rest() {
        const TIMES: usize = 100;
        let rounds = Rc::<Cell<usize>>::default();
        let users = tokio::task::LocalSet::new();
        let other = rounds.clone();
        users.spawn_local(async move {
            loop {
                tokio::task::yield_now().await;
                other.set(other.get() + 1);
            }
        });
        users.run_until(rest_often(TIMES)).await;
        let in_the_set = users.spawn_local(rest_often(TIMES));
        users.run_until(in_the_set).await.expect("it ends");
        assert!(rounds.get() >= 2 * TIMES - 2, "{}", rounds.get());
    }
}
