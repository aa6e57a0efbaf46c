//! Slices of time in which a shard's recorder counts: finds the slice of a moment, closes those that are over, and
//! notes the shard's state at their end.
//!
//! Owned by the recorder, which passes events on in their order, so the first event after a border closes the slice
//! before it, however late the tick comes. Only finished requests may come later; they count in the slice in which
//! they ended.

use super::axis::Axis;
use super::names::GroupedName;
use super::sample::RequestId;
use super::under_way::{InFlightRequests, InFlightSlot, LEAST_QUIET};
use crate::delta::{Covered, Delta, Population, ShardHandover, SliceBorder, SliceDelta, UNDECIDED};
use crate::generator::Effort;
use crate::latencies::nanoseconds;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Instant;

/// The most cleared slices kept for reuse: as many as two ticks need.
const MOST_SPARE: usize = 4;

#[derive(Debug)]
pub(crate) struct Slices {
    /// Beginning of the run.
    zero: Instant,
    axis: Axis,
    /// Everything not handed over yet; its last slice is the open one.
    delta: Delta,
    spare: Vec<SliceDelta>,
    /// Beginning and end of the open slice, and the latest event, in nanoseconds since the run began.
    from: u64,
    to: u64,
    latest: u64,
    users: u64,
    under_way: InFlightRequests,
    shard: usize,
    /// End of the time that the next delta covers, and the state then.
    covered: Covered,
    handover: ShardHandover,
    /// Ends of the requests whose verdicts the plan may still change, each with how many ended then.
    undecided: BTreeMap<u64, u32>,
}

impl Slices {
    pub(crate) fn new(shard: usize) -> Slices {
        let axis = Axis::default();
        let (span, from, to) = axis.span_at(0);
        let mut delta = Delta::new(shard);
        delta.slices.push(SliceDelta {
            span,
            ..SliceDelta::default()
        });
        Slices {
            zero: Instant::now(),
            axis,
            delta,
            spare: Vec::new(),
            from,
            to,
            latest: 0,
            users: 0,
            under_way: InFlightRequests::default(),
            shard,
            covered: Covered::default(),
            handover: ShardHandover::default(),
            undecided: BTreeMap::new(),
        }
    }

    /// Sets the beginning of the run; called before anything happens.
    pub(crate) fn start(&mut self, zero: Instant) {
        self.zero = zero;
    }

    pub(crate) fn zero(&self) -> Instant {
        self.zero
    }

    /// Adds borders at these moments of each measurement, from the open slice on.
    pub(crate) fn mark(&mut self, marks: Arc<[u64]>) {
        self.axis.mark(marks);
        self.reopen();
    }

    /// Schedules measurement number `epoch` to begin at a moment. If the order comes late, what was counted after
    /// that moment stays where it is.
    pub(crate) fn schedule_measurement(&mut self, epoch: u64, at: Instant) {
        if !self.axis.has_started(epoch, self.latest) {
            let at = self.since(at);
            self.axis.schedule(epoch, at);
            self.reopen();
        }
    }

    /// Cancels a measurement that has not begun.
    pub(crate) fn stay(&mut self) {
        self.axis.stay(self.latest);
        self.reopen();
    }

    /// Cuts the open slice after the latest event: the borders have changed, and what follows may belong to another
    /// slice.
    fn reopen(&mut self) {
        let (span, from, to) = self.axis.span_at(self.latest);
        let open = self.open();
        if open.span.epoch == span.epoch && open.span.from == span.from {
            open.span = span;
        } else {
            let slice = self.empty(span);
            self.delta.slices.push(slice);
        }
        (self.from, self.to) = (from, to);
    }

    fn empty(&mut self, span: super::axis::AxisSpan) -> SliceDelta {
        let mut slice = self.spare.pop().unwrap_or_default();
        slice.span = span;
        slice
    }

    fn since(&self, moment: Instant) -> u64 {
        nanoseconds(moment.saturating_duration_since(self.zero))
    }

    /// Returns the open slice.
    pub(crate) fn open(&mut self) -> &mut SliceDelta {
        self.delta
            .slices
            .last_mut()
            .expect("a recorder always has an open slice")
    }

    /// Returns the slice in which something ended that began at `begin` and took `ns` nanoseconds.
    pub(crate) fn of(&mut self, start: Instant, ns: u64) -> &mut SliceDelta {
        let end = self.since(start).saturating_add(ns);
        self.advance(end);
        if end >= self.from {
            return self.open();
        }
        self.earlier(end)
    }

    /// Returns the slice of a moment before the open one.
    fn earlier(&mut self, at: u64) -> &mut SliceDelta {
        let (span, ..) = self.axis.span_at(at);
        let key = (span.epoch, span.from);
        let slices = &self.delta.slices;
        let place = slices.partition_point(|slice| (slice.span.epoch, slice.span.from) < key);
        let existing = slices[place].span;
        if (existing.epoch, existing.from) != key {
            let slice = self.empty(span);
            self.delta.slices.insert(place, slice);
        }
        &mut self.delta.slices[place]
    }

    /// Advances the time to a moment, and closes the slices that are over by then.
    fn advance(&mut self, at: u64) {
        self.latest = self.latest.max(at);
        while at >= self.to {
            self.close();
        }
    }

