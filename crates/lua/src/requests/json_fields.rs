//! Expected fields of a JSON body, found as it is read. Only compared values are built in memory: 60 MB of `{"":0}`
//! would be gigabytes.

use super::check_time::{CheckTime, STEP_BYTES};
use super::expect::{at_path, same_json};
use super::json_path::scalars_are_passed_over;
use crate::large_integers;
use crate::values::{ENTRY_BYTES, shorten_reason};
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;

/// The largest memory of one compared field, in bytes.
const MOST_BYTES: usize = 16 << 20;

/// The memory of an object beside its members: room for eleven of them.
pub(super) const OBJECT_BYTES: usize = 640;

/// A path such as `user.name` or `items.1.id`, with the value that is expected there.
pub(crate) type ExpectedField = (String, Value);

/// Returns the first expectation that a body does not meet.
pub(super) fn wrong(body: &[u8], expected: &[ExpectedField], time: &CheckTime) -> Option<String> {
    let fields = FieldSearch {
        expected,
        time,
        seen: RefCell::new(vec![FieldMatch::Nothing; expected.len()]),
        too_large: Cell::new(None),
    };
    let paths = expected.iter().map(|(path, _)| Some(path.as_str()));
    let inside = NestedReader {
        fields: &fields,
        paths: paths.enumerate().collect(),
    };
    // As the plan reads them.
    let quoted = large_integers::quoted(body);
    let body = quoted.as_deref().unwrap_or(body);
    let read = std::str::from_utf8(body).ok().and_then(|text| {
        let mut json = serde_json::Deserializer::from_str(text);
        inside.deserialize(&mut json).and_then(|()| json.end()).ok()
    });
    if let Some(place) = fields.too_large.get() {
        let path = shorten_reason(&expected[place].0);
        return Some(format!(
            "JSON field '{path}' is too large to be compared: it takes more than {} MiB",
            MOST_BYTES >> 20
        ));
    }
    if let Some(failure) = time.failure() {
        return Some(failure);
    }
    if read.is_none() {
        return Some("expected JSON, got something else".to_owned());
    }
    let seen = fields.seen.borrow();
    seen.iter()
        .zip(expected)
        .find_map(|(seen, (path, expected))| match seen {
            FieldMatch::Expected => None,
            FieldMatch::Nothing => {
                Some(format!("JSON field '{}' is missing", shorten_reason(path)))
            }
            FieldMatch::Other(got) => Some(format!(
                "expected JSON field '{}' to be {}, got {got}",
                shorten_reason(path),
                shorten_reason(&expected.to_string())
            )),
        })
}

/// The match at a path.
#[derive(Debug, Clone)]
enum FieldMatch {
    Nothing,
    Expected,
    /// Another value, as messages show it.
    Other(String),
}

/// The fields that are looked for.
struct FieldSearch<'a> {
    expected: &'a [ExpectedField],
    time: &'a CheckTime,
    seen: RefCell<Vec<FieldMatch>>,
    /// The field that was too large.
    too_large: Cell<Option<usize>>,
}

impl FieldSearch<'_> {
    /// Compares a value that takes so many bytes with the expectation at the rest of each path.
    fn compare(&self, value: &Value, bytes: usize, paths: &[FieldPath<'_>]) {
        for (place, rest) in paths {
            if !self.time.spend(bytes) {
                return;
            }
            let found = rest.map_or(Some(value), |rest| at_path(value, rest));
            self.seen.borrow_mut()[*place] = match found {
                None => FieldMatch::Nothing,
                Some(got) if same_json(got, &self.expected[*place].1) => FieldMatch::Expected,
                Some(got) => FieldMatch::Other(shorten_reason(&got.to_string())),
            };
        }
    }
}

/// The number of a field, and the steps that lead to it from some value; `None` if it is that value.
type FieldPath<'a> = (usize, Option<&'a str>);

