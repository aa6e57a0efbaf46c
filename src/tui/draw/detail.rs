//! All there is to the selected row, as lines of text.

use super::super::history::bars;
use super::super::listing::{Entry, one_line};
use super::super::pages::{label, listing, moment, ms_text, rate};
use super::super::state::{State, Tab};
use super::super::style::Meaning;
use crate::metrics::{ErrorRow, Exemplar, Figures, PhasesMs, Report, Snapshot};
use crate::units::{show_count, show_size};

type Lines = Vec<(Meaning, String)>;

pub(super) fn lines(state: &State, snapshot: &Snapshot) -> Lines {
    let listing = listing(state, snapshot);
    let Some(row) = listing.rows.get(state.selected()) else {
        return vec![(Meaning::Faint, "nothing is selected".to_owned())];
    };
    let empty = Report::default();
    let report = state.report.as_deref().unwrap_or(&empty);
    match state.tab {
        Tab::Errors => {
            let named = |error: &&ErrorRow| row.name == error_name(error);
            match report.errors.iter().find(named) {
                Some(error) => about_error(error),
                None => plain(row, &listing.columns),
            }
        }
        Tab::Requests | Tab::Latency | Tab::Codes => {
            let named = report
                .requests
                .iter()
                .find(|request| label(&request.method, &request.name) == row.name);
            match named {
                Some(request) => about_request(&row.name, &request.figures, report),
                None => plain(row, &listing.columns),
            }
        }
        _ => plain(row, &listing.columns),
    }
}

fn error_name(error: &ErrorRow) -> String {
    format!("{}: {}", one_line(&error.name), one_line(&error.message))
}

/// The name, which the page may have cut, and each figure.
fn plain(row: &Entry, columns: &[super::super::listing::Column]) -> Lines {
    let mut lines = vec![(Meaning::Strong, row.name.clone()), blank()];
    for (column, cell) in columns.iter().zip(&row.cells) {
        lines.push((Meaning::Plain, format!("{:<10} {cell}", column.title)));
    }
    lines
}

fn blank() -> (Meaning, String) {
    (Meaning::Plain, String::new())
}

fn about_error(error: &ErrorRow) -> Lines {
    let mut lines = vec![(Meaning::Bad, one_line(&error.message)), blank()];
    let mut line =
        |name: &str, text: String| lines.push((Meaning::Plain, format!("{name:<10} {text}")));
    line("where", one_line(&error.name));
    if let Some(place) = &error.line {
        line("plan", one_line(place));
    }
    line("count", show_count(error.count));
    line("first", moment(error.first_s));
    line("last", moment(error.last_s));
    for (n, exemplar) in error.exemplars.iter().enumerate() {
        let title = match n {
            0 => "The first of these requests",
            _ => "One of the slowest others",
        };
        lines.extend([blank(), (Meaning::Strong, title.to_owned())]);
        lines.extend(about_exemplar(exemplar));
    }
    lines
}

/// What was asked, what came back and when.
fn about_exemplar(exemplar: &Exemplar) -> Lines {
    let status = match exemplar.status {
        0 => "no response".to_owned(),
        status => status.to_string(),
    };
    let mut lines = Lines::new();
    let mut line =
        |name: &str, text: String| lines.push((Meaning::Plain, format!("{name:<10} {text}")));
    line(
        "request",
        one_line(&format!("{} {}", exemplar.method, exemplar.url)),
    );
    if !exemplar.final_url.is_empty() {
        line("from", one_line(&exemplar.final_url));
    }
    line(
        "answer",
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
            moment(exemplar.start_ns as f64 / 1e9),
            exemplar.user
        ),
    );
    line("task", one_line(&exemplar.task));
    line("phases", phases_text(&exemplar.phases_ms));
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

fn about_request(name: &str, figures: &Figures, report: &Report) -> Lines {
    let mut lines = vec![(Meaning::Strong, name.to_owned()), blank()];
    let mut line =
        |name: &str, text: String| lines.push((Meaning::Plain, format!("{name:<10} {text}")));
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
            ("50%", l.p50),
            ("75%", l.p75),
            ("90%", l.p90),
            ("95%", l.p95),
            ("98%", l.p98),
            ("99%", l.p99),
            ("99.9%", l.p99_9),
            ("99.99%", l.p99_99),
        ];
        let texts = percentiles.map(|(name, ms)| format!("{name} {}", ms_text(ms)));
        line("", texts[..4].join(" · "));
        line("", texts[4..].join(" · "));
    }
    line("phases", phases_text(&figures.phases_ms));
    let codes = figures
        .status
        .iter()
        .map(|(code, count)| match code.as_str() {
            "0" => format!("{} without response", show_count(*count)),
            code => format!("{} [{}]", show_count(*count), one_line(code)),
        });
    line("status", codes.collect::<Vec<_>>().join(", "));
    lines.extend(distribution(figures));
    let own = report
        .errors
        .iter()
        .filter(|error| one_line(&error.name) == name);
    for error in own {
        let text = format!("{} × {}", show_count(error.count), one_line(&error.message));
        lines.push((Meaning::Bad, text));
    }
    lines
}

/// Requests by latency in stretches that double: from 64 µs to 128 µs and so on.
fn distribution(figures: &Figures) -> Lines {
    let doubling = figures.doubling_us();
    let most = doubling.iter().map(|(_, count)| *count).max().unwrap_or(0);
    if most == 0 {
        return Lines::new();
    }
    let counts = doubling.iter().map(|(_, count)| *count as f64);
    let mut lines = vec![
        blank(),
        (Meaning::Faint, format!("distribution  {}", bars(counts))),
    ];
    for (below_us, count) in doubling {
        let full = (count as f64 / most as f64 * 40.0).ceil() as usize;
        let below = ms_text(below_us as f64 / 1e3);
        let text = format!(
            "below {below:>7}  {:<40} {}",
            "█".repeat(full),
            show_count(count)
        );
        lines.push((Meaning::Graph, text));
    }
    lines
}
