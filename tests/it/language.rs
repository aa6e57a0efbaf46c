//! The plan language at work: each `tests/lua/*.lua` is a plan that asserts in Lua what it sees; here the
//! report must say that nothing failed but what was meant to.

use crate::program::{Lgoose, plan};
use crate::report::{Report, read, run};
use crate::server::Server;

/// One user and one iteration of a plan of `tests/lua`.
fn once(name: &str, server: &Server) -> Report {
    let path = format!("tests/lua/{name}.lua");
    run([
        path.as_str(),
        "-H",
        &server.url(),
        "-u",
        "1",
        "-i",
        "1",
        "-e",
        "LGOOSE_TEST_VARIABLE=given",
    ])
}

/// Runs a plan of `tests/lua` of which every task must succeed and every request be counted.
fn holds(name: &str) -> (Report, Server) {
    let server = Server::start();
    let report = once(name, &server);
    let errors = report.errors();
    assert_eq!(report.task_failures(), 0, "{}", errors.join("\n"));
    assert!(
        report.task_runs().values().all(|runs| *runs == 1),
        "{:?}",
        report.task_runs()
    );
    assert_eq!(report.sent(), server.received(), "{}", errors.join("\n"));
    (report, server)
}

#[test]
fn responses_show_what_was_answered() {
    let (report, _) = holds("responses");
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
}

#[test]
fn requests_carry_what_the_plan_says() {
    let (report, server) = holds("requests");
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    let side_by_side = server.most_side_by_side();
    assert!((2..=6).contains(&side_by_side), "{side_by_side} at a time");
}

#[test]
fn users_change_their_browser_and_tests_have_a_start_and_an_end() {
    let server = Server::start();
    let report = once("own_browser", &server);
    assert_eq!(report.task_failures(), 0, "{}", report.errors().join("\n"));
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    // One went to a port where nobody listens.
    assert_eq!(report.sent(), server.received() + 1);
    assert_eq!(server.count("GET /stopped"), 1);
}

#[test]
fn a_start_that_raises_keeps_users_from_starting() {
    let server = Server::start();
    let text = "on(\"test_start\", function(user)\n  user:get \"/\"\n  error \"not ready\"\nend)\n\
                task { \"t\", function(user) user:get \"/task\" end }";
    let ended =
        Lgoose::new([plan("start_raises.lua", text).as_str(), "-H", &server.url()]).finish();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("test_start raised: not ready"),
        "{}",
        ended.stderr
    );
    assert_eq!(server.received(), 1);
}

#[test]
fn libraries_do_what_they_say() {
    let (report, _) = holds("libraries");
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    let log = &report.ended.stderr;
    for line in [
        "an info line",
        "a warn line",
        "an error line",
        "a line of the user",
        "a printed line",
    ] {
        assert!(log.contains(line), "'{line}' is missing in\n{log}");
    }
    assert!(!log.contains("a debug line"), "{log}");
}

#[test]
fn the_debug_log_is_shown_when_asked_for() {
    let path = plan(
        "debug_log.lua",
        "task { function() log.debug \"a debug line\" end }",
    );
    let ended = Lgoose::new([
        path.as_str(),
        "-H",
        "http://127.0.0.1:1",
        "-u",
        "1",
        "-i",
        "1",
        "-v",
    ])
    .finish();
    assert!(ended.stderr.contains("a debug line"), "{}", ended.stderr);
}

#[test]
fn what_fails_is_recorded_and_the_plan_goes_on() {
    let (report, _) = holds("failures");
    for (row, failures) in [
        ("no answer", 1),
        ("missed", 1),
        ("verdict", 1),
        ("forgiven", 0),
    ] {
        let row = format!("GET {row}");
        assert_eq!(report.count(&row), 1, "{row}");
        assert_eq!(
            report.failures(&row),
            failures,
            "{row}: {:?}",
            report.errors()
        );
    }
    assert_eq!(
        report.errors_with("not what I want"),
        1,
        "{:?}",
        report.errors()
    );
    assert_eq!(report.ended.code, 0, "something succeeded");
}

#[test]
fn the_responses_of_a_fetch_can_be_read_at_once_and_much_later() {
    let (report, _) = holds("fetched");
    assert_eq!(report.total("failures"), 1, "{:?}", report.errors());
    assert_eq!(report.errors_with("status 404"), 1, "{:?}", report.errors());
}

#[test]
fn a_verdict_changes_what_the_response_shows() {
    let (report, _) = holds("looked_at");
    assert_eq!(report.failures("GET looked at"), 1, "{:?}", report.errors());
}

#[test]
fn a_task_that_raises_is_counted_and_the_user_goes_on() {
    let server = Server::start();
    let report = run([
        "tests/lua/raising.lua",
        "-H",
        &server.url(),
        "-u",
        "2",
        "-r",
        "1000",
        "-i",
        "2",
    ]);
    let errors = report.errors().join("\n");
    let failing = [
        "raises",
        "says no",
        "asserts",
        "raises in lgoose",
        "raises without text",
        "yields",
        "misuses get",
    ];
    for name in failing {
        assert_eq!(report.task(name), (2, 2), "{name}\n{errors}");
    }
    assert_eq!(report.task("goes on"), (2, 0), "{errors}");
    assert_eq!(
        report.task("bye"),
        (1, 0),
        "on_stop runs at the end\n{errors}"
    );
    assert_eq!(server.count("GET /before"), 2);
    assert_eq!(server.count("GET /after"), 2);
    assert_eq!(server.count("GET /bye"), 1);
    assert_eq!(
        report.total("failures"),
        0,
        "a task that raises fails no request\n{errors}"
    );
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
}