/// Reads a value that some paths lead to or through.
struct NestedReader<'a> {
    fields: &'a FieldSearch<'a>,
    paths: Vec<FieldPath<'a>>,
}

impl<'a> NestedReader<'a> {
    /// Returns the numbers of a list's elements to which paths lead, in order.
    fn numbers(&self) -> Vec<usize> {
        let steps = self.paths.iter().filter_map(|(_, rest)| {
            let (step, _) = rest.map(|rest| rest.split_once('.').unwrap_or((rest, "")))?;
            step.parse().ok().filter(|number| *number > 0)
        });
        let mut numbers: Vec<usize> = steps.collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Counts the comparison of some steps.
    fn spend<E: serde::de::Error>(&self, steps: usize) -> Result<(), E> {
        if self.fields.time.spend((steps + 1) * STEP_BYTES) {
            Ok(())
        } else {
            Err(E::custom("it takes too long"))
        }
    }

    /// Returns the reader of a member, if any path leads there.
    fn member(&self, is_it: impl Fn(&str) -> bool) -> Option<NestedReader<'a>> {
        let step = |(place, rest): &FieldPath<'a>| {
            let rest = (*rest)?;
            let (step, rest) = match rest.split_once('.') {
                Some((step, rest)) => (step, Some(rest)),
                None => (rest, None),
            };
            is_it(step).then_some((*place, rest))
        };
        let paths: Vec<FieldPath<'a>> = self.paths.iter().filter_map(step).collect();
        (!paths.is_empty()).then_some(NestedReader {
            fields: self.fields,
            paths,
        })
    }
}

impl<'de> DeserializeSeed<'de> for NestedReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        // The last of several members of one name counts.
        for (place, _) in &self.paths {
            self.fields.seen.borrow_mut()[*place] = FieldMatch::Nothing;
        }
        let Some((place, _)) = self.paths.iter().find(|(_, rest)| rest.is_none()) else {
            return deserializer.deserialize_any(self);
        };
        let remaining = Cell::new(MOST_BYTES);
        let value = JsonBuilder(&remaining).deserialize(deserializer);
        if value.is_err() && remaining.get() == 0 {
            self.fields.too_large.set(Some(*place));
        }
        let bytes = MOST_BYTES - remaining.get();
        self.fields.compare(&value?, bytes, &self.paths);
        Ok(())
    }
}

impl<'de> Visitor<'de> for NestedReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    scalars_are_passed_over!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut numbers = self.numbers().into_iter().peekable();
        for number in 1.. {
            let more = if numbers.next_if_eq(&number).is_some() {
                self.spend(self.paths.len())?;
                let member = self.member(|step| step.parse() == Ok(number));
                let member = member.ok_or_else(|| A::Error::custom("no path leads there"))?;
                list.next_element_seed(member)?.is_some()
            } else {
                self.spend(0)?;
                list.next_element::<IgnoredAny>()?.is_some()
            };
            if !more {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            self.spend(self.paths.len())?;
            match self.member(|step| step == key) {
                Some(member) => map.next_value_seed(member)?,
                None => map.next_value::<IgnoredAny>().map(|_| ())?,
            }
        }
        Ok(())
    }
}

/// Builds a value within a number of bytes, which is 0 once they do not suffice.
struct JsonBuilder<'a>(&'a Cell<usize>);

impl JsonBuilder<'_> {
    fn take<E: serde::de::Error>(&self, bytes: usize) -> Result<(), E> {
        let remaining = self.0.get().saturating_sub(bytes);
        self.0.set(remaining);
        match remaining {
            0 => Err(E::custom("the value is too large")),
            _ => Ok(()),
        }
    }
}

