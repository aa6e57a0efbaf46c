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

/// What a line was of a request.
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
            request: request.clone(),
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
        let within = |expected: &&mut ExpectedLines| {
            let mut request = expected.request.clone();
            request.is_loose = true;
            expected.count > 0 && line.distance_ns(&request).abs() <= tolerance_ns
        };
        let between = self.between.get_mut(&keys.0).filter(|_| is_redirect);
        if let Some(expected) = between.and_then(|all| all.iter_mut().find(within)) {
            expected.count -= 1;
            return Some(OptionalLine::Between);
        }
        let attempts = self.attempts.get_mut(&keys.1)?;
        let of_method = |expected: &&mut ExpectedLines| expected.request.method == line.method;
        let mut attempts = attempts.iter_mut().filter(of_method);
        attempts.find(within)?.count -= 1;
        Some(OptionalLine::Attempt)
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
