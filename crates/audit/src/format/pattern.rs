//! A format that the user describes, in the syntax of nginx's `log_format` or Apache's `LogFormat`.
//!
//! A pattern is a row of texts and fields; a field goes on up to the text behind it. `apache` and `nginx` know which names of
//! theirs are which field.

use super::access_line::{AccessLine, LoggedBytes, LoggedTime, Moment};
use super::values::{
    Unreadable, common_time, decimal, end_of_quoted, epoch, iso_time, present, request, trace,
    unescaped, upstream_seconds,
};
use super::{apache, nginx};

/// A pattern.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinePattern {
    pieces: Vec<Piece>,
}

/// A piece of a pattern.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Field(LineField),
}

/// The meaning of a field of a pattern.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LineField {
    /// Method, target and version.
    Request,
    Method,
    /// Path and query.
    Target,
    /// The path alone.
    Path,
    /// The query alone; with its `?` in Apache.
    Query,
    Status,
    /// `10/Oct/2000:13:55:36 -0700`.
    CommonTime(Moment),
    IsoTime,
    /// A number since 1970 in units of so many nanoseconds.
    Epoch(u64, Moment),
    WholeBytes,
    BodyBytes,
    /// The time that the server took, in units of so many nanoseconds.
    ServerTime(u64),
    UpstreamTime,
    Agent,
    Trace,
    /// Anything else.
    Other,
}

impl LinePattern {
    /// Reads a pattern of either kind.
    ///
    /// # Errors
    /// What is missing in it, or cannot be told apart.
    pub(crate) fn new(text: &str) -> Result<LinePattern, String> {
        let pieces = if text.contains('%') && !text.contains('$') {
            apache::pieces(text)?
        } else {
            nginx::pieces(text)
        };
        let pattern = LinePattern { pieces };
        pattern.check()?;
        Ok(pattern)
    }

    fn check(&self) -> Result<(), String> {
        let has = |wanted: &[fn(&LineField) -> bool]| {
            let fields = self.pieces.iter().filter_map(|piece| match piece {
                Piece::Field(field) => Some(field),
                Piece::Text(_) => None,
            });
            let fields: Vec<_> = fields.collect();
            wanted.iter().all(|of| fields.iter().any(|field| of(field)))
        };
        let adjacent = self
            .pieces
            .windows(2)
            .any(|pair| matches!(pair, [Piece::Field(_), Piece::Field(_)]));
        let is_request = |field: &LineField| *field == LineField::Request;
        let is_target = |field: &LineField| matches!(field, LineField::Target | LineField::Path);
        let is_time = |field: &LineField| {
            matches!(
                field,
                LineField::CommonTime(_) | LineField::IsoTime | LineField::Epoch(..)
            )
        };
        if adjacent {
            Err(
                "two fields have no text between them, so that nobody can tell where one ends"
                    .to_owned(),
            )
        } else if !has(&[is_request]) && !has(&[is_target, |field| *field == LineField::Method]) {
            Err("it has no request: $request of nginx, %r of Apache".to_owned())
        } else if !has(&[|field| *field == LineField::Status]) {
            Err("it has no status: $status of nginx, %>s of Apache".to_owned())
        } else if !has(&[is_time]) {
            Err(
                "it has no time: $time_local, $time_iso8601 or $msec of nginx, %t of Apache"
                    .to_owned(),
            )
        } else {
            Ok(())
        }
    }

