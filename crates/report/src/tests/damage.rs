//! Reports in which a number is one that no run has come to, as in a file that is damaged or was made to do harm: they are
//! refused, or all that reads reports goes through with them.

use super::full;
use crate::text::{TableOptions, tables};
use crate::{csv, fixture, json, render, render_comparison, text};
use lgoose_base::error::Error;
use lgoose_metrics::compare::{NamedReport, compare};
use lgoose_metrics::{Report, join};
use lgoose_plan::config::Format;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Collects the first place of each kind of number, by its path without the places in lists.
fn numbers(value: &Value, at: &str, kind: &str, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Number(_) => {
            found.entry(kind.to_owned()).or_insert(at.to_owned());
        }
        Value::Array(list) => {
            for (place, value) in list.iter().enumerate() {
                numbers(value, &format!("{at}/{place}"), &format!("{kind}[]"), found);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                numbers(
                    value,
                    &format!("{at}/{escaped}"),
                    &format!("{kind}.{key}"),
                    found,
                );
            }
        }
        _ => {}
    }
}

/// Reads a report, and renders it as any command does.
fn read_all(value: &Value) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(value).expect("JSON");
    let report = json::from_json(&text, "run.json")?;
    for format in [
        Format::Json,
        Format::Yaml,
        Format::Csv,
        Format::Hdr,
        Format::Html,
        Format::Md,
        Format::Junit,
    ] {
        // A histogram that does not fit its count is trouble, and no panic.
        let _trouble = render(&report, format);
    }
    let _trouble = csv::series(&report);
    tables(&report, 120, TableOptions::default());
    let _no_part = join(vec![("a.json".to_owned(), report.clone())]);
    let named = |report: &Report| {
        vec![NamedReport {
            file: "run.json".to_owned(),
            report: report.clone(),
        }]
    };
    let compared = compare(&named(&report), &named(&fixture::report()), Vec::new());
    text::comparison(&compared, 100);
    for format in [Format::Html, Format::Md, Format::Json] {
        render_comparison(&compared, format).expect("a comparison is text");
    }
    Ok(())
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn no_number_of_a_report_makes_it_panic() {
    let counts = [json!(u64::MAX), json!(1_u64 << 63), json!(-1)];
    let measures = [json!(u64::MAX), json!(1e308), json!(-1e308)];
    let mut seen = BTreeMap::new();
    for report in [full(), fixture::gaggle(), fixture::capacity()] {
        let value = serde_json::to_value(&report).expect("plain data");
        let mut found = BTreeMap::new();
        numbers(&value, "", "", &mut found);
        found.retain(|kind, place| seen.insert(kind.clone(), place.clone()).is_none());
        for (kind, place) in found {
            let is_count = value.pointer(&place).is_some_and(Value::is_u64);
            // Settings are shown, and nothing is computed of them.
            let is_free = kind.ends_with(".seed") || kind.contains(".settings.");
            for number in if is_count { &counts } else { &measures } {
                let mut changed = value.clone();
                *changed.pointer_mut(&place).expect("it was found") = number.clone();
                let read = read_all(&changed);
                assert!(read.is_err() || !is_count || is_free, "{kind}: {number}");
            }
        }
    }
    assert!(seen.len() > 200, "{}", seen.len());
}

#[test]
fn a_second_of_any_size_is_refused_or_compared() {
    let value = serde_json::to_value(fixture::report()).expect("plain data");
    // The only second, which no other one keeps from being the length of an interval.
    for shift in (0..64).step_by(3).chain([40, 41, 62]) {
        for second in [1 << shift, (1_u64 << shift) - 1] {
            let mut changed = value.clone();
            changed["series"] = json!([changed["series"][0]]);
            changed["series"][0]["second"] = second.into();
            for row in changed["requests"].as_array_mut().expect("rows") {
                for column in row["series"].as_object_mut().expect("columns").values_mut() {
                    column.as_array_mut().expect("a column").truncate(1);
                }
                row["series"]["second"] = json!([second]);
            }
            let read = read_all(&changed);
            assert_eq!(read.is_ok(), second <= 1 << 40, "{second}");
        }
    }
}
