//! Interruption of plan code that does not return: a timer of the thread's processor time checks whether the same
//! code still runs, and if so sets Lua's hook for its next instruction, as `lua.c` does when Ctrl-C is pressed. The hook
//! ends code whose time is over, and preempts a task whose time is not: other users of the thread come first. Code that
//! returns soon never has a hook: a hook that counts instructions costs a loop 70 %, and calls 10 %.
//!
//! The code is unsafe because mlua can set a hook only from outside of a call, not from a signal; and the hook that it
//! sets takes the values of the interrupted function off Lua's stack before it raises, which closes its variables where
//! no hook can end their code.

#![allow(
    unsafe_code,
    reason = "Lua's hook is set by a signal and raises by itself, which mlua has no safe calls for"
)]

use super::vm_limits::VmLimits;
use crate::diagnostics::MOST_LEVELS;
use mlua::{FromLuaMulti, Function, IntoLuaMulti, LightUserData, Lua, Value, ffi};
use std::cell::{Cell, OnceCell};
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering, compiler_fence};
use std::time::Duration;

/// The processor time of a thread between two checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// No hook.
const NEVER: c_int = 0;
/// A hook before the next instruction.
const AT_ONCE: c_int = 1;
/// The instructions between two hooks where there is no timer: each hook reads the clock, which is a system call.
const EVERY_WITHOUT_TIMER: c_int = 10_000;
/// The same once the time is over: code that still runs (`__close`, a handler) must end soon.
const EVERY_WHEN_KILLED: c_int = 1_000;

/// The number of the marker that a preempted coroutine of the plan's own yields.
pub(super) const PREEMPTED: usize = usize::MAX;

/// Returns the marker that a preempted coroutine of the plan's own is passed on with.
pub(crate) fn preempted_marker() -> Value {
    Value::LightUserData(LightUserData(ptr::without_provenance_mut(PREEMPTED)))
}

/// The code that runs on a thread. Used only by the thread itself and by a signal that interrupts it.
struct RunningThread {
    /// The Lua state that was resumed last and runs, null while no code of a plan runs.
    state: AtomicPtr<ffi::lua_State>,
    /// The one that has resumed it, null if it is no coroutine of the plan's own.
    outer: Cell<*const OuterState>,
    /// The number of the resumption.
    resumption: AtomicU32,
    /// The number that the latest signal saw.
    seen: AtomicU32,
    /// The number of signals that have seen it.
    looks: AtomicU32,
    /// Whether a signal has set the hook of the state.
    armed: AtomicBool,
    /// Whether a signal wants the running code to yield, which it does at the next instruction at which it can.
    wanted: AtomicBool,
    /// Whether the hook has made the state yield.
    preempted: Cell<bool>,
    /// The limits of the running code, valid as long as `state` is set.
    limits: Cell<*const VmLimits>,
    /// The number of signals received.
    ticks: AtomicU32,
    /// Whether the thread has a timer.
    timed: Cell<bool>,
}

/// A state that waits for a coroutine that it has resumed, kept on the stack of the call that resumes.
struct OuterState {
    state: *mut ffi::lua_State,
    outer: *const OuterState,
    /// Whether it can pass on a coroutine's yielded values, up to the engine.
    can_yield: bool,
}

impl RunningThread {
    /// Publishes the running state to the signal handler.
    fn show(&self, state: *mut ffi::lua_State, outer: *const OuterState) {
        self.outer.set(outer);
        self.state.store(state, Ordering::Relaxed);
    }

    /// Returns whether the code is to yield once it can, and its time need not be looked at before.
    fn waits_to_yield(&self) -> bool {
        // SAFETY: the limits outlive the time in which they are shown.
        let limits = unsafe { self.limits.get().as_ref() };
        self.wanted.load(Ordering::Relaxed) && limits.is_some_and(|limits| !limits.is_due())
    }

