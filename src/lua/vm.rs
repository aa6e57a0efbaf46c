//! The VM of one user: runs the tasks of its plan as coroutines and hands their operations to the engine.

use crate::error::Error;
use crate::lua::api::start_prelude;
use crate::lua::diagnostics::{self, Raised};
use crate::lua::limits::{
    self, Arguments, Converted, Coroutine, Heartbeat, Limits, Plain, Resumed,
};
use crate::lua::plan_files::Program;
use crate::lua::requests::{Finished, Op};
use crate::lua::sandbox::{self, Host, stream};
use crate::lua::state::Value as SharedValue;
use crate::lua::vm_setup::VmSetup;
use crate::plan::{Event, Hook};
use mlua::{Function, Lua, LuaSerdeExt as _, Table, Value};
use rand::RngExt as _;
use std::rc::Rc;
use std::sync::Arc;

/// The state of a task after it was resumed.
#[derive(Debug)]
pub enum Step {
    /// It waits for an operation.
    Op(Op),
    /// It has ended.
    Done,
    /// It has raised an error and ended.
    Raised(Raised),
}

/// A user's VM.
#[derive(Debug)]
pub struct Vm {
    pub(super) lua: Lua,
    pub(super) host: Rc<Host>,
    run: Function,
    /// The plan's function that sees each request.
    pub(super) on_request: Option<Function>,
    coroutine: Coroutine,
    /// Whether the plan's top level found no row left for this user, which then stops at its first task.
    pub(super) stopped_while_loading: bool,
    /// Shows the watchdog whose code runs.
    pub(super) heartbeat: Arc<Heartbeat>,
    /// Whether a limit ended the latest task, whose coroutine must not be touched any more.
    pub(super) ended_by_limit: bool,
}

impl Vm {
    /// Creates a VM and runs the plan's top level in it, which takes tens of microseconds.
    ///
    /// # Errors
    /// What the plan's top level raises, as a diagnostic.
    pub fn new(program: &Arc<Program>, setup: VmSetup<'_>) -> Result<Vm, Error> {
        let explain =
            |error: mlua::Error| Error::from(diagnostics::diagnose(&error, &program.sources));
        Vm::build(program, setup).map_err(explain)
    }

