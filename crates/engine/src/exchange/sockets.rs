//! Sockets of a user on which the plan speaks a protocol of its own: those that are open, and the traffic over them.

use super::flight::Flown;
use super::kind::Ended;
use super::plan_exchange::ended;
use lgoose_http::Failure;
use lgoose_metrics::Recorder;
use lgoose_protocols::{CallOp, OpenSocket, PlanExchange, SocketRow};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// The sockets of a user, as long as they are open or have something to count; its task and its jobs share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenSockets(Rc<RefCell<Vec<Rc<OpenSocket>>>>);

impl OpenSockets {
    /// Keeps a socket that was opened, whose traffic counts in that row.
    pub(crate) fn add(&self, socket: Rc<OpenSocket>, row: SocketRow) -> Rc<OpenSocket> {
        socket.row.get_or_init(|| row);
        self.0.borrow_mut().push(socket.clone());
        socket
    }

    /// Counts their traffic, and forgets those that are closed. Returns how many are open.
    pub(crate) fn count(&self, recorder: &mut Recorder) -> usize {
        let mut sockets = self.0.borrow_mut();
        sockets.retain(|socket| {
            count(socket, recorder);
            !socket.is_closed()
        });
        sockets.len()
    }

    /// Takes all, to close them.
    pub(crate) fn take_all(&self) -> Vec<Rc<OpenSocket>> {
        self.0.take()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }
}

/// Counts the traffic over a socket since it was counted last.
pub(super) fn count(socket: &OpenSocket, recorder: &mut Recorder) {
    if let Some(row) = socket.row.get() {
        recorder.messages(
            row.id,
            Instant::now().into_std(),
            socket.take_traffic(),
            &[],
        );
    }
}

/// Returns the exchange that is counted for a socket that has failed outside of any other: it began when the plan began to use
/// the socket.
pub(super) fn failed(
    row: &SocketRow,
    start: Instant,
    failure: &Failure,
) -> (CallOp, Ended<CallOp>) {
    let op = CallOp {
        name: row.name.clone(),
        tags: row.tags.clone(),
        ..CallOp::new(PlanExchange::new(&row.kind, row.target.clone()))
    };
    let flown = Flown {
        start,
        latency: start.elapsed(),
        lost: Duration::ZERO,
    };
    (op, ended(flown, Err(failure.clone())))
}
