//! lgoose as a library: the example runs, a mistake is reported before anything is sent, and a run can be stopped.

use crate::server::Server;
use lgoose::Value;
use lgoose::report::{Cause, VerdictResult};
use lgoose::{Error, Test};

#[allow(dead_code, reason = "its main is for 'cargo run --example embed'")]
#[path = "../../examples/embed.rs"]
mod example;

#[test]
fn the_example_measures_and_judges() {
    let report = example::measure().expect("the run is fine");
    assert!(report.aggregated.count > 5, "{}", report.aggregated.count);
    assert_eq!(report.aggregated.failures, 0);
    assert_eq!(report.checks[0].failures, 0);
    assert!(report.thresholds[0].passed);
}

#[test]
fn every_request_of_a_plan_from_a_string_reaches_the_site() {
    let server = Server::start();
    let plan = "task { function(user) user:get(env 'PAGE') end }";
    let test = Test::from_source(plan)
        .host(server.url())
        .env("PAGE", "/form");
    let report = test.users(3).hatch_rate(1000.0).iterations(4).seed(7).run();
    let report = report.expect("the run is fine");
    assert_eq!((report.aggregated.count, report.seed), (12, 7));
    assert_eq!(server.requests(), vec!["GET /form"; 12]);
}

#[test]
fn mistakes_are_told_before_anything_is_sent() {
    let server = Server::start();
    let plan = "task { function(user) user:get '/' end }";
    let test = |plan: &str| Test::from_source(plan).host(server.url()).iterations(1);
    for (wrong, told) in [
        (
            test("task { wieght = 1, function() end }"),
            "unknown field 'wieght'",
        ),
        (test(plan).users(0), "field 'users' of plan: 0"),
        (
            test(plan).option("uesrs", Value::Number(1.0)),
            "did you mean 'users'?",
        ),
        (Test::from_source(plan), "no host is given"),
    ] {
        match wrong.run() {
            Err(Error::Mistake(mistake)) => {
                assert!(mistake.to_string().contains(told), "{mistake}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(Test::open("nowhere/plan.lua").is_err());
    assert_eq!(server.received(), 0);
}

#[test]
fn a_run_without_an_end_can_be_stopped() {
    let server = Server::start();
    let plan = "scenario { 'a', wait = 3600, task { function(user) user:get '/' end },\n\
                task { on_stop = true, function(user) user:get '/bye' end } }";
    let running = Test::from_source(plan).host(server.url()).users(1).start();
    let running = running.expect("it starts");
    crate::program::wait_until("the first request is in the figures", || {
        running
            .snapshot()
            .is_some_and(|snapshot| snapshot.requests.total.count > 0)
    });
    running.stop();
    let outcome = running.wait().expect("it ran");
    let report = &outcome.report;
    let ending = report.ending.as_ref().expect("it ended");
    assert_eq!(
        (ending.cause, ending.cut_short),
        (Cause::StoppedByUser, false)
    );
    let verdict = report.verdict.as_ref().expect("it was judged");
    assert_eq!(
        (verdict.result, verdict.exit_code),
        (VerdictResult::None, 0)
    );
    assert_eq!(server.requests(), ["GET /", "GET /bye"]);
}
