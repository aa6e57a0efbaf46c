//! Spans of failed requests: those of which the report keeps an exemplar, each once.

use super::resource::{Scope, attribute, number};
use crate::metrics::{ErrorRow, Exemplar, Report};
use jiff::Timestamp;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use std::collections::BTreeSet;

/// Exemplars that were handed over, by their user and beginning.
#[derive(Debug, Default)]
pub(super) struct Sent(BTreeSet<(u64, u64)>);

/// Spans that are on their way.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) request: ExportTraceServiceRequest,
    keys: Vec<(u64, u64)>,
}

impl Sent {
    /// Returns what is to be sent of a report; `None` if there is nothing new.
    pub(super) fn batch(&self, report: &Report, scope: &Scope) -> Option<Batch> {
        let started: Timestamp = report.started.parse().ok()?;
        let started = u64::try_from(started.as_nanosecond()).ok()?;
        let all = report
            .errors
            .iter()
            .flat_map(|row| row.exemplars.iter().map(move |exemplar| (row, exemplar)));
        let new = all.filter(|(_, exemplar)| !self.0.contains(&key(exemplar)));
        let (keys, spans): (Vec<_>, Vec<_>) = new
            .map(|(row, exemplar)| (key(exemplar), span(row, exemplar, started)))
            .unzip();
        if spans.is_empty() {
            return None;
        }
        let request = ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(scope.resource.clone()),
                scope_spans: vec![ScopeSpans {
                    scope: Some(scope.instrumentation.clone()),
                    spans,
                    ..ScopeSpans::default()
                }],
                ..ResourceSpans::default()
            }],
        };
        Some(Batch { request, keys })
    }

    /// Notes that a batch has arrived.
    pub(super) fn note(&mut self, batch: Batch) {
        self.0.extend(batch.keys);
    }
}

fn key(exemplar: &Exemplar) -> (u64, u64) {
    (exemplar.user, exemplar.start_ns)
}

/// Returns the span of a request of a run that began then, in nanoseconds since 1970; attributes are those of
/// <https://opentelemetry.io/docs/specs/semconv/http/http-spans/>.
fn span(row: &ErrorRow, exemplar: &Exemplar, started: u64) -> Span {
    let begin = started + exemplar.start_ns;
    let mut attributes = vec![
        attribute("http.request.method", &exemplar.method),
        attribute("url.full", &exemplar.url),
        attribute("error.type", &row.message),
        attribute("lgoose.scenario", &exemplar.scenario),
        attribute("lgoose.task", &exemplar.task),
        number("lgoose.user", exemplar.user),
    ];
    if exemplar.status != 0 {
        attributes.push(number("http.response.status_code", exemplar.status.into()));
    }
    Span {
        trace_id: rand::random::<u128>().to_be_bytes().to_vec(),
        span_id: rand::random::<u64>().to_be_bytes().to_vec(),
        name: row.name.clone(),
        kind: SpanKind::Client as i32,
        start_time_unix_nano: begin,
        end_time_unix_nano: begin + (exemplar.latency_ms * 1e6) as u64,
        attributes,
        status: Some(Status {
            message: row.message.clone(),
            code: StatusCode::Error as i32,
        }),
        ..Span::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::options::Options;
    use crate::output::fixture;

    #[test]
    fn each_exemplar_is_sent_once_it_has_arrived() {
        let options = Options::read(None, |_| None).expect("they are right");
        let scope = Scope::new(&options, "p.lua", "http://a");
        let report = fixture::report();
        let all: usize = report.errors.iter().map(|row| row.exemplars.len()).sum();
        assert!(all > 0, "the fixture has exemplars");
        let mut sent = Sent::default();
        for _lost in 0..2 {
            let batch = sent.batch(&report, &scope).expect("they are new");
            let spans = &batch.request.resource_spans[0].scope_spans[0].spans;
            assert_eq!(spans.len(), all);
            for span in spans {
                assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
                assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
            }
        }
        let batch = sent.batch(&report, &scope).expect("none has arrived");
        sent.note(batch);
        assert!(sent.batch(&report, &scope).is_none());
    }
}
