//! Expected fields of a JSON body, found as it is read. Only compared values are built in memory: 60 MB of `{"":0}`
//! would be gigabytes.

use super::check_time::{CheckTime, STEP_BYTES};
use super::expect::same_json;
use super::json_path::{JsonPath, PathStep, scalars_are_passed_over};
use crate::large_integers;
use crate::values::{ENTRY_BYTES, shorten_reason};
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;

/// The largest memory of one compared field, in bytes.
const MOST_BYTES: usize = 16 << 20;

/// The memory of an object beside its members: room for eleven of them.
pub(super) const OBJECT_BYTES: usize = 640;

/// A value that is expected at a path such as `user.name` or `items[-1].id`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExpectedField {
    /// The path as the plan has it.
    pub(crate) text: String,
    pub(crate) path: JsonPath,
    pub(crate) value: Value,
}

/// Returns the first expectation that a body does not meet.
pub(super) fn wrong(body: &[u8], expected: &[ExpectedField], time: &CheckTime) -> Option<String> {
    let fields = FieldSearch {
        expected,
        time,
        seen: RefCell::new(vec![FieldMatch::Nothing; expected.len()]),
        too_large: Cell::new(None),
    };
    let paths = expected.iter().map(|field| field.path.steps());
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
        let path = shorten_reason(&expected[place].text);
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
        .find_map(|(seen, expected)| match seen {
            FieldMatch::Expected => None,
            FieldMatch::Nothing => {
                let path = shorten_reason(&expected.text);
                Some(format!("JSON field '{path}' is missing"))
            }
            FieldMatch::Other(got) => Some(format!(
                "expected JSON field '{}' to be {}, got {got}",
                shorten_reason(&expected.text),
                shorten_reason(&expected.value.to_string())
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
            let found = at_steps(value, rest);
            self.seen.borrow_mut()[*place] = match found {
                None => FieldMatch::Nothing,
                Some(got) if same_json(got, &self.expected[*place].value) => FieldMatch::Expected,
                Some(got) => FieldMatch::Other(shorten_reason(&got.to_string())),
            };
        }
    }
}

/// Returns the value to which steps lead in a value.
fn at_steps<'a>(value: &'a Value, steps: &[PathStep]) -> Option<&'a Value> {
    steps
        .iter()
        .try_fold(value, |value, step| match (value, step) {
            (Value::Array(list), step) => {
                let from_end = step
                    .place_from_end()
                    .map(|place| list.len().checked_sub(place));
                list.get(from_end.unwrap_or_else(|| step.place())?)
            }
            (other, PathStep::Member(name)) => other.get(name),
            _ => None,
        })
}

/// The number of a field, and the steps that lead to it from some value; none if it is that value.
type FieldPath<'a> = (usize, &'a [PathStep]);

/// Reads a value that some paths lead to or through.
struct NestedReader<'a> {
    fields: &'a FieldSearch<'a>,
    paths: Vec<FieldPath<'a>>,
}

impl<'a> NestedReader<'a> {
    /// Returns the places of a list's elements to which paths lead, in order.
    fn places(&self) -> Vec<usize> {
        let steps = self.paths.iter().filter_map(|(_, steps)| steps.first());
        let mut places: Vec<usize> = steps.filter_map(PathStep::place).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Returns the fields to which paths lead from the end of a list.
    fn counted_from_end(&self) -> Vec<LatestMatches> {
        let from_end = self.paths.iter().filter_map(|(field, steps)| {
            Some(LatestMatches {
                field: *field,
                places: steps.first()?.place_from_end()?,
                latest: VecDeque::new(),
            })
        });
        from_end.collect()
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
    fn member(&self, is_it: impl Fn(&PathStep) -> bool) -> Option<NestedReader<'a>> {
        let step = |(field, steps): &FieldPath<'a>| {
            let (step, rest) = steps.split_first()?;
            is_it(step).then_some((*field, rest))
        };
        let paths: Vec<FieldPath<'a>> = self.paths.iter().filter_map(step).collect();
        (!paths.is_empty()).then_some(NestedReader {
            fields: self.fields,
            paths,
        })
    }
}

