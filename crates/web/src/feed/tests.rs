//! Events of a run as readers get them: quick ones, slow ones, and some that come back.

use super::*;
use lgoose_metrics::{LiveRequests, LiveRow, Progress, SeriesPoint};

/// A moment of a run with these names, so many seconds after its begin.
fn moment(names: usize, second: u64) -> Arc<Snapshot> {
    let row = |at: usize| LiveRow {
        method: "GET".into(),
        name: format!("an ordinary name of a page, number {at}").into(),
        count: 1_000_000 + second * 997 + at as u64,
        failures: second * 31,
        rate: 1_234.567_891 + second as f64,
        rate_now: 1_233.987_654 - second as f64,
        failures_now: 12.345_678 + second as f64,
        p50: Duration::from_micros(12_345 + second),
        p95: Duration::from_micros(123_456 + second),
        p99: Duration::from_micros(234_567 + second),
        max: Duration::from_micros(345_678 + second),
        ..LiveRow::default()
    };
    let since = Duration::from_secs(second);
    Arc::new(Snapshot {
        progress: Progress {
            elapsed: since,
            played: since,
            measured: since,
            active: since,
            ..Progress::default()
        },
        requests: LiveRequests {
            rows: (0..names).map(row).collect(),
            total: row(0),
            ..LiveRequests::default()
        },
        users: second,
        recent: points(second),
        ..Snapshot::default()
    })
}

fn points(seconds: u64) -> Vec<SeriesPoint> {
    let point = |second| SeriesPoint {
        second,
        seconds: 1.0,
        count: 1_234,
        ..SeriesPoint::default()
    };
    (seconds.saturating_sub(120)..seconds).map(point).collect()
}

/// Takes all that there is for a reader: the names of events with their data.
fn read(feed: &Feed, place: &mut FeedPosition) -> Vec<(String, Value)> {
    let mut events = Vec::new();
    while let Some(text) = feed.next(place) {
        let lines: Vec<&str> = text.lines().collect();
        let [id, name, data, ""] = lines[..] else {
            panic!("no event: {text}");
        };
        assert_eq!(id, format!("id: {place}"));
        let data = data.strip_prefix("data: ").expect("data");
        let name = name.strip_prefix("event: ").expect("a name");
        events.push((name.to_owned(), serde_json::from_str(data).expect("JSON")));
    }
    events
}

/// Returns the seconds of all points in these events.
fn seconds(events: &[(String, Value)]) -> Vec<u64> {
    let points = events
        .iter()
        .filter_map(|(_, data)| data["points"].as_array());
    points
        .flatten()
        .filter_map(|point| point["second"].as_u64())
        .collect()
}

#[test]
fn a_second_of_twelve_names_is_far_below_ten_kilobytes() {
    let feed = Feed::new();
    let mut place = FeedPosition::default();
    feed.state().look(moment(12, 9));
    read(&feed, &mut place);
    feed.state().look(moment(12, 10));
    let text = feed.next(&mut place).expect("figures");
    assert!(text.len() < 5_000, "{} bytes: {text}", text.len());
    assert!(text.contains("rate_now") && !text.contains("ordinary name"));
    assert_eq!(feed.next(&mut place), None);
}

#[test]
fn a_reader_that_skips_gets_the_state_of_now_and_every_point() {
    let feed = Feed::new();
    let (mut quick, mut slow) = (FeedPosition::default(), FeedPosition::default());
    assert_eq!(
        read(&feed, &mut quick)[0].1,
        json!({ "begin": true, "phase": "starting" })
    );
    feed.state().look(moment(2, 1));
    assert_eq!(read(&feed, &mut slow)[0].1["begin"], true);
    read(&feed, &mut quick);
    for second in 2..=250 {
        feed.state().look(moment(2, second));
        let events = read(&feed, &mut quick);
        assert_eq!(seconds(&events), [second - 1]);
    }
    let events = read(&feed, &mut slow);
    assert_eq!(seconds(&events), (1..250).collect::<Vec<_>>());
    assert_eq!(events.len(), 3, "hundred points in each");
    let first = &events[0].1;
    assert_eq!(first["begin"], Value::Null);
    assert_eq!(
        first["requests"][1]["name"],
        "an ordinary name of a page, number 1"
    );
    assert_eq!(first["users_now"], 250);
    assert_eq!(
        events[1].1.as_object().map(Map::len),
        Some(1),
        "points alone"
    );
}

