//! Screens compared with checked-in ones: `BLESS=1 cargo test --lib -p lgoose-tui` writes those again, to be looked at.

mod behaviour;
mod by_tag;
mod fixture;
mod stories;
mod workers;

use super::super::pages::error_key;
use super::super::state::{RowReference, Tab};
use super::*;
use fixture::{run, streaming};
use lgoose_metrics::{Report, Snapshot};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use unicode_width::UnicodeWidthStr as _;

const SIZES: [(u16, u16); 4] = [(60, 15), (80, 24), (120, 40), (200, 60)];

fn facts() -> ViewContext {
    ViewContext {
        plan: "plans/drupal.lua".to_owned(),
        host: "demo:drupal at http://127.0.0.1:43757".to_owned(),
        colours: true,
        ascii: false,
        clock: false,
    }
}

fn screen(state: &ViewState, snapshot: &Snapshot, size: (u16, u16)) -> String {
    let area = Rect::new(0, 0, size.0, size.1);
    let mut buffer = Buffer::empty(area);
    draw(&facts(), state, snapshot, area, &mut buffer);
    text_of(&buffer)
}

fn text_of(buffer: &Buffer) -> String {
    let Rect { width, height, .. } = buffer.area;
    let mut text = String::new();
    for y in 0..height {
        let mut line = String::new();
        let mut x = 0;
        while x < width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // A wide sign covers the cell after it.
            x += symbol.width().max(1) as u16;
        }
        assert!(line.width() <= width as usize, "{line}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn compare(file: &str, shown: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/draw/golden")
        .join(file);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, shown).expect("the folder takes a file");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(shown, golden, "{file} (see the head of this file)");
}

fn watched((snapshot, report): &(Snapshot, Arc<Report>)) -> ViewState {
    let mut state = ViewState::default();
    for second in 1..=10 {
        let mut at = snapshot.clone();
        at.progress.elapsed = Duration::from_secs(second);
        at.progress.measured = at.progress.elapsed;
        at.recent.clear();
        for row in &mut at.requests.rows {
            row.count = row.count * second / 10 + second % 3;
        }
        state.look(&Arc::new(at));
    }
    state.look(&Arc::new(snapshot.clone()));
    state.figures.show_report(Some(report.clone()));
    state
}

#[test]
fn every_size_shows_any_number_of_names() {
    for size in SIZES {
        for names in [0, 1, 12, 300] {
            let run = run(names);
            let shown = screen(&watched(&run), &run.0, size);
            compare(&format!("{}x{}_{names}_names.txt", size.0, size.1), &shown);
        }
    }
}

#[test]
fn every_tab_and_dialog_is_drawn_at_eighty_columns() {
    let run = run(12);
    let snapshot = &run.0;
    for tab in Tab::of(snapshot).iter().copied() {
        let mut state = watched(&run);
        state.tab = tab;
        state.add_log_line(" INFO plan: [/front] hello");
        state.add_log_line(" WARN plan: careful");
        compare(
            &format!("tab_{}.txt", tab.title()),
            &screen(&state, snapshot, (80, 24)),
        );
    }
    let request = run.0.requests.rows[2].clone();
    let subject = |tab, key: String| Dialog::Detail(RowReference { tab, key });
    let error = subject(Tab::Errors, error_key(&run.1.errors[0]));
    let dialogs = [
        ("help", Dialog::Help),
        ("quit", Dialog::Quit),
        ("users", Dialog::Users("40".to_owned())),
        (
            "message",
            Dialog::Message("error: unknown field 'wieght' in task\n  --> plan.lua:3".to_owned()),
        ),
        (
            "detail",
            subject(
                Tab::Requests,
                format!("{} {}", request.method, request.name),
            ),
        ),
        ("error", error.clone()),
        ("error_end", error),
        ("warnings", Dialog::Warnings),
    ];
    for (name, dialog) in dialogs {
        let mut state = watched(&run);
        state.selected[0] = Some(format!("{} {}", request.method, request.name));
        if name.starts_with("error") {
            state.tab = Tab::Errors;
        }
        state.dialog = dialog;
        state.scroll = if name == "error_end" { 999 } else { 0 };
        compare(
            &format!("dialog_{name}.txt"),
            &screen(&state, snapshot, (80, 24)),
        );
    }
}

#[test]
fn a_run_with_streams_has_a_tab_and_details_of_their_messages() {
    let run = streaming();
    assert_eq!(Tab::of(&run.0).last(), Some(&Tab::Streams));
    let mut state = watched(&run);
    state.tab = Tab::Streams;
    compare("tab_Streams.txt", &screen(&state, &run.0, (80, 24)));
    let row = &run.0.requests.rows[0];
    state.dialog = Dialog::Detail(RowReference {
        tab: Tab::Streams,
        key: format!("{} {}", row.method, row.name),
    });
    compare("dialog_stream.txt", &screen(&state, &run.0, (80, 24)));
}

#[test]
fn hostile_text_stays_text_and_no_size_breaks_the_view() {
    let run = run(12);
    let snapshot = &run.0;
    for tab in Tab::ALL {
        let subject = RowReference {
            tab,
            key: error_key(&run.1.errors[0]),
        };
        for dialog in [Dialog::None, Dialog::Help, Dialog::Detail(subject)] {
            let mut state = watched(&run);
            state.tab = tab;
            state.dialog = dialog;
            for width in [0, 1, 2, 9, 30, 59, 150, 300] {
                for height in [0, 1, 2, 3, 5, 9, 17, 18, 100] {
                    let shown = screen(&state, snapshot, (width, height));
                    let hostile = shown.chars().any(|c| c.is_control() && c != '\n');
                    assert!(!hostile, "{shown:?}");
                }
            }
        }
    }
}

#[test]
fn without_colours_nothing_is_coloured_and_nothing_is_lost() {
    let run = run(12);
    let snapshot = &run.0;
    let area = Rect::new(0, 0, 80, 24);
    let (mut plain, mut coloured) = (Buffer::empty(area), Buffer::empty(area));
    let state = watched(&run);
    draw(&facts(), &state, snapshot, area, &mut coloured);
    let facts = ViewContext {
        colours: false,
        ..facts()
    };
    draw(&facts, &state, snapshot, area, &mut plain);
    for (plain, coloured) in plain.content.iter().zip(&coloured.content) {
        assert_eq!(plain.symbol(), coloured.symbol());
        assert_eq!(plain.fg, ratatui::style::Color::Reset);
    }
    let red = |cell: &ratatui::buffer::Cell| cell.fg == ratatui::style::Color::Red;
    assert!(coloured.content.iter().any(red), "failures are red");
}
