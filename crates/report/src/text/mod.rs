//! The report as tables for a terminal, and the progress lines of a run without a live view.
//!
//! Plain text without colour. The caller knows the width of the terminal and where the text goes.

mod capacity;
mod comparison;
mod table;

use crate::display::facts;
use crate::document::{self, Head, STACK, Scope, Statement};
pub use capacity::{capacity_heading, capacity_now, capacity_step};
pub use comparison::comparison;
use lgoose_base::figures::{rate, with_share};
use lgoose_base::line::{cut_middle, one_line, wrapped};
use lgoose_base::units::{show_count, show_duration, show_long};
use lgoose_metrics::{ErrorRow, Report, Snapshot};
use std::time::Duration;
use table::{TextTable, rule, spread};

/// Width of a page if the width of the terminal is unknown.
pub const PLAIN_WIDTH: usize = 80;

/// Labels of the facts that the end of a run of one iteration shows.
const FACTS_OF_ONCE: [&str; 8] = [
    "users",
    "requests",
    "redirects",
    "seed",
    "log",
    "remark",
    "ending",
    "verdict",
];

/// Labels of the facts that a short summary leaves out.
const OF_A_FULL_SUMMARY: [&str; 5] = ["plan", "host", "started", "version", "warning"];

/// Options of [`tables`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// Shows status codes even if there is only one (`--status-codes`).
    pub status_codes: bool,
    /// Shows the plan's calls at errors of tasks (`--backtrace`).
    pub backtrace: bool,
    /// Leaves out what a reader of one screen can do without (`--summary short`).
    pub is_short: bool,
}

/// Renders the end of a run: its diagnosis, warnings, the result of a search, the tables of the document, and the
/// facts. For a run of one iteration (`--once`), which serves to find mistakes: each request, and the failures with
/// their reasons.
///
/// `width` is that of the terminal, in columns: 80 are always enough, more are used for longer names. Figures are never
/// cut, so with less than 80 columns lines may be longer than the terminal.
pub fn tables(report: &Report, width: usize, options: TableOptions) -> String {
    let settings = report.settings.as_ref();
    let is_once = settings.is_some_and(|settings| settings.once);
    let mut tables = if is_once {
        document::tables_of_once(report)
    } else {
        document::tables(report, Scope::Usual)
    };
    // One status code adds nothing.
    let shows_codes = options.status_codes || report.aggregated.status.len() > 1;
    tables.retain(|table| table.id != "status" || shows_codes);
    if !options.backtrace {
        tables = tables
            .into_iter()
            .map(|table| table.without(STACK))
            .collect();
    }
    let is_short = options.is_short && !is_once;
    let left_out = if is_short {
        document::shorten(&mut tables, report)
    } else {
        0
    };
    let tables: Vec<TextTable<'_>> = tables.iter().map(TextTable::from).collect();
    let natural = tables.iter().map(TextTable::natural_width).max();
    let page = natural.unwrap_or(0).max(PLAIN_WIDTH).min(width);
    let mut out = title(report, page);
    let head = Head::of(report);
    let warnings = warnings(&head);
    let mut shown = Vec::new();
    if !is_once {
        shown = diagnosis(&head, &warnings, page, &mut out);
    }
    for warning in warnings.iter().filter(|warning| !shown.contains(warning)) {
        labelled(" ! ", warning, page, &mut out);
    }
    if !is_once {
        capacity::section(report, page, &mut out);
    }
    for table in &tables {
        out.push('\n');
        table.render(page, &mut out);
    }
    out.push('\n');
    let mut facts = facts(report);
    if is_once {
        facts.retain(|(label, _)| FACTS_OF_ONCE.contains(label));
        // The errors are right above.
        for (label, text) in &mut facts {
            if *label == "verdict" {
                *text = lgoose_judgement::beside_errors(report).unwrap_or_default();
            }
        }
    } else {
        out.push_str(" Overview\n");
        out.push_str(&rule(page));
    }
    if is_short {
        // Warnings are above, and the others are in the line at the start of the run.
        facts.retain(|(label, _)| !OF_A_FULL_SUMMARY.contains(label));
    }
    if left_out > 0 {
        let more = "'--summary full' shows percentiles, tasks and further tables";
        // The verdict stays last.
        let last = |(label, _): &(&str, String)| matches!(*label, "ending" | "verdict");
        let place = facts.iter().position(last).unwrap_or(facts.len());
        facts.insert(place, ("more", more.to_owned()));
    }
    fact_lines(&facts, 11, page, &mut out);
    out
}

