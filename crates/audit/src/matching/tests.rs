//! Requests and lines in the order of their times, as the sorter passes them on.

use super::*;
use crate::format::{LoggedBytes, Moment};

const MS: i64 = 1_000_000;
const S: i64 = 1_000 * MS;

fn sent(target: &str, end_ms: i64) -> SentRequest {
    SentRequest {
        hop: Hop::Only,
        name: 0,
        host: 0,
        method: "GET".to_owned(),
        target: target.to_owned(),
        status: 200,
        is_loose: false,
        start_ns: (end_ms - 1) * MS,
        connected_ns: (end_ms - 1) * MS,
        end_ns: end_ms * MS,
        bytes: 100,
        retries: 0,
        trace: None,
        class: 0,
        row: end_ms.unsigned_abs(),
    }
}

/// A line in whole milliseconds.
fn logged(target: &str, at_ms: i64) -> LoggedRequest {
    LoggedRequest {
        method: "GET".to_owned(),
        target: target.to_owned(),
        status: 200,
        at_ns: at_ms * MS,
        resolution_ns: MS.unsigned_abs(),
        moment: Moment::End,
        bytes: Some(LoggedBytes::Whole(100)),
        server_ns: None,
        upstream_ns: None,
        agent: 0,
        trace: None,
        file: 0,
        line: at_ms.unsigned_abs(),
        text_hash: hash_of((target, at_ms)),
        is_copy: false,
    }
}

/// A line in whole seconds.
fn logged_in_seconds(target: &str, at_ms: i64) -> LoggedRequest {
    LoggedRequest {
        at_ns: at_ms.div_euclid(1_000) * S,
        resolution_ns: S.unsigned_abs(),
        moment: Moment::Either,
        bytes: None,
        ..logged(target, at_ms)
    }
}

/// What became of requests and lines: pairs by row and line, rows without a line, lines without a request, and hops.
#[derive(Debug, Default, PartialEq)]
struct Matched {
    pairs: Vec<(u64, u64)>,
    not_logged: Vec<u64>,
    not_sent: Vec<u64>,
    copies: usize,
    hops: usize,
}

fn matched(by_trace: bool, sent: Vec<SentRequest>, logged: Vec<LoggedRequest>) -> Matched {
    let known: HashSet<u64> = sent.iter().map(|one| hash_of(&one.target)).collect();
    let sent = sent.into_iter().map(LogEvent::Sent);
    let mut events: Vec<_> = sent
        .chain(logged.into_iter().map(LogEvent::Logged))
        .collect();
    events.sort_by_key(LogEvent::at_ns);
    let mut all = Matched::default();
    let options = MatchOptions {
        tolerance_ns: 2 * S,
        by_trace,
        main_agent: 0,
    };
    let mut matcher = Matcher::new(options, Some(&known), |outcome| match outcome {
        MatchOutcome::Pair(request, line) => all.pairs.push((request.row, line.line)),
        MatchOutcome::Optional(..) => all.hops += 1,
        MatchOutcome::NotLogged(request, _) => all.not_logged.push(request.row),
        MatchOutcome::NotSent(line) => {
            all.copies += usize::from(line.is_copy);
            all.not_sent.push(line.line);
        }
    });
    for event in events {
        matcher.add(event);
    }
    matcher.finish();
    all.pairs.sort_unstable();
    all
}

#[test]
fn each_request_has_its_own_line() {
    let times = || (0..500).map(|n| 1_000 + n * 20);
    let all = matched(
        false,
        times().map(|at| sent("/a", at)).collect(),
        times().map(|at| logged("/a", at)).collect(),
    );
    assert_eq!(
        all.pairs,
        times().map(|at| (at as u64, at as u64)).collect::<Vec<_>>()
    );
    assert!(all.not_logged.is_empty() && all.not_sent.is_empty());
}

#[test]
fn a_line_that_is_missing_or_too_many_costs_no_other_its_request() {
    let times = || (0..500).map(|n| 1_000 + n * 20);
    let is_missing = |at: &i64| [1_000, 4_000, 4_020, 10_980].contains(at);
    let all = matched(
        false,
        times().map(|at| sent("/a", at)).collect(),
        times()
            .filter(|at| !is_missing(at))
            .map(|at| logged("/a", at))
            .collect(),
    );
    assert_eq!(all.not_logged, [1_000, 4_000, 4_020, 10_980]);
    assert_eq!(all.pairs.len(), 496);
    assert!(all.pairs.iter().all(|(row, line)| row == line), "{all:?}");
    let all = matched(
        false,
        times()
            .filter(|at| !is_missing(at))
            .map(|at| sent("/a", at))
            .collect(),
        times().map(|at| logged("/a", at)).collect(),
    );
    assert_eq!(all.not_sent, [1_000, 4_000, 4_020, 10_980]);
}

