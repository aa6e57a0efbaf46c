//! Signals of a shard to the director. They come in order, but may come late or stop coming; the directive, which
//! goes the other way, is state.

use crate::engine::protocol::departures::Departures;
use crate::error::Error;
use crate::metrics::Delta;

/// A signal of the shard of that number.
#[derive(Debug)]
pub(crate) struct Signal {
    pub(crate) shard: usize,
    pub(crate) kind: SignalKind,
}

#[derive(Debug)]
pub(crate) enum SignalKind {
    /// Figures since the last signal. Sequence numbers rise from 1, so that a repeat counts once.
    Delta { sequence: u64, delta: Box<Delta> },
    /// The shard has nothing left to do under the directive of that version.
    Idle {
        version: u64,
        departures: Departures,
    },
    /// The last user has gone and everything was handed over: the shard's last signal.
    Ended { departures: Departures },
    /// The shard sends nothing any more, and what it measured last is lost.
    Lost,
    /// The shard cannot go on.
    Failed(Error),
}
