//! Portable form of what shards measured, for another machine or for a file and back.
//!
//! Made of the [`Delta`]s of any number of shards, added up by name. Adding up is associative and commutative, so the
//! order does not matter: a worker can add up what its shards measured, or the store can add up everything. A store
//! shows the same figures as if it had merged the deltas themselves, with one exception: sums of a plan's own numbers
//! are floating-point, so their last digits may depend on the order.
//!
//! The encoding is sparse (empty rows are left out) and self-contained: names are stored in full, and compression
//! reduces a repeated name to two or three bytes.

pub(super) mod condensed;
mod encoding;
mod rows;
#[cfg(test)]
mod tests;

use super::delta::{Border, Delta, ScenarioDelta, SliceDelta, Source};
use super::generator::Effort;
use super::latency::{Exact, MOST_COUNT};
use super::measures::{Kind, Measure};
use super::request::RequestCounts;
use super::spread::Room;
use super::under_way::Quiet;
use crate::tags::Tags;
use rows::{Arrivals, Counted, ErrorCount, Request, Task, Who};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Group, name and tags of a row: the method of a request, the scenario of a task, which has no tags.
type Name = (String, String, Tags);

/// Measurements of any number of shards.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PortableDelta {
    /// States of shards, by the moment up to which they had handed everything over and by shard.
    pub(super) stands: BTreeMap<(u64, u64), Stand>,
    /// Slices by measurement and by beginning.
    pub(super) slices: BTreeMap<(u64, u64), Slice>,
    pub(super) warnings: BTreeSet<String>,
}

/// State of a shard when it handed over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Stand {
    pub(super) effort: Effort,
    pub(super) quiet: Option<Quiet>,
}

/// Measurements within a slice of time, or a part of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Slice {
    /// End of the slice, in nanoseconds since the measurement began.
    pub(super) to: u64,
    pub(super) requests: BTreeMap<Name, Request>,
    pub(super) tasks: BTreeMap<Name, Task>,
    /// Users by shard, by the moment of the hand-over, and by scenario: the greatest number of users at a time
    /// depends on the order.
    pub(super) scenarios: BTreeMap<(u64, u64, String), Population>,
    pub(super) measures: BTreeMap<(Kind, String), Measure>,
    pub(super) arrivals: Arrivals,
    pub(super) late: Exact,
    pub(super) errors: BTreeMap<(Who, String, Option<String>), ErrorCount>,
    pub(super) errors_left_out: i64,
    pub(super) quiet: BTreeSet<(u64, Quiet)>,
    pub(super) border: Option<Border>,
}

/// Users and iterations of a scenario.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Population {
    pub(super) iterations: u64,
    pub(super) change: i64,
    pub(super) rise: i64,
}

impl Population {
    /// Returns the row of the scenario of that name.
    pub(super) fn named(&self, name: &str) -> ScenarioDelta {
        ScenarioDelta {
            name: name.into(),
            iterations: self.iterations,
            change: self.change,
            rise: self.rise,
        }
    }
}

impl From<&Delta> for PortableDelta {
    fn from(delta: &Delta) -> PortableDelta {
        let shard = delta.shard as u64;
        let stand = Stand {
            effort: delta.effort.clone(),
            quiet: delta.quiet,
        };
        let mut portable = PortableDelta {
            stands: BTreeMap::from([((delta.covered, shard), stand)]),
            slices: BTreeMap::new(),
            warnings: delta.warnings.iter().cloned().collect(),
        };
        for slice in delta.slices.iter().filter(|slice| !slice.is_empty()) {
            let key = (slice.span.epoch, slice.span.from);
            let new = Slice::of(shard, delta.covered, slice);
            portable.slices.entry(key).or_default().merge(&new);
        }
        portable
    }
}

impl PortableDelta {
    /// Adds a warning for views and the report.
    pub(crate) fn warn(&mut self, warning: String) {
        self.warnings.insert(warning);
    }

