//! The calls of a page that go side by side: the browser had sent them before any of them had its response. Driven by
//! the writer of visits, once the origins of the values of requests are known.

use super::exchange::{ExchangeKind, RecordedExchange, set_cookies};
use super::visit::{POLL_MS, Visit, VisitStep};
use std::collections::HashMap;

/// The least time between the beginning of a request and the first response, in milliseconds: browsers cut times off
/// there.
const LEAST_MS: f64 = 1.0;

/// Puts such calls into batches. `needs` are the responses that brought the values of requests.
pub(super) fn join(
    visit: &mut Visit,
    exchanges: &[RecordedExchange],
    needs: &HashMap<usize, Vec<usize>>,
) {
    for task in &mut visit.tasks {
        let mut joined = Vec::new();
        let mut group: Vec<usize> = Vec::new();
        // The time of the first response in the group.
        let mut until = f64::INFINITY;
        for step in std::mem::take(&mut task.steps) {
            let call = match &step {
                VisitStep::Request { at, submit: None } if may_join(&exchanges[*at]) => Some(*at),
                _ => None,
            };
            let goes_on = call.is_some_and(|at| exchanges[at].start_ms + LEAST_MS <= until);
            if !goes_on {
                joined.extend(batches(&group, exchanges, needs));
                (group, until) = (Vec::new(), f64::INFINITY);
            }
            match call {
                Some(at) => {
                    group.push(at);
                    until = until.min(exchanges[at].responded_ms);
                }
                None => joined.push(step),
            }
        }
        joined.extend(batches(&group, exchanges, needs));
        task.steps = joined;
    }
}

/// Returns whether a request is a call whose times are known, and which does not wait for news.
fn may_join(exchange: &RecordedExchange) -> bool {
    let took = exchange.responded_ms - exchange.start_ms;
    exchange.kind == ExchangeKind::Call
        && took > 0.0
        && exchange.end_ms - exchange.start_ms < POLL_MS
}

/// Returns the steps of calls that went side by side: a call that needs the response of another comes after it.
fn batches(
    group: &[usize],
    exchanges: &[RecordedExchange],
    needs: &HashMap<usize, Vec<usize>>,
) -> Vec<VisitStep> {
    let mut levels: Vec<Vec<usize>> = Vec::new();
    let mut level_of: HashMap<usize, usize> = HashMap::new();
    let mut cookies: HashMap<(&str, &str), usize> = HashMap::new();
    for at in group {
        let sent = sent_cookies(&exchanges[*at]);
        let brought = needs.get(at).into_iter().flatten();
        let before = brought.filter_map(|source| level_of.get(source));
        let before = before.chain(sent.iter().filter_map(|cookie| cookies.get(cookie)));
        let level = before.max().map_or(0, |level| level + 1);
        level_of.insert(*at, level);
        // A cookie that is set to the value that it had brings nothing.
        let set = exchanges[*at].response.iter().flat_map(set_cookies);
        for cookie in set.filter(|cookie| !sent.contains(cookie)) {
            cookies.entry(cookie).or_insert(level);
        }
        match levels.get_mut(level) {
            Some(level) => level.push(*at),
            None => levels.push(vec![*at]),
        }
    }
    let steps = levels.into_iter().map(|level| match level[..] {
        [at] => VisitStep::Request { at, submit: None },
        _ => VisitStep::Batch(level),
    });
    steps.collect()
}

fn sent_cookies(exchange: &RecordedExchange) -> Vec<(&str, &str)> {
    let sent = exchange.headers.iter().filter(|(name, _)| name == "cookie");
    let pairs = sent.flat_map(|(_, value)| value.split(';'));
    let pairs = pairs.filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect()
}
