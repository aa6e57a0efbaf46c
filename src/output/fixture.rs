//! The fixed report that every output's test renders: long, wide, hostile and plain names, failures, redirects, a
//! warning, and figures from microseconds to minutes.

mod ended;
mod golden;
mod hostile;
mod latencies;

pub(crate) use ended::{judged, strict};
pub(crate) use golden::{compare, golden};
pub(crate) use hostile::{HOSTILE, assert_harmless, hostile};

use crate::metrics::*;
use latencies::{histogram, latency, sketch};

/// Returns the fixed report.
pub(crate) fn report() -> Report {
    let front = figures(13_192, 3, 0.61, "0 3 200 13189");
    let article = figures(8_441, 120, 4.25, "200 8321 503 120");
    let login = RequestRow {
        figures: Figures {
            redirects: 1_207,
            retries: 3,
            ..figures(1_207, 0, 38.5, "200 1207")
        },
        ..row("POST", "user/login", Figures::default())
    };
    let slow = figures(12, 12, 41_300.0, "0 12");
    let report = Report {
        version: "0.1.0".into(),
        plan: "plans/drupal.lua".into(),
        host: "http://127.0.0.1:8080".into(),
        started: "2026-03-14T09:26:53.589Z".into(),
        elapsed_s: 60.25,
        users: 48,
        seed: 8_675_309,
        ending: Some(ended::ending()),
        verdict: None,
        settings: Some(ended::settings()),
        warnings: vec![
            "shard 1 woke up 14 ms late at 31 s to 34 s: lgoose and not the target set the latency there; \
             use more cores or fewer users"
                .into(),
        ],
        requests: vec![
            row("GET", "front page", front),
            row("GET", "article with a very long name that nobody would want to type twice", article),
            login,
            row("GET", "検索結果ページの一覧とその他の言語のページ", figures(940, 0, 12.4, "200 940")),
            row("GET", "bad\u{1b}[31mname", figures(71, 0, 0.087, "200 71")),
            row("DELETE", "/report/{id}", slow),
        ],
        aggregated: Figures {
            redirects: 1_207,
            retries: 3,
            ..figures(23_863, 135, 6.3, "0 15 200 23728 503 120")
        },
        scenarios: vec![scenario("Anonymous", 40, 7_031), scenario("Logged in", 8, 1_202)],
        tasks: vec![
            task("Anonymous", "front page", 13_192, 0, 1.2),
            task("Anonymous", "article and all of its assets, as a browser loads them", 8_441, 12, 31.8),
            task("Logged in", "log in", 1_207, 0, 38.5),
        ],
        series: vec![SeriesPoint {
            second: 0,
            seconds: 1.0,
            users: 48,
            count: 390,
            failures: 2,
            bytes: 3_100_000,
            min_ms: Some(0.75),
            max_ms: Some(41.5),
            sum_ms: 2_145.0,
            p50_ms: Some(4.25),
            p95_ms: Some(12.5),
            p99_ms: None,
            under_way: 7,
            oldest_ms: 12.25,
            busy: 0.97,
            lag_ms: 14.2,
            saturated: true,
            own_p50_ms: Some(1.5),
            own_p99_ms: None,
            histogram: sketch(&[(1_000, 200), (4_250, 150), (41_500, 40)]),
        }],
        events: vec![
            event(0.0, None, EventKind::Reset, "the warm-up ended"),
            event(12.5, Some(3.25), EventKind::Silence, "no answer for 3.2 s while 12 users waited"),
            event(60.25, None, EventKind::End, "the run was over"),
        ],
        part: None,
        start_stop: vec![row("POST", "test_start", figures(4, 0, 61.5, "201 4"))],
        paused_s: 1.5,
        origin_ns: 250_000_000,
        checks: vec![
            check("front page has a title", 13_192, 0),
            check("article shows its price and is in the language that was asked for", 8_437, 4),
            check("bad\u{1b}[2Jcheck", 0, 12),
        ],
        metrics: metrics(),
        errors: errors(),
        logs: vec![LogRow {
            log: "requests".into(),
            file: "requests.csv".into(),
            lines: 22_640,
            left_out: 12,
        }],
        co_mitigation: Some(co_mitigation()),
        thresholds: thresholds(),
        arrivals: None,
        generator: Some(generator()),
        warmup: None,
        earlier: vec![Report {
            elapsed_s: 12.5,
            aggregated: figures(1_310, 7, 2.5, "200 1303 503 7"),
            ..Report::default()
        }],
    };
    judged(&report)
}

