//! What is told of a run, as Prometheus reads it.

use super::encoding::Encoding;
use crate::metrics::{LiveWorker, WorkerState};
use crate::metrics::{Report, Snapshot};
use crate::output::fixture;
use crate::telemetry::families;

fn text(report: &Report) -> String {
    let text = Encoding::Text.write(families(report, &Snapshot::default()));
    String::from_utf8(text.expect("it is written")).expect("UTF-8")
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
fn workers_are_told_apart() {
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
    let text = Encoding::Text.write(families(&Report::default(), &now));
    let text = String::from_utf8(text.expect("it is written")).expect("UTF-8");
    for line in [
        "lgoose_worker_requests_total{worker=\"one\"} 7.0",
        "lgoose_worker_up{worker=\"one\"} 1.0",
        "lgoose_worker_up{worker=\"two\"} 0.0",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}: {text}");
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
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/web.md");
    let docs = std::fs::read_to_string(path).expect("it is there");
    for family in families(&fixture::report(), &Snapshot::default()) {
        let name = format!("`lgoose_{}", family.name);
        assert!(docs.contains(&name), "{name} is not in docs/web.md");
    }
}

#[test]
fn protobuf_is_written_too() {
    let report = fixture::report();
    let bytes = Encoding::Protobuf.write(families(&report, &Snapshot::default()));
    let bytes = bytes.expect("it is written");
    assert!(bytes.len() > 1_000, "{} bytes", bytes.len());
}
