//! Reserving at the broker: a worker announces the unique rows and shared iterations that its users may take, before they
//! do, and a manager ends that when another worker takes its place. Each announcement follows the one that its sender has
//! read last, so the broker decides which of the two came first.

use super::broker::{Broker, PublishFailure};
use super::messages;
use super::names;
use lgoose_base::allotment::{Reservations, ReservedNumbers};
use lgoose_base::error::Error;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Time between two attempts.
const RETRY_DELAY: Duration = Duration::from_millis(250);

/// Time limit for the first reservation of a worker, and for the end of its reservations.
const WITHIN: Duration = Duration::from_secs(10);

/// The announcements about one worker that a broker keeps.
pub(super) trait AnnouncementLog {
    /// Adds an announcement if `last` is still the number of the last one, 0 for none; returns its own.
    async fn add(&self, last: u64, announcement: &Announcement) -> Result<u64, PublishFailure>;

    /// Returns the last announcement and its number.
    async fn last(&self) -> Result<Option<(u64, Announcement)>, Error>;
}

/// The announcements about a worker in the stream of a run.
pub(super) struct StreamLog {
    broker: Broker,
    run: String,
    subject: String,
}

/// All reservations of a worker. Its last announcement counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Announcement {
    /// Numbered from 1.
    number: u64,
    numbers: ReservedNumbers,
    /// Whether the manager has ended it: the worker reserves nothing more.
    is_last: bool,
}

impl StreamLog {
    pub(super) fn of(broker: &Broker, run: &str, worker: &str) -> StreamLog {
        StreamLog {
            broker: broker.clone(),
            run: run.to_owned(),
            subject: names::reserved(run, worker),
        }
    }
}

impl AnnouncementLog for StreamLog {
    async fn add(&self, last: u64, announcement: &Announcement) -> Result<u64, PublishFailure> {
        let id = format!("{}:{}", self.subject, announcement.number);
        let bytes = messages::encode(announcement);
        let subject = self.subject.clone();
        self.broker.store_after(subject, &id, last, bytes).await
    }

    async fn last(&self) -> Result<Option<(u64, Announcement)>, Error> {
        let Some(last) = self.broker.find_last(&self.run, &self.subject).await? else {
            return Ok(None);
        };
        Ok(Some((last.sequence, messages::decode(&last.payload)?)))
    }
}

/// Reserves numbers for the users of a worker, until the run is over or another worker takes its place; returns
/// whether one has.
pub(super) async fn reserve(log: impl AnnouncementLog, reservations: Arc<Reservations>) -> bool {
    let (mut last, mut number) = (0, 0);
    loop {
        reservations.due().await;
        let Some(numbers) = reservations.request() else {
            continue;
        };
        number += 1;
        let announcement = Announcement {
            number,
            numbers,
            is_last: false,
        };
        last = loop {
            match log.add(last, &announcement).await {
                Ok(stored) => break stored,
                Err(PublishFailure::NoStream) => return false,
                Err(PublishFailure::Failed(error)) => {
                    tracing::debug!(target: "lgoose::gaggle", "{error}");
                }
                Err(PublishFailure::Overtaken) => match log.last().await {
                    // The reply to an earlier attempt was lost.
                    Ok(Some((stored, existing))) if existing == announcement => break stored,
                    Ok(Some((_, Announcement { is_last: true, .. }))) => return true,
                    Ok(_) => {}
                    Err(error) => tracing::debug!(target: "lgoose::gaggle", "{error}"),
                },
            }
            tokio::time::sleep(RETRY_DELAY).await;
        };
        reservations.grant(&announcement.numbers);
    }
}

/// Waits until a worker has the reservations that it needs to begin; false if the broker does not take them.
pub(super) async fn is_reserved(reservations: &Reservations) -> bool {
    let until = Instant::now() + WITHIN;
    while reservations.is_short() {
        if Instant::now() >= until {
            return false;
        }
        reservations.wait_for_more().await;
    }
    true
}

