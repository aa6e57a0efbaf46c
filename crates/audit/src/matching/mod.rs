//! Matching of a run's requests with the lines of access logs: both come in one row, sorted by time, and wait in groups of one
//! URL, or one trace, until all that may belong to them has come.
//!
//! Memory is bounded by what comes within the tolerance, and by [`MAX_WAITING`].

mod optional_lines;
mod pairing;
#[cfg(test)]
mod tests;

use crate::event::{Hop, LogEvent, LoggedRequest, SentRequest, hash_of};
use crate::format::values::SECOND;
use optional_lines::{OptionalLine, OptionalLines};
use pairing::{
    ClassOfLogged, ClassOfSent, Deadline, MatchGroup, PairingRule, Taken, become_get, exact,
    logged_bytes, loose, other_status, pairs, redirected, to_the_byte,
};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};

/// The most requests and lines that wait.
const MAX_WAITING: usize = 500_000;

/// The longest time between a request and a line of the same trace, which belong together whatever the clocks say.
const TRACE_TOLERANCE_NS: i64 = 60_000_000_000;

/// The longest time between a request and a line of its URL with another status.
const OTHER_STATUS_NS: i64 = 500_000_000;

/// The time for which hops and attempts are kept beyond the tolerance.
const FORGET_NS: i64 = 4_000_000_000;

/// The longest time between a hop and its request if nothing nearer is left, as a multiple of the tolerance.
const LAST_PATIENCE: i64 = 5;

/// The number of events after which hops and attempts of long ago are dropped.
const FORGET_EVERY: u64 = 4_096;

/// The outcome of matching for a request or a line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MatchOutcome {
    /// A request and its line. Their statuses may differ.
    Pair(Box<SentRequest>, Box<LoggedRequest>),
    /// A hop or an attempt of a request whose URL is not known.
    Optional(Box<LoggedRequest>, bool),
    /// A request that no log has; so many hops of it.
    NotLogged(Box<SentRequest>, u32),
    /// A line that is not of the run.
    NotSent(Box<LoggedRequest>),
}

/// The options of matching.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MatchOptions {
    /// The longest time between a request and its line, in nanoseconds.
    pub(crate) tolerance_ns: i64,
    /// Whether they are matched by their traces.
    pub(crate) by_trace: bool,
    /// The user agent that most lines have, whose lines come first.
    pub(crate) main_agent: u32,
}

/// Requests and lines that wait for each other.
pub(crate) struct Matcher<'a, F> {
    options: MatchOptions,
    groups: HashMap<u64, MatchGroup>,
    due: BinaryHeap<Reverse<(i64, u64)>>,
    waiting: usize,
    optional: OptionalLines,
    /// Hashes of the URLs that the run has requested; none if they are not known.
    known: Option<&'a HashSet<u64>>,
    /// Redirects of such URLs, with their groups, that may be hops between others.
    doubtful: VecDeque<(u64, LoggedRequest)>,
    /// The latest time of a line, and the texts of the lines of that time.
    texts: (i64, HashSet<u64>),
    events: u64,
    put: F,
}

