//! Screens of one tag, of the choice of one, and of loads of single scenarios.

use super::*;
use lgoose_metrics::{LiveLoad, LiveRequests, LiveRow, LiveTag, TagRow};

/// Returns a run with tags and loads, and the figures of one tag: every second name, half of its requests.
fn tagged() -> (Snapshot, Arc<Report>, LiveTag) {
    let (mut snapshot, report) = run(12);
    let mut report = Report::clone(&report);
    snapshot.tags = [
        "kind=paid",
        "phase=load",
        "scenario=Anonymous",
        "scenario=buyers",
    ]
    .map(Arc::from)
    .into();
    let load = |scenario: Option<&str>, rate, is_under_way| LiveLoad {
        scenario: scenario.map(Arc::from),
        users: 12,
        rate,
        is_under_way,
    };
    snapshot.loads = [
        load(None, None, true),
        load(Some("buyers of things"), Some(20.0), false),
    ]
    .into();
    let half = |row: &LiveRow| LiveRow {
        count: row.count / 2,
        failures: row.failures / 2,
        worst_now: Default::default(),
        ..row.clone()
    };
    let requests = &snapshot.requests;
    let live = LiveRequests {
        total: half(&requests.total),
        rows: requests.rows.iter().step_by(2).map(half).collect(),
        ..requests.clone()
    };
    report.by_tag = vec![TagRow {
        tag: "phase=load".to_owned(),
        requests: report.requests.iter().step_by(2).cloned().collect(),
        aggregated: report.aggregated.clone(),
    }];
    let live = LiveTag {
        tag: "phase=load".into(),
        requests: live,
        row: Some(report.by_tag[0].clone()),
    };
    (snapshot, Arc::new(report), live)
}

#[test]
fn every_page_shows_one_tag_or_reports_that_it_cannot() {
    let (snapshot, report, live) = tagged();
    let mut state = watched(&(snapshot.clone(), report));
    state.figures.choose_tag(Some("phase=load".into()));
    let text = screen(&state, &snapshot, (80, 24));
    assert!(
        text.contains("no request with 'phase=load' has been made yet"),
        "{text}"
    );
    state.figures.show_tag("phase=load", Some(live));
    for (tab, size) in [
        (Tab::Requests, (80, 24)),
        (Tab::Requests, (120, 40)),
        (Tab::Requests, (200, 60)),
        (Tab::Requests, (60, 15)),
        (Tab::Latency, (80, 24)),
        (Tab::Codes, (80, 24)),
        (Tab::Checks, (80, 24)),
    ] {
        state.tab = tab;
        let name = format!("tag_{}_{}x{}.txt", tab.title(), size.0, size.1);
        compare(&name, &screen(&state, &snapshot, size));
    }
    state.tab = Tab::Requests;
    state.now = true;
    let text = screen(&state, &snapshot, (80, 24));
    assert!(
        text.contains("failed/s") && !text.contains("worst"),
        "{text}"
    );
}

#[test]
fn tags_are_chosen_from_and_loads_are_named_at_eighty_columns() {
    let (mut snapshot, report, _) = tagged();
    let mut state = watched(&(snapshot.clone(), report.clone()));
    for (name, dialog) in [
        ("tags", Dialog::Tags("SCEN".to_owned(), 1)),
        ("tags_none", Dialog::Tags("nothing".to_owned(), 0)),
        ("users_of", Dialog::Users("40".to_owned())),
    ] {
        state.open(dialog);
        let text = screen(&state, &snapshot, (80, 24));
        compare(&format!("dialog_{name}.txt"), &text);
    }
    state.load = Some("buyers of things".into());
    state.open(Dialog::Rate("2.5".to_owned()));
    compare("dialog_rate_of.txt", &screen(&state, &snapshot, (80, 24)));
    snapshot.tags = (100..400).map(|n| format!("id={n}").into()).collect();
    let mut state = watched(&(snapshot.clone(), report));
    state.open(Dialog::Tags(String::new(), 299));
    let text = screen(&state, &snapshot, (80, 24));
    assert!(
        text.contains("by tag, 300 of 300") && text.contains("id=399"),
        "{text}"
    );
    assert!(!text.contains("id=100"), "{text}");
}

#[test]
fn the_tag_of_a_run_that_is_over_has_the_figures_of_its_report() {
    let (snapshot, report, live) = tagged();
    let mut state = watched(&(snapshot, report.clone()));
    state.figures.choose_tag(Some("phase=load".into()));
    state.figures.show_tag("phase=load", Some(live));
    let mut over = Report::clone(&report);
    over.by_tag[0].aggregated.count = 654_321;
    let last = state.finish(&Arc::new(over));
    assert_eq!(last.tags.len(), 1);
    assert!(screen(&state, &last, (80, 24)).contains("654,321"));
    state.figures.choose_tag(None);
    assert!(!screen(&state, &last, (80, 24)).contains("654,321"));
    state.figures.choose_tag(Some("phase=load".into()));
    assert!(screen(&state, &last, (80, 24)).contains("654,321"));
    assert_eq!(state.requested_tag(), None);
}
