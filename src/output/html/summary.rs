//! The first screen: did it pass, how fast, how many errors, and was the generator honest.

use super::escape::text;
use crate::metrics::Report;
use crate::output::text::{broken_line, rate, share, time as duration};
use crate::units::{counted, show_count, show_duration, show_long, show_size, three_digits};
use std::time::Duration;

/// Broken thresholds named beside the verdict; the table has all.
const MOST_REASONS: usize = 5;

/// The head of the page: what was run, the verdict, the figures that matter, warnings.
pub(super) fn head(report: &Report) -> String {
    let started = report.started.split('.').next().unwrap_or_default();
    let started = started.replacen('T', " ", 1);
    format!(
        "<header>\n<p class=\"brand\">lgoose</p>\n<h1><bdi>{}</bdi> <span>against</span> <bdi>{}</bdi></h1>\n\
         <p class=\"facts\">{} UTC · {} · {} · lgoose {}</p>\n</header>\n{}{}{}",
        text(&report.plan),
        text(&report.host),
        text(&started),
        elapsed(report),
        counted(report.users, "user"),
        text(&report.version),
        verdict(report),
        cards(report),
        warnings(report),
    )
}

fn verdict(report: &Report) -> String {
    let total = &report.aggregated;
    let broken: Vec<_> = report.thresholds.iter().filter(|row| !row.passed).collect();
    let mut reasons: Vec<String> = broken.iter().map(|row| broken_line(row)).collect();
    if reasons.len() > MOST_REASONS {
        let rest = reasons.len() - (MOST_REASONS - 1);
        reasons.truncate(MOST_REASONS - 1);
        reasons.push(format!("and {rest} more, in the table of thresholds"));
    }
    if total.count == 0 {
        reasons.insert(0, "no request was made".to_owned());
    } else if total.failures == total.count {
        reasons.insert(0, "not one request succeeded".to_owned());
    }
    let (class, mark, word) = match (reasons.is_empty(), report.thresholds.is_empty()) {
        (false, _) => ("failed", "✗", "Failed"),
        (true, false) => ("passed", "✓", "Passed"),
        (true, true) => ("open", "○", "Finished"),
    };
    let detail = match (report.thresholds.len(), broken.len()) {
        (0, _) if reasons.is_empty() => "no thresholds were set, so there is no verdict".to_owned(),
        (0, _) => String::new(),
        (all, 0) => format!("{all} of {} held", counted(all as u64, "threshold")),
        (all, n) => format!("{n} of {} broken", counted(all as u64, "threshold")),
    };
    let saturated = report.generator.is_some_and(|row| row.saturated_s > 0.0);
    let but = match saturated {
        true => " · lgoose itself was the bottleneck for a part of the run",
        false => "",
    };
    let items: String = reasons
        .iter()
        .map(|reason| format!("<li>{}</li>", text(reason)))
        .collect();
    let list = if items.is_empty() {
        items
    } else {
        format!("<ul>{items}</ul>")
    };
    format!(
        "<section class=\"verdict {class}\" aria-label=\"Verdict\"><p><span class=\"mark\" aria-hidden=\"true\">{mark}</span>\
         <strong>{word}</strong> <span>{detail}{but}</span></p>{list}</section>\n"
    )
}

fn cards(report: &Report) -> String {
    let total = &report.aggregated;
    let latency = total.latency_ms.as_ref();
    let (p95, fast) = match latency {
        Some(l) => (
            time(l.p95),
            format!(
                "p50\u{a0}{} · p99\u{a0}{} · max\u{a0}{}",
                time(l.p50),
                time(l.p99),
                time(l.max)
            ),
        ),
        None => ("–".to_owned(), "no request was answered".to_owned()),
    };
    let much = format!(
        "{} · {} received",
        counted(total.count, "request"),
        show_size(total.bytes as f64)
    );
    let failing = if total.failures > 0 {
        "card bad"
    } else {
        "card"
    };
    let failed = match total.count {
        0 => "–".to_owned(),
        all => share(total.failures, all),
    };
    let errors = match report.errors.first() {
        Some(error) => format!(
            "{} failed · most often: {}",
            show_count(total.failures),
            short(&error.message)
        ),
        None => format!("{} failed", show_count(total.failures)),
    };
    let (class, honest, effort) = generator(report);
    let card = |class: &str, label: &str, value: &str, more: &str| {
        format!(
            "<div class=\"{class}\"><h2>{label}</h2><p class=\"value\">{value}</p><p class=\"more\">{}</p></div>\n",
            text(more)
        )
    };
    format!(
        "<section class=\"cards\" aria-label=\"Key figures\">\n{}{}{}{}</section>\n",
        card("card", "Latency, 95% within", &p95, &fast),
        card(
            "card",
            "Throughput",
            &format!("{}<small>/s</small>", rate(total.rate)),
            &much
        ),
        card(failing, "Failures", &failed, &errors),
        card(class, "Load generator", &honest, &effort),
    )
}

/// Whether lgoose itself kept up, and how hard it worked.
fn generator(report: &Report) -> (&'static str, String, String) {
    let Some(row) = &report.generator else {
        return ("card", "–".to_owned(), "not measured".to_owned());
    };
    let percent = |part: f64| format!("{}%", three_digits(part * 100.0));
    let p99 = report.aggregated.latency_ms.map(|latency| latency.p99);
    let own = p99.and_then(|p99| row.own_part(p99));
    let own = own.map_or_else(String::new, |own| format!("{own} · "));
    let effort = format!(
        "{own}busiest thread {} at most · timers at most {} late",
        percent(row.busiest),
        time(row.lag_max_ms)
    );
    let dropped = report.arrivals.filter(|row| row.dropped > 0);
    match (row.saturated_s > 0.0, dropped) {
        (true, _) => (
            "card bad",
            "too slow".to_owned(),
            format!(
                "the bottleneck in {} of {} s, whose latencies are partly its own; {effort}",
                show_count(row.saturated_s.round() as u64),
                show_count(row.judged_s.max(row.saturated_s).round() as u64)
            ),
        ),
        (false, Some(arrivals)) => (
            "card bad",
            format!(
                "{} <small>starts dropped</small>",
                show_count(arrivals.dropped)
            ),
            format!("no user was free for them; {effort}"),
        ),
        (false, None) => ("card good", "kept up".to_owned(), effort),
    }
}

fn warnings(report: &Report) -> String {
    let items: String = report
        .warnings
        .iter()
        .map(|warning| format!("<li>{}</li>", text(warning)))
        .collect();
    match items.is_empty() {
        true => items,
        false => format!(
            "<section class=\"warnings\" aria-label=\"Warnings\"><h2>Read this first</h2><ul>{items}</ul></section>\n"
        ),
    }
}

fn elapsed(report: &Report) -> String {
    let elapsed = Duration::try_from_secs_f64(report.elapsed_s).unwrap_or_default();
    match report.elapsed_s < 60.0 {
        true => show_duration(elapsed),
        false => show_long(elapsed),
    }
}

/// A time whose unit stays with it.
fn time(ms: f64) -> String {
    duration(ms).replace(' ', "\u{a0}")
}

fn short(message: &str) -> String {
    match message.char_indices().nth(70) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}
