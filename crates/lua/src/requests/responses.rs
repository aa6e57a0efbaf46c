//! The responses that a plan still holds. Lua holds a number, Rust the bytes: a body is never copied into the VM
//! unless the plan reads it, and is freed as soon as Lua's collector has found its number dead.

use super::charset;
use crate::limits::{HeapSize as _, Held};
use bytes::Bytes;
use lgoose_base::error::printable;
use lgoose_html::Document;
use lgoose_http::{CacheUse, Exchange, Response};
use mlua::Table;
use std::borrow::Cow;
use std::rc::Rc;

/// A request that has been carried out, with its verdict.
#[derive(Debug)]
pub struct Finished {
    /// The exchange with the server.
    pub exchange: Box<Exchange>,
    /// Whether it counted as failed before its verdict was final; `None` if it was not counted by then.
    pub entered: Option<bool>,
    overruled: bool,
    /// Boxed: most requests have nothing of that.
    extras: Option<Box<Extras>>,
}

/// What a request has once it has failed or the plan has looked at its page.
#[derive(Debug, Default)]
struct Extras {
    /// The expectation that did not hold.
    failure: Option<Box<str>>,
    /// The line of the plan that sent it.
    line: Option<Rc<str>>,
    /// The error that was reported for it before its verdict was final: its message and the plan's line.
    reported: Option<(String, Option<Rc<str>>)>,
    document: Option<Rc<Held<Document>>>,
}

impl Finished {
    /// Creates a finished request; `failure` is the verdict before the plan may overrule it.
    #[inline]
    pub fn new(exchange: Box<Exchange>, failure: Option<String>) -> Self {
        let mut finished = Finished {
            exchange,
            entered: None,
            overruled: false,
            extras: None,
        };
        if let Some(failure) = failure {
            finished.extras().failure = Some(failure.into_boxed_str());
        }
        finished
    }

    fn extras(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }

    /// Returns the expectation that did not hold; [`Finished::verdict`] is the complete verdict.
    pub fn failure(&self) -> Option<&str> {
        self.extras.as_ref()?.failure.as_deref()
    }

    /// Returns the line of the plan that sent it, known for failed requests.
    pub fn line(&self) -> Option<&Rc<str>> {
        self.extras.as_ref()?.line.as_ref()
    }

    /// Notes the line of the plan that sent it, if it has failed.
    pub fn note_line(&mut self, line: Option<Rc<str>>) {
        if self.failure().is_some() {
            self.extras().line = line;
        }
    }

    /// Replaces the verdict by that of the plan, which stands at that line.
    pub(crate) fn overrule(&mut self, failure: Option<Box<str>>, line: Option<Rc<str>>) {
        self.overruled = true;
        if failure.is_some() || self.extras.is_some() {
            let extras = self.extras();
            (extras.failure, extras.line) = (failure, line);
        }
    }

    /// Notes how it counts before its verdict is final: as succeeded, or as failed with that error.
    pub fn enter(&mut self, error: Option<String>) {
        self.entered = Some(error.is_some());
        if error.is_some() || self.extras.is_some() {
            let extras = self.extras();
            let line = extras.line.clone();
            extras.reported = error.map(|message| (message, line));
        }
    }

    /// Returns the error that was reported for it before its verdict was final: its message and the plan's line.
    pub fn reported(&self) -> Option<(&str, Option<&str>)> {
        let (message, line) = self.extras.as_ref()?.reported.as_ref()?;
        Some((message, line.as_deref()))
    }

    /// Returns its page as a tree, if the plan has looked at it.
    pub(crate) fn document(&self) -> Option<&Rc<Held<Document>>> {
        self.extras.as_ref()?.document.as_ref()
    }

    /// Keeps its page as a tree.
    pub(crate) fn keep_document(&mut self, document: Rc<Held<Document>>) {
        self.extras().document = Some(document);
    }

