//! Events of a run whose users are on workers: one of the workers runs the plan's function and sends its result.

use crate::messages::plan_requests::PlanCommand;
use crate::run::Run;
use crate::run::event_user::{EventEnd, EventOrder, EventTask, StartEvent, start_event_thread};
use lgoose_base::error::Error;
use lgoose_metrics::{Delivery, PortableDelta};
use lgoose_plan::PlanEvent;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

/// Result of an event that ran on a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerEvent {
    raised: Option<(String, Option<String>)>,
    cut_off: bool,
    /// Requests of the plan to the run.
    plan_requests: Vec<PlanCommand>,
    /// Encoded by [`PortableDelta::encode`].
    pub bytes: Vec<u8>,
    /// The value that `test_start` returned for all users, as JSON.
    pub shared: Option<String>,
}

impl WorkerEvent {
    /// Returns the end of the event as a director takes it.
    ///
    /// # Errors
    /// Trouble with figures that cannot be read.
    pub fn end(self) -> Result<EventEnd, Error> {
        Ok(EventEnd {
            raised: self.raised.map(|(message, line)| lgoose_lua::RaisedError {
                message,
                line,
                backtrace: None,
            }),
            cut_off: self.cut_off,
            plan_requests: self.plan_requests,
            delivery: Delivery::Worker {
                delta: Box::new(PortableDelta::decode(&self.bytes)?),
                reached: 0,
            },
        })
    }
}

/// Runs the plan's function for an event on this worker. Times in logs count from `origin`, or from now on.
///
/// # Errors
/// Trouble that keeps its user from starting, or ended its thread.
pub async fn run_event_here(
    run: Run,
    event: PlanEvent,
    ordered: watch::Receiver<EventOrder>,
    origin: Option<Instant>,
) -> Result<WorkerEvent, Error> {
    run_event_at(start_event_thread, run, event, ordered, origin).await
}

/// Works like [`run_event_here`], with a given way to start the event's user.
pub(crate) async fn run_event_at(
    start: StartEvent,
    run: Run,
    event: PlanEvent,
    ordered: watch::Receiver<EventOrder>,
    origin: Option<Instant>,
) -> Result<WorkerEvent, Error> {
    let plan_version = run.plan_version.clone();
    let context = run.into_context();
    let origin = origin.unwrap_or(context.origin);
    let context = context.with_origin(origin);
    let (result, ended) = oneshot::channel();
    start(EventTask {
        context: Arc::new(context),
        plan_version: plan_version.clone(),
        event,
        ordered,
        heartbeat: Arc::default(),
        result,
    })?;
    let fault = |_| Error::trouble(format!("{} ended because of a bug in lgoose", event.name()));
    let ended = ended.await.map_err(fault)??;
    let bytes = match &ended.delivery {
        Delivery::Shard(delta) => PortableDelta::from(&**delta).encode(),
        Delivery::Worker { delta, .. } => delta.encode(),
        Delivery::Gathered { delta, .. } => delta.whole().encode(),
    };
    Ok(WorkerEvent {
        raised: ended.raised.map(|raised| (raised.message, raised.line)),
        cut_off: ended.cut_off,
        plan_requests: ended.plan_requests,
        bytes,
        shared: plan_version.program.shared(),
    })
}
