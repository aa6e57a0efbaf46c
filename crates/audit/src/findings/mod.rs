//! Counts the requests that agree with their lines of the log, and keeps those that one side lacks.

mod differences;
mod transfer;
mod travel;

pub use differences::{Differences, DifferingLine};
pub use transfer::{BytesKind, BytesRow};
pub use travel::{SpreadMs, TravelRow};

use crate::event::{Hop, LoggedRequest, SentRequest, hash_of};
use crate::format::Moment;
use crate::interned::InternedTexts;
use crate::matching::MatchOutcome;
use crate::run_log::RunLog;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use transfer::ByteCounts;
use travel::TravelTimes;

/// The share of an agent's lines that must be of the run so that its other lines count as the run's, too: one of so many.
const SHARE_OF_RUN: u64 = 4;

/// The most URLs of hops that are remembered.
const MAX_HOP_TARGETS: usize = 100_000;

/// The comparison of both sides, request by request.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Findings {
    /// Requests with a response that both sides have.
    pub matched: u64,
    /// Hops of redirected requests before the last, in the run and in the log.
    pub hops: SidesCount,
    /// Requests that were sent again, and lines of their first attempts.
    pub retries: SidesCount,
    /// Requests without a response by the class of the failure: how many, and the statuses of their lines.
    pub without_response: BTreeMap<String, NoResponseRow>,
    /// Requests with a response by its status, in the run and in the log.
    pub status: BTreeMap<u16, SidesCount>,
    /// Bytes, if the log has them.
    pub bytes: Option<BytesRow>,
    /// Requests of the run that no log has.
    pub not_logged: Differences,
    /// Lines of the log that the run has not sent.
    pub not_sent: Differences,
    /// Of these, lines that have the text of another line.
    pub copies: u64,
    /// Requests with another status in the log.
    pub other_status: Differences,
    /// Requests with other bytes in the log.
    pub other_bytes: Differences,
    /// Lines of other user agents, with their number.
    pub other_agents: BTreeMap<String, u64>,
    /// Lines with URLs that the run has not requested.
    pub other_urls: Differences,
    /// Requests to hosts of which the log has no line.
    pub other_hosts: BTreeMap<String, u64>,
    /// The end of the first request that both sides have, in nanoseconds since 1970, and of the last one.
    pub matched_ns: Option<[i64; 2]>,
    /// The difference between the times of the log and those of the run.
    pub clock: Option<ClockRow>,
    /// Whether all of the server's times are whole milliseconds.
    pub travel_in_ms: bool,
    /// Latencies beside the server's times, by name.
    pub travel: Vec<TravelRow>,
    /// Seconds of the run in which a request ended, and those of them in which both sides agree.
    pub seconds: SecondsRow,
}

/// A number in the run and in the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SidesCount {
    /// In the run.
    pub run: u64,
    /// In the log.
    pub log: u64,
}

/// Seconds of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SecondsRow {
    /// Those in which a request ended, or a line was logged.
    pub all: u64,
    /// Those in which both sides have the same.
    pub agreeing: u64,
}

/// Requests without a response.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NoResponseRow {
    /// Their number.
    pub count: u64,
    /// Lines of the log, by status.
    pub logged: BTreeMap<u16, u64>,
}

/// Differences between the log's times and the run's, in milliseconds: above 0 if the log's are later.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClockRow {
    /// The least.
    pub min_ms: f64,
    /// The mean.
    pub avg_ms: f64,
    /// The greatest.
    pub max_ms: f64,
}

/// Names that findings are told with, and limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FindingNames<'a> {
    pub(crate) run: &'a RunLog,
    pub(crate) agents: &'a InternedTexts,
    pub(crate) files: &'a [String],
    pub(crate) request_log: &'a str,
    /// The lines that are shown of each kind.
    pub(crate) shown: usize,
    /// The 0 of the run's measurement, in nanoseconds since 1970.
    pub(crate) origin_ns: i64,
    pub(crate) main_agent: u32,
    pub(crate) by_trace: bool,
}

/// Collects findings.
pub(crate) struct FindingCounter<'a> {
    names: FindingNames<'a>,
    found: Findings,
    bytes: ByteCounts,
    travel: TravelTimes,
    /// Sum in nanoseconds, number, least and greatest.
    clock: (i128, u64, i64, i64),
    hosts: BTreeMap<u32, HostCounts>,
    agents: BTreeMap<u32, AgentCounts>,
    /// Seconds of the run in which a request ended.
    seconds: BTreeMap<i64, bool>,
    /// URLs of hops that the request log does not have.
    hop_targets: HashSet<u64>,
}