    /// Returns the reason why it counts as failed; `None` if it succeeded. A body that turned out not to be decodable
    /// when the plan looked at it fails the request too, unless the plan has overruled that.
    pub fn verdict(&self) -> Option<Cow<'_, str>> {
        if let Some(failure) = self.failure() {
            return Some(Cow::Borrowed(failure));
        }
        let response = self.exchange.outcome.as_ref().ok()?;
        let undecoded = response.decoding_failure().filter(|_| !self.overruled)?;
        Some(undecoded.to_string().into())
    }

    /// Returns whether the request was sent: a response from the cache alone counts as no request.
    pub fn was_sent(&self) -> bool {
        self.exchange.cache() != CacheUse::Fresh
    }

    /// Returns whether the plan has overruled the verdict.
    pub fn overruled(&self) -> bool {
        self.overruled
    }

    /// Returns the status of the response, 0 without one.
    pub fn status(&self) -> u16 {
        self.exchange
            .outcome
            .as_ref()
            .map_or(0, |response| response.status)
    }

    /// Returns the response, if there is one.
    pub(crate) fn response(&self) -> Option<&Response> {
        self.exchange.outcome.as_ref().ok()
    }

    /// Returns the body as received, empty without a response.
    pub(crate) fn body(&self) -> Bytes {
        self.exchange
            .outcome
            .as_ref()
            .map(Response::body)
            .unwrap_or_default()
    }

    /// Returns whether its body can be read as it is.
    pub(crate) fn is_decoded(&self) -> bool {
        let response = self.exchange.outcome.as_ref();
        response.map_or(true, Response::is_decoded)
    }

    /// Decodes its body if that takes at most that many bytes; returns whether it does.
    pub(crate) fn decode_within(&mut self, most_bytes: usize) -> bool {
        let response = self.exchange.outcome.as_ref();
        response.map_or(true, |response| response.decode_within(most_bytes as u64))
    }

    /// Returns the memory of its page as a tree, in bytes, which counts by itself: elements keep it, too.
    fn page_weight(&self) -> usize {
        self.document().map_or(0, |document| document.heap_bytes())
    }

    /// Returns the memory that it takes outside of the VM, in bytes; that of its head is estimated.
    fn weight(&self) -> usize {
        const HEAD_BYTES: usize = 512;
        HEAD_BYTES
            + self.failure().map_or(0, str::len)
            + self.reported().map_or(0, |(message, _)| message.len())
            + self.page_weight()
            + self
                .exchange
                .outcome
                .as_ref()
                .map_or(0, Response::held_bytes)
    }
}

/// Returns the reason that the page of a failed request gives, on one harmless line of at most about 200 characters:
/// the messages of a form that came back, the heading of an error page, or the texts of a fault in XML. Looked for at each
/// call.
pub fn page_message(exchange: &Exchange) -> Option<String> {
    let response = exchange.outcome.as_ref().ok()?;
    let kind = response.content_type().to_ascii_lowercase();
    let is_page = kind.starts_with(b"text/html") || kind.starts_with(b"application/xhtml");
    let essence = kind.split(|byte| *byte == b';').next().unwrap_or_default();
    let essence = essence.trim_ascii();
    let is_xml = !is_page && (essence.ends_with(b"/xml") || essence.ends_with(b"+xml"));
    // Text that takes more than a moment to decode is left out.
    if !is_page && !is_xml || response.body_at_hand().is_empty() {
        return None;
    }
    let is_error = response.status >= 400;
    let reason = if is_page {
        lgoose_html::reason(&charset::text(response), is_error)?
    } else {
        lgoose_html::xml_reason(response.body_at_hand()).filter(|_| is_error)?
    };
    Some(printable(&reason).into_owned())
}

#[derive(Debug)]
enum ResponseSlot {
    Free,
    One(Finished),
    Many(Box<[Finished]>),
}

/// The responses of one VM in slots. A slot holds the outcome of one operation: one response, or the list of a fetch.
#[derive(Debug)]
pub(crate) struct Responses {
    slots: Vec<ResponseSlot>,
    /// The indices of the slots that are free.
    free: Vec<usize>,
    held_bytes: usize,
    /// Those of them that are pages as trees.
    page_bytes: usize,
    /// Twice the quantity that the plan was found to hold: searching for dead ones more often would find few.
    ceiling: ResponseQuota,
    /// The index of the slot of the latest operation, until its verdicts are final.
    open: Option<usize>,
    /// Whether the verdicts of a slot may still be overruled although a later operation has begun; by the slot's
    /// index, up to the highest that was ever parked.
    parked: Vec<bool>,
}

