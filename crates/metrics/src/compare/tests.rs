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
    failing_fast: 1.0,
    cold_s: 0.0,
};

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_site_compared_with_itself_is_seldom_called_different() {
    let wrong = wrong(&SimulatedSite::default(), 60, 1, 20);
    assert!(wrong <= 2, "{wrong} of 20");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
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
#[ignore = "takes long: 'just test-all' runs it"]
fn failures_that_come_fast_do_not_hide_that_the_successful_requests_are_slower() {
    let well = SimulatedSite {
        failing: 0.02,
        ..SimulatedSite::default()
    };
    // Half of the requests fail in a twentieth of the time, and the others take a third longer.
    let failing = SimulatedSite {
        slower: 1.3,
        failing: 0.6,
        failing_fast: 0.05,
        ..SimulatedSite::default()
    };
    let compared = |limits: &[&str]| {
        let limits = limits.iter().map(|text| limit(text)).collect();
        compare(&[named(&well, 60, 1)], &[named(&failing, 60, 2)], limits)
    };
    let found = compared(&[]);
    let of = |name: Option<&str>, figure: Figure| {
        let mut rows = found.rows.iter();
        rows.find(|row| row.name.as_deref() == name && row.figure == figure)
            .unwrap_or_else(|| panic!("no row of {name:?} and {figure:?}"))
    };
    for name in [None, Some("front page"), Some("article"), Some("search")] {
        let all = of(name, Figure::Median);
        assert_eq!(all.verdict, RowVerdict::Faster, "{all:?}");
        for figure in [Figure::OkMedian, Figure::OkP95] {
            let ok = of(name, figure);
            assert_eq!(ok.verdict, RowVerdict::Slower, "{ok:?}");
            let change = ok.change.expect("both sides have some");
            assert!((0.2..0.4).contains(&change), "{ok:?}");
            assert!(ok.requests[1] < all.requests[1], "{ok:?}");
        }
    }
    // A limit on a percentile holds for the successful requests, too.
    for (limits, is_beyond) in [
        (&["median 5%", "failures 100%"][..], true),
        (&["ok median 5%", "failures 100%"], true),
        (&["ok median 50%", "failures 100%"], false),
    ] {
        let found = compared(limits);
        assert!(found.comparable, "{:?}", found.reasons);
        let beyond: Vec<_> = found.regressions().map(|row| row.figure).collect();
        assert_eq!(!beyond.is_empty(), is_beyond, "{limits:?}");
        assert!(
            beyond.iter().all(|figure| *figure == Figure::OkMedian),
            "{beyond:?}"
        );
    }
}

#[test]
fn successful_requests_of_several_runs_are_those_of_all_their_requests_without_the_failed_ones() {
    let site = SimulatedSite {
        failing: 0.3,
        failing_fast: 0.05,
        ..SimulatedSite::default()
    };
    let runs = |seed: u64| [named(&site, 30, seed), named(&site, 30, seed + 1)];
    let found = compare(&runs(1), &runs(11), Vec::new());
    let mut rows = found.rows.iter();
    let row = rows
        .find(|row| row.figure == Figure::OkMedian)
        .expect("some requests failed");
    let median = |run: &NamedReport| {
        let ok = run.report.aggregated.latency_ok_ms;
        ok.expect("some succeeded").p50
    };
    let [first, second] = runs(1).each_ref().map(median);
    let before = row.before.expect("some succeeded");
    // Between those of the runs, to the 0.1 % that histograms tell apart.
    let (low, high) = (first.min(second) * 0.999, first.max(second) * 1.001);
    assert!(
        (low..=high).contains(&before),
        "{before}: {first}, {second}"
    );
    assert!(row.low.is_some(), "{row:?}");
}

#[test]
fn without_failures_a_limit_on_the_successful_requests_is_one_on_all_of_them() {
    let site = |slower| SimulatedSite {
        slower,
        ..SimulatedSite::default()
    };
    let sides = [site(1.0), site(1.3)].map(|site| [named(&site, 30, 1)]);
    let limits = vec![limit("GET front page: ok p95 5%")];
    let found = compare(&sides[0], &sides[1], limits);
    assert!(found.comparable, "{:?}", found.reasons);
    let beyond: Vec<_> = found.regressions().map(|row| row.figure).collect();
    assert_eq!(beyond, [Figure::P95]);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_warm_up_that_counts_is_left_out_where_a_trend_shows_it() {
    let cold = |cold_s| SimulatedSite {
        cold_s,
        ..SimulatedSite::default()
    };
    // The site before was started anew, that after was not.
    let sides = |warmup: Option<&str>| {
        [(8.0, 1), (0.0, 2)].map(|(cold_s, seed)| {
            let mut run = named(&cold(cold_s), 60, seed);
            let settings = run.report.settings.get_or_insert_default();
            settings.warmup = warmup.map(str::to_owned);
            [run]
        })
    };
    let changes = |found: &Comparison| {
        let rows = found.rows.iter().filter(|row| row.figure == Figure::Mean);
        let changes = rows.map(|row| row.change.expect("both sides have some"));
        changes.collect::<Vec<_>>()
    };
    let [before, after] = sides(None);
    let found = compare(&before, &after, Vec::new());
    assert!((5..=14).contains(&found.left_out_s), "{}", found.left_out_s);
    let steady = changes(&found);
    assert!(
        steady.iter().all(|change| change.abs() < 0.05),
        "{steady:?}"
    );
    let latencies = found
        .rows
        .iter()
        .filter(|row| row.figure.quantile().is_some());
    for row in latencies.filter(|row| row.low.is_some()) {
        assert_eq!(row.verdict, RowVerdict::NoDifference, "{row:?}");
    }
    let note = &found.notes[0];
    let words = format!("the first {} s of each run are left out", found.left_out_s);
    assert!(note.contains(&words), "{note}");
    let all = &found.rows[0];
    let counted: Vec<u64> = [&before, &after]
        .map(|side| {
            let points = side[0].report.series.iter();
            let kept = points.filter(|point| point.second >= found.left_out_s);
            kept.map(|point| point.count).sum()
        })
        .to_vec();
    assert_eq!(all.requests.to_vec(), counted);
    // A run with a warm-up of its own has left out what it wants to.
    let [before, after] = sides(Some("10s"));
    let found = compare(&before, &after, Vec::new());
    assert_eq!(found.left_out_s, 0);
    // (2 + 1.75 + … + 0.25) of 60 seconds more before, and with them a sixth.
    let whole = changes(&found);
    assert!(whole.iter().all(|change| *change < -0.09), "{whole:?}");
    // Where nothing warms up, nothing is left out.
    let steady = |seed| {
        let mut run = named(&cold(0.0), 60, seed);
        run.report.settings.get_or_insert_default().warmup = None;
        [run]
    };
    let found = compare(&steady(3), &steady(4), Vec::new());
    assert_eq!(found.left_out_s, 0);
    assert!(
        found.notes[0].contains("no trend at the start"),
        "{:?}",
        found.notes
    );
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

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_change_of_several_times_between_runs_that_differ_has_too_few_runs_and_not_no_difference() {
    let times = |slower| SimulatedSite {
        slower,
        ..SimulatedSite::default()
    };
    let runs = |all: &[f64], seed: u64| -> Vec<NamedReport> {
        let sites = all.iter().zip(seed..);
        sites
            .map(|(slower, seed)| named(&times(*slower), 40, seed))
            .collect()
    };
    // Runs of a side differ by half or double, and the sides by seven times.
    let (slow, quick) = ([7.0, 14.0], [1.0, 2.0]);
    let found = compare(&runs(&slow, 1), &runs(&quick, 11), Vec::new());
    assert!(found.comparable, "{:?}", found.reasons);
    let latencies = |row: &&super::Row| row.figure.quantile().is_some();
    for row in found.rows.iter().filter(latencies) {
        assert_eq!(row.verdict, RowVerdict::TooFewRuns, "{row:?}");
        let needed = row.runs_needed.expect("some are enough");
        assert!((3..=6).contains(&needed), "{row:?}");
    }
    let note = &found.notes[0];
    assert!(note.starts_with("too few runs to tell"), "{note}");
    assert!(note.contains("of each side would be enough"), "{note}");
    // As many runs as were said to be enough.
    let most = found.rows.iter().filter_map(|row| row.runs_needed).max();
    let most = most.expect("some are enough") as usize;
    let more = |two: [f64; 2]| {
        two.into_iter()
            .cycle()
            .take(most.next_multiple_of(2))
            .collect::<Vec<_>>()
    };
    let found = compare(&runs(&more(slow), 1), &runs(&more(quick), 11), Vec::new());
    for row in found.rows.iter().filter(latencies) {
        assert_eq!(row.verdict, RowVerdict::Faster, "{row:?}");
    }
    // A limit that may be broken is not judged; one on what has become better is.
    let limited = |before: &[f64], after: &[f64]| {
        compare(&runs(before, 1), &runs(after, 11), vec![limit("p95 50%")])
    };
    let worse = limited(&quick, &slow);
    assert!(!worse.comparable && worse.regressions().next().is_none());
    let reason = &worse.reasons[0];
    assert!(reason.contains("too few runs to tell"), "{reason}");
    assert!(limited(&slow, &quick).comparable);
    // Runs that differ and sides that do not: chance explains it.
    let found = compare(&runs(&quick, 1), &runs(&quick, 11), Vec::new());
    for row in &found.rows {
        assert_ne!(row.verdict, RowVerdict::TooFewRuns, "{row:?}");
    }
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
