//! The answers a plan still holds. Lua has a number, Rust the bytes: a body is never copied into the VM
//! unless the plan reads it, and is given back as soon as Lua's collector has found its number dead.

use crate::html::Document;
use crate::http::{Exchange, Response};
use bytes::Bytes;
use mlua::Table;
use std::borrow::Cow;
use std::rc::Rc;

/// A request that has been carried out, with the verdict on it.
#[derive(Debug)]
pub struct Finished {
    /// What happened on the wire.
    pub exchange: Exchange,
    /// Why it counts as failed by what was expected; [`Finished::verdict`] is the whole of it.
    pub failure: Option<String>,
    /// Whether the plan has had its say.
    pub(in crate::lua) overruled: bool,
    /// The line of the plan that sent it, known for failed ones.
    pub line: Option<Rc<str>>,
    /// What was counted of it before its verdict was final; `None` if nothing was, as of most.
    pub entered: Option<Box<Counted>>,
    pub(in crate::lua) document: Option<Rc<Document>>,
}

/// How a request was counted before its verdict was final.
#[derive(Debug, Default)]
pub struct Counted {
    /// Whether it counted as failed.
    pub failed: bool,
    /// The error that was told of it: its message and the plan's line.
    pub told: Option<(String, Option<Rc<str>>)>,
}

impl Finished {
    /// A finished request; `failure` is the verdict before the plan has its say.
    pub fn new(exchange: Exchange, failure: Option<String>) -> Self {
        Finished {
            exchange,
            failure,
            overruled: false,
            line: None,
            entered: None,
            document: None,
        }
    }

    /// Why it counts as failed; `None` if it succeeded. A body that turned out not to be decodable when the
    /// plan looked at it fails the request too, unless the plan has overruled that.
    pub fn verdict(&self) -> Option<Cow<'_, str>> {
        if let Some(failure) = &self.failure {
            return Some(failure.into());
        }
        let response = self.exchange.outcome.as_ref().ok()?;
        let undecoded = response.decoding_failure().filter(|_| !self.overruled)?;
        Some(undecoded.to_string().into())
    }

    /// The status of the answer, 0 without one.
    pub fn status(&self) -> u16 {
        self.exchange
            .outcome
            .as_ref()
            .map_or(0, |response| response.status)
    }

    /// The body as received, empty without an answer.
    pub(in crate::lua) fn body(&self) -> Bytes {
        self.exchange
            .outcome
            .as_ref()
            .map(Response::body)
            .unwrap_or_default()
    }

    /// What holding it costs beside the VM, in bytes; its head is a guess.
    fn weight(&self) -> usize {
        const HEAD: usize = 512;
        HEAD + self
            .exchange
            .outcome
            .as_ref()
            .map_or(0, Response::held_bytes)
    }
}

#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "one response is the usual variant; boxing it would cost an allocation per request"
)]
enum Slot {
    Free,
    One(Finished),
    Many(Vec<Finished>),
}

/// The slots of one VM. A slot is the outcome of one operation: one response, or the list of a fetch.
#[derive(Debug)]
pub(in crate::lua) struct Responses {
    slots: Vec<Slot>,
    free: Vec<usize>,
    held_bytes: usize,
    quota: Quota,
    open: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Quota {
    slots: usize,
    bytes: usize,
}

/// How much may be held before the collector is asked what is dead. A young collection costs 2–5 µs: asked
/// once in sixteen requests it took 2 % of the CPU of small ones. 64 KiB is what a busy user may keep lying
/// about; a user that waits gives everything back first.
const QUOTA: Quota = Quota {
    slots: 64,
    bytes: 64 * 1024,
};

/// Where a response is: its slot, from 1, and its place in the slot's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::lua) struct Address {
    slot: usize,
    place: usize,
}

impl Address {
    /// The response that a plan's call is about.
    pub(in crate::lua) fn of(response: &Table) -> mlua::Result<Address> {
        response.raw_get::<i64>("slot").map(Address::from_lua)
    }

