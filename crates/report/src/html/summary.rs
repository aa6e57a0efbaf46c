//! The first screen of the page: verdict, speed, errors, and whether lgoose itself kept up.

use super::escape::text;
use crate::document::{Head, Outcome, Statement};
use lgoose_base::figures::{rate, share, time as duration};
use lgoose_base::units::{counted, show_count, show_duration, show_long, show_size, three_digits};
use lgoose_metrics::Report;
use std::time::Duration;

/// Renders the head of the page: the plan, the verdict, the main figures, warnings.
pub(super) fn head(report: &Report) -> String {
    let head = Head::of(report);
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
        verdict(&head),
        diagnosis(&head),
        cards(report),
        warnings(&head),
    )
}

fn verdict(head: &Head<'_>) -> String {
    let (class, mark) = match head.outcome {
        Outcome::Passed | Outcome::PassedSoFar => ("passed", "✓"),
        Outcome::Failed => ("failed", "✗"),
        Outcome::Open => ("open", "○"),
    };
    let line = |kind: Statement, class: &str| {
        let of_kind = head.sentences.iter().filter(|(each, _)| *each == kind);
        let lines = of_kind.map(|(_, each)| format!("<p class=\"{class}\">{}</p>", text(each)));
        lines.collect::<String>()
    };
    format!(
        "<section class=\"verdict {class}\" aria-label=\"Verdict\"><p><span class=\"mark\" aria-hidden=\"true\">{mark}</span>\
         <strong>{}</strong> <span>{}</span></p>{}{}{}{}</section>\n",
        head.outcome.word(),
        head.details.join(" · "),
        line(Statement::Verdict, "told"),
        line(Statement::Ending, "ending"),
        list("reasons", Statement::Reason, head),
        list("remarks", Statement::Remark, head),
    )
}

/// Renders since when, where and why something failed.
fn diagnosis(head: &Head<'_>) -> String {
    let Some((diagnosis, heading)) = &head.diagnosis else {
        return String::new();
    };
    let findings = diagnosis.findings().into_iter();
    let findings =
        findings.map(|(question, line)| format!("<dt>{question}</dt><dd>{}</dd>", text(&line)));
    let class = if diagnosis.is_failing() {
        "failing"
    } else {
        "few"
    };
    format!(
        "<section class=\"diagnosis {class}\" aria-label=\"Diagnosis\"><h2>{}</h2><dl>{}</dl></section>\n",
        text(heading),
        findings.collect::<String>()
    )
}

/// Renders the sentences of a kind as a list; nothing if there are none.
fn list(class: &str, kind: Statement, head: &Head<'_>) -> String {
    let of_kind = head.sentences.iter().filter(|(each, _)| *each == kind);
    let items: String = of_kind
        .map(|(_, each)| format!("<li>{}</li>", text(each)))
        .collect();
    if items.is_empty() {
        items
    } else {
        format!("<ul class=\"{class}\">{items}</ul>")
    }
}

fn cards(report: &Report) -> String {
    let total = &report.aggregated;
    // Failures that take no time must not make a site look fast.
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
            &match total.count {
                1 => "–".to_owned(),
                _ => format!("{}<small>/s</small>", rate(total.rate)),
            },
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
    let p99 = report.aggregated.latency_ok_ms.map(|latency| latency.p99);
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

fn warnings(head: &Head<'_>) -> String {
    match list("", Statement::Warning, head) {
        none if none.is_empty() => none,
        items => format!(
            "<section class=\"warnings\" aria-label=\"Warnings\"><h2>Read this first</h2>{items}</section>\n"
        ),
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
