//! Tests of the page, read back by a parser of HTML that shares no code with it.

use super::*;
use crate::fixture;
use lgoose_metrics::{ErrorRow, Figures, Latency, RequestRow};
use scraper::{ElementRef, Html, Selector};
use serde_json::Value;
use std::path::Path;

const BARE: Assets<'_> = Assets {
    style: "",
    script: "",
};

fn select<'a>(page: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    let selector = Selector::parse(selector).expect("a selector");
    page.select(&selector).collect()
}

fn words(element: ElementRef<'_>) -> String {
    element.text().collect()
}

/// Returns the numbers of the table row that contains a text; missing figures are left out.
fn row(page: &Html, table: &str, name: &str) -> Vec<f64> {
    let rows = select(page, &format!("#{table} tr"));
    let row = rows
        .into_iter()
        .find(|row| words(*row).contains(name))
        .unwrap_or_else(|| panic!("no row of '{name}' in the table '{table}'"));
    let cells = row.child_elements();
    cells
        .filter_map(|cell| cell.value().attr("data-v"))
        .map(|value| value.parse().expect("a number"))
        .collect()
}

fn block(page: &Html, id: &str) -> Value {
    let blocks = select(page, &format!("script#{id}"));
    serde_json::from_str(&words(blocks[0])).expect("JSON")
}

#[test]
fn the_fixed_report_is_the_golden_page() {
    let page = page(&fixture::report(), BARE);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/html/golden.html");
    // `BLESS=1 cargo test --lib -p lgoose-report html` writes the file anew; look at the difference before you commit it.
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, &page).expect("the folder takes a file");
    }
    assert_eq!(page, std::fs::read_to_string(&golden).unwrap_or_default());
}

#[test]
fn every_figure_of_requests_is_in_a_table() {
    let report = fixture::report();
    let page = Html::parse_document(&to_html(&report));
    let mut rows: Vec<(&str, &Figures)> = report
        .requests
        .iter()
        .map(|row| {
            (
                row.name.split('\u{1b}').next().unwrap_or_default(),
                &row.figures,
            )
        })
        .collect();
    rows.push(("Aggregated", &report.aggregated));
    for (name, figures) in rows {
        let found = row(&page, "requests", name);
        let seconds = report.elapsed_s;
        assert_eq!(found[..2], [figures.count as f64, figures.failures as f64]);
        assert_eq!(found[2], figures.rate);
        let ok = figures.latency_ok_ms;
        let ok: Vec<f64> = ok
            .iter()
            .flat_map(|ok| [ok.p50, ok.p95, ok.p99, ok.max])
            .collect();
        assert_eq!(found[3..3 + ok.len()], ok);
        let has_failed = report
            .errors
            .iter()
            .find(|error| error.name.ends_with(name));
        let rest = 1 + usize::from(has_failed.is_some());
        assert_eq!(found.len(), 3 + ok.len() + rest, "{found:?}");
        let all = figures.latency_ms.expect("latencies");
        let mut more = vec![all.avg, all.min, all.max];
        more.extend(all.stdev);
        more.extend(figures.latency_ok_ms.map(|ok| ok.avg));
        more.push(figures.failures as f64 / seconds);
        let sent = figures.bytes_sent.expect("some were sent");
        more.extend([figures.bytes as f64 / seconds, sent as f64 / seconds]);
        more.extend([figures.bytes, figures.redirects, figures.retries].map(|n| n as f64));
        assert_eq!(row(&page, "more", name), more);
        let Latency {
            p50,
            p75,
            p90,
            p95,
            p98,
            p99,
            p99_9,
            p99_99,
            ..
        } = all;
        let percentiles = [p50, p75, p90, p95, p98, p99, p99_9, p99_99];
        assert_eq!(row(&page, "percentiles", name), percentiles);
        let phases = figures.phases_ms;
        let phases = [phases.connect, phases.first_byte].map(|ms| ms.expect("a phase"));
        assert_eq!(row(&page, "phases", name), phases);
        let status: Vec<f64> = figures.status.values().map(|n| *n as f64).collect();
        assert_eq!(row(&page, "status", name), status);
    }
}

