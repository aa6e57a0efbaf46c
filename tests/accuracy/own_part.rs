//! Whether lgoose tells its own part of the latency: what a client beside busy loops adds to the site's own time is
//! compared with the part it tells, and runs against a slow site are not put down to it.

use crate::alone;
use crate::cores::{away_from_busy_loops, beside_busy_loops};
use crate::logging_site::LoggingSite;
use crate::percentiles::quantile;
use crate::program::plan;
use crate::report::{Report, run};
use std::time::Duration;

const RUNS: usize = 3;
const PLAN: &str = "task { function(user)\n  user:get(\"/\")\n  user:wait(0.02)\nend }";

/// What opens a connection waits for lgoose once more, and the part that is told knows of one wait: the warm-up has those.
fn load(path: &str, site: &LoggingSite, time: &str) -> Report {
    let url = site.url();
    let fixed = "--threads 1 -u 20 -r 1000 --warmup 500ms -t";
    let fixed = fixed.split(' ').chain([time]);
    let report = run(["-H", &url, path].into_iter().chain(fixed));
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    report
}

/// The median and the 99th percentile of the site's own time, in milliseconds.
fn at_the_site(site: &LoggingSite) -> [f64; 2] {
    let visits = site.visits();
    let took = visits.iter().map(|visit| visit.took().as_secs_f64() * 1e3);
    let mut took: Vec<f64> = took.collect();
    took.sort_unstable_by(f64::total_cmp);
    [0.5, 0.99].map(|q| quantile(&took, q))
}

fn figure(report: &Report, pointer: &str) -> f64 {
    let found = report
        .json
        .pointer(pointer)
        .and_then(|value| value.as_f64());
    found.unwrap_or_else(|| panic!("no figure {pointer}"))
}

#[test]
fn a_client_beside_busy_loops_is_marked_and_tells_its_part_of_the_latency() {
    let _alone = alone();
    let path = plan("own_part_starved.lua", PLAN);
    let (mut all_told, mut all_own) = (0.0, 0.0);
    for number in 1..=RUNS {
        // Long enough for the client to have nothing to do meanwhile: only then it sleeps, and must be woken for the answer.
        let site = away_from_busy_loops(|| LoggingSite::start(|_, _| Duration::from_millis(5)));
        let users_are_there = || site.visits().len() >= 20;
        let report = beside_busy_loops(users_are_there, || load(&path, &site, "6500ms"));
        let marked = figure(&report, "/generator/saturated_s");
        let told = figure(&report, "/generator/own_p99_ms");
        let p99 = figure(&report, "/aggregated/latency_ms/p99");
        let own = p99 - at_the_site(&site)[1];
        eprintln!(
            "{number}: marked {marked:.1} s, {told:.2} ms told of p99 {p99:.2} ms, {own:.2} ms true"
        );
        assert!(marked > 0.0, "run {number}: {}", report.json["generator"]);
        (all_told, all_own) = (all_told + told, all_own + own);
    }
    // It is told from fifty samples a second, the fewer the lower, and rather too low than too high.
    let (told, own) = (all_told / RUNS as f64, all_own / RUNS as f64);
    assert!(
        (own / 4.0..=own * 1.1).contains(&told),
        "{told} ms told of {own} ms on average"
    );
}

#[test]
fn a_client_of_a_slow_site_is_not_marked() {
    const SLEEP_MS: f64 = 30.0;
    let _alone = alone();
    let path = plan("own_part_slow.lua", PLAN);
    for number in 1..=RUNS {
        let site = LoggingSite::start(|_, _| Duration::from_secs_f64(SLEEP_MS / 1e3));
        let report = load(&path, &site, "2500ms");
        eprintln!(
            "{number}: marked {:.1} s, p99 {:.2} ms, {:.2} ms of it the site's",
            figure(&report, "/generator/saturated_s"),
            figure(&report, "/aggregated/latency_ms/p99"),
            at_the_site(&site)[1],
        );
        for point in report.json["series"].as_array().expect("a series") {
            // A machine that has no core free holds up any client, and a mark is right. But then its answers did take
            // longer than the site sleeps: by a twentieth at least, half of what makes a mark.
            let longer = |key: &str| point[key].as_f64() > Some(SLEEP_MS / 0.95);
            let held_up = longer("p50_ms") || longer("p99_ms");
            assert!(
                point["saturated"] == false || held_up,
                "run {number}: {point}"
            );
        }
    }
}
