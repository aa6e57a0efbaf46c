//! Spans of single requests, each once: the failed ones of which the report keeps an exemplar, and the slowest whose
//! traces the site was to keep. With `--trace` a span is the one that the request carried to the site, so the site's
//! own spans stand below it.

use super::messages::{
    ExportTraceServiceRequest, KeyValue, ResourceSpans, ScopeSpans, Span, Status,
};
use super::resource::{TelemetryScope, attribute, number};
use jiff::Timestamp;
use lgoose_metrics::{ErrorRow, Exemplar, Report, RequestRow, SlowRequest, TraceRow};
use std::collections::BTreeSet;

/// The `SpanKind` of a request, seen by the one that sends it.
pub(super) const CLIENT: i32 = 3;

/// The `StatusCode` of a span that failed.
pub(super) const ERROR: i32 = 2;

/// The flag of a span whose trace is sampled (W3C Trace Context).
const SAMPLED: u32 = 1;

/// Key of a request: its user, its beginning, and its span if it carried one.
type SpanKey = (u64, u64, String);

/// Requests that were handed over.
#[derive(Debug, Default)]
pub(super) struct ExportedRequests(BTreeSet<SpanKey>);

/// Spans that are on their way.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) request: ExportTraceServiceRequest,
    keys: BTreeSet<SpanKey>,
}

/// A request as a span.
struct SpanRequest<'a> {
    name: String,
    method: &'a str,
    url: &'a str,
    scenario: &'a str,
    task: &'a str,
    user: u64,
    start_ns: u64,
    latency_ms: f64,
    status: u16,
    error: Option<&'a str>,
    trace: Option<&'a TraceRow>,
}

impl ExportedRequests {
    /// Returns the new spans of a report; `None` if there are none.
    pub(super) fn batch(&self, report: &Report, scope: &TelemetryScope) -> Option<Batch> {
        let started: Timestamp = report.started.parse().ok()?;
        let started = u64::try_from(started.as_nanosecond()).ok()?;
        let failed = report.errors.iter().filter(|row| row.task().is_none());
        let failed = failed.flat_map(|row| {
            row.exemplars
                .iter()
                .map(move |one| SpanRequest::failed(row, one))
        });
        let slow = report.requests.iter().flat_map(|row| {
            row.traced
                .iter()
                .map(move |one| SpanRequest::slow(row, one))
        });
        let mut keys = BTreeSet::new();
        let mut spans = Vec::new();
        for exemplar in failed.chain(slow) {
            let key = exemplar.key();
            // A request that is slow and failed has one span.
            if !self.0.contains(&key) && keys.insert(key) {
                spans.extend(exemplar.spans(started));
            }
        }
        if spans.is_empty() {
            return None;
        }
        let request = ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(scope.resource.clone()),
                scope_spans: vec![ScopeSpans {
                    scope: Some(scope.instrumentation.clone()),
                    spans,
                }],
            }],
        };
        Some(Batch { request, keys })
    }

    /// Notes that a batch has arrived.
    pub(super) fn note(&mut self, batch: Batch) {
        self.0.extend(batch.keys);
    }
}

