//! State that users share while they run, those of a process or of all processes of a run: counters, queues and maps by
//! name, on all threads. Values are copies as JSON has them, and together they take no more than a fixed amount of
//! memory. Knows neither Lua nor users.

mod calls;
mod ledger;
mod map;
mod queue;

pub use calls::{PendingCall, PendingReply, SharedAction, SharedCall, SharedLink, SharedReply};
use ledger::Ledger;
use map::WaitingCallers;
pub use map::{Claim, Map, MapLookup, PendingValue};
pub use queue::Queue;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The most that all values take, with their names and the overhead of keeping them, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// The memory of an entry in addition to its text and its value, in bytes: its places in a table that is half full, its
/// key, and its reference counts.
const ENTRY_BYTES: usize = 256;

/// A value that is shared, as JSON has it.
pub type SharedValue = Arc<serde_json::Value>;

/// The state that the users of a process share.
#[derive(Debug)]
pub struct SharedState {
    ledger: Arc<Ledger>,
    waiting: Arc<WaitingCallers>,
    // Held while a name is looked up; users keep what they found.
    named: Mutex<NamedValues>,
}

#[derive(Debug, Default)]
struct NamedValues {
    counters: HashMap<String, Arc<Counter>>,
    queues: HashMap<String, Arc<Queue>>,
    maps: HashMap<String, Arc<Map>>,
}

/// A queue with its name, as a plan holds it.
#[derive(Debug)]
pub struct SharedQueue {
    /// The name of the queue.
    pub name: String,
    /// The queue.
    pub queue: Arc<Queue>,
}

/// A number that any user can change in one atomic step.
#[derive(Debug, Default)]
pub struct Counter(AtomicI64);

impl Default for SharedState {
    fn default() -> SharedState {
        SharedState::of(MOST_BYTES)
    }
}

impl SharedState {
    /// Makes an empty state that may take that many bytes.
    fn of(most_bytes: usize) -> SharedState {
        SharedState {
            ledger: Arc::new(Ledger::new(most_bytes)),
            waiting: Arc::default(),
            named: Mutex::default(),
        }
    }

    /// Returns the counter of that name.
    ///
    /// # Errors
    /// There is no memory for another one.
    pub fn counter(&self, name: &str) -> Result<Arc<Counter>, String> {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        found(&mut named.counters, name, &self.ledger, |_| {
            Counter::default()
        })
    }

    /// Returns the queue of that name.
    ///
    /// # Errors
    /// There is no memory for another one.
    pub fn queue(&self, name: &str) -> Result<Arc<Queue>, String> {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        found(&mut named.queues, name, &self.ledger, Queue::new)
    }

    /// Returns the map of that name.
    ///
    /// # Errors
    /// There is no memory for another one.
    pub fn map(&self, name: &str) -> Result<Arc<Map>, String> {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        found(&mut named.maps, name, &self.ledger, |ledger| {
            Map::new(ledger, self.waiting.clone())
        })
    }
}

/// Returns the counter, queue or map of that name, and makes it if it is new. It stays as long as the state.
fn found<T>(
    named: &mut HashMap<String, Arc<T>>,
    name: &str,
    ledger: &Arc<Ledger>,
    make: impl FnOnce(Arc<Ledger>) -> T,
) -> Result<Arc<T>, String> {
    if let Some(map) = named.get(name) {
        return Ok(map.clone());
    }
    let charge = ledger.charge(ENTRY_BYTES + name.len())?;
    charge.for_good();
    let made = Arc::new(make(ledger.clone()));
    named.insert(name.to_owned(), made.clone());
    Ok(made)
}

impl Counter {
    /// Adds to the number, and returns the sum; `None` if that would not fit into 64 bits.
    pub fn add(&self, by: i64) -> Option<i64> {
        let add = |number: i64| number.checked_add(by);
        let before = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        before.ok().map(|before| before + by)
    }

    /// Returns the value.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;

    #[test]
    fn threads_that_count_get_each_number_once() {
        let state = SharedState::default();
        let mut seen: Vec<i64> = std::thread::scope(|scope| {
            let count = || {
                let counter = state.counter("orders").expect("there is memory");
                let numbers = (0..500).map(|_| counter.add(1).expect("it is small"));
                numbers.collect::<Vec<_>>()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(count)).collect();
            let numbers = threads
                .into_iter()
                .flat_map(|thread| thread.join().expect("it counts"));
            numbers.collect()
        });
        seen.sort_unstable();
        assert_eq!(seen, (1..=2_000).collect::<Vec<_>>());
        let counter = state.counter("orders").expect("it is there");
        assert_eq!((counter.add(-2_000), counter.get()), (Some(0), 0));
        assert_eq!(counter.add(i64::MAX), Some(i64::MAX));
        assert_eq!((counter.add(1), counter.get()), (None, i64::MAX));
    }

