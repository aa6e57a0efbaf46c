//! Metrics of a run, as Prometheus reads them.

use super::encoding::Encoding;
use lgoose_judgement::fixture;
use lgoose_metrics::{LiveWorker, WorkerState};
use lgoose_metrics::{Report, Snapshot};
use lgoose_report::telemetry::{
    Distribution, Family, FigureValue, Labels, TraceExemplar, families,
};
use std::collections::BTreeMap;

fn text(report: &Report) -> String {
    let text = Encoding::Text.write(&families(report, &Snapshot::default()));
    String::from_utf8(text).expect("UTF-8")
}

/// Returns the sum of all figures of that name.
fn sum(text: &str, name: &str) -> f64 {
    let lines = text.lines().filter(|line| {
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(['{', ' ']))
    });
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

#[test]
fn figures_are_those_of_the_report() {
    let report = fixture::report();
    let text = text(&report);
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert_eq!(
        sum(&text, "lgoose_requests_total"),
        report.aggregated.count as f64
    );
    assert_eq!(
        sum(&text, "lgoose_request_failures_total"),
        report.aggregated.failures as f64
    );
    assert_eq!(
        sum(&text, "lgoose_request_duration_seconds_count"),
        report.aggregated.count as f64
    );
    for row in &report.requests {
        let labels = format!("{{method=\"{}\",name=\"{}\"", row.method, row.name);
        assert!(text.contains(&labels), "{labels}");
    }
    let workers = self::text(&fixture::gaggle());
    assert!(
        workers.contains("lgoose_label_requests_total{label=\"region="),
        "{workers}"
    );
}

#[test]
fn workers_are_distinguished() {
    let worker = |name: &str, state| LiveWorker {
        name: name.into(),
        requests: 7,
        state,
        ..LiveWorker::default()
    };
    let now = Snapshot {
        workers: [
            worker("one", WorkerState::Running),
            worker("two", WorkerState::Lost),
        ]
        .into(),
        ..Snapshot::default()
    };
    let text = Encoding::Text.write(&families(&Report::default(), &now));
    let text = String::from_utf8(text).expect("UTF-8");
    for line in [
        "lgoose_worker_requests_total{worker=\"one\"} 7.0",
        "lgoose_worker_up{worker=\"one\"} 1.0",
        "lgoose_worker_up{worker=\"two\"} 0.0",
    ] {
        assert!(text.lines().any(|listed| listed == line), "{line}: {text}");
    }
}

#[test]
fn hostile_names_stay_within_their_labels() {
    let text = text(&fixture::hostile());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        assert!(line.starts_with("lgoose_"), "{line}");
        let (_, value) = line.rsplit_once(' ').expect("a value");
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
}

#[test]
fn every_metric_is_in_the_docs() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/web.md");
    let docs = std::fs::read_to_string(path).expect("it is there");
    for family in families(&fixture::report(), &Snapshot::default()) {
        let name = format!("`lgoose_{}", family.name);
        assert!(docs.contains(&name), "{name} is not in docs/web.md");
    }
}

/// The classic buckets of a histogram: one lies beyond the last border.
const BUCKETS: usize = 18;

fn distribution(count: u64, exponential: &[(i32, u64)]) -> Distribution {
    let classic = (1..BUCKETS as u32).map(|at| (f64::from(at * at) / 400.0, u64::from(at % 3)));
    Distribution {
        count,
        sum: count as f64 / 7.0,
        classic: classic.collect(),
        beyond: 2,
        zero: count % 4,
        exponential: exponential.iter().copied().collect(),
    }
}

/// Returns figures of each kind, with all that makes them hard to write.
fn sample_families() -> Vec<Family> {
    let labels = |all: &[(&'static str, &str)]| -> Labels {
        let all = all.iter();
        all.map(|(name, value)| (*name, (*value).to_owned()))
            .collect()
    };
    let exemplar = |value: f64, at_s: f64| TraceExemplar {
        trace_id: format!("{:032x}", at_s as u64),
        value,
        at_s,
    };
    let family = |name, rows: Vec<(Labels, FigureValue)>, exemplars: Vec<_>| Family {
        name,
        help: "What it is; \"quoted\"",
        rows,
        exemplars: BTreeMap::from_iter(exemplars),
    };
    let counters = [0.0, 1.0, 4_503_599_627_370_497.0, 1e16, 0.1 + 0.2];
    let gauges = [
        0.0,
        -0.0,
        1e-7,
        -123_456_789.125,
        5e-324,
        1.7e308,
        1e21,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let numbered = |at: usize| labels(&[("method", "GET"), ("name", &format!("{at}"))]);
    let counters = counters.into_iter().enumerate();
    let gauges = gauges.into_iter().enumerate();
    let histogram = |of| FigureValue::Histogram(Box::new(of));
    vec![
        family(
            "requests",
            counters
                .map(|(at, value)| (numbered(at), FigureValue::Counter(value)))
                .collect(),
            vec![
                ((0, 0), exemplar(1.0, 1_700_000_000.123_456)),
                ((3, 0), exemplar(1.0, 0.999_9)),
                ((9, 0), exemplar(1.0, 5.0)),
            ],
        ),
        family("nothing", Vec::new(), Vec::new()),
        family(
            "users",
            vec![(Labels::new(), FigureValue::Gauge(3.5))],
            Vec::new(),
        ),
        family(
            "iterations_dropped",
            vec![(Labels::new(), FigureValue::Counter(2.0))],
            Vec::new(),
        ),
        family(
            "levels",
            gauges
                .map(|(at, value)| (numbered(at), FigureValue::Gauge(value)))
                .collect(),
            vec![((0, 0), exemplar(1.0, 5.0))],
        ),
        family(
            "request_duration_seconds",
            vec![
                (
                    labels(&[("name", "a\\b\"c\nd\u{e9}\r{}=,#"), ("empty", "")]),
                    histogram(distribution(41, &[(-400, 3), (-399, 9), (-2, 1), (0, 7)])),
                ),
                (numbered(1), histogram(distribution(0, &[]))),
                (
                    numbered(2),
                    histogram(distribution(u64::MAX, &[(700, u64::MAX), (2_000, 1)])),
                ),
            ],
            vec![
                ((0, 0), exemplar(0.000_25, 1_700_000_000.5)),
                ((0, BUCKETS - 1), exemplar(2_000.0, 1_700_000_001.0)),
                ((2, 4), exemplar(1e-7, 1.0)),
                ((3, 0), exemplar(1.0, 5.0)),
            ],
        ),
        family(
            "unnamed_seconds",
            vec![(Labels::new(), histogram(distribution(5, &[(1, 5)])))],
            Vec::new(),
        ),
    ]
}

/// Both files in `golden/` were written by the crate `prometheus-client` 0.25, which has been tried with Prometheus.
#[test]
fn figures_of_all_kinds_are_written_byte_by_byte_as_the_reference_does() {
    let text = Encoding::Text.write(&sample_families());
    let text = String::from_utf8(text).expect("UTF-8");
    assert_eq!(text, include_str!("golden/metrics.txt"));
    let bytes = Encoding::Protobuf.write(&sample_families());
    assert!(bytes == include_bytes!("golden/metrics.pb"));
}
