//! Portable form of the figures of shards, for another machine or for a file and back.
//!
//! Made of the [`Delta`]s of any number of shards, added up by name. Adding up is associative and commutative, so the
//! order does not matter: a worker can add up the figures of its shards, or the store can add up everything. A store
//! shows the same figures as if it had merged the deltas themselves, with one exception: sums of a plan's own numbers
//! are floating-point, so their last digits may depend on the order.
//!
//! The encoding is sparse (empty rows are left out) and self-contained: names are stored in full, and compression
//! reduces a repeated name to two or three bytes.

mod slice;
#[cfg(test)]
mod tests;

use super::handover::Handovers;
use super::measured::{Delta, DeltaSource};
use super::plausible;
use lgoose_base::error::{Error, Trouble};
use lgoose_base::packed::{pack, unpack};
use serde::{Deserialize, Deserializer, Serialize};
pub(crate) use slice::Slice;
use std::collections::{BTreeMap, BTreeSet};

/// Version of the encoding; decoding refuses any other.
const VERSION: u8 = 8;
/// The most bytes that a decoded piece may have: far more than any encoded one has, and far less than a machine's
/// memory.
const MOST_DECODED: u64 = 256 << 20;
/// The most shards that a run may have: more than any has, and so few that numbers can be shifted.
const MOST_SHARDS: u64 = 1 << 24;

/// Measurements of any number of shards.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PortableDelta {
    #[serde(deserialize_with = "handovers")]
    pub(crate) handovers: Handovers,
    /// Slices by measurement and by beginning.
    pub(crate) slices: BTreeMap<(u64, u64), Slice>,
    pub(crate) warnings: BTreeSet<String>,
}

impl From<&Delta> for PortableDelta {
    fn from(delta: &Delta) -> PortableDelta {
        let mut portable = PortableDelta {
            handovers: delta.handovers.clone(),
            slices: BTreeMap::new(),
            warnings: delta.warnings.iter().cloned().collect(),
        };
        for slice in delta.slices.iter().filter(|slice| !slice.is_empty()) {
            let key = (slice.span.epoch, slice.span.from);
            let new = Slice::of(slice, &delta.handovers);
            portable.slices.entry(key).or_default().merge(&new);
        }
        portable
    }
}

impl From<&PortableDelta> for Delta {
    fn from(portable: &PortableDelta) -> Delta {
        let slices = portable.slices.iter();
        Delta {
            source: DeltaSource::Shards,
            slices: slices
                .map(|((epoch, from), slice)| slice.to_delta(*epoch, *from))
                .collect(),
            handovers: portable.handovers.clone(),
            warnings: portable.warnings.iter().cloned().collect(),
        }
    }
}

impl PortableDelta {
    /// Adds a warning for views and the report.
    pub fn warn(&mut self, warning: String) {
        self.warnings.insert(warning);
    }

    /// Converts the figures, which are those of the worker of that number in the run.
    pub fn of_worker(&self, worker: usize) -> Delta {
        Delta {
            source: DeltaSource::Worker(worker),
            ..Delta::from(self)
        }
    }

    /// Splits off the slices of measurement number `epoch` and of later ones, if there are any.
    pub(crate) fn split_off(&mut self, epoch: u64) -> Option<PortableDelta> {
        let slices = self.slices.split_off(&(epoch, 0));
        (!slices.is_empty()).then(|| PortableDelta {
            slices,
            ..PortableDelta::default()
        })
    }

    /// Adds the measurements of other shards, or of the same at another time.
    pub fn merge(&mut self, other: &PortableDelta) {
        let handovers = other.handovers.iter();
        self.handovers
            .extend(handovers.map(|(key, handover)| (*key, handover.clone())));
        for (key, slice) in &other.slices {
            self.slices.entry(*key).or_default().merge(slice);
        }
        self.warnings.extend(other.warnings.iter().cloned());
    }

    /// Returns whether the delta can come from a run of that many shards that ended at `ended`, in nanoseconds.
    pub(crate) fn fits(&self, shards: u64, ended: u64) -> bool {
        /// The most by which a slice ends after the events in it, in nanoseconds.
        const SLICE: u64 = 1_000_000_000;
        let end = ended.saturating_add(SLICE);
        let mut slices = self.slices.iter();
        self.handovers.keys().all(|(_, shard)| *shard < shards)
            && slices.all(|((_, from), slice)| {
                *from <= end && slice.to <= end && slice.is_of_shards(shards)
            })
    }

