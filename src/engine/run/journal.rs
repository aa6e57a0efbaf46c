//! The director's journal: what it was told beside signals, for another director; or how far it has played that of
//! another.

use crate::engine::protocol::journal::{Entry, Told};
use crate::engine::protocol::order::Order;
use std::time::Duration;
use tokio::sync::mpsc;

/// Journal of a director: what it writes, or how far it has played that of another.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    entries: Option<mpsc::UnboundedSender<Entry>>,
    /// The moment that is played, in time since the run began.
    pub(super) playing: Option<Duration>,
    pub(super) next_tick: Duration,
    /// When nobody took part any more, if that was played.
    pub(super) over_at: Option<Duration>,
    /// The last order that workers were given, as far as that was played.
    pub(super) order: Option<Order>,
    /// Whether `test_stop` has begun under another director.
    pub(super) test_stop_begun: bool,
    /// Whether another manager leads the run now.
    pub(super) deposed: bool,
}

/// How the playing of a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Played {
    /// This process leads the run from now on.
    Leads,
    /// Another has led it to its end.
    Ended,
    /// Whoever watched it has left; it goes on.
    Left,
}

impl Journal {
    /// Makes the journal of a run whose entries go there.
    pub(crate) fn of(entries: mpsc::UnboundedSender<Entry>) -> Journal {
        Journal {
            entries: Some(entries),
            ..Journal::default()
        }
    }

    /// Notes what the director was told, unless that is played.
    pub(crate) fn note(&self, at: Duration, told: impl FnOnce() -> Told) {
        if let (Some(entries), None) = (&self.entries, self.playing) {
            let told = told();
            // Whoever keeps it may be at its end.
            let _over = entries.send(Entry { at, told });
        }
    }

    /// Returns the moment that is played.
    pub(crate) fn now(&self) -> Option<Duration> {
        self.playing
    }

    /// Returns when the run was over, if that was played.
    pub(crate) fn over_at(&self) -> Option<Duration> {
        self.over_at
    }
}
