//! Shows each request and its response, for `--once`, with which people check the first steps of a plan.

use super::kind::{Ended, ExchangeOp, Flow as _};
use lgoose_base::error::{beginning, excerpt, printable};
use lgoose_base::trace::trace_id_text;
use lgoose_base::units::{counted, show_duration, show_size};
use lgoose_http::{CacheUse, Exchange, Response};
use lgoose_lua::{Finished, RequestOp, page_message};
use lgoose_plan::config::ShowLevel;
use lgoose_protocols::CallOp;
use std::fmt::Write as _;

/// The most bytes shown of a body, unless all are wanted.
const MOST_BODY: usize = 2 << 10;

/// Writes a request and its outcome to the log.
pub(super) fn show_request(show: ShowLevel, op: &RequestOp, task: &str, finished: &Finished) {
    if show == ShowLevel::Nothing {
        return;
    }
    let mut text = first_line(
        op,
        task,
        &finished.exchange,
        &result(op, &finished.exchange),
    );
    add_outcome(&mut text, finished);
    match show {
        ShowLevel::Messages => add_messages(&mut text, op, finished, MOST_BODY),
        ShowLevel::WholeMessages => add_messages(&mut text, op, finished, usize::MAX),
        ShowLevel::Nothing | ShowLevel::Requests => {}
    }
    tracing::info!(target: "http", "{}", printable(&text));
}

/// Writes a call of another protocol and its outcome to the log.
pub(super) fn show_call(
    show: ShowLevel,
    op: &CallOp,
    task: &str,
    ended: &Ended<CallOp>,
    failure: Option<&str>,
) {
    if show != ShowLevel::Nothing {
        let text = first_line(op, task, ended, failure.unwrap_or("ok"));
        tracing::info!(target: "http", "{}", printable(&text));
    }
}

/// Writes the verdict that the plan has come to on a request, if it set one after the request was shown.
pub(super) fn show_verdict(
    show: ShowLevel,
    op: Option<&RequestOp>,
    task: &str,
    finished: &Finished,
) {
    let Some(op) = op.filter(|_| show != ShowLevel::Nothing && finished.overruled()) else {
        return;
    };
    let verdict = match finished.verdict() {
        Some(reason) => format!("failed: {reason}"),
        None => "passed".to_owned(),
    };
    let text = format!(
        "{}{} {}: the plan's verdict: {verdict}",
        label(op, task),
        op.method(),
        op.target()
    );
    tracing::info!(target: "http", "{}", printable(&text));
}

fn first_line<O: ExchangeOp>(op: &O, task: &str, ended: &Ended<O>, result: &str) -> String {
    format!(
        "{}{} {}: {result}, {}, {}",
        label(op, task),
        op.method(),
        op.target(),
        show_duration(ended.latency),
        show_size(ended.transfer.traffic().received as f64),
    )
}

/// Returns the name of a request, or of its task, in brackets; nothing without a name.
fn label<O: ExchangeOp>(op: &O, task: &str) -> String {
    match op.own_name().unwrap_or(task) {
        "" => String::new(),
        name => format!("[{name}] "),
    }
}

fn result(op: &RequestOp, exchange: &Exchange) -> String {
    match &exchange.outcome {
        Ok(response) => match response.target.text() {
            // It stands there already.
            url if url == *op.request.url => response.status.to_string(),
            url => format!("{} from {url}", response.status),
        },
        Err(failure) => failure.to_string(),
    }
}

fn add_outcome(text: &mut String, finished: &Finished) {
    let exchange = &finished.exchange;
    if let Some(trace) = &exchange.trace {
        *text += &format!(", trace {}", trace_id_text(trace.first.trace_id));
    }
    *text += match exchange.cache() {
        CacheUse::Nothing => "",
        CacheUse::Fresh => ", from the cache",
        CacheUse::NotModified => ", not modified",
    };
    if exchange.transfer.redirects > 0 {
        *text += &format!(
            ", {}",
            counted(exchange.transfer.redirects.into(), "redirect")
        );
    }
    if let (Some(failure), Ok(_)) = (finished.failure(), &exchange.outcome) {
        *text += &format!("; failed: {failure}");
    }
    if let (Some(_), Ok(response)) = (finished.failure(), &exchange.outcome)
        && let Some(beginning) = response_excerpt(response)
    {
        *text += &format!("\n  answered: {beginning}");
    }
    if finished.failure().is_some()
        && let Some(reason) = page_message(exchange)
    {
        *text += &format!("\n  the page says: {reason}");
    }
}

