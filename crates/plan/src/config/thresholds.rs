//! Thresholds in a plan: texts, and tables that give some a name or options such as `abort`.

use super::{Misfit, Value};
use lgoose_base::error::{Diagnostic, nearest};
use lgoose_base::threshold::{GRAMMAR, Threshold};
use std::collections::BTreeMap;
use std::time::Duration;

const SHAPE: &str = "write thresholds = { \"p95 < 300ms\", [\"GET /cart\"] = \"failures < 1%\", \
     { \"failures < 5%\", abort = true, after = \"30s\" } }";

/// The options that a table may have in addition to its texts.
pub const OPTIONS: [&str; 3] = ["abort", "after", "during"];

/// The options of a table, which apply to all texts in it.
#[derive(Debug, Clone, Copy, Default)]
struct ThresholdOptions<'a> {
    name: Option<&'a str>,
    abort: Option<bool>,
    after: Option<Duration>,
    during: Option<Duration>,
}

/// Reads the field `thresholds`: a text, or a table of texts, of tables with options, and of names with either. Those
/// without a name come first, then the names in alphabetical order.
pub(super) fn thresholds(value: &Value) -> Result<Vec<Threshold>, Misfit> {
    let mut found = Vec::new();
    if matches!(value, Value::Text(_)) {
        read(value, ThresholdOptions::default(), &mut found)?;
        return Ok(found);
    }
    let Some((list, named)) = table(value) else {
        return Err(wrong("expected a list of texts", value));
    };
    for one in &list {
        read(one, ThresholdOptions::default(), &mut found)?;
    }
    for (name, value) in &named {
        named_one(name, value, &mut found)?;
    }
    Ok(found)
}

/// Reads the field `thresholds` of a scenario.
///
/// # Errors
/// Returns the mistake in the field.
pub fn scenario_thresholds(owner: &str, value: &Value) -> Result<Vec<Threshold>, Diagnostic> {
    thresholds(value).map_err(|misfit| misfit.in_field("thresholds", owner))
}

/// Returns the list of a table, and its named entries.
fn table(value: &Value) -> Option<(Vec<Value>, BTreeMap<String, Value>)> {
    match value {
        Value::List(texts) => {
            let list = texts.iter().cloned().map(Value::Text);
            Some((list.collect(), BTreeMap::new()))
        }
        Value::Map(texts) => {
            let named = texts
                .iter()
                .map(|(name, text)| (name.clone(), Value::Text(text.clone())));
            Some((Vec::new(), named.collect()))
        }
        Value::Table(list, named) => Some((list.clone(), named.clone())),
        _ => None,
    }
}

fn named_one(name: &str, value: &Value, found: &mut Vec<Threshold>) -> Result<(), Misfit> {
    let name = name.trim();
    if name.is_empty() {
        return Err(Misfit::from("a name is empty".to_owned()).help(SHAPE));
    }
    if matches!(value, Value::Flag(_) | Value::Number(_)) {
        let problem = format!("'{name}' stands where the name of a row belongs");
        return Err(Misfit::from(problem).mark(name, 0..name.len()).help(SHAPE));
    }
    let named = ThresholdOptions {
        name: Some(name),
        ..ThresholdOptions::default()
    };
    let misfit = match read(value, named, found) {
        Ok(()) => return Ok(()),
        Err(misfit) => misfit,
    };
    // As in { p95 = "300ms" }; with a colon, the text has a name of its own.
    let Value::Text(limit) = value else {
        return Err(misfit);
    };
    let limit = limit.trim();
    if limit.contains(':') {
        return Err(misfit);
    }
    let texts = [
        format!("{name} {limit}"),
        format!("{name} < {limit}"),
        format!("{name} < {limit}ms"),
        format!("{name} < {limit}%"),
    ];
    match texts.iter().find(|text| Threshold::read(text).is_ok()) {
        None => Err(misfit),
        Some(text) => {
            let problem =
                format!("'{name}' is a figure, and stands where the name of a row belongs");
            let help = format!("write thresholds = {{ \"{text}\" }}");
            Err(Misfit::from(problem).mark(name, 0..name.len()).help(&help))
        }
    }
}

/// Reads a text, or a table of texts with the options that apply to all of them.
fn read(
    value: &Value,
    around: ThresholdOptions<'_>,
    found: &mut Vec<Threshold>,
) -> Result<(), Misfit> {
    if let Value::Text(text) = value {
        found.push(one(text, around)?);
        return Ok(());
    }
    let Some((list, named)) = table(value) else {
        return Err(wrong("expected a text such as \"p95 < 300ms\"", value));
    };
    if list.is_empty() {
        let problem = "a table has no text such as \"p95 < 300ms\" in it".to_owned();
        return Err(Misfit::from(problem).help(SHAPE));
    }
    let options = options(&named, around)?;
    for value in &list {
        read(value, options, found)?;
    }
    Ok(())
}

fn options<'a>(
    named: &BTreeMap<String, Value>,
    mut options: ThresholdOptions<'a>,
) -> Result<ThresholdOptions<'a>, Misfit> {
    for (key, value) in named {
        let here = |misfit: Misfit| misfit.mark(key, 0..key.len());
        let time = || {
            let problem = |problem| here(Misfit::from(format!("'{key}': {problem}")));
            value.duration().map(Some).map_err(problem)
        };
        match (key.as_str(), value) {
            ("abort", Value::Flag(abort)) => options.abort = Some(*abort),
            ("abort", other) => return Err(here(wrong("'abort' is true or false", other))),
            ("after", _) => options.after = time()?,
            ("during", _) => options.during = time()?,
            _ => {
                let near = nearest(key, OPTIONS);
                let near = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
                let help = format!("{near}fields of a threshold: {}", OPTIONS.join(", "));
                let problem = format!("unknown field '{key}' in a threshold");
                return Err(here(Misfit::from(problem).help(&help)));
            }
        }
    }
    Ok(options)
}

