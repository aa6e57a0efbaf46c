//! Timers: precise ones for starts and short waits, and those of users, which share one of the kernel in each shard.

pub(super) mod alarm;
pub(super) mod standstill;
pub(super) mod timers;

use std::time::Duration;
use tokio::time::{Instant, Interval, MissedTickBehavior, sleep_until};

/// Makes an interval that begins now and leaves out ticks that it has missed.
pub(super) fn interval(period: Duration) -> Interval {
    interval_at(Instant::now(), period)
}

/// Makes an interval that begins at that moment and leaves out ticks that it has missed.
pub(super) fn interval_at(start: Instant, period: Duration) -> Interval {
    let mut interval = tokio::time::interval_at(start, period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
    interval
}

/// Waits until that moment; for ever without one.
pub(super) async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
