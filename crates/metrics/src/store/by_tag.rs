//! Requests by tag: those of each `key=value` together and by name, in bounded memory.

use super::tally::RequestTally;
use crate::delta::RequestDelta;
use crate::latencies::Timed;
use crate::over_time::{RecentCounts, RecentRates, RecentRequests};
use crate::record::GroupedName;
use lgoose_base::tags::OTHER;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The most values of a key that have figures of their own; those beyond count together.
const MOST_VALUES: usize = 100;
/// The most tags, those of all keys together.
const MOST_TAGS: usize = 300;
/// The most names under all tags; beyond, requests count in the sum of their tag alone.
const MOST_ROWS: usize = 2_000;
/// Warning about tags that are counted together.
pub(super) const TOO_MANY: &str = "tags have too many values: beyond 100 of a tag, 300 in all and 2,000 rows of names the rest is \
     counted together: keep ids out of tags";

/// Requests by tag.
#[derive(Debug, Default)]
pub(super) struct ByTag {
    keys: BTreeMap<Box<str>, BTreeMap<Box<str>, TaggedRequests>>,
    /// Tags and rows of names so far.
    tags: usize,
    rows: usize,
    /// The last ten seconds of each row.
    recent: RecentRequests,
    /// Tags so far as texts; `None` once another one has come.
    texts: Option<Arc<[Arc<str>]>>,
}

/// Requests of one tag.
#[derive(Debug, Default)]
pub(super) struct TaggedRequests {
    pub(super) total: TaggedTally,
    /// Rows by the number that the name has in the table of all names.
    pub(super) names: BTreeMap<usize, TaggedTally>,
}

/// Requests with a tag: all of them, or those of one name.
#[derive(Debug, Default)]
pub(super) struct TaggedTally {
    /// Its number among the rows of all tags.
    number: usize,
    pub(super) tally: RequestTally,
}

impl TaggedTally {
    fn numbered(number: usize) -> TaggedTally {
        TaggedTally {
            number,
            tally: RequestTally::default(),
        }
    }

    /// Returns its requests and failures per second over the last ten seconds.
    pub(super) fn rates(&self, recent: &RecentRequests) -> RecentRates {
        recent.rates(self.number)
    }
}

impl ByTag {
    /// Adds requests of the name of that number, and returns whether something had to be counted with others.
    pub(super) fn merge(&mut self, at: usize, label: &GroupedName, row: &RequestDelta) -> bool {
        let counts = RecentCounts {
            requests: row.counts.count(),
            failures: row.counts.failures_change(),
        };
        self.each(label, at, |to, recent| {
            to.tally.merge(row);
            recent.add(to.number, counts);
        })
    }

    /// Adds latencies that were filled in for late users.
    pub(super) fn merge_filled(&mut self, at: usize, label: &GroupedName, filled: &Timed) {
        self.each(label, at, |to, _| {
            to.tally.filled.get_or_insert_default().add_slice(filled);
        });
    }

    fn each(
        &mut self,
        label: &GroupedName,
        at: usize,
        mut add: impl FnMut(&mut TaggedTally, &mut RecentRequests),
    ) -> bool {
        let mut overflow = false;
        for (key, value) in label.tags.pairs() {
            if key == OTHER {
                overflow = true;
                continue;
            }
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
            let value = if full && !values.contains_key(value) {
                OTHER
            } else {
                value
            };
            overflow |= value == OTHER;
            if !values.contains_key(value) {
                let total = TaggedTally::numbered(self.tags + self.rows);
                self.tags += 1;
                self.texts = None;
                let names = BTreeMap::new();
                values.insert(value.into(), TaggedRequests { total, names });
            }
            let Some(tagged) = values.get_mut(value) else {
                continue;
            };
            add(&mut tagged.total, &mut self.recent);
            match tagged.names.get_mut(&at) {
                Some(existing) => add(existing, &mut self.recent),
                None if self.rows < MOST_ROWS => {
                    let row = TaggedTally::numbered(self.tags + self.rows);
                    self.rows += 1;
                    add(tagged.names.entry(at).or_insert(row), &mut self.recent);
                }
                None => overflow = true,
            }
        }
        overflow
    }

    /// Returns the requests of each tag, in alphabetical order.
    pub(super) fn rows(&self) -> impl Iterator<Item = (String, &TaggedRequests)> {
        self.keys.iter().flat_map(|(key, values)| {
            let values = values.iter();
            values.map(move |(value, tagged)| (format!("{key}={value}"), tagged))
        })
    }

    /// Returns the tags so far in that order.
    pub(super) fn texts(&mut self) -> Arc<[Arc<str>]> {
        if self.texts.is_none() {
            let texts = self.rows().map(|(tag, _)| tag.into());
            self.texts = Some(texts.collect());
        }
        self.texts.clone().unwrap_or_default()
    }

    /// Returns the requests of one tag; `None` if there are none.
    pub(super) fn get_mut(&mut self, tag: &str) -> Option<(&mut TaggedRequests, &RecentRequests)> {
        let (key, value) = tag.split_once('=')?;
        let tagged = self.keys.get_mut(key)?.get_mut(value)?;
        Some((tagged, &self.recent))
    }

    /// Ends a tick at `now`.
    pub(super) fn tick(&mut self, now: Duration) {
        self.recent.tick(now);
    }

    /// Forgets everything; `now` is the moment since the start of the run.
    pub(super) fn reset(&mut self, now: Duration) {
        *self = ByTag {
            recent: RecentRequests::starting(now),
            ..ByTag::default()
        };
    }
}
