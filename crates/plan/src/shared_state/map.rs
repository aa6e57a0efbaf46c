//! A map of shared values. A caller that finds no value can claim the right to make it; all others then wait until it
//! has made the value, or has given up.

use super::ledger::{Charge, Ledger};
use super::{ENTRY_BYTES, SharedValue};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The fewest entries among which the map looks for expired ones.
const FEWEST: usize = 64;

/// Callers that wait for another one to make a value, in all maps of a process: each caller for one other at most.
#[derive(Debug, Default)]
pub(crate) struct WaitingCallers {
    for_whom: Mutex<HashMap<usize, usize>>,
    /// The number of waiting callers, so that a caller who finds a value need not look.
    count: AtomicUsize,
}

impl WaitingCallers {
    /// Notes that a caller waits for another; returns whether that one is not waiting for the caller, itself or by others.
    fn enter(&self, by: usize, other: usize) -> bool {
        let mut for_whom = self.for_whom.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Some(other);
        // Bounded: callers that were ended while they waited are still listed, and may form a circle.
        for _ in 0..=for_whom.len() {
            match next {
                Some(one) if one == by => return false,
                Some(one) => next = for_whom.get(&one).copied(),
                None => break,
            }
        }
        for_whom.insert(by, other);
        self.count.store(for_whom.len(), Ordering::Relaxed);
        true
    }

    /// Notes that a caller no longer waits.
    fn leave(&self, by: usize) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut for_whom = self.for_whom.lock().unwrap_or_else(PoisonError::into_inner);
        for_whom.remove(&by);
        self.count.store(for_whom.len(), Ordering::Relaxed);
    }
}

/// Values by key.
#[derive(Debug)]
pub struct Map {
    ledger: Arc<Ledger>,
    waiting: Arc<WaitingCallers>,
    // Held for as long as it takes to find or to put one.
    entries: Mutex<MapEntries>,
}

#[derive(Debug)]
struct MapEntries {
    by_key: HashMap<String, MapEntry>,
    /// The number of entries at which expired ones are removed next.
    sweep_at: usize,
    /// The number of the latest claim.
    claims: u64,
}

#[derive(Debug)]
enum MapEntry {
    Ready {
        value: SharedValue,
        expires: Option<Instant>,
        _charge: Charge,
    },
    Making {
        claim: u64,
        by: usize,
        over: watch::Receiver<()>,
        _charge: Charge,
    },
}

/// The result of a lookup.
#[derive(Debug)]
pub enum MapLookup {
    /// The value of the key.
    Value(SharedValue),
    /// Nothing: the caller is to make it.
    Claimed(Claim),
    /// Another caller is making it.
    Making(PendingValue),
    /// The caller is making it already.
    Own,
    /// Another caller is making it, and waits for one that this caller makes.
    Circular,
}

/// The right to make the value of a key, until it is dropped.
#[derive(Debug)]
pub struct Claim {
    map: Arc<Map>,
    key: String,
    number: u64,
    /// Dropped when the claim is over, which wakes the waiting callers.
    _over: watch::Sender<()>,
}

/// A value that is being made.
#[derive(Debug, Clone)]
pub struct PendingValue(watch::Receiver<()>);

impl PendingValue {
    /// Makes a value that is pending until the other end of the channel is dropped.
    pub(super) fn until(over: watch::Receiver<()>) -> PendingValue {
        PendingValue(over)
    }

    /// Waits until it is made, or given up.
    pub async fn over(mut self) {
        // The only news is that the sender has gone.
        let _gone = self.0.changed().await;
    }

    #[cfg(test)]
    pub(super) fn is_over(&self) -> bool {
        self.0.has_changed().is_err()
    }
}

impl MapEntry {
    fn has_expired(&self) -> bool {
        match self {
            MapEntry::Ready { expires, .. } => expires.is_some_and(|at| at <= Instant::now()),
            MapEntry::Making { .. } => false,
        }
    }

    /// Returns its value, if it has one that has not expired.
    fn value(&self) -> Option<&SharedValue> {
        match self {
            MapEntry::Ready { value, .. } if !self.has_expired() => Some(value),
            _ => None,
        }
    }
}

impl MapEntries {
    fn sweep(&mut self) {
        self.by_key.retain(|_, entry| !entry.has_expired());
        self.sweep_at = FEWEST.max(2 * self.by_key.len());
    }
}

impl Map {
    pub(super) fn new(ledger: Arc<Ledger>, waiting: Arc<WaitingCallers>) -> Map {
        Map {
            ledger,
            waiting,
            entries: Mutex::new(MapEntries {
                by_key: HashMap::new(),
                sweep_at: FEWEST,
                claims: 0,
            }),
        }
    }

