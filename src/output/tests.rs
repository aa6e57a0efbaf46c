//! The JSON Schema of the report, `schema/report.schema.json`: made from the types and their documentation,
//! checked in, and held to reports by a validator of its own.

use super::fixture;
use crate::metrics::{ArrivalsRow, Report};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Returns the schema as the types define it.
fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let schema = generator.into_root_schema_for::<Report>();
    let mut schema = schema.to_value();
    schema["title"] = "The JSON report of a run of lgoose ('-o json=FILE')".into();
    schema
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
    report.arrivals = Some(ArrivalsRow {
        started: 10,
        dropped: 2,
        delay_ms: None,
    });
    report.warmup = Some(Box::new(fixture::report()));
    report
}

#[test]
fn the_schema_is_the_checked_in_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/report.schema.json");
    let text = serde_json::to_string_pretty(&schema()).expect("plain data");
    fixture::compare(&path, &format!("{text}\n"));
}

#[test]
fn reports_keep_to_it_and_have_no_key_that_it_does_not_know() {
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

#[test]
fn every_key_is_explained() {
    fn unexplained(schema: &Value, at: &str, found: &mut Vec<String>) {
        if let Some(properties) = schema["properties"].as_object() {
            for (key, property) in properties {
                if property["description"].as_str().is_none_or(str::is_empty) {
                    found.push(format!("{at}/{key}"));
                }
            }
        }
    }
    let schema = schema();
    let mut found = Vec::new();
    unexplained(&schema, "", &mut found);
    let parts = schema["$defs"].as_object().expect("parts");
    assert!(parts.len() > 10);
    for (name, part) in parts {
        unexplained(part, name, &mut found);
    }
    assert!(found.is_empty(), "{found:?}");
}
