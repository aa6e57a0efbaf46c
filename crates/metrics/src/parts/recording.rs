//! Recording of everything that a part of a load measured, in portable pieces for its report.
//!
//! Filled by the store, which also adds up its own figures.

use crate::delta::{Delta, PortableDelta};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::time::Duration;

/// Time over which figures are added up before they become a piece: longer pieces compress better, but take memory
/// until they are compressed.
const PIECE: Duration = Duration::from_secs(5);

/// Everything measured so far.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    pub(crate) number: u64,
    pub(crate) of: u64,
    pending: PortableDelta,
    since: Duration,
    pub(crate) pieces: Vec<String>,
    pub(crate) start_stop: Vec<String>,
}

impl Recording {
    /// Makes an empty recording of part `number` of `of`.
    pub(crate) fn of(number: u64, of: u64) -> Recording {
        Recording {
            number,
            of,
            ..Recording::default()
        }
    }

    pub(crate) fn add(&mut self, delta: &Delta) {
        self.pending.merge(&PortableDelta::from(delta));
    }

    pub(crate) fn add_event(&mut self, delta: &Delta) {
        let portable = PortableDelta::from(delta);
        self.start_stop.push(BASE64.encode(portable.encode()));
    }

    /// Advances the time to `now` since the start of the run.
    pub(crate) fn tick(&mut self, now: Duration) {
        if now.saturating_sub(self.since) >= PIECE {
            self.since = now;
            self.close();
        }
    }

    /// Makes a piece of everything added since the last one.
    pub(crate) fn close(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.pieces.push(BASE64.encode(pending.encode()));
    }

    /// Drops the figures, which begin anew, but not those of `test_start`.
    pub(crate) fn reset(&mut self) {
        self.pieces.clear();
        self.pending = PortableDelta::default();
    }
}
