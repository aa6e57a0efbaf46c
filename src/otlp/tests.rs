//! What is sent, byte by byte. The files in `golden/` were written by the crate `opentelemetry-proto` 0.33.

use super::messages::{
    self, ExportTraceServiceRequest, InstrumentationScope, Resource, ResourceSpans, ScopeSpans,
    Status,
};
use super::metrics::{self, FigureSpan};
use super::resource::{TelemetryScope, attribute, number};
use super::spans::{CLIENT, ERROR};
use crate::telemetry::{Distribution, Family, FigureValue, Labels};
use prost::Message as _;
use std::collections::BTreeMap;

fn scope() -> TelemetryScope {
    TelemetryScope {
        resource: Resource {
            attributes: vec![
                attribute("service.name", "lgoose"),
                attribute("lgoose.plan", "\u{e9}.lua"),
                attribute("", ""),
                number("number", 0),
            ],
        },
        instrumentation: InstrumentationScope {
            name: "lgoose".to_owned(),
            version: "1.2.3".to_owned(),
        },
    }
}

/// Returns figures of each kind.
fn sample_families() -> Vec<Family> {
    let labels = |all: &[(&'static str, &str)]| -> Labels {
        let all = all.iter();
        all.map(|(name, value)| (*name, (*value).to_owned()))
            .collect()
    };
    let family = |name, rows: Vec<(Labels, FigureValue)>| Family {
        name,
        help: "What it is",
        rows,
        exemplars: BTreeMap::new(),
    };
    let histogram = |count: u64, exponential: &[(i32, u64)]| {
        FigureValue::Histogram(Box::new(Distribution {
            count,
            sum: count as f64 / 7.0,
            zero: count % 4,
            exponential: exponential.iter().copied().collect(),
            ..Distribution::default()
        }))
    };
    vec![
        family(
            "received_bytes",
            vec![
                (
                    labels(&[("name", "a"), ("method", "GET")]),
                    FigureValue::Counter(1e15),
                ),
                (labels(&[("name", "b")]), FigureValue::Counter(0.0)),
            ],
        ),
        family("nothing", Vec::new()),
        family("users", vec![(Labels::new(), FigureValue::Gauge(3.5))]),
        family(
            "busy_ratio",
            [0.0, -0.0, 1e-7, f64::NAN, f64::NEG_INFINITY]
                .map(|value| (Labels::new(), FigureValue::Gauge(value)))
                .into(),
        ),
        family(
            "request_duration_seconds",
            vec![
                (
                    labels(&[("name", "a\"\n\0"), ("empty", "")]),
                    histogram(41, &[(-400, 3), (-399, 9), (-2, 1), (0, 7)]),
                ),
                (Labels::new(), histogram(0, &[])),
                (Labels::new(), histogram(u64::MAX, &[(700, u64::MAX)])),
            ],
        ),
    ]
}

/// Returns spans with all that they may have, and one with nothing.
fn spans() -> ExportTraceServiceRequest {
    let span = messages::Span {
        trace_id: (0..16).collect(),
        span_id: (16..24).collect(),
        flags: 1,
        name: "GET front".to_owned(),
        kind: CLIENT,
        start_time_unix_nano: 1_700_000_000_000_000_001,
        end_time_unix_nano: 1_700_000_000_250_000_000,
        attributes: vec![
            attribute("url.full", "http://a/"),
            number("lgoose.user", u64::MAX),
        ],
        status: Some(Status {
            message: "status 503".to_owned(),
            code: ERROR,
        }),
        ..messages::Span::default()
    };
    let hop = messages::Span {
        span_id: (24..32).collect(),
        parent_span_id: span.span_id.clone(),
        name: "GET front (redirected)".to_owned(),
        attributes: vec![number("http.request.resend_count", 1)],
        status: None,
        ..span.clone()
    };
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(scope().resource),
            scope_spans: vec![ScopeSpans {
                scope: Some(scope().instrumentation),
                spans: vec![span, hop, messages::Span::default()],
            }],
        }],
    }
}

#[test]
fn metrics_are_written_byte_by_byte_as_the_reference_does() {
    let span = FigureSpan {
        start: 1_700_000_000_000_000_001,
        end: 1_700_000_010_000_000_000,
    };
    let bytes = metrics::request(sample_families(), &scope(), span).encode_to_vec();
    assert!(bytes == include_bytes!("golden/metrics.pb"));
}

#[test]
fn spans_are_written_byte_by_byte_as_the_reference_does() {
    let bytes = spans().encode_to_vec();
    assert!(bytes == include_bytes!("golden/spans.pb"));
}
