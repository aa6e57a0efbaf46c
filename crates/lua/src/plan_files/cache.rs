//! A cache of values that are made from a text once per process and then shared by all VMs: compiled patterns,
//! files of data.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Values by the text that they were made from.
#[derive(Debug)]
pub(super) struct TextCache<T> {
    capacity: usize,
    most_bytes: usize,
    weigh: fn(&T) -> usize,
    // Written when a text occurs for the first time, otherwise only read.
    entries: RwLock<CacheEntries<T>>,
}

/// The values of a cache and the memory of all of them, in bytes.
#[derive(Debug)]
struct CacheEntries<T> {
    values: HashMap<String, Arc<T>>,
    bytes: usize,
    /// Those that are being made, each behind a lock of its own: who wants another value does not wait.
    making: HashMap<String, Arc<Mutex<Option<Arc<T>>>>>,
}

impl<T> TextCache<T> {
    /// Creates a cache that is cleared before it would hold more than `capacity` values.
    pub(super) fn new(capacity: usize) -> Self {
        TextCache {
            capacity,
            most_bytes: usize::MAX,
            weigh: |_| 0,
            entries: RwLock::new(CacheEntries {
                values: HashMap::new(),
                bytes: 0,
                making: HashMap::new(),
            }),
        }
    }

    /// Also clears the cache before its texts and values would take more than `most_bytes`; `weigh` returns the bytes
    /// of a value.
    pub(super) fn within(self, most_bytes: usize, weigh: fn(&T) -> usize) -> Self {
        TextCache {
            most_bytes,
            weigh,
            ..self
        }
    }

    /// Returns the value of a text. `make` runs once while other callers with the same text wait; its failures are not kept.
    pub(super) fn get_or_insert_with(
        &self,
        text: &str,
        make: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Arc<T>, String> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = entries.values.get(text) {
            return Ok(value.clone());
        }
        drop(entries);
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = entries.values.get(text) {
            return Ok(value.clone());
        }
        let place = entries.making.entry(text.to_owned()).or_default().clone();
        drop(entries);
        let mut made = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = &*made {
            return Ok(value.clone());
        }
        let value = make(text).map(Arc::new);
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.making.remove(text);
        let value = made.insert(value?);
        let bytes = text.len() + (self.weigh)(value);
        if entries.values.len() >= self.capacity || entries.bytes + bytes > self.most_bytes {
            entries.values.clear();
            entries.bytes = 0;
        }
        entries.bytes += bytes;
        entries.values.insert(text.to_owned(), value.clone());
        Ok(value.clone())
    }

    /// Returns all values in no particular order.
    pub(super) fn all(&self) -> Vec<Arc<T>> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.values.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::TextCache;
    use std::sync::Arc;

    #[test]
    fn a_text_is_made_once_and_failures_are_tried_again() {
        let cache = TextCache::new(2);
        assert_eq!(
            cache
                .get_or_insert_with("a", |_| Err("no".to_owned()))
                .err()
                .as_deref(),
            Some("no")
        );
        let first = cache
            .get_or_insert_with("a", |_| Ok(1))
            .expect("it is made");
        let second = cache
            .get_or_insert_with("a", |_| Ok(2))
            .expect("it is known");
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[test]
    fn a_cache_of_heavy_values_starts_anew() {
        let cache = TextCache::new(100).within(1_000, |bytes: &usize| *bytes);
        for (text, bytes) in [("a", 500), ("b", 400), ("c", 200)] {
            cache
                .get_or_insert_with(text, |_| Ok(bytes))
                .expect("it is made");
        }
        assert_eq!(cache.all(), [Arc::new(200)]);
    }

    #[test]
    fn a_full_cache_starts_anew() {
        let cache = TextCache::new(2);
        for text in ["a", "b", "c"] {
            cache
                .get_or_insert_with(text, |_| Ok(1))
                .expect("it is made");
        }
        assert_eq!(
            cache.get_or_insert_with("a", |_| Ok(2)).map(|value| *value),
            Ok(2)
        );
        assert_eq!(
            cache.get_or_insert_with("c", |_| Ok(2)).map(|value| *value),
            Ok(1)
        );
    }
}
