//! A session's timeout without a timer per request: one timer is set to the first deadline and moved on
//! only when it fires early, which is once per timeout and not once per request.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Instant;
use tokio::time::Sleep;

#[derive(Debug, Default)]
pub(super) struct Timer {
    // Made with the first request; borrowed only within one poll.
    sleep: RefCell<Option<Pin<Box<Sleep>>>>,
}

impl Timer {
    /// The future's output, or `None` if it is not there by the deadline. One future at a time.
    pub(super) async fn limit<F: Future>(
        &self,
        deadline: Instant,
        mut future: Pin<&mut F>,
    ) -> Option<F::Output> {
        let deadline = tokio::time::Instant::from_std(deadline);
        poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(output));
            }
            let mut sleep = self.sleep.borrow_mut();
            let sleep = sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
            if sleep.deadline() > deadline {
                sleep.as_mut().reset(deadline);
            }
            while sleep.as_mut().poll(cx).is_ready() {
                if tokio::time::Instant::now() >= deadline {
                    return Poll::Ready(None);
                }
                sleep.as_mut().reset(deadline);
            }
            Poll::Pending
        })
        .await
    }
}
