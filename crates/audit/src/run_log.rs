//! The request log of the run: reads its rows, CSV or lines of JSON, and passes the hops of each request on.

use crate::event::{Hop, SentRequest, hash_of};
use crate::format::values::path_and_query;
use crate::interned::InternedTexts;
use crate::open_log;
use lgoose_base::error::{Diagnostic, Error};
use lgoose_base::line::request_name;
use lgoose_metrics::Report;
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::io::BufRead;
use std::path::Path;

/// The most different URLs of a run that are remembered, to tell lines of URLs that it has not requested.
const MAX_TARGETS: usize = 4_000_000;

/// The methods of rows that are no plain HTTP, with the method that a server logs of them.
const OTHER_METHODS: [(&str, &str); 2] = [("WS", "GET"), ("GRPC", "POST")];

/// What the run has requested, as far as its log says.
#[derive(Debug, Default)]
pub(crate) struct RunLog {
    /// The log's clock: its 0 in nanoseconds since 1970.
    pub(crate) zero_ns: i64,
    /// The first start and the last end, in nanoseconds since 1970.
    pub(crate) from_ns: i64,
    pub(crate) to_ns: i64,
    /// Requests over HTTP.
    pub(crate) requests: u64,
    /// Redirects that were followed.
    pub(crate) redirects: u64,
    /// Requests that were sent again.
    pub(crate) retries: u64,
    /// Requests without a response.
    pub(crate) without_response: u64,
    /// Requests by the status of their final response.
    pub(crate) status: BTreeMap<u16, u64>,
    /// Rows that are not of HTTP, such as those of sockets.
    pub(crate) other_rows: u64,
    /// Requests with a trace id.
    pub(crate) traced: u64,
    pub(crate) names: InternedTexts,
    pub(crate) hosts: InternedTexts,
    pub(crate) classes: InternedTexts,
    /// Hashes of the URLs that it has requested; none if there are too many.
    pub(crate) targets: Option<HashSet<u64>>,
}

/// A row of the request log, as far as it is of use here. What a row about rows that were left out lacks is an `Option`.
#[derive(Debug, Deserialize)]
struct LogRow {
    name: String,
    method: String,
    url: String,
    final_url: String,
    status: Option<u16>,
    start_ns: Option<u64>,
    end_ns: Option<u64>,
    dns_ns: Option<u64>,
    connect_ns: Option<u64>,
    tls_ns: Option<u64>,
    bytes: Option<u64>,
    redirects: Option<u32>,
    retries: Option<u32>,
    error_class: Option<String>,
    trace_id: Option<String>,
}

/// Reads a request log, and passes the hops of each request on.
///
/// # Errors
/// A file that is no request log, or not that of the run, and errors of `put`.
pub(crate) fn read(
    path: &Path,
    report: &Report,
    mut put: impl FnMut(SentRequest) -> Result<(), Error>,
) -> Result<RunLog, Error> {
    let mut log = RunLog {
        zero_ns: zero_ns(report)?,
        from_ns: i64::MAX,
        to_ns: i64::MIN,
        targets: Some(HashSet::new()),
        ..RunLog::default()
    };
    let name = path.display().to_string();
    let mut input = open_log::open(path, "the request log")?;
    let is_json = input.fill_buf().is_ok_and(|bytes| bytes.starts_with(b"{"));
    let mut rows = 0;
    let mut each = |row: LogRow, line: u64| {
        rows += u64::from(row.start_ns.is_some());
        log.add(row, line, &mut put)
    };
    if is_json {
        read_json(input, &name, &mut each)?;
    } else {
        read_csv(input, &name, &mut each)?;
    }
    of_the_run(report, rows, &name)?;
    if log.requests == 0 {
        (log.from_ns, log.to_ns) = (log.zero_ns, log.zero_ns);
    }
    Ok(log)
}

/// Returns the 0 of the clock of a run's logs, in nanoseconds since 1970.
///
/// # Errors
/// A report without the time of its start.
pub(crate) fn zero_ns(report: &Report) -> Result<i64, Error> {
    let started: Result<jiff::Timestamp, _> = report.started.parse();
    let started = started.map_err(|_| {
        Diagnostic::new(format!(
            "the report does not say when the run began: '{}'",
            report.started
        ))
        .help("give a file that a run wrote with '-o json=run.json'")
    })?;
    Ok(i64::try_from(started.as_nanosecond()).unwrap_or_default())
}

