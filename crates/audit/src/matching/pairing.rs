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

/// Requests and lines that may belong together: those of one URL, or of one trace.
#[derive(Debug, Default)]
pub(super) struct MatchGroup {
    pub(super) sent: Vec<SentRequest>,
    pub(super) logged: Vec<LoggedRequest>,
    /// When it is to be looked at.
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

/// What is given up unless it gets its pair now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    /// The time by which it ends.
    pub(super) by_ns: i64,
    /// How long each waits.
    pub(super) tolerance_ns: i64,
}

impl Deadline {
    /// Returns when a request is given up.
    pub(super) fn of_sent(self, request: &SentRequest) -> i64 {
        request.end_ns.saturating_add(self.tolerance_ns)
    }

    /// Returns when a line is given up.
    pub(super) fn of_logged(self, line: &LoggedRequest) -> i64 {
        line.end_ns().saturating_add(self.tolerance_ns)
    }

    pub(super) fn has_sent(self, request: &SentRequest) -> bool {
        self.of_sent(request) <= self.by_ns
    }

    pub(super) fn has_logged(self, line: &LoggedRequest) -> bool {
        self.of_logged(line) <= self.by_ns
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

/// Makes pairs, and returns them as indices of requests and lines. What has one is marked as taken.
pub(super) fn pairs(
    group: &MatchGroup,
    rule: &PairingRule<'_>,
    taken: &mut Taken,
) -> Vec<(usize, usize)> {
    let mut buckets: HashMap<u64, (Vec<usize>, Vec<usize>)> = HashMap::new();
    for (at, request) in group.sent.iter().enumerate() {
        if let Some((method, class)) = (rule.sent)(request).filter(|_| !taken.sent[at]) {
            let method = match method {
                SentMethod::Own => &*request.method,
                SentMethod::Get => "GET",
            };
            let key = hash_of((method, &request.target, class));
            buckets.entry(key).or_default().0.push(at);
        }
    }
    if buckets.is_empty() {
        return Vec::new();
    }
    for (at, line) in group.logged.iter().enumerate() {
        if let Some(class) = (rule.logged)(line).filter(|_| !taken.logged[at]) {
            let key = hash_of((&line.method, &line.target, class));
            if let Some((_, lines)) = buckets.get_mut(&key) {
                lines.push(at);
            }
        }
    }
    let mut found = Vec::new();
    for (mut sent, mut logged) in buckets.into_values() {
        if logged.is_empty() {
            continue;
        }
        sent.sort_by_key(|at| (group.sent[*at].end_ns, group.sent[*at].row));
        logged.sort_by_key(|at| {
            let line = &group.logged[*at];
            (line.at_ns, line.file, line.line)
        });
        let pairs = nearest_pairs(group, rule, &sent, &logged);
        for (request, line) in &pairs {
            taken.sent[*request] = true;
            taken.logged[*line] = true;
        }
        found.extend(pairs);
    }
    found
}

/// Pairs two lists by time: the nearest first or, if fewer of both are given up so, in their order.
fn nearest_pairs(
    group: &MatchGroup,
    rule: &PairingRule<'_>,
    sent: &[usize],
    logged: &[usize],
) -> Vec<(usize, usize)> {
    let steps = STEPS_NS
        .into_iter()
        .filter(|step| *step < rule.tolerance_ns)
        .chain([rule.tolerance_ns]);
    let given_up = |sent: &[usize], logged: &[usize]| {
        let sent = sent.iter().map(|at| &group.sent[*at]);
        let logged = logged.iter().map(|at| &group.logged[*at]);
        let sent = sent.filter(|one| rule.deadline.has_sent(one)).count();
        sent + logged.filter(|one| rule.deadline.has_logged(one)).count()
    };
    let mut pairs = Vec::new();
    let (mut sent_left, mut logged_left) = (sent.to_vec(), logged.to_vec());
    for step in steps.clone() {
        walk(group, step, &mut sent_left, &mut logged_left, &mut pairs);
        if sent_left.is_empty() && logged_left.is_empty() {
            return pairs;
        }
    }
    let mut fewest = given_up(&sent_left, &logged_left);
    // A request at the border of two seconds may have displaced all after it.
    for step in steps {
        if fewest == 0 {
            break;
        }
        let mut in_order = Vec::new();
        let (mut sent, mut logged) = (sent.to_vec(), logged.to_vec());
        walk(group, step, &mut sent, &mut logged, &mut in_order);
        let lost = given_up(&sent, &logged);
        if lost < fewest {
            (pairs, fewest) = (in_order, lost);
        }
    }
    pairs
}

/// Goes through both lists by time, pairs what is at most so far from each other, and leaves the rest in them.
fn walk(
    group: &MatchGroup,
    most_ns: i64,
    sent: &mut Vec<usize>,
    logged: &mut Vec<usize>,
    pairs: &mut Vec<(usize, usize)>,
) {
    let (mut sent_left, mut logged_left) = (Vec::new(), Vec::new());
    let (mut request, mut line) = (0, 0);
    while request < sent.len() && line < logged.len() {
        let pair = (sent[request], logged[line]);
        let distance_ns = group.logged[pair.1].distance_ns(&group.sent[pair.0]);
        if distance_ns.abs() <= most_ns {
            pairs.push(pair);
            request += 1;
            line += 1;
        } else if distance_ns < 0 {
            sent_left.push(pair.0);
            request += 1;
        } else {
            logged_left.push(pair.1);
            line += 1;
        }
    }
    sent_left.extend_from_slice(&sent[request..]);
    logged_left.extend_from_slice(&logged[line..]);
    (*sent, *logged) = (sent_left, logged_left);
}

/// Which requests and lines of a group have their pair.
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
