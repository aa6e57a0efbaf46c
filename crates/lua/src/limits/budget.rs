//! Memory that a plan makes lgoose hold outside of its VM: pages, decoded bodies, bodies about to be sent. It counts
//! against the limit of the VM, and is counted before it is allocated. So is the time that lgoose takes to read it.

use super::interrupt::running_line;
use super::vm_limits::VmLimits;
use mlua::Lua;
use std::cell::Cell;
use std::rc::Rc;

/// Collects the garbage of a VM; returns the bytes that it may still take outside of Lua.
type Collect = fn(&Lua) -> usize;

/// The bytes that a VM's values hold outside of Lua, as long as they live.
#[derive(Debug, Clone, Default)]
pub(crate) struct Account(Rc<Cell<usize>>);

impl Account {
    /// Returns the bytes that are held.
    pub(crate) fn held(&self) -> usize {
        self.0.get()
    }

    /// Counts bytes as held until the result is dropped.
    pub(crate) fn hold(&self, bytes: usize) -> HeldBytes {
        self.0.set(self.0.get().saturating_add(bytes));
        HeldBytes {
            account: self.clone(),
            bytes,
        }
    }
}

/// Bytes that a value holds outside of Lua.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    account: Account,
    bytes: usize,
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        let cell = &self.account.0;
        cell.set(cell.get().saturating_sub(self.bytes));
    }
}

/// The memory that one call may still take outside of Lua, in bytes, within the time of its task.
#[derive(Debug)]
pub(crate) struct Budget<'a> {
    remaining: usize,
    taken: usize,
    /// The remaining memory may be little because of garbage, which is collected once before anything is refused.
    garbage: Option<(&'a Lua, Collect)>,
    limits: Rc<VmLimits>,
}

impl<'a> Budget<'a> {
    /// Creates a budget of `remaining` bytes, out of the memory of a VM with these limits.
    pub(crate) fn new(remaining: usize, limits: &Rc<VmLimits>) -> Budget<'a> {
        Budget {
            remaining,
            taken: 0,
            garbage: None,
            limits: limits.clone(),
        }
    }

    /// Lets it collect the VM's garbage before it refuses something.
    pub(crate) fn collecting(self, lua: &'a Lua, collect: Collect) -> Budget<'a> {
        Budget {
            garbage: Some((lua, collect)),
            ..self
        }
    }

    /// Returns the remaining memory.
    pub(crate) fn remaining(&self) -> usize {
        self.remaining
    }

    /// Returns the memory taken so far.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    /// Takes `bytes`, before they are allocated; to fill them is work, too.
    ///
    /// # Errors
    /// The message for a plan that would hold more than it may, or whose time is over.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), String> {
        if bytes > self.remaining {
            self.collect();
        }
        match self.remaining.checked_sub(bytes) {
            Some(remaining) => {
                self.remaining = remaining;
                self.taken += bytes;
                self.spend(bytes as u64)
            }
            None => Err(self.exceeded()),
        }
    }

    /// Makes something that takes at most so many bytes; `make` returns `None` if it would take more.
    ///
    /// # Errors
    /// The message for a plan that would hold more than it may.
    pub(crate) fn make<T>(
        &mut self,
        mut make: impl FnMut(usize) -> Option<T>,
    ) -> Result<T, String> {
        if let Some(made) = make(self.remaining) {
            return Ok(made);
        }
        let before = self.remaining;
        self.collect();
        let again = (self.remaining > before).then(|| make(self.remaining));
        again.flatten().ok_or_else(|| self.exceeded())
    }

    fn collect(&mut self) {
        if let Some((lua, collect)) = self.garbage.take() {
            self.remaining = collect(lua).saturating_sub(self.taken);
        }
    }

    /// Counts work that takes no memory.
    ///
    /// # Errors
    /// The message for a plan whose time is over.
    pub(crate) fn spend(&self, work: u64) -> Result<(), String> {
        let spent = self.limits.spend_at(work, running_line);
        spent.map_err(|error| error.to_string())
    }

    /// Does `work` that will be repeated where nothing checks the time.
    ///
    /// # Errors
    /// The error of `work`, or the message for a plan whose time would be over after the repetition.
    pub(crate) fn twice<E: From<String>>(
        &mut self,
        work: impl FnOnce(&mut Budget<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.limits.look_if_long();
        work(self)?;
        let foreseen = self.limits.repeat_since(start, running_line);
        foreseen.map_err(|error| error.to_string().into())
    }

    /// Returns the message for a plan that would hold more than it may.
    pub(crate) fn exceeded(&self) -> String {
        self.limits.refuse_memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

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
    fn more_than_remains_is_refused_and_not_subtracted() {
        let limits = VmLimits::new(Duration::from_secs(1), 1 << 20, Some(Arc::default()));
        let mut budget = Budget::new(100, &Rc::new(limits));
        assert!(budget.take(60).is_ok());
        let message = budget.take(41).expect_err("too much");
        let expected = "not enough memory: a user may hold 1 MiB ('--lua-memory')";
        assert_eq!(message, expected);
        assert_eq!(budget.remaining(), 40);
    }

    #[test]
    fn a_limit_that_no_flag_sets_names_none() {
        let message = Budget::new(0, &Rc::new(VmLimits::of_loading(Arc::default()))).exceeded();
        let expected = "not enough memory: a plan's code outside of tasks may hold 512 MiB";
        assert_eq!(message, expected);
    }
}
