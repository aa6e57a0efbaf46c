//! The report as YAML: the keys and values of the JSON.

use super::json::to_json;
use lgoose_base::error::{Error, is_directing};
use lgoose_metrics::Report;

/// Renders the report as a YAML 1.2 document.
///
/// # Errors
/// None that a report made by lgoose can cause.
pub(crate) fn to_yaml(report: &Report) -> Result<String, Error> {
    let text = serde_saphyr::to_string(report)
        .map_err(|error| Error::cannot("write the report as YAML", error))?;
    if text.contains(is_directing) {
        // The serializer does not escape characters that change the direction of writing. JSON is YAML too, and has
        // them escaped.
        to_json(report)
    } else {
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, json};
    use serde_json::{Number, Value};
    use yaml_rust2::{Yaml, YamlLoader};

    /// Parses YAML with another library, as JSON.
    fn read(text: &str) -> Value {
        let documents = YamlLoader::load_from_str(text).expect("YAML");
        assert_eq!(documents.len(), 1);
        plain(&documents[0])
    }

    fn plain(yaml: &Yaml) -> Value {
        match yaml {
            Yaml::Null => Value::Null,
            Yaml::Boolean(value) => Value::Bool(*value),
            Yaml::Integer(value) => Value::from(*value),
            Yaml::Real(text) => {
                let value: f64 = text.parse().expect("a number");
                Value::Number(Number::from_f64(value).expect("finite"))
            }
            Yaml::String(text) => Value::String(text.clone()),
            Yaml::Array(values) => values.iter().map(plain).collect(),
            Yaml::Hash(pairs) => {
                let pairs = pairs
                    .iter()
                    .map(|(key, value)| (key.as_str().expect("a text").to_owned(), plain(value)));
                Value::Object(pairs.collect())
            }
            other => panic!("{other:?} has no place in a report"),
        }
    }

    #[test]
    fn the_fixed_report_is_the_checked_in_one() {
        let text = to_yaml(&fixture::report()).expect("a plain report");
        fixture::golden("report.yaml", &text);
    }

    #[test]
    fn another_reader_finds_what_the_json_has() {
        let hostile = fixture::hostile();
        let text = serde_json::to_string(&hostile).expect("JSON");
        let undirected = text.replace(is_directing, "");
        assert_ne!(text, undirected);
        let undirected = json::from_json(&undirected, "run.json").expect("a report");
        for report in [fixture::report(), hostile, undirected] {
            let text = to_yaml(&report).expect("a plain report");
            fixture::assert_harmless(&text);
            let json = json::to_json(&report).expect("a plain report");
            let json: Value = serde_json::from_str(&json).expect("JSON");
            assert_eq!(read(&text), json);
        }
    }
}
