//! Steering of the load: the users that the timetable requires now, and changes of them by commands. Driven by the
//! director; knows neither shards nor figures, only the store's list of events.

use crate::load_model::timetable::{LaneLoad, Timetable};
use crate::messages::context::RunContext;
use crate::messages::directive::{Directive, DirectivePhase};
use crate::run::milestones::Milestones;
use lgoose_base::units;
use lgoose_metrics::control::{Command, CommandResult, Done, Refusal};
use lgoose_metrics::{Aim, EventKind, LiveLoad, RunPhase, Store};
use lgoose_plan::config::{Load, LoadPart, MOST_USERS, RunConfig};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Time in which a user has to be started; after it, the user counts as missing.
const TIME_TO_START: Duration = Duration::from_millis(500);

/// Steers the load of a run through the directive of its shards.
pub(crate) struct Steering {
    context: Arc<RunContext>,
    directives: watch::Sender<Directive>,
    milestones: Milestones,
    /// The most users of this process that were ever due at a time, long enough to have been started.
    users_due: u64,
}

/// The load of a run at one moment, as views show it.
#[derive(Debug)]
pub(crate) struct LoadProgress {
    pub(crate) phase: RunPhase,
    /// Users, rate and end by the timetable.
    pub(crate) aim: Aim,
    /// The length of the run so far, without its pauses.
    pub(crate) played: Duration,
    /// The loads that the timetable wants now, if there are several.
    pub(crate) loads: Arc<[LiveLoad]>,
}

impl Steering {
    /// Makes the steering of a run that begins with the directive in `directives`.
    pub(crate) fn new(
        context: Arc<RunContext>,
        milestones: Milestones,
        directives: watch::Sender<Directive>,
    ) -> Steering {
        Steering {
            context,
            directives,
            milestones,
            users_due: 0,
        }
    }

    /// Returns how many iterations were due between two times of the timetable; `None` in a run of users.
    pub(crate) fn arrivals_between(&self, from: Duration, to: Duration) -> Option<u64> {
        let (timetable, seed) = (
            &self.directives.borrow().timetable,
            self.context.config.seed,
        );
        let lanes = timetable.lanes.iter().enumerate();
        let counts =
            lanes.filter_map(|(number, lane)| lane.arrivals_between(seed, number, from, to));
        counts.reduce(|a, b| a + b)
    }

    /// Returns the end of the timetable; `None` for never.
    pub(crate) fn end(&self) -> Option<Duration> {
        self.milestones.end()
    }

    /// Returns the most users of this process that were ever due at a time, long enough to have been started.
    pub(crate) fn users_due(&self) -> u64 {
        self.users_due
    }

    /// Returns the load at `now`; `warmup_due` is the end of a warm-up to come, by the timetable.
    pub(crate) fn progress(
        &self,
        now: Duration,
        is_stopping: bool,
        warmup_due: Option<Duration>,
    ) -> LoadProgress {
        let directive = self.directives.borrow();
        let played = directive.clock.elapsed(now);
        let part = self.context.local.part;
        let aim = directive.timetable.aim(played);
        let paused = now.saturating_sub(played);
        let end = self.milestones.end();
        let aim = Aim {
            users: if is_stopping {
                0
            } else {
                part.share(aim.users)
            },
            rate: aim.rate.map(|rate| if is_stopping { 0.0 } else { rate }),
            ends: end.map(|end| end.saturating_add(paused)),
            lasts: end,
            stage: self.milestones.stage(),
            iterations: iterations(&self.context.config, part)
                .filter(|_| directive.timetable.lanes.len() == 1),
            warmup_ends: warmup_due.and_then(|due| directive.clock.moment(due)),
        };
        LoadProgress {
            phase: match directive.phase {
                DirectivePhase::Go if directive.clock.is_paused() => RunPhase::Paused,
                DirectivePhase::Go => RunPhase::Running,
                DirectivePhase::Stop | DirectivePhase::Abort => RunPhase::Stopping,
            },
            aim,
            played,
            loads: directive.timetable.loads(played),
        }
    }

    /// Records the stages that have begun, and the own loads of scenarios that have begun or ended.
    pub(crate) fn record_stages(&mut self, now: Duration, store: &mut Store) {
        let clock = self.directives.borrow().clock;
        let elapsed = clock.elapsed(now);
        while let Some((due, text)) = self.milestones.take_due(elapsed) {
            if let Some(at) = clock.moment(due) {
                store.happened(at, EventKind::Stage, text);
            }
        }
    }

