//! The two encodings of metrics, and the choice between them by the headers of a request.

use super::{protobuf, text};
use lgoose_report::telemetry::Family;

/// Ways of writing metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// OpenMetrics, for people and most programs.
    Text,
    /// Prometheus' protobuf, which alone has native histograms.
    Protobuf,
}

impl Encoding {
    /// Returns the encoding that the `Accept` headers of a request prefer.
    pub(super) fn negotiate<'a>(mut accepted: impl Iterator<Item = &'a str>) -> Encoding {
        let protobuf = |part: &str| {
            part.contains("application/vnd.google.protobuf")
                && part.contains("proto=io.prometheus.client.MetricFamily")
                && part.contains("encoding=delimited")
        };
        if accepted.any(|header| header.split(',').any(protobuf)) {
            Encoding::Protobuf
        } else {
            Encoding::Text
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Encoding::Text => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Encoding::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }

    /// Writes metrics.
    pub(super) fn write(self, families: &[Family]) -> Vec<u8> {
        match self {
            Encoding::Text => text::write(families).into_bytes(),
            Encoding::Protobuf => protobuf::write(families),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protobuf_is_written_for_whoever_requests_it() {
        // The headers of Prometheus 2.42 with native histograms, and without.
        let native = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,\
            application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let plain =
            "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let spaced = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
        for (accept, expected) in [
            (native, Encoding::Protobuf),
            (spaced, Encoding::Protobuf),
            (plain, Encoding::Text),
            ("*/*", Encoding::Text),
        ] {
            assert_eq!(
                Encoding::negotiate([accept].into_iter()),
                expected,
                "{accept}"
            );
        }
        assert_eq!(Encoding::negotiate(std::iter::empty()), Encoding::Text);
    }
}
