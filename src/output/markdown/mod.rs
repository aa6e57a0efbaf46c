//! The report as Markdown, short enough for a pull request: the verdict, and tables of requests, tasks,
//! thresholds, checks, metrics and errors.
//!
//! Names and messages are formatted as code: their characters have no special meaning, mention nobody and link to
//! nothing.

mod capacity;
#[cfg(feature = "cli")]
mod comparison;

#[cfg(feature = "cli")]
pub(crate) use comparison::comparison;

use crate::metrics::{Figures, Latency, Report, VerdictResult};
use crate::output::display::Column::{self, Number, Text};
use crate::output::display::{Diagnosis, measured_from, worst_first};
use crate::output::display::{
    cut_middle, describe_response, labels_text, listed_errors, metric_cells, moment, one_line,
    request_name, share, slowest_traces, status_text, threshold_figure, threshold_name, time,
    trace_text, with_share, worker_state, workers_shown,
};
use crate::units::{show_count, show_duration, three_digits};
use std::time::Duration;

/// The most rows of a table; the rest is counted. Comments on GitHub and GitLab take some 65,000 characters.
const MOST_ROWS: usize = 50;
/// The most rows of slow requests with their traces.
const MOST_TRACES: usize = 10;
/// The most columns of a name.
const LONGEST_NAME: usize = 80;
/// The most characters of a message.
const LONGEST_MESSAGE: usize = 300;

/// Renders the report as GitHub and GitLab Markdown.
pub(crate) fn to_markdown(report: &Report) -> String {
    let verdict = report.verdict.as_ref();
    let heading = match verdict.map(|verdict| verdict.result) {
        Some(VerdictResult::Passed) if is_short(report) => "✅ passed so far",
        Some(VerdictResult::Passed) => "✅ passed",
        Some(VerdictResult::Failed) => "❌ failed",
        Some(VerdictResult::None) | None => "⚪ no verdict",
    };
    let mut out = format!(
        "### {heading}: {}\n\n{}\n",
        name(&report.plan),
        overview(report)
    );
    if let Some(diagnosis) = Diagnosis::of_report(report) {
        let heading = diagnosis.heading(measured_from(report));
        out += &format!("\n> **{}**", prose(&heading));
        for (question, text) in diagnosis.answers() {
            let text = prose(&cut(&text, LONGEST_MESSAGE));
            // Two blanks before it break the line.
            out += &format!("  \n> {question}: {text}");
        }
        out.push('\n');
    }
    let verdict_line = verdict.map(|verdict| ("verdict:", &verdict.text));
    let ending = report.ending.as_ref();
    let ended = ending.map(|ending| ("ending:", &ending.text));
    let reasons = verdict.into_iter().flat_map(|verdict| &verdict.reasons);
    let reasons = reasons.map(|reason| ("❌", reason));
    let remarks = verdict.into_iter().flat_map(|verdict| &verdict.remarks);
    let remarks = remarks.map(|remark| ("💬", remark));
    let warnings = report.warnings.iter().map(|warning| ("⚠️", warning));
    let lines = verdict_line
        .into_iter()
        .chain(ended)
        .chain(reasons)
        .chain(remarks);
    for (at, (mark, text)) in lines.chain(warnings).enumerate() {
        let before = if at == 0 { "\n" } else { "" };
        out += &format!("{before}- {mark} {}\n", prose(&cut(text, LONGEST_MESSAGE)));
    }
    capacity::section(report, &mut out);
    requests(report, &mut out);
    tasks(report, &mut out);
    start_stop(report, &mut out);
    thresholds(report, &mut out);
    checks(report, &mut out);
    metrics(report, &mut out);
    tags(report, &mut out);
    labels(report, &mut out);
    workers(report, &mut out);
    errors(report, &mut out);
    traces(report, &mut out);
    out += &format!(
        "\nlgoose {} · {} · seed {}\n",
        prose(&cut(&one_line(&report.version), LONGEST_NAME)),
        prose(&cut(&one_line(&report.started), LONGEST_NAME)),
        report.seed
    );
    out
}

/// Returns whether the run was aborted or stopped before its planned end.
fn is_short(report: &Report) -> bool {
    let ending = report.ending.as_ref();
    ending.is_none_or(|ending| ending.cut_short)
}

/// Returns a line with the plan's host, the load and the results.
fn overview(report: &Report) -> String {
    let all = &report.aggregated;
    let elapsed = Duration::try_from_secs_f64(report.elapsed_s).unwrap_or_default();
    let noun = |count, noun: &str| match count {
        1 => format!("1 {noun}"),
        count => format!("{} {noun}s", show_count(count)),
    };
    let [_, tasks, checks] = report.failures();
    let failed = [(tasks, "task"), (checks, "check")].map(|((failed, all), kind)| match failed {
        0 => String::new(),
        failed => format!(" · {} of {} failed", show_count(failed), noun(all, kind)),
    });
    format!(
        "{} · {} · {} · {} · {}/s · {} failed{}",
        name(&report.host),
        noun(report.users, "user"),
        show_duration(elapsed),
        noun(all.count, "request"),
        three_digits(all.rate),
        with_share(all.failures, all.count),
        failed.concat()
    )
}

