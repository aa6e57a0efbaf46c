//! Life of a run from its first user to its end: its phase, the first stop, and failures on the way. Driven by the
//! director; knows no shards.

use lgoose_base::error::Error;
use lgoose_metrics::Cause;
use std::time::Duration;

/// Phases of a run's life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Life {
    /// Users are at work as the timetable says.
    #[default]
    Going,
    /// Users are stopping; tasks that still run at that time since the run began are cut off.
    Stopping { until: Duration },
    /// Everything was cut off. Shards that have not ended by that time are given up; `None` waits until they have.
    Aborting { until: Option<Duration> },
}

/// The first stop of a run, or its abort: its cause and its time.
#[derive(Debug)]
pub(crate) struct RunStop {
    pub(crate) cause: Cause,
    pub(crate) at: Duration,
    /// The threshold that was broken, or the plan's reason.
    pub(crate) why: Option<String>,
    /// Whether the figures had not begun to count.
    pub(crate) in_warmup: bool,
}

/// Life of a run so far.
#[derive(Debug, Default)]
pub(crate) struct Lifecycle {
    life: Life,
    stopped: Option<RunStop>,
    /// Whether tasks that still ran after `--stop-timeout` were to be cut off.
    out_of_time: bool,
    /// Whether a shard is caught and will never respond.
    caught: bool,
    trouble: Option<Error>,
    /// Reasons for which the plan fails the run.
    failed: Vec<String>,
}

impl Lifecycle {
    pub(crate) fn life(&self) -> Life {
        self.life
    }

    pub(crate) fn enter(&mut self, life: Life) {
        self.life = life;
    }

    pub(crate) fn is_going(&self) -> bool {
        self.life == Life::Going
    }

    pub(crate) fn is_aborting(&self) -> bool {
        matches!(self.life, Life::Aborting { .. })
    }

    /// Returns when users that have not ended are to be cut off or given up, since the run began.
    pub(crate) fn until(&self) -> Option<Duration> {
        match self.life {
            Life::Going => None,
            Life::Stopping { until } => Some(until),
            Life::Aborting { until } => until,
        }
    }

    /// Gives users that are stopping more time.
    pub(crate) fn extend(&mut self, more: Duration) {
        if let Life::Stopping { until } = &mut self.life {
            *until += more;
        }
    }

    /// Records a stop. The first one decides whether the run was stopped in its warm-up.
    pub(crate) fn note_stop(&mut self, mut stopped: RunStop) {
        if let Some(before) = &self.stopped {
            stopped.in_warmup = before.in_warmup;
        }
        self.stopped = Some(stopped);
    }

    pub(crate) fn stopped(&self) -> Option<&RunStop> {
        self.stopped.as_ref()
    }

    /// Records that tasks that still run after `--stop-timeout` are to be cut off.
    pub(crate) fn note_out_of_time(&mut self) {
        self.out_of_time = true;
    }

    pub(crate) fn is_out_of_time(&self) -> bool {
        self.out_of_time
    }

    /// Records that a shard computes and will never respond.
    pub(crate) fn note_caught(&mut self) {
        self.caught = true;
    }

    pub(crate) fn is_caught(&self) -> bool {
        self.caught
    }

    /// Records a reason for which the plan fails the run: each once, and no more than a reader can take in.
    pub(crate) fn note_failed(&mut self, why: String) {
        const MAX_FAILURES: usize = 20;
        if self.failed.len() < MAX_FAILURES && !self.failed.contains(&why) {
            self.failed.push(why);
        }
    }

    pub(crate) fn failed(&self) -> &[String] {
        &self.failed
    }

    /// Records trouble inside lgoose; the first counts.
    pub(crate) fn note_trouble(&mut self, trouble: Error) {
        self.trouble.get_or_insert(trouble);
    }

    pub(crate) fn trouble(&self) -> Option<&Error> {
        self.trouble.as_ref()
    }

    pub(crate) fn into_trouble(self) -> Option<Error> {
        self.trouble
    }
}
