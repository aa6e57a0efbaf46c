//! Runs of a part: a warm-up that is left out, some of the scenarios, variables from a file.

use crate::program::{Lgoose, plan, scratch};
use crate::report::run;
use crate::server::Server;

#[test]
fn a_warm_up_is_kept_apart_and_nothing_is_lost_between_them() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "warmup.lua",
        "task { wait = 0.002, function(user) user:get \"/\" end }",
    );
    let report = run([
        &path,
        "-H",
        &url,
        "-u",
        "4",
        "-r",
        "1000",
        "-t",
        "600ms",
        "--warmup",
        "300ms",
        "--threads",
        "2",
    ]);
    let warmup = &report.json["warmup"];
    let before = warmup["aggregated"]["count"].as_u64().expect("a count");
    assert!(before > 0 && report.total("count") > 0);
    assert_eq!(before + report.sent(), server.received());
    assert!(report.json["elapsed_s"].as_f64() < Some(0.3 + 30.0));
    assert_eq!(warmup["requests"][0]["name"], "/");
    let ended = Lgoose::new([
        &path, "-H", &url, "-u", "1", "-t", "200ms", "--warmup", "100ms",
    ])
    .finish();
    assert!(
        ended.stdout.contains(" warm-up ") && ended.stdout.contains("not in the figures above"),
        "{}",
        ended.stdout
    );
}

#[test]
fn what_came_before_all_users_had_started_is_dropped_when_asked_for() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "reset_stats.lua",
        "plan { reset_stats = true }\ntask { wait = 0.002, function(user)\n  \
         user:get(user.id == 1 and not user.data.failed and \"/status/500\" or \"/\")\n  user.data.failed = true\nend }",
    );
    let report = run([
        &path,
        "-H",
        &url,
        "-u",
        "3",
        "--startup-time",
        "900ms",
        "-t",
        "300ms",
    ]);
    assert!(report.total("count") > 0);
    assert!(report.sent() < server.received());
    assert_eq!(report.total("failures"), 0, "errors are dropped too");
    assert_eq!(report.errors(), Vec::<String>::new());
    assert!(report.json.get("warmup").is_none());
}

#[test]
fn only_the_named_scenarios_run() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "some_scenarios.lua",
        "local function visit(user) user:get(\"/\" .. user.scenario) end\n\
         scenario { \"reader\", task { visit } }\nscenario { \"member\", task { visit } }\n\
         scenario { \"admin\", task { visit } }",
    );
    let report = run([
        &path,
        "-H",
        &url,
        "-u",
        "4",
        "-r",
        "1000",
        "-i",
        "1",
        "--scenario",
        "re*",
        "--scenario",
        "admin",
    ]);
    assert_eq!(report.total("count"), 4);
    assert_eq!(server.count("GET /reader"), 2);
    assert_eq!(server.count("GET /admin"), 2);
    let ended = Lgoose::new([&path, "-H", &url, "--scenario", "membr"]).finish();
    assert_eq!(ended.code, 2);
    for words in [
        "no scenario is named 'membr'",
        "did you mean 'member'?",
        "reader, member, admin",
    ] {
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}

#[test]
fn only_the_tasks_with_a_tag_run_and_what_begins_and_ends_their_users() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "some_tags.lua",
        "local function visit(path) return function(user) user:get(path) end end\n\
         scenario { \"reader\",\n  task { on_start = true, visit \"/in\" },\n  \
         task { tags = { \"smoke\", \"front\" }, visit \"/front\" },\n  task { visit \"/rest\" } }\n\
         scenario { \"member\", tags = \"smoke\", task { visit \"/member\" } }\n\
         scenario { \"admin\", task { visit \"/admin\" } }",
    );
    let arguments = |tags| {
        [
            &path, "-H", &url, "-u", "2", "-r", "1000", "-i", "1", "--tags", tags,
        ]
        .map(str::to_owned)
    };
    assert_eq!(run(arguments("front,smoke")).total("count"), 3);
    let mut visited = server.requests();
    visited.sort_unstable();
    assert_eq!(visited, ["GET /front", "GET /in", "GET /member"]);
    let report = run(arguments("front"));
    // Two users, who need not be there at the same time.
    assert_eq!(report.total("count"), 4);
    let scenarios = report.scenario_users();
    assert_eq!(scenarios.keys().collect::<Vec<_>>(), ["reader"]);
    let ended = Lgoose::new(arguments("smke")).finish();
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("did you mean 'smoke'?"),
        "{}",
        ended.stderr
    );
}

#[test]
fn variables_of_a_file_are_there_for_the_plan_and_give_way_to_the_flag() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "env_file.lua",
        "task { function(user) user:get(\"/\" .. env(\"PLACE\") .. \"/\" .. env(\"ROOM\", \"none\")) end }",
    );
    let file = scratch("variables.env");
    std::fs::write(&file, "# where\nPLACE=here\nexport ROOM='7'\n").expect("it can be written");
    let file = file.display().to_string();
    let arguments = [&path, "-H", &url, "-u", "1", "-i", "1", "--env-file", &file];
    run(arguments);
    run(arguments.into_iter().chain(["-e", "PLACE=there"]));
    assert_eq!(server.requests(), ["GET /here/7", "GET /there/7"]);
    std::fs::write(&file, "PLACE=here\nROOM\n").expect("it can be written");
    let ended = Lgoose::new(arguments).finish();
    assert_eq!(ended.code, 2);
    for words in ["this line is not a variable", "variables.env:2", "2 | ROOM"] {
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
    let ended = Lgoose::new([&path, "--env-file", "/no/such.env"]).finish();
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("'/no/such.env'") && ended.stderr.contains("'--env-file'"),
        "{}",
        ended.stderr
    );
}
