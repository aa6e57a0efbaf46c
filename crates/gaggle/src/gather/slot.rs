//! State of a slot at its gather: signals that are added up but not in a record yet.

use super::record::{RecordKind, SignalProgress, SlotRecord};
use crate::messages::{self, NumberedSignal};
use crate::names;
use crate::reading::RunMessage;
use lgoose_engine::WorkerSignal;
use lgoose_metrics::{GatheredDelta, PortableDelta};
use std::collections::BTreeMap;

/// A slot as its gather knows it.
#[derive(Debug, Default)]
pub(super) struct SlotState {
    /// Number of the last record, 0 before the first.
    number: u64,
    /// Sequence number in the stream of the last signal that is in a record.
    through: u64,
    /// Progress of the records for each worker.
    members: BTreeMap<u64, SlotMember>,
    /// Signals that are in no record yet, in the order of the stream.
    waiting: Vec<RunMessage>,
    fold: SignalSum,
}

#[derive(Debug, Clone, Copy, Default)]
struct SlotMember {
    sequence: u64,
    epoch: u64,
    ended: bool,
    /// Number of consecutive records without any of its signals.
    absent: u64,
}

/// Number of consecutive records without a worker after which records no longer wait for it.
const ABSENT: u64 = 3;

/// Sum of signals, in the order of the stream.
#[derive(Debug, Clone, Default)]
struct SignalSum {
    through: u64,
    /// Number of the latest signal of each worker, the count of its signals, and its latest measurement.
    members: BTreeMap<u64, (u64, u64, u64)>,
    figures: GatheredDelta,
    passed: Vec<(u64, u64, WorkerSignal)>,
}

impl SlotState {
    /// Continues after the last record of the slot, if there is one.
    pub(super) fn after(last: Option<&SlotRecord>) -> SlotState {
        let Some(last) = last else {
            return SlotState::default();
        };
        let members = last.members.iter().map(|reached| {
            let member = SlotMember {
                sequence: reached.sequence,
                epoch: reached.epoch,
                ..SlotMember::default()
            };
            (reached.worker, member)
        });
        SlotState {
            number: last.number,
            through: last.through,
            members: members.collect(),
            ..SlotState::default()
        }
    }

    /// Returns the sequence number in the stream of the last signal that is in a record.
    pub(super) fn through(&self) -> u64 {
        self.through
    }

    /// Adds a signal.
    pub(super) fn receive(&mut self, message: RunMessage) {
        if message.number <= self.through.max(self.fold.through) {
            return;
        }
        self.fold.add(&message, &self.members);
        self.waiting.push(message);
    }

    /// Returns whether any signal waits for a record.
    fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns whether each worker that is at work has a signal that waits for a record.
    pub(super) fn is_complete(&self) -> bool {
        let at_work = self.members.iter();
        let at_work = at_work.filter(|(_, member)| !member.ended && member.absent < ABSENT);
        let mut workers = at_work.map(|(worker, _)| worker);
        self.is_waiting() && workers.all(|worker| self.fold.members.contains_key(worker))
    }

    /// Takes the waiting signals as records of at most `most_bytes` of figures and signals each; only a record of a single
    /// signal may have more. If nothing waits, it is one record with nothing in it.
    pub(super) fn take(&mut self, by: &str, most_bytes: usize) -> Vec<SlotRecord> {
        let waiting = std::mem::take(&mut self.waiting);
        let fold = std::mem::take(&mut self.fold);
        let mut records = Vec::new();
        self.take_fold(fold, &waiting, by, most_bytes, &mut records);
        records
    }

