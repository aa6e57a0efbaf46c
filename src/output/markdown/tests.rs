//! Tests of the report as Markdown, read back by a parser of it.

use super::*;
use crate::output::fixture;
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

#[test]
fn a_reader_of_markdown_finds_the_tables() {
    let report = fixture::report();
    let (tables, text) = read(&to_markdown(&report));
    let titles: Vec<&str> = tables.iter().map(|table| &*table[0][0]).collect();
    assert_eq!(
        titles,
        [
            "requests",
            "scenarios",
            "tasks",
            "test start and stop",
            "thresholds",
            "checks",
            "metrics",
            "errors",
            "slowest traces"
        ]
    );
    let header = &tables[0][0];
    assert_eq!(header[5..8], ["p50", "p95", "p99"]);
    // All of its requests failed.
    assert_eq!(tables[0][2][0], "DELETE /report/{id}");
    let front = tables[0].iter().find(|row| row[0] == "GET front page");
    assert_eq!(front.expect("it is there")[1], "13,192");
    assert_eq!(tables[0].len(), 2 + report.requests.len());
    assert_eq!(tables[7][2][2], "timeout after 60 s");
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
    let (workers, tables): (Vec<_>, Vec<_>) =
        tables.iter().partition(|table| table[0][0] == "workers");
    assert_eq!(workers[0].len(), 21, "of many workers some are shown");
    for (table, extra) in tables.iter().zip([2, 1, 1, 1, 1, 1, 1, 1, 1, 1]) {
        assert_eq!(
            table.len(),
            extra + fixture::HOSTILE.len(),
            "{:?}",
            table[0]
        );
    }
    for (row, hostile) in tables[9][1..].iter().zip(&*fixture::HOSTILE) {
        assert_eq!(row[0], cut_middle(&one_line(hostile), LONGEST_NAME).trim());
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
        markdown.contains("\nand 1,952 more requests\n") && markdown.contains("the one that fails"),
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