fn requests(report: &Report, out: &mut String) {
    let columns = named(
        "requests",
        &["#", "failed", "req/s", "avg", "p50", "p95", "p99", "max"],
    );
    let cells = |first: String, figures: &Figures| {
        let mut cells = vec![
            first,
            show_count(figures.count),
            with_share(figures.failures, figures.count),
            three_digits(figures.rate),
        ];
        cells.extend(times(figures, |row| {
            [row.avg, row.p50, row.p95, row.p99, row.max]
        }));
        cells
    };
    let all = ("**Aggregated**".to_owned(), &report.aggregated);
    let names = worst_first(report).into_iter().map(|row| {
        let text = request_name(&row.method, &row.name);
        (name(&text), &row.figures)
    });
    let rows = std::iter::once(all).chain(names);
    table(&columns, rows.map(|(first, row)| cells(first, row)), out);
}

/// Appends the requests of `test_start` and `test_stop`.
fn start_stop(report: &Report, out: &mut String) {
    let rows = report.start_stop.iter().map(|row| {
        let figures = &row.figures;
        let mut cells = vec![
            name(&request_name(&row.method, &row.name)),
            show_count(figures.count),
            with_share(figures.failures, figures.count),
        ];
        cells.extend(times(figures, |row| [row.avg, row.min, row.max]));
        cells
    });
    table(
        &named("test start and stop", &["#", "failed", "avg", "min", "max"]),
        rows,
        out,
    );
}

fn times<const N: usize>(figures: &Figures, values: impl Fn(&Latency) -> [f64; N]) -> Vec<String> {
    match &figures.latency_ms {
        Some(row) => values(row).map(time).to_vec(),
        None => vec!["-".to_owned(); N],
    }
}

fn tasks(report: &Report, out: &mut String) {
    let scenarios = report.scenarios.iter().map(|row| {
        let took = |of: fn(&Latency) -> f64| {
            let took = row.iteration_ms.as_ref();
            took.map_or_else(|| "-".to_owned(), |all| time(of(all)))
        };
        vec![
            name(&row.name),
            show_count(row.users),
            show_count(row.iterations),
            took(|all| all.p50),
            took(|all| all.p95),
        ]
    });
    table(
        &named("scenarios", &["users", "iterations", "p50", "p95"]),
        scenarios,
        out,
    );
    let columns = [
        Text("tasks"),
        Text("scenario"),
        Number("runs"),
        Number("failed"),
        Number("avg"),
        Number("p50"),
        Number("p95"),
        Number("max"),
    ];
    let rows = report.tasks.iter().map(|row| {
        let mut cells = vec![
            name(&row.name),
            name(&row.scenario),
            show_count(row.runs),
            with_share(row.failures, row.runs),
        ];
        cells.extend(match row.latency_ms {
            Some(row) => [row.avg, row.p50, row.p95, row.max].map(time),
            None => [(); 4].map(|()| "-".to_owned()),
        });
        cells
    });
    table(&columns, rows, out);
}

fn thresholds(report: &Report, out: &mut String) {
    let rows = report.thresholds.iter().map(|row| {
        let broken = row.broken_s.map_or_else(String::new, moment);
        vec![
            format!("{} {}", mark(row.passed), name(&threshold_name(row))),
            prose(&threshold_figure(row)),
            broken,
        ]
    });
    table(&named("thresholds", &["figure", "broken at"]), rows, out);
}

fn checks(report: &Report, out: &mut String) {
    let rows = report.checks.iter().map(|row| {
        vec![
            format!("{} {}", mark(row.failures == 0), name(&row.name)),
            show_count(row.passes),
            show_count(row.failures),
            share(row.passes, row.passes + row.failures),
        ]
    });
    table(&named("checks", &["passed", "failed", "share"]), rows, out);
}

fn metrics(report: &Report, out: &mut String) {
    let rows = report.metrics.iter().map(|row| {
        let mut cells = vec![name(&row.name)];
        cells.extend(metric_cells(row));
        cells
    });
    table(
        &named(
            "metrics",
            &["values", "value", "min", "max", "p50", "p90", "p95", "p99"],
        ),
        rows,
        out,
    );
}

fn tags(report: &Report, out: &mut String) {
    let rows = report.by_tag.iter().map(|row| {
        let all = &row.aggregated;
        let mut cells = vec![
            name(&row.tag),
            show_count(all.count),
            with_share(all.failures, all.count),
            three_digits(all.rate),
        ];
        cells.extend(times(all, |row| [row.p50, row.p95, row.p99]));
        cells
    });
    table(
        &named(
            "scenarios and tags",
            &["#", "failed", "req/s", "p50", "p95", "p99"],
        ),
        rows,
        out,
    );
}

fn labels(report: &Report, out: &mut String) {
    let rows = report.by_label.iter().map(|row| {
        let all = &row.aggregated;
        let mut cells = vec![
            name(&row.label),
            show_count(row.workers),
            show_count(all.count),
            with_share(all.failures, all.count),
            three_digits(all.rate),
        ];
        cells.extend(times(all, |row| [row.p50, row.p95, row.p99]));
        cells
    });
    table(
        &named(
            "labels",
            &["workers", "#", "failed", "req/s", "p50", "p95", "p99"],
        ),
        rows,
        out,
    );
}

