//! Accounting of the memory that shared values take, against a limit for all of them together.

use lgoose_base::units::show_size;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes that are taken, and how many may be.
#[derive(Debug)]
pub(super) struct Ledger {
    taken: AtomicUsize,
    most: usize,
}

/// Bytes that are taken until this is dropped.
#[derive(Debug)]
pub(super) struct Charge {
    ledger: Arc<Ledger>,
    bytes: usize,
}

impl Ledger {
    pub(super) fn new(most: usize) -> Ledger {
        Ledger {
            taken: AtomicUsize::new(0),
            most,
        }
    }

    /// Takes that many bytes.
    ///
    /// # Errors
    /// The message for a plan if not enough bytes are left.
    pub(super) fn charge(self: &Arc<Ledger>, bytes: usize) -> Result<Charge, String> {
        let most = self.most;
        let add = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= most);
        let order = Ordering::Relaxed;
        match self.taken.fetch_update(order, order, add) {
            Ok(_) => Ok(Charge {
                ledger: self.clone(),
                bytes,
            }),
            Err(_) => Err(format!(
                "shared data is full: all counters, queues and maps of a process may hold {} together; take values out, or let them expire",
                show_size(most as f64)
            )),
        }
    }
}

impl Charge {
    /// Keeps the bytes taken as long as the ledger is there.
    pub(super) fn for_good(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.ledger.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
