//! The VM of one user: runs the tasks of its plan as coroutines, hands their operations to the engine, keeps the
//! responses whose verdict the plan may still change, and shows the plan the requests that have been counted.

use crate::api::{self, start_prelude};
use crate::diagnostics::{self, RaisedError, calls_of};
use crate::hooks::{self, HookRequest};
use crate::job::JobState;
use crate::limits::{
    self, Arguments, Converted, Coroutine, Heartbeat, HeldBytes, PlainValue, ResumeResult, VmLimits,
};
use crate::plan_files::Program;
use crate::requests::{Finished, JobFunction, Op, ResponseStream};
use crate::sandbox::{self, VmHost, stream};
use crate::vm_setup::VmSetup;
use lgoose_base::error::Error;
use lgoose_http::Failure;
use lgoose_plan::shared_state::SharedValue;
use lgoose_plan::{Hook, PlanEvent, TaskTiming, Wait};
use lgoose_protocols::CallValue;
use mlua::{Function, Lua, LuaSerdeExt as _, Value};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The state of a task after it was resumed.
#[derive(Debug)]
pub enum Step {
    /// It waits for an operation.
    Op(Op),
    /// It has been computing for long without waiting; other users come first.
    Preempted,
    /// It has ended.
    Done,
    /// It has raised an error and ended. Boxed: each user has room for a few steps.
    Raised(Box<RaisedError>),
}

/// The place where the responses of an operation are kept.
#[derive(Debug)]
pub struct Parked {
    index: usize,
    /// The memory of the requests themselves.
    _held: HeldBytes,
}

/// A user's VM.
#[derive(Debug)]
pub struct Vm {
    lua: Lua,
    host: Rc<VmHost>,
    run: Function,
    /// The plan's function that sees each request.
    on_request: Option<Function>,
    coroutine: Coroutine,
    /// Whether the plan's top level found no row left for this user, which then stops at its first task.
    stopped_while_loading: bool,
    /// Shows the watchdog whose code runs.
    heartbeat: Arc<Heartbeat>,
    /// Whether a limit ended the latest task, whose coroutine must not be touched any more.
    ended_by_limit: bool,
    /// The processor time of the latest step.
    turn: Duration,
}

impl Vm {
    /// Creates a VM and runs the plan's top level in it, which takes tens of microseconds.
    ///
    /// # Errors
    /// The error of the plan's top level, as a diagnostic.
    pub fn new(program: &Arc<Program>, setup: VmSetup<'_>) -> Result<Vm, Error> {
        let explain =
            |error: mlua::Error| Error::from(diagnostics::diagnose(&error, &program.sources));
        Vm::build(program, setup).map_err(explain)
    }

    fn build(program: &Arc<Program>, setup: VmSetup<'_>) -> mlua::Result<Vm> {
        let limits = VmLimits::new(setup.time, setup.memory, Some(setup.heartbeat.clone()));
        let mut host = VmHost::new(
            program.clone(),
            setup.user,
            setup.scenario,
            Some(setup.session.clone()),
            limits,
        );
        host.run = setup.run;
        let host = Rc::new(host);
        host.random
            .replace(stream(program.seed, setup.random_stream));
        let lua = sandbox::new_state()?;
        // One collection is enough, once the plan is loaded: until then nearly nothing is garbage. If a top level
        // makes much of it, Lua itself collects it at the limit on memory.
        lua.gc_stop();
        lua.set_app_data(host.clone());
        let facts = lua.create_table()?;
        facts.raw_set("id", setup.user)?;
        facts.raw_set("scenario", setup.scenario)?;
        facts.raw_set("host", setup.session.base().trim_end_matches('/'))?;
        let prelude = start_prelude(&lua, program, facts)?;
        let load = lua
            .load(program.plan.as_slice())
            .set_mode(mlua::chunk::ChunkMode::Binary)
            .set_environment(prelude.env)
            .into_function()?;
        // Only here: under a limit, every allocation is a protected call.
        host.limits.enforce(&lua)?;
        setup.heartbeat.enter(setup.user, None);
        let loaded = limits::call::<()>(&lua, &host.limits, &load, ());
        setup.heartbeat.leave();
        host.limits.reraise()?;
        let stopped_while_loading = loaded.is_err() && host.stopped.get();
        if !stopped_while_loading {
            loaded?;
        }
        host.limits.finish_loading();
        prelude.seal.call::<()>(!stopped_while_loading)?;
        host.recorder.get_or_init(|| setup.recorder.clone());
        let run = prelude.run;
        host.live.get_or_init(|| prelude.live);
        let on_request = if program.observes_requests {
            prelude.handlers.raw_get(Hook::Request.name())?
        } else {
            None
        };
        drop((load, prelude.seal, prelude.globals, prelude.handlers));
        sandbox::collect_young(&lua);
        Ok(Vm {
            coroutine: Coroutine::new(&lua, run.clone())?,
            run,
            on_request,
            stopped_while_loading,
            host,
            lua,
            heartbeat: setup.heartbeat.clone(),
            ended_by_limit: false,
            turn: Duration::ZERO,
        })
    }