    /// From the number that Lua holds; nonsense gives an address that is not there.
    pub(in crate::lua) fn from_lua(number: i64) -> Self {
        Address {
            slot: (number & 0xffff_ffff) as usize,
            place: (number >> 32) as usize,
        }
    }
}

impl Responses {
    pub(in crate::lua) fn new() -> Self {
        Responses {
            // Slot 0 stays empty: Lua counts from 1.
            slots: vec![Slot::Free],
            free: Vec::new(),
            held_bytes: 0,
            quota: QUOTA,
            open: None,
        }
    }

    pub(in crate::lua) fn insert_one(&mut self, finished: Finished) -> usize {
        self.held_bytes += finished.weight();
        self.insert(Slot::One(finished))
    }

    pub(in crate::lua) fn insert_many(&mut self, finished: Vec<Finished>) -> usize {
        self.held_bytes += finished.iter().map(Finished::weight).sum::<usize>();
        self.insert(Slot::Many(finished))
    }

    fn insert(&mut self, slot: Slot) -> usize {
        let number = match self.free.pop() {
            Some(number) => {
                self.slots[number] = slot;
                number
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        self.open = Some(number);
        number
    }

    pub(in crate::lua) fn get(&self, address: Address) -> Option<&Finished> {
        match self.slots.get(address.slot)? {
            Slot::Free => None,
            Slot::One(finished) => (address.place == 0).then_some(finished),
            Slot::Many(list) => list.get(address.place),
        }
    }

    pub(in crate::lua) fn get_mut(&mut self, address: Address) -> Option<&mut Finished> {
        match self.slots.get_mut(address.slot)? {
            Slot::Free => None,
            Slot::One(finished) => (address.place == 0).then_some(finished),
            Slot::Many(list) => list.get_mut(address.place),
        }
    }

    /// The responses of the latest operation, whose verdict the plan may still overrule.
    pub(in crate::lua) fn open(&mut self) -> &mut [Finished] {
        match self.open.and_then(|number| self.slots.get_mut(number)) {
            Some(Slot::One(finished)) => std::slice::from_mut(finished),
            Some(Slot::Many(list)) => list,
            _ => &mut [],
        }
    }

    /// Whether the plan may still overrule the verdict on this response.
    pub(in crate::lua) fn is_open(&self, address: Address) -> bool {
        self.open == Some(address.slot)
    }

    /// Ends the time in which the plan may overrule the latest verdicts.
    pub(in crate::lua) fn close(&mut self) {
        self.open = None;
    }

    /// Whether enough is held to ask the collector.
    pub(in crate::lua) fn wants_collection(&self) -> bool {
        let used = self.slots.len() - 1 - self.free.len();
        used >= self.quota.slots || self.held_bytes >= self.quota.bytes
    }

    pub(in crate::lua) fn is_empty(&self) -> bool {
        self.slots.len() - 1 == self.free.len()
    }

    /// Frees every slot that `is_live` denies, and lets the quota grow with what a plan really holds.
    pub(in crate::lua) fn reclaim(&mut self, mut is_live: impl FnMut(usize) -> bool) {
        self.held_bytes = 0;
        for number in 1..self.slots.len() {
            match &self.slots[number] {
                Slot::Free => continue,
                _ if self.open != Some(number) && !is_live(number) => {
                    self.slots[number] = Slot::Free;
                    self.free.push(number);
                }
                Slot::One(finished) => self.held_bytes += finished.weight(),
                Slot::Many(list) => {
                    self.held_bytes += list.iter().map(Finished::weight).sum::<usize>()
                }
            }
        }
        let used = self.slots.len() - 1 - self.free.len();
        self.quota = Quota {
            slots: QUOTA.slots.max(used * 2),
            bytes: QUOTA.bytes.max(self.held_bytes * 2),
        };
    }

    /// Bytes held outside the VM.
    pub(in crate::lua) fn held_bytes(&self) -> usize {
        self.held_bytes
    }
}
