//! Pairs of requests and lines of one group, the nearest in time first.

use crate::event::{Hop, LoggedRequest, SentRequest, hash_of};
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

/// A rule by which pairs are made.
pub(super) struct PairingRule<'a> {
    /// The farthest that two may be from each other.
    pub(super) tolerance_ns: i64,
    /// The class of a request, which must be that of the line; `None` for one that the rule is not for.
    pub(super) sent: &'a dyn Fn(&SentRequest) -> Option<(&str, u16)>,
    /// The class of a line.
    pub(super) logged: &'a dyn Fn(&LoggedRequest) -> Option<u16>,
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
        let steps = STEPS_NS
            .into_iter()
            .filter(|step| *step < rule.tolerance_ns)
            .chain([rule.tolerance_ns]);
        for step in steps {
            walk(group, step, (&sent, &logged), taken, &mut found);
            sent.retain(|at| !taken.sent[*at]);
            logged.retain(|at| !taken.logged[*at]);
            if sent.is_empty() || logged.is_empty() {
                break;
            }
        }
    }
    found
}

/// Goes through both lists by time, and pairs what is at most so far from each other.
fn walk(
    group: &MatchGroup,
    most_ns: i64,
    (sent, logged): (&[usize], &[usize]),
    taken: &mut Taken,
    found: &mut Vec<(usize, usize)>,
) {
    let (mut sent, mut logged) = (sent.iter().peekable(), logged.iter().peekable());
    while let (Some(request), Some(line)) = (sent.peek(), logged.peek()) {
        let distance_ns = group.logged[**line].distance_ns(&group.sent[**request]);
        if distance_ns.abs() <= most_ns {
            taken.sent[**request] = true;
            taken.logged[**line] = true;
            found.push((**request, **line));
            sent.next();
            logged.next();
        } else if distance_ns < 0 {
            sent.next();
        } else {
            logged.next();
        }
    }
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

/// Returns the class of a request that has one line with its status.
pub(super) fn exact(request: &SentRequest) -> Option<(&str, u16)> {
    let has_line = matches!(request.hop, Hop::Only | Hop::Last) && !request.is_loose;
    has_line.then_some((&request.method, request.status))
}

/// Returns the class of the last hop of a request that may have become a GET on its way.
pub(super) fn become_get(request: &SentRequest) -> Option<(&str, u16)> {
    let became = request.hop == Hop::Last && !request.is_loose && request.method != "HEAD";
    became.then_some(("GET", request.status))
}

/// Returns the class of the first hop of a request that was redirected.
pub(super) fn redirected(request: &SentRequest) -> Option<(&str, u16)> {
    (request.hop == Hop::First).then_some((&*request.method, 3))
}

/// Returns the class of a request of which the log may have any status.
pub(super) fn loose(request: &SentRequest) -> Option<(&str, u16)> {
    request.is_loose.then_some((&*request.method, 0))
}

/// Returns the class of a request whose status may be another in the log.
pub(super) fn other_status(request: &SentRequest) -> Option<(&str, u16)> {
    exact(request).map(|(method, _)| (method, 0))
}
