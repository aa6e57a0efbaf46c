//! A shard: one thread with one current-thread runtime, its users as local tasks, and its recorder. Users never move
//! between shards, so requests share nothing with other threads.

mod arrivals;
pub(super) mod channels;
mod effort;
mod probe;
mod roles;
mod telling;

use crate::engine::load_model::crew::Crew;
use crate::engine::load_model::user_pool::Start;
use crate::engine::protocol::context::RunContext;
use crate::engine::protocol::departures::Departures;
use crate::engine::protocol::directive::{Directive, Phase};
use crate::engine::protocol::plan_version::PlanVersion;
use crate::engine::protocol::signal::SignalKind;
use crate::engine::shard::channels::Channels;
use crate::engine::shard::effort::Meter;
use crate::engine::shard::probe::probe;
use crate::engine::shard::roles::roles;
use crate::engine::timing::alarm::Alarm;
use crate::engine::timing::interval_at;
use crate::engine::user::prefetch::PrefetchedLife;
use crate::engine::user::run_state::RunState;
use crate::engine::user::stop::Stop;
use crate::engine::user::{Role, Shared, User};
use crate::error::Error;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{JoinError, JoinSet, LocalSet};
use tokio::time::Instant;

/// Time between two hand-overs of figures.
const TICK: Duration = Duration::from_millis(250);

/// The number of connections whose responses are taken in between two looks for more. Of many users, each is polled
/// three times: to prefetch its memory, to run, and to send after [`Shared::gather`]. tokio looks for more after 61
/// polls anyway, so that 24 would mix the users of two looks; measured, they take a quarter more CPU time than 16.
const AT_ONCE: usize = 16;

/// The longest time for which users are started in a row before other tasks get their turn.
const AT_A_TIME: Duration = Duration::from_millis(1);

/// Runs the users of one shard until the last has ended.
pub(crate) fn run_shard(index: usize, context: &Arc<RunContext>, mut channels: Channels) {
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .max_io_events_per_tick(AT_ONCE)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            let error = Error::cannot("start a thread's runtime", error);
            return channels.send(SignalKind::Failed(error));
        }
    };
    let mut shard = Shard::new(index, context, &mut channels);
    let local = LocalSet::new();
    let life = shard.drive(&mut channels, Alarm::default());
    runtime.block_on(local.run_until(life));
    // Tasks that were aborted count their requests when they are dropped.
    drop(local);
    // Does not wait for look-ups of names, which may take as long as they like.
    runtime.shutdown_background();
    shard.end(&mut channels);
}

/// One shard at work.
pub(crate) struct Shard {
    pub(crate) context: Arc<RunContext>,
    pub(crate) roles: Vec<Rc<Role>>,
    pub(crate) shared: Rc<Shared>,
    pub(crate) directive: Directive,
    index: usize,
    /// Its users by lane.
    pub(crate) crews: Vec<Crew>,
    /// The tasks of all users; each returns its user's lane and number when it ends.
    pub(crate) users: JoinSet<(usize, u64)>,
    pub(crate) going: bool,
    /// When the next measurement begins; the shard hands over then.
    begins: Option<Instant>,
    /// The version of the plan that users take then.
    next: Option<Arc<PlanVersion>>,
    meter: Meter,
    /// How much of the time in which the process stood still has been taken out of the timetable.
    shifted: Duration,
    /// The version of the directive under which it last had nothing left to do.
    idle: Option<u64>,
    /// Whether it has told the director that all of its users have been started.
    told_started: bool,
}

impl Shard {
    pub(crate) fn new(index: usize, context: &Arc<RunContext>, channels: &mut Channels) -> Shard {
        let mut recorder = context.recorder(index);
        if let Some(warning) = context.client.transport.warning() {
            recorder.warn(warning.to_owned());
        }
        let directive = channels.directives.borrow_and_update().clone();
        let roles = roles(context, &directive.plan_version, &mut recorder);
        let run = RunState::new(context, Some(channels.to_director()));
        let heartbeat = context.heartbeats[index].clone();
        let shared = Shared::new(context, index, recorder, run, heartbeat);
        shared.run.set_clock(directive.clock);
        shared.all_started.set(!directive.all_started);
        let mut shard = Shard {
            index,
            crews: Crew::of_lanes(index, context, &directive),
            context: context.clone(),
            roles,
            shared,
            users: JoinSet::new(),
            going: directive.phase == Phase::Go,
            begins: None,
            next: None,
            meter: Meter::new(),
            shifted: Duration::ZERO,
            directive,
            idle: None,
            told_started: false,
        };
        shard.measure();
        shard
    }

