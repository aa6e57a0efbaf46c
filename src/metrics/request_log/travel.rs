//! Entries of logs on their way from a worker to the manager: taken out of one process's logs, let into those of
//! another.

use super::{Chunk, Lines, LogKind, LogMessage, LogWorker, RunLogs, entry};
use crate::packed::{pack, unpack};
use std::error::Error;
use std::sync::atomic::Ordering;

/// The most bytes of the entries of one piece: more than any that a worker makes.
const MOST: u64 = 1 << 20;

impl Chunk {
    /// Returns the entries as [`pack_entries`] takes them; those of several chunks can stand one after another.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Packs entries as [`RunLogs::admit`] takes them.
pub(crate) fn pack_entries(entries: &[u8]) -> Vec<u8> {
    pack(Vec::new(), &entries)
}

/// Cuts entries into pieces of at most `most` bytes, between two entries; an entry that is longer is a piece of its
/// own.
pub(crate) fn pieces(mut bytes: &[u8], most: usize) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = if bytes.len() > most {
            entry::first_entries(bytes, most)
        } else {
            bytes.len()
        };
        let (piece, rest) = bytes.split_at(length);
        bytes = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

impl RunLogs {
    /// Returns the lines handed over so far that each log would have if none were left out.
    pub(crate) fn all_made(&self) -> Lines {
        LogKind::ALL.map(|log| self.made(log))
    }

    /// Counts lines that a worker has made, whether or not they arrive.
    pub(crate) fn add_made(&self, lines: &Lines) {
        for (made, lines) in self.shared.made.iter().zip(lines) {
            made.fetch_add(*lines, Ordering::Relaxed);
        }
    }

    /// Adds the packed entries of a worker. The caller must wait while too much is [on the way](RunLogs::on_the_way).
    ///
    /// # Errors
    /// If the bytes are no packed entries, or too many.
    pub(crate) fn admit(
        &self,
        packed: &[u8],
        worker: LogWorker,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let bytes: Vec<u8> = unpack(packed, MOST)?;
        let taken = bytes.capacity();
        self.shared.on_the_way.fetch_add(taken, Ordering::Relaxed);
        let chunk = Chunk {
            bytes,
            worker: Some(worker),
            shared: self.shared.clone(),
        };
        // A writer that has ended writes nothing; the report says what is missing.
        let _ended = self.out.send(LogMessage::Chunk(chunk));
        Ok(())
    }

    /// Returns how many bytes of entries are not written yet.
    pub(crate) fn on_the_way(&self) -> usize {
        self.shared.on_the_way.load(Ordering::Relaxed)
    }
}