    /// Returns whether the states that wait for the running one can pass on its yielded values.
    fn outers_can_yield(&self) -> bool {
        // SAFETY: it lives as long as the call that waits, and is null where none does.
        unsafe { self.outer.get().as_ref() }.is_none_or(|outer| outer.can_yield)
    }

    /// Finds the innermost line of the plan's files that is being executed.
    fn line(&self) -> Option<(String, u32)> {
        let (mut state, mut outer) = (self.state.load(Ordering::Relaxed), self.outer.get());
        loop {
            if state.is_null() {
                return None;
            }
            if let Some(line) = line_of(state) {
                return Some(line);
            }
            // SAFETY: it lives as long as the call that waits, and is null where none does.
            let waits = unsafe { outer.as_ref() }?;
            (state, outer) = (waits.state, waits.outer);
        }
    }
}

thread_local! {
    // Constant and without a destructor: it is there whenever a signal comes.
    static RUNNING: RunningThread = const {
        RunningThread {
            state: AtomicPtr::new(ptr::null_mut()),
            outer: Cell::new(ptr::null()),
            resumption: AtomicU32::new(0),
            seen: AtomicU32::new(0),
            looks: AtomicU32::new(0),
            armed: AtomicBool::new(false),
            wanted: AtomicBool::new(false),
            preempted: Cell::new(false),
            limits: Cell::new(ptr::null()),
            ticks: AtomicU32::new(0),
            timed: Cell::new(false),
        }
    };
    static TIMER: OnceCell<Option<Timer>> = const { OnceCell::new() };
}

/// Calls a function of the plan outside of any coroutine, within the limits.
pub(crate) fn call<R: FromLuaMulti>(
    lua: &Lua,
    limits: &VmLimits,
    function: &Function,
    arguments: impl IntoLuaMulti,
) -> mlua::Result<R> {
    let _entered = enter(lua, limits)?;
    let called = function.call(arguments);
    called.map_err(|error| limits.with_place(error))
}

/// Marks the VM as running outside of any coroutine, until the result is dropped. All calls meanwhile are one time slice.
pub(crate) fn enter<'a>(lua: &Lua, limits: &'a VmLimits) -> mlua::Result<StateGuard<'a>> {
    start_timer();
    let mut state = ptr::null_mut();
    // SAFETY: the closure neither raises nor touches Lua's stack.
    unsafe { lua.exec_raw::<()>((), |own| state = own) }?;
    Ok(StateGuard::new(state, limits))
}

/// Returns a function for the prelude: `within(call, coroutine, ...)` returns `call(coroutine, ...)`, and shows the
/// signal that this coroutine of the plan's own runs meanwhile. One that is preempted yields a marker. Without a
/// signal, the coroutine has the hook of the code that made it.
pub(crate) fn within(lua: &Lua) -> mlua::Result<Function> {
    // SAFETY: the function is called as one of Lua's only.
    unsafe { lua.create_c_function(call_within) }
}

/// # Safety
/// Called by Lua only. It leaves by `longjmp`, so nothing here may have a destructor.
unsafe extern "C-unwind" fn call_within(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: Lua calls with room on the stack (LUA_MINSTACK). The coroutine is on it, so it is alive until the
    // previous state is published again, which happens after an error, too.
    unsafe {
        let coroutine = ffi::lua_tothread(state, 2);
        let before = RUNNING.with(|running| OuterState {
            state: running.state.load(Ordering::Relaxed),
            outer: running.outer.get(),
            can_yield: ffi::lua_isyieldable(state) != 0 && running.outers_can_yield(),
        });
        if !coroutine.is_null() && !before.state.is_null() {
            RUNNING.with(|running| running.show(coroutine, &raw const before));
        }
        let status = ffi::lua_pcall(state, ffi::lua_gettop(state) - 1, ffi::LUA_MULTRET, 0);
        RUNNING.with(|running| running.show(before.state, before.outer));
        if status != ffi::LUA_OK {
            ffi::lua_error(state);
        }
        if take_preempted() {
            ffi::lua_pushlightuserdata(state, ptr::without_provenance_mut(PREEMPTED));
        }
        ffi::lua_gettop(state)
    }
}

