//! Messages between a manager and its workers, encoded with postcard. A message of another protocol version is
//! refused before it is decoded.

use super::clock::ClockOffset;
use lgoose_base::allotment::ReservedNumbers;
use lgoose_base::error::{Error, Trouble};
use lgoose_engine::{DirectorEvent, EventOrder, PlanFacts, RunOrder, WorkerEvent, WorkerSignal};
use lgoose_metrics::LineCounts;
use lgoose_plan::PlanEvent;
use lgoose_plan::config::LoadPart;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

/// Version of the protocol; the first byte of every message.
const PROTOCOL: u8 = 15;

/// Encodes a message.
pub(super) fn encode(message: &impl Serialize) -> Vec<u8> {
    postcard::to_extend(message, vec![PROTOCOL]).expect("memory takes what is written")
}

/// Decodes a message.
///
/// # Errors
/// Trouble with a message of another protocol version, or with bytes that are not a message.
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

/// The most signals of a worker that can be missing between two: it drops figures only while it cannot reach the broker,
/// and then its users stop after 40 s.
pub(super) const MAX_MISSING_SIGNALS: u64 = 1_000_000;

/// Decodes a signal of a worker whose latest one has the number `latest`.
///
/// # Errors
/// Trouble as with [`decode`], or with a number that the worker cannot have come to.
pub(super) fn decode_signal(bytes: &[u8], latest: u64) -> Result<NumberedSignal, Error> {
    let numbered = decode::<NumberedSignal>(bytes)?;
    if numbered.sequence > latest.saturating_add(MAX_MISSING_SIGNALS) {
        let text = format!("it has number {} after {latest}", numbered.sequence);
        let cannot = Trouble::cannot("read a message from the broker");
        return Err(cannot.because(text).into());
    }
    Ok(numbered)
}

/// Returns whether a warning is due for that many messages which could not be read: for the first, the tenth and so on.
pub(super) fn is_due(skipped: u64) -> bool {
    skipped > 0 && 10_u64.pow(skipped.ilog10()) == skipped
}

/// A worker's reply to `names::HELLO`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerPresence {
    /// Identity of the process, unique among all.
    pub id: String,
    /// The name.
    pub name: String,
    /// Version of lgoose.
    pub version: String,
    /// The labels by their keys.
    pub labels: BTreeMap<String, String>,
    /// Threads that drive users.
    pub threads: u64,
    /// The cores of its machine.
    pub cores: u64,
    /// The run that it takes part in, if any.
    pub run: Option<String>,
    /// Nanoseconds since 1970 on its clock.
    pub wall: u64,
    /// A number of its process: a worker that has split has several identities.
    pub process: u64,
}

/// A gather's reply to `names::GATHERS`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatherPresence {
    /// Identity of the process, unique among all.
    pub id: String,
    /// The name.
    pub name: String,
    /// Version of lgoose.
    pub version: String,
    /// Labels such as `region=eu`: the gather adds up the figures of workers that have at least one of them.
    pub labels: BTreeSet<String>,
    /// The runs that it serves.
    pub runs: Vec<String>,
    /// Nanoseconds since 1970 on its clock.
    pub wall: u64,
}

/// A request to one worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct WorkerRequest {
    /// The run that it is about.
    pub(super) run: String,
    pub(super) kind: RequestKind,
}

impl WorkerRequest {
    pub(super) fn new(run: &str, kind: RequestKind) -> WorkerRequest {
        let run = run.to_owned();
        WorkerRequest { run, kind }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum RequestKind {
    /// Work for this run and for no other until it is over.
    Claim,
    /// A piece of the packed version of the plan, in order; `first` starts over.
    Piece {
        plan_version: u64,
        first: bool,
        bytes: Vec<u8>,
    },
    /// Load that version of the plan from its pieces.
    Load {
        plan_version: u64,
        place: Option<WorkerAssignment>,
    },
    /// Run the plan's function for this event.
    Event(PlanEvent),
    /// New order for the user that runs the event.
    EventOrder(EventOrder),
    /// The value that `test_start` returned on another worker, as JSON.
    Share(String),
    /// Start users.
    Start {
        /// The start on the manager's clock, in nanoseconds.
        at: u64,
        /// Time from the origin of log times to the start.
        since_origin: Duration,
        revision: u64,
        order: Box<RunOrder>,
        /// Reservations of the worker whose place this one takes; `None` if it is there from the start.
        reserved: Option<ReservedNumbers>,
    },
    /// Run so many threads more for this run, under another identity with that name.
    Split { name: String, threads: u64 },
    /// Log nothing more, and hand over the log entries.
    EndLogs,
    /// Stop users as at the end of the run, hand over the remaining figures, and be free.
    Dismiss,
    /// End everything for this run at once, and be free.
    Release,
}

/// Place of a worker in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorkerAssignment {
    /// The part of the load that it generates, one share for each of its threads.
    pub(super) part: LoadPart,
    /// Number of its first shard in the figures.
    pub(super) first_shard: u64,
    /// The slot under which it publishes its signals, if a gather adds them up.
    pub(super) slot: Option<String>,
    /// Whether another worker may have to go on in its place: it reserves unique rows and shared iterations.
    pub(super) reserves: bool,
}

/// A reply to a [`Request`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum WorkerReply {
    Done,
    /// The plan is loaded; the offset of the worker's clock, if it was measured.
    Loaded(Option<ClockOffset>),
    Event(Box<WorkerEvent>),
    /// The identity under which it runs more threads.
    Split(WorkerPresence),
    /// The lines that this worker would have written to each log with nothing left out; `None` if it keeps no logs.
    Logs(Option<LineCounts>),
    /// The worker cannot or will not do it; the text says why.
    Refused(String),
}

