//! Tests with code of a plan that does not end, wherever Lua runs it.

use super::*;

#[test]
fn a_task_that_computes_for_ever_is_ended_at_its_line() {
    let raised = attempt("local n = 0\nwhile true do n = n + 1 end").expect("it is ended");
    assert_eq!(raised.message, TIME);
    assert_eq!(raised.line.as_deref(), Some("p.lua:4"));
    ends_by(
        TIME,
        &[
            "spin()",
            "local function again() return again() end again()",
            "::top:: goto top",
            "for _ = 1, 1e15 do end",
            "repeat local s = string.format('%d', 1) until false",
        ],
    );
}

#[test]
fn a_protected_call_does_not_swallow_the_end() {
    ends_by(
        TIME,
        &[
            "while true do pcall(spin) end",
            "pcall(pcall, pcall, spin) spin()",
            "local function f() pcall(f) while true do end end f()",
            "xpcall(error, spin)",
            "xpcall(spin, spin)",
            "while true do xpcall(spin, function() end) end",
            "xpcall(error, function() error('again') end) xpcall(spin, error)",
            "while true do select(2, pcall(error, setmetatable({}, { __tostring = spin }))) end",
        ],
    );
}

#[test]
fn a_coroutine_of_the_plan_is_ended_with_its_task() {
    ends_by(
        TIME,
        &[
            "coroutine.wrap(spin)()",
            "coroutine.wrap(function() coroutine.wrap(function() coroutine.wrap(spin)() end)() end)()",
            "while true do coroutine.resume(coroutine.create(spin)) end",
            "while true do pcall(coroutine.wrap(spin)) end",
            "local co = coroutine.wrap(function() while true do coroutine.yield() end end)\nwhile true do co() end",
            // Each coroutine ends before the hook is due, and so do those that make them.
            "local function few() for _ = 1, 5000 do end end\n\
             local function many() for _ = 1, 400 do coroutine.wrap(few)() end end\n\
             local function more() for _ = 1, 400 do coroutine.wrap(many)() end end\n\
             while true do coroutine.wrap(more)() end",
        ],
    );
    // No instruction runs between the calls, each of which walks over all former entries of the table.
    let holes = "local t = {} for n = 1, 2e4 do t[n] = n end for n = 1, 2e4 do t[n] = nil end\n\
                 setmetatable(t, { __index = next })\n";
    for lines in [
        "coroutine.wrap(function() table.unpack(t, 1, 900000) end)()",
        "coroutine.wrap(table.unpack)(t, 1, 900000)",
        "coroutine.wrap(coroutine.wrap(table.unpack))(t, 1, 900000)",
    ] {
        let raised = attempt(&format!("{holes}{lines}")).expect("it ends by time");
        assert_eq!(raised.message, TIME, "{lines}");
        assert_eq!(raised.line.as_deref(), Some("p.lua:5"), "{lines}");
    }
}

#[test]
fn code_that_lua_calls_by_itself_is_ended() {
    ends_by(
        TIME,
        &[
            "local _ = setmetatable({}, { __index = spin }).x",
            "local _ = setmetatable({}, { __add = spin }) + 1",
            "local _ = setmetatable({}, { __lt = spin }) < setmetatable({}, { __lt = spin })",
            "setmetatable({}, { __newindex = spin }).x = 1",
            "local _ = #setmetatable({}, { __len = spin })",
            "for _ in spin do end",
            "for _ in pairs(setmetatable({}, { __pairs = spin })) do end",
            "table.sort({ 3, 2, 1 }, spin)",
            "table.sort({ 3, 2, 1 }, function() pcall(spin) end)",
            "string.gsub('abc', '.', spin)",
            "('abc'):gsub('.', setmetatable({}, { __index = spin }))",
            "tostring(setmetatable({}, { __tostring = spin }))",
            "string.format('%s', setmetatable({}, { __tostring = spin }))",
            "print(setmetatable({}, { __tostring = spin }))",
        ],
    );
    let raised = attempt("error(setmetatable({}, { __tostring = spin }))").expect("it raises");
    assert_ne!(raised.message, "");
}

#[test]
fn a_variable_to_be_closed_ends_with_its_task() {
    let close = "local function closing(fn) return setmetatable({}, { __close = fn }) end\n";
    for lines in [
        "do local x <close> = closing(spin) end",
        "local x <close> = closing(spin) spin()",
        "local x <close> = closing(spin) while true do end",
        "pcall(function() local x <close> = closing(spin) while true do end end)",
        "for _ in next, {}, nil, closing(spin) do end for _ in spin, nil, nil, closing(spin) do end",
        "coroutine.wrap(function() local x <close> = closing(spin) while true do end end)()",
        "local x <close> = closing(spin) local y <close> = closing(spin) pcall(spin)",
        "while true do pcall(function() local x <close> = closing(spin) error('x') end) end",
        "coroutine.wrap(function() local x <close> = closing(spin) spin() end)()",
        "local co = coroutine.create(function() local x <close> = closing(spin) coroutine.yield() end)\n\
         coroutine.resume(co) coroutine.close(co)",
        // Closing a coroutine that died in a hook would run its code with hooks off.
        "local co\nlocal x <close> = closing(function() coroutine.close(co) end)\n\
         co = coroutine.create(function() local y <close> = closing(spin) spin() end)\ncoroutine.resume(co)",
        "local x <close> = closing(function() user:get '/' end) spin()",
        "local x <close> = closing(spin) error('mine')",
        "table.sort({ 1, 2 }, function() local x <close> = closing(spin) while true do end end)",
        "local x <close> = closing(spin) table.sort({ 1, 2 }, function() while true do end end)",
    ] {
        ends_by(TIME, &[&format!("{close}{lines}")]);
    }
}

#[test]
fn a_user_retains_its_data_when_time_ends_a_task_and_a_full_vm_is_built_anew() {
    let source = "task { function(user) user.data.seen = 1 while true do end end }\n\
                  task { function(user) assert(user.data.seen == 1) end }\n\
                  task { function(user) user.data.all = {} while true do user.data.all[#user.data.all + 1] = ('x'):rep(65000) .. #user.data.all end end }\n\
                  task { function(user) assert(user.data.seen == nil and user.id == 1) user:get '/' end }";
    let mut vm = vm(source, Duration::from_millis(500));
    assert!(matches!(start(&mut vm, 0, 1), Step::Raised(_)));
    assert!(matches!(start(&mut vm, 1, 1), Step::Done));
    let full = start(&mut vm, 2, 1);
    assert!(
        matches!(&full, Step::Raised(raised) if raised.message == MEMORY),
        "{full:?}"
    );
    let next = start(&mut vm, 3, 1);
    assert!(matches!(next, Step::Op(Op::Request(_))), "{next:?}");
    assert!(vm.used_memory() < 1 << 20, "{} bytes", vm.used_memory());
}

#[test]
fn waiting_returns_a_task_its_time() {
    let source = "task { function(user)\n  for _ = 1, 8 do\n    local sum = 0\n    \
                  for n = 1, 300000 do sum = sum + n end\n    user:wait(0.001)\n  end\nend }";
    let mut vm = vm(source, SHORT);
    let mut step = start(&mut vm, 0, 1);
    let mut waits = 0;
    while let Step::Op(_) = step {
        waits += 1;
        let next = vm.go_on();
        step = settled(&mut vm, next);
    }
    assert!(matches!(step, Step::Done), "{step:?}");
    assert_eq!(waits, 8);
}
