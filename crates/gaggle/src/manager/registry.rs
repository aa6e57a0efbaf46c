//! Registry of a run's workers: their identities, states and shards.

use super::events::EventWorkers;
use super::hand_out::ClockOffsets;
use crate::clock::ClockOffset;
use crate::gather::SignalProgress;
use crate::messages::{self, RecordedMember, WorkerAssignment, WorkerPresence};
use crate::names;
use lgoose_base::allotment::ReservedNumbers;
use lgoose_base::error::Error;
use lgoose_base::units::counted;
use lgoose_engine::{ShardEventKind, WorkerSignal};
use lgoose_metrics::WorkerIdentity;
use lgoose_plan::config::LoadPart;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;
use tokio::time::Instant;

/// Time without a signal after which a worker counts as away.
pub(super) const SILENCE: Duration = Duration::from_millis(4_500);

/// A worker of the run.
#[derive(Debug, Clone)]
pub(super) struct RegisteredWorker {
    pub(super) presence: WorkerPresence,
    /// The number in its identity; `None` if the identity has none.
    pub(super) worker: Option<u64>,
    pub(super) place: WorkerAssignment,
    /// Its shards in the figures.
    pub(super) shards: Range<usize>,
    pub(super) offset: Option<ClockOffset>,
    /// Number of its latest signal.
    pub(super) sequence: u64,
    /// Time of its last signal.
    pub(super) last_signal: Instant,
    /// Whether it counts as away, because it was silent for too long.
    pub(super) away: bool,
    /// Whether it has sent its last signal.
    pub(super) ended: bool,
    /// Whether it was released, so that it will not respond any more.
    pub(super) released: bool,
    /// Whether another worker has taken its place.
    pub(super) replaced: bool,
    /// Numbers that were reserved before in its place.
    pub(super) reserved: ReservedNumbers,
    /// Messages in its name that could not be read.
    pub(super) skipped: u64,
}

/// Consequences of the arrival of a worker's signals.
#[derive(Debug, Default)]
pub(super) struct SignalArrival {
    /// News for the director.
    pub(super) signals: Vec<ShardEventKind>,
    /// Whether the worker was away before.
    pub(super) is_back: bool,
}

/// All workers of the run, by their numbers.
#[derive(Debug, Clone)]
pub(super) struct WorkerRegistry(pub(super) Vec<RegisteredWorker>);

impl WorkerRegistry {
    /// Gives each worker as many shards as it has threads, with consecutive numbers. With `reserves`, others may take their
    /// places.
    pub(super) fn new(workers: Vec<WorkerPresence>, reserves: bool) -> WorkerRegistry {
        let of: u64 = workers.iter().map(|worker| worker.threads).sum();
        let mut first = 0;
        let members = workers.into_iter().map(|presence| {
            let shares = first..first + presence.threads;
            first = shares.end;
            let place = WorkerAssignment {
                part: LoadPart::of_shares(shares.clone(), of),
                first_shard: shares.start,
                slot: None,
                reserves,
            };
            RegisteredWorker::new(presence, place)
        });
        WorkerRegistry(members.collect())
    }

    /// Records the offsets of clocks.
    pub(super) fn note(&mut self, offsets: ClockOffsets) {
        for (number, offset) in offsets.0 {
            self.0[number].offset = Some(offset);
        }
    }

    /// Returns the slot of the workers with exactly these labels, if they have one.
    fn slot_of(&self, labels: &BTreeMap<String, String>) -> Option<String> {
        let mut alike = self.0.iter().filter(|one| one.presence.labels == *labels);
        alike.find_map(|one| one.place.slot.clone())
    }

    /// Returns the workers as the figures name them.
    pub(super) fn identities(&self) -> Vec<WorkerIdentity> {
        self.0.iter().map(RegisteredWorker::identity).collect()
    }

