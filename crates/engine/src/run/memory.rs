//! Watches that the process takes no more memory than it may (`--memory`): a run that does ends with its report,
//! before the kernel kills the process without one.

use lgoose_base::error::{Error, Trouble};
use lgoose_base::machine;
use lgoose_base::units::show_size;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Bytes that the users of one core can fill in a second.
const PER_SECOND: f64 = (2_u64 << 30) as f64;

/// Least and greatest time between two looks. In between, it is as long as all cores need to fill the memory that is
/// left. The greatest is a little longer than a tick, with which a run looks anyway.
const PAUSE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(300));

/// Watches the memory that the process takes.
#[derive(Debug)]
pub struct MemoryWatch {
    /// Bytes that the process may take; `None` if that is not known, or once it took more.
    ceiling: Option<u64>,
    due: Instant,
    /// Set as soon as the process took more: between two orders to a shard, its users could take as much again.
    halted: Arc<AtomicBool>,
    /// Name of the activity that ends when the process takes more.
    watched: &'static str,
}

impl MemoryWatch {
    /// Makes a watch over a run with that ceiling or, without one, with that of the machine; it sets `halted`.
    pub(crate) fn new(configured: Option<u64>, halted: Arc<AtomicBool>) -> MemoryWatch {
        MemoryWatch {
            ceiling: configured.or_else(machine::usual_memory),
            due: Instant::now(),
            halted,
            watched: "the run",
        }
    }

    /// Makes the same over an activity that is no run: `watched` is its name in the message.
    pub fn of(watched: &'static str, configured: Option<u64>) -> MemoryWatch {
        MemoryWatch {
            watched,
            ..MemoryWatch::new(configured, Arc::default())
        }
    }

    /// Returns when to look again.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Returns the trouble, once, when the process takes more than it may.
    pub fn look(&mut self) -> Option<Error> {
        self.due = Instant::now() + PAUSE.1;
        let ceiling = self.ceiling?;
        let taken = machine::taken_memory()?;
        if taken <= ceiling {
            self.due = Instant::now() + pause(ceiling - taken);
            return None;
        }
        self.halted.store(true, Ordering::Relaxed);
        self.ceiling = None;
        let message = format!(
            "lgoose took {} of memory and may take {} ('--memory'): {} ended here",
            show_size(taken as f64),
            show_size(ceiling as f64),
            self.watched
        );
        let help = "keep less in 'user.data' and in variables of the plan, read bodies with 'discard = true' where \
                    the plan does not use them, run fewer users, or raise '--memory' if the machine has more";
        Some(Trouble::new(message).help(help).into())
    }
}

/// Returns the time until the next look while so many bytes may still be taken.
fn pause(remaining: u64) -> Duration {
    let seconds = remaining as f64 / (PER_SECOND * machine::cores() as f64);
    let (least, greatest) = PAUSE;
    Duration::from_secs_f64(seconds.min(1.0)).clamp(least, greatest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_above_the_ceiling_is_reported_once_and_what_is_below_is_not() {
        let halted = Arc::<AtomicBool>::default();
        let is_halted = || halted.load(Ordering::Relaxed);
        let watch = |ceiling| MemoryWatch::new(ceiling, halted.clone());
        assert!(watch(Some(1 << 50)).look().is_none());
        assert!(watch(None).look().is_none() && !is_halted());
        let mut watch = watch(Some(1 << 20));
        let message = watch.look().map(|trouble| trouble.to_string());
        let message = message.expect("a test takes more than a mebibyte");
        assert!(
            message.contains("may take 1.00 MiB ('--memory')"),
            "{message}"
        );
        assert!(watch.look().is_none() && is_halted());
    }

    #[test]
    fn the_less_remains_the_sooner_is_the_next_look() {
        assert_eq!(pause(0), Duration::from_millis(1));
        assert_eq!(pause(1 << 60), Duration::from_millis(300));
        let in_between = machine::cores() as u64 * (20 << 20);
        assert!(pause(in_between) < pause(2 * in_between));
        let mut watch = MemoryWatch::new(Some(1 << 50), Arc::default());
        let start = Instant::now();
        assert!(watch.look().is_none());
        assert!(watch.due() > start);
    }
}