    #[cold]
    fn close(&mut self) {
        let stood = self.under_way.at(self.to);
        let border = SliceBorder {
            users: self.users,
            under_way: stood.count,
            oldest: stood.oldest,
        };
        self.open().border = Some(border);
        if stood.oldest >= LEAST_QUIET {
            let waiting = self.under_way.waiting(self.to);
            let open = self.delta.slices.last_mut();
            open.expect("a recorder always has an open slice")
                .waiting
                .extend(waiting);
        }
        let span;
        (span, self.from, self.to) = self.axis.span_at(self.to);
        let slice = self.empty(span);
        self.delta.slices.push(slice);
    }

    /// Returns the counts of a scenario in the open slice.
    pub(crate) fn scenario(&mut self, name: &str) -> &mut Population {
        let shard = self.shard;
        self.open().scenario(shard, name)
    }

    /// Counts a user that starts.
    pub(crate) fn user_started(&mut self, at: Instant, scenario: &str) -> &mut Population {
        self.advance(self.since(at));
        self.users += 1;
        self.scenario(scenario)
    }

    /// Counts a user that has stopped.
    pub(crate) fn user_stopped(&mut self, at: Instant, scenario: &str) -> &mut Population {
        self.advance(self.since(at));
        self.users -= 1;
        self.scenario(scenario)
    }

    /// Notes that a request is sent.
    pub(crate) fn start_request(&mut self, at: Instant, row: RequestId) -> InFlightSlot {
        let at = self.since(at);
        self.advance(at);
        self.under_way.start(at, row)
    }

    /// Returns whether a request is under way.
    pub(crate) fn has_requests(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Notes that the process stood still for that long.
    pub(crate) fn stood_still(&mut self, ns: u64) {
        self.under_way.stood_still(ns);
    }

    /// Notes that the shard was not at work for that long until `now`.
    pub(crate) fn was_away(&mut self, now: Instant, ns: u64) {
        self.under_way.was_away(self.since(now), ns);
    }

    /// Counts the requests that have waited for long by their names; `labels` are all that the shard knows.
    pub(crate) fn name_waiting(&mut self, labels: &[Arc<GroupedName>]) {
        for slice in &mut self.delta.slices {
            for (row, waiting) in std::mem::take(&mut slice.waiting) {
                slice.cover_requests(labels);
                if let Some(row) = slice.requests.get_mut(row.0 as usize) {
                    row.figures.waiting.add(waiting);
                }
            }
        }
    }

    /// Notes that a request has ended `ns` nanoseconds after it began.
    pub(crate) fn end_request(
        &mut self,
        flight: InFlightSlot,
        start: Instant,
        ns: u64,
        responded: bool,
    ) {
        let at = self.since(start).saturating_add(ns);
        self.advance(at);
        if let Some(quiet) = self.under_way.end(flight, at, responded) {
            let shard = self.shard;
            self.open().quiet.push((shard, quiet));
        }
    }

    /// Notes that the verdict on a request that has ended may change.
    pub(crate) fn leave_undecided(&mut self, start: Instant, ns: u64) {
        let end = self.since(start).saturating_add(ns);
        *self.undecided.entry(end).or_default() += 1;
    }

    /// Notes that the verdict on a request that was left undecided is final. Returns whether it came too late for the intervals
    /// that thresholds look at.
    pub(crate) fn decide(&mut self, start: Instant, ns: u64) -> bool {
        let end = self.since(start).saturating_add(ns);
        if let Entry::Occupied(mut count) = self.undecided.entry(end) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        self.latest.saturating_sub(end) > UNDECIDED
    }

    /// Adds a warning to the delta that the next [`Slices::take`] hands over.
    pub(crate) fn warn(&mut self, warning: String) {
        self.delta.warnings.push(warning);
    }

    /// Sets the resources that were used until the next [`Slices::take`].
    pub(crate) fn set_effort(&mut self, effort: Effort) {
        self.handover.effort = effort;
    }

    /// Advances the time to `now`: the next [`Slices::take`] returns everything until then.
    pub(crate) fn come_to(&mut self, now: Instant) {
        let now = self.since(now);
        self.advance(now);
        self.covered = Covered::Until(now);
        self.handover.quiet = Some(self.under_way.quiet(now));
        self.handover.undecided = self.undecided.keys().next().copied();
    }

    /// Marks the shard as ended: nothing more comes.
    pub(crate) fn end(&mut self, now: Instant) {
        self.come_to(now);
        self.covered = Covered::Whole;
    }

    /// Hands over everything counted since the last call; the open slice goes on.
    pub(crate) fn take(&mut self) -> Delta {
        let span = self.open().span;
        let slice = self.empty(span);
        let next = Delta {
            slices: vec![slice],
            ..Delta::new(self.shard)
        };
        let key = (self.covered, self.shard as u64);
        let handover = std::mem::take(&mut self.handover);
        self.delta.handovers.insert(key, handover);
        std::mem::replace(&mut self.delta, next)
    }

    /// Takes a cleared delta back. One of another shard is dropped.
    pub(crate) fn recycle(&mut self, delta: Delta) {
        if delta.shard() != Some(self.shard) || !delta.is_empty() {
            return;
        }
        let room = MOST_SPARE.saturating_sub(self.spare.len());
        // The last ones are the largest: they have rows for what the plan does all the time.
        self.spare.extend(delta.slices.into_iter().rev().take(room));
    }
}