#[test]
fn a_user_that_cannot_start_is_counted_and_asks_for_nothing_more() {
    let server = Server::start();
    let report = run([
        "tests/lua/raising.lua",
        "-H",
        &server.url(),
        "-u",
        "2",
        "-r",
        "1000",
        "-i",
        "1",
    ]);
    assert_eq!(report.task("start"), (1, 1), "{:?}", report.errors());
    assert_eq!(report.task("never").0, 0);
    assert_eq!(server.count("GET /never"), 0);
    assert_eq!(
        report.errors_with("cannot start"),
        1,
        "{:?}",
        report.errors()
    );
}

#[test]
fn what_was_raised_is_shown_with_its_message_and_its_line() {
    let server = Server::start();
    let report = run([
        "tests/lua/raising.lua",
        "-H",
        &server.url(),
        "-u",
        "2",
        "-r",
        "1000",
        "-i",
        "1",
    ]);
    let errors = report.errors().join("\n");
    for expected in [
        "task raises: attempt to index a nil value (local 'missing') (tests/lua/raising.lua:6)",
        "task says no: no (tests/lua/raising.lua:11)",
        "task asserts: one is not two (tests/lua/raising.lua:12)",
        "task misuses get: the path must be a string, not nil; write user:get(\"/path\"), with a colon (tests/lua/raising.lua:16)",
        "task start: cannot start (tests/lua/raising.lua:22)",
    ] {
        assert!(
            errors.contains(expected),
            "'{expected}' is missing in\n{errors}"
        );
    }
}

#[test]
fn what_lgoose_itself_raises_in_a_task_is_shown_with_its_line() {
    let server = Server::start();
    let report = run([
        "tests/lua/raising.lua",
        "-H",
        &server.url(),
        "-u",
        "2",
        "-r",
        "1000",
        "-i",
        "1",
    ]);
    let errors = report.errors().join("\n");
    for expected in [
        "task raises in lgoose: random.int(a, b): 2 is larger than 1 (tests/lua/raising.lua:13)",
        "task yields: coroutine.yield outside of a coroutine of the plan's own (tests/lua/raising.lua:15)",
    ] {
        assert!(
            errors.contains(expected),
            "'{expected}' is missing in\n{errors}"
        );
    }
}

#[test]
fn a_request_is_counted_under_its_name_else_its_task_else_its_path() {
    let server = Server::start();
    let text = "scenario { \"s\",\n  task { function(user) user:get \"/a?b=1\" user:get(\"/a\", { name = \"own\" }) end },\n  \
                task { \"named\", function(user) user:get \"/b\" user:post \"/c\" end },\n}";
    let report = run([
        &plan("names.lua", text),
        "-H",
        &server.url(),
        "-u",
        "1",
        "-i",
        "1",
    ]);
    assert_eq!(
        report.rows(),
        ["GET /a", "GET named", "GET own", "POST named"]
    );
}

#[test]
fn tasks_run_in_the_order_that_the_plan_says() {
    let server = Server::start();
    let text = r#"
local function visits(path) return function(user) user:get(path) end end
scenario { "s", order = "round-robin",
  task { "last", on_stop = true, visits "/last" },
  task { "free", weight = 2, visits "/free" },
  task { "b", sequence = 2, visits "/b" },
  task { "a1", sequence = 1, weight = 2, visits "/a1" },
  task { "a2", sequence = 1, visits "/a2" },
  task { "first", on_start = true, visits "/first" },
}
"#;
    run([
        &plan("order.lua", text),
        "-H",
        &server.url(),
        "-u",
        "1",
        "-i",
        "2",
    ]);
    let iteration = ["/a1", "/a2", "/a1", "/b", "/free", "/free"];
    let expected = ["/first"]
        .into_iter()
        .chain(iteration)
        .chain(iteration)
        .chain(["/last"]);
    let expected: Vec<String> = expected.map(|path| format!("GET {path}")).collect();
    assert_eq!(server.requests(), expected);
}

#[test]
fn every_user_has_its_own_cookies_and_data() {
    let server = Server::start();
    let text = r#"
task { "one", function(user)
  if user.id == 1 then user:get "/cookie" user.data.mine = true end
  user:wait(0.05)
  local sent = user:get("/echo"):json().headers.cookie
  assert(sent == (user.id == 1 and "flavour=oat" or nil), tostring(sent))
  assert(user.data.mine == (user.id == 1 and true or nil))
end }
"#;
    let path = plan("own_jar.lua", text);
    let report = run([
        &path,
        "-H",
        &server.url(),
        "-u",
        "3",
        "-r",
        "1000",
        "-i",
        "1",
        "--threads",
        "1",
    ]);
    assert_eq!(report.task("one"), (3, 0), "{:?}", report.errors());
}

#[test]
fn a_plan_that_runs_without_a_pause_cannot_keep_a_run_from_ending() {
    let path = plan("busy.lua", "task { \"busy\", function() end }");
    let arguments = [
        path.as_str(),
        "-H",
        "http://127.0.0.1:1",
        "-u",
        "2",
        "-r",
        "1000",
        "-t",
        "1s",
        "-o",
        "json=-",
    ];
    let report = read(Lgoose::new(arguments).finish());
    assert!(report.task("busy").0 > 0);
    assert_eq!(report.total("count"), 0);
    assert_eq!(report.ended.code, 1, "no request was made");
}
