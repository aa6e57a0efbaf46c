//! The values that several formats of access logs share: request lines, times, durations, numbers and escapes.

use super::access_line::{AccessLine, LoggedTime, Moment};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::TimeZone;
use lgoose_base::trace::TraceContext;
use std::num::NonZeroU128;

/// Nanoseconds of a second, a millisecond and a microsecond.
pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const MILLISECOND: u64 = 1_000_000;
pub(crate) const MICROSECOND: u64 = 1_000;

/// Why a line could not be read.
pub(crate) type Unreadable = &'static str;

/// Reads `GET /path HTTP/1.1` into a line. False if the connection was closed, or was no HTTP, before a request came.
pub(super) fn request(text: &str, line: &mut AccessLine) -> bool {
    let mut words = text.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return false;
    };
    let is_token = |c: char| c.is_ascii_uppercase() || c == '-' || c == '_';
    if method.is_empty() || !method.chars().all(is_token) || target.is_empty() {
        return false;
    }
    line.method = method.to_owned();
    line.target = path_and_query(target).to_owned();
    true
}

/// Returns path and query of a URL, or of what a request line has in its place.
pub(crate) fn path_and_query(target: &str) -> &str {
    let target = target.split('#').next().unwrap_or_default();
    let Some((scheme, rest)) = target.split_once("://") else {
        return target;
    };
    if !scheme.chars().all(|c| c.is_ascii_alphanumeric()) {
        return target;
    }
    let path = rest.find(['/', '?']);
    path.map_or("/", |at| &rest[at..])
}

/// Reads `10/Oct/2000:13:55:36 -0700`, the time of the common format.
pub(super) fn common_time(text: &str) -> Option<LoggedTime> {
    let parts = BrokenDownTime::parse("%d/%b/%Y:%H:%M:%S %z", text).ok()?;
    Some(whole_second(parts.to_timestamp().ok()?, Moment::Either))
}

/// Reads `06/Feb/2009:12:14:14.655`, the time of HAProxy, which is that of the machine: it has no zone.
pub(super) fn local_time(text: &str) -> Option<LoggedTime> {
    let time = DateTime::strptime("%d/%b/%Y:%H:%M:%S%.f", text).ok()?;
    let at = time.to_zoned(TimeZone::system()).ok()?.timestamp();
    let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    Some(LoggedTime {
        resolution_ns: resolution(digits),
        ..whole_second(at, Moment::Start)
    })
}

/// Reads `2009-02-06T12:14:14.655Z` and others of RFC 3339.
pub(super) fn iso_time(text: &str) -> Option<LoggedTime> {
    let at: Timestamp = text.parse().ok()?;
    let digits = text.split_once(['.', ',']).map_or(0, |(_, rest)| {
        rest.chars().take_while(char::is_ascii_digit).count()
    });
    Some(LoggedTime {
        resolution_ns: resolution(digits),
        ..whole_second(at, Moment::End)
    })
}

fn whole_second(at: Timestamp, moment: Moment) -> LoggedTime {
    LoggedTime {
        at_ns: i64::try_from(at.as_nanosecond()).unwrap_or_default(),
        resolution_ns: SECOND,
        moment,
    }
}

/// Reads seconds since 1970, with as many decimals as there are: `1700000000.123`.
pub(super) fn epoch(text: &str) -> Option<LoggedTime> {
    let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    Some(LoggedTime {
        at_ns: i64::try_from(decimal(text, SECOND)?).ok()?,
        resolution_ns: resolution(digits),
        moment: Moment::End,
    })
}

/// Returns the resolution of seconds with so many decimals.
fn resolution(digits: usize) -> u64 {
    SECOND / 10_u64.pow(digits.min(9) as u32)
}

/// Reads a number with decimals in a unit of so many nanoseconds, exactly: `0.012` of seconds is 12,000,000.
pub(crate) fn decimal(text: &str, unit_ns: u64) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let whole: u64 = whole.parse().ok()?;
    let digits = decimals.get(..decimals.len().min(9))?;
    let of_digits: u64 = match digits {
        "" => 0,
        digits => digits.parse().ok()?,
    };
    let scale = 10_u128.pow(digits.len() as u32);
    let part = u128::from(of_digits) * u128::from(unit_ns) / scale;
    whole.checked_mul(unit_ns)?.checked_add(part as u64)
}

