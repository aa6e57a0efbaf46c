//! Lines that a log may or must have of a request without that anybody knows their URL or status: hops between the first and
//! the last of a redirected request, and attempts that were sent again.

use crate::event::{LoggedRequest, SentRequest};
use std::collections::{HashMap, VecDeque};

/// Lines that a request may have caused.
#[derive(Debug, Clone)]
struct ExpectedLines {
    request: SentRequest,
    count: u32,
    forget_ns: i64,
}

/// All such lines of requests that are not long over.
#[derive(Debug, Default)]
pub(super) struct OptionalLines {
    /// Hops between, which are redirects; by trace where there is one, else under 0.
    between: HashMap<u64, VecDeque<ExpectedLines>>,
    /// Attempts, by group.
    attempts: HashMap<u64, VecDeque<ExpectedLines>>,
}

/// The part of a request that an optional line was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum OptionalLine {
    Between,
    Attempt,
}

impl OptionalLines {
    /// Adds hops between the first and the last one.
    pub(super) fn add_between(
        &mut self,
        key: u64,
        request: SentRequest,
        count: u32,
        forget_ns: i64,
    ) {
        let expected = ExpectedLines {
            request,
            count,
            forget_ns,
        };
        self.between.entry(key).or_default().push_back(expected);
    }

    /// Adds attempts that were sent again.
    pub(super) fn add_attempts(&mut self, key: u64, request: &SentRequest, forget_ns: i64) {
        let expected = ExpectedLines {
            count: request.retries,
            // It began at any time from the first attempt on.
            request: SentRequest {
                is_loose: true,
                ..request.clone()
            },
            forget_ns,
        };
        self.attempts.entry(key).or_default().push_back(expected);
    }

    /// Finds the request that has caused a line.
    pub(super) fn take(
        &mut self,
        keys: (u64, u64),
        line: &LoggedRequest,
        tolerance_ns: i64,
    ) -> Option<OptionalLine> {
        let is_redirect = (300..400).contains(&line.status);
        let between = self.between.get_mut(&keys.0).filter(|_| is_redirect);
        if between.is_some_and(|all| take_nearest(all.iter_mut(), line, tolerance_ns)) {
            return Some(OptionalLine::Between);
        }
        let attempts = self.attempts.get_mut(&keys.1)?.iter_mut();
        let of_method = attempts.filter(|expected| expected.request.method == line.method);
        take_nearest(of_method, line, tolerance_ns).then_some(OptionalLine::Attempt)
    }

    /// Drops what is long over, and returns the hops between of which the log has no line, with their number.
    pub(super) fn forget(&mut self, before_ns: i64) -> Vec<(SentRequest, u32)> {
        let mut lacking = Vec::new();
        self.between.retain(|_, all| {
            all.retain(|expected| {
                let is_over = expected.forget_ns < before_ns;
                if is_over && expected.count > 0 {
                    lacking.push((expected.request.clone(), expected.count));
                }
                !is_over && expected.count > 0
            });
            !all.is_empty()
        });
        self.attempts.retain(|_, all| {
            all.retain(|expected| expected.forget_ns >= before_ns && expected.count > 0);
            !all.is_empty()
        });
        lacking
    }
}

/// Counts a line for the request that is nearest to it; returns whether there is one.
fn take_nearest<'a>(
    all: impl Iterator<Item = &'a mut ExpectedLines>,
    line: &LoggedRequest,
    tolerance_ns: i64,
) -> bool {
    let open = all.filter(|expected| expected.count > 0);
    let near = open.map(|expected| (line.distance_ns(&expected.request).abs(), expected));
    let near = near.filter(|(distance_ns, _)| *distance_ns <= tolerance_ns);
    let nearest = near.min_by_key(|(distance_ns, _)| *distance_ns);
    if let Some((_, expected)) = nearest {
        expected.count -= 1;
        true
    } else {
        false
    }
}
