//! Parts of lgoose's own modules that a VM has loaded for a while, such as what connects. They live through collections of new
//! objects while their connection is made, so only a full collection finds that they are dead. `api::require` notes them, and
//! the VM asks at each wait whether such a collection is due.

use std::cell::Cell;

/// How many times as large as their code a VM may be for which a collection is worth the time. The code takes twice its bytes.
const WORTHWHILE: usize = 32;

/// The wait after which nothing more is expected of the parts.
const LAST_WAIT: u32 = 32;

/// The parts that a VM has loaded since they were last collected.
#[derive(Debug, Default)]
pub(crate) struct LoadedParts {
    /// The bytes of their code.
    bytes: Cell<usize>,
    /// How often the user has waited since the latest was loaded.
    waits: Cell<u32>,
}

impl LoadedParts {
    /// Notes a part that is loaded.
    pub(crate) fn add(&self, bytes: usize) {
        self.bytes.set(self.bytes.get() + bytes);
        self.waits.set(0);
    }

    /// Counts a wait. Returns whether a collection is due: the more waits there were, the likelier a part is dead. A VM with much
    /// memory is not worth the time.
    pub(crate) fn is_due(&self, used_memory: impl FnOnce() -> usize) -> bool {
        let bytes = self.bytes.get();
        if bytes == 0 {
            return false;
        }
        let waits = self.waits.get() + 1;
        self.waits.set(waits);
        waits.is_power_of_two() && bytes * WORTHWHILE > used_memory()
    }

    /// Notes how much memory a collection has freed. If that was little, parts may still run.
    pub(crate) fn collected(&self, freed: usize) {
        if freed > self.bytes.get() / 2 || self.waits.get() >= LAST_WAIT {
            self.bytes.set(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the waits, up to the hundredth, at which a collection is due that frees so many bytes.
    fn due(parts: &LoadedParts, used_memory: usize, freed: usize) -> Vec<u32> {
        let waits = 1..=100;
        let is_due = |_: &u32| {
            let is_due = parts.is_due(|| used_memory);
            if is_due {
                parts.collected(freed);
            }
            is_due
        };
        waits.filter(is_due).collect()
    }

    #[test]
    fn parts_are_collected_at_the_next_wait_or_later_while_they_run() {
        let parts = LoadedParts::default();
        assert!(due(&parts, 60_000, 9_000).is_empty());
        for (freed, waits) in [(9_000, vec![1]), (0, vec![1, 2, 4, 8, 16, 32])] {
            parts.add(4_000);
            parts.add(5_000);
            assert_eq!(due(&parts, 60_000, freed), waits);
            assert!(due(&parts, 60_000, freed).is_empty());
        }
    }

    #[test]
    fn small_parts_of_a_large_vm_wait_for_more() {
        let parts = LoadedParts::default();
        parts.add(5_000);
        assert!(due(&parts, 200_000, 0).is_empty());
        parts.add(5_000);
        assert_eq!(due(&parts, 200_000, 9_000), [1]);
    }
}
