//! What a shard tells the director. Signals come in order, but may come late or no more; the directive, which goes the
//! other way, is state.

use crate::engine::protocol::departures::Departures;
use crate::error::Error;
use crate::metrics::Delta;

/// A shard's number and what it has to say.
#[derive(Debug)]
pub(crate) struct Signal {
    pub(crate) shard: usize,
    pub(crate) kind: SignalKind,
}

#[derive(Debug)]
pub(crate) enum SignalKind {
    /// What it measured since the last one. Its sequence numbers rise from 1, so that a repeat counts once.
    Delta { sequence: u64, delta: Box<Delta> },
    /// It has nothing left to do under the directive of that version.
    Idle {
        version: u64,
        departures: Departures,
    },
    /// Its last user has gone and everything was handed over: its last word.
    Ended { departures: Departures },
    /// It will say nothing any more, and what it measured last is gone.
    Lost,
    /// It cannot go on.
    Failed(Error),
}
