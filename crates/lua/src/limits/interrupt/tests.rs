//! Tests of the interruption of code.

use super::*;
use crate::limits::{Arguments, Converted, Coroutine, Heartbeat, ResumeResult};

/// Runs a loop of that many rounds, and returns its coroutine.
fn run(rounds: f64, limits: &VmLimits) -> (Lua, Coroutine) {
    let lua = Lua::new();
    let code = "local n = ... while n > 0 do n = n - 1 end";
    let function = lua.load(code).into_function().expect("it is Lua");
    let mut coroutine = Coroutine::new(&lua, function).expect("memory takes it");
    let (_, ended) = finish(&lua, &mut coroutine, limits, Converted(rounds));
    assert_eq!(ended.is_err(), limits.is_killed());
    (lua, coroutine)
}

/// Resumes a coroutine until it ends, and returns how often it was preempted, and its error. After each time, all garbage
/// is collected.
fn finish(
    lua: &Lua,
    coroutine: &mut Coroutine,
    limits: &VmLimits,
    arguments: impl Arguments,
) -> (usize, mlua::Result<()>) {
    let mut turns = 0;
    let mut arguments = Some(arguments);
    loop {
        let entered = coroutine.enter(limits);
        let resumed = match arguments.take() {
            Some(first) => coroutine.resume(limits, first),
            None => coroutine.resume(limits, []),
        };
        let result = match resumed {
            Ok(ResumeResult::Preempted) => {
                limits.suspend_clock();
                turns += 1;
                None
            }
            Ok(ResumeResult::Yielded(_)) => panic!("it yields nothing"),
            Ok(ResumeResult::Ended) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        drop(entered);
        if let Some(result) = result {
            return (turns, result);
        }
        lua.gc_collect().expect("it collects");
    }
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

/// Runs code of a plan within a minute, which must end without an error, and returns how often it was preempted.
#[cfg(target_os = "linux")]
fn turns(code: &str) -> usize {
    let lua = Lua::new();
    let limits = VmLimits::new(Duration::from_secs(60), 64 << 20, None);
    let function = lua.load(code).into_function().expect("it is Lua");
    let mut coroutine = Coroutine::new(&lua, function).expect("memory takes it");
    let (turns, ended) = finish(&lua, &mut coroutine, &limits, []);
    assert!(ended.is_ok(), "{code}\n{ended:?}");
    turns
}

#[test]
#[cfg(target_os = "linux")]
fn a_task_that_is_preempted_goes_on_where_it_was() {
    // The live values at an interruption: locals, a loop's state, the arguments of a variadic call, an upvalue, a
    // variable to be closed, a protected call.
    for code in [
        "local sum, list = 0, {} for i = 1, 3e6 do list = { i, list[1] } sum = sum + list[1] end assert(sum == 4500001500000)",
        "local function pass(...) return ... end
         local texts = { 'a', 'b', 'c' }
         for i = 1, 5e5 do local a, b, c = pass(table.unpack(texts)) assert(a .. b .. c == 'abc') end",
        "local closed = 0
         for i = 1, 3e5 do
           local x <close> = setmetatable({}, { __close = function() closed = closed + 1 end })
           local ok, problem = pcall(function(n) if n % 2 == 0 then error({ n }) end return n end, i)
           assert(ok and problem == i or problem[1] == i)
         end
         assert(closed == 3e5)",
        "local t = setmetatable({}, { __index = function(_, key) return key .. '!' end })
         for i = 1, 8e5 do assert(t[i] == i .. '!') end",
    ] {
        assert!(turns(code) > 0, "{code}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_time_of_a_task_goes_on_when_it_is_preempted() {
    let limits = VmLimits::new(Duration::from_millis(100), 1 << 20, None);
    let lua = Lua::new();
    let function = lua.load("while true do end").into_function();
    let mut coroutine = Coroutine::new(&lua, function.expect("it is Lua")).expect("memory");
    let (turns, ended) = finish(&lua, &mut coroutine, &limits, []);
    assert!(ended.is_err() && limits.is_killed());
    assert!((2..12).contains(&turns), "{turns} turns of 10 to 20 ms");
}

#[test]
#[cfg(target_os = "linux")]
fn a_task_that_spends_its_time_in_functions_that_call_others_is_preempted() {
    for called in [
        "print ~= nil",
        "rawlen {}",
        "pcall(rawlen, {})",
        "(function() end)()",
    ] {
        let lua = Lua::new();
        let busy = lua.create_function(|_, called: Function| {
            let start = std::time::Instant::now();
            while start.elapsed() < Duration::from_micros(500) {
                called.call::<()>(())?;
            }
            Ok(())
        });
        let code =
            format!("local busy = ... for _ = 1, 200 do busy(function() return {called} end) end");
        let function = lua.load(&code).into_function().expect("it is Lua");
        let limits = VmLimits::new(Duration::from_secs(60), 64 << 20, None);
        let mut coroutine = Coroutine::new(&lua, function).expect("memory takes it");
        let busy = Converted(busy.expect("a function"));
        let (turns, ended) = finish(&lua, &mut coroutine, &limits, busy);
        assert!(ended.is_ok(), "{code}: {ended:?}");
        assert!(turns > 2, "{turns} turns in 100 ms: {code}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn code_that_c_calls_is_not_preempted() {
    let code = "local n = 0
                table.sort({ 2, 1 }, function(a, b) for i = 1, 2e7 do n = n + 1 end return a < b end)
                assert(n > 0)";
    assert!(turns(code) <= 1, "before or after the sort");
}

#[test]
#[cfg(target_os = "linux")]
fn the_watchdog_knows_the_line_of_a_task_that_goes_on_after_it_was_preempted() {
    let heartbeat = std::sync::Arc::<Heartbeat>::default();
    let limits = VmLimits::new(Duration::from_secs(60), 1 << 20, Some(heartbeat.clone()));
    let lua = Lua::new();
    let code = lua.load("local n = 0\nwhile true do\nn = n + 1 end");
    let function = code.set_name("@plan.lua").into_function();
    let mut coroutine = Coroutine::new(&lua, function.expect("it is Lua")).expect("memory");
    let entered = coroutine.enter(&limits);
    let is_preempted = matches!(coroutine.resume(&limits, []), Ok(ResumeResult::Preempted));
    assert!(is_preempted);
    limits.suspend_clock();
    drop(entered);
    heartbeat.leave();
    assert_eq!(heartbeat.line(), None, "nothing runs");
    let _entered = coroutine.enter(&limits);
    assert!(
        matches!(heartbeat.line(), Some(2 | 3)),
        "{:?}",
        heartbeat.line()
    );
}
