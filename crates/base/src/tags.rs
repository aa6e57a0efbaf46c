//! Tags of requests: keys with values, such as `region=eu`, by which reports and thresholds separate figures.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Key under which requests have the name of their scenario.
pub const SCENARIO: &str = "scenario";

/// Value that stands for all those of a key beyond their bound.
pub const OTHER: &str = "(other)";

/// The most bytes of a key and of a value.
pub const MOST_BYTES: usize = 100;

/// Keys with their values, in the order of the alphabet.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tags(BTreeMap<Box<str>, Box<str>>);

impl Tags {
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// The form that a key or a value must have.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        if !is_key(key) {
            return Err(format!(
                "'{}' is not a name for a tag: use letters, digits, '_', '-' and '.', at most {MOST_BYTES}, the first a letter",
                key.escape_debug()
            ));
        }
        if value.is_empty() || value.len() > MOST_BYTES || value.contains(is_odd) {
            return Err(format!(
                "the tag '{key}' takes a text of 1 to {MOST_BYTES} bytes without commas and control characters"
            ));
        }
        self.put(key, value);
        Ok(())
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(|value| &**value)
    }

    /// Sets the value of a key, whatever they are: for the names of scenarios.
    pub fn put(&mut self, key: &str, value: &str) {
        self.0.insert(key.into(), value.into());
    }

    /// Takes the value of a key away.
    pub fn remove(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// Returns these with others, which win where both have a value.
    pub fn with(&self, others: &Tags) -> Tags {
        let mut all = self.clone();
        all.add(others);
        all
    }

    /// Adds others, which win where both have a value.
    pub fn add(&mut self, others: &Tags) {
        for (key, value) in &others.0 {
            self.0.insert(key.clone(), value.clone());
        }
    }

    /// Returns the memory that they take, in bytes.
    pub fn bytes(&self) -> usize {
        /// The memory of a text and its place in the tree beside its bytes.
        const TEXT_BYTES: usize = 40;
        self.pairs()
            .map(|(key, value)| key.len() + value.len() + 2 * TEXT_BYTES)
            .sum()
    }

    /// Returns the tag of a key alone, if it has one.
    pub fn only(&self, key: &str) -> Tags {
        let own = self.0.get(key).map(|value| (key.into(), value.clone()));
        Tags(own.into_iter().collect())
    }

    /// Returns keys and values.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Returns them as the name of a threshold writes them, `page=cart, region=eu`, but for that of the scenario.
    pub fn beside_scenario(&self) -> String {
        let mut text = String::new();
        let is_own = |(key, _): &(&str, &str)| ![SCENARIO, OTHER].contains(key);
        for (key, value) in self.pairs().filter(is_own) {
            let separator = if text.is_empty() { "" } else { ", " };
            text.extend([separator, key, "=", value]);
        }
        text
    }

    /// Returns whether all of these are among the others.
    pub fn are_in(&self, others: &Tags) -> bool {
        let mut pairs = self.0.iter();
        pairs.all(|(key, value)| others.0.get(key) == Some(value))
    }
}

fn is_odd(c: char) -> bool {
    c == ',' || c.is_control()
}

/// Returns whether a text can be the key of a tag.
pub(crate) fn is_key(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.len() <= MOST_BYTES
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(inner)
}

/// Splits the name of a threshold into the tags that it begins with and the name that follows, which may be empty:
/// `phase=load, GET cart`. `None` if it begins with no tag.
pub fn split_selector(text: &str) -> Option<(Tags, &str)> {
    let mut tags = Tags::default();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, more) = rest.split_once(',').unwrap_or((rest, ""));
        let Some((key, value)) = piece.trim().split_once('=') else {
            break;
        };
        let (key, value) = (key.trim_end(), value.trim_start());
        if !is_key(key) || value.is_empty() {
            break;
        }
        tags.put(key, value);
        rest = more.trim_start();
    }
    (!tags.is_empty()).then_some((tags, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_has_tags_and_perhaps_a_name() {
        let read = |text| {
            split_selector(text).map(|(tags, name)| {
                let pairs = tags.pairs().map(|(key, value)| format!("{key}={value}"));
                (pairs.collect::<Vec<_>>().join(" "), name)
            })
        };
        let found = |tags: &str, name| Some((tags.to_owned(), name));
        assert_eq!(read("scenario=buyers"), found("scenario=buyers", ""));
        assert_eq!(
            read("phase=load, GET cart"),
            found("phase=load", "GET cart")
        );
        assert_eq!(read("b=2,a = 1,x, y=3"), found("a=1 b=2", "x, y=3"));
        assert_eq!(read("GET /?a=b"), None);
        assert_eq!(read("cart"), None);
        assert_eq!(read("a="), None);
    }

    #[test]
    fn odd_keys_and_values_are_refused() {
        let mut tags = Tags::default();
        for (key, value) in [
            ("", "x"),
            ("1a", "x"),
            ("a b", "x"),
            ("a", ""),
            ("a", "x,y"),
            ("a", "\n"),
        ] {
            assert!(tags.set(key, value).is_err(), "{key:?} {value:?}");
        }
        assert!(tags.is_empty());
        assert_eq!(tags.set("region", "eu west=1"), Ok(()));
    }
}
