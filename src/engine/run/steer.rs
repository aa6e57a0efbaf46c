//! Steers a run: changes the number of users and the rate, pauses and resumes.

use crate::config::{Load, MOST_USERS};
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
                let (users, _) = self.wanted_now();
                self.set_load(Command::SetUsers(users.saturating_add_signed(more)))
            }
            Command::AddRate(more) => match self.wanted_now() {
                (_, Some(rate)) => {
                    // Tenths that are added up stay tenths.
                    let rate = ((rate + more) * 1e6).round() / 1e6;
                    let rate = if rate < 0.0 { 0.0 } else { rate };
                    self.set_load(Command::SetRate(rate))
                }
                (_, None) => Err(Refusal::NoRate),
            },
            Command::NextStage => self.next_stage(),
            command => self.set_load(command),
        }
    }

    /// The users and the rate to count from: what somebody has set, else those of the timetable at this moment. Numbers
    /// of users are those of the whole load, whichever part this is.
    fn wanted_now(&self) -> (u64, Option<f64>) {
        let directive = self.directives.borrow();
        let elapsed = directive.clock.elapsed(self.now());
        let goal = directive.timetable.aim(elapsed);
        match &*directive.timetable {
            _ if self.milestones.is_load_set() => (goal.users, goal.rate),
            Timetable::Users(shape) => (shape.users_at(elapsed), None),
            Timetable::Arrivals { line, most, .. } => (*most, Some(line.rate_at(elapsed))),
        }
    }

    /// Begins the next stage before its time.
    fn next_stage(&mut self) -> Answer {
        let now = self.now();
        let directive = self.directives.borrow().clone();
        let elapsed = directive.clock.elapsed(now);
        let (timetable, skipped) = match (&self.context.config.load, &*directive.timetable) {
            (Load::Users, _) => return Err(Refusal::NoStages),
            (Load::Rate(stages, _), _) if stages.len() == 1 => return Err(Refusal::NoStages),
            (_, Timetable::Users(shape)) => {
                let (shape, skipped) = shape.skipped(elapsed).ok_or(Refusal::LastStage)?;
                (Timetable::Users(shape), skipped)
            }
            (_, Timetable::Arrivals { line, most, end }) => {
                let (line, skipped) = line.skipped(elapsed).ok_or(Refusal::LastStage)?;
                let (most, end) = (*most, end.map(|end| end.saturating_sub(skipped)));
                (Timetable::Arrivals { line, most, end }, skipped)
            }
        };
        self.milestones.skip(skipped);
        let text = "went on to the next stage before its time";
        self.store.happened(now, EventKind::Steered, text);
        let end = self.milestones.end();
        self.tell(|directive| {
            directive.timetable = Arc::new(timetable);
            directive.end = end;
            directive.version += 1;
        });
        Ok(Done::NextStage)
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
        let hatch_rate = self.context.config.hatch_rate;
        let (steered, done) = steered(&directive.timetable, elapsed, hatch_rate, command)?;
        // A number of users of a run at a rate is none of its load.
        let users_at_most = matches!(
            (&*directive.timetable, &done),
            (Timetable::Arrivals { .. }, Done::Users(_))
        );
        if !users_at_most {
            self.milestones.set_load();
        }
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