    fn entries(&self) -> MutexGuard<'_, MapEntries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes memory for an entry, if need be that of expired entries.
    fn charge(&self, entries: &mut MapEntries, key: &str, bytes: usize) -> Result<Charge, String> {
        let bytes = ENTRY_BYTES + key.len() + bytes;
        if entries.by_key.len() >= entries.sweep_at {
            entries.sweep();
        }
        self.ledger.charge(bytes).or_else(|_| {
            entries.sweep();
            self.ledger.charge(bytes)
        })
    }

    /// Puts a value of that many bytes, which stays until it expires.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn put(
        &self,
        key: &str,
        value: SharedValue,
        bytes: usize,
        expires: Option<Duration>,
    ) -> Result<(), String> {
        self.insert(&mut self.entries(), key, value, bytes, expires)
    }

    fn insert(
        &self,
        entries: &mut MapEntries,
        key: &str,
        value: SharedValue,
        bytes: usize,
        expires: Option<Duration>,
    ) -> Result<(), String> {
        let entry = MapEntry::Ready {
            value,
            // A time that no clock reaches is never.
            expires: expires.and_then(|time| Instant::now().checked_add(time)),
            _charge: self.charge(entries, key, bytes)?,
        };
        entries.by_key.insert(key.to_owned(), entry);
        Ok(())
    }

    /// Puts a value like [`Map::put`], if the key has none; returns the one that it has then.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(super) fn keep(
        &self,
        key: &str,
        value: SharedValue,
        bytes: usize,
        expires: Option<Duration>,
    ) -> Result<SharedValue, String> {
        let mut entries = self.entries();
        if let Some(existing) = entries.by_key.get(key).and_then(MapEntry::value) {
            return Ok(existing.clone());
        }
        self.insert(&mut entries, key, value.clone(), bytes, expires)?;
        Ok(value)
    }

    /// Returns the value of a key, unless it has expired or is still being made.
    pub fn get(&self, key: &str) -> Option<SharedValue> {
        self.entries().by_key.get(key)?.value().cloned()
    }

    /// Removes a key, or only if it has the value `only`; returns whether it did.
    pub fn remove(&self, key: &str, only: Option<&serde_json::Value>) -> bool {
        let mut entries = self.entries();
        let found = entries.by_key.get(key).and_then(MapEntry::value);
        let fits = found.is_some_and(|value| only.is_none_or(|only| *only == **value));
        if fits {
            entries.by_key.remove(key);
        }
        fits
    }

    /// Returns how many values there are.
    pub fn count(&self) -> usize {
        let entries = self.entries();
        let values = entries.by_key.values().filter_map(MapEntry::value);
        values.count()
    }

    /// Looks a key up for `by`, which is to make its value if there is none.
    ///
    /// # Errors
    /// There is no memory for another key.
    pub fn find_or_claim(self: &Arc<Map>, key: &str, by: usize) -> Result<MapLookup, String> {
        self.waiting.leave(by);
        let mut entries = self.entries();
        match entries.by_key.get(key) {
            Some(MapEntry::Making { by: other, .. }) if *other == by => return Ok(MapLookup::Own),
            Some(MapEntry::Making {
                by: other, over, ..
            }) => {
                return Ok(if self.waiting.enter(by, *other) {
                    MapLookup::Making(PendingValue(over.clone()))
                } else {
                    MapLookup::Circular
                });
            }
            Some(entry) => {
                if let Some(value) = entry.value() {
                    return Ok(MapLookup::Value(value.clone()));
                }
            }
            None => {}
        }
        let charge = self.charge(&mut entries, key, 0)?;
        entries.claims += 1;
        let claim = entries.claims;
        let (sender, over) = watch::channel(());
        let entry = MapEntry::Making {
            claim,
            by,
            over,
            _charge: charge,
        };
        entries.by_key.insert(key.to_owned(), entry);
        Ok(MapLookup::Claimed(Claim {
            map: self.clone(),
            key: key.to_owned(),
            number: claim,
            _over: sender,
        }))
    }
}

impl Claim {
    /// Returns the memory of its own copy of the key, in bytes.
    pub fn bytes(&self) -> usize {
        self.key.len()
    }

    /// Keeps the value that was made, like [`Map::put`].
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn store(
        &self,
        value: SharedValue,
        bytes: usize,
        expires: Option<Duration>,
    ) -> Result<(), String> {
        self.map.put(&self.key, value, bytes, expires)
    }
}

impl Drop for Claim {
    /// Lets the next caller make a value that was not kept, and only then wakes the waiting callers.
    fn drop(&mut self) {
        let mut entries = self.map.entries();
        if let Some(MapEntry::Making { claim, .. }) = entries.by_key.get(&self.key)
            && *claim == self.number
        {
            entries.by_key.remove(&self.key);
        }
    }
}
