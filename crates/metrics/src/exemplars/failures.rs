//! Keeps exemplars of failures: of each kind of error the first request and the slowest three, with request and
//! response. Built for failed requests alone, and only for those that are kept.
//!
//! Masks the credentials in headers, for exemplars and the debug log alike.

use crate::record::{Context, ExchangeDetails, Sample};
use crate::report::{Exemplar, PhasesMs, TraceRow};
use crate::request_log::ExchangeMessages;
use lgoose_base::error::beginning;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Instant;

/// Number of slowest requests kept of each kind of error.
const SLOWEST: usize = 3;
/// The most bytes kept of a body.
const MOST_BODY: usize = 2 * 1024;
/// The most bytes kept of one side's headers.
const MOST_HEADERS: usize = 4 * 1024;
/// The most bytes kept of a URL.
pub(crate) const MOST_URL: usize = 2 * 1024;
/// The most bytes kept of one header's value.
const MOST_VALUE: usize = 1024;
/// Text in place of a credential.
const MASK: &str = "***";

impl Exemplar {
    fn of(sample: &Sample<'_>, context: &Context<'_>, origin: Instant) -> Exemplar {
        let details = context.details;
        let mut url = String::new();
        details.url(&mut |origin, path| url = format!("{origin}{path}"));
        let exchange = messages(details, MOST_HEADERS, MOST_BODY);
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1000.0;
        let phases = sample.phases.in_order();
        let phases = phases.map(|phase| (!phase.is_zero()).then(|| ms(phase)));
        let lines = |text: &str| text.lines().map(str::to_owned).collect();
        Exemplar {
            start_ns: sample.start.saturating_duration_since(origin).as_nanos() as u64,
            user: context.user,
            scenario: context.scenario.to_owned(),
            task: context.task.to_owned(),
            method: details.method().to_owned(),
            url: start_of(&url, MOST_URL).to_owned(),
            final_url: match sample.redirects {
                0 => String::new(),
                _ => start_of(&details.final_url(), MOST_URL).to_owned(),
            },
            status: sample.response.status(),
            latency_ms: ms(sample.latency),
            phases_ms: PhasesMs::in_order(phases),
            request_headers: lines(&exchange.request_headers),
            response_headers: lines(&exchange.response_headers),
            body: exchange.body,
            body_bytes: exchange.body_bytes,
            page_says: details.page_says().unwrap_or_default(),
            trace: context.trace.map(|trace| TraceRow::of(trace, origin)),
        }
    }
}

/// Exemplars of one kind of error.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(
    from = "(Option<Exemplar>, Vec<Exemplar>)",
    into = "(Option<Exemplar>, Vec<Exemplar>)"
)]
pub(crate) struct Exemplars {
    first: Option<Arc<Exemplar>>,
    /// The slowest requests, slowest first.
    slowest: Vec<Arc<Exemplar>>,
}

impl From<Exemplars> for (Option<Exemplar>, Vec<Exemplar>) {
    fn from(exemplars: Exemplars) -> Self {
        let slowest = exemplars.slowest.iter().map(|slow| Exemplar::clone(slow));
        (exemplars.first.as_deref().cloned(), slowest.collect())
    }
}

impl From<(Option<Exemplar>, Vec<Exemplar>)> for Exemplars {
    fn from((first, slowest): (Option<Exemplar>, Vec<Exemplar>)) -> Self {
        Exemplars {
            first: first.map(Arc::new),
            slowest: slowest.into_iter().map(Arc::new).collect(),
        }
    }
}

impl Exemplars {
    /// Keeps a request if it is the first or among the slowest so far.
    pub(crate) fn consider(&mut self, sample: &Sample<'_>, origin: Instant) {
        let Some(context) = &sample.context else {
            return;
        };
        let latency_ms = sample.latency.as_secs_f64() * 1000.0;
        if self.first.is_none() || self.is_slow(latency_ms) {
            self.add(Arc::new(Exemplar::of(sample, context, origin)));
        }
    }

