//! Work of a gather for one slot of a run: reads signals and writes records until the run is over or another gather
//! takes over.

use super::record::SlotRecord;
use super::slot::SlotState;
use crate::broker::{Broker, PublishFailure};
use crate::messages;
use crate::names;
use crate::reading::{FailureTracker, READ_AHEAD, read};
use lgoose_base::error::Error;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Time after a record from which the next one is written as soon as all workers have delivered.
const MIN_INTERVAL: Duration = Duration::from_millis(400);
/// Time for which a signal waits for those of other workers.
const PATIENCE: Duration = Duration::from_millis(600);
/// Time after a record at which the next one is written in any case, if only as a sign of life.
const MAX_INTERVAL: Duration = Duration::from_millis(1_250);
/// Time between two looks at the waiting signals.
const LOOK: Duration = Duration::from_millis(50);
/// Time between two attempts at something that failed.
const RETRY_DELAY: Duration = Duration::from_millis(250);
/// Time without a signal after which a run is taken to be over.
const ABANDONED: Duration = Duration::from_secs(600);

/// End of the work for a slot.
#[derive(Debug)]
pub(super) struct GatherEnd {
    pub(super) run: String,
    /// The reason, as a sentence.
    pub(super) why: String,
}

/// Gathers for a slot of a run until the run is over. May be dropped at any time.
pub(super) async fn gather(broker: Broker, run: String, slot: String) -> GatherEnd {
    let why = match go_on(&broker, &run, &slot).await {
        Ok(why) => why.to_owned(),
        Err(error) => error.text(),
    };
    GatherEnd { run, why }
}

async fn go_on(broker: &Broker, run: &str, name: &str) -> Result<&'static str, Error> {
    let subject = names::records(run, name);
    let (mut last, record) = match broker.find_last(run, &subject).await? {
        Some(last) => (
            last.sequence,
            Some(messages::decode::<SlotRecord>(&last.payload)?),
        ),
        None => (0, None),
    };
    let mut slot = SlotState::after(record.as_ref());
    tracing::info!(target: "lgoose::gaggle", "run {run}: figures are added up");
    // A new identity for each task: one that was replaced may still write.
    let by = format!("{:016x}", rand::random::<u64>());
    let (sender, mut received) = mpsc::channel(READ_AHEAD);
    let (reports, mut troubles) = mpsc::unbounded_channel();
    let signals = names::signals_of_slot(run, name);
    let reading = read(
        broker.clone(),
        run.to_owned(),
        signals,
        slot.through() + 1,
        sender,
        FailureTracker::new(reports),
    );
    let mut reading = tokio::task::JoinSet::from_iter([reading]);
    let mut look = tokio::time::interval(LOOK);
    let (mut written, mut last_signal) = (Instant::now(), Instant::now());
    // When the first signal came that is not in a record yet.
    let mut waiting: Option<Instant> = None;
    loop {
        tokio::select! {
            biased;
            Some(trouble) = troubles.recv() => return Err(trouble),
            _ = reading.join_next() => return Ok("the reading of its signals has ended"),
            _ = look.tick() => {}
            Some(signal) = received.recv() => {
                last_signal = Instant::now();
                waiting.get_or_insert(last_signal);
                slot.receive(signal);
                continue;
            }
        }
        if last_signal.elapsed() >= ABANDONED {
            return Ok("nothing was heard from its workers for 10 minutes");
        }
        let since = written.elapsed();
        let late = waiting.is_some_and(|waiting| waiting.elapsed() >= PATIENCE);
        let due = since >= MAX_INTERVAL || since >= MIN_INTERVAL && (late || slot.is_complete());
        // Written even if all known workers have ended: the manager may wait for a lost one that never sent a signal
        // here.
        if !due {
            continue;
        }
        (written, waiting) = (Instant::now(), None);
        for record in slot.take(&by, broker.most_bytes()) {
            match write(broker, &subject, name, last, &record).await {
                Ok(number) => last = number,
                Err(RecordRefusal::Over) => return Ok("it is over"),
                Err(RecordRefusal::Overtaken) => {
                    return Ok("another gather, or the manager itself, has taken its signals over");
                }
            }
        }
    }
}

/// Reasons why no more records of this gather are accepted.
enum RecordRefusal {
    Over,
    Overtaken,
}

/// Writes a record if `last` is still the sequence number of the one before it, and returns its own.
async fn write(
    broker: &Broker,
    subject: &str,
    slot: &str,
    last: u64,
    record: &SlotRecord,
) -> Result<u64, RecordRefusal> {
    let bytes = messages::encode(record);
    let by = record.by.as_deref().unwrap_or_default();
    let id = format!("{slot}:{by}:{}", record.number);
    loop {
        let stored = broker.store_after(subject.to_owned(), &id, last, bytes.clone());
        match stored.await {
            Ok(number) => return Ok(number),
            Err(PublishFailure::NoStream) => return Err(RecordRefusal::Over),
            Err(PublishFailure::Overtaken) => {
                // The last record may be this very one: its acknowledgement was lost.
                let run = names::run_of_subject(subject);
                match broker.find_last(run, subject).await {
                    Ok(Some(last)) if *last.payload == *bytes => return Ok(last.sequence),
                    Ok(_) => return Err(RecordRefusal::Overtaken),
                    Err(error) => tracing::debug!(target: "lgoose::gaggle", "{error}"),
                }
            }
            Err(PublishFailure::Failed(error)) => {
                tracing::debug!(target: "lgoose::gaggle", "{error}")
            }
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}
