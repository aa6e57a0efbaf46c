//! The plan's function that sees each request: shown those that the engine has counted, within the limits of a task.

use crate::lua::diagnostics;
use crate::lua::hooks::{self, HeardRequest};
use crate::lua::limits;
use crate::lua::vm::Vm;

impl Vm {
    /// Returns whether the plan wants to see each request.
    pub(crate) fn hears_requests(&self) -> bool {
        self.on_request.is_some() && !self.ended_by_limit && !self.stopped_while_loading
    }

    /// Shows the plan no more requests.
    pub(crate) fn stop_hearing(&mut self) {
        self.on_request = None;
    }

    /// Shows the plan requests that have been counted. An error in its function is a warning. However many they are, they
    /// are one time slice: nothing else runs on the thread meanwhile.
    pub(crate) fn hear<'a>(&mut self, heard: impl Iterator<Item = HeardRequest<'a>>) {
        let Some(handler) = &self.on_request else {
            return;
        };
        self.heartbeat.enter(self.host.user, self.host.task.get());
        let limits = &self.host.limits;
        let entered = limits::enter(&self.lua, limits);
        for one in heard {
            let facts = one.facts(&self.lua);
            let told = facts.and_then(|facts| handler.call::<()>(facts));
            if limits.is_killed() {
                break;
            }
            if let Err(error) = told {
                let error = limits.with_place(error);
                let raised = diagnostics::to_raised(&error, &self.host.program.sources);
                hooks::warn(&self.host, &raised);
            }
        }
        drop(entered);
        self.heartbeat.leave();
        if let Some(killed) = limits.killed() {
            self.ended_by_limit = true;
            hooks::warn(&self.host, &killed);
        }
    }
}
