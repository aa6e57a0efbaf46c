//! One user's VM: runs the tasks of its plan as coroutines and hands their operations to the engine.

use super::fault::{self, Raised};
use super::host::Host;
use super::op::{Op, Yielded};
use super::program::Program;
use super::responses::{Address, Finished};
use super::{api, sandbox};
use crate::error::{Diagnostic, Error};
use crate::http::Session;
use crate::metrics::Recorder;
use crate::plan::Event;
use mlua::{Function, IntoLuaMulti, Lua, Table, Thread, Value};
use rand::RngExt as _;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Who the VM is for.
#[derive(Debug, Clone)]
pub struct VmSetup<'a> {
    /// The user's number, from 1.
    pub user: u64,
    /// The name of its scenario.
    pub scenario: &'a str,
    /// Its browser.
    pub session: Rc<Session>,
    /// How much memory it may take, in bytes.
    pub memory: u64,
    /// Where its plan's checks, metrics and transactions are counted. Not borrowed while the VM runs.
    pub recorder: &'a Rc<RefCell<Recorder>>,
}

/// How far a task got.
#[derive(Debug)]
pub enum Step {
    /// It waits for this operation.
    Op(Op),
    /// It has ended.
    Done,
    /// It has raised an error and ended.
    Raised(Raised),
}

/// A user's VM.
#[derive(Debug)]
pub struct Vm {
    lua: Lua,
    host: Rc<Host>,
    run: Function,
    handle: Function,
    live: Table,
    thread: Thread,
    /// Whether the plan's top level found no row left for this user, which ends with its first task.
    stillborn: bool,
}

impl Vm {
    /// A VM with the plan loaded. Costs tens of microseconds.
    ///
    /// # Errors
    /// What the plan's top level raises, as a diagnostic.
    pub fn new(program: &Arc<Program>, setup: VmSetup<'_>) -> Result<Vm, Error> {
        let explain = |error: mlua::Error| Error::from(fault::diagnose(&error, &program.sources));
        Vm::build(program, setup).map_err(explain)
    }

    fn build(program: &Arc<Program>, setup: VmSetup<'_>) -> mlua::Result<Vm> {
        let host = Rc::new(Host::new(
            program.clone(),
            setup.user,
            setup.scenario,
            Some(setup.session.clone()),
        ));
        let lua = sandbox::new_state()?;
        lua.set_app_data(host.clone());
        let facts = lua.create_table()?;
        facts.raw_set("id", setup.user)?;
        facts.raw_set("scenario", setup.scenario)?;
        facts.raw_set("host", setup.session.base().trim_end_matches('/'))?;
        let names = lua.create_sequence_from(
            program
                .task_names
                .iter()
                .map(|name| name.as_deref().unwrap_or("")),
        )?;
        let prelude = start_prelude(&lua, program, facts, names)?;
        let load = lua
            .load(program.plan.as_slice())
            .set_mode(mlua::chunk::ChunkMode::Binary)
            .set_environment(prelude.raw_get("env")?)
            .into_function()?;
        let loaded = load.call::<()>(());
        let stillborn = loaded.is_err() && host.stopped.get();
        if !stillborn {
            loaded?;
        }
        prelude.raw_get::<Function>("seal")?.call::<()>(())?;
        host.recorder.get_or_init(|| setup.recorder.clone());
        lua.set_memory_limit(setup.memory as usize)?;
        let run: Function = prelude.raw_get("run")?;
        Ok(Vm {
            thread: lua.create_thread(run.clone())?,
            live: prelude.raw_get("live")?,
            run,
            stillborn,
            handle: prelude.raw_get("handle")?,
            host,
            lua,
        })
    }

    /// Starts the task of that index of declaration.
    pub fn start(&mut self, task: usize, iteration: u64) -> Step {
        if self.stillborn {
            return Step::Op(Op::Stop);
        }
        self.enter(self.run.clone(), (task + 1, iteration))
    }

    /// Starts the plan's function for an event.
    pub fn start_event(&mut self, event: Event) -> Step {
        self.enter(self.handle.clone(), event.name())
    }

    fn enter(&mut self, function: Function, arguments: impl IntoLuaMulti) -> Step {
        let fresh = match self.thread.reset(function.clone()) {
            Ok(()) => Ok(()),
            // A coroutine that died with an error in a to-be-closed variable cannot be reset.
            Err(_) => self
                .lua
                .create_thread(function)
                .map(|thread| self.thread = thread),
        };
        match fresh {
            Ok(()) => self.step(arguments),
            Err(error) => Step::Raised(fault::raised(&error, &self.host.program.sources)),
        }
    }

