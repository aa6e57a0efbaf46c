//! Screens of a run on workers, compared with checked-in ones.

use super::*;
use lgoose_metrics::{LiveWorker, WorkerState};
use std::collections::BTreeMap;

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

/// Returns a run of twelve names on so many workers: one lost, one saturated, one with a hostile name.
fn gaggle(workers: usize) -> (Snapshot, Arc<Report>) {
    let (mut snapshot, report) = run(12);
    let worker = |n: usize| LiveWorker {
        name: match n {
            1 => "bad\u{1b}[31mname".into(),
            2 => "load-generator-2.eu-central-1.compute.example.com".into(),
            n => format!("worker-{n}").into(),
        },
        labels: Arc::new(if n.is_multiple_of(2) {
            labels(&[("region", "eu")])
        } else {
            labels(&[("region", "us"), ("size", "xl")])
        }),
        version: "0.1.0".into(),
        threads: 4,
        users: 100 + n as u64,
        requests: 12_345 * (n as u64 + 1),
        failures: n as u64,
        rate_now: 210.5 + n as f64,
        p95: Duration::from_micros(12_750 * (n as u64 % 3 + 1)),
        busy: if n == 2 { 0.97 } else { 0.41 },
        lag: Duration::from_micros(120),
        saturated: n == 2,
        offset_ms: -3.25 + n as f64,
        offset_within_ms: 0.125,
        state: match n {
            3 => WorkerState::Lost,
            _ => WorkerState::Running,
        },
    };
    snapshot.workers = (0..workers).map(worker).collect();
    (snapshot, report)
}

fn shown(workers: usize) -> ((Snapshot, Arc<Report>), ViewState) {
    let run = gaggle(workers);
    let mut state = watched(&run);
    state.tab = Tab::Workers;
    (run, state)
}

#[test]
fn every_size_shows_workers_with_those_in_trouble_on_top() {
    for size in SIZES {
        let (run, state) = shown(6);
        let text = screen(&state, &run.0, size);
        compare(&format!("workers_{}x{}.txt", size.0, size.1), &text);
    }
}

#[test]
fn a_worker_has_details_and_the_help_lists_the_page() {
    let (run, mut state) = shown(6);
    let subject = |key: &str| RowReference {
        tab: Tab::Workers,
        key: key.to_owned(),
    };
    for (name, dialog) in [
        ("worker", Dialog::Detail(subject("2"))),
        ("help_workers", Dialog::Help),
    ] {
        state.dialog = dialog;
        compare(
            &format!("dialog_{name}.txt"),
            &screen(&state, &run.0, (80, 24)),
        );
    }
    state.dialog = Dialog::Detail(subject("77"));
    assert!(screen(&state, &run.0, (80, 24)).contains("not seen"));
}

#[test]
fn a_lost_worker_is_shown_as_lost_even_if_it_was_saturated() {
    let (mut run, mut state) = shown(4);
    let mut workers = run.0.workers.to_vec();
    workers[3].saturated = true;
    run.0.workers = workers.into();
    state.dialog = Dialog::Detail(RowReference {
        tab: Tab::Workers,
        key: "3".to_owned(),
    });
    let text = screen(&state, &run.0, (80, 24));
    assert!(text.contains("state      lost"), "{text}");
}

#[test]
fn a_run_of_this_process_alone_has_no_page_of_workers() {
    let alone = run(12);
    let text = screen(&watched(&alone), &alone.0, (120, 40));
    assert!(!text.contains("Workers"));
    let (on_workers, _) = shown(1_000);
    let text = screen(&watched(&on_workers), &on_workers.0, (120, 40));
    assert!(text.contains("8 Workers"), "{text}");
}

#[test]
fn workers_are_sorted_by_figures_and_by_texts() {
    use crate::listing::SortOrder;
    let (run, mut state) = shown(6);
    for (column, reversed, first) in [
        (0, false, "region=eu"),
        (0, true, "region=us"),
        (2, false, "worker-5"),
        (5, false, "load-generator-2"),
        (8, false, "worker-3"),
    ] {
        state.sorted[Tab::Workers.index()] = SortOrder::Column(column);
        state.reversed = reversed;
        let text = screen(&state, &run.0, (120, 40));
        let mut rows = text.lines().skip_while(|line| !line.starts_with("Worker"));
        let top = rows.nth(1).unwrap_or_default();
        assert!(top.contains(first), "{column}: {text}");
    }
}