    /// Records how many users are due and have been due long enough to have been started.
    pub(crate) fn record_users_due(&mut self, now: Duration) {
        let directive = self.directives.borrow();
        let elapsed = directive.clock.elapsed(now);
        if let Some(due) = elapsed.checked_sub(TIME_TO_START) {
            let users = self.users_at(&directive.timetable, due);
            self.users_due = self.users_due.max(users);
        }
    }

    /// Returns how many users of this process are to run at that moment, without those of a rate. Lanes are added up
    /// at one moment, since each may peak at another.
    fn users_at(&self, timetable: &Timetable, elapsed: Duration) -> u64 {
        let lanes = (0..timetable.lanes.len()).filter_map(|lane| {
            let users = timetable.users(lane)?.users_at(elapsed);
            Some(self.context.share_of_lane(lane, users))
        });
        lanes.sum()
    }

    /// Lets all users wait, until the run is resumed.
    pub(crate) fn pause(&self, now: Duration, store: &mut Store) {
        store.pause(now);
        self.directives
            .send_modify(|directive| directive.clock.pause(now));
    }

    /// Lets users go on after a pause.
    pub(crate) fn resume(&self, now: Duration, store: &mut Store) -> CommandResult {
        if !self.directives.borrow().clock.is_paused() {
            return Err(Refusal::NotPaused);
        }
        store.resume(now);
        self.directives
            .send_modify(|directive| directive.clock.resume(now));
        Ok(Done::Resumed)
    }

    /// Executes a command that changes the load.
    pub(crate) fn execute(
        &mut self,
        command: Command,
        now: Duration,
        store: &mut Store,
    ) -> CommandResult {
        let lane = match &command {
            Command::NextStage => return self.next_stage(now, store),
            Command::AddUsers(_)
            | Command::AddRate(_)
            | Command::SetUsers(_)
            | Command::SetRate(_) => self.shared_lane()?,
            Command::AddUsersOf(owner, _)
            | Command::AddRateOf(owner, _)
            | Command::SetUsersOf(owner, _)
            | Command::SetRateOf(owner, _) => self.own_lane(owner)?,
            // Other commands are executed elsewhere.
            _ => return Err(Refusal::Over),
        };
        let goal = match command {
            Command::AddUsers(more) | Command::AddUsersOf(_, more) => {
                let (users, _) = self.current_goal(lane, now);
                LoadTarget::Users(users.saturating_add_signed(more))
            }
            Command::AddRate(more) | Command::AddRateOf(_, more) => {
                let (_, rate) = self.current_goal(lane, now);
                LoadTarget::Rate(added_rate(rate.ok_or(Refusal::NoRate)?, more))
            }
            Command::SetUsers(users) | Command::SetUsersOf(_, users) => LoadTarget::Users(users),
            Command::SetRate(rate) | Command::SetRateOf(_, rate) => LoadTarget::Rate(rate),
            _ => return Err(Refusal::Over),
        };
        self.set_load(lane, goal, now, store)
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
            let owners: Vec<&str> = lanes
                .iter()
                .filter_map(|lane| lane.owner.as_deref())
                .collect();
            Refusal::NoOwnLoad {
                requested: owner.to_owned(),
                available: if owners.is_empty() {
                    "none".to_owned()
                } else {
                    owners.join(", ")
                },
            }
        })
    }

    /// Returns the users and the rate that a change counts from: those of the last command, else those of the timetable
    /// at this moment. Numbers of users are those of the whole load, whichever part this process has.
    fn current_goal(&self, number: usize, now: Duration) -> (u64, Option<f64>) {
        let directive = self.directives.borrow();
        let lane = &directive.timetable.lanes[number];
        let is_own = lane.owner.is_some();
        let since = directive.clock.elapsed(now).saturating_sub(lane.start);
        match &lane.load {
            _ if self.milestones.is_load_set(number, is_own) => lane.goal_at(since),
            LaneLoad::Users(shape) => (shape.users_at(since), None),
            LaneLoad::Arrivals { line, most, .. } => (*most, Some(line.rate_at(since))),
        }
    }

    /// Begins the next stage before its time.
    fn next_stage(&mut self, now: Duration, store: &mut Store) -> CommandResult {
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
        store.happened(now, EventKind::Steered, text);
        let end = self.milestones.end();
        self.directives.send_modify(|directive| {
            directive.timetable = Arc::new(timetable);
            directive.end = end;
            directive.version += 1;
        });
        Ok(Done::NextStage)
    }

    /// Replaces the rest of a lane's timetable.
    fn set_load(
        &mut self,
        number: usize,
        goal: LoadTarget,
        now: Duration,
        store: &mut Store,
    ) -> CommandResult {
        let directive = self.directives.borrow().clone();
        let lane = &directive.timetable.lanes[number];
        let since = directive.clock.elapsed(now).saturating_sub(lane.start);
        let hatch_rate = self.context.config.hatch_rate;
        let (steered, done) = steered(&lane.load, since, hatch_rate, goal)?;
        // At a rate, the number of users is a limit, not the load.
        if !(lane.load.is_open() && matches!(done, Done::Users(_))) {
            // A scenario with a load of its own has no part in the stages of the others, either.
            match lane.owner {
                None => self.milestones.set_load(),
                Some(_) => self.milestones.set_own_load(number),
            }
        }
        if let Some(text) = steered_to(&done) {
            let text = match &lane.owner {
                Some(owner) => format!("scenario '{owner}' was {text}"),
                None => text,
            };
            store.happened(now, EventKind::Steered, text);
        }
        self.directives.send_modify(|directive| {
            directive.timetable = Arc::new(directive.timetable.with(number, steered));
            directive.version += 1;
        });
        Ok(done)
    }
}