/// Ends the reservations of a lost worker, and returns them.
///
/// # Errors
/// Trouble with the broker.
pub(super) async fn end_reservations(log: impl AnnouncementLog) -> Result<ReservedNumbers, Error> {
    let until = Instant::now() + WITHIN;
    loop {
        let failed = match log.last().await {
            Err(error) => error,
            Ok(Some((_, existing))) if existing.is_last => return Ok(existing.numbers),
            Ok(existing) => {
                let (last, existing) = existing.unzip();
                let announcement = Announcement {
                    number: 0,
                    numbers: existing
                        .map(|existing| existing.numbers)
                        .unwrap_or_default(),
                    is_last: true,
                };
                match log.add(last.unwrap_or(0), &announcement).await {
                    Ok(_) => return Ok(announcement.numbers),
                    Err(PublishFailure::Overtaken) => continue,
                    Err(PublishFailure::NoStream) => return Err(Error::trouble("the run is over")),
                    Err(PublishFailure::Failed(error)) => error,
                }
            }
        };
        if Instant::now() >= until {
            return Err(failed);
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lgoose_base::allotment::{Allotment, Taken};
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};
    use std::collections::BTreeMap;
    use std::sync::Mutex;
    use tokio::task::LocalSet;

    /// A worker's announcements at a broker that is slow, and to which the way may be cut.
    #[derive(Debug, Clone)]
    struct FaultyLog {
        stored: Arc<Mutex<Vec<Announcement>>>,
        random: Arc<Mutex<StdRng>>,
        /// Time until which nothing gets through.
        cut: Arc<Mutex<Instant>>,
    }

    impl FaultyLog {
        /// Lets some time pass; false if the way is cut then.
        async fn passes(&self) -> bool {
            let ms = self.random.lock().expect("one thread").random_range(1..300);
            tokio::time::sleep(Duration::from_millis(ms)).await;
            let is_open = *self.cut.lock().expect("one thread") <= Instant::now();
            is_open && self.random.lock().expect("one thread").random_bool(0.9)
        }

        fn failure() -> PublishFailure {
            PublishFailure::Failed(Error::trouble("it takes too long"))
        }
    }

    impl AnnouncementLog for FaultyLog {
        async fn add(&self, last: u64, announcement: &Announcement) -> Result<u64, PublishFailure> {
            if !self.passes().await {
                return Err(FaultyLog::failure());
            }
            let stored = {
                let mut stored = self.stored.lock().expect("one thread");
                if stored.len() as u64 != last {
                    return Err(PublishFailure::Overtaken);
                }
                stored.push(announcement.clone());
                last + 1
            };
            // The response may be lost.
            if self.passes().await {
                Ok(stored)
            } else {
                Err(FaultyLog::failure())
            }
        }

        async fn last(&self) -> Result<Option<(u64, Announcement)>, Error> {
            if !self.passes().await {
                return Err(Error::trouble("it takes too long"));
            }
            let stored = self.stored.lock().expect("one thread");
            Ok(stored
                .last()
                .map(|last| (stored.len() as u64, last.clone())))
        }
    }

    /// Takes numbers at random times until it is stopped, or none is left.
    async fn take(
        allotment: Arc<Allotment>,
        end: u64,
        seed: u64,
        until: Instant,
        taken: Arc<Mutex<BTreeMap<u64, usize>>>,
    ) {
        let mut random = StdRng::seed_from_u64(seed);
        let pace = random.random_range(2..200);
        while Instant::now() < until {
            match allotment.take(end) {
                Taken::Number(number) => {
                    *taken.lock().expect("one thread").entry(number).or_default() += 1;
                    let ms = random.random_range(0..pace);
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                }
                Taken::Nothing => return,
                Taken::Later => allotment.wait_for_more().await,
            }
        }
    }

    /// Plays a place of a run: its workers are lost and replaced at random times. One that is lost may be dead, or go on
    /// behind a way that is cut, and come back. Returns how many numbers were taken, and how many there were.
    async fn play(seed: u64) -> (usize, u64) {
        let mut random = StdRng::seed_from_u64(seed);
        let end = random.random_range(50..2_000);
        let over = Instant::now() + Duration::from_secs(random.random_range(5..60));
        let taken: Arc<Mutex<BTreeMap<u64, usize>>> = Arc::default();
        let mut reserved = ReservedNumbers::new();
        while Instant::now() < over {
            let now = Instant::now();
            let log = FaultyLog {
                stored: Arc::default(),
                random: Arc::new(Mutex::new(StdRng::seed_from_u64(random.random()))),
                cut: Arc::new(Mutex::new(now)),
            };
            let reservations = Reservations::new(random.random_range(1..40));
            // Rows that are opened while the plan is loaded are reserved before the place is known.
            let early = reservations.allotment("rows", end);
            let reserving = tokio::task::spawn_local(reserve(log.clone(), reservations.clone()));
            let _may_take_long = is_reserved(&reservations).await;
            reservations.begin(reserved.clone());
            let allotment = reservations.allotment("rows", end);
            assert!(Arc::ptr_eq(&early, &allotment));
            let lost_at = now + Duration::from_millis(random.random_range(100..20_000));
            let is_dead = random.random_bool(0.5);
            let until = if is_dead { lost_at.min(over) } else { over };
            for _ in 0..random.random_range(1..20) {
                let (allotment, seed) = (allotment.clone(), random.random());
                let users = take(allotment, end, seed, until, taken.clone());
                tokio::task::spawn_local(users);
            }
            tokio::time::sleep_until(lost_at).await;
            let away = Duration::from_millis(random.random_range(0..15_000));
            let manager = FaultyLog {
                cut: Arc::new(Mutex::new(now)),
                ..log.clone()
            };
            *log.cut.lock().expect("one thread") = lost_at + away;
            if is_dead {
                reserving.abort();
            }
            // It is noticed later, and the plan has to be sent.
            tokio::time::sleep(Duration::from_millis(random.random_range(0..8_000))).await;
            if let Ok(own) = end_reservations(manager).await {
                for (name, number) in own {
                    let first = reserved.entry(name).or_default();
                    *first = number.max(*first);
                }
            } else {
                // Nobody takes the place.
                break;
            }
        }
        tokio::time::sleep_until(over + Duration::from_secs(60)).await;
        let taken = taken.lock().expect("one thread");
        let twice = taken.iter().find(|(_, times)| **times > 1);
        assert_eq!(twice, None, "seed {seed}");
        assert!(taken.keys().all(|number| *number < end), "seed {seed}");
        (taken.len(), end)
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_taken_twice_whoever_is_lost_and_comes_back_when() {
        let (mut taken, mut all) = (0, 0);
        for seed in 0..100 {
            let (own, end) = LocalSet::new().run_until(play(seed)).await;
            taken += own as u64;
            all += end;
        }
        // Not because nobody takes anything.
        assert!(taken * 2 > all, "{taken} of {all}");
    }
}