impl<'a, F: FnMut(MatchOutcome)> Matcher<'a, F> {
    /// Creates a matcher that passes what it finds to `put`. `known` has the hashes of the URLs that the run has requested.
    pub(crate) fn new(
        options: MatchOptions,
        known: Option<&'a HashSet<u64>>,
        put: F,
    ) -> Matcher<'a, F> {
        Matcher {
            options,
            groups: HashMap::new(),
            due: BinaryHeap::new(),
            waiting: 0,
            optional: OptionalLines::default(),
            known,
            doubtful: VecDeque::new(),
            texts: (i64::MIN, HashSet::new()),
            events: 0,
            put,
        }
    }

    /// Adds the next event by time.
    pub(crate) fn add(&mut self, event: LogEvent) {
        let now_ns = event.at_ns();
        self.settle_before(now_ns);
        self.events += 1;
        if self.events.is_multiple_of(FORGET_EVERY) {
            self.forget(now_ns);
        }
        match event {
            LogEvent::Sent(request) => self.add_sent(request),
            LogEvent::Logged(line) => self.add_logged(line),
        }
    }

    /// Matches what is left.
    pub(crate) fn finish(mut self) {
        self.settle_before(i64::MAX);
        self.forget(i64::MAX);
    }

    fn tolerance_ns(&self) -> i64 {
        let tolerance_ns = self.options.tolerance_ns;
        if self.options.by_trace {
            tolerance_ns.max(TRACE_TOLERANCE_NS)
        } else {
            tolerance_ns
        }
    }

    fn deadline(&self, by_ns: i64) -> Deadline {
        Deadline {
            by_ns,
            tolerance_ns: self.tolerance_ns(),
        }
    }

    /// Returns the group of what has this URL and trace.
    fn key(&self, target: &str, trace: Option<u128>) -> u64 {
        match trace.filter(|_| self.options.by_trace) {
            Some(trace) => hash_of(trace),
            None => hash_of(target),
        }
    }

    /// Returns the group of hops between the first and the last, whose URLs are not known.
    fn between_key(&self, trace: Option<u128>) -> u64 {
        trace.filter(|_| self.options.by_trace).map_or(0, hash_of)
    }

    fn add_sent(&mut self, request: SentRequest) {
        // Lines are given up after their own tolerance, by then the request may be over.
        let forget_ns = (request.end_ns)
            .saturating_add(self.tolerance_ns().saturating_mul(3))
            .saturating_add(FORGET_NS);
        if let Hop::Between(count) = request.hop {
            let key = self.between_key(request.trace);
            return self.optional.add_between(key, request, count, forget_ns);
        }
        let key = self.key(&request.target, request.trace);
        if request.retries > 0 {
            self.optional.add_attempts(key, &request, forget_ns);
        }
        let due_ns = self.deadline(0).of_sent(&request);
        self.group(key, due_ns).sent.push(request);
    }

    fn add_logged(&mut self, mut line: LoggedRequest) {
        if self.texts.0 != line.at_ns {
            self.texts = (line.at_ns, HashSet::new());
        }
        // Within a second, requests for one URL have lines of one text.
        line.is_copy = !self.texts.1.insert(line.text_hash) && line.resolution_ns < SECOND;
        let key = self.key(&line.target, line.trace);
        let due_ns = self.deadline(0).of_logged(&line);
        self.group(key, due_ns).logged.push(line);
    }

    /// Returns the group, which is to be looked at at that time or before.
    fn group(&mut self, key: u64, due_ns: i64) -> &mut MatchGroup {
        self.waiting += 1;
        let group = self.groups.entry(key).or_insert_with(|| MatchGroup {
            due_ns: i64::MAX,
            ..MatchGroup::default()
        });
        if due_ns < group.due_ns {
            group.due_ns = due_ns;
            self.due.push(Reverse((due_ns, key)));
        }
        group
    }

    /// Matches the groups that were due before, and more if too much waits.
    fn settle_before(&mut self, now_ns: i64) {
        while let Some(Reverse((due_ns, key))) = self.due.peek().copied() {
            if due_ns >= now_ns && self.waiting < MAX_WAITING {
                return;
            }
            self.due.pop();
            let is_current = |group: &MatchGroup| group.due_ns == due_ns;
            if self.groups.get(&key).is_some_and(is_current)
                && let Some(group) = self.groups.remove(&key)
            {
                self.waiting -= group.sent.len() + group.logged.len();
                self.settle(key, group, due_ns.max(now_ns.saturating_sub(1)));
            }
        }
    }

    /// Makes the pairs of a group, gives up what was due by then, and keeps the rest.
    fn settle(&mut self, key: u64, group: MatchGroup, by_ns: i64) {
        let mut taken = Taken::none(&group);
        let pairs = self.pairs(&group, by_ns, &mut taken);
        let MatchGroup { sent, logged, .. } = group;
        let mut sent: Vec<Option<SentRequest>> = sent.into_iter().map(Some).collect();
        let mut logged: Vec<Option<LoggedRequest>> = logged.into_iter().map(Some).collect();
        for (request, line) in pairs {
            if let (Some(request), Some(line)) = (sent[request].take(), logged[line].take()) {
                (self.put)(MatchOutcome::Pair(Box::new(request), Box::new(line)));
            }
        }
        let deadline = self.deadline(by_ns);
        for request in sent.into_iter().flatten() {
            let due_ns = deadline.of_sent(&request);
            if due_ns <= by_ns {
                (self.put)(MatchOutcome::NotLogged(Box::new(request), 1));
            } else {
                self.group(key, due_ns).sent.push(request);
            }
        }
        for line in logged.into_iter().flatten() {
            let due_ns = deadline.of_logged(&line);
            if due_ns <= by_ns {
                self.give_up(key, line, false);
            } else {
                self.group(key, due_ns).logged.push(line);
            }
        }
    }

    fn pairs(&self, group: &MatchGroup, by_ns: i64, taken: &mut Taken) -> Vec<(usize, usize)> {
        let tolerance_ns = self.tolerance_ns();
        let deadline = self.deadline(by_ns);
        let main_agent = self.options.main_agent;
        let of_main = |line: &LoggedRequest| (line.agent == main_agent).then(|| line.status.into());
        let with_status = |line: &LoggedRequest| Some(line.status.into());
        let mut all = Vec::new();
        let mut add = |tolerance_ns, sent: ClassOfSent<'_>, logged: ClassOfLogged<'_>| {
            let rule = PairingRule {
                tolerance_ns,
                deadline,
                sent,
                logged,
            };
            all.extend(pairs(group, &rule, taken));
        };
        let bytes_of_main =
            |line: &LoggedRequest| logged_bytes(line).filter(|_| line.agent == main_agent);
        // Which of two requests at one time a line is of, its bytes may tell.
        add(tolerance_ns, &to_the_byte, &bytes_of_main);
        add(tolerance_ns, &exact, &of_main);
        add(tolerance_ns, &exact, &with_status);
        let other_ns = if self.options.by_trace {
            tolerance_ns
        } else {
            tolerance_ns.min(OTHER_STATUS_NS)
        };
        let is_redirect = |line: &LoggedRequest| (300..400).contains(&line.status).then_some(3);
        let with_any = |_: &LoggedRequest| Some(0);
        let rules: [(i64, ClassOfSent<'_>, ClassOfLogged<'_>); 4] = [
            (tolerance_ns, &become_get, &with_status),
            (tolerance_ns, &redirected, &is_redirect),
            (tolerance_ns, &loose, &with_any),
            (other_ns, &other_status, &with_any),
        ];
        for (tolerance_ns, sent, logged) in rules {
            // Something better may come for what is not given up yet.
            let due_sent =
                |request: &SentRequest| sent(request).filter(|_| deadline.has_sent(request));
            let due_logged =
                |line: &LoggedRequest| logged(line).filter(|_| deadline.has_logged(line));
            add(tolerance_ns, &due_sent, logged);
            add(tolerance_ns, sent, &due_logged);
        }
        all
    }

    /// Passes on a line that no request has. Redirects of URLs that the run has requested, and lines that are there twice, are
    /// hops between others only if nothing else is.
    fn give_up(&mut self, key: u64, line: LoggedRequest, is_last_try: bool) {
        let keys = (self.between_key(line.trace), key);
        let tolerance_ns = self.tolerance_ns();
        let is_redirect = (300..400).contains(&line.status);
        let target = hash_of(&line.target);
        let is_known = self.known.is_none_or(|all| all.contains(&target));
        if is_redirect && (is_known || line.is_copy) && !is_last_try {
            return self.doubtful.push_back((key, line));
        }
        // Who has taken the hop of another has left its own: in the end the numbers count.
        let patience = if is_last_try { LAST_PATIENCE } else { 1 };
        let hop = self
            .optional
            .take(keys, &line, tolerance_ns.saturating_mul(patience));
        if hop.is_none() && is_redirect && !is_last_try {
            return self.doubtful.push_back((key, line));
        }
        let outcome = match hop {
            Some(kind) => MatchOutcome::Optional(Box::new(line), kind == OptionalLine::Between),
            None => MatchOutcome::NotSent(Box::new(line)),
        };
        (self.put)(outcome);
    }

    fn forget(&mut self, now_ns: i64) {
        let wait_ns = self
            .tolerance_ns()
            .saturating_mul(2)
            .saturating_add(FORGET_NS / 2);
        let is_over =
            |(_, line): &(u64, LoggedRequest)| line.end_ns().saturating_add(wait_ns) < now_ns;
        while self.doubtful.front().is_some_and(is_over) {
            if let Some((key, line)) = self.doubtful.pop_front() {
                self.give_up(key, line, true);
            }
        }
        for (request, count) in self.optional.forget(now_ns) {
            (self.put)(MatchOutcome::NotLogged(Box::new(request), count));
        }
    }
}
