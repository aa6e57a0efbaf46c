//! Options of `lgoose PLAN` that write files.

use crate::config::{CoMitigation, LogFile, Output, RequestNames};
use clap::Args;

/// The help of `--output`.
const OUTPUT: &str = "\
Write a report, such as json=run.json; several at once; the path - is standard output (repeatable)

json: every figure, by a schema that stays; 'lgoose report' opens it again. yaml: the same as YAML. csv: a row for \
each request name, all requests, scenario, task, check and metric; beside run.csv the series goes to \
run_series.csv, but not from standard output, pipes and devices. hdr: a log for the tools of HdrHistogram, a line \
for each name, values in microseconds. html: one page with charts and tables, which needs no network. md: tables \
for a pull request. junit: the verdicts as test cases; failed requests are failed cases with --fail-on-error.";

/// Options that write files.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Outputs {
    /// Write a report: json, yaml, csv, hdr, html, md or junit, such as html=run.html or json=- (repeatable)
    #[arg(short, long, value_name = "FORMAT=PATH", value_parser = Output::parse, long_help = OUTPUT)]
    pub output: Vec<Output>,
    /// Write every request to this file, .csv or .jsonl
    ///
    /// A line for each request that the report counts, with user, scenario, task, name, method, URL, status, times in
    /// nanoseconds since the run's start, connection, phases, bytes, redirects, retries and error; a chain of redirects
    /// is one line. Written beside the run and never waited for: lines that the disk could not take in time are left
    /// out, which the last line and the report say.
    #[arg(long, value_name = "FILE", value_parser = LogFile::parse)]
    pub request_log: Option<LogFile>,
    /// Sort that file by connection and time
    ///
    /// Done at the end of the run, with 64 MiB of memory and the room of the whole log again beside the file.
    #[arg(long)]
    pub request_log_sorted: bool,
    /// Write every run of a task or transaction to this file, .csv or .jsonl
    #[arg(long, value_name = "FILE", value_parser = LogFile::parse)]
    pub task_log: Option<LogFile>,
    /// Write every request, task and transaction that failed to this file, .csv or .jsonl
    #[arg(long, value_name = "FILE", value_parser = LogFile::parse)]
    pub error_log: Option<LogFile>,
    /// Write failed requests with headers and the start of the body to this file, .csv or .jsonl
    ///
    /// Of a body the first 4 KiB. Values of cookies and credentials in headers are masked.
    #[arg(long, value_name = "FILE", value_parser = LogFile::parse)]
    pub debug_log: Option<LogFile>,
    /// Let the plan write its logs anywhere, not only beside itself
    ///
    /// A plan may name its logs ('request_log' and the others), in its own folder or below. Plans of others are run
    /// without reading them; with this flag such a plan writes over whatever its user may write.
    #[arg(long)]
    pub allow_files: bool,
    /// Also report latencies with the requests that late users could not make: average, minimum, maximum or
    /// disabled [default: average, where it makes a difference]
    ///
    /// With this flag the corrected latencies are always shown, and with 'disabled' they are not computed.
    ///
    /// A user whose iteration takes more than twice its cadence (the average, minimum or maximum of its iterations
    /// so far) did not ask for what it would have asked for meanwhile. That is filled in, and shown beside what
    /// was measured.
    #[arg(long, value_name = "CADENCE", value_parser = CoMitigation::parse)]
    pub co_mitigation: Option<CoMitigation>,
    /// Count requests without a name under their task, or under their path [default: task]
    ///
    /// In a path, ':id' stands for numbers, UUIDs and hashes.
    #[arg(long, value_name = "NAMES", value_parser = RequestNames::parse)]
    pub request_names: Option<RequestNames>,
    /// Leave the latencies of single seconds out of the report
    ///
    /// It is smaller then, but 'lgoose compare' cannot tell chance from change by it, and '-o hdr' has one line for each
    /// name.
    #[arg(long)]
    pub no_intervals: bool,
}