    fn is_slow(&self, latency_ms: f64) -> bool {
        let faster = |slowest: &Arc<Exemplar>| slowest.latency_ms < latency_ms;
        self.slowest.len() < SLOWEST || self.slowest.last().is_some_and(faster)
    }

    /// Adds an exemplar. Ties are decided by start and user, so that the order in which exemplars come makes no
    /// difference.
    fn add(&mut self, exemplar: Arc<Exemplar>) {
        let began = |of: &Exemplar| (of.start_ns, of.user);
        let earlier = |first: &Arc<Exemplar>| began(&exemplar) < began(first);
        if self.first.as_ref().is_none_or(earlier) {
            self.first = Some(exemplar.clone());
        }
        let slower = |other: &Arc<Exemplar>| {
            let latency = other.latency_ms.total_cmp(&exemplar.latency_ms);
            latency.then(began(&exemplar).cmp(&began(other))).is_lt()
        };
        let place = self.slowest.iter().position(slower);
        let place = place.unwrap_or(self.slowest.len());
        self.slowest.insert(place, exemplar);
        self.slowest.truncate(SLOWEST);
    }

    /// Adds the exemplars that another shard, or another tick, has kept.
    pub(crate) fn merge(&mut self, other: &Exemplars) {
        let first = other.first.iter();
        let new = first.filter(|first| !other.slowest.contains(first));
        for exemplar in new.chain(&other.slowest) {
            self.add(exemplar.clone());
        }
    }

    /// Returns the first exemplar, then the slowest others.
    pub(crate) fn list(&self) -> Vec<Exemplar> {
        let first = self.first.iter();
        let others = self.slowest.iter();
        let others = others.filter(|slow| self.first.as_ref() != Some(slow));
        first
            .chain(others)
            .map(|exemplar| Exemplar::clone(exemplar))
            .collect()
    }
}

/// [`Messages`] with memory of their own.
pub(crate) struct OwnedMessages {
    request_headers: String,
    response_headers: String,
    body: String,
    body_bytes: u64,
}

impl OwnedMessages {
    pub(crate) fn as_entry(&self) -> ExchangeMessages<'_> {
        ExchangeMessages {
            request_headers: &self.request_headers,
            response_headers: &self.response_headers,
            body: &self.body,
            body_bytes: self.body_bytes,
        }
    }
}

/// Returns each side's headers and the body, cut to the given numbers of bytes.
pub(crate) fn messages(
    details: &dyn ExchangeDetails,
    most_headers: usize,
    most_body: usize,
) -> OwnedMessages {
    let body = details.body();
    OwnedMessages {
        request_headers: header_lines(&details.request_headers(), most_headers),
        response_headers: header_lines(&details.response_headers(), most_headers),
        body: beginning(body, most_body).into_owned(),
        body_bytes: body.len() as u64,
    }
}

/// Writes headers as `name: value`, one a line, and leaves out those that exceed `most` bytes.
fn header_lines(headers: &[(String, Vec<u8>)], most: usize) -> String {
    let mut lines = String::new();
    for (name, value) in headers {
        let value = masked(name, &beginning(value, MOST_VALUE));
        // A line break in a value, whoever has put it there, must not begin another header.
        let line = format!("{name}: {}", value.replace(['\r', '\n'], " "));
        if lines.len() + line.len() >= most {
            break;
        }
        lines.push_str(&line);
        lines.push('\n');
    }
    lines
}

/// Masks the credentials in a header's value: cookies keep their names, an authorization its scheme, and a header
/// with a secret name keeps nothing.
fn masked(name: &str, value: &str) -> String {
    const SECRETS: [&str; 7] = [
        "auth", "token", "secret", "password", "api-key", "apikey", "session",
    ];
    let name = name.to_ascii_lowercase();
    let pair = |pair: &str| match pair.split_once('=') {
        Some((name, _)) => format!("{name}={MASK}"),
        None => MASK.to_owned(),
    };
    match name.as_str() {
        "cookie" => value.split("; ").map(pair).collect::<Vec<_>>().join("; "),
        "set-cookie" => match value.split_once(';') {
            Some((cookie, attributes)) => format!("{};{attributes}", pair(cookie)),
            None => pair(value),
        },
        "authorization" | "proxy-authorization" => match value.split_once(' ') {
            Some((scheme, _)) => format!("{scheme} {MASK}"),
            None => MASK.to_owned(),
        },
        // A challenge of a server is no secret.
        "www-authenticate" | "proxy-authenticate" => value.to_owned(),
        name if SECRETS.iter().any(|secret| name.contains(secret)) => MASK.to_owned(),
        _ => value.to_owned(),
    }
}

