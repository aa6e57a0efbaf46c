//! The facts of a run as labels with a few words each: the plan, its results, warnings and the verdict.

use super::workers;
use lgoose_base::figures::{per_second, rate, share, time, with_share};
use lgoose_base::line::one_line;
use lgoose_base::units::{counted, show_count, show_duration, show_long, show_size, three_digits};
use lgoose_metrics::{Event, EventKind, Figures, GeneratorRow, Report};
use std::time::Duration;

/// Returns the facts as labels with a few words each: the plan and its results.
pub(crate) fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let total = &report.aggregated;
    let elapsed = Duration::try_from_secs_f64(report.elapsed_s).unwrap_or_default();
    // Single iterations have no rate.
    let settings = report.settings.as_ref();
    let pace = match total.count {
        0 | 1 => None,
        _ if settings.is_some_and(|settings| settings.once) => None,
        _ => Some(format!("{}/s", rate(total.rate))),
    };
    let requests = match total.count {
        0 => "no request was finished".to_owned(),
        count => {
            let failed = format!("{} failed", with_share(total.failures, count));
            let parts = [Some(show_count(count)), pace, Some(failed)];
            parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
        }
    };
    let flow = |bytes: u64| {
        let per_second = show_size(per_second(bytes as f64, report.elapsed_s));
        (show_size(bytes as f64), per_second)
    };
    let (received, per_second) = flow(total.bytes);
    let sent = total.bytes_sent.map_or_else(String::new, |bytes| {
        let (sent, per_second) = flow(bytes);
        format!(" · {sent} sent, {per_second}/s")
    });
    let mut lines = vec![
        ("plan", one_line(&report.plan)),
        ("host", one_line(&report.host)),
        ("users", users(report)),
        ("started", one_line(&report.started)),
        ("elapsed", exact_seconds(elapsed)),
        ("requests", requests),
        (
            "transferred",
            format!("{received} received, {per_second}/s{sent}"),
        ),
        ("seed", report.seed.to_string()),
        ("version", format!("lgoose {}", one_line(&report.version))),
    ];
    let [_, tasks, checks] = report.failures();
    let failed = [(tasks, "task"), (checks, "check")];
    let failed = failed.into_iter().filter(|((failed, _), _)| *failed > 0);
    let failed: Vec<String> = failed
        .map(|((failed, all), noun)| {
            let of = counted(all, noun);
            format!("{} of {of} ({})", show_count(failed), share(failed, all))
        })
        .collect();
    if !failed.is_empty() {
        lines.insert(6, ("failed", failed.join(" · ")));
    }
    if let Some(workers) = workers::fact(report) {
        lines.insert(3, ("workers", workers));
    }
    if total.retries > 0 {
        let text = format!(
            "{}, on connections that the site had closed",
            show_count(total.retries)
        );
        lines.insert(6, ("retries", text));
    }
    if total.redirects > 0 {
        let hops = counted(total.redirects, "hop");
        lines.insert(6, ("redirects", format!("{hops}, not counted as requests")));
    }
    if let Some(arrivals) = &report.arrivals {
        let late = arrivals.delay_ms.map_or_else(String::new, |delay| {
            format!(
                " · started late by {}, 99% at most {}",
                time(delay.avg),
                time(delay.p99)
            )
        });
        let text = format!(
            "{} started · {} dropped{late}",
            show_count(arrivals.started),
            with_share(arrivals.dropped, arrivals.started + arrivals.dropped)
        );
        lines.insert(5, ("iterations", text));
    }
    if let Some(generator) = &report.generator {
        let text = generator_line(generator, total);
        lines.insert(lines.len() - 2, ("generator", text));
    }
    if let Some(warmup) = &report.warmup {
        let text = apart(warmup.elapsed_s, &warmup.aggregated);
        lines.insert(5, ("warm-up", text));
    }
    lines.extend(report.earlier.iter().map(|earlier| {
        let text = apart(earlier.elapsed_s, &earlier.aggregated);
        ("figures before", text)
    }));
    lines.extend(report.logs.iter().map(|log| {
        let text = format!("{} lines in {}", show_count(log.lines), one_line(&log.file));
        ("log", text)
    }));
    lines.extend(
        report
            .warnings
            .iter()
            .map(|warning| ("warning", one_line(warning))),
    );
    if let Some(verdict) = &report.verdict {
        let remarks = verdict.remarks.iter();
        lines.extend(remarks.map(|remark| ("remark", one_line(remark))));
    }
    if let Some(ending) = &report.ending {
        lines.push(("ending", one_line(&ending.text)));
    }
    if let Some(verdict) = &report.verdict {
        lines.push(("verdict", one_line(&verdict.text)));
    }
    lines
}

/// Returns the requests of a time that is not part of the figures.
fn apart(elapsed_s: f64, total: &Figures) -> String {
    format!(
        "{} · {} requests, {} failed · not in the figures above",
        exact_seconds(Duration::try_from_secs_f64(elapsed_s).unwrap_or_default()),
        show_count(total.count),
        with_share(total.failures, total.count)
    )
}

/// Returns the most users at the same time, or that none of them reached its tasks.
fn users(report: &Report) -> String {
    let lost = report.ending.as_ref().is_some_and(|ending| ending.all_lost);
    match &report.settings {
        Some(settings) if lost && settings.rate.is_none() => format!(
            "0 of {}: all that started ended in 'on_start'",
            show_count(settings.users)
        ),
        _ => show_count(report.users),
    }
}

/// Returns the generator's own figures: threads, CPU, late timers and connections.
fn generator_line(generator: &GeneratorRow, total: &Figures) -> String {
    let percent = |share: f64| format!("{}%", three_digits(share * 100.0));
    let connections = match generator.connections {
        0 => String::new(),
        connections => format!(" · {}", counted(connections, "connection")),
    };
    let own = total.latency_ok_ms;
    let own = own.and_then(|row| generator.own_part(row.p99));
    let own = own.map_or_else(String::new, |own| format!(" · {own}"));
    let limit = generator.cpu_limit.filter(|limit| limit.times > 0);
    let limit = limit.map_or_else(String::new, |limit| {
        format!(
            " · held back {} for {} by a limit of {} cores",
            counted(limit.times, "time"),
            time(limit.held_back_s * 1e3),
            (limit.cores * 100.0).round() / 100.0
        )
    });
    format!(
        "{}, {} busy, at most {}{own} · timers late by {}, at most {}{connections}{limit}",
        counted(generator.threads, "thread"),
        percent(generator.busy),
        percent(generator.busiest),
        time(generator.lag_avg_ms),
        time(generator.lag_max_ms)
    )
}

/// Formats the elapsed time: `60.3 s` or, from a minute on, also as on the command line: `1h2m3s (3,723 s)`.
fn exact_seconds(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    match seconds {
        s if s < 60.0 => show_duration(elapsed),
        s => format!("{} ({} s)", show_long(elapsed), three_digits(s)),
    }
}

/// Returns the events that are worth a mark, except those that charts show anyway.
pub(crate) fn marked_events(report: &Report) -> impl Iterator<Item = &Event> {
    let shown_anyway = [EventKind::Saturation, EventKind::End];
    let events = report.events.iter();
    events.filter(move |event| !shown_anyway.contains(&event.kind))
}
