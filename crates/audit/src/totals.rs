//! What can be compared without a request log: the totals of the report with those of the access logs, by status and by second.

use crate::event::LoggedRequest;
use crate::findings::{SidesCount, agent_name};
use crate::interned::InternedTexts;
use lgoose_base::line::request_name;
use lgoose_metrics::{Report, RequestRow};
use serde::Serialize;
use std::collections::BTreeMap;

/// The most URLs that are counted.
const MAX_URLS: usize = 2_000;

/// What stands for others.
const OTHER: &str = "(other)";

/// Totals of both sides.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Whether they agree.
    pub agrees: bool,
    /// Requests with their redirects, and lines.
    pub requests: SidesCount,
    /// Requests without a response, of which the log may have lines or not.
    pub without_response: u64,
    /// Requests that were sent again: the log may have a line of each attempt.
    pub retries: u64,
    /// Final responses with a status other than a redirect.
    pub status: BTreeMap<u16, SidesCount>,
    /// Redirects: hops that were followed, and final responses.
    pub redirects: SidesCount,
    /// Lines by method and URL without query, beside the requests of that name, if there is one.
    pub urls: BTreeMap<String, UrlTotals>,
    /// The first second of the run after which one side has had more than the other, whatever the tolerance.
    pub first_second: Option<i64>,
    /// Lines of user agents other than that of most lines.
    pub other_agents: BTreeMap<String, u64>,
}

/// The totals of a URL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct UrlTotals {
    /// Requests of that name; `null` if no name is this URL.
    pub run: Option<u64>,
    /// Lines.
    pub log: u64,
}

/// What the report has.
#[derive(Debug, Default)]
pub(crate) struct ExpectedTotals {
    pub(crate) requests: u64,
    pub(crate) to_ns: i64,
    origin_ns: i64,
    redirects: u64,
    retries: u64,
    status: BTreeMap<u16, u64>,
    names: BTreeMap<String, u64>,
    /// Requests that ended in each second since 1970.
    seconds: BTreeMap<i64, u64>,
    /// The length of the longest point, in seconds.
    longest_point_s: i64,
}

/// Returns what a report has, with its warm-up and what was measured before resets. `zero_ns` is the 0 of its logs' clock.
pub(crate) fn expected(report: &Report, zero_ns: i64) -> ExpectedTotals {
    let mut all = ExpectedTotals {
        origin_ns: zero_ns.saturating_add_unsigned(report.origin_ns),
        to_ns: zero_ns,
        ..ExpectedTotals::default()
    };
    all.add(report, zero_ns);
    all
}

impl ExpectedTotals {
    fn add(&mut self, report: &Report, zero_ns: i64) {
        report
            .requests
            .iter()
            .chain(&report.start_stop)
            .for_each(|row| self.add_row(row));
        let origin_ns = zero_ns.saturating_add_unsigned(report.origin_ns);
        for point in &report.series {
            let length = point.seconds.ceil();
            self.longest_point_s = self.longest_point_s.max(length as i64);
            let last = point.second.saturating_add(length as u64);
            let at_ns = origin_ns.saturating_add_unsigned(last.saturating_mul(1_000_000_000));
            *self
                .seconds
                .entry(at_ns.div_euclid(1_000_000_000))
                .or_default() += point.count;
        }
        let whole_s = report.elapsed_s + report.paused_s;
        let end_ns = origin_ns.saturating_add((whole_s * 1e9) as i64);
        self.to_ns = self.to_ns.max(end_ns);
        let earlier = report.warmup.as_deref().into_iter().chain(&report.earlier);
        for part in earlier {
            self.add(part, zero_ns);
        }
    }

    fn add_row(&mut self, row: &RequestRow) {
        let figures = &row.figures;
        self.requests += figures.count;
        self.redirects += figures.redirects;
        self.retries += figures.retries;
        for (status, count) in &figures.status {
            *self
                .status
                .entry(status.parse().unwrap_or_default())
                .or_default() += count;
        }
        let name = request_name(&row.method, &row.name);
        *self.names.entry(name).or_default() += figures.count;
    }
}

/// Counts lines.
#[derive(Debug)]
pub(crate) struct TotalsCounter {
    pub(crate) expected: ExpectedTotals,
    tolerance_ns: i64,
    by_agent: BTreeMap<u32, LineTotals>,
}

/// Lines of a user agent.
#[derive(Debug, Default)]
struct LineTotals {
    lines: u64,
    status: BTreeMap<u16, u64>,
    urls: BTreeMap<String, u64>,
    seconds: BTreeMap<i64, u64>,
}

impl TotalsCounter {
    pub(crate) fn new(expected: ExpectedTotals, tolerance_ns: i64) -> TotalsCounter {
        TotalsCounter {
            expected,
            tolerance_ns,
            by_agent: BTreeMap::new(),
        }
    }

