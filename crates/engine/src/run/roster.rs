//! Roster of a run: each participant, a shard of this process or a worker, takes part from the start to its last
//! event. One that is lost or away is not waited for.

use crate::messages::departures::Departures;
use std::ops::Range;

/// The participants of a run by their numbers.
#[derive(Debug)]
pub(crate) struct Roster(Vec<Participant>);

#[derive(Debug)]
struct Participant {
    /// Its shards, by their numbers in the whole run.
    shards: Range<usize>,
    state: ParticipantState,
    /// Sequence number of its latest delta.
    sequence: u64,
    /// Number of the latest measurement that it has come to.
    epoch: u64,
    departures: Departures,
    /// Whether it has started all users that it will have at a time.
    all_started: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParticipantState {
    Busy,
    /// It had nothing left to do under that version of the directive.
    Idle(u64),
    Ended,
    Lost,
    /// It sends no signals; it may come back.
    Away,
}

impl Roster {
    /// Makes a roster of participants with these shards, all at work.
    pub(crate) fn new(shards: impl Iterator<Item = Range<usize>>) -> Roster {
        Roster(shards.map(Participant::new).collect())
    }

    /// Returns the shards of a participant.
    pub(crate) fn shards_of(&self, participant: usize) -> Range<usize> {
        self.0[participant].shards.clone()
    }

    /// Returns how many shards there are in all.
    pub(crate) fn shards(&self) -> usize {
        self.0.iter().map(|one| one.shards.len()).sum()
    }

    /// Adds a participant with these shards, and returns its number.
    pub(crate) fn join(&mut self, shards: Range<usize>) -> usize {
        self.0.push(Participant::new(shards));
        self.0.len() - 1
    }

    /// Records that a participant is silent, and returns whether it took part until now.
    pub(crate) fn away(&mut self, participant: usize) -> bool {
        let present = self.0[participant].is_present();
        if present {
            self.0[participant].state = ParticipantState::Away;
        }
        present
    }

    /// Records that a participant is back, and returns whether it was away.
    pub(crate) fn back(&mut self, participant: usize) -> bool {
        let away = self.0[participant].state == ParticipantState::Away;
        if away {
            self.0[participant].state = ParticipantState::Busy;
        }
        away
    }

    /// Gives up those who are away.
    pub(crate) fn drop_away(&mut self) {
        let away = self
            .0
            .iter_mut()
            .filter(|one| one.state == ParticipantState::Away);
        away.for_each(|one| one.state = ParticipantState::Lost);
    }

    /// Returns whether anybody who is away may come back.
    pub(crate) fn any_away(&self) -> bool {
        self.0.iter().any(|one| one.state == ParticipantState::Away)
    }

    /// Records a delta; false if it was delivered before.
    pub(crate) fn delivered(&mut self, participant: usize, sequence: u64) -> bool {
        let new = sequence > self.0[participant].sequence;
        self.0[participant].sequence = sequence.max(self.0[participant].sequence);
        new
    }

    /// Records that a participant has come to measurement number `epoch`.
    pub(crate) fn reached(&mut self, participant: usize, epoch: u64) {
        self.0[participant].epoch = epoch.max(self.0[participant].epoch);
    }

    /// Returns whether all who take part have come to that measurement.
    pub(crate) fn all_reached(&self, epoch: u64) -> bool {
        self.present().all(|shard| shard.epoch >= epoch)
    }

    /// Records that a participant has nothing left to do under that version of the directive.
    pub(crate) fn idle(&mut self, participant: usize, version: u64, departures: Departures) {
        if self.0[participant].is_present() {
            self.0[participant].state = ParticipantState::Idle(version);
        }
        self.0[participant].departures = departures;
    }

    /// Returns whether all who take part have nothing left to do under that version of the directive.
    pub(crate) fn all_idle(&self, version: u64) -> bool {
        let mut present = self.present();
        !self.is_over() && present.all(|shard| shard.state == ParticipantState::Idle(version))
    }

    /// Records that a participant has started all of its users.
    pub(crate) fn started_all(&mut self, participant: usize) {
        self.0[participant].all_started = true;
    }

