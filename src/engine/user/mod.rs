//! A simulated user: runs the tasks of its scenario in order, each as a coroutine of its VM, until it is stopped.

pub(super) mod gate;
mod hearing;
mod in_flight;
mod life;
mod naming;
mod on_call;
mod open_requests;
pub(super) mod pace;
mod perform;
pub(super) mod prefetch;
pub(super) mod run_state;
mod shared;
mod show;
pub(super) mod stop;
mod user_vm;
mod verdicts;
mod waiting;

pub(crate) use shared::Shared;

use crate::config::Connections;
use crate::engine::load_model::user_pool::Start;
use crate::engine::protocol::context::{OwnLimits, cadence};
use crate::engine::user::open_requests::{EarlierOperation, Identity, LatestOperation};
use crate::engine::user::pace::Begun;
use crate::engine::user::stop::Stop;
use crate::engine::user::user_vm::UserVm;
use crate::error::Error;
use crate::http::Session;
use crate::lua::{Program, Raised, Step, Vm, VmSetup, stream};
use crate::metrics::{Cycles, Failure, Recorder, TagsId, TaskContext, TaskId, TaskRun};
use crate::plan::{Cursor, Event, Scenario, Schedule};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A scenario with what is derived from it once per shard.
#[derive(Debug)]
pub(crate) struct Role {
    pub(crate) scenario: Scenario,
    pub(crate) schedule: Schedule,
    /// Number and name under which each task is counted.
    pub(crate) tasks: Vec<(TaskId, String)>,
    /// Number under which durations of iterations are counted.
    pub(crate) iterations: TaskId,
    /// Tags of the requests of each task, as they are declared.
    pub(crate) tags: Vec<TagsId>,
    pub(crate) host: String,
    /// Compiled code of its tasks.
    pub(crate) program: Arc<Program>,
    /// Limits that its users share.
    pub(crate) limits: OwnLimits,
}

/// A simulated user.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) shared: Rc<Shared>,
    pub(crate) stop: Rc<Stop>,
    pub(crate) vm: UserVm,
    pub(crate) session: Rc<Session>,
    pub(crate) role: Rc<Role>,
    /// Random numbers for choosing tasks and waiting; the plan's own are another stream.
    pub(crate) random: Xoshiro256PlusPlus,
    /// Delay of the iteration in a run at a rate; zero once a request has counted it.
    pub(crate) delay: Option<Duration>,
    /// The latest operation, whose requests are counted when their verdicts are final.
    pub(crate) open: LatestOperation,
    /// Operations before it in the same task whose verdicts the plan may still change.
    pub(crate) earlier: Vec<EarlierOperation>,
    /// Number of the user as the plan counts, from 1; 0 runs an event.
    pub(crate) number: u64,
    /// Index of the task that runs; `None` in an event.
    pub(crate) task: Option<usize>,
    /// Failed connections in a row.
    pub(crate) refusals: u32,
    /// Time to wait before the next request; `None` after a request that got a response.
    pub(crate) rest: Option<Duration>,
    pub(crate) ended: bool,
    /// Whether the plan has ended the iteration that runs.
    pub(crate) leaves_iteration: bool,
    pub(crate) iteration: u64,
    /// Whether the user ended because none of the iterations was left that users share.
    none_left: bool,
    /// Cycles of the user, if requests that it could not make are to be filled in.
    pub(crate) cycles: Option<Box<Cycles>>,
}

impl User {
    /// Makes the user of a start; a plan counts users from 1.
    pub(crate) fn new(
        start: Start,
        role: Rc<Role>,
        shared: Rc<Shared>,
        stop: Rc<Stop>,
    ) -> Result<Box<User>, Error> {
        let user = start.number + 1;
        // A user that is started again under the same number draws other random numbers.
        User::build(user, user ^ (start.life << 32), role, shared, stop).map(Box::new)
    }

    /// Makes a user that runs one of the plan's events, of number 0.
    pub(crate) fn for_event(
        role: Rc<Role>,
        shared: Rc<Shared>,
        stop: Rc<Stop>,
    ) -> Result<User, Error> {
        User::build(0, 0, role, shared, stop)
    }