/// Target of a load that a command sets.
#[derive(Debug, Clone, Copy)]
enum LoadTarget {
    Users(u64),
    Rate(f64),
}

/// Returns a lane's load with the command carried out, `since` its start.
fn steered(
    load: &LaneLoad,
    since: Duration,
    hatch_rate: f64,
    goal: LoadTarget,
) -> Result<(LaneLoad, Done), Refusal> {
    match (load, goal) {
        (_, LoadTarget::Users(users)) if users > MOST_USERS => Err(Refusal::TooManyUsers {
            requested: users,
            most: MOST_USERS,
        }),
        (LaneLoad::Users(shape), LoadTarget::Users(users)) => {
            let shape = shape.steered(since, users, hatch_rate);
            Ok((LaneLoad::Users(shape), Done::Users(users)))
        }
        (
            LaneLoad::Arrivals {
                line,
                spacing,
                ceiling,
                ..
            },
            LoadTarget::Users(users),
        ) => {
            let steered = LaneLoad::Arrivals {
                line: line.clone(),
                spacing: *spacing,
                most: users,
                ceiling: *ceiling,
            };
            Ok((steered, Done::Users(users)))
        }
        (LaneLoad::Arrivals { .. }, LoadTarget::Rate(rate))
            if !(rate.is_finite() && rate >= 0.0) =>
        {
            Err(Refusal::NotARate(rate))
        }
        (
            LaneLoad::Arrivals {
                line,
                spacing,
                most,
                ceiling,
            },
            LoadTarget::Rate(rate),
        ) => {
            let steered = LaneLoad::Arrivals {
                line: line.steered(since, rate),
                spacing: *spacing,
                most: *most,
                ceiling: *ceiling,
            };
            Ok((steered, Done::Rate(rate)))
        }
        (LaneLoad::Users(_), LoadTarget::Rate(_)) => Err(Refusal::NoRate),
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

/// Returns a rate with so much more; not below 0.
fn added_rate(rate: f64, more: f64) -> f64 {
    // Tenths that are added up stay tenths despite binary fractions.
    let rate = ((rate + more) * 1e6).round() / 1e6;
    if rate < 0.0 { 0.0 } else { rate }
}

/// Returns how many iterations all users of this process are to run together; `None` if iterations are not limited.
fn iterations(config: &RunConfig, part: LoadPart) -> Option<u64> {
    if matches!(config.load, Load::Rate(..)) {
        return config.shared_iterations.map(|all| part.share(all));
    }
    let each = config
        .iterations
        .map(|each| each.saturating_mul(part.share(config.users)));
    let shared = config.shared_iterations.map(|all| part.rows(all));
    each.into_iter().chain(shared).min()
}
