//! A shard: one thread with one current-thread runtime, its users as local tasks, and its recorder. Users
//! never move between shards, so nothing on the way of a request is shared with another thread.

use super::alarm::Alarm;
use super::crew::{Crew, Start};
use super::directive::{Directive, Phase, Timetable};
use super::edition::Edition;
use super::effort::Meter;
use super::plant::Plant;
use super::probe::probe;
use super::reception::{Reception, Transfers};
use super::stop::Stop;
use super::user::{Role, Shared, User};
use crate::error::Error;
use crate::metrics::{Delta, Recorder};
use crate::plan::Schedule;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet, LocalSet};
use tokio::time::Instant;
use tokio::time::MissedTickBehavior;

/// How often a shard hands over its figures.
const TICK: Duration = Duration::from_millis(250);

/// How long users are started in a row before others get their turn.
const AT_A_TIME: Duration = Duration::from_millis(1);

/// What a shard tells the run.
#[derive(Debug)]
pub(super) enum Message {
    /// The figures of the shard of that number since the last one.
    Delta(usize, Box<Delta>),
    /// The shard of that number has nothing left to do under the directive of that version.
    Idle(usize, u64),
    /// The shard cannot go on.
    Failed(Error),
}

/// The shard that a user belongs to: the digit sum of its number in base `shards`. Every run of `shards`
/// users is spread over all of them, and no scenario that takes every second or fourth user ends up on one.
pub(super) fn shard_of(user: u64, shards: usize) -> usize {
    let base = shards as u64;
    if base < 2 {
        return 0;
    }
    let mut rest = user;
    let mut sum = 0;
    while rest > 0 {
        sum += rest % base;
        rest /= base;
    }
    (sum % base) as usize
}

/// How a shard and the run talk.
pub(super) struct Wires {
    pub(super) orders: watch::Receiver<Directive>,
    pub(super) transfers: Transfers,
    pub(super) messages: mpsc::UnboundedSender<Message>,
    /// Merged deltas, emptied for reuse.
    pub(super) returned: mpsc::UnboundedReceiver<Box<Delta>>,
}

impl Wires {
    /// A closed channel means that the run is over.
    fn send(&self, message: Message) {
        let _over = self.messages.send(message);
    }

    fn hand_over(&mut self, index: usize, recorder: &RefCell<Recorder>) {
        let mut recorder = recorder.borrow_mut();
        while let Ok(delta) = self.returned.try_recv() {
            recorder.recycle(*delta);
        }
        self.send(Message::Delta(index, Box::new(recorder.take())));
    }
}

/// Runs the users of one shard until the last has ended.
pub(super) fn run_shard(index: usize, plant: &Arc<Plant>, mut wires: Wires) {
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            let message = format!("cannot start a thread's runtime: {error}");
            return wires.send(Message::Failed(Error::Trouble(message)));
        }
    };
    let mut shard = Shard::new(index, plant, &mut wires);
    let local = LocalSet::new();
    let life = shard.drive(index, &mut wires, Alarm::default());
    runtime.block_on(local.run_until(life));
    // Tasks that were aborted count their requests when they are dropped.
    drop((local, runtime));
    shard.end(index, &mut wires);
}

fn roles(edition: &Edition, recorder: &mut Recorder) -> Vec<Rc<Role>> {
    recorder.mark(&edition.borders());
    let mut role = |scenario: &crate::plan::Scenario, host: &String| {
        let tasks = scenario
            .tasks
            .iter()
            .map(|task| (recorder.task(&scenario.name, &task.title()), task.title()));
        Rc::new(Role {
            tasks: tasks.collect(),
            schedule: Schedule::new(scenario),
            scenario: scenario.clone(),
            host: host.clone(),
            program: edition.program.clone(),
        })
    };
    edition
        .plan
        .scenarios
        .iter()
        .zip(&edition.hosts)
        .map(|(scenario, host)| role(scenario, host))
        .collect::<Vec<_>>()
}

/// One shard at work.
pub(super) struct Shard {
    pub(super) plant: Arc<Plant>,
    pub(super) roles: Vec<Rc<Role>>,
    pub(super) shared: Rc<Shared>,
    pub(super) directive: Directive,
    crew: Crew,
    /// In a run at a rate.
    pub(super) reception: Option<Reception>,
    /// Every user of the shard; each gives its number when it ends.
    pub(super) users: JoinSet<u64>,
    pub(super) going: bool,
    /// When a measurement begins that was not handed over yet: the run waits for that.
    begins: Option<Instant>,
    /// The edition of the plan that is to be taken over then.
    next: Option<Arc<Edition>>,
    meter: Meter,
    /// The version of the directive at which it had nothing left to do.
    idle: Option<u64>,
}