    /// Returns the number of each worker, by the number in its identity.
    pub(super) fn numbers(&self) -> BTreeMap<u64, usize> {
        let all = self.0.iter().enumerate();
        all.filter_map(|(number, member)| Some((member.worker?, number)))
            .collect()
    }

    /// Returns the number of the worker with that identity.
    pub(super) fn number_of(&self, id: &str) -> Option<usize> {
        self.0.iter().position(|member| member.presence.id == id)
    }

    /// Records that `signals` more signals of a worker have come after `silent` without any, of which the last has the
    /// number `sequence`. Returns `None` if they came before.
    pub(super) fn come_to(
        &mut self,
        number: usize,
        sequence: u64,
        signals: u64,
        silent: Duration,
    ) -> Option<SignalArrival> {
        let member = &mut self.0[number];
        if sequence <= member.sequence {
            return None;
        }
        let name = &member.presence.name;
        let mut come = SignalArrival::default();
        if std::mem::take(&mut member.away) {
            let seconds = silent.as_secs_f64();
            come.signals.push(ShardEventKind::Back(format!(
                "worker '{name}' is back after {seconds:.0} s; what it measured meanwhile counts"
            )));
            come.is_back = true;
        }
        let missing = (sequence - member.sequence).saturating_sub(signals);
        if missing > 0 {
            come.signals.push(ShardEventKind::Warning(format!(
                "{missing} deliveries of worker '{name}' are missing: neither it nor the broker has kept them"
            )));
        }
        member.sequence = sequence;
        Some(come)
    }

    /// Takes a worker's signal with that number, and returns it in the form for the director.
    ///
    /// # Errors
    /// Trouble with figures that cannot be read.
    pub(super) fn accept(
        &mut self,
        number: usize,
        sequence: u64,
        signal: WorkerSignal,
    ) -> Result<ShardEventKind, Error> {
        let member = &mut self.0[number];
        let kind = signal.kind(sequence, &member.presence.name)?;
        match &kind {
            ShardEventKind::Ended { .. } => member.ended = true,
            ShardEventKind::Leaving(_) => member.released = true,
            _ => {}
        }
        Ok(kind)
    }

    /// Counts a message in the name of a worker that cannot be read, and returns the warning if one is due. The worker's
    /// own signals, which may have been the same number, still count.
    pub(super) fn skip(&mut self, number: usize, why: &Error) -> Option<ShardEventKind> {
        let member = &mut self.0[number];
        member.skipped += 1;
        let (messages, name) = (counted(member.skipped, "message"), member.name());
        let text = format!("{messages} of worker '{name}' skipped: {}", why.text());
        messages::is_due(member.skipped).then_some(ShardEventKind::Warning(text))
    }

    /// Makes the members that take the place of another: parts of its part of the load, with new shards in the figures.
    pub(super) fn successors(
        &self,
        number: usize,
        claimed: Vec<WorkerPresence>,
    ) -> Vec<RegisteredWorker> {
        let ends = self.0.iter().map(|member| member.shards.end);
        let lost = &self.0[number].place;
        let (mut first_shard, mut first) = (ends.max().unwrap_or(0) as u64, 0);
        let successors = claimed.into_iter().map(|presence| {
            let shares = first..first + presence.threads;
            let place = WorkerAssignment {
                part: lost.part.within(shares.clone()),
                first_shard,
                slot: self.slot_of(&presence.labels),
                reserves: lost.reserves,
            };
            (first, first_shard) = (shares.end, first_shard + presence.threads);
            RegisteredWorker::new(presence, place)
        });
        successors.collect()
    }

    /// Returns the workers that can run more threads beside their own: each process once, those with the fewest first.
    pub(super) fn hosts(&self) -> Vec<&RegisteredWorker> {
        let is_at_work =
            |member: &&RegisteredWorker| !member.away && !member.ended && !member.released;
        let mut hosts: Vec<(usize, &RegisteredWorker)> = Vec::new();
        for member in self.0.iter().filter(is_at_work) {
            let threads = member.shards.len();
            match hosts.iter_mut().find(|(_, host)| member.is_beside(host)) {
                Some((existing, _)) => *existing += threads,
                None => hosts.push((threads, member)),
            }
        }
        hosts.sort_by_key(|(threads, _)| *threads);
        hosts.into_iter().map(|(_, host)| host).collect()
    }

