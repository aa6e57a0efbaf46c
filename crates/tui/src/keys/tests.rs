//! Tests of keys and the mouse, without a terminal.

use super::*;
use lgoose_metrics::{LiveLoad, LiveRequests, LiveRow, LiveTag};
use std::sync::Arc;

fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn run() -> (ViewState, Snapshot) {
    let row = |name: &str, count| LiveRow {
        method: "GET".into(),
        name: name.into(),
        count,
        ..LiveRow::default()
    };
    let snapshot = Snapshot {
        requests: LiveRequests {
            rows: vec![row("/a", 1), row("/b", 2), row("/ab", 3)],
            ..LiveRequests::default()
        },
        ..Snapshot::default()
    };
    (ViewState::default(), snapshot)
}

/// Presses the keys of a text, `\n` for Enter and `\x1b` for Esc, and returns the last wish.
fn press(state: &mut ViewState, snapshot: &Snapshot, keys: &str) -> Option<KeyAction> {
    let codes = keys.chars().map(|c| match c {
        '\n' => KeyCode::Enter,
        '\x1b' => KeyCode::Esc,
        '\t' => KeyCode::Tab,
        c => KeyCode::Char(c),
    });
    codes
        .map(|code| super::press(state, key(code), snapshot))
        .last()
        .flatten()
}

#[test]
fn tabs_are_reached_by_number_and_in_turn() {
    let (mut state, snapshot) = run();
    press(&mut state, &snapshot, "4");
    assert_eq!(state.tab, Tab::Errors);
    press(&mut state, &snapshot, "\t\t\t\t");
    assert_eq!(state.tab, Tab::Requests);
    press(&mut state, &snapshot, "h");
    assert_eq!(state.tab, Tab::Log);
}

#[test]
fn the_selection_stays_on_the_page() {
    let (mut state, snapshot) = run();
    for (keys, selected) in [("jjjjj", "/ab"), ("kkkkk", "/a"), ("G", "/ab"), ("g", "/a")] {
        press(&mut state, &snapshot, keys);
        let expected = format!("GET {selected}");
        assert_eq!(state.selected(), Some(expected.as_str()));
    }
}

#[test]
fn a_filter_is_typed_stored_and_removed() {
    let (mut state, snapshot) = run();
    press(&mut state, &snapshot, "/b\n");
    assert_eq!(state.filter, "b");
    assert_eq!(listing(&state, &snapshot).rows.len(), 2);
    assert_eq!(
        press(&mut state, &snapshot, "q\x1b"),
        None,
        "not typed any more"
    );
    press(&mut state, &snapshot, "\x1b");
    assert_eq!(state.filter, "");
    state.filter = "b".to_owned();
    let together = KeyEvent::new(KeyCode::Char('s'), KeyModifiers::ALT);
    super::press(&mut state, together, &snapshot);
    assert_eq!(
        (state.filter.as_str(), state.sorted()),
        ("", SortOrder::Column(0))
    );
    press(&mut state, &snapshot, "/q\x1b");
    assert_eq!((state.filter.as_str(), state.typing), ("", false));
}

#[test]
fn users_are_requested_one_by_one_or_by_number() {
    let (mut state, snapshot) = run();
    let wish = |command| Some(KeyAction::Command(command));
    for (keys, expected) in [
        ("+", wish(Command::AddUsers(1))),
        ("-", wish(Command::AddUsers(-1))),
        ("u4x0\n", wish(Command::SetUsers(40))),
        ("u10000000\n", wish(Command::SetUsers(1_000_000))),
        ("u7\x1b", None),
        ("u\n", None),
    ] {
        assert_eq!(press(&mut state, &snapshot, keys), expected, "{keys:?}");
    }
}

#[test]
fn stopping_needs_one_confirmation_and_the_rest_goes_to_the_run() {
    let (mut state, snapshot) = run();
    assert_eq!(press(&mut state, &snapshot, "qn"), None);
    let stop = Some(KeyAction::Command(Command::Stop));
    assert_eq!(press(&mut state, &snapshot, "qy"), stop);
    assert_eq!(
        press(&mut state, &snapshot, "p"),
        Some(KeyAction::TogglePause)
    );
    assert_eq!(
        press(&mut state, &snapshot, "w"),
        Some(KeyAction::WriteReport)
    );
    let reset = Some(KeyAction::Command(Command::ResetStatistics));
    assert_eq!(press(&mut state, &snapshot, "0n"), None, "it asks");
    assert_eq!(press(&mut state, &snapshot, "0y"), reset);
    let control = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
    assert_eq!(
        super::press(&mut state, control('c'), &snapshot),
        Some(KeyAction::Command(Command::Interrupt(Interrupt::Key)))
    );
    state.dialog = Dialog::Help;
    assert_eq!(
        super::press(&mut state, control('z'), &snapshot),
        Some(KeyAction::Suspend)
    );
}

