//! Life of a user in a run at a rate: it waits for an arrival, runs one iteration for it, and is free again.

use crate::engine::load_model::dispatch_pool::PoolMember;
use crate::engine::user::User;
use crate::engine::user::pace::Begun;
use crate::plan::Cursor;
use std::time::Duration;
use tokio::time::Instant;

impl User {
    /// Runs the user as a member of the pool, where it has been called already for the arrival that it was made for.
    /// `on_start` is part of serving that arrival, and the delay of the start belongs to the first request of either.
    /// Returns the key, like [`User::live`].
    pub(crate) async fn live_on_call<K>(mut self: Box<Self>, member: PoolMember, key: K) -> K {
        let born = self.arrives();
        let mut cursor = Cursor::new();
        let mut began = false;
        let mut call = member.called();
        while let Some(scheduled) = call {
            let delay = Instant::now().saturating_duration_since(scheduled);
            self.shared.recorder.borrow_mut().arrival(delay);
            self.delay = Some(delay);
            if !began && !self.begin(true, born).await {
                self.tell_lost();
                self.leaves(Instant::now());
                return key;
            }
            if !began {
                self.note_begun();
            }
            began = true;
            self.iterate_once(&mut cursor).await;
            // An iteration without a request passes no delay on to the next one.
            self.delay = Some(Duration::ZERO);
            if !self.goes_on() || self.stop.is_told_at_iteration_end() {
                break;
            }
            self.vm.reclaim();
            call = member.next(&self.stop).await;
        }
        self.end().await;
        key
    }

    /// Runs one pass through the schedule. An iteration that was due before a stop still begins, with its first task:
    /// where a run cannot keep up, the last iterations are the most delayed of all and must not be left out. There is
    /// no pause after the last task: the arrivals set the pace.
    async fn iterate_once(&mut self, cursor: &mut Cursor) {
        self.renew_connections();
        let mut task = Begun::now();
        let begin = task.at;
        let mut first = true;
        while !self.ended && (first || !self.stop.is_told()) {
            first = false;
            self.shared.gate.pass(&self.stop).await;
            let Some(step) = cursor.next(&self.role.schedule, &mut self.random) else {
                return;
            };
            let (_, end) = self.run_task(step.task, task.at).await;
            if step.last_of_iteration || self.leaves_iteration {
                if !step.last_of_iteration {
                    *cursor = Cursor::new();
                }
                self.iteration += 1;
                return self.count_iteration(begin, end);
            }
            task = self.rest_after(step.task, task, None, end).await;
        }
    }
}
