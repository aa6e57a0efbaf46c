//! Slots of a run: groups of workers with the same labels whose figures a gather adds up. The manager takes in the
//! records of gathers, reads the workers' signals itself when their gather falls silent, and hands them back to a gather
//! that is there again.

use super::gathers::{fits, fitting, request_gather};
use super::intake::SignalIntake;
use super::registry::{RegisteredWorker, WorkerRegistry};
use super::terms::{ProgressReporter, REPLY_TIMEOUT};
use crate::broker::{Broker, PublishFailure};
use crate::gather::{GatherRequest, RecordKind, SignalProgress, SlotRecord, gathers};
use crate::messages::{self, GatherPresence, MAX_MISSING_SIGNALS};
use crate::names;
use crate::reading::{FailureTracker, READ_AHEAD, RunMessage, read};
use lgoose_base::error::Error;
use lgoose_base::units::counted;
use lgoose_engine::{ShardEventKind, WorkerSignal};
use lgoose_metrics::{Delivery, GatheredDelta, labels_text};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// Time without a record after which workers of the slot are no longer judged by their silence.
const LATE: Duration = Duration::from_secs(2);
/// Time without a record after which the manager reads a slot's signals itself.
const SILENCE: Duration = Duration::from_secs(3);
/// Time between two searches for a gather that takes the slot back.
const SEARCH_INTERVAL: Duration = Duration::from_secs(2);
/// Time between two attempts to write a record.
const WRITE_AGAIN: Duration = Duration::from_millis(250);

/// All slots of a run.
#[derive(Debug)]
pub(super) struct Slots {
    all: Vec<Slot>,
    sender: mpsc::UnboundedSender<SlotEvent>,
    events: mpsc::UnboundedReceiver<SlotEvent>,
}

/// A slot.
#[derive(Debug)]
struct Slot {
    name: String,
    /// Labels of its workers.
    labels: BTreeMap<String, String>,
    /// Identity and name of the latest gather.
    gather: (String, String),
    /// Number of the last record, within the slot and in the run's stream.
    number: u64,
    stream: u64,
    /// Sequence number in the run's stream of the last signal that is accounted for.
    through: u64,
    /// Time of the last record.
    last_signal: Instant,
    turn: Turn,
    /// Messages on its subject that are no records.
    skipped: u64,
}

/// Reader of the signals of a slot.
#[derive(Debug)]
enum Turn {
    Gather,
    /// The manager is taking over.
    TakingOver,
    Manager {
        reading: AbortHandle,
        /// Time of the last search for a gather.
        last_search: Instant,
    },
    /// The manager is handing the slot back to a gather.
    HandingBack,
}

/// Something that happens to a slot besides its records.
#[derive(Debug)]
pub(super) struct SlotEvent {
    slot: usize,
    kind: EventKind,
}

#[derive(Debug)]
enum EventKind {
    /// A signal that the manager reads itself.
    Signal(RunMessage),
    /// The slot's signals cannot be read.
    Unreadable(Error),
    /// The manager's own record could not be written.
    NotTakenOver(PublishFailure),
    /// A gather with a fitting label has responded.
    Found(GatherPresence),
}

impl Slots {
    /// Returns the slots of a run without gathers.
    pub(super) fn none() -> Slots {
        let (sender, events) = mpsc::unbounded_channel();
        Slots {
            all: Vec::new(),
            sender,
            events,
        }
    }

