//! The limits of a VM: Lua time without waiting, and memory. Code that runs for long is interrupted by
//! [`interrupt`](super::interrupt); functions that work long inside one call report it by [`VmLimits::spend`].

use super::heartbeat::Heartbeat;
use crate::diagnostics::{RaisedError, plan_line};
use crate::plan_files::SourceLine;
use mlua::Lua;
use rustix::time::{ClockId, clock_gettime};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Limits far above the needs of a plan's top level, to end one that would never end.
pub const LOADING_TIME: Duration = Duration::from_secs(10);
const LOADING_MEMORY: u64 = 512 << 20;

/// The time limit of the function of `on("report")`, which everything else waits for.
pub const REPORT_TIME: Duration = Duration::from_secs(3);

/// The work inside calls between two readings of the clock, in bytes or steps.
const WORK: u64 = 4 << 20;

/// The work of a look into a table, which may have a million empty places.
pub(crate) const TABLE_LOOK: u64 = 4096;

/// The error that has reported to a plan that it would hold more memory than it may, until the plan has caught it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shortage {
    /// By Lua itself, whose error names neither the limit nor a place.
    OfLua,
    /// By lgoose, with a message of its own.
    Refused,
}

/// The limits of one VM, and its use of them since the engine resumed it.
#[derive(Debug)]
pub(crate) struct VmLimits {
    pub(crate) time: Duration,
    pub(crate) memory: usize,
    /// The processor time of the thread at the first reading since the plan was resumed. It is not read earlier
    /// because resuming happens at every request, and reading this clock is a system call.
    start: Cell<Option<Duration>>,
    /// The processor time that the task took before it was preempted, if it was.
    used: Cell<Option<Duration>>,
    work: Cell<u64>,
    /// Whether the clock is to be read again. A signal sets it.
    due: AtomicBool,
    kill: RefCell<Option<RaisedError>>,
    shortage: Cell<Option<Shortage>>,
    /// The line at which the plan was last seen at work, since it was resumed if `begin` is set.
    seen: RefCell<Option<SourceLine>>,
    /// Whether the file's top level runs, not a task yet.
    loading: Cell<bool>,
    /// Whether flags set the limits: none does when a plan is loaded first.
    by_flags: bool,
    /// The watchdog's view, where there is one.
    heartbeat: Option<Arc<Heartbeat>>,
}

impl VmLimits {
    pub(crate) fn new(time: Duration, memory: u64, heartbeat: Option<Arc<Heartbeat>>) -> VmLimits {
        VmLimits {
            time,
            memory: usize::try_from(memory).unwrap_or(usize::MAX),
            start: Cell::new(None),
            used: Cell::new(None),
            work: Cell::new(0),
            due: AtomicBool::new(false),
            kill: RefCell::new(None),
            shortage: Cell::new(None),
            seen: RefCell::new(None),
            loading: Cell::new(true),
            by_flags: heartbeat.is_some(),
            heartbeat,
        }
    }

    /// Makes the limits of the first loading of a plan: the plan's own settings of its limits are not known before.
    pub(crate) fn of_loading(heartbeat: Arc<Heartbeat>) -> VmLimits {
        VmLimits {
            by_flags: false,
            ..VmLimits::new(LOADING_TIME, LOADING_MEMORY, Some(heartbeat))
        }
    }

    /// Makes the limits of code after the run.
    pub(crate) fn of_report(heartbeat: Arc<Heartbeat>) -> VmLimits {
        VmLimits {
            time: REPORT_TIME,
            ..VmLimits::of_loading(heartbeat)
        }
    }

    /// Restarts the time, before the plan is resumed; after [`VmLimits::suspend_clock`], goes on with it.
    pub(crate) fn restart_clock(&self) {
        let used = self.used.take();
        if used.is_some()
            && let (Some(heartbeat), Some((_, line))) = (&self.heartbeat, &*self.seen.borrow())
        {
            heartbeat.set_line(*line);
        }
        self.start
            .set(used.map(|used| processor_time().saturating_sub(used)));
        self.due.store(false, Ordering::Relaxed);
    }

