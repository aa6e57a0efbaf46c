//! Records of a gather: sums of the signals of some workers, kept in the run's stream.
//!
//! The workers of a run that have the same labels and a gather share a **slot**. They publish their signals under the
//! slot's name, where only its gather reads them; the records under the slot's own subject hold their sums.
//! Each record accounts for all signals up to a sequence number of the stream, and is accepted only if it follows the
//! record that its sender knows as the last. So signals count once, however many gathers take turns, and the manager
//! can read the signals itself from any record on.

use lgoose_engine::WorkerSignal;
use serde::{Deserialize, Serialize};

/// A record of a slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SlotRecord {
    /// Its number within the slot, from 1.
    pub(crate) number: u64,
    /// Sequence number in the run's stream of the last signal that it and the records before it account for.
    pub(crate) through: u64,
    /// Its author: the identity of a gather's work, or `None` for the manager.
    pub(crate) by: Option<String>,
    /// The latest signal of each worker that is accounted for.
    pub(crate) members: Vec<SignalProgress>,
    pub(crate) kind: RecordKind,
}

/// Progress of the accounting of a worker's signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SignalProgress {
    /// Identity of the worker, as [`names::worker_number`](crate::names::worker_number) reads it.
    pub(crate) worker: u64,
    /// Number of its latest signal.
    pub(crate) sequence: u64,
    /// Number of its signals in this record.
    pub(crate) signals: u64,
    /// The latest measurement that all of its shards have reached.
    pub(crate) epoch: u64,
}

/// Fate of the signals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum RecordKind {
    /// Figures were added up, and everything else is passed on.
    Gathered {
        /// Encoded by [`GatheredDelta::encode`](lgoose_metrics::GatheredDelta::encode); empty if there are none.
        figures: Vec<u8>,
        /// Signals other than figures, with their workers and numbers, in the order in which they came.
        passed: Vec<(u64, u64, WorkerSignal)>,
    },
    /// The manager reads the signals that follow itself, and no gather adds them up.
    Direct,
    /// A gather adds up the signals that follow again; the manager has read those before.
    HandedBack,
}

/// A request to a gather.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum GatherRequest {
    /// Add up the signals of a slot of a run.
    Gather { run: String, slot: String },
    /// Nothing more is to be done for that run.
    Release { run: String },
}
