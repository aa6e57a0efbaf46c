//! The open model and the ceiling on requests: the times at which iterations start, and how they are counted.

use crate::program::{Lgoose, plan};
use crate::report::{Report, run};
use crate::server::Server;

/// Returns the iterations that were started, and those that found no user.
fn arrivals(report: &Report) -> (u64, u64) {
    let figure = |key: &str| report.json["arrivals"][key].as_u64().expect("a count");
    (figure("started"), figure("dropped"))
}

fn latency(report: &Report, kind: &str, figure: &str) -> f64 {
    let row = &report.json["aggregated"][kind];
    row[figure]
        .as_f64()
        .unwrap_or_else(|| panic!("no {figure} in {kind}: {row}"))
}

#[test]
fn every_start_of_the_schedule_comes_to_pass_however_slow_the_site_is() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "rate_slow.lua",
        "task { wait = 3600, function(user) user:get \"/delay/700\" end }",
    );
    let report = run([&path, "-H", &url, "--rate", "40/s", "-t", "1s"]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!(arrivals(&report), (40, 0));
    assert_eq!(report.iterations(), 40, "no wait after an iteration");
    assert_eq!(report.sent(), server.received());
    assert!(
        server.most_side_by_side() > 2,
        "a second iteration does not wait for the first"
    );
    assert!(report.json["users"].as_u64() > Some(2));
}

#[test]
fn free_users_are_called_again_before_new_ones_are_made() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "rate_reuse.lua",
        "scenario { \"s\",\n  task { on_start = true, function(user) user:get \"/in\" end },\n  \
         task { function(user) user:get(\"/\" .. user.iteration) end },\n  \
         task { on_stop = true, function(user) user:get \"/out\" end } }",
    );
    let report = run([
        &path,
        "-H",
        &url,
        "--rate",
        "20/s",
        "-t",
        "1s",
        "--max-users",
        "20",
    ]);
    assert_eq!(arrivals(&report), (20, 0));
    let (came, gone) = (server.count("GET /in"), server.count("GET /out"));
    assert_eq!(came, gone);
    assert!(came < 20, "20 iterations by {came} users");
    assert_eq!(report.total("count"), 20 + 2 * came as u64);

    let server = Server::start();
    let url = server.url();
    let report = run([&path, "-H", &url, "--rate", "20/s", "-t", "1s", "-i", "1"]);
    assert_eq!(arrivals(&report), (20, 0));
    assert_eq!(server.count("GET /in"), 20, "one iteration a user");
    assert_eq!(server.count("GET /1"), 20);
    assert_eq!(server.count("GET /out"), 20);
}

#[test]
fn starts_without_a_free_user_are_dropped_and_the_report_says_what_that_means() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "rate_dropped.lua",
        "task { function(user) user:get \"/hold\" end }",
    );
    let arguments = [
        path.as_str(),
        "-H",
        &url,
        "--rate",
        "30/s",
        "-t",
        "1s",
        "--max-users",
        "4",
        "--stop-timeout",
        "0",
    ];
    let report = run(arguments);
    assert_eq!(arrivals(&report), (4, 26));
    assert_eq!(server.received(), 4);
    let warnings = report.json["warnings"].to_string();
    assert!(
        warnings.contains("26 of 30 iterations found no free user, or no turn under a limit on the rate, and were dropped")
            && warnings.contains("the percentiles are too low"),
        "{warnings}"
    );
    let ended = Lgoose::new(arguments).finish();
    for words in ["4 started · 26 (86.7%) dropped", "percentiles are too low"] {
        assert!(ended.stdout.contains(words), "{}", ended.stdout);
    }
}

#[test]
fn a_late_start_counts_in_the_latency_of_its_first_request_and_not_in_the_service_time() {
    let server = Server::start();
    let url = server.url();
    // Ten iterations a second on one thread, each of which computes for 200 ms before its first request, called
    // by C, so that nothing preempts it: what comes last cannot begin in time.
    let path = plan(
        "rate_late.lua",
        "task { function(user)\n  local begin = os.clock()\n  \
         table.sort({ 2, 1 }, function(a, b) while os.clock() - begin < 0.2 do end return a < b end)\n  \
         user:get \"/first\"\n  user:get(\"/second\", { name = \"second\" })\nend }",
    );
    let report = run([
        &path,
        "-H",
        &url,
        "--rate",
        "10/s",
        "-t",
        "1s",
        "--threads",
        "1",
    ]);
    let (started, _) = arrivals(&report);
    assert_eq!(started, 10);
    let delay = report.json["arrivals"]["delay_ms"]["max"]
        .as_f64()
        .expect("a time");
    // The tenth is due at 900 ms, behind nine that compute for 200 ms each.
    assert!(delay >= 300.0, "{delay}");
    let first = &report.json["requests"][0];
    assert_eq!(first["name"], "/first");
    let figure = |kind: &str, key: &str| first[kind][key].as_f64().expect("a time");
    let late = figure("latency_ms", "avg") - figure("service_ms", "avg");
    let delays = report.json["arrivals"]["delay_ms"]["avg"]
        .as_f64()
        .expect("a time");
    assert!((late - delays).abs() < 0.001, "{late} {delays}");
    let second = &report.json["requests"][1];
    assert_eq!(second["latency_ms"], second["service_ms"]);
}

