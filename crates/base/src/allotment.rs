//! Allotments: numbers that each are taken once, in rising order, by whoever comes first: iterations that users share,
//! rows of a file in unique order. A process whose part of the load another may have to take over reserves numbers
//! before it takes them, so that the other knows where to go on.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// Numbers of one kind. All below `next` have been taken, all below `reserved` may be.
#[derive(Debug)]
pub struct Allotment {
    next: AtomicU64,
    reserved: AtomicU64,
    /// The reservations that it needs, if any.
    reservations: Option<Arc<Reservations>>,
}

/// The result of taking a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The next number.
    Number(u64),
    /// The next one is not reserved yet.
    Later,
    /// All have been taken.
    Nothing,
}

/// Allotments of a process that reserves numbers before it takes them, by name.
#[derive(Debug)]
pub struct Reservations {
    /// The first number of each allotment that nobody has reserved before.
    start: OnceLock<ReservedNumbers>,
    /// The minimum of numbers reserved ahead.
    margin: u64,
    allotments: Mutex<BTreeMap<String, ReservedAllotment>>,
    wanted: Notify,
    granted: Notify,
}

/// The first number of each allotment that is not reserved, by its name; 0 where it is not listed.
pub type ReservedNumbers = BTreeMap<String, u64>;

#[derive(Debug)]
struct ReservedAllotment {
    allotment: Arc<Allotment>,
    end: u64,
    /// The next number at the last look.
    seen: u64,
}

/// The interval between two looks at the numbers taken.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// Looks for which as many numbers are reserved ahead as were taken since the last one.
const LOOKS_AHEAD: u64 = 4;

impl Allotment {
    /// Makes an allotment whose numbers need no reservation.
    pub fn free() -> Arc<Allotment> {
        Arc::new(Allotment {
            next: AtomicU64::new(0),
            reserved: AtomicU64::new(u64::MAX),
            reservations: None,
        })
    }

    /// Takes the next number below `end`.
    pub fn take(&self, end: u64) -> Taken {
        let reserved = self.reserved.load(Ordering::Acquire);
        let order = Ordering::Relaxed;
        let next = |next: u64| (next < end.min(reserved)).then_some(next + 1);
        match self.next.fetch_update(order, order, next) {
            Ok(number) => Taken::Number(number),
            Err(next) if next >= end => Taken::Nothing,
            Err(_) => {
                if let Some(reservations) = &self.reservations {
                    reservations.wanted.notify_one();
                }
                Taken::Later
            }
        }
    }

    /// Waits until more numbers may have been reserved.
    pub async fn wait_for_more(&self) {
        if let Some(reservations) = &self.reservations {
            reservations.wait_for_more().await;
        }
    }
}

impl Reservations {
    /// Makes the reservations of a process that has made none. They are at least `margin` numbers ahead of those taken.
    pub fn new(margin: u64) -> Arc<Reservations> {
        Arc::new(Reservations {
            start: OnceLock::new(),
            margin: margin.max(1),
            allotments: Mutex::default(),
            wanted: Notify::new(),
            granted: Notify::new(),
        })
    }

    /// Returns the allotment with that name, whose numbers are those below `end`.
    pub fn allotment(self: &Arc<Self>, name: &str, end: u64) -> Arc<Allotment> {
        let mut allotments = self.lock();
        if let Some(existing) = allotments.get(name) {
            return existing.allotment.clone();
        }
        let start = self.start.get().and_then(|start| start.get(name));
        let start = start.copied().unwrap_or(0);
        let allotment = Arc::new(Allotment {
            next: AtomicU64::new(start),
            reserved: AtomicU64::new(start),
            reservations: Some(self.clone()),
        });
        let reserved = ReservedAllotment {
            allotment: allotment.clone(),
            end,
            seen: start,
        };
        allotments.insert(name.to_owned(), reserved);
        allotment
    }

    /// Begins at the reservations of another process, whose part this one takes over.
    pub fn begin(&self, start: ReservedNumbers) {
        let start = self.start.get_or_init(|| start);
        for (name, reserved) in self.lock().iter_mut() {
            let first = start.get(name).copied().unwrap_or(0);
            reserved.seen = reserved.seen.max(first);
            for number in [&reserved.allotment.next, &reserved.allotment.reserved] {
                number.fetch_max(first, Ordering::Relaxed);
            }
        }
    }

    /// Waits until it is time to look whether more has to be reserved.
    pub async fn due(&self) {
        let _quiet = tokio::time::timeout(LOOK_INTERVAL, self.wanted.notified()).await;
    }

