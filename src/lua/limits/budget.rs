//! Memory that a plan makes lgoose hold outside of its VM: pages, decoded bodies, what is about to be sent. It counts
//! against the limit of the VM, and is counted before it is allocated.

use super::vm_limits::out_of_memory;
use std::cell::Cell;
use std::rc::Rc;

/// The bytes that a VM's values hold outside of Lua, as long as they live.
#[derive(Debug, Clone, Default)]
pub(in crate::lua) struct Account(Rc<Cell<usize>>);

impl Account {
    /// Returns the bytes that are held.
    pub(in crate::lua) fn held(&self) -> usize {
        self.0.get()
    }

    /// Counts bytes as held until the result is dropped.
    pub(in crate::lua) fn hold(&self, bytes: usize) -> Held {
        self.0.set(self.0.get().saturating_add(bytes));
        Held {
            account: self.clone(),
            bytes,
        }
    }
}

/// Bytes that a value holds outside of Lua.
#[derive(Debug)]
pub(in crate::lua) struct Held {
    account: Account,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        let cell = &self.account.0;
        cell.set(cell.get().saturating_sub(self.bytes));
    }
}

/// The memory that one call may still take outside of Lua, in bytes.
#[derive(Debug)]
pub(in crate::lua) struct Budget {
    left: usize,
    limit: usize,
}

impl Budget {
    /// Creates a budget of `left` bytes, out of the `limit` of a VM.
    pub(in crate::lua) fn new(left: usize, limit: usize) -> Budget {
        Budget { left, limit }
    }

    /// Returns what is left.
    pub(in crate::lua) fn left(&self) -> usize {
        self.left
    }

    /// Takes `bytes`, before they are allocated.
    ///
    /// # Errors
    /// The message for a plan that would hold more than it may.
    pub(in crate::lua) fn take(&mut self, bytes: usize) -> Result<(), String> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(self.exceeded()),
        }
    }

    /// Returns the message for a plan that would hold more than it may.
    pub(in crate::lua) fn exceeded(&self) -> String {
        out_of_memory(self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_counts_until_it_is_dropped() {
        let account = Account::default();
        let page = account.hold(100);
        let other = account.hold(20);
        assert_eq!(account.held(), 120);
        drop(page);
        assert_eq!(account.held(), 20);
        drop(other);
        assert_eq!(account.held(), 0);
    }

    #[test]
    fn more_than_is_left_is_refused_and_not_taken() {
        let mut budget = Budget::new(100, 1 << 20);
        assert!(budget.take(60).is_ok());
        let told = budget.take(41).expect_err("too much");
        assert!(told.starts_with("not enough memory"), "{told}");
        assert_eq!(budget.left(), 40);
    }
}
