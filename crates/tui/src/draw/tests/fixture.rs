//! A run of any number of names, as every screen shows it.

use lgoose_metrics::{
    Aim, ErrorRow, Exemplar, Figures, Latency, LiveRequests, LiveRow, Messages, NameSeries,
    PhasesMs, PointGenerator, PointLatency, Progress, Report, RequestRow, RunPhase, ScenarioRow,
    SeriesPoint, SlowRequest, Snapshot, TaskRow, ThresholdRow, TraceRow,
};
use std::sync::Arc;
use std::time::Duration;

fn latency(ms: f64) -> Latency {
    Latency {
        avg: ms * 1.2,
        min: ms / 2.0,
        max: ms * 20.0,
        p50: ms,
        p75: ms * 1.5,
        p90: ms * 2.0,
        p95: ms * 3.0,
        p98: ms * 4.0,
        p99: ms * 6.0,
        p99_9: ms * 12.0,
        p99_99: ms * 19.0,
        stdev: Some(ms),
    }
}

fn name(n: usize) -> String {
    match n {
        1 => "front page".to_owned(),
        2 => "article with a very long name that nobody would want to type twice".to_owned(),
        3 => "検索結果ページの一覧とその他の言語のページ".to_owned(),
        4 => "bad\u{1b}[31mname\nof two lines e\u{301}".to_owned(),
        n => format!("page {n}"),
    }
}

fn exemplar() -> Exemplar {
    Exemplar {
        start_ns: 2_250_000_000,
        user: 3,
        scenario: "visitor".into(),
        task: "page".into(),
        method: "GET".into(),
        url: "http://127.0.0.1:43757/node/6?and=a-query-that-is-longer-than-the-line-of-a-small-terminal".into(),
        final_url: String::new(),
        status: 503,
        latency_ms: 12.25,
        phases_ms: PhasesMs {
            first_byte: Some(12.0),
            ..PhasesMs::default()
        },
        request_headers: vec!["cookie: ***".into(), "user-agent: lgoose/0.1.0".into()],
        response_headers: vec!["content-type: text/html".into()],
        body: "<h1>Error</h1>\n\u{1b}[2J<p>Try again later.</p>\n".into(),
        body_bytes: 48,
        page_says: "Error: Try again later.".into(),
        trace: Some(trace(false)),
    }
}

fn trace(sampled: bool) -> TraceRow {
    TraceRow {
        trace_id: "4bf92f3577b34da6a3ce929d0e0e4736".into(),
        span_id: "00f067aa0ba902b7".into(),
        sampled,
        hops: Vec::new(),
    }
}

/// Returns a run whose first name is a stream, which is still open, with its report.
pub(super) fn streaming() -> (Snapshot, Arc<Report>) {
    let (mut snapshot, report) = run(3);
    let mut report = Arc::unwrap_or_clone(report);
    let messages = Messages {
        sent: 0,
        received: 12_345,
    };
    for figures in [&mut report.requests[0].figures, &mut report.aggregated] {
        figures.messages = Some(messages);
        figures.first_event_ms = Some(latency(20.0));
        figures.event_gap_ms = Some(latency(50.0));
    }
    let requests = &mut snapshot.requests;
    for row in [&mut requests.total, &mut requests.rows[0]] {
        row.messages = messages.received;
    }
    (snapshot, Arc::new(report))
}

