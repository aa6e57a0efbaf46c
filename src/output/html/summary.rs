//! The first screen of the page: verdict, speed, errors, and whether lgoose itself kept up.

use super::escape::text;
use crate::metrics::{Report, VerdictResult};
use crate::output::display::{Diagnosis, measured_from};
use crate::output::display::{rate, share, time as duration};
use crate::units::{counted, show_count, show_duration, show_long, show_size, three_digits};
use std::time::Duration;

/// The most sentences next to the verdict; the rest is counted.
const MOST_REASONS: usize = 5;

/// Renders the head of the page: what was run, the verdict, the main figures, warnings.
pub(super) fn head(report: &Report) -> String {
    let started = report.started.split('.').next().unwrap_or_default();
    let started = started.replacen('T', " ", 1);
    format!(
        "<header>\n<p class=\"brand\">lgoose</p>\n<h1><bdi>{}</bdi> <span>against</span> <bdi>{}</bdi></h1>\n\
         <p class=\"facts\">{} UTC · {} · {} · lgoose {}</p>\n</header>\n{}{}{}{}",
        text(&report.plan),
        text(&report.host),
        text(&started),
        elapsed(report),
        counted(report.users, "user"),
        text(&report.version),
        verdict(report),
        diagnosis(report),
        cards(report),
        warnings(report),
    )
}

fn verdict(report: &Report) -> String {
    let verdict = report.verdict.as_ref();
    let ending = report.ending.as_ref();
    let short = ending.is_none_or(|ending| ending.cut_short);
    let (class, mark, word) = match verdict.map(|verdict| verdict.result) {
        Some(VerdictResult::Failed) => ("failed", "✗", "Failed"),
        Some(VerdictResult::Passed) if short => ("passed", "✓", "Passed so far"),
        Some(VerdictResult::Passed) => ("passed", "✓", "Passed"),
        Some(VerdictResult::None) | None => ("open", "○", "Finished"),
    };
    let broken = report.thresholds.iter().filter(|row| !row.passed).count();
    let mut details: Vec<String> = match (report.thresholds.len() as u64, broken) {
        (0, _) => Vec::new(),
        (all, 0) => vec![format!("{all} of {} held", counted(all, "threshold"))],
        (all, n) => vec![format!("{n} of {} broken", counted(all, "threshold"))],
    };
    if report.generator.is_some_and(|row| row.saturated_s > 0.0) {
        details.push("lgoose itself was the bottleneck for part of the run".to_owned());
    }
    let line = |class: &str, message: Option<&String>| match message {
        Some(message) => format!("<p class=\"{class}\">{}</p>", text(message)),
        None => String::new(),
    };
    format!(
        "<section class=\"verdict {class}\" aria-label=\"Verdict\"><p><span class=\"mark\" aria-hidden=\"true\">{mark}</span>\
         <strong>{word}</strong> <span>{}</span></p>{}{}{}{}</section>\n",
        details.join(" · "),
        line("told", verdict.map(|verdict| &verdict.text)),
        line("ending", ending.map(|ending| &ending.text)),
        list("reasons", verdict.map_or(&[], |verdict| &verdict.reasons)),
        list("remarks", verdict.map_or(&[], |verdict| &verdict.remarks)),
    )
}

/// Renders since when, where and why something failed.
fn diagnosis(report: &Report) -> String {
    let Some(diagnosis) = Diagnosis::of_report(report) else {
        return String::new();
    };
    let answers = diagnosis.answers().into_iter();
    let answers =
        answers.map(|(question, line)| format!("<dt>{question}</dt><dd>{}</dd>", text(&line)));
    let class = if diagnosis.is_failing() {
        "failing"
    } else {
        "few"
    };
    format!(
        "<section class=\"diagnosis {class}\" aria-label=\"Diagnosis\"><h2>{}</h2><dl>{}</dl></section>\n",
        text(&diagnosis.heading(measured_from(report))),
        answers.collect::<String>()
    )
}