/// The order that all workers follow, with a revision that increases with each change.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RevisedOrder {
    pub(super) revision: u64,
    pub(super) order: RunOrder,
}

/// State from which another manager can go on with a run, together with the journal after it in the stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ManagerRecord {
    /// Version of lgoose.
    pub(super) version: String,
    pub(super) facts: RunDescription,
    /// Time from the record to the start of users.
    pub(super) ahead: Duration,
    /// Time from the origin of log times to the start of users.
    pub(super) since_origin: Duration,
    /// Figures of `test_start`, encoded.
    pub(super) test_start: Option<Vec<u8>>,
    pub(super) members: Vec<RecordedMember>,
    /// Whether lost workers are replaced.
    pub(super) replaces: bool,
}

/// Facts of a run for views and reports.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunDescription {
    /// Name of the plan.
    pub name: String,
    /// The target as reports show it.
    pub target: String,
    /// Start of the manager, by its clock.
    pub(crate) started: SystemTime,
    pub plan: PlanFacts,
    /// Whether the loss of a worker ends the run.
    pub(crate) stops_on_loss: bool,
}

/// A worker of a run, as the record lists it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RecordedMember {
    pub(super) presence: WorkerPresence,
    pub(super) place: WorkerAssignment,
    pub(super) offset: Option<ClockOffset>,
}

/// A line of a run's journal, numbered from 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ManagerLogLine {
    pub(super) number: u64,
    /// The manager that wrote it.
    pub(super) leader: String,
    /// Time since the run began.
    pub(super) at: Duration,
    pub(super) kind: ManagerLogEvent,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum ManagerLogEvent {
    /// A note of the director.
    Action(DirectorEvent),
    /// The worker with that number is silent.
    Away { worker: usize, text: String },
    /// A warning about the worker with that number.
    Warning { worker: usize, text: String },
    /// A worker took the place of another.
    Joined {
        in_place_of: usize,
        member: Box<RecordedMember>,
        text: String,
    },
}

/// A signal of a worker, numbered from 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct NumberedSignal {
    pub(super) sequence: u64,
    pub(super) signal: WorkerSignal,
}

/// A piece of a worker's log entries.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LogPiece {
    /// Numbered from 1.
    pub(super) number: u64,
    /// Name of the worker.
    pub(super) worker: String,
    /// Lines that the worker would have written to each log so far with nothing left out.
    pub(super) made: LineCounts,
    /// Whether it is the last one.
    pub(super) last: bool,
    /// Entries as [`RunLogs::admit`](lgoose_metrics::RunLogs::admit) takes them, packed.
    pub(super) packed: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_with_a_number_that_no_run_comes_to_is_none() {
        let signal = |sequence| {
            encode(&NumberedSignal {
                sequence,
                signal: WorkerSignal::AllStarted,
            })
        };
        for (sequence, latest, is_one) in [
            (1, 0, true),
            (3, 7, true),
            (MAX_MISSING_SIGNALS + 7, 7, true),
            (MAX_MISSING_SIGNALS + 8, 7, false),
            (u64::MAX, 7, false),
            (u64::MAX, u64::MAX - 1, true),
        ] {
            let read = decode_signal(&signal(sequence), latest);
            assert_eq!(read.is_ok(), is_one, "{sequence} after {latest}: {read:?}");
        }
        let due: Vec<u64> = (0..=1_000).filter(|skipped| is_due(*skipped)).collect();
        assert_eq!(due, [1, 10, 100, 1_000]);
    }

    #[test]
    fn messages_come_back_and_those_of_another_version_are_refused() {
        let reply = WorkerReply::Refused("busy".to_owned());
        let mut bytes = encode(&reply);
        match decode(&bytes) {
            Ok(WorkerReply::Refused(why)) => assert_eq!(why, "busy"),
            other => panic!("{other:?}"),
        }
        bytes[0] = PROTOCOL + 1;
        let message = decode::<WorkerReply>(&bytes)
            .expect_err("another version")
            .to_string();
        let versions = format!("of version {} and not {PROTOCOL}", PROTOCOL + 1);
        assert!(message.contains(&versions), "{message}");
        assert!(
            decode::<WorkerReply>(&[]).is_err() && decode::<WorkerReply>(&[PROTOCOL, 99]).is_err()
        );
    }
}
