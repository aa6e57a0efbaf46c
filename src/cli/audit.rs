//! The command that compares a run with the access logs of the site.

use clap::Args;
use lgoose_plan::config::Output;
use std::path::PathBuf;
use std::time::Duration;

/// `lgoose audit`.
#[derive(Debug, Args)]
#[command(
    override_usage = "lgoose audit REPORT.json [--request-log REQUESTS.csv] ACCESS.log… [options]",
    after_help = "Reads logs of nginx, Apache, Caddy and HAProxy, and lines of JSON, also packed with gzip. Exit codes: 0 both sides agree, \
        1 something differs, 2 a file cannot be read or is something else. 'lgoose help access-logs' explains what is compared, and how."
)]
pub(crate) struct AuditArgs {
    /// The JSON report of the run; '-' reads it from standard input
    #[arg(required = true, value_name = "REPORT.json")]
    pub report: PathBuf,
    /// The access logs of the time of the run, in any order
    #[arg(required = true, value_name = "ACCESS.log")]
    pub access_log: Vec<PathBuf>,
    /// The request log of the run ('--request-log' there): each request is compared; without it, totals are
    #[arg(long, value_name = "FILE")]
    pub request_log: Option<PathBuf>,
    /// The format of the access logs, as nginx's 'log_format' or Apache's 'LogFormat' says it; by default, the lines tell
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// Compare the lines of this user agent alone, with '*' for any text (repeatable)
    #[arg(long, value_name = "TEXT")]
    pub user_agent: Vec<String>,
    /// How far the times of a request and its line may be from each other
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = lgoose_base::units::duration)]
    pub tolerance: Duration,
    /// What to add to the times of the log, if the clock of the server is off, such as 3s or -1h
    #[arg(long, value_name = "TIME", value_parser = offset_ns, allow_hyphen_values = true)]
    pub clock_offset: Option<i64>,
    /// The number of lines that are shown of each kind of difference
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub lines: u32,
    /// Write the audit as json, such as json=audit.json or json=- (repeatable)
    #[arg(short, long, value_name = "FORMAT=PATH", value_parser = Output::parse_json)]
    pub output: Vec<Output>,
}

/// Reads a duration that may be negative, in nanoseconds.
fn offset_ns(text: &str) -> Result<i64, String> {
    let (sign, length) = match text.strip_prefix('-') {
        Some(length) => (-1, length),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let ns = lgoose_base::units::duration(length)?.as_nanos();
    Ok(i64::try_from(ns).unwrap_or(i64::MAX) * sign)
}
