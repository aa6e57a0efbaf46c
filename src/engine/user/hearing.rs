//! Tells a plan of its user's requests after they were counted, if it has a function for that.

use crate::engine::user::User;
use crate::engine::user::naming::row_name;
use crate::engine::user::open_requests::LatestOperation;
use crate::lua::{Finished, HeardRequest};
use std::time::Duration;

/// A request that has been counted.
#[derive(Debug)]
pub(super) struct Heard {
    /// Its place in the operation.
    place: usize,
    status: u16,
    time: Duration,
    bytes: u64,
    redirects: u32,
    error: Option<String>,
}

impl Heard {
    pub(super) fn of(place: usize, finished: &Finished) -> Heard {
        Heard {
            place,
            status: finished.status(),
            time: finished.exchange.latency,
            bytes: finished.exchange.bytes,
            redirects: finished.exchange.redirects,
            error: finished.verdict().map(|verdict| verdict.into_owned()),
        }
    }
}

impl User {
    /// Tells the plan of requests of the operation `asked`.
    pub(super) fn tell_plan(&mut self, heard: &[Heard], asked: &LatestOperation) {
        let role = self.role.clone();
        let scenario = &role.scenario;
        let task = self.task.and_then(|task| scenario.tasks.get(task));
        // An event's user has no task but the event.
        let named = task.map_or(Some(scenario.name.as_str()), |task| task.name.as_deref());
        for one in heard {
            let Some(op) = asked.asked(one.place) else {
                continue;
            };
            let tags = scenario.tags_of_request(self.task, op.tags.as_deref());
            let heard = HeardRequest {
                tags,
                method: op.request.method.as_str(),
                name: &row_name(op, named.unwrap_or(""), self.shared.config.request_names),
                scenario: &scenario.name,
                task: named.unwrap_or(""),
                status: one.status,
                time: one.time,
                bytes: one.bytes,
                redirects: one.redirects,
                error: one.error.as_deref(),
            };
            self.vm.hear(&heard);
        }
    }
}
