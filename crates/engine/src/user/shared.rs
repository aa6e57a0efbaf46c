//! State that the users of a shard share.

use super::gate::Gate;
use super::run_state::ShardRun;
use super::turn::Turn;
use super::user_vm::LateVms;
use crate::exchange::Paths;
use crate::load_model::throttle::Throttle;
use crate::load_model::tickets::Tickets;
use crate::messages::context::{OwnLimits, RunContext};
use crate::messages::departures::Departures;
use crate::messages::host_recovery::HostRecovery;
use crate::timing::standstill::Gap;
use crate::timing::timers::Timers;
use lgoose_http::Client;
use lgoose_lua::Heartbeat;
use lgoose_metrics::Recorder;
use lgoose_plan::config::{RunConfig, ShowLevel};
use lgoose_plan::scaled;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;
use tokio::time::Instant;

/// The number of a shard's open connections from which on its users gather before they send and prefetch before they
/// run. Measured against nginx: up to 1,000 users gathering makes no difference; with 10,000, the two save a quarter of
/// the CPU time.
const MANY_CONNECTIONS: u64 = 2_000;

/// State that the users of a shard share.
#[derive(Debug)]
pub(crate) struct ShardState {
    pub(crate) config: Arc<RunConfig>,
    pub(crate) show: ShowLevel,
    pub(crate) client: Rc<Client>,
    // Never borrowed across an await nor while a VM runs: plans measure too.
    pub(crate) recorder: Rc<RefCell<Recorder>>,
    pub(crate) gate: Gate,
    /// The turn of the user that runs.
    pub(crate) turn: Turn,
    /// Closed until all users of the run have been started.
    pub(crate) all_started: Gate,
    /// Whether the user that ran last waits for others before it sends.
    gathers: Cell<bool>,
    /// The run as the plan sees it.
    pub(crate) run: Rc<ShardRun>,
    pub(crate) timers: Timers,
    /// Limit on the requests of all users; `None` without one, and then a request only looks here.
    throttle: Option<Arc<Throttle>>,
    /// The hosts that are down, for whose return users wait.
    pub(crate) recoveries: Arc<HostRecovery>,
    /// Iterations that all users share.
    pub(crate) tickets: Option<Arc<Tickets>>,
    /// Numbers of the shard's users by the way they ended.
    pub(crate) departures: Cell<Departures>,
    /// Paths of requests that have no name of their own.
    pub(crate) paths: RefCell<Paths>,
    /// The steps that users have taken which compute little.
    pub(super) light_steps: Cell<u64>,
    /// The total wait of users that compute for long; `None` once a warning about it was shown.
    pub(super) heavy_waits: Cell<Option<Duration>>,
    /// Whether a response with an odd line in its head has been warned of.
    pub(crate) has_shown_malformed_header: Cell<bool>,
    /// VMs of users that were cut off.
    pub(crate) late_vms: Rc<LateVms>,
    /// Time that reports to plans of requests of users that were cut off have taken.
    pub(crate) late_reporting: Cell<Duration>,
    /// Shows the watchdog whose code runs.
    pub(crate) heartbeat: Arc<Heartbeat>,
    /// Whether users take no further step.
    halted: Arc<AtomicBool>,
}

impl ShardState {
    /// Makes the state of shard number `index`; the two events of a plan have the numbers after the last.
    pub(crate) fn new(
        context: &RunContext,
        index: usize,
        recorder: Recorder,
        run: ShardRun,
        heartbeat: Arc<Heartbeat>,
    ) -> Rc<ShardState> {
        const EVENTS: usize = 2;
        let among = (context.shards + EVENTS) as u64;
        let (client, resolver) = (context.client.clone(), context.resolver.clone());
        Rc::new(ShardState {
            config: context.config.clone(),
            show: context.local.show,
            client: Client::for_shard(client, resolver, index as u64, among),
            recorder: Rc::new(RefCell::new(recorder)),
            gate: Gate::default(),
            turn: Turn::default(),
            all_started: Gate::default(),
            gathers: Cell::default(),
            run: Rc::new(run),
            timers: context.timers(),
            throttle: context.throttle.clone(),
            recoveries: context.recoveries.clone(),
            tickets: context.tickets.clone(),
            departures: Cell::default(),
            paths: RefCell::default(),
            late_vms: Rc::default(),
            light_steps: Cell::default(),
            heavy_waits: Cell::new(Some(Duration::ZERO)),
            has_shown_malformed_header: Cell::default(),
            late_reporting: Cell::default(),
            heartbeat,
            halted: context.halted.clone(),
        })
    }