fn read_csv(
    input: Box<dyn BufRead>,
    name: &str,
    each: &mut impl FnMut(LogRow, u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut reader = csv::ReaderBuilder::new().from_reader(input);
    let headers = reader.headers().map_err(|error| unlike(name, 1, &error))?;
    let headers = headers.clone();
    let mut record = csv::StringRecord::new();
    loop {
        let line = reader.position().line();
        let read = reader.read_record(&mut record);
        if !read.map_err(|error| unlike(name, line, &error))? {
            return Ok(());
        }
        let row = record.deserialize(Some(&headers));
        each(row.map_err(|error| unlike(name, line, &error))?, line)?;
    }
}

fn read_json(
    input: Box<dyn BufRead>,
    name: &str,
    each: &mut impl FnMut(LogRow, u64) -> Result<(), Error>,
) -> Result<(), Error> {
    for (at, line) in input.lines().enumerate() {
        let number = at as u64 + 1;
        let line = line.map_err(|error| unlike(name, number, &error))?;
        // The last line may have the number of lines that were left out, which is in the report.
        if line.starts_with("{\"left_out\"") {
            continue;
        }
        let row = serde_json::from_str(&line).map_err(|error| unlike(name, number, &error))?;
        each(row, number)?;
    }
    Ok(())
}

fn unlike(name: &str, line: u64, error: &dyn std::fmt::Display) -> Error {
    let message = format!("'{name}' is no request log of lgoose: line {line}: {error}");
    Diagnostic::new(message)
        .help("give the file that the run wrote with '--request-log requests.csv'")
        .into()
}

/// Checks that the log is that of the run.
fn of_the_run(report: &Report, rows: u64, name: &str) -> Result<(), Error> {
    let log = report.logs.iter().find(|log| log.log == "requests");
    match log {
        Some(log) if log.lines != rows => {
            let message = format!(
                "'{name}' is not the request log of this run: it has {rows} requests, the run wrote {}",
                log.lines
            );
            let help = format!("the run wrote '{}'", log.file);
            Err(Diagnostic::new(message).help(help).into())
        }
        _ => Ok(()),
    }
}

impl RunLog {
    fn add(
        &mut self,
        row: LogRow,
        line: u64,
        put: &mut impl FnMut(SentRequest) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (Some(start), Some(end)) = (row.start_ns, row.end_ns) else {
            return Ok(());
        };
        let other = OTHER_METHODS.iter().find(|(own, _)| *own == row.method);
        let scheme = row.url.split_once("://").map_or("", |(scheme, _)| scheme);
        let is_http = matches!(scheme, "http" | "https" | "ws" | "wss" | "grpc" | "grpcs");
        if !is_http || row.method.is_empty() {
            self.other_rows += 1;
            return Ok(());
        }
        let at = |ns: u64| {
            self.zero_ns
                .saturating_add(i64::try_from(ns).unwrap_or(i64::MAX))
        };
        let connecting = [row.dns_ns, row.connect_ns, row.tls_ns];
        let connecting: u64 = connecting.into_iter().flatten().sum();
        let (start_ns, end_ns) = (at(start), at(end));
        let connected_ns = at(start.saturating_add(connecting)).min(end_ns);
        let status = row.status.unwrap_or(0);
        let redirects = row.redirects.unwrap_or(0);
        let retries = row.retries.unwrap_or(0);
        self.requests += 1;
        self.redirects += u64::from(redirects);
        self.retries += u64::from(retries);
        self.without_response += u64::from(status == 0);
        self.traced += u64::from(row.trace_id.is_some());
        if status > 0 {
            *self.status.entry(status).or_default() += 1;
        }
        self.from_ns = self.from_ns.min(start_ns);
        self.to_ns = self.to_ns.max(end_ns);
        let trace = row.trace_id.as_deref();
        let first = SentRequest {
            hop: Hop::Only,
            name: self.names.number(&request_name(&row.method, &row.name)),
            host: self.hosts.number(host(&row.url)),
            method: other.map_or(row.method, |(_, method)| (*method).to_owned()),
            target: path_and_query(&row.url).to_owned(),
            status,
            is_loose: status == 0 || other.is_some(),
            start_ns,
            connected_ns,
            end_ns,
            bytes: row.bytes.unwrap_or(0),
            retries,
            trace: trace.and_then(|id| u128::from_str_radix(id, 16).ok()),
            class: self
                .classes
                .number(row.error_class.as_deref().unwrap_or_default()),
            row: line,
        };
        self.remember(&first.target);
        if redirects == 0 {
            return put(first);
        }
        let final_url = if row.final_url.is_empty() {
            &row.url
        } else {
            &row.final_url
        };
        let last = SentRequest {
            hop: Hop::Last,
            host: self.hosts.number(host(final_url)),
            target: path_and_query(final_url).to_owned(),
            retries: 0,
            ..first.clone()
        };
        self.remember(&last.target);
        if redirects > 1 {
            put(SentRequest {
                hop: Hop::Between(redirects - 1),
                retries: 0,
                is_loose: false,
                ..first.clone()
            })?;
        }
        put(SentRequest {
            hop: Hop::First,
            is_loose: false,
            ..first
        })?;
        put(last)
    }

    fn remember(&mut self, target: &str) {
        if let Some(targets) = &mut self.targets {
            targets.insert(hash_of(target));
            if targets.len() > MAX_TARGETS {
                self.targets = None;
            }
        }
    }
}

/// Returns the host of a URL with its port, as it is written there.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host)
}