#[test]
fn columns_are_sorted_by_in_turn() {
    let (mut state, snapshot) = run();
    press(&mut state, &snapshot, "s");
    assert_eq!(listing(&state, &snapshot).rows[0].name, "GET /ab");
    press(&mut state, &snapshot, "S");
    assert_eq!(listing(&state, &snapshot).rows[0].name, "GET /a");
    press(&mut state, &snapshot, "ssssssss");
    assert_eq!(state.sorted(), SortOrder::Name, "after the last column");
    press(&mut state, &snapshot, "s");
    assert_eq!(
        state.sorted(),
        SortOrder::Plan,
        "round to the order of the plan"
    );
    for (key, title) in [("F", "failed"), ("P", "p95"), ("R", "requests")] {
        press(&mut state, &snapshot, key);
        let SortOrder::Column(at) = state.sorted() else {
            panic!("{key} sorts by a column");
        };
        assert_eq!(listing(&state, &snapshot).columns[at].title, title);
    }
    press(&mut state, &snapshot, "N");
    assert_eq!(state.sorted(), SortOrder::Name);
    press(&mut state, &snapshot, "7F");
    assert_eq!(state.notice, "this page has no such column");
}

#[test]
fn the_last_line_is_about_the_names_that_match() {
    let (mut state, snapshot) = run();
    let name = |state: &ViewState| listing(state, &snapshot).total.map(|row| row.name);
    assert_eq!(name(&state).as_deref(), Some("Aggregated"));
    press(&mut state, &snapshot, "/b\n");
    let shown = listing(&state, &snapshot);
    let sum: f64 = shown.rows.iter().map(|row| row.keys[0]).sum();
    let total = shown.total.expect("a line");
    assert_eq!(
        (total.name.as_str(), total.keys[0]),
        ("Aggregated, of these", sum)
    );
    assert!(total.cells[3].is_empty(), "{total:?}");
}

#[test]
fn the_selection_is_a_name_and_survives_sorting_and_filtering() {
    let (mut state, mut snapshot) = run();
    press(&mut state, &snapshot, "j");
    assert_eq!(state.selected(), Some("GET /b"));
    press(&mut state, &snapshot, "ss/ab\n");
    assert_eq!(
        state.selected(),
        Some("GET /b"),
        "out of sight, not forgotten"
    );
    press(&mut state, &snapshot, "\x1b");
    snapshot.requests.rows.reverse();
    let rows = listing(&state, &snapshot);
    let at = rows.current(state.selected()).expect("it is there");
    assert_eq!(rows.rows[at].name, "GET /b");
}

#[test]
fn open_details_retain_their_subject() {
    let (mut state, snapshot) = run();
    press(&mut state, &snapshot, "j\n");
    let subject = state.dialog.clone();
    assert!(matches!(&subject, Dialog::Detail(subject) if subject.key == "GET /b"));
    let mut later = snapshot.clone();
    later.requests.rows.rotate_left(1);
    press(&mut state, &later, "jj");
    assert_eq!(state.dialog, subject);
}

#[test]
fn a_message_is_not_closed_by_a_key_that_was_being_typed() {
    let (mut state, snapshot) = run();
    state.alert("unknown field 'wieght'".to_owned());
    press(&mut state, &snapshot, "jj \nq+7");
    assert!(matches!(state.dialog, Dialog::Message(_)));
    let reload = Some(KeyAction::Command(Command::Reload));
    assert_eq!(press(&mut state, &snapshot, "r"), reload);
    state.alert("again".to_owned());
    press(&mut state, &snapshot, "\x1b");
    assert_eq!(state.dialog, Dialog::None);
}