#[test]
fn whoever_comes_back_goes_on_where_it_was() {
    let feed = Feed::new();
    let mut place = FeedPosition::default();
    feed.state().journal.add(FeedEntry::Line("one".into()));
    feed.state().look(moment(1, 5));
    read(&feed, &mut place);
    let id = place.to_string();
    feed.state().journal.add(FeedEntry::Line("two".into()));
    feed.state().look(moment(1, 7));
    let mut back: FeedPosition = id.parse().expect("an id");
    let events = read(&feed, &mut back);
    assert_eq!(events[0].1["lines"], json!(["two"]));
    assert_eq!(events[1].1["begin"], Value::Null);
    assert_eq!(events[1].1["requests"][0]["i"], 0);
    assert_eq!(seconds(&events), [5, 6]);
    let other = format!("{:08x}-1-5-1", place.to_string().len());
    let mut of_another: FeedPosition = other.parse().expect("an id");
    let events = read(&feed, &mut of_another);
    assert_eq!(events[0].1["lines"], json!(["one", "two"]));
    assert_eq!(events[1].1["begin"], true);
    for wrong in [
        "",
        "x",
        "1-2-3",
        "1-2-3-4-5",
        "zz-1-1-1",
        "1-2-3-99999999999999999999999",
    ] {
        assert_eq!(wrong.parse::<FeedPosition>(), Err(()), "{wrong}");
    }
}

#[test]
fn a_measurement_that_starts_anew_is_reported_as_such() {
    let feed = Feed::new();
    let mut place = FeedPosition::default();
    feed.state().look(moment(3, 50));
    read(&feed, &mut place);
    feed.state().look(moment(1, 2));
    let events = read(&feed, &mut place);
    assert_eq!(events[0].1["begin"], true);
    assert_eq!(events[0].1["requests"].as_array().map(Vec::len), Some(1));
    assert_eq!(seconds(&events), [0, 1]);
}

#[test]
fn a_threshold_is_reported_when_it_turns() {
    let feed = Feed::new();
    let mut place = FeedPosition::default();
    let look = |second, value: Option<f64>, passed| {
        let row = ThresholdRow {
            threshold: "p95 < 300ms".to_owned(),
            name: None,
            value,
            limit: 300.0,
            unit: "ms".to_owned(),
            passed,
            broken_s: None,
            subject: None,
        };
        let mut now = (*moment(1, second)).clone();
        now.thresholds = vec![row];
        feed.state().look(Arc::new(now));
    };
    let mut threshold_events = Vec::new();
    for (second, value, passed) in [
        (1, None, false),
        (2, Some(1.0), true),
        (3, Some(400.0), false),
        (4, Some(401.0), false),
        (5, Some(2.0), true),
    ] {
        look(second, value, passed);
        let events = read(&feed, &mut place);
        let of = events.iter().filter(|(name, _)| name == "threshold");
        threshold_events
            .extend(of.map(|(_, data)| (data["run_s"].clone(), data["passed"].clone())));
    }
    assert_eq!(
        threshold_events,
        [(json!(3.0), json!(false)), (json!(5.0), json!(true))]
    );
}

#[test]
fn the_end_has_the_figures_of_the_report_and_comes_once() {
    let feed = Feed::new();
    let mut place = FeedPosition::default();
    feed.state().look(moment(12, 5));
    read(&feed, &mut place);
    let report = lgoose_judgement::fixture::report();
    feed.end(Some(&report));
    let events = read(&feed, &mut place);
    let (name, end) = events.last().expect("an end");
    assert_eq!(name, "end");
    assert_eq!(end["ending"], json!(report.ending));
    let mut late = FeedPosition::default();
    let state = read(&feed, &mut late);
    let (_, all) = state
        .iter()
        .find(|(name, _)| name == "snapshot")
        .expect("figures");
    assert_eq!(all["phase"], "over");
    assert_eq!(all["aggregated"]["count"], report.aggregated.count);
    assert_eq!(
        all["requests"].as_array().map(Vec::len),
        Some(report.requests.len())
    );
    assert_eq!(feed.next(&mut place), None);
}

#[test]
fn a_run_without_a_report_ends_all_the_same() {
    let feed = Feed::new();
    feed.end(None);
    let events = read(&feed, &mut FeedPosition::default());
    assert_eq!(events[0].1["phase"], "over");
    assert_eq!(events[1].1, json!({ "ending": null, "verdict": null }));
}

#[test]
fn what_a_snapshot_shows_is_in_the_docs() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/web.md");
    let docs = std::fs::read_to_string(path).expect("it is there");
    for key in shown(Some(&moment(1, 1)), false).keys() {
        assert!(
            docs.contains(&format!("`{key}`")),
            "{key} is not in docs/web.md"
        );
    }
    for table in changes::TABLES {
        assert!(
            docs.contains(&format!("\"{table}\"")),
            "{table} is no table in docs/web.md"
        );
    }
}
