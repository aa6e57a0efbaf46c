//! A worker's log entries on their way to the manager: collected into pieces, packed and handed over to the broker,
//! several at a time. Entries that the broker cannot take in time stay in the memory that [`RunLogs`] bounds; beyond
//! the bound, `RunLogs` leaves them out and counts them. No request waits for the broker.

use crate::broker::Broker;
use crate::messages::{self, LogPiece, WorkerPresence};
use crate::names;
use futures_util::StreamExt as _;
use lgoose_metrics::{LineCounts, LogMessage, RunLogs, pack_entries, pieces};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// Bytes collected for one piece, and the time after which a smaller piece is handed over.
const PIECE: usize = 256 << 10;
const EVERY: Duration = Duration::from_secs(1);
/// Pieces that wait for the broker, and pieces sent before it has acknowledged the first of them.
const WAITING: usize = 8;
const AT_A_TIME: usize = 8;
/// Time between two attempts to hand a piece over.
const RETRY_DELAY: Duration = Duration::from_millis(250);
/// Time for which handing over is tried after the end of the logs.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(120);
/// Bytes that numbers and names may take around a piece, within the broker's limit on messages.
const AROUND: usize = 1 << 10;

/// Logs of this worker's part of a run. Hands over nothing more once it is dropped.
pub(super) struct PartLogs {
    run_logs: RunLogs,
    /// End of the logs.
    ended: watch::Sender<Option<Instant>>,
    handing_over: JoinSet<()>,
}

/// Names of the run and of the worker for its pieces.
#[derive(Debug, Clone)]
pub(super) struct PieceOrigin {
    run: String,
    id: String,
    name: String,
}

impl PieceOrigin {
    pub(super) fn new(run: &str, presence: &WorkerPresence) -> PieceOrigin {
        PieceOrigin {
            run: run.to_owned(),
            id: presence.id.clone(),
            name: presence.name.clone(),
        }
    }
}

impl PartLogs {
    /// Hands over the entries that `entered` delivers for these logs from now on.
    pub(super) fn start(
        broker: Broker,
        sender: PieceOrigin,
        run_logs: RunLogs,
        entered: Receiver<LogMessage>,
    ) -> PartLogs {
        let (out, waiting) = mpsc::channel(WAITING);
        let packing = PieceThread {
            worker: sender.name.clone(),
            most: broker.most_bytes(),
            run_logs: run_logs.clone(),
            number: 0,
            out,
        };
        let thread = std::thread::Builder::new().name("logs".to_owned());
        // Without the thread nothing is handed over, and the manager warns that logs are incomplete.
        let _no_thread = thread.spawn(move || packing.pack_all(&entered));
        let (ended, end) = watch::channel(None);
        let mut handing_over = JoinSet::new();
        handing_over.spawn(hand_over(broker, sender, waiting, end));
        PartLogs {
            run_logs,
            ended,
            handing_over,
        }
    }

    /// Ends the logs, and returns the lines that each would have with nothing left out.
    pub(super) fn end(&mut self) -> LineCounts {
        let new = self.ended.send_if_modified(|ended| {
            let new = ended.is_none();
            ended.get_or_insert_with(Instant::now);
            new
        });
        if new {
            self.run_logs.end();
        }
        self.run_logs.all_made()
    }

    /// Waits until everything is handed over, or cannot be.
    pub(super) async fn handed_over(&mut self) {
        self.end();
        // A panic has already been reported.
        while self.handing_over.join_next().await.is_some() {}
    }
}

impl Drop for PartLogs {
    fn drop(&mut self) {
        // This ends the thread that makes pieces.
        self.end();
    }
}

/// Thread that makes pieces of log messages.
struct PieceThread {
    worker: String,
    most: usize,
    run_logs: RunLogs,
    number: u64,
    out: mpsc::Sender<(u64, Vec<u8>)>,
}

impl PieceThread {
    fn pack_all(mut self, entered: &Receiver<LogMessage>) {
        let mut gathered = Vec::new();
        let mut until: Option<Instant> = None;
        loop {
            let message = match until {
                None => entered.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(until) => {
                    entered.recv_timeout(until.saturating_duration_since(Instant::now()))
                }
            };
            let over = match message {
                Ok(LogMessage::Chunk(chunk)) => {
                    gathered.extend_from_slice(chunk.bytes());
                    until.get_or_insert_with(|| Instant::now() + EVERY);
                    if gathered.len() < PIECE {
                        continue;
                    }
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
                Ok(LogMessage::End) | Err(RecvTimeoutError::Disconnected) => true,
            };
            let cut = pieces(&gathered, PIECE);
            // The receiver of pieces has gone.
            let gone = cut.into_iter().any(|piece| !self.put(piece, false));
            if gone || over {
                self.put(&[], true);
                return;
            }
            gathered.clear();
            until = None;
        }
    }

    /// Passes a piece on to be handed over, as soon as there is room; false if nobody receives it.
    fn put(&mut self, entries: &[u8], last: bool) -> bool {
        let piece = LogPiece {
            number: self.number + 1,
            worker: self.worker.clone(),
            made: self.run_logs.all_made(),
            last,
            packed: pack_entries(entries),
        };
        if piece.packed.len() + AROUND > self.most && entries.len() > 1 {
            // The broker only takes shorter messages: send halves, or nothing if a single entry is too long.
            let halves = pieces(entries, entries.len() / 2);
            let halves: Vec<&[u8]> = halves.collect();
            return halves.len() == 1 || halves.into_iter().all(|half| self.put(half, false));
        }
        self.number += 1;
        let message = messages::encode(&piece);
        self.out.blocking_send((self.number, message)).is_ok()
    }
}

async fn hand_over(
    broker: Broker,
    sender: PieceOrigin,
    mut waiting: mpsc::Receiver<(u64, Vec<u8>)>,
    end: watch::Receiver<Option<Instant>>,
) {
    let waiting = futures_util::stream::poll_fn(move |context| waiting.poll_recv(context));
    let handing = waiting.map(|(number, bytes)| store(&broker, &sender, number, bytes, &end));
    let mut handing = std::pin::pin!(handing.buffer_unordered(AT_A_TIME));
    while let Some(stored) = handing.next().await {
        if let Err(why) = stored {
            tracing::warn!(
                target: "lgoose::gaggle",
                "run {}: entries of logs could not be handed over: {why}",
                sender.run
            );
            return;
        }
    }
}

/// Hands a piece over, trying until the broker has it or the failure is final.
async fn store(
    broker: &Broker,
    sender: &PieceOrigin,
    number: u64,
    bytes: Vec<u8>,
    end: &watch::Receiver<Option<Instant>>,
) -> Result<(), lgoose_base::error::Error> {
    let subject = names::logs(&sender.run, &sender.id);
    let id = format!("{}:{number}", sender.id);
    loop {
        let stored = broker.store(subject.clone(), &id, bytes.clone()).await;
        let Err((error, passes)) = stored else {
            return Ok(());
        };
        let late = end
            .borrow()
            .is_some_and(|end| end.elapsed() >= FLUSH_TIMEOUT);
        if !passes || late {
            return Err(error);
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}
