//! Options of the traces of requests.

use crate::units;
use clap::Args;

/// Options of the traces of requests.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Export")]
pub(crate) struct Traces {
    /// Add a W3C traceparent to every request, so that the site's own tracing finds it
    ///
    /// Failed and slow requests in the report, lines of logs, spans of --otlp and metrics of --web carry the trace id. A
    /// traceparent that the plan sets itself is kept.
    #[arg(long)]
    pub trace: bool,
    /// Ask the site to keep this share of the traces, such as 1%; means --trace [default: 100%]
    #[arg(long, value_name = "SHARE", value_parser = units::share)]
    pub trace_sample: Option<f64>,
}
