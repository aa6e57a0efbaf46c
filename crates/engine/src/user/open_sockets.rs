//! The sockets of a user on which the plan speaks a protocol of its own: how many are open, and what flows over them.

use crate::user::finished_call::FinishedCall;
use lgoose_http::{ErrorClass, Failure};
use lgoose_metrics::Recorder;
use lgoose_protocols::{CallOp, OpenSocket, PlanExchange, SocketRow};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// The sockets of a user, as long as they are open or have something to count; its task and its jobs share them.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenSockets(Rc<RefCell<Vec<Rc<OpenSocket>>>>);

impl OpenSockets {
    /// Keeps a socket that was opened, whose traffic counts in that row.
    pub(super) fn add(&self, socket: Rc<OpenSocket>, row: SocketRow) -> Rc<OpenSocket> {
        socket.row.get_or_init(|| row);
        self.0.borrow_mut().push(socket.clone());
        socket
    }

    /// Counts what has flowed, and forgets those that are closed. Returns how many are open.
    pub(super) fn count(&self, recorder: &mut Recorder) -> usize {
        let mut sockets = self.0.borrow_mut();
        sockets.retain(|socket| {
            count(socket, recorder);
            !socket.is_closed()
        });
        sockets.len()
    }

    /// Takes all, to close them.
    pub(super) fn take_all(&self) -> Vec<Rc<OpenSocket>> {
        self.0.take()
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }
}

/// Counts what has flowed over a socket since it was counted last.
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

/// Returns what is counted of a socket that has failed outside of any exchange: one more request of its row, which began when
/// the plan began to use it.
pub(super) fn failed(row: &SocketRow, start: Instant, failure: &Failure) -> (CallOp, FinishedCall) {
    let op = CallOp {
        name: row.name.clone(),
        tags: row.tags.clone(),
        ..CallOp::new(PlanExchange::new(&row.kind, row.target.clone()))
    };
    let finished = FinishedCall::new(
        (row.id, None),
        (start, start.elapsed(), Duration::ZERO),
        Err(failure.clone()),
    );
    (op, finished)
}

/// Returns the failure of what takes too long.
pub(super) fn timed_out() -> Failure {
    Failure::new(ErrorClass::Timeout, "")
}
