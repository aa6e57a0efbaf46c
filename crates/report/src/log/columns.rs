//! The columns of each log, in their order.

use super::fields::FieldSink;
use lgoose_base::trace::{TRACE_ID, TraceContext};
use lgoose_metrics::{ExchangeMessages, LogKind, RequestEntry, TaskEntry};

/// Writes the fields of a request for that log, with its trace if `traced`; false if the log has no line for it.
pub(super) fn request(
    log: LogKind,
    traced: bool,
    entry: &RequestEntry<'_>,
    to: &mut impl FieldSink,
) -> bool {
    match log {
        LogKind::Requests => every(entry, to),
        LogKind::Errors if entry.error.is_some() => failed(entry, to),
        LogKind::Debug => match &entry.messages {
            Some(messages) => in_full(entry, messages, to),
            None => return false,
        },
        LogKind::Errors | LogKind::Tasks => return false,
    }
    if traced {
        trace(entry.trace.as_ref(), to);
    }
    true
}

/// Writes the fields of a run of a task for that log; false if the log has no line for it.
pub(super) fn task(
    log: LogKind,
    traced: bool,
    entry: &TaskEntry<'_>,
    to: &mut impl FieldSink,
) -> bool {
    match log {
        LogKind::Tasks => run(entry, to),
        LogKind::Errors if entry.error.is_some() => {
            failed_run(entry, to);
            if traced {
                trace(None, to);
            }
        }
        _ => return false,
    }
    true
}

/// Writes the trace of a request; tasks have none.
fn trace(of: Option<&TraceContext>, to: &mut impl FieldSink) {
    let value = of.map(TraceContext::header);
    // Plain digits, as they were sent.
    let text = value
        .as_ref()
        .and_then(|value| std::str::from_utf8(value).ok());
    to.optional_text("trace_id", text.and_then(|text| text.get(TRACE_ID)));
    to.optional_flag("sampled", of.map(|trace| trace.sampled));
}

fn every(entry: &RequestEntry<'_>, to: &mut impl FieldSink) {
    origin(entry, to);
    to.text("final_url", entry.final_url);
    to.number("status", entry.status.into());
    to.number("start_ns", entry.start_ns);
    to.number("end_ns", entry.end_ns);
    to.optional_number("delay_ns", entry.delay_ns);
    to.optional_number("connection", entry.connection.map(|number| number.get()));
    let [dns, connect, tls, send, first_byte, receive] = entry.phases_ns;
    to.number("dns_ns", dns);
    to.number("connect_ns", connect);
    to.number("tls_ns", tls);
    to.number("send_ns", send);
    to.number("first_byte_ns", first_byte);
    to.number("receive_ns", receive);
    to.number("bytes", entry.bytes);
    to.number("redirects", entry.redirects.into());
    to.number("retries", entry.retries.into());
    end(entry.class, entry.error, entry.line, to);
    tags(entry.tags, to);
    let counts = entry.message_counts;
    to.optional_number("messages_sent", counts.map(|[sent, _]| sent));
    to.optional_number("messages_received", counts.map(|[_, received]| received));
}

fn failed(entry: &RequestEntry<'_>, to: &mut impl FieldSink) {
    to.text("kind", "request");
    origin(entry, to);
    to.optional_number("status", Some(entry.status.into()));
    to.number("start_ns", entry.start_ns);
    to.number("end_ns", entry.end_ns);
    end(entry.class, entry.error, entry.line, to);
    tags(entry.tags, to);
}

/// Writes a failed run of a task in the columns of [`failed`].
fn failed_run(entry: &TaskEntry<'_>, to: &mut impl FieldSink) {
    to.text("kind", kind(entry));
    to.number("user", entry.user);
    to.text("scenario", entry.scenario);
    to.text("task", if entry.transaction { "" } else { entry.name });
    to.text("name", entry.name);
    to.text("method", "");
    to.text("url", "");
    to.optional_number("status", None);
    to.number("start_ns", entry.start_ns);
    to.number("end_ns", entry.end_ns);
    end("", entry.error, entry.line, to);
    tags("", to);
}

fn run(entry: &TaskEntry<'_>, to: &mut impl FieldSink) {
    to.text("kind", kind(entry));
    to.number("user", entry.user);
    to.text("scenario", entry.scenario);
    to.text("name", entry.name);
    to.number("start_ns", entry.start_ns);
    to.number("end_ns", entry.end_ns);
    to.text("outcome", entry.error.map_or("ok", |_| "failed"));
    to.optional_text("error", entry.error);
    to.optional_text("line", entry.line);
}

fn in_full(entry: &RequestEntry<'_>, messages: &ExchangeMessages<'_>, to: &mut impl FieldSink) {
    origin(entry, to);
    to.text("final_url", entry.final_url);
    to.number("status", entry.status.into());
    to.number("start_ns", entry.start_ns);
    to.number("end_ns", entry.end_ns);
    to.list("request_headers", messages.request_headers);
    to.list("response_headers", messages.response_headers);
    to.text("body", messages.body);
    to.number("body_bytes", messages.body_bytes);
    end(entry.class, entry.error, entry.line, to);
    tags(entry.tags, to);
}

fn origin(entry: &RequestEntry<'_>, to: &mut impl FieldSink) {
    to.number("user", entry.user);
    to.text("scenario", entry.scenario);
    to.text("task", entry.task);
    to.text("name", entry.name);
    to.text("method", entry.method);
    to.text("url", entry.url);
}

fn end(class: &str, error: Option<&str>, line: Option<&str>, to: &mut impl FieldSink) {
    to.optional_text("error_class", Some(class).filter(|class| !class.is_empty()));
    to.optional_text("error", error);
    to.optional_text("line", line);
}

fn tags(tags: &str, to: &mut impl FieldSink) {
    to.optional_text("tags", Some(tags).filter(|tags| !tags.is_empty()));
}

fn kind(entry: &TaskEntry<'_>) -> &'static str {
    if entry.transaction {
        "transaction"
    } else {
        "task"
    }
}
