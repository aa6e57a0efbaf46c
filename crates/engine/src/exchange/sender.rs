//! Sender of a user's exchanges: who sends them, for how long it has to wait before, under which rows they are counted, and
//! the way into the recorder. A task has one, and each of its jobs.

use super::back_off::BackOff;
use super::kind::{Ended, ExchangeOp, ExchangeRow, Facts, Flow as _, sample};
use crate::messages::context::cadence;
use crate::user::ShardState;
use crate::user::role::ScenarioContext;
use crate::user::stop::StopSignal;
use lgoose_base::tags::Tags;
use lgoose_http::{Session, Target};
use lgoose_lua::{JobLife, RequestOp};
use lgoose_metrics::{Context, Cycles, Recorder, RequestId, Sample, SampleFailure, TagsId};
use lgoose_plan::config::RequestNames;
use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// Sender of the exchanges of a task or of one of its jobs.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) shared: Rc<ShardState>,
    pub(crate) session: Rc<Session>,
    back_off: Rc<BackOff>,
    role: Rc<ScenarioContext>,
    /// Number of the user as the plan counts, from 1; 0 runs an event.
    number: u64,
    /// Index of the task that runs; `None` in an event.
    pub(crate) task: Option<usize>,
    /// Delay of the iteration in a run at a rate; zero once a request has counted it.
    pub(crate) delay: Rc<Cell<Option<Duration>>>,
    /// Whether something has failed in the iteration.
    pub(crate) failed: Rc<Cell<bool>>,
    /// Cycles of the user, if requests that it could not make are to be filled in. Those of a job are none.
    pub(crate) cycles: Option<Box<Cycles>>,
    /// Whether it sends for a job that lasts as long as its user.
    pub(super) lasts_as_user: bool,
}

/// Task whose exchanges are counted, as its rows and logs name it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<'a> {
    user: u64,
    pub(super) role: &'a ScenarioContext,
    pub(super) task: Option<usize>,
}

impl<'a> Origin<'a> {
    /// Returns the name that rows take from it: that of the task or event, empty for a task without a name.
    pub(super) fn name(self) -> &'a str {
        let scenario = &self.role.scenario;
        match self.task.and_then(|task| scenario.tasks.get(task)) {
            Some(task) => task.name.as_deref().unwrap_or(""),
            None => &scenario.name,
        }
    }

    /// Returns the name of the task in logs; empty in an event.
    pub(super) fn title(self) -> &'a str {
        self.task.map_or("", |task| &self.role.tasks[task].1)
    }

    /// Returns the context of an exchange of its.
    pub(super) fn context<O: ExchangeOp>(self, facts: &'a Facts<'_, O>) -> Context<'a> {
        Context {
            user: self.user,
            scenario: &self.role.scenario.name,
            task: self.title(),
            connection: facts.ended.connection,
            trace: facts.ended.trace.as_deref(),
            details: O::details(facts),
        }
    }
}

impl Sender {
    pub(super) fn new(
        number: u64,
        role: Rc<ScenarioContext>,
        session: Rc<Session>,
        shared: Rc<ShardState>,
    ) -> Sender {
        let warns = shared.config.co_wanted;
        let cycles = cadence(&shared.config);
        Sender {
            cycles: cycles.map(|cadence| Box::new(Cycles::new(cadence, warns))),
            shared,
            session,
            back_off: Rc::default(),
            role,
            number,
            task: None,
            delay: Rc::default(),
            failed: Rc::default(),
            lasts_as_user: false,
        }
    }

    /// Returns the sender of a job that the task begins. They share the pauses before a host that is down.
    pub(super) fn of_job(&self, life: JobLife) -> Sender {
        let lasts_as_user = life == JobLife::User;
        Sender {
            shared: self.shared.clone(),
            session: self.session.clone(),
            back_off: self.back_off.clone(),
            role: self.role.clone(),
            number: self.number,
            task: self.task,
            // It is no part of an iteration.
            delay: if lasts_as_user {
                Rc::default()
            } else {
                self.delay.clone()
            },
            failed: self.failed.clone(),
            cycles: None,
            lasts_as_user,
        }
    }

