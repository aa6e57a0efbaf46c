//! Separates the headers that a script set from those of the browser. A browser sends its own with pages and assets,
//! too: a header that it never sends there, or sends with other values, is a script's.

use super::left_out::LeftOut;
use crate::exchange::{ExchangeKind, RecordedExchange};
use std::collections::{BTreeSet, HashMap};

/// Headers that no script of a page can set, or that only tools for tracing do.
const BROWSERS: [&str; 34] = [
    "accept-charset",
    "accept-encoding",
    "alt-used",
    "baggage",
    "connection",
    "date",
    "device-memory",
    "dnt",
    "downlink",
    "dpr",
    "ect",
    "expect",
    "host",
    "keep-alive",
    "priority",
    "proxy-authorization",
    "proxy-connection",
    "purpose",
    "referer",
    "rtt",
    "save-data",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
    "via",
    "viewport-width",
    "width",
    "x-client-data",
    "content-dpr",
    "access-control-request-headers",
];

/// Headers that browsers send by themselves, and that scripts can set to something else.
const BOTH: [&str; 4] = ["accept-language", "cache-control", "pragma", "user-agent"];

/// Headers by which a cache checks whether its copy is still current.
const VALIDATORS: [&str; 2] = ["if-none-match", "if-modified-since"];

/// Headers that the plan has in another form, but that are read.
const READ: [&str; 4] = ["authorization", "content-length", "content-type", "cookie"];

/// The most values of a header that are compared, and how long they may be.
const MAX_VALUES: usize = 64;
const MAX_VALUE_BYTES: usize = 1 << 10;

/// Headers that the browser of a recording sends by itself.
#[derive(Debug, Default)]
pub(super) struct BrowserHeaders {
    /// Names, with the values that requests for pages and assets had.
    own: HashMap<&'static str, BTreeSet<String>>,
    /// Names, with the values of calls: one that they have in common is the browser's where nothing else is known.
    of_calls: HashMap<&'static str, HashMap<String, usize>>,
    origins: BTreeSet<String>,
}

impl BrowserHeaders {
    /// Records the headers of a request.
    pub(super) fn note(
        &mut self,
        kind: ExchangeKind,
        url: &url::Url,
        headers: &[(String, String)],
    ) {
        if self.origins.len() < MAX_VALUES * MAX_VALUES {
            self.origins.insert(url.origin().ascii_serialization());
        }
        for name in BOTH {
            let Some(value) = header(headers, name).filter(|value| value.len() <= MAX_VALUE_BYTES)
            else {
                continue;
            };
            if kind == ExchangeKind::Call {
                let values = self.of_calls.entry(name).or_default();
                if values.len() < MAX_VALUES || values.contains_key(value) {
                    *values.entry(value.to_owned()).or_default() += 1;
                }
            } else {
                let values = self.own.entry(name).or_default();
                if values.len() < MAX_VALUES {
                    values.insert(value.to_owned());
                }
            }
        }
    }

    /// Removes the browser's own headers from all requests, which are in their order. `is_document` states for each
    /// whether it requested a page or a frame, for which no script sets a header.
    pub(super) fn remove<'a>(
        &self,
        exchanges: impl Iterator<Item = (&'a mut RecordedExchange, bool)>,
        left_out: &mut LeftOut,
    ) {
        // Versions that responses of an address have named.
        let mut versions: HashMap<String, BTreeSet<String>> = HashMap::new();
        for (exchange, is_document) in exchanges {
            let known = versions.get(exchange.url.as_str());
            let is_known = |value: &str| known.is_some_and(|known| known.contains(value));
            let by_cache = by_cache(exchange, &is_known);
            let mut headers = std::mem::take(&mut exchange.headers);
            headers.retain(|(name, value)| {
                if READ.contains(&name.as_str()) {
                    return true;
                }
                if is_document {
                    return false;
                }
                if by_cache && VALIDATORS.contains(&name.as_str()) {
                    left_out.validator(name, &exchange.url);
                    return false;
                }
                !self.is_own(name, value)
            });
            exchange.headers = headers;
            if exchange.kind == ExchangeKind::Asset {
                continue;
            }
            let response = exchange.response.as_ref();
            let named = ["etag", "last-modified"].map(|name| response.and_then(|r| r.header(name)));
            for value in named
                .into_iter()
                .flatten()
                .filter(|value| value.len() <= MAX_VALUE_BYTES)
            {
                let values = versions
                    .entry(exchange.url.as_str().to_owned())
                    .or_default();
                values.insert(value.to_owned());
            }
        }
    }

    /// Returns whether the browser sends a header with that value with the requests of scripts.
    fn is_own(&self, name: &str, value: &str) -> bool {
        if BROWSERS.contains(&name) || name.starts_with("sec-") || name.starts_with(':') {
            return true;
        }
        match name {
            // The defaults for the requests of scripts and of pages.
            "accept" => {
                value.is_empty() || value == "*/*" || value.starts_with("text/html,application/")
            }
            // The pages of the visit.
            "origin" => value == "null" || self.origins.contains(value),
            _ if !BOTH.contains(&name) => false,
            _ => match self.own.get(name) {
                Some(values) => values.contains(value),
                // Some browsers leave out the language of a response that comes from a cache.
                None if self.own.is_empty() || name == "accept-language" => {
                    self.is_usual(name, value)
                }
                None => false,
            },
        }
    }

    /// Returns whether a value is the most frequent one of calls, of those that look like a browser's.
    fn is_usual(&self, name: &str, value: &str) -> bool {
        let looks_own = |value: &str| match name {
            "accept-language" => value.contains(";q="),
            "user-agent" => value.starts_with("Mozilla/"),
            _ => matches!(value, "no-cache" | "max-age=0"),
        };
        let all = self.of_calls.get(name).into_iter().flatten();
        let usual = all.filter(|(value, _)| looks_own(value));
        let most = usual.max_by_key(|(value, count)| (**count, value.as_str()));
        most.is_some_and(|(usual, _)| usual == value)
    }
}

/// Returns whether the browser's cache requested a newer version, and not a script. A cache does so for its copies, and
/// not where it is switched off; a script that does so switches it off, too.
fn by_cache(exchange: &RecordedExchange, is_known: &dyn Fn(&str) -> bool) -> bool {
    let header = |name| header(&exchange.headers, name);
    let is_off = ["cache-control", "pragma"]
        .iter()
        .any(|name| header(name).is_some_and(|value| value.contains("no-cache")));
    let not_modified = exchange
        .response
        .as_ref()
        .is_some_and(|response| response.status == 304);
    let mut values = VALIDATORS.iter().filter_map(|name| header(name));
    matches!(exchange.method.as_str(), "GET" | "HEAD")
        && !is_off
        && (not_modified || values.any(is_known))
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut found = headers.iter().filter(|(key, _)| key == name);
    found.next().map(|(_, value)| value.as_str())
}