    fn build(
        user: u64,
        random_stream: u64,
        role: Rc<Role>,
        shared: Rc<Shared>,
        stop: Rc<Stop>,
    ) -> Result<User, Error> {
        let session = Session::new(shared.client.clone(), &role.host)
            .map_err(|failure| Error::cannot("use the host", failure.to_string()))?;
        for (name, value) in &role.scenario.headers {
            session.set_header(name, Some(value.clone()));
        }
        let session = Rc::new(session);
        let setup = VmSetup {
            user,
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
        let wanted = shared.config.co_wanted;
        let cycles = cadence(&shared.config).map(|cadence| Box::new(Cycles::new(cadence, wanted)));
        Ok(User {
            random: stream(!shared.config.seed, random_stream),
            stop,
            vm,
            session,
            role,
            shared,
            delay: None,
            open: LatestOperation::default(),
            earlier: Vec::new(),
            number: user,
            task: None,
            refusals: 0,
            rest: None,
            ended: false,
            leaves_iteration: false,
            iteration: 1,
            none_left: false,
            cycles,
        })
    }

    /// Runs the user from its start to its end, and returns its key. Only the runtime awaits this future, and the
    /// user is boxed: a future holds twice what is moved into it, once for before and once for while it runs.
    pub(crate) async fn live<K>(mut self: Box<Self>, key: K) -> K {
        let born = self.arrives();
        if self.begin(false, born).await {
            self.note_begun();
            self.iterate().await;
            self.note_finished();
            self.end().await;
        } else {
            self.tell_lost();
            self.leaves(Instant::now());
        }
        key
    }

    /// Runs the `on_start` tasks, after a stop only if `anyway`; false if one of them raised, which ends the user.
    /// The first begins at `born`.
    pub(crate) async fn begin(&mut self, anyway: bool, born: Instant) -> bool {
        let mut begin = born;
        for task in self.role.schedule.on_start(&mut self.random) {
            if self.ended || (self.stop.is_told() && !anyway) {
                return true;
            }
            let (went_well, end) = self.run_task(task, begin).await;
            if !went_well {
                return false;
            }
            begin = end;
        }
        true
    }

    async fn iterate(&mut self) {
        let mut cursor = Cursor::new();
        // Reading the clock costs as much as recording a sample: the end of one task begins the next.
        let mut task = Begun::now();
        let mut iteration = task;
        let mut cycle_begin = task.at;
        if let Some(cycles) = &mut self.cycles {
            cycles.begin();
        }
        let mut begins = true;
        while self.goes_on() {
            if self.shared.gate.is_closed() {
                let closed = Instant::now();
                self.shared.gate.pass(&self.stop).await;
                let pause = closed.elapsed();
                task = task.shifted(pause);
                iteration = iteration.shifted(pause);
                self.paused(pause);
                continue;
            }
            if begins && !self.takes_iteration() {
                break;
            }
            if begins {
                self.renew_connections();
            }
            let Some(step) = cursor.next(&self.role.schedule, &mut self.random) else {
                // The scenario has only on_start and on_stop: the user stays until it is told to go.
                return self.stop.at_iteration_end().await;
            };
            let (_, end) = self.run_task(step.task, task.at).await;
            let last_of_iteration = step.last_of_iteration || self.leaves_iteration;
            begins = last_of_iteration;
            if last_of_iteration {
                // The rest of the iteration is not run.
                if !step.last_of_iteration {
                    cursor = Cursor::new();
                }
                self.iteration += 1;
                self.count_iteration(iteration.at, end);
            }
            let ended = last_of_iteration.then_some(iteration);
            task = self.rest_after(step.task, task, ended, end).await;
            if last_of_iteration {
                self.end_cycle(cycle_begin, task.at);
                if self.stop.is_told_at_iteration_end() {
                    return;
                }
                iteration = task;
                cycle_begin = task.at;
            }
        }
        // A cycle that was broken off may have been late by then.
        self.end_cycle(cycle_begin, task.at);
    }

    /// Counts an iteration that has ended.
    fn count_iteration(&self, begin: Instant, end: Instant) {
        let took = end.saturating_duration_since(begin);
        self.count(|recorder, scenario| {
            recorder.iteration(scenario, self.role.iterations, took);
        });
    }

    /// Runs the `on_stop` tasks; after the last of them, the user no longer counts as at work.
    pub(crate) async fn end(&mut self) {
        let mut now = Instant::now();
        for task in self.role.schedule.on_stop(&mut self.random) {
            (_, now) = self.run_task(task, now).await;
        }
        self.leaves(now);
    }

    pub(crate) fn paused(&mut self, time: Duration) {
        if let Some(cycles) = &mut self.cycles {
            cycles.pause(time);
        }
    }

    fn end_cycle(&mut self, begin: Instant, end: Instant) {
        if let Some(cycles) = &mut self.cycles {
            cycles.end(end - begin, &mut self.shared.recorder.borrow_mut());
        }
    }

    pub(crate) fn stops(&self) -> bool {
        self.ended || self.stop.is_told()
    }

    /// Closes connections before an iteration, if each is to have its own.
    pub(crate) fn renew_connections(&self) {
        if self.shared.config.connections == Connections::Iteration {
            self.session.close_connections();
        }
    }

    /// Takes one of the iterations that users share; false if none is left.
    fn takes_iteration(&mut self) -> bool {
        let own = self.role.limits.tickets.iter();
        self.none_left = !own
            .chain(&self.shared.tickets)
            .all(|tickets| tickets.take());
        !self.none_left
    }

    /// Returns how many iterations the user runs at most.
    fn iterations_wanted(&self) -> Option<u64> {
        let own = self.role.scenario.iterations;
        own.or(self.shared.config.iterations)
    }

    /// Returns whether the user begins another task.
    pub(crate) fn goes_on(&self) -> bool {
        let limit = self.iterations_wanted();
        !self.stops() && limit.is_none_or(|limit| self.iteration <= limit)
    }

    /// Runs one task to its end and counts it, and returns whether it ended without raising, and when.
    pub(crate) async fn run_task(&mut self, index: usize, begin: Instant) -> (bool, Instant) {
        let role = self.role.clone();
        let task = &role.scenario.tasks[index];
        self.task = Some(index);
        self.leaves_iteration = false;
        let lost = self.shared.lost();
        let first = self.vm.start(task.function, self.iteration);
        let raised = self.follow(first, task.name.as_deref().unwrap_or("")).await;
        let end = Instant::now();
        let lost = self.shared.lost() - lost;
        let begin = (begin + lost).min(end);
        self.count_task(index, begin, end - begin, raised.as_ref());
        (raised.is_none(), end)
    }

    /// Runs the plan's function for an event to its end. Its requests are counted under the event's name.
    pub(crate) async fn run_event(mut self, event: Event) -> Option<Raised> {
        let first = self.vm.start_event(event);
        self.follow(first, event.name()).await
    }

    /// Carries out operation after operation until the plan's code ends, and counts the requests.
    async fn follow(&mut self, first: Step, name: &str) -> Option<Raised> {
        // Code that waits for nothing must still let the other users of the shard run.
        if !matches!(first, Step::Op(_)) {
            tokio::task::yield_now().await;
        }
        let mut step = first;
        let raised = loop {
            match step {
                Step::Op(op) => step = self.perform(op, name).await,
                Step::Done => break None,
                Step::Raised(raised) => break Some(raised),
            }
        };
        self.settle_all();
        raised
    }

    fn count_task(&self, index: usize, begin: Instant, latency: Duration, raised: Option<&Raised>) {
        let (task, name) = &self.role.tasks[index];
        self.shared.recorder.borrow_mut().record_task(&TaskRun {
            task: *task,
            begin: begin.into_std(),
            latency,
            failure: raised.map(|raised| Failure {
                message: &raised.message,
                line: raised.line.as_deref(),
            }),
            context: Some(TaskContext {
                user: self.number,
                scenario: &self.role.scenario.name,
                name,
                transaction: false,
            }),
        });
    }

    /// Returns who makes the current requests.
    pub(crate) fn identity(&self) -> Identity<'_> {
        Identity::of(self.number, &self.role, self.task)
    }

    pub(crate) fn count(&self, count: impl FnOnce(&mut Recorder, &str)) {
        count(
            &mut self.shared.recorder.borrow_mut(),
            &self.role.scenario.name,
        );
    }
}

impl Drop for User {
    /// Counts requests that are still open: a user may be cut off between two requests.
    fn drop(&mut self) {
        self.settle_cut_off();
    }
}
