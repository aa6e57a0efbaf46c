//! Scenarios with loads of their own, as a user has them: what a run says before, what the site counts, what can be
//! changed while it goes on.

use crate::program::{Lgoose, plan, wait_until};
use crate::report::run;
use crate::server::Server;
use crate::web_client::Served;
use serde_json::json;

const PLAN: &str = "
  scenario { 'readers', task { function(user) user:get '/read' user:wait(0.1) end } }
  scenario { 'buyers', rate = '20/s', start = 1, run_time = 1, task { function(user) user:get '/buy' end } }
  scenario { 'importer', users = 1, start = 0, iterations = 3, headers = { ['X-Job'] = 'nightly' },
    task { function(user) user:get('/echo', { expect = { text = 'nightly' } }) end } }";

#[test]
fn each_load_is_counted_as_the_site_counts() {
    let server = Server::start();
    let url = server.url();
    let path = plan("own_loads.lua", PLAN);
    let report = run([
        &path,
        "-H",
        &url,
        "-u",
        "2",
        "-r",
        "100",
        "-t",
        "3s",
        "--threads",
        "2",
    ]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!(
        (server.count("GET /buy"), server.count("GET /echo")),
        (20, 3)
    );
    assert!(server.count("GET /read") > 30);
    assert_eq!(report.sent(), server.received());
    let loads = &report.json["settings"]["own_loads"];
    assert_eq!(loads["importer"], "1 user", "{loads}");
}

#[test]
fn all_loads_are_told_before_the_run() {
    let server = Server::start();
    let url = server.url();
    let path = plan("own_loads_told.lua", PLAN);
    let screen = Lgoose::new([&path, "-H", &url, "-u", "2", "-t", "100ms"])
        .finish()
        .stdout;
    for told in [
        "'buyers': 20 iterations started per second by at most 1,000 users, from 1s on, for 1s",
        "'importer': 1 user",
        "the others: 2 users",
    ] {
        assert!(screen.contains(told), "'{told}' is missing in\n{screen}");
    }
}

#[test]
fn check_shows_whose_load_is_whose() {
    let path = plan("own_loads_check.lua", PLAN);
    let shown = Lgoose::new(["check", &path]).finish().stdout;
    for line in [
        "readers: weight 1 (100 % of the users)",
        "buyers: 20 iterations started per second by at most 1,000 users, from 1s on, for 1s",
    ] {
        assert!(shown.contains(line), "'{line}' is missing in\n{shown}");
    }
}

#[test]
fn iterations_that_users_share_are_so_many_however_fast_each_is() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "own_loads_shared.lua",
        "task { function(user) user:get '/' user:wait(0.01 * user.id) end }",
    );
    let report = run([
        &path,
        "-H",
        &url,
        "-u",
        "7",
        "-r",
        "1000",
        "--shared-iterations",
        "50",
    ]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!((server.received(), report.iterations()), (50, 50));
    assert_eq!(report.json["ending"]["cause"], "iterations_done");
}

#[test]
fn a_ceiling_ends_a_run_at_a_rate_after_exactly_so_many_iterations() {
    let path = plan(
        "own_loads_ceiling.lua",
        "task { function(user) user:get '/' user:wait(0.02) end } task { function(user) user:get '/' end }",
    );
    for options in [
        &["--rate", "200/s", "--threads", "1"][..],
        &["--rate", "200/s", "--threads", "4", "--arrivals", "poisson"],
        &["--rate", "20/s", "--threads", "3", "--max-users", "1"],
        &["--stage", "1s:200/s", "--stage", "9s:200/s", "-i", "1"],
    ] {
        let server = Server::start();
        let url = server.url();
        let ceiling = [&path, "-H", &url, "--max-iterations", "40"];
        let report = run(ceiling.into_iter().chain(options.iter().copied()));
        assert_eq!(report.ended.code, 0, "{options:?}: {}", report.ended.stderr);
        // One user may be too slow for its rate.
        let dropped = &report.json["arrivals"]["dropped"];
        let dropped = dropped
            .as_u64()
            .filter(|_| options.contains(&"--max-users"));
        let run = 40 - dropped.unwrap_or(0);
        assert_eq!(report.iterations(), run, "{options:?}");
        assert_eq!(
            server.received(),
            2 * run,
            "each iteration ends: {options:?}"
        );
        assert_eq!(report.json["ending"]["cause"], "iterations_done");
    }
}

#[test]
fn parts_of_a_load_have_their_shares_of_the_ceiling() {
    let path = plan(
        "own_loads_parts.lua",
        "task { function(user) user:get '/' end }",
    );
    let server = Server::start();
    let url = server.url();
    for part in ["1/3", "2/3", "3/3"] {
        let report = run([
            &path,
            "-H",
            &url,
            "--rate",
            "300/s",
            "--max-iterations",
            "50",
            "--part",
            part,
            "--seed",
            "7",
        ]);
        assert_eq!(report.json["ending"]["cause"], "iterations_done");
    }
    assert_eq!(server.received(), 50);
}