/// Returns the beginning of a response that is JSON or text.
fn response_excerpt(response: &Response) -> Option<String> {
    let kind = Some(response.content_type()).filter(|kind| !kind.is_empty());
    let kind = kind.map(String::from_utf8_lossy);
    excerpt(kind.as_deref(), response.body_at_hand())
}

fn add_messages(text: &mut String, op: &RequestOp, finished: &Finished, most: usize) {
    for (name, value) in &op.request.headers {
        line(text, '>', name.as_str(), value.as_bytes());
    }
    if let Some(trace) = finished
        .exchange
        .trace
        .as_ref()
        .filter(|trace| !trace.set_by_plan)
    {
        line(text, '>', "traceparent", &trace.first.header());
    }
    let is_kind = |(name, _): &&(_, _)| *name == "content-type";
    let sent = op.request.headers.iter().find(is_kind);
    let sent = sent.map_or(&b""[..], |(_, kind)| kind.as_bytes());
    body(text, '>', &op.request.body, sent, most);
    if let Ok(response) = &finished.exchange.outcome {
        for (name, value) in response.headers() {
            line(text, '<', &name, &value);
        }
        body(
            text,
            '<',
            response.body_bytes(),
            response.content_type(),
            most,
        );
    }
}

fn line(text: &mut String, side: char, name: &str, value: &[u8]) {
    // Writing to a String cannot fail.
    let _never = write!(
        text,
        "\n  {side} {name}: {}",
        String::from_utf8_lossy(value)
    );
}

/// Writes at most so many bytes of a body that is text, and of another one its size and type.
fn body(text: &mut String, side: char, bytes: &[u8], kind: &[u8], most: usize) {
    if bytes.is_empty() {
        return;
    }
    let kind = String::from_utf8_lossy(kind);
    let size = show_size(bytes.len() as f64);
    if !is_text(bytes, &kind) {
        let kind = if kind.is_empty() { "not text" } else { &kind };
        // Writing to a String cannot fail.
        let _never = write!(text, "\n  {side} ({size}, {kind})");
        return;
    }
    for row in beginning(bytes, most).lines() {
        let _never = write!(text, "\n  {side} {row}");
    }
    if bytes.len() > most {
        let _never = write!(
            text,
            "\n  {side} … {size} in all, which '--http-debug -v' shows"
        );
    }
}

/// Returns whether a body is text that a person can read: by its type, or else by its bytes.
fn is_text(bytes: &[u8], kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let is_text_type = kind.starts_with("text/")
        || [
            "json",
            "xml",
            "javascript",
            "x-www-form-urlencoded",
            "yaml",
            "graphql",
        ]
        .iter()
        .any(|end| kind.ends_with(end));
    // The beginning is enough, and a cut may go through a character.
    let start = &bytes[..bytes.len().min(1 << 10)];
    let is_utf8 = match str::from_utf8(start) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    is_text_type || is_utf8 && !start.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8], kind: &str, most: usize) -> String {
        let mut text = String::new();
        body(&mut text, '<', bytes, kind.as_bytes(), most);
        text
    }

    #[test]
    fn texts_are_shown_up_to_a_length_and_other_bodies_by_size_and_type() {
        assert_eq!(shown(b"", "text/html", 9), "");
        assert_eq!(shown(b"a\nb", "text/html", 9), "\n  < a\n  < b");
        assert_eq!(shown("añb".as_bytes(), "", 99), "\n  < añb");
        assert_eq!(
            shown(b"\x89PNG\0\xff", "image/png", 99),
            "\n  < (6 B, image/png)"
        );
        assert_eq!(shown(b"\0\x01", "", 99), "\n  < (2 B, not text)");
        assert_eq!(
            shown(b"caf\xe9", "text/plain; charset=latin1", 99),
            "\n  < caf\u{fffd}"
        );
        let cut = shown(&b"x".repeat(3000), "application/json", 4);
        assert_eq!(
            cut,
            "\n  < xxxx\n  < … 2.93 KiB in all, which '--http-debug -v' shows"
        );
    }
}
