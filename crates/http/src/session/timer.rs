//! Timeouts of a session's requests without a timer for each: a timer is set to the first deadline, and is moved on
//! only when it fires early, which happens once per timeout and not once per request. There are as many as requests
//! have been under way at the same time.

use smallvec::SmallVec;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use tokio::task::coop::has_budget_remaining;
use tokio::time::{Instant, Sleep};

/// The timers for the deadlines of a session's requests.
#[derive(Debug, Default)]
pub(super) struct DeadlineTimers {
    // Most sessions send one request after another. Not borrowed across a poll.
    idle: RefCell<SmallVec<[Pin<Box<Sleep>>; 1]>>,
}

impl DeadlineTimers {
    /// Returns the future's output, or `None` if it is not ready by the deadline.
    pub(super) async fn limit<F: Future>(
        &self,
        deadline: Instant,
        mut future: Pin<&mut F>,
    ) -> Option<F::Output> {
        let mut timer = None;
        let output = poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(output));
            }
            // A future that always has something to read yields only when its budget is used up, and without budget a
            // timer never fires.
            if !has_budget_remaining() && Instant::now() >= deadline {
                return Poll::Ready(None);
            }
            let sleep = timer.get_or_insert_with(|| {
                let idle = self.idle.borrow_mut().pop();
                idle.unwrap_or_else(|| Box::pin(tokio::time::sleep_until(deadline)))
            });
            if sleep.deadline() > deadline {
                sleep.as_mut().reset(deadline);
            }
            while sleep.as_mut().poll(cx).is_ready() {
                if Instant::now() >= deadline {
                    return Poll::Ready(None);
                }
                sleep.as_mut().reset(deadline);
            }
            Poll::Pending
        })
        .await;
        self.idle.borrow_mut().extend(timer);
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::time::Duration;

    #[tokio::test]
    async fn code_that_never_waits_is_ended_too() {
        let timer = DeadlineTimers::default();
        let busy = pin!(async {
            loop {
                tokio::task::consume_budget().await;
            }
        });
        let soon = Instant::now() + Duration::from_millis(10);
        assert_eq!(timer.limit::<_>(soon, busy).await, None::<()>);
    }

    #[tokio::test]
    async fn one_timer_serves_deadlines_in_any_order() {
        let timer = DeadlineTimers::default();
        let now = Instant::now();
        for (milliseconds, ends) in [(20, false), (60_000, true), (5, false), (10, false)] {
            let deadline = now + Duration::from_millis(milliseconds);
            let outcome = if ends {
                timer.limit(deadline, pin!(async { 1 })).await
            } else {
                timer.limit(deadline, pin!(std::future::pending())).await
            };
            assert_eq!(outcome.is_some(), ends, "{milliseconds}");
        }
        assert_eq!(timer.idle.borrow().len(), 1);
    }

    #[tokio::test]
    async fn requests_side_by_side_have_a_timer_each() {
        let timers = DeadlineTimers::default();
        let now = Instant::now();
        let wait = async |milliseconds| {
            let deadline = now + Duration::from_millis(milliseconds);
            timers
                .limit(deadline, pin!(std::future::pending::<()>()))
                .await
        };
        for _ in 0..2 {
            let outcome = tokio::join!(wait(20), wait(5), async { 1 });
            assert_eq!(outcome, (None, None, 1));
            assert_eq!(timers.idle.borrow().len(), 2);
        }
    }
}
