//! Records of a gather: what it has made of the signals of some workers, in the run's stream.
//!
//! The workers of a run that have the same labels and a gather share a **slot**. They publish their signals under the
//! slot's name, and nobody but its gather reads them; the records under the slot's own subject say what has become of
//! them. Each record accounts for all signals up to a number of the stream, and is accepted only if it follows the one
//! that its sender knows as the last. So signals count once, however many gathers take turns, and the manager may read
//! them itself from any record on.

use crate::engine::WorkerSignal;
use serde::{Deserialize, Serialize};

/// A record of a slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::gaggle) struct Record {
    /// Its number in the slot, from 1.
    pub(in crate::gaggle) number: u64,
    /// Number in the run's stream of the last signal that is accounted for with it.
    pub(in crate::gaggle) through: u64,
    /// Who made it: the identity of a gather, or `None` for the manager.
    pub(in crate::gaggle) by: Option<String>,
    /// The latest signal of each worker that is accounted for.
    pub(in crate::gaggle) members: Vec<Reached>,
    pub(in crate::gaggle) kind: RecordKind,
}

/// How far the signals of a worker are accounted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::gaggle) struct Reached {
    /// Identity of the worker, as [`names::worker_number`](crate::gaggle::names::worker_number) reads it.
    pub(in crate::gaggle) worker: u64,
    /// Number of its latest signal.
    pub(in crate::gaggle) sequence: u64,
    /// How many signals of it are in this record.
    pub(in crate::gaggle) signals: u64,
    /// The latest measurement that all of its shards have come to.
    pub(in crate::gaggle) epoch: u64,
}

/// What has become of the signals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::gaggle) enum RecordKind {
    /// Figures were added up, all else is passed on.
    Gathered {
        /// Encoded by [`GatheredDelta::encode`](crate::metrics::GatheredDelta::encode); empty without any.
        figures: Vec<u8>,
        /// Signals that are no figures, with their workers and numbers, in the order in which they came.
        passed: Vec<(u64, u64, WorkerSignal)>,
    },
    /// Signals that follow count by themselves, and no gather adds them up.
    Direct,
    /// Signals that follow are a gather's again; those before it counted by themselves.
    HandedBack,
}

/// A request to a gather.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::gaggle) enum GatherRequest {
    /// Add up the signals of a slot of a run.
    Gather { run: String, slot: String },
    /// Nothing is to be done for that run any more.
    Release { run: String },
}