    #[test]
    fn what_is_full_reports_it_and_accepts_again_what_has_been_returned() {
        let state = SharedState::of(2_000);
        let queue = state.queue("jobs").expect("there is memory");
        let map = state.map("tokens").expect("there is memory");
        let mut put = 0;
        let message = loop {
            match queue.put(Arc::new(json!("x")), 0) {
                Ok(()) => put += 1,
                Err(message) => break message,
            }
        };
        assert!(put > 3, "{put}");
        assert!(message.contains("hold 1.95 KiB together"), "{message}");
        assert!(map.put("a", Arc::new(json!(1)), 8, None).is_err());
        assert!(queue.try_take().is_some());
        map.put("a", Arc::new(json!(1)), 8, None)
            .expect("there is room again");
        assert!(state.counter(&"n".repeat(2_000)).is_err());
    }

    #[test]
    fn what_has_expired_is_gone_and_makes_room() {
        let state = SharedState::of(1_000);
        let map = state.map("tokens").expect("there is memory");
        let gone = Some(Duration::ZERO);
        for number in 0..50 {
            map.put(&number.to_string(), Arc::new(json!(number)), 8, gone)
                .expect("the others have expired");
        }
        assert_eq!((map.get("49"), map.count()), (None, 0));
        let later = Some(Duration::from_secs(3_600));
        map.put("a", Arc::new(json!("b")), 8, later).expect("room");
        assert_eq!(map.get("a").as_deref(), Some(&json!("b")));
        assert!(!map.remove("a", Some(&json!("c"))) && map.remove("a", Some(&json!("b"))));
        assert_eq!((map.get("a"), map.count()), (None, 0));
    }

    #[test]
    fn whoever_finds_nothing_makes_it_while_others_wait() {
        let state = SharedState::default();
        let map = state.map("tokens").expect("there is memory");
        let MapLookup::Claimed(claim) = map.find_or_claim("token", 1).expect("room") else {
            panic!("nothing is there");
        };
        assert!(matches!(map.find_or_claim("token", 1), Ok(MapLookup::Own)));
        let Ok(MapLookup::Making(making)) = map.find_or_claim("token", 2) else {
            panic!("it is being made");
        };
        assert_eq!((map.get("token"), making.is_over()), (None, false));
        claim.store(Arc::new(json!("t")), 8, None).expect("room");
        assert!(!making.is_over());
        drop(claim);
        assert!(making.is_over());
        let Ok(MapLookup::Value(value)) = map.find_or_claim("token", 2) else {
            panic!("it is made");
        };
        assert_eq!(*value, json!("t"));
    }

    #[test]
    fn callers_that_would_wait_for_each_other_learn_of_it() {
        let state = SharedState::default();
        let map = |name| state.map(name).expect("there is memory");
        let (a, b) = (map("a"), map("b"));
        let claim = |map: &Arc<Map>, by| match map.find_or_claim("k", by) {
            Ok(MapLookup::Claimed(claim)) => claim,
            other => panic!("{other:?}"),
        };
        let (of_1, of_2, of_3) = (claim(&a, 1), claim(&b, 2), claim(&map("c"), 3));
        let is_making = |found| matches!(found, Ok(MapLookup::Making(_)));
        assert!(is_making(map("c").find_or_claim("k", 2)));
        assert!(is_making(b.find_or_claim("k", 1)));
        assert!(matches!(a.find_or_claim("k", 3), Ok(MapLookup::Circular)));
        // Callers that no longer wait are in nobody's way.
        assert!(matches!(
            b.find_or_claim("other", 1),
            Ok(MapLookup::Claimed(_))
        ));
        assert!(is_making(a.find_or_claim("k", 3)));
        drop((of_1, of_2, of_3));
        assert!(matches!(a.find_or_claim("k", 3), Ok(MapLookup::Claimed(_))));
    }

    #[test]
    fn a_claim_that_is_let_go_falls_to_the_next() {
        let state = SharedState::default();
        let map = state.map("tokens").expect("there is memory");
        let claim = map.find_or_claim("token", 1).expect("room");
        let Ok(MapLookup::Making(making)) = map.find_or_claim("token", 2) else {
            panic!("it is being made");
        };
        drop(claim);
        assert!(making.is_over());
        assert!(matches!(
            map.find_or_claim("token", 2),
            Ok(MapLookup::Claimed(_))
        ));
    }

    #[tokio::test]
    async fn each_that_waits_gets_another_value_in_turn() {
        let state = SharedState::default();
        let queue = state.queue("jobs").expect("there is memory");
        let waits = |queue: &Arc<Queue>| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.take().await })
        };
        let (first, second) = (waits(&queue), waits(&queue));
        tokio::task::yield_now().await;
        for job in ["a", "b", "c"] {
            queue.put(Arc::new(json!(job)), 8).expect("room");
        }
        let first = first.await.expect("it was there");
        let second = second.await.expect("it was there");
        let mut got = [first, second].map(|value| value.as_str().map(str::to_owned));
        got.sort();
        let rest = queue.try_take().expect("three were put");
        let all = [got[0].as_deref(), got[1].as_deref(), rest.as_str()];
        let mut all = all.map(|job| job.expect("a text").to_owned());
        all.sort();
        assert_eq!(all, ["a", "b", "c"]);
        assert_eq!((queue.try_take(), queue.count()), (None, 0));
    }
}
