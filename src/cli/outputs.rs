//! Options of `lgoose PLAN` that write files.

use clap::Args;
use lgoose_base::files::WriteFolder;
use lgoose_plan::config::{LogFile, MitigationCadence, Output, RequestNames};

/// The help of `--output`.
const OUTPUT: &str = "\
Write a report, such as json=run.json; the path - is standard output (repeatable)

json: every figure, with a stable schema; 'lgoose report' opens it again. yaml: the same as YAML. csv: a row for \
each request name, all requests, scenario, task, check and metric; beside run.csv, run_series.csv has the series over \
time (not with standard output, pipes and devices). hdr: a log for the tools of HdrHistogram, a line for each name, \
values in microseconds. html: one page with charts and tables, which needs no network. md: tables for a pull \
request. junit: the verdicts as test cases; failed requests are failed cases with --fail-on-error.";

/// Options that write files.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Write a report: json, yaml, csv, hdr, html, md or junit, such as html=run.html or json=- (repeatable)
    #[arg(short, long, value_name = "FORMAT=PATH", value_parser = Output::parse, long_help = OUTPUT)]
    pub output: Vec<Output>,
    /// Write every request to this file, .csv or .jsonl
    ///
    /// The file has a line for each request that the report counts, with user, scenario, task, name, method, URL, status,
    /// times in nanoseconds since the start of the run, connection, phases, bytes, redirects, retries and error. A chain
    /// of redirects is one line. The run never waits for the file: lines that the disk does not accept in time are left
    /// out. The last line and the report say how many.
    #[arg(long, value_name = "FILE", value_parser = LogFile::parse)]
    pub request_log: Option<LogFile>,
    /// Sort that file by connection and time
    ///
    /// lgoose sorts the file at the end of the run. This takes 64 MiB of memory, and as much disk space again as the log.
    #[arg(long)]
    pub request_log_sorted: bool,
    /// Write every run of a task or transaction to this file, .csv or .jsonl
    #[arg(long, value_name = "FILE", value_parser = LogFile::parse)]
    pub task_log: Option<LogFile>,
    /// Write every failed request, task and transaction to this file, .csv or .jsonl
    #[arg(long, value_name = "FILE", value_parser = LogFile::parse)]
    pub error_log: Option<LogFile>,
    /// Write failed requests with headers and the start of the body to this file, .csv or .jsonl
    ///
    /// It keeps the first 4 KiB of a body. Values of cookies and credentials in headers are masked.
    #[arg(long, value_name = "FILE", value_parser = LogFile::parse)]
    pub debug_log: Option<LogFile>,
    /// Let the plan read and write any file, not only those beside itself
    ///
    /// By default, a plan reads files in its own folder and below. It writes files there, too ('request_log' and the other
    /// logs, what on("report") returns), but none below a name that begins with a dot, and over a file only if a plan
    /// wrote it. With this flag, a plan can read and overwrite any file that you may: give it only with plans that you have
    /// read. Files that the command line or the environment names may be anywhere.
    #[arg(long)]
    pub allow_files: bool,
    /// The folder that the plan writes to: 'lgoose serve' gives each run one of its own.
    #[arg(skip)]
    pub plan_writes: WriteFolder,
    /// Also report latencies corrected for coordinated omission: average, minimum, maximum or
    /// disabled [default: average, where it makes a difference]
    ///
    /// With this flag, the corrected latencies are always shown. With 'disabled', they are not computed.
    ///
    /// If an iteration takes more than twice the cadence of its user (the average, minimum or maximum of its iterations
    /// so far), the user could not send the requests that were due meanwhile. lgoose adds them, and shows the result
    /// beside the measured latencies.
    #[arg(long, value_name = "CADENCE", value_parser = MitigationCadence::parse)]
    pub co_mitigation: Option<MitigationCadence>,
    /// Count requests without a name under their task, or under their path [default: task]
    ///
    /// In a path, ':id' replaces numbers, UUIDs and hashes.
    #[arg(long, value_name = "NAMES", value_parser = RequestNames::parse)]
    pub request_names: Option<RequestNames>,
    /// Leave the latencies of each second out of the report
    ///
    /// This makes the report smaller. But 'lgoose compare' then cannot tell a change from chance, and '-o hdr' has only one
    /// line for each name.
    #[arg(long)]
    pub no_intervals: bool,
}
