//! Tests with plans that try to leave the sandbox or to keep their thread for ever: each must end as a failure of its
//! task, and the user must go on with its next.

use crate::lua::fixture::{recorder, setup};
use crate::lua::{Heartbeat, Op, Raised, Step, Vm, VmSetup, load};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(50);
/// The time for tasks that must not be ended by time.
const LONG: Duration = Duration::from_secs(60);
const SPIN: &str = "local function spin() while true do end end";
const TIME: &str = "the task ran for 0.05 s of Lua without waiting ('--lua-time')";
const MEMORY: &str = "not enough memory: a user may hold 16 MiB ('--lua-memory')";

fn vm(source: &str, time: Duration) -> Vm {
    let (program, _, _) =
        load("p.lua", source, BTreeMap::new(), 1).unwrap_or_else(|error| panic!("{error}"));
    let heartbeat = Arc::<Heartbeat>::default();
    let recorder = recorder();
    let setup = VmSetup {
        memory: 16 << 20,
        time,
        ..setup(1, &recorder, &heartbeat)
    };
    Vm::new(&program, setup).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a task of these lines, the first of which is line 3, then another one in the same VM.
fn attempt(lines: &str) -> Option<Raised> {
    attempt_within(SHORT, lines)
}

fn attempt_within(time: Duration, lines: &str) -> Option<Raised> {
    let source = format!(
        "{SPIN}\ntask {{ function(user)\n{lines}\nend }}\n\
         task {{ function(user)\n  assert(pcall(error, \"x\") == false)\n  local sum = 0\n  \
         for n = 1, 1000 do sum = sum + n end\n  assert(sum == 500500)\nend }}"
    );
    let mut vm = vm(&source, time);
    let raised = match vm.start(0, 1) {
        Step::Raised(raised) => Some(raised),
        Step::Done => None,
        Step::Op(op) => panic!("{lines}\nasks for {op:?}"),
    };
    for _ in 0..2 {
        let next = vm.start(1, 1);
        assert!(matches!(next, Step::Done), "{lines}\nand then {next:?}");
    }
    raised
}

fn ends_by(message: &str, attempts: &[&str]) {
    let time = if message == TIME { SHORT } else { LONG };
    for lines in attempts {
        let raised =
            attempt_within(time, lines).unwrap_or_else(|| panic!("{lines}\nended by itself"));
        assert_eq!(raised.message, message, "{lines}\n{raised:?}");
    }
}

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
            // Each ends before the hook is due, and so do those that make them.
            "local function few() for _ = 1, 5000 do end end\n\
             local function many() for _ = 1, 400 do coroutine.wrap(few)() end end\n\
             local function more() for _ = 1, 400 do coroutine.wrap(many)() end end\n\
             while true do coroutine.wrap(more)() end",
        ],
    );
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
        "local x <close> = closing(spin) local y <close> = closing(spin) pcall(spin)",
        "while true do pcall(function() local x <close> = closing(spin) error('x') end) end",
        "coroutine.wrap(function() local x <close> = closing(spin) spin() end)()",
        "local co = coroutine.create(function() local x <close> = closing(spin) coroutine.yield() end)\n\
         coroutine.resume(co) coroutine.close(co)",
        // Closing a coroutine that died in a hook would run its code with hooks off.
        "local co\nlocal x <close> = closing(function() coroutine.close(co) end)\n\
         co = coroutine.create(function() local y <close> = closing(spin) spin() end)\ncoroutine.resume(co)",
        "local x <close> = closing(function() user:get '/' end) spin()",
    ] {
        ends_by(TIME, &[&format!("{close}{lines}")]);
    }
    // Ended between two tasks, where it is no failure of a task.
    let raised = attempt(&format!(
        "{close}local x <close> = closing(spin) error('mine')"
    ));
    assert_eq!(raised.expect("it raises").message, "mine");
}

#[test]
fn a_task_that_wants_too_much_memory_is_told_so() {
    ends_by(
        MEMORY,
        &[
            "local s = ('x'):rep(1 << 30)",
            "local s = string.rep('x', 1 << 40, ', ')",
            "local function f() return f() + 1 end f()",
            "local s = 'x' while true do s = s .. s end",
            "local t = {} for n = 1, 1e9 do t[n] = n end",
            "local t = {} for n = 1, 1e9 do t[n] = coroutine.create(spin) end",
            "string.gsub(('x'):rep(1 << 20), 'x', ('y'):rep(1 << 20))",
            "local t = {} for n = 1, 1000 do t[n] = ('x'):rep(1 << 16) end",
            "user.data.kept = {} while true do table.insert(user.data.kept, ('x'):rep(1000) .. #user.data.kept) end",
            "local t = {} for n = 1, 100 do t[n] = ('x'):rep(1 << 20) end table.concat(t)",
            "local s = (regex 'x'):replace(('x'):rep(1 << 20), ('y'):rep(1 << 20))",
            "local s = (regex '(?s).+'):replace(('x'):rep(1 << 20), ('$0'):rep(1 << 18))",
        ],
    );
}