#[derive(Debug, Clone, Copy)]
struct ResponseQuota {
    slots: usize,
    bytes: usize,
}

/// The number of slots and bytes that may be held before the collector runs to find dead ones. Counted in instructions,
/// 16 slots cost no more than 64: a request of the smallest plan takes 22,600 with 16 and 23,100 with 64, and 22,900
/// with 8. A user that waits frees everything first.
const FEW_USERS: ResponseQuota = ResponseQuota {
    slots: 16,
    bytes: 64 * 1024,
};
/// The same for many users, whose responses add up: a balance between their memory and the cache misses of a
/// collection. With this quota, 1,000 users who request 2.6 KB flat out take 63 KiB each. With 6 slots and 24 KiB it is
/// 53 KiB, but their own CPU time, set against the kernel's, is an eighth more than with the quota for few users.
const MANY_USERS: ResponseQuota = ResponseQuota {
    slots: 10,
    bytes: 32 * 1024,
};
/// The number of open connections of a shard from which on its users count as many.
const MANY_CONNECTIONS: u64 = 100;

/// The address of a response: its slot, from 1, and its index in the slot's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResponseAddress {
    slot: usize,
    place: usize,
}

impl ResponseAddress {
    /// Returns the address of the response that a plan holds as a table.
    pub(crate) fn of(response: &Table) -> mlua::Result<ResponseAddress> {
        response
            .raw_get::<i64>("slot")
            .map(ResponseAddress::from_lua)
    }

    /// Converts the number that Lua holds; an invalid one gives an address without a response.
    pub(crate) fn from_lua(number: i64) -> Self {
        ResponseAddress {
            slot: (number & 0xffff_ffff) as usize,
            place: (number >> 32) as usize,
        }
    }
}

impl Responses {
    pub(crate) fn new() -> Self {
        Responses {
            slots: Vec::new(),
            free: Vec::new(),
            held_bytes: 0,
            page_bytes: 0,
            ceiling: ResponseQuota { slots: 0, bytes: 0 },
            open: None,
            parked: Vec::new(),
        }
    }

    pub(crate) fn insert_one(&mut self, finished: Finished) -> usize {
        self.count(&finished);
        self.insert(ResponseSlot::One(finished))
    }

    pub(crate) fn insert_many(&mut self, finished: Vec<Finished>) -> usize {
        for one in &finished {
            self.count(one);
        }
        self.insert(ResponseSlot::Many(finished.into_boxed_slice()))
    }

    fn count(&mut self, finished: &Finished) {
        self.held_bytes += finished.weight();
        self.page_bytes += finished.page_weight();
    }