/// Renders the first of several sentences; the rest is counted. A single reason is on the line of the verdict.
fn list(class: &str, sentences: &[String]) -> String {
    let shown = match sentences.len() {
        0 => return String::new(),
        1 if class == "reasons" => return String::new(),
        count if count > MOST_REASONS => MOST_REASONS - 1,
        count => count,
    };
    let mut items: String = sentences[..shown]
        .iter()
        .map(|sentence| format!("<li>{}</li>", text(sentence)))
        .collect();
    if sentences.len() > shown {
        let rest = sentences.len() - shown;
        items += &format!("<li>and {rest} more, in the tables and in the JSON report</li>");
    }
    format!("<ul class=\"{class}\">{items}</ul>")
}

fn cards(report: &Report) -> String {
    let total = &report.aggregated;
    // What fails at once must not make a site look fast.
    let (label, latency) = if total.failures > 0 {
        ("Latency of successes, p95", &total.latency_ok_ms)
    } else {
        ("Latency, p95", &total.latency_ms)
    };
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
        None if total.count > 0 => ("–".to_owned(), "no request succeeded".to_owned()),
        None => ("–".to_owned(), "no request was answered".to_owned()),
    };
    let sent = total.bytes_sent.map_or_else(String::new, |bytes| {
        format!(" · {} sent", show_size(bytes as f64))
    });
    let much = format!(
        "{} · {} received{sent}",
        counted(total.count, "request"),
        show_size(total.bytes as f64)
    );
    let (failing, failed, errors) = failures(report);
    let (class, honest, effort) = generator(report);
    let card = |class: &str, label: &str, value: &str, more: &str| {
        format!(
            "<div class=\"{class}\"><h2>{label}</h2><p class=\"value\">{value}</p><p class=\"more\">{}</p></div>\n",
            text(more)
        )
    };
    format!(
        "<section class=\"cards\" aria-label=\"Key figures\">\n{}{}{}{}</section>\n",
        card("card", label, &p95, &fast),
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

/// Returns the class, the value and more of the card of failures: requests, tasks and checks, whichever fail most.
fn failures(report: &Report) -> (&'static str, String, String) {
    let [requests, tasks, checks] = report.failures();
    let kinds = [(requests, "request"), (tasks, "task"), (checks, "check")];
    let share_of = |(failed, all): (u64, u64)| failed as f64 / all.max(1) as f64;
    let mut worst = kinds[0];
    for kind in &kinds[1..] {
        if share_of(kind.0) > share_of(worst.0) {
            worst = *kind;
        }
    }
    let ((failed, all), noun) = worst;
    let value = match (all, noun) {
        (0, _) => "–".to_owned(),
        (_, "request") => share(failed, all),
        (_, noun) => format!("{}<small> of {noun}s</small>", share(failed, all)),
    };
    let counts = kinds
        .iter()
        .filter(|((failed, _), noun)| *failed > 0 || *noun == "request");
    let counts: Vec<String> = counts
        .map(|((failed, all), noun)| format!("{} of {}", show_count(*failed), counted(*all, noun)))
        .collect();
    let most = report.errors.first();
    let most = most.map_or_else(String::new, |error| {
        format!(" · most often: {}", short(&error.message))
    });
    let class = if failed > 0 { "card bad" } else { "card" };
    (class, value, format!("{}{most}", counts.join(" · ")))
}

/// Renders whether lgoose itself kept up, and how busy it was.
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
    if items.is_empty() {
        items
    } else {
        format!(
            "<section class=\"warnings\" aria-label=\"Warnings\"><h2>Read this first</h2><ul>{items}</ul></section>\n"
        )
    }
}

fn elapsed(report: &Report) -> String {
    let elapsed = Duration::try_from_secs_f64(report.elapsed_s).unwrap_or_default();
    if report.elapsed_s < 60.0 {
        show_duration(elapsed)
    } else {
        show_long(elapsed)
    }
}

/// Formats a time with a no-break space before its unit.
fn time(ms: f64) -> String {
    duration(ms).replace(' ', "\u{a0}")
}

fn short(message: &str) -> String {
    match message.char_indices().nth(70) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}
