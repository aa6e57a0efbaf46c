//! Values of a plan that Rust owns. Neither Lua's collector nor its memory limit knows their size, so each reports its
//! own.

use super::budget::HeldBytes;
use std::ops::Deref;

/// The memory of a plan's value outside of Lua.
pub(crate) trait HeapSize {
    /// Returns the memory that it owns, in bytes, without itself, and without memory that all users of a process share.
    fn heap_bytes(&self) -> usize;
}

/// A value whose memory counts as its plan's until it is dropped. Every userdata of a plan is one, which `tests/layers`
/// checks.
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

    /// Returns the value, to exchange it for one that takes as much.
    pub(crate) fn value_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
