//! Changes between two snapshots, so that readers get only those. Knows tables and plain values, not their meaning.

use serde_json::{Map, Number, Value};

/// Keys whose values are rows, sent by their place. `docs/web.md` shows the same ones.
pub(super) const TABLES: [&str; 7] = [
    "requests",
    "scenarios",
    "checks",
    "metrics",
    "errors",
    "thresholds",
    "workers",
];

/// Keys whose figures are a plan's own, or limits, and are sent as they are.
const EXACT: [&str; 3] = ["metrics", "thresholds", "events"];

/// Returns the changes in `new`: values that differ, and of tables the rows and fields that do.
pub(super) fn changes(old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let mut changed = Map::new();
    for (key, value) in new {
        let before = old.get(key);
        if before == Some(value) {
            continue;
        }
        match value {
            Value::Array(rows) if TABLES.contains(&key.as_str()) => {
                let before = before.and_then(Value::as_array).map_or(&[][..], |all| all);
                let rows = changed_rows(before, rows);
                // A reader learns of an empty table, too.
                if !rows.is_empty() || before.is_empty() {
                    changed.insert(key.clone(), Value::Array(rows));
                }
            }
            other => {
                changed.insert(key.clone(), other.clone());
            }
        }
    }
    changed
}

/// Returns whether all tables have the rows that they had, and perhaps more.
pub(super) fn only_grew(old: &Map<String, Value>, new: &Map<String, Value>) -> bool {
    let length =
        |of: &Map<String, Value>, key: &str| of.get(key).and_then(Value::as_array).map(Vec::len);
    TABLES
        .iter()
        .all(|key| length(old, key).unwrap_or(0) <= length(new, key).unwrap_or(0))
}

fn changed_rows(old: &[Value], new: &[Value]) -> Vec<Value> {
    let mut rows = Vec::new();
    for (at, row) in new.iter().enumerate() {
        let Value::Object(fields) = row else { continue };
        let before = old.get(at).and_then(Value::as_object);
        let differs =
            |key: &String, value: &Value| before.and_then(|row| row.get(key)) != Some(value);
        let mut changed: Map<String, Value> = fields
            .iter()
            .filter(|(key, value)| before.is_none() || differs(key, value))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if !changed.is_empty() || before.is_none() {
            changed.insert("i".to_owned(), at.into());
            rows.push(Value::Object(changed));
        }
    }
    rows
}

/// Rounds figures to three decimals, which is a microsecond where they are milliseconds.
pub(super) fn round(state: &mut Map<String, Value>) {
    for (key, value) in state {
        if !EXACT.contains(&key.as_str()) {
            round_value(value);
        }
    }
}

/// Rounds all figures in a value likewise.
pub(super) fn round_value(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let rounded = number.as_f64().map(|figure| (figure * 1e3).round() / 1e3);
            if let Some(rounded) = rounded.and_then(Number::from_f64) {
                *number = rounded;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(round_value),
        Value::Object(fields) => fields.values_mut().for_each(round_value),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other} is no object"),
        }
    }

    #[test]
    fn what_has_changed_is_sent_and_rows_by_their_place() {
        let old = map(json!({
            "phase": "running", "users_now": 1, "warnings": ["a"], "checks": [],
            "requests": [{ "name": "a", "count": 1, "latency_ms": null }, { "name": "b", "count": 1 }],
        }));
        let new = map(json!({
            "phase": "running", "users_now": 2, "warnings": ["a", "b"], "checks": [],
            "requests": [
                { "name": "a", "count": 1, "latency_ms": { "p50": 2.0 } },
                { "name": "b", "count": 1 },
                { "name": "c", "count": 7 },
            ],
        }));
        let expected = json!({
            "users_now": 2, "warnings": ["a", "b"],
            "requests": [
                { "i": 0, "latency_ms": { "p50": 2.0 } },
                { "i": 2, "name": "c", "count": 7 },
            ],
        });
        assert_eq!(Value::Object(changes(&old, &new)), expected);
        assert!(changes(&new, &new).is_empty());
        let all = changes(&Map::new(), &new);
        assert_eq!(
            all["requests"][1],
            json!({ "i": 1, "name": "b", "count": 1 })
        );
        assert_eq!(all["checks"], json!([]));
        assert!(only_grew(&old, &new) && !only_grew(&new, &old));
    }

    #[test]
    fn figures_are_rounded_but_for_those_of_the_plan() {
        let mut state = map(json!({
            "run_s": 1.23456, "n": 5, "requests": [{ "latency_ms": { "p50": 0.123_456 } }],
            "metrics": [{ "value": 0.000_012 }],
        }));
        round(&mut state);
        let expected = json!({
            "run_s": 1.235, "n": 5, "requests": [{ "latency_ms": { "p50": 0.123 } }],
            "metrics": [{ "value": 0.000_012 }],
        });
        assert_eq!(Value::Object(state), expected);
    }
}
