//! A reader's place in the events of a run, and its text, which is the `id` of each event.

use std::fmt;
use std::str::FromStr;

/// Position of a reader in the feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FeedPosition {
    epoch: u32,
    /// The measurement that its figures are of; 0 before it has any.
    pub(super) measurement: u64,
    /// Number of the last point.
    pub(super) points: u64,
    /// Entries of the journal.
    pub(super) entries: u64,
    /// Number of its last figures, which a text does not hold: a reader that comes back gets all of them.
    pub(super) frame: u64,
    /// Whether it knows that the run is over, likewise.
    pub(super) has_end: bool,
}

impl FeedPosition {
    /// Makes it a place in the events of this process: one in others is the beginning.
    pub(super) fn settle(&mut self, epoch: u32) {
        if self.epoch != epoch {
            *self = FeedPosition {
                epoch,
                ..FeedPosition::default()
            };
        }
    }

    /// Returns whether the reader knows that the run is over.
    pub(crate) fn has_end(&self) -> bool {
        self.has_end
    }

    /// Begins another measurement.
    pub(super) fn start(&mut self, measurement: u64) {
        self.measurement = measurement;
        (self.points, self.frame) = (0, 0);
    }
}

impl fmt::Display for FeedPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:08x}-{}-{}-{}",
            self.epoch, self.measurement, self.points, self.entries
        )
    }
}

impl FromStr for FeedPosition {
    type Err = ();

    /// Parses the text of a place.
    fn from_str(text: &str) -> Result<FeedPosition, ()> {
        let mut parts = text.split('-');
        let epoch = u32::from_str_radix(parts.next().ok_or(())?, 16).map_err(|_| ())?;
        let mut number = || parts.next().and_then(|part| part.parse().ok()).ok_or(());
        let place = FeedPosition {
            epoch,
            measurement: number()?,
            points: number()?,
            entries: number()?,
            ..FeedPosition::default()
        };
        match parts.next() {
            None => Ok(place),
            Some(_) => Err(()),
        }
    }
}