    /// Reads a line. `None` if it has no request.
    pub(super) fn read(&self, text: &str) -> Result<Option<AccessLine>, Unreadable> {
        let mut line = AccessLine::default();
        let mut time: Option<LoggedTime> = None;
        let mut status = None;
        let mut query = None;
        let mut has_request = true;
        let mut rest = text;
        for (at, piece) in self.pieces.iter().enumerate() {
            let field = match piece {
                Piece::Text(text) => {
                    rest = rest
                        .strip_prefix(&**text)
                        .ok_or("it is not in the given format")?;
                    continue;
                }
                Piece::Field(field) => field,
            };
            let end = match self.pieces.get(at + 1) {
                Some(Piece::Text(text)) => {
                    end_of_field(rest, text).ok_or("it ends before the given format does")?
                }
                _ => rest.len(),
            };
            let value = &rest[..end];
            rest = &rest[end..];
            match field {
                LineField::Request => has_request &= request(&unescaped(value), &mut line),
                LineField::Method => line.method = value.to_owned(),
                LineField::Target => line.target = unescaped(value),
                LineField::Path if line.target.is_empty() => line.target = unescaped(value),
                LineField::Query => {
                    let value = value.trim_start_matches('?');
                    query = present(value).map(unescaped);
                }
                LineField::Status => status = value.parse().ok().or((value == "-").then_some(0)),
                LineField::CommonTime(moment) => {
                    let found = common_time(value);
                    let found = found.map(|found| LoggedTime {
                        moment: *moment,
                        ..found
                    });
                    time = finest(time, found);
                }
                LineField::IsoTime => time = finest(time, iso_time(value)),
                LineField::Epoch(unit_ns, moment) => {
                    time = finest(time, since_epoch(value, *unit_ns, *moment));
                }
                LineField::WholeBytes => line.bytes = bytes(value).map(LoggedBytes::Whole),
                LineField::BodyBytes if line.bytes.is_none() => {
                    line.bytes = bytes(value).map(LoggedBytes::Body);
                }
                LineField::ServerTime(unit_ns) => line.server_ns = decimal(value, *unit_ns),
                LineField::UpstreamTime => line.upstream_ns = upstream_seconds(value),
                LineField::Agent => line.agent = present(value).map(unescaped),
                LineField::Trace => line.trace = trace(value),
                LineField::Path | LineField::BodyBytes | LineField::Other => {}
            }
        }
        line.time = time.ok_or("its time cannot be read")?;
        line.status = status.ok_or("its status is no number")?;
        if let Some(query) = query.filter(|_| !line.target.contains('?')) {
            line.target.push('?');
            line.target.push_str(&query);
        }
        has_request &= !line.method.is_empty() && present(&line.target).is_some();
        Ok(has_request.then_some(line))
    }
}

/// Returns where a field ends: before the text behind it. A quote that ends it is not one that is escaped.
fn end_of_field(rest: &str, behind: &str) -> Option<usize> {
    if !behind.starts_with('"') {
        return rest.find(behind);
    }
    let mut from = 0;
    loop {
        let end = from + end_of_quoted(&rest[from..])?;
        if rest[end..].starts_with(behind) {
            return Some(end);
        }
        from = end + 1;
    }
}

/// Returns the time with the finer resolution.
fn finest(one: Option<LoggedTime>, other: Option<LoggedTime>) -> Option<LoggedTime> {
    match (one, other) {
        (Some(one), Some(other)) if other.resolution_ns >= one.resolution_ns => Some(one),
        (one, None) => one,
        (_, other) => other,
    }
}

fn since_epoch(value: &str, unit_ns: u64, moment: Moment) -> Option<LoggedTime> {
    if value.contains('.') {
        return epoch(value).map(|time| LoggedTime { moment, ..time });
    }
    Some(LoggedTime {
        at_ns: i64::try_from(decimal(value, unit_ns)?).ok()?,
        resolution_ns: unit_ns,
        moment,
    })
}

