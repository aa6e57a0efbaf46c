//! Requests by tag: those of each `key=value` together and by name, in bounded memory.

use super::super::names::Label;
use super::super::request::RequestDelta;
use super::super::tally::RequestTally;
use std::collections::BTreeMap;

/// The most values of a key that have figures of their own; those beyond count together.
const MOST_VALUES: usize = 100;
/// The most tags, those of all keys together.
const MOST_TAGS: usize = 300;
/// The most names under all tags; beyond, requests count in the sum of their tag alone.
const MOST_ROWS: usize = 2_000;
/// Value that stands for those beyond the limit.
const OTHER: &str = "(other)";

/// What is left out where there are too many.
pub(super) const TOO_MANY: &str = "tags have too many values: beyond 100 of a tag, 300 in all and 2,000 rows of names the rest is \
     counted together: keep ids out of tags";

/// Requests by tag.
#[derive(Debug, Default)]
pub(super) struct ByTag {
    keys: BTreeMap<Box<str>, BTreeMap<Box<str>, Tagged>>,
    /// Tags and rows of names so far.
    tags: usize,
    rows: usize,
}

/// Requests of one tag.
#[derive(Debug, Default)]
pub(super) struct Tagged {
    pub(super) total: RequestTally,
    /// Rows by the number of the name in the table of all.
    pub(super) names: BTreeMap<usize, RequestTally>,
}

impl ByTag {
    /// Adds requests of the name of that number, and returns whether something had to be counted with others.
    pub(super) fn merge(&mut self, at: usize, row: &RequestDelta) -> bool {
        self.each(&row.label, at, |tally| tally.merge(row))
    }

    /// Adds latencies that were filled in for late users.
    pub(super) fn merge_filled(&mut self, at: usize, row: &RequestDelta) {
        if let Some(filled) = &row.filled {
            self.each(&row.label, at, |tally| {
                tally.filled.get_or_insert_default().merge(filled);
            });
        }
    }

    fn each(&mut self, label: &Label, at: usize, mut add: impl FnMut(&mut RequestTally)) -> bool {
        let mut overflow = false;
        for (key, value) in label.tags.pairs() {
            let at_limit = self.tags >= MOST_TAGS;
            if !self.keys.contains_key(key) {
                if at_limit {
                    overflow = true;
                    continue;
                }
                self.keys.insert(key.into(), BTreeMap::new());
            }
            let Some(values) = self.keys.get_mut(key) else {
                continue;
            };
            let full = at_limit || values.len() >= MOST_VALUES;
            let value = match full && !values.contains_key(value) {
                true => OTHER,
                false => value,
            };
            overflow |= value == OTHER;
            if !values.contains_key(value) {
                self.tags += 1;
                values.insert(value.into(), Tagged::default());
            }
            let Some(tagged) = values.get_mut(value) else {
                continue;
            };
            add(&mut tagged.total);
            match tagged.names.get_mut(&at) {
                Some(known) => add(known),
                None if self.rows < MOST_ROWS => {
                    self.rows += 1;
                    add(tagged.names.entry(at).or_default());
                }
                None => overflow = true,
            }
        }
        overflow
    }

    /// Returns the requests of each tag, in the order of the alphabet.
    pub(super) fn rows(&self) -> impl Iterator<Item = (String, &Tagged)> {
        self.keys.iter().flat_map(|(key, values)| {
            let values = values.iter();
            values.map(move |(value, tagged)| (format!("{key}={value}"), tagged))
        })
    }

    pub(super) fn clear(&mut self) {
        *self = ByTag::default();
    }
}
