//! The flight of a request or call: it counts as under way from its beginning to its end.

use crate::user::shared::ShardState;
use lgoose_http::{ErrorClass, Exchange, Failure};
use lgoose_metrics::{InFlightSlot, RequestId};
use std::ops::Deref;
use std::time::Duration;
use tokio::time::Instant;

/// The flight of a request or call, from its beginning to its end.
#[derive(Debug)]
pub(super) struct Flight<S> {
    shared: S,
    start: Instant,
    /// Time for which the shard had stood still before.
    lost: Duration,
    /// `None` once it has ended.
    slot: Option<InFlightSlot>,
}

impl<S: Deref<Target = ShardState>> Flight<S> {
    /// Begins it; it is counted in that row.
    pub(super) fn new(shared: S, start: Instant, row: RequestId) -> Flight<S> {
        shared.see(start);
        let mut recorder = shared.recorder.borrow_mut();
        let slot = recorder.start_request(start.into_std(), row);
        drop(recorder);
        Flight {
            start,
            lost: shared.lost(),
            slot: Some(slot),
            shared,
        }
    }

    /// Returns when it began.
    pub(super) fn start(&self) -> Instant {
        self.start
    }

    /// Returns how long the process has stood still since it began, until `now`.
    pub(super) fn lost(&self, now: Instant) -> Duration {
        self.shared.see(now);
        self.shared.lost() - self.lost
    }

    /// Ends it: it began then and took so long.
    pub(super) fn end(&mut self, start: Instant, latency: Duration, responded: bool) {
        if let Some(slot) = self.slot.take() {
            let mut recorder = self.shared.recorder.borrow_mut();
            recorder.end_request(slot, start.into_std(), latency, responded);
        }
    }

    /// Ends it at a moment. Returns when it began and how long it took, without the time in which the process stood still, and
    /// that time.
    pub(super) fn end_at(&mut self, at: Instant, responded: bool) -> (Instant, Duration, Duration) {
        let took = at.saturating_duration_since(self.start);
        let lost = self.lost(at).min(took);
        let (start, latency) = (self.start + lost, took - lost);
        self.end(start, latency, responded);
        (start, latency, lost)
    }

    /// Ends it with its exchange. Takes the time in which the process stood still out of that, and returns it.
    pub(super) fn end_exchange(&mut self, exchange: &mut Exchange) -> Duration {
        let lost = self.lost(exchange.start + exchange.latency);
        if !lost.is_zero() {
            let lost = lost.min(exchange.latency);
            exchange.start += lost;
            exchange.latency -= lost;
            exchange.timings = exchange.timings.without(lost);
        }
        let responded = responded(&exchange.outcome);
        self.end(exchange.start, exchange.latency, responded);
        lost
    }

    /// Ends it where it is dropped, and returns when it began and how long it took; `None` if it has ended before.
    pub(super) fn cut_off(&mut self) -> Option<(Instant, Duration)> {
        self.slot.as_ref()?;
        let start = self.start + self.lost(Instant::now());
        let latency = start.elapsed();
        self.end(start, latency, false);
        Some((start, latency))
    }
}

/// Returns whether the other side was heard of, if only by a refusal.
pub(super) fn responded<T>(outcome: &Result<T, Failure>) -> bool {
    let silent = |class| matches!(class, ErrorClass::Timeout | ErrorClass::ConnectTimeout);
    match outcome {
        Ok(_) => true,
        Err(failure) => !silent(failure.class),
    }
}
