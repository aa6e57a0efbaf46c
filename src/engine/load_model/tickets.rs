//! Iterations that users share: each takes one before it begins an iteration, until none is left.

use std::sync::atomic::{AtomicU64, Ordering};

/// Iterations that are left.
#[derive(Debug)]
pub(crate) struct Tickets(AtomicU64);

impl Tickets {
    /// Makes `count` iterations to take.
    pub(crate) fn new(count: u64) -> Tickets {
        Tickets(AtomicU64::new(count))
    }

    /// Takes one; false if none is left.
    pub(crate) fn take(&self) -> bool {
        let order = Ordering::Relaxed;
        let taken = self
            .0
            .fetch_update(order, order, |remaining| remaining.checked_sub(1));
        taken.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_as_were_made_whoever_takes_them() {
        let tickets = Tickets::new(1_000);
        let take = || (0..600).filter(|_| tickets.take()).count();
        let taken: usize = std::thread::scope(|scope| {
            let threads = [scope.spawn(take), scope.spawn(take)];
            threads
                .map(|thread| thread.join().expect("it ends"))
                .iter()
                .sum()
        });
        assert_eq!(taken, 1_000);
        assert!(!tickets.take());
    }
}
