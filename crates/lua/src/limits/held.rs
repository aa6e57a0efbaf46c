//! Values of a plan that Rust owns. Lua's collector knows their size as little as its limit on memory does, so each says
//! what it takes.

use super::budget::HeldBytes;
use std::ops::Deref;

/// What a value that a plan is given takes outside of Lua.
pub(crate) trait HeapSize {
    /// Returns the memory that it owns, in bytes, without itself, and without what all users of a process share.
    fn heap_bytes(&self) -> usize;
}

/// A value whose memory counts as its plan's until it is dropped. Whatever a plan is given as userdata is one, which
/// `tests/layers` checks.
#[derive(Debug)]
pub(crate) struct Held<T> {
    value: T,
    _bytes: HeldBytes,
}

impl<T> Held<T> {
    /// Keeps a value together with the bytes that count for it.
    pub(crate) fn new(value: T, bytes: HeldBytes) -> Held<T> {
        Held {
            value,
            _bytes: bytes,
        }
    }
}

impl<T> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
