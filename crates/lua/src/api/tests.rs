//! Tests of the libraries as plans call them, without an engine: each plan makes its assertions in Lua.

use crate::fixture::{recorder, setup, start};
use crate::{Op, Program, RaisedError, Step, Vm, load};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A plan in a temporary folder.
struct PlanFixture {
    folder: PathBuf,
    program: Arc<Program>,
}

impl PlanFixture {
    fn new(test: &str, files: &[(&str, &str)], plan: &str) -> PlanFixture {
        let folder = folder(test, files);
        let name = folder.join("plan.lua").to_string_lossy().into_owned();
        let (program, _, _) = load(&name, plan, BTreeMap::new(), 1).expect("the plan loads");
        PlanFixture { folder, program }
    }

    fn user(&self, user: u64) -> Vm {
        Vm::new(&self.program, setup(user, &recorder(), &Arc::default())).expect("the VM is made")
    }
}

impl Drop for PlanFixture {
    fn drop(&mut self) {
        // A leftover folder is found among the temporary files.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn folder(test: &str, files: &[(&str, &str)]) -> PathBuf {
    let name = format!("lgoose-library-{test}-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    for (file, text) in files {
        std::fs::write(folder.join(file), text).expect("the folder takes a file");
    }
    folder
}

/// Runs the body of a task that must end without an error.
fn holds(test: &str, files: &[(&str, &str)], body: &str) {
    let bench = PlanFixture::new(
        test,
        files,
        &format!("task {{ function(user)\n{body}\nend }}"),
    );
    let step = start(&mut bench.user(1), 0, 1);
    assert!(matches!(step, Step::Done), "{step:?}");
}

/// Returns the error that the body of a task raises; its lines are those of the plan, from 2 on.
fn raised(test: &str, files: &[(&str, &str)], body: &str) -> (RaisedError, Option<String>) {
    let bench = PlanFixture::new(
        test,
        files,
        &format!("task {{ function(user)\n{body}\nend }}"),
    );
    match start(&mut bench.user(1), 0, 1) {
        Step::Raised(raised) => {
            let line = raised
                .line
                .as_deref()
                .and_then(|line| line.rsplit_once(':'));
            let line = line.map(|(_, line)| line.to_owned());
            (*raised, line)
        }
        step => panic!("nothing is raised: {step:?}"),
    }
}

#[test]
fn rows_of_data_are_tables_strings_or_decoded_json() {
    let files = [
        ("users.csv", "name,pass\nann,a1\nbob,b2\n"),
        ("paths.txt", "/a\n/b\n"),
        ("nodes.json", r#"[{"id": 1}, {"id": 2, "tags": ["x"]}]"#),
    ];
    holds(
        "rows",
        &files,
        r#"
        local users = data.csv "users.csv"
        assert(#users == 2)
        local ann = users:next()
        assert(ann.name == "ann" and ann.pass == "a1")
        assert(users:next().name == "bob" and users:next().name == "ann")
        assert(users:get(2).pass == "b2" and users[1].name == "ann" and users[3] == nil)
        local paths = data.lines("paths.txt", { order = "sequential" })
        assert(paths:next() == "/a" and paths:next() == "/b" and paths:next() == "/a")
        local again = data.lines("paths.txt", { order = "sequential" })
        assert(again:next() == "/b", "the same reader")
        local drawn = data.lines("paths.txt", { order = "random" }):next()
        assert(drawn == "/a" or drawn == "/b")
        local nodes = data.json "nodes.json"
        assert(#nodes == 2 and nodes[2].tags[1] == "x")
        local dealt = data.json("nodes.json", { order = "circular" })
        assert(dealt:next().id == 1 and dealt:next().id == 2 and #dealt == 2)
        local ok, problem = pcall(function() return users.nxt end)
        assert(not ok and tostring(problem):find("did you mean 'next'", 1, true), problem)"#,
    );
}

#[test]
fn users_share_the_cursor_of_a_file_and_loading_a_plan_moves_none() {
    let plan = r#"
        local mine = data.lines("a.txt", { order = "unique" }):next()
        local rows = data.lines "a.txt"
        task { function(user)
          assert(mine == tostring(user.id), mine)
          assert(rows:next() == tostring(user.id))
        end }"#;
    let bench = PlanFixture::new("shared", &[("a.txt", "1\n2\n3\n")], plan);
    for user in 1..=3 {
        let step = start(&mut bench.user(user), 0, 1);
        assert!(matches!(step, Step::Done), "{step:?}");
    }
    // The top level finds no row left for the fourth user.
    let step = start(&mut bench.user(4), 0, 1);
    assert!(matches!(step, Step::Op(Op::OutOfRows)), "{step:?}");
}

#[test]
fn a_user_that_finds_no_unique_row_stops_even_inside_a_coroutine() {
    let plan = r#"
        local rows = data.lines("a.txt", { order = "unique" })
        task { function(user)
          coroutine.wrap(function() user.data.row = rows:next() end)()
        end }"#;
    let bench = PlanFixture::new("stops", &[("a.txt", "1\n")], plan);
    let mut user = bench.user(1);
    assert!(matches!(start(&mut user, 0, 1), Step::Done));
    assert!(matches!(start(&mut user, 0, 2), Step::Op(Op::OutOfRows)));
    // The code at its end still runs until it requests a row.
    assert!(matches!(start(&mut user, 0, 3), Step::Op(Op::OutOfRows)));
}

#[test]
fn a_mistake_with_data_is_raised_at_the_line_of_the_plan() {
    let files = [("ragged.csv", "a,b\n1\n")];
    for (body, line, message) in [
        (
            "local x = 1\nlocal rows = data.csv 'ragged.csv'",
            "3",
            "'ragged.csv', line 2: 1 column, but its first line names 2",
        ),
        (
            "data.csv('../x.csv')",
            "2",
            "cannot read '../x.csv': '..' leads outside the plan's folder; name a file in the plan's folder or below; \
             '--allow-files' lets a plan that you trust use any file",
        ),
        (
            "data.lines('ragged.csv', { order = 'uniqe' })",
            "2",
            "unknown order 'uniqe' in rows; did you mean 'unique'? orders of rows: circular, \
             random, unique, sequential",
        ),
        (
            "data:csv 'ragged.csv'",
            "2",
            "the file must be a string, not a table; write data.csv \"file\", with a dot",
        ),
    ] {
        let (raised, at) = raised("mistake", &files, body);
        assert_eq!(raised.message, message);
        assert_eq!(at.as_deref(), Some(line), "{body}");
    }
}

#[test]
fn patterns_and_selectors_that_are_wrong_are_reported_with_place_and_line() {
    for (body, message) in [
        (
            "local ok = regex 'name=(token'",
            "this regular expression is not valid: unclosed group at character 6: '(token'",
        ),
        (
            "local ok = regex 'a{2'",
            "this regular expression is not valid: unclosed counted repetition at character 2: '{2'",
        ),
        (
            "local ok = regex [[\\pX]]",
            "this regular expression is not valid: Unicode property not found at character 1: \
             '\\pX'",
        ),
        (
            "html.parse('<p>'):css('p >')",
            "'p >' is not a CSS selector: dangling combinator",
        ),
        (
            "html.parse('<p>'):css(5)",
            "a CSS selector must be a string, not a number",
        ),
        ("random.int(2, 1)", "random.int(a, b): 2 is larger than 1"),
        (
            "coroutine.wrap(function() random.choice {} end)()",
            "random.choice(list): the list is empty",
        ),
        ("base64.decode '*'", "this is not base64: it contains '*'"),
    ] {
        let (raised, at) = raised("patterns", &[], &format!("local x\n{body}"));
        assert_eq!(raised.message, message);
        assert_eq!(at.as_deref(), Some("3"), "{body}");
    }
}

#[test]
fn texts_are_encoded_joined_and_hashed() {
    holds(
        "codec",
        &[],
        r#"
        assert(url.encode "a b&c/ü" == "a%20b%26c%2F%C3%BC")
        assert(url.encode(5) == "5")
        assert(url.encode { q = "a b", n = 1 } == "n=1&q=a+b")
        assert(url.decode "a%20b%26" == "a b&")
        assert(url.join("http://a.example/x/", "../y") == "http://a.example/y")
        assert(base64.encode "goose\0" == "Z29vc2UA")
        assert(base64.decode "Z29vc2UA" == "goose\0")
        assert(base64.decode "-_8" == "\xfb\xff")
        -- RFC 1321, FIPS 180-2 and RFC 4231 (test case 2)
        assert(hash.md5 "abc" == "900150983cd24fb0d6963f7d28e17f72")
        assert(hash.sha256 "abc" == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        -- RFC 6070, and RFC 7914 (section 11).
        assert(hash.pbkdf2("password", "salt", 4096, nil, "sha1") == "4b007901b765489abead49d926f721d065a429c1")
        assert(hash.pbkdf2("passwd", "salt", 1) == "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc")
        assert(#hash.pbkdf2("a", "b", 2, "raw", "sha512") == 64)
        for _, wrong in ipairs { { 0 }, { 1e7 }, { 1, nil, "md5" }, { 1, "hex" } } do
          assert(not pcall(hash.pbkdf2, "a", "b", table.unpack(wrong, 1, 3)))
        end
        assert(hash.hmac_sha256("Jefe", "what do ya want for nothing?")
          == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")"#,
    );
}

#[test]
fn a_page_from_a_string_is_read_like_a_response() {
    holds(
        "page",
        &[],
        r#"
        local page = html.parse [[<title>Log in</title><p id=a class=x>one</p><p>two</p>
          <form action="/user?d=1" method=post><input name=token value=t1><input name=name></form>]]
        assert(page:title() == "Log in")
        assert(page:text '#a' == "one" and page:attr("p", "class") == "x" and page:text "b" == nil)
        assert(#page:css "p" == 2 and page:css("p")[2]:text() == "two")
        local form = page:form "form"
        assert(form.action == "/user?d=1" and form.method == "POST", form.action)
        assert(form.fields.token == "t1" and form.fields.name == "")
        assert(page:form().action == form.action and page:form 'b' == nil)
        local placed = html.parse("<form action='save'>", "http://a.example/x/y"):form()
        assert(placed.action == "http://a.example/x/save" and placed.method == "GET")
        local ok, problem = pcall(function() return page.titel end)
        assert(not ok and tostring(problem):find("did you mean 'title'", 1, true), problem)"#,
    );
}

#[test]
fn the_clock_can_be_read() {
    holds(
        "os",
        &[],
        r#"
        assert(math.type(os.time()) == "integer" and os.time() > 1700000000)
        assert(os.clock() >= 0 and os.clock() < 1000)
        assert(os.date("!%Y-%m-%d %H:%M:%S", 1700000000) == "2023-11-14 22:13:20")
        assert(os.date("!%c", 1700000000) == "Tue Nov 14 22:13:20 2023")
        local parts = os.date("!*t", 1700000000)
        assert(parts.year == 2023 and parts.wday == 3 and parts.yday == 318 and parts.isdst == false)
        assert(os.time(os.date("*t", 1700000000)) == 1700000000)
        assert(#os.date() > 10)
        for _, name in ipairs { "execute", "getenv", "exit", "remove", "rename", "tmpname" } do
          assert(not pcall(function() return os[name] end), name)
        end"#,
    );
}

#[test]
fn text_is_loaded_into_the_plan_and_bytecode_never() {
    holds(
        "load",
        &[],
        r#"
        assert(load "return 1 + 1"() == 2)
        assert(load("return x", "chunk", "t", { x = 5 })() == 5)
        local nothing, problem = load("return +", "=chunk")
        assert(nothing == nil and problem:find "^chunk:1:", problem)
        local bad, why = load "\27Lua"
        assert(bad == nil and why:find "binary", why)
        assert(load("return 1", "x", "b") == nil)
        local ok, global = pcall(load "return io")
        assert(not ok and tostring(global):find "sandbox", global)
        assert(not pcall(load "x = 1"))"#,
    );
}

#[test]
fn what_lgoose_raises_is_caught_as_text_with_its_line() {
    holds(
        "caught",
        &[],
        r#"
        local ok, problem = pcall(function()
          return regex "(" end)
        assert(not ok and type(problem) == "string", type(problem))
        assert(problem:find "plan.lua:4: this regular expression is not valid: unclosed group", problem)
        assert(not problem:find "stack traceback", problem)
        local _, handled = xpcall(random.int, function(text) return "handled " .. text end, 2, 1)
        assert(handled:find "handled .*2 is larger than 1$", handled)
        assert(select('#', pcall(function() return 1, nil, nil end)) == 4)
        assert(select('#', pcall(function() end)) == 1)
        local _, own = pcall(error, { code = 7 })
        assert(own.code == 7)
        local _, again = pcall(function() error(problem, 0) end)
        assert(again == problem)"#,
    );
}

#[test]
fn what_is_raised_as_bytes_is_shown_with_escapes_and_caught_as_it_was() {
    let message = |body: &str| raised("bytes", &[], body).0.message;
    assert_eq!(message(r#"error("caf\xc3")"#), "caf\\xc3");
    assert_eq!(message(r#"assert(false, "\xff!")"#), "\\xff!");
    assert_eq!(message(r#"error("\xff", 0)"#), "\\xff");
    let (raised, line) = raised("placed", &[], "\nerror(\"\\xff\")");
    assert_eq!((&*raised.message, line.as_deref()), ("\\xff", Some("3")));
    holds(
        "caught",
        &[],
        r#"
        local ok, problem = pcall(error, "\xff", 0)
        assert(not ok and problem == "\xff")
        local ok, problem = pcall(assert, nil, "\xff")
        assert(not ok and problem == "\xff")"#,
    );
}

#[test]
fn a_plan_that_declares_other_tasks_for_a_user_is_refused() {
    let refused = |plan: &str| {
        let bench = PlanFixture::new("other", &[], plan);
        let refused = Vm::new(&bench.program, setup(1, &recorder(), &Arc::default()));
        refused.expect_err("it must not run").to_string()
    };
    let named = refused("task { 'a' .. math.random(1000000), function() end }");
    assert!(named.contains("declaration 1 is task 'a"), "{named}");
    assert!(named.contains("plan.lua:1"), "{named}");
    let fewer = "for i = 1, math.random(1000) do task { function() end } end";
    let fewer = refused(fewer);
    assert!(
        fewer.contains("nothing more for this user; when"),
        "{fewer}"
    );
}

#[test]
fn a_vm_is_small_before_its_plan_needs_more() {
    // A load has thousands of VMs: functions that not every plan uses are in parts of the prelude or opened at first
    // use. Measured: 18 KiB.
    let plan = "task { function(user) user:get '/' end }";
    let vm = PlanFixture::new("small", &[], plan).user(1);
    assert!(vm.used_memory() < 20 << 10, "{} bytes", vm.used_memory());
}

#[test]
fn lists_without_responses_hold_nothing() {
    let bench = PlanFixture::new(
        "empty_lists",
        &[],
        "task { function(user) while true do user:fetch {} end end }",
    );
    let mut vm = bench.user(1);
    let step = start(&mut vm, 0, 1);
    assert!(matches!(step, Step::Op(Op::Fetch(_))), "{step:?}");
    let step = vm.resume_list(Vec::new(), false);
    assert!(matches!(step, Step::Op(Op::Fetch(_))), "{step:?}");
    assert!(vm.park(0).is_none());
}

#[test]
fn code_of_load_that_takes_too_long_is_reported_at_the_line_of_its_task() {
    let bench = PlanFixture::new("loaded", &[], "\ntask { load 'while true do end' }");
    let mut vm = bench.user(1);
    let step = start(&mut vm, 0, 1);
    let Step::Raised(raised) = step else {
        panic!("nothing is raised: {step:?}");
    };
    assert!(raised.message.contains("without waiting"), "{raised:?}");
    let line = raised.line.as_deref().unwrap_or_default();
    assert!(line.ends_with("plan.lua:2"), "{raised:?}");
}

#[test]
fn what_a_user_is_given_counts_until_it_is_let_go() {
    const KEPT: usize = 200;
    /// The methods, which a VM keeps with the first value of a kind.
    const METHODS: usize = 8 << 10;
    // The expression for one value of each kind, and the least number of bytes that it holds outside of Lua.
    for (make, bytes) in [
        ("metric.trend(('n'):rep(400) .. n)", 400),
        ("shared.counter(name)", 50_000),
        ("shared.queue(name)", 50_000),
        ("shared.map(name)", 50_000),
        ("html.parse(page)", 50_000),
        ("html.parse(page):css('p')[1]", 50_000),
        ("regex('literal' .. n)", 1_000),
        (
            "file 'a_file_with_a_name_that_is_rather_long_for_a_test.txt'",
            50,
        ),
    ] {
        let plan = format!(
            "local shared = require 'lgoose.shared'
            local name, page = ('n'):rep(50000), '<div>' .. ('<p>x</p>'):rep(500) .. '</div>'
            task {{ 'keep', function(user)
              user.data.kept = {{}}
              for n = 1, {KEPT} do user.data.kept[n] = {make} end
            end }}
            task {{ 'let go', function(user) user.data.kept = nil end }}"
        );
        let files = [(
            "a_file_with_a_name_that_is_rather_long_for_a_test.txt",
            "text",
        )];
        let bench = PlanFixture::new("held", &files, &plan);
        let mut vm = bench.user(1);
        let before = vm.used_memory();
        assert!(matches!(start(&mut vm, 0, 1), Step::Done), "{make}");
        let kept = vm.used_memory() - before;
        assert!(kept > KEPT * bytes, "{make}: {kept} bytes for {KEPT}");
        assert!(matches!(start(&mut vm, 1, 1), Step::Done), "{make}");
        vm.collect_all();
        let left = vm.used_memory().saturating_sub(before);
        let most = METHODS + KEPT * bytes / 4;
        assert!(left < most, "{make}: {left} bytes of {kept} are left");
    }
}