#[test]
fn lines_that_are_there_twice_are_found() {
    let times = || (0..500).map(|n| 1_000 + n * 7);
    let lines = times().flat_map(|at| [logged("/a", at), logged("/a", at)]);
    let all = matched(
        false,
        times().map(|at| sent("/a", at)).collect(),
        lines.collect(),
    );
    assert_eq!(all.not_sent.len(), 500);
    assert!(all.copies > 490, "{all:?}");
    assert!(all.pairs.iter().all(|(row, line)| row == line), "{all:?}");
}

#[test]
fn a_border_of_two_seconds_displaces_nobody() {
    // Each line was written a moment before the request ended, the first one in the second before.
    let times = || (0..3_000).map(|n| 2_000 + n * 3);
    let all = matched(
        false,
        times().map(|at| sent("/a", at)).collect(),
        times().map(|at| logged_in_seconds("/a", at - 1)).collect(),
    );
    assert_eq!(
        (all.pairs.len(), all.not_logged.len(), all.not_sent.len()),
        (3_000, 0, 0)
    );
}

#[test]
fn redirects_are_found_by_their_ends_and_those_between_by_their_time() {
    let chain = || {
        let whole = SentRequest {
            start_ns: 1_000 * MS,
            ..sent("/first", 1_010)
        };
        vec![
            SentRequest {
                hop: Hop::Between(2),
                ..whole.clone()
            },
            SentRequest {
                hop: Hop::First,
                ..whole.clone()
            },
            SentRequest {
                hop: Hop::Last,
                target: "/last".to_owned(),
                method: "POST".to_owned(),
                ..whole
            },
        ]
    };
    let moved = |target, at| LoggedRequest {
        status: 302,
        ..logged(target, at)
    };
    let lines = || {
        vec![
            moved("/first", 1_002),
            moved("/x", 1_004),
            moved("/y", 1_006),
            logged("/last", 1_009),
        ]
    };
    let all = matched(false, chain(), lines());
    assert_eq!((all.pairs.len(), all.hops), (2, 2), "{all:?}");
    assert!(
        all.not_logged.is_empty() && all.not_sent.is_empty(),
        "{all:?}"
    );
    let all = matched(
        false,
        chain(),
        lines()
            .into_iter()
            .filter(|line| line.target != "/x")
            .collect(),
    );
    assert_eq!((all.hops, all.not_logged.len()), (1, 1), "{all:?}");
}

#[test]
fn a_request_without_a_response_may_have_any_line_or_none() {
    let cut_off = |at| SentRequest {
        status: 0,
        is_loose: true,
        ..sent("/a", at)
    };
    let line = LoggedRequest {
        status: 499,
        ..logged("/a", 5_003)
    };
    let all = matched(
        false,
        vec![sent("/a", 1_000), cut_off(5_000), cut_off(9_000)],
        vec![logged("/a", 1_000), line],
    );
    assert_eq!(all.pairs, [(1_000, 1_000), (5_000, 5_003)]);
    assert_eq!(all.not_logged, [9_000]);
}

#[test]
fn traces_identify_requests_whatever_clocks_and_statuses_are() {
    let trace = |n| Some(u128::from(n as u64));
    let times = || (0..100).map(|n| 10_000 + n);
    let requests = times().map(|at| SentRequest {
        trace: trace(at),
        ..sent("/a", at)
    });
    // The server's clock is ten seconds behind, and one status is another.
    let lines = times().map(|at| LoggedRequest {
        trace: trace(at),
        status: if at == 10_050 { 500 } else { 200 },
        at_ns: (at - 9_000) * MS,
        ..logged("/a", at)
    });
    let all = matched(true, requests.collect(), lines.collect());
    assert_eq!(
        all.pairs,
        times().map(|at| (at as u64, at as u64)).collect::<Vec<_>>()
    );
}