    fn build(program: &Arc<Program>, setup: VmSetup<'_>) -> mlua::Result<Vm> {
        let limits = Limits::new(setup.time, setup.memory, Some(setup.heartbeat.clone()));
        let mut host = Host::new(
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
            .set_environment(prelude.raw_get("env")?)
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
        prelude
            .raw_get::<Function>("seal")?
            .call::<()>(!stopped_while_loading)?;
        host.recorder.get_or_init(|| setup.recorder.clone());
        let run: Function = prelude.raw_get("run")?;
        let live = prelude.raw_get("live")?;
        host.live.get_or_init(|| live);
        let on_request = if program.hears_requests {
            prelude
                .raw_get::<Table>("handlers")?
                .raw_get(Hook::Request.name())?
        } else {
            None
        };
        drop((load, prelude));
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
        })
    }

    /// Starts the task with that index of declaration.
    pub fn start(&mut self, task: usize, iteration: u64) -> Step {
        if self.stopped_while_loading {
            return Step::Op(Op::Stop);
        }
        self.host.task.set(Some(task));
        self.enter([
            Plain::Integer(task as i64 + 1),
            Plain::Integer(iteration as i64),
        ])
    }

    /// Starts the plan's function for an event.
    pub fn start_event(&mut self, event: Event) -> Step {
        self.host.task.set(None);
        self.enter(Converted((event.name(), 1)))
    }

    fn enter(&mut self, arguments: impl Arguments) -> Step {
        match self.prepare_thread() {
            Ok(()) => {
                // A task may end within transactions, and close within others what it has left open.
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
        // A task that raised, or that the engine left waiting, closes here what it has to close, by its own code.
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

    /// Recovers from a task that a limit has ended. Its coroutine is dropped, not reset: that would run the rest of
    /// the plan's code with hooks off, as they were when the hook raised. A VM that stays full is built
    /// anew, without what the plan kept in it.
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

    /// Resumes the task after [`Op::Request`] with its outcome.
    pub fn answer(&mut self, finished: Box<Finished>) -> Step {
        let full = self.is_full();
        let status = finished.status();
        let failed = finished.failure.is_some();
        let slot = self.host.responses.borrow_mut().insert_one(finished);
        if full {
            // The response counts all the same; the message is raised at the plan's line.
            self.raise_full(failed)
        } else {
            self.step([
                Plain::Integer(status.into()),
                Plain::Integer(slot as i64),
                Plain::Flag(failed),
            ])
        }
    }

    /// Resumes the task after [`Op::Fetch`] with the outcomes in the order of the list; with `overfull`, their bodies
    /// took more memory than the plan may hold, and are missing.
    pub fn answer_list(&mut self, finished: Vec<Finished>, overfull: bool) -> Step {
        let full = overfull || self.is_full();
        let count = finished.len() as i64;
        let failed = finished.iter().any(|finished| finished.failure.is_some());
        // An empty list has nothing that a slot could hold, and no verdict after which one would be free again.
        let slot = match count {
            0 => 0,
            _ => self.host.responses.borrow_mut().insert_many(finished),
        };
        if full {
            self.raise_full(failed)
        } else {
            self.step([
                Plain::Integer(slot as i64),
                Plain::Integer(count),
                Plain::Flag(failed),
            ])
        }
    }

    /// Returns whether the plan holds more than it may, the bodies outside of Lua included, after a collection if
    /// need be. The response that is about to be added is not counted: its size is limited by '--max-body'.
    fn is_full(&self) -> bool {
        let limit = self.host.limits.memory;
        self.used_memory() > limit && (self.collect().is_err() || self.used_memory() > limit)
    }

    /// Resumes the task after [`Op::Take`] with what was taken.
    pub(crate) fn answer_value(&mut self, value: Option<SharedValue>) -> Step {
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

    /// Raises at the line of the plan that waits that it holds too much; `failed` says whether a request has failed there.
    fn raise_full(&mut self, failed: bool) -> Step {
        let problem = self.host.limits.out_of_memory();
        self.step(Converted((Value::Nil, problem, failed)))
    }

    fn step(&mut self, arguments: impl Arguments) -> Step {
        // The watchdog also watches the reading of what the plan asks for.
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
        self.heartbeat.leave();
        step
    }

    /// Runs the task until its next operation or its end.
    ///
    /// # Errors
    /// What is wrong with the operation, to be raised by the prelude at the plan's line.
    fn run_on(&mut self, arguments: impl Arguments) -> Result<Step, String> {
        let host = &self.host;
        let resumed = self.coroutine.resume(&host.limits, arguments);
        // Whatever the plan has done with the error, the task has ended.
        if let Some(step) = killed(host, &mut self.ended_by_limit) {
            return Ok(step);
        }
        let yielded = match resumed {
            Ok(Resumed::Yielded(yielded)) => yielded,
            Ok(Resumed::Ended) => return Ok(Step::Done),
            Err(error) => return Ok(ended(host, &error, &mut self.ended_by_limit)),
        };
        let random = || self.host.random.borrow_mut().random::<f64>();
        let mut budget = self.host.budget(&self.lua);
        match Op::read(yielded, &mut budget, random) {
            Some(Ok(mut op)) => {
                if let Some(tags) = &mut *self.host.tags.borrow_mut()
                    && let Err(problem) = op.tag(tags, &mut budget)
                {
                    return killed(&self.host, &mut self.ended_by_limit).ok_or(problem);
                }
                if let Some(found) = &*self.host.found.borrow() {
                    found.tell(&mut op);
                }
                Ok(Step::Op(op))
            }
            // Reading it may have taken the rest of the time.
            Some(Err(problem)) => killed(&self.host, &mut self.ended_by_limit).ok_or(problem),
            None => Ok(Step::Raised(Raised {
                message: "the task waits for nothing that lgoose knows".to_owned(),
                line: None,
                backtrace: None,
            })),
        }
    }

    /// Returns the memory of the VM in bytes: Lua's own and the responses that it holds outside.
    pub fn used_memory(&self) -> usize {
        self.lua.used_memory() + self.host.held_bytes()
    }
}

/// Returns the end of a task by the limit of its time, if that is over; sets `ended_by_limit` then.
fn killed(host: &Host, ended_by_limit: &mut bool) -> Option<Step> {
    let raised = host.limits.killed()?;
    *ended_by_limit = true;
    Some(Step::Raised(host.located(raised)))
}

/// Returns the end of a task by an error; sets `ended_by_limit` if the limit of its memory was the cause.
fn ended(host: &Host, error: &mlua::Error, ended_by_limit: &mut bool) -> Step {
    let mut raised = diagnostics::to_raised(error, &host.program.sources);
    if let Some((lossy, shown)) = host.raised_bytes.take() {
        raised.message = raised.message.replace(lossy.trim_end(), shown.trim_end());
    }
    if raised.message.starts_with(limits::NOT_ENOUGH) {
        raised.message = host.limits.out_of_memory();
        *ended_by_limit = true;
    }
    Step::Raised(host.located(raised))
}