impl<'a> SpanRequest<'a> {
    fn failed(row: &'a ErrorRow, one: &'a Exemplar) -> SpanRequest<'a> {
        SpanRequest {
            name: row.name.clone(),
            method: &one.method,
            url: &one.url,
            scenario: &one.scenario,
            task: &one.task,
            user: one.user,
            start_ns: one.start_ns,
            latency_ms: one.latency_ms,
            status: one.status,
            error: Some(&row.message),
            trace: one.trace.as_ref(),
        }
    }

    fn slow(row: &'a RequestRow, one: &'a SlowRequest) -> SpanRequest<'a> {
        SpanRequest {
            name: format!("{} {}", row.method, row.name)
                .trim_start()
                .to_owned(),
            method: &row.method,
            url: &one.url,
            scenario: &one.scenario,
            task: &one.task,
            user: one.user,
            start_ns: one.start_ns,
            latency_ms: one.latency_ms,
            status: one.status,
            error: one.error.as_deref(),
            trace: one.trace.as_ref(),
        }
    }

    fn key(&self) -> SpanKey {
        let span = self
            .trace
            .map_or_else(String::new, |trace| trace.span_id.clone());
        (self.user, self.start_ns, span)
    }

    /// Returns the span of the request, and below it those of its hops after redirects, of a run that began then, in
    /// nanoseconds since 1970; attributes are those of <https://opentelemetry.io/docs/specs/semconv/http/http-spans/>.
    fn spans(&self, started: u64) -> Vec<Span> {
        let mut attributes = vec![
            attribute("http.request.method", self.method),
            attribute("url.full", self.url),
            attribute("lgoose.scenario", self.scenario),
            attribute("lgoose.task", self.task),
            number("lgoose.user", self.user),
        ];
        attributes.extend(self.error.map(|error| attribute("error.type", error)));
        if self.status != 0 {
            attributes.push(number("http.response.status_code", self.status.into()));
        }
        let start = started + self.start_ns;
        let end = start + (self.latency_ms * 1e6) as u64;
        let whole = Span {
            trace_id: self.trace_id(),
            span_id: self.span_id(),
            flags: self
                .trace
                .map_or(0, |trace| u32::from(trace.sampled) * SAMPLED),
            name: self.name.clone(),
            kind: CLIENT,
            start_time_unix_nano: start,
            end_time_unix_nano: end,
            attributes,
            status: self.error.map(|error| Status {
                message: error.to_owned(),
                code: ERROR,
            }),
            ..Span::default()
        };
        let hops = self.hops(&whole, started);
        std::iter::once(whole).chain(hops).collect()
    }

    /// Returns the spans of the hops after redirects; each lasts until the next begins.
    fn hops(&self, whole: &Span, started: u64) -> Vec<Span> {
        let hops = self.trace.map_or(&[][..], |trace| &trace.hops);
        let nexts = hops.iter().skip(1).map(|next| started + next.start_ns);
        let ends = nexts.chain([whole.end_time_unix_nano]);
        let spans = hops.iter().zip(ends).enumerate().map(|(at, (hop, end))| {
            let start = started + hop.start_ns;
            let resent: KeyValue = number("http.request.resend_count", at as u64 + 1);
            Span {
                trace_id: whole.trace_id.clone(),
                span_id: bytes(&hop.span_id),
                parent_span_id: whole.span_id.clone(),
                flags: whole.flags,
                name: format!("{} (redirected)", whole.name),
                kind: CLIENT,
                start_time_unix_nano: start,
                end_time_unix_nano: end.max(start),
                attributes: vec![resent],
                ..Span::default()
            }
        });
        spans.collect()
    }

    fn trace_id(&self) -> Vec<u8> {
        match self.trace {
            Some(trace) => bytes(&trace.trace_id),
            None => rand::random::<u128>().to_be_bytes().to_vec(),
        }
    }

    fn span_id(&self) -> Vec<u8> {
        match self.trace {
            Some(trace) => bytes(&trace.span_id),
            None => rand::random::<u64>().to_be_bytes().to_vec(),
        }
    }
}

/// Returns the bytes that pairs of hexadecimal digits stand for.
fn bytes(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(|pair| byte(pair).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::ExportOptions;
    use lgoose_judgement::fixture;

    #[test]
    fn each_exemplar_is_sent_once_it_has_arrived() {
        let options = ExportOptions::read(None, |_| None).expect("they are right");
        let scope = TelemetryScope::new(&options, "p.lua", "http://a");
        let report = fixture::report();
        let all: usize = report.errors.iter().map(|row| row.exemplars.len()).sum();
        assert!(all > 0, "the fixture has exemplars");
        let mut sent = ExportedRequests::default();
        for _lost in 0..2 {
            let batch = sent.batch(&report, &scope).expect("they are new");
            let spans = &batch.request.resource_spans[0].scope_spans[0].spans;
            let traced = report.requests.iter().flat_map(|row| &row.traced);
            let hops: usize = traced
                .clone()
                .flat_map(|one| &one.trace)
                .map(|trace| trace.hops.len())
                .sum();
            assert_eq!(spans.len(), all + traced.count() + hops);
            for span in spans {
                assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
                assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
            }
        }
        let batch = sent.batch(&report, &scope).expect("none has arrived");
        sent.note(batch);
        assert!(sent.batch(&report, &scope).is_none());
    }

    #[test]
    fn hops_are_spans_below_that_of_their_request() {
        let options = ExportOptions::read(None, |_| None).expect("they are right");
        let scope = TelemetryScope::new(&options, "p.lua", "http://a");
        let report = fixture::report();
        let batch = ExportedRequests::default()
            .batch(&report, &scope)
            .expect("it is new");
        let spans = &batch.request.resource_spans[0].scope_spans[0].spans;
        let hop = spans.iter().find(|span| !span.parent_span_id.is_empty());
        let hop = hop.expect("the fixture has one");
        let whole = spans.iter().find(|span| span.span_id == hop.parent_span_id);
        let whole = whole.expect("its request is there");
        assert_eq!((&whole.trace_id, whole.flags), (&hop.trace_id, SAMPLED));
        assert!(whole.start_time_unix_nano < hop.start_time_unix_nano);
        assert_eq!(whole.end_time_unix_nano, hop.end_time_unix_nano);
        let failed = spans.iter().filter(|span| span.status.is_some());
        let of_exemplar = failed.map(|span| span.trace_id.clone());
        let trace_id = bytes("4bf92f3577b34da6a3ce929d0e0e4736");
        assert!(of_exemplar.collect::<Vec<_>>().contains(&trace_id));
    }
}