fn generator() -> GeneratorRow {
    GeneratorRow {
        threads: 2,
        busy: 0.415,
        busiest: 0.97,
        lag_avg_ms: 0.31,
        lag_max_ms: 14.2,
        starved: 0.02,
        own_p50_ms: Some(0.12),
        own_p99_ms: Some(6.04),
        connections: 96,
        saturated_s: 4.0,
        judged_s: 60.0,
    }
}

fn co_mitigation() -> CoMitigation {
    let figures = |count, filled, median_ms| CoFigures {
        count,
        filled,
        latency_ms: Some(latency(median_ms)),
        histogram: histogram(count, median_ms),
    };
    let row = |method: &str, name: &str, figures| CoRow {
        method: method.into(),
        name: name.into(),
        figures,
    };
    CoMitigation {
        cadence: Cadence::Average,
        late_cycles: 12,
        cadence_ms: Some(870.0),
        measured_p99_ms: Some(25.0),
        requests: vec![
            row("GET", "front page", figures(13_201, 9, 0.62)),
            row(
                "GET",
                "article with a very long name that nobody would want to type twice",
                figures(8_497, 56, 5.1),
            ),
        ],
        aggregated: figures(23_928, 65, 6.9),
    }
}

fn thresholds() -> Vec<ThresholdRow> {
    let row =
        |name: Option<&str>, threshold: &str, limit, unit: &str, value: Option<f64>| ThresholdRow {
            threshold: threshold.into(),
            name: name.map(str::to_owned),
            value,
            limit,
            unit: unit.into(),
            passed: true,
            broken_s: None,
        };
    let broken = |row| ThresholdRow {
        passed: false,
        ..row
    };
    let long = Some("GET article with a very long name that nobody would want to type twice");
    vec![
        row(None, "p95 < 300ms", 300.0, "ms", Some(18.9)),
        row(None, "checks >= 99%", 99.0, "%", Some(99.926)),
        broken(row(long, "failures < 1%", 1.0, "%", Some(1.4216))),
        ThresholdRow {
            broken_s: Some(31.25),
            ..broken(row(long, "p99 < 0.5s during 10s", 0.5, "s", Some(0.500_4)))
        },
        row(Some("queue length"), "max <= 41", 41.0, "", Some(41.0)),
        broken(row(
            Some("bad\u{1b}[2Jname"),
            "rate > 100/s",
            100.0,
            "/s",
            None,
        )),
    ]
}

fn check(name: &str, passes: u64, failures: u64) -> Check {
    Check {
        name: name.into(),
        passes,
        failures,
    }
}

fn metrics() -> Vec<Metric> {
    use MetricKind::{Counter, Gauge, Rate, Trend};
    let plain = |name: &str, kind, count, value| Metric {
        name: name.into(),
        kind,
        count,
        value: Some(value),
        min: None,
        max: None,
        p50: None,
        p90: None,
        p95: None,
        p99: None,
    };
    let trend = |name, scale: f64| Metric {
        min: Some(-0.5 * scale),
        max: Some(9_876.5 * scale),
        p50: Some(12.25 * scale),
        p90: Some(480.0 * scale),
        p95: Some(1_240.5 * scale),
        p99: Some(8_000.25 * scale),
        ..plain(name, Trend, 8_441, 97.123 * scale)
    };
    vec![
        trend("search results", 1.0),
        plain("orders", Counter, 1_207, 4_828.0),
        plain("cache hits", Rate, 23_863, 0.87),
        Metric {
            min: Some(0.0),
            max: Some(41.0),
            ..plain("queue length", Gauge, 312, 7.0)
        },
        trend(
            "seconds that the report took as its own log tells them",
            0.001,
        ),
    ]
}

