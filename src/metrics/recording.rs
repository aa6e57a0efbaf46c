//! Everything a part of a load measured, kept in portable pieces for its report.
//!
//! Filled by the store, beside what it adds up itself.

use super::delta::Delta;
use super::portable::PortableDelta;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::time::Duration;

/// How long figures are added up before they become a piece: longer pieces compress better, and what is not
/// compressed takes memory.
const PIECE: Duration = Duration::from_secs(5);

/// What was measured so far.
#[derive(Debug, Default)]
pub(super) struct Recording {
    pub(super) number: u64,
    pub(super) of: u64,
    pending: PortableDelta,
    since: Duration,
    pub(super) pieces: Vec<String>,
    pub(super) start_stop: Vec<String>,
}

impl Recording {
    /// That of part `number` of `of`, with nothing in it.
    pub(super) fn of(number: u64, of: u64) -> Recording {
        Recording {
            number,
            of,
            ..Recording::default()
        }
    }

    pub(super) fn add(&mut self, delta: &Delta) {
        self.pending.merge(&PortableDelta::from(delta));
    }

    pub(super) fn add_event(&mut self, delta: &Delta) {
        let bytes = PortableDelta::from(delta).encode();
        self.start_stop.push(BASE64.encode(bytes));
    }

    /// Time has come to `now` since the start of the run.
    pub(super) fn tick(&mut self, now: Duration) {
        if now.saturating_sub(self.since) >= PIECE {
            self.since = now;
            self.close();
        }
    }

    /// Makes a piece of what was added since the last one.
    pub(super) fn close(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.pieces.push(BASE64.encode(pending.encode()));
    }

    /// The figures begin anew.
    pub(super) fn reset(&mut self) {
        self.pieces.clear();
        self.pending = PortableDelta::default();
    }
}
