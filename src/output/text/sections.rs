//! The sections of the report's text, in reading order.

use super::table::{TextTable, pad_left, pad_right, rule, spread};
use crate::metrics::{Figures, Latency, MetricKind, Report, TaskRow};
use crate::output::display::{Diagnosis, measured_from, worst_first};
use crate::output::display::{
    ListedError, cut_middle, describe_response, listed_errors, metric_cells, moment, one_line,
    per_second, rate, request_name, share, threshold_figure, threshold_parts, time, with_share,
    wrapped,
};
use crate::output::verdict::all_lost;
use crate::units::{counted, show_count, show_size};
use unicode_width::UnicodeWidthStr as _;

/// The most kinds of errors shown; the rest is counted.
const MOST_ERRORS: usize = 20;
/// The most lines of an error message.
const MOST_MESSAGE_LINES: usize = 4;

/// The kinds in the order they are shown, with the meaning of each value.
const KINDS: [(MetricKind, &str, &str); 4] = [
    (MetricKind::Counter, "Counters", "value: the sum"),
    (MetricKind::Gauge, "Gauges", "value: the latest"),
    (MetricKind::Rate, "Rates", "value: the share that was true"),
    (MetricKind::Trend, "Trends", "value: the mean"),
];

/// Returns the tables of figures: requests, latency, percentiles, tasks.
pub(super) fn tables(report: &Report) -> Vec<TextTable> {
    let mut tables = Vec::new();
    if report.aggregated.count > 0 {
        tables.extend([requests(report), latency(report), percentiles(report)]);
        tables.extend(report.aggregated.service_ms.map(|_| service(report)));
    }
    if !report.tasks.is_empty() {
        tables.push(tasks(report));
    }
    tables.extend(start_stop_table(report));
    tables
}

/// Returns the table of requests of `test_start` and `test_stop`, if there were any.
pub(super) fn start_stop_table(report: &Report) -> Option<TextTable> {
    (!report.start_stop.is_empty()).then(|| start_stop(report))
}

/// Returns the statuses of a row: one as it is, several with their counts.
pub(super) fn request_status(figures: &Figures) -> String {
    let code = |code: &str| match code {
        "0" => "no response".to_owned(),
        code => one_line(code),
    };
    let codes: Vec<_> = figures.status.iter().collect();
    match codes[..] {
        [(only, _)] => code(only),
        _ => {
            let all = codes
                .iter()
                .map(|(status, count)| format!("{count} × {}", code(status)));
            all.collect::<Vec<_>>().join(", ")
        }
    }
}

/// Returns the requests of `test_start` and `test_stop`.
fn start_stop(report: &Report) -> TextTable {
    let columns = &["# reqs", "# fails", "Avg", "Min", "Max"];
    let mut table = TextTable::new("Test start and stop", columns);
    for row in &report.start_stop {
        let figures = &row.figures;
        let mut cells = vec![
            show_count(figures.count),
            with_share(figures.failures, figures.count),
        ];
        let extremes = |l: &Latency| [l.avg, l.min, l.max];
        cells.extend(times(figures.latency_ms.as_ref(), extremes));
        table.row(request_name(&row.method, &row.name), cells);
    }
    table
}

/// Appends since when, where and why something failed.
pub(super) fn diagnosis(report: &Report, page: usize, out: &mut String) {
    let Some(diagnosis) = Diagnosis::of_report(report) else {
        return;
    };
    let mark = if diagnosis.is_failing() { '✗' } else { '!' };
    let heading = diagnosis.heading(measured_from(report));
    out.push_str(&format!(" {mark} {heading}\n"));
    for (question, answer) in diagnosis.answers() {
        let mut label = question;
        for line in wrapped(&answer, page.saturating_sub(10)) {
            out.push_str(&format!("   {label:<5}  {line}\n"));
            label = "";
        }
    }
}

/// Appends the warnings, which readers should know before they trust a figure.
pub(super) fn warnings(report: &Report, page: usize, out: &mut String) {
    let lost = report.ending.as_ref().is_some_and(|ending| ending.all_lost);
    let lost = lost.then(|| all_lost(report));
    for warning in lost.iter().chain(&report.warnings) {
        for (at, line) in wrapped(&one_line(warning), page.saturating_sub(4))
            .iter()
            .enumerate()
        {
            out.push_str(if at == 0 { " ! " } else { "   " });
            out.push_str(line);
            out.push('\n');
        }
    }
}

fn requests(report: &Report) -> TextTable {
    let mut table = TextTable::new(
        "Requests",
        &["# reqs", "# fails", "req/s", "fail/s", "bytes/s"],
    );
    each_name(report, &mut table, |figures| {
        vec![
            show_count(figures.count),
            with_share(figures.failures, figures.count),
            rate(figures.rate),
            rate(per_second(figures.failures as f64, report.elapsed_s)),
            show_size(per_second(figures.bytes as f64, report.elapsed_s)),
        ]
    });
    table
}

