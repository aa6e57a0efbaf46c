//! Flood control: limits how often one address does something. Driven by the site; knows neither forms nor pages.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number of addresses that are kept; beyond that, those that did nothing for the longest time are dropped.
const ADDRESSES: usize = 4096;

/// A limit of times within a window of time, for each address.
pub(super) struct FloodControl {
    limit: usize,
    window: Duration,
    /// The times at which each address did it, the oldest first. Locked only by requests that do it.
    times: Mutex<HashMap<IpAddr, VecDeque<Instant>>>,
}

impl FloodControl {
    pub(super) fn new(limit: usize, window: Duration) -> Self {
        FloodControl {
            limit,
            window,
            times: Mutex::default(),
        }
    }

    /// Returns whether `address` may do it at `now`, which then counts.
    pub(super) fn admits(&self, address: IpAddr, now: Instant) -> bool {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        if times.len() >= ADDRESSES && !times.contains_key(&address) {
            let last = |times: &VecDeque<Instant>| times.back().copied();
            let oldest = times.iter().min_by_key(|(_, times)| last(times));
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                times.remove(&oldest);
            }
        }
        let own = times.entry(address).or_default();
        while own
            .front()
            .is_some_and(|time| now.duration_since(*time) >= self.window)
        {
            own.pop_front();
        }
        let admitted = own.len() < self.limit;
        if admitted {
            own.push_back(now);
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_own_limit_and_time_lifts_it() {
        let flood = FloodControl::new(2, Duration::from_secs(60));
        let [one, two] = [1, 2].map(|last| IpAddr::from([127, 0, 0, last]));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        for (address, seconds, admitted) in [
            (one, 0, true),
            (one, 30, true),
            (one, 31, false),
            (two, 31, true),
            (one, 59, false),
            (one, 60, true),
            (one, 61, false),
            (one, 90, true),
        ] {
            assert_eq!(
                flood.admits(address, at(seconds)),
                admitted,
                "{address} at {seconds} s"
            );
        }
    }

    #[test]
    fn the_addresses_that_are_remembered_are_bounded() {
        let flood = FloodControl::new(1, Duration::from_secs(60));
        let start = Instant::now();
        let address = |n: u32| IpAddr::from(n.to_be_bytes());
        for n in 0..5_000 {
            assert!(flood.admits(address(n), start + Duration::from_millis(n.into())));
        }
        assert_eq!(
            flood.times.lock().expect("no test panicked").len(),
            ADDRESSES
        );
        assert!(!flood.admits(address(4_999), start + Duration::from_secs(6)));
    }
}
