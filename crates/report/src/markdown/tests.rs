//! Tests of the report as Markdown, read back by a parser of it.

use super::*;
use crate::fixture;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The cells of every table, and all text.
fn read(markdown: &str) -> (Vec<Vec<Vec<String>>>, String) {
    let mut tables: Vec<Vec<Vec<String>>> = Vec::new();
    let (mut cell, mut all) = (None, String::new());
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Table(_)) => tables.push(Vec::new()),
            Event::Start(Tag::TableHead | Tag::TableRow) => {
                tables.last_mut().expect("in a table").push(Vec::new());
            }
            Event::Start(Tag::TableCell) => cell = Some(String::new()),
            Event::End(TagEnd::TableCell) => {
                let row = tables.last_mut().and_then(|table| table.last_mut());
                row.expect("in a row").extend(cell.take());
            }
            Event::Text(text) | Event::Code(text) => match &mut cell {
                Some(cell) => cell.push_str(&text),
                None => all += &text,
            },
            Event::InlineHtml(tag) => {
                assert!(["<code>", "</code>"].contains(&&*tag), "{tag}");
            }
            Event::Html(html) => panic!("{html}"),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                panic!("a link to {dest_url}")
            }
            _ => {}
        }
    }
    (tables, all)
}

#[test]
fn the_fixed_report_is_the_checked_in_one() {
    let text = to_markdown(&fixture::report());
    fixture::golden("report.md", &text);
}

/// Returns the title of a table, which heads its names; the names of groups may stand before them.
fn title(table: &[Vec<String>]) -> &str {
    let head = &table[0];
    let is_group = ["scenario", "kind"].contains(&&*head[0]);
    &head[usize::from(is_group)]
}

#[test]
fn a_reader_of_markdown_finds_the_tables() {
    let report = fixture::report();
    let (tables, text) = read(&to_markdown(&report));
    let titles: Vec<&str> = tables.iter().map(|table| title(table)).collect();
    assert_eq!(
        titles,
        [
            "thresholds",
            "errors",
            "what happened",
            "requests",
            "slowest traces",
            "scenarios",
            "tasks and transactions",
            "test start and stop",
            "checks",
            "custom metrics",
            "coordinated omission"
        ]
    );
    let requests = &tables[3];
    assert_eq!(requests[0][4..7], ["ok p50", "ok p95", "ok p99"]);
    // All of its requests failed.
    assert_eq!(requests[2][0], "DELETE /report/{id}");
    let front = requests.iter().find(|row| row[0] == "GET front page");
    assert_eq!(front.expect("it is there")[1], "13,192");
    assert_eq!(requests.len(), 2 + report.requests.len());
    assert_eq!(tables[1][2][4], "timeout after 60 s");
    assert!(
        text.contains("failed") && text.contains("woke up 14 ms late"),
        "{text}"
    );
}

#[test]
fn hostile_texts_are_nothing_but_text() {
    let report = fixture::hostile();
    let markdown = to_markdown(&report);
    fixture::assert_harmless(&markdown);
    assert!(markdown.len() < 65_536, "{} bytes", markdown.len());
    let (tables, _) = read(&markdown);
    let some = [
        ("workers", 21),
        ("slowest traces", 11),
        ("coordinated omission", 4),
        ("what happened", 3),
    ];
    let (cut, tables): (Vec<_>, Vec<_>) = tables
        .iter()
        .partition(|table| some.iter().any(|(name, _)| title(table) == *name));
    for (name, rows) in some {
        let table = cut.iter().find(|table| title(table) == name);
        assert_eq!(table.expect("a table").len(), rows, "{name}");
    }
    assert_eq!(tables.len(), 10);
    for table in &tables {
        let extra = 1 + usize::from(table[1][0] == "Aggregated");
        assert_eq!(
            table.len(),
            extra + fixture::HOSTILE.len(),
            "{:?}",
            table[0]
        );
    }
    let errors = tables.iter().find(|table| title(table) == "errors");
    for (row, hostile) in errors.expect("a table")[1..].iter().zip(&*fixture::HOSTILE) {
        assert_eq!(
            row[0],
            cut_middle(&one_line(hostile), MAX_NAME_CHARS).trim()
        );
    }
    assert!(!markdown.contains("@everyone") || markdown.contains("`@everyone"));
}

#[test]
fn of_many_names_the_rest_is_counted() {
    let mut report = fixture::report();
    let failing = report.requests[0].clone();
    report.requests = vec![report.requests[0].clone(); 2_000];
    for row in &mut report.requests {
        row.figures.failures = 0;
    }
    report.requests.push(failing);
    report.requests[2_000].name = "the one that fails".to_owned();
    report.requests[2_000].figures.failures = 1;
    let markdown = to_markdown(&report);
    assert!(
        markdown.contains("\n… and 1,951 more requests\n")
            && markdown.contains("the one that fails"),
        "{markdown}"
    );
    assert!(markdown.len() < 65_536, "{} bytes", markdown.len());
}

#[test]
fn workers_and_labels_have_tables_of_their_own() {
    let text = to_markdown(&fixture::gaggle());
    fixture::golden("report_workers.md", &text);
    let (tables, _) = read(&text);
    let titled = |title: &str| tables.iter().find(|table| table[0][0] == title);
    let labels = titled("labels").expect("a table of labels");
    assert_eq!((labels.len(), &*labels[2][0]), (3, "region=us"));
    let workers = titled("workers").expect("a table of workers");
    assert_eq!(workers[1][8], "lost at 31.5 s");
    assert_eq!(workers[2][8], "done, saturated for 12.0 s");
}