pub(crate) fn start_of(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exemplar(start_ns: u64, latency_ms: f64) -> Arc<Exemplar> {
        Arc::new(Exemplar {
            start_ns,
            user: 1,
            scenario: String::new(),
            task: String::new(),
            method: "GET".to_owned(),
            url: String::new(),
            final_url: String::new(),
            status: 500,
            latency_ms,
            phases_ms: PhasesMs::default(),
            request_headers: Vec::new(),
            response_headers: Vec::new(),
            body: String::new(),
            body_bytes: 0,
            page_says: String::new(),
            trace: None,
        })
    }

    fn exemplars_of(of: &[(u64, f64)]) -> Exemplars {
        let mut exemplars = Exemplars::default();
        for (start_ns, latency_ms) in of {
            exemplars.add(exemplar(*start_ns, *latency_ms));
        }
        exemplars
    }

    fn shown(exemplars: &Exemplars) -> Vec<(u64, f64)> {
        let list = exemplars.list();
        list.iter()
            .map(|one| (one.start_ns, one.latency_ms))
            .collect()
    }

    #[test]
    fn the_first_and_the_slowest_three_are_retained() {
        let all = [(5, 1.0), (6, 9.0), (7, 2.0), (8, 7.0), (9, 8.0)];
        assert_eq!(
            shown(&exemplars_of(&all)),
            [(5, 1.0), (6, 9.0), (9, 8.0), (8, 7.0)]
        );
        assert_eq!(shown(&exemplars_of(&[(5, 9.0)])), [(5, 9.0)], "once");
    }

    #[test]
    fn shards_merged_in_any_order_retain_the_same() {
        let (one, other) = (
            [(5, 1.0), (7, 4.0), (9, 3.0)],
            [(4, 2.0), (6, 5.0), (8, 0.5)],
        );
        for (first, second) in [(one, other), (other, one)] {
            let mut merged = exemplars_of(&first);
            merged.merge(&exemplars_of(&second));
            assert_eq!(shown(&merged), [(4, 2.0), (6, 5.0), (7, 4.0), (9, 3.0)]);
        }
    }

    #[test]
    fn credentials_in_headers_are_masked() {
        for (name, value, expected) in [
            ("Cookie", "a=1; b=x=y; odd", "a=***; b=***; ***"),
            (
                "set-cookie",
                "sid=1; Path=/; HttpOnly",
                "sid=***; Path=/; HttpOnly",
            ),
            ("set-cookie", "sid=1", "sid=***"),
            ("authorization", "Bearer abc", "Bearer ***"),
            ("Proxy-Authorization", "abc", "***"),
            ("x-csrf-token", "abc", "***"),
            ("X-Api-Key", "abc", "***"),
            ("www-authenticate", "Basic realm=\"a\"", "Basic realm=\"a\""),
            ("content-type", "text/html", "text/html"),
        ] {
            assert_eq!(masked(name, value), expected, "{name}: {value}");
        }
    }

    #[test]
    fn what_is_stored_of_a_message_is_bounded() {
        let many: Vec<(String, Vec<u8>)> = (0..1_000)
            .map(|n| (format!("x-{n}"), vec![b'v'; 2_000]))
            .collect();
        let lines = header_lines(&many, MOST_HEADERS);
        assert!(
            lines.len() <= MOST_HEADERS && lines.starts_with("x-0: vvv"),
            "{}",
            lines.len()
        );
        assert_eq!(
            beginning("a\u{e4}".as_bytes(), 2),
            "a",
            "no half of a character"
        );
        assert_eq!(beginning(b"a\xff", 9), "a\u{fffd}");
    }
}