#[test]
fn every_other_figure_is_in_a_table_too() {
    let report = fixture::report();
    let page = Html::parse_document(&to_html(&report));
    for task in &report.tasks {
        let found = row(&page, "tasks", &task.name);
        let latency = task.latency_ms.expect("latencies");
        assert_eq!(found[..2], [task.runs as f64, task.failures as f64]);
        assert_eq!(
            found[3..],
            [
                latency.avg,
                latency.min,
                latency.p50,
                latency.p95,
                latency.max
            ]
        );
    }
    for scenario in &report.scenarios {
        let found = row(&page, "scenarios", &scenario.name);
        let counts = [scenario.users, scenario.iterations].map(|n| n as f64);
        let took = scenario.iteration_ms.expect("durations");
        let took = [took.avg, took.p50, took.p95, took.max];
        assert_eq!((&found[..2], &found[2..]), (&counts[..], &took[..]));
    }
    for error in &report.errors {
        let found = row(&page, "errors", &error.message);
        assert_eq!(found, [error.count as f64, error.first_s, error.last_s]);
    }
    for check in report.checks.iter().take(2) {
        let found = row(&page, "checks", &check.name);
        let held = if check.failures == 0 { 3.0 } else { 0.0 };
        assert_eq!(
            found[..3],
            [held, check.passes as f64, check.failures as f64]
        );
    }
    for metric in &report.metrics {
        let found = row(&page, "metrics", &metric.name);
        assert_eq!(
            found[..2],
            [metric.count as f64, metric.value.expect("a value")]
        );
        let others = [
            metric.min, metric.p50, metric.p90, metric.p95, metric.p99, metric.max,
        ];
        let others: Vec<f64> = others.into_iter().flatten().collect();
        assert_eq!(found[2..], others);
    }
    let thresholds = select(&page, "#thresholds tbody tr");
    for (threshold, found) in report.thresholds.iter().zip(&thresholds) {
        let verdict = if threshold.passed { "✓" } else { "✗" };
        assert!(words(*found).contains(verdict), "{}", words(*found));
        let limit = format!("data-v=\"{}\"", threshold.limit);
        assert!(found.html().contains(&limit), "{}", found.html());
    }
    assert_eq!(thresholds.len(), report.thresholds.len());
    let filled = report.co_mitigation.as_ref().expect("it is on");
    for corrected in &filled.requests {
        let found = row(&page, "omission", &corrected.name);
        let figures = &corrected.figures;
        assert_eq!(found[..2], [figures.count as f64, figures.filled as f64]);
        assert_eq!(found[5], figures.latency_ms.expect("latencies").p99);
    }
    let overview = words(select(&page, "#overview")[0]);
    for fact in [
        "plans/drupal.lua",
        "8675309",
        "lgoose 0.1.0",
        "2 threads, 41.5% busy",
    ] {
        assert!(overview.contains(fact), "{overview}");
    }
}

#[test]
fn the_first_screen_shows_verdict_speed_errors_and_the_generator() {
    let mut report = fixture::report();
    let top = |report: &Report| {
        let page = Html::parse_document(&page(&fixture::judged(report), BARE));
        [".verdict", ".cards", ".warnings"].map(|part| {
            let found = select(&page, part);
            found.first().map_or_else(String::new, |part| words(*part))
        })
    };
    let [verdict, cards, warnings] = top(&report);
    assert!(verdict.contains("failed") && verdict.contains("3 of 6 thresholds broken"));
    assert!(
        cards.contains("18.9\u{a0}ms") && cards.contains("396/s"),
        "{cards}"
    );
    assert!(
        cards.contains("0.57%") && cards.contains("too slow"),
        "{cards}"
    );
    assert!(warnings.contains(&report.warnings[0]), "{warnings}");
    report.thresholds.retain(|row| row.passed);
    report.generator = report.generator.map(|row| lgoose_metrics::GeneratorRow {
        saturated_s: 0.0,
        ..row
    });
    report.warnings.clear();
    let [verdict, cards, warnings] = top(&report);
    assert!(verdict.contains("passed") && verdict.contains("3 thresholds held"));
    assert!(cards.contains("kept up") && warnings.is_empty(), "{cards}");
    report.thresholds.clear();
    assert!(top(&report)[0].contains("no verdict"));
    report.aggregated.failures = report.aggregated.count;
    assert!(top(&report)[0].contains("no request succeeded"));
}

