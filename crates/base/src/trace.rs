//! The trace context of a request, as the header `traceparent` carries it (W3C Trace Context,
//! <https://www.w3.org/TR/trace-context/>): plain data. `http` sends it, `metrics` keeps it. Knows neither.

use std::num::{NonZeroU64, NonZeroU128};
use std::ops::Range;
use std::time::Instant;

/// The length of the header's value in version 00.
const LENGTH: usize = 55;

/// The place of the trace id in it.
pub const TRACE_ID: Range<usize> = 3..35;

/// The content of one `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace that the request belongs to.
    pub trace_id: NonZeroU128,
    /// The span of its sender, under which the site's own spans stand.
    pub span_id: NonZeroU64,
    /// Whether the site is requested to keep the trace.
    pub sampled: bool,
}

/// The trace of one request, redirects included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The context of its first hop.
    pub first: TraceContext,
    /// The hops after redirects: each has a span of its own below that of the first.
    pub hops: Vec<HopSpan>,
    /// Whether the plan has set the header itself, which all hops carry then.
    pub set_by_plan: bool,
}

/// The span of one hop after a redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopSpan {
    /// Its number.
    pub span_id: NonZeroU64,
    /// The time at which it began.
    pub start: Instant,
}

impl TraceContext {
    /// Reads the value of a `traceparent`: version 00, or a later one as far as that is the same.
    pub fn parse(value: &[u8]) -> Option<TraceContext> {
        let text = std::str::from_utf8(value.trim_ascii()).ok()?;
        let mut parts = text.splitn(5, '-');
        let version = hex(parts.next()?, 2)?;
        let trace_id = hex(parts.next()?, 32)?;
        let span_id = hex(parts.next()?, 16)?;
        let flags = hex(parts.next()?, 2)?;
        let fits = version < 0xff && (version > 0 || parts.next().is_none());
        fits.then_some(TraceContext {
            trace_id: NonZeroU128::new(trace_id)?,
            span_id: NonZeroU64::new(span_id as u64)?,
            sampled: flags & 1 == 1,
        })
    }

    /// Returns the value of the header.
    pub fn header(&self) -> [u8; LENGTH] {
        let mut value = *b"00-________________________________-________________-00";
        write_hex(&mut value[TRACE_ID], self.trace_id.get());
        write_hex(&mut value[36..52], self.span_id.get().into());
        value[54] = if self.sampled { b'1' } else { b'0' };
        value
    }
}

impl Trace {
    /// Begins the trace of a request.
    pub fn new(first: TraceContext, set_by_plan: bool) -> Trace {
        Trace {
            first,
            hops: Vec::new(),
            set_by_plan,
        }
    }

    /// Returns the context of the latest hop.
    pub fn latest(&self) -> TraceContext {
        TraceContext {
            span_id: self
                .hops
                .last()
                .map_or(self.first.span_id, |hop| hop.span_id),
            ..self.first
        }
    }
}

/// Returns a trace id as 32 hexadecimal digits.
pub fn trace_id_text(id: NonZeroU128) -> String {
    format!("{id:032x}")
}

/// Returns a span id as 16 hexadecimal digits.
pub fn span_id_text(id: NonZeroU64) -> String {
    format!("{id:016x}")
}

/// Reads so many hexadecimal digits without capitals.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let plain = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let fits = text.len() == digits && text.bytes().all(plain);
    fits.then(|| u128::from_str_radix(text, 16).ok())?
}

/// Fills `out` with the last digits of a number.
fn write_hex(out: &mut [u8], mut number: u128) {
    for digit in out.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(number & 15) as usize];
        number >>= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let context = TraceContext::parse(TEXT.as_bytes()).expect("it is one");
        assert!(context.sampled);
        assert_eq!(
            trace_id_text(context.trace_id),
            "4bf92f3577b34da6a3ce929d0e0e4736"
        );
        assert_eq!(span_id_text(context.span_id), "00f067aa0ba902b7");
        assert_eq!(context.header(), TEXT.as_bytes());
        let small = TraceContext {
            trace_id: NonZeroU128::MIN,
            span_id: NonZeroU64::MAX,
            sampled: false,
        };
        let text = "00-00000000000000000000000000000001-ffffffffffffffff-00";
        assert_eq!(small.header(), text.as_bytes());
        assert_eq!(TraceContext::parse(&small.header()), Some(small));
    }

    #[test]
    fn what_is_no_header_is_not_taken_for_one() {
        for (from, to) in [
            ("00-4", "ff-4"),
            ("00-4", "0-4"),
            ("4bf9", "4BF9"),
            (
                "4bf92f3577b34da6a3ce929d0e0e4736",
                "00000000000000000000000000000000",
            ),
            ("00f067aa0ba902b7", "0000000000000000"),
            ("00f067aa0ba902b7", "00f067aa0ba902b"),
            ("-01", "-1"),
            ("-01", "-0x"),
            ("-01", "-01-more"),
            ("-01", ""),
        ] {
            let text = TEXT.replacen(from, to, 1);
            assert_eq!(TraceContext::parse(text.as_bytes()), None, "{text}");
        }
        // A later version may add something.
        let later = TEXT.replacen("00-", "cc-", 1) + "-what-the-future-brings";
        let expected = TraceContext::parse(TEXT.as_bytes());
        assert_eq!(TraceContext::parse(later.as_bytes()), expected);
        assert_eq!(TraceContext::parse(b"\xff"), None);
    }

    #[test]
    fn the_latest_hop_has_its_own_span_in_the_same_trace() {
        let first = TraceContext::parse(TEXT.as_bytes()).expect("it is one");
        let mut trace = Trace::new(first, false);
        assert_eq!(trace.latest(), first);
        trace.hops.push(HopSpan {
            span_id: NonZeroU64::MIN,
            start: Instant::now(),
        });
        let latest = trace.latest();
        assert_eq!(
            (latest.trace_id, latest.span_id),
            (first.trace_id, NonZeroU64::MIN)
        );
    }
}
