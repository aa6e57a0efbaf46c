//! A queue of shared values: putting one wakes one of the waiting callers, on any thread.

use super::ledger::{Charge, Ledger};
use super::{ENTRY_BYTES, SharedValue};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Values in the order in which they were put.
#[derive(Debug)]
pub struct Queue {
    ledger: Arc<Ledger>,
    // Held for as long as it takes to put or to take one.
    values: Mutex<VecDeque<(SharedValue, Charge)>>,
    put: Notify,
}

impl Queue {
    pub(super) fn new(ledger: Arc<Ledger>) -> Queue {
        Queue {
            ledger,
            values: Mutex::default(),
            put: Notify::new(),
        }
    }

    /// Puts a value of that many bytes at the end.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn put(&self, value: SharedValue, bytes: usize) -> Result<(), String> {
        let charge = self.ledger.charge(ENTRY_BYTES + bytes)?;
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.push_back((value, charge));
        drop(values);
        self.put.notify_one();
        Ok(())
    }

    /// Takes the first value, if there is one.
    pub fn try_take(&self) -> Option<SharedValue> {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.pop_front().map(|(value, _)| value)
    }

    /// Takes the first value, once there is one. Nothing is lost if the future is dropped.
    pub async fn take(&self) -> SharedValue {
        loop {
            let put = self.put.notified();
            tokio::pin!(put);
            // From here on, nothing that is put goes unnoticed.
            put.as_mut().enable();
            if let Some(value) = self.try_take() {
                return value;
            }
            put.await;
        }
    }

    /// Returns how many values there are.
    pub fn count(&self) -> usize {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.len()
    }
}
