//! The details below an error: its whole message, and sample requests that failed with it, including headers and
//! bodies.

use super::escape::{block, text};
use crate::display::{status_text, trace_text};
use lgoose_base::figures::{moment, time};
use lgoose_base::units::{show_count, show_size};
use lgoose_metrics::{ErrorRow, Exemplar, SlowRequest};

/// Returns the label and the HTML of the part that unfolds below an error; `long` are the sentences that its row
/// shortens.
pub(super) fn of_error(error: &ErrorRow, long: &[&str]) -> Option<(String, String)> {
    let label = match (long.is_empty(), error.exemplars.len()) {
        (true, 0) => return None,
        (false, 0) => "whole message".to_owned(),
        _ if error.task().is_some() => "the latest request of such a task".to_owned(),
        (_, 1) => "a request that ended like this".to_owned(),
        (_, n) => format!("the first and the slowest of these requests ({n})"),
    };
    let long = long
        .iter()
        .map(|long| format!("<p class=\"message\"><bdi>{}</bdi></p>", text(long)));
    let exemplars = error.exemplars.iter().map(html);
    Some((label, long.chain(exemplars).collect()))
}

/// Returns the label and the HTML of the part that unfolds below one of the slowest requests.
pub(super) fn of_request(request: &SlowRequest) -> (String, String) {
    let mut words = vec![
        format!("user {}", request.user),
        format!("scenario {}", request.scenario),
        format!("task {}", request.task),
    ];
    words.extend(request.error.clone());
    let detail = format!("<p class=\"note\">{}</p>", text(&words.join(" · ")));
    (text(&request.url), detail)
}

fn html(exemplar: &Exemplar) -> String {
    let status = status_text(exemplar.status);
    let address = format!("{} {}", exemplar.method, exemplar.url);
    let mut inner = format!("<p class=\"note\">{}</p>", text(&whereabouts(exemplar)));
    let body = match exemplar.body_bytes {
        0 => String::new(),
        bytes if bytes > exemplar.body.len() as u64 => format!(
            "Body, its start of {} ({} bytes)",
            show_size(bytes as f64),
            show_count(bytes)
        ),
        _ => "Body".to_owned(),
    };
    for (title, content) in [
        ("Request headers", exemplar.request_headers.join("\n")),
        ("Response headers", exemplar.response_headers.join("\n")),
        (body.as_str(), exemplar.body.clone()),
    ] {
        if !content.is_empty() {
            inner += &format!("<h3>{title}</h3><pre>{}</pre>", block(&content));
        }
    }
    format!(
        "<details class=\"exemplar\"><summary><bdi>{}</bdi> → {status} in {}</summary>{inner}</details>",
        text(&address),
        text(&time(exemplar.latency_ms))
    )
}

/// Returns a line with the time, the user and the phases of the request.
fn whereabouts(exemplar: &Exemplar) -> String {
    let phases = &exemplar.phases_ms;
    let phases = [
        ("DNS", phases.dns),
        ("connect", phases.connect),
        ("TLS", phases.tls),
        ("send", phases.send),
        ("first byte", phases.first_byte),
        ("receive", phases.receive),
    ];
    let phases: Vec<_> = phases
        .iter()
        .filter_map(|(name, ms)| ms.map(|ms| format!("{name} {}", time(ms))))
        .collect();
    let mut words = vec![
        format!("{} into the run", moment(exemplar.start_ns as f64 / 1e9)),
        format!("user {}", exemplar.user),
    ];
    for (label, value) in [
        ("scenario", &exemplar.scenario),
        ("task", &exemplar.task),
        ("answered from", &exemplar.final_url),
    ] {
        if !value.is_empty() {
            words.push(format!("{label} {value}"));
        }
    }
    if !exemplar.page_says.is_empty() {
        words.push(format!("the page says: {}", exemplar.page_says));
    }
    if !phases.is_empty() {
        words.push(phases.join(", "));
    }
    if let Some(trace) = &exemplar.trace {
        words.push(format!("trace {}", trace_text(trace)));
    }
    words.join(" · ")
}
