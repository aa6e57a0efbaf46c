//! The rules of a response's head for a user's cache (RFC 9111): whether it may be kept, for how long it holds, and the
//! headers that revalidate it. Where the standard leaves a choice, or a site breaks it, this does as Chromium does.
//! Pure; the clock is an argument.

use crate::message::read_date;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use std::time::{Duration, SystemTime};

/// The head of a response that is kept, with the headers of its request that matter for another one.
#[derive(Debug)]
pub(super) struct KeptHead {
    status: u16,
    headers: HeaderMap,
    received: SystemTime,
    /// The time for which it holds from then on.
    holds_for: Duration,
    /// The values of the request's headers that `Vary` names; `None` if no other request is alike.
    varied: Option<Vec<(HeaderName, Vec<HeaderValue>)>>,
}

impl KeptHead {
    /// The head of a response to a request with those headers; `None` if it must not be kept, or is of no use.
    pub(super) fn new(
        status: u16,
        headers: HeaderMap,
        request: &HeaderMap,
        received: SystemTime,
    ) -> Option<KeptHead> {
        if matches!(status, 206 | 304) || has_value(&headers, &header::CACHE_CONTROL, "no-store") {
            return None;
        }
        let varied = varied(&headers, request);
        let mut kept = KeptHead {
            status,
            headers,
            received,
            holds_for: Duration::ZERO,
            varied,
        };
        kept.holds_for = kept.lifetime().saturating_sub(kept.received_age());
        let is_useful = kept.is_fresh(received) && kept.varied.is_some() || kept.etag().is_some();
        (is_useful || kept.last_modified().is_some()).then_some(kept)
    }

    /// Whether it holds for a request with those headers, apart from its age.
    pub(super) fn matches(&self, request: &HeaderMap) -> bool {
        let same = |(name, values): &(HeaderName, Vec<HeaderValue>)| {
            request.get_all(name).iter().eq(values)
        };
        self.varied
            .as_ref()
            .is_some_and(|varied| varied.iter().all(same))
    }

    /// Whether it may be used without a request to the site.
    pub(super) fn is_fresh(&self, now: SystemTime) -> bool {
        now.duration_since(self.received).unwrap_or_default() < self.holds_for
    }

    /// Calls `put` with the conditional headers that revalidate it. A response to a request with other headers is
    /// revalidated by its `ETag` alone.
    pub(super) fn each_condition(
        &self,
        matches: bool,
        mut put: impl FnMut(HeaderName, HeaderValue),
    ) {
        if let Some(tag) = self.etag() {
            put(header::IF_NONE_MATCH, tag.clone());
        }
        if let Some(date) = self.last_modified().filter(|_| matches) {
            put(header::IF_MODIFIED_SINCE, date.clone());
        }
    }

    /// Takes over the headers of a 304. Returns whether it is to be kept further.
    pub(super) fn confirm(
        &mut self,
        new: &HeaderMap,
        request: &HeaderMap,
        received: SystemTime,
    ) -> bool {
        for name in new.keys().filter(|name| !DESCRIBES_BODY.contains(name)) {
            self.headers.remove(name);
            for value in new.get_all(name) {
                self.headers.append(name, value.clone());
            }
        }
        self.received = received;
        self.holds_for = self.lifetime().saturating_sub(self.received_age());
        self.varied = varied(&self.headers, request);
        !has_value(&self.headers, &header::CACHE_CONTROL, "no-store")
    }

    /// Only whole successful responses are revalidated.
    fn validator(&self, name: &HeaderName) -> Option<&HeaderValue> {
        let value = self.headers.get(name).filter(|_| self.status == 200);
        value.filter(|value| !value.is_empty())
    }

    fn etag(&self) -> Option<&HeaderValue> {
        self.validator(&header::ETAG)
    }

    fn last_modified(&self) -> Option<&HeaderValue> {
        self.validator(&header::LAST_MODIFIED)
    }

    fn date(&self, name: &HeaderName) -> Option<SystemTime> {
        read_date(self.headers.get(name)?.to_str().ok()?)
    }

