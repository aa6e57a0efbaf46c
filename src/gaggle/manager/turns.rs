//! Turns of gathers and the manager at the slots of a run: takes in records of gathers, reads the workers' signals
//! itself when their gather falls silent, and hands them back to a gather that is there again.

use super::pump::Pump;
use super::slots::{Event, EventKind, Turn, ask, fits, fitting};
use crate::engine::{SignalKind, WorkerSignal};
use crate::gaggle::broker::NotKept;
use crate::gaggle::gather::{Reached, Record, RecordKind, gathers};
use crate::gaggle::messages::{self, GatherPresence, MOST_MISSING};
use crate::gaggle::names;
use crate::gaggle::reading::{Failing, Heard, READ_AHEAD, read};
use crate::metrics::{Delivery, GatheredDelta, labels_text};
use crate::units::counted;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Time without a record after which workers of the slot are no longer judged by their silence.
const LATE: Duration = Duration::from_secs(2);
/// Time without a record after which the manager reads a slot's signals itself.
const SILENCE: Duration = Duration::from_secs(3);
/// Time between two searches for a gather that takes the slot back.
const AGAIN: Duration = Duration::from_secs(2);
/// Time between two attempts to write a record.
const WRITE_AGAIN: Duration = Duration::from_millis(250);

impl Pump {
    /// Takes in a record of a slot.
    pub(super) fn hear_record(&mut self, heard: &Heard) {
        let Some(at) = self.slots.number_of(&heard.sender) else {
            return;
        };
        let slot = &mut self.slots.all[at];
        let record = match messages::decode::<Record>(&heard.bytes) {
            Ok(record) if record.number <= slot.number.saturating_add(MOST_MISSING) => record,
            _ => {
                slot.skipped += 1;
                let (count, name) = (counted(slot.skipped, "message"), &slot.gather.1);
                let text =
                    format!("{count} of gather '{name}' skipped: no record can be read in it");
                if messages::is_due(slot.skipped) {
                    self.warn(&text);
                }
                return;
            }
        };
        slot.heard = Instant::now();
        if record.number <= slot.number {
            return;
        }
        (slot.number, slot.stream) = (record.number, heard.number);
        match record.kind {
            RecordKind::Gathered { figures, passed } => {
                slot.through = record.through;
                self.take_gathered(&record.members, &figures, passed);
            }
            RecordKind::Direct => {
                slot.through = record.through;
                self.read_directly(at);
            }
            RecordKind::HandedBack => self.go_on_with_gather(at),
        }
    }

    /// Takes in what a gather has added up.
    fn take_gathered(
        &mut self,
        members: &[Reached],
        figures: &[u8],
        passed: Vec<(u64, u64, WorkerSignal)>,
    ) {
        let numbers = self.roll.numbers();
        let mut epochs = Vec::new();
        for reached in members.iter().filter(|reached| reached.signals > 0) {
            if let Some(&number) = numbers.get(&reached.worker) {
                self.come_to(number, reached.sequence, reached.signals);
                epochs.push((number, reached.epoch));
            }
        }
        if !figures.is_empty() {
            let decoded = GatheredDelta::decode(figures);
            let kind = decoded.map(|delta| {
                let delta = delta.numbered(|worker| numbers.get(&worker).copied());
                SignalKind::Gathered(Delivery::Gathered {
                    delta: Box::new(delta),
                    reached: epochs,
                })
            });
            self.signal(0, kind.unwrap_or_else(SignalKind::Failed));
        }
        for (worker, sequence, signal) in passed {
            if let Some(&number) = numbers.get(&worker) {
                self.heed(number, sequence, signal);
            }
        }
    }

    /// Handles an event of a slot.
    pub(super) fn heed_slot(&mut self, Event { slot: at, kind }: Event) {
        match kind {
            EventKind::Signal(heard) => self.hear_directly(at, &heard),
            EventKind::Unreadable(error) => self.signal(0, SignalKind::Failed(error)),
            EventKind::NotTakenOver(why) => self.go_on_waiting(at, &why),
            EventKind::Found(gather) => self.hand_back(at, gather),
        }
    }

    /// Keeps waiting for a gather: its record came first, or the manager could not write its own.
    fn go_on_waiting(&mut self, at: usize, why: &NotKept) {
        let slot = &mut self.slots.all[at];
        if !matches!(slot.turn, Turn::TakingOver) {
            return;
        }
        slot.turn = Turn::Gather;
        if let NotKept::Failed(error) = why {
            let text = format!(
                "nothing is heard from gather '{}', and the figures of its workers ({}) are missing meanwhile: {}",
                slot.gather.1,
                labels_text(&slot.labels),
                error.text()
            );
            self.signal(0, SignalKind::Warning(text));
        }
    }

    /// Takes in a signal that the manager reads itself.
    fn hear_directly(&mut self, at: usize, heard: &Heard) {
        let slot = &mut self.slots.all[at];
        if !matches!(slot.turn, Turn::Manager { .. }) || heard.number <= slot.through {
            return;
        }
        slot.through = heard.number;
        self.hear(heard);
    }