    /// Goes on after [`Op::Request`] with its outcome.
    pub fn answer(&mut self, finished: Finished) -> Step {
        let status = finished.status();
        let failed = finished.failure.is_some();
        let slot = self.host.responses.borrow_mut().insert_one(finished);
        self.step((status, slot, failed))
    }

    /// Goes on after [`Op::Fetch`] with the outcomes in the order of the list.
    pub fn answer_list(&mut self, finished: Vec<Finished>) -> Step {
        let codes = self
            .lua
            .create_sequence_from(finished.iter().map(Finished::status));
        let failed = finished.iter().any(|finished| finished.failure.is_some());
        let slot = self.host.responses.borrow_mut().insert_many(finished);
        match codes {
            Ok(codes) => self.step((slot, codes, failed)),
            Err(error) => Step::Raised(fault::raised(&error, &self.host.program.sources)),
        }
    }

    /// Goes on after [`Op::Wait`].
    pub fn go_on(&mut self) -> Step {
        self.step(())
    }

    fn step(&mut self, arguments: impl IntoLuaMulti) -> Step {
        let mut yielded = self.thread.resume::<Yielded>(arguments);
        loop {
            let values = match yielded {
                Ok(values) => values,
                Err(error) => {
                    return Step::Raised(fault::raised(&error, &self.host.program.sources));
                }
            };
            let random = || self.host.random.borrow_mut().random::<f64>();
            match Op::read(values, random) {
                Some(Ok(op)) => return Step::Op(op),
                // Raised by the prelude, at the plan's line.
                Some(Err(problem)) => {
                    yielded = self.thread.resume::<Yielded>((Value::Nil, problem))
                }
                None if self.thread.is_finished() => return Step::Done,
                None => {
                    return Step::Raised(Raised {
                        message: "coroutine.yield outside of a coroutine of the plan's own"
                            .to_owned(),
                        line: None,
                        backtrace: None,
                    });
                }
            }
        }
    }

    /// Calls `judge` for every response whose verdict the plan can no longer change: those of the latest
    /// operation. Called before the next one and when a task has ended.
    pub fn settle(&mut self, mut judge: impl FnMut(usize, &Finished)) {
        let mut responses = self.host.responses.borrow_mut();
        for (place, finished) in responses.open().iter().enumerate() {
            judge(place, finished);
        }
        responses.close();
        let due = responses.wants_collection();
        drop(responses);
        if due {
            self.reclaim();
        }
    }

    /// Gives back the bodies that the plan no longer holds. Worth its few microseconds when the user is
    /// about to wait.
    pub fn reclaim(&mut self) {
        if self.host.responses.borrow().is_empty() {
            return;
        }
        // A failing collection leaves the slots as they are; the limits end a plan that goes on so.
        if self.lua.gc_step().is_ok() {
            let live = &self.live;
            self.host
                .responses
                .borrow_mut()
                .reclaim(|slot| !matches!(live.raw_get::<Value>(slot), Ok(Value::Nil)));
        }
    }

    /// Bytes that the VM takes: Lua's own and what it holds outside.
    pub fn used_memory(&self) -> usize {
        self.lua.used_memory() + self.host.responses.borrow().held_bytes()
    }
}

/// Runs the prelude in a fresh VM and gives what it returns.
pub(super) fn start_prelude(
    lua: &Lua,
    program: &Program,
    facts: Table,
    names: Table,
) -> mlua::Result<Table> {
    let prelude: Table = lua
        .load(program.prelude.as_slice())
        .set_mode(mlua::chunk::ChunkMode::Binary)
        .call((lua.create_function(api::lookup)?, facts, names))?;
    lua.set_named_registry_value(api::ENVIRONMENT, prelude.raw_get::<Table>("env")?)?;
    Ok(prelude)
}

/// The response that a plan's call is about.
pub(super) fn address_of(response: &Table) -> mlua::Result<Address> {
    response.raw_get::<i64>("slot").map(Address::from_lua)
}

/// An error that the prelude's callers see as a diagnostic, at the plan's line.
pub(super) fn mistake(lua: &Lua, diagnostic: Diagnostic) -> mlua::Error {
    let host = Host::of(lua);
    let placed = match super::host::plan_line(lua) {
        Some((file, line)) => {
            let text = host.program.sources.text(&file);
            diagnostic.at(file, Some(line), &text)
        }
        None => diagnostic,
    };
    mlua::Error::external(placed)
}
