//! State of a manager in the stream of its run, so that another one can go on with it: the record at the beginning, and a
//! journal of the actions of its director.

use super::registry::{RegisteredWorker, WorkerRegistry};
use super::terms::WorkerLoss;
use crate::broker::Broker;
use crate::messages::{self, ManagerLogEvent, ManagerLogLine, ManagerRecord, RunDescription};
use crate::names;
use crate::reading::FailureTracker;
use lgoose_base::error::Error;
use lgoose_engine::ShardEventKind;
use std::time::Duration;
use tokio::sync::mpsc;

/// Time between two attempts at something that failed.
const RETRY_DELAY: Duration = Duration::from_millis(250);

/// State from which another manager can go on with the run: facts for the record, and the journal.
pub(super) struct ManagerLog {
    pub(super) facts: RunDescription,
    pub(super) on_loss: WorkerLoss,
    /// Figures of `test_start`, encoded.
    pub(super) test_start: Option<Vec<u8>>,
    /// Identity of this manager.
    pub(super) leader: String,
    /// Number of the latest journal line.
    pub(super) number: u64,
    /// Takes lines for the stream.
    pub(super) lines: mpsc::UnboundedSender<ManagerLogLine>,
}

impl ManagerLog {
    /// Writes a line to the journal.
    pub(super) fn write(&mut self, at: Duration, kind: ManagerLogEvent) {
        self.number += 1;
        let number = self.number;
        // Nobody receives it once the run is over.
        let _over = self.lines.send(ManagerLogLine {
            number,
            leader: self.leader.clone(),
            at,
            kind,
        });
    }

    /// Writes an event of a worker that none of its own signals shows.
    pub(super) fn write_of(&mut self, at: Duration, worker: usize, kind: &ShardEventKind) {
        let line = match kind {
            ShardEventKind::Away(text) => ManagerLogEvent::Away {
                worker,
                text: text.clone(),
            },
            ShardEventKind::Warning(text) => ManagerLogEvent::Warning {
                worker,
                text: text.clone(),
            },
            _ => return,
        };
        self.write(at, line);
    }

    /// Keeps the record of a run that begins `ahead` from now.
    ///
    /// # Errors
    /// Trouble with the broker.
    pub(super) async fn store_record(
        &self,
        broker: &Broker,
        run: &str,
        registry: &WorkerRegistry,
        ahead: Duration,
        since_origin: Duration,
    ) -> Result<(), Error> {
        let record = ManagerRecord {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            facts: self.facts.clone(),
            ahead,
            since_origin,
            test_start: self.test_start.clone(),
            members: registry.0.iter().map(RegisteredWorker::recorded).collect(),
            replaces: self.on_loss.fills_places(),
        };
        let bytes = messages::encode(&record);
        let stored = broker.store(names::record(run), "record", bytes).await;
        stored.map_err(|(error, _)| error)
    }
}

/// Keeps journal lines in the stream, in order, until no more come.
pub(super) async fn store_lines(
    broker: Broker,
    run: String,
    mut lines: mpsc::UnboundedReceiver<ManagerLogLine>,
    mut failing: FailureTracker,
) {
    while let Some(line) = lines.recv().await {
        let id = format!("journal:{}:{}", line.leader, line.number);
        let bytes = messages::encode(&line);
        while let Err((error, _)) = broker.store(names::journal(&run), &id, bytes.clone()).await {
            failing.note(&broker, error);
            tokio::time::sleep(RETRY_DELAY).await;
        }
        failing.forget();
    }
}