#[test]
fn a_run_without_a_request_has_a_page() {
    let mut report = fixture::report();
    report.requests.clear();
    report.series.clear();
    report.aggregated = Figures::default();
    let page = Html::parse_document(&to_html(&fixture::judged(&report)));
    assert!(words(select(&page, ".verdict")[0]).contains("no request was made"));
    assert!(select(&page, "#requests").is_empty());
    assert_eq!(select(&page, "#overview").len(), 1);
}

/// Unpacks a column as the page's scripts do.
fn unpacked(packed: &Value) -> Vec<f64> {
    let bytes = BASE64
        .decode(packed.as_str().expect("text"))
        .expect("base64");
    let (mut values, mut value, mut part, mut shift) = (Vec::new(), 0_i64, 0_u64, 0);
    for byte in bytes {
        part |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            value += (part >> 1) as i64 ^ -((part & 1) as i64);
            values.push(value as f64);
            (part, shift) = (0, 0);
        }
    }
    values
}

#[test]
fn scripts_find_every_point_of_every_name() {
    let mut report = fixture::report();
    let mut point = report.series[0].clone();
    point.second = 1;
    point.generator.saturated = false;
    report.series.push(point);
    report.requests[1].series.second = vec![0, 7, 30];
    report.requests[1].series.count = vec![u64::from(u32::MAX), 0, 77];
    let page = Html::parse_document(&page(&report, BARE));
    let whole = block(&page, "data");
    let stretches = whole["stretches"].as_array().expect("a list");
    assert_eq!(whole["second"], serde_json::json!([0, 1]));
    assert_eq!(whole["saturated"], serde_json::json!([[0.0, 1.0]]));
    for (n, row) in report.requests.iter().enumerate() {
        let name = block(&page, &format!("name-{n}"));
        let runs = name["runs"].as_array().expect("a list");
        let seconds: Vec<u64> = runs
            .iter()
            .flat_map(|run| {
                let [from, count] = [0, 1].map(|at| run[at].as_u64().expect("a number"));
                (from..from + count).map(|at| stretches[at as usize][0].as_u64().expect("a second"))
            })
            .collect();
        assert_eq!(seconds, row.series.second);
        let counts: Vec<f64> = row.series.count.iter().map(|n| *n as f64).collect();
        assert_eq!(unpacked(&name["count"]), counts);
        let least = whole["least"].as_f64().expect("a number");
        let octave = whole["octave"].as_f64().expect("a number");
        for (key, expected) in [("p50", &row.series.p50_ms), ("p99", &row.series.p99_ms)] {
            for (steps, ms) in unpacked(&name[key]).iter().zip(expected) {
                let found = least * (steps / octave).exp2();
                assert!((found / ms - 1.0).abs() < 0.000_7, "{found} is not {ms}");
            }
        }
    }
}

