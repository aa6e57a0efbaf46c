//! Events of the plan, run on one of the workers.

use super::terms::REPLY_TIMEOUT;
use crate::engine::{EventEnd, EventOrder, EventTask, WorkerEvent};
use crate::gaggle::broker::Broker;
use crate::gaggle::messages::{RequestKind, WorkerReply, WorkerRequest};
use crate::plan::PlanEvent;
use std::time::Duration;
use tokio::sync::watch;

/// Time limit for an event's function; its own limits end it long before.
const EVENT: Duration = Duration::from_secs(24 * 3_600);

/// The workers that an event concerns.
pub(super) struct EventWorkers {
    /// Identity and name of the one that runs it.
    pub(super) runs: (String, String),
    /// Identities of those that get the value which it returns.
    pub(super) others: Vec<String>,
}

impl EventWorkers {
    /// Runs an event, and sends the value that it returned to the others.
    ///
    /// # Errors
    /// A sentence that says why it did not run, or which worker does not have its value.
    pub(super) async fn run(
        self,
        broker: Broker,
        run: String,
        event: PlanEvent,
        mut ordered: watch::Receiver<EventOrder>,
    ) -> Result<WorkerEvent, String> {
        let (id, name) = self.runs;
        let request = WorkerRequest::new(&run, RequestKind::Event(event));
        let replying = broker.request(&id, &request, EVENT);
        tokio::pin!(replying);
        let reply = loop {
            tokio::select! {
                reply = &mut replying => break reply,
                changed = ordered.changed() => {
                    changed.map_err(|_| "it was given up")?;
                    let order = *ordered.borrow_and_update();
                    let request = WorkerRequest::new(&run, RequestKind::EventOrder(order));
                    let _gone = broker.request(&id, &request, REPLY_TIMEOUT).await;
                }
            }
        };
        let ended = match reply {
            Ok(WorkerReply::Event(ended)) => *ended,
            Ok(_) => return Err("its worker gave an unexpected answer".to_owned()),
            Err(why) => return Err(format!("worker '{name}': {why}")),
        };
        if let Some(json) = &ended.shared {
            let request = WorkerRequest::new(&run, RequestKind::Share(json.clone()));
            let sharing = self.others.iter();
            let sharing = sharing.map(|other| broker.request(other, &request, REPLY_TIMEOUT));
            let replies = futures_util::future::join_all(sharing).await;
            if let Some(why) = replies.into_iter().find_map(Result::err) {
                return Err(format!(
                    "what it returned did not reach every worker: {why}"
                ));
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