#[test]
fn a_run_that_is_over_can_be_read_and_closed_but_not_steered() {
    let (mut state, snapshot) = run();
    state.figures.finished = Some(super::super::figures::RunConclusion::default());
    for key in ["p", "+", "-", "0", "r", "u", "4", "/x\n", "\x1b"] {
        assert_eq!(press(&mut state, &snapshot, key), None, "{key}");
    }
    assert_eq!(state.dialog, Dialog::None);
    assert_eq!(
        press(&mut state, &snapshot, "w"),
        Some(KeyAction::WriteReport)
    );
    assert_eq!(press(&mut state, &snapshot, "q"), Some(KeyAction::Leave));
}

#[test]
fn a_request_leads_to_its_errors_and_escape_to_all() {
    let (mut state, snapshot) = run();
    press(&mut state, &snapshot, "je");
    assert_eq!((state.tab, state.filter.as_str()), (Tab::Errors, "GET /b"));
    press(&mut state, &snapshot, "\x1b");
    assert_eq!(state.filter, "");
}

#[test]
fn a_click_selects_a_row_or_a_page_and_the_wheel_moves() {
    use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
    let (mut state, snapshot) = run();
    state.layout.rows = super::super::listing::DrawnRows {
        y: 5,
        first: 0,
        room: 10,
        width: 40,
    };
    state.layout.tabs_y = 3;
    state.layout.tabs = vec![(0, 10), (10, 20)];
    let mut point = |kind, column, row| {
        let event = MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        };
        handle_input(&mut state, &TerminalEvent::Mouse(event), &snapshot);
        (state.selected().map(str::to_owned), state.tab)
    };
    let left = MouseEventKind::Down(MouseButton::Left);
    assert_eq!(point(left, 4, 6).0.as_deref(), Some("GET /b"));
    assert_eq!(point(left, 60, 5).0.as_deref(), Some("GET /b"), "beside it");
    assert_eq!(
        point(MouseEventKind::ScrollDown, 4, 6).0.as_deref(),
        Some("GET /ab")
    );
    assert_eq!(point(left, 12, 3).1, Tab::Latency);
}

#[test]
fn control_l_draws_the_screen_anew() {
    let (mut state, snapshot) = run();
    super::press(
        &mut state,
        KeyEvent::new(KeyCode::Char('l'), KeyModifiers::CONTROL),
        &snapshot,
    );
    assert!(state.repaint);
}

#[test]
fn plus_and_minus_change_the_rate_where_there_is_one() {
    let (mut state, mut snapshot) = run();
    for (rate, step) in [
        (0.5, 0.1),
        (7.0, 1.0),
        (10.0, 1.0),
        (50.0, 1.0),
        (840.0, 10.0),
    ] {
        snapshot.progress.wanted.rate = Some(rate);
        let wish = |more| Some(KeyAction::Command(Command::AddRate(more)));
        assert_eq!(press(&mut state, &snapshot, "+"), wish(step));
        assert_eq!(press(&mut state, &snapshot, "-"), wish(-step));
    }
    let next = Some(KeyAction::Command(Command::NextStage));
    assert_eq!(press(&mut state, &snapshot, ">"), next);
}

#[test]
fn a_paste_is_text_where_one_is_typed_and_no_keys() {
    let (mut state, snapshot) = run();
    let paste = |text: &str| TerminalEvent::Paste(text.to_owned());
    assert_eq!(handle_input(&mut state, &paste("q0y\n+p"), &snapshot), None);
    assert_eq!(state.dialog, Dialog::None);
    press(&mut state, &snapshot, "/");
    handle_input(&mut state, &paste("b\nq"), &snapshot);
    assert_eq!((state.filter.as_str(), state.typing), ("bq", true));
    press(&mut state, &snapshot, "\nu");
    handle_input(&mut state, &paste("12"), &snapshot);
    let users = Some(KeyAction::Command(Command::SetUsers(12)));
    assert_eq!(press(&mut state, &snapshot, "\n"), users);
}

fn figures(tag: &str, names: &[&str]) -> LiveTag {
    let row = |name: &&str| LiveRow {
        method: "GET".into(),
        name: (*name).into(),
        count: 7,
        ..LiveRow::default()
    };
    LiveTag {
        tag: tag.into(),
        requests: LiveRequests {
            rows: names.iter().map(row).collect(),
            ..LiveRequests::default()
        },
        row: None,
    }
}

