//! Performs the operations of a plan's code: requests, fetches and waits.

mod fetch;

use crate::config::RequestNames;
use crate::engine::user::User;
use crate::engine::user::in_flight::InFlight;
use crate::engine::user::naming::row_name;
use crate::engine::user::show::show;
use crate::engine::user::waiting::Waited;
use crate::http::{CacheUse, Exchange};
use crate::lua::{Finished, Op, RequestOp, Step};
use crate::metrics::RequestId;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// Wait of a user after its first failed connection, and its longest; each further failure doubles it. A site that is
/// down must not turn the generator into a busy loop.
const FIRST_BACK_OFF: Duration = Duration::from_millis(10);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(1);

impl User {
    /// Carries out one operation and resumes the plan with its outcome.
    pub(crate) async fn perform(&mut self, op: Op, task: &str) -> Step {
        match op {
            Op::Request(op) => {
                self.settle();
                self.back_off().await;
                self.open_rows(std::slice::from_ref(&*op), task);
                if let Some(exchange) = self.session.from_cache(&op.request) {
                    // The delay belongs to the next request that is sent.
                    self.delay = self.open.delay.take();
                    let finished =
                        Box::new(self.judged(&op, op.expect.verdict(&exchange), task, exchange));
                    self.open.keep(op);
                    self.rest = Some(Duration::ZERO);
                    return self.vm.answer(finished);
                }
                self.shared.pass_throttles(&self.role.limits).await;
                self.shared.gather().await;
                let begin = Instant::now();
                let trace = self.session.begin_trace(&op.request);
                let flight = InFlight::new(self, &op, 0, begin, trace.as_deref());
                let mut exchange = self.session.send(&op.request, begin, trace).await;
                let lost = flight.end(&mut exchange);
                self.paused(lost);
                self.note_refusals(std::iter::once(&exchange));
                self.make_room();
                let finished =
                    Box::new(self.judged(&op, op.expect.verdict(&exchange), task, exchange));
                self.open.keep(op);
                self.vm.answer(finished)
            }
            Op::Fetch(ops) => {
                self.settle();
                self.back_off().await;
                self.open_rows(&ops, task);
                let lost = self.shared.lost();
                let (finished, full) = self.fetch(&ops, task).await;
                self.paused(self.shared.lost() - lost);
                self.note_refusals(finished.iter().map(|finished| &finished.exchange));
                let is_fresh = |finished: &Finished| finished.exchange.cache() == CacheUse::Fresh;
                if finished.iter().all(is_fresh) {
                    self.rest = Some(Duration::ZERO);
                }
                self.open.keep_all(ops);
                self.make_room();
                self.vm.answer_list(finished, full)
            }
            Op::Wait(time) => {
                self.enter_open();
                self.reclaim();
                let begin = self.cycles.is_some().then(Instant::now);
                let time = self.shared.pause(time);
                let allowed = self.shared.config.stop_timeout;
                let timers = &self.shared.timers;
                let waited = self.stop.wait_in_task(time, allowed, timers).await;
                if let Some(begin) = begin {
                    self.paused(begin.elapsed());
                }
                if waited {
                    self.vm.go_on()
                } else {
                    // Ends the task without an error, which 'pcall' in the plan could catch.
                    Step::Done
                }
            }
            Op::Take(queue, wait) => match self.wait_beside(queue.take(), Some(wait)).await {
                Waited::Over(value) => self.vm.answer_value(Some(value)),
                Waited::TimeUp => self.vm.answer_value(None),
                Waited::Stopped => Step::Done,
            },
            Op::Await(making) => match self.wait_beside(making.over(), None).await {
                Waited::Over(()) | Waited::TimeUp => self.vm.go_on(),
                Waited::Stopped => Step::Done,
            },
            Op::Ready => {
                let (shared, stop) = (self.shared.clone(), self.stop.clone());
                let told = stop.is_told();
                self.wait_beside(shared.all_started.pass(&stop), None).await;
                // Where all run already, nothing was waited for.
                tokio::task::yield_now().await;
                // A stop ends this wait, and the task with it. Where the plan asks after the stop, it goes on: no
                // more users will start.
                if !told && stop.is_told() && shared.all_started.is_closed() {
                    Step::Done
                } else {
                    self.vm.go_on()
                }
            }
            Op::ExitIteration => {
                self.leaves_iteration = true;
                Step::Done
            }
            Op::Stop => {
                self.ended = true;
                Step::Done
            }
        }
    }

