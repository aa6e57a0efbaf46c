//! Users of a shard: starts and stops them by the timetable and for arrivals, which it serves, passes on to a shard that
//! has room, or drops. Driven by the shard; knows no measurement.

use super::channels::Channels;
use crate::load_model::dispatch_pool::Service;
use crate::load_model::dispatcher::{Arrival, Dispatcher};
use crate::load_model::lane_pool::LanePool;
use crate::load_model::user_pool::UserStart;
use crate::messages::context::RunContext;
use crate::messages::directive::{Directive, DirectivePhase};
use crate::messages::plan_version::PlanVersion;
use crate::messages::shard_event::ShardEventKind;
use crate::user::on_call::OnCall;
use crate::user::prefetch::PrefetchedLife;
use crate::user::stop::StopSignal;
use crate::user::{ScenarioContext, ShardState, User};
use lgoose_base::error::Error;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

/// The longest time for which users are started in a row before other tasks get their turn.
const AT_A_TIME: Duration = Duration::from_millis(1);

/// The most arrivals served in a row before other tasks get their turn.
const BATCH: usize = 64;

/// Users of one shard.
pub(crate) struct ShardUsers {
    index: usize,
    context: Arc<RunContext>,
    shared: Rc<ShardState>,
    roles: Vec<Rc<ScenarioContext>>,
    pub(super) directive: Directive,
    /// Users by lane.
    pools: Vec<LanePool>,
    /// The tasks of all users; each returns its user's lane and number when it ends.
    pub(crate) tasks: JoinSet<(usize, u64)>,
    /// Whether users may start.
    pub(super) going: bool,
}

impl ShardUsers {
    pub(super) fn new(
        index: usize,
        context: Arc<RunContext>,
        directive: Directive,
        shared: Rc<ShardState>,
    ) -> ShardUsers {
        let plan_version = &directive.plan_version;
        let recorder = &mut shared.recorder.borrow_mut();
        ShardUsers {
            roles: ScenarioContext::of_scenarios(&context, plan_version, recorder),
            index,
            pools: LanePool::of_lanes(index, &context, &directive),
            context,
            tasks: JoinSet::new(),
            going: directive.phase == DirectivePhase::Go,
            shared: shared.clone(),
            directive,
        }
    }

    /// Returns whether all have ended and none is to start.
    pub(super) fn are_gone(&self) -> bool {
        !self.going && self.tasks.is_empty()
    }

    /// Returns whether all have ended and the timetable starts no more, unless the run is steered.
    pub(super) fn are_over(&self) -> bool {
        let timetable = &self.directive.timetable;
        let elapsed = self.directive.clock.elapsed(self.context.now());
        let mut pools = self.pools.iter().enumerate();
        self.tasks.is_empty() && pools.all(|(lane, pool)| pool.is_over(timetable, lane, elapsed))
    }

    /// Returns whether as many have been started as the shard will have at a time.
    pub(super) fn have_all_started(&self) -> bool {
        let timetable = &self.directive.timetable;
        let mut pools = self.pools.iter().enumerate();
        pools.all(|(lane, pool)| pool.has_started_all(timetable, lane))
    }

    /// Returns how many were ever started; 0 at a rate.
    pub(super) fn started(&self) -> u64 {
        self.pools.iter().map(LanePool::reached).sum()
    }

    /// Takes over the limits on users that the timetable now sets.
    pub(super) fn limit(&mut self) {
        for (lane, pool) in self.pools.iter_mut().enumerate() {
            pool.follow(&self.directive.timetable, lane);
        }
    }

    /// Gives users another version of the plan, each when its iteration has ended.
    pub(super) fn renew(&mut self, plan_version: Arc<PlanVersion>) {
        let recorder = &mut self.shared.recorder.borrow_mut();
        self.roles = ScenarioContext::of_scenarios(&self.context, &plan_version, recorder);
        self.directive.plan_version = plan_version;
        for pool in &mut self.pools {
            pool.renew(self.roles.len());
        }
    }

    /// Lets the users of a lane go, each when its iteration has ended, once all of its arrivals were served or dropped.
    pub(super) fn end_settled_lanes(&mut self) {
        for (lane, pool) in self.pools.iter_mut().enumerate() {
            if let LanePool::Arrivals(dispatcher) = pool
                && !dispatcher.pool.is_closed()
                && self.context.arrivals_left.is_settled(lane)
            {
                dispatcher.pool.retire();
                self.shared.departed(|departures| departures.finished += 1);
            }
        }
    }