    /// Waits until more numbers may have been granted.
    pub async fn wait_for_more(&self) {
        // They may have been just before.
        let _late = tokio::time::timeout(LOOK_INTERVAL, self.granted.notified()).await;
    }

    /// Returns whether some allotment has fewer numbers reserved ahead than it should, and requests more.
    pub fn is_short(&self) -> bool {
        let is_short = self.lock().values().any(|one| one.is_short(self.margin));
        if is_short {
            self.wanted.notify_one();
        }
        is_short
    }

    /// Returns the numbers to reserve now, in place of all reserved before; `None` if those are enough.
    pub fn request(&self) -> Option<ReservedNumbers> {
        let mut is_due = false;
        let mut numbers = self.start.get().cloned().unwrap_or_default();
        for (name, one) in self.lock().iter_mut() {
            let next = one.allotment.next.load(Ordering::Relaxed);
            let reserved = one.allotment.reserved.load(Ordering::Relaxed);
            let margin = self.margin.max((next - one.seen) * LOOKS_AHEAD);
            one.seen = next;
            let is_short = one.is_short(margin);
            is_due |= is_short;
            let number = if is_short {
                (next + margin).min(one.end)
            } else {
                reserved
            };
            numbers.insert(name.clone(), number);
        }
        is_due.then_some(numbers)
    }

    /// Grants numbers that have been reserved.
    pub fn grant(&self, numbers: &ReservedNumbers) {
        for (name, one) in self.lock().iter() {
            if let Some(number) = numbers.get(name) {
                one.allotment.reserved.fetch_max(*number, Ordering::Release);
            }
        }
        self.granted.notify_waiters();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, ReservedAllotment>> {
        self.allotments
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReservedAllotment {
    /// Returns whether less than half of a margin is reserved ahead.
    fn is_short(&self, margin: u64) -> bool {
        let next = self.allotment.next.load(Ordering::Relaxed);
        let least = (next + margin.div_ceil(2)).min(self.end);
        self.allotment.reserved.load(Ordering::Relaxed) < least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_taken_once_whoever_takes_it() {
        let allotment = Allotment::free();
        let take = || {
            let numbers = (0..600).map(|_| allotment.take(1_000));
            let taken = numbers.filter_map(|taken| match taken {
                Taken::Number(number) => Some(number),
                _ => None,
            });
            taken.collect::<Vec<u64>>()
        };
        let mut taken: Vec<u64> = std::thread::scope(|scope| {
            let threads = [scope.spawn(take), scope.spawn(take)];
            threads
                .map(|thread| thread.join().expect("it ends"))
                .concat()
        });
        taken.sort_unstable();
        assert_eq!(taken, (0..1_000).collect::<Vec<_>>());
        assert_eq!(allotment.take(1_000), Taken::Nothing);
    }

    #[test]
    fn nothing_is_taken_before_it_is_reserved() {
        let reservations = Reservations::new(10);
        let rows = reservations.allotment("rows", 25);
        assert_eq!(rows.take(25), Taken::Later);
        let numbers = |rows| ReservedNumbers::from([("rows".to_owned(), rows)]);
        let request = reservations.request();
        assert_eq!(request, Some(numbers(10)));
        assert_eq!(rows.take(25), Taken::Later, "it is not granted");
        reservations.grant(&numbers(10));
        let taken: Vec<Taken> = (0..11).map(|_| rows.take(25)).collect();
        assert_eq!((taken[0], taken[9]), (Taken::Number(0), Taken::Number(9)));
        assert_eq!(taken[10], Taken::Later);
        assert_eq!(reservations.request(), Some(numbers(25)), "it goes fast");
        reservations.grant(&numbers(25));
        (10..25).for_each(|number| assert_eq!(rows.take(25), Taken::Number(number)));
        assert_eq!(
            (rows.take(25), reservations.request()),
            (Taken::Nothing, None)
        );
    }

    #[test]
    fn whoever_takes_a_part_over_goes_on_where_no_number_was_reserved() {
        let reservations = Reservations::new(4);
        let before = reservations.allotment("a", 100);
        let start = ReservedNumbers::from([("a".to_owned(), 7), ("b".to_owned(), 3)]);
        reservations.begin(start);
        let after = reservations.allotment("b", 100);
        let request = reservations.request().expect("nothing is reserved");
        assert_eq!(request.values().copied().collect::<Vec<_>>(), [11, 7]);
        reservations.grant(&request);
        assert_eq!(before.take(100), Taken::Number(7));
        assert_eq!(after.take(100), Taken::Number(3));
    }
}
