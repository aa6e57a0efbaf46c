//! The plan language: each `tests/lua/*.lua` is a plan about one topic that asserts in Lua what it sees; the report
//! must show no failures but the intended ones.

use crate::program::{Lgoose, in_repository, plan};
use crate::report::{Report, iterate, iterate_with, read};
use crate::server::Server;
use std::collections::BTreeSet;

/// Plans in which no task and no request may fail, each with a test of its own name.
macro_rules! hold {
    ($($test:ident: $plan:literal;)*) => {
        const HOLD: &[&str] = &[$($plan),*];
        $(
            #[test]
            fn $test() {
                let (report, server) = holds($plan);
                assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
                assert_eq!(report.sent(), server.received());
            }
        )*
    };
}

hold! {
    coroutines_and_protected_calls_let_requests_through: "coroutines";
    expectations_hold_or_say_what_they_missed: "expect";
    forms_are_found_and_submitted: "forms";
    functions_run_beside_a_task: "jobs";
    json_is_read_and_written: "json";
    tasks_declared_in_a_loop_are_the_same_for_every_user: "loops";
    each_option_of_a_request_does_what_it_says: "options";
    elements_and_texts_are_found_in_pages: "pages";
    made_up_people_and_things_are_well_formed: "fake";
    random_values_are_within_their_bounds: "random";
    regular_expressions_look_at_strings_and_responses: "regex";
    requests_carry_what_the_plan_says: "requests";
    responses_show_what_was_answered: "responses";
    rows_of_files_are_read_in_their_order: "rows";
    signatures_are_those_of_their_specifications: "signatures";
    standard_lua_is_there_as_far_as_it_is_safe: "standard";
    texts_are_encoded_joined_and_hashed: "texts";
}

/// Plans that have a more specific test.
const OTHERS: &[&str] = &[
    "bytes",
    "choices",
    "declarations",
    "environment",
    "events",
    "failures",
    "graphql_ws",
    "grpc",
    "grpc_burst",
    "grpc_connect",
    "grpc_connections",
    "grpc_edition_2023",
    "grpc_editions",
    "grpc_gzip",
    "grpc_interop",
    "grpc_kinds",
    "grpc_messages",
    "grpc_no_settings",
    "grpc_web",
    "hooks",
    "llm",
    "measures",
    "mqtt",
    "mqtt_garbage",
    "orders",
    "postgres",
    "raising",
    "redis",
    "run",
    "sharing",
    "side_by_side",
    "smallest",
    "smtp",
    "socketio",
    "sockets",
    "streams",
    "user",
    "waiting",
    "websockets",
    "whole",
];

#[test]
fn every_plan_of_the_folder_has_a_test() {
    let entries = std::fs::read_dir(in_repository("tests/lua")).expect("the folder can be listed");
    let files = entries.map(|entry| entry.expect("the folder can be listed").path());
    let plans = files.filter(|file| file.extension().is_some_and(|ending| ending == "lua"));
    let names = plans.filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned()));
    // What the plans assert with.
    let there: BTreeSet<String> = names.filter(|name| name != "test").collect();
    let known = HOLD.iter().chain(OTHERS).map(|name| (*name).to_owned());
    assert_eq!(there, known.collect());
}

/// Returns the path of a plan in `tests/lua`.
fn path(name: &str) -> String {
    format!("tests/lua/{name}.lua")
}

/// Runs one user and one iteration of a plan in which every task must succeed.
fn holds(name: &str) -> (Report, Server) {
    let server = Server::start();
    let variables = ["-e", "LGOOSE_TEST_VARIABLE=given", "-e", "HOME=also given"];
    let report = iterate_with(&path(name), &server, 1, 1, &variables);
    let errors = report.errors();
    assert_eq!(report.task_failures(), 0, "{}", errors.join("\n"));
    assert!(
        report.task_runs().values().all(|runs| *runs == 1),
        "{:?}",
        report.task_runs()
    );
    (report, server)
}

#[test]
fn the_smallest_plan_runs() {
    let server = Server::start();
    let report = iterate(&path("smallest"), &server, 5, 2);
    assert_eq!(report.rows(), ["GET /"]);
    assert_eq!((report.total("count"), server.received()), (10, 10));
}

