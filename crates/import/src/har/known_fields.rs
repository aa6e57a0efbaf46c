//! A value of JSON without unknown fields. An entry of a HAR file is read as one, so that a fault in it costs no other
//! entry.

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// The most values of an entry; it has some hundred, most of them of headers.
const MAX_VALUES: usize = 20_000;

/// The names of the fields that are read, wherever they stand.
const NAMES: [&str; 27] = [
    "content",
    "contentType",
    "encoding",
    "fileName",
    "headers",
    "id",
    "method",
    "mimeType",
    "name",
    "pageref",
    "params",
    "postData",
    "receive",
    "redirectURL",
    "request",
    "response",
    "startedDateTime",
    "status",
    "text",
    "time",
    "timings",
    "title",
    "url",
    "value",
    "_frameref",
    "_fromCache",
    "_resourceType",
];

/// Reads a value with those fields alone. Of two of one name, the last counts.
#[derive(Default)]
pub(super) struct KnownFields {
    values: usize,
}

impl KnownFields {
    /// Returns whether the value had more values than are read; some are missing then.
    pub(super) fn is_too_large(&self) -> bool {
        self.values > MAX_VALUES
    }
}

impl<'de> DeserializeSeed<'de> for &mut KnownFields {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.values += 1;
        if self.is_too_large() {
            return deserializer
                .deserialize_ignored_any(IgnoredAny)
                .map(|_| Value::Null);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut KnownFields {
    type Value = Value;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(&mut *self)? {
            if !self.is_too_large() {
                values.push(value);
            }
        }
        Ok(Value::Array(values))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if NAMES.contains(&name.as_str()) {
                fields.insert(name, map.next_value_seed(&mut *self)?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> (Value, bool) {
        let mut fields = KnownFields::default();
        let mut json = serde_json::Deserializer::from_str(json);
        let value = fields.deserialize(&mut json).expect("it is JSON");
        (value, fields.is_too_large())
    }

    #[test]
    fn fields_that_nobody_reads_are_dropped_and_the_last_of_a_name_counts() {
        let json = r#"{"url":1,"cookies":[{"name":"a"}],"url":"b","headers":[{"name":"c","x":1},null,true,-1,1.5]}"#;
        let expected =
            serde_json::json!({ "url": "b", "headers": [{ "name": "c" }, null, true, -1, 1.5] });
        assert_eq!(read(json), (expected, false));
    }

    #[test]
    fn a_list_that_never_seems_to_end_takes_no_memory() {
        let json = format!("[{}0]", "0,".repeat(3 * MAX_VALUES));
        let (value, is_too_large) = read(&json);
        assert!(is_too_large);
        assert!(value.as_array().is_some_and(|all| all.len() < MAX_VALUES));
    }
}
