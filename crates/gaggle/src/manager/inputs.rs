//! Inputs of the workers of a run: the plan, the value of `test_start`, the start, and the latest order. A worker that
//! joins later gets all of them at once.

use super::hand_out::PackedPlan;
use super::registry::RegisteredWorker;
use super::streams::ManagerConnection;
use super::terms::{LatestReceiver, REPLY_TIMEOUT};
use crate::broker::Broker;
use crate::messages::{RequestKind, RevisedOrder, WorkerRequest};
use lgoose_base::allotment::ReservedNumbers;
use lgoose_engine::RunOrder;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Inputs of the workers of a run so far. A copy has the same orders.
#[derive(Clone)]
pub(super) struct WorkerInputs {
    /// The plan as workers get it; `None` if this process does not have it.
    pub(super) plan: Option<Arc<PackedPlan>>,
    /// The value that `test_start` returned, as JSON.
    pub(super) shared: Option<String>,
    /// Start of the users, and its time since the origin of log times.
    start: Option<(Instant, Duration)>,
    /// The latest order.
    order: watch::Sender<Option<RevisedOrder>>,
}

impl WorkerInputs {
    /// Returns the inputs of a run that has not begun.
    pub(super) fn new(plan: PackedPlan) -> WorkerInputs {
        WorkerInputs {
            plan: Some(Arc::new(plan)),
            shared: None,
            start: None,
            order: watch::channel(None).0,
        }
    }

    /// Returns the inputs of a run that another manager has led so far, and whose plan is not here.
    pub(super) fn of_run_under_way(
        start: (Instant, Duration),
        order: Option<RevisedOrder>,
    ) -> WorkerInputs {
        WorkerInputs {
            plan: None,
            shared: None,
            start: Some(start),
            order: watch::channel(order).0,
        }
    }

    /// Returns a receiver of the latest order.
    pub(super) fn orders(&self) -> LatestReceiver<Option<RevisedOrder>> {
        self.order.subscribe()
    }

    /// Makes this the latest order, unless it is already.
    pub(super) fn revise(&self, order: RunOrder) {
        self.order.send_if_modified(|latest| {
            let current = latest.as_ref();
            if current.is_some_and(|current| current.order == order) {
                return false;
            }
            let revision = current.map_or(1, |current| current.revision + 1);
            *latest = Some(RevisedOrder { revision, order });
            true
        });
    }

    /// Returns whether users go on by the latest order.
    pub(super) fn order_goes_on(&self) -> bool {
        let latest = self.order.borrow();
        latest.as_ref().is_some_and(|latest| latest.order.goes_on())
    }

    /// Waits until the latest order has users stop.
    pub(super) async fn stopped(&self) {
        let stops = |latest: &Option<RevisedOrder>| {
            latest
                .as_ref()
                .is_some_and(|latest| !latest.order.goes_on())
        };
        let mut orders = self.orders();
        // The orders end with this side of them, which waits.
        let _stopped = orders.wait_for(stops).await;
    }

    /// Records when users begin, and how long that is after the origin of log times.
    pub(super) fn start(&mut self, at: Instant, since_origin: Duration) {
        self.start = Some((at, since_origin));
    }

    pub(super) fn has_started(&self) -> bool {
        self.start.is_some()
    }

    /// Returns the time since the run began.
    pub(super) fn elapsed(&self) -> Duration {
        self.start
            .map_or(Duration::ZERO, |(start, _)| start.elapsed())
    }

    /// Returns the request that has a worker start users. One that takes the place of another takes none of the numbers
    /// `reserved` there before.
    pub(super) fn start_request(
        &self,
        line: &ManagerConnection,
        reserved: Option<ReservedNumbers>,
    ) -> WorkerRequest {
        let (at, since_origin) = self.start.expect("a run that begins has a beginning");
        let latest = self.order.borrow().clone();
        let RevisedOrder { revision, order } = latest.expect("a run that begins has an order");
        let start = RequestKind::Start {
            at: line.clock.at(at.into_std()),
            since_origin,
            revision,
            order: Box::new(order),
            reserved,
        };
        WorkerRequest::new(&line.run, start)
    }

    /// Gives a worker that joins a running run everything that the others have but the start.
    ///
    /// # Errors
    /// A sentence that says why it cannot join.
    pub(super) async fn bring_in(
        &self,
        broker: &Broker,
        run: &str,
        member: &mut RegisteredWorker,
    ) -> Result<(), String> {
        let plan = self.plan.as_ref().ok_or("the plan is not here")?;
        member.offset = plan.hand_to(broker, run, member).await?;
        if let Some(shared) = &self.shared {
            let share = WorkerRequest::new(run, RequestKind::Share(shared.clone()));
            let id = &member.presence.id;
            broker.request(id, &share, REPLY_TIMEOUT).await?;
        }
        Ok(())
    }
}
