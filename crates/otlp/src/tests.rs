//! The exports byte by byte, and at the end of a run. The files in `golden/` were written by the crate
//! `opentelemetry-proto` 0.33.

use super::messages::{
    self, Data, ExportMetricsServiceRequest, ExportTraceServiceRequest, InstrumentationScope,
    Number, Resource, ResourceSpans, ScopeSpans, Status,
};
use super::metrics::{self, FigureSpan};
use super::resource::{TelemetryScope, attribute, number};
use super::spans::{CLIENT, ERROR};
use super::{ExportOptions, Exporter};
use lgoose_metrics::control::Control;
use lgoose_metrics::{Aim, Progress, Report, ScenarioRow, Snapshot};
use lgoose_report::telemetry::{Distribution, Family, FigureValue, Labels};
use prost::Message as _;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

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

/// Responds to one request, and returns its body.
fn receive_one(listener: &TcpListener) -> Vec<u8> {
    let (stream, _) = listener.accept().expect("a connection");
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).expect("a head");
        match line.trim().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().expect("a length");
            }
            None if line.trim().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("a body");
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    stream.get_mut().write_all(response).expect("it is read");
    body
}

#[test]
fn the_last_export_has_all_iterations_and_no_users() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let scenario = |users, iterations| ScenarioRow {
        name: "buyers".to_owned(),
        users,
        iterations,
        iteration_ms: None,
        ..ScenarioRow::default()
    };
    let (handle, control) = Control::open();
    // As of the last tick before the end.
    control.snapshots.send_replace(Some(Arc::new(Snapshot {
        progress: Progress {
            wanted: Aim {
                users: 4,
                ..Aim::default()
            },
            ..Progress::default()
        },
        users: 4,
        connections: 4,
        scenarios: vec![scenario(4, 90)],
        ..Snapshot::default()
    })));
    let report = Report {
        scenarios: vec![scenario(4, 97)],
        ..Report::default()
    };
    let options = ExportOptions::read(Some(&url), |_| None).expect("an endpoint");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("no thread is needed");
    let exporter = Exporter::start(options, runtime, handle, "a.lua", "http://a");
    let exporter = exporter.expect("a thread");
    let receiving = std::thread::spawn(move || receive_one(&listener));
    assert_eq!(exporter.finish(&report), None);
    drop(control);
    let body = receiving.join().expect("it has received one");
    let request = ExportMetricsServiceRequest::decode(&*body).expect("a message");
    let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
    let figure = |name: &str| {
        let metric = metrics.iter().find(|metric| metric.name == name);
        let points = match metric.and_then(|metric| metric.data.as_ref()) {
            Some(Data::Sum(sum)) => &sum.data_points,
            Some(Data::Gauge(gauge)) => &gauge.data_points,
            other => panic!("{name}: {other:?}"),
        };
        match points[0].value {
            Some(Number::AsInt(value)) => value as f64,
            Some(Number::AsDouble(value)) => value,
            None => panic!("{name} has no value"),
        }
    };
    assert_eq!(figure("lgoose.iterations"), 97.0);
    for name in ["users", "scenario_users", "users_wanted", "connections"] {
        assert_eq!(figure(&format!("lgoose.{name}")), 0.0, "{name}");
    }
}
