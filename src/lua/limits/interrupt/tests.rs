//! Tests of the interruption of code.

use super::*;
use crate::lua::limits::{Converted, Coroutine};
use std::time::Duration;

/// Runs a loop of that many rounds, and returns its coroutine.
fn run(rounds: f64, limits: &VmLimits) -> (Lua, Coroutine) {
    let lua = Lua::new();
    let code = "local n = ... while n > 0 do n = n - 1 end";
    let function = lua.load(code).into_function().expect("it is Lua");
    let mut coroutine = Coroutine::new(&lua, function).expect("memory takes it");
    let entered = coroutine.enter(limits);
    let raised = coroutine.resume(limits, Converted(rounds)).is_err();
    drop(entered);
    assert_eq!(raised, limits.is_killed());
    (lua, coroutine)
}

#[test]
fn a_thread_without_a_timer_counts_instructions() {
    TIMER.with(|timer| assert!(timer.set(None).is_ok(), "this thread is new"));
    let limits = VmLimits::new(Duration::from_millis(20), 1 << 20, None);
    let _vm = run(f64::INFINITY, &limits);
    assert!(limits.is_killed());
}

#[test]
#[cfg(target_os = "linux")]
fn calls_without_an_instruction_between_them_are_ended() {
    let lua = Lua::new();
    let calls = std::rc::Rc::new(Cell::new(0));
    let seen = calls.clone();
    // It takes its time and looks at no limit.
    let busy = lua.create_function(move |_, _: mlua::MultiValue| {
        let start = std::time::Instant::now();
        while start.elapsed() < Duration::from_millis(2) {}
        seen.set(seen.get() + 1);
        Ok(())
    });
    let limits = VmLimits::new(Duration::from_millis(20), 1 << 20, None);
    let code = "table.unpack(setmetatable({}, { __index = ... }), 1, 1000)";
    let function = lua.load(code).into_function().expect("it is Lua");
    let called = call::<()>(&lua, &limits, &function, busy.expect("a function"));
    assert!(called.is_err() && limits.is_killed());
    assert!(calls.get() < 1_000, "{}", calls.get());
}

#[test]
fn what_has_come_back_in_time_has_no_hook_remaining() {
    let limits = VmLimits::new(Duration::from_secs(60), 1 << 20, None);
    let (_lua, coroutine) = run(2e7, &limits);
    assert!(!limits.is_killed());
    // SAFETY: the coroutine keeps its state.
    assert!(unsafe { ffi::lua_gethook(coroutine.state()) }.is_none());
    RUNNING.with(|running| {
        let signals = running.seen.load(Ordering::Relaxed) > 0;
        assert_eq!(signals, cfg!(target_os = "linux"));
    });
}
