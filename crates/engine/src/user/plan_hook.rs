//! Tells a plan of its user's requests after they were counted, if it has a function for that.

use crate::user::finished_call::FinishedCall;
use crate::user::naming::{call_name, row_name};
use crate::user::open_requests::LatestOperation;
use crate::user::role::ScenarioContext;
use lgoose_lua::{Finished, HookRequest, Vm};
use lgoose_plan::config::RequestNames;
use lgoose_protocols::CallOp;
use std::time::Duration;

/// A request that has been counted.
#[derive(Debug)]
pub(super) struct CountedRequest {
    /// Its place in the operation.
    place: usize,
    status: u16,
    time: Duration,
    bytes: u64,
    redirects: u32,
    error: Option<String>,
}

impl CountedRequest {
    pub(super) fn of(place: usize, finished: &Finished) -> CountedRequest {
        CountedRequest {
            place,
            status: finished.status(),
            time: finished.exchange.latency,
            bytes: finished.exchange.transfer.received,
            redirects: finished.exchange.transfer.redirects,
            error: finished.verdict().map(|verdict| verdict.into_owned()),
        }
    }
}

/// Tells the plan of requests of these operations of the role's task at `index`, or of an event.
pub(super) fn report_to_plan(
    vm: &mut Vm,
    role: &ScenarioContext,
    index: Option<usize>,
    names: RequestNames,
    counted: &[(Vec<CountedRequest>, LatestOperation)],
) {
    if counted.is_empty() {
        return;
    }
    let scenario = &role.scenario;
    let named = task_name(role, index);
    let all = counted
        .iter()
        .flat_map(|(requests, operation)| requests.iter().map(move |one| (one, operation)));
    vm.observe_requests(all.filter_map(|(one, operation)| {
        let op = operation.request_at(one.place)?;
        Some(HookRequest {
            tags: scenario.tags_of_request(index, op.tags.as_deref()),
            method: op.request.method.as_str(),
            name: row_name(op, named, names),
            scenario: &scenario.name,
            task: named,
            status: one.status,
            time: one.time,
            bytes: one.bytes,
            redirects: one.redirects,
            error: one.error.as_deref(),
        })
    }));
}

/// Tells the plan of a call of the role's task at `index`, or of an event.
pub(super) fn report_call_to_plan(
    vm: &mut Vm,
    role: &ScenarioContext,
    index: Option<usize>,
    names: RequestNames,
    (op, finished): (&CallOp, &FinishedCall),
) {
    let task = task_name(role, index);
    vm.observe_requests(std::iter::once(HookRequest {
        tags: role.scenario.tags_of_request(index, op.tags.as_deref()),
        method: op.call.kind(),
        name: call_name(op, task, names).into(),
        scenario: &role.scenario.name,
        task,
        status: 0,
        time: finished.latency,
        bytes: finished.traffic.received,
        redirects: 0,
        error: finished.failure.as_deref(),
    }));
}

/// Returns the name of the role's task at `index`, empty without one; an event's user has no task but the event.
fn task_name(role: &ScenarioContext, index: Option<usize>) -> &str {
    let scenario = &role.scenario;
    match index.and_then(|task| scenario.tasks.get(task)) {
        Some(task) => task.name.as_deref().unwrap_or(""),
        None => &scenario.name,
    }
}
