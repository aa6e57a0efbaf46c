//! Tasks that raise errors: what the report and the log show of them, and which users go on.

use crate::program::{Lgoose, plan, scratch};
use crate::report::{iterate, run};
use crate::server::Server;

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
fn a_task_that_raises_is_counted_and_the_user_goes_on() {
    let server = Server::start();
    let report = iterate("tests/lua/raising.lua", &server, 2, 2);
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
    assert_eq!(report.ended.code, 1, "{}", report.ended.stderr);
}

#[test]
fn a_user_that_cannot_start_is_counted_and_asks_for_nothing_more() {
    let server = Server::start();
    let report = iterate("tests/lua/raising.lua", &server, 2, 1);
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
    let report = iterate("tests/lua/raising.lua", &server, 2, 1);
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
    let report = iterate("tests/lua/raising.lua", &server, 2, 1);
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
fn the_report_has_what_the_site_said_last_before_a_task_raised() {
    let server = Server::start();
    let text = "task { \"reads\", function(user)\n  user:get(\"/form\"):json()\nend }\n\
                task { \"fails\", function(user) user:get(\"/status/404\"):ensure() end }";
    let path = plan("raises_after_response.lua", text);
    let report = iterate(&path, &server, 1, 2);
    let errors = report.json["errors"].as_array().expect("a list");
    let of = |name: &str| {
        let error = errors.iter().find(|error| error["name"] == name);
        error.unwrap_or_else(|| panic!("{errors:#?}"))
    };
    let latest = &of("task reads")["exemplars"][0];
    let said = latest["body"].as_str().expect("a text");
    assert!(said.contains("A form"), "{latest}");
    assert_eq!(latest["status"], 200);
    assert_eq!(latest["task"], "reads");
    // The request itself has what came back.
    assert!(of("task fails").get("exemplars").is_none());
    assert_eq!(of("GET fails")["exemplars"][0]["status"], 404);
}

#[test]
fn a_task_that_misreads_what_it_has_is_told_what_it_is() {
    plan("columns_of_names.csv", "name;pass\nann;1\n");
    for (text, expected) in [
        (
            "local rows = data.csv 'columns_of_names.csv'\ntask { 'a', function(user)\n  local row = rows:next()\n  \
             user:get('/api/products/' .. row.name)\nend }",
            "'columns_of_names.csv' has no column 'name'; it has 'name;pass'; is the separator ';'?",
        ),
        (
            "task { 'a', function(user) user:get('/user'):json() end }",
            "the response is a page, and no JSON: 'User account",
        ),
        (
            "task { 'a', function(user)\n  local page = user:get '/user'\n  user:bearer(page.headers['x-token'])\nend }",
            "'page.headers['x-token']' is nil",
        ),
        (
            "task { 'a', function(user) user:get '/user' error('password=hunter2!') end }",
            "password=***",
        ),
        (
            "plan { thresholds = { ['GET nowhere'] = 'p95 < 1s' } }\ntask { 'a', function(user) user:get '/user' end }",
            "has no data",
        ),
    ] {
        let file = plan("misreads.lua", text);
        let ended = Lgoose::new([file.as_str(), "-H", "demo:drupal", "--once"]).finish();
        let shown = format!("{}{}", ended.stdout, ended.stderr).replace('\n', " ");
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(expected), "{text}: {shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn once_shows_an_error_of_a_task_in_one_place_with_the_response_that_it_read() {
    let server = Server::start();
    let text = "local function total(order)\n  return order.price * 2\nend\n\
                task { \"buys\", function(user)\n  user:get \"/status/200\"\n  total {}\nend }";
    let path = plan("once_raises.lua", text);
    let url = server.url();
    let words = |arguments: &[&str]| {
        let own = [path.as_str(), "-H", &url];
        let ended = Lgoose::new(own.iter().chain(arguments)).finish();
        assert_eq!(ended.code, 1, "{}", ended.stderr);
        let words = ended.stdout.split_whitespace();
        (words.collect::<Vec<_>>().join(" "), ended.stderr)
    };
    let (stdout, stderr) = words(&["--once"]);
    let latest = format!("its latest response: 200 from {url}/status/200");
    let message = "attempt to perform arithmetic on a nil value (field 'price')";
    for once in [message, &latest, "the task 'buys' failed in its only run"] {
        assert_eq!(stdout.matches(once).count(), 1, "{once}: {stdout}");
    }
    assert!(!stdout.contains("stack:"), "{stdout}");
    assert!(
        !stderr.contains("error:") && !stderr.contains(message),
        "{stderr}"
    );
    // Without the tables, the reason stands alone.
    let (_, stderr) = words(&["--once", "-q"]);
    assert!(stderr.contains(message), "{stderr}");
    for arguments in [&["--once"][..], &["-u", "1", "-i", "2"]] {
        let (stdout, _) = words(&[arguments, &["--backtrace"]].concat());
        for call in [":2: in upvalue 'total' ←", ":6: in function <"] {
            assert!(stdout.contains(call), "{call}: {stdout}");
        }
    }
}

#[test]
fn an_argument_that_is_nil_is_named_as_it_stands_in_the_plan() {
    let server = Server::start();
    let calls = [
        ("user:get(page.next)", "'page.next' is nil"),
        ("user:post(page.next, 'x')", "'page.next' is nil"),
        ("user:set_header(page.name, 'x')", "'page.name' is nil"),
        ("user:request(page.next)", "'page.next' is nil"),
        ("user:wait(page.pause)", "'page.pause' is nil"),
        ("user:transaction(page.name, print)", "'page.name' is nil"),
        ("user:transaction('buy', page.buy)", "'page.buy' is nil"),
        ("user:timed('buy', page.buy)", "'page.buy' is nil"),
        ("user:set_host(page.host)", "'page.host' is nil"),
        ("json.decode(page.text)", "'page.text' is nil"),
        ("regex(page.pattern)", "'page.pattern' is nil"),
        ("random.int(1, page.most)", "'page.most' is nil"),
        (
            "user:get('/status/200'):header(page.name)",
            "'page.name' is nil",
        ),
    ];
    let tasks = calls.iter().enumerate().map(|(at, (call, _))| {
        format!("task {{ \"{at}\", function(user)\n  local page = {{}}\n  print({call})\nend }}\n")
    });
    let path = plan("nil_arguments.lua", &tasks.collect::<String>());
    let report = iterate(&path, &server, 1, 1);
    for (at, (call, expected)) in calls.iter().enumerate() {
        let name = format!(" task {at}: ");
        let errors = report.errors();
        let error = errors.iter().find(|error| error.contains(&name));
        assert!(
            error.is_some_and(|error| error.contains(expected)),
            "{call}: {error:?}"
        );
    }
}

#[test]
fn a_task_that_finds_no_row_left_counts_neither_itself_nor_its_iteration() {
    let server = Server::start();
    let folder = scratch("rows_used_up");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("rows.txt"), "a\nb\n").expect("rows");
    let path = folder.join("plan.lua");
    let text = "local rows = data.lines(\"rows.txt\", { order = \"unique\" })\n\
                task { \"takes\", function(user) user:get \"/status/200\" rows:next() end }";
    std::fs::write(&path, text).expect("a plan");
    let path = path.to_str().expect("a name");
    let loads: [&[&str]; 2] = [
        &["-u", "1", "-i", "5"],
        &["--rate", "20/s", "--max-users", "1", "-t", "1s"],
    ];
    for load in loads {
        let url = server.url();
        let own = [path, "-H", &url];
        let report = run(own.iter().chain(load));
        assert_eq!(report.iterations(), 2, "{load:?}");
        assert_eq!(report.task("takes"), (2, 0), "{load:?}");
    }
}
