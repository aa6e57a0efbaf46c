//! Heads of responses that have come before. A page mostly has the same head each time, `Date` apart, and need not be
//! parsed again: that is a twelfth of the instructions of a small request.

use super::head::ResponseHead;
use crate::failure::Failure;
use http::Method;
use std::cell::{Cell, RefCell};
use std::ops::Range;

/// The most heads that are known.
const MAX_HEADS: usize = 32;
/// The most bytes of a head that is kept.
const MAX_BYTES: usize = 1024;
/// The number of heads that had to be parsed after which one replaces another: where heads never repeat, copying each
/// would be wasted.
const PARSED_PER_REPLACEMENT: u32 = 8;

/// The latest heads that the connections of a shard have received.
#[derive(Debug)]
pub(crate) struct KnownHeads {
    /// By the number of bytes received with the head: responses of the same page are mostly of one length.
    heads: RefCell<[Option<Box<KnownHead>>; MAX_HEADS]>,
    parsed: Cell<u32>,
}

#[derive(Debug)]
struct KnownHead {
    bytes: Box<[u8]>,
    /// The place of the value of `Date`; empty without one.
    date: Range<usize>,
    head: ResponseHead,
}

impl Default for KnownHeads {
    fn default() -> Self {
        KnownHeads {
            heads: RefCell::new([const { None }; MAX_HEADS]),
            parsed: Cell::new(0),
        }
    }
}

impl KnownHeads {
    /// Parses the head of a response, as [`ResponseHead::parse`] does.
    pub(crate) fn parse(
        &self,
        bytes: &[u8],
        method: &Method,
    ) -> Result<Option<ResponseHead>, Failure> {
        // The response to HEAD has no body, whatever its head says.
        if *method == Method::HEAD {
            return ResponseHead::parse(bytes, method);
        }
        let place = &mut self.heads.borrow_mut()[bytes.len() % MAX_HEADS];
        if let Some(known) = place
            && known.is_at_start_of(bytes)
        {
            return Ok(Some(known.head.clone()));
        }
        let parsed = ResponseHead::parse(bytes, method)?;
        self.parsed.set(self.parsed.get().wrapping_add(1));
        let is_due = place.is_none() || self.parsed.get().is_multiple_of(PARSED_PER_REPLACEMENT);
        if is_due && let Some(head) = parsed.as_ref().filter(|head| head.length <= MAX_BYTES) {
            *place = Some(Box::new(KnownHead::of(bytes, head)));
        }
        Ok(parsed)
    }
}

impl KnownHead {
    fn of(bytes: &[u8], head: &ResponseHead) -> KnownHead {
        const DATE: &[u8] = b"\r\ndate:";
        let bytes = &bytes[..head.length];
        let mut lines = bytes.windows(DATE.len());
        let date = lines.position(|start| start.eq_ignore_ascii_case(DATE));
        let start = date.map_or(bytes.len(), |line| line + DATE.len());
        let value = bytes[start..].iter().take_while(|byte| !is_line_end(byte));
        KnownHead {
            date: start..start + value.count(),
            bytes: bytes.into(),
            head: head.clone(),
        }
    }

    /// Returns whether a response begins with this head but for its date, which is then the new one.
    fn is_at_start_of(&mut self, bytes: &[u8]) -> bool {
        if bytes.starts_with(&self.bytes) {
            return true;
        }
        let Some(bytes) = bytes.get(..self.bytes.len()) else {
            return false;
        };
        let Range { start, end } = self.date;
        let date = &bytes[start..end];
        let is_same = bytes[..start] == self.bytes[..start] && bytes[end..] == self.bytes[end..];
        // A control character could end the line, or the head.
        if !is_same || !date.iter().all(|byte| matches!(byte, b' '..=b'~')) {
            return false;
        }
        self.bytes[start..end].copy_from_slice(date);
        true
    }
}

fn is_line_end(byte: &u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether a head was known that comes after the others; either way it is read as if it came alone.
    fn is_known(before: &[&str], text: &str) -> bool {
        let known = KnownHeads::default();
        for text in before {
            known.parse(text.as_bytes(), &Method::GET).ok();
        }
        let parsed = known.parsed.get();
        let alone = ResponseHead::parse(text.as_bytes(), &Method::GET);
        assert_eq!(
            known.parse(text.as_bytes(), &Method::GET),
            alone,
            "{text:?}"
        );
        known.parsed.get() == parsed && alone.is_ok_and(|head| head.is_some())
    }

    const HEAD: &str =
        "HTTP/1.1 200 OK\r\nDate: Mon, 30 Nov 2026 07:00:00 GMT\r\nContent-Length: 2\r\n\r\nok";

    #[test]
    fn a_head_is_known_again_at_any_date() {
        let later = HEAD.replace("07:00:00", "07:00:01");
        assert!(is_known(&[HEAD], HEAD) && is_known(&[HEAD], &later));
        let without = HEAD.replace("Date", "Data");
        assert!(is_known(&[&without], &without));
        assert!(!is_known(
            &[&without],
            &without.replace("07:00:00", "07:00:01")
        ));
    }

    #[test]
    fn a_head_that_differs_is_parsed() {
        for (from, to) in [
            ("200", "404"),
            ("Length: 2", "Length: 1"),
            ("07:00:00 GMT", "07:00\r\na:GMT"),
            ("07:00:00 GMT", "07:00:0\r\n\r\nT"),
            ("07:00:00 GMT", "07:00:0\n\nGMT"),
            ("07:00:00 GMT", "07:00:00\0GMT"),
            ("Content-Length: 2", "Connection: close"),
            ("\r\n\r\nok", "\r\na: b"),
        ] {
            let text = HEAD.replace(from, to);
            assert_eq!(text.len(), HEAD.len(), "{to:?}");
            assert!(!is_known(&[HEAD], &text), "{to:?}");
        }
    }

    #[test]
    fn the_response_to_head_is_no_other() {
        let known = KnownHeads::default();
        for method in [Method::GET, Method::HEAD, Method::GET] {
            let alone = ResponseHead::parse(HEAD.as_bytes(), &method);
            assert_eq!(known.parse(HEAD.as_bytes(), &method), alone, "{method}");
        }
    }

    #[test]
    fn heads_that_never_repeat_are_rarely_kept() {
        let known = KnownHeads::default();
        let mut kept = 0;
        for number in 1000..1080 {
            let text = HEAD
                .replace("2026", &number.to_string())
                .replace("200", "201");
            let text = text.replace("Date", "Data");
            known.parse(text.as_bytes(), &Method::GET).ok();
            let heads = known.heads.borrow();
            let mut heads = heads.iter().flatten();
            kept += usize::from(heads.any(|head| text.as_bytes().starts_with(&head.bytes)));
        }
        assert_eq!(kept, 11);
    }
}
