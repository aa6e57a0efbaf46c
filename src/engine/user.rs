//! One simulated user: runs its scenario's tasks in order, each as a coroutine of its VM, until it is told
//! to stop.

use super::crew::Start;
use super::ending::Departures;
use super::gate::Gate;
use super::open::{Identity, Open};
use super::pace::Begun;
use super::plant::{Plant, cadence};
use super::stop::Stop;
use super::throttle::Throttle;
use super::timers::Timers;
use crate::config::Config;
use crate::error::Error;
use crate::http::{Client, Session};
use crate::lua::{Heartbeat, Program, Raised, Step, Vm, VmSetup, stream};
use crate::metrics::{Cycles, Failure, Recorder, TaskContext, TaskId, TaskRun};
use crate::plan::{Cursor, Event, Scenario, Schedule, scaled};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What the users of a shard share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: Arc<Config>,
    pub(super) client: Rc<Client>,
    // Never borrowed across an await nor while a VM runs: plans measure too.
    pub(super) recorder: Rc<RefCell<Recorder>>,
    pub(super) gate: Gate,
    pub(super) timers: Timers,
    /// None without a ceiling: then a request looks here and that is all.
    throttle: Option<Arc<Throttle>>,
    pub(super) departures: Arc<Departures>,
    /// Shows the watchdog whose code runs.
    pub(super) heartbeat: Arc<Heartbeat>,
}

impl Shared {
    /// `index` is that of the shard; the two events of a plan have those after the last.
    pub(super) fn new(
        plant: &Plant,
        index: usize,
        recorder: Recorder,
        heartbeat: Arc<Heartbeat>,
    ) -> Rc<Shared> {
        const EVENTS: usize = 2;
        let among = (plant.shards + EVENTS) as u64;
        let (client, resolver) = (plant.client.clone(), plant.resolver.clone());
        Rc::new(Shared {
            config: plant.config.clone(),
            client: Client::one_of(client, resolver, index as u64, among),
            recorder: Rc::new(RefCell::new(recorder)),
            gate: Gate::default(),
            timers: plant.timers(),
            throttle: plant.throttle.clone(),
            departures: plant.departures.clone(),
            heartbeat,
        })
    }
}

impl Shared {
    /// A pause of the plan as long as this run wants it.
    pub(super) fn pause(&self, planned: Duration) -> Duration {
        scaled(planned, self.config.wait_factor)
    }

    /// Waits for the turn of one request, if there is a ceiling on them.
    pub(super) async fn pass_throttle(&self) {
        if let Some(throttle) = &self.throttle {
            throttle.pass().await;
        }
    }
}

/// A scenario with what is derived from it once per shard.
#[derive(Debug)]
pub(super) struct Role {
    pub(super) scenario: Scenario,
    pub(super) schedule: Schedule,
    /// Where each task is counted, and what it is called there.
    pub(super) tasks: Vec<(TaskId, String)>,
    pub(super) host: String,
    /// The code of its tasks.
    pub(super) program: Arc<Program>,
}

/// One user.
#[derive(Debug)]
pub(super) struct User {
    pub(super) shared: Rc<Shared>,
    pub(super) stop: Rc<Stop>,
    pub(super) vm: Vm,
    pub(super) session: Rc<Session>,
    pub(super) role: Rc<Role>,
    /// Chooses tasks and waits; the plan's own random numbers are another stream.
    pub(super) random: Xoshiro256PlusPlus,
    /// In a run at a rate: how late the iteration began, zero once a request has counted it.
    pub(super) delay: Option<Duration>,
    /// The latest operation, whose requests are counted when their verdicts are final.
    pub(super) open: Open,
    /// As the plan counts users, from 1; 0 runs an event.
    pub(super) number: u64,
    /// The index of the task that runs; none in an event.
    pub(super) task: Option<usize>,
    /// Failed connections in a row.
    pub(super) refusals: u32,
    /// How long to wait before the next request; `None` after a request that got an answer.
    pub(super) rest: Option<Duration>,
    pub(super) ended: bool,
    pub(super) iteration: u64,
    /// What is needed to fill in what it could not ask for, if that is wanted.
    pub(super) cycles: Option<Box<Cycles>>,
}

impl User {
    /// The user that starts; a plan counts users from 1.
    pub(super) fn new(
        start: Start,
        role: Rc<Role>,
        shared: Rc<Shared>,
        stop: Rc<Stop>,
    ) -> Result<User, Error> {
        let user = start.number + 1;
        // Whoever is started again under the same number draws something else.
        User::build(user, user ^ (start.life << 32), role, shared, stop)
    }

