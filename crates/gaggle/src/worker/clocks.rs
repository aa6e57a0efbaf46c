//! Comparison of a worker's clock with the manager's, by requests to the manager.

use crate::broker::Broker;
use crate::clock::{ClockOffset, ClockReading, ProcessClock, ROUND_TRIPS};
use crate::{messages, names};
use std::time::Duration;
use tokio::time::Instant;

/// Time limit for a reply of the manager.
const CLOCK: Duration = Duration::from_secs(2);

/// Time after which fewer round trips have to do, and how many.
const LONG: Duration = Duration::from_secs(2);
const LEAST_TRIPS: usize = 4;

/// Compares this clock with the manager's; `None` if the manager does not respond.
pub(crate) async fn compare_clocks(
    broker: &Broker,
    run: &str,
    clock: ProcessClock,
) -> Option<ClockOffset> {
    let mut best: Option<ClockOffset> = None;
    let start = Instant::now();
    for trip in 0..ROUND_TRIPS {
        if trip >= LEAST_TRIPS && start.elapsed() >= LONG {
            break;
        }
        let before = clock.read();
        let reply = broker
            .request_bytes(names::clock(run), Vec::new(), CLOCK)
            .await;
        let after = clock.read();
        let Ok(reading) = messages::decode::<ClockReading>(&reply.ok()?) else {
            return None;
        };
        let offset = ClockOffset::of(before, reading, after);
        if best.is_none_or(|best| offset.uncertainty < best.uncertainty) {
            best = Some(offset);
        }
    }
    best
}