/// Returns the line at the start of a run without a live view: `12 users started in 1.50 s`.
pub fn started_line(users: u64, took: Duration) -> String {
    let noun = if users == 1 { "user" } else { "users" };
    format!(
        "{} {noun} started in {}",
        show_count(users),
        show_duration(took)
    )
}

/// Returns the line that a run without a live view prints every ten seconds: totals so far and current figures.
pub fn progress_line(snapshot: &Snapshot) -> String {
    let total = &snapshot.requests.total;
    let mut line = format!(
        "{:>6}  {} users · {} requests · {}/s now",
        show_long(snapshot.progress.elapsed),
        show_count(snapshot.users),
        show_count(total.count),
        rate(total.rate_now),
    );
    if total.count > 0 {
        line += &format!(
            " · p50 {} · p95 {}",
            show_duration(total.p50),
            show_duration(total.p95)
        );
    }
    line += &format!(" · {} failed", with_share(total.failures, total.count));
    if snapshot.arrivals.dropped > 0 {
        line += &format!(" · {} dropped", show_count(snapshot.arrivals.dropped));
    }
    line
}

/// Returns the line for the first error of a kind, printed during the run.
pub fn error_line(error: &ErrorRow) -> String {
    let place = error
        .line
        .as_ref()
        .map_or_else(String::new, |line| format!(" ({})", one_line(line)));
    format!(
        " error  {}: {}{place} · {} so far",
        one_line(&error.name),
        one_line(&error.message),
        show_count(error.count)
    )
}

fn title(report: &Report, page: usize) -> String {
    let name = format!("lgoose · {}", one_line(&report.plan));
    let heavy = format!("{}\n", "━".repeat(page));
    let host = cut_middle(&one_line(&report.host), page / 2);
    format!("{heavy}{}{heavy}", spread(&name, &host, page))
}

/// Appends since when, where and why something failed. A finding with which a warning begins is shown as that warning; these
/// are returned.
fn diagnosis<'a>(
    head: &Head<'_>,
    warnings: &[&'a str],
    page: usize,
    out: &mut String,
) -> Vec<&'a str> {
    let mut shown = Vec::new();
    let Some((diagnosis, heading)) = &head.diagnosis else {
        return shown;
    };
    let mark = if diagnosis.is_failing() { '✗' } else { '!' };
    out.push_str(&format!(" {mark} {heading}\n"));
    for (question, finding) in diagnosis.findings() {
        let begins = |warning: &&&str| !finding.is_empty() && warning.starts_with(&finding);
        let longer = warnings.iter().find(begins).copied();
        shown.extend(longer);
        let text = longer.unwrap_or(&finding);
        labelled(&format!("   {question:<5}  "), text, page, out);
    }
    shown
}

/// Returns the warnings, which readers should know before they trust a figure.
fn warnings<'a>(head: &'a Head<'_>) -> Vec<&'a str> {
    let warnings = head
        .sentences
        .iter()
        .filter(|(kind, _)| *kind == Statement::Warning);
    warnings.map(|(_, text)| &**text).collect()
}