    /// A user that runs one of the plan's events, of number 0.
    pub(super) fn for_event(
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
            .map_err(|failure| Error::Trouble(format!("cannot use the host: {failure}")))?;
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
        };
        let vm = Vm::new(&role.program, setup)?;
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
            open: Open::default(),
            number: user,
            task: None,
            refusals: 0,
            rest: None,
            ended: false,
            iteration: 1,
            cycles,
        })
    }

    /// Lives the user's life.
    pub(super) async fn live(mut self) {
        let born = self.arrives();
        if self.begin(false, born).await {
            self.shared.departures.began();
            self.iterate().await;
            self.note_finished();
            self.end().await;
        } else {
            self.tell_lost();
            self.leaves(Instant::now());
        }
    }

    /// Counts the user among those at work from now on, which is returned.
    pub(super) fn arrives(&self) -> Instant {
        let now = Instant::now();
        self.count(|recorder, scenario| recorder.user_started(scenario, now.into_std()));
        now
    }

    /// Counts the user no longer.
    pub(super) fn leaves(&self, at: Instant) {
        self.count(|recorder, scenario| recorder.user_stopped(scenario, at.into_std()));
    }

    /// Fewer users than asked for is what the report must not be silent about.
    pub(super) fn tell_lost(&self) {
        self.shared.departures.lost();
        self.count(|recorder, scenario| {
            recorder.warn(format!(
                "users of scenario '{scenario}' ended at once: an 'on_start' task of theirs failed, so fewer run than asked for"
            ));
        });
    }

    /// Runs the `on_start` tasks, after a stop only if it is to be done `anyway`; false if one of them raised,
    /// which ends the user. The first begins at `born`.
    pub(super) async fn begin(&mut self, anyway: bool, born: Instant) -> bool {
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
            let Some(step) = cursor.next(&self.role.schedule, &mut self.random) else {
                // Nothing but on_start and on_stop: the user stays until it is told to go.
                return self.stop.at_iteration_end().await;
            };
            let (_, end) = self.run_task(step.task, task.at).await;
            if step.last_of_iteration {
                self.iteration += 1;
                self.count(|recorder, scenario| recorder.iteration(scenario));
            }
            let ended = step.last_of_iteration.then_some(iteration);
            task = self.rest_after(step.task, task, ended, end).await;
            if step.last_of_iteration {
                self.end_cycle(task.at - cycle_begin);
                if self.stop.is_told_at_iteration_end() {
                    return;
                }
                iteration = task;
                cycle_begin = task.at;
            }
        }
        // One that was broken off may have been late by then.
        self.end_cycle(task.at - cycle_begin);
    }

    /// Runs the `on_stop` tasks; with the last of them the user is gone.
    pub(super) async fn end(&mut self) {
        let mut now = Instant::now();
        for task in self.role.schedule.on_stop(&mut self.random) {
            (_, now) = self.run_task(task, now).await;
        }
        self.leaves(now);
    }

    pub(super) fn paused(&mut self, time: Duration) {
        if let Some(cycles) = &mut self.cycles {
            cycles.pause(time);
        }
    }

    fn end_cycle(&mut self, took: Duration) {
        if let Some(cycles) = &mut self.cycles {
            cycles.end(took, &mut self.shared.recorder.borrow_mut());
        }
    }

    pub(super) fn stops(&self) -> bool {
        self.ended || self.stop.is_told()
    }

    /// Whether it begins another task.
    pub(super) fn goes_on(&self) -> bool {
        let limit = self.shared.config.iterations;
        !self.stops() && limit.is_none_or(|limit| self.iteration <= limit)
    }

    /// Runs one task to its end and counts it. Whether it ended without raising, and when.
    pub(super) async fn run_task(&mut self, index: usize, begin: Instant) -> (bool, Instant) {
        let role = self.role.clone();
        let task = &role.scenario.tasks[index];
        self.task = Some(index);
        let first = self.vm.start(task.function, self.iteration);
        let raised = self.follow(first, task.name.as_deref().unwrap_or("")).await;
        let end = Instant::now();
        self.count_task(index, begin, end - begin, raised.as_ref());
        (raised.is_none(), end)
    }

    /// Runs the plan's function for an event to its end. Its requests are counted under the event's name.
    pub(super) async fn run_event(mut self, event: Event) -> Option<Raised> {
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
        self.settle();
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

    /// Who makes the requests of now.
    pub(super) fn identity(&self) -> Identity<'_> {
        Identity::of(self.number, &self.role, self.task)
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut Recorder, &str)) {
        count(
            &mut self.shared.recorder.borrow_mut(),
            &self.role.scenario.name,
        );
    }
}

impl Drop for User {
    /// A user that is cut off between two requests has counted the first of them all the same.
    fn drop(&mut self) {
        self.settle();
    }
}
