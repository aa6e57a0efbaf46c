//! The stopwatch of one request: each phase begins where the one before ended, so that the phases add up to
//! the latency and the clock is read once per phase.

use super::Timings;
use std::time::Duration;
use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct Watch {
    last: Instant,
    timings: Timings,
    /// The phase that is under way, once one is.
    open: Option<Phase>,
}

/// Picks a phase.
type Phase = fn(&mut Timings) -> &mut Duration;

impl Watch {
    pub(super) fn starting(begin: Instant) -> Self {
        Watch {
            last: begin,
            timings: Timings::default(),
            open: None,
        }
    }

    /// Says which phase is under way: a request that ends now ends in it.
    pub(super) fn enter(&mut self, phase: Phase) {
        self.open = Some(phase);
    }

    /// Ends the phase under way, for a request whose time is up.
    pub(super) fn break_off(&mut self, end: Instant) {
        if let Some(phase) = self.open {
            self.lap_at(end, phase);
        }
    }

    /// Ends the phase that `phase` picks.
    pub(super) fn lap(&mut self, phase: Phase) {
        self.lap_at(Instant::now(), phase);
    }

    /// Ends a phase at a time seen elsewhere; one before the phase began ends nothing.
    pub(super) fn lap_at(&mut self, end: Instant, phase: Phase) {
        *phase(&mut self.timings) += end.saturating_duration_since(self.last);
        self.last = self.last.max(end);
    }

    /// When the latest phase ended.
    pub(super) fn last(&self) -> Instant {
        self.last
    }

    pub(super) fn timings(&self) -> Timings {
        self.timings
    }
}
