//! A simulated user: runs the tasks of its scenario in order, each as a coroutine of its VM, until it is stopped.

mod fair_share;
pub(super) mod gate;
mod jobs;
pub(super) mod on_call;
pub(super) mod pace;
mod perform;
pub(super) mod prefetch;
pub(super) mod role;
pub(super) mod run_state;
mod shared;
pub(super) mod stop;
mod task_end;
pub(crate) mod turn;
mod user_vm;

pub(crate) use role::ScenarioContext;
pub(crate) use shared::ShardState;

use crate::exchange::Exchanges;
use crate::load_model::user_pool::UserStart;
use crate::user::pace::TaskStart;
use crate::user::perform::TaskRunner;
use crate::user::stop::StopSignal;
use crate::user::task_end::TaskEnd;
use crate::user::user_vm::UserVm;
use lgoose_base::error::Error;
use lgoose_http::Session;
use lgoose_lua::{RaisedError, Vm, VmSetup, stream};
use lgoose_metrics::{Recorder, SampleFailure, TaskContext, TaskRun};
use lgoose_plan::config::ConnectionLifetime;
use lgoose_plan::{PlanEvent, ScheduleCursor, Wait};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// A simulated user.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) shared: Rc<ShardState>,
    stop: Rc<StopSignal>,
    role: Rc<ScenarioContext>,
    /// Number of the user as the plan counts, from 1; 0 runs an event.
    number: u64,
    runner: TaskRunner,
    /// Random numbers for choosing tasks and waiting; the plan's own are another stream.
    random: Xoshiro256PlusPlus,
    iteration: u64,
    /// Whether the user ended because none of the iterations was left that users share.
    iterations_used_up: bool,
}

impl User {
    /// Makes the user of a start; a plan counts users from 1.
    pub(crate) fn new(
        start: UserStart,
        role: Rc<ScenarioContext>,
        shared: Rc<ShardState>,
        stop: Rc<StopSignal>,
    ) -> Result<Box<User>, Error> {
        let user = start.number + 1;
        // A user that is started again under the same number draws other random numbers.
        User::build(user, user ^ (start.life << 32), role, shared, stop).map(Box::new)
    }

    /// Makes a user that runs one of the plan's events, of number 0.
    pub(crate) fn for_event(
        role: Rc<ScenarioContext>,
        shared: Rc<ShardState>,
        stop: Rc<StopSignal>,
    ) -> Result<User, Error> {
        User::build(0, 0, role, shared, stop)
    }

    fn build(
        number: u64,
        random_stream: u64,
        role: Rc<ScenarioContext>,
        shared: Rc<ShardState>,
        stop: Rc<StopSignal>,
    ) -> Result<User, Error> {
        let session = Session::new(shared.client.clone(), &role.host)
            .map_err(|failure| Error::cannot("use the host", failure.to_string()))?;
        for (name, value) in &role.scenario.headers {
            session.set_header(name, Some(value.clone()));
        }
        let session = Rc::new(session);
        let setup = VmSetup {
            user: number,
            random_stream,
            scenario: &role.scenario.name,
            session: session.clone(),
            memory: shared.config.lua_memory,
            recorder: &shared.recorder,
            time: shared.config.lua_time,
            heartbeat: &shared.heartbeat,
            run: Some(shared.run.clone()),
        };
        let vm = UserVm::new(Vm::new(&role.program, setup)?, shared.late_vms.clone());
        let exchanges = Exchanges::new(number, role.clone(), session, shared.clone());
        Ok(User {
            random: stream(!shared.config.seed, random_stream),
            runner: TaskRunner::new(vm, exchanges, stop.clone(), shared.clone()),
            stop,
            role,
            shared,
            number,
            iteration: 1,
            iterations_used_up: false,
        })
    }

    /// Runs the user from its start to its end, and returns its key. Only the runtime awaits this future, and the
    /// user is boxed: a future holds a value that is moved into it twice, once before it runs and once while it runs.
    pub(crate) async fn live<K>(mut self: Box<Self>, key: K) -> K {
        let born = self.arrives();
        if self.run_on_start(false, born).await {
            self.iterate().await;
            self.note_finished();
            self.end().await;
        }
        key
    }

    /// Runs the `on_start` tasks, after a stop only if `anyway`, the first from `born` on. If one of them raises, the user
    /// is lost and leaves: returns false.
    async fn run_on_start(&mut self, anyway: bool, born: Instant) -> bool {
        let mut start = born;
        for task in self.role.schedule.on_start(&mut self.random) {
            if self.runner.end.ends_user() || (self.stop.is_requested() && !anyway) {
                break;
            }
            let (went_well, end) = self.run_task(task, start).await;
            if !went_well {
                self.runner.close_channels().await;
                self.note_lost();
                self.leaves(Instant::now());
                return false;
            }
            start = end;
        }
        self.note_started();
        true
    }