    /// Splits off the slices of measurement number `epoch` and of later ones, if there are any.
    pub(super) fn split_off(&mut self, epoch: u64) -> Option<PortableDelta> {
        let slices = self.slices.split_off(&(epoch, 0));
        (!slices.is_empty()).then(|| PortableDelta {
            slices,
            ..PortableDelta::default()
        })
    }

    /// Adds the measurements of other shards, or of the same at another time.
    pub(crate) fn merge(&mut self, other: &PortableDelta) {
        for (key, stand) in &other.stands {
            self.stands.insert(*key, stand.clone());
        }
        for (key, slice) in &other.slices {
            self.slices.entry(*key).or_default().merge(slice);
        }
        self.warnings.extend(other.warnings.iter().cloned());
    }

    /// Returns whether the delta can come from a run of that many shards that ended at `ended`, in nanoseconds.
    pub(super) fn fits(&self, shards: u64, ended: u64) -> bool {
        /// The most by which a slice ends after the events in it, in nanoseconds.
        const SLICE: u64 = 1_000_000_000;
        let known = |shard: u64| shard < shards;
        let mut slices = self.slices.iter();
        self.stands.keys().all(|(_, shard)| known(*shard))
            && slices.all(|((_, from), slice)| {
                *from <= ended.saturating_add(SLICE)
                    && slice.to <= ended.saturating_add(SLICE)
                    && slice.scenarios.keys().all(|(shard, ..)| known(*shard))
                    && slice.quiet.iter().all(|(shard, _)| known(*shard))
            })
    }

    /// Returns whether a run can have counted this: a file may be damaged, and its counts must not overflow in a sum.
    pub(super) fn is_plausible(&self) -> bool {
        let quiet = self.stands.values().filter_map(|stand| stand.quiet);
        let mut waiting = quiet.map(|quiet| quiet.waiting);
        self.stands.values().all(Stand::is_plausible)
            && waiting.all(|count| count <= MOST_COUNT)
            && self.slices.values().all(Slice::is_plausible)
    }

    /// Reduces the delta to measurement number `epoch`, as if that were the first and had begun with the run; times
    /// since the run began become earlier by `origin` nanoseconds, and shard numbers rise by `shards`.
    pub(super) fn rebased(self, epoch: u64, origin: u64, shards: u64) -> PortableDelta {
        let mut based = self.shift_shards(shards);
        let slices = std::mem::take(&mut based.slices).into_iter();
        let own = slices.filter(|((known, _), _)| *known == epoch);
        based.slices = own
            .map(|((_, from), mut slice)| {
                let quiet = slice.quiet.into_iter();
                slice.quiet = quiet
                    .map(|(shard, quiet)| (shard, quiet.earlier(origin)))
                    .collect();
                ((0, from), slice)
            })
            .collect();
        let stands = std::mem::take(&mut based.stands).into_iter();
        based.stands = stands
            .map(|((covered, shard), mut stand)| {
                stand.quiet = stand.quiet.map(|quiet| quiet.earlier(origin));
                let covered = match covered {
                    u64::MAX => u64::MAX,
                    covered => covered.saturating_sub(origin),
                };
                ((covered, shard), stand)
            })
            .collect();
        based
    }

    /// Raises the numbers of its shards by `by`.
    pub(crate) fn shift_shards(self, by: u64) -> PortableDelta {
        let slices = self.slices.into_iter().map(|(key, slice)| {
            let scenarios = slice.scenarios.into_iter();
            let scenarios = scenarios.map(|((shard, at, name), row)| ((shard + by, at, name), row));
            let quiet = slice.quiet.into_iter();
            let slice = Slice {
                scenarios: scenarios.collect(),
                quiet: quiet.map(|(shard, quiet)| (shard + by, quiet)).collect(),
                ..slice
            };
            (key, slice)
        });
        let stands = self.stands.into_iter();
        PortableDelta {
            stands: stands
                .map(|((at, shard), stand)| ((at, shard + by), stand))
                .collect(),
            slices: slices.collect(),
            warnings: self.warnings,
        }
    }
}

impl Stand {
    fn is_plausible(&self) -> bool {
        let effort = &self.effort;
        let times = [effort.wall, effort.busy, effort.starved];
        let mut times = times.into_iter().chain(effort.lag);
        times.all(|time| time.as_secs() <= MOST_COUNT) && effort.connections <= MOST_COUNT
    }
}

