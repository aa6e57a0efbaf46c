//! The responses that a document has for an operation: which of them are successes.

use super::document::{EACH, OpenApiDocument};
use crate::calls::{LuaLiteral, OutlineCall};
use serde_json::{Value, json};

/// Adds the expected status: every status of success that the document has. A document with all of them (`2XX`), or
/// none, leaves that to the plan's default.
pub(super) fn expect(definition: &Value, call: &mut OutlineCall) {
    let mut statuses: Vec<u16> = Vec::new();
    let mut redirects: Vec<u16> = Vec::new();
    let (mut any_success, mut any_redirect) = (false, false);
    let responses = definition["responses"].as_object();
    for status in responses
        .into_iter()
        .flatten()
        .take(EACH)
        .map(|(key, _)| key)
    {
        match (status.parse::<u16>(), status.to_ascii_uppercase().as_str()) {
            (Ok(status @ 200..300), _) => statuses.push(status),
            (Ok(status @ 300..400), _) => redirects.push(status),
            (_, "2XX") => any_success = true,
            (_, "3XX") => any_redirect = true,
            _ => {}
        }
    }
    if any_success {
        return;
    }
    let is_redirect = statuses.is_empty() && (any_redirect || !redirects.is_empty());
    if is_redirect && !any_redirect {
        statuses = redirects;
    }
    statuses.sort_unstable();
    statuses.dedup();
    match statuses.as_slice() {
        [] => {}
        [status] => call.set("expect", "status", LuaLiteral::Scalar(json!(status))),
        several => call.set("expect", "status", LuaLiteral::json(&json!(several))),
    }
    if is_redirect {
        call.option("max_redirects", 0);
    }
}

/// Returns the responses of success, first those of a status.
pub(super) fn successes<'a>(
    document: &'a OpenApiDocument,
    definition: &'a Value,
) -> impl Iterator<Item = &'a Value> {
    let responses = definition["responses"].as_object();
    let responses = responses.into_iter().flatten().take(EACH);
    let mut found: Vec<(&String, &Value)> = responses
        .filter(|(status, _)| status.starts_with(['2', '3']) || *status == "default")
        .collect();
    found.sort_by_key(|(status, _)| (status.ends_with(['X', 'x', 't']), *status));
    found
        .into_iter()
        .map(|(_, response)| document.resolve(response))
}
