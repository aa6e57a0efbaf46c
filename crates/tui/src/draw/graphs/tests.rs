//! Tests of graphs, by the characters on the screen.

use super::super::super::style::Styles;
use super::*;
use lgoose_metrics::{PointLatency, Progress, RunPhase, SeriesPoint, ThresholdRow};
use ratatui::buffer::Buffer;
use std::sync::Arc;

fn point(second: u64) -> SeriesPoint {
    SeriesPoint {
        second,
        seconds: 1.0,
        users: 12,
        count: 300,
        under_way: 10,
        oldest_ms: 20.0,
        latency: PointLatency {
            p95_ms: Some(30.0),
            ok_p95_ms: Some(30.0),
            ..PointLatency::default()
        },
        ..SeriesPoint::default()
    }
}

/// Returns a run with these points, and a view that has seen it.
fn seen(points: Vec<SeriesPoint>, phase: RunPhase) -> (ViewState, Snapshot) {
    let now = Duration::from_secs(points.len() as u64);
    let snapshot = Snapshot {
        progress: Progress {
            phase,
            elapsed: now,
            measured: now,
            ..Progress::default()
        },
        users: 12,
        recent: points,
        ..Snapshot::default()
    };
    let mut state = ViewState::default();
    state.look(&Arc::new(snapshot.clone()));
    (state, snapshot)
}

fn drawn(
    kind: GraphKind,
    state: &ViewState,
    snapshot: &Snapshot,
    colours: bool,
) -> (String, Buffer) {
    let area = Rect::new(0, 0, 46, 8);
    let mut buffer = Buffer::empty(area);
    let mut painter = Painter {
        buffer: &mut buffer,
        styles: Styles { colours },
    };
    graph(kind, state, snapshot, area, &mut painter);
    let line = |y| -> String { (0..area.width).map(|x| buffer[(x, y)].symbol()).collect() };
    let text: Vec<String> = (0..area.height)
        .map(|y| line(y).trim_end().to_owned())
        .collect();
    (text.join("\n"), buffer)
}

#[test]
fn axes_have_numbers_and_times() {
    let (state, snapshot) = seen((0..60).map(point).collect(), RunPhase::Running);
    let (text, _) = drawn(GraphKind::Rate, &state, &snapshot, true);
    for expected in [
        "req/s 300 · max 300 last 1m",
        "  300┤",
        "    0┤",
        "╵0s",
        "╵1m",
    ] {
        assert!(text.contains(expected), "{expected}:\n{text}");
    }
    let (text, _) = drawn(GraphKind::Latency, &state, &snapshot, true);
    assert!(
        text.contains(" 30 ms┤") && text.contains("p95 30 ms"),
        "{text}"
    );
}

#[test]
fn an_outlier_is_clipped_and_reported_with_its_value() {
    let mut points: Vec<_> = (0..60).map(point).collect();
    points[30].latency.ok_p95_ms = Some(6_300.0);
    let (state, snapshot) = seen(points, RunPhase::Running);
    let (text, _) = drawn(GraphKind::Latency, &state, &snapshot, true);
    assert!(
        text.contains("▲6.3 s") && text.contains(" 50 ms┤"),
        "{text}"
    );
}

#[test]
fn failures_are_red_at_the_bottom_and_a_sign_without_colours() {
    let mut points: Vec<_> = (0..60).map(point).collect();
    for point in &mut points[20..40] {
        point.failures = 6;
    }
    let (state, snapshot) = seen(points, RunPhase::Running);
    let (_, buffer) = drawn(GraphKind::Rate, &state, &snapshot, true);
    let red = |cell: &ratatui::buffer::Cell| cell.fg == ratatui::style::Color::Red;
    assert!(buffer.content.iter().any(red));
    let (text, _) = drawn(GraphKind::Rate, &state, &snapshot, false);
    assert!(text.contains('✗'), "{text}");
}

