//! Watches the machine of a process that drives users: whether it was suspended, and how much processor time a limit withheld.
//! Called at every tick.

use lgoose_base::machine;
use lgoose_metrics::{CpuLimitFile, CpuLimitRow};
use std::time::Duration;

/// Least time to notice: two clocks are never read at the same moment.
const LEAST: Duration = Duration::from_millis(100);

/// Suspensions of the machine and the limit on processor time so far.
#[derive(Debug)]
pub(crate) struct MachineWatch {
    cpu_limit: Option<machine::CpuLimit>,
    /// Returns for how long the machine has been suspended since it was started.
    suspended: fn() -> Duration,
    /// That time when the watch began.
    first: Duration,
    /// That time as of the latest look.
    seen: Duration,
}

impl MachineWatch {
    pub(crate) fn new() -> MachineWatch {
        MachineWatch::with(machine::suspended)
    }

    fn with(suspended: fn() -> Duration) -> MachineWatch {
        let first = suspended();
        MachineWatch {
            cpu_limit: machine::cpu_limit(),
            suspended,
            first,
            seen: first,
        }
    }

    /// Returns for how long the machine has been suspended since the last call; `None` if it was not. The clock of the run stands
    /// still meanwhile.
    pub(crate) fn suspended(&mut self) -> Option<Duration> {
        let suspended = (self.suspended)();
        let before = std::mem::replace(&mut self.seen, suspended);
        let more = suspended.saturating_sub(before);
        (more >= LEAST).then_some(more)
    }

    /// Returns for how long the machine has been suspended since the watch began.
    pub(crate) fn suspended_in_all(&self) -> Duration {
        (self.suspended)().saturating_sub(self.first)
    }

    /// Returns the limit on processor time, and the time withheld for it so far; `None` without one.
    pub(crate) fn cpu_limit(&self) -> Option<CpuLimitRow> {
        let limit = self.cpu_limit.as_ref()?;
        let held_back = limit.held_back()?;
        Some(CpuLimitRow {
            cores: limit.cores,
            file: match limit.version() {
                machine::GroupVersion::V1 => CpuLimitFile::CfsQuota,
                machine::GroupVersion::V2 => CpuLimitFile::CpuMax,
            },
            times: held_back.times,
            held_back_s: held_back.time.as_secs_f64(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static SUSPENDED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    #[test]
    fn a_suspended_machine_is_noticed_once_and_clocks_that_differ_a_little_are_not() {
        let ms = Duration::from_millis;
        SUSPENDED.set(ms(86_400_000));
        let mut watch = MachineWatch::with(|| SUSPENDED.get());
        for (more, noticed) in [
            (0, None),
            (1, None),
            (30_000, Some(30_000)),
            (0, None),
            (99, None),
            (99, None),
            (100, Some(100)),
            (3_600_000, Some(3_600_000)),
        ] {
            SUSPENDED.set(SUSPENDED.get() + ms(more));
            assert_eq!(watch.suspended(), noticed.map(ms), "{more} ms more");
        }
    }

    #[test]
    fn this_machine_has_not_just_been_suspended() {
        assert_eq!(MachineWatch::new().suspended(), None);
    }
}