    /// Opens the rows of requests that begin. The delay of a late start belongs to the first request after it, or to
    /// all that are sent side by side first. Later requests begin when the plan gets there: what delayed it is in the
    /// figures already.
    fn open_rows(&mut self, ops: &[RequestOp], task: &str) {
        let mut before: Option<(&RequestOp, RequestId)> = None;
        for op in ops {
            let row = match before {
                // All requests of a fetch have the name that it was given.
                Some((before, row)) if shares_name(before, op) => row,
                _ => self.row_of(op, task),
            };
            self.open.rows.push(row);
            before = Some((op, row));
        }
        self.open.delay = self.delay.as_mut().map(std::mem::take);
        self.open.base = Some(self.session.base_target());
    }

    /// Returns a request with lgoose's verdict on it, which is why it failed, and shows it if that is asked for.
    fn judged(
        &self,
        op: &RequestOp,
        verdict: Option<String>,
        task: &str,
        mut exchange: Exchange,
    ) -> Finished {
        let counter = match exchange.cache() {
            CacheUse::Nothing => None,
            CacheUse::Fresh => Some("cache: not asked for"),
            CacheUse::NotModified => Some("cache: not modified"),
        };
        if let Some(counter) = counter {
            self.shared.recorder.borrow_mut().counter(counter, 1.0);
        }
        if let Ok(response) = &mut exchange.outcome {
            // Decoded, a list of small responses may take more memory than a user may have.
            response.forget_decoded();
        }
        let forgiven = op.allow_failure && exchange.outcome.is_ok();
        let failure = verdict.filter(|_| !forgiven);
        let finished = Finished::new(exchange, failure);
        show(self.shared.show, op, task, &finished);
        finished
    }

    /// Returns the row in which a request is counted: under its own name, else the task's or its path without the
    /// query. Its tags are the task's and its own.
    fn row_of(&self, op: &RequestOp, task: &str) -> RequestId {
        let names = self.shared.config.request_names;
        let name = row_name(op, task, names);
        let method = op.request.method.as_str();
        let recorder = &mut *self.shared.recorder.borrow_mut();
        let tags = match (&op.tags, self.task) {
            (None, task) => task.and_then(|task| self.role.tags.get(task)).copied(),
            (Some(own), task) => {
                let all = self.role.scenario.tags_of_request(task, Some(own));
                Some(recorder.tags(&all))
            }
        };
        let row = recorder.tagged_request(method, &name, tags.unwrap_or_default());
        if op.name.is_none() && names == RequestNames::Task && !task.is_empty() {
            let mixed = self.shared.paths.borrow_mut().differs(row, &op.request.url);
            if let Some([one, other]) = mixed {
                recorder.warn(format!(
                    "the row '{method} {name}' counts requests of several paths, such as {one} and {other}: name them, \
                     as in user:get(path, {{ name = \"cart\" }}), or set plan {{ request_names = \"path\" }}"
                ));
            }
        }
        row
    }

    /// Decides how long the user waits before its next request.
    fn note_refusals<'a>(&mut self, exchanges: impl Iterator<Item = &'a Exchange> + Clone) {
        if exchanges.clone().any(|exchange| exchange.outcome.is_ok()) {
            self.refusals = 0;
            self.rest = None;
            return;
        }
        let refused = |exchange: &Exchange| {
            exchange
                .outcome
                .as_ref()
                .is_err_and(|failure| failure.is_connect())
        };
        self.rest = Some(Duration::ZERO);
        if exchanges.into_iter().any(refused) {
            let pause = FIRST_BACK_OFF * 2u32.pow(self.refusals.min(7));
            self.refusals += 1;
            self.rest = Some(pause.min(LONGEST_BACK_OFF));
        }
    }

    /// Lets other tasks run after requests that may have waited for nothing, those without a response or from the cache,
    /// and waits if a connection failed. Done before the next request: by then the plan has the latest one, which is
    /// counted even if the user is cut off during the wait.
    async fn back_off(&mut self) {
        if let Some(pause) = self.rest.take() {
            if pause.is_zero() {
                tokio::task::yield_now().await
            } else {
                // Also after a stop: a site that is down gets no more requests then than before.
                self.shared.timers.wait(pause).await
            }
        }
    }
}

/// Returns whether two requests were given the same name for one row: as one text, without tags of their own.
fn shares_name(one: &RequestOp, other: &RequestOp) -> bool {
    let names = (&one.name, &other.name);
    matches!(names, (Some(name), Some(same)) if Rc::ptr_eq(name, same))
        && one.request.method == other.request.method
        && one.tags.is_none()
        && other.tags.is_none()
}

#[cfg(test)]
mod tests;