impl Slice {
    fn is_plausible(&self) -> bool {
        let users = self.scenarios.values().flat_map(|row| {
            [
                row.iterations,
                row.change.unsigned_abs(),
                row.rise.unsigned_abs(),
            ]
        });
        let border = self.border.iter();
        let border = border.flat_map(|border| [border.users, border.under_way]);
        let waiting = self.quiet.iter().map(|(_, quiet)| quiet.waiting);
        let left_out = self.errors_left_out.unsigned_abs();
        let mut counts = users.chain(border).chain(waiting).chain([left_out]);
        counts.all(|count| count <= MOST_COUNT)
            && self.requests.values().all(Request::is_plausible)
            && self.tasks.values().all(Task::is_plausible)
            && self.measures.values().all(Measure::is_plausible)
            && self.errors.values().all(ErrorCount::is_plausible)
            && self.arrivals.is_plausible()
            && self.late.is_plausible()
    }

    /// Returns the counts of each row that counts something, with its latencies.
    pub(super) fn counted_rows(&self) -> impl Iterator<Item = (&RequestCounts, &Counted)> {
        let rows = self.requests.values().map(Request::counted);
        rows.filter(|(counts, _)| !counts.is_empty())
    }

    fn of(shard: u64, covered: u64, delta: &SliceDelta) -> Slice {
        let mut slice = Slice {
            to: delta.span.to,
            arrivals: Arrivals::from(&delta.arrivals),
            late: delta.late,
            errors_left_out: delta.errors_left_out,
            quiet: delta.quiet.iter().map(|quiet| (shard, *quiet)).collect(),
            border: delta.border,
            ..Slice::default()
        };
        for row in delta.requests.iter().filter(|row| !row.is_empty()) {
            slice.requests.insert(row.label.key(), Request::from(row));
        }
        for row in delta.tasks.iter().filter(|row| !row.is_empty()) {
            slice.tasks.insert(row.label.key(), Task::from(row));
        }
        for row in delta.scenarios.iter().filter(|row| !row.is_empty()) {
            let population = Population {
                iterations: row.iterations,
                change: row.change,
                rise: row.rise,
            };
            let key = (shard, covered, row.name.to_string());
            slice.scenarios.insert(key, population);
        }
        for row in delta.measures.iter().filter(|row| !row.measure.is_empty()) {
            let key = (row.measure.kind, row.label.name.to_string());
            slice.measures.insert(key, row.measure.clone());
        }
        for error in &delta.errors {
            let who = match error.source {
                Source::Request(id) => Who::Request(delta.requests[id as usize].label.key()),
                Source::Task(id) => Who::Task(delta.tasks[id as usize].label.key()),
            };
            let key = (who, error.message.clone(), error.line.clone());
            slice.errors.insert(key, ErrorCount::from(error));
        }
        slice
    }

    fn merge(&mut self, other: &Slice) {
        self.to = self.to.max(other.to);
        for (name, row) in &other.requests {
            self.requests.entry(name.clone()).or_default().merge(row);
        }
        for (name, row) in &other.tasks {
            self.tasks.entry(name.clone()).or_default().merge(row);
        }
        for (key, row) in &other.scenarios {
            self.scenarios.insert(key.clone(), *row);
        }
        for (key, row) in &other.measures {
            let room = Room::among(self.measures.len());
            let empty = || Measure::new(key.0);
            let known = self.measures.entry(key.clone()).or_insert_with(empty);
            known.merge(row, room);
        }
        self.arrivals.merge(&other.arrivals);
        self.late = self.late.merged(&other.late);
        for (key, row) in &other.errors {
            self.errors.entry(key.clone()).or_default().merge(row);
        }
        self.errors_left_out += other.errors_left_out;
        self.quiet.extend(&other.quiet);
        self.border = match (self.border, other.border) {
            (Some(ours), Some(theirs)) => Some(ours.beside(&theirs)),
            (ours, theirs) => ours.or(theirs),
        };
    }
}
