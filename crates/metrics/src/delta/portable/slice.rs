//! Measurements of any number of shards within a slice of time: the rows of a portable delta, which are those of a
//! shard with [`Counted`] latencies, found by name instead of by a shard's own numbers.

use super::super::handover::Handovers;
use super::is_shard;
use crate::delta::{
    ArrivalDelta, Covered, ErrorDelta, LatencyKind, NamedRow, Population, RequestCounts,
    RequestDelta, ScenarioDelta, ShardErrorOrigin, SliceBorder, SliceDelta, TaskDelta, plausible,
};
use crate::exemplars::Exemplars;
use crate::latencies::{Burst, Counted, ExactFigures};
use crate::measures::{BucketLimit, Measure, MeasureDelta, MeasureKind};
use crate::record::{GroupedName, QuietTime};
use lgoose_base::tags::Tags;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Group, name and tags of a row: the method of a request, the scenario of a task, which has no tags.
type PortableName = (String, String, Tags);

/// The users of each scenario, by shard, and how far that shard has handed over.
type Populations = BTreeMap<(u64, Covered, String), Population>;

/// Measurements within a slice of time, or a part of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Slice {
    /// End of the slice, in nanoseconds since the measurement began.
    pub(crate) to: u64,
    pub(super) requests: BTreeMap<PortableName, RequestDelta<Counted>>,
    tasks: BTreeMap<PortableName, TaskDelta<Counted>>,
    /// Users by shard, by the moment of the hand-over, and by scenario: the greatest number of users at a time
    /// depends on the order.
    #[serde(deserialize_with = "populations")]
    pub(super) scenarios: Populations,
    #[serde(deserialize_with = "measures")]
    measures: BTreeMap<(MeasureKind, String), Measure>,
    arrivals: ArrivalDelta<Counted>,
    pub(super) late: ExactFigures,
    errors: BTreeMap<(Who, String, Option<String>), ErrorCount>,
    #[serde(deserialize_with = "plausible::change")]
    errors_left_out: i64,
    /// Long times without a response, by shard.
    #[serde(deserialize_with = "quiets")]
    pub(super) quiet: BTreeSet<(u64, QuietTime)>,
    border: Option<SliceBorder>,
}

/// Origin of an error.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Who {
    Request(PortableName),
    Task(PortableName),
}

/// Equal errors, counted together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct ErrorCount {
    #[serde(deserialize_with = "plausible::change")]
    count: i64,
    exemplars: Exemplars,
    stack: Option<String>,
}

impl Slice {
    /// Converts the rows of a delta with these handovers.
    pub(super) fn of(delta: &SliceDelta, handovers: &Handovers) -> Slice {
        let mut slice = Slice {
            to: delta.span.to,
            arrivals: delta.arrivals.map(Burst::counted),
            late: delta.late,
            errors_left_out: delta.errors_left_out,
            quiet: delta
                .quiet
                .iter()
                .map(|(shard, quiet)| (*shard as u64, *quiet))
                .collect(),
            border: delta.border,
            ..Slice::default()
        };
        for row in delta.requests.iter().filter(|row| !row.figures.is_empty()) {
            let counted = RequestDelta::of(&row.figures);
            slice.requests.insert(row.label.key(), counted);
        }
        for row in delta.tasks.iter().filter(|row| !row.figures.is_empty()) {
            let counted = row.figures.map(Burst::counted);
            slice.tasks.insert(row.label.key(), counted);
        }
        for row in delta.scenarios.iter().filter(|row| !row.is_empty()) {
            let shard = row.shard as u64;
            let mut latest = handovers.keys().rev();
            let covered = latest.find(|(_, other)| *other == shard);
            let covered = covered.map(|(covered, _)| *covered).unwrap_or_default();
            let key = (shard, covered, row.name.to_string());
            slice.scenarios.insert(key, row.counts);
        }
        for row in delta.measures.iter().filter(|row| !row.measure.is_empty()) {
            let key = (row.measure.kind, row.label.name.to_string());
            slice.measures.insert(key, row.measure.clone());
        }
        for error in &delta.errors {
            let who = match error.source {
                ShardErrorOrigin::Request(id) => {
                    Who::Request(delta.requests[id as usize].label.key())
                }
                ShardErrorOrigin::Task(id) => Who::Task(delta.tasks[id as usize].label.key()),
            };
            let key = (who, error.message.clone(), error.line.clone());
            let count = ErrorCount {
                count: error.count,
                exemplars: error.exemplars.clone(),
                stack: error.stack.clone(),
            };
            slice.errors.insert(key, count);
        }
        slice
    }

