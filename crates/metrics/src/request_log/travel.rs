//! Entries of logs on their way from a worker to the manager, packed and cut into pieces.

use super::entry;
use lgoose_base::packed::{pack, unpack};
use std::error::Error;

/// The most bytes of the entries of one piece: more than any that a worker makes.
const MOST: u64 = 1 << 20;

/// Packs entries as `RunLogs::admit` takes them.
pub fn pack_entries(entries: &[u8]) -> Vec<u8> {
    pack(Vec::new(), &entries)
}

/// Unpacks entries.
///
/// # Errors
/// If the bytes are no packed entries, or too many.
pub(super) fn unpack_entries(packed: &[u8]) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
    unpack(packed, MOST)
}

/// Cuts entries into pieces of at most `most` bytes, between two entries; an entry that is longer is a piece of its
/// own.
pub fn pieces(mut bytes: &[u8], most: usize) -> impl Iterator<Item = &[u8]> {
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
