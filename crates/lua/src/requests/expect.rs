//! Expectations of a response, checked on the bytes as received. The first one that does not hold is the verdict.

use super::charset;
use super::check_time::{CheckTime, STEP_BYTES};
use super::json_fields::{self, ExpectedField};
use crate::plan_files::CompiledRegex;
use crate::values::{ENTRY_BYTES, escape_invalid_bytes, shorten_reason};
use lgoose_http::{Exchange, Response};
use memchr::memmem;
use smallvec::SmallVec;
use std::cell::LazyCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The expectations of a request (`expect`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expectations {
    /// Statuses that count as success; empty: any below 400. Up to four, which is usual, are kept without an
    /// allocation.
    pub status: SmallVec<[u16; 4]>,
    /// The start of the page's title.
    pub title: Option<String>,
    /// Texts that the body must contain.
    pub text: Vec<Vec<u8>>,
    more: Option<Box<RareExpectations>>,
}

/// Rarer expectations, behind one pointer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RareExpectations {
    /// Texts that the body must not contain.
    pub(crate) no_text: Vec<Vec<u8>>,
    /// Headers that must be present, with this value if one is given; names in lower case.
    pub(crate) headers: Vec<ExpectedHeader>,
    pub(crate) redirect: Option<ExpectedRedirect>,
    /// The latency must be below this.
    pub(crate) under: Option<Duration>,
    pub(crate) title: Option<TitlePattern>,
    /// Values at paths such as `user.name` or `items.1.id` of a JSON body.
    pub(crate) json: Vec<ExpectedField>,
    /// The fewest messages that a stream has.
    pub(crate) min_events: Option<u64>,
    /// The last message of a stream.
    pub(crate) last: Option<Vec<u8>>,
    /// The codes of which the server closes a WebSocket with one.
    pub(crate) close_codes: Vec<u16>,
}

/// A pattern that the page's title must match.
#[derive(Debug, Clone)]
pub(crate) struct TitlePattern(pub(crate) Arc<CompiledRegex>);

impl PartialEq for TitlePattern {
    fn eq(&self, other: &TitlePattern) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The name of a header and its value, if that matters.
pub(crate) type ExpectedHeader = (String, Option<Vec<u8>>);

/// The redirection that is expected.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ExpectedRedirect {
    Anywhere,
    Nowhere,
    /// To this path on the requested host, or to this absolute URL.
    To(Rc<str>),
}

impl Expectations {
    /// Returns the reason why the exchange counts as failed, in words that are the same for every failure of one
    /// cause.
    pub fn verdict(&self, exchange: &Exchange) -> Option<String> {
        match &exchange.outcome {
            Err(failure) => Some(failure.to_string()),
            Ok(response) => {
                let time = CheckTime::new();
                // The redirect's target says more about a form that came back than a text that is missing on its page.
                let mismatch = self
                    .wrong_status(response)
                    .or_else(|| self.more.as_ref()?.wrong_redirect(exchange, response))
                    .or_else(|| self.wrong_page(response, &time))
                    .or_else(|| self.more.as_ref()?.judge(exchange, response, &time));
                // A text missing on a page that could not be decoded says nothing.
                response
                    .decoding_failure()
                    .map(ToString::to_string)
                    .or_else(|| time.failure())
                    .or(mismatch)
            }
        }
    }

    /// Returns whether it looks at the body, so that the body must be kept.
    pub(crate) fn reads_body(&self) -> bool {
        let of_more = |more: &RareExpectations| {
            !more.no_text.is_empty() || more.title.is_some() || !more.json.is_empty()
        };
        self.title.is_some() || !self.text.is_empty() || self.more.as_deref().is_some_and(of_more)
    }

    /// Returns whether it looks at the messages of a stream.
    pub(crate) fn reads_messages(&self) -> bool {
        self.more
            .as_deref()
            .is_some_and(|more| more.min_events.is_some() || more.last.is_some())
    }

    /// Returns the codes with which a WebSocket may be closed; none for the usual ones.
    pub(crate) fn close_codes(&self) -> &[u16] {
        self.more
            .as_deref()
            .map_or(&[], |more| more.close_codes.as_slice())
    }

    /// Returns the last message that a stream is expected to have.
    pub(crate) fn last_message(&self) -> Option<&[u8]> {
        self.more.as_deref()?.last.as_deref()
    }