    /// Adds the measurements of other shards, or of the same at another time.
    pub(super) fn merge(&mut self, other: &Slice) {
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
            let room = BucketLimit::among(self.measures.len());
            let empty = || Measure::new(key.0);
            let existing = self.measures.entry(key.clone()).or_insert_with(empty);
            existing.merge(row, room);
        }
        self.arrivals.merge(&other.arrivals);
        self.late = self.late.merged(&other.late);
        for (key, row) in &other.errors {
            let sum = self.errors.entry(key.clone()).or_default();
            sum.count += row.count;
            sum.exemplars.merge(&row.exemplars);
            // One of them, whatever the order in which they come.
            sum.stack = sum.stack.take().max(row.stack.clone());
        }
        self.errors_left_out += other.errors_left_out;
        self.quiet.extend(&other.quiet);
        self.border = match (self.border, other.border) {
            (Some(ours), Some(theirs)) => Some(ours.beside(&theirs)),
            (ours, theirs) => ours.or(theirs),
        };
    }

    /// Rounds latencies as [`Counted::condense`] does.
    pub(super) fn condense(&mut self, most: usize) {
        for row in self.requests.values_mut() {
            row.condense(most);
        }
        for row in self.tasks.values_mut() {
            row.all.condense(most);
        }
        self.arrivals.all.condense(most);
    }

    /// Returns the counts of each row that counts something, with its latencies.
    pub(crate) fn counted_rows(&self) -> impl Iterator<Item = (&RequestCounts, &Counted)> {
        let rows = self
            .requests
            .values()
            .map(|row| (&row.counts, &row[LatencyKind::All]));
        rows.filter(|(counts, _)| !counts.is_empty())
    }

    /// Returns whether all of its shards have lower numbers than `shards`.
    pub(super) fn is_of_shards(&self, shards: u64) -> bool {
        let mut numbers = self.scenarios.keys().map(|(shard, ..)| *shard);
        numbers.all(|shard| shard < shards) && self.quiet.iter().all(|(shard, _)| *shard < shards)
    }

    /// Raises the numbers of its shards by `by`.
    pub(super) fn shift_shards(self, by: u64) -> Slice {
        let scenarios = self.scenarios.into_iter();
        let scenarios = scenarios.map(|((shard, at, name), row)| ((shard + by, at, name), row));
        let quiet = self.quiet.into_iter();
        Slice {
            scenarios: scenarios.collect(),
            quiet: quiet.map(|(shard, quiet)| (shard + by, quiet)).collect(),
            ..self
        }
    }

    /// Moves half of the rows of its most numerous kind into a slice that comes first; returns it whole if there is
    /// no more than one row of each kind.
    pub(super) fn halves(mut self) -> Result<(Slice, Slice), Box<Slice>> {
        let mut first = Slice {
            to: self.to,
            ..Slice::default()
        };
        let rows = [
            self.requests.len(),
            self.tasks.len(),
            self.measures.len(),
            self.errors.len(),
        ];
        let most = rows.into_iter().max().unwrap_or(0);
        if most < 2 {
            return Err(Box::new(self));
        }
        if self.errors.len() == most {
            first.errors = first_half(&mut self.errors);
        } else if self.requests.len() == most {
            first.requests = first_half(&mut self.requests);
        } else if self.tasks.len() == most {
            first.tasks = first_half(&mut self.tasks);
        } else {
            first.measures = first_half(&mut self.measures);
        }
        Ok((first, self))
    }

    /// Converts the rows to those that a store merges. Of a scenario, there is a row for each shard and handover.
    pub(crate) fn to_delta(&self, epoch: u64, from: u64) -> SliceDelta {
        let mut delta = SliceDelta::default();
        (delta.span.epoch, delta.span.from, delta.span.to) = (epoch, from, self.to);
        delta.requests = rows(&self.requests, |row| row.map(Burst::of));
        delta.tasks = rows(&self.tasks, |row| row.map(Burst::of));
        let measures = self.measures.iter();
        delta.measures = measures
            .map(|((kind, name), measure)| MeasureDelta {
                label: label(&(kind.group().to_owned(), name.clone(), Tags::default())),
                measure: measure.clone(),
            })
            .collect();
        let scenarios = self.scenarios.iter();
        delta.scenarios = scenarios
            .map(|((shard, _, name), counts)| ScenarioDelta {
                shard: *shard as usize,
                name: name.as_str().into(),
                counts: *counts,
            })
            .collect();
        let quiet = self.quiet.iter();
        delta.quiet = quiet
            .map(|(shard, quiet)| (*shard as usize, *quiet))
            .collect();
        delta.arrivals = self.arrivals.map(Burst::of);
        delta.late = self.late;
        for ((who, message, line), error) in &self.errors {
            let source = match who {
                Who::Request(name) => {
                    ShardErrorOrigin::Request(row_number(&mut delta.requests, name))
                }
                Who::Task(name) => ShardErrorOrigin::Task(row_number(&mut delta.tasks, name)),
            };
            delta.errors.push(ErrorDelta {
                source,
                message: message.clone(),
                line: line.clone(),
                count: error.count,
                exemplars: error.exemplars.clone(),
                stack: error.stack.clone(),
            });
        }
        delta.errors_left_out = self.errors_left_out;
        delta.border = self.border;
        delta
    }
}