    fn take_fold(
        &mut self,
        mut fold: SignalSum,
        signals: &[RunMessage],
        by: &str,
        most_bytes: usize,
        records: &mut Vec<SlotRecord>,
    ) {
        let figures = if fold.figures.is_empty() {
            Vec::new()
        } else {
            fold.figures.encode()
        };
        let passed = messages::encode(&fold.passed).len();
        if figures.len() + passed > most_bytes && signals.len() > 1 {
            let (first, rest) = signals.split_at(signals.len() / 2);
            for part in [first, rest] {
                let mut fold = SignalSum::default();
                part.iter()
                    .for_each(|message| fold.add(message, &self.members));
                self.take_fold(fold, part, by, most_bytes, records);
            }
            return;
        }
        for (worker, (sequence, _, epoch)) in &fold.members {
            let member = self.members.entry(*worker).or_default();
            (member.sequence, member.epoch) = (*sequence, member.epoch.max(*epoch));
        }
        for (worker, member) in &mut self.members {
            member.absent = if fold.members.contains_key(worker) {
                0
            } else {
                member.absent + 1
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
        let members = self.members.iter().map(|(worker, member)| SignalProgress {
            worker: *worker,
            sequence: member.sequence,
            signals: fold
                .members
                .get(worker)
                .map_or(0, |(_, signals, _)| *signals),
            epoch: member.epoch,
        });
        records.push(SlotRecord {
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

impl SignalSum {
    /// Adds a signal, unless these members' records already have it or it was added before.
    fn add(&mut self, message: &RunMessage, members: &BTreeMap<u64, SlotMember>) {
        self.through = message.number;
        let Some(worker) = names::worker_number(&message.sender) else {
            return;
        };
        let before = match self.members.get(&worker) {
            Some((latest, ..)) => *latest,
            None => members.get(&worker).map_or(0, |member| member.sequence),
        };
        let read = messages::decode_signal(&message.bytes, before);
        let Ok(NumberedSignal { sequence, signal }) = read else {
            tracing::warn!(target: "lgoose::gaggle", "a signal of worker {} cannot be read", message.sender);
            return;
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
        // The manager reports figures that cannot be read.
        self.passed.push((worker, sequence, signal));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lgoose_metrics::{Effort, Phases, Recorder, Sample, SampleResponse, Traffic};
    use std::time::{Duration, Instant};

    /// Returns workers' signals in the order of the stream: figures of several requests each, and an end for each
    /// worker.
    fn signals(workers: u64, seconds: u32) -> Vec<RunMessage> {
        let start = Instant::now();
        let mut recorders: Vec<Recorder> = (0..workers)
            .map(|shard| Recorder::new(shard as usize).of_run(start, start, None))
            .collect();
        let mut messages = Vec::new();
        let mut push = |worker: u64, sequence: u32, signal: WorkerSignal| {
            let number = 10 + 2 * messages.len() as u64;
            let numbered = NumberedSignal {
                sequence: u64::from(sequence),
                signal,
            };
            messages.push(RunMessage {
                subject: String::new(),
                stored_at: 0,
                is_last: false,
                sender: names::identity("w", worker + 1_000),
                number,
                bytes: messages::encode(&numbered),
            });
        };
        for second in 0..seconds {
            for (worker, recorder) in recorders.iter_mut().enumerate() {
                for n in 0..200 {
                    let request = recorder.request("GET", &format!("page {}", n % 7));
                    let end =
                        start + Duration::from_secs(second.into()) + Duration::from_millis(n * 4);
                    let latency = Duration::from_micros((n * 7_919 + worker as u64 * 31) % 4_000);
                    let latency = latency.min(end - start);
                    recorder.record(&Sample {
                        request,
                        start: end - latency,
                        latency,
                        delay: None,
                        phases: Phases::default(),
                        response: SampleResponse::of_status(200),
                        redirects: 0,
                        retries: 0,
                        traffic: Traffic::received(n),
                        failure: None,
                        context: None,
                    });
                }
                recorder.effort(Effort::default());
                recorder.come_to(start + Duration::from_secs(u64::from(second) + 1));
                let bytes = PortableDelta::from(&recorder.take()).encode();
                push(
                    worker as u64,
                    second + 1,
                    WorkerSignal::Figures { reached: 0, bytes },
                );
            }
        }
        for worker in 0..workers {
            let ended = WorkerSignal::Ended {
                departures: Default::default(),
                at: Duration::from_secs(u64::from(seconds)),
            };
            push(worker, seconds + 1, ended);
        }
        messages
    }

    /// Returns the figures of all records, and how many signals they account for.
    fn whole(records: &[SlotRecord]) -> (GatheredDelta, u64, usize) {
        let (mut sum, mut signals, mut ended) = (PortableDelta::default(), 0, 0);
        for record in records {
            signals += record.members.iter().map(|one| one.signals).sum::<u64>();
            let RecordKind::Gathered { figures, passed } = &record.kind else {
                panic!("{record:?}");
            };
            if !figures.is_empty() {
                sum.merge(GatheredDelta::decode(figures).expect("figures").whole());
            }
            ended += passed.len();
        }
        let mut all = GatheredDelta::default();
        all.add(0, &sum);
        (all, signals, ended)
    }

    fn one_by_one(signals: &[RunMessage]) -> GatheredDelta {
        let mut all = PortableDelta::default();
        for message in signals {
            let numbered: NumberedSignal = messages::decode(&message.bytes).expect("a signal");
            if let WorkerSignal::Figures { bytes, .. } = numbered.signal {
                all.merge(&PortableDelta::decode(&bytes).expect("figures"));
            }
        }
        let mut gathered = GatheredDelta::default();
        gathered.add(0, &all);
        gathered
    }

    #[test]
    fn records_add_up_to_the_signals_whoever_dies_between_them() {
        let signals = signals(5, 6);
        let mut stream: Vec<SlotRecord> = Vec::new();
        // Each gather receives the signals that are in no record yet, and dies after two records or while writing one
        // that nobody receives.
        for life in 0.. {
            let mut slot = SlotState::after(stream.last());
            let from = signals.partition_point(|message| message.number <= slot.through());
            let mut remaining = signals[from..].iter();
            for _ in 0..2 {
                for message in remaining.by_ref().take(4) {
                    slot.receive(message.clone());
                    // A repeat with another sequence number, as after a long outage.
                    slot.receive(RunMessage {
                        number: message.number + 1,
                        ..message.clone()
                    });
                }
                let most_bytes = if life == 1 { 3_000 } else { usize::MAX };
                stream.extend(slot.take("me", most_bytes));
            }
            remaining
                .by_ref()
                .take(3)
                .for_each(|message| slot.receive(message.clone()));
            let _lost = slot.take("me", usize::MAX);
            if from == signals.len() {
                break;
            }
        }
        let (all, counted, ended) = whole(&stream);
        assert_eq!((counted, ended), (signals.len() as u64, 5));
        assert_eq!(all.whole(), one_by_one(&signals).whole());
        let numbers: Vec<u64> = stream.iter().map(|record| record.number).collect();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    }

    #[test]
    fn records_stay_below_a_size() {
        let signals = signals(8, 4);
        let mut slot = SlotState::default();
        signals
            .iter()
            .for_each(|message| slot.receive(message.clone()));
        let records = slot.take("me", 4_000);
        assert!(records.len() > 3, "{}", records.len());
        for record in &records {
            let alone = record.members.iter().map(|one| one.signals).sum::<u64>() == 1;
            let RecordKind::Gathered { figures, .. } = &record.kind else {
                panic!("{record:?}");
            };
            assert!(figures.len() <= 4_000 || alone, "{}", figures.len());
        }
        assert_eq!(whole(&records).0.whole(), one_by_one(&signals).whole());
        assert!(!slot.is_waiting());
        assert_eq!(
            records.last().map(|last| last.through),
            signals.last().map(|last| last.number)
        );
    }

    #[test]
    fn a_record_waits_for_all_who_are_there() {
        let signals = signals(3, 9);
        let mut slot = SlotState::default();
        for second in signals[..27].chunks(3) {
            for (at, message) in second.iter().enumerate() {
                // The third falls silent after two seconds.
                if at == 2 && message.number >= 10 + 12 {
                    continue;
                }
                slot.receive(message.clone());
            }
            let silent = second[0].number >= 10 + 12;
            let waited_long = second[0].number >= 10 + 12 + 18;
            assert_eq!(
                slot.is_complete(),
                !silent || waited_long,
                "{}",
                second[0].number
            );
            slot.take("me", usize::MAX);
        }
    }
}
