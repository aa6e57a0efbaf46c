//! Shows each request and its response, for `--once`, with which people check the first steps of a plan.

use super::kind::{Ended, ExchangeOp, Flow as _};
use lgoose_base::error::{excerpt, printable};
use lgoose_base::trace::trace_id_text;
use lgoose_base::units::{counted, show_duration, show_size};
use lgoose_http::{CacheUse, Exchange, Response};
use lgoose_lua::{Finished, RequestOp, page_message};
use lgoose_plan::config::ShowLevel;
use lgoose_protocols::CallOp;
use std::fmt::Write as _;

/// The most bytes shown of a body.
const MOST_BODY: usize = 64 << 10;

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
    if show == ShowLevel::Messages {
        add_messages(&mut text, op, finished);
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
    let name = op.own_name().unwrap_or(task);
    let text = format!(
        "[{name}] {} {}: the plan's verdict: {verdict}",
        op.method(),
        op.target()
    );
    tracing::info!(target: "http", "{}", printable(&text));
}

fn first_line<O: ExchangeOp>(op: &O, task: &str, ended: &Ended<O>, result: &str) -> String {
    format!(
        "[{}] {} {}: {result}, {}, {}",
        op.own_name().unwrap_or(task),
        op.method(),
        op.target(),
        show_duration(ended.latency),
        show_size(ended.transfer.traffic().received as f64),
    )
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

fn add_messages(text: &mut String, op: &RequestOp, finished: &Finished) {
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
    body(text, '>', &op.request.body);
    if let Ok(response) = &finished.exchange.outcome {
        for (name, value) in response.headers() {
            line(text, '<', &name, &value);
        }
        body(text, '<', response.body_bytes());
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

fn body(text: &mut String, side: char, bytes: &[u8]) {
    let shown = &bytes[..bytes.len().min(MOST_BODY)];
    for row in String::from_utf8_lossy(shown).lines() {
        let _never = write!(text, "\n  {side} {row}");
    }
    if bytes.len() > MOST_BODY {
        let _never = write!(text, "\n  {side} … {} bytes in all", bytes.len());
    }
}