    /// Suspends the time of a task that was preempted, until it is resumed.
    pub(crate) fn suspend_clock(&self) {
        let used = |start| processor_time().saturating_sub(start);
        self.used.set(self.start.get().map(used));
    }

    /// Counts the whole time of a task that was preempted as taken.
    pub(crate) fn use_up_clock(&self) {
        self.used.set(Some(self.time));
    }

    /// Exchanges the time that preempted code took for that of other code of the user.
    pub(crate) fn exchange_used(&self, used: &mut Option<Duration>) {
        *used = self.used.replace(*used);
    }

    /// Returns the error that ended the running task, if a limit has.
    pub(crate) fn killed(&self) -> Option<RaisedError> {
        self.kill.borrow().clone()
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.kill.borrow().is_some()
    }

    /// Records that the top level has ended and tasks follow.
    pub(crate) fn finish_loading(&self) {
        self.loading.set(false);
        self.restart_clock();
    }

    /// Returns whether the file's top level runs.
    pub(crate) fn is_loading(&self) -> bool {
        self.loading.get()
    }

    /// Forgets the end of the latest task, before another one begins.
    pub(crate) fn reset(&self) {
        self.kill.replace(None);
        self.restart_clock();
    }

    /// Raises again the error that has ended the task, which no protected call of the plan may swallow.
    pub(crate) fn reraise(&self) -> mlua::Result<()> {
        self.ended()
            .map_or(Ok(()), |ended| Err(mlua::Error::RuntimeError(ended)))
    }

    /// Returns the message of that error, with its place.
    pub(crate) fn ended(&self) -> Option<String> {
        let kill = self.kill.borrow();
        kill.as_ref().map(|kill| match &kill.line {
            Some(line) => format!("{line}: {}", kill.message),
            None => kill.message.clone(),
        })
    }

    /// Lets a protected call of the plan catch an error: returns the message of the limit that has ended the task,
    /// which is to be raised again, and else forgets that memory was short, since further errors are the plan's own.
    pub(crate) fn catch(&self) -> Option<String> {
        self.forget_shortage();
        self.ended()
    }

    /// Notes that Lua itself has raised an error because its memory is full.
    pub(crate) fn note_full(&self) {
        self.shortage.set(Some(Shortage::OfLua));
    }

    /// Forgets that memory was short, before other code of the plan begins.
    pub(crate) fn forget_shortage(&self) {
        self.shortage.set(None);
    }

    /// Returns whether the error that is raised now is that memory is short.
    pub(crate) fn is_short(&self) -> bool {
        self.shortage.get().is_some()
    }

    /// Returns whether that error is Lua's own.
    pub(crate) fn is_full(&self) -> bool {
        self.shortage.get() == Some(Shortage::OfLua)
    }

    /// Counts work that one call does without executing instructions.
    ///
    /// # Errors
    /// The error that ends the task, once its time is over.
    pub(crate) fn spend(&self, lua: &Lua, work: u64) -> mlua::Result<()> {
        self.spend_at(work, || plan_line(lua))
    }

    /// Counts work of a call for which `line` finds where the plan is.
    ///
    /// # Errors
    /// The error that ends the task, once its time is over.
    pub(super) fn spend_at(
        &self,
        work: u64,
        line: impl Fn() -> Option<SourceLine>,
    ) -> mlua::Result<()> {
        let sum = self.work.get().saturating_add(work);
        if sum < WORK && !self.take_due() {
            self.work.set(sum);
            return Ok(());
        }
        self.work.set(0);
        self.check(line)
    }

    /// Reads the clock if the task has been running for long.
    pub(super) fn look_if_long(&self) -> Option<Duration> {
        self.start.get().map(|_| processor_time())
    }

    /// Ends the task if repeating its work since the given look would exceed its time. Costs nothing where the task has
    /// not been running for long.
    ///
    /// # Errors
    /// The error that ends the task.
    pub(super) fn repeat_since(
        &self,
        look: Option<Duration>,
        line: impl Fn() -> Option<SourceLine>,
    ) -> mlua::Result<()> {
        let Some(start) = self.start.get() else {
            return Ok(());
        };
        let again = processor_time().saturating_sub(look.unwrap_or(start));
        self.start.set(Some(start.saturating_sub(again)));
        let checked = self.check(line);
        self.start.set(Some(start));
        checked
    }

