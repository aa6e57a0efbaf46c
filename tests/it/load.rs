//! Load shapes in whole runs: the start and stop of users, their order, and the counts.

use crate::program::{Ended, Lgoose, plan, wait_until};
use crate::report::{read, run};
use crate::server::Server;

/// A plan whose users report their start and stop to the site, and do nothing in between.
const COMES_AND_GOES: &str = "scenario { \"s\",\n  \
     task { on_start = true, function(user) user:get(\"/in/\" .. user.id) end },\n  \
     task { on_stop = true, function(user) user:get(\"/out/\" .. user.id) end },\n}";

/// Asserts that the arguments after a plan are refused as a mistake, with all these words.
fn refused(arguments: &[&str], words: &[&str]) {
    let plan = "plans/drupal.lua";
    let Ended {
        code,
        stdout,
        stderr,
    } = Lgoose::new([plan].iter().chain(arguments)).finish();
    assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
    for word in words {
        assert!(
            stderr.contains(word),
            "{arguments:?}: '{word}' is missing in\n{stderr}"
        );
    }
}

#[test]
fn stages_start_users_and_stop_the_newest_first_each_with_its_on_stop() {
    let server = Server::start();
    let url = server.url();
    let path = plan("stages.lua", COMES_AND_GOES);
    let report = run([
        &path, "-H", &url, "--stage", "300ms:6", "--stage", "0:6", "--stage", "600ms:0",
    ]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!(report.json["users"], 6);
    assert_eq!(report.total("count"), 12);
    let numbers = |prefix: &str| -> Vec<String> {
        let requests = server.requests().into_iter();
        requests
            .filter_map(|request| request.strip_prefix(prefix).map(str::to_owned))
            .collect()
    };
    assert_eq!(numbers("GET /in/").len(), 6);
    assert_eq!(numbers("GET /out/").len(), 6);
    let out_of_six = numbers("GET /out/")[..2].to_vec();
    assert!(
        out_of_six.iter().all(|user| user > &"3".to_owned()),
        "the newest first: {out_of_six:?}"
    );
    assert_eq!(report.sent(), server.received());
}

#[test]
fn a_user_that_is_told_to_stop_finishes_its_task() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "stages_finish.lua",
        "task { \"long\", function(user)\n  user:get \"/begin\"\n  user:wait(1)\n  user:get \"/end\"\nend }",
    );
    let report = run([&path, "-H", &url, "--test-plan", "3,0;3,500ms;0,200ms"]);
    assert_eq!(server.count("GET /begin"), 3);
    assert_eq!(server.count("GET /end"), 3);
    assert_eq!(report.task("long"), (3, 0));
}

#[test]
fn who_starts_again_keeps_its_number_and_draws_other_values() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "stages_again.lua",
        "scenario { \"s\",\n  task { on_start = true, function(user)\n    \
         user:get(\"/\" .. user.id .. \"/\" .. random.int(1, 1000000000))\n  end } }",
    );
    let report = run([
        &path, "-H", &url, "--seed", "3", "--stage", "0:2", "--stage", "300ms:2", "--stage", "0:0",
        "--stage", "300ms:0", "--stage", "0:2", "--stage", "300ms:2",
    ]);
    let mut requests = server.requests();
    assert_eq!(requests.len(), 4, "{requests:?}");
    requests.sort();
    requests.dedup();
    assert_eq!(requests.len(), 4, "the random values differ: {requests:?}");
    let of = |user: &str| requests.iter().filter(|r| r.starts_with(user)).count();
    assert_eq!((of("GET /1/"), of("GET /2/")), (2, 2));
    assert_eq!(report.json["users"], 2);
}

#[test]
fn scenarios_keep_their_shares_on_the_way_down() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "stages_shares.lua",
        "local function come(user) user:get(\"/\" .. user.scenario) end\n\
         local function go(user) user:get(\"/no-\" .. user.scenario) end\n\
         scenario { \"a\", weight = 4, task { on_start = true, come }, task { on_stop = true, go } }\n\
         scenario { \"b\", weight = 1, task { on_start = true, come }, task { on_stop = true, go } }",
    );
    let program = Lgoose::new([
        path.as_str(),
        "-H",
        &url,
        "--stage",
        "0:20",
        "--stage",
        "500ms:20",
        "--stage",
        "0:10",
        "--stage",
        "3600s:10",
        "-o",
        "json=-",
    ])
    .start();
    wait_until("half of the users have gone", || {
        server.count("GET /no-a") + server.count("GET /no-b") == 10
    });
    assert_eq!(server.count("GET /a"), 16);
    assert_eq!(server.count("GET /b"), 4);
    assert_eq!(server.count("GET /no-a"), 8, "8 of 10 stay a");
    assert_eq!(server.count("GET /no-b"), 2);
    program.interrupt();
    let report = read(program.end());
    assert_eq!(server.count("GET /no-a"), 16);
    assert_eq!(report.sent(), server.received());
}