/// Reads `0.010, 0.002 : -`, the times of several upstream servers of nginx, as their sum.
pub(super) fn upstream_seconds(text: &str) -> Option<u64> {
    let times = text
        .split([',', ':'])
        .map(str::trim)
        .filter(|time| *time != "-");
    let times: Vec<u64> = times
        .map(|time| decimal(time, SECOND))
        .collect::<Option<_>>()?;
    (!times.is_empty()).then(|| times.iter().sum())
}

/// Reads a `traceparent`, or the 32 digits of a trace id.
pub(super) fn trace(text: &str) -> Option<NonZeroU128> {
    if let Some(context) = TraceContext::parse(text.as_bytes()) {
        return Some(context.trace_id);
    }
    let digits = text.len() == 32;
    NonZeroU128::new(u128::from_str_radix(text, 16).ok().filter(|_| digits)?)
}

/// Returns a value, unless it is what logs have in the place of none.
pub(super) fn present(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty() && *text != "-")
}

/// Undoes the escapes of nginx (`\x22`) and Apache (`\"`, `\\`, `\x22`, `\t`).
pub(super) fn unescaped(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let Some((escape, after)) = rest.split_first() else {
            bytes.push(b'\\');
            break;
        };
        rest = after;
        let digits = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (escape, byte) {
            (b'x', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            (b'n', _) => bytes.push(b'\n'),
            (b'r', _) => bytes.push(b'\r'),
            (b't', _) => bytes.push(b'\t'),
            (other, _) => bytes.push(*other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Splits off a text in quotes, which may have `\"` within: `"a" rest` is `a` and ` rest`.
pub(super) fn quoted(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('"')?;
    let end = end_of_quoted(text)?;
    Some((&text[..end], &text[end + 1..]))
}

/// Returns where the quote is that ends a text.
pub(super) fn end_of_quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_decimals_are_exact() {
        for (text, unit, expected) in [
            ("0.012", SECOND, Some(12_000_000)),
            ("1700000000.123", SECOND, Some(1_700_000_000_123_000_000)),
            ("1.5", MILLISECOND, Some(1_500_000)),
            ("7", MICROSECOND, Some(7_000)),
            ("-", SECOND, None),
            ("1.2.3", SECOND, None),
            ("99999999999999999999", SECOND, None),
        ] {
            assert_eq!(decimal(text, unit), expected, "{text}");
        }
    }

    #[test]
    fn times_of_all_kinds_are_read() {
        let expected = 971_211_336 * SECOND as i64;
        let common = common_time("10/Oct/2000:13:55:36 -0700").expect("a time");
        assert_eq!((common.at_ns, common.resolution_ns), (expected, SECOND));
        let iso = iso_time("2000-10-10T20:55:36.250+00:00").expect("a time");
        assert_eq!(iso.at_ns, expected + 250_000_000);
        assert_eq!(iso.resolution_ns, MILLISECOND);
        let seconds = epoch("971211336.5").expect("a time");
        assert_eq!(seconds.at_ns, expected + 500_000_000);
        assert_eq!(seconds.resolution_ns, SECOND / 10);
        for wrong in ["", "10/Oct/2000", "99/Oct/2000:13:55:36 -0700"] {
            assert_eq!(common_time(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn urls_come_down_to_path_and_query() {
        for (target, expected) in [
            ("/a?b=c", "/a?b=c"),
            ("http://127.0.0.1:8080/a?b=c#d", "/a?b=c"),
            ("https://example.org", "/"),
            ("https://example.org?q", "?q"),
            ("/to?url=http://example.org/", "/to?url=http://example.org/"),
            ("*", "*"),
        ] {
            assert_eq!(path_and_query(target), expected, "{target}");
        }
    }

    #[test]
    fn escapes_are_undone_and_broken_ones_do_no_harm() {
        for (text, expected) in [
            (r"/a\x22b", "/a\"b"),
            (r#"/a\"b\\"#, "/a\"b\\"),
            (r"/\xc3\xa4", "/ä"),
            (r"/\x2", "/x2"),
            (r"/\", "/\\"),
            (r"/\xzz", "/xzz"),
        ] {
            assert_eq!(unescaped(text), expected, "{text}");
        }
    }
}
