//! Why and when a run ended. The engine fills in the facts; the text is made here, so that all outputs use the same
//! words.

use crate::delta::plausible;
use lgoose_base::units::{counted, show_count, show_long, show_percent};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The fraction of the load that may be missing without a word in the verdict.
pub const MOST_MISSING: f64 = 0.01;

/// Causes of a run's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The run time was up, or the last stage was over.
    TimeUp,
    /// All users had completed their iterations.
    IterationsDone,
    /// A person stopped the run, with a key in a view or through the program that embeds lgoose.
    StoppedByUser,
    /// Ctrl-C, SIGTERM or a closed terminal stopped the run.
    Signal,
    /// A threshold with `abort` was broken.
    Threshold,
    /// The plan ended all its users, for example with `user:stop()`.
    Plan,
    /// The plan stopped the run with `run.stop`.
    StoppedByPlan,
    /// All users ended in `on_start`, through errors or `user:stop()`.
    UsersLost,
    /// `test_start` raised an error or took too long; no user was started.
    NotStarted,
    /// A second Ctrl-C or a command aborted the run; requests were cut off.
    Aborted,
    /// Trouble inside lgoose ended the run.
    Trouble,
    /// This process only watched a run of another manager and stopped watching; the run went on.
    Left,
    /// Every worker was lost or ended before users were told to stop.
    WorkersLost,
}

/// Why and when a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct Ending {
    /// What ended the run.
    pub cause: Cause,
    /// When the run ended, in seconds since users began to start, without pauses.
    pub at_s: f64,
    /// When the run was planned to end, on the same clock; `null` if no time was planned.
    pub planned_s: Option<f64>,
    /// Whether the run ended before its planned time or number of iterations, or was broken off.
    pub cut_short: bool,
    /// Whether the run ended before its figures began to count (`--warmup`, `--reset-stats`); nothing was judged then.
    #[serde(default)]
    pub in_warmup: bool,
    /// Whether the run was stopped or aborted while `test_start` was running; no user was started then.
    #[serde(default)]
    pub in_test_start: bool,
    /// Whether tasks that were still running after `--stop-timeout` were cut off, as far as workers have said so.
    #[serde(default)]
    pub cut_off: bool,
    /// Whether every user ended in `on_start`, through an error or `user:stop()`, whatever ended the run.
    #[serde(default)]
    pub all_lost: bool,
    /// The most users that were due at the same time, leaving out the last half second; 0 in a run at a rate, or if
    /// figures were lost.
    #[serde(default, deserialize_with = "plausible::count")]
    pub users_due: u64,
    /// Number of different users that were started; fewer than `users_due` if lgoose was too slow. 0 in a run at a
    /// rate.
    #[serde(default, deserialize_with = "plausible::count")]
    pub users_started: u64,
    /// The fraction of the load that is in no figure, from 0 to 1: that of lost workers, until others took their places. A worker
    /// that was not heard may have sent its part. `null` in a run without workers.
    #[serde(default)]
    pub missing_load: Option<f64>,
    /// Number of iterations that were done, if lost workers left some undone; else 0.
    #[serde(default, deserialize_with = "plausible::large")]
    pub iterations_done: u64,
    /// Number of iterations that all users were to do together, if lost workers left some undone; else 0.
    #[serde(default, deserialize_with = "plausible::large")]
    pub iterations_due: u64,
    /// The threshold that stopped the run; `null` if none did.
    #[serde(default)]
    pub threshold: Option<String>,
    /// The reason that the plan gave to `run.stop`; `null` if it did not stop the run.
    #[serde(default)]
    pub reason: Option<String>,
    /// The reasons that the plan gave to `run.fail`, each once.
    #[serde(default)]
    pub failed: Vec<String>,
    /// The error that `test_start` or `test_stop` raised, or that it took too long; `null` if neither happened.
    #[serde(default)]
    pub raised: Option<String>,
    /// The ending in words: `stopped by a signal at 2 s of 60 s`.
    pub text: String,
}

impl Ending {
    /// Creates an ending at `at`, planned for `planned`, whose other facts are not known yet; `told`
    /// adds its text.
    pub fn new(cause: Cause, at: Duration, planned: Option<Duration>) -> Ending {
        let broken_off = matches!(
            cause,
            Cause::NotStarted | Cause::Aborted | Cause::Trouble | Cause::WorkersLost
        );
        let complete = matches!(cause, Cause::TimeUp | Cause::IterationsDone);
        Ending {
            cause,
            at_s: at.as_secs_f64(),
            planned_s: planned.map(|planned| planned.as_secs_f64()),
            cut_short: broken_off || (planned.is_some() && !complete),
            in_warmup: false,
            in_test_start: false,
            cut_off: false,
            all_lost: cause == Cause::UsersLost,
            users_due: 0,
            users_started: 0,
            missing_load: None,
            iterations_done: 0,
            iterations_due: 0,
            threshold: None,
            reason: None,
            failed: Vec::new(),
            raised: None,
            text: String::new(),
        }
    }

