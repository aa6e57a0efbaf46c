//! State of a slot at its gather: signals that were added up and are in no record yet.

use super::record::{Reached, Record, RecordKind, worker_number};
use crate::engine::WorkerSignal;
use crate::gaggle::messages::{self, Numbered};
use crate::gaggle::reading::Heard;
use crate::metrics::{GatheredDelta, PortableDelta};
use std::collections::BTreeMap;

/// A slot as its gather knows it.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// Number of the last record, 0 without one.
    number: u64,
    /// Number in the stream of the last signal that is in a record.
    through: u64,
    /// How far the signals of each worker are in records.
    members: BTreeMap<u64, Member>,
    /// Signals that are in no record yet, in the order of the stream.
    waiting: Vec<Heard>,
    fold: Fold,
}

#[derive(Debug, Clone, Copy, Default)]
struct Member {
    sequence: u64,
    epoch: u64,
    ended: bool,
    /// How many records in a row have nothing of it.
    absent: u64,
}

/// Records without a worker after which no record waits for it.
const ABSENT: u64 = 3;

/// What signals in the order of the stream add up to.
#[derive(Debug, Clone, Default)]
struct Fold {
    through: u64,
    /// Number of the latest signal of each worker, how many there were, and its latest measurement.
    members: BTreeMap<u64, (u64, u64, u64)>,
    figures: GatheredDelta,
    passed: Vec<(u64, u64, WorkerSignal)>,
}

impl Slot {
    /// Goes on after the last record of the slot, if there is one.
    pub(super) fn after(last: Option<&Record>) -> Slot {
        let Some(last) = last else {
            return Slot::default();
        };
        let members = last.members.iter().map(|reached| {
            let member = Member {
                sequence: reached.sequence,
                epoch: reached.epoch,
                ..Member::default()
            };
            (reached.worker, member)
        });
        Slot {
            number: last.number,
            through: last.through,
            members: members.collect(),
            ..Slot::default()
        }
    }

    /// Returns the number in the stream of the last signal that is in a record.
    pub(super) fn through(&self) -> u64 {
        self.through
    }

    /// Adds a signal.
    pub(super) fn hear(&mut self, heard: Heard) {
        if heard.number <= self.through.max(self.fold.through) {
            return;
        }
        self.fold.add(&heard, &self.members);
        self.waiting.push(heard);
    }

    /// Returns whether anything waits for a record.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns whether each worker that is there and has not ended has something that waits for a record.
    pub(super) fn is_complete(&self) -> bool {
        let at_work = self.members.iter();
        let at_work = at_work.filter(|(_, member)| !member.ended && member.absent < ABSENT);
        let mut workers = at_work.map(|(worker, _)| worker);
        self.is_waiting() && workers.all(|worker| self.fold.members.contains_key(worker))
    }

    /// Returns whether it has workers, and all of them have sent their last signal.
    pub(super) fn is_over(&self) -> bool {
        !self.members.is_empty() && self.members.values().all(|member| member.ended)
    }

    /// Takes what waits, as records of at most so many bytes of figures each as far as single signals have no more; one
    /// without figures if nothing waits.
    pub(super) fn take(&mut self, by: &str, most_bytes: usize) -> Vec<Record> {
        let waiting = std::mem::take(&mut self.waiting);
        let fold = std::mem::take(&mut self.fold);
        let mut records = Vec::new();
        self.take_fold(fold, &waiting, by, most_bytes, &mut records);
        records
    }

    fn take_fold(
        &mut self,
        mut fold: Fold,
        signals: &[Heard],
        by: &str,
        most_bytes: usize,
        records: &mut Vec<Record>,
    ) {
        let figures = match fold.figures.is_empty() {
            true => Vec::new(),
            false => fold.figures.encode(),
        };
        if figures.len() > most_bytes && signals.len() > 1 {
            let (first, rest) = signals.split_at(signals.len() / 2);
            for part in [first, rest] {
                let mut fold = Fold::default();
                part.iter().for_each(|heard| fold.add(heard, &self.members));
                self.take_fold(fold, part, by, most_bytes, records);
            }
            return;
        }
        for (worker, (sequence, _, epoch)) in &fold.members {
            let member = self.members.entry(*worker).or_default();
            (member.sequence, member.epoch) = (*sequence, member.epoch.max(*epoch));
        }
        for (worker, member) in &mut self.members {
            member.absent = match fold.members.contains_key(worker) {
                true => 0,
                false => member.absent + 1,
            };
        }
        for (worker, _, signal) in &fold.passed {
            if let (WorkerSignal::Ended { .. }, Some(member)) =
                (signal, self.members.get_mut(worker))
            {
                member.ended = true;
            }
        }
        self.number += 1;
        self.through = self.through.max(fold.through);
        let members = self.members.iter().map(|(worker, member)| Reached {
            worker: *worker,
            sequence: member.sequence,
            signals: fold
                .members
                .get(worker)
                .map_or(0, |(_, signals, _)| *signals),
            epoch: member.epoch,
        });
        records.push(Record {
            number: self.number,
            through: self.through,
            by: Some(by.to_owned()),
            members: members.collect(),
            kind: RecordKind::Gathered {
                figures,
                passed: fold.passed,
            },
        });
    }
}

impl Fold {
    /// Adds a signal, unless it is a repeat of one that is in a record of these members or was added before.
    fn add(&mut self, heard: &Heard, known: &BTreeMap<u64, Member>) {
        self.through = heard.number;
        let Some(worker) = worker_number(&heard.sender) else {
            return;
        };
        let Ok(Numbered { sequence, signal }) = messages::decode::<Numbered>(&heard.bytes) else {
            tracing::warn!(target: "lgoose::gaggle", "a signal of worker {} cannot be read", heard.sender);
            return;
        };
        let before = match self.members.get(&worker) {
            Some((latest, ..)) => *latest,
            None => known.get(&worker).map_or(0, |member| member.sequence),
        };
        if sequence <= before {
            return;
        }
        let (latest, signals, epoch) = self.members.entry(worker).or_default();
        (*latest, *signals) = (sequence, *signals + 1);
        if let WorkerSignal::Figures { reached, bytes } = &signal
            && let Ok(delta) = PortableDelta::decode(bytes)
        {
            *epoch = (*epoch).max(*reached);
            self.figures.add(worker, &delta);
            return;
        }
        // Figures that cannot be read are the manager's to tell of.
        self.passed.push((worker, sequence, signal));
    }
}
