//! When a user's task or iteration was due and when it began: pacing and throughput go by the first, so that
//! late timers do not add up, and what is measured goes by the second.

use crate::engine::user::User;
use crate::plan::{Rest, Wait, Work};
use std::time::Duration;
use tokio::time::Instant;

/// The beginning of a task or an iteration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun {
    due: Instant,
    pub(crate) at: Instant,
}

impl Begun {
    /// Makes a beginning that is now and on time.
    pub(crate) fn now() -> Begun {
        let at = Instant::now();
        Begun { due: at, at }
    }

    /// Makes a beginning at `at`, after work that ended at `end` and the rest that followed.
    fn after(end: Instant, rest: Rest, at: Instant) -> Begun {
        let due = end.checked_add(rest.pause).unwrap_or(at);
        Begun {
            due: due.checked_sub(rest.late).unwrap_or(due),
            at,
        }
    }

    /// Shifts the beginning by a pause of the whole run, which is no part of the work.
    pub(crate) fn shifted(self, pause: Duration) -> Begun {
        Begun {
            due: self.due + pause,
            at: self.at + pause,
        }
    }

    /// Returns the work that ended at `end`.
    fn work(self, end: Instant) -> Work {
        Work {
            late: self.at.saturating_duration_since(self.due),
            took: end.saturating_duration_since(self.at),
        }
    }
}

impl User {
    /// Rests as the task's wait says, unless no other task is to follow, and returns the beginning of the next.
    /// `iteration` is the beginning of the iteration that the task has ended, if it has ended one.
    pub(crate) async fn rest_after(
        &mut self,
        index: usize,
        task: Begun,
        iteration: Option<Begun>,
        end: Instant,
    ) -> Begun {
        let scenario = &self.role.scenario;
        let wait = scenario.wait_of(&scenario.tasks[index]);
        if matches!(wait, Wait::None) {
            return Begun { due: end, at: end };
        }
        let iteration = iteration.map(|iteration| iteration.work(end));
        let mut rest = wait.after_task(&mut self.random, task.work(end), iteration);
        rest.pause = self.shared.pause(rest.pause);
        if rest.pause.is_zero() || !self.goes_on() {
            return Begun::after(end, rest, end);
        }
        self.vm.reclaim();
        self.stop.wait(rest.pause, &self.shared.timers).await;
        let next = Begun::after(end, rest, Instant::now());
        self.paused(next.at - end);
        next
    }
}
