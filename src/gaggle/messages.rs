//! Messages between a manager and its workers, encoded by postcard. Whoever speaks another version of the protocol, or
//! is of another version of lgoose, is turned away before anything else is read.

use super::clock::Offset;
use crate::config::Part;
use crate::engine::{EventOrder, Order, PlanFacts, Told, WorkerEvent, WorkerSignal};
use crate::error::{Error, Trouble};
use crate::metrics::Lines;
use crate::plan::Event;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

/// Version of the protocol; the first byte of every message.
const PROTOCOL: u8 = 6;

/// Encodes a message.
pub(super) fn encode(message: &impl Serialize) -> Vec<u8> {
    postcard::to_extend(message, vec![PROTOCOL]).expect("memory takes what is written")
}

/// Decodes a message.
///
/// # Errors
/// Trouble with a message of another version, or with bytes that are none.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    let cannot = || Trouble::cannot("read a message from the broker");
    match bytes.split_first() {
        Some((&PROTOCOL, message)) => {
            postcard::from_bytes(message).map_err(|error| cannot().because(error).into())
        }
        Some((other, _)) => Err(cannot()
            .because(format!("it is of version {other} and not {PROTOCOL}"))
            .help("use the same lgoose everywhere")
            .into()),
        None => Err(cannot().because("nothing is in it").into()),
    }
}

/// A worker as it answers to [`names::HELLO`](super::names::HELLO).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Presence {
    /// Identity of the process, which no other has.
    pub(crate) id: String,
    pub(crate) name: String,
    /// Version of lgoose.
    pub(crate) version: String,
    pub(crate) labels: BTreeMap<String, String>,
    /// Threads that drive users.
    pub(crate) threads: u64,
    pub(crate) cores: u64,
    /// The run that it works for, if any.
    pub(crate) run: Option<String>,
    /// Nanoseconds since 1970 on its clock.
    pub(crate) wall: u64,
}

/// A gather as it answers to [`names::GATHERS`](super::names::GATHERS).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GatherPresence {
    /// Identity of the process, which no other has.
    pub(crate) id: String,
    pub(crate) name: String,
    /// Version of lgoose.
    pub(crate) version: String,
    /// Labels such as `region=eu`: it adds up the figures of workers that have one of them.
    pub(crate) labels: BTreeSet<String>,
    /// The runs that it works for.
    pub(crate) runs: Vec<String>,
    /// Nanoseconds since 1970 on its clock.
    pub(crate) wall: u64,
}

/// A request to one worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Request {
    /// The run that it is about.
    pub(super) run: String,
    pub(super) kind: RequestKind,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum RequestKind {
    /// Work for this run and for no other until it is over.
    Claim,
    /// A piece of what loading a version of the plan takes, in order; the first begins anew.
    Piece {
        plan_version: u64,
        first: bool,
        bytes: Vec<u8>,
    },
    /// Load that version from its pieces.
    Load {
        plan_version: u64,
        place: Option<Place>,
    },
    /// Run the plan's function for that event.
    Event(Event),
    /// What the user of the event is to do from now on.
    EventOrder(EventOrder),
    /// The value that `test_start` returned elsewhere, as JSON.
    Share(String),
    /// Users begin.
    Begin {
        /// When, on the manager's clock, in nanoseconds.
        at: u64,
        /// How long after the origin of the times in logs that is.
        since_origin: Duration,
        revision: u64,
        order: Box<Order>,
    },
    /// Nothing more is to be entered into logs: hand over what is there.
    EndLogs,
    /// Stop users as the end of the run does, hand over and be free.
    Dismiss,
    /// End at once whatever goes on for that run, and be free.
    Release,
}

/// Place of a worker in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// The part of the load that it drives, one share for each of its threads.
    pub(super) part: Part,
    /// Number of its first shard in the figures.
    pub(super) first_shard: u64,
    /// The slot under which it publishes its signals, if a gather adds them up.
    pub(super) slot: Option<String>,
}

/// An answer to a [`Request`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Reply {
    Done,
    /// The plan was loaded, and how far the worker's clock is away.
    Loaded(Option<Offset>),
    Event(Box<WorkerEvent>),
    /// The lines that each log would have of this worker with nothing left out; `None` if it keeps none.
    Logs(Option<Lines>),
    /// It cannot or will not, and why.
    Refused(String),
}

/// The order that all workers follow, with a number that rises.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Revised {
    pub(super) revision: u64,
    pub(super) order: Order,
}

/// All that another manager needs to go on with a run, beside what comes after it in the stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    /// Version of lgoose.
    pub(super) version: String,
    pub(super) facts: RunFacts,
    /// How long after the record users begin.
    pub(super) ahead: Duration,
    /// How long after the origin of the times in logs that is.
    pub(super) since_origin: Duration,
    /// Figures of `test_start`, encoded.
    pub(super) test_start: Option<Vec<u8>>,
    pub(super) members: Vec<RecordedMember>,
    /// Whether workers that are lost are replaced.
    pub(super) replaces: bool,
}

/// What whoever shows a run has to know of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunFacts {
    /// Name of the plan.
    pub(crate) name: String,
    /// The target as reports show it.
    pub(crate) target: String,
    /// When the manager began, by its clock.
    pub(crate) started: SystemTime,
    pub(crate) plan: PlanFacts,
    /// Whether the loss of a worker ends the run.
    pub(crate) stops_on_loss: bool,
}

/// A worker of a run, as it is recorded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RecordedMember {
    pub(super) presence: Presence,
    pub(super) place: Place,
    pub(super) offset: Option<Offset>,
}

/// A line of a run's journal, numbered from 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct JournalLine {
    pub(super) number: u64,
    /// The manager that wrote it.
    pub(super) leader: String,
    /// Time since the run began.
    pub(super) at: Duration,
    pub(super) kind: LineKind,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum LineKind {
    /// The director was told.
    Told(Told),
    /// Nothing was heard of the worker of that number.
    Away { worker: usize, text: String },
    /// A warning about the worker of that number.
    Warning { worker: usize, text: String },
    /// A worker took the place of another.
    Joined {
        in_place_of: usize,
        member: Box<RecordedMember>,
        text: String,
    },
}

/// A worker's signal, numbered from 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Numbered {
    pub(super) sequence: u64,
    pub(super) signal: WorkerSignal,
}

/// A piece of what a worker has entered into logs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LogPiece {
    /// Numbered from 1.
    pub(super) number: u64,
    /// Name of the worker.
    pub(super) worker: String,
    /// Lines that each log has of it so far with nothing left out.
    pub(super) made: Lines,
    /// Whether it is the last one.
    pub(super) last: bool,
    /// Entries as [`RunLogs::admit`](crate::metrics::RunLogs::admit) takes them, packed.
    pub(super) packed: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_and_those_of_another_version_are_refused() {
        let reply = Reply::Refused("busy".to_owned());
        let mut bytes = encode(&reply);
        match decode(&bytes) {
            Ok(Reply::Refused(why)) => assert_eq!(why, "busy"),
            other => panic!("{other:?}"),
        }
        bytes[0] = 9;
        let told = decode::<Reply>(&bytes)
            .expect_err("another version")
            .to_string();
        let versions = format!("of version 9 and not {PROTOCOL}");
        assert!(told.contains(&versions), "{told}");
        assert!(decode::<Reply>(&[]).is_err() && decode::<Reply>(&[PROTOCOL, 99]).is_err());
    }
}
