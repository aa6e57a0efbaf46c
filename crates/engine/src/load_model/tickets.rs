//! Iterations that users share: each takes one before it begins an iteration, until none is left.

use lgoose_base::allotment::{Allotment, Reservations, Taken};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Iterations that are left.
#[derive(Debug)]
pub struct Tickets {
    allotment: Arc<Allotment>,
    count: u64,
}

impl Tickets {
    /// Makes `count` iterations to take. A process that reserves them knows them by that name.
    pub(crate) fn new(count: u64, reservations: Option<&Arc<Reservations>>, name: &str) -> Tickets {
        let allotment = match reservations {
            Some(reservations) => reservations.allotment(name, count),
            None => Allotment::free(),
        };
        Tickets { allotment, count }
    }

    /// Takes one, and waits until it is reserved; returns how long that took, and `None` if none is left. Can be dropped
    /// at any time.
    pub(crate) async fn take(&self) -> Option<Duration> {
        let mut waits_since = None;
        loop {
            match self.allotment.take(self.count) {
                Taken::Number(_) => {
                    return Some(
                        waits_since.map_or(Duration::ZERO, |since: Instant| since.elapsed()),
                    );
                }
                Taken::Nothing => return None,
                Taken::Later => {
                    waits_since.get_or_insert_with(Instant::now);
                    self.allotment.wait_for_more().await;
                }
            }
        }
    }
}
