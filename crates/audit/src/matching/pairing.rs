//! Pairs of requests and lines of one group, the nearest in time first.

use crate::event::{Hop, LoggedRequest, SentRequest, hash_of};
use crate::format::LoggedBytes;
use std::collections::HashMap;

/// Distances up to which pairs are made, one after the other, so that a line that is missing costs no other its own request.
const STEPS_NS: [i64; 6] = [
    0,
    1_000_000,
    5_000_000,
    20_000_000,
    100_000_000,
    500_000_000,
];

/// The time after which everything near a moment has arrived.
const RIPE_NS: i64 = 1_000_000_000;

/// A distance that is short enough to go by order alone.
const NEAR_NS: i64 = 5_000_000;

/// Requests and lines that may belong together: those of one URL, or of one trace.
#[derive(Debug, Default)]
pub(super) struct MatchGroup {
    pub(super) sent: Vec<SentRequest>,
    pub(super) logged: Vec<LoggedRequest>,
    /// The time at which the group is matched.
    pub(super) due_ns: i64,
}

/// The method that the line of a request has.
#[derive(Debug, Clone, Copy)]
pub(super) enum SentMethod {
    /// That of the request.
    Own,
    /// GET: the request became one on its way.
    Get,
}

/// Returns the method and the class of a request, if a rule is for it.
pub(super) type ClassOfSent<'a> = &'a dyn Fn(&SentRequest) -> Option<(SentMethod, u64)>;

/// Returns the class of a line, if a rule is for it.
pub(super) type ClassOfLogged<'a> = &'a dyn Fn(&LoggedRequest) -> Option<u64>;

/// The time by which a request or a line needs a pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    /// The time at which the group is matched.
    pub(super) by_ns: i64,
    /// The time that a request or a line waits for its pair.
    pub(super) tolerance_ns: i64,
}

impl Deadline {
    /// Returns when a request is given up.
    pub(super) fn of_sent(self, request: &SentRequest) -> i64 {
        request.end_ns.saturating_add(self.tolerance_ns + RIPE_NS)
    }

    /// Returns when a line is given up.
    pub(super) fn of_logged(self, line: &LoggedRequest) -> i64 {
        line.end_ns().saturating_add(self.tolerance_ns + RIPE_NS)
    }

    pub(super) fn has_sent(self, request: &SentRequest) -> bool {
        self.of_sent(request) <= self.by_ns
    }

    pub(super) fn has_logged(self, line: &LoggedRequest) -> bool {
        self.of_logged(line) <= self.by_ns
    }

    /// Returns whether what ended at that time has everything near it beside it.
    fn is_complete(self, end_ns: i64) -> bool {
        end_ns.saturating_add(RIPE_NS / 2) <= self.by_ns
    }

    fn is_ripe_at(self, end_ns: i64) -> bool {
        end_ns.saturating_add(RIPE_NS) <= self.by_ns
    }

    /// Returns whether what is near a request and a line has everything near it beside it, too, so that they may be a pair
    /// although they are far from each other.
    fn is_ripe(self, request: &SentRequest, line: &LoggedRequest) -> bool {
        self.is_ripe_at(request.end_ns.max(line.end_ns()))
    }
}

/// A rule by which pairs are made.
pub(super) struct PairingRule<'a> {
    /// The farthest that two may be from each other.
    pub(super) tolerance_ns: i64,
    pub(super) deadline: Deadline,
    /// The class of a request, which must be that of the line; `None` for one that the rule is not for.
    pub(super) sent: ClassOfSent<'a>,
    /// The class of a line.
    pub(super) logged: ClassOfLogged<'a>,
}

/// Requests and lines of a group without a pair, as indices.
#[derive(Debug, Clone, Default)]
struct Unpaired {
    sent: Vec<usize>,
    logged: Vec<usize>,
}

/// Returns pairs of requests and lines as indices, and marks them as taken.
pub(super) fn pairs(
    group: &MatchGroup,
    rule: &PairingRule<'_>,
    taken: &mut Taken,
) -> Vec<(usize, usize)> {
    let mut buckets: HashMap<u64, Unpaired> = HashMap::new();
    for (at, request) in group.sent.iter().enumerate() {
        let is_open = !taken.sent[at] && rule.deadline.is_complete(request.end_ns);
        if let Some((method, class)) = (rule.sent)(request).filter(|_| is_open) {
            let method = match method {
                SentMethod::Own => &*request.method,
                SentMethod::Get => "GET",
            };
            let key = hash_of((method, &request.target, class));
            buckets.entry(key).or_default().sent.push(at);
        }
    }
    if buckets.is_empty() {
        return Vec::new();
    }
    for (at, line) in group.logged.iter().enumerate() {
        let is_open = !taken.logged[at] && rule.deadline.is_complete(line.end_ns());
        if let Some(class) = (rule.logged)(line).filter(|_| is_open) {
            let key = hash_of((&line.method, &line.target, class));
            if let Some(bucket) = buckets.get_mut(&key) {
                bucket.logged.push(at);
            }
        }
    }
    let mut found = Vec::new();
    for mut bucket in buckets.into_values() {
        if bucket.logged.is_empty() {
            continue;
        }
        let by_end = |at: &usize| (group.sent[*at].end_ns, group.sent[*at].row);
        bucket.sent.sort_by_key(by_end);
        bucket.logged.sort_by_key(|at| {
            let line = &group.logged[*at];
            (line.at_ns, line.file, line.line)
        });
        let pairs = nearest_pairs(group, rule, &bucket);
        for (request, line) in &pairs {
            taken.sent[*request] = true;
            taken.logged[*line] = true;
        }
        found.extend(pairs);
    }
    found
}

