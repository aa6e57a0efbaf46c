//! The run as the plan of a shard's users sees it: its time, its users, and the channel for the plan's requests to it.

use crate::load_model::clock::RunClock;
use crate::messages::context::RunContext;
use crate::messages::plan_requests::PlanCommand;
use crate::messages::shard_event::{ShardEvent, ShardEventKind};
use lgoose_lua::RunView;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The most different requests that are passed on, and the most bytes of each: a plan may make one in every iteration.
const MAX_REQUESTS: usize = 20;
const MAX_REASON_BYTES: usize = 4_096;

/// The run of a shard's users, or of an event's.
#[derive(Debug)]
pub(crate) struct ShardRun {
    start: Instant,
    /// Time of the run without its pauses; `None` for an event's user.
    clock: Cell<Option<RunClock>>,
    users: Arc<AtomicU64>,
    /// The shard's number and the channel for its signals to the director, if there is one.
    director: Option<(usize, mpsc::UnboundedSender<ShardEvent>)>,
    /// Requests of the plan so far.
    plan_requests: RefCell<Vec<PlanCommand>>,
}

impl ShardRun {
    /// Makes the state of users. Their requests go to the director or, without a channel to it, are kept.
    pub(crate) fn new(
        context: &RunContext,
        director: Option<(usize, mpsc::UnboundedSender<ShardEvent>)>,
    ) -> ShardRun {
        ShardRun {
            start: context.start,
            clock: Cell::new(None),
            users: context.users.clone(),
            director,
            plan_requests: RefCell::default(),
        }
    }

    /// Takes over the clock of the timetable.
    pub(crate) fn set_clock(&self, clock: RunClock) {
        self.clock.set(Some(clock));
    }

    /// Counts a user as at work.
    pub(crate) fn arrives(&self) {
        self.users.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the count of a user.
    pub(crate) fn leaves(&self) {
        self.users.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes the requests so far; of use where there is no channel to the director.
    pub(crate) fn take_plan_requests(&self) -> Vec<PlanCommand> {
        self.plan_requests.take()
    }

    /// Passes on and keeps a request that is new.
    fn request(&self, plan_request: PlanCommand) {
        let mut before = self.plan_requests.borrow_mut();
        if before.len() >= MAX_REQUESTS || before.contains(&plan_request) {
            return;
        }
        if let Some((from, signals)) = &self.director {
            let (from, kind) = (*from, ShardEventKind::PlanRequest(plan_request.clone()));
            // A closed channel means that the run is over.
            let _over = signals.send(ShardEvent { from, kind });
        }
        before.push(plan_request);
    }
}

impl RunView for ShardRun {
    fn elapsed(&self) -> Duration {
        let clock = self.clock.get();
        clock.map_or(Duration::ZERO, |clock| clock.elapsed(self.start.elapsed()))
    }

    fn users(&self) -> u64 {
        self.users.load(Ordering::Relaxed)
    }

    fn stop(&self, why: &str) {
        self.request(PlanCommand::Stop(cut(why)));
    }

    fn fail(&self, why: &str) {
        self.request(PlanCommand::Fail(cut(why)));
    }
}

fn cut(why: &str) -> String {
    why[..why.floor_char_boundary(MAX_REASON_BYTES)].to_owned()
}