    /// Adds the text, which tells the other facts.
    #[must_use]
    pub fn with_text(mut self) -> Ending {
        let after = seconds(self.at_s);
        let at = if self.in_test_start {
            "in 'test_start', before any user was started".to_owned()
        } else {
            self.at()
        };
        let mut text = match self.cause {
            Cause::TimeUp => format!("time up after {after}"),
            Cause::IterationsDone => match self.undone() {
                Some(undone) => format!("ended after {after} with {undone}"),
                None => format!("all iterations done after {after}"),
            },
            Cause::StoppedByUser => format!("stopped by the user {at}"),
            Cause::Signal => format!("stopped by a signal {at}"),
            Cause::Threshold => {
                let which = self.threshold.as_deref().unwrap_or_default();
                format!("stopped by the threshold '{which}' {at}")
            }
            Cause::Plan => format!("ended by the plan {at}: it left no user"),
            Cause::StoppedByPlan => {
                let why = self.reason.as_deref().unwrap_or_default();
                format!("stopped by the plan {at}: {why}")
            }
            Cause::UsersLost => format!("ended {at}: every user ended in 'on_start'"),
            Cause::NotStarted => {
                let raised = self.raised.as_deref().unwrap_or("test_start raised");
                format!("not started: {raised}")
            }
            Cause::Aborted => format!("aborted {at}"),
            Cause::Trouble => format!("ended by a failure of lgoose {at}"),
            Cause::WorkersLost => self.without_workers(),
            Cause::Left => format!("watched until it was left {at}; the run went on"),
        };
        if self.in_warmup {
            text += ", before the figures began to count";
        }
        if self.cut_off {
            text += "; tasks that did not end in time were cut off";
        }
        self.text = text;
        self
    }

    /// Describes the end of a run that no worker was left for: `no worker was heard from after 2 s of 60 s`.
    pub fn without_workers(&self) -> String {
        format!("no worker was heard from after {}", self.time())
    }

    /// Describes a run that was cut short, for use next to a verdict: `stopped at 2 s of 60 s`.
    pub fn short(&self) -> String {
        let at = self.at();
        let mut text = match self.cause {
            Cause::TimeUp => format!("time up after {}", seconds(self.at_s)),
            Cause::IterationsDone if let Some(undone) = self.undone() => return undone,
            Cause::Plan => format!("ended by the plan {at}"),
            Cause::WorkersLost => self.without_workers(),
            _ => format!("stopped {at}"),
        };
        if self.cut_short && self.planned_s.is_none() {
            text += ", before all iterations were done";
        }
        text
    }

    /// Returns whether more of the load was missing than a verdict passes over.
    pub fn misses_load(&self) -> bool {
        self.missing_load.is_some_and(|part| part > MOST_MISSING)
    }

    /// Returns what part of the load was missing, as a percentage; `None` if that is not known.
    pub fn missing(&self) -> Option<String> {
        self.missing_load.map(|part| show_percent(100.0 * part))
    }

    /// Notes that of so many iterations only these were done, since workers were lost.
    pub fn leave_undone(&mut self, done: u64, due: u64) {
        (self.iterations_done, self.iterations_due) = (done, due);
        self.cut_short |= done < due;
    }

    /// Returns `778 of 1,200 iterations done (lost workers had the others)`, if that is so.
    fn undone(&self) -> Option<String> {
        let (done, due) = (self.iterations_done, self.iterations_due);
        (done < due).then(|| {
            let (done, due) = (show_count(done), counted(due, "iteration"));
            format!("{done} of {due} done (lost workers had the others)")
        })
    }

    /// Returns how many users were started and how many were due, if fewer were started than due.
    pub fn fewer_users(&self) -> Option<(u64, u64)> {
        (self.users_started < self.users_due).then_some((self.users_started, self.users_due))
    }

    /// Describes the time of the end: `at 2 s of 60 s`.
    fn at(&self) -> String {
        format!("at {}", self.time())
    }

    /// Returns the time of the end: `2 s of 60 s`.
    fn time(&self) -> String {
        let at = seconds(self.at_s);
        match self.planned_s.filter(|planned| self.at_s < *planned) {
            Some(planned) => format!("{at} of {}", seconds(planned)),
            None => at,
        }
    }
}

/// Formats whole seconds, with tenths below ten; always rounds down, so that a run that was cut short never looks
/// complete.
fn seconds(s: f64) -> String {
    match s {
        s if s < 10.0 => format!("{} s", (s * 10.0 + 1e-6).floor() / 10.0),
        s if s < 600.0 => format!("{} s", s.floor()),
        s => show_long(Duration::try_from_secs_f64(s.floor()).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_never_rounded_up() {
        for (s, text) in [
            (0.0, "0 s"),
            (0.06, "0 s"),
            (0.3, "0.3 s"),
            (2.0, "2 s"),
            (2.19, "2.1 s"),
            (9.99, "9.9 s"),
            (59.97, "59 s"),
            (60.0, "60 s"),
            (599.9, "599 s"),
            (3_723.9, "1h2m3s"),
        ] {
            assert_eq!(seconds(s), text);
        }
    }

    #[test]
    fn only_what_ends_before_its_plan_is_cut_short() {
        let (at, minute) = (Duration::from_secs(2), Some(Duration::from_secs(60)));
        for (cause, planned, cut_short) in [
            (Cause::TimeUp, minute, false),
            (Cause::IterationsDone, minute, false),
            (Cause::Signal, minute, true),
            (Cause::Signal, None, false),
            (Cause::Plan, minute, true),
            (Cause::Threshold, None, false),
            (Cause::Aborted, None, true),
            (Cause::Trouble, None, true),
            (Cause::NotStarted, None, true),
            (Cause::WorkersLost, minute, true),
            (Cause::WorkersLost, None, true),
        ] {
            let ending = Ending::new(cause, at, planned);
            assert_eq!(ending.cut_short, cut_short, "{cause:?}");
        }
    }
}
