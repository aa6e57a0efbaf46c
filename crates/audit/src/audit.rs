//! Runs an audit: reads the request log and the access logs, sorts both by time, matches requests with lines, and decides whether
//! the two sides agree.

use crate::access_log::{self, AccessLogs};
use crate::event::{LogEvent, LoggedRequest};
use crate::findings::{FindingCounter, FindingNames, Findings};
use crate::format::LinePattern;
use crate::interned::InternedTexts;
use crate::matching::{MatchOptions, Matcher};
use crate::run_log::{self, RunLog};
use crate::totals::{self, Totals};
use lgoose_base::error::{Diagnostic, Error};
use lgoose_base::files::Sorter;
use lgoose_base::wildcard;
use lgoose_metrics::Report;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most user agents that are counted by name where they are left out.
const MAX_EXCLUDED: usize = 100;

/// The files to compare, and the options.
#[derive(Debug, Clone)]
pub struct AuditInput<'a> {
    /// The report of the run.
    pub report: &'a Report,
    /// The name of the report's file, for messages.
    pub report_file: &'a str,
    /// The request log of the run; without it totals are compared.
    pub request_log: Option<&'a Path>,
    /// The access logs, in any order.
    pub access_logs: &'a [PathBuf],
    /// The format of their lines, in the syntax of nginx's `log_format` or Apache's `LogFormat`; by default it is found out.
    pub log_format: Option<&'a str>,
    /// The user agents of the run, with `*` for any text; by default they are found out.
    pub user_agents: &'a [String],
    /// The longest time between a request and its line.
    pub tolerance: Duration,
    /// The offset added to the times of the log, in nanoseconds.
    pub clock_offset_ns: i64,
    /// The number of lines shown for each kind of difference.
    pub shown: usize,
}

/// The result of an audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audit {
    /// Whether both sides agree.
    pub agrees: bool,
    /// The run.
    pub run: RunSide,
    /// The access logs.
    pub logs: AccessLogs,
    /// Lines from before the run and from after it.
    pub outside: [u64; 2],
    /// The time of the first and of the last line, in nanoseconds since 1970; `null` without any.
    pub span_ns: Option<[i64; 2]>,
    /// Lines of user agents that were not to be compared.
    pub excluded: BTreeMap<String, u64>,
    /// The way in which requests and lines were matched.
    pub matched_by: MatchedBy,
    /// The findings, request by request; `null` without a request log.
    pub findings: Option<Findings>,
    /// The comparison of totals; `null` with a request log.
    pub totals: Option<Totals>,
}

/// The way in which requests and lines were matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchedBy {
    /// By the trace ids of their `traceparent`.
    Traceparent,
    /// By method, URL, status and time.
    Time,
    /// Not at all: only totals were compared.
    Totals,
}

/// The run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RunSide {
    /// The plan.
    pub plan: String,
    /// The host.
    pub host: String,
    /// The report's file.
    pub report: String,
    /// The request log's file.
    pub request_log: Option<String>,
    /// Its requests over HTTP.
    pub requests: u64,
    /// Rows of its request log that are not of HTTP.
    pub other_rows: u64,
    /// Lines that are missing in its request log.
    pub left_out: u64,
    /// The 0 of its measurement, in nanoseconds since 1970.
    pub origin_ns: i64,
    /// The first moment, in nanoseconds since 1970.
    pub from_ns: i64,
    /// The last moment, in nanoseconds since 1970.
    pub to_ns: i64,
    /// Whether something was cut off at its end.
    pub cut_off: bool,
}

/// Compares a run with access logs.
///
/// # Errors
/// Returns a mistake if a file cannot be read or has other contents, or if the log format is not valid, and trouble if the lines
/// cannot be written to a temporary file for sorting.
///
/// ```
/// use lgoose_audit::{AuditInput, audit};
/// use lgoose_metrics::Report;
/// use std::time::Duration;
///
/// let input = AuditInput {
///     report: &Report { started: "2026-11-30T06:45:10Z".to_owned(), ..Report::default() },
///     report_file: "run.json",
///     request_log: None,
///     access_logs: &["/nowhere/access.log".into()],
///     log_format: None,
///     user_agents: &[],
///     tolerance: Duration::from_secs(2),
///     clock_offset_ns: 0,
///     shown: 10,
/// };
/// let error = audit(&input).expect_err("there is no log");
/// assert!(error.to_string().contains("cannot read the access log '/nowhere/access.log'"));
/// ```
pub fn audit(input: &AuditInput<'_>) -> Result<Audit, Error> {
    let pattern = input.log_format.map(pattern).transpose()?;
    match input.request_log {
        Some(log) => by_request(input, log, pattern.as_ref()),
        None => by_totals(input, pattern.as_ref()),
    }
}