    /// The time for which the response holds from its date (section 4.2.1).
    fn lifetime(&self) -> Duration {
        let headers = &self.headers;
        if has_value(headers, &header::CACHE_CONTROL, "no-cache")
            || has_value(headers, &header::PRAGMA, "no-cache")
        {
            return Duration::ZERO;
        }
        if let Some(seconds) = max_age(headers) {
            return Duration::from_secs(seconds);
        }
        let date = self.date(&header::DATE).unwrap_or(self.received);
        if headers.contains_key(header::EXPIRES) {
            // A value that is no date, such as 0, is in the past (section 5.3).
            let expires = self
                .date(&header::EXPIRES)
                .unwrap_or(SystemTime::UNIX_EPOCH);
            return expires.duration_since(date).unwrap_or_default();
        }
        let must_ask = has_value(headers, &header::CACHE_CONTROL, "must-revalidate");
        if matches!(self.status, 200 | 203)
            && !must_ask
            && let Some(modified) = self.date(&header::LAST_MODIFIED)
            && let Ok(unchanged) = date.duration_since(modified)
        {
            // Section 4.2.2 suggests a tenth.
            return unchanged / 10;
        }
        match self.status {
            300 | 301 | 308 | 410 => Duration::MAX,
            _ => Duration::ZERO,
        }
    }

    /// The time from when the site made the response to when it was received (section 4.2.3).
    fn received_age(&self) -> Duration {
        let apparent = self.date(&header::DATE);
        let apparent = apparent.and_then(|date| self.received.duration_since(date).ok());
        let stated = values(&self.headers, &header::AGE).next();
        let stated = stated.and_then(seconds).unwrap_or(0);
        apparent
            .unwrap_or_default()
            .max(Duration::from_secs(stated))
    }
}

/// The cache mode of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheRequest {
    /// A cached response, while it is fresh.
    Fresh,
    /// A cached response, if the site confirms it.
    Confirmed,
    /// Nothing: the response is to replace it.
    New,
    /// Nothing, and not to keep the response.
    Apart,
}

impl CacheRequest {
    /// Reads the headers of a request.
    pub(super) fn of(headers: &HeaderMap) -> CacheRequest {
        let has = |names: &[HeaderName]| names.iter().any(|name| headers.contains_key(name));
        let partial = [
            header::RANGE,
            header::IF_RANGE,
            header::IF_MATCH,
            header::IF_UNMODIFIED_SINCE,
        ];
        if has(&partial) {
            CacheRequest::Apart
        } else if has(&[header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE])
            || has_value(headers, &header::CACHE_CONTROL, "no-cache")
            || has_value(headers, &header::PRAGMA, "no-cache")
        {
            CacheRequest::New
        } else if max_age(headers) == Some(0) {
            CacheRequest::Confirmed
        } else {
            CacheRequest::Fresh
        }
    }
}

/// Headers of the body that is kept, and of a connection, which a 304 does not change.
const DESCRIBES_BODY: [HeaderName; 10] = [
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_LOCATION,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::ETAG,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The headers of a request that `Vary` names, with their values; `None` for `*`.
fn varied(
    response: &HeaderMap,
    request: &HeaderMap,
) -> Option<Vec<(HeaderName, Vec<HeaderValue>)>> {
    let names = values(response, &header::VARY).filter(|name| !name.is_empty());
    let one = |name: &str| {
        // A '*' is not a name.
        let name = HeaderName::from_bytes(name.as_bytes())
            .ok()
            .filter(|_| name != "*")?;
        let values = request.get_all(&name).iter().cloned().collect();
        Some((name, values))
    };
    names.map(one).collect()
}

/// The elements of a list in headers of that name. A comma between quotes separates nothing.
fn values<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).into_iter();
    let lines = lines.filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| {
        let mut quoted = false;
        line.split(move |letter: char| {
            quoted ^= letter == '"';
            letter == ',' && !quoted
        })
        .map(str::trim)
    })
}

/// Whether a header has this element, in any case of its letters.
fn has_value(headers: &HeaderMap, name: &HeaderName, value: &str) -> bool {
    values(headers, name).any(|element| element.eq_ignore_ascii_case(value))
}

/// The first valid `max-age`, in seconds.
fn max_age(headers: &HeaderMap) -> Option<u64> {
    const DIRECTIVE: &str = "max-age=";
    let value = |element: &str| {
        let (name, value) = element.split_at_checked(DIRECTIVE.len())?;
        seconds(value).filter(|_| name.eq_ignore_ascii_case(DIRECTIVE))
    };
    values(headers, &header::CACHE_CONTROL).find_map(value)
}

/// Reads a number of seconds; one that is too large stands for the largest (section 1.2.2).
fn seconds(text: &str) -> Option<u64> {
    let digits = text.trim();
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(u64::MAX))
}