/// The matches of a field at the latest elements of a list: which of them its path leads to is known at the end.
struct LatestMatches {
    field: usize,
    /// The place from the end.
    places: usize,
    latest: VecDeque<FieldMatch>,
}

impl LatestMatches {
    fn push(&mut self, found: FieldMatch) {
        self.latest.push_back(found);
        if self.latest.len() > self.places {
            self.latest.pop_front();
        }
    }

    fn at_end(mut self) -> FieldMatch {
        let is_there = self.latest.len() == self.places;
        let first = self.latest.pop_front().filter(|_| is_there);
        first.unwrap_or(FieldMatch::Nothing)
    }
}

impl<'de> DeserializeSeed<'de> for NestedReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        // The last of several members of one name counts.
        for (place, _) in &self.paths {
            self.fields.seen.borrow_mut()[*place] = FieldMatch::Nothing;
        }
        let Some((place, _)) = self.paths.iter().find(|(_, rest)| rest.is_empty()) else {
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
        let mut places = self.places().into_iter().peekable();
        let mut from_end = self.counted_from_end();
        for place in 0.. {
            let is_wanted = places.next_if_eq(&place).is_some() || !from_end.is_empty();
            let leads_here =
                |step: &PathStep| step.place() == Some(place) || step.place_from_end().is_some();
            let more = if is_wanted {
                self.spend(self.paths.len())?;
                let member = self.member(leads_here);
                let member = member.ok_or_else(|| A::Error::custom("no path leads there"))?;
                list.next_element_seed(member)?.is_some()
            } else {
                self.spend(0)?;
                list.next_element::<IgnoredAny>()?.is_some()
            };
            if !more {
                break;
            }
            let seen = self.fields.seen.borrow();
            for matches in &mut from_end {
                matches.push(seen[matches.field].clone());
            }
        }
        let mut seen = self.fields.seen.borrow_mut();
        for matches in from_end {
            let field = matches.field;
            seen[field] = matches.at_end();
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            self.spend(self.paths.len())?;
            match self.member(|step| matches!(step, PathStep::Member(name) if *name == key)) {
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
        wrong(body.as_bytes(), &[field(path, expected)], &CheckTime::new())
    }

    fn field(path: &str, value: Value) -> ExpectedField {
        ExpectedField {
            text: path.to_owned(),
            path: JsonPath::read(path).unwrap_or_else(|_| JsonPath::of_names(path)),
            value,
        }
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
            ("a.b[-1].c", json!("x")),
            ("a.b[-2]", json!(1)),
            ("a2[-1][-1]", json!(7)),
            ("['d.e']", json!(1)),
        ] {
            assert_eq!(failure(body, path, expected), None, "{path}");
        }
        for path in [
            "b", "a.b.0", "a.b.3", "a.b.1.x", "n.x", "d.e", "a2.1.2", "", "a.b[-3]", "n[-1]",
        ] {
            let missing = format!("JSON field '{path}' is missing");
            assert_eq!(failure(body, path, json!(1)), Some(missing));
        }
        let other = "expected JSON field 'a.b.2' to be 1, got {\"c\":\"x\"}";
        assert_eq!(failure(body, "a.b.2", json!(1)).as_deref(), Some(other));
    }

    #[test]
    fn several_fields_are_reported_in_their_order() {
        let expected = ["a", "a.b", "c"].map(|path| field(path, json!({"b": 1})));
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
        let expected = [field("a", json!(1))];
        assert!(wrong(no_text, &expected, &CheckTime::new()).is_some());
    }

    #[test]
    fn a_large_body_is_not_read_for_longer_than_there_is_time() {
        let expected = [field("a", json!(1))];
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
