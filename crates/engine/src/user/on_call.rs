//! Life of a user in a run at a rate: it waits for an arrival, runs one iteration for it, and is free again.

use crate::load_model::dispatch_pool::PoolMember;
use crate::user::User;
use crate::user::pace::TaskStart;
use crate::user::task_end::TaskEnd;
use lgoose_plan::ScheduleCursor;
use std::time::Duration;
use tokio::time::Instant;

/// A user that is called for arrivals.
pub(crate) struct OnCall {
    member: PoolMember,
    user: Box<User>,
    cursor: ScheduleCursor,
}

impl OnCall {
    /// Makes a user of a pool, where it has been called already for the arrival that it was made for.
    pub(crate) fn new(user: Box<User>, member: PoolMember) -> OnCall {
        OnCall {
            member,
            user,
            cursor: ScheduleCursor::new(),
        }
    }

    /// Runs the user from its start to its end. `on_start` is part of serving the arrival that it was made for, and the
    /// delay of the start belongs to the first request of either. Returns the key, like [`User::live`].
    pub(crate) async fn live<K>(mut self, key: K) -> K {
        let born = self.user.arrives();
        let mut began = false;
        let mut call = self.member.called();
        while let Some(scheduled) = call {
            let delay = Instant::now().saturating_duration_since(scheduled);
            self.user
                .count(|recorder, scenario| recorder.arrival(scenario, delay));
            self.user.runner.exchanges.sender.delay.set(Some(delay));
            if !began && !self.user.run_on_start(true, born).await {
                return key;
            }
            began = true;
            self.iterate().await;
            let user = &mut self.user;
            // An iteration without a request passes no delay on to the next one.
            user.runner.exchanges.sender.delay.set(Some(Duration::ZERO));
            if !user.goes_on() || user.stop.is_requested_at_iteration_end() {
                break;
            }
            user.runner.vm.enter().reclaim();
            call = match user.runner.jobs() {
                None => self.member.next(&user.stop).await,
                Some(jobs) => jobs.boxed_beside(self.member.next(&user.stop)).await,
            };
        }
        self.user.end().await;
        key
    }

    /// Runs one pass through the schedule. An iteration that was due before a stop still begins, with its first task:
    /// where a run cannot keep up, the last iterations are the most delayed of all and must not be left out. There is
    /// no pause after the last task: the arrivals set the pace.
    async fn iterate(&mut self) {
        let user = &mut self.user;
        user.renew_connections();
        let mut task = TaskStart::now();
        let mut start = task.at;
        let mut first = true;
        while !user.runner.end.ends_user() && (first || !user.stop.is_requested()) {
            let is_first = std::mem::take(&mut first);
            user.shared.gate.pass(&user.stop).await;
            let Some(step) = self.cursor.next(&user.role.schedule, &mut user.random) else {
                return;
            };
            let held_up = user.runner.held_up;
            let (_, end) = user.run_task(step.task, task.at).await;
            let held_up = user.runner.held_up - held_up;
            (task, start) = (task.shifted(held_up), start + held_up);
            if user.runner.end == TaskEnd::GivenUp {
                // The run is over.
                if is_first {
                    user.count(|recorder, scenario| recorder.given_up(scenario));
                }
                return;
            }
            if step.last_of_iteration || user.runner.end == TaskEnd::Iteration {
                if !step.last_of_iteration {
                    self.cursor = ScheduleCursor::new();
                }
                user.iteration += 1;
                if !user.runner.end.is_uncounted() {
                    user.count_iteration(start, end);
                }
                return;
            }
            task = user.rest_after(step.task, task, None, end).await;
        }
    }
}
