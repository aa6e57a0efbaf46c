//! The director's journal: records commands and decisions that no event shows, for a director that takes over. In a
//! director that takes over, it shows how far the other's journal was replayed.

use crate::messages::journal::{DirectorEvent, DirectorLogEntry};
use std::time::Duration;
use tokio::sync::mpsc;

/// Journal of a director: the entries that it writes, or how far it has replayed those of another.
#[derive(Debug, Default)]
pub(crate) struct DirectorLog {
    entries: Option<mpsc::UnboundedSender<DirectorLogEntry>>,
    /// The moment that is being replayed, in time since the run began; `None` outside a replay.
    pub(super) playing: Option<Duration>,
    /// End of the last participant, if the replay has come that far.
    pub(super) over_at: Option<Duration>,
    /// Whether `test_stop` has begun under another director.
    pub(super) test_stop_started: bool,
    /// Whether another manager leads the run now.
    pub(super) superseded: bool,
}

impl DirectorLog {
    /// Makes the journal of a run, which sends its entries to `entries`.
    pub(crate) fn of(entries: mpsc::UnboundedSender<DirectorLogEntry>) -> DirectorLog {
        DirectorLog {
            entries: Some(entries),
            ..DirectorLog::default()
        }
    }

    /// Records an action of the director, except during a replay.
    pub(crate) fn note(&self, at: Duration, action: impl FnOnce() -> DirectorEvent) {
        if let (Some(entries), None) = (&self.entries, self.playing) {
            let action = action();
            // Fails if the keeper of the journal has ended.
            let _over = entries.send(DirectorLogEntry { at, action });
        }
    }
}