    /// Stops all users; none starts any more.
    pub(super) fn stop(&mut self) {
        self.going = false;
        self.pools.iter_mut().for_each(LanePool::release_all);
    }

    /// Returns when the number of users changes next or the next iteration starts; a moment in the past means at
    /// once.
    pub(super) fn due(&mut self) -> Option<Instant> {
        if !self.going {
            return None;
        }
        let Directive {
            clock, timetable, ..
        } = &self.directive;
        let elapsed = clock.elapsed(self.context.now());
        let pools = self.pools.iter_mut().enumerate();
        let due = pools.filter_map(|(lane, pool)| pool.due(timetable, lane, elapsed));
        self.context.instant(clock.moment(due.min()?)?)
    }

    /// Starts users or stops those whose time is over at `elapsed` of the timetable, and serves the arrivals that are due.
    pub(super) fn step(&mut self, channels: &Channels, elapsed: Duration) {
        let stepped_at = Instant::now();
        let timetable = self.directive.timetable.clone();
        for lane in 0..self.pools.len() {
            let Some(users) = timetable.users(lane) else {
                self.serve_due(channels, lane, elapsed);
                continue;
            };
            let users = users.users_at(elapsed);
            // Starting users must keep neither running users nor late ones waiting for long.
            while let LanePool::Users(pool) = &mut self.pools[lane]
                && let Some(start) = pool.next(users)
            {
                self.start(channels, lane, start);
                if !self.going || stepped_at.elapsed() > AT_A_TIME {
                    return;
                }
            }
        }
    }

    fn start(&mut self, channels: &Channels, lane: usize, start: UserStart) {
        let role = self.role_of(lane, start.number);
        let stop = Rc::<StopSignal>::default();
        match self.user(lane, start, role, stop.clone()) {
            Ok(user) => {
                if let LanePool::Users(pool) = &mut self.pools[lane] {
                    pool.started(start.number, stop);
                }
                let key = (lane, start.number);
                let life = PrefetchedLife::new(user, |user| user.live(key));
                self.tasks.spawn_local(life);
            }
            Err(error) => self.fail(channels, error),
        }
    }

    /// Returns the role of user or iteration `number` of a lane.
    fn role_of(&self, lane: usize, number: u64) -> Rc<ScenarioContext> {
        let lanes = &self.directive.plan_version.lanes;
        self.roles[lanes.scenario_of(lane, number)].clone()
    }

    /// Makes a user of a lane, with its number in the whole run.
    fn user(
        &self,
        lane: usize,
        start: UserStart,
        role: Rc<ScenarioContext>,
        stop: Rc<StopSignal>,
    ) -> Result<Box<User>, Error> {
        let number = self
            .directive
            .plan_version
            .lanes
            .number_of(lane, start.number);
        User::new(
            UserStart { number, ..start },
            role,
            self.shared.clone(),
            stop,
        )
    }

    /// Reports that no user can be made; the run ends here.
    fn fail(&mut self, channels: &Channels, error: Error) {
        channels.send(ShardEventKind::Failed(error));
        self.stop();
    }

    /// Starts the user in place of one that has ended, if its number is to run again.
    pub(super) fn ended(&mut self, channels: &Channels, ended: Result<(usize, u64), JoinError>) {
        match ended {
            Ok((lane, number)) => {
                let next = self.pools[lane].ended(number);
                if let Some(start) = next.filter(|_| self.going) {
                    self.start(channels, lane, start);
                }
            }
            Err(error) if error.is_panic() => {
                let message = "a user ended because of a bug in lgoose; please report it";
                channels.send(ShardEventKind::Failed(Error::trouble(message)));
            }
            Err(_) => {}
        }
    }

    /// Serves arrivals of a lane that are due, up to [`BATCH`], and fewer where new users take long to make; ends the lane when
    /// its time has come.
    fn serve_due(&mut self, channels: &Channels, lane: usize, elapsed: Duration) {
        let (begun, users) = (Instant::now(), self.tasks.len());
        for _ in 0..BATCH {
            match self.take_due(lane) {
                Some(arrival) => {
                    self.serve(channels, arrival, true);
                    if self.tasks.len() > users && begun.elapsed() > AT_A_TIME {
                        return;
                    }
                }
                None => {
                    let end = self.directive.timetable.early_end(lane);
                    if end.is_some_and(|end| elapsed >= end) {
                        self.pools[lane].release_all();
                    }
                    return;
                }
            }
        }
    }

