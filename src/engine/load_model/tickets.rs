//! Iterations that users share: each takes one before it begins an iteration, until none is left.

use crate::allotment::{Allotment, Reservations, Taken};
use std::sync::Arc;

/// Iterations that are left.
#[derive(Debug)]
pub(crate) struct Tickets {
    allotment: Arc<Allotment>,
    count: u64,
}

impl Tickets {
    /// Makes `count` iterations to take. A process that reserves what it takes knows them by that name.
    pub(crate) fn new(count: u64, reservations: Option<&Arc<Reservations>>, name: &str) -> Tickets {
        let allotment = match reservations {
            Some(reservations) => reservations.allotment(name, count),
            None => Allotment::free(),
        };
        Tickets { allotment, count }
    }

    /// Takes one, and waits until it is reserved; false if none is left. Can be dropped at any time.
    pub(crate) async fn take(&self) -> bool {
        loop {
            match self.allotment.take(self.count) {
                Taken::Number(_) => return true,
                Taken::Nothing => return false,
                Taken::Later => self.allotment.wait_for_more().await,
            }
        }
    }
}
