//! Reports of counted exchanges to the plan, if it has a function for that.

use super::kind::{Ended, ExchangeOp};
use super::operation::Operation;
use super::sender::{Origin, Sender};
use lgoose_lua::{Finished, HookRequest, Vm};
use lgoose_metrics::RequestId;
use lgoose_plan::config::RequestNames;
use lgoose_protocols::CallOp;
use std::time::Duration;

/// An exchange that has been counted, with the figures that the plan gets.
#[derive(Debug)]
pub(super) struct CountedExchange {
    /// Its place in its operation.
    place: usize,
    status: u16,
    time: Duration,
    bytes: u64,
    redirects: u32,
    error: Option<String>,
}

impl CountedExchange {
    /// Makes one of a request at a place of its operation; nothing if it is in no row or was not sent.
    pub(super) fn of(
        operation: &Operation,
        place: usize,
        finished: &Finished,
    ) -> Option<CountedExchange> {
        let is_counted = operation.row_at(place).id != RequestId::UNCOUNTED;
        (is_counted && finished.was_sent()).then(|| CountedExchange {
            place,
            status: finished.status(),
            time: finished.exchange.latency,
            bytes: finished.exchange.transfer.received,
            redirects: finished.exchange.transfer.redirects,
            error: finished.verdict().map(|verdict| verdict.into_owned()),
        })
    }

    fn for_plan<'a, O: ExchangeOp>(
        &'a self,
        op: &'a O,
        origin: Origin<'a>,
        names: RequestNames,
    ) -> HookRequest<'a> {
        let scenario = &origin.role.scenario;
        HookRequest {
            tags: scenario.tags_of_request(origin.task, op.tags()),
            method: op.method(),
            name: op.row_name(origin.name(), names),
            scenario: &scenario.name,
            task: origin.name(),
            status: self.status,
            time: self.time,
            bytes: self.bytes,
            redirects: self.redirects,
            error: self.error.as_deref(),
        }
    }
}

/// Reports requests of operations of that task to the plan.
pub(super) fn report_requests(
    sender: &Sender,
    vm: &mut Vm,
    task: Option<usize>,
    counted: &[(Vec<CountedExchange>, Operation)],
) {
    if counted.is_empty() {
        return;
    }
    let (origin, names) = (sender.origin_of(task), sender.shared.config.request_names);
    vm.observe_requests(counted.iter().flat_map(|(requests, operation)| {
        requests.iter().filter_map(move |one| {
            let op = operation.request_at(one.place)?;
            Some(one.for_plan(op, origin, names))
        })
    }));
}

/// Reports a call to the plan.
pub(super) fn report_call(
    sender: &Sender,
    vm: &mut Vm,
    op: &CallOp,
    ended: &Ended<CallOp>,
    error: Option<&str>,
) {
    let counted = CountedExchange {
        place: 0,
        status: 0,
        time: ended.latency,
        bytes: ended.transfer.received,
        redirects: 0,
        error: error.map(str::to_owned),
    };
    let names = sender.shared.config.request_names;
    let request = counted.for_plan(op, sender.origin(), names);
    vm.observe_requests(std::iter::once(request));
}
