//! How often a comparison is wrong, and how often it finds what is there, by simulated runs.

use super::fixture::{SimulatedSite, simulated};
use super::{Comparison, Figure, NamedReport, RegressionLimit, RowVerdict, compare};

/// The first seed: beyond all those by which the level of verdicts was chosen.
const FIRST: u64 = 100_001;

fn named(site: &SimulatedSite, seconds: usize, seed: u64) -> NamedReport {
    NamedReport {
        file: format!("{seed}.json"),
        report: simulated(site, seconds, seed),
    }
}

fn compared(
    before: &SimulatedSite,
    after: &SimulatedSite,
    seconds: usize,
    runs: u64,
    seed: u64,
) -> Comparison {
    let side = |site: &SimulatedSite, offset: u64| -> Vec<NamedReport> {
        let seeds = (0..runs).map(|run| (seed * runs + run) * 2 + offset);
        seeds.map(|seed| named(site, seconds, seed)).collect()
    };
    compare(&side(before, 0), &side(after, 1), Vec::new())
}

/// How many of so many comparisons of a site with itself call any row different.
fn wrong(site: &SimulatedSite, seconds: usize, runs: u64, comparisons: u64) -> u64 {
    let called = |seed: &u64| {
        let found = compared(site, site, seconds, runs, *seed);
        let mut rows = found.rows.iter();
        rows.any(|row| row.verdict.is_worse() || row.verdict.is_better())
    };
    (FIRST..FIRST + comparisons).filter(called).count() as u64
}

/// In how many of so many comparisons p95 of all requests is called slower.
fn found(before: &SimulatedSite, after: &SimulatedSite, comparisons: u64) -> u64 {
    let called = |seed: &u64| {
        let found = compared(before, after, 60, 1, 1_000 + *seed);
        let mut rows = found.rows.iter();
        rows.any(|row| {
            row.name.is_none() && row.figure == Figure::P95 && row.verdict == RowVerdict::Slower
        })
    };
    (FIRST..FIRST + comparisons).filter(called).count() as u64
}

/// The same with all latencies 5 % longer.
const SLOWER: SimulatedSite = SimulatedSite {
    slower: 1.05,
    rate: 500.0,
    noise: 0.02,
    dependence: 0.5,
    failing: 0.0,
};

#[test]
fn a_site_compared_with_itself_is_seldom_called_different() {
    let wrong = wrong(&SimulatedSite::default(), 60, 1, 20);
    assert!(wrong <= 2, "{wrong} of 20");
}

#[test]
fn a_shift_of_five_percent_is_found() {
    let found = found(&SimulatedSite::default(), &SLOWER, 10);
    assert!(found >= 8, "{found} of 10");
}

fn limit(text: &str) -> RegressionLimit {
    RegressionLimit::read(text).expect("a limit")
}

#[test]
fn a_site_that_fails_fast_is_a_regression_of_any_limit_but_one_on_failures() {
    let well = SimulatedSite::default();
    let failing = SimulatedSite {
        slower: 0.2,
        failing: 1.0,
        ..SimulatedSite::default()
    };
    let sides = || ([named(&well, 60, 1)], [named(&failing, 60, 2)]);
    for (limits, is_beyond) in [
        (vec![limit("p95 5%")], true),
        (vec![limit("p95 5%"), limit("failures 100%")], false),
        (vec![], false),
    ] {
        let (before, after) = sides();
        let found = compare(&before, &after, limits.clone());
        assert!(found.comparable, "{:?}", found.reasons);
        let beyond = found.rows.iter().any(|row| row.beyond_limit);
        assert_eq!(beyond, is_beyond, "{limits:?}");
    }
}

#[test]
fn a_name_that_one_side_has_not_requested_cannot_be_judged() {
    let site = SimulatedSite::default();
    let (before, mut after) = ([named(&site, 60, 1)], [named(&site, 60, 2)]);
    let requests = &mut after[0].report.requests;
    requests.retain(|row| row.name != "article");
    for text in ["p95 50%", "GET article: p95 50%"] {
        let found = compare(&before, &after, vec![limit(text)]);
        assert!(!found.comparable, "{text}");
        let reason = &found.reasons[0];
        assert!(
            reason.contains("article") || reason.contains("too little data"),
            "{reason}"
        );
    }
    let found = compare(&before, &after, vec![limit("GET search: p95 50%")]);
    assert!(found.comparable, "{:?}", found.reasons);
}

/// Shows a figure on standard error, as soon as it is known: all of them take minutes.
fn show(what: &str, times: u64) {
    let line = format!("{what}: {times} of 200\n");
    let mut out = std::io::stderr().lock();
    std::io::Write::write_all(&mut out, line.as_bytes()).expect("standard error takes it");
}

fn with(noise: f64, dependence: f64) -> SimulatedSite {
    SimulatedSite {
        noise,
        dependence,
        ..SimulatedSite::default()
    }
}

#[test]
#[ignore = "minutes: publishes figures of docs/compare.md, with '--nocapture'"]
fn of_two_hundred_comparisons_with_itself_five_percent_are_wrong_at_most() {
    for (noise, dependence) in [(0.02, 0.5), (0.01, 0.2), (0.02, 0.0)] {
        let times = wrong(&with(noise, dependence), 60, 1, 200);
        show(
            &format!("itself, noise {noise}, dependence {dependence}"),
            times,
        );
        assert!(times <= 10, "{times} of 200");
    }
}

#[test]
#[ignore = "minutes: publishes figures of docs/compare.md, with '--nocapture'"]
fn how_often_strong_dependence_misleads() {
    for dependence in [0.5, 0.7, 0.85] {
        let times = wrong(&with(0.05, dependence), 60, 1, 200);
        show(
            &format!("itself, noise 0.05, dependence {dependence}"),
            times,
        );
    }
    show(
        "itself, 3 runs a side",
        wrong(&SimulatedSite::default(), 60, 3, 200),
    );
    let long = wrong(&with(0.05, 0.7), 300, 1, 200);
    show("itself, noise 0.05, dependence 0.7, 300 s", long);
    assert!(long <= 20, "{long} of 200");
}

#[test]
#[ignore = "minutes: publishes figures of docs/compare.md, with '--nocapture'"]
fn of_two_hundred_shifts_of_five_percent_most_are_found() {
    let times = found(&SimulatedSite::default(), &SLOWER, 200);
    show("5 % slower found", times);
    assert!(times >= 160, "{times} of 200");
    let slower = SimulatedSite {
        slower: 1.05,
        ..with(0.05, 0.5)
    };
    show(
        "5 % slower found, noise 0.05",
        found(&with(0.05, 0.5), &slower, 200),
    );
}