/// Renders an audit as indented JSON that ends with a line break.
///
/// # Errors
/// None that an audit made by lgoose can cause.
pub fn json(audit: &Audit) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(audit);
    let text = text.map_err(|error| Error::cannot("write the audit as JSON", error))?;
    Ok(text + "\n")
}

fn pattern(text: &str) -> Result<LinePattern, Error> {
    LinePattern::new(text).map_err(|reason| {
        let message = format!("'--log-format {text}': {reason}");
        let help = "write it as in the server's configuration, such as '$remote_addr [$time_local] \"$request\" $status'";
        Diagnostic::new(message).help(help).into()
    })
}

/// Compares request by request.
fn by_request(
    input: &AuditInput<'_>,
    request_log: &Path,
    pattern: Option<&LinePattern>,
) -> Result<Audit, Error> {
    let mut events = SortedEvents::new();
    let run = run_log::read(request_log, input.report, |request| {
        events.add(&LogEvent::Sent(request))
    })?;
    let side = side_of(input, &run);
    let mut filter = LineFilter::new(input, run.from_ns..=run.to_ns);
    let mut agents = InternedTexts::default();
    let logs = access_log::read(
        input.access_logs,
        pattern,
        &mut agents,
        |line, agent| match filter.keep(line, agent) {
            Some(line) => events.add(&LogEvent::Logged(line)),
            None => Ok(()),
        },
    )?;
    let options = MatchOptions {
        tolerance_ns: ns(input.tolerance),
        by_trace: run.traced > 0 && filter.traced * 2 > filter.kept,
        main_agent: filter.main_agent(),
    };
    let log_name = request_log.display().to_string();
    let mut counter = FindingCounter::new(FindingNames {
        run: &run,
        agents: &agents,
        files: &logs.files,
        request_log: &log_name,
        shown: input.shown,
        origin_ns: side.origin_ns,
        main_agent: options.main_agent,
        by_trace: options.by_trace,
    });
    let mut matcher = Matcher::new(options, run.targets.as_ref(), |outcome| {
        counter.add(outcome)
    });
    events.each(|event| matcher.add(event))?;
    matcher.finish();
    let findings = counter.finish();
    let agrees = findings.differing(side.left_out) == 0;
    Ok(Audit {
        agrees,
        run: side,
        logs,
        outside: filter.outside,
        span_ns: filter.span_ns,
        excluded: filter.excluded,
        matched_by: if options.by_trace {
            MatchedBy::Traceparent
        } else {
            MatchedBy::Time
        },
        findings: Some(findings),
        totals: None,
    })
}

fn side_of(input: &AuditInput<'_>, run: &RunLog) -> RunSide {
    let report = input.report;
    let log = report.logs.iter().find(|log| log.log == "requests");
    RunSide {
        request_log: input.request_log.map(|path| path.display().to_string()),
        requests: run.requests,
        other_rows: run.other_rows,
        left_out: log.map_or(0, |log| log.left_out),
        origin_ns: run.zero_ns.saturating_add_unsigned(report.origin_ns),
        from_ns: run.from_ns,
        to_ns: run.to_ns,
        ..run_side(input)
    }
}

fn run_side(input: &AuditInput<'_>) -> RunSide {
    RunSide {
        plan: input.report.plan.clone(),
        host: input.report.host.clone(),
        report: input.report_file.to_owned(),
        cut_off: input
            .report
            .ending
            .as_ref()
            .is_some_and(|ending| ending.cut_off),
        ..RunSide::default()
    }
}

/// Compares totals.
fn by_totals(input: &AuditInput<'_>, pattern: Option<&LinePattern>) -> Result<Audit, Error> {
    let zero_ns = run_log::zero_ns(input.report)?;
    let expected = totals::expected(input.report, zero_ns);
    let mut filter = LineFilter::new(input, zero_ns..=expected.to_ns);
    let mut counter = totals::TotalsCounter::new(expected, ns(input.tolerance));
    let mut agents = InternedTexts::default();
    let logs = access_log::read(input.access_logs, pattern, &mut agents, |line, agent| {
        if let Some(line) = filter.keep(line, agent) {
            counter.add(&line);
        }
        Ok(())
    })?;
    let (to_ns, requests) = (counter.expected.to_ns, counter.expected.requests);
    let totals = counter.finish(filter.main_agent(), &agents);
    Ok(Audit {
        agrees: totals.agrees,
        run: RunSide {
            requests,
            origin_ns: zero_ns.saturating_add_unsigned(input.report.origin_ns),
            from_ns: zero_ns,
            to_ns,
            ..run_side(input)
        },
        logs,
        outside: filter.outside,
        span_ns: filter.span_ns,
        excluded: filter.excluded,
        matched_by: MatchedBy::Totals,
        findings: None,
        totals: Some(totals),
    })
}

