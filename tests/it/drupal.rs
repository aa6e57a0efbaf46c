//! `plans/drupal.lua` against the built-in site: the rows of the report, the same counts on both sides, the
//! exact proportions of users and tasks.

use crate::program::{Lgoose, plan, wait_until};
use crate::report::{Report, read, run};
use lgoose::demo::{Behaviour, Demo, Site};
use std::collections::BTreeMap;

const PLAN: &str = "plans/drupal.lua";

const ROWS: [&str; 11] = [
    "GET (Anon) front page",
    "GET (Anon) node page",
    "GET (Anon) user page",
    "GET (Auth) comment form",
    "GET (Auth) front page",
    "GET (Auth) login",
    "GET (Auth) node page",
    "GET (Auth) user page",
    "GET static asset",
    "POST (Auth) comment form",
    "POST (Auth) login",
];

pub(crate) fn site() -> Demo {
    Demo::start(Site::Drupal, 0, Behaviour::default(), 1).expect("a port is free")
}

/// Asserts that the report and the site have counted the same requests, route for route.
pub(crate) fn assert_same_counts(report: &Report, site: &Demo) {
    let served = site.served();
    let count = |row: &str| report.count(row);
    let hops = |row: &str| report.figure(row, "redirects");
    let comments = "POST (Auth) comment form";
    let logins = "POST (Auth) login";
    let expected: BTreeMap<&str, u64> = [
        (
            "GET /",
            count("GET (Anon) front page") + count("GET (Auth) front page"),
        ),
        (
            "GET /node/%",
            count("GET (Anon) node page")
                + count("GET (Auth) node page")
                + count("GET (Auth) comment form")
                + hops(comments),
        ),
        (
            "GET /user/%",
            count("GET (Anon) user page") + count("GET (Auth) user page") + hops(logins),
        ),
        ("GET /user", count("GET (Auth) login")),
        ("POST /user", count(logins)),
        ("POST /comment/reply/%", count(comments)),
    ]
    .into();
    for (route, expected) in expected {
        assert_eq!(
            served[route], expected,
            "{route}: the site's count, then the report's"
        );
    }
    let assets: u64 = ["GET /misc", "GET /modules", "GET /themes"]
        .iter()
        .map(|route| served[*route])
        .sum();
    assert_eq!(assets, count("GET static asset"), "assets");
    assert_eq!(
        report.sent(),
        served.values().sum::<u64>(),
        "in total: {served:?}"
    );
}

fn assert_all_well(report: &Report) {
    assert_eq!(report.rows(), ROWS);
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    assert!(report.errors().is_empty(), "{:?}", report.errors());
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
}

#[test]
fn the_report_has_exactly_the_eleven_rows_and_counts_what_the_site_counts() {
    let site = site();
    let report = run([
        PLAN,
        "-H",
        &site.url(),
        "-u",
        "12",
        "-r",
        "1000",
        "-t",
        "6s",
        "--seed",
        "1",
    ]);
    assert_all_well(&report);
    assert_same_counts(&report, &site);
    let rows: u64 = ROWS.iter().map(|row| report.count(row)).sum();
    assert_eq!(
        report.total("count"),
        rows,
        "Aggregated is the sum of the rows"
    );
}

#[test]
fn the_tables_show_the_eleven_rows_and_aggregated() {
    let site = site();
    let url = site.url();
    let ended = Lgoose::new([PLAN, "-H", &url, "-u", "5", "-r", "1000", "-i", "1"]).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for row in ROWS.into_iter().chain(["Aggregated"]) {
        assert!(
            ended.stdout.contains(row),
            "{row} is missing in\n{}",
            ended.stdout
        );
    }
}

#[test]
fn the_counts_agree_after_ctrl_c_too() {
    let site = site();
    let url = site.url();
    let program = Lgoose::new([PLAN, "-H", &url, "-u", "10", "-r", "1000", "-o", "json=-"]).start();
    // Seven comments of two members: one of them has done a whole iteration, and so has a visitor by then.
    wait_until("every task has run", || {
        let served = site.served();
        served["POST /comment/reply/%"] >= 7 && served["GET /"] >= 400
    });
    program.interrupt();
    let report = read(program.end());
    assert_all_well(&report);
    assert_same_counts(&report, &site);
}

#[test]
fn the_counts_of_thousands_of_users_on_one_thread_agree_after_ctrl_c() {
    let site = site();
    let url = site.url();
    let front = r#"
        task { "all are there", on_start = true, function() run.ready() end }
        task { "front", function(user) user:get("/", { expect = { status = 200 } }) end }
    "#;
    let front = plan("thousands.lua", front);
    let load = ["-u", "2200", "-r", "2200", "--threads", "1", "-o", "json=-"];
    let arguments = [front.as_str(), "-H", &url].into_iter().chain(load);
    let program = Lgoose::new(arguments).start();
    // From 2,000 connections on, users wait for each other before they send.
    wait_until("all users have sent several requests", || {
        site.served()["GET /"] >= 10_000
    });
    program.interrupt();
    let report = read(program.end());
    assert_eq!(report.json["users"], 2200);
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    assert_eq!(report.sent(), site.served()["GET /"]);
}

#[test]
fn of_thirty_users_twenty_four_are_visitors_and_six_are_members() {
    let site = site();
    let report = run([
        PLAN,
        "-H",
        &site.url(),
        "-u",
        "30",
        "-r",
        "1000",
        "-t",
        "5s",
    ]);
    assert_eq!(report.json["users"], 30);
    let users = [
        ("AnonBrowsingUser".to_owned(), 24),
        ("AuthBrowsingUser".to_owned(), 6),
    ];
    assert_eq!(report.scenario_users(), users.into());
    assert_eq!(
        report.task("(Auth) login"),
        (6, 0),
        "each member logs in once"
    );
    assert_same_counts(&report, &site);
}

