//! Options of a run that is exported while it goes on.

use super::masked;
use clap::Args;

/// Options of a run that is exported while it goes on.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Export")]
pub(crate) struct ExportArgs {
    /// Export metrics and failed requests by OTLP over HTTP [default: http://localhost:4318]
    ///
    /// lgoose exports to an OpenTelemetry collector every ten seconds. It reads OTEL_EXPORTER_OTLP_ENDPOINT, …_HEADERS,
    /// …_TIMEOUT, …_COMPRESSION, OTEL_METRIC_EXPORT_INTERVAL, OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "", value_parser = masked::url(collector))]
    pub otlp: Option<String>,
}

/// Reads the URL of a collector; an empty text leaves it to the environment.
fn collector(text: &str) -> Result<String, String> {
    let fits = text.is_empty() || text.starts_with("http://") || text.starts_with("https://");
    if fits {
        Ok(text.to_owned())
    } else {
        // The value may hold a password, unless it is a plan in the wrong place.
        Err(
            "a collector is named by its URL, such as http://collector:4318; put '--otlp' after the plan for the usual one"
                .to_owned(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_a_url_or_from_the_environment() {
        for right in ["", "http://a:4318", "https://a/otlp"] {
            assert_eq!(collector(right).as_deref(), Ok(right));
        }
        for wrong in ["plan.lua", "a:4318", "ftp://a"] {
            assert!(collector(wrong).is_err(), "{wrong}");
        }
    }
}
