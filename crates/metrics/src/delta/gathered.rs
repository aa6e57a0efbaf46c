//! Figures of several workers with the same labels: a gather adds them up, and a store merges them in place of the
//! single deliveries.
//!
//! Adding up loses nothing that the figures of the run or of a label need: names, counts, histograms, errors, and
//! the figures by shard (users, efforts, times without a response). Tables of workers also need the counts
//! of each worker, which are kept as [`WorkerShare`]s.

use super::measured::{Delta, DeltaSource};
use super::portable::PortableDelta;
use super::share::WorkerShare;
use crate::latencies::FEW;
use crate::record::SECOND;
use lgoose_base::error::{Error, Trouble};
use lgoose_base::packed::{pack, unpack};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the encoding; decoding refuses any other.
const VERSION: u8 = 6;
/// The most bytes that decoded figures may have.
const MOST_DECODED: u64 = 256 << 20;
/// Number of different latencies of one name above which they are kept only as precisely as a histogram keeps them.
const MANY: usize = 4_096;

/// Figures of several workers with the same labels, added up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GatheredDelta {
    pub(crate) delta: PortableDelta,
    /// The share of each worker, by its identity, or by its number in the run once a manager has read it.
    pub(crate) shares: BTreeMap<u64, WorkerShare>,
}

impl From<GatheredDelta> for Delta {
    /// Converts figures whose workers are identified by their numbers in the run.
    fn from(gathered: GatheredDelta) -> Delta {
        Delta {
            source: DeltaSource::Workers(gathered.shares),
            ..Delta::from(&gathered.delta)
        }
    }
}

impl GatheredDelta {
    /// Adds the figures that the worker of that identity delivered.
    pub fn add(&mut self, worker: u64, delta: &PortableDelta) {
        let share = self.shares.entry(worker).or_default();
        for ((epoch, from), slice) in &delta.slices {
            let mut rows = slice.counted_rows().peekable();
            if rows.peek().is_none() {
                continue;
            }
            let counts = share.0.entry(*epoch).or_default();
            let second = counts.seconds.entry(from / SECOND).or_default();
            for (row, latencies) in rows {
                counts.exact = counts.exact.merged(&row.all);
                counts.failures += row.failures_change();
                counts.bytes += row.traffic.received;
                *second += row.count();
                for (us, count) in latencies.iter() {
                    counts.latencies.add(us, count);
                }
            }
        }
        self.delta.merge(delta);
        self.delta.condense(MANY);
    }

    /// Returns whether no worker has a share.
    pub fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }

    /// Returns the figures of all workers together.
    pub fn whole(&self) -> &PortableDelta {
        &self.delta
    }

    /// Splits off what belongs to measurement number `epoch` or a later one, if there is any.
    pub(crate) fn split_off(&mut self, epoch: u64) -> Option<GatheredDelta> {
        let delta = self.delta.split_off(epoch)?;
        let shares = self.shares.iter_mut();
        let shares =
            shares.map(|(worker, share)| (*worker, WorkerShare(share.0.split_off(&epoch))));
        Some(GatheredDelta {
            shares: shares.collect(),
            delta,
        })
    }

    /// Identifies the workers by their numbers in the run. A worker without a number is left out of tables; its
    /// figures stay.
    pub fn numbered(self, number: impl Fn(u64) -> Option<usize>) -> GatheredDelta {
        let shares = self.shares.into_iter();
        let numbered = shares.filter_map(|(worker, share)| Some((number(worker)? as u64, share)));
        GatheredDelta {
            shares: numbered.collect(),
            delta: self.delta,
        }
    }

    /// Encodes the figures.
    pub fn encode(&mut self) -> Vec<u8> {
        self.delta.condense(FEW);
        pack(vec![VERSION], self)
    }

    /// Decodes the bytes that [`GatheredDelta::encode`] made.
    ///
    /// # Errors
    /// Trouble if the bytes are of another version or damaged, or if no run can have measured this.
    pub fn decode(bytes: &[u8]) -> Result<GatheredDelta, Error> {
        let cannot = || Trouble::cannot("read figures that a gather sent");
        match bytes.split_first() {
            Some((&VERSION, deflated)) => {
                unpack(deflated, MOST_DECODED).map_err(|error| cannot().because(error).into())
            }
            Some((other, _)) => Err(cannot()
                .because(format!("they are of version {other} and not {VERSION}"))
                .help("use the same lgoose everywhere")
                .into()),
            None => Err(cannot().because("nothing is there").into()),
        }
    }
}