#[test]
fn a_whole_plan_runs_against_the_built_in_site() {
    let arguments = [&path("whole"), "-u", "5", "-r", "1000", "-i", "1"];
    let report = read(Lgoose::new(arguments.into_iter().chain(["-o", "json=-"])).finish());
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    // One iteration each; the first users may have gone when the last ones come.
    let users = report.scenario_iterations();
    assert_eq!((users["visitor"], users["member"]), (4, 1));
    assert_eq!(report.task("(Anon) front page"), (60, 0));
    assert_eq!(report.task("(Anon) node page"), (40, 0));
    assert_eq!(report.task("(Auth) login"), (1, 0));
    assert_eq!(report.task("(Auth) front page"), (15, 0));
    assert!(report.count("GET static asset") > 75);
}

#[test]
fn scenarios_have_hosts_and_users_and_tasks_may_do_without_a_name() {
    let server = Server::start();
    let report = iterate(&path("declarations"), &server, 5, 1);
    assert_eq!(report.task_failures(), 0, "{}", report.errors().join("\n"));
    let users = report.scenario_iterations();
    assert_eq!(
        (users["elsewhere"], users["three"], users["default"]),
        (1, 3, 1)
    );
    assert_eq!(
        report.rows(),
        ["GET /nameless", "GET away", "GET id", "GET left over"]
    );
    assert_eq!(report.count("GET /nameless"), 3);
    // 'away' went to a port where nobody listens.
    assert_eq!(report.sent(), server.received() + 1);
}

#[test]
fn what_a_test_starts_with_is_there_for_all_and_its_end_comes_once() {
    let server = Server::start();
    let report = iterate(&path("events"), &server, 2, 1);
    assert_eq!(report.task_failures(), 0, "{}", report.errors().join("\n"));
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    assert_eq!(server.requests().first(), Some(&"GET /echo".to_owned()));
    assert_eq!(server.requests().last(), Some(&"GET /stopped".to_owned()));
    assert_eq!(server.received(), 3);
}

#[test]
fn a_plan_knows_its_run_and_leaves_its_iterations() {
    let server = Server::start();
    let report = iterate(&path("run"), &server, 1, 2);
    assert_eq!(report.task_failures(), 0, "{}", report.errors().join("\n"));
    assert_eq!(report.scenario_iterations()["one"], 2);
    assert_eq!(report.task("leaves the iteration"), (2, 0));
    assert!(!report.task_runs().contains_key("is not run"));
    assert_eq!((report.sent(), server.received()), (2, 2));
}

#[test]
fn users_share_counters_queues_and_maps_on_all_threads() {
    let server = Server::start();
    // Users wait for each other here, and a build without optimization takes long for what they do meanwhile.
    let options = ["--threads", "2", "--lua-time", "20s"];
    let report = iterate_with(&path("sharing"), &server, 14, 1, &options);
    assert_eq!(report.task_failures(), 0, "{}", report.errors().join("\n"));
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    // One asks for the token, whoever comes first; and each job is done once.
    assert_eq!(report.count("GET token"), 1);
    assert_eq!(report.count("GET job"), 4);
    let mut requests = server.requests();
    requests.retain(|line| line.contains("/job/") || line.contains("/first"));
    requests.sort();
    let jobs = ["GET /first", "GET /job/1", "GET /job/2", "GET /job/3"];
    assert_eq!(requests, jobs);
}

/// Returns the paths that one user of `tests/lua/orders.lua` requested, without its scenario.
fn visits(server: &Server, scenario: &str) -> Vec<String> {
    let prefix = format!("GET /{scenario}/");
    let requests = server.requests();
    let own = requests
        .iter()
        .filter_map(|request| request.strip_prefix(&prefix));
    own.map(str::to_owned).collect()
}

#[test]
fn every_order_keeps_sequences_and_weights() {
    let server = Server::start();
    let report = iterate(&path("orders"), &server, 4, 2);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    for (order, iteration) in [
        ("serial", Some("x x y second a a a b c c")),
        ("round-robin", Some("x y x second a b c a c a")),
        ("shuffled", None),
        ("random", None),
    ] {
        let visits = visits(&server, order);
        assert_eq!(visits.len(), 3 + 2 * 10 + 3, "{order}: {visits:?}");
        assert_eq!(visits[..3], ["open", "enter", "both"], "{order}");
        assert_eq!(visits[23..], ["both", "last", "last"], "{order}");
        for pass in visits[3..23].chunks(10) {
            if let Some(iteration) = iteration {
                assert_eq!(pass.join(" "), iteration, "{order}");
                continue;
            }
            let sorted = |part: &[String]| {
                let mut part = part.to_vec();
                part.sort();
                part.join(" ")
            };
            let (first, rest) = (sorted(&pass[..3]), sorted(&pass[4..]));
            assert_eq!(pass[3], "second", "{order}");
            if order == "shuffled" {
                assert_eq!((first.as_str(), rest.as_str()), ("x x y", "a a a b c c"));
            } else {
                // Drawn with replacement: only who may be among them is sure.
                assert!(first.chars().all(|task| "x y".contains(task)), "{first}");
                assert!(rest.chars().all(|task| "a b c".contains(task)), "{rest}");
            }
        }
    }
}

