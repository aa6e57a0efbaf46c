//! The meter of a call: its phases, and its traffic so far.

use lgoose_base::phases::{Phase, Phases};
use lgoose_metrics::Traffic;
use std::cell::Cell;
use tokio::time::Instant;

/// Measurements of one call while it goes on.
#[derive(Debug)]
pub struct Meter {
    phases: Cell<Phases>,
    traffic: Cell<Traffic>,
    /// When the latest phase has ended, or else when the call began.
    since: Cell<Instant>,
}

impl Meter {
    /// Begins to measure a call.
    pub fn new(start: Instant) -> Meter {
        Meter {
            phases: Cell::default(),
            traffic: Cell::default(),
            since: Cell::new(start),
        }
    }

    /// Ends a phase now, which began when the one before ended.
    pub fn end_phase(&self, phase: Phase) {
        let now = Instant::now();
        let mut phases = self.phases.get();
        *phases.of_mut(phase) += now - self.since.replace(now);
        self.phases.set(phases);
    }

    /// Adds phases that were timed elsewhere.
    pub(crate) fn add_phases(&self, more: Phases) {
        let mut phases = self.phases.get();
        for phase in Phase::ALL {
            *phases.of_mut(phase) += more.of(phase);
        }
        self.phases.set(phases);
    }

    /// Counts bytes that were sent, and the whole messages among them.
    pub fn sent(&self, bytes: u64, messages: u64) {
        self.change(|traffic| {
            traffic.sent += bytes;
            traffic.messages_sent += messages;
        });
    }

    /// Counts bytes that were received, and the whole messages among them.
    pub fn received(&self, bytes: u64, messages: u64) {
        self.change(|traffic| {
            traffic.received += bytes;
            traffic.messages_received += messages;
        });
    }

    fn change(&self, count: impl FnOnce(&mut Traffic)) {
        let mut traffic = self.traffic.get();
        count(&mut traffic);
        self.traffic.set(traffic);
    }

    /// Returns the phases that have ended.
    pub fn phases(&self) -> Phases {
        self.phases.get()
    }

    /// Returns the traffic so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic.get()
    }
}