fn latency(report: &Report) -> TextTable {
    let mut table = TextTable::new("Latency", &["Avg", "Min", "Max", "p50"]);
    each_name(report, &mut table, |figures| {
        times(figures.latency_ms.as_ref(), extremes)
    });
    table
}

fn percentiles(report: &Report) -> TextTable {
    let columns = &["p50", "p75", "p90", "p95", "p98", "p99", "p99.9", "p99.99"];
    let mut table = TextTable::new("Percentiles", columns);
    let values = |l: &Latency| [l.p50, l.p75, l.p90, l.p95, l.p98, l.p99, l.p99_9, l.p99_99];
    each_name(report, &mut table, |figures| {
        times(figures.latency_ms.as_ref(), values)
    });
    table
}

/// Returns the service times of a run at a rate, in which the other tables count from the scheduled start.
fn service(report: &Report) -> TextTable {
    let columns = &["Avg", "Min", "Max", "p50", "p90", "p95", "p99"];
    let mut table = TextTable::new("Service time", columns);
    let values = |l: &Latency| [l.avg, l.min, l.max, l.p50, l.p90, l.p95, l.p99];
    each_name(report, &mut table, |figures| {
        times(figures.service_ms.as_ref(), values)
    });
    table
}

fn tasks(report: &Report) -> TextTable {
    let columns = &["# runs", "# fails", "runs/s", "Avg", "Min", "Max", "p50"];
    let mut table = TextTable::new("Tasks", columns);
    // A scenario without a row of its own still heads its tasks: older files may lack it.
    let mut scenarios: Vec<&str> = report
        .scenarios
        .iter()
        .map(|scenario| &*scenario.name)
        .collect();
    for task in &report.tasks {
        if !scenarios.contains(&&*task.scenario) {
            scenarios.push(&task.scenario);
        }
    }
    for name in scenarios {
        let scenario_row = report
            .scenarios
            .iter()
            .find(|scenario| scenario.name == name);
        let note = scenario_row.map_or(String::new(), |scenario| {
            let (users, iterations) = (scenario.users, scenario.iterations);
            let took = scenario.iteration_ms.as_ref();
            let took = took.map_or_else(String::new, |all| format!(", median {}", time(all.p50)));
            format!(
                "{}, {}{took}",
                counted(users, "user"),
                counted(iterations, "iteration")
            )
        });
        table.heading(one_line(name), note);
        for task in report.tasks.iter().filter(|task| task.scenario == name) {
            table.row(
                format!("  {}", one_line(&task.name)),
                task_cells(task, report),
            );
        }
    }
    table
}

fn task_cells(task: &TaskRow, report: &Report) -> Vec<String> {
    let mut cells = vec![
        show_count(task.runs),
        show_count(task.failures),
        rate(per_second(task.runs as f64, report.elapsed_s)),
    ];
    cells.extend(times(task.latency_ms.as_ref(), extremes));
    cells
}

/// Adds a row for every request name and one for all requests.
fn each_name(report: &Report, table: &mut TextTable, cells: impl Fn(&Figures) -> Vec<String>) {
    for row in worst_first(report) {
        table.row(request_name(&row.method, &row.name), cells(&row.figures));
    }
    table.rule();
    table.row("Aggregated", cells(&report.aggregated));
}

fn extremes(latency: &Latency) -> [f64; 4] {
    [latency.avg, latency.min, latency.max, latency.p50]
}

pub(super) fn times<const N: usize>(
    latency: Option<&Latency>,
    values: impl Fn(&Latency) -> [f64; N],
) -> Vec<String> {
    match latency {
        Some(latency) => values(latency).map(time).to_vec(),
        None => vec!["-".to_owned(); N],
    }
}

/// Returns the tables of checks and of metrics, each only if it was used.
pub(super) fn measures(report: &Report) -> Vec<TextTable> {
    let mut tables = Vec::new();
    if !report.checks.is_empty() {
        tables.push(checks(report));
    }
    if !report.metrics.is_empty() {
        tables.push(metrics(report));
    }
    tables
}

fn checks(report: &Report) -> TextTable {
    let mut table = TextTable::new("Checks", &["# passed", "# failed", "share"]);
    for check in &report.checks {
        let mark = if check.failures == 0 { '✓' } else { '✗' };
        let all = check.passes + check.failures;
        table.row(
            format!("{mark} {}", one_line(&check.name)),
            vec![
                show_count(check.passes),
                show_count(check.failures),
                share(check.passes, all),
            ],
        );
    }
    table
}

fn metrics(report: &Report) -> TextTable {
    let columns = &[
        "# values", "Value", "Min", "Max", "p50", "p90", "p95", "p99",
    ];
    let mut table = TextTable::new("Metrics", columns);
    for (kind, title, note) in KINDS {
        let mut rows = report.metrics.iter().filter(|row| row.kind == kind);
        let Some(first) = rows.next() else { continue };
        table.heading(title, note);
        for row in std::iter::once(first).chain(rows) {
            table.row(format!("  {}", one_line(&row.name)), metric_cells(row));
        }
    }
    table
}

