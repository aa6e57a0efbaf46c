//! Tests with calls of library functions that take much time or memory.

use super::*;

#[test]
fn a_loop_of_long_calls_is_ended() {
    ends_by(
        TIME,
        &[
            "local s = ('x'):rep(4 << 20) while true do s:upper() end",
            "local s = ('x'):rep(4 << 20) while true do utf8.len(s) end",
            "local s = ('x'):rep(4 << 20) while true do hash.sha256(s) end",
            "local a, b = ('x'):rep(4 << 20), ('x'):rep(4 << 20) while a == b do end",
            "local s = '[' .. ('1,'):rep(100000) .. '1]' while true do json.decode(s) end",
            "local s = ('x'):rep(4 << 20) coroutine.wrap(function() while true do s:upper() end end)()",
            "local s = ('x'):rep(4 << 20) while true do s:find('y', 1, true) end",
            "local s = ('x'):rep(4 << 20) while true do pcall(string.upper, s) end",
            "local s, t = ('x'):rep(4 << 20), {} for n = 1, 10000 do t[n] = s end table.sort(t)",
            "local s, t = ('x'):rep(4 << 20), {} for n = 1, 10000 do t[n] = s end table.sort(t, string.upper)",
            "local s = ('x'):rep(1 << 20) local re = regex 'y' while true do re:match(s) end",
            "html.parse(('<a></a>'):rep(20000)):css 'b ~ a ~ a ~ a'",
            "html.parse(('<a></a>'):rep(20000)):css ':not(b ~ a ~ a)'",
        ],
    );
    let raised = attempt_within(
        LONG_TIME,
        "assert(not (('a'):rep(4 << 20)):find(('a'):rep(2 << 20) .. 'b', 1, true))\n\
         assert((('a'):rep(900) .. 'b'):find(('a'):rep(300) .. 'b', -301, true) == 601)\n\
         assert((('a'):rep(900) .. 'b'):find(('a'):rep(300) .. 'b', '602') == nil)\n\
         assert(('abc'):gsub('%w', string.upper) == 'ABC')",
    );
    assert_eq!(raised, None);
}

#[test]
fn a_task_that_needs_too_much_memory_is_notified() {
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
        ("load('return ' .. ('{'):rep(60000))", "stack overflow"),
        (
            "assert(load('return ' .. ('{'):rep(100000)))",
            "load takes at most 65536 bytes of text, not 100007",
        ),
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
            "local _ = ('b' .. ('x'):rep(200000)):find('.-.-b', '2')",
            "while true do pcall(string.find, ('x'):rep(20000), '.-b') end",
        ],
    );
    let lines = "local page = ('<p class=\"x\">text</p>\\n'):rep(500) .. '<input name=\"token\" value=\"1f\">'\n                 assert(page:match('name=\"token\" value=\"(.-)\"') == '1f')\n                 local n = 0 for _ in page:gmatch('<(%a+) .->') do n = n + 1 end assert(n == 501)\n                 assert(select(2, page:gsub('%s+', ' ')) == 1002)\n                 assert(page:find('value', 1, true) and page:find('<p', -40) == nil)\n                 assert(('  x '):match('^%s*(.-)%s*$') == 'x' and string.find(12345, 34) == 3)\n                 assert(not pcall(string.find, 'x', '[a') and not pcall(string.find, nil, 'x'))";
    assert_eq!(attempt_within(LONG_TIME, lines), None);
}

// Level 0 adds no line: Lua's 'lua_error' makes its own memory error of exactly this text.
#[test]
fn a_plans_own_words_about_memory_are_no_limit() {
    for (raise, line) in [
        ("error('not enough memory')", Some("p.lua:3")),
        ("error('not enough memory: of mine')", Some("p.lua:3")),
        (
            "user:transaction('t', function() error('not enough memory') end)",
            Some("p.lua:3"),
        ),
        (
            "coroutine.wrap(function() error('not enough memory') end)()",
            Some("p.lua:3"),
        ),
        (
            "local _, caught = pcall(string.rep, 'x', 1 << 40) error('not enough memory')",
            Some("p.lua:3"),
        ),
    ] {
        let source = format!(
            "local closed = false\ntask {{ function(user)\n{raise}\nend }}\n\
             task {{ function(user) local close <close> = setmetatable({{}}, {{ __close = function() closed = true end }})\n\
             {raise} end }}\ntask {{ function() assert(closed) end }}"
        );
        let mut vm = vm(&source, LONG_TIME);
        let Step::Raised(raised) = start(&mut vm, 0, 1) else {
            panic!("{raise}")
        };
        assert!(
            raised.message.starts_with("not enough memory"),
            "{raised:?}"
        );
        assert!(
            !raised.message.contains("a user may hold"),
            "{raise}: {raised:?}"
        );
        assert_eq!(raised.line.as_deref(), line, "{raise}");
        assert!(matches!(start(&mut vm, 1, 1), Step::Raised(_)), "{raise}");
        let next = start(&mut vm, 2, 1);
        assert!(matches!(next, Step::Done), "it was closed: {next:?}");
    }
    let plan = "error('not enough memory') task { function() end }";
    let message = load("p.lua", plan, BTreeMap::new(), 1).expect_err("it raises");
    let message = message.to_string();
    assert!(
        message.contains("not enough memory") && !message.contains("may hold"),
        "{message}"
    );
}

#[test]
fn memory_that_is_full_ends_a_task_wherever_it_fills() {
    let fill = "local all = {} while true do all[#all + 1] = ('x'):rep(1 << 16) .. #all end";
    for lines in [
        fill.to_owned(),
        format!("user:transaction('t', function() {fill} end)"),
        format!("user:transaction('t', {{ tags = {{ a = 1 }} }}, function() {fill} end)"),
        format!("coroutine.wrap(function() {fill} end)()"),
    ] {
        ends_by(MEMORY, &[&lines]);
    }
}