    /// Returns the task that sends now.
    pub(super) fn origin(&self) -> Origin<'_> {
        self.origin_of(self.task)
    }

    /// Returns a task of the user; without an index the event.
    pub(super) fn origin_of(&self, task: Option<usize>) -> Origin<'_> {
        Origin {
            user: self.number,
            role: &self.role,
            task,
        }
    }

    /// Returns whether verdicts of the plan may change later than at the next operation.
    pub(crate) fn judges(&self) -> bool {
        self.role.program.judges()
    }

    /// Waits if connections to the host of a URL failed; returns how long it waited. An empty host is that of the session.
    pub(crate) async fn back_off(&self, host: &str) -> Duration {
        if self.back_off.is_idle() {
            return Duration::ZERO;
        }
        let (timers, recoveries) = (&self.shared.timers, &self.shared.recoveries);
        let base = self.session.base_target();
        let host = host_or(host, base.origin.name());
        self.back_off.pass(host, timers, recoveries).await
    }

    /// Waits for the user's turn under limits on the rate, at most until that signal stops the user, which gives the turn up.
    /// Returns how long it waited; `None` if it gave up.
    pub(crate) async fn pass_throttles(&self, stop: Option<&StopSignal>) -> Option<Duration> {
        let limits = &self.role.limits;
        if !self.shared.has_throttle(limits) {
            return Some(Duration::ZERO);
        }
        let turn = self.shared.pass_throttles(limits);
        let Some(stop) = stop else {
            return Some(turn.await);
        };
        tokio::select! {
            biased;
            waited = turn => Some(waited),
            () = stop.requested() => None,
        }
    }

    /// Returns the title of the task that runs if it is one of `on_start`.
    pub(crate) fn starting_task(&self) -> Option<String> {
        let task = &self.role.scenario.tasks[self.task?];
        task.on_start.then(|| task.title())
    }

    /// Sets how long the user waits before its next exchange with the host of a URL, depending on how this one has ended, and
    /// charges the throttles for requests that were sent again.
    pub(crate) fn responded<O: ExchangeOp>(&self, host: &str, ended: &Ended<O>) {
        let (_, retries) = ended.transfer.redirects_and_retries();
        if retries > 0 {
            let limits = &self.role.limits;
            self.shared.charge_throttles(limits, retries);
        }
        let failure = ended.outcome.as_ref().err();
        let recoveries = &self.shared.recoveries;
        if failure.is_none() && self.back_off.is_idle() && !recoveries.has_waiting() {
            return;
        }
        let base = self.session.base_target();
        let host = host_or(host, base.origin.name());
        self.back_off.record(host, failure, recoveries);
    }

    /// Makes the next pause before a request to the site as long as it gets.
    #[cfg(test)]
    pub(crate) fn has_failed_for_long(&self) {
        let base = self.session.base_target();
        self.back_off.has_failed_for_long(base.origin.name());
    }

    /// Takes a pause of the user out of its cycle.
    pub(crate) fn paused(&mut self, time: Duration) {
        if let Some(cycles) = &mut self.cycles {
            cycles.pause(time);
        }
    }

    /// Returns the delay of the operation that begins. That of a late start belongs to the first request after it, or to all
    /// that are sent side by side first. Later requests begin when the plan gets there: their delay is in the figures
    /// already.
    pub(super) fn take_delay(&self) -> Option<Duration> {
        let delay = self.delay.get();
        self.delay.set(delay.map(|_| Duration::ZERO));
        delay
    }

    /// Returns the row of an exchange. Its tags are the task's and its own.
    pub(super) fn row_of<O: ExchangeOp>(&self, op: &O) -> RequestId {
        let name = op.row_name(self.origin().name(), self.shared.config.request_names);
        let recorder = &mut *self.shared.recorder.borrow_mut();
        let tags = self.tags_of(op.tags(), recorder);
        recorder.tagged_request(op.method(), &name, tags)
    }

    /// Warns where a row that is named by its task counts requests of different paths.
    pub(super) fn check_path(&self, op: &RequestOp, row: RequestId) {
        // Requests of events are no pages of the load.
        let is_named_by_task = self.shared.config.request_names == RequestNames::Task;
        if op.name.is_some() || !is_named_by_task || self.task.is_none() {
            return;
        }
        let mixed = self.shared.paths.borrow_mut().differs(row, &op.request.url);
        let Some([one, other]) = mixed else {
            return;
        };
        let name = op.row_name(self.origin().name(), RequestNames::Task);
        let method = op.method();
        // Users of other threads may have met other paths of the row.
        if self
            .role
            .program
            .claim_warning(&format!("paths of {method} {name}"))
        {
            self.shared.recorder.borrow_mut().warn(format!(
                "the row '{method} {name}' counts requests of several paths, such as {one} and {other}: name them, \
                 as in user:get(path, {{ name = \"cart\" }}), or set plan {{ request_names = \"path\" }}"
            ));
        }
    }

    /// Returns the tags of an exchange that has these of its own.
    fn tags_of(&self, own: Option<&Tags>, recorder: &mut Recorder) -> TagsId {
        match (own, self.task) {
            (None, task) => {
                let tags = task.and_then(|task| self.role.tags.get(task));
                tags.copied().unwrap_or_default()
            }
            (Some(own), task) => {
                recorder.tags(&self.role.scenario.tags_of_request(task, Some(own)))
            }
        }
    }

    /// Records an exchange whose verdict is final: it failed for that reason, or else for that of its outcome.
    pub(super) fn record<O: ExchangeOp>(
        &self,
        op: &O,
        row: ExchangeRow,
        ended: &Ended<O>,
        base: Option<&Target>,
        reason: Option<&str>,
    ) {
        let failure = ended.outcome.as_ref().err();
        let message = reason
            .map(Cow::Borrowed)
            .or_else(|| Some(failure?.to_string().into()));
        if message.is_some() {
            self.failed.set(true);
        }
        let failure = message.as_deref().map(|message| SampleFailure {
            message,
            line: None,
        });
        let facts = Facts {
            op,
            ended,
            session: &self.session,
            base,
        };
        self.shared.recorder.borrow_mut().record(&Sample {
            context: Some(self.origin().context(&facts)),
            ..sample::<O>(row, ended, failure)
        });
    }
}

/// Returns the host of a URL; of one without a host, that of the session.
fn host_or<'a>(host: &'a str, of_session: &'a str) -> &'a str {
    if host.is_empty() { of_session } else { host }
}
