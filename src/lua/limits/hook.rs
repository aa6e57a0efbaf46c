//! The limits of a VM: Lua time without waiting, and memory. A hook that Lua calls every few thousand
//! instructions reads the thread's clock; functions that work long inside one call report it with
//! [`Limits::spend`].

use super::heartbeat::Heartbeat;
use crate::lua::diagnostics::{Raised, plan_line};
use mlua::{HookTriggers, Lua, VmState};
use rustix::time::{ClockId, clock_gettime};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The number of instructions between two readings of the clock. Measured: having a hook makes code that only calls and
/// builds strings 8 to 12 % slower and an empty loop 70 % (Lua then counts every instruction); 10,000 costs no
/// more than 100,000, 1,000 would cost half as much again.
const EVERY: u32 = 10_000;
/// The same once the time is over: what is left (`__close`, a handler) must end soon.
const EVERY_WHEN_KILLED: u32 = 1_000;
/// The work inside calls between two readings of the clock, in bytes or steps.
const WORK: u64 = 4 << 20;

/// The limits of one VM and what it has used of them since the engine resumed it.
#[derive(Debug)]
pub(in crate::lua) struct Limits {
    pub(in crate::lua) time: Duration,
    pub(in crate::lua) memory: usize,
    /// The processor time of the thread at the first reading since the plan was resumed. It is not read earlier
    /// because resuming happens at every request, and reading this clock is a system call.
    begin: Cell<Option<Duration>>,
    work: Cell<u64>,
    kill: RefCell<Option<Raised>>,
    /// Whether the file's top level runs, not a task yet.
    loading: Cell<bool>,
    /// What the watchdog reads, in the VM of a user.
    heartbeat: Option<Arc<Heartbeat>>,
}

impl Limits {
    pub(in crate::lua) fn new(
        time: Duration,
        memory: u64,
        heartbeat: Option<Arc<Heartbeat>>,
    ) -> Limits {
        Limits {
            time,
            memory: usize::try_from(memory).unwrap_or(usize::MAX),
            begin: Cell::new(None),
            work: Cell::new(0),
            kill: RefCell::new(None),
            loading: Cell::new(true),
            heartbeat,
        }
    }

    /// Restarts the time, before the plan is resumed.
    pub(in crate::lua) fn restart_clock(&self) {
        self.begin.set(None);
    }

    /// Returns the error that ended the running task, if a limit has.
    pub(in crate::lua) fn killed(&self) -> Option<Raised> {
        self.kill.borrow().clone()
    }

    pub(in crate::lua) fn is_killed(&self) -> bool {
        self.kill.borrow().is_some()
    }

    /// Records that the top level has ended and tasks follow.
    pub(in crate::lua) fn finish_loading(&self) {
        self.loading.set(false);
        self.restart_clock();
    }

    /// Returns whether the file's top level runs.
    pub(in crate::lua) fn is_loading(&self) -> bool {
        self.loading.get()
    }

    /// Forgets the end of the latest task, before another one begins.
    pub(in crate::lua) fn reset(&self) {
        self.kill.replace(None);
        self.restart_clock();
    }

    /// Raises again the error that has ended the task, which no protected call of the plan may swallow.
    pub(in crate::lua) fn reraise(&self) -> mlua::Result<()> {
        match &*self.kill.borrow() {
            Some(kill) => Err(mlua::Error::RuntimeError(match &kill.line {
                Some(line) => format!("{line}: {}", kill.message),
                None => kill.message.clone(),
            })),
            None => Ok(()),
        }
    }

    /// Counts work that one call does without executing instructions.
    ///
    /// # Errors
    /// The error that ends the task, once its time is over.
    pub(in crate::lua) fn spend(self: &Rc<Self>, lua: &Lua, work: u64) -> mlua::Result<()> {
        let sum = self.work.get().saturating_add(work);
        if sum < WORK {
            self.work.set(sum);
            return Ok(());
        }
        self.work.set(0);
        self.check(lua)
    }

    /// Enforces the limits of this VM from now on.
    pub(in crate::lua) fn enforce(self: &Rc<Self>, lua: &Lua) -> mlua::Result<()> {
        self.install_hook(lua, EVERY)?;
        lua.set_memory_limit(self.memory)?;
        Ok(())
    }

    /// Installs the hook that limits the time; when called by the hook itself, for the coroutine that is running.
    ///
    /// Coroutines take the hook from the one that creates them (`lua_newthread`).
    fn install_hook(self: &Rc<Self>, lua: &Lua, every: u32) -> mlua::Result<()> {
        let triggers = HookTriggers::new().every_nth_instruction(every);
        let limits = self.clone();
        lua.set_global_hook(triggers, move |lua, _| {
            limits.check(lua)?;
            Ok(VmState::Continue)
        })
    }

    /// Reads the clock, and ends the task if its time is over.
    fn check(self: &Rc<Self>, lua: &Lua) -> mlua::Result<()> {
        self.reraise()?;
        let now = processor_time();
        let Some(begin) = self.begin.get() else {
            self.begin.set(Some(now));
            return Ok(());
        };
        let line = || plan_line(lua);
        if let Some(heartbeat) = &self.heartbeat
            && let Some((_, line)) = line()
        {
            heartbeat.set_line(line);
        }
        if now.saturating_sub(begin) <= self.time {
            return Ok(());
        }
        self.kill.replace(Some(Raised {
            message: format!(
                "{} ran for {} s of Lua without waiting{}",
                match self.loading.get() {
                    true => "the plan's top level",
                    false => "the task",
                },
                self.time.as_secs_f64(),
                // No flag limits the first loading of a plan: it may itself say what its limits are.
                self.heartbeat.as_ref().map_or("", |_| " ('--lua-time')"),
            ),
            line: line().map(|(file, line)| format!("{file}:{line}")),
            backtrace: None,
        }));
        self.install_hook(lua, EVERY_WHEN_KILLED)?;
        self.reraise()
    }
}

/// The beginning of every message about memory, Lua's own included.
pub(in crate::lua) const NOT_ENOUGH: &str = "not enough memory";

/// Formats the message for a task that would hold more memory than it may.
pub(in crate::lua) fn out_of_memory(memory: usize) -> String {
    format!(
        "{NOT_ENOUGH}: a user may hold {} MiB ('--lua-memory')",
        memory as f64 / f64::from(1 << 20)
    )
}

/// Returns the processor time of this thread: a busy machine must not end a task that computes little.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
