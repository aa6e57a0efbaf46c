//! Setups and responses for tests of VMs.

use crate::limits::Heartbeat;
use crate::requests::Finished;
use crate::vm_setup::VmSetup;
use crate::{Step, Vm};
use lgoose_http::{Client, ClientConfig, ErrorClass, Exchange, Failure, Phases, Session, Transfer};
use lgoose_metrics::Recorder;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Returns a user's setup over a session that sends nothing.
pub(super) fn setup<'a>(
    user: u64,
    recorder: &'a Rc<RefCell<Recorder>>,
    heartbeat: &'a Arc<Heartbeat>,
) -> VmSetup<'a> {
    let client = Client::new(ClientConfig::default(), Arc::default());
    VmSetup {
        random_stream: user,
        user,
        scenario: "visitor",
        session: Rc::new(Session::new(client, "http://127.0.0.1:1").expect("a good URL")),
        memory: 64 << 20,
        time: Duration::from_secs(1),
        recorder,
        heartbeat,
        run: None,
    }
}

/// Starts a task, and lets it go on as long as it computes.
pub(super) fn start(vm: &mut Vm, task: usize, iteration: u64) -> Step {
    let first = vm.start(task, iteration);
    settled(vm, first)
}

/// Lets a task go on as long as it computes: how often it is preempted depends on the machine.
pub(super) fn settled(vm: &mut Vm, mut step: Step) -> Step {
    while matches!(step, Step::Preempted) {
        step = vm.compute_on();
    }
    step
}

/// Returns an empty recorder.
pub(super) fn recorder() -> Rc<RefCell<Recorder>> {
    Rc::new(RefCell::new(Recorder::new(0)))
}

/// Returns a request without a response.
pub(super) fn unanswered() -> Finished {
    let exchange = Box::new(Exchange {
        trace: None,
        start: tokio::time::Instant::now(),
        connection: None,
        latency: Duration::ZERO,
        timings: Phases::default(),
        transfer: Transfer::default(),
        outcome: Err(Failure::new(ErrorClass::Refused, "")),
    });
    Finished::new(exchange, None)
}