    /// Returns whether all who take part have started all of their users; false if nobody takes part.
    pub(crate) fn have_all_started(&self) -> bool {
        !self.is_over() && self.present().all(|one| one.all_started)
    }

    /// Records that a participant has handed everything over.
    pub(crate) fn ended(&mut self, participant: usize, departures: Departures) {
        self.0[participant].state = ParticipantState::Ended;
        self.0[participant].departures = departures;
    }

    /// Records that a participant is lost, and returns whether it took part until now.
    pub(crate) fn lost(&mut self, participant: usize) -> bool {
        let present = self.0[participant].is_present();
        if present {
            self.0[participant].state = ParticipantState::Lost;
        }
        present
    }

    /// Returns whether nobody takes part any more.
    pub(crate) fn is_over(&self) -> bool {
        self.present().next().is_none()
    }

    /// Returns whether everyone has handed everything over.
    pub(crate) fn is_complete(&self) -> bool {
        self.0
            .iter()
            .all(|shard| shard.state == ParticipantState::Ended)
    }

    /// Returns the participants that still take part.
    pub(crate) fn missing(&self) -> Vec<usize> {
        let all = self.0.iter().enumerate();
        let present = all.filter(|(_, shard)| shard.is_present());
        present.map(|(index, _)| index).collect()
    }

    /// Returns the participants that have not handed everything over.
    pub(crate) fn without_end(&self) -> impl Iterator<Item = usize> {
        let all = self.0.iter().enumerate();
        all.filter(|(_, one)| one.state != ParticipantState::Ended)
            .map(|(index, _)| index)
    }

    /// Returns how the users of all participants ended, as far as that is known.
    pub(crate) fn departures(&self) -> Departures {
        let all = self.0.iter().map(|shard| shard.departures);
        all.fold(Departures::default(), Departures::and)
    }

    fn present(&self) -> impl Iterator<Item = &Participant> {
        self.0.iter().filter(|shard| shard.is_present())
    }
}

impl Participant {
    /// Makes a participant that is at work.
    fn new(shards: Range<usize>) -> Participant {
        Participant {
            shards,
            state: ParticipantState::Busy,
            sequence: 0,
            epoch: 0,
            departures: Departures::default(),
            all_started: false,
        }
    }

    fn is_present(&self) -> bool {
        matches!(
            self.state,
            ParticipantState::Busy | ParticipantState::Idle(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_shard_holds_up_neither_a_measurement_nor_the_end() {
        let mut roster = Roster::new((0..3).map(|one| one..one + 1));
        roster.reached(0, 1);
        roster.reached(2, 2);
        assert!(!roster.all_reached(1));
        assert!(roster.lost(1) && !roster.lost(1));
        assert!(roster.all_reached(1) && !roster.all_reached(2));
        roster.idle(0, 4, Departures::default());
        roster.idle(2, 3, Departures::default());
        assert!(!roster.all_idle(4));
        roster.idle(2, 4, Departures::default());
        roster.idle(1, 4, Departures::default());
        assert!(roster.all_idle(4) && !roster.is_over());
        assert_eq!(roster.missing(), [0, 2]);
        roster.ended(0, Departures::default());
        roster.ended(2, Departures::default());
        assert!(roster.is_over() && !roster.is_complete());
    }

    #[test]
    fn who_is_away_is_not_waited_for_until_it_is_back() {
        let mut roster = Roster::new([0..2, 2..5].into_iter());
        assert_eq!((roster.shards(), roster.shards_of(1)), (5, 2..5));
        assert!(roster.away(1) && !roster.away(1) && roster.any_away());
        roster.idle(0, 0, Departures::default());
        assert!(roster.all_idle(0));
        assert!(roster.back(1) && !roster.back(1) && !roster.any_away());
        assert!(!roster.all_idle(0));
    }

    #[test]
    fn what_is_delivered_twice_counts_once() {
        let mut roster = Roster::new((0..2).map(|one| one..one + 1));
        let deliveries = [(0, 1), (0, 2), (1, 1), (0, 2), (0, 1), (0, 3)];
        let new = deliveries.map(|(shard, sequence)| roster.delivered(shard, sequence));
        assert_eq!(new, [true, true, true, false, false, true]);
    }
}