/// Returns a run of so many names, with its report; every third name fails.
pub(super) fn run(names: usize) -> (Snapshot, Arc<Report>) {
    let row = |n: usize| {
        let ms = |factor: u64| Duration::from_micros(n as u64 * 37 * factor + 300);
        LiveRow {
            method: "GET".into(),
            name: name(n).into(),
            count: 13_192 / n as u64,
            failures: if n.is_multiple_of(3) { 12 } else { 0 },
            messages: 0,
            rate: 219.0 / n as f64,
            rate_now: 230.5 / n as f64,
            failures_now: if n.is_multiple_of(3) { 0.4 } else { 0.0 },
            p50: ms(1),
            p95: ms(3),
            p99: ms(7),
            max: ms(40),
            worst_now: [ms(2), ms(4), ms(8), ms(20)],
        }
    };
    let rows: Vec<LiveRow> = (1..=names).map(row).collect();
    let figures = |row: &LiveRow| Figures {
        count: row.count,
        failures: row.failures,
        rate: row.rate,
        latency_ms: Some(latency(row.p50.as_secs_f64() * 1e3)),
        status: match row.failures {
            0 => [("200".to_owned(), row.count)].into(),
            failures => [
                ("0".to_owned(), 2),
                ("200".to_owned(), row.count - failures),
                ("503".to_owned(), failures - 2),
            ]
            .into(),
        },
        ..Figures::default()
    };
    let requests = rows.iter().map(|row| RequestRow {
        method: row.method.to_string(),
        name: row.name.to_string(),
        figures: figures(row),
        series: NameSeries::default(),
        slowest: Vec::new(),
        traced: vec![SlowRequest {
            latency_ms: 112.25,
            trace: Some(trace(true)),
            ..SlowRequest::default()
        }],
        latest_traces: Default::default(),
        latest_failed_trace: None,
    });
    let count = rows.iter().map(|row| row.count).sum();
    let failures: u64 = rows.iter().map(|row| row.failures).sum();
    let total = LiveRow {
        count,
        failures,
        rate_now: rows.iter().map(|row| row.rate_now).sum(),
        p50: Duration::from_micros(337 * u64::from(names > 0)),
        p95: Duration::from_micros(4_110 * u64::from(names > 0)),
        p99: Duration::from_micros(31_000 * u64::from(names > 0)),
        max: Duration::from_millis(616 * u64::from(names > 0)),
        ..LiveRow::default()
    };
    let errors = match failures {
        0 => Vec::new(),
        count => vec![ErrorRow {
            count,
            name: "GET page 6".to_owned(),
            message: "expected the body to contain \"Welcome\", got \"<h1>Error</h1>\u{1b}[2J\""
                .to_owned(),
            line: Some("plans/drupal.lua:41".to_owned()),
            first_s: 2.25,
            last_s: 130.0,
            exemplars: vec![exemplar(), exemplar()],
            stack: Vec::new(),
        }],
    };
    let report = Report {
        elapsed_s: 130.0,
        aggregated: figures(&total),
        requests: requests.collect(),
        errors: errors.clone(),
        scenarios: vec![ScenarioRow {
            name: "Anonymous".to_owned(),
            users: 40,
            iterations: 7_031,
            iteration_ms: None,
            ..ScenarioRow::default()
        }],
        tasks: (1..=names.min(12))
            .map(|n| TaskRow {
                scenario: "Anonymous".to_owned(),
                name: name(n),
                runs: 130 * n as u64,
                failures: u64::from(n == 2),
                latency_ms: Some(latency(n as f64)),
            })
            .collect(),
        ..Report::default()
    };
    let point = |second: u64| SeriesPoint {
        second,
        seconds: 1.0,
        users: 12,
        count: 200 + 150 * (second % 7),
        failures: 0,
        bytes: 1,
        under_way: 3,
        oldest_ms: 8.5,
        latency: PointLatency {
            p50_ms: Some(1.0),
            p95_ms: Some(4.0 + (second % 11) as f64),
            p99_ms: Some(9.0),
            ok_p95_ms: Some(4.0 + (second % 11) as f64),
            ..PointLatency::default()
        },
        generator: PointGenerator {
            busy: 0.41,
            lag_ms: 0.12,
            saturated: second > 128,
            ..PointGenerator::default()
        },
        ..SeriesPoint::default()
    };
    let snapshot = Snapshot {
        progress: Progress {
            phase: RunPhase::Running,
            wanted: Aim {
                users: 12,
                rate: None,
                ends: Some(Duration::from_secs(600)),
                lasts: Some(Duration::from_secs(600)),
                ..Aim::default()
            },
            elapsed: Duration::from_secs(130),
            played: Duration::from_secs(130),
            measured: Duration::from_secs(130),
            ..Progress::default()
        },
        requests: LiveRequests {
            bytes: 400_000_000,
            bytes_sent: 20_000_000,
            ok: [total.p50, total.p95, total.p99],
            total,
            rows,
        },
        users: 12,
        errors,
        connections: 96,
        thresholds: vec![ThresholdRow {
            threshold: "p95 < 300ms".to_owned(),
            name: None,
            value: Some(18.9),
            limit: 300.0,
            unit: "ms".to_owned(),
            passed: true,
            broken_s: None,
            subject: None,
        }],
        recent: match names {
            0 => Vec::new(),
            _ => (10..130).map(point).collect(),
        },
        ..Snapshot::default()
    };
    (snapshot, Arc::new(report))
}
