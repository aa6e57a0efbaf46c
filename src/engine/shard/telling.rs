//! What a shard tells its director about its users as a whole: that all have been started, and that none is left.

use super::Shard;
use super::channels::Channels;
use crate::engine::load_model::crew::Crew;
use crate::engine::protocol::signal::SignalKind;

impl Shard {
    /// Tells the director, once, that this shard has started as many users as it will have at a time.
    pub(super) fn tell_started(&mut self, channels: &Channels) {
        let timetable = &self.directive.timetable;
        let started = |(lane, crew): (usize, &Crew)| crew.has_started_all(timetable, lane);
        if !self.told_started && self.crews.iter().enumerate().all(started) {
            self.told_started = true;
            channels.send(SignalKind::AllStarted);
        }
    }

    /// Tells the director that all users have ended and none is to come, unless the run is steered.
    pub(super) fn rest(&mut self, channels: &Channels) {
        let timetable = &self.directive.timetable;
        let elapsed = self.directive.clock.elapsed(self.context.now());
        let mut crews = self.crews.iter().enumerate();
        let over = self.users.is_empty()
            && self.next.is_none()
            && crews.all(|(lane, crew)| crew.is_over(timetable, lane, elapsed));
        if over && self.idle != Some(self.directive.version) {
            self.idle = Some(self.directive.version);
            channels.send(SignalKind::Idle {
                version: self.directive.version,
                departures: self.departures(),
            });
        }
    }
}
