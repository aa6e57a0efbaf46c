//! The common and the combined format, which nginx and Apache write by default, with any fields before and after.
//!
//! `127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 2326 "http://referrer/" "agent"` and what follows. Of the
//! fields that follow, those are taken that can be told: a `traceparent`, a time with three decimals, which is nginx's
//! `$request_time` and then `$upstream_response_time`, and those with a name (`rt=0.012`, `urt="0.010"`).

use super::access_line::{AccessLine, LoggedBytes};
use super::values::{
    SECOND, Unreadable, common_time, decimal, present, quoted, request, trace, unescaped,
    upstream_seconds,
};

/// Reads a line. `None` if it has no request: a connection was closed before one came.
pub(super) fn read(text: &str) -> Result<Option<AccessLine>, Unreadable> {
    let (time, rest) = time(text).ok_or("it has no time like [10/Oct/2000:13:55:36 -0700]")?;
    let mut line = AccessLine {
        time,
        ..AccessLine::default()
    };
    let (request_line, rest) =
        quoted(rest.trim_start()).ok_or("it has no request in quotes after its time")?;
    let mut fields = Fields(rest);
    let status = fields.next().ok_or("it has no status")?;
    line.status = match status.text {
        "-" => 0,
        digits => digits.parse().map_err(|_| "its status is no number")?,
    };
    line.bytes = match fields.next().ok_or("it has no bytes")?.text {
        "-" => Some(LoggedBytes::Either(0)),
        digits => Some(LoggedBytes::Either(
            digits.parse().map_err(|_| "its bytes are no number")?,
        )),
    };
    if !request(&unescaped(request_line), &mut line) {
        return Ok(None);
    }
    let mut after = fields.peekable();
    if after.next_if(|referrer| referrer.is_quoted).is_some()
        && let Some(agent) = after.next_if(|agent| agent.is_quoted)
    {
        line.agent = present(agent.text).map(unescaped);
    }
    for field in after {
        trailing(&field, &mut line);
    }
    Ok(Some(line))
}

/// Returns the time in brackets, and what follows it.
fn time(text: &str) -> Option<(super::access_line::LoggedTime, &str)> {
    text.match_indices('[').find_map(|(at, _)| {
        let (inner, rest) = text[at + 1..].split_once(']')?;
        Some((common_time(inner)?, rest))
    })
}

/// Takes a field after the user agent.
fn trailing(field: &Field<'_>, line: &mut AccessLine) {
    let (name, value) = match field.text.split_once('=') {
        Some((name, value)) => (name, value.trim_matches('"')),
        None => ("", field.text),
    };
    let is_time = |text: &str| {
        text.split_once('.').is_some_and(|(whole, decimals)| {
            decimals.len() == 3
                && !whole.is_empty()
                && (whole.bytes().chain(decimals.bytes())).all(|byte| byte.is_ascii_digit())
        })
    };
    match name {
        "rt" | "request_time" => line.server_ns = decimal(value, SECOND),
        "urt" | "upstream_response_time" => line.upstream_ns = upstream_seconds(value),
        "traceparent" | "trace_id" => line.trace = trace(value),
        "" if is_time(value) && line.server_ns.is_none() => {
            line.server_ns = decimal(value, SECOND);
        }
        "" if is_time(value) && line.upstream_ns.is_none() => {
            line.upstream_ns = decimal(value, SECOND);
        }
        "" if value.len() == 55 && line.trace.is_none() => line.trace = trace(value),
        _ => {}
    }
}

/// A field of a line.
struct Field<'a> {
    text: &'a str,
    is_quoted: bool,
}

/// The fields of a text, with spaces between: each a word or a text in quotes. A name before the quotes belongs to them.
struct Fields<'a>(&'a str);

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        let text = self.0.trim_start();
        if text.is_empty() {
            return None;
        }
        if let Some((inner, rest)) = quoted(text) {
            self.0 = rest;
            return Some(Field {
                text: inner,
                is_quoted: true,
            });
        }
        let mut end = text.find(' ').unwrap_or(text.len());
        if let Some(at) = text[..end].find("=\"")
            && let Some((inner, _)) = quoted(&text[at + 1..])
        {
            end = at + 1 + inner.len() + 2;
        }
        self.0 = &text[end..];
        Some(Field {
            text: &text[..end],
            is_quoted: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::access_line::Moment;

    fn line(text: &str) -> AccessLine {
        read(text).expect("it can be read").expect("a request")
    }

    #[test]
    fn the_common_and_the_combined_format_are_read() {
        let common = line(
            r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326"#,
        );
        assert_eq!(
            (&*common.method, &*common.target),
            ("GET", "/apache_pb.gif")
        );
        assert_eq!(common.status, 200);
        assert_eq!(common.bytes, Some(LoggedBytes::Either(2326)));
        assert_eq!(common.time.moment, Moment::Either);
        assert_eq!(common.agent, None);
        let combined = line(
            r#"10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "POST /a?b=\x22 HTTP/2.0" 404 - "-" "Mozilla/5.0 (\"x\")""#,
        );
        assert_eq!(combined.target, "/a?b=\"");
        assert_eq!(combined.bytes, Some(LoggedBytes::Either(0)));
        assert_eq!(combined.agent.as_deref(), Some("Mozilla/5.0 (\"x\")"));
    }

    #[test]
    fn known_fields_before_and_after_are_taken() {
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let virtual_host = format!(
            r#"example.org:443 10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET / HTTP/1.1" 200 5 "-" "-" "{trace}" 0.012 0.010"#
        );
        let found = line(&virtual_host);
        assert_eq!(found.agent, None);
        assert_eq!(found.server_ns, Some(12_000_000));
        assert_eq!(found.upstream_ns, Some(10_000_000));
        assert_eq!(
            found.trace.map(|id| id.get()),
            Some(0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c)
        );
        let named = line(
            r#"10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET / HTTP/1.1" 200 5 "-" "-" rt=0.250 uct="0.000" urt="0.100, 0.050""#,
        );
        assert_eq!(named.server_ns, Some(250_000_000));
        assert_eq!(named.upstream_ns, Some(150_000_000));
        // It may be anything: microseconds, a port, a length.
        let number = line(
            r#"10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET / HTTP/1.1" 200 5 "-" "-" 1234"#,
        );
        assert_eq!(number.server_ns, None);
    }

    #[test]
    fn connections_without_a_request_are_no_requests() {
        for request in ["", "-", r"\x16\x03\x01", "t3 12.1.2"] {
            let text =
                format!(r#"10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "{request}" 400 150 "-" "-""#);
            assert_eq!(read(&text), Ok(None), "{request}");
        }
    }

    #[test]
    fn broken_lines_are_refused_with_the_reason() {
        for (text, reason) in [
            ("", "no time"),
            ("x [10/Oct/2000:13:55:36 +0000", "no time"),
            ("x [10/Oct/2000:13:55:36 +0000] GET", "no request"),
            (
                r#"x [10/Oct/2000:13:55:36 +0000] "GET / HTTP"#,
                "no request",
            ),
            (
                r#"x [10/Oct/2000:13:55:36 +0000] "GET / HTTP/1.1""#,
                "no status",
            ),
            (
                r#"x [10/Oct/2000:13:55:36 +0000] "GET / HTTP/1.1" x 1"#,
                "status",
            ),
            (
                r#"x [10/Oct/2000:13:55:36 +0000] "GET / HTTP/1.1" 200 x"#,
                "bytes",
            ),
        ] {
            let refused = read(text).expect_err(text);
            assert!(refused.contains(reason), "{text}: {refused}");
        }
    }
}