#[test]
fn no_single_call_can_run_for_ever() {
    for (lines, part) in [
        ("assert(string.rep('', 1 << 60) == '')", ""),
        (
            "assert(('ab'):rep(3, '-') == 'ab-ab-ab' and ('x'):rep(0) == '' and ('x'):rep(-1) == '')",
            "",
        ),
        (
            "local t = {} for _ = 1, 20000 do t = { t } end json.encode(t)",
            "nested too deeply",
        ),
        ("table.move({}, 1, 1 << 60, 2)", "is too long"),
        (
            "table.concat(setmetatable({}, { __index = function() return '' end }), '', 1, 1 << 60)",
            "is too long",
        ),
        (
            "table.insert(setmetatable({}, { __len = function() return 1 << 60 end }), 1, 1)",
            "is too long",
        ),
        (
            "table.remove(setmetatable({}, { __len = function() return 1 << 60 end }), 1)",
            "is too long",
        ),
        (
            "table.sort(setmetatable({}, { __len = function() return 1 << 60 end }))",
            "is too long",
        ),
        (
            "local t = {} for n = 1, 20 do t[n] = n end for n = 4, 62 do t[1 << n] = 1 t[(1 << n) + 1] = 1 end table.insert(t, 1, 1)",
            "is too long",
        ),
        (
            "local s, t = ('x'):rep(1 << 20), {} for n = 1, 1000 do t[n] = s end\nuser:post('/', nil, { form = { a = t } })",
            "not enough memory",
        ),
        (
            "local s, t = ('x'):rep(1 << 20), {} for n = 1, 1000 do t['p' .. n] = s end\n\
             user:post('/', nil, { multipart = t })",
            "not enough memory",
        ),
        (
            "local t = { path = '/', body = ('x'):rep(1 << 20) } local all = {} for n = 1, 1000 do all[n] = t end\n\
             user:batch(all)",
            "not enough memory",
        ),
        ("load('return ' .. ('{'):rep(100000))", "stack overflow"),
        (
            "utf8.codepoint(('a'):rep(1 << 22), 1, -1)",
            "stack overflow",
        ),
        (
            "error(setmetatable({}, { __tostring = function(all) return tostring(all) end }))",
            "stack overflow",
        ),
        (
            "table.sort({ 3, 2, 1 }, function() user:get '/' end)",
            "yield across a C-call",
        ),
        (
            "setmetatable(user, {})",
            "cannot change a protected metatable",
        ),
        ("regex '(a{1000}){1000}'", "exceeds size limit"),
        (
            "regex(('('):rep(10000) .. (')'):rep(10000))",
            "nested parentheses",
        ),
        ("json.decode(('['):rep(100000))", "recursion limit exceeded"),
        ("table.unpack({}, 1, 1 << 30)", "too many results to unpack"),
        (
            "table.unpack({}, math.mininteger, math.maxinteger)",
            "too many results to unpack",
        ),
        (
            "local function f() return ('x'):gsub('.', f) end f()",
            "stack overflow",
        ),
        (
            "local t = setmetatable({}, {}) getmetatable(t).__index = t local _ = t.x",
            "loop",
        ),
        (
            "local t = setmetatable({ 5, 4 }, {})\ntable.insert(t, 1, 6) table.insert(t, 3)\nassert(table.concat(t, ' ') == '6 5 4 3')\n\
          table.sort(t) assert(table.concat(t, ' ') == '3 4 5 6')\n\
          assert(table.remove(t, 1) == 3 and table.remove(t) == 6 and #t == 2)",
            "",
        ),
    ] {
        let raised = attempt(lines)
            .map(|raised| raised.message)
            .unwrap_or_default();
        let ended = raised.contains(part) && part.is_empty() == raised.is_empty();
        assert!(ended, "{lines}\n{raised}");
    }
}