    /// Returns a pause of the plan, scaled as this run wants it.
    pub(crate) fn pause(&self, planned: Duration) -> Duration {
        scaled(planned, self.config.wait_factor)
    }

    /// Returns whether users take no further step, since the run is about to be aborted.
    pub(crate) fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Relaxed)
    }

    /// Notes that the shard is at work, and whether the process stood still before.
    pub(crate) fn see(&self, now: Instant) {
        if let Some(gap) = self.timers.standstill.see(now) {
            self.report_gap(gap);
        }
    }

    /// Notes a tick of the shard, like [`ShardState::see`].
    pub(crate) fn tick(&self, now: Instant) {
        if let Some(gap) = self.timers.standstill.tick(now) {
            self.report_gap(gap);
        }
    }

    #[cold]
    fn report_gap(&self, gap: Gap) {
        let recorder = &mut *self.recorder.borrow_mut();
        match gap {
            Gap::Standstill(time) => recorder.stood_still(time),
            Gap::Away(time) => recorder.was_away(Instant::now().into_std(), time),
        }
    }

    /// Returns the time for which the process has stood still until now.
    pub(crate) fn lost(&self) -> Duration {
        self.timers.standstill.lost()
    }

    /// Changes the counts of users that have begun or ended.
    pub(crate) fn departed(&self, count: impl FnOnce(&mut Departures)) {
        let mut departures = self.departures.get();
        count(&mut departures);
        self.departures.set(departures);
    }

    /// Returns whether there is a limit on the rate of all requests or on that of those limits.
    pub(crate) fn has_throttle(&self, own: &OwnLimits) -> bool {
        own.throttle.is_some() || self.throttle.is_some()
    }

    /// Waits for the turn of one request, if there is a limit on all of them or on those of its scenario; returns how
    /// long.
    pub(crate) async fn pass_throttles(&self, own: &OwnLimits) -> Duration {
        if !self.has_throttle(own) {
            return Duration::ZERO;
        }
        let (start, lost) = (Instant::now(), self.lost());
        for throttle in [&own.throttle, &self.throttle].into_iter().flatten() {
            throttle.pass().await;
        }
        start.elapsed().saturating_sub(self.lost() - lost)
    }

    /// Charges the throttles for requests that were sent again without waiting for their turn.
    pub(crate) fn charge_throttles(&self, own: &OwnLimits, requests: u32) {
        for throttle in [&own.throttle, &self.throttle].into_iter().flatten() {
            throttle.charge(requests);
        }
    }

    /// Where users are many, lets the others that are ready come this far too, so that their requests leave one after
    /// another. A target that is faster than the shard would sleep after each request, and waking it takes the sender
    /// longer than sending.
    pub(crate) async fn gather(&self) {
        if self.has_many_users() {
            self.gathers.set(true);
            behind_the_ready().await;
        }
    }

    /// Returns whether the user that ran last waits in [`ShardState::gather`]; true once.
    pub(super) fn takes_gathering(&self) -> bool {
        self.gathers.take()
    }

    /// Returns whether the shard's users are too many for the core's cache.
    pub(super) fn has_many_users(&self) -> bool {
        self.client.open_connections() >= MANY_CONNECTIONS
    }
}

/// Lets every task run that is ready now. Unlike tokio's `yield_now`, it does not look first for others that have
/// become ready.
async fn behind_the_ready() {
    let mut came_back = false;
    poll_fn(|context| {
        if std::mem::replace(&mut came_back, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::LocalSet;

    #[tokio::test]
    async fn all_that_are_ready_come_to_the_point_before_one_goes_on() {
        let order = Rc::new(RefCell::new(Vec::new()));
        let users = LocalSet::new();
        for user in 1..=3 {
            let order = order.clone();
            users.spawn_local(async move {
                order.borrow_mut().push(user);
                behind_the_ready().await;
                order.borrow_mut().push(user * 10);
            });
        }
        users.await;
        assert_eq!(*order.borrow(), [1, 2, 3, 10, 20, 30]);
    }
}