    /// Reduces the delta to measurement number `epoch`, as if that were the first and had begun with the run; times
    /// since the run began become earlier by `origin` nanoseconds, and shard numbers rise by `shards`.
    pub(crate) fn rebased(self, epoch: u64, origin: u64, shards: u64) -> PortableDelta {
        let mut based = self.shift_shards(shards);
        let slices = std::mem::take(&mut based.slices).into_iter();
        let own = slices.filter(|((other, _), _)| *other == epoch);
        based.slices = own
            .map(|((_, from), mut slice)| {
                let quiet = slice.quiet.into_iter();
                slice.quiet = quiet
                    .map(|(shard, quiet)| (shard, quiet.earlier(origin)))
                    .collect();
                ((0, from), slice)
            })
            .collect();
        let handovers = std::mem::take(&mut based.handovers).into_iter();
        based.handovers = handovers
            .map(|((covered, shard), mut handover)| {
                handover.quiet = handover.quiet.map(|quiet| quiet.earlier(origin));
                handover.undecided = handover.undecided.map(|at| at.saturating_sub(origin));
                let covered = covered.earlier(origin);
                ((covered, shard), handover)
            })
            .collect();
        based
    }

    /// Raises the numbers of its shards by `by`.
    pub fn shift_shards(self, by: u64) -> PortableDelta {
        let handovers = self.handovers.into_iter();
        let slices = self.slices.into_iter();
        PortableDelta {
            handovers: handovers
                .map(|((covered, shard), handover)| ((covered, shard + by), handover))
                .collect(),
            slices: slices
                .map(|(key, slice)| (key, slice.shift_shards(by)))
                .collect(),
            warnings: self.warnings,
        }
    }

    /// Rounds latencies as [`Counted::condense`](crate::latencies::Counted::condense) does.
    pub(crate) fn condense(&mut self, most: usize) {
        for slice in self.slices.values_mut() {
            slice.condense(most);
        }
    }

    /// Encodes the delta.
    pub fn encode(&self) -> Vec<u8> {
        pack(vec![VERSION], self)
    }

    /// Decodes the bytes that [`PortableDelta::encode`] made.
    ///
    /// # Errors
    /// Trouble if the bytes are of another version or damaged, or if no run can have measured this.
    pub fn decode(bytes: &[u8]) -> Result<PortableDelta, Error> {
        let cannot = || Trouble::cannot("read figures that were sent");
        let (version, deflated) = bytes
            .split_first()
            .ok_or_else(|| cannot().because("nothing is there"))?;
        if *version != VERSION {
            return Err(cannot()
                .because(format!("they are of version {version} and not {VERSION}"))
                .help("use the same lgoose on both sides")
                .into());
        }
        unpack(deflated, MOST_DECODED).map_err(|error| cannot().because(error).into())
    }

    /// Encodes the delta in pieces of at most `most_bytes` each, unless a single row is longer. Each piece can be
    /// merged by itself; the last one has the handovers.
    pub fn pieces(self, most_bytes: usize) -> Vec<Vec<u8>> {
        let bytes = self.encode();
        if bytes.len() <= most_bytes {
            return vec![bytes];
        }
        match self.halves() {
            Ok((first, second)) => {
                let mut pieces = first.pieces(most_bytes);
                pieces.extend(second.pieces(most_bytes));
                pieces
            }
            Err(whole) => vec![whole.encode()],
        }
    }

    /// Splits the delta into two; returns it whole if it has only one row.
    fn halves(mut self) -> Result<(PortableDelta, PortableDelta), PortableDelta> {
        if self.slices.len() > 1 {
            let middle = *self
                .slices
                .keys()
                .nth(self.slices.len() / 2)
                .expect("it has more than one");
            let later = self.slices.split_off(&middle);
            let first = PortableDelta {
                slices: std::mem::replace(&mut self.slices, later),
                ..PortableDelta::default()
            };
            return Ok((first, self));
        }
        let Some((key, slice)) = self.slices.pop_first() else {
            return Err(self);
        };
        match slice.halves() {
            Ok((first, rest)) => {
                self.slices.insert(key, rest);
                let first = PortableDelta {
                    slices: [(key, first)].into(),
                    ..PortableDelta::default()
                };
                Ok((first, self))
            }
            Err(whole) => {
                self.slices.insert(key, *whole);
                Err(self)
            }
        }
    }
}

/// Returns whether a shard can have that number.
fn is_shard(number: u64) -> bool {
    number < MOST_SHARDS
}

fn handovers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Handovers, D::Error> {
    plausible::checked(deserializer, |handovers: &Handovers| {
        handovers.keys().all(|(_, shard)| is_shard(*shard))
    })
}
