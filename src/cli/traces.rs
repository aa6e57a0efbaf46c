//! Options of the traces of requests.

use clap::Args;
use lgoose_base::units;

/// Options of the traces of requests.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Export")]
pub(crate) struct TraceArgs {
    /// Add a W3C traceparent to every request, to find it in the site's own tracing
    ///
    /// Failed and slow requests in the report, lines of logs, spans of --otlp and metrics of --web contain the trace id.
    /// lgoose keeps a traceparent that the plan sets itself.
    #[arg(long)]
    pub trace: bool,
    /// Ask the site to keep this share of the traces, such as 1%; implies --trace [default: 100%]
    #[arg(long, value_name = "SHARE", value_parser = units::share)]
    pub trace_sample: Option<f64>,
}