#[test]
fn a_run_of_users_has_one_kind_of_latency() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "rate_none.lua",
        "task { function(user) user:get \"/\" end }",
    );
    let report = run([&path, "-H", &url, "-u", "1", "-i", "1"]);
    assert!(report.json.get("arrivals").is_none());
    assert!(report.json["aggregated"].get("service_ms").is_none());
    assert!(latency(&report, "latency_ms", "p50") > 0.0);
}

#[test]
fn stages_of_a_rate_start_what_lies_under_their_line() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "rate_stages.lua",
        "plan { stages = { \"500ms:40/s\", \"500ms:40/s\", \"500ms:0/s\" }, max_users = 50 }\n\
         task { function(user) user:get \"/\" end }",
    );
    let report = run([&path, "-H", &url]);
    assert_eq!(arrivals(&report), (40, 0));
    let report = run([&path, "-H", &url, "--rate", "10", "-t", "500ms"]);
    assert_eq!(
        arrivals(&report),
        (5, 0),
        "the flag before the plan's stages"
    );
}

#[test]
fn scenarios_get_their_shares_of_the_iterations() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "rate_shares.lua",
        "scenario { \"a\", weight = 4, task { function(user) user:get \"/a\" end } }\n\
         scenario { \"b\", task { function(user) user:get \"/delay/300\" end } }",
    );
    run([&path, "-H", &url, "--rate", "50/s", "-t", "1s"]);
    assert_eq!(server.count("GET /a"), 40);
    assert_eq!(server.count("GET /delay/300"), 10);
}

#[test]
fn arrivals_at_random_are_repeated_by_the_seed() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "rate_random.lua",
        "task { function(user) user:get \"/\" end }",
    );
    let count = |seed: &str| {
        let report = run([
            &path,
            "-H",
            &url,
            "--rate",
            "100",
            "--arrivals",
            "poisson",
            "-t",
            "500ms",
            "--seed",
            seed,
        ]);
        let (started, dropped) = arrivals(&report);
        started + dropped
    };
    let counts: Vec<u64> = ["1", "2", "3", "4"].map(count).into();
    assert_eq!(count("1"), counts[0]);
    assert!(counts.iter().any(|count| *count != 50), "{counts:?}");
}

#[test]
fn a_fixed_number_of_users_and_a_rate_contradict_each_other() {
    let path = plan(
        "rate_fixed.lua",
        "scenario { \"a\", users = 3, task { function(user) user:get \"/a\" end } }",
    );
    let ended = Lgoose::new([&path, "-H", "127.0.0.1:1", "--rate", "5"]).finish();
    assert_eq!(ended.code, 2);
    for words in ["scenario 'a' has a fixed number of users", "'weight'"] {
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}

/// Asserts that no more requests were sent than the ceiling allows, 50 ms of it caught up included.
fn below(report: &Report, rate: f64) {
    let elapsed = report.json["elapsed_s"].as_f64().expect("a time");
    let most = rate * (elapsed + 0.05) + 1.0;
    let count = report.total("count");
    assert!(count > 0 && count as f64 <= most, "{count} in {elapsed} s");
}

#[test]
fn a_throttle_is_a_ceiling_over_all_users_and_shards() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "throttled.lua",
        "task { function(user) user:get \"/\" end }",
    );
    let report = run([
        &path,
        "-H",
        &url,
        "-u",
        "8",
        "-r",
        "1000",
        "-t",
        "1s",
        "--threads",
        "2",
        "--throttle-requests",
        "60",
    ]);
    below(&report, 60.0);
    assert_eq!(report.sent(), server.received());
    let wait = latency(&report, "latency_ms", "p50");
    assert!(
        wait < 100.0,
        "the wait for the throttle is no latency: {wait} ms"
    );
}

#[test]
fn the_requests_of_a_fetch_are_throttled_one_by_one_and_redirect_hops_are_not() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "throttled_fetch.lua",
        "plan { throttle_requests = 40 }\ntask { function(user)\n  \
         user:fetch { \"/1\", \"/2\", \"/3\", \"/4\", \"/5\", \"/6\", \"/7\", \"/8\" }\n  user:get \"/redirect/3\"\nend }",
    );
    let report = run([&path, "-H", &url, "-u", "2", "-r", "1000", "-i", "2"]);
    assert_eq!(report.total("count"), 36);
    assert_eq!(report.total("redirects"), 12);
    below(&report, 40.0);
    assert_eq!(report.sent(), server.received());
}