fn ns(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

/// The lines of the logs that may be of the run: by their time and, if the user has named some, by their user agents.
struct LineFilter<'a> {
    user_agents: &'a [String],
    clock_offset_ns: i64,
    /// The first and the last time.
    from_ns: i64,
    to_ns: i64,
    outside: [u64; 2],
    span_ns: Option<[i64; 2]>,
    excluded: BTreeMap<String, u64>,
    kept: u64,
    traced: u64,
    by_agent: BTreeMap<u32, u64>,
}

impl LineFilter<'_> {
    fn new<'a>(input: &AuditInput<'a>, run_ns: RangeInclusive<i64>) -> LineFilter<'a> {
        let tolerance_ns = ns(input.tolerance);
        LineFilter {
            user_agents: input.user_agents,
            clock_offset_ns: input.clock_offset_ns,
            from_ns: run_ns.start().saturating_sub(tolerance_ns),
            to_ns: run_ns.end().saturating_add(tolerance_ns),
            outside: [0; 2],
            span_ns: None,
            excluded: BTreeMap::new(),
            kept: 0,
            traced: 0,
            by_agent: BTreeMap::new(),
        }
    }

    /// Returns a line with the run's time, if it may be of the run.
    fn keep(&mut self, mut line: LoggedRequest, agent: &str) -> Option<LoggedRequest> {
        line.at_ns = line.at_ns.saturating_add(self.clock_offset_ns);
        let at_ns = line.at_ns;
        self.span_ns = Some(match self.span_ns {
            Some([first, last]) => [first.min(at_ns), last.max(at_ns)],
            None => [at_ns; 2],
        });
        if line.end_ns() <= self.from_ns {
            self.outside[0] += 1;
            return None;
        }
        if line.at_ns > self.to_ns {
            self.outside[1] += 1;
            return None;
        }
        let is_named = |name: &String| wildcard::fits(name, agent);
        if !self.user_agents.is_empty() && !self.user_agents.iter().any(is_named) {
            let has_room = self.excluded.len() < MAX_EXCLUDED || self.excluded.contains_key(agent);
            let agent = if has_room { agent } else { "(other)" };
            *self.excluded.entry(agent.to_owned()).or_default() += 1;
            return None;
        }
        self.kept += 1;
        self.traced += u64::from(line.trace.is_some());
        *self.by_agent.entry(line.agent).or_default() += 1;
        Some(line)
    }

    /// Returns the user agent of most lines.
    fn main_agent(&self) -> u32 {
        let most = self.by_agent.iter().max_by_key(|(_, count)| **count);
        most.map_or(0, |(agent, _)| *agent)
    }
}

/// Requests and lines, sorted by time, in files if there are many.
struct SortedEvents {
    sorter: Sorter,
    count: u64,
}

impl SortedEvents {
    fn new() -> SortedEvents {
        SortedEvents {
            sorter: Sorter::new(std::env::temp_dir()),
            count: 0,
        }
    }

    fn add(&mut self, event: &LogEvent) -> Result<(), Error> {
        let action = "sort the logs";
        let bytes = postcard::to_stdvec(event).map_err(|error| Error::cannot(action, error))?;
        // In the order of numbers without a sign.
        let at = event.at_ns().cast_unsigned() ^ (1 << 63);
        self.count += 1;
        self.sorter
            .add((at, self.count), &bytes)
            .map_err(|error| Error::cannot(action, error))
    }

    fn each(self, mut put: impl FnMut(LogEvent)) -> Result<(), Error> {
        let action = "read the sorted logs";
        let mut broken = None;
        let read = self.sorter.each(|bytes| match postcard::from_bytes(bytes) {
            Ok(event) => {
                put(event);
                true
            }
            Err(error) => {
                broken = Some(error);
                false
            }
        });
        read.map_err(|error| Error::cannot(action, error))?;
        match broken {
            Some(error) => Err(Error::cannot(action, error)),
            None => Ok(()),
        }
    }
}

impl Findings {
    /// Returns how many differences there are; as many lines without a request as the request log lacks are none.
    pub(crate) fn differing(&self, left_out: u64) -> u64 {
        self.not_logged.count
            + self.not_sent.count.saturating_sub(left_out)
            + self.other_status.count
            + self.other_bytes.count
    }
}