    /// Starts the task with that index of declaration.
    pub fn start(&mut self, task: usize, iteration: u64) -> Step {
        if self.stopped_while_loading {
            return Step::Op(Op::OutOfRows);
        }
        self.host.task.set(Some(task));
        self.enter([
            PlainValue::Integer(task as i64 + 1),
            PlainValue::Integer(iteration as i64),
        ])
    }

    /// Starts the plan's function for an event.
    pub fn start_event(&mut self, event: PlanEvent) -> Step {
        self.host.task.set(None);
        self.host.event.set(Some(event));
        self.enter(Converted((event.name(), 1)))
    }

    fn enter(&mut self, arguments: impl Arguments) -> Step {
        self.host.limits.forget_shortage();
        match self.prepare_thread() {
            Ok(()) => {
                // A task may end within transactions, and close its open variables within others.
                if let Some(tags) = &mut *self.host.tags.borrow_mut() {
                    tags.leave(0);
                }
                self.step(arguments)
            }
            Err(error) => ended(&self.host, &error, &mut self.ended_by_limit),
        }
    }

    /// Prepares the coroutine for another task.
    fn prepare_thread(&mut self) -> mlua::Result<()> {
        if self.ended_by_limit {
            return self.recover();
        }
        if self.coroutine.is_ready() {
            return Ok(());
        }
        // A task that raised, or that the engine left waiting, closes its open variables here, by its own code.
        self.heartbeat.enter(self.host.user, self.host.task.get());
        let reset = self.coroutine.reset(&self.host.limits, self.run.clone());
        self.heartbeat.leave();
        if self.host.limits.is_killed() {
            self.host.limits.reset();
        } else if reset.is_ok() {
            return Ok(());
        }
        // A coroutine that raised while it was closed cannot be reset.
        self.coroutine = Coroutine::new(&self.lua, self.run.clone())?;
        Ok(())
    }

    /// Recovers from a task that a limit has ended. Its coroutine is dropped, not reset: that would run the rest of the
    /// plan's code with hooks off, as they were when the hook raised. A VM that stays full is built anew, without the
    /// values that the plan kept in it.
    fn recover(&mut self) -> mlua::Result<()> {
        self.ended_by_limit = false;
        self.host.limits.reset();
        let replaced = self.replace_thread();
        if replaced.is_ok() && self.used_memory() <= self.host.limits.memory / 4 * 3 {
            return Ok(());
        }
        let (Some(session), Some(recorder)) = (&self.host.session, self.host.recorder.get()) else {
            return replaced;
        };
        let (session, recorder) = (session.clone(), recorder.clone());
        let program = self.host.program.clone();
        let heartbeat = self.heartbeat.clone();
        let fresh = Vm::build(
            &program,
            VmSetup {
                user: self.host.user,
                random_stream: self.host.user,
                scenario: &self.host.scenario,
                session,
                recorder: &recorder,
                memory: self.host.limits.memory as u64,
                time: self.host.limits.time,
                heartbeat: &heartbeat,
                run: self.host.run.clone(),
            },
        )?;
        fresh.host.random.swap(&self.host.random);
        fresh.host.task.swap(&self.host.task);
        fresh.host.event.swap(&self.host.event);
        fresh.host.tags.swap(&self.host.tags);
        *self = fresh;
        self.coroutine = Coroutine::new(&self.lua, self.run.clone())?;
        Ok(())
    }

    fn replace_thread(&mut self) -> mlua::Result<()> {
        self.coroutine = Coroutine::new(&self.lua, self.run.clone())?;
        self.collect()
    }

    /// Runs a full collection of the VM and of the bodies outside it.
    fn collect(&self) -> mlua::Result<()> {
        self.lua.gc_collect()?;
        self.drop_dead();
        Ok(())
    }

