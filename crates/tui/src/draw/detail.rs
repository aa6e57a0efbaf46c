//! All known facts about a row, as lines of text.

use super::super::listing::{ListingColumn, ListingRow};
use super::super::pages::{
    error_key, moment, ms_text, origin, rate, request_key, tight, unsorted, worker_of,
};
use super::super::state::{RowReference, Tab, ViewState};
use super::super::style::TextMeaning;
use super::super::text::one_line;
use super::paint::StyledLines;
use super::{distribution, worker};
use lgoose_base::units::{show_count, show_size};
use lgoose_metrics::{
    ErrorRow, Exemplar, Figures, LiveRow, PhasesMs, Report, SlowRequest, Snapshot, TraceRow,
};
use std::time::Duration;

pub(super) fn lines(state: &ViewState, snapshot: &Snapshot, subject: &RowReference) -> StyledLines {
    let empty = Report::default();
    let report = state.figures.report.as_deref().unwrap_or(&empty);
    let clock = ReportClock::of(report, snapshot);
    match subject.tab {
        Tab::Errors => {
            let mut errors = report.errors.iter();
            if let Some(error) = errors.find(|error| error_key(error) == subject.key) {
                return about_error(error, clock);
            }
        }
        Tab::Requests | Tab::Latency | Tab::Codes | Tab::Streams => {
            let live = state
                .requests(snapshot)
                .rows
                .iter()
                .find(|row| request_key(&row.method, &row.name) == subject.key);
            let reported = state
                .request_rows()
                .0
                .iter()
                .find(|row| request_key(&row.method, &row.name) == subject.key);
            let name = one_line(subject.key.trim_start());
            let mut lines = vec![(TextMeaning::Strong, name), blank()];
            if let Some(row) = live {
                lines.push(line("now", now(row)));
            }
            match (reported, live) {
                (Some(request), _) => about_request(&mut lines, &request.figures),
                (None, Some(row)) => about_row(&mut lines, row),
                (None, None) => lines.push((TextMeaning::Faint, GONE.to_owned())),
            }
            let named = request_name(subject);
            let errors = if report.errors.is_empty() {
                &snapshot.errors
            } else {
                &report.errors
            };
            let mut errors = errors
                .iter()
                .filter(|error| one_line(&error.name) == named)
                .peekable();
            if state.tag_here().is_some() && errors.peek().is_some() {
                let text = "errors of the name, whatever its tags";
                lines.push((TextMeaning::Faint, text.to_owned()));
            }
            for error in errors {
                let text = format!("{} × {}", show_count(error.count), one_line(&error.message));
                lines.push((TextMeaning::Bad, text));
            }
            if let Some(request) = reported {
                let slow = if request.traced.is_empty() {
                    &request.slowest
                } else {
                    &request.traced
                };
                lines.extend(slow.iter().map(|one| about_slow(one, clock)));
                lines.extend(distribution::lines(&request.figures));
            }
            return lines;
        }
        Tab::Workers => {
            if let Some(row) = worker_of(snapshot, &subject.key) {
                return worker::lines(row);
            }
        }
        _ => {}
    }
    let rows = unsorted(state, subject.tab, snapshot);
    match rows.row_of(&subject.key) {
        Some(at) => plain(&rows.rows[at], &rows.columns),
        None => vec![(TextMeaning::Faint, GONE.to_owned())],
    }
}

/// Text for a row that has gone with a reset.
const GONE: &str = "not seen since the statistics were reset";

fn request_name(subject: &RowReference) -> String {
    one_line(subject.key.trim_start())
}

/// Converts times of a report to the clock of the header.
#[derive(Debug, Clone, Copy)]
struct ReportClock {
    /// Beginning of the statistics, since the run began.
    origin: Duration,
    /// Beginning of the run on the clock of the logs.
    start_ns: u64,
}

impl ReportClock {
    fn of(report: &Report, snapshot: &Snapshot) -> ReportClock {
        let origin = origin(snapshot);
        ReportClock {
            origin,
            start_ns: report.origin_ns.saturating_sub(origin.as_nanos() as u64),
        }
    }

    /// Returns a time of the statistics as text.
    fn of_figures(self, seconds: f64) -> String {
        moment(self.origin, seconds)
    }

