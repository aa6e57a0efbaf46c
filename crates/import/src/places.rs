//! The places of a request that may have ids and tokens, and those that have them already.

use super::exchange::{Body, RecordedExchange};
use super::origin::{self, SoughtValue, singular};
use super::resolve::ValuePosition;

/// Returns whether a request sends a value itself.
pub(super) fn sends(exchange: &RecordedExchange, sought: &SoughtValue<'_>) -> bool {
    let value = sought.value;
    if !sought.is_random {
        let mut segments = exchange.url.path_segments().into_iter().flatten();
        return segments.any(|segment| segment == value);
    }
    let url = exchange.url.as_str().contains(value)
        || exchange
            .headers
            .iter()
            .any(|(name, found)| name != "cookie" && found.contains(value));
    let body = match &exchange.body {
        None | Some(Body::Bytes(_)) => false,
        Some(Body::Form(fields)) => fields.iter().any(|(_, found)| found == value),
        Some(Body::Multipart(parts)) => {
            parts.iter().any(|part| part.data.as_deref() == Some(value))
        }
        Some(Body::Json(json)) => json.to_string().contains(value),
        Some(Body::Text(text)) => text.contains(value),
    };
    url || body
}

/// Returns whether a field or header of that name has a token.
pub(super) fn named_token(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    [
        "csrf",
        "xsrf",
        "nonce",
        "authenticity",
        "viewstate",
        "form_build_id",
    ]
    .iter()
    .any(|word| key.contains(word))
        || key.ends_with("token")
}

pub(super) fn is_id_value(value: &str) -> bool {
    let plain = value.len() <= 40
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    plain && value.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns whether a place may have an id at all: not a page's number, a quantity or a version.
pub(super) fn may_be_id(place: ValuePosition<'_>, stem: &str) -> bool {
    const NONE: [&str; 16] = [
        "page", "limit", "offset", "size", "count", "quantity", "qty", "year", "month", "day",
        "width", "height", "per_page", "api", "version", "amount",
    ];
    let version = stem
        .strip_prefix('v')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()));
    match place {
        ValuePosition::Path(_) => stem.len() > 1 && !NONE.contains(&stem) && !version,
        ValuePosition::Field(name) => {
            (stem.is_empty() && origin::is_id(name)) || stem.len() > 1 && !NONE.contains(&stem)
        }
        ValuePosition::Header(_) => false,
    }
}

/// Returns the subject of a field: `product` of `product_id`, `productId` and `products[]`.
pub(super) fn stem(name: &str) -> String {
    let last = name
        .trim_end_matches("[]")
        .trim_end_matches(']')
        .rsplit(['[', '.'])
        .next()
        .unwrap_or_default();
    let lower = last.to_ascii_lowercase();
    let lower = lower
        .strip_suffix("ids")
        .or(lower.strip_suffix("id"))
        .unwrap_or(&lower);
    singular(lower.trim_end_matches(['_', '-']))
}
