//! Tests of the tables.

use super::*;
use crate::fixture;
use std::collections::HashMap;

fn read(text: &str) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().collect::<Result<_, _>>().expect("CSV")
}

#[test]
fn the_fixed_report_is_the_checked_in_one() {
    let report = fixture::report();
    fixture::golden("report.csv", &names(&report).expect("a plain report"));
    fixture::golden("report_series.csv", &series(&report).expect("a plain one"));
}

#[test]
fn a_reader_finds_every_name_and_its_figures() {
    let report = fixture::report();
    let rows = read(&names(&report).expect("a plain report"));
    let of = |kind| rows.iter().filter(move |row| row["kind"] == kind);
    for (row, expected) in of("request").zip(&report.requests) {
        assert_eq!(row["count"], expected.figures.count.to_string());
        let latency = expected.figures.latency_ms.expect("a latency");
        assert_eq!(row["p99.9_ms"].parse(), Ok(latency.p99_9));
    }
    let kinds = [
        "request",
        "aggregated",
        "start_stop",
        "scenario",
        "task",
        "check",
        "trend",
    ];
    assert_eq!(kinds.map(|kind| of(kind).count()), [6, 1, 1, 2, 3, 3, 2]);
    assert_eq!(rows.len(), 6 + 1 + 1 + 2 + 3 + 3 + 5);
    let points = read(&series(&report).expect("a plain report"));
    assert_eq!((&*points[0]["rate"], &*points[0]["p99_ms"]), ("390", ""));
}

#[test]
fn hostile_texts_stay_in_their_cells_and_are_no_formulas() {
    let report = fixture::hostile();
    let text = names(&report).expect("a plain report");
    fixture::assert_harmless(&text);
    let rows = read(&text);
    assert_eq!(rows.len(), 1 + 11 * fixture::HOSTILE.len());
    for row in &rows {
        for column in ["scenario", "method", "name"] {
            let first = row[column].trim_start().chars().next();
            assert!(!first.is_some_and(|c| "=+-@".contains(c)), "{row:?}");
        }
    }
    assert!(rows.iter().any(|row| row["name"] == "'=cmd|' /C calc'!A0"));
}

#[test]
fn the_series_goes_beside_the_names() {
    for (names, series) in [
        ("run.csv", "run_series.csv"),
        ("out/run", "out/run_series"),
        ("a.b/c.d.csv", "a.b/c.d_series.csv"),
    ] {
        assert_eq!(series_path(Path::new(names)), Path::new(series));
    }
}