impl<'de> DeserializeSeed<'de> for JsonBuilder<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonBuilder<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        self.take(text.len())?;
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(JsonBuilder(self.0))? {
            self.take(ENTRY_BYTES)?;
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        self.take(OBJECT_BYTES)?;
        let mut members = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            self.take(2 * ENTRY_BYTES + key.len())?;
            let value = map.next_value_seed(JsonBuilder(self.0))?;
            members.insert(key, value);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn failure(body: &str, path: &str, expected: Value) -> Option<String> {
        let time = CheckTime::new();
        wrong(body.as_bytes(), &[(path.to_owned(), expected)], &time)
    }

    #[test]
    fn fields_are_found_at_their_paths() {
        let body = r#"{"a": {"b": [1, {"c": "x"}], "": 2}, "n": null, "d.e": 1, "a2": [[7]]}"#;
        for (path, expected) in [
            ("a.b.1", json!(1)),
            ("a.b.1", json!(1.0)),
            ("a.b.2.c", json!("x")),
            ("a.b.2", json!({"c": "x"})),
            ("a.b", json!([1, {"c": "x"}])),
            ("a.", json!(2)),
            ("n", json!(null)),
            ("a2.1.1", json!(7)),
        ] {
            assert_eq!(failure(body, path, expected), None, "{path}");
        }
        for path in ["b", "a.b.0", "a.b.3", "a.b.1.x", "n.x", "d.e", "a2.1.2", ""] {
            let missing = format!("JSON field '{path}' is missing");
            assert_eq!(failure(body, path, json!(1)), Some(missing));
        }
        let other = "expected JSON field 'a.b.2' to be 1, got {\"c\":\"x\"}";
        assert_eq!(failure(body, "a.b.2", json!(1)).as_deref(), Some(other));
    }

    #[test]
    fn several_fields_are_reported_in_their_order() {
        let expected = ["a", "a.b", "c"].map(|path| (path.to_owned(), json!({"b": 1})));
        let body = br#"{"c": 2, "a": {"b": 1}}"#;
        let message = wrong(body, &expected, &CheckTime::new());
        let other = "expected JSON field 'a.b' to be {\"b\":1}, got 1";
        assert_eq!(message.as_deref(), Some(other));
        assert_eq!(
            failure_of_two(r#"{"a": {"b": 1}, "a": {"c": 1}}"#).as_deref(),
            Some("JSON field 'a.b' is missing")
        );
    }

    fn failure_of_two(body: &str) -> Option<String> {
        failure(body, "a.b", json!(1))
    }

    #[test]
    fn what_is_no_json_is_reported_as_such() {
        for body in ["", "{", "{\"a\": 1} x", "{\"a\": 1, \"b\": nul}", "<p>"] {
            let message = failure(body, "a", json!(1));
            assert_eq!(
                message.as_deref(),
                Some("expected JSON, got something else")
            );
        }
        let no_text = b"{\"a\": 1, \"b\": \"\xff\"}";
        let expected = [("a".to_owned(), json!(1))];
        assert!(wrong(no_text, &expected, &CheckTime::new()).is_some());
    }

    #[test]
    fn a_large_body_is_not_read_for_longer_than_there_is_time() {
        let expected = [("a".to_owned(), json!(1))];
        let failure = |members: usize| {
            let body = format!("{{{}\"a\": 1}}", "\"\":0,".repeat(members));
            wrong(body.as_bytes(), &expected, &CheckTime::over())
        };
        assert_eq!(failure(1_000), None);
        let late = failure(100_000).expect("there is no time");
        assert!(late.starts_with("its expectations take longer"), "{late}");
    }

    #[test]
    fn a_field_that_is_compared_may_not_take_all_memory() {
        let list = format!("[{}0]", "{\"\":0},".repeat(50_000));
        let body = format!("{{\"list\": {list}, \"a\": 1}}");
        assert_eq!(failure(&body, "a", json!(1)), None);
        assert_eq!(failure(&body, "list.50001", json!(0)), None);
        let message = failure(&body, "list", json!(0)).expect("it differs");
        assert!(
            message.starts_with("JSON field 'list' is too large"),
            "{message}"
        );
    }
}