fn bytes(value: &str) -> Option<u64> {
    match value {
        "-" => Some(0),
        digits => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::values::SECOND;

    fn line(pattern: &str, text: &str) -> AccessLine {
        let pattern = LinePattern::new(pattern).expect("a pattern");
        pattern
            .read(text)
            .expect("it can be read")
            .expect("a request")
    }

    #[test]
    fn formats_of_nginx_are_read() {
        let found = line(
            r#"$remote_addr [$time_local] $msec "$request" $status $bytes_sent $body_bytes_sent "$http_user_agent" $request_time ${upstream_response_time}s "$http_traceparent""#,
            r#"10.0.0.1 [10/Oct/2000:20:55:36 +0000] 971211336.250 "GET /a\x22 b HTTP/1.1" 200 312 100 "a \x22 b" 0.012 0.004, 0.006s "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01""#,
        );
        assert_eq!(
            (&*found.method, &*found.target, found.status),
            ("GET", "/a\"", 200)
        );
        assert_eq!(found.time.at_ns, 971_211_336_250_000_000);
        assert_eq!(found.time.moment, Moment::End);
        assert_eq!(found.bytes, Some(LoggedBytes::Whole(312)));
        assert_eq!(
            (found.server_ns, found.upstream_ns),
            (Some(12_000_000), Some(10_000_000))
        );
        assert_eq!(found.agent.as_deref(), Some("a \" b"));
        assert!(found.trace.is_some());
        let of_json = line(
            r#"{"t":"$time_iso8601","m":"$request_method","u":"$uri","q":"$args","s":$status}"#,
            r#"{"t":"2000-10-10T20:55:36+00:00","m":"POST","u":"/a","q":"b=c","s":503}"#,
        );
        assert_eq!(
            (&*of_json.method, &*of_json.target, of_json.status),
            ("POST", "/a?b=c", 503)
        );
    }

    #[test]
    fn formats_of_apache_are_read() {
        let found = line(
            r#"%h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\" %D %{Traceparent}i"#,
            r#"10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a?b HTTP/1.1" 200 512 "-" "x \"y\"" 1500 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"#,
        );
        assert_eq!(
            (&*found.target, found.bytes),
            ("/a?b", Some(LoggedBytes::Whole(512)))
        );
        assert_eq!(
            (found.server_ns, found.time.moment),
            (Some(1_500_000), Moment::Start)
        );
        assert_eq!(found.agent.as_deref(), Some("x \"y\""));
        assert!(found.trace.is_some());
        let parts = line(
            "%{end:usec}t %m %U%q %s %B %{ms}T %T",
            "971211336250000 GET /a?b=c 304 0 12 0",
        );
        assert_eq!(
            (&*parts.target, parts.server_ns),
            ("/a?b=c", Some(12_000_000))
        );
        assert_eq!(parts.time.at_ns, 971_211_336_250_000_000);
        assert_eq!(
            (parts.time.moment, parts.bytes),
            (Moment::End, Some(LoggedBytes::Body(0)))
        );
        assert_eq!(parts.time.resolution_ns, 1_000);
    }

    #[test]
    fn patterns_that_lack_something_are_refused() {
        for (pattern, reason) in [
            ("$status [$time_local]", "no request"),
            ("$request_uri $status $msec", "no request"),
            ("$request [$time_local]", "no status"),
            ("\"$request\" $status", "no time"),
            ("$request$status $msec", "no text between"),
            ("%r %s", "no time"),
            ("%r %s %{%Y}t", "no time"),
            ("%r %s %{open", "'%{' has no end"),
            ("", "no request"),
        ] {
            let refused = LinePattern::new(pattern).expect_err(pattern);
            assert!(refused.contains(reason), "{pattern}: {refused}");
        }
    }

    #[test]
    fn lines_in_another_format_are_refused() {
        let pattern = LinePattern::new("[$time_local] \"$request\" $status $request_time")
            .expect("a pattern");
        for text in [
            "",
            "[",
            "[10/Oct/2000:13:55:36 -0700]",
            "[10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1",
            "[today] \"GET / HTTP/1.1\" 200 0.1",
            "[10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" ok 0.1",
        ] {
            assert!(pattern.read(text).is_err(), "{text}");
        }
        let closed = pattern.read("[10/Oct/2000:13:55:36 -0700] \"\" 400 0.000");
        assert_eq!(closed, Ok(None));
        let found = pattern.read("[10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" 200 0.100");
        let found = found.expect("it can be read").expect("a request");
        assert_eq!(found.server_ns, Some(SECOND / 10));
    }
}
