//! The parts that all outputs show at a glance, and the JSON Schemas of the report and of a comparison, in `schema/`:
//! made from the types and their documentation, checked in, and checked against reports by an independent validator.

use super::fixture;
use super::text::{TableOptions, tables};
use lgoose_metrics::compare::Comparison;
use lgoose_metrics::fixture as stories;
use lgoose_metrics::{ArrivalsRow, Report};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::path::Path;

mod damage;

/// Returns the schema of a type as its definition has it.
fn schema_of<T: JsonSchema>(title: &str) -> Value {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    schema["title"] = title.into();
    schema
}

/// Returns the schema of the report.
fn schema() -> Value {
    schema_of::<Report>("The JSON report of a run of lgoose ('-o json=FILE')")
}

/// Returns the schema of a comparison.
fn comparison_schema() -> Value {
    schema_of::<Comparison>("What 'lgoose compare … -o json=FILE' found")
}

/// Checks that a schema is the one that is checked in.
fn is_checked_in(schema: &Value, file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../schema")
        .join(file);
    let text = serde_json::to_string_pretty(schema).expect("plain data");
    fixture::compare(&path, &format!("{text}\n"));
}

/// Returns the schema for documents in which every key must be known.
fn closed(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let mut map: Map<String, Value> = map
                .iter()
                .map(|(key, value)| (key.clone(), closed(value)))
                .collect();
            if map.get("properties").is_some_and(Value::is_object) {
                map.insert("unevaluatedProperties".into(), json!(false));
            }
            Value::Object(map)
        }
        Value::Array(values) => values.iter().map(closed).collect(),
        other => other.clone(),
    }
}

/// Returns the report with every part that only some runs have.
fn full() -> Report {
    let mut report = fixture::report();
    report.aggregated.service_ms = report.aggregated.latency_ms;
    report.aggregated.first_event_ms = report.aggregated.latency_ms;
    report.aggregated.event_gap_ms = report.aggregated.latency_ms;
    report.arrivals = Some(ArrivalsRow {
        started: 10,
        dropped: 2,
        delay_ms: None,
        missing: 0,
    });
    report.warmup = Some(Box::new(fixture::report()));
    report
}

#[test]
fn the_schema_is_the_checked_in_one() {
    is_checked_in(&schema(), "report.schema.json");
}

#[test]
fn the_schema_of_a_comparison_is_the_checked_in_one_and_explains_every_key() {
    let schema = comparison_schema();
    is_checked_in(&schema, "comparison.schema.json");
    assert_eq!(all_unexplained(&schema), Vec::<String>::new());
}

#[test]
fn reports_follow_it_and_have_no_key_that_it_lacks() {
    let schema = schema();
    jsonschema::meta::validate(&schema).expect("a schema");
    let validator = jsonschema::validator_for(&closed(&schema)).expect("a schema");
    for report in [full(), fixture::gaggle(), fixture::hostile()] {
        let report = serde_json::to_value(&report).expect("plain data");
        let errors = validator.iter_errors(&report);
        let errors: Vec<String> = errors
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
    let mut unknown = serde_json::to_value(full()).expect("plain data");
    unknown["requests"][0]["surprise"] = 1.into();
    assert!(!validator.is_valid(&unknown));
    let mut missing = serde_json::to_value(full()).expect("plain data");
    missing["series"][0]
        .as_object_mut()
        .expect("a point")
        .remove("count");
    assert!(!validator.is_valid(&missing));
}

/// Returns the keys of a schema that it does not explain.
fn all_unexplained(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    unexplained(schema, "", &mut found);
    for (name, part) in schema["$defs"].as_object().into_iter().flatten() {
        unexplained(part, name, &mut found);
    }
    found
}

fn unexplained(schema: &Value, at: &str, found: &mut Vec<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        for (key, property) in properties {
            if property["description"].as_str().is_none_or(str::is_empty) {
                found.push(format!("{at}/{key}"));
            }
        }
    }
}

#[test]
fn every_key_is_explained() {
    let schema = schema();
    let parts = schema["$defs"].as_object().expect("parts");
    assert!(parts.len() > 10);
    assert_eq!(all_unexplained(&schema), Vec::<String>::new());
}

/// Returns the first screenful of a page: the text before its list of parts, without tags.
fn first_screen(page: &str) -> String {
    let body = page.split_once("<body>").expect("a page").1;
    let head = body.split_once("<nav").expect("a list of parts").0;
    let texts = head
        .split('<')
        .map(|piece| piece.split_once('>').map_or("", |(_, text)| text));
    let text = texts.collect::<Vec<_>>().join(" ");
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&#39;", "'")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
}

#[test]
fn each_output_shows_at_a_glance_whether_all_is_well_and_else_where_since_when_and_why() {
    let lines = |text: &str| text.lines().take(24).collect::<Vec<_>>().join("\n");
    let started = stories::STARTED.parse().expect("a time");
    let mut missing = Vec::new();
    for story in stories::stories() {
        let report = &fixture::judged(&story.report);
        let clocks = stories::clocks(&story, started);
        for (surface, shown) in [
            ("text", lines(&tables(report, 80, TableOptions::default()))),
            ("Markdown", lines(&super::markdown::to_markdown(report))),
            ("HTML", first_screen(&super::html::to_html(report))),
        ] {
            let unanswered = stories::unanswered(&story, &shown, &clocks);
            if !unanswered.is_empty() {
                missing.push(format!(
                    "{} · {surface}: {unanswered:?}\n{shown}",
                    story.title
                ));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n\n"));
}