fn workers(report: &Report, out: &mut String) {
    let (rows, more) = workers_shown(report);
    let rows = rows.into_iter().map(|row| {
        vec![
            name(&row.name),
            name(&labels_text(row)),
            show_count(row.users),
            show_count(row.requests),
            with_share(row.failures, row.requests),
            row.p95_ms.map_or_else(|| "-".to_owned(), time),
            format!("{:.0}%", row.busy * 100.0),
            time(row.lag_ms),
            worker_state(row),
        ]
    });
    let columns = [
        Text("workers"),
        Text("labels"),
        Number("users"),
        Number("#"),
        Number("failed"),
        Number("p95"),
        Number("busy"),
        Number("lag"),
        Text("state"),
    ];
    table(&columns, rows, out);
    if more > 0 {
        *out += &format!("\nand {} more workers\n", show_count(more as u64));
    }
}

fn errors(report: &Report, out: &mut String) {
    let errors = listed_errors(report);
    let rows = errors.iter().map(|listed| {
        let row = listed.row;
        let message = code(&cut(&one_line(&listed.message), LONGEST_MESSAGE));
        let line = row.line.as_deref().unwrap_or_default();
        vec![
            name(&row.name),
            show_count(row.count),
            match describe_response(row) {
                None => message,
                Some((how, answer)) => {
                    format!("{message} {how} {}", code(&cut(&answer, LONGEST_MESSAGE)))
                }
            },
            name(line),
            format!("{} – {}", moment(row.first_s), moment(row.last_s)),
        ]
    });
    table(
        &[
            Text("errors"),
            Number("#"),
            Text("message"),
            Text("line"),
            Text("seen"),
        ],
        rows,
        out,
    );
}

fn traces(report: &Report, out: &mut String) {
    let slowest = slowest_traces(report);
    let rows = slowest.iter().take(MOST_TRACES).map(|(of, one)| {
        vec![
            name(of),
            time(one.latency_ms + one.delay_ms),
            status_text(one.status),
            code(&cut(&trace_text(&one.trace), LONGEST_NAME)),
        ]
    });
    table(
        &[
            Text("slowest traces"),
            Number("latency"),
            Number("status"),
            Text("trace id"),
        ],
        rows,
        out,
    );
}

fn mark(good: bool) -> char {
    if good { '✅' } else { '❌' }
}

/// Returns the columns of a table of names and their figures.
fn named<'a>(name: &'a str, figures: &[&'a str]) -> Vec<Column<'a>> {
    let figures = figures.iter().copied().map(Number);
    std::iter::once(Text(name)).chain(figures).collect()
}

/// Appends a table; nothing if there are no rows. Rows beyond [`MOST_ROWS`] are counted.
fn table(columns: &[Column<'_>], rows: impl Iterator<Item = Vec<String>>, out: &mut String) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    let line = |cells: &[&str]| format!("| {} |\n", cells.join(" | "));
    let titles: Vec<&str> = columns.iter().map(|column| column.title()).collect();
    let rule = columns
        .iter()
        .map(|column| if column.is_numeric() { "---:" } else { "---" });
    let rule: Vec<&str> = rule.collect();
    out.push('\n');
    *out += &line(&titles);
    *out += &line(&rule);
    for row in rows.by_ref().take(MOST_ROWS) {
        let cells: Vec<&str> = row.iter().map(String::as_str).collect();
        *out += &line(&cells);
    }
    let more = rows.count();
    if more > 0 {
        let noun = titles[0];
        *out += &format!("\nand {} more {noun}\n", show_count(more as u64));
    }
}

/// Returns a name as code, its middle cut out if it is long.
fn name(text: &str) -> String {
    code(&cut_middle(&one_line(text), LONGEST_NAME))
}

/// Returns a line of text as code. Backticks, bars and backslashes have no safe form between backticks, so a text
/// with one becomes a `<code>` element whose punctuation is written as character references.
fn code(line: &str) -> String {
    let line = line.trim();
    if line.is_empty() {
        return String::new();
    }
    if !line.contains(['`', '|', '\\']) {
        return format!("`{line}`");
    }
    let mut out = "<code>".to_owned();
    for c in line.chars() {
        if c.is_ascii_punctuation() {
            out += &format!("&#{};", u32::from(c))
        } else {
            out.push(c)
        }
    }
    out + "</code>"
}

/// Escapes a sentence of lgoose that may contain names: Markdown signs are escaped, addresses are not linked and
/// `@name` mentions nobody.
fn prose(text: &str) -> String {
    let mut out = String::new();
    for c in one_line(text).chars() {
        if "\\`*_{}[]<>()#!|~&$^".contains(c) {
            out.push('\\');
        }
        out.push(c);
        if c == '@' {
            // A word joiner is invisible and no letter of a name, so nobody is mentioned.
            out.push('\u{2060}');
        }
    }
    out.replace("www.", "www\\.").replace("://", "\\://")
}

fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