#[test]
fn a_killed_site_does_not_look_faster() {
    let mut points: Vec<_> = (0..60).map(point).collect();
    for point in &mut points[40..] {
        point.latency.p95_ms = Some(0.2);
        point.latency.ok_p95_ms = None;
        point.latency.failed_p95_ms = Some(0.2);
        point.failures = point.count;
    }
    let (state, snapshot) = seen(points, RunPhase::Running);
    let (text, _) = drawn(GraphKind::Latency, &state, &snapshot, true);
    assert!(text.contains("p95 - · ✗ 200 µs"), "{text}");
    let bottom = text.lines().rev().nth(1).expect("a line above the times");
    assert!(bottom.ends_with("✗✗"), "{text}");
}

#[test]
fn a_stall_is_seen_while_it_lasts() {
    let mut points: Vec<_> = (0..60).map(point).collect();
    for (after, point) in points[54..].iter_mut().enumerate() {
        point.count = 0;
        point.latency.ok_p95_ms = None;
        point.oldest_ms = 1_000.0 * (after as f64 + 1.0);
    }
    let (state, snapshot) = seen(points, RunPhase::Running);
    let (text, _) = drawn(GraphKind::UnderWay, &state, &snapshot, true);
    assert!(text.contains("in flight 10 · oldest 6.0 s ⚠"), "{text}");
    let (text, _) = drawn(GraphKind::Latency, &state, &snapshot, true);
    assert!(text.contains('┊') && text.contains("▲6 s"), "{text}");
}

#[test]
fn a_pause_is_no_silence_and_what_happened_is_marked() {
    let (mut state, mut snapshot) = seen((0..30).map(point).collect(), RunPhase::Paused);
    snapshot.progress.elapsed = Duration::from_secs(60);
    snapshot.progress.measured = snapshot.progress.elapsed;
    snapshot.events.push(lgoose_metrics::Event {
        at_s: 24.0,
        lasted_s: None,
        kind: lgoose_metrics::EventKind::Reload,
        text: String::new(),
    });
    state.look(&Arc::new(snapshot.clone()));
    let (text, _) = drawn(GraphKind::Rate, &state, &snapshot, true);
    assert!(text.contains("░░░░") && text.contains("↑reload"), "{text}");
}

#[test]
fn a_threshold_is_a_line() {
    let (state, mut snapshot) = seen((0..30).map(point).collect(), RunPhase::Running);
    snapshot.thresholds.push(ThresholdRow {
        threshold: "p95 < 50ms".to_owned(),
        name: None,
        value: Some(30.0),
        limit: 0.05,
        unit: "s".to_owned(),
        passed: true,
        broken_s: None,
        subject: None,
    });
    let (text, _) = drawn(GraphKind::Latency, &state, &snapshot, true);
    assert!(
        text.contains("limit 50 ms") && text.contains("╌╌╌"),
        "{text}"
    );
}

#[test]
fn the_whole_run_is_shown_on_request() {
    let (mut state, snapshot) = seen((0..900).map(point).collect(), RunPhase::Running);
    let (text, _) = drawn(GraphKind::Rate, &state, &snapshot, true);
    assert!(!text.contains("╵0s"), "{text}");
    state.whole = true;
    let (text, _) = drawn(GraphKind::Rate, &state, &snapshot, true);
    assert!(
        text.contains("╵0s") && text.contains("of the run"),
        "{text}"
    );
}

#[test]
fn most_seconds_change_one_column_only() {
    let timeline = |now: u64| seen((0..now).map(point).collect(), RunPhase::Running).0;
    let mut moved = 0;
    for now in 200..300 {
        let (before, after) = (timeline(now), timeline(now + 1));
        let window = |state: &ViewState| window(&state.figures.timeline, 100, false);
        moved += u32::from(window(&before) != window(&after));
        let shown = window(&after);
        let end = shown.from + shown.each * shown.columns as u64;
        assert!(
            shown.from + 100 <= now + 1 && now < end,
            "{shown:?} at {now}"
        );
    }
    assert!(moved <= 5, "{moved} times of 100");
}