/// Returns the table, if there are thresholds.
pub(super) fn thresholds(report: &Report) -> Option<TextTable> {
    let rows = &report.thresholds;
    let when = rows.iter().any(|row| row.broken_s.is_some());
    let mut table = match when {
        _ if rows.is_empty() => return None,
        true => TextTable::new("Thresholds", &["limit", "figure", "broken at"]),
        false => TextTable::new("Thresholds", &["limit", "figure"]),
    };
    for row in rows {
        let mark = if row.passed { '✓' } else { '✗' };
        let (figure, limit) = threshold_parts(row);
        let mut cells = vec![limit, threshold_figure(row)];
        if when {
            cells.push(row.broken_s.map_or_else(String::new, moment));
        }
        table.row(format!("{mark} {figure}"), cells);
    }
    Some(table)
}

/// Appends the status codes by name, if there is more than one code or `asked`.
pub(super) fn status_codes(report: &Report, requested: bool, page: usize, out: &mut String) {
    let codes = &report.aggregated.status;
    if codes.is_empty() || (codes.len() == 1 && !requested) {
        return;
    }
    let shown = |figures: &Figures| {
        let codes = figures.status.iter().map(|(code, n)| status(code, *n));
        codes.collect::<Vec<String>>().join(", ")
    };
    let names = worst_first(report).into_iter().map(|row| {
        let name = request_name(&row.method, &row.name);
        (name, shown(&row.figures))
    });
    let all = ("Aggregated".to_owned(), shown(&report.aggregated));
    let rows: Vec<(String, String)> = names.chain([all]).collect();
    // Names get half of the page, and what the codes leave of the other half.
    let longest_codes = rows.iter().map(|(_, codes)| codes.width()).max();
    let longest_name = rows.iter().map(|(name, _)| name.width()).max();
    let remaining = page.saturating_sub(longest_codes.unwrap_or(0) + 3);
    let half = (page / 2).saturating_sub(4);
    let name_width = half.max(remaining.min(longest_name.unwrap_or(0)));
    out.push_str("\n Status codes\n");
    out.push_str(&rule(page));
    for (name, codes) in rows {
        let mut name = cut_middle(&name, name_width);
        for codes in wrapped(&codes, page.saturating_sub(name_width + 3)) {
            let codes = codes.replace('\u{a0}', " ");
            out.push_str(&format!(" {}  {codes}\n", pad_right(&name, name_width)));
            name.clear();
        }
    }
}

/// Formats a status code and its count, `13,192 [200]`; no-break spaces keep it together when lines are broken.
fn status(code: &str, count: u64) -> String {
    let code = if code == "0" {
        "no\u{a0}response".to_owned()
    } else {
        one_line(code)
    };
    format!("{}\u{a0}[{code}]", show_count(count))
}

/// Appends the errors, the most frequent first.
pub(super) fn errors(report: &Report, page: usize, out: &mut String) {
    let errors = listed_errors(report);
    if errors.is_empty() {
        return;
    }
    let (shown, rest) = errors.split_at(errors.len().min(MOST_ERRORS));
    let counts = errors.iter().map(|error| show_count(error.row.count).len());
    let count_width = counts.max().unwrap_or(0).max(4);
    out.push('\n');
    out.push_str(&spread("Errors", "first – last seen", page));
    out.push_str(&rule(page));
    for error in shown {
        error_lines(error, count_width, page, out);
    }
    if !rest.is_empty() {
        let count: u64 = rest.iter().map(|error| error.row.count).sum();
        let more = counted(rest.len() as u64, "more kind");
        out.push_str(&format!(
            " {}  of {more}\n",
            pad_left(&show_count(count), count_width)
        ));
    }
}

fn error_lines(listed: &ListedError<'_>, count_width: usize, page: usize, out: &mut String) {
    let error = listed.row;
    let indent = count_width + 3;
    let seen = format!("{} – {}", moment(error.first_s), moment(error.last_s));
    let count = pad_left(&show_count(error.count), count_width);
    // The count is part of the line's left end; only the name may be shortened.
    let room = page.saturating_sub(indent + seen.chars().count() + 2);
    let name = cut_middle(&one_line(&error.name), room);
    out.push_str(&spread(&format!("{count}  {name}"), &seen, page));
    let line = error
        .line
        .as_deref()
        .map(|line| format!(" ({})", one_line(line)));
    let width = page.saturating_sub(indent);
    // Reports and logs have the whole message.
    let message = cut_middle(&one_line(&listed.message), MOST_MESSAGE_LINES * width);
    let text = format!("{message}{}", line.unwrap_or_default());
    let response = describe_response(error).map(|(how, excerpt)| format!("{how}: {excerpt}"));
    for text in [Some(text), response].into_iter().flatten() {
        for line in wrapped(&text, width) {
            out.push_str(&format!("{}{line}\n", " ".repeat(indent)));
        }
    }
}
