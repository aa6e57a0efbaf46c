//! The stopwatch of one request. Each phase begins where the one before ended, so the phases add up to the latency
//! and the clock is read once per phase.

use lgoose_base::phases::Phases;
use std::time::Duration;
use tokio::time::Instant;

/// The phases of one request so far, and the one under way.
#[derive(Debug)]
pub(super) struct Stopwatch {
    last: Instant,
    phases: Phases,
    /// The phase under way, once there is one.
    current: Option<SelectPhase>,
}

/// Selects a phase.
type SelectPhase = fn(&mut Phases) -> &mut Duration;

impl Stopwatch {
    /// A stopwatch that has been running since `begin`.
    pub(super) fn started_at(start: Instant) -> Self {
        Stopwatch {
            last: start,
            phases: Phases::default(),
            current: None,
        }
    }

    /// Notes which phase is under way; a request that is interrupted ends in it.
    pub(super) fn enter(&mut self, phase: SelectPhase) {
        self.current = Some(phase);
    }

    /// Ends the phase under way, for a request that timed out.
    pub(super) fn interrupt_at(&mut self, end: Instant) {
        if let Some(phase) = self.current {
            self.lap_at(end, phase);
        }
    }

    /// Ends the selected phase now.
    pub(super) fn lap(&mut self, phase: SelectPhase) {
        self.lap_at(Instant::now(), phase);
    }

    /// Ends a phase at a time that was noted elsewhere. A time before the phase began adds nothing.
    pub(super) fn lap_at(&mut self, end: Instant, phase: SelectPhase) {
        *phase(&mut self.phases) += end.saturating_duration_since(self.last);
        self.last = self.last.max(end);
    }

    /// The end of the latest phase.
    pub(super) fn last(&self) -> Instant {
        self.last
    }

    /// The phases that have ended.
    pub(super) fn phases(&self) -> Phases {
        self.phases
    }
}