    /// Looks for gathers, and assigns to each the workers that have one of its labels.
    ///
    /// # Errors
    /// Trouble with the broker.
    pub(super) async fn open(
        broker: &Broker,
        run: &str,
        registry: &mut WorkerRegistry,
        notify: &ProgressReporter,
    ) -> Result<Slots, Error> {
        let mut slots = Slots::none();
        let present = fitting(gathers(broker).await?, |text| notify(text));
        let members = registry
            .0
            .iter()
            .map(|member| member.presence.labels.clone());
        let sets: BTreeSet<BTreeMap<String, String>> = members.collect();
        for labels in sets {
            let Some(gather) = present.iter().find(|gather| fits(gather, &labels)) else {
                continue;
            };
            let name = names::slot(slots.all.len());
            if let Err(why) = request_gather(broker, &gather.id, run, &name).await {
                notify(&format!(
                    "gather '{}' does not add up the figures of {}: {why}",
                    gather.name,
                    labels_text(&labels)
                ));
                continue;
            }
            let alike = |member: &&mut RegisteredWorker| member.presence.labels == labels;
            let members = registry.0.iter_mut().filter(alike);
            let count = members
                .map(|member| member.place.slot = Some(name.clone()))
                .count();
            notify(&format!(
                "gather '{}' adds up the figures of {} with {}",
                gather.name,
                counted(count as u64, "worker"),
                labels_text(&labels)
            ));
            slots.all.push(Slot {
                name,
                labels,
                gather: (gather.id.clone(), gather.name.clone()),
                number: 0,
                stream: 0,
                through: 0,
                last_signal: Instant::now(),
                turn: Turn::Gather,
                skipped: 0,
            });
        }
        Ok(slots)
    }

    /// Waits for the next event. Can be dropped and called again at any time.
    pub(super) async fn next(&mut self) -> Option<SlotEvent> {
        self.events.recv().await
    }

    /// Releases all gathers of the run.
    pub(super) async fn release(&self, broker: &Broker, run: &str) {
        let ids: BTreeSet<&String> = self.all.iter().map(|slot| &slot.gather.0).collect();
        for id in ids {
            let request = GatherRequest::Release {
                run: run.to_owned(),
            };
            // If this is lost, the gather notices that the stream is gone.
            let _gone = broker
                .reply(names::gather(id), &request, REPLY_TIMEOUT)
                .await;
        }
        for slot in &self.all {
            if let Turn::Manager { reading, .. } = &slot.turn {
                reading.abort();
            }
        }
    }

