//! A shard: one thread with one current-thread runtime, its users as local tasks, and its recorder. Users never move
//! between shards, so requests share nothing with other threads.

pub(super) mod channels;
mod effort;
mod probe;
mod users;

use crate::messages::context::RunContext;
use crate::messages::departures::Departures;
use crate::messages::directive::{Directive, DirectivePhase};
use crate::messages::plan_version::PlanVersion;
use crate::messages::shard_event::ShardEventKind;
use crate::shard::channels::Channels;
use crate::shard::effort::EffortMeter;
use crate::shard::probe::probe;
use crate::shard::users::ShardUsers;
use crate::timing::alarm::Alarm;
use crate::timing::interval_at;
use crate::user::ShardState;
use crate::user::run_state::ShardRun;
use lgoose_base::error::Error;
use lgoose_lua::WatchedLoop;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::LocalSet;
use tokio::time::Instant;

/// Time between two hand-overs of figures.
const TICK: Duration = Duration::from_millis(250);

/// The number of connections whose responses are taken in between two looks for more. Of many users, each is polled
/// three times: to prefetch its memory, to run, and to send after [`ShardState::gather`]. tokio looks for more after 61
/// polls anyway, so that 24 would mix the users of two looks; measured, they take a quarter more CPU time than 16.
const AT_ONCE: usize = 16;

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
            return channels.send(ShardEventKind::Failed(error));
        }
    };
    context.heartbeats[index].run_here();
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
    context: Arc<RunContext>,
    shared: Rc<ShardState>,
    pub(crate) users: ShardUsers,
    /// Beginning of the next measurement; the shard hands over then.
    measurement_start: Option<Instant>,
    /// The version of the plan that users take then.
    next: Option<Arc<PlanVersion>>,
    meter: EffortMeter,
    /// Shows the watchdog that the thread comes back.
    watched_loop: WatchedLoop,
    /// Standstill of the process that has been taken out of the timetable.
    shifted: Duration,
    /// The version of the directive under which it last had nothing left to do.
    idle: Option<u64>,
    /// Whether it has reported that all of its users have been started.
    reported_started: bool,
}

impl Shard {
    pub(crate) fn new(index: usize, context: &Arc<RunContext>, channels: &mut Channels) -> Shard {
        let mut recorder = context.recorder(index);
        if let Some(warning) = context.client.transport.warning() {
            recorder.warn(warning.to_owned());
        }
        let directive = channels.directives.borrow_and_update().clone();
        let run = ShardRun::new(context, Some(channels.to_director()));
        let heartbeat = context.heartbeats[index].clone();
        let watched_loop = WatchedLoop::begin(heartbeat.clone());
        let shared = ShardState::new(context, index, recorder, run, heartbeat);
        shared.run.set_clock(directive.clock);
        shared.all_started.set(!directive.all_started);
        let mut shard = Shard {
            users: ShardUsers::new(index, context.clone(), directive, shared.clone()),
            context: context.clone(),
            shared,
            measurement_start: None,
            next: None,
            meter: EffortMeter::new(),
            watched_loop,
            shifted: Duration::ZERO,
            idle: None,
            reported_started: false,
        };
        shard.measure();
        shard
    }

    /// Makes a shard for simulated time: other work of this machine is none of its effort.
    #[cfg(any(test, feature = "test-support"))]
    pub(crate) fn simulated(
        index: usize,
        context: &Arc<RunContext>,
        channels: &mut Channels,
    ) -> Shard {
        Shard {
            meter: EffortMeter::idle(),
            ..Shard::new(index, context, channels)
        }
    }