    /// Puts a member in the place of another, and returns its number.
    pub(super) fn replace(&mut self, number: usize, member: RegisteredWorker) -> usize {
        self.0[number].replaced = true;
        self.0.push(member);
        self.0.len() - 1
    }

    /// Returns the workers of an event; `None` if none can run it.
    pub(super) fn event_workers(&self) -> Option<EventWorkers> {
        let mut all = self.0.iter();
        let runs = all.find(|member| !member.away && !member.released)?;
        let present = self.0.iter().filter(|member| !member.away);
        let ids = present.map(|member| &member.presence.id);
        let others = ids.filter(|id| **id != runs.presence.id);
        Some(EventWorkers {
            runs: (runs.presence.id.clone(), runs.name().to_owned()),
            others: others.cloned().collect(),
        })
    }

    /// Returns the identities of all workers.
    pub(super) fn ids(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|member| &member.presence.id)
    }

    /// Returns workers that have been silent for too long, counted from `since` at the earliest; each only once.
    pub(super) fn newly_away(&mut self, since: Instant) -> Vec<usize> {
        let all = self.0.iter_mut().enumerate();
        let silent = all.filter(|(_, member)| {
            !member.away && !member.ended && member.last_signal.max(since).elapsed() > SILENCE
        });
        silent
            .map(|(number, member)| {
                member.away = true;
                number
            })
            .collect()
    }

    /// Returns how far the signals of a slot's workers are accounted for.
    pub(super) fn reached(&self, slot: &str) -> Vec<SignalProgress> {
        let members = self.0.iter().filter(|member| member.sequence > 0);
        let members = members.filter(|member| member.place.slot.as_deref() == Some(slot));
        let reached = members.filter_map(|member| {
            Some(SignalProgress {
                worker: member.worker?,
                sequence: member.sequence,
                signals: 0,
                epoch: 0,
            })
        });
        reached.collect()
    }

    /// Returns whether any worker of a slot still has to send its last signal.
    pub(super) fn any_at_work(&self, slot: &str) -> bool {
        let mut members = self.0.iter();
        members.any(|member| member.place.slot.as_deref() == Some(slot) && !member.ended)
    }

    /// Counts the silence of a slot's workers from now on: their earlier signals may wait for a gather.
    pub(super) fn excuse(&mut self, slot: &str, now: Instant) {
        for member in &mut self.0 {
            if member.place.slot.as_deref() == Some(slot) && !member.away {
                member.last_signal = now;
            }
        }
    }
}

impl RegisteredWorker {
    pub(super) fn new(presence: WorkerPresence, place: WorkerAssignment) -> RegisteredWorker {
        let first = place.first_shard as usize;
        RegisteredWorker {
            shards: first..first + presence.threads as usize,
            worker: names::worker_number(&presence.id),
            presence,
            place,
            offset: None,
            sequence: 0,
            last_signal: Instant::now(),
            away: false,
            ended: false,
            released: false,
            replaced: false,
            reserved: ReservedNumbers::new(),
            skipped: 0,
        }
    }

    /// Goes on where a lost worker, of whose part it has one, had reserved no more than before or `own`.
    pub(super) fn go_on_after(&mut self, lost: &RegisteredWorker, own: &ReservedNumbers) {
        let mut reserved = lost.reserved.clone();
        // Before users begin, a worker reserves from 0 on.
        for (name, number) in own {
            let first = reserved.entry(name.clone()).or_default();
            *first = (*number).max(*first);
        }
        for number in reserved.values_mut() {
            *number = self.place.part.rows(lost.place.part.row(*number));
        }
        self.reserved = reserved;
    }

