//! Roster of a run: each shard takes part from the start to its last signal. One that is lost is waited for no
//! longer.

use crate::engine::protocol::departures::Departures;

/// The shards of a run by their numbers.
#[derive(Debug)]
pub(crate) struct Roster(Vec<Participant>);

#[derive(Debug)]
struct Participant {
    state: State,
    /// Sequence number of its latest delta.
    sequence: u64,
    /// Number of the latest measurement that it has come to.
    epoch: u64,
    departures: Departures,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Busy,
    /// It had nothing left to do under the directive of that version.
    Idle(u64),
    Ended,
    Lost,
}

impl Roster {
    /// Makes a roster of so many shards, all at work.
    pub(crate) fn new(shards: usize) -> Roster {
        let participant = || Participant {
            state: State::Busy,
            sequence: 0,
            epoch: 0,
            departures: Departures::default(),
        };
        Roster(std::iter::repeat_with(participant).take(shards).collect())
    }

    /// Notes a delta; false if it was delivered before.
    pub(crate) fn delivered(&mut self, shard: usize, sequence: u64) -> bool {
        let new = sequence > self.0[shard].sequence;
        self.0[shard].sequence = sequence.max(self.0[shard].sequence);
        new
    }

    /// Notes that a shard has come to measurement number `epoch`.
    pub(crate) fn reached(&mut self, shard: usize, epoch: u64) {
        self.0[shard].epoch = epoch.max(self.0[shard].epoch);
    }

    /// Returns whether all shards that take part have come to that measurement.
    pub(crate) fn all_reached(&self, epoch: u64) -> bool {
        self.present().all(|shard| shard.epoch >= epoch)
    }

    /// Notes that a shard has nothing left to do under the directive of that version.
    pub(crate) fn idle(&mut self, shard: usize, version: u64, departures: Departures) {
        if self.0[shard].is_present() {
            self.0[shard].state = State::Idle(version);
        }
        self.0[shard].departures = departures;
    }

    /// Returns whether no shard that takes part has anything left to do under that directive.
    pub(crate) fn all_idle(&self, version: u64) -> bool {
        let mut present = self.present();
        present.all(|shard| shard.state == State::Idle(version))
    }

    /// Notes that a shard has handed everything over.
    pub(crate) fn ended(&mut self, shard: usize, departures: Departures) {
        self.0[shard].state = State::Ended;
        self.0[shard].departures = departures;
    }

    /// Notes that a shard is lost, and returns whether it took part until now.
    pub(crate) fn lost(&mut self, shard: usize) -> bool {
        let present = self.0[shard].is_present();
        if present {
            self.0[shard].state = State::Lost;
        }
        present
    }

    /// Returns whether no shard takes part any more.
    pub(crate) fn is_over(&self) -> bool {
        self.present().next().is_none()
    }

    /// Returns whether every shard has handed everything over.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.iter().all(|shard| shard.state == State::Ended)
    }

    /// Returns the shards that still take part.
    pub(crate) fn missing(&self) -> Vec<usize> {
        let all = self.0.iter().enumerate();
        let present = all.filter(|(_, shard)| shard.is_present());
        present.map(|(index, _)| index).collect()
    }

    /// Returns how the users of all shards ended, as far as that is known.
    pub(crate) fn departures(&self) -> Departures {
        let all = self.0.iter().map(|shard| shard.departures);
        all.fold(Departures::default(), Departures::and)
    }

    fn present(&self) -> impl Iterator<Item = &Participant> {
        self.0.iter().filter(|shard| shard.is_present())
    }
}

impl Participant {
    fn is_present(&self) -> bool {
        matches!(self.state, State::Busy | State::Idle(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_shard_holds_up_neither_a_measurement_nor_the_end() {
        let mut roster = Roster::new(3);
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
    fn what_is_delivered_twice_counts_once() {
        let mut roster = Roster::new(2);
        let told = [(0, 1), (0, 2), (1, 1), (0, 2), (0, 1), (0, 3)];
        let new = told.map(|(shard, sequence)| roster.delivered(shard, sequence));
        assert_eq!(new, [true, true, true, false, false, true]);
    }
}
