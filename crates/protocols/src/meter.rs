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

    /// Adds phases that were timed elsewhere until now. The next phase begins now.
    pub(crate) fn add_phases(&self, more: Phases) {
        let mut phases = self.phases.get();
        for phase in Phase::ALL {
            *phases.of_mut(phase) += more.of(phase);
        }
        self.phases.set(phases);
        self.since.set(Instant::now());
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn a_phase_begins_where_those_that_were_timed_elsewhere_end() {
        let ms = Duration::from_millis;
        let meter = Meter::new(Instant::now());
        advance(ms(20)).await;
        meter.add_phases(Phases {
            dns: ms(5),
            connect: ms(15),
            ..Phases::default()
        });
        advance(ms(3)).await;
        meter.end_phase(Phase::Send);
        let phases = meter.phases();
        let all = [phases.dns, phases.connect, phases.send];
        assert_eq!(all, [ms(5), ms(15), ms(3)]);
    }
}