    fn insert(&mut self, slot: ResponseSlot) -> usize {
        let index = match self.free.pop() {
            Some(index) => {
                self.slots[index] = slot;
                index
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        self.open = Some(index);
        index + 1
    }

    pub(crate) fn get(&self, address: ResponseAddress) -> Option<&Finished> {
        match self.slots.get(address.slot.wrapping_sub(1))? {
            ResponseSlot::Free => None,
            ResponseSlot::One(finished) => (address.place == 0).then_some(finished),
            ResponseSlot::Many(list) => list.get(address.place),
        }
    }

    fn get_mut(&mut self, address: ResponseAddress) -> Option<&mut Finished> {
        match self.slots.get_mut(address.slot.wrapping_sub(1))? {
            ResponseSlot::Free => None,
            ResponseSlot::One(finished) => (address.place == 0).then_some(finished),
            ResponseSlot::Many(list) => list.get_mut(address.place),
        }
    }

    /// Changes the content of a response; `None` if there is none.
    pub(crate) fn change<R>(
        &mut self,
        address: ResponseAddress,
        change: impl FnOnce(&mut Finished) -> R,
    ) -> Option<R> {
        let finished = self.get_mut(address)?;
        let before = (finished.weight(), finished.page_weight());
        let result = change(finished);
        let after = (finished.weight(), finished.page_weight());
        self.held_bytes = (self.held_bytes + after.0).saturating_sub(before.0);
        self.page_bytes = (self.page_bytes + after.1).saturating_sub(before.1);
        Some(result)
    }

    /// Returns the responses of the latest operation, whose verdict the plan may still overrule.
    pub(crate) fn open(&mut self) -> &mut [Finished] {
        self.open.map_or(&mut [], |index| self.at(index))
    }

    /// Returns the responses in the slot of that index.
    pub(crate) fn at(&mut self, index: usize) -> &mut [Finished] {
        match self.slots.get_mut(index) {
            Some(ResponseSlot::One(finished)) => std::slice::from_mut(finished),
            Some(ResponseSlot::Many(list)) => list,
            _ => &mut [],
        }
    }

    /// Returns whether the plan may still overrule the verdict on this response.
    pub(crate) fn is_open(&self, address: ResponseAddress) -> bool {
        let index = address.slot.wrapping_sub(1);
        self.open == Some(index) || self.is_parked(index)
    }

    fn is_parked(&self, index: usize) -> bool {
        self.parked.get(index).copied().unwrap_or(false)
    }

    /// Ends the time in which the plan may overrule the latest verdicts.
    pub(crate) fn close(&mut self) {
        self.open = None;
    }

    /// Lets another operation be the latest; the verdicts of this one stay open until [`Responses::unpark`]. Returns the
    /// index of its slot.
    pub(crate) fn park(&mut self) -> Option<usize> {
        let index = self.open.take()?;
        if self.parked.len() <= index {
            self.parked.resize(index + 1, false);
        }
        self.parked[index] = true;
        Some(index)
    }

    /// Ends the time in which the plan may overrule the verdicts of that slot.
    pub(crate) fn unpark(&mut self, index: usize) {
        if let Some(parked) = self.parked.get_mut(index) {
            *parked = false;
        }
    }

    /// Returns whether enough is held to run the collector, on a shard with that many open connections.
    pub(crate) fn needs_collection(&self, connections: u64) -> bool {
        let quota = if connections < MANY_CONNECTIONS {
            FEW_USERS
        } else {
            MANY_USERS
        };
        let used = self.slots.len() - self.free.len();
        used >= quota.slots.max(self.ceiling.slots)
            || self.held_bytes >= quota.bytes.max(self.ceiling.bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.len() == self.free.len()
    }

    /// Frees every slot that `is_live` denies, and notes the memory that a plan really holds.
    pub(crate) fn reclaim(&mut self, mut is_live: impl FnMut(usize) -> bool) {
        (self.held_bytes, self.page_bytes) = (0, 0);
        for index in 0..self.slots.len() {
            let kept = match &self.slots[index] {
                ResponseSlot::Free => continue,
                _ if self.open != Some(index) && !self.is_parked(index) && !is_live(index + 1) => {
                    self.slots[index] = ResponseSlot::Free;
                    self.free.push(index);
                    continue;
                }
                ResponseSlot::One(finished) => std::slice::from_ref(finished),
                ResponseSlot::Many(list) => list,
            };
            self.held_bytes += kept.iter().map(Finished::weight).sum::<usize>();
            self.page_bytes += kept.iter().map(Finished::page_weight).sum::<usize>();
        }
        let used = self.slots.len() - self.free.len();
        self.ceiling = ResponseQuota {
            slots: used * 2,
            bytes: self.held_bytes * 2,
        };
    }

    /// Returns the bytes that are held outside of the VM and do not count by themselves.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes - self.page_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::unanswered;

    #[test]
    fn dead_responses_are_looked_for_sooner_where_users_are_many() {
        let mut responses = Responses::new();
        for _ in 0..MANY_USERS.slots {
            responses.insert_one(unanswered());
        }
        assert!(
            responses.needs_collection(MANY_CONNECTIONS)
                && !responses.needs_collection(MANY_CONNECTIONS - 1)
        );
        // A plan that holds them all is not examined again at once.
        responses.close();
        responses.reclaim(|_| true);
        assert!(!responses.needs_collection(MANY_CONNECTIONS));
        responses.reclaim(|slot| slot == 1);
        assert_eq!(responses.insert_one(unanswered()), MANY_USERS.slots);
    }

    #[test]
    fn a_slot_stays_small() {
        // Each busy user has some sixteen; fields that few responses need are boxed.
        assert!(
            size_of::<ResponseSlot>() <= 24,
            "{}",
            size_of::<ResponseSlot>()
        );
        assert!(size_of::<Finished>() <= 24, "{}", size_of::<Finished>());
    }
}
