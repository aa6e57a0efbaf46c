//! Steers a run: changes the number of users and the rate, pauses and resumes.

use crate::config::MOST_USERS;
use crate::control::{Answer, Command, Done, Refusal};
use crate::engine::load_model::timetable::Timetable;
use crate::engine::run::director::Director;
use crate::metrics::EventKind;
use crate::units;
use std::sync::Arc;

impl Director {
    /// Obeys a command that leaves the run going; a run that is stopping refuses it. Nothing is steered any more
    /// once it stops.
    pub(crate) fn steer(&mut self, command: Command) -> Answer {
        if self.is_stopping() {
            return Err(Refusal::Stopping);
        }
        match command {
            Command::Pause => self.pause(),
            Command::Resume => self.resume(),
            Command::ResetStatistics => self.reset_as_asked().map(|()| Done::Reset),
            Command::AddUsers(more) => {
                // Numbers of users are those of the whole load, whichever part this is.
                let wanted = {
                    let directive = self.directives.borrow();
                    let elapsed = directive.clock.elapsed(self.now());
                    directive.timetable.aim(elapsed).users
                };
                self.set_load(Command::SetUsers(wanted.saturating_add_signed(more)))
            }
            command => self.set_load(command),
        }
    }

    fn pause(&mut self) -> Answer {
        if self.directives.borrow().clock.is_paused() {
            return Err(Refusal::Paused);
        }
        let now = self.now();
        self.reset_if_due();
        self.store.pause(now);
        self.tell(|directive| directive.clock.pause(now));
        Ok(Done::Paused)
    }

    fn resume(&mut self) -> Answer {
        if !self.directives.borrow().clock.is_paused() {
            return Err(Refusal::NotPaused);
        }
        let now = self.now();
        self.store.resume(now);
        self.tell(|directive| directive.clock.resume(now));
        Ok(Done::Resumed)
    }

    /// Replaces the rest of the timetable.
    fn set_load(&mut self, command: Command) -> Answer {
        let now = self.now();
        let directive = self.directives.borrow().clone();
        let elapsed = directive.clock.elapsed(now);
        let hatch_rate = self.config.hatch_rate;
        let (steered, done) = steered(&directive.timetable, elapsed, hatch_rate, command)?;
        if let Some(text) = steered_to(&done) {
            self.store.happened(now, EventKind::Steered, text);
        }
        self.tell(|directive| {
            directive.timetable = Arc::new(steered);
            directive.version += 1;
        });
        Ok(done)
    }
}

/// Returns the timetable from `elapsed` on as the command wants it.
fn steered(
    timetable: &Timetable,
    elapsed: std::time::Duration,
    hatch_rate: f64,
    command: Command,
) -> Result<(Timetable, Done), Refusal> {
    match (timetable, command) {
        (_, Command::SetUsers(wanted)) if wanted > MOST_USERS => Err(Refusal::TooManyUsers {
            wanted,
            most: MOST_USERS,
        }),
        (Timetable::Users(shape), Command::SetUsers(users)) => {
            let shape = shape.steered(elapsed, users, hatch_rate);
            Ok((Timetable::Users(shape), Done::Users(users)))
        }
        (Timetable::Arrivals { line, end, .. }, Command::SetUsers(users)) => {
            let steered = Timetable::Arrivals {
                line: line.clone(),
                most: users,
                end: *end,
            };
            Ok((steered, Done::Users(users)))
        }
        (Timetable::Arrivals { .. }, Command::SetRate(rate))
            if !(rate.is_finite() && rate >= 0.0) =>
        {
            Err(Refusal::NotARate(rate))
        }
        (Timetable::Arrivals { line, most, end }, Command::SetRate(rate)) => {
            let steered = Timetable::Arrivals {
                line: line.steered(elapsed, rate),
                most: *most,
                end: *end,
            };
            Ok((steered, Done::Rate(rate)))
        }
        // Only a rate is left that could not be set.
        (Timetable::Users(_) | Timetable::Arrivals { .. }, _) => Err(Refusal::NoRate),
    }
}

/// Describes a change of the load for the list of events.
fn steered_to(done: &Done) -> Option<String> {
    match done {
        Done::Users(users) => Some(format!("set to {}", units::counted(*users, "user"))),
        Done::Rate(rate) => Some(format!("set to {rate} iterations a second")),
        _ => None,
    }
}