fn errors() -> Vec<ErrorRow> {
    let long = "expected the body to contain \"<title>Welcome to the front page of the umbrella site\", got \
                \"<title>The website encountered an unexpected error\"";
    let with_exemplar = |error: ErrorRow| ErrorRow {
        exemplars: vec![exemplar()],
        ..error
    };
    vec![
        with_exemplar(error(
            120,
            "GET article with a very long name that nobody would want to type twice",
            "status 503",
            None,
        )),
        error(
            12,
            "DELETE /report/{id}",
            "timeout after 60 s",
            Some("plans/drupal.lua:88"),
        ),
        error(
            12,
            "task article and all of its assets, as a browser loads them",
            long,
            Some("plans/drupal.lua:41"),
        ),
        error(
            3,
            "GET front page",
            "connection reset by the target",
            Some("plans/drupal.lua:17"),
        ),
    ]
}

fn row(method: &str, name: &str, figures: Figures) -> RequestRow {
    let series = NameSeries {
        second: vec![0, 1, 30],
        seconds: vec![1.0, 1.002, 0.25],
        count: vec![figures.count / 2, figures.count / 4, 1],
        failures: vec![0, figures.failures / 2, 0],
        min_ms: vec![0.5, 0.75, 0.125],
        max_ms: vec![13.5, 41.0, 0.125],
        sum_ms: vec![1_234.5, 617.25, 0.125],
        p50_ms: vec![4.25, 5.5, 0.125],
        p95_ms: vec![12.5, 16.0, 0.125],
        p99_ms: vec![13.0, 40.25, 0.125],
        histogram: vec![
            sketch(&[(4_250, figures.count / 2)]),
            sketch(&[(5_500, figures.count / 4)]),
            sketch(&[(125, 1)]),
        ],
    };
    RequestRow {
        method: method.into(),
        name: name.into(),
        figures,
        series,
    }
}

fn event(at_s: f64, lasted_s: Option<f64>, kind: EventKind, text: &str) -> Event {
    Event {
        at_s,
        lasted_s,
        kind,
        text: text.to_owned(),
    }
}

fn figures(count: u64, failures: u64, median_ms: f64, status: &str) -> Figures {
    let words: Vec<&str> = status.split(' ').collect();
    let codes = words
        .chunks(2)
        .map(|pair| (pair[0].to_owned(), pair[1].parse().unwrap_or(0)));
    Figures {
        count,
        failures,
        redirects: 0,
        retries: 0,
        rate: count as f64 / 60.25,
        bytes: count * 8_192,
        latency_ms: Some(latency(median_ms)),
        service_ms: None,
        latency_ok_ms: (failures < count).then(|| latency(median_ms)),
        phases_ms: PhasesMs {
            connect: Some(0.125),
            first_byte: Some(median_ms * 0.5),
            ..PhasesMs::default()
        },
        status: codes.collect(),
        histogram: histogram(count, median_ms),
    }
}

fn task(scenario: &str, name: &str, runs: u64, failures: u64, median_ms: f64) -> TaskRow {
    TaskRow {
        scenario: scenario.into(),
        name: name.into(),
        runs,
        failures,
        latency_ms: Some(latency(median_ms)),
    }
}

fn scenario(name: &str, users: u64, iterations: u64) -> ScenarioRow {
    ScenarioRow {
        name: name.into(),
        users,
        iterations,
    }
}

fn exemplar() -> Exemplar {
    Exemplar {
        start_ns: 2_204_118_903,
        user: 3,
        scenario: "visitor".into(),
        task: "article".into(),
        method: "GET".into(),
        url: "http://localhost:8080/node/17?page=2".into(),
        final_url: String::new(),
        status: 503,
        latency_ms: 45.875,
        phases_ms: PhasesMs {
            send: Some(0.015),
            first_byte: Some(45.5),
            receive: Some(0.36),
            ..PhasesMs::default()
        },
        request_headers: vec!["cookie: ***".into(), "user-agent: lgoose/0.1.0".into()],
        response_headers: vec!["content-type: text/html".into(), "retry-after: 5".into()],
        body: "<h1>Service unavailable</h1>\n<p>Try again \u{1b}[1mlater\u{1b}[0m.</p>\n".into(),
        body_bytes: 12_207,
    }
}

fn error(count: u64, name: &str, message: &str, line: Option<&str>) -> ErrorRow {
    ErrorRow {
        count,
        name: name.into(),
        message: message.into(),
        line: line.map(str::to_owned),
        first_s: 2.25,
        last_s: 58.5,
        exemplars: Vec::new(),
    }
}