    async fn iterate(&mut self) {
        let mut cursor = ScheduleCursor::new();
        // Reading the clock costs as much as recording a sample: the end of one task begins the next.
        let mut task = TaskStart::now();
        let mut iteration = task;
        let mut cycle_start = task.at;
        if let Some(cycles) = &mut self.runner.exchanges.sender.cycles {
            cycles.start();
        }
        let mut starts_iteration = true;
        while self.goes_on() {
            if self.shared.gate.is_closed() {
                let closed = Instant::now();
                self.shared.gate.pass(&self.stop).await;
                let pause = closed.elapsed();
                task = task.shifted(pause);
                iteration = iteration.shifted(pause);
                self.runner.exchanges.sender.paused(pause);
                continue;
            }
            if starts_iteration {
                let Some(waited) = self.take_iteration().await else {
                    break;
                };
                if !waited.is_zero() {
                    task = task.shifted(waited);
                    iteration = iteration.shifted(waited);
                    self.runner.exchanges.sender.paused(waited);
                }
                self.renew_connections();
            }
            let Some(step) = cursor.next(&self.role.schedule, &mut self.random) else {
                // The scenario has only on_start and on_stop: the user stays until a stop.
                return match self.runner.jobs() {
                    None => self.stop.at_iteration_end().await,
                    Some(jobs) => jobs.boxed_beside(self.stop.at_iteration_end()).await,
                };
            };
            let held_up = self.runner.held_up;
            let (_, end) = self.run_task(step.task, task.at).await;
            let held_up = self.runner.held_up - held_up;
            if !held_up.is_zero() {
                task = task.shifted(held_up);
                iteration = iteration.shifted(held_up);
            }
            let last_of_iteration = step.last_of_iteration || self.runner.end == TaskEnd::Iteration;
            starts_iteration = last_of_iteration;
            if last_of_iteration {
                // The rest of the iteration is not run.
                if !step.last_of_iteration {
                    cursor = ScheduleCursor::new();
                }
                self.iteration += 1;
                if !self.runner.end.is_uncounted() {
                    self.count_iteration(iteration.at, end);
                }
            }
            let ended = last_of_iteration.then_some(iteration);
            task = self.rest_after(step.task, task, ended, end).await;
            if last_of_iteration {
                self.end_cycle(cycle_start, task.at);
                if self.stop.is_requested_at_iteration_end() {
                    return;
                }
                iteration = task;
                cycle_start = task.at;
            }
        }
        // A cycle that was broken off may have been late by then.
        self.end_cycle(cycle_start, task.at);
    }

    /// Counts an iteration that has ended.
    fn count_iteration(&self, start: Instant, end: Instant) {
        let took = end.saturating_duration_since(start);
        let failed = self.runner.exchanges.sender.failed.take();
        self.count(|recorder, scenario| {
            recorder.iteration(scenario, self.role.iterations, took, failed);
        });
    }

    /// Rests as the task's wait says, unless no other task is to follow, and returns the beginning of the next.
    /// `iteration` is the beginning of the iteration that the task has ended, if it has ended one.
    async fn rest_after(
        &mut self,
        index: usize,
        task: TaskStart,
        iteration: Option<TaskStart>,
        end: Instant,
    ) -> TaskStart {
        let scenario = &self.role.scenario;
        let wait = scenario.wait_of(&scenario.tasks[index]);
        if matches!(wait, Wait::None) {
            return TaskStart::at(end);
        }
        let iteration = iteration.map(|iteration| iteration.work(end));
        let mut rest = wait.after_task(&mut self.random, task.work(end), iteration);
        rest.pause = self.shared.pause(rest.pause);
        if rest.pause.is_zero() || !self.goes_on() {
            return TaskStart::after(end, rest, end);
        }
        self.runner.vm.enter().reclaim();
        let (stop, timers) = (&self.stop, &self.shared.timers);
        match self.runner.jobs() {
            None => stop.wait(rest.pause, timers).await,
            Some(jobs) => jobs.boxed_beside(stop.wait(rest.pause, timers)).await,
        }
        let next = TaskStart::after(end, rest, Instant::now());
        self.runner.exchanges.sender.paused(next.at - end);
        next
    }

    /// Runs the `on_stop` tasks; after the last of them, the user no longer counts as at work.
    async fn end(&mut self) {
        self.runner.end_jobs().await;
        let mut now = Instant::now();
        self.runner.is_leaving = true;
        for task in self.role.schedule.on_stop(&mut self.random) {
            (_, now) = self.run_task(task, now).await;
        }
        self.runner.close_channels().await;
        self.leaves(now);
    }

    fn end_cycle(&mut self, start: Instant, end: Instant) {
        if let Some(cycles) = &mut self.runner.exchanges.sender.cycles {
            cycles.end(end - start, &mut self.shared.recorder.borrow_mut());
        }
    }

    fn stops(&self) -> bool {
        self.runner.end.ends_user() || self.stop.is_requested()
    }

    /// Closes connections before an iteration, if each is to have its own.
    fn renew_connections(&self) {
        if self.shared.config.connections == ConnectionLifetime::Iteration {
            self.runner.exchanges.sender.session.close_connections();
        }
    }

