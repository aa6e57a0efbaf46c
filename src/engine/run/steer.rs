//! Steers a run: changes the number of users and the rate, pauses and resumes.

use crate::config::{Load, MOST_USERS};
use crate::control::{Answer, Command, Done, Refusal};
use crate::engine::load_model::timetable::{LaneLoad, Timetable};
use crate::engine::run::director::Director;
use crate::metrics::EventKind;
use crate::units;
use std::sync::Arc;
use std::time::Duration;

impl Director {
    /// Obeys a command that leaves the run going; a run that is stopping refuses it.
    pub(crate) fn steer(&mut self, command: Command) -> Answer {
        if self.is_stopping() {
            return Err(Refusal::Stopping);
        }
        match command {
            Command::Pause => self.pause(),
            Command::Resume => self.resume(),
            Command::ResetStatistics => self.reset_as_asked().map(|()| Done::Reset),
            Command::AddUsers(more) => self.add_users(self.shared_lane()?, more),
            Command::AddRate(more) => self.add_rate(self.shared_lane()?, more),
            Command::AddUsersOf(owner, more) => self.add_users(self.own_lane(&owner)?, more),
            Command::AddRateOf(owner, more) => self.add_rate(self.own_lane(&owner)?, more),
            Command::NextStage => self.next_stage(),
            Command::SetUsers(users) => self.set_load(self.shared_lane()?, Wanted::Users(users)),
            Command::SetRate(rate) => self.set_load(self.shared_lane()?, Wanted::Rate(rate)),
            Command::SetUsersOf(owner, users) => {
                self.set_load(self.own_lane(&owner)?, Wanted::Users(users))
            }
            Command::SetRateOf(owner, rate) => {
                self.set_load(self.own_lane(&owner)?, Wanted::Rate(rate))
            }
            // These are obeyed elsewhere.
            Command::Stop | Command::Interrupt(_) | Command::Reload | Command::Abort => {
                Err(Refusal::Over)
            }
        }
    }

    /// Returns the lane for a command that names no scenario.
    fn shared_lane(&self) -> Result<usize, Refusal> {
        let timetable = &self.directives.borrow().timetable;
        timetable.shared().ok_or(Refusal::OwnLoads)
    }