    /// Drives users until the last has ended after a stop, or until the run is aborted.
    pub(crate) async fn drive(&mut self, channels: &mut Channels, mut alarm: Alarm) {
        self.shared.tick(Instant::now());
        if !matches!(alarm, Alarm::Coarse) {
            // Ends with the set of tasks that it belongs to.
            let shared = self.shared.clone();
            let standstill = move |now| {
                shared.see(now);
                shared.lost()
            };
            let shared = self.shared.clone();
            let rest = async move || {
                if shared.turn.take_active() || shared.recorder.borrow().has_requests() {
                    return None;
                }
                Some(shared.turn.next().await)
            };
            tokio::task::spawn_local(probe(self.meter.lateness(), standstill, rest));
        }
        // In step with the full seconds of the first measurement, so that the figures of a tick seldom belong to two
        // seconds. A late tick comes once; those that it missed are left out.
        let mut tick = interval_at(self.context.start + TICK, TICK);
        while !self.users.are_gone() {
            self.watched_loop.returned();
            self.users.end_settled_lanes();
            self.rest(channels);
            self.report_started(channels);
            self.users.publish_room();
            let due = self.users.due();
            let measurement_start = self.measurement_start;
            tokio::select! {
                biased;
                changed = channels.directives.changed() => {
                    let directive = channels.directives.borrow_and_update().clone();
                    if changed.is_err() || directive.phase == DirectivePhase::Abort {
                        self.shared.late_vms.retain();
                        let running = self.users.tasks.len() as u64;
                        self.shared.departed(|departures| departures.cut_off += running);
                        return self.users.tasks.abort_all();
                    }
                    self.follow(channels, directive);
                }
                // Before users and arrivals: however many are due, figures are handed over, and users that have ended
                // make room.
                due = tick.tick() => {
                    self.shared.tick(Instant::now());
                    self.shift();
                    self.meter.woke(due.into_std(), self.shared.lost());
                    self.hand_over(channels);
                }
                () = tokio::time::sleep_until(measurement_start.unwrap_or_else(Instant::now)), if measurement_start.is_some() => {
                    self.measurement_start = None;
                    self.hand_over(channels);
                    self.renew();
                }
                Some(ended) = self.users.tasks.join_next(), if !self.users.tasks.is_empty() => self.users.ended(channels, ended),
                Some(arrival) = channels.transfers.incoming.recv() => self.users.serve(channels, arrival, false),
                () = until(&mut alarm, due), if due.is_some() => {
                    self.step(channels);
                    // Lets users that were started run.
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// Hands over the remaining figures when all users are gone.
    pub(crate) fn end(mut self, channels: &mut Channels) {
        self.users.drop_incoming(channels);
        let now = Instant::now().into_std();
        self.shared.recorder.borrow_mut().end(now);
        self.hand_over(channels);
        let departures = self.departures();
        channels.end(departures);
        // The rest is only freed, which nothing waits for.
        drop(self.watched_loop);
    }

    fn departures(&self) -> Departures {
        Departures {
            started: self.users.started(),
            ..self.shared.departures.get()
        }
    }

    fn follow(&mut self, channels: &mut Channels, directive: Directive) {
        // Time in which the process stood still belongs to the directive before.
        self.shared.see(Instant::now());
        self.shift();
        self.shared.gate.set(directive.clock.is_paused());
        self.shared.all_started.set(!directive.all_started);
        self.shared.run.set_clock(directive.clock);
        let plan_version = directive.plan_version.clone();
        let previous = std::mem::replace(&mut self.users.directive, directive).plan_version;
        self.measure();
        if !Arc::ptr_eq(&plan_version, &previous) {
            // Taken over when its measurement begins, so that its requests count there.
            self.users.directive.plan_version = previous;
            self.next = Some(plan_version);
            if self.measurement_start.is_none() {
                self.renew();
            }
        }
        self.users.limit();
        if self.users.directive.phase == DirectivePhase::Stop && self.users.going {
            self.users.serve_last(channels);
            self.users.stop();
        }
    }

    /// Passes the beginning of the directive's measurement to the recorder.
    fn measure(&mut self) {
        let mut recorder = self.shared.recorder.borrow_mut();
        let moment = self.users.directive.measured_from();
        let moment = moment.and_then(|moment| self.context.instant(moment));
        match moment {
            Some(moment) => {
                recorder.schedule_measurement(
                    self.users.directive.measurement.epoch,
                    moment.into_std(),
                );
            }
            None => recorder.stay(),
        }
        drop(recorder);
        self.measurement_start = moment.filter(|moment| *moment > Instant::now());
    }

    /// Gives users the version of the plan that waits for its measurement to begin.
    fn renew(&mut self) {
        if let Some(plan_version) = self.next.take().filter(|_| self.users.going) {
            self.users.renew(plan_version);
        }
    }

    /// Takes time in which the process stood still out of the timetable, until the director says exactly how much.
    /// Returns whether there was any to take out.
    fn shift(&mut self) -> bool {
        let lost = self.shared.lost();
        let more = lost - std::mem::replace(&mut self.shifted, lost);
        let (now, clock) = (self.context.now(), &mut self.users.directive.clock);
        let shifts = !more.is_zero() && !clock.is_paused();
        if shifts {
            clock.pause(now.saturating_sub(more));
            clock.resume(now);
            self.shared.run.set_clock(*clock);
        }
        shifts
    }

    /// Starts and stops the users that are due by the timetable.
    fn step(&mut self, channels: &Channels) {
        let step_start = Instant::now();
        self.shared.see(step_start);
        if self.shift() {
            // The moment that was due comes later now.
            return;
        }
        let now = step_start.duration_since(self.context.start);
        let clock = self.users.directive.clock;
        let elapsed = clock.elapsed(now);
        // If paused before its beginning, the run waits for a command.
        if !(clock.is_paused() && elapsed.is_zero()) {
            self.users.step(channels, elapsed);
        }
    }

    /// Reports, once, that this shard has started as many users as it will have at a time.
    fn report_started(&mut self, channels: &Channels) {
        if !self.reported_started && self.users.have_all_started() {
            self.reported_started = true;
            channels.send(ShardEventKind::AllStarted);
        }
    }

    /// Reports that all users have ended and none is to come, unless the run is steered.
    fn rest(&mut self, channels: &Channels) {
        let version = self.users.directive.version;
        if self.next.is_none() && self.users.are_over() && self.idle != Some(version) {
            self.idle = Some(version);
            channels.send(ShardEventKind::Idle {
                version,
                departures: self.departures(),
            });
        }
    }

    fn hand_over(&mut self, channels: &mut Channels) {
        let connections = self.shared.client.open_connections();
        let effort = self.meter.take(connections, self.shared.lost());
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