    /// Takes over the slots of gathers that have fallen silent, and looks for other gathers for slots that it reads
    /// itself.
    pub(super) fn look_at_slots(&mut self) {
        let now = Instant::now();
        for at in 0..self.slots.all.len() {
            let slot = &mut self.slots.all[at];
            let silent = slot.heard.max(self.up_since).elapsed();
            if !self.roll.any_at_work(&slot.name) {
                continue;
            }
            let judged = match &mut slot.turn {
                Turn::Gather => silent < LATE,
                Turn::TakingOver | Turn::HandingBack => false,
                Turn::Manager { .. } => true,
            };
            if !judged {
                self.roll.excuse(&slot.name, now);
            }
            match &mut slot.turn {
                Turn::Gather if silent >= SILENCE => self.take_over(at),
                Turn::Manager { asked, .. } if asked.elapsed() >= AGAIN => {
                    *asked = now;
                    self.look_for_gather(at);
                }
                _ => {}
            }
        }
    }

    /// Records that the manager reads the slot's signals from now on. It begins once it has read that record.
    fn take_over(&mut self, at: usize) {
        let slot = &mut self.slots.all[at];
        slot.turn = Turn::TakingOver;
        let (record, last) = slot.next(RecordKind::Direct, self.roll.reached(&slot.name));
        let (broker, subject) = (
            self.line.broker.clone(),
            names::records(&self.line.run, &slot.name),
        );
        let sender = self.slots.sender.clone();
        tokio::spawn(async move {
            let id = format!("{subject}:{}", record.number);
            let bytes = messages::encode(&record);
            if let Err(why) = broker.keep_after(subject, &id, last, bytes).await {
                // It is tried again, unless the gather was heard meanwhile.
                let kind = EventKind::NotTakenOver(why);
                let _over = sender.send(Event { slot: at, kind });
            }
        });
    }

    /// Reads the signals of a slot, from the first one that is not accounted for.
    fn read_directly(&mut self, at: usize) {
        let slot = &mut self.slots.all[at];
        let (sender, mut received) = mpsc::channel(READ_AHEAD);
        let (told, mut troubles) = mpsc::unbounded_channel();
        let reading = read(
            self.line.broker.clone(),
            self.line.run.clone(),
            names::signals_of_slot(&self.line.run, &slot.name),
            slot.through + 1,
            sender,
            Failing::new(told),
        );
        let events = self.slots.sender.clone();
        let reading = tokio::spawn(async move {
            tokio::pin!(reading);
            loop {
                let kind = tokio::select! {
                    () = &mut reading => return,
                    Some(heard) = received.recv() => EventKind::Signal(heard),
                    Some(trouble) = troubles.recv() => EventKind::Unreadable(trouble),
                };
                if events.send(Event { slot: at, kind }).is_err() {
                    return;
                }
            }
        });
        slot.turn = Turn::Manager {
            reading: reading.abort_handle(),
            asked: Instant::now(),
        };
        self.roll.excuse(&slot.name, Instant::now());
        let text = format!(
            "gather '{}' was lost: nothing has been heard from it for {} s; the manager reads the figures of its workers \
             ({}) itself",
            slot.gather.1,
            SILENCE.as_secs(),
            labels_text(&slot.labels)
        );
        self.signal(0, SignalKind::Warning(text));
    }

    /// Looks for a gather that could take over a slot.
    fn look_for_gather(&mut self, at: usize) {
        let (broker, sender) = (self.line.broker.clone(), self.slots.sender.clone());
        let labels = self.slots.all[at].labels.clone();
        tokio::spawn(async move {
            let Ok(present) = gathers(&broker).await else {
                return;
            };
            let present = fitting(present, |_| {});
            let found = present.into_iter().find(|gather| fits(gather, &labels));
            if let Some(gather) = found {
                let kind = EventKind::Found(gather);
                let _over = sender.send(Event { slot: at, kind });
            }
        });
    }

    /// Hands a slot's signals over to a gather, from the next one on.
    fn hand_back(&mut self, at: usize, gather: GatherPresence) {
        let slot = &mut self.slots.all[at];
        let Turn::Manager { reading, .. } = &slot.turn else {
            return;
        };
        reading.abort();
        slot.turn = Turn::HandingBack;
        slot.gather = (gather.id, gather.name);
        let (record, last) = slot.next(RecordKind::HandedBack, self.roll.reached(&slot.name));
        let (broker, run) = (self.line.broker.clone(), self.line.run.clone());
        let (id, name) = (slot.gather.0.clone(), slot.name.clone());
        tokio::spawn(async move {
            let subject = names::records(&run, &name);
            let number = format!("{subject}:{}", record.number);
            let bytes = messages::encode(&record);
            // Tries until this record or another one is there.
            while let Err(NotKept::Failed(_)) = broker
                .keep_after(subject.clone(), &number, last, bytes.clone())
                .await
            {
                tokio::time::sleep(WRITE_AGAIN).await;
            }
            // If the gather does not answer, its silence will be noticed.
            let _gone = ask(&broker, &id, &run, &name).await;
        });
    }

    /// Notes that a gather adds up the slot's signals again.
    fn go_on_with_gather(&mut self, at: usize) {
        let slot = &mut self.slots.all[at];
        slot.heard = Instant::now();
        slot.turn = Turn::Gather;
        let text = format!(
            "gather '{}' adds up the figures of {} again",
            slot.gather.1,
            labels_text(&slot.labels)
        );
        self.roll.excuse(&slot.name, slot.heard);
        self.signal(0, SignalKind::Warning(text));
    }
}