#[test]
fn a_tag_is_searched_chosen_and_closed_and_the_filter_of_names_works_beside_it() {
    let (mut state, mut snapshot) = run();
    press(&mut state, &snapshot, "t");
    assert_eq!(state.dialog, Dialog::None);
    assert!(
        state.notice.contains("no request has a tag"),
        "{}",
        state.notice
    );
    snapshot.tags = ["kind=a", "scenario=buyers", "scenario=readers"]
        .map(Arc::from)
        .into();
    assert_eq!(press(&mut state, &snapshot, "tSCEN"), None);
    assert_eq!(state.dialog, Dialog::Tags("SCEN".to_owned(), 0));
    for code in [KeyCode::Down, KeyCode::Down, KeyCode::Up, KeyCode::Down] {
        super::press(&mut state, key(code), &snapshot);
    }
    press(&mut state, &snapshot, "\n");
    let requested = |state: &ViewState| state.requested_tag().map(|(tag, _)| tag.to_string());
    assert_eq!(requested(&state).as_deref(), Some("scenario=readers"));
    assert!(
        listing(&state, &snapshot)
            .empty
            .contains("'scenario=readers'")
    );
    state
        .figures
        .show_tag("kind=a", Some(figures("kind=a", &["/late"])));
    assert!(
        listing(&state, &snapshot).rows.is_empty(),
        "it was asked for before"
    );
    state.figures.show_tag(
        "scenario=readers",
        Some(figures("scenario=readers", &["/b", "/ab", "/c"])),
    );
    assert_eq!(listing(&state, &snapshot).rows.len(), 3);
    press(&mut state, &snapshot, "/b\n");
    assert_eq!(listing(&state, &snapshot).rows.len(), 2);
    // No figures are requested on a page that cannot be shown by tag.
    press(&mut state, &snapshot, "6");
    assert_eq!(requested(&state), None);
    press(&mut state, &snapshot, "2");
    assert_eq!(
        state.requested_tag().map(|(_, in_full)| in_full),
        Some(true)
    );
    press(&mut state, &snapshot, "1\x1b");
    assert_eq!(requested(&state).as_deref(), Some("scenario=readers"));
    press(&mut state, &snapshot, "\x1b");
    assert_eq!(requested(&state), None);
    assert_eq!(listing(&state, &snapshot).rows[0].name, "GET /a");
    press(&mut state, &snapshot, "t\nt");
    assert_eq!(requested(&state), None, "the same key");
    press(&mut state, &snapshot, "tnothing\n");
    assert_eq!(requested(&state), None, "nothing matches");
}

#[test]
fn keys_are_about_the_load_of_a_scenario_where_scenarios_have_their_own() {
    let (mut state, mut snapshot) = run();
    assert_eq!(press(&mut state, &snapshot, "i4"), None);
    assert!(state.notice.is_empty() && state.dialog == Dialog::None);
    press(&mut state, &snapshot, "o");
    assert_eq!(state.notice, "no scenario has a load of its own");
    let load = |scenario: Option<&str>, rate| LiveLoad {
        scenario: scenario.map(Arc::from),
        users: 9,
        rate,
        is_under_way: true,
    };
    snapshot.loads = [
        load(None, None),
        load(Some("buyers"), Some(20.0)),
        load(Some("editors"), None),
    ]
    .into();
    // The rates of all loads together.
    snapshot.progress.wanted.rate = Some(20.0);
    let buyers = || "buyers".to_owned();
    let editors = || "editors".to_owned();
    for (keys, expected) in [
        ("+", Command::AddUsers(1)),
        ("o+", Command::AddRateOf(buyers(), 1.0)),
        ("-", Command::AddRateOf(buyers(), -1.0)),
        ("i12.5\n", Command::SetRateOf(buyers(), 12.5)),
        ("u30\n", Command::SetUsersOf(buyers(), 30)),
        ("u3\t0\n", Command::SetUsersOf(editors(), 30)),
        ("-", Command::AddUsersOf(editors(), -1)),
        ("o+", Command::AddUsers(1)),
        ("oi7\t\n", Command::SetUsersOf(editors(), 7)),
        ("ou5\n", Command::SetUsers(5)),
    ] {
        let wish = press(&mut state, &snapshot, keys);
        assert_eq!(wish, Some(KeyAction::Command(expected)), "{keys:?}");
    }
    // Where no scenario shares a load, the keys set the first one.
    snapshot.loads = snapshot.loads[1..].into();
    let wish = press(&mut state, &snapshot, "i8\n");
    let expected = Command::SetRateOf(buyers(), 8.0);
    assert_eq!(wish, Some(KeyAction::Command(expected)));
}
