//! Outages of the broker as the manager sees them: their lengths, for the report.

use crate::broker::ContactState;
use tokio::time::Instant;

/// The most outages that are reported one by one.
const MAX_REPORTED: u32 = 20;

/// Outages of a run's broker so far.
#[derive(Debug, Default)]
pub(super) struct Outages {
    since: Option<Instant>,
    count: u32,
}

impl Outages {
    /// Records the state of the contact, and returns a warning when an outage is over.
    pub(super) fn note(&mut self, contact: ContactState) -> Option<String> {
        match contact {
            ContactState::Down(since) => {
                self.since = Some(since);
                None
            }
            ContactState::Up => {
                let lasted = self.since.take()?.elapsed().as_secs_f64();
                self.count += 1;
                match self.count {
                    ..=MAX_REPORTED => Some(format!(
                        "the broker could not be reached for {lasted:.1} s: figures of that time come later, as far as workers went on and kept them"
                    )),
                    _ => Some(format!(
                        "the broker could not be reached more than {MAX_REPORTED} times"
                    )),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn an_outage_is_reported_when_it_is_over_and_many_are_not_reported_one_by_one() {
        let mut outages = Outages::default();
        assert_eq!(outages.note(ContactState::Up), None, "it was never away");
        let mut reports = Vec::new();
        for seconds in 1..30 {
            assert_eq!(outages.note(ContactState::Down(Instant::now())), None);
            tokio::time::advance(Duration::from_secs(seconds)).await;
            reports.extend(outages.note(ContactState::Up));
        }
        assert!(reports[4].contains("for 5.0 s"), "{}", reports[4]);
        reports.dedup();
        assert_eq!(reports.len(), 21);
    }
}