    fn number_of(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|slot| slot.name == name)
    }

    /// Takes in a record of a slot.
    pub(super) fn receive_record(&mut self, intake: &mut SignalIntake, message: &RunMessage) {
        let Some(at) = self.number_of(&message.sender) else {
            return;
        };
        let slot = &mut self.all[at];
        let record = match messages::decode::<SlotRecord>(&message.bytes) {
            Ok(record) if record.number <= slot.number.saturating_add(MAX_MISSING_SIGNALS) => {
                record
            }
            _ => {
                slot.skipped += 1;
                let (count, name) = (counted(slot.skipped, "message"), &slot.gather.1);
                let text =
                    format!("{count} of gather '{name}' skipped: no record can be read in it");
                if messages::is_due(slot.skipped) {
                    intake.warn(&text);
                }
                return;
            }
        };
        slot.last_signal = Instant::now();
        if record.number <= slot.number {
            return;
        }
        (slot.number, slot.stream) = (record.number, message.number);
        match record.kind {
            RecordKind::Gathered { figures, passed } => {
                slot.through = record.through;
                take_gathered(intake, &record.members, &figures, passed);
            }
            RecordKind::Direct => {
                slot.through = record.through;
                self.read_directly(intake, at);
            }
            RecordKind::HandedBack => self.go_on_with_gather(intake, at),
        }
    }

    /// Handles an event of a slot.
    pub(super) fn handle(
        &mut self,
        intake: &mut SignalIntake,
        SlotEvent { slot: at, kind }: SlotEvent,
    ) {
        match kind {
            EventKind::Signal(message) => self.receive_directly(intake, at, &message),
            EventKind::Unreadable(error) => intake.send(0, ShardEventKind::Failed(error)),
            EventKind::NotTakenOver(why) => self.go_on_waiting(intake, at, &why),
            EventKind::Found(gather) => self.hand_back(intake, at, gather),
        }
    }

    /// Keeps waiting for a gather: its record came first, or the manager could not write its own.
    fn go_on_waiting(&mut self, intake: &SignalIntake, at: usize, why: &PublishFailure) {
        let slot = &mut self.all[at];
        if !matches!(slot.turn, Turn::TakingOver) {
            return;
        }
        slot.turn = Turn::Gather;
        if let PublishFailure::Failed(error) = why {
            let text = format!(
                "nothing is heard from gather '{}', and the figures of its workers ({}) are missing meanwhile: {}",
                slot.gather.1,
                labels_text(&slot.labels),
                error.text()
            );
            intake.send(0, ShardEventKind::Warning(text));
        }
    }

    /// Takes in a signal that the manager reads itself.
    fn receive_directly(&mut self, intake: &mut SignalIntake, at: usize, message: &RunMessage) {
        let slot = &mut self.all[at];
        if !matches!(slot.turn, Turn::Manager { .. }) || message.number <= slot.through {
            return;
        }
        slot.through = message.number;
        intake.receive(message);
    }

    /// Takes over the slots of gathers that have fallen silent, and looks for other gathers for slots that it reads
    /// itself.
    pub(super) fn look(&mut self, intake: &mut SignalIntake, up_since: Instant) {
        let now = Instant::now();
        for at in 0..self.all.len() {
            let slot = &mut self.all[at];
            let silent = slot.last_signal.max(up_since).elapsed();
            if !intake.registry.any_at_work(&slot.name) {
                continue;
            }
            let judged = match &mut slot.turn {
                Turn::Gather => silent < LATE,
                Turn::TakingOver | Turn::HandingBack => false,
                Turn::Manager { .. } => true,
            };
            if !judged {
                intake.registry.excuse(&slot.name, now);
            }
            match &mut slot.turn {
                Turn::Gather if silent >= SILENCE => self.take_over(intake, at),
                Turn::Manager { last_search, .. } if last_search.elapsed() >= SEARCH_INTERVAL => {
                    *last_search = now;
                    self.look_for_gather(intake.broker.clone(), at);
                }
                _ => {}
            }
        }
    }

    /// Records that the manager reads the slot's signals from now on. It begins once it has read that record.
    fn take_over(&mut self, intake: &SignalIntake, at: usize) {
        let slot = &mut self.all[at];
        slot.turn = Turn::TakingOver;
        let (record, last) = slot.next(RecordKind::Direct, intake.registry.reached(&slot.name));
        let (broker, subject) = (
            intake.broker.clone(),
            names::records(&intake.run, &slot.name),
        );
        let sender = self.sender.clone();
        tokio::spawn(async move {
            let id = format!("{subject}:{}", record.number);
            let bytes = messages::encode(&record);
            if let Err(why) = broker.store_after(subject, &id, last, bytes).await {
                // It is tried again, unless the gather has responded meanwhile.
                let kind = EventKind::NotTakenOver(why);
                let _over = sender.send(SlotEvent { slot: at, kind });
            }
        });
    }

    /// Reads the signals of a slot, from the first one that is not accounted for.
    fn read_directly(&mut self, intake: &mut SignalIntake, at: usize) {
        let slot = &mut self.all[at];
        let (sender, mut received) = mpsc::channel(READ_AHEAD);
        let (reports, mut troubles) = mpsc::unbounded_channel();
        let reading = read(
            intake.broker.clone(),
            intake.run.clone(),
            names::signals_of_slot(&intake.run, &slot.name),
            slot.through + 1,
            sender,
            FailureTracker::new(reports),
        );
        let events = self.sender.clone();
        let reading = tokio::spawn(async move {
            tokio::pin!(reading);
            loop {
                let kind = tokio::select! {
                    () = &mut reading => return,
                    Some(message) = received.recv() => EventKind::Signal(message),
                    Some(trouble) = troubles.recv() => EventKind::Unreadable(trouble),
                };
                if events.send(SlotEvent { slot: at, kind }).is_err() {
                    return;
                }
            }
        });
        slot.turn = Turn::Manager {
            reading: reading.abort_handle(),
            last_search: Instant::now(),
        };
        intake.registry.excuse(&slot.name, Instant::now());
        let text = format!(
            "gather '{}' was lost: nothing has been heard from it for {} s; the manager reads the figures of its workers \
             ({}) itself",
            slot.gather.1,
            SILENCE.as_secs(),
            labels_text(&slot.labels)
        );
        intake.send(0, ShardEventKind::Warning(text));
    }

    /// Looks for a gather that could take over a slot.
    fn look_for_gather(&self, broker: Broker, at: usize) {
        let sender = self.sender.clone();
        let labels = self.all[at].labels.clone();
        tokio::spawn(async move {
            let Ok(present) = gathers(&broker).await else {
                return;
            };
            let present = fitting(present, |_| {});
            let found = present.into_iter().find(|gather| fits(gather, &labels));
            if let Some(gather) = found {
                let kind = EventKind::Found(gather);
                let _over = sender.send(SlotEvent { slot: at, kind });
            }
        });
    }

    /// Hands a slot's signals over to a gather, from the next one on.
    fn hand_back(&mut self, intake: &SignalIntake, at: usize, gather: GatherPresence) {
        let slot = &mut self.all[at];
        let Turn::Manager { reading, .. } = &slot.turn else {
            return;
        };
        reading.abort();
        slot.turn = Turn::HandingBack;
        slot.gather = (gather.id, gather.name);
        let (record, last) = slot.next(RecordKind::HandedBack, intake.registry.reached(&slot.name));
        let (broker, run) = (intake.broker.clone(), intake.run.clone());
        let (id, name) = (slot.gather.0.clone(), slot.name.clone());
        tokio::spawn(async move {
            let subject = names::records(&run, &name);
            let number = format!("{subject}:{}", record.number);
            let bytes = messages::encode(&record);
            // Tries until this record or another one is there.
            while let Err(PublishFailure::Failed(_)) = broker
                .store_after(subject.clone(), &number, last, bytes.clone())
                .await
            {
                tokio::time::sleep(WRITE_AGAIN).await;
            }
            // If the gather does not respond, its silence will be noticed.
            let _gone = request_gather(&broker, &id, &run, &name).await;
        });
    }

    /// Records that a gather adds up the slot's signals again.
    fn go_on_with_gather(&mut self, intake: &mut SignalIntake, at: usize) {
        let slot = &mut self.all[at];
        slot.last_signal = Instant::now();
        slot.turn = Turn::Gather;
        let text = format!(
            "gather '{}' adds up the figures of {} again",
            slot.gather.1,
            labels_text(&slot.labels)
        );
        intake.registry.excuse(&slot.name, slot.last_signal);
        intake.send(0, ShardEventKind::Warning(text));
    }
}