#[test]
fn every_kind_of_wait_lasts_as_long_as_it_says() {
    let server = Server::start();
    let report = iterate(&path("waiting"), &server, 11, 3);
    assert_eq!(report.task_failures(), 0, "{}", report.errors().join("\n"));
    assert_eq!(report.iterations(), 33);
    assert_eq!(server.received(), 36);
}

#[test]
fn a_run_may_do_without_a_plans_pauses() {
    let server = Server::start();
    let text = "scenario { \"hermit\", wait = 3600, task { function(user) user:get \"/\" user:wait(3600) end } }";
    let path = plan("hermit.lua", text);
    let report = iterate_with(&path, &server, 2, 3, &["--wait-factor", "0"]);
    assert_eq!(report.total("count"), 6);
}

#[test]
fn a_wait_without_end_ends_when_the_user_is_told_to_stop_and_its_task_with_it() {
    let server = Server::start();
    let text = "scenario { \"between\", wait = 3600, users = 1,\n  task { function(user) user:get \"/a\" end },\n  \
                task { on_stop = true, function(user) user:get \"/bye\" end } }\n\
                scenario { \"inside\", users = 1, task { function(user) user:get \"/b\" user:wait(3600) user:get \"/c\" end } }";
    let path = plan("long_waits.lua", text);
    let url = server.url();
    let arguments = [
        &path, "-H", &url, "-u", "2", "-r", "1000", "-t", "300ms", "-o", "json=-",
    ];
    let report = read(Lgoose::new(arguments).finish());
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let mut seen = server.requests();
    seen.sort();
    assert_eq!(seen, ["GET /a", "GET /b", "GET /bye"]);
}

#[test]
fn a_user_changes_its_own_browser() {
    let (report, server) = holds("user");
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    // One went to a port where nobody listens.
    assert_eq!(report.sent(), server.received() + 1);
}

#[test]
fn requests_side_by_side_are_at_most_six_and_can_be_read_at_once_and_much_later() {
    let (report, server) = holds("side_by_side");
    assert_eq!(report.total("failures"), 1, "{:?}", report.errors());
    assert_eq!(report.errors_with("status 404"), 1, "{:?}", report.errors());
    assert_eq!(report.sent(), server.received());
    let side_by_side = server.most_side_by_side();
    assert!((2..=6).contains(&side_by_side), "{side_by_side} at a time");
}

#[test]
fn variables_come_from_outside_and_lines_go_into_the_log() {
    let (report, _) = holds("environment");
    let log = &report.ended.stderr;
    for line in [
        "an info line\t1",
        "a warn line",
        "an error line",
        "a printed line\t2",
    ] {
        assert!(log.contains(line), "'{line}' is missing in\n{log}");
    }
    let line = r#"a line of the user user=1 scenario="default" task="env and log""#;
    assert!(log.contains(line), "{log}");
    assert!(
        log.contains("a line\n  WARN plan: and one that it forges user=1"),
        "{log}"
    );
    assert!(!log.contains("a debug line"), "{log}");
}