    /// Returns a time on the clock of the logs as text.
    fn of_log(self, ns: u64) -> String {
        moment(
            Duration::ZERO,
            ns.saturating_sub(self.start_ns) as f64 / 1e9,
        )
    }
}

fn line(name: &str, text: String) -> (TextMeaning, String) {
    (TextMeaning::Plain, format!("{name:<10} {text}"))
}

/// Returns the last ten seconds of a request as text.
fn now(row: &LiveRow) -> String {
    let rates = format!(
        "{}/s · {} failed/s",
        rate(row.rate_now),
        rate(row.failures_now)
    );
    if row.worst_now == <[Duration; 4]>::default() {
        return rates;
    }
    let [p50, p95, p99, max] = row.worst_now.map(tight);
    format!("{rates} · worst second p50 {p50} · p95 {p95} · p99 {p99} · max {max}")
}

/// Adds the details that are known without a report.
fn about_row(lines: &mut StyledLines, row: &LiveRow) {
    lines.push(line(
        "requests",
        format!(
            "{} · {}/s · {} failed",
            show_count(row.count),
            rate(row.rate),
            show_count(row.failures)
        ),
    ));
    let [p50, p95, p99, max] = [row.p50, row.p95, row.p99, row.max].map(tight);
    let text = format!("50% {p50} · 95% {p95} · 99% {p99} · max {max}");
    lines.push(line("latency", text));
}

/// Returns the name, which the page may have cut, and each figure.
fn plain(row: &ListingRow, columns: &[ListingColumn]) -> StyledLines {
    let mut lines = vec![(TextMeaning::Strong, row.name.clone()), blank()];
    for (column, cell) in columns.iter().zip(&row.cells) {
        lines.push((TextMeaning::Plain, format!("{:<10} {cell}", column.title)));
    }
    lines
}

fn blank() -> (TextMeaning, String) {
    (TextMeaning::Plain, String::new())
}

fn about_error(error: &ErrorRow, clock: ReportClock) -> StyledLines {
    let mut lines = vec![(TextMeaning::Bad, one_line(&error.message)), blank()];
    let mut line =
        |name: &str, text: String| lines.push((TextMeaning::Plain, format!("{name:<10} {text}")));
    line("where", one_line(&error.name));
    if let Some(place) = &error.line {
        line("plan", one_line(place));
    }
    line("count", show_count(error.count));
    line("first", clock.of_figures(error.first_s));
    line("last", clock.of_figures(error.last_s));
    for (n, exemplar) in error.exemplars.iter().enumerate() {
        let title = match n {
            0 => "The first of these requests",
            _ => "One of the slowest others",
        };
        lines.extend([blank(), (TextMeaning::Strong, title.to_owned())]);
        lines.extend(about_exemplar(exemplar, clock));
    }
    lines
}

/// Returns the lines of an exemplar: request, response and times.
fn about_exemplar(exemplar: &Exemplar, clock: ReportClock) -> StyledLines {
    let status = match exemplar.status {
        0 => "no response".to_owned(),
        status => status.to_string(),
    };
    let mut lines = StyledLines::new();
    let mut line =
        |name: &str, text: String| lines.push((TextMeaning::Plain, format!("{name:<10} {text}")));
    line(
        "request",
        one_line(&format!("{} {}", exemplar.method, exemplar.url)),
    );
    if !exemplar.final_url.is_empty() {
        line("from", one_line(&exemplar.final_url));
    }
    line(
        "response",
        format!(
            "{status} in {} · {} of body",
            ms_text(exemplar.latency_ms),
            show_size(exemplar.body_bytes as f64)
        ),
    );
    line(
        "when",
        format!(
            "{} into the run, by user {}",
            clock.of_log(exemplar.start_ns),
            exemplar.user
        ),
    );
    line("task", one_line(&exemplar.task));
    if !exemplar.page_says.is_empty() {
        line("page says", one_line(&exemplar.page_says));
    }
    line("phases", phases_text(&exemplar.phases_ms));
    if let Some(trace) = &exemplar.trace {
        line("trace", trace_text(trace));
    }
    for (name, headers) in [
        ("sent", &exemplar.request_headers),
        ("received", &exemplar.response_headers),
    ] {
        for (n, header) in headers.iter().enumerate() {
            line(if n == 0 { name } else { "" }, one_line(header));
        }
    }
    for (n, text) in exemplar.body.lines().enumerate() {
        line(if n == 0 { "body" } else { "" }, one_line(text));
    }
    lines
}

