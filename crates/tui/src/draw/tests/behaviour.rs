//! Rules for all screens.

use super::super::super::handle_input;
use super::*;
use lgoose_metrics::{Aim, RunPhase, ScenarioRow, ThresholdRow, Verdict};

fn look(snapshot: Snapshot, size: (u16, u16)) -> String {
    let state = watched(&(snapshot.clone(), Arc::default()));
    screen(&state, &snapshot, size)
}

/// Returns a run of so many names with something changed in it.
fn with(names: usize, change: impl FnOnce(&mut Snapshot)) -> Snapshot {
    let (mut snapshot, _) = run(names);
    change(&mut snapshot);
    snapshot
}

#[test]
fn what_is_steered_shows_where_it_goes() {
    let steered = with(1, |snapshot| {
        snapshot.users = 1_738;
        snapshot.progress.wanted.users = 100;
    });
    assert!(look(steered, (80, 24)).contains("1,738 → 100 users"));
}

#[test]
fn stages_warm_ups_and_iterations_show_how_far_they_are() {
    let staged = with(1, |snapshot| {
        snapshot.progress.wanted.stage = Some((3, 5));
        snapshot.progress.wanted.users = 3;
    });
    let text = look(staged, (120, 40));
    assert!(text.contains("stage 3 of 5 → 3 users"), "{text}");
    let warm = with(1, |snapshot| {
        snapshot.progress.wanted.warmup_ends = Some(Duration::from_secs(260));
    });
    let text = look(warm, (80, 24));
    assert!(
        text.contains("████████░░░░░░░░ warm-up 2m10s of 4m20s"),
        "{text}"
    );
    let counted = with(1, |snapshot| {
        snapshot.progress.wanted = Aim {
            users: 12,
            iterations: Some(400),
            ..Aim::default()
        };
        snapshot.scenarios = vec![ScenarioRow {
            name: "s".to_owned(),
            users: 12,
            iterations: 100,
            iteration_ms: None,
            ..ScenarioRow::default()
        }];
    });
    let text = look(counted, (80, 24));
    assert!(
        text.contains("████░░░░░░░░░░░░ 100 of 400 iterations")
            || text.contains("100 of 400 iterations")
    );
    assert!(text.contains("████░░░░░░░░░░░░ "), "{text}");
}

#[test]
fn an_open_run_shows_target_dropped_and_late() {
    let open = with(1, |snapshot| {
        snapshot.progress.wanted.rate = Some(300.0);
        snapshot.arrivals.dropped = 7;
        snapshot.arrivals.late_p99 = Duration::from_micros(1_200);
    });
    let text = look(open, (120, 40));
    for expected in [
        "target 300 iterations/s",
        "✗ 7 dropped",
        "starts 1.2 ms late",
    ] {
        assert!(text.contains(expected), "{expected}:\n{text}");
    }
}

#[test]
fn a_broken_threshold_leaves_p95_where_it_is_and_none_is_broken_before_a_request() {
    let broken = |snapshot: &mut Snapshot| {
        snapshot.thresholds = vec![ThresholdRow {
            passed: false,
            ..snapshot.thresholds[0].clone()
        }];
    };
    let text = look(with(12, broken), (60, 15));
    let line = text.lines().nth(2).expect("the line of figures");
    assert!(
        line.contains("p95") && line.contains("✗ 1/1 thresholds"),
        "{line}"
    );
    let text = look(with(0, broken), (80, 24));
    assert!(!text.contains('✗'), "{text}");
}

#[test]
fn a_stall_is_in_the_header() {
    let stalled = with(1, |snapshot| {
        let last = snapshot.recent.last_mut().expect("a point");
        (last.under_way, last.oldest_ms) = (10, 6_200.0);
    });
    let text = look(stalled, (60, 15));
    assert!(text.contains("⚠ in flight 10, oldest 6.2 s"), "{text}");
}

#[test]
fn the_message_of_an_error_is_readable_on_a_small_screen() {
    let run = run(12);
    let mut state = watched(&run);
    state.tab = Tab::Errors;
    let text = screen(&state, &run.0, (60, 15)).replace('\n', "");
    assert!(text.contains("expected the body to contain"), "{text}");
    assert!(text.contains("Welcome"), "{text}");
}

#[test]
fn a_wide_screen_has_details_beside_the_list() {
    let run = run(12);
    let state = watched(&run);
    let text = screen(&state, &run.0, (140, 40));
    assert!(
        text.contains("│ GET page 12") && text.contains("│ status"),
        "{text}"
    );
}

#[test]
fn an_empty_filter_is_reported() {
    let run = run(12);
    let mut state = watched(&run);
    state.filter = "nowhere".to_owned();
    assert!(screen(&state, &run.0, (80, 24)).contains("no name matches 'nowhere'"));
}

#[test]
fn details_end_where_they_end() {
    let run = run(12);
    let mut state = watched(&run);
    state.dialog = Dialog::Help;
    let area = Rect::new(0, 0, 60, 15);
    let mut buffer = Buffer::empty(area);
    state.layout = draw(&facts(), &state, &run.0, area, &mut buffer);
    let down = crossterm::event::KeyEvent::from(crossterm::event::KeyCode::Down);
    for _ in 0..200 {
        handle_input(&mut state, &crate::TerminalEvent::Key(down), &run.0);
    }
    let end = state.scroll;
    assert_eq!(end, state.layout.most_scroll);
    let up = crossterm::event::KeyEvent::from(crossterm::event::KeyCode::Up);
    handle_input(&mut state, &crate::TerminalEvent::Key(up), &run.0);
    assert_eq!(state.scroll, end - 1, "one step up is seen at once");
}