#[test]
fn nothing_leads_out_of_the_sandbox() {
    for lines in [
        "assert(string.dump == nil)",
        "assert(not pcall(function() return ('x').dump() end))",
        "assert(getmetatable('') == false)",
        "assert(not pcall(setmetatable, '', {}))",
        "assert(not pcall(setmetatable, {}, { __gc = spin }))",
        // Known to Lua only when it is there as the metatable is set.
        "local m = {} local t = setmetatable({}, m) rawset(m, '__gc', spin)\n\
         assert(not pcall(setmetatable, {}, m)) t = nil",
        "assert(not pcall(function() math.randomseed(1) end))",
        "assert(not pcall(function() string.rep = nil end))",
        "assert(getmetatable(user) == false and getmetatable(string) == false)",
        "assert(getmetatable(regex 'a') == false and getmetatable(html.parse '<p>') == false)",
        "rawset(string, 'rep', 1) assert(('x'):rep(2) == 'xx')",
        "assert(coroutine.running() and not pcall(coroutine.close, coroutine.running()))",
    ] {
        let raised = attempt(lines);
        // What is not there raises an error that says so.
        let missing = raised
            .as_ref()
            .is_none_or(|raised| raised.message.contains("does not exist"));
        assert!(missing, "{lines}\n{raised:?}");
    }
    for name in [
        "io",
        "os.execute",
        "os.exit",
        "package",
        "debug",
        "dofile",
        "loadfile",
        "loadstring",
        "collectgarbage",
        "_G.io",
        "_ENV._G.debug",
    ] {
        let raised = attempt(&format!("local _ = {name}('x')")).expect("it is not there");
        let told = ["is not declared", "does not exist"]
            .iter()
            .any(|part| raised.message.contains(part));
        assert!(told, "{name}: {raised:?}");
    }
}

#[test]
fn bytecode_is_not_loaded() {
    // The header that every chunk of Lua 5.4 begins with, and modes that would allow it.
    let lines = "for _, mode in ipairs { 't', 'b', 'bt' } do
                   local loaded, problem = load('\\27LuaT\\0\\25\\147\\r\\n\\26\\n', 'chunk', mode)
                   assert(loaded == nil and type(problem) == 'string', mode)
                 end
                 assert(load('\\27LuaT') == nil and load('return 1 + 1')() == 2)
                 assert(not pcall(load 'return io'))";
    assert_eq!(attempt_within(LONG, lines), None);
}

#[test]
fn a_pattern_that_backtracks_is_ended_by_time() {
    ends_by(
        TIME,
        &[
            "local _ = ('a'):rep(28):find(('a?'):rep(28) .. ('a'):rep(28))",
            "local _ = string.find(('x'):rep(200000), '.-.-.-b')",
            "local _ = ('x'):rep(200000):match('(.-)(.-)(.-)b')",
            "for _ in ('x'):rep(200000):gmatch('.*.*b') do end",
            "for _ in ('x'):rep(200000):gmatch('^*.*.*b') do end",
            "local _ = ('('):rep(200000):gsub('%b()', '')",
            "pcall(string.find, ('x'):rep(200000), '.-.-b') assert(false)",
            "while true do pcall(string.find, ('x'):rep(20000), '.-b') end",
        ],
    );
    let lines = "local page = ('<p class=\"x\">text</p>\\n'):rep(500) .. '<input name=\"token\" value=\"1f\">'\n                 assert(page:match('name=\"token\" value=\"(.-)\"') == '1f')\n                 local n = 0 for _ in page:gmatch('<(%a+) .->') do n = n + 1 end assert(n == 501)\n                 assert(select(2, page:gsub('%s+', ' ')) == 1002)\n                 assert(page:find('value', 1, true) and page:find('<p', -40) == nil)\n                 assert(('  x '):match('^%s*(.-)%s*$') == 'x' and string.find(12345, 34) == 3)\n                 assert(not pcall(string.find, 'x', '[a') and not pcall(string.find, nil, 'x'))";
    assert_eq!(attempt_within(LONG, lines), None);
}

#[test]
fn a_user_keeps_its_data_when_time_ends_a_task_and_a_full_vm_is_built_anew() {
    let source = "task { function(user) user.data.seen = 1 while true do end end }\n\
                  task { function(user) assert(user.data.seen == 1) end }\n\
                  task { function(user) user.data.all = {} while true do user.data.all[#user.data.all + 1] = ('x'):rep(65000) .. #user.data.all end end }\n\
                  task { function(user) assert(user.data.seen == nil and user.id == 1) user:get '/' end }";
    let mut vm = vm(source, Duration::from_millis(500));
    assert!(matches!(vm.start(0, 1), Step::Raised(_)));
    assert!(matches!(vm.start(1, 1), Step::Done));
    let full = vm.start(2, 1);
    assert!(
        matches!(&full, Step::Raised(raised) if raised.message == MEMORY),
        "{full:?}"
    );
    let next = vm.start(3, 1);
    assert!(matches!(next, Step::Op(Op::Request(_))), "{next:?}");
    assert!(vm.used_memory() < 1 << 20, "{} bytes", vm.used_memory());
}

#[test]
fn waiting_gives_a_task_its_time_back() {
    let source = "task { function(user)\n  for _ = 1, 8 do\n    local sum = 0\n    \
                  for n = 1, 300000 do sum = sum + n end\n    user:wait(0.001)\n  end\nend }";
    let mut vm = vm(source, SHORT);
    let mut step = vm.start(0, 1);
    let mut waits = 0;
    while let Step::Op(_) = step {
        waits += 1;
        step = vm.go_on();
    }
    assert!(matches!(step, Step::Done), "{step:?}");
    assert_eq!(waits, 8);
}