    /// Returns the lane of a scenario that has a load of its own.
    fn own_lane(&self, owner: &str) -> Result<usize, Refusal> {
        let lanes = &self.directives.borrow().timetable.lanes;
        let found = lanes
            .iter()
            .position(|lane| lane.owner.as_deref() == Some(owner));
        found.ok_or_else(|| {
            let known: Vec<&str> = lanes
                .iter()
                .filter_map(|lane| lane.owner.as_deref())
                .collect();
            Refusal::NoOwnLoad {
                wanted: owner.to_owned(),
                known: if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                },
            }
        })
    }

    /// Returns the users and the rate that a change counts from: what somebody has set, else those of the timetable
    /// at this moment. Numbers of users are those of the whole load, whichever part this process has.
    fn wanted_now(&self, number: usize) -> (u64, Option<f64>) {
        let directive = self.directives.borrow();
        let lane = &directive.timetable.lanes[number];
        let is_own = lane.owner.is_some();
        let since = directive.clock.elapsed(self.now());
        let since = since.saturating_sub(lane.start);
        match &lane.load {
            _ if self.milestones.is_load_set(number, is_own) => lane.goal_at(since),
            LaneLoad::Users(shape) => (shape.users_at(since), None),
            LaneLoad::Arrivals { line, most, .. } => (*most, Some(line.rate_at(since))),
        }
    }

    fn add_users(&mut self, lane: usize, more: i64) -> Answer {
        let (users, _) = self.wanted_now(lane);
        self.set_load(lane, Wanted::Users(users.saturating_add_signed(more)))
    }

    fn add_rate(&mut self, lane: usize, more: f64) -> Answer {
        let (_, Some(rate)) = self.wanted_now(lane) else {
            return Err(Refusal::NoRate);
        };
        // Tenths that are added up stay tenths despite binary fractions.
        let rate = ((rate + more) * 1e6).round() / 1e6;
        self.set_load(lane, Wanted::Rate(if rate < 0.0 { 0.0 } else { rate }))
    }

    /// Begins the next stage before its time.
    fn next_stage(&mut self) -> Answer {
        let now = self.now();
        let number = self.shared_lane()?;
        let directive = self.directives.borrow().clone();
        let mut timetable = Timetable::clone(&directive.timetable);
        let lane = &mut timetable.lanes[number];
        let since = directive.clock.elapsed(now).saturating_sub(lane.start);
        match &self.context.config.load {
            _ if lane.owner.is_some() => return Err(Refusal::NoStages),
            Load::Users => return Err(Refusal::NoStages),
            Load::Rate(stages, _) if stages.len() == 1 => return Err(Refusal::NoStages),
            Load::Stages(_) | Load::Rate(..) => {}
        }
        let skipped = match &mut lane.load {
            LaneLoad::Users(shape) => {
                let (later, skipped) = shape.skipped(since).ok_or(Refusal::LastStage)?;
                *shape = later;
                skipped
            }
            LaneLoad::Arrivals { line, .. } => {
                let (later, skipped) = line.skipped(since).ok_or(Refusal::LastStage)?;
                *line = later;
                skipped
            }
        };
        lane.end = lane.end.map(|end| end.saturating_sub(skipped));
        self.milestones.skip(skipped, timetable.end());
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

    /// Lets the run wait for a command before it starts its first user.
    pub(crate) fn begin_paused(&mut self) {
        self.store.pause(Duration::ZERO);
        self.tell(|directive| directive.clock.pause(Duration::ZERO));
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

    /// Replaces the rest of a lane's timetable.
    fn set_load(&mut self, number: usize, wanted: Wanted) -> Answer {
        let now = self.now();
        let directive = self.directives.borrow().clone();
        let lane = &directive.timetable.lanes[number];
        let since = directive.clock.elapsed(now).saturating_sub(lane.start);
        let hatch_rate = self.context.config.hatch_rate;
        let (steered, done) = steered(&lane.load, since, hatch_rate, wanted)?;
        // At a rate, the number of users is a limit, not the load.
        let users_at_most = lane.load.is_open() && matches!(done, Done::Users(_));
        // A scenario with a load of its own has no part in the stages of the others, either.
        match (users_at_most, &lane.owner) {
            (true, _) => {}
            (false, None) => self.milestones.set_load(),
            (false, Some(_)) => self.milestones.set_own_load(number),
        }
        if let Some(text) = steered_to(&done) {
            let text = match &lane.owner {
                Some(owner) => format!("scenario '{owner}' was {text}"),
                None => text,
            };
            self.store.happened(now, EventKind::Steered, text);
        }
        self.tell(|directive| {
            directive.timetable = Arc::new(directive.timetable.with(number, steered));
            directive.version += 1;
        });
        Ok(done)
    }
}

/// What somebody wants of a load.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    Users(u64),
    Rate(f64),
}

/// Returns a lane's load with the command carried out, `since` its start.
fn steered(
    load: &LaneLoad,
    since: Duration,
    hatch_rate: f64,
    wanted: Wanted,
) -> Result<(LaneLoad, Done), Refusal> {
    match (load, wanted) {
        (_, Wanted::Users(wanted)) if wanted > MOST_USERS => Err(Refusal::TooManyUsers {
            wanted,
            most: MOST_USERS,
        }),
        (LaneLoad::Users(shape), Wanted::Users(users)) => {
            let shape = shape.steered(since, users, hatch_rate);
            Ok((LaneLoad::Users(shape), Done::Users(users)))
        }
        (LaneLoad::Arrivals { line, spacing, .. }, Wanted::Users(users)) => {
            let steered = LaneLoad::Arrivals {
                line: line.clone(),
                spacing: *spacing,
                most: users,
            };
            Ok((steered, Done::Users(users)))
        }
        (LaneLoad::Arrivals { .. }, Wanted::Rate(rate)) if !(rate.is_finite() && rate >= 0.0) => {
            Err(Refusal::NotARate(rate))
        }
        (
            LaneLoad::Arrivals {
                line,
                spacing,
                most,
            },
            Wanted::Rate(rate),
        ) => {
            let steered = LaneLoad::Arrivals {
                line: line.steered(since, rate),
                spacing: *spacing,
                most: *most,
            };
            Ok((steered, Done::Rate(rate)))
        }
        (LaneLoad::Users(_), Wanted::Rate(_)) => Err(Refusal::NoRate),
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