/// The time in which a state runs, until it is dropped.
pub(crate) struct StateGuard<'a> {
    state: *mut ffi::lua_State,
    limits: PhantomData<&'a VmLimits>,
}

impl<'a> StateGuard<'a> {
    /// Marks `state`, which belongs to a VM that is alive, as running from now on: its code has the whole time again.
    pub(super) fn new(state: *mut ffi::lua_State, limits: &'a VmLimits) -> StateGuard<'a> {
        limits.restart_clock();
        RUNNING.with(|running| {
            debug_assert!(running.limits.get().is_null(), "one VM runs at a time");
            running.limits.set(limits);
            let next = running.resumption.load(Ordering::Relaxed).wrapping_add(1);
            running.resumption.store(next, Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            running.state.store(state, Ordering::Relaxed);
            if !running.timed.get() {
                // SAFETY: `state` is alive, and nothing runs in it yet.
                unsafe { set_hook(state, EVERY_WITHOUT_TIMER) };
            }
        });
        StateGuard {
            state,
            limits: PhantomData,
        }
    }
}

impl Drop for StateGuard<'_> {
    fn drop(&mut self) {
        RUNNING.with(|running| {
            running.state.store(ptr::null_mut(), Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            running.limits.set(ptr::null());
            if running.armed.load(Ordering::Relaxed) || !running.timed.get() {
                running.armed.store(false, Ordering::Relaxed);
                running.wanted.store(false, Ordering::Relaxed);
                // SAFETY: the caller of `new` has kept the state alive, and nothing runs in it any more.
                unsafe { set_hook(self.state, NEVER) };
            }
        });
    }
}

/// Handles the signal: if the same code runs as at the latest signal, sets its hook.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "no signal comes"))]
fn look() {
    RUNNING.with(|running| {
        let ticks = running.ticks.load(Ordering::Relaxed);
        running
            .ticks
            .store(ticks.wrapping_add(1), Ordering::Relaxed);
        let state = running.state.load(Ordering::Relaxed);
        let resumption = running.resumption.load(Ordering::Relaxed);
        if state.is_null() || running.seen.load(Ordering::Relaxed) != resumption {
            running.seen.store(resumption, Ordering::Relaxed);
            running.looks.store(1, Ordering::Relaxed);
            return;
        }
        let looks = running.looks.load(Ordering::Relaxed);
        running.looks.store(looks + 1, Ordering::Relaxed);
        running.armed.store(true, Ordering::Relaxed);
        running.wanted.store(true, Ordering::Relaxed);
        // SAFETY: the state and its limits are alive while they are shown, and Lua allows this call inside a signal of
        // its own thread (ldebug.c, lua_sethook).
        unsafe {
            if let Some(limits) = running.limits.get().as_ref() {
                limits.make_due();
            }
            set_hook(state, AT_ONCE);
        }
    });
}

/// Sets or removes the hook of a state, which is called every `every` instructions; at once, also at the next call: a
/// function of C that calls others, such as `table.unpack` of a table with metamethods, may execute no instructions.
///
/// # Safety
/// The state is alive, and this thread or a signal of it calls.
unsafe fn set_hook(state: *mut ffi::lua_State, every: c_int) {
    // SAFETY: as of this function.
    unsafe {
        let mask = match every {
            NEVER => return ffi::lua_sethook(state, None, 0, 0),
            AT_ONCE => ffi::LUA_MASKCOUNT | ffi::LUA_MASKCALL,
            _ => ffi::LUA_MASKCOUNT,
        };
        ffi::lua_sethook(state, Some(interrupted), mask, every);
    }
}

/// Makes a state that has to yield, and cannot where its hook was called for `event`, yield once it can: before the next
/// instruction after a call, and else after the function of C or Rust returns that has called this code. Without this, a
/// plan that spends its time in such functions would never yield: each hook comes inside of one. Returns from others are
/// few beside the time that those take.
///
/// # Safety
/// As of [`set_hook`]; the state is a coroutine.
unsafe fn set_later_hook(state: *mut ffi::lua_State, event: c_int, can_yield: bool) {
    let soon = match event {
        ffi::LUA_HOOKCOUNT => false,
        ffi::LUA_HOOKCALL => true,
        _ => can_yield,
    };
    let mask = ffi::LUA_MASKRET | if soon { ffi::LUA_MASKCOUNT } else { 0 };
    // SAFETY: as of this function.
    unsafe { ffi::lua_sethook(state, Some(interrupted), mask, 1) };
}

/// The hook's decision about the running code.
enum Interruption {
    /// Lets it go on.
    None,
    /// Makes it yield, if it can: it has been running for long.
    Preempt,
    /// Raises an error: its time is over.
    End,
}

/// The hook: raises an error if the time of the running code is over, and else preempts it, as soon as it can yield: a hook
/// of a call or a return cannot (luaD_hook), nor can code that C calls.
///
/// # Safety
/// Called by Lua only. It leaves by `longjmp`, so nothing here may have a destructor.
unsafe extern "C-unwind" fn interrupted(state: *mut ffi::lua_State, hook: *mut ffi::lua_Debug) {
    // SAFETY: Lua keeps room on the stack of a hook (LUA_MINSTACK), and gives it the state that has called it. A count
    // hook may yield no values as its last action, where the state can yield (lua_yield).
    unsafe {
        let can_yield =
            ffi::lua_isyieldable(state) != 0 && RUNNING.with(RunningThread::outers_can_yield);
        let event = (*hook).event;
        if event == ffi::LUA_HOOKRET && !can_yield && RUNNING.with(RunningThread::waits_to_yield) {
            return;
        }
        match interruption(state) {
            Interruption::End => {
                // The error itself is lost on the way: `Limits::reraise` knows the one that people read.
                ffi::lua_pushstring(state, c"the time of the task is over".as_ptr());
                ffi::lua_error(state);
            }
            Interruption::Preempt if event == ffi::LUA_HOOKCOUNT && can_yield => {
                RUNNING.with(|running| {
                    running.wanted.store(false, Ordering::Relaxed);
                    running.preempted.set(true);
                });
                ffi::lua_yield(state, 0);
            }
            Interruption::Preempt => {
                let is_main = ffi::lua_pushthread(state) != 0;
                ffi::lua_pop(state, 1);
                // Code outside of any coroutine never yields.
                if !is_main {
                    set_later_hook(state, event, can_yield);
                }
            }
            Interruption::None => {}
        }
    }
}

/// Returns whether the state that was resumed last was made to yield by the hook, and forgets it.
pub(super) fn take_preempted() -> bool {
    RUNNING.with(|running| running.preempted.take())
}

/// Returns how much processor time code of plans has taken on this thread since it was resumed last, zero if that is less
/// than a look.
pub(crate) fn latest_turn() -> Duration {
    RUNNING.with(|running| {
        let looks = running.looks.load(Ordering::Relaxed);
        let is_seen =
            running.seen.load(Ordering::Relaxed) == running.resumption.load(Ordering::Relaxed);
        // The first may have come after the code had returned.
        if is_seen && looks > 1 {
            CHECK_INTERVAL * looks
        } else {
            Duration::ZERO
        }
    })
}

/// Returns a clock of this thread's processor time, which moves on by one each 10 ms, whatever the thread does; it stands still
/// where there is no timer.
pub fn processor_ticks() -> u32 {
    RUNNING.with(|running| running.ticks.load(Ordering::Relaxed))
}

/// Decides about the running code, and sets the hook of its `state` accordingly.
fn interruption(state: *mut ffi::lua_State) -> Interruption {
    RUNNING.with(|running| {
        // SAFETY: the limits outlive the time in which they are shown.
        let Some(limits) = (unsafe { running.limits.get().as_ref() }) else {
            return Interruption::None;
        };
        let timed = running.timed.get();
        if timed {
            // The next signal sets it again.
            // SAFETY: a hook may change the hook of the state that it is called for.
            unsafe { set_hook(state, NEVER) };
        }
        let due = limits.take_due() || !timed;
        let over = limits.is_killed() || due && limits.is_over(|| running.line());
        if over {
            running.armed.store(true, Ordering::Relaxed);
            // SAFETY: as above.
            unsafe { set_hook(state, EVERY_WHEN_KILLED) };
            Interruption::End
        } else if timed && running.wanted.load(Ordering::Relaxed) {
            Interruption::Preempt
        } else {
            Interruption::None
        }
    })
}

/// Finds the line of the plan's files at which the state is that runs. One that waits for an operation runs as well as
/// long as lgoose reads that.
pub(super) fn running_line() -> Option<(String, u32)> {
    RUNNING.with(RunningThread::line)
}

/// Finds the innermost line of the plan's files that a state is executing.
fn line_of(state: *mut ffi::lua_State) -> Option<(String, u32)> {
    for level in 0..MOST_LEVELS as i32 {
        // SAFETY: `lua_Debug` is plain data that Lua fills, and neither call raises; `source` is a text of Lua's
        // as long as the function is on the stack.
        let (source, line) = unsafe {
            let mut found = std::mem::zeroed::<ffi::lua_Debug>();
            if ffi::lua_getstack(state, level, &mut found) == 0
                || ffi::lua_getinfo(state, c"Sl".as_ptr(), &mut found) == 0
            {
                return None;
            }
            let source = std::slice::from_raw_parts(found.source.cast::<u8>(), found.srclen);
            (String::from_utf8_lossy(source), found.currentline)
        };
        if let Some(file) = source.strip_prefix('@')
            && let Ok(line) = u32::try_from(line)
        {
            return Some((file.to_owned(), line));
        }
    }
    None
}

/// Starts the timer of this thread, once. Without one, hooks count instructions.
pub(super) fn start_timer() {
    let timed = TIMER.with(|timer| timer.get_or_init(new_timer).is_some());
    RUNNING.with(|running| running.timed.set(timed));
}

/// A timer of one thread's processor time, which stops when it is dropped.
#[cfg(target_os = "linux")]
type Timer = nix::sys::timer::Timer;
/// Other systems have none.
#[cfg(not(target_os = "linux"))]
type Timer = std::convert::Infallible;

#[cfg(target_os = "linux")]
fn new_timer() -> Option<Timer> {
    use nix::sys::signal::{SigEvent, SigevNotify, Signal};
    use nix::sys::timer::{Expiration, TimerSetTimeFlags};
    use nix::time::ClockId;
    use std::sync::OnceLock;

    // This signal does no harm if it comes too late: it is ignored unless a program handles it.
    const SIGNAL: Signal = Signal::SIGURG;
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    // SAFETY: `look` only reads and writes values of the interrupted thread, and allocates nothing.
    let register = || unsafe { signal_hook_registry::register(SIGNAL as c_int, look) }.is_ok();
    REGISTERED.get_or_init(register).then_some(())?;
    let event = SigEvent::new(SigevNotify::SigevThreadId {
        signal: SIGNAL,
        thread_id: nix::unistd::gettid().as_raw(),
        si_value: 0,
    });
    let mut timer = Timer::new(ClockId::CLOCK_THREAD_CPUTIME_ID, event).ok()?;
    let every = Expiration::Interval(CHECK_INTERVAL.into());
    timer.set(every, TimerSetTimeFlags::empty()).ok()?;
    Some(timer)
}

#[cfg(not(target_os = "linux"))]
fn new_timer() -> Option<Timer> {
    None
}

#[cfg(test)]
mod tests;