fn populations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Populations, D::Error> {
    plausible::checked(deserializer, |rows: &Populations| {
        rows.keys().all(|(shard, ..)| is_shard(*shard))
    })
}

fn measures<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<(MeasureKind, String), Measure>, D::Error> {
    plausible::checked(
        deserializer,
        |rows: &BTreeMap<(MeasureKind, String), Measure>| {
            rows.iter()
                .all(|((kind, _), row)| row.kind == *kind && row.is_plausible())
        },
    )
}

fn quiets<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeSet<(u64, QuietTime)>, D::Error> {
    plausible::checked(deserializer, |quiets: &BTreeSet<(u64, QuietTime)>| {
        quiets.iter().all(|(shard, _)| is_shard(*shard))
    })
}

fn label((group, name, tags): &PortableName) -> Arc<GroupedName> {
    Arc::new(GroupedName {
        group: group.as_str().into(),
        name: name.as_str().into(),
        tags: Arc::new(tags.clone()),
    })
}

fn rows<T, U>(named: &BTreeMap<PortableName, T>, form: impl Fn(&T) -> U) -> Vec<NamedRow<U>> {
    let rows = named.iter().map(|(name, row)| NamedRow {
        label: label(name),
        figures: form(row),
    });
    rows.collect()
}

/// Returns the number of the row of that name, and makes one if there is none.
fn row_number<T: Default>(rows: &mut Vec<NamedRow<T>>, name: &PortableName) -> u32 {
    let existing = rows.iter().position(|row| row.label.key() == *name);
    let at = existing.unwrap_or_else(|| {
        rows.push(NamedRow::new(label(name)));
        rows.len() - 1
    });
    at as u32
}

/// Takes the lower half of the rows out.
fn first_half<K: Ord + Clone, V>(rows: &mut BTreeMap<K, V>) -> BTreeMap<K, V> {
    let Some(middle) = rows.keys().nth(rows.len() / 2).cloned() else {
        return BTreeMap::new();
    };
    let later = rows.split_off(&middle);
    std::mem::replace(rows, later)
}