#[test]
fn a_plan_reads_no_variable_of_lgoose_itself() {
    let path = plan(
        "env_secret.lua",
        "task { function() env \"LGOOSE_NATS\" end }\n\
         task { function() env(\"OTEL_EXPORTER_OTLP_HEADERS\", \"default\") end }",
    );
    let run = |more: &[&str]| {
        let usual = [
            &path,
            "-H",
            "http://127.0.0.1:1",
            "-u",
            "1",
            "-i",
            "1",
            "-o",
            "json=-",
        ];
        let run = Lgoose::new(usual.iter().chain(more));
        let run = run.env("LGOOSE_NATS", "nats://secret@127.0.0.1:1");
        read(run.env("OTEL_EXPORTER_OTLP_HEADERS", "key=secret").finish())
    };
    let report = run(&[]);
    let own = "is lgoose's own variable and may hold a secret";
    let errors = report.errors();
    let refused = errors.iter().filter(|error| error.contains(own));
    assert_eq!(refused.count(), 2, "{errors:?}");
    let given = [
        "-e",
        "LGOOSE_NATS=mine",
        "-e",
        "OTEL_EXPORTER_OTLP_HEADERS=mine",
    ];
    assert_eq!(run(&given).task_failures(), 0);
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
    let (report, server) = holds("failures");
    assert_eq!(report.sent(), server.received());
    for (row, failures) in [
        ("no answer", 1),
        ("missed", 1),
        ("verdict", 1),
        ("forgiven", 1),
        ("judged late", 1),
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
    assert_eq!(report.messages_of("GET verdict"), ["for good"]);
    assert_eq!(report.errors_with("judged after its assets"), 1);
    assert_eq!(report.count("GET judged asset"), 2);
    assert_eq!(report.failures("GET judged asset"), 0);
    assert_eq!(report.count("GET dropped"), 100);
    assert_eq!(report.failures("GET dropped"), 100);
    assert_eq!(report.failures("GET between"), 0);
    assert_eq!(
        (report.count("GET retried"), report.failures("GET retried")),
        (5, 0)
    );
    let metrics = report.json["metrics"].as_array().expect("a list");
    let repeated = metrics
        .iter()
        .find(|row| row["name"] == "retry: repeated attempts");
    assert_eq!(repeated.expect("it was counted")["value"], 3.0);
    assert_eq!(
        (report.count("GET in vain"), report.failures("GET in vain")),
        (2, 1)
    );
    assert_eq!(report.total("failures"), 107, "{:?}", report.errors());
    assert_eq!(report.failures("GET looked at"), 1, "{:?}", report.errors());
    assert_eq!(report.ended.code, 0, "something succeeded");
}

#[test]
fn a_request_is_counted_under_its_name_else_its_task_else_its_path() {
    let server = Server::start();
    let text = "scenario { \"s\",\n  task { function(user) user:get \"/a?b=1\" user:get(\"/a\", { name = \"own\" }) end },\n  \
                task { \"named\", function(user) user:get \"/b\" user:post \"/c\" end },\n}";
    let report = iterate(&plan("names.lua", text), &server, 1, 1);
    assert_eq!(
        report.rows(),
        ["GET /a", "GET named", "GET own", "POST named"]
    );
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
    let report = iterate_with(&path, &server, 3, 1, &["--threads", "1"]);
    assert_eq!(report.task("one"), (3, 0), "{:?}", report.errors());
}

#[test]
fn unique_rows_go_to_one_user_each_and_who_finds_none_stops() {
    let server = Server::start();
    let rows: String = (1..=200).map(|row| format!("{row}\n")).collect();
    let _path = plan("unique_rows.txt", &rows);
    let text = "local rows = data.lines(\"unique_rows.txt\", { order = \"unique\" })\n\
                task { \"take\", function(user) user:get(\"/row/\" .. rows:next()) end }\n\
                task { \"bye\", on_stop = true, function(user) user:get \"/bye\" end }";
    let report = iterate_with(
        &plan("unique.lua", text),
        &server,
        20,
        1000,
        &["--threads", "2"],
    );
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let requests = server.requests();
    let taken = requests.iter().filter(|request| *request != "GET /bye");
    let mut taken: Vec<&String> = taken.collect();
    taken.sort();
    let all = taken.len();
    taken.dedup();
    assert_eq!((all, taken.len()), (200, 200), "each row, and none twice");
    assert_eq!(server.count("GET /bye"), 20, "every user has stopped");
    let told = "'unique_rows.txt' has no row left: its 200 rows are unique";
    let warnings = report.json["warnings"].to_string();
    assert_eq!(warnings.matches(told).count(), 1, "{warnings}");
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

#[test]
fn a_field_that_a_form_lacks_is_told_once_and_sent() {
    let server = Server::start();
    let text = "task { function(user)\n\
        local form = user:get '/form':form '#order'\n\
        form.fields.mine = 'set by the plan'\n\
        local body = user:submit(form, { whom = 'me', spam = 'yes' }):json().body\n\
        assert(body:find 'whom=me' and body:find 'spam=yes&', body)\n\
        end }";
    let path = plan("lacking.lua", text);
    let report = iterate(&path, &server, 3, 2);
    assert_eq!(report.task_failures(), 0, "{}", report.errors().join("\n"));
    let warnings = report.json["warnings"].to_string();
    let told = "lacking.lua:4: the form to '/echo' has no field 'whom'; did you mean 'who'? It is sent anyway. The \
        form has: token, who, gift, spam, size, note, op";
    assert_eq!(warnings.matches(told).count(), 1, "{warnings}");
    assert_eq!(warnings.matches("has no field").count(), 1, "{warnings}");
}

#[test]
fn fields_that_scripts_add_are_one_warning_or_none() {
    let server = Server::start();
    let text = "task { function(user)\n\
        local form = user:get '/form':form '#order'\n\
        user:submit(form, { token_b = 'x', token_a = 'y' })\n\
        user:submit(form, { token_b = 'x', token_a = 'y' }, { added = true })\n\
        user:submit(form, { token_b = 'x', token_a = 'y' }, { added = { 'token_a', 'token_b' } })\n\
        user:submit(form, { token_b = 'x', token_a = 'y' }, { added = { 'token_a' } })\n\
        local ok, problem = pcall(user.submit, user, form, {}, { added = 'token_a' })\n\
        assert(not ok and problem:find(\"option 'added' must be true or a list\", 1, true), problem)\n\
        end }";
    let path = plan("added.lua", text);
    let report = iterate(&path, &server, 1, 2);
    assert_eq!(report.task_failures(), 0, "{}", report.errors().join("\n"));
    let warnings = report.json["warnings"].to_string();
    for told in [
        "added.lua:3: the form to '/echo' has no fields token_a, token_b. They are sent anyway. The form has: token, who",
        "added.lua:6: the form to '/echo' has no field 'token_b'",
    ] {
        assert_eq!(warnings.matches(told).count(), 1, "{warnings}");
    }
    assert_eq!(warnings.matches("has no field").count(), 2, "{warnings}");
}

#[test]
fn a_required_field_that_is_sent_empty_is_told_once() {
    let server = Server::start();
    let text = "local page = [[<form action='/echo' method=post id=f><input name=mail required><input name=who required>\
        <input name=set required value=x><input type=hidden name=h required><input type=checkbox name=box required>\
        <select name=s required><option value=1></select><input name=free></form>]]\n\
        task { function(user)\n\
        local form = html.parse(page, user.host .. '/page'):form '#f'\n\
        user:submit(form, { who = '' })\n\
        user:submit(form, { who = 'me', mail = 'm', box = 'on' })\n\
        user:submit(form)\n\
        end }";
    let path = plan("required.lua", text);
    let report = iterate(&path, &server, 3, 2);
    assert_eq!(report.task_failures(), 0, "{}", report.errors().join("\n"));
    let warnings = report.json["warnings"].as_array().expect("a list");
    let mut warnings: Vec<&str> = warnings.iter().filter_map(|text| text.as_str()).collect();
    warnings.retain(|warning| warning.contains("required"));
    warnings.sort_unstable();
    let told = [
        (4, "box"),
        (4, "mail"),
        (4, "who"),
        (6, "box"),
        (6, "mail"),
        (6, "who"),
    ];
    let told = told.map(|(line, field)| {
        format!("{path}:{line}: the required field '{field}' of the form to '/echo' was sent empty")
    });
    assert_eq!(warnings, told);
}

#[test]
fn assets_under_the_sites_own_name_are_followed_and_those_of_others_are_told_once() {
    let server = Server::start();
    let text = "task { function(user)\n\
        local page = user:get '/named'\n\
        local own = page:assets()\n\
        assert(#own == 1 and own[1] == user.host .. '/echo?own', own[1])\n\
        user:fetch(own)\n\
        page:assets 'nothing of these'\n\
        end }";
    let path = plan("named.lua", text);
    let report = iterate(&path, &server, 3, 2);
    assert_eq!(report.task_failures(), 0, "{}", report.errors().join("\n"));
    assert_eq!(server.count("GET /echo?own"), 6);
    let warnings = report.json["warnings"].to_string();
    let told = "named.lua:3: assets of other hosts than the page's are left out: 2 of 'cdn.shop.test' on /named; where";
    assert_eq!(warnings.matches(told).count(), 1, "{warnings}");
    assert_eq!(warnings.matches("left out").count(), 1, "{warnings}");
}