    /// Returns whether both are of one process.
    fn is_beside(&self, other: &RegisteredWorker) -> bool {
        self.presence.process == other.presence.process
    }

    /// Returns whether no worker has its part of the load.
    pub(super) fn is_lost(&self) -> bool {
        (self.away || self.released) && !self.replaced
    }

    /// Returns the sentence that reports the loss of the worker.
    pub(super) fn lost(&self) -> String {
        format!(
            "worker '{}' was lost: nothing has been heard from it for 5 s",
            self.name()
        )
    }

    pub(super) fn name(&self) -> &str {
        &self.presence.name
    }

    /// Returns the worker as the figures name it.
    pub(super) fn identity(&self) -> WorkerIdentity {
        let presence = &self.presence;
        WorkerIdentity {
            name: presence.name.clone(),
            labels: presence.labels.clone(),
            version: presence.version.clone(),
            threads: presence.threads as usize,
            shards: self.shards.clone(),
            offset: self.offset.map_or(0, |offset| offset.wall),
            uncertainty: Duration::from_nanos(self.offset.map_or(0, |offset| offset.uncertainty)),
        }
    }

    /// Returns this worker for the record of the run.
    pub(super) fn recorded(&self) -> RecordedMember {
        RecordedMember {
            presence: self.presence.clone(),
            place: self.place.clone(),
            offset: self.offset,
        }
    }
}

impl From<RecordedMember> for RegisteredWorker {
    fn from(recorded: RecordedMember) -> RegisteredWorker {
        RegisteredWorker {
            offset: recorded.offset,
            ..RegisteredWorker::new(recorded.presence, recorded.place)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(id: &str, threads: u64) -> WorkerPresence {
        WorkerPresence {
            id: id.to_owned(),
            name: id.to_owned(),
            version: String::new(),
            labels: Default::default(),
            threads,
            cores: threads,
            run: None,
            wall: 0,
            process: id.len() as u64,
        }
    }

    #[test]
    fn shards_are_dealt_out_by_threads_and_a_replacement_has_new_ones_for_the_same_part() {
        let mut registry =
            WorkerRegistry::new(vec![worker("a", 1), worker("b", 3), worker("c", 2)], true);
        let shards = registry
            .identities()
            .into_iter()
            .map(|worker| worker.shards);
        assert_eq!(shards.collect::<Vec<_>>(), [0..1, 1..4, 4..6]);
        let mut successors = registry.successors(1, vec![worker("d", 3)]);
        let number = registry.replace(1, successors.remove(0));
        assert_eq!((number, registry.number_of("d")), (3, Some(3)));
        assert_eq!(registry.0[3].place.part, registry.0[1].place.part);
        assert_eq!(registry.0[3].shards, 6..9);
        assert!(registry.0[1].replaced);
    }

    #[test]
    fn those_that_share_a_place_have_all_that_is_left_of_it_and_nothing_twice() {
        let registry =
            WorkerRegistry::new(vec![worker("a", 1), worker("b", 3), worker("c", 2)], true);
        let lost = &registry.0[1];
        for reserved in 0..40 {
            let mut successors = registry.successors(1, vec![worker("d", 1), worker("e", 2)]);
            let shards = successors.iter().map(|one| one.shards.clone());
            assert_eq!(shards.collect::<Vec<_>>(), [6..7, 7..9]);
            let own = ReservedNumbers::from([("rows".to_owned(), reserved)]);
            let rows = successors.iter_mut().flat_map(|one| {
                one.go_on_after(lost, &own);
                let part = one.place.part;
                (one.reserved["rows"]..60).map(move |n| part.row(n))
            });
            let mut rows: Vec<u64> = rows.collect();
            rows.sort_unstable();
            let left = (reserved..).map(|n| lost.place.part.row(n));
            let left: Vec<u64> = left.take_while(|row| *row < 170).collect();
            rows.retain(|row| *row < 170);
            assert_eq!(rows, left, "{reserved}");
        }
    }
}