    /// Makes the next check read the clock. Signals call this.
    pub(super) fn make_due(&self) {
        self.due.store(true, Ordering::Relaxed);
    }

    /// Returns whether the clock is to be read.
    pub(super) fn is_due(&self) -> bool {
        self.due.load(Ordering::Relaxed)
    }

    /// Returns whether the clock is to be read, and resets that.
    pub(super) fn take_due(&self) -> bool {
        let due = self.due.load(Ordering::Relaxed);
        self.due.store(false, Ordering::Relaxed);
        due
    }

    /// Adds the line at which the plan was last seen at work to an error that Lua raises without a place, because its
    /// memory is full. Returns every other error as it is.
    pub(crate) fn with_place(&self, error: mlua::Error) -> mlua::Error {
        if matches!(error, mlua::Error::MemoryError(_)) {
            self.note_full();
        }
        match &*self.seen.borrow() {
            Some((file, line)) if self.is_full() && self.start.get().is_some() => {
                let message = self.out_of_memory();
                mlua::Error::RuntimeError(format!("{file}:{line}: {message}"))
            }
            _ => error,
        }
    }

    /// Returns the message that refuses a value beyond the plan's memory limit.
    pub(crate) fn refuse_memory(&self) -> String {
        self.shortage.set(Some(Shortage::Refused));
        self.out_of_memory()
    }

    /// Formats the message for code that would hold more memory than it may.
    pub(crate) fn out_of_memory(&self) -> String {
        out_of_memory(self.memory, self.by_flags)
    }

    /// Returns the line at which the plan was last seen at work, if it has been running for long.
    pub(crate) fn latest_line(&self) -> Option<SourceLine> {
        self.seen.borrow().clone()
    }

    /// Enforces the limit on memory from now on.
    pub(crate) fn enforce(&self, lua: &Lua) -> mlua::Result<()> {
        lua.set_memory_limit(self.memory)?;
        Ok(())
    }

    /// Reads the clock, and ends the task if its time is over.
    fn check(&self, line: impl Fn() -> Option<SourceLine>) -> mlua::Result<()> {
        self.reraise()?;
        if self.is_over(line) {
            self.reraise()
        } else {
            Ok(())
        }
    }

    /// Returns whether the time is over by the clock, and keeps the error that ends the task then. `line` finds where
    /// it is.
    pub(super) fn is_over(&self, line: impl Fn() -> Option<SourceLine>) -> bool {
        let now = processor_time();
        let start = self.start.get();
        if start.is_none() {
            self.start.set(Some(now));
            self.seen.replace(None);
        }
        // Lgoose's own code at the end of a task is in no line.
        if let Some(seen) = line() {
            if let Some(heartbeat) = &self.heartbeat {
                heartbeat.set_line(seen.1);
            }
            self.seen.replace(Some(seen));
        }
        let Some(start) = start else {
            return false;
        };
        if now.saturating_sub(start) <= self.time {
            return false;
        }
        self.kill.replace(Some(RaisedError {
            message: format!(
                "{} ran for {} s of Lua without waiting{}",
                if self.loading.get() {
                    "the plan's top level"
                } else {
                    "the task"
                },
                self.time.as_secs_f64(),
                if self.by_flags { " ('--lua-time')" } else { "" },
            ),
            line: line().map(|(file, line)| format!("{file}:{line}")),
            backtrace: None,
        }));
        true
    }
}

/// Formats the message for a task that would hold more memory than it may, or for code outside of tasks, whose limit no
/// flag sets.
fn out_of_memory(memory: usize, by_flags: bool) -> String {
    let (who, flag) = if by_flags {
        ("a user", " ('--lua-memory')")
    } else {
        ("a plan's code outside of tasks", "")
    };
    let mebibytes = memory as f64 / f64::from(1 << 20);
    format!("not enough memory: {who} may hold {mebibytes} MiB{flag}")
}

/// Returns the processor time of this thread: a busy machine must not end a task that computes little.
pub(crate) fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