#[test]
fn over_whole_iterations_the_tasks_run_exactly_in_the_ratio_of_their_weights() {
    let site = site();
    let report = run([
        PLAN,
        "-H",
        &site.url(),
        "-u",
        "5",
        "-r",
        "1000",
        "--iterations",
        "2",
    ]);
    assert_all_well(&report);
    assert_eq!(report.iterations(), 10);
    let (visitors, members) = (4 * 2, 2);
    let runs = [
        ("(Anon) front page", 15 * visitors),
        ("(Anon) node page", 10 * visitors),
        ("(Anon) user page", 3 * visitors),
        ("(Auth) login", 1),
        ("(Auth) front page", 15 * members),
        ("(Auth) node page", 10 * members),
        ("(Auth) user page", 3 * members),
        ("(Auth) comment form", 3 * members),
    ];
    let runs: BTreeMap<String, u64> = runs.map(|(name, runs)| (name.to_owned(), runs)).into();
    assert_eq!(report.task_runs(), runs);
    assert_same_counts(&report, &site);
}

#[test]
fn the_built_in_site_is_started_for_a_plan_that_names_it() {
    let ended = Lgoose::new([PLAN, "-u", "5", "-r", "1000", "-i", "1"]).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let told = ended.stdout.lines().next().unwrap_or_default();
    assert!(
        told.starts_with("demo:drupal is served at http://127.0.0.1:"),
        "{told}"
    );
}

#[test]
fn a_user_who_cannot_log_in_is_shown_as_a_failure() {
    let site = site();
    let plan = changed("wrong_password.lua", "\"12345\"", "\"no such password\"");
    let report = run([&plan, "-H", &site.url(), "-u", "5", "-r", "1000", "-i", "1"]);
    assert_eq!(report.count("POST (Auth) login"), 1);
    assert_eq!(report.failures("POST (Auth) login"), 1);
    assert_eq!(
        report.errors_with("not logged in: "),
        1,
        "{:?}",
        report.errors()
    );
    assert_eq!(report.task("(Auth) login"), (1, 1));
    let lost = "a member is gone: not logged in: ";
    assert_eq!(report.errors_with(lost), 1, "{:?}", report.errors());
    // Nobody reads on as a member who is none.
    let rows = report.rows();
    assert!(
        !rows.iter().any(|row| row.contains("(Auth) front")),
        "{rows:?}"
    );
    assert_eq!(
        report.scenario_iterations().get("AuthBrowsingUser"),
        Some(&0)
    );
    assert_same_counts(&report, &site);
    assert_eq!(report.ended.code, 1, "nobody could log in");
    let why = "error: the task '(Auth) login' failed in its only run: ";
    assert!(report.ended.stderr.contains(why), "{}", report.ended.stderr);
}

#[test]
fn a_site_of_ones_own_says_its_title_and_a_short_refusal_is_the_reason() {
    let site = site();
    let url = site.url();
    let flags = [
        "-H",
        &url,
        "-u",
        "4",
        "-r",
        "1000",
        "-i",
        "1",
        "-e",
        "FRONT_TITLE=My site",
    ];
    let report = run([PLAN].iter().chain(&flags));
    let front = report.count("GET (Anon) front page");
    assert_eq!(report.failures("GET (Anon) front page"), front);
    let server = crate::server::Server::start();
    let plan = crate::program::plan(
        "refusal.lua",
        "local drupal = require 'lgoose.drupal'\ntask { function(user)\n\
         assert(drupal.error_message(user:get '/status/403') == 'status 403')\n\
         assert(drupal.error_message(user:get '/status/200') == nil) end }",
    );
    let report = run([&plan, "-H", &server.url(), "-u", "1", "-i", "1"]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
}

#[test]
fn a_comment_with_a_stale_token_is_shown_as_a_failure() {
    let site = site();
    let plan = changed(
        "stale_token.lua",
        "op = \"Save\",",
        "op = \"Save\", form_token = \"stale\",",
    );
    let report = run([&plan, "-H", &site.url(), "-u", "5", "-r", "1000", "-i", "1"]);
    assert_eq!(report.count("POST (Auth) comment form"), 3);
    assert_eq!(
        report.failures("POST (Auth) comment form"),
        3,
        "{:?}",
        report.errors()
    );
    assert_eq!(report.total("failures"), 3, "{:?}", report.errors());
    assert_same_counts(&report, &site);
}

#[test]
fn a_run_that_had_failures_ends_with_one_if_asked_to() {
    let site = site();
    let plan = changed(
        "stale_token_verdict.lua",
        "op = \"Save\",",
        "op = \"Save\", form_token = \"stale\",",
    );
    let report = run([
        &plan,
        "-H",
        &site.url(),
        "-u",
        "5",
        "-r",
        "1000",
        "-i",
        "1",
        "--fail-on-error",
    ]);
    assert_eq!(report.ended.code, 1, "{}", report.ended.stderr);
}

/// Writes the Drupal plan with one text replaced by another to a file of its own.
fn changed(name: &str, from: &str, to: &str) -> String {
    let text =
        std::fs::read_to_string(crate::program::in_repository(PLAN)).expect("the plan is text");
    assert_eq!(
        text.matches(from).count(),
        1,
        "'{from}' stands once in the plan"
    );
    crate::program::plan(name, &text.replace(from, to))
}