/// Appends facts, a line each or more; labels take `width` columns.
fn fact_lines(facts: &[(&'static str, String)], width: usize, page: usize, out: &mut String) {
    for (label, text) in facts {
        labelled(&format!(" {label:<width$}  "), text, page, out);
    }
}

/// Appends a text after its label, on as many lines as it needs.
fn labelled(label: &str, text: &str, page: usize, out: &mut String) {
    let indent = label.chars().count();
    let mut label = label.to_owned();
    for line in wrapped(&one_line(text), page.saturating_sub(indent)) {
        out.push_str(&format!("{label}{line}\n"));
        label = " ".repeat(indent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use lgoose_metrics::{LiveRequests, LiveRow, Messages, Progress};
    use unicode_width::UnicodeWidthStr as _;

    #[test]
    fn eighty_columns_show_everything() {
        let text = tables(&fixture::report(), 80, TableOptions::default());
        fixture::golden("../text/golden_80.txt", &text);
        assert!(text.lines().all(|line| line.width() <= 80));
    }

    #[test]
    fn a_wider_terminal_shows_longer_names() {
        let text = tables(&fixture::report(), 120, TableOptions::default());
        fixture::golden("../text/golden_120.txt", &text);
        assert!(text.lines().all(|line| line.width() <= 120));
    }

    #[test]
    fn two_hundred_columns_show_every_name_whole() {
        let text = tables(&fixture::report(), 200, TableOptions::default());
        fixture::golden("../text/golden_200.txt", &text);
        assert!(text.lines().all(|line| line.width() <= 200));
        assert!(!text.contains('…'), "{text}");
    }

    #[test]
    fn every_width_leaves_the_columns_in_line_also_with_hostile_names() {
        let hostile = fixture::hostile();
        let widths = [80, 81, 100, 120, 133, 200].map(|width| (fixture::report(), width));
        for (report, width) in widths.into_iter().chain([(hostile, 80)]) {
            let text = tables(
                &report,
                width,
                TableOptions {
                    status_codes: true,
                    ..TableOptions::default()
                },
            );
            fixture::assert_harmless(&text);
            let longest = text.lines().map(|line| line.width()).max();
            assert!(longest <= Some(width), "{longest:?} of {width}");
        }
        // Too narrow for figures: longer lines, no panic.
        for width in 0..20 {
            tables(&fixture::report(), width, TableOptions::default());
        }
    }

    #[test]
    fn one_status_code_is_shown_only_when_requested() {
        let mut report = fixture::report();
        report.aggregated.status = [("200".to_owned(), 23_863)].into();
        assert!(!tables(&report, 80, TableOptions::default()).contains("Status codes"));
        let with_codes = tables(
            &report,
            80,
            TableOptions {
                status_codes: true,
                ..TableOptions::default()
            },
        );
        assert!(with_codes.contains("Status codes"));
    }

    #[test]
    fn a_short_summary_fits_a_screen_and_says_what_it_leaves_out() {
        let mut report = fixture::report();
        report.errors.clear();
        report.requests.truncate(3);
        report.aggregated.status = [("200".to_owned(), 23_863)].into();
        for task in &mut report.tasks {
            task.failures = 0;
        }
        let short = TableOptions {
            is_short: true,
            ..TableOptions::default()
        };
        let text = tables(&report, 80, short);
        assert!(
            !text.contains("Percentiles") && !text.contains("Tasks"),
            "{text}"
        );
        assert!(
            text.contains("more         '--summary full' shows"),
            "{text}"
        );
        assert!(
            text.contains(" Requests") && text.contains("verdict"),
            "{text}"
        );
        report.tasks[0].failures = 1;
        assert!(tables(&report, 80, short).contains("Tasks and transactions"));
        let full = tables(&report, 80, TableOptions::default());
        assert!(
            full.contains("Percentiles") && !full.contains("--summary"),
            "{full}"
        );
    }

    #[test]
    fn more_than_twenty_errors_are_counted() {
        let mut report = fixture::report();
        let error = report.errors[0].clone();
        report.errors = vec![error; 23];
        let text = tables(&report, 80, TableOptions::default());
        // One is the cause in the diagnosis.
        assert_eq!(text.matches("status 503").count(), 21);
        assert!(
            text.contains("360") && text.contains("3 more kinds"),
            "{text}"
        );
    }

    #[test]
    fn a_run_without_a_request_still_has_an_overview() {
        let mut report = fixture::report();
        report.requests.clear();
        report.aggregated = lgoose_metrics::Figures::default();
        let text = tables(&report, 80, TableOptions::default());
        assert!(
            text.contains("no request was finished") && text.contains("Overview"),
            "{text}"
        );
    }

    #[test]
    fn streams_have_a_table_of_their_messages() {
        let mut report = fixture::report();
        assert!(!tables(&report, 80, TableOptions::default()).contains("Streams"));
        let latency = report.aggregated.latency_ms;
        let figures = [&mut report.requests[0].figures, &mut report.aggregated];
        for figures in figures {
            figures.messages = Some(Messages {
                sent: 0,
                received: 12,
            });
            figures.first_event_ms = latency;
            figures.event_gap_ms = latency;
        }
        let text = tables(&report, 80, TableOptions::default());
        let table = text.split("Streams").nth(1).expect("the table");
        assert!(
            table.contains("first p50") && table.contains("gap p99") && table.contains(" 12 "),
            "{table}"
        );
    }

    #[test]
    fn a_run_at_a_rate_shows_the_service_time_and_what_was_dropped() {
        let mut report = fixture::report();
        let latency = report.aggregated.latency_ms;
        report.aggregated.service_ms = latency;
        report.arrivals = Some(lgoose_metrics::ArrivalsRow {
            started: 9_900,
            dropped: 100,
            delay_ms: latency,
            missing: 0,
        });
        let text = tables(&report, 80, TableOptions::default());
        assert!(text.contains("Service time"), "{text}");
        assert!(
            text.contains("9,900 started · 100 (1.00%) dropped"),
            "{text}"
        );
        report.warmup = Some(Box::new(fixture::report()));
        let text = tables(&report, 80, TableOptions::default());
        assert!(
            text.contains("warm-up      1m (60.2 s) · 23,863 requests"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    }

    #[test]
    fn a_scenario_heads_all_its_tasks_also_those_that_came_late() {
        let mut report = fixture::report();
        let mut late = report.tasks[0].clone();
        late.name = "a transaction".to_owned();
        report.tasks.push(late);
        let text = tables(&report, 80, TableOptions::default());
        let tasks = text
            .split_once("\n Tasks and transactions")
            .expect("a table")
            .1;
        let tasks = tasks.split_once("\n\n").expect("its end").0;
        assert_eq!(tasks.matches("\n Anonymous\n").count(), 1, "{tasks}");
        assert!(
            tasks.find("a transaction") < tasks.find("log in"),
            "{tasks}"
        );
    }

    #[test]
    fn a_run_on_workers_ends_with_them_and_their_labels() {
        for width in [80, 120] {
            let text = tables(&fixture::gaggle(), width, TableOptions::default());
            fixture::golden(&format!("../text/golden_workers_{width}.txt"), &text);
            assert!(text.lines().all(|line| line.width() <= width), "{text}");
            fixture::assert_harmless(&text);
        }
    }

    #[test]
    fn of_many_workers_the_lost_and_the_saturated_are_shown() {
        let mut report = fixture::gaggle();
        let good = report.workers[0].clone();
        report.workers.splice(0..0, vec![good; 998]);
        let text = tables(&report, 80, TableOptions::default());
        assert!(text.contains("… and 981 more workers"), "{text}");
        let workers = text.split_once("\n Workers").expect("a table").1;
        let place = |name: &str| workers.find(name);
        assert!(place("✗ bad") < place("! worker-2") && place("! worker-2") < place("worker-1"));
    }

    #[test]
    fn a_line_on_the_way_shows_what_is_so_far_and_now() {
        let snapshot = Snapshot {
            progress: Progress {
                elapsed: Duration::from_secs(70),
                ..Progress::default()
            },
            requests: LiveRequests {
                total: LiveRow {
                    count: 24_180,
                    failures: 3,
                    rate_now: 2_418.2,
                    p50: Duration::from_micros(4_100),
                    p95: Duration::from_micros(12_400),
                    ..LiveRow::default()
                },
                ..LiveRequests::default()
            },
            users: 12,
            ..Snapshot::default()
        };
        assert_eq!(
            progress_line(&snapshot),
            " 1m10s  12 users · 24,180 requests · 2,418/s now · p50 4.10 ms · p95 12.4 ms · 3 (0.01%) failed"
        );
        assert_eq!(
            started_line(12, Duration::from_millis(1_500)),
            "12 users started in 1.50 s"
        );
    }
}
