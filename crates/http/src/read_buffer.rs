//! The buffer into which all connections of a shard read: users are cheap, since none has one of its own.

use std::cell::{RefCell, RefMut};

/// The size of a read: the pages of most sites fit, so that one read is enough.
pub(super) const READ_SIZE: usize = 64 * 1024;

/// Such a buffer. It is borrowed only within one poll.
#[derive(Debug)]
pub(super) struct ReadBuffer(RefCell<Box<[u8]>>);

impl ReadBuffer {
    /// The buffer, for one poll.
    pub(super) fn borrow(&self) -> RefMut<'_, Box<[u8]>> {
        self.0.borrow_mut()
    }
}

impl Default for ReadBuffer {
    fn default() -> Self {
        ReadBuffer(RefCell::new(vec![0; READ_SIZE].into()))
    }
}
