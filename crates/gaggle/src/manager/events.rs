//! Events of the plan, run on one of the workers.

use super::registry::SILENCE;
use super::terms::REPLY_TIMEOUT;
use crate::broker::{Broker, ContactState};
use crate::messages::{RequestKind, WorkerReply, WorkerRequest};
use lgoose_engine::{EventEnd, EventOrder, EventTask, WorkerEvent};
use lgoose_plan::PlanEvent;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Time limit for an event's function; its own limits end it long before.
const EVENT: Duration = Duration::from_secs(24 * 3_600);

/// Time between two looks at whether the worker of an event is still there.
const LOOK: Duration = Duration::from_secs(1);

/// The workers that an event concerns.
pub(super) struct EventWorkers {
    /// Identity and name of the one that runs it.
    pub(super) runs: (String, String),
    /// Identities of those that get the value which it returns.
    pub(super) others: Vec<String>,
}

/// Reasons why an event has no end.
pub(super) enum EventFailure {
    /// The worker with that identity is silent.
    Lost(String),
    /// A sentence.
    Failed(String),
}

impl EventWorkers {
    /// Runs an event, and sends the value that it returned to the others.
    ///
    /// # Errors
    /// The loss of the worker that runs it, why it did not run, or which worker does not have its value.
    pub(super) async fn run(
        self,
        broker: Broker,
        run: String,
        event: PlanEvent,
        mut ordered: watch::Receiver<EventOrder>,
    ) -> Result<WorkerEvent, EventFailure> {
        let (id, name) = self.runs;
        let request = WorkerRequest::new(&run, RequestKind::Event(event));
        let replying = broker.request(&id, &request, EVENT);
        tokio::pin!(replying);
        let contact = broker.contact();
        let mut look = tokio::time::interval(LOOK);
        let mut last_reply = Instant::now();
        let reply = loop {
            let is_new = tokio::select! {
                reply = &mut replying => break reply,
                changed = ordered.changed() => {
                    changed.map_err(|_| EventFailure::Failed("it was given up".to_owned()))?;
                    true
                }
                _ = look.tick() => false,
            };
            let order = *ordered.borrow_and_update();
            let request = WorkerRequest::new(&run, RequestKind::EventOrder(order));
            let within = if is_new { REPLY_TIMEOUT } else { LOOK };
            let is_there = tokio::select! {
                reply = &mut replying => break reply,
                reply = broker.request(&id, &request, within) => reply.is_ok(),
            };
            // Without the broker, everybody is silent.
            if is_there || *contact.borrow() != ContactState::Up {
                last_reply = Instant::now();
            } else if last_reply.elapsed() > SILENCE {
                return Err(EventFailure::Lost(id.clone()));
            }
        };
        let ended = match reply {
            Ok(WorkerReply::Event(ended)) => *ended,
            Ok(_) => {
                let why = "its worker gave an unexpected answer".to_owned();
                return Err(EventFailure::Failed(why));
            }
            Err(why) => return Err(EventFailure::Failed(format!("worker '{name}': {why}"))),
        };
        if let Some(json) = &ended.shared {
            let request = WorkerRequest::new(&run, RequestKind::Share(json.clone()));
            let sharing = self.others.iter();
            let sharing = sharing.map(|other| broker.request(other, &request, REPLY_TIMEOUT));
            let replies = futures_util::future::join_all(sharing).await;
            if let Some(why) = replies.into_iter().find_map(Result::err) {
                let why = format!("what it returned did not reach every worker: {why}");
                return Err(EventFailure::Failed(why));
            }
        }
        Ok(ended)
    }
}

/// Gives the end of an event to the director, unless that no longer waits for it.
pub(super) fn end(task: EventTask, ended: Result<WorkerEvent, String>) {
    let end = match ended {
        Ok(ended) => ended.end(),
        Err(why) => Ok(EventEnd::failed(format!("{}: {why}", task.event.name()))),
    };
    let _abandoned = task.result.send(end);
}