impl Slot {
    /// Returns the manager's next record of the slot, and the number in the stream of the record before it.
    fn next(&self, kind: RecordKind, members: Vec<SignalProgress>) -> (SlotRecord, u64) {
        let record = SlotRecord {
            number: self.number + 1,
            through: self.through,
            by: None,
            members,
            kind,
        };
        (record, self.stream)
    }
}

/// Takes in the sums of a gather.
fn take_gathered(
    intake: &mut SignalIntake,
    members: &[SignalProgress],
    figures: &[u8],
    passed: Vec<(u64, u64, WorkerSignal)>,
) {
    let numbers = intake.registry.numbers();
    let mut epochs = Vec::new();
    for reached in members.iter().filter(|reached| reached.signals > 0) {
        if let Some(&number) = numbers.get(&reached.worker) {
            intake.advance(number, reached.sequence, reached.signals);
            epochs.push((number, reached.epoch));
        }
    }
    if !figures.is_empty() {
        let decoded = GatheredDelta::decode(figures);
        let kind = decoded.map(|delta| {
            let delta = delta.numbered(|worker| numbers.get(&worker).copied());
            ShardEventKind::Gathered(Delivery::Gathered {
                delta: Box::new(delta),
                reached: epochs,
            })
        });
        intake.send(0, kind.unwrap_or_else(ShardEventKind::Failed));
    }
    for (worker, sequence, signal) in passed {
        if let Some(&number) = numbers.get(&worker) {
            intake.handle(number, sequence, signal);
        }
    }
}