#[test]
fn a_search_goes_from_line_to_line_and_starts_anew_at_the_end() {
    use crossterm::event::{KeyCode, KeyEvent};
    let run = run(12);
    let mut state = watched(&run);
    state.dialog = Dialog::Help;
    let size = (60, 10);
    let mut press = |code: KeyCode| {
        let key = crate::TerminalEvent::Key(KeyEvent::from(code));
        handle_input(&mut state, &key, &run.0);
        let area = Rect::new(0, 0, size.0, size.1);
        let mut buffer = Buffer::empty(area);
        state.layout = draw(&facts(), &state, &run.0, area, &mut buffer);
        let shown = screen(&state, &run.0, size);
        let lines: Vec<String> = shown.lines().map(str::to_owned).collect();
        (state.scroll, lines)
    };
    for letter in "/STAT".chars() {
        press(KeyCode::Char(letter));
    }
    let (first, lines) = press(KeyCode::Enter);
    assert!(lines[1].contains("'STAT' in 2 lines, n next"), "{lines:#?}");
    assert!(lines[2].contains("reset the statistics"), "{lines:#?}");
    let (second, lines) = press(KeyCode::Char('n'));
    assert!(second > first, "{lines:#?}");
    assert!(
        lines[2..].iter().any(|line| line.contains("statistics;")),
        "{lines:#?}"
    );
    let rounds: Vec<u16> = (0..3).map(|_| press(KeyCode::Char('n')).0).collect();
    assert!(
        rounds.contains(&first),
        "{rounds:?} after {first}, {second}"
    );
    for letter in "/nowhere".chars() {
        press(KeyCode::Char(letter));
    }
    let (_, lines) = press(KeyCode::Enter);
    assert!(lines[1].contains("'nowhere' in 0 lines"), "{lines:#?}");
}

#[test]
fn help_can_be_read_to_its_end_on_a_small_screen() {
    let run = run(1);
    let mut state = watched(&run);
    state.dialog = Dialog::Help;
    let mut seen = String::new();
    for scroll in [0, 10, 20, 30] {
        state.scroll = scroll;
        seen.push_str(&screen(&state, &run.0, (60, 15)));
    }
    for expected in [
        "reload the plan",
        "reset the statistics",
        "wheel",
        "of the run.",
    ] {
        assert!(seen.contains(expected), "{expected}:\n{seen}");
    }
}

#[test]
fn all_warnings_can_be_read_in_full() {
    let long = "the site closed the connection ".repeat(9);
    let warned = with(1, |snapshot| {
        snapshot.warnings = vec![long.clone() + "first", long.clone() + "second"].into();
    });
    let mut state = watched(&(warned.clone(), Arc::default()));
    state.dialog = Dialog::Warnings;
    let text = screen(&state, &warned, (80, 24));
    assert!(text.contains("first") && text.contains("second"), "{text}");
}

#[test]
fn ascii_is_all_that_an_ascii_terminal_gets() {
    let run = run(12);
    for tab in Tab::ALL {
        let mut state = watched(&run);
        state.tab = tab;
        let area = Rect::new(0, 0, 150, 40);
        let mut buffer = Buffer::empty(area);
        let facts = ViewContext {
            ascii: true,
            ..facts()
        };
        draw(&facts, &state, &run.0, area, &mut buffer);
        assert!(buffer.content.iter().all(|cell| cell.symbol().is_ascii()));
    }
}

#[test]
fn times_after_a_reset_count_as_the_header_does() {
    let (mut snapshot, report) = run(12);
    snapshot.progress.elapsed = Duration::from_secs(600);
    let mut state = watched(&(snapshot.clone(), report));
    state.tab = Tab::Errors;
    let text = screen(&state, &snapshot, (120, 40));
    // Reset at 470 s; seen first 2.25 s and last 130 s after it.
    assert!(text.contains("7m52s") && text.contains("10m"), "{text}");
}

#[test]
fn the_view_of_a_run_that_is_over_shows_its_report() {
    let (snapshot, report) = run(12);
    let mut state = watched(&(snapshot, report.clone()));
    let threshold = |passed| ThresholdRow {
        threshold: "p95 < 300ms".to_owned(),
        name: None,
        value: Some(1.0),
        limit: 300.0,
        unit: "ms".to_owned(),
        passed,
        broken_s: None,
        subject: None,
    };
    let mut over = Report::clone(&report);
    over.aggregated.count = 123_456;
    over.thresholds = vec![threshold(true), threshold(false)];
    over.verdict = None::<Verdict>;
    let last = state.finish(&Arc::new(over));
    let text = screen(&state, &last, (80, 24));
    assert!(
        text.contains("FINISHED 2m10s · 1 of 2 thresholds · q quit"),
        "{text}"
    );
    assert!(text.contains("123,456"), "{text}");
    state.look(&Arc::new(Snapshot::default()));
    assert!(screen(&state, &last, (80, 24)).contains("123,456"));
    assert_eq!(last.progress.phase, RunPhase::Stopping);
    state.tab = Tab::Errors;
    state.dialog = Dialog::Detail(RowReference {
        tab: Tab::Errors,
        key: error_key(&report.errors[0]),
    });
    assert!(screen(&state, &last, (80, 24)).contains("The first of these requests"));
}

#[test]
fn a_page_of_the_last_seconds_is_marked_as_such() {
    let run = run(12);
    let mut state = watched(&run);
    state.now = true;
    let text = screen(&state, &run.0, (120, 40));
    assert!(
        text.contains("Request, last 10 s") && text.contains("worst p95"),
        "{text}"
    );
}