    /// Returns the reason why the messages that the plan has taken from a stream make it fail: `count` of them, and the last
    /// one.
    pub fn wrong_messages(&self, count: u64, last: Option<&[u8]>) -> Option<String> {
        let more = self.more.as_deref()?;
        if let Some(least) = more.min_events.filter(|least| count < *least) {
            return Some(format!("expected at least {least} events, got {count}"));
        }
        let expected = more.last.as_deref()?;
        let text = |bytes| shorten_reason(&escape_invalid_bytes(bytes));
        match last {
            Some(last) if last == expected => None,
            Some(last) => Some(format!(
                "expected the last event '{}', got '{}'",
                text(expected),
                text(last)
            )),
            None => Some(format!(
                "expected the last event '{}', got none",
                text(expected)
            )),
        }
    }

    /// Returns the memory that it takes in addition to its own size, in bytes.
    pub(crate) fn weight(&self) -> usize {
        let texts = |list: &[Vec<u8>]| list.iter().map(|text| text.len() + ENTRY_BYTES).sum();
        let more = self.more.as_ref().map_or(0, |more| more.weight());
        let title = self.title.as_ref().map_or(0, String::len);
        let own: usize = texts(&self.text);
        own + title + 2 * self.status.len() + more
    }

    /// Returns the rarer expectations for setting them.
    pub(crate) fn more(&mut self) -> &mut RareExpectations {
        self.more.get_or_insert_default()
    }

    fn wrong_status(&self, response: &Response) -> Option<String> {
        let status = response.status;
        if self.status.is_empty() && status >= 400 {
            return Some(match canonical_reason(status) {
                Some(reason) => format!("status {status} {reason}"),
                None => format!("status {status}"),
            });
        }
        if !self.status.is_empty() && !self.status.contains(&status) {
            let expected: Vec<String> = self.status.iter().map(u16::to_string).collect();
            return Some(format!(
                "expected status {}, got {status}",
                expected.join(" or ")
            ));
        }
        None
    }

    fn wrong_page(&self, response: &Response, time: &CheckTime) -> Option<String> {
        // A body that no expectation reads need not be decoded.
        let body = LazyCell::new(|| charset::text(response));
        if let Some(expected) = &self.title {
            match lgoose_html::title(&body) {
                Some(title) if title.starts_with(expected.as_str()) => {}
                Some(title) => {
                    return Some(format!(
                        "expected title '{}', got '{}'",
                        shorten_reason(expected),
                        shorten_reason(&title)
                    ));
                }
                None => {
                    let expected = shorten_reason(expected);
                    return Some(format!("expected title '{expected}', the page has none"));
                }
            }
        }
        let missing = |expected: &&Vec<u8>| {
            !time.spend(body.len()) || memmem::find(&body, expected).is_none()
        };
        self.text.iter().find(missing).map(|expected| {
            format!(
                "expected text '{}' is missing",
                shorten_reason(&escape_invalid_bytes(expected))
            )
        })
    }
}

impl RareExpectations {
    fn weight(&self) -> usize {
        let texts = self.no_text.iter().map(Vec::len).sum::<usize>();
        let header =
            |(name, value): &ExpectedHeader| name.len() + value.as_ref().map_or(0, Vec::len);
        let headers = self.headers.iter().map(header).sum::<usize>();
        let json = self
            .json
            .iter()
            .map(|field| field.text.len() + field.path.heap_size() + json_bytes(&field.value));
        let entries = self.no_text.len() + self.headers.len() + self.json.len();
        size_of::<RareExpectations>()
            + self.last.as_ref().map_or(0, Vec::len)
            + texts
            + headers
            + json.sum::<usize>()
            + 2 * ENTRY_BYTES * entries
    }

    fn judge(&self, exchange: &Exchange, response: &Response, time: &CheckTime) -> Option<String> {
        self.wrong_title(response)
            .or_else(|| self.unwanted_text(response, time))
            .or_else(|| self.wrong_header(response, time))
            .or_else(|| self.too_slow(exchange))
            .or_else(|| self.wrong_json(response, time))
    }