/// Requests to a host.
#[derive(Debug, Default)]
struct HostCounts {
    matched: u64,
    not_logged: Differences,
    status: BTreeMap<u16, u64>,
}

/// Lines of a user agent.
#[derive(Debug, Default)]
struct AgentCounts {
    lines: u64,
    matched: u64,
    copies: u64,
    not_sent: Differences,
    status: BTreeMap<u16, u64>,
    other_urls: Differences,
}

impl<'a> FindingCounter<'a> {
    pub(crate) fn new(names: FindingNames<'a>) -> FindingCounter<'a> {
        FindingCounter {
            names,
            found: Findings {
                travel_in_ms: true,
                ..Findings::default()
            },
            bytes: ByteCounts::default(),
            travel: TravelTimes::default(),
            clock: (0, 0, i64::MAX, i64::MIN),
            hosts: BTreeMap::new(),
            agents: BTreeMap::new(),
            seconds: BTreeMap::new(),
            hop_targets: HashSet::new(),
        }
    }

    /// Adds what became of a request or a line.
    pub(crate) fn add(&mut self, outcome: MatchOutcome) {
        match outcome {
            MatchOutcome::Pair(request, line) => self.add_pair(&request, &line),
            MatchOutcome::Optional(line, is_between) => {
                self.agent(&line).matched += 1;
                if is_between {
                    self.found.hops.log += 1;
                    if self.hop_targets.len() < MAX_HOP_TARGETS {
                        self.hop_targets.insert(hash_of(&line.target));
                    }
                } else {
                    self.found.retries.log += 1;
                }
            }
            MatchOutcome::NotLogged(request, count) => self.add_not_logged(&request, count),
            MatchOutcome::NotSent(line) => self.add_not_sent(&line),
        }
    }

    fn second(&self, at_ns: i64) -> i64 {
        at_ns
            .saturating_sub(self.names.origin_ns)
            .div_euclid(1_000_000_000)
    }

    fn agent(&mut self, line: &LoggedRequest) -> &mut AgentCounts {
        let agent = self.agents.entry(line.agent).or_default();
        agent.lines += 1;
        agent
    }

    fn add_pair(&mut self, request: &SentRequest, line: &LoggedRequest) {
        self.agent(line).matched += 1;
        self.hosts.entry(request.host).or_default().matched += 1;
        let second = self.second(request.end_ns);
        self.seconds.entry(second).or_insert(true);
        let end_ns = request.end_ns;
        self.found.matched_ns = Some(match self.found.matched_ns {
            Some([first, last]) => [first.min(end_ns), last.max(end_ns)],
            None => [end_ns; 2],
        });
        if request.hop == Hop::First {
            self.found.hops.log += 1;
            return;
        }
        if request.status == 0 {
            let row = self.without_response(request);
            row.count += 1;
            *row.logged.entry(line.status).or_default() += 1;
            return;
        }
        self.found.matched += 1;
        self.found.status.entry(request.status).or_default().run += 1;
        if request.is_loose {
            self.found.status.entry(request.status).or_default().log += 1;
            return;
        }
        self.found.status.entry(line.status).or_default().log += 1;
        let shown = self.names.shown;
        let name = self.names.run.names.text(request.name);
        let place = DifferingLine::logged(line, self.names.files).place;
        let with = |note: String| DifferingLine {
            note,
            ..DifferingLine::sent(request, self.names.request_log)
        };
        if request.status != line.status {
            let note = format!("{} in {place}", line.status);
            self.found
                .other_status
                .add(name, 1, second, with(note), shown);
            self.seconds.insert(second, false);
        }
        if let Some(note) = self.bytes.add(request, line) {
            let note = format!("{note} ({place})");
            self.found
                .other_bytes
                .add(name, 1, second, with(note), shown);
        }
        self.add_times(request, line);
    }

    fn add_times(&mut self, request: &SentRequest, line: &LoggedRequest) {
        if line.resolution_ns < 1_000_000_000 && request.hop == Hop::Only {
            let from_ns = match line.moment {
                Moment::Start => request.connected_ns,
                _ => request.end_ns,
            };
            let apart_ns = line.at_ns - from_ns;
            let (sum, count, min, max) = self.clock;
            self.clock = (
                sum + i128::from(apart_ns),
                count + 1,
                min.min(apart_ns),
                max.max(apart_ns),
            );
        }
        if let Some(server_ns) = line.server_ns.filter(|_| request.hop == Hop::Only) {
            let latency_ns = u64::try_from(request.end_ns - request.start_ns).unwrap_or_default();
            self.found.travel_in_ms &= server_ns.is_multiple_of(1_000_000);
            self.travel
                .add(request.name, latency_ns, server_ns, line.upstream_ns);
        }
    }

    fn without_response(&mut self, request: &SentRequest) -> &mut NoResponseRow {
        let class = self.names.run.classes.text(request.class).to_owned();
        self.found.without_response.entry(class).or_default()
    }

    fn add_not_logged(&mut self, request: &SentRequest, count: u32) {
        let second = self.second(request.end_ns);
        if request.is_loose {
            self.seconds.entry(second).or_insert(true);
            if request.status == 0 {
                self.without_response(request).count += 1;
                return;
            }
        }
        let is_hop = matches!(request.hop, Hop::First | Hop::Between(_));
        let mut line = DifferingLine::sent(request, self.names.request_log);
        if is_hop {
            line.status = 0;
            line.note = match request.hop {
                Hop::Between(_) => format!("{count} of its redirects"),
                _ => "its first hop, a redirect".to_owned(),
            };
        }
        let name = self.names.run.names.text(request.name);
        let shown = self.names.shown;
        let host = self.hosts.entry(request.host).or_default();
        if !is_hop {
            *host.status.entry(request.status).or_default() += 1;
        }
        host.not_logged.add(name, count.into(), second, line, shown);
    }

    fn add_not_sent(&mut self, line: &LoggedRequest) {
        let second = self.second(line.at_ns);
        let shown = self.names.shown;
        let shown_line = DifferingLine::logged(line, self.names.files);
        let path = line.target.split('?').next().unwrap_or_default();
        let subject = format!("{} {path}", line.method);
        let targets = self.names.run.targets.as_ref();
        let target = hash_of(&line.target);
        let is_known =
            targets.is_none_or(|all| all.contains(&target)) || self.hop_targets.contains(&target);
        let agent = self.agent(line);
        let differences = if is_known {
            agent.copies += u64::from(line.is_copy);
            *agent.status.entry(line.status).or_default() += 1;
            &mut agent.not_sent
        } else {
            &mut agent.other_urls
        };
        differences.add(&subject, 1, second, shown_line, shown);
    }

    /// Returns all that was found. Hosts and agents that share nothing with the other side are of others.
    pub(crate) fn finish(mut self) -> Findings {
        let shown = self.names.shown;
        let has_host = self.hosts.values().any(|host| host.matched > 0);
        for (number, host) in &self.hosts {
            if host.matched == 0 && has_host {
                let name = self.names.run.hosts.text(*number).to_owned();
                self.found.other_hosts.insert(name, host.not_logged.count);
                continue;
            }
            self.found.not_logged.join(&host.not_logged, shown);
            for (status, count) in &host.status {
                self.found.status.entry(*status).or_default().run += count;
            }
        }
        for (number, agent) in &self.agents {
            let is_main = *number == self.names.main_agent;
            if is_main || agent.matched * SHARE_OF_RUN >= agent.lines {
                self.found.not_sent.join(&agent.not_sent, shown);
                self.found.other_urls.join(&agent.other_urls, shown);
                self.found.copies += agent.copies;
                for (status, count) in &agent.status {
                    self.found.status.entry(*status).or_default().log += count;
                }
            } else {
                let name = agent_name(self.names.agents.text(*number));
                let lines = self.found.other_agents.entry(name.to_owned());
                *lines.or_default() += agent.lines - agent.matched;
            }
        }
        let differing = [&self.found.not_logged, &self.found.not_sent];
        for second in differing.iter().flat_map(|kind| kind.by_second.keys()) {
            self.seconds.insert(*second, false);
        }
        self.found.seconds = SecondsRow {
            all: self.seconds.len() as u64,
            agreeing: self.seconds.values().filter(|agrees| **agrees).count() as u64,
        };
        self.found.hops.run = self.names.run.redirects;
        self.found.retries.run = self.names.run.retries;
        self.found.bytes = self.bytes.row(self.names.by_trace);
        let names = self.names;
        self.found.travel = self.travel.rows(|number| names.run.names.text(number));
        let (sum, count, min, max) = self.clock;
        self.found.clock = (count > 0).then(|| ClockRow {
            min_ms: min as f64 / 1e6,
            avg_ms: sum as f64 / count as f64 / 1e6,
            max_ms: max as f64 / 1e6,
        });
        if self.found.bytes.is_none_or(|bytes| bytes.differing == 0) {
            self.found.other_bytes = Differences::default();
        }
        self.found
    }
}

/// Returns a user agent as it is shown: a log has `-` where a client sends none.
pub(crate) fn agent_name(agent: &str) -> &str {
    if agent.is_empty() { "-" } else { agent }
}