#[test]
fn a_scenario_with_a_rate_of_its_own_has_its_own_ceiling() {
    let path = plan(
        "own_loads_own_ceiling.lua",
        "scenario { 'a', rate = '200/s', max_iterations = 30, task { function(user) user:get '/a' end } }
         scenario { 'b', users = 1, start = 0, iterations = 4, task { function(user) user:get '/b' end } }",
    );
    let server = Server::start();
    let url = server.url();
    let report = run([&path, "-H", &url]);
    assert_eq!((server.count("GET /a"), server.count("GET /b")), (30, 4));
    assert_eq!(report.json["ending"]["cause"], "iterations_done");
    let shared = plan(
        "own_loads_no_own_ceiling.lua",
        "scenario { 'a', shared_iterations = 30, task { function(user) user:get '/a' end } }",
    );
    let refused = Lgoose::new([&shared, "-H", &url, "--rate", "5/s"]).finish();
    assert_eq!(refused.code, 2);
    let shown = &refused.stderr;
    assert!(
        shown.contains("scenario 'a' has 'shared_iterations', but it shares the rate"),
        "{shown}"
    );
}

#[test]
fn a_run_time_that_no_load_takes_is_a_mistake() {
    let staged = "scenario { 'a', stages = { '1s:2' }, task { function(user) user:get '/' end } }";
    let path = plan("own_loads_run_time.lua", staged);
    let refused = Lgoose::new([&path, "-H", "http://127.0.0.1:1", "-t", "5s"]).finish();
    assert_eq!(refused.code, 2);
    let shown = &refused.stderr;
    assert!(shown.contains("'run_time' has no effect"), "{shown}");
}

#[test]
fn a_load_is_a_function_of_the_time() {
    let server = Server::start();
    let url = server.url();
    let curve = "plan { load = function(t) if t < 3 then return 2 + 4 * (t % 2) end end }
      task { function(user) user:get '/' user:wait(0.02) end }";
    let path = plan("load_function.lua", curve);
    let shown = Lgoose::new(["check", &path]).finish().stdout;
    for row in ["for 3s", "0s  2 users", "1s  6 users", "2s  2 users"] {
        assert!(shown.contains(row), "'{row}' is missing in\n{shown}");
    }
    let report = run([&path, "-H", &url]);
    assert_eq!(report.json["ending"]["cause"], "time_up");
    assert_eq!(report.json["settings"]["users"], 6);
    let rates = "plan { run_time = 2, load = function(t) return t < 1 and '100/s' or '50/s' end }
      task { function(user) user:get '/rate' end }";
    let path = plan("load_function_rates.lua", rates);
    run([&path, "-H", &url]);
    let sent = server.count("GET /rate");
    // A straight line from 100 to 50, then a second of 50.
    assert!((124..=126).contains(&sent), "{sent}");
    let shorter = run([&path, "-H", &url, "-t", "1s"]);
    assert_eq!(shorter.json["ending"]["cause"], "time_up");
    assert!((74..=76).contains(&(server.count("GET /rate") - sent)));
}

#[test]
fn the_load_of_one_scenario_is_steered_over_http() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "own_loads_web.lua",
        &PLAN.replace("run_time = 1", "run_time = 60"),
    );
    let Served { running, web } = Served::start(&[&path, "-H", &url, "-u", "2", "-t", "60s"]);
    wait_until("buyers", || server.count("GET /buy") > 0);
    let answer = web.post("/api/v1/rate", "{\"per_s\": 50, \"scenario\": \"buyers\"}");
    assert_eq!(answer.status, 202, "{}", answer.text());
    assert_eq!(answer.json()["status"]["wanted"]["rate"], json!(50.0));
    let answer = web.post("/api/v1/users", "{\"n\": 3}");
    assert_eq!(answer.status, 202, "{}", answer.text());
    let wrong = web.post("/api/v1/rate", "{\"per_s\": 50, \"scenario\": \"readers\"}");
    assert_eq!(wrong.status, 409);
    let told = wrong.text();
    assert!(
        told.contains(
            "no scenario 'readers' has a load of its own; those that have: buyers, importer"
        ),
        "{told}"
    );
    running.interrupt();
    assert_eq!(running.end().code, 0);
}

#[test]
fn a_scenario_that_gets_no_user_is_named_in_the_report() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "own_loads_starved.lua",
        "scenario { 'many', weight = 50, task { function(user) user:get '/many' end } }
         scenario { 'few', weight = 1, task { function(user) user:get '/few' end } }",
    );
    let report = run([&path, "-H", &url, "-u", "3", "-i", "1"]);
    let told = report.json["warnings"].to_string();
    assert!(
        told.contains("no user plays 'few': 3 users are too few"),
        "{told}"
    );
    assert!(!told.contains("'many'"), "{told}");
}
