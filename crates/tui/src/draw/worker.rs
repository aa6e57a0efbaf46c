//! All known facts about a worker, as lines of text.

use super::super::pages::{ms_text, rate, tight, worker_offset, worker_state};
use super::super::style::TextMeaning;
use super::super::text::one_line;
use super::paint::StyledLines;
use lgoose_base::units::{counted, show_count};
use lgoose_metrics::LiveWorker;

pub(super) fn lines(row: &LiveWorker) -> StyledLines {
    let mut lines = vec![
        (TextMeaning::Strong, one_line(&row.name)),
        (TextMeaning::Plain, String::new()),
    ];
    let mut line =
        |name: &str, text: String| lines.push((TextMeaning::Plain, format!("{name:<10} {text}")));
    line("state", worker_state(row).to_owned());
    line("labels", one_line(&row.labels_text()));
    line("version", format!("lgoose {}", one_line(&row.version)));
    line(
        "users",
        format!(
            "{} on {}",
            show_count(row.users),
            counted(row.threads, "thread")
        ),
    );
    line(
        "requests",
        format!(
            "{} · {}/s now · {} failed",
            show_count(row.requests),
            rate(row.rate_now),
            show_count(row.failures)
        ),
    );
    line("latency", format!("95% {}", tight(row.p95)));
    line(
        "busy",
        format!(
            "{:.0}% of the time, the busiest thread in its latest second; timers {} late",
            row.busy * 100.0,
            tight(row.lag)
        ),
    );
    line(
        "clock",
        format!(
            "{} against the manager's, within {}",
            worker_offset(row),
            ms_text(row.offset_within_ms)
        ),
    );
    if row.saturated {
        let text = "its latencies are partly its own: give it cores, or spread its users over more workers";
        lines.push((TextMeaning::Warning, text.to_owned()));
    }
    lines
}