impl Shard {
    pub(super) fn new(index: usize, plant: &Arc<Plant>, wires: &mut Wires) -> Shard {
        let mut recorder = plant.recorder(index);
        let directive = wires.orders.borrow_and_update().clone();
        let roles = roles(&directive.edition, &mut recorder);
        let shared = Shared::new(plant, index, recorder, plant.heartbeats[index].clone());
        let mut shard = Shard {
            crew: Crew::new(index, plant.shards),
            reception: Reception::new(index, plant, &directive),
            plant: plant.clone(),
            roles,
            shared,
            users: JoinSet::new(),
            going: directive.phase == Phase::Go,
            begins: None,
            next: None,
            meter: Meter::new(),
            directive,
            idle: None,
        };
        shard.measure();
        shard
    }

    /// Until the last user has ended after a stop, or at once if the run is aborted.
    pub(super) async fn drive(&mut self, index: usize, wires: &mut Wires, mut alarm: Alarm) {
        if !matches!(alarm, Alarm::Coarse) {
            // Ends with the set of tasks that it is in.
            tokio::task::spawn_local(probe(self.meter.lateness()));
        }
        // In step with the borders of the first measurement, so that a tick is seldom about two seconds.
        let mut tick = tokio::time::interval_at(self.plant.begin + TICK, TICK);
        // One late tick is one, not as many as it took the place of.
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while self.going || !self.users.is_empty() {
            self.rest(index, wires);
            self.publish_room(index);
            let due = self.due();
            let begins = self.begins;
            tokio::select! {
                biased;
                changed = wires.orders.changed() => {
                    let directive = wires.orders.borrow_and_update().clone();
                    if changed.is_err() || directive.phase == Phase::Abort {
                        return self.users.abort_all();
                    }
                    self.obey(wires, directive);
                }
                // However much is due, figures are handed over and places are taken back.
                due = tick.tick() => {
                    self.meter.woke(due.into_std());
                    self.hand_over(index, wires);
                }
                () = tokio::time::sleep_until(begins.unwrap_or_else(Instant::now)), if begins.is_some() => {
                    self.begins = None;
                    self.hand_over(index, wires);
                    self.renew();
                }
                Some(ended) = self.users.join_next(), if !self.users.is_empty() => self.ended(wires, ended),
                Some(arrival) = wires.transfers.incoming.recv() => self.serve(wires, arrival, false),
                () = until(&mut alarm, due), if due.is_some() => {
                    self.step(wires);
                    // Those who were started get their turn.
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// Hands over what is left when all users are gone.
    pub(super) fn end(mut self, index: usize, wires: &mut Wires) {
        self.drop_incoming(wires);
        let now = Instant::now().into_std();
        self.shared.recorder.borrow_mut().end(now);
        self.hand_over(index, wires);
    }

    fn obey(&mut self, wires: &mut Wires, directive: Directive) {
        self.shared.gate.set(directive.clock.is_paused());
        let edition = directive.edition.clone();
        let known = std::mem::replace(&mut self.directive, directive).edition;
        self.measure();
        if !Arc::ptr_eq(&edition, &known) {
            // Taken over when its measurement begins, so that what it asks for counts there.
            self.directive.edition = known;
            self.next = Some(edition);
            if self.begins.is_none() {
                self.renew();
            }
        }
        if let (Some(reception), Timetable::Arrivals { most, .. }) =
            (&mut self.reception, &*self.directive.timetable)
        {
            reception.desk.limit(*most);
        }
        if self.directive.phase == Phase::Stop && self.going {
            self.serve_last(wires);
            self.stop();
        }
    }

    /// Lets the figures begin anew when the directive says so.
    fn measure(&mut self) {
        let mut recorder = self.shared.recorder.borrow_mut();
        let moment = self.directive.measured_from();
        match moment {
            Some(moment) => {
                recorder.begin_measurement(self.directive.measurement.epoch, moment.into_std());
            }
            None => recorder.stay(),
        }
        drop(recorder);
        self.begins = moment.filter(|moment| *moment > Instant::now());
    }

    /// Gives users another edition of the plan, each when its iteration has ended.
    fn renew(&mut self) {
        let Some(edition) = self.next.take().filter(|_| self.going) else {
            return;
        };
        self.directive.edition = edition;
        let edition = &self.directive.edition;
        self.roles = roles(edition, &mut self.shared.recorder.borrow_mut());
        match &mut self.reception {
            Some(reception) => reception.desk.renew(self.roles.len()),
            None => self.crew.renew(),
        }
    }

    fn stop(&mut self) {
        self.going = false;
        self.crew.dismiss_all();
        if let Some(reception) = &mut self.reception {
            reception.desk.dismiss_all();
        }
    }

    /// When the number of users is to change next, or the next iteration to start; what is late is due at
    /// once.
    fn due(&mut self) -> Option<Instant> {
        if !self.going {
            return None;
        }
        let clock = &self.directive.clock;
        let shape = match &*self.directive.timetable {
            Timetable::Users(shape) => shape,
            Timetable::Arrivals { line, end, .. } => {
                return self.reception.as_mut()?.due(clock, line, *end);
            }
        };
        let elapsed = clock.elapsed(Instant::now());
        match self.crew.has_come_to(shape.users_at(elapsed)) {
            true => clock.instant(shape.next_change(elapsed)?),
            false => clock.instant(elapsed),
        }
    }

    /// Starts the next user or stops those whose time is over; starts the iterations that are due.
    fn step(&mut self, wires: &Wires) {
        let Timetable::Users(shape) = &*self.directive.timetable else {
            return self.serve_due(wires);
        };
        let begin = Instant::now();
        let users = shape.users_at(self.directive.clock.elapsed(begin));
        // Those who run already must not be kept waiting, nor keep those from starting who are late.
        while let Some(start) = self.crew.next(users) {
            self.start(wires, start);
            if !self.going || begin.elapsed() > AT_A_TIME {
                return;
            }
        }
    }

    fn start(&mut self, wires: &Wires, start: Start) {
        let role = self.roles[self.directive.edition.deal.scenario_of(start.number)].clone();
        let stop = Rc::<Stop>::default();
        match User::new(start, role, self.shared.clone(), stop.clone()) {
            Ok(user) => {
                self.crew.started(start.number, stop);
                let life = user.live();
                self.users.spawn_local(async move {
                    life.await;
                    start.number
                });
            }
            Err(error) => self.fail(wires, error),
        }
    }

    /// No user can be made: the run ends here.
    pub(super) fn fail(&mut self, wires: &Wires, error: Error) {
        wires.send(Message::Failed(error));
        self.stop();
    }

    fn ended(&mut self, wires: &Wires, ended: Result<u64, JoinError>) {
        match ended {
            Ok(number) => {
                if let Some(reception) = &mut self.reception {
                    reception.desk.ended(number);
                } else if let Some(start) = self.crew.ended(number).filter(|_| self.going) {
                    self.start(wires, start);
                }
            }
            Err(error) if error.is_panic() => {
                let message = "a user ended by a fault in lgoose; please report it";
                wires.send(Message::Failed(Error::Trouble(message.to_owned())));
            }
            Err(_) => {}
        }
    }

    /// Says that all users have ended and none is to come, unless the run is steered otherwise.
    fn rest(&mut self, index: usize, wires: &Wires) {
        let Timetable::Users(shape) = &*self.directive.timetable else {
            return;
        };
        let elapsed = self.directive.clock.elapsed(Instant::now());
        let over = self.users.is_empty()
            && self.next.is_none()
            && self.crew.is_done()
            && self.crew.has_come_to(shape.users_at(elapsed))
            && shape.next_change(elapsed).is_none();
        if over && self.idle != Some(self.directive.version) {
            self.idle = Some(self.directive.version);
            wires.send(Message::Idle(index, self.directive.version));
        }
    }

    fn hand_over(&mut self, index: usize, wires: &mut Wires) {
        let effort = self.meter.take(self.shared.client.open_connections());
        {
            let mut recorder = self.shared.recorder.borrow_mut();
            recorder.effort(effort);
            recorder.come_to(Instant::now().into_std());
        }
        wires.hand_over(index, &self.shared.recorder);
    }
}

/// Waits for the moment something is due; what is late is due at once.
async fn until(alarm: &mut Alarm, due: Option<Instant>) {
    if let Some(due) = due {
        alarm.until(due).await;
    }
}

#[cfg(test)]
mod tests;
