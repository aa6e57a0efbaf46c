//! The user that runs one of the plan's events: on a thread of its own or, in tests with simulated time, as a task.
//! Its requests count separately from those of other users, under the event's name. Knows its orders, not who gives
//! them.

use crate::messages::context::RunContext;
use crate::messages::plan_requests::PlanCommand;
use crate::messages::plan_version::PlanVersion;
use crate::user::run_state::ShardRun;
use crate::user::stop::StopSignal;
use crate::user::{ScenarioContext, ShardState, User};
use lgoose_base::error::Error;
use lgoose_lua::{Heartbeat, RaisedError};
use lgoose_metrics::Delivery;
use lgoose_plan::PlanEvent;
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{oneshot, watch};

/// Function that starts the user of an event.
pub(crate) type StartEvent = fn(EventTask) -> Result<(), Error>;

/// An order to the user of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventOrder {
    /// The function goes on.
    GoOn,
    /// Come to an end as a task does after a stop.
    Stop,
    /// End at once.
    CutOff,
}

/// The task of an event's user: its event, its orders and the receiver of its result.
#[derive(Debug)]
pub struct EventTask {
    pub(crate) context: Arc<RunContext>,
    pub(crate) plan_version: Arc<PlanVersion>,
    /// The event.
    pub event: PlanEvent,
    /// Orders to its user.
    pub ordered: watch::Receiver<EventOrder>,
    /// Shows the watchdog when the plan's code runs.
    pub(crate) heartbeat: Arc<Heartbeat>,
    /// Channel for its result.
    pub result: oneshot::Sender<Result<EventEnd, Error>>,
}

/// The end of an event's function.
#[derive(Debug)]
pub struct EventEnd {
    pub(crate) raised: Option<RaisedError>,
    pub(crate) cut_off: bool,
    /// Requests of the plan to the run.
    pub(crate) plan_requests: Vec<PlanCommand>,
    pub(crate) delivery: Delivery,
}

impl EventEnd {
    /// Makes the end of an event that could not be run, for that reason.
    pub fn failed(why: String) -> EventEnd {
        EventEnd {
            raised: Some(RaisedError {
                message: why,
                line: None,
                backtrace: None,
            }),
            cut_off: false,
            plan_requests: Vec::new(),
            delivery: Delivery::Worker {
                delta: Box::default(),
                reached: 0,
            },
        }
    }
}

/// Starts the user of an event on a thread.
pub(crate) fn start_event_thread(task: EventTask) -> Result<(), Error> {
    let cannot = |error| Error::cannot("start the thread of an event", error);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(cannot)?;
    let thread = std::thread::Builder::new().name(task.event.name().to_owned());
    let run = move || {
        task.heartbeat.run_here();
        runtime.block_on(task.run());
        // Does not wait for look-ups of names, which may take as long as they like.
        runtime.shutdown_background();
    };
    thread.spawn(run).map(drop).map_err(cannot)
}

impl EventTask {
    /// Runs the function to its end, or until it is to be cut off, and sends the result.
    pub(crate) async fn run(self) {
        let (context, event, mut ordered) = (self.context, self.event, self.ordered);
        let index = context.shards + event as usize;
        let run = ShardRun::new(&context, None);
        let recorder = context.recorder(index);
        let shared = ShardState::new(&context, index, recorder, run, self.heartbeat);
        let stop = Rc::<StopSignal>::default();
        let version = &self.plan_version;
        let role = ScenarioContext::of_event(event, version, &mut shared.recorder.borrow_mut());
        let user = User::for_event(role, shared.clone(), stop.clone());
        let ended = match user {
            Ok(user) => {
                let raised = tokio::select! {
                    raised = shared.turn.repeat(user.run_event(event)) => Some(raised),
                    () = follow(&mut ordered, &stop) => None,
                };
                Ok(EventEnd {
                    cut_off: raised.is_none(),
                    raised: raised.flatten(),
                    plan_requests: shared.run.take_plan_requests(),
                    delivery: Delivery::Shard(Box::new(shared.recorder.borrow_mut().take())),
                })
            }
            Err(error) => Err(error),
        };
        // Fails if the run has given it up.
        let _abandoned = self.result.send(ended);
    }
}

/// Follows orders, and returns when the user is to end at once.
async fn follow(ordered: &mut watch::Receiver<EventOrder>, stop: &StopSignal) {
    loop {
        let order = *ordered.borrow_and_update();
        match order {
            EventOrder::GoOn => {}
            EventOrder::Stop => stop.request(),
            EventOrder::CutOff => return,
        }
        // Nobody waits for it any more.
        if ordered.changed().await.is_err() {
            return;
        }
    }
}