/// Returns a report in which every text that a plan or a target chooses is `hostile`.
fn hostile_report(hostile: &str) -> Report {
    let mut report = fixture::report();
    let request: RequestRow = report.requests[0].clone();
    let error: ErrorRow = report.errors[0].clone();
    let mine = || hostile.to_owned();
    (report.plan, report.host, report.started, report.version) = (mine(), mine(), mine(), mine());
    report.warnings = vec![mine()];
    report.requests = vec![RequestRow {
        method: mine(),
        name: mine(),
        ..request
    }];
    report.requests[0].figures.status = [(mine(), 3)].into();
    report.requests[0].figures.histogram = mine();
    report.errors = vec![ErrorRow {
        name: mine(),
        message: mine(),
        line: Some(mine()),
        ..error
    }];
    report
        .scenarios
        .iter_mut()
        .for_each(|row| row.name = mine());
    report
        .tasks
        .iter_mut()
        .for_each(|row| (row.scenario, row.name) = (mine(), mine()));
    report.checks.iter_mut().for_each(|row| row.name = mine());
    report.metrics.iter_mut().for_each(|row| row.name = mine());
    for row in &mut report.thresholds {
        (row.name, row.threshold, row.unit) = (Some(mine()), mine(), mine());
    }
    let filled = report.co_mitigation.as_mut().expect("it is on");
    filled.requests.iter_mut().for_each(|row| row.name = mine());
    report
}

#[test]
fn hostile_texts_are_shown_and_do_nothing() {
    for hostile in [
        "</script><script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "\" onmouseover=\"alert(1)\" x=\"' onclick='alert(1)",
        "<!--<script>",
        "]]></style></title></textarea><svg onload=alert(1)>",
        "\u{1b}[2J\u{1b}]0;x\u{7}\u{2028}\u{2029}\u{202e}\u{0}",
        "&lt;b&gt;{{7*7}}${7*7}",
    ] {
        let html = to_html(&hostile_report(hostile));
        let page = Html::parse_document(&html);
        assert_eq!(select(&page, "script").len(), 3, "{hostile}");
        assert_eq!(select(&page, "script:not([type])").len(), 1, "{hostile}");
        assert!(
            select(
                &page,
                "img, iframe, object, link, base, form, style + style"
            )
            .is_empty()
        );
        for element in select(&page, "*") {
            for (name, value) in element.value().attrs() {
                assert!(!name.starts_with("on") && name != "src", "{hostile}");
                assert!(name != "href" || value.starts_with('#'), "{hostile}");
            }
        }
        let signs = ['\u{1b}', '\u{7}', '\u{0}', '\u{202e}'];
        let body = html.split("<body>").nth(1).expect("a body");
        let body = body
            .split("<script>")
            .next()
            .expect("what is before the script");
        assert!(!body.contains(signs), "{hostile}");
        let shown = escape::shown(&format!("{hostile} {hostile}"));
        assert_eq!(block(&page, "data")["names"][0][0], shown.trim_start());
        let cells = select(&page, "#checks td bdi");
        assert_eq!(words(cells[0]), escape::shown(hostile));
        block(&page, "name-0");
    }
}

#[test]
fn a_name_of_a_mebibyte_does_not_make_a_page_of_megabytes() {
    let html = to_html(&hostile_report(&"<ä>".repeat(1 << 18)));
    assert!(html.len() < 300_000, "{} bytes", html.len());
    assert!(html.contains("(786,432 characters)"));
}

#[test]
fn the_page_needs_no_network_and_runs_its_own_script_only() {
    let html = to_html(&fixture::report());
    let page = Html::parse_document(&html);
    let policy = select(&page, "meta[http-equiv=Content-Security-Policy]")[0];
    let policy = policy.value().attr("content").expect("a policy");
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    for element in ["style", "script:not([type])"] {
        let content = words(select(&page, element)[0]);
        assert!(
            policy.contains(&format!("'{}'", content_hash(&content))),
            "{element}"
        );
    }
    assert!(select(&page, "[style]").is_empty());
    assert!(!ASSETS.style.contains("url(") && !ASSETS.style.contains("@import"));
    for word in [
        "fetch(",
        "XMLHttpRequest",
        "import(",
        "innerHTML",
        "insertAdjacentHTML",
        "eval(",
    ] {
        assert!(!ASSETS.script.contains(word), "{word}");
    }
}