    /// Serves the last arrivals before the end of the run: no shard is left to pass them on to.
    pub(super) fn serve_last(&mut self, channels: &Channels) {
        for lane in 0..self.pools.len() {
            while let Some(arrival) = self.take_due(lane) {
                self.serve(channels, arrival, false);
            }
        }
    }

    /// Takes the next arrival of a lane if it is due.
    fn take_due(&mut self, lane: usize) -> Option<Arrival> {
        let timetable = self.directive.timetable.clone();
        let dispatcher = self.dispatcher(lane)?;
        let (number, time) = dispatcher.next(&timetable.lanes[lane])?;
        let moment = self.directive.clock.moment(time)?;
        let scheduled = self.context.instant(moment)?;
        if scheduled > Instant::now() {
            return None;
        }
        self.dispatcher(lane)?.arrivals.advance();
        Some(Arrival {
            lane,
            number,
            scheduled,
        })
    }

    /// Returns the dispatcher of a lane; `None` if it has a number of users.
    fn dispatcher(&mut self, lane: usize) -> Option<&mut Dispatcher> {
        match &mut self.pools[lane] {
            LanePool::Arrivals(dispatcher) => Some(dispatcher),
            LanePool::Users(_) => None,
        }
    }

    /// Serves an arrival. Passes it on if nobody here can and it is the shard's `own`, else drops and counts it.
    pub(super) fn serve(&mut self, channels: &Channels, arrival: Arrival, own: bool) {
        let Arrival { lane, number, .. } = arrival;
        let scenario = self.directive.plan_version.lanes.scenario_of(lane, number);
        let going = self.going;
        let Some(dispatcher) = self.dispatcher(lane) else {
            return;
        };
        let service = if going && !dispatcher.pool.is_closed() {
            dispatcher.pool.serve(scenario, arrival.scheduled)
        } else {
            Service::Nobody
        };
        match service {
            Service::Taken => self.context.arrivals_left.settle(lane, 1),
            Service::New(start, member) => {
                self.context.arrivals_left.settle(lane, 1);
                let role = self.roles[scenario].clone();
                let stop = Rc::<StopSignal>::default();
                match self.user(lane, start, role, stop.clone()) {
                    Ok(user) => {
                        if let Some(dispatcher) = self.dispatcher(lane) {
                            dispatcher.pool.started(member.clone(), stop);
                        }
                        let key = (lane, start.number);
                        let life =
                            PrefetchedLife::new(user, |user| OnCall::new(user, member).live(key));
                        self.tasks.spawn_local(life);
                    }
                    Err(error) => self.fail(channels, error),
                }
            }
            Service::Nobody if own && self.pass_on(channels, arrival) => {}
            Service::Nobody => {
                self.context.arrivals_left.settle(lane, 1);
                self.drop_arrival(scenario);
            }
        }
    }

    /// Gives an arrival to a shard that has room, if there is one.
    fn pass_on(&self, channels: &Channels, arrival: Arrival) -> bool {
        let spare = |room: u64| room.checked_sub(1);
        let order = Ordering::Relaxed;
        self.context.rooms[arrival.lane]
            .iter()
            .zip(&channels.transfers.others)
            .any(|(room, shard)| {
                room.fetch_update(order, order, spare).is_ok() && shard.send(arrival).is_ok()
            })
    }

    /// Publishes to the other shards how many arrivals this one could take over.
    pub(super) fn publish_room(&self) {
        for (pool, rooms) in self.pools.iter().zip(&self.context.rooms) {
            if let LanePool::Arrivals(dispatcher) = pool {
                let room = if self.going {
                    dispatcher.pool.room()
                } else {
                    0
                };
                rooms[self.index].store(room, Ordering::Relaxed);
            }
        }
    }

    /// Drops and counts the arrivals that other shards passed on too late.
    pub(super) fn drop_incoming(&self, channels: &mut Channels) {
        while let Ok(Arrival { lane, number, .. }) = channels.transfers.incoming.try_recv() {
            self.drop_arrival(self.directive.plan_version.lanes.scenario_of(lane, number));
        }
    }

    /// Counts an iteration of a scenario that nobody serves.
    fn drop_arrival(&self, scenario: usize) {
        let name = &self.roles[scenario].scenario.name;
        self.shared.recorder.borrow_mut().dropped(name);
    }
}
