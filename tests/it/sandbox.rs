//! Plans that take more than their share: their tasks fail, the other users of the thread go on, and a task that cannot
//! be ended ends the run.

use crate::program::{Lgoose, plan, scratch};
use crate::report::iterate_with;
use crate::server::Server;

#[test]
fn a_task_without_end_fails_while_the_other_users_of_its_thread_go_on() {
    let server = Server::start();
    let text = "plan { lua_time = 0.1 }\n\
                scenario { \"endless\", users = 1, order = \"serial\",\n  \
                task { \"spin\", function(user)\n    user.data.spins = (user.data.spins or 0) + 1\n    \
                while true do pcall(function() while true do end end) end\n  end },\n  \
                task { \"after\", function(user) assert(user.data.spins > 0) user:get \"/after\" end },\n}\n\
                scenario { \"modest\", users = 3, task { \"page\", function(user) user:get \"/page\" end } }\n";
    let path = plan("endless.lua", text);
    let report = iterate_with(&path, &server, 4, 3, &["--threads", "1"]);
    assert_eq!(report.ended.code, 1, "{}", report.ended.stderr);
    assert_eq!(report.count("GET page"), 9);
    assert_eq!(report.count("GET after"), 3, "{:?}", report.errors());
    assert_eq!(report.task_failures(), 3, "{:?}", report.errors());
    let message = "the task ran for 0.1 s of Lua without waiting ('--lua-time')";
    assert_eq!(report.errors_with(message), 3, "{:?}", report.errors());
    assert!(
        report.errors()[0].contains("endless.lua:5"),
        "{:?}",
        report.errors()
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_task_that_computes_until_another_user_has_gone_on_is_preempted_for_it() {
    let server = Server::start();
    let text = "local shared = require 'lgoose.shared'\n\
                local pages, over = shared.counter 'pages', shared.counter 'over'\n\
                local function spin(more) local last = pages:get() + more while pages:get() < last do end end\n\
                scenario { 'computing', users = 1, order = 'serial',\n  \
                task { 'plain', function() spin(20) end },\n  \
                task { 'protected', function() assert(pcall(spin, 20)) end },\n  \
                task { 'coroutine', function()\n    \
                local co = coroutine.wrap(function(n) while true do spin(n) n = coroutine.yield(n + 1) end end)\n    \
                assert(co(10) == 11 and co(12) == 13)\n  end },\n  \
                task { 'two deep', function(user)\n    \
                coroutine.wrap(function() coroutine.wrap(function() spin(10) user:get '/deep' end)() end)()\n  end },\n  \
                task { 'end', function() over:incr() end } }\n\
                scenario { 'modest', users = 2, task { function(user)\n  \
                repeat user:get '/page' pages:incr() until over:get() > 0\nend } }\n";
    let path = plan("preempted.lua", text);
    let report = iterate_with(
        &path,
        &server,
        3,
        1,
        &["--threads", "1", "--lua-time", "60s"],
    );
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    assert_eq!(report.count("GET two deep"), 1);
    let warnings = report.json["warnings"].to_string();
    assert!(
        warnings.contains("a task computes for long without waiting in pages:get at "),
        "{warnings}"
    );
}

#[test]
fn a_plan_may_lower_the_limits_of_its_users_and_not_raise_them() {
    let server = Server::start();
    let run = |fields: &str, flags: &[&str]| {
        let text = format!("plan {{ {fields} }} task {{ function(user) user:get '/' end }}");
        let path = plan("own_limits.lua", &text);
        let url = server.url();
        let usual = [&*path, "-H", &url, "-u", "1", "-i", "1"];
        Lgoose::new([&usual, flags].concat()).finish()
    };
    for (fields, told) in [
        (
            "lua_time = 5",
            "sets 'lua_time' to 5.00 s, and may only lower the limit of 1.00 s",
        ),
        (
            "lua_memory = '65MiB'",
            "sets 'lua_memory' to 65.0 MiB, and may only lower the limit of 64.0 MiB",
        ),
    ] {
        let ended = run(fields, &[]);
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
    }
    for (fields, flags) in [
        ("lua_time = 0.5, lua_memory = '32MiB'", &[][..]),
        ("lua_time = 5", &["--lua-time", "10s"]),
    ] {
        let ended = run(fields, flags);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
    }
}

#[test]
fn bodies_that_a_plan_keeps_count_as_its_memory() {
    let server = Server::start();
    let text = "task { function(user)\n  user.data.kept = {}\n  for n = 1, 100 do\n    \
                user.data.kept[n] = user:get(\"/size/100000\", { name = \"kept\" })\n  end\nend }\n";
    let path = plan("hoard.lua", text);
    let report = iterate_with(&path, &server, 1, 2, &["--lua-memory", "2MiB"]);
    assert_eq!(report.task_failures(), 2, "{:?}", report.errors());
    let message = "not enough memory: a user may hold 2 MiB ('--lua-memory')";
    assert_eq!(report.errors_with(message), 2, "{:?}", report.errors());
    assert!(
        report.errors()[0].contains("hoard.lua:4"),
        "{:?}",
        report.errors()
    );
    let kept = report.count("GET kept");
    assert!((30..60).contains(&kept), "{kept} of 100 KB");
    assert_eq!(report.sent(), server.received());
}

#[test]
fn bodies_that_a_plan_drops_do_not() {
    let server = Server::start();
    let text = "task { function(user)\n  for n = 1, 100 do user:get(\"/size/100000\") end\nend }\n";
    let path = plan("no_hoard.lua", text);
    let report = iterate_with(&path, &server, 1, 1, &["--lua-memory", "2MiB"]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_plan_whose_top_level_does_not_end_is_refused() {
    let closing =
        "local x <close> = setmetatable({}, { __close = function() while true do end end })\n";
    for (first, line) in [("local n = 0\n", 2), (closing, 2)] {
        let text = format!("{first}while true do end\n");
        let path = plan("endless_top.lua", &text);
        let ended = Lgoose::new(["check", path.as_str()]).finish();
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        let told = format!("endless_top.lua:{line}");
        assert!(ended.stderr.contains(&told), "{}", ended.stderr);
    }
}

#[test]
fn a_file_that_would_be_compiled_for_minutes_is_refused() {
    let chain = format!("local a return a{}", " and a".repeat(300_000));
    let module = plan("long_chain.lua", &chain);
    let requiring = plan("requires_long_chain.lua", "require 'long_chain'");
    for path in [module, requiring] {
        let ended = Lgoose::new(["check", path.as_str()]).finish();
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        let told = "the file has 300000 of the words 'and', 'or', 'elseif'";
        let stderr = ended.stderr;
        assert!(stderr.contains(told), "{stderr}");
        assert!(stderr.contains("split it into modules"), "{stderr}");
    }
}

#[test]
fn a_mistake_in_a_long_line_is_told_soon() {
    let text = format!("{}{}\nx = = 1", " ".repeat(300_000), "a=1 ".repeat(100_000));
    let path = plan("long_line.lua", &text);
    let ended = Lgoose::new(["check", path.as_str()]).finish();
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("long_line.lua:2"), "{}", ended.stderr);
}

#[test]
fn a_test_start_that_does_not_end_keeps_the_run_from_starting() {
    let server = Server::start();
    let text = "on('test_start', function(user)\n\
                local x <close> = setmetatable({}, { __close = function() while true do end end })\n\
                while true do end\nend)\n\
                task { function(user) user:get '/' end }";
    let path = plan("endless_start.lua", text);
    let url = server.url();
    let flags = ["-H", &*url, "-u", "1", "-i", "1", "--lua-time", "100ms"];
    let ended = Lgoose::new([&[&*path], &flags[..]].concat()).finish();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("endless_start.lua:3"),
        "{}",
        ended.stderr
    );
    assert_eq!(server.received(), 0);
}

#[test]
fn a_call_that_cannot_be_ended_ends_the_run_with_its_report() {
    let server = Server::start();
    // The groups of a match are found out byte by byte, and here it is the whole text.
    let text = "local slow = regex \"(?s)^(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)$\"\n\
                task { \"page\", function(user)\n  user:get \"/page\"\n  user:get \"/page\"\n  user:wait(0.6)\n  \
                slow:match((\"x\"):rep(8 << 20))\nend }\n";
    let path = plan("caught.lua", text);
    let json = scratch("caught.json");
    let ended = Lgoose::new([
        path.as_str(),
        "-H",
        &server.url(),
        "-u",
        "1",
        "-i",
        "1",
        "-o",
        &format!("json={}", json.display()),
    ])
    .env("LGOOSE_PATIENCE", "800ms")
    .finish();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let told = "user 1 is caught in task 'page' of scenario 'default'";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert!(ended.stderr.contains("caught.lua:2"), "{}", ended.stderr);
    assert!(ended.stdout.contains("Aggregated"), "{}", ended.stdout);
    let report = std::fs::read_to_string(json).expect("the report is written");
    assert!(
        report.contains("\"GET page\"") || report.contains("\"page\""),
        "{report}"
    );
}

/// Calls that took seconds in which nothing could end them.
const LONG_CALLS: [(&str, &str); 39] = [
    (
        "code without a file that is many calls deep",
        "load('local f f = function(n) if n == 0 then while true do end end local a = f(n - 1) return a end f(150000)')()",
    ),
    (
        "matches that each look at the rest of the text",
        "regex '.*[^A-Z]|[A-Z]':replace(('A'):rep(1 << 20), 'b')",
    ),
    (
        "a pattern with places that all may be followed",
        "regex('[A-Z][0-9A-Za-z]{250}[^0-9A-Za-z]'):test(random.string(1000000):rep(10))",
    ),
    (
        "a long set of Lua's patterns",
        "local set = '[' .. ('x'):rep(1 << 20) .. ']' local _ = ('y'):rep(8000):find(set)",
    ),
    (
        "short texts of zeros",
        "local t, s = {}, ('\\0'):rep(256) for n = 1, 200000 do t[n] = s end table.sort(t)",
    ),
    (
        "numbers that are sorted",
        "local t = {} for n = 1, 2000000 do t[n] = -n end table.sort(t)",
    ),
    (
        "an address of references",
        "user:post('/echo', '<a href=\"' .. ('&x'):rep(10 << 20) .. '\">'):links()",
    ),
    (
        "groups of a long match",
        "regex('(?s)^(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)$'):match(('x'):rep(50 << 20))",
    ),
    (
        "HTML of a text with much to escape",
        "html.parse('<p id=a>' .. ('&'):rep(2 << 20)):css('#a')[1]:html()",
    ),
    (
        "a form of buttons with addresses",
        "html.parse('<form>' .. ('<button name=a formaction=x></button>'):rep(70000)):form()",
    ),
    (
        "a form of required fields",
        "local t = {} for n = 1, 100000 do t[n] = '<input required name=a' .. n .. '>' end\n\
         html.parse('<form>' .. table.concat(t)):form()",
    ),
    (
        "a form with an order of many names",
        "local o = {} for n = 1, 150000 do o[n] = ('%08d'):format(n) end\n\
         user:submit({ action = '/', method = 'POST', fields = {}, order = o }, { zz = 1 })",
    ),
    (
        "a form with many values of one name",
        "local o, f = {}, {} for n = 1, 200000 do o[n], f[n] = 'a', 'v' end\n\
         user:submit({ action = '/', method = 'POST', fields = { a = f }, order = o }, {})",
    ),
    (
        "assets of many hosts",
        "local t = { '<link rel=canonical href=http://own.x/>' }\n\
         for n = 1, 90000 do t[#t + 1] = ('<img src=http://host%06d.x/><img src=http://own.x/%d>'):format(n, n) end\n\
         user:post('/echo', table.concat(t)):assets()",
    ),
    (
        "links and filters",
        "local t, f = {}, {} for n = 1, 90000 do t[n], f[n] = '<a href=/' .. n .. '>', 'zz' .. n end\n\
         user:post('/echo', table.concat(t)):links(f)",
    ),
    ("a long name", "local _ = _ENV[('x'):rep(8 << 20)]"),
    (
        "many weights",
        "local w = {} for n = 1, 100000 do w[n .. 'k'] = 1 end while true do random.weighted(w) end",
    ),
    (
        "weights whose names draw by weights",
        "local mt = {} local function t() return setmetatable({}, mt) end\n\
         mt.__tostring = function() random.weighted { [t()] = 1, [t()] = 1 } return 'x' end\n\
         random.weighted { [t()] = 1, [t()] = 1 }",
    ),
    (
        "weights of fractions",
        "local w = {} for n = 1, 200000 do w[n * 1.37 + 0.1] = 1 end while true do random.weighted(w) end",
    ),
    (
        "a chain that is compiled",
        "load('local a return a' .. (' and a'):rep(300000))",
    ),
    (
        "a long part of a long attribute in any case",
        "html.parse('<p a=' .. ('a'):rep(8 << 20) .. '>'):css('[a*=\"' .. ('a'):rep(60000) .. 'b\" i]')",
    ),
    (
        "a line of many long texts",
        "local s, t = ('x'):rep(1 << 20), {} for n = 1, 3000 do t[n] = s end print(table.unpack(t))",
    ),
    (
        "a tag of many attributes",
        "local t = {} for n = 1, 300000 do t[n] = 'a' .. n end html.parse('<p ' .. table.concat(t, ' ') .. '>')",
    ),
    ("a text of references", "html.parse(('&'):rep(20 << 20))"),
    (
        "an object of many fields",
        "local t = {} for n = 1, 300000 do t[n] = '\"' .. n .. '\":1' end\n\
         local text = '{' .. table.concat(t, ',') .. '}' while true do json.decode(text) end",
    ),
    (
        "operations that are refused",
        "while true do pcall(function() user:get('/', { bad = 1 }) end) end",
    ),
    (
        "JSON of large empty tables",
        "local t, big = {}, emptied() for n = 1, 20000 do t[n] = big end json.encode(t)",
    ),
    (
        "a body of large empty tables",
        "local t, big = {}, emptied() for n = 1, 20000 do t[n] = big end user:post('/', nil, { json = t })",
    ),
    (
        "large empty tables that are expected",
        "local t, big = {}, emptied() for n = 1, 20000 do t[n] = big end\n\
         user:get('/', { expect = { json = { a = t } } })",
    ),
    (
        "large empty tables that are shared",
        "local t, big = {}, emptied() for n = 1, 20000 do t[n] = big end\n\
         require 'lgoose.shared'.queue 'q':put(t)",
    ),
    (
        "requests that are large empty tables",
        "local t, big = {}, emptied() big.path = '/x' for n = 1, 20000 do t[n] = big end user:batch(t)",
    ),
    (
        "places that Rust looks up",
        "table.unpack(setmetatable({ emptied() }, { __index = json.encode }), 2, 900000)",
    ),
    (
        "places that Rust looks up in a coroutine",
        "coroutine.wrap(function()\n\
         table.unpack(setmetatable({ emptied() }, { __index = json.encode }), 2, 900000)\n\
         end)()",
    ),
    (
        "replacements that Rust looks up",
        "('a'):rep(100000):gsub('a', setmetatable({ emptied() }, { __index = json.encode }))",
    ),
    (
        "texts that Rust makes",
        "local t, big, text = {}, emptied(), { __tostring = json.encode }\n\
         for n = 1, 10000 do t[n] = setmetatable({ big }, text) end\n\
         string.format(('%s'):rep(10000), table.unpack(t))",
    ),
    (
        "names of weights that Rust makes",
        "local t, big, text = {}, emptied(), { __tostring = json.encode }\n\
         for n = 1, 5000 do t[setmetatable({ big }, text)] = 1 end random.weighted(t)",
    ),
    (
        "an order that Rust decides",
        "local t, big, less = {}, emptied(), { __lt = json.encode }\n\
         for n = 1, 10000 do t[n] = setmetatable({ big }, less) end table.sort(t)",
    ),
    (
        "a line of many long lists",
        "local t, list = {}, {} for n = 1, 1000000 do list[n] = 1 end\n\
         for n = 1, 5000 do t[n] = list end print(table.unpack(t))",
    ),
    (
        "a line of large empty tables",
        "local t, big = {}, emptied()\n\
         for n = 1, 50 do t[n] = { big, big, big, big, big, big, big, big, big, big } end\n\
         while true do print(t) end",
    ),
];

/// Code of a table with half a million empty places, which takes nothing to name and a millisecond to walk over.
const EMPTIED: &str = "local function emptied()\n\
    local big = {} for n = 1, 1 << 19 do big[-n] = true end for n = 1, 1 << 19 do big[-n] = nil end return big\n\
    end\n";

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn no_call_takes_so_long_that_the_run_has_to_end() {
    let server = Server::start();
    // The limit and the watchdog count processor time, of which a busy machine gives little.
    for (name, call) in LONG_CALLS {
        let text = format!(
            "{EMPTIED}task {{ function(user)\n  user:get '/'\n  if user.id ~= 1 then return end\n  {call}\nend }}"
        );
        let path = plan("long_call.lua", &text);
        let report = iterate_with(
            &path,
            &server,
            2,
            2,
            &["--threads", "1", "--lua-time", "300ms"],
        );
        assert!(
            matches!(report.ended.code, 0 | 1),
            "{name}: {} {}",
            report.ended.code,
            report.ended.stderr
        );
        assert_eq!(report.count("GET /"), 4, "{name}: {:?}", report.errors());
    }
}
