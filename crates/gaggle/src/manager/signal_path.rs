//! Checks the way of signals to the manager: a manager that receives nothing from the stream of its run, not even its own
//! probe, cannot distinguish a lost worker from a broker that hangs, a node that restarts, or its own standstill. No worker
//! counts as lost then.

use crate::broker::{Broker, ProbeResponse};
use crate::names;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Time without any message of the stream after which the manager probes the way itself.
const QUIET: Duration = Duration::from_secs(1);
/// Time without any message, not even a probe, after which the way counts as broken.
const BROKEN: Duration = Duration::from_millis(2_500);
/// Time without any message, not even a probe, after which nobody can be reached: a cluster whose node has failed takes less
/// to go on.
const SILENT: Duration = Duration::from_secs(10);

/// The way of signals through the stream.
#[derive(Debug)]
pub(super) struct SignalPath {
    last_message: Instant,
    last_probe: Option<Instant>,
    /// Time from which messages have come without a gap.
    works_since: Instant,
    /// Whether the stream has taken a probe. A manager that may not publish one goes by signals alone.
    is_probed: bool,
    /// The stream's response to the latest probe, and its time.
    responses: watch::Sender<Option<(ProbeResponse, Instant)>>,
}

impl SignalPath {
    pub(super) fn new() -> SignalPath {
        let now = Instant::now();
        SignalPath {
            last_message: now,
            last_probe: None,
            works_since: now,
            is_probed: false,
            responses: watch::channel(None).0,
        }
    }

    /// Records a message of the stream that has come now.
    pub(super) fn note(&mut self) {
        self.note_at(Instant::now());
    }

    fn note_at(&mut self, at: Instant) {
        if at.saturating_duration_since(self.last_message) > BROKEN {
            self.works_since = at;
        }
        self.last_message = self.last_message.max(at);
    }

    /// Returns since when the way has worked; `None` if it does not work now.
    pub(super) fn works_since(&mut self) -> Option<Instant> {
        match self.responses.send_replace(None) {
            Some((ProbeResponse::Stored, _)) => self.is_probed = true,
            // A stream that is full is there, and nothing else will come from it.
            Some((ProbeResponse::Refused, at)) => self.note_at(at),
            None => {}
        }
        let is_broken = self.is_probed && self.last_message.elapsed() > BROKEN;
        (!is_broken).then_some(self.works_since)
    }

    /// Returns whether nothing has come for so long that nobody can be reached.
    pub(super) fn is_silent(&self) -> bool {
        self.is_probed && self.last_message.elapsed() > SILENT
    }

    /// Sends a probe if one is due: the first at once, then where nothing else has come for a while.
    pub(super) fn probe(&mut self, broker: &Broker, run: &str) {
        let is_due = self
            .last_probe
            .is_none_or(|last| last.elapsed() > QUIET && self.last_message.elapsed() > QUIET);
        if is_due {
            self.last_probe = Some(Instant::now());
            let (broker, responses) = (broker.clone(), self.responses.clone());
            let subject = names::signals(run, None, names::PROBE);
            tokio::spawn(async move {
                if let Some(response) = broker.probe(subject).await {
                    responses.send_replace(Some((response, Instant::now())));
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn nobody_is_judged_while_nothing_comes_and_for_a_while_after() {
        let mut path = SignalPath::new();
        let start = Instant::now();
        tokio::time::advance(Duration::from_secs(9)).await;
        assert!(path.works_since().is_some(), "it was never probed");
        let respond = |path: &SignalPath, response| {
            path.responses
                .send_replace(Some((response, Instant::now())));
        };
        respond(&path, ProbeResponse::Refused);
        assert_eq!(path.works_since(), Some(Instant::now()), "it was refused");
        respond(&path, ProbeResponse::Stored);
        assert_eq!(path.works_since(), Some(Instant::now()));
        for _ in 0..5 {
            tokio::time::advance(Duration::from_secs(2)).await;
            path.note();
        }
        let since = path.works_since().expect("it works");
        assert_eq!(since.duration_since(start), Duration::from_secs(9));
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!((path.works_since(), path.is_silent()), (None, false));
        tokio::time::advance(Duration::from_secs(8)).await;
        assert!(path.is_silent());
        path.note();
        assert_eq!(path.works_since(), Some(Instant::now()));
    }
}