fn one(text: &str, options: ThresholdOptions<'_>) -> Result<Threshold, Misfit> {
    let mut threshold = match options.name {
        None => Threshold::read(text),
        Some(name) => Threshold::read_for(name, text),
    }
    .map_err(|misread| {
        Misfit::from(misread.message)
            .mark(text, misread.place)
            .help(GRAMMAR)
    })?;
    threshold.abort = options.abort.unwrap_or(threshold.abort);
    threshold.after = options.after.or(threshold.after);
    threshold.during = options.during.or(threshold.during);
    let whole = |problem| Misfit::from(problem).mark(text, 0..text.len());
    threshold.check().map_err(whole)?;
    Ok(threshold)
}

fn wrong(expected: &str, got: &Value) -> Misfit {
    Misfit::from(format!("{expected}, not {}", got.type_name())).help(SHAPE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn table_of(list: &[Value], named: &[(&str, Value)]) -> Value {
        let named = named
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        Value::Table(list.to_vec(), named.collect())
    }

    /// Returns each threshold as `NAME: TEXT`.
    fn shown(value: &Value) -> Result<Vec<String>, String> {
        let found = thresholds(value)
            .map_err(|misfit| misfit.in_field("thresholds", "plan").to_string())?;
        let shown = found.iter().map(|threshold| match &threshold.name {
            Some(name) => format!("{name}: {threshold}"),
            None => threshold.to_string(),
        });
        Ok(shown.collect())
    }

    #[test]
    fn every_way_to_write_them_makes_the_same_plain_list() {
        let abort = |list: &[Value]| {
            table_of(
                list,
                &[("abort", Value::Flag(true)), ("after", text("30s"))],
            )
        };
        for (value, expected) in [
            (text("p95 < 1s"), vec!["p95 < 1s"]),
            (Value::List(vec!["p95 < 1s".to_owned()]), vec!["p95 < 1s"]),
            (
                table_of(&[text("p95 < 1s"), text("GET /: p50 < 1s")], &[]),
                vec!["p95 < 1s", "GET /: p50 < 1s"],
            ),
            (
                table_of(&[abort(&[text("p95 < 1s"), text("max < 9s")])], &[]),
                vec!["p95 < 1s abort after 30s", "max < 9s abort after 30s"],
            ),
            (
                table_of(
                    &[text("p95 < 1s")],
                    &[(
                        "GET /",
                        table_of(&[text("p50 < 1s"), text("max < 2s")], &[]),
                    )],
                ),
                vec!["p95 < 1s", "GET /: p50 < 1s", "GET /: max < 2s"],
            ),
            (
                table_of(
                    &[],
                    &[
                        ("GET /", abort(&[text("p50 < 1s")])),
                        ("x", text("value > 3")),
                    ],
                ),
                vec!["GET /: p50 < 1s abort after 30s", "x: value > 3"],
            ),
            (
                table_of(
                    &[table_of(
                        &[text("p95 < 1s")],
                        &[("during", Value::Number(10.0))],
                    )],
                    &[],
                ),
                vec!["p95 < 1s during 10s"],
            ),
            (
                Value::Map([("checks".to_owned(), "rate > 99%".to_owned())].into()),
                vec!["checks: rate > 99%"],
            ),
        ] {
            let expected = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(shown(&value), Ok(expected), "{value:?}");
        }
    }

    #[test]
    fn what_is_no_threshold_is_reported_with_the_remedy() {
        for (value, message) in [
            (Value::Number(3.0), "expected a list of texts, not a number"),
            (table_of(&[Value::Number(3.0)], &[]), "not a number"),
            (
                table_of(&[text("p95 < 1s")], &[("abort", Value::Flag(true))]),
                "'abort' stands where the name",
            ),
            (
                table_of(
                    &[table_of(&[text("p95 < 1s")], &[("abort", text("yes"))])],
                    &[],
                ),
                "'abort' is true or false",
            ),
            (
                table_of(
                    &[table_of(&[text("p95 < 1s")], &[("abrot", text("yes"))])],
                    &[],
                ),
                "unknown field 'abrot'",
            ),
            (
                table_of(
                    &[table_of(&[text("p95 < 1s")], &[("after", text("soon"))])],
                    &[],
                ),
                "'after': 'soon' is not a duration",
            ),
            (
                table_of(
                    &[],
                    &[("GET /", table_of(&[], &[("abort", Value::Flag(true))]))],
                ),
                "a table has no text",
            ),
            (
                table_of(
                    &[table_of(&[text("count > 1")], &[("after", text("5s"))])],
                    &[],
                ),
                "give one of them too",
            ),
            (
                table_of(&[], &[("GET /", text("x: p95 < 1s"))]),
                "the name stands in [\"…\"] already",
            ),
            (table_of(&[text("p95 < 1sec")], &[]), "unknown unit 'sec'"),
        ] {
            let error = shown(&value).expect_err(message);
            assert!(error.contains(message), "{error}");
        }
    }
}
