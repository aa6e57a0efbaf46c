//! The responses of a VM whose verdict the plan may still change: those of its latest operation and, if the plan
//! calls `fail` or `pass` at all, those of the whole task as long as the plan holds them.

use crate::lua::limits::Held;
use crate::lua::requests::Finished;
use crate::lua::vm::Vm;

/// The place where the responses of an operation are kept.
#[derive(Debug)]
pub(crate) struct Parked {
    index: usize,
    /// The memory of the requests themselves.
    _held: Held,
}

impl Vm {
    /// Returns whether the plan may overrule the verdicts of a task's requests until the task ends.
    pub fn judges(&self) -> bool {
        self.host.program.sources.judge()
    }

    /// Calls `judge` for every response of the latest operation, whose verdict the plan can no longer change.
    pub fn settle(&mut self, mut judge: impl FnMut(usize, &Finished)) {
        let mut responses = self.host.responses.borrow_mut();
        for (place, finished) in responses.open().iter().enumerate() {
            judge(place, finished);
        }
        responses.close();
        drop(responses);
        if self.wants_collection() {
            self.reclaim();
        }
    }

    /// Calls `look` for every response of the latest operation, whose verdict the plan may still change.
    pub fn each_open(&mut self, mut look: impl FnMut(usize, &mut Finished)) {
        let mut responses = self.host.responses.borrow_mut();
        for (place, finished) in responses.open().iter_mut().enumerate() {
            look(place, finished);
        }
    }

    /// Keeps the responses of the latest operation open while another begins; `None` if there are none. Its requests, which
    /// take that many bytes, count as the plan's memory as long as they are open.
    pub(crate) fn park(&mut self, bytes: usize) -> Option<Parked> {
        let index = self.host.responses.borrow_mut().park()?;
        Some(Parked {
            index,
            _held: self.host.account.hold(bytes),
        })
    }

    /// Calls `judge` for every response that was parked there, whose verdict is final from now on.
    pub(crate) fn unpark(&mut self, parked: &Parked, mut judge: impl FnMut(usize, &Finished)) {
        let mut responses = self.host.responses.borrow_mut();
        for (place, finished) in responses.at(parked.index).iter().enumerate() {
            judge(place, finished);
        }
        responses.unpark(parked.index);
    }

    /// Returns whether the plan still holds responses that were parked there, as far as the latest collection has found.
    pub(crate) fn holds(&self, parked: &Parked) -> bool {
        self.host.is_live(parked.index + 1)
    }

    /// Returns whether so much is held that it is time to look for dead responses.
    pub fn wants_collection(&self) -> bool {
        let session = self.host.session.as_ref();
        let connections = session.map_or(0, |session| session.shard_connections());
        let responses = self.host.responses.borrow();
        responses.wants_collection(connections)
    }

    /// Runs a full collection if the plan seems to hold more than it may. Returns whether a collection has run.
    pub fn collect_if_full(&mut self) -> bool {
        // One that fails leaves the slots as they are; the limits end a plan that goes on so.
        self.used_memory() > self.host.limits.memory && self.lua.gc_collect().is_ok()
    }

    /// Looks for responses that the plan no longer holds; they are freed by [`Vm::reclaim`].
    pub fn find_dead(&mut self) {
        let _failed = self.lua.gc_step();
    }

    /// Frees the bodies that the plan no longer holds. Takes a few microseconds, which a user that is about to wait
    /// can spare.
    pub fn reclaim(&mut self) {
        if self.host.responses.borrow().is_empty() {
            return;
        }
        // A failing collection leaves the slots as they are; the limits end a plan that goes on so.
        if self.lua.gc_step().is_ok() {
            self.drop_dead();
        }
    }

    /// Frees the responses that the latest collection has found dead.
    pub fn drop_dead(&self) {
        self.host.drop_dead();
    }
}