    /// Takes one of the iterations that users share, and returns how long it had to wait for that; `None` if none is left,
    /// or a stop came meanwhile.
    async fn take_iteration(&mut self) -> Option<Duration> {
        let mut waited = Duration::ZERO;
        let own = self.role.limits.tickets.iter();
        for tickets in own.chain(&self.shared.tickets) {
            let stop = &self.stop;
            let taken = async {
                tokio::select! {
                    biased;
                    taken = tickets.take() => Some(taken),
                    () = stop.requested() => None,
                }
            };
            let taken = match self.runner.jobs() {
                None => taken.await,
                Some(jobs) => jobs.boxed_beside(taken).await,
            };
            match taken? {
                Some(own) => waited += own,
                None => {
                    self.iterations_used_up = true;
                    return None;
                }
            }
        }
        Some(waited)
    }

    /// Returns how many iterations the user runs at most.
    fn iteration_limit(&self) -> Option<u64> {
        let own = self.role.scenario.iterations;
        own.or(self.shared.config.iterations)
    }

    /// Returns whether the user begins another task.
    fn goes_on(&self) -> bool {
        let limit = self.iteration_limit();
        !self.stops() && limit.is_none_or(|limit| self.iteration <= limit)
    }

    /// Runs one task to its end and counts it, and returns whether it ended without raising, and when.
    async fn run_task(&mut self, index: usize, start: Instant) -> (bool, Instant) {
        let role = self.role.clone();
        let task = &role.scenario.tasks[index];
        self.runner.exchanges.sender.task = Some(index);
        self.runner.end = TaskEnd::default();
        let (lost, held_up) = (self.shared.lost(), self.runner.held_up);
        let first = self.runner.vm.enter().start(task.function, self.iteration);
        let raised = self.runner.follow(first).await;
        let end = Instant::now();
        let lost = self.shared.lost() - lost + (self.runner.held_up - held_up);
        let start = (start + lost).min(end);
        if !self.runner.end.is_uncounted() {
            self.count_task(index, start, end - start, raised.as_ref());
        }
        (raised.is_none(), end)
    }

    /// Runs the plan's function for an event to its end. Its requests are counted under the event's name.
    pub(crate) async fn run_event(mut self, event: PlanEvent) -> Option<RaisedError> {
        let first = self.runner.vm.enter().start_event(event);
        let raised = self.runner.follow(first).await;
        self.runner.close_channels().await;
        raised
    }

    fn count_task(
        &self,
        index: usize,
        start: Instant,
        latency: Duration,
        raised: Option<&RaisedError>,
    ) {
        let (task, name) = &self.role.tasks[index];
        if raised.is_some() {
            self.runner.exchanges.sender.failed.set(true);
        }
        self.shared.recorder.borrow_mut().record_task(&TaskRun {
            task: *task,
            start: start.into_std(),
            latency,
            failure: raised.map(|raised| SampleFailure {
                message: &raised.message,
                line: raised.line.as_deref(),
            }),
            context: Some(TaskContext {
                user: self.number,
                scenario: &self.role.scenario.name,
                name,
                transaction: false,
                stack: raised.and_then(|raised| raised.backtrace.as_deref()),
            }),
        });
    }

    /// Counts the user among those at work from now on, and returns this moment.
    fn arrives(&self) -> Instant {
        self.shared.run.arrives();
        let now = Instant::now();
        self.count(|recorder, scenario| recorder.user_started(scenario, now.into_std()));
        now
    }

    /// Ends the count of the user among those at work.
    fn leaves(&self, at: Instant) {
        self.shared.run.leaves();
        self.count(|recorder, scenario| recorder.user_stopped(scenario, at.into_std()));
    }

    /// Counts the user as one that has begun, or that the plan has ended before although it had more to do.
    fn note_started(&self) {
        // Failures in 'on_start' belong to no iteration.
        self.runner.exchanges.sender.failed.set(false);
        let quits = self.runner.end.ends_user() && self.role.schedule.has_iterations();
        self.shared.departed(|departures| {
            if quits {
                departures.quit += 1
            } else {
                departures.began += 1
            }
        });
    }

    /// Counts a user that has completed all its iterations.
    fn note_finished(&self) {
        let limit = self.iteration_limit();
        if self.iterations_used_up || limit.is_some_and(|limit| self.iteration > limit) {
            self.shared.departed(|departures| departures.finished += 1);
        }
    }

    /// Counts and warns of a lost user: the report must not be silent about fewer users than configured.
    fn note_lost(&self) {
        self.shared.departed(|departures| departures.lost += 1);
        self.count(|recorder, scenario| {
            recorder.lost(scenario);
            recorder.warn(format!(
                "users of scenario '{scenario}' ended at once: one of their 'on_start' tasks failed, so fewer users run than asked for"
            ));
        });
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut Recorder, &str)) {
        count(
            &mut self.shared.recorder.borrow_mut(),
            &self.role.scenario.name,
        );
    }
}