    /// Counts a line.
    pub(crate) fn add(&mut self, line: &LoggedRequest) {
        let totals = self.by_agent.entry(line.agent).or_default();
        totals.lines += 1;
        *totals.status.entry(line.status).or_default() += 1;
        let second = line.at_ns.div_euclid(1_000_000_000);
        *totals.seconds.entry(second).or_default() += 1;
        let path = line.target.split('?').next().unwrap_or_default();
        let url = request_name(&line.method, path);
        let is_known = totals.urls.contains_key(&url) || totals.urls.len() < MAX_URLS;
        let url = if is_known { url } else { OTHER.to_owned() };
        *totals.urls.entry(url).or_default() += 1;
    }

    /// Compares, with the lines of one user agent.
    pub(crate) fn finish(mut self, main_agent: u32, agents: &InternedTexts) -> Totals {
        let own = self.by_agent.remove(&main_agent).unwrap_or_default();
        let expected = self.expected;
        let is_redirect = |status: u16| (300..400).contains(&status);
        let mut totals = Totals {
            requests: SidesCount {
                run: expected.requests + expected.redirects,
                log: own.lines,
            },
            without_response: expected.status.get(&0).copied().unwrap_or(0),
            retries: expected.retries,
            redirects: SidesCount {
                run: expected.redirects,
                log: 0,
            },
            ..Totals::default()
        };
        for (status, count) in expected.status {
            match status {
                0 => {}
                status if is_redirect(status) => totals.redirects.run += count,
                status => totals.status.entry(status).or_default().run += count,
            }
        }
        for (status, count) in own.status {
            if is_redirect(status) {
                totals.redirects.log += count;
            } else {
                totals.status.entry(status).or_default().log += count;
            }
        }
        for (url, log) in own.urls {
            let run = expected.names.get(&url).copied();
            totals.urls.insert(url, UrlTotals { run, log });
        }
        let slack = totals.without_response + totals.retries;
        let within = |sides: &SidesCount| sides.log >= sides.run && sides.log - sides.run <= slack;
        totals.agrees = totals
            .status
            .values()
            .chain([&totals.redirects])
            .all(within)
            && totals.requests.log <= totals.requests.run + totals.retries;
        let tolerance_s = self.tolerance_ns.div_euclid(1_000_000_000);
        // A point's requests count at its end.
        let tolerance_s = tolerance_s.saturating_add(expected.longest_point_s.max(1));
        let slack = slack + expected.redirects;
        let second = first_difference(&expected.seconds, &own.seconds, tolerance_s, slack);
        let origin_s = expected.origin_ns.div_euclid(1_000_000_000);
        totals.first_second = second.map(|second| second - origin_s);
        for (agent, lines) in self.by_agent {
            let name = agent_name(agents.text(agent)).to_owned();
            *totals.other_agents.entry(name).or_default() += lines.lines;
        }
        totals
    }
}

/// Returns the first second until which the log has fewer lines than the run had requests a while before, or more than it had a
/// while after it, with so many lines that the run cannot tell the time of.
fn first_difference(
    run: &BTreeMap<i64, u64>,
    log: &BTreeMap<i64, u64>,
    tolerance_s: i64,
    slack: u64,
) -> Option<i64> {
    let first = run.keys().chain(log.keys()).min().copied()?;
    let last = run.keys().chain(log.keys()).max().copied()?;
    let mut run_before = 0;
    let mut run_after: u64 = run
        .range(..first.saturating_add(tolerance_s))
        .map(|(_, count)| count)
        .sum();
    let mut logged = 0;
    for second in first..=last.saturating_add(tolerance_s) {
        run_before += run.get(&second.saturating_sub(tolerance_s)).unwrap_or(&0);
        run_after += run.get(&second.saturating_add(tolerance_s)).unwrap_or(&0);
        logged += log.get(&second).unwrap_or(&0);
        if logged < run_before || logged > run_after + slack {
            return Some(second);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(counts: &[u64]) -> BTreeMap<i64, u64> {
        (100..).zip(counts.iter().copied()).collect()
    }

    #[test]
    fn the_second_is_found_from_which_on_one_side_has_more() {
        let run = seconds(&[10; 20]);
        assert_eq!(first_difference(&run, &run, 1, 0), None);
        let mut late = vec![0];
        late.extend([10; 20]);
        assert_eq!(first_difference(&run, &seconds(&late), 1, 0), None);
        let mut lacking = [10; 20];
        lacking[7] = 0;
        // It may have been late until then.
        assert_eq!(first_difference(&run, &seconds(&lacking), 1, 0), Some(120));
        lacking[8] = 0;
        assert_eq!(first_difference(&run, &seconds(&lacking), 1, 0), Some(108));
        let mut more = [10; 20];
        more[5] = 30;
        assert_eq!(first_difference(&run, &seconds(&more), 1, 0), Some(105));
        assert_eq!(first_difference(&run, &seconds(&more), 1, 20), None);
        assert_eq!(
            first_difference(&BTreeMap::new(), &BTreeMap::new(), 1, 0),
            None
        );
    }
}