    /// Makes the state of a job that the running code begins.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn make_job(&self) -> Result<JobState, String> {
        match Coroutine::new(&self.lua, self.run.clone()) {
            Ok(coroutine) => Ok(JobState::new(&self.host, coroutine)),
            Err(_) => Err(self.host.limits.refuse_memory()),
        }
    }

    /// Exchanges the state of the code that runs for that of a job, and back.
    pub fn exchange(&mut self, job: &mut JobState) {
        job.exchange(&self.host, &mut self.coroutine);
    }

    /// Starts a job, whose state is in place.
    pub fn start_job(&mut self, job: JobFunction) -> Step {
        self.step(Converted(job.function))
    }

    /// Closes the open variables of an unfinished job, by the plan's own code; its state is in place. Returns the error
    /// of that code.
    pub fn end_job(&mut self) -> Option<RaisedError> {
        if self.coroutine.is_ready() || self.ended_by_limit {
            return None;
        }
        self.heartbeat.enter(self.host.user, self.host.task.get());
        let reset = self.coroutine.reset(&self.host.limits, self.run.clone());
        self.heartbeat.leave();
        self.ended_by_limit |= self.host.limits.is_killed();
        let raised = |error| diagnostics::to_raised(&error, &self.host.program.sources);
        reset.err().map(raised)
    }

    /// Whether a limit has ended code of the user: nothing of it runs on.
    pub fn was_ended_by_limit(&self) -> bool {
        self.ended_by_limit
    }

    /// Resumes the task after [`Op::Request`] with its outcome.
    pub fn resume_request(&mut self, finished: Finished) -> Step {
        let full = self.is_full();
        let status = finished.status();
        let failed = finished.failure().is_some();
        let slot = self.host.responses.borrow_mut().insert_one(finished);
        if full {
            // The response counts all the same; the message is raised at the plan's line.
            self.raise_full(failed)
        } else {
            self.step([
                PlainValue::Integer(status.into()),
                PlainValue::Integer(slot as i64),
                PlainValue::Flag(failed),
            ])
        }
    }

    /// Resumes the task after [`Op::Fetch`] with the outcomes in the order of the list; with `overfull`, their bodies
    /// took more memory than the plan may hold, and are missing.
    pub fn resume_list(&mut self, finished: Vec<Finished>, overfull: bool) -> Step {
        let full = overfull || self.is_full();
        let count = finished.len() as i64;
        let failed = finished.iter().any(|finished| finished.failure().is_some());
        // An empty list has nothing that a slot could hold, and no verdict after which one would be free again.
        let slot = match count {
            0 => 0,
            _ => self.host.responses.borrow_mut().insert_many(finished),
        };
        if full {
            self.raise_full(failed)
        } else {
            self.step([
                PlainValue::Integer(slot as i64),
                PlainValue::Integer(count),
                PlainValue::Flag(failed),
            ])
        }
    }

    /// Returns whether the plan holds more than it may, the bodies outside of Lua included, after a collection if
    /// need be. The response that is about to be added is not counted: its size is limited by '--max-body'.
    fn is_full(&self) -> bool {
        let limit = self.host.limits.memory;
        self.used_memory() > limit && (self.collect().is_err() || self.used_memory() > limit)
    }

    /// Resumes the task after [`Op::Call`] or [`Op::Socket`] with whether it succeeded, and with its value or its failure.
    pub fn resume_call(&mut self, outcome: Result<CallValue, Failure>) -> Step {
        if self.is_full() {
            return self.raise_full(outcome.is_err());
        }
        let value = match &outcome {
            Ok(CallValue::Nothing) => Ok(Value::Nil),
            Ok(CallValue::Bytes(bytes)) => self.lua.create_string(bytes).map(Value::String),
            Ok(CallValue::Socket(socket)) => {
                api::net_socket(&self.lua, socket.clone()).map(Value::UserData)
            }
            Err(failure) => self
                .lua
                .create_string(failure.to_string())
                .map(Value::String),
        };
        match value {
            Ok(value) => self.step(Converted((outcome.is_ok(), value))),
            Err(error) => ended(&self.host, &error, &mut self.ended_by_limit),
        }
    }

    /// Resumes the task after [`Op::Request`] whose response is read while it comes, with the stream.
    pub fn resume_stream(&mut self, stream: Rc<ResponseStream>) -> Step {
        if self.is_full() {
            return self.raise_full(false);
        }
        let held = match (stream.body.socket(), stream.body.call()) {
            (Some(_), _) => api::socket(&self.lua, stream),
            (None, Some(_)) => api::call(&self.lua, stream),
            (None, None) => api::stream(&self.lua, stream),
        };
        match held {
            Ok(stream) => self.step(Converted((0, 0, stream))),
            Err(error) => ended(&self.host, &error, &mut self.ended_by_limit),
        }
    }

    /// Resumes the task after [`Op::Receive`] whose time is up.
    pub fn resume_time_up(&mut self) -> Step {
        self.step(Converted(true))
    }

    /// Resumes the task after [`Op::BeginExchange`] with its number.
    pub fn resume_exchange(&mut self, number: u64) -> Step {
        self.step(Converted(number as i64))
    }

    /// Resumes the task after [`Op::Spawn`] with the number of the job.
    pub fn resume_spawned(&mut self, number: u64) -> Step {
        self.step([PlainValue::Integer(number as i64)])
    }

    /// Resumes the task after [`Op::Join`] with the error of the job, if it raised one.
    pub fn resume_joined(&mut self, raised: Option<RaisedError>) -> Step {
        let Some(raised) = raised else {
            return self.go_on();
        };
        self.refuse(match raised.line {
            Some(line) => format!("{line}: {}", raised.message),
            None => raised.message,
        })
    }

    /// Resumes the task after [`Op::Take`] with the value taken.
    pub fn resume_value(&mut self, value: Option<SharedValue>) -> Step {
        let value = value.map_or(Ok(Value::Nil), |value| self.lua.to_value(&*value));
        match value {
            Ok(value) => self.step(Converted(value)),
            Err(error) => ended(&self.host, &error, &mut self.ended_by_limit),
        }
    }

    /// Resumes the task after an operation without a result: [`Op::Wait`], [`Op::Await`] or [`Op::Ready`].
    pub fn go_on(&mut self) -> Step {
        self.step([])
    }

    /// Returns how much processor time the latest step took, once; zero unless it is at least some 10 ms.
    pub fn take_turn(&mut self) -> Duration {
        std::mem::take(&mut self.turn)
    }

    /// Returns where the plan was last seen at work, as " in json.decode at file:line", if it has computed for long. Two functions
    /// are named if the line calls both, and none if it calls more.
    pub fn latest_line(&self) -> Option<String> {
        let (file, line) = self.host.limits.latest_line()?;
        let source = self.host.program.sources.text(&file);
        let call = match calls_of(&source, line)[..] {
            [one] => format!(" in {one}"),
            [one, other] => format!(" in {one} or {other}"),
            _ => String::new(),
        };
        Some(format!("{call} at {file}:{line}"))
    }

    /// Ends the time of a task that was preempted: it goes on with the error that its time is over.
    pub fn use_up_time(&mut self) {
        self.host.limits.use_up_clock();
    }

    /// Resumes the task after [`Step::Preempted`], within the rest of its time.
    pub fn compute_on(&mut self) -> Step {
        self.step([])
    }

    /// Raises, at the waiting line of the plan, that the plan holds too much; `failed` is whether a request has failed
    /// there.
    fn raise_full(&mut self, failed: bool) -> Step {
        let problem = self.host.limits.refuse_memory();
        self.step(Converted((Value::Nil, problem, failed)))
    }

    /// Resumes the task after an operation that cannot be carried out, which raises that message at the plan's line.
    pub fn refuse(&mut self, problem: String) -> Step {
        self.step(Converted((Value::Nil, problem)))
    }

    fn step(&mut self, arguments: impl Arguments) -> Step {
        // The watchdog also watches the reading of the plan's operation.
        self.heartbeat.enter(self.host.user, self.host.task.get());
        let limits = self.host.limits.clone();
        // So does the limit of time, and an operation that is refused does not renew it: nothing has waited.
        let entered = self.coroutine.enter(&limits);
        let mut result = self.run_on(arguments);
        let step = loop {
            match result {
                Ok(step) => break step,
                Err(problem) => result = self.run_on(Converted((Value::Nil, problem))),
            }
        };
        drop(entered);
        self.turn = limits::latest_turn();
        self.heartbeat.leave();
        step
    }

    /// Runs the task until its next operation or its end.
    ///
    /// # Errors
    /// The problem with the operation, to be raised by the prelude at the plan's line.
    fn run_on(&mut self, arguments: impl Arguments) -> Result<Step, String> {
        let host = &self.host;
        let resumed = self.coroutine.resume(&host.limits, arguments);
        // Whatever the plan has done with the error, the task has ended.
        if let Some(step) = killed(host, &mut self.ended_by_limit) {
            return Ok(step);
        }
        let yielded = match resumed {
            Ok(ResumeResult::Yielded(yielded)) => yielded,
            Ok(ResumeResult::Preempted) => {
                host.limits.suspend_clock();
                return Ok(Step::Preempted);
            }
            Ok(ResumeResult::Ended) => return Ok(Step::Done),
            Err(error) => return Ok(ended(host, &error, &mut self.ended_by_limit)),
        };
        let draw = |wait: Wait| {
            let random = &mut *self.host.random.borrow_mut();
            wait.after_task(random, TaskTiming::default(), None).pause
        };
        let mut budget = self.host.budget(&self.lua);
        let see = |value| self.host.without_views(&self.lua, value);
        match Op::read(yielded, &see, &mut budget, draw) {
            Some(Ok(mut op)) => {
                if let Some(tags) = &mut *self.host.tags.borrow_mut()
                    && let Err(problem) = op.tag(tags, &mut budget)
                {
                    return killed(&self.host, &mut self.ended_by_limit).ok_or(problem);
                }
                if let Some(found) = &*self.host.found.borrow() {
                    found.set_referrers(&mut op);
                }
                Ok(Step::Op(op))
            }
            // Reading it may have taken the rest of the time.
            Some(Err(problem)) => killed(&self.host, &mut self.ended_by_limit).ok_or(problem),
            None => Ok(Step::Raised(Box::new(RaisedError {
                message: "the task waits for nothing that lgoose knows".to_owned(),
                line: None,
                backtrace: None,
            }))),
        }
    }

    /// Returns whether the plan has a function that sees each request.
    pub fn observes_requests(&self) -> bool {
        self.on_request.is_some() && !self.ended_by_limit && !self.stopped_while_loading
    }

    /// Shows the plan no more requests.
    pub fn stop_observing(&mut self) {
        self.on_request = None;
    }

    /// Shows the plan requests that have been counted. An error in its function is a warning. However many they are, they
    /// are one time slice: nothing else runs on the thread meanwhile.
    pub fn observe_requests<'a>(&mut self, requests: impl Iterator<Item = HookRequest<'a>>) {
        let Some(handler) = &self.on_request else {
            return;
        };
        self.heartbeat.enter(self.host.user, self.host.task.get());
        let limits = &self.host.limits;
        let entered = limits::enter(&self.lua, limits);
        for one in requests {
            let facts = one.facts(&self.lua);
            let result = facts.and_then(|facts| handler.call::<()>(facts));
            if limits.is_killed() {
                break;
            }
            if let Err(error) = result {
                let error = limits.with_place(error);
                let raised = hooks::raised(&error, &self.host.program.sources);
                hooks::warn(&self.host, &raised);
            }
        }
        drop(entered);
        limits.forget_shortage();
        self.heartbeat.leave();
        if let Some(killed) = limits.killed() {
            self.ended_by_limit = true;
            hooks::warn(&self.host, &killed);
        }
    }

    /// Returns whether the plan may overrule the verdicts of a task's requests until the task ends.
    pub fn judges(&self) -> bool {
        self.host.program.judges()
    }

    /// Calls `judge` for every response of the latest operation, whose verdict the plan can no longer change.
    pub fn settle(&mut self, mut judge: impl FnMut(usize, &Finished)) {
        let mut responses = self.host.responses.borrow_mut();
        for (place, finished) in responses.open().iter().enumerate() {
            judge(place, finished);
        }
        responses.close();
        drop(responses);
        if self.needs_collection() {
            self.reclaim();
        }
    }

    /// Calls `look` for every response of the latest operation, whose verdict the plan may still change.
    pub fn each_open(&mut self, mut look: impl FnMut(usize, &mut Finished)) {
        let mut responses = self.host.responses.borrow_mut();
        for (place, finished) in responses.open().iter_mut().enumerate() {
            look(place, finished);
        }
    }

    /// Keeps the responses of the latest operation open while another begins; `None` if there are none. Its requests, which
    /// take that many bytes, count as the plan's memory as long as they are open.
    pub fn park(&mut self, bytes: usize) -> Option<Parked> {
        let index = self.host.responses.borrow_mut().park()?;
        Some(Parked {
            index,
            _held: self.host.account.hold(bytes),
        })
    }

    /// Calls `judge` for every response that was parked there, whose verdict is final from now on.
    pub fn unpark(&mut self, parked: &Parked, mut judge: impl FnMut(usize, &Finished)) {
        let mut responses = self.host.responses.borrow_mut();
        for (place, finished) in responses.at(parked.index).iter().enumerate() {
            judge(place, finished);
        }
        responses.unpark(parked.index);
    }

    /// Returns whether the plan still holds responses that were parked there, as far as the latest collection has found.
    pub fn holds(&self, parked: &Parked) -> bool {
        self.host.is_live(parked.index + 1)
    }

    /// Returns whether so much is held that it is time to look for dead responses.
    pub fn needs_collection(&self) -> bool {
        let session = self.host.session.as_ref();
        let connections = session.map_or(0, |session| session.shard_connections());
        let responses = self.host.responses.borrow();
        responses.needs_collection(connections)
    }

    /// Runs a full collection if the plan seems to hold more than it may. Returns whether a collection has run.
    pub fn collect_if_full(&mut self) -> bool {
        // One that fails leaves the slots as they are; the limits end a plan that goes on so.
        self.used_memory() > self.host.limits.memory && self.lua.gc_collect().is_ok()
    }

    /// Collects everything that the plan no longer holds.
    pub fn collect_all(&mut self) {
        // The first time, objects with destructors are only found. A collection that fails leaves things as they are.
        for _ in 0..2 {
            let _failed = self.lua.gc_collect();
        }
    }

    /// Looks for responses that the plan no longer holds; they are freed by [`Vm::reclaim`].
    pub fn find_dead(&mut self) {
        let _failed = self.lua.gc_step();
    }

    /// Frees the bodies that the plan no longer holds, and the parts of modules that it no longer needs. Mostly takes a few
    /// microseconds, which a user that is about to wait can spare.
    pub fn reclaim(&mut self) {
        self.collect_parts();
        if self.host.responses.borrow().is_empty() {
            return;
        }
        // A failing collection leaves the slots as they are; the limits end a plan that goes on so.
        if self.lua.gc_step().is_ok() {
            self.drop_dead();
        }
    }

    /// Collects the parts of modules that were loaded for a while and are no longer needed, if they are worth it.
    pub fn collect_parts(&mut self) {
        let parts = &self.host.parts;
        if parts.is_due(|| self.lua.used_memory()) {
            let before = self.lua.used_memory();
            // A collection that fails leaves things as they are.
            let _failed = self.lua.gc_collect();
            parts.collected(before.saturating_sub(self.lua.used_memory()));
        }
    }

    /// Notes that lgoose made the user wait, which is no part of its transactions.
    pub fn hold_up(&self, waited: Duration) {
        let held_up = &self.host.held_up;
        held_up.set(held_up.get() + waited);
    }

    /// Frees the responses that the latest collection has found dead.
    pub fn drop_dead(&self) {
        self.host.drop_dead();
    }

    /// Returns the memory of the VM in bytes: Lua's own and the responses that it holds outside.
    pub fn used_memory(&self) -> usize {
        self.lua.used_memory() + self.host.held_bytes()
    }
}

/// Returns the end of a task by the limit of its time, if that is over; sets `ended_by_limit` then.
fn killed(host: &VmHost, ended_by_limit: &mut bool) -> Option<Step> {
    let raised = host.limits.killed()?;
    *ended_by_limit = true;
    Some(Step::Raised(Box::new(host.located(raised))))
}

/// Returns the end of a task by an error; sets `ended_by_limit` if the limit of its memory was the cause.
fn ended(host: &VmHost, error: &mlua::Error, ended_by_limit: &mut bool) -> Step {
    let sources = &host.program.sources;
    let mut raised = diagnostics::to_raised(error, sources);
    let stack = raised.backtrace.take();
    raised.backtrace = stack.and_then(|stack| diagnostics::calls_of_plan(&stack, sources));
    if let Some((lossy, shown)) = host.raised_bytes.take() {
        raised.message = raised.message.replace(lossy.trim_end(), shown.trim_end());
    }
    if diagnostics::is_of_memory(error) {
        host.limits.note_full();
    }
    if host.limits.is_full() {
        raised.message = host.limits.out_of_memory();
    }
    *ended_by_limit |= host.limits.is_short();
    Step::Raised(Box::new(host.located(raised)))
}
