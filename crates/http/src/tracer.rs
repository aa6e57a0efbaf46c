//! Maker of the trace contexts that requests carry as `traceparent` (W3C Trace Context), one for each shard. It has
//! its own random numbers, seeded by the operating system: a plan makes the same requests with and without it, and
//! two runs with the same seed have different traces, which a site would otherwise mix up.

use http::{HeaderMap, HeaderName, HeaderValue};
use lgoose_base::trace::{Trace, TraceContext};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cell::RefCell;
use std::num::{NonZeroU64, NonZeroU128};

/// The header that carries the context.
pub(super) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The number of bits that decide whether a trace is sampled: the last bits of its id, as in OpenTelemetry's
/// consistent probability sampling, so that later samplers decide the same.
const DECIDING_BITS: u32 = 56;

/// Maker of trace contexts.
#[derive(Debug)]
pub(super) struct Tracer {
    // Never borrowed across an await.
    random: RefCell<Xoshiro256PlusPlus>,
    /// Trace ids whose deciding bits are less than this are not sampled.
    threshold: u64,
    /// The `traceparent` of all requests, if the run sets one.
    of_all: Option<HeaderValue>,
}

impl Tracer {
    /// A maker that samples this share of traces; `headers` are those of every request.
    pub(super) fn new(sample: f64, headers: &HeaderMap) -> Tracer {
        let all = (1_u64 << DECIDING_BITS) as f64;
        Tracer {
            random: RefCell::new(Xoshiro256PlusPlus::from_rng(&mut rand::rng())),
            threshold: ((1.0 - sample) * all).round() as u64,
            of_all: headers.get(TRACEPARENT).cloned(),
        }
    }

    /// The trace of a request that begins. `own` is the header that the request or its user has set; it replaces a
    /// new trace, and if it is not valid, the request has no trace.
    pub(super) fn start_trace(&self, own: Option<&HeaderValue>) -> Option<Trace> {
        if let Some(traceparent) = own.or(self.of_all.as_ref()) {
            let context = TraceContext::parse(traceparent.as_bytes())?;
            return Some(Trace::new(context, true));
        }
        let trace_id = loop {
            if let Some(id) = NonZeroU128::new(self.random.borrow_mut().random()) {
                break id;
            }
        };
        let deciding = trace_id.get() as u64 & ((1 << DECIDING_BITS) - 1);
        let first = TraceContext {
            trace_id,
            span_id: self.span_id(),
            sampled: deciding >= self.threshold,
        };
        Some(Trace::new(first, false))
    }

    /// A number for a new span.
    pub(super) fn span_id(&self) -> NonZeroU64 {
        loop {
            if let Some(id) = NonZeroU64::new(self.random.borrow_mut().random()) {
                return id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn sampled(share: f64) -> usize {
        let tracer = Tracer::new(share, &HeaderMap::new());
        let traces = (0..10_000).map(|_| tracer.start_trace(None).expect("one"));
        traces.filter(|trace| trace.first.sampled).count()
    }

    #[test]
    fn the_share_that_is_sampled_is_that_which_was_requested() {
        assert_eq!((sampled(0.0), sampled(1.0)), (0, 10_000));
        // Ten standard deviations: fails by chance once in 10^22 runs.
        assert!((2_067..=2_933).contains(&sampled(0.25)));
    }

    #[test]
    fn no_two_traces_are_the_same_nor_those_of_two_tracers() {
        let tracers = [1.0, 1.0].map(|share| Tracer::new(share, &HeaderMap::new()));
        let traces = tracers.iter().flat_map(|tracer| {
            let traces = (0..1_000).map(|_| tracer.start_trace(None).expect("one").first);
            traces.map(|first| (first.trace_id, first.span_id))
        });
        let traces: Vec<_> = traces.collect();
        let traces_alone: HashSet<_> = traces.iter().map(|(trace, _)| *trace).collect();
        let spans: HashSet<_> = traces.iter().map(|(_, span)| *span).collect();
        assert_eq!((traces_alone.len(), spans.len()), (2_000, 2_000));
    }

    #[test]
    fn a_header_that_the_plan_sets_wins() {
        let text = |text: &'static str| HeaderValue::from_static(text);
        let own = text("00-00000000000000000000000000000001-0000000000000002-01");
        let of_all = text("00-00000000000000000000000000000003-0000000000000004-00");
        let tracer = Tracer::new(1.0, &HeaderMap::from_iter([(TRACEPARENT, of_all)]));
        let began = |own: Option<&HeaderValue>| {
            let trace = tracer.start_trace(own)?;
            assert!(trace.set_by_plan);
            Some(trace.first.trace_id.get())
        };
        assert_eq!((began(Some(&own)), began(None)), (Some(1), Some(3)));
        assert_eq!(began(Some(&text("mine"))), None);
    }
}
