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
    let wrong = Lgoose::new([
        &path,
        "-H",
        &url,
        "--rate",
        "5/s",
        "--shared-iterations",
        "50",
    ]);
    let refused = wrong.finish();
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("'--shared-iterations'"),
        "{}",
        refused.stderr
    );
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
