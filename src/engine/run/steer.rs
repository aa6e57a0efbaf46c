//! What a view may change while users run: how many there are, how often iterations start, and whether the
//! run goes on or pauses.

use super::director::Director;
use crate::config::MOST_USERS;
use crate::control::Command;
use crate::engine::load_model::timetable::Timetable;
use crate::metrics::EventKind;
use crate::units;
use std::sync::Arc;

impl Director {
    /// Obeys a command that leaves the run going. Nothing is steered any more once it stops.
    pub(crate) fn steer(&mut self, command: Command) {
        if self.is_stopping() {
            return;
        }
        let now = self.now();
        match command {
            Command::Pause => {
                self.reset_if_due();
                self.store.pause(now);
                self.tell(|directive| directive.clock.pause(now));
            }
            Command::Resume => {
                self.store.resume(now);
                self.tell(|directive| directive.clock.resume(now));
            }
            Command::ResetStatistics => self.reset_as_asked(),
            _ => {
                let directive = self.directives.borrow().clone();
                let elapsed = directive.clock.elapsed(now);
                let Some(steered) = self.steered(&directive.timetable, elapsed, command) else {
                    return;
                };
                if let Some(text) = steered_to(command) {
                    self.store.happened(now, EventKind::Steered, text);
                }
                self.tell(|directive| {
                    directive.timetable = Arc::new(steered);
                    directive.version += 1;
                });
            }
        }
    }

    /// The timetable from `elapsed` on as the command wants it; none if the command is about another kind.
    fn steered(
        &self,
        timetable: &Timetable,
        elapsed: std::time::Duration,
        command: Command,
    ) -> Option<Timetable> {
        match (timetable, command) {
            (Timetable::Users(shape), Command::SetUsers(users)) => {
                let rate = self.config.hatch_rate;
                let users = users.min(MOST_USERS);
                Some(Timetable::Users(shape.steered(elapsed, users, rate)))
            }
            (Timetable::Arrivals { line, end, .. }, Command::SetUsers(users)) => {
                Some(Timetable::Arrivals {
                    line: line.clone(),
                    most: users.min(MOST_USERS),
                    end: *end,
                })
            }
            (Timetable::Arrivals { line, most, end }, Command::SetRate(rate))
                if rate.is_finite() && rate >= 0.0 =>
            {
                Some(Timetable::Arrivals {
                    line: line.steered(elapsed, rate),
                    most: *most,
                    end: *end,
                })
            }
            _ => None,
        }
    }
}

/// What became of the load, for the list of events.
fn steered_to(command: Command) -> Option<String> {
    match command {
        Command::SetUsers(users) => Some(format!("set to {}", units::counted(users, "user"))),
        Command::SetRate(rate) => Some(format!("set to {rate} iterations a second")),
        _ => None,
    }
}