/// Returns the line of one of the slowest requests.
fn about_slow(one: &SlowRequest, clock: ReportClock) -> (TextMeaning, String) {
    let latency = ms_text(one.latency_ms + one.delay_ms);
    let what = match &one.trace {
        Some(trace) => format!("trace {}", trace_text(trace)),
        None => one_line(&one.url),
    };
    line(
        "slow",
        format!("{latency} at {} · {what}", clock.of_log(one.start_ns)),
    )
}

fn trace_text(trace: &TraceRow) -> String {
    let id = one_line(&trace.trace_id);
    if trace.sampled {
        id
    } else {
        format!("{id} (not sampled)")
    }
}

fn phases_text(phases: &PhasesMs) -> String {
    let phases = [
        ("dns", phases.dns),
        ("connect", phases.connect),
        ("tls", phases.tls),
        ("send", phases.send),
        ("first byte", phases.first_byte),
        ("receive", phases.receive),
    ];
    let had = phases
        .iter()
        .filter_map(|(name, ms)| ms.map(|ms| format!("{name} {}", ms_text(ms))));
    had.collect::<Vec<_>>().join(" · ")
}

fn about_request(lines: &mut StyledLines, figures: &Figures) {
    let mut line =
        |name: &str, text: String| lines.push((TextMeaning::Plain, format!("{name:<10} {text}")));
    line(
        "requests",
        format!(
            "{} · {}/s · {} failed · {}",
            show_count(figures.count),
            rate(figures.rate),
            show_count(figures.failures),
            show_size(figures.bytes as f64)
        ),
    );
    if figures.redirects + figures.retries > 0 {
        line(
            "beside",
            format!(
                "{} redirect hops, {} retries",
                show_count(figures.redirects),
                show_count(figures.retries)
            ),
        );
    }
    if let Some(messages) = figures.messages {
        line("messages", show_count(messages.received));
    }
    for (name, times) in [
        ("first", &figures.first_event_ms),
        ("gaps", &figures.event_gap_ms),
    ] {
        if let Some(l) = times {
            let [p50, p95, p99, max] = [l.p50, l.p95, l.p99, l.max].map(ms_text);
            line(
                name,
                format!("p50 {p50} · p95 {p95} · p99 {p99} · max {max}"),
            );
        }
    }
    if let Some(l) = &figures.latency_ms {
        line(
            "latency",
            format!(
                "min {} · avg {} · max {}",
                ms_text(l.min),
                ms_text(l.avg),
                ms_text(l.max)
            ),
        );
        let percentiles = [
            ("p50", l.p50),
            ("p75", l.p75),
            ("p90", l.p90),
            ("p95", l.p95),
            ("p98", l.p98),
            ("p99", l.p99),
            ("p99.9", l.p99_9),
            ("p99.99", l.p99_99),
        ];
        let texts = percentiles.map(|(name, ms)| format!("{name} {}", ms_text(ms)));
        line("", texts[..4].join(" · "));
        line("", texts[4..].join(" · "));
    }
    if let Some(ok) = figures.latency_ok_ms.filter(|_| figures.failures > 0) {
        let text = format!(
            "50% {} · 95% {} · 99% {} · max {}",
            ms_text(ok.p50),
            ms_text(ok.p95),
            ms_text(ok.p99),
            ms_text(ok.max)
        );
        line("ok alone", text);
    }
    let phases = phases_text(&figures.phases_ms);
    if !phases.is_empty() {
        line("phases", phases);
    }
    let codes = figures
        .status
        .iter()
        .map(|(code, count)| match code.as_str() {
            "0" => format!("{} without response", show_count(*count)),
            code => format!("{} [{}]", show_count(*count), one_line(code)),
        });
    line("status", codes.collect::<Vec<_>>().join(", "));
}
