//! The variables of nginx's `log_format` (<https://nginx.org/en/docs/http/ngx_http_log_module.html>).

use super::access_line::Moment;
use super::pattern::{LineField, Piece};
use super::values::SECOND;

/// Splits a format into texts and fields.
pub(super) fn pieces(format: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('$') {
        text.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, behind) = match after
            .strip_prefix('{')
            .and_then(|name| name.split_once('}'))
        {
            Some(braced) => braced,
            None => after.split_at(after.find(|c| !is_part(c)).unwrap_or(after.len())),
        };
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        pieces.push(Piece::Field(field(name)));
        rest = behind;
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

fn field(name: &str) -> LineField {
    match name {
        "request" => LineField::Request,
        "request_method" => LineField::Method,
        "request_uri" => LineField::Target,
        "uri" | "document_uri" => LineField::Path,
        "args" | "query_string" => LineField::Query,
        "status" => LineField::Status,
        "time_local" => LineField::CommonTime(Moment::End),
        "time_iso8601" => LineField::IsoTime,
        "msec" => LineField::Epoch(SECOND, Moment::End),
        "bytes_sent" => LineField::WholeBytes,
        "body_bytes_sent" => LineField::BodyBytes,
        "request_time" => LineField::ServerTime(SECOND),
        "upstream_response_time" => LineField::UpstreamTime,
        "http_user_agent" => LineField::Agent,
        "http_traceparent" | "otel_trace_id" | "opentelemetry_trace_id" => LineField::Trace,
        _ => LineField::Other,
    }
}