    /// Drives users until the last has ended after a stop, or until the run is aborted.
    pub(crate) async fn drive(&mut self, channels: &mut Channels, mut alarm: Alarm) {
        self.shared.tick(Instant::now());
        if !matches!(alarm, Alarm::Coarse) {
            // Ends with the set of tasks that it belongs to.
            tokio::task::spawn_local(probe(self.meter.lateness()));
        }
        // In step with the full seconds of the first measurement, so that the figures of a tick seldom belong to two
        // seconds. A late tick comes once; those that it missed are left out.
        let mut tick = interval_at(self.context.begin + TICK, TICK);
        while self.going || !self.users.is_empty() {
            self.rest(channels);
            self.tell_started(channels);
            self.publish_room();
            let due = self.due();
            let begins = self.begins;
            tokio::select! {
                biased;
                changed = channels.directives.changed() => {
                    let directive = channels.directives.borrow_and_update().clone();
                    if changed.is_err() || directive.phase == Phase::Abort {
                        self.shared.late_vms.keep();
                        return self.users.abort_all();
                    }
                    self.obey(channels, directive);
                }
                // Before users and arrivals: however many are due, figures are handed over, and users that have ended
                // make room.
                due = tick.tick() => {
                    self.shared.tick(Instant::now());
                    self.shift();
                    self.meter.woke(due.into_std());
                    self.hand_over(channels);
                }
                () = tokio::time::sleep_until(begins.unwrap_or_else(Instant::now)), if begins.is_some() => {
                    self.begins = None;
                    self.hand_over(channels);
                    self.renew();
                }
                Some(ended) = self.users.join_next(), if !self.users.is_empty() => self.ended(channels, ended),
                Some(arrival) = channels.transfers.incoming.recv() => self.serve(channels, arrival, false),
                () = until(&mut alarm, due), if due.is_some() => {
                    self.step(channels);
                    // Lets users that were started run.
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// Hands over what is left when all users are gone.
    pub(crate) fn end(mut self, channels: &mut Channels) {
        self.drop_incoming(channels);
        let now = Instant::now().into_std();
        self.shared.recorder.borrow_mut().end(now);
        self.hand_over(channels);
        let departures = self.departures();
        channels.end(departures);
    }

    fn departures(&self) -> Departures {
        Departures {
            started: self.crews.iter().map(Crew::reached).sum(),
            ..self.shared.departures.get()
        }
    }

    fn obey(&mut self, channels: &mut Channels, directive: Directive) {
        // Time in which the process stood still belongs to the directive before.
        self.shared.see(Instant::now());
        self.shift();
        self.shared.gate.set(directive.clock.is_paused());
        self.shared.all_started.set(!directive.all_started);
        self.shared.run.set_clock(directive.clock);
        let plan_version = directive.plan_version.clone();
        let known = std::mem::replace(&mut self.directive, directive).plan_version;
        self.measure();
        if !Arc::ptr_eq(&plan_version, &known) {
            // Taken over when its measurement begins, so that its requests count there.
            self.directive.plan_version = known;
            self.next = Some(plan_version);
            if self.begins.is_none() {
                self.renew();
            }
        }
        for (lane, crew) in self.crews.iter_mut().enumerate() {
            crew.obey(&self.directive.timetable, lane);
        }
        if self.directive.phase == Phase::Stop && self.going {
            self.serve_last(channels);
            self.stop();
        }
    }

    /// Tells the recorder when the directive's measurement begins.
    fn measure(&mut self) {
        let mut recorder = self.shared.recorder.borrow_mut();
        let moment = self.directive.measured_from();
        let moment = moment.and_then(|moment| self.context.instant(moment));
        match moment {
            Some(moment) => {
                recorder.begin_measurement(self.directive.measurement.epoch, moment.into_std());
            }
            None => recorder.stay(),
        }
        drop(recorder);
        self.begins = moment.filter(|moment| *moment > Instant::now());
    }

    /// Gives users another version of the plan, each when its iteration has ended.
    fn renew(&mut self) {
        let Some(plan_version) = self.next.take().filter(|_| self.going) else {
            return;
        };
        self.directive.plan_version = plan_version;
        let plan_version = &self.directive.plan_version;
        self.roles = roles(
            &self.context,
            plan_version,
            &mut self.shared.recorder.borrow_mut(),
        );
        for crew in &mut self.crews {
            crew.renew(self.roles.len());
        }
    }

    /// Takes time in which the process stood still out of the timetable, until the director says exactly how much.
    /// Returns whether there was any to take out.
    fn shift(&mut self) -> bool {
        let lost = self.shared.lost();
        let more = lost - std::mem::replace(&mut self.shifted, lost);
        let (now, clock) = (self.context.now(), &mut self.directive.clock);
        let shifts = !more.is_zero() && !clock.is_paused();
        if shifts {
            clock.pause(now.saturating_sub(more));
            clock.resume(now);
            self.shared.run.set_clock(*clock);
        }
        shifts
    }

    fn stop(&mut self) {
        self.going = false;
        self.crews.iter_mut().for_each(Crew::dismiss_all);
    }

    /// Returns when the number of users changes next or the next iteration starts; a moment in the past means at
    /// once.
    fn due(&mut self) -> Option<Instant> {
        if !self.going {
            return None;
        }
        let Directive {
            clock, timetable, ..
        } = &self.directive;
        let elapsed = clock.elapsed(self.context.now());
        let crews = self.crews.iter_mut().enumerate();
        let due = crews.filter_map(|(lane, crew)| crew.due(timetable, lane, elapsed));
        self.context.instant(clock.moment(due.min()?)?)
    }

    /// Starts users or stops those whose time is over, and starts the iterations that are due.
    fn step(&mut self, channels: &Channels) {
        let begin = Instant::now();
        self.shared.see(begin);
        if self.shift() {
            // What was due is due later now.
            return;
        }
        let now = begin.duration_since(self.context.begin);
        let elapsed = self.directive.clock.elapsed(now);
        if self.directive.clock.is_paused() && elapsed.is_zero() {
            // The run waits for a command before it begins.
            return;
        }
        let timetable = self.directive.timetable.clone();
        for lane in 0..self.crews.len() {
            let Some(users) = timetable.users(lane) else {
                self.serve_due(channels, lane, elapsed);
                continue;
            };
            let users = users.users_at(elapsed);
            // Starting users must keep neither running users nor late ones waiting for long.
            while let Crew::Users(pool) = &mut self.crews[lane]
                && let Some(start) = pool.next(users)
            {
                self.start(channels, lane, start);
                if !self.going || begin.elapsed() > AT_A_TIME {
                    return;
                }
            }
        }
    }

    fn start(&mut self, channels: &Channels, lane: usize, start: Start) {
        let role = self.role_of(lane, start.number);
        let stop = Rc::<Stop>::default();
        match self.user(lane, start, role, stop.clone()) {
            Ok(user) => {
                if let Crew::Users(pool) = &mut self.crews[lane] {
                    pool.started(start.number, stop);
                }
                let key = (lane, start.number);
                let life = PrefetchedLife::new(user, |user| user.live(key));
                self.users.spawn_local(life);
            }
            Err(error) => self.fail(channels, error),
        }
    }

    /// Returns the role of user or iteration `number` of a lane.
    fn role_of(&self, lane: usize, number: u64) -> Rc<Role> {
        let lanes = &self.directive.plan_version.lanes;
        self.roles[lanes.scenario_of(lane, number)].clone()
    }

    /// Makes a user of a lane, with its number in the whole run.
    fn user(
        &self,
        lane: usize,
        start: Start,
        role: Rc<Role>,
        stop: Rc<Stop>,
    ) -> Result<Box<User>, Error> {
        let number = self
            .directive
            .plan_version
            .lanes
            .number_of(lane, start.number);
        User::new(Start { number, ..start }, role, self.shared.clone(), stop)
    }

    /// Reports that no user can be made; the run ends here.
    pub(crate) fn fail(&mut self, channels: &Channels, error: Error) {
        channels.send(SignalKind::Failed(error));
        self.stop();
    }

    fn ended(&mut self, channels: &Channels, ended: Result<(usize, u64), JoinError>) {
        match ended {
            Ok((lane, number)) => {
                let next = self.crews[lane].ended(number);
                if let Some(start) = next.filter(|_| self.going) {
                    self.start(channels, lane, start);
                }
            }
            Err(error) if error.is_panic() => {
                let message = "a user ended because of a bug in lgoose; please report it";
                channels.send(SignalKind::Failed(Error::trouble(message)));
            }
            Err(_) => {}
        }
    }

    fn hand_over(&mut self, channels: &mut Channels) {
        let effort = self.meter.take(self.shared.client.open_connections());
        {
            let mut recorder = self.shared.recorder.borrow_mut();
            recorder.effort(effort);
            recorder.come_to(Instant::now().into_std());
        }
        channels.hand_over(&self.shared.recorder);
    }
}

/// Waits until something is due; returns at once if it is late.
async fn until(alarm: &mut Alarm, due: Option<Instant>) {
    if let Some(due) = due {
        alarm.until(due).await;
    }
}