/// Pairs requests with lines so that the fewest are left and the pairs are the closest in time. Tries both in order of time and
/// the closest first: then a missing line does not shift the pairs after it.
fn nearest_pairs(
    group: &MatchGroup,
    rule: &PairingRule<'_>,
    bucket: &Unpaired,
) -> Vec<(usize, usize)> {
    let steps = STEPS_NS
        .into_iter()
        .filter(|step| *step < rule.tolerance_ns)
        .chain([rule.tolerance_ns]);
    let steps: Vec<i64> = steps.collect();
    let in_order = steps.iter().map(std::slice::from_ref);
    let mut best: Option<(PairingCost, Vec<(usize, usize)>)> = None;
    for steps in in_order.chain([&*steps]) {
        let mut pairs = Vec::new();
        let mut left = bucket.clone();
        for step in steps {
            walk(group, *step, rule.deadline, &mut left, &mut pairs);
        }
        let cost = PairingCost::new(group, rule.deadline, &left, &pairs);
        let is_good = cost.alone == 0 && steps[0] <= NEAR_NS;
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, pairs));
        }
        if is_good && steps.len() == 1 {
            break;
        }
    }
    best.map_or_else(Vec::new, |(_, pairs)| pairs)
}

/// The cost of a choice of pairs: first the number of requests and lines that stay without a pair although everything near them
/// has arrived, then the sum of the distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PairingCost {
    alone: usize,
    distance_ns: u64,
}

impl PairingCost {
    fn new(
        group: &MatchGroup,
        deadline: Deadline,
        left: &Unpaired,
        pairs: &[(usize, usize)],
    ) -> PairingCost {
        let sent = left.sent.iter().map(|at| group.sent[*at].end_ns);
        let logged = left.logged.iter().map(|at| group.logged[*at].end_ns());
        let alone = sent
            .chain(logged)
            .filter(|end_ns| deadline.is_ripe_at(*end_ns));
        let distances = pairs.iter().map(|(request, line)| {
            let distance_ns = group.logged[*line].distance_ns(&group.sent[*request]);
            distance_ns.unsigned_abs()
        });
        PairingCost {
            alone: alone.count(),
            distance_ns: distances.fold(0, u64::saturating_add),
        }
    }
}

/// Goes through requests and lines in order of time, pairs those that are at most `most_ns` apart, and keeps the rest in `left`.
fn walk(
    group: &MatchGroup,
    most_ns: i64,
    deadline: Deadline,
    left: &mut Unpaired,
    pairs: &mut Vec<(usize, usize)>,
) {
    let Unpaired { sent, logged } = std::mem::take(left);
    let (mut request, mut line) = (0, 0);
    while request < sent.len() && line < logged.len() {
        let pair = (sent[request], logged[line]);
        let (one, other) = (&group.sent[pair.0], &group.logged[pair.1]);
        let distance_ns = other.distance_ns(one);
        let is_near = distance_ns.abs() <= NEAR_NS || deadline.is_ripe(one, other);
        if distance_ns.abs() <= most_ns && is_near {
            pairs.push(pair);
            request += 1;
            line += 1;
        } else if distance_ns < 0 {
            left.sent.push(pair.0);
            request += 1;
        } else {
            left.logged.push(pair.1);
            line += 1;
        }
    }
    left.sent.extend_from_slice(&sent[request..]);
    left.logged.extend_from_slice(&logged[line..]);
}

/// The requests and lines of a group that have a pair.
pub(super) struct Taken {
    pub(super) sent: Vec<bool>,
    pub(super) logged: Vec<bool>,
}

impl Taken {
    pub(super) fn none(group: &MatchGroup) -> Taken {
        Taken {
            sent: vec![false; group.sent.len()],
            logged: vec![false; group.logged.len()],
        }
    }
}

/// Returns the class of a request that has one line with its status and bytes.
pub(super) fn to_the_byte(request: &SentRequest) -> Option<(SentMethod, u64)> {
    let plain = request.hop == Hop::Only && request.retries == 0 && !request.is_loose;
    plain.then(|| (SentMethod::Own, hash_of((request.status, request.bytes))))
}

/// Returns the class of a line with its bytes, unless they are those of the body alone.
pub(super) fn logged_bytes(line: &LoggedRequest) -> Option<u64> {
    match line.bytes? {
        LoggedBytes::Body(_) => None,
        bytes => Some(hash_of((line.status, bytes.count()))),
    }
}

/// Returns the class of a request that has one line with its status.
pub(super) fn exact(request: &SentRequest) -> Option<(SentMethod, u64)> {
    let has_line = matches!(request.hop, Hop::Only | Hop::Last) && !request.is_loose;
    has_line.then_some((SentMethod::Own, request.status.into()))
}

/// Returns the class of the last hop of a request that may have become a GET on its way.
pub(super) fn become_get(request: &SentRequest) -> Option<(SentMethod, u64)> {
    let became = request.hop == Hop::Last && !request.is_loose && request.method != "HEAD";
    became.then_some((SentMethod::Get, request.status.into()))
}

/// Returns the class of the first hop of a request that was redirected.
pub(super) fn redirected(request: &SentRequest) -> Option<(SentMethod, u64)> {
    (request.hop == Hop::First).then_some((SentMethod::Own, 3))
}

/// Returns the class of a request of which the log may have any status.
pub(super) fn loose(request: &SentRequest) -> Option<(SentMethod, u64)> {
    request.is_loose.then_some((SentMethod::Own, 0))
}

/// Returns the class of a request whose status may be another in the log.
pub(super) fn other_status(request: &SentRequest) -> Option<(SentMethod, u64)> {
    exact(request).map(|(method, _)| (method, 0))
}