#[test]
fn the_iterations_of_all_users_end_a_run_of_stages_early() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "stages_iterations.lua",
        "task { function(user) user:get \"/\" end }",
    );
    let report = run([
        &path, "-H", &url, "--stage", "100ms:4", "--stage", "3600s:4", "-i", "3",
    ]);
    assert_eq!(report.total("count"), 12);
    assert_eq!(report.iterations(), 12);
}

#[test]
fn a_plan_has_stages_and_the_command_line_another_load() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "stages_of_a_plan.lua",
        &format!("plan {{ stages = {{ \"0:3\", \"200ms:3\" }} }}\n{COMES_AND_GOES}"),
    );
    assert_eq!(run([&path, "-H", &url]).json["users"], 3);
    let report = run([&path, "-H", &url, "-u", "2", "-r", "1000", "-t", "200ms"]);
    assert_eq!(report.json["users"], 2);
    let report = run([&path, "-H", &url, "--stage", "0:5;200ms:5"]);
    assert_eq!(report.json["users"], 5);
}

#[test]
fn loads_that_contradict_each_other_are_named_with_the_way_out() {
    for (arguments, words) in [
        (
            &["--stage", "1m:5", "-u", "3"][..],
            &["'--stage' and '--users'", "leave out '--users'"][..],
        ),
        (
            &["--test-plan", "5,1m", "-t", "1m"],
            &["'--test-plan' and '--run-time'", "each stage sets its time"],
        ),
        (
            &["--stage", "1m:5", "-r", "3"],
            &["'--stage' and '--hatch-rate'"],
        ),
        (
            &["--stage", "1m:5", "--test-plan", "5,1m"],
            &["'--stage' and '--test-plan'", "give one of them"],
        ),
        (
            &["--stage", "1m:5", "--rate", "5"],
            &["'--stage' and '--rate'"],
        ),
        (
            &["--stage", "1m:5", "--stage", "1m:5/s"],
            &["some stages lead to users, others to a rate"],
        ),
        (&["--stage", "0:5"], &["the stages take no time"]),
        (&["--stage", "1m:0"], &["all stages lead to a load of 0"]),
        (
            &["--rate", "5", "-u", "3"],
            &["'--rate' and '--users'", "'--max-users'"],
        ),
        (
            &["--rate", "5", "--startup-time", "3"],
            &["'--rate' and '--startup-time'"],
        ),
        (
            &["-u", "3", "--max-users", "3"],
            &["'--max-users' is for iterations at a rate", "'--rate N/s'"],
        ),
        (
            &["--arrivals", "even"],
            &["'--arrivals' is for iterations at a rate"],
        ),
        (
            &["--stage", "1m:5", "--max-users", "3"],
            &["'--max-users' is for iterations at a rate"],
        ),
        (
            &["--rate", "5", "--throttle-requests", "3"],
            &["'--throttle-requests' delays", "choose the rate instead"],
        ),
        (
            &["--rate", "5", "--co-mitigation", "average"],
            &["'--co-mitigation' fills in", "leave it out"],
        ),
        (
            &["-u", "1", "-t", "0"],
            &["'--run-time' is 0", "run until Ctrl-C"],
        ),
        (
            &["--rate", "5", "--reset-stats"],
            &["'--reset-stats' waits for all users", "'--warmup 30s'"],
        ),
        (
            &["--warmup", "5s", "--reset-stats"],
            &["'--reset-stats' and '--warmup'", "give one of them"],
        ),
    ] {
        refused(arguments, words);
    }
}

#[test]
fn a_load_that_cannot_be_read_shows_the_grammar() {
    let stage = "write a stage as '5m:100'";
    for value in [
        "5m",
        "100:5m",
        "5x:3",
        "5m:many",
        "5m:-1",
        "5m:3/fortnight",
        "5m:2000000",
        "",
    ] {
        refused(&["--stage", value], &["is not a stage", stage, "--stage"]);
    }
    let test_plan = "write a test plan as '10,5m;10,30m;0,1m'";
    for value in ["10", "5m,10", "10,5m;;0,1m", "10,5m 0,1m", ""] {
        refused(
            &["--test-plan", value],
            &["is not a stage of a test plan", test_plan, "--test-plan"],
        );
    }
    refused(&["--rate", "0"], &["'0' is not a rate", "--rate"]);
    refused(&["--max-users", "0"], &["--max-users"]);
    refused(
        &["--rate", "5", "--arrivals", "often"],
        &[
            "'often' is not a way to space arrivals",
            "'even' or 'poisson'",
        ],
    );
    refused(
        &["--throttle-requests", "none"],
        &["'none' is not a rate", "--throttle-requests"],
    );
    refused(&["--warmup", "soon"], &["'soon' is not a duration"]);
}
