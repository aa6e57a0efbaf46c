//! A comparison as JSON.

use super::{escaped, layout::JsonLayout};
use lgoose_base::error::Error;
use lgoose_metrics::compare::Comparison;
use serde::Serialize as _;

/// Renders a comparison as indented JSON that ends with a line break.
///
/// # Errors
/// None that a comparison made by lgoose can cause.
pub(crate) fn comparison(comparison: &Comparison) -> Result<String, Error> {
    let action = "write the comparison as JSON";
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, JsonLayout::default());
    comparison
        .serialize(&mut serializer)
        .map_err(|error| Error::cannot(action, error))?;
    text.push(b'\n');
    let text = String::from_utf8(text).map_err(|error| Error::cannot(action, error))?;
    Ok(escaped(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use serde_json::Value;

    #[test]
    fn scripts_find_the_keys_they_rely_on() {
        let text = comparison(&fixture::comparison()).expect("a plain comparison");
        fixture::golden("comparison.json", &text);
        let json: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(json["comparable"], true);
        assert_eq!(json["reasons"], Value::Array(Vec::new()));
        let row = json["rows"][1].as_object().expect("a row");
        let keys = "method name figure before after change low high verdict beyond_limit requests";
        let mut keys: Vec<&str> = keys.split(' ').collect();
        keys.sort_unstable();
        assert_eq!(row.keys().collect::<Vec<_>>(), keys);
        assert_eq!((&row["method"], &row["name"]), (&Value::Null, &Value::Null));
        assert_eq!(
            (&row["figure"], &row["verdict"]),
            (&"p95".into(), &"slower".into())
        );
        let hostile = comparison(&fixture::hostile_comparison()).expect("a plain comparison");
        fixture::assert_harmless(&hostile);
    }
}
