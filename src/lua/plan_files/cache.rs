//! A stock of what is made from a text once per process and then shared by all VMs: compiled patterns,
//! files of data.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

#[derive(Debug)]
pub(super) struct Stock<T> {
    most: usize,
    // Written when a text is met for the first time, else only read.
    known: RwLock<HashMap<String, Arc<T>>>,
}

impl<T> Stock<T> {
    /// A stock that begins anew rather than to hold more than `most`.
    pub(super) fn new(most: usize) -> Self {
        Stock {
            most,
            known: RwLock::default(),
        }
    }

    /// What belongs to the text. `make` runs once, others wait for it meanwhile; its failures are not kept.
    pub(super) fn get(
        &self,
        text: &str,
        make: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Arc<T>, String> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = known.get(text) {
            return Ok(value.clone());
        }
        drop(known);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = known.get(text) {
            return Ok(value.clone());
        }
        let value = Arc::new(make(text)?);
        if known.len() >= self.most {
            known.clear();
        }
        known.insert(text.to_owned(), value.clone());
        Ok(value)
    }

    /// All there is, in no order.
    pub(super) fn all(&self) -> Vec<Arc<T>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Stock;
    use std::sync::Arc;

    #[test]
    fn a_text_is_made_once_and_failures_are_tried_again() {
        let stock = Stock::new(2);
        assert_eq!(
            stock.get("a", |_| Err("no".to_owned())).err().as_deref(),
            Some("no")
        );
        let first = stock.get("a", |_| Ok(1)).expect("it is made");
        let second = stock.get("a", |_| Ok(2)).expect("it is known");
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[test]
    fn a_full_stock_begins_anew() {
        let stock = Stock::new(2);
        for text in ["a", "b", "c"] {
            stock.get(text, |_| Ok(1)).expect("it is made");
        }
        assert_eq!(stock.get("a", |_| Ok(2)).map(|value| *value), Ok(2));
        assert_eq!(stock.get("c", |_| Ok(2)).map(|value| *value), Ok(1));
    }
}