    fn wrong_title(&self, response: &Response) -> Option<String> {
        let expected = &self.title.as_ref()?.0;
        let pattern = shorten_reason(expected.regex.as_str());
        let Some(title) = lgoose_html::title(&charset::text(response)) else {
            return Some(format!(
                "expected a title that matches '{pattern}', the page has none"
            ));
        };
        if let Err(problem) = expected.check_length(title.len()) {
            return Some(problem);
        }
        let matches = expected.regex.is_match(title.as_bytes());
        let title = shorten_reason(&title);
        (!matches).then(|| format!("expected a title that matches '{pattern}', got '{title}'"))
    }

    fn unwanted_text(&self, response: &Response, time: &CheckTime) -> Option<String> {
        let body = LazyCell::new(|| charset::text(response));
        let there =
            |text: &&Vec<u8>| !time.spend(body.len()) || memmem::find(&body, text).is_some();
        let text = self.no_text.iter().find(there)?;
        Some(format!(
            "unexpected text '{}'",
            shorten_reason(&escape_invalid_bytes(text))
        ))
    }

    fn wrong_header(&self, response: &Response, time: &CheckTime) -> Option<String> {
        let headers = if self.headers.is_empty() {
            return None;
        } else {
            response.headers()
        };
        self.headers.iter().find_map(|(name, expected)| {
            if !time.spend(headers.len() * STEP_BYTES) {
                return time.failure();
            }
            let mut values = headers
                .iter()
                .filter(|(line, _)| line == name)
                .map(|(_, value)| value);
            match (values.next(), expected) {
                (None, _) => Some(format!(
                    "expected header '{}' is missing",
                    shorten_reason(name)
                )),
                (Some(got), Some(expected)) if got != expected => {
                    let (got, expected) = (
                        shorten_reason(&escape_invalid_bytes(got)),
                        shorten_reason(&escape_invalid_bytes(expected)),
                    );
                    let name = shorten_reason(name);
                    Some(format!("expected header '{name}: {expected}', got '{got}'"))
                }
                _ => None,
            }
        })
    }

    fn wrong_redirect(&self, exchange: &Exchange, response: &Response) -> Option<String> {
        let redirected = exchange.transfer.redirects > 0;
        match self.redirect.as_ref()? {
            ExpectedRedirect::Anywhere if !redirected => {
                Some("expected a redirect, got none".to_owned())
            }
            ExpectedRedirect::Nowhere if redirected => Some("unexpected redirect".to_owned()),
            ExpectedRedirect::To(expected) if !redirected => {
                let expected = shorten_reason(expected);
                Some(format!("expected a redirect to '{expected}', got none"))
            }
            ExpectedRedirect::To(expected) => {
                let target = &response.target;
                let path = target.path.split('?').next().unwrap_or_default();
                let is_path = **expected == *target.path || **expected == *path;
                let (there, got) = if response.left_site() {
                    (**expected == *target.text(), target.text())
                } else {
                    let there = is_path || **expected == *target.text();
                    (there, target.path.to_string())
                };
                let got = shorten_reason(&got);
                let expected = shorten_reason(expected);
                (!there).then(|| format!("expected a redirect to '{expected}', got one to '{got}'"))
            }
            _ => None,
        }
    }

    fn too_slow(&self, exchange: &Exchange) -> Option<String> {
        let limit = self.under?;
        (exchange.latency >= limit).then(|| format!("took longer than {} s", limit.as_secs_f64()))
    }

    fn wrong_json(&self, response: &Response, time: &CheckTime) -> Option<String> {
        if self.json.is_empty() {
            return None;
        }
        json_fields::wrong(&charset::text(response), &self.json, time)
    }
}

/// Returns the memory of a value of JSON, in bytes.
fn json_bytes(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    ENTRY_BYTES
        + match value {
            Value::String(text) => text.len(),
            Value::Array(list) => list.iter().map(json_bytes).sum(),
            Value::Object(map) => map
                .iter()
                .map(|(name, value)| name.len() + ENTRY_BYTES + json_bytes(value))
                .sum(),
            _ => 0,
        }
}

/// Compares JSON values as Lua does: 1 and 1.0 are equal.
pub(super) fn same_json(left: &serde_json::Value, right: &serde_json::Value) -> bool {
    left == right || (left.is_number() && left.as_f64() == right.as_f64())
}

fn canonical_reason(status: u16) -> Option<&'static str> {
    http::StatusCode::from_u16(status).ok()?.canonical_reason()
}
