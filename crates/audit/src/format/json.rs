//! Lines of JSON: Caddy's, and those of any server by the usual names of their fields, also within one another or with dots.

use super::access_line::{AccessLine, LoggedBytes, LoggedTime, Moment};
use super::values::{
    MICROSECOND, MILLISECOND, SECOND, Unreadable, common_time, decimal, epoch, iso_time, present,
    request, trace, upstream_seconds,
};
use lgoose_base::units;
use serde_json::{Map, Value};

/// Names that fields have, the more telling first.
const METHOD: &[&str] = &[
    "method",
    "request_method",
    "http_method",
    "verb",
    "RequestMethod",
    "request.method",
    "http.request.method",
];
const TARGET: &[&str] = &[
    "request_uri",
    "uri",
    "request.uri",
    "url.original",
    "url",
    "target",
    "RequestPath",
    "path",
    "request_path",
    "request.url",
    "url.path",
];
const QUERY: &[&str] = &["args", "query", "query_string", "url.query"];
const STATUS: &[&str] = &[
    "status",
    "status_code",
    "response_status",
    "DownstreamStatus",
    "http.response.status_code",
    "response.status",
    "code",
];
const TIME: &[&str] = &[
    "msec",
    "ts",
    "time_iso8601",
    "@timestamp",
    "timestamp",
    "time",
    "time_local",
    "StartUTC",
    "date",
];
const WHOLE_BYTES: &[&str] = &["bytes_sent", "http.response.bytes"];
const BODY_BYTES: &[&str] = &[
    "body_bytes_sent",
    "size",
    "response_size",
    "DownstreamContentSize",
    "http.response.body.bytes",
];
const AGENT: &[&str] = &[
    "http_user_agent",
    "user_agent",
    "userAgent",
    "request.headers.User-Agent",
    "request_User-Agent",
    "user_agent.original",
];
const TRACE: &[&str] = &[
    "traceparent",
    "http_traceparent",
    "request.headers.Traceparent",
    "request_Traceparent",
    "trace_id",
    "traceId",
    "trace.id",
];
/// Names of the server's time, with their units in nanoseconds; 0 stands for a number of seconds, or a text with its unit.
const DURATION: &[(&str, u64)] = &[
    ("request_time", SECOND),
    ("duration_ns", 1),
    ("duration_us", MICROSECOND),
    ("duration_ms", MILLISECOND),
    ("latency_ms", MILLISECOND),
    ("elapsed_ms", MILLISECOND),
    ("response_time_ms", MILLISECOND),
    ("Duration", 1),
    ("event.duration", 1),
    ("duration", 0),
    ("latency", 0),
];

/// Reads a line. `None` if it is none of a request.
pub(super) fn read(text: &str) -> Result<Option<AccessLine>, Unreadable> {
    let object: Map<String, Value> = serde_json::from_str(text).map_err(|_| "it is no JSON")?;
    let mut line = AccessLine::default();
    let whole_request = field(&object, &["request"]).and_then(Value::as_str);
    let from_request = whole_request.is_some_and(|text| request(text, &mut line));
    if !from_request {
        let method = first_text(&object, METHOD);
        let target = first_text(&object, TARGET);
        let (Some(method), Some(target)) = (method, target) else {
            // Servers write other messages into the same file.
            return Ok(None);
        };
        let query = first_text(&object, QUERY)
            .filter(|query| present(query).is_some() && !target.contains('?'));
        line.method = method.to_owned();
        line.target = match query {
            Some(query) => format!("{target}?{query}"),
            None => target.to_owned(),
        };
    }
    line.status = number(&object, STATUS)
        .and_then(|status| u16::try_from(status).ok())
        .ok_or("it has no status")?;
    line.time = field(&object, TIME)
        .and_then(time)
        .ok_or("it has no time")?;
    if object.contains_key("StartUTC") {
        line.time.moment = Moment::Start;
    }
    let whole = number(&object, WHOLE_BYTES).map(LoggedBytes::Whole);
    line.bytes = whole.or_else(|| number(&object, BODY_BYTES).map(LoggedBytes::Body));
    line.server_ns = DURATION
        .iter()
        .find_map(|(name, unit)| duration(field(&object, &[name])?, *unit));
    let upstream = field(&object, &["upstream_response_time"]);
    line.upstream_ns = upstream.and_then(|time| upstream_seconds(&shown(time)?));
    line.agent = first_text(&object, AGENT)
        .and_then(present)
        .map(str::to_owned);
    line.trace = first_text(&object, TRACE).and_then(trace);
    Ok(Some(line))
}

/// Returns the first field that is there. Dots lead into objects, or are part of a name.
fn field<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| {
        object.get(*name).or_else(|| {
            let mut parts = name.split('.');
            let mut at = object.get(parts.next()?)?;
            for part in parts {
                at = at.get(part)?;
            }
            Some(at)
        })
    })
}

/// Returns the text of the first field that has one; of a list, such as Caddy's of a header, its first.
fn first_text<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| {
        let value = field(object, &[*name])?;
        value.as_str().or_else(|| value.get(0)?.as_str())
    })
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns a whole number, also one within quotes.
fn number(object: &Map<String, Value>, names: &[&str]) -> Option<u64> {
    let value = field(object, names)?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Reads a time: a number of seconds, milliseconds, microseconds or nanoseconds since 1970 by its size, or a text.
fn time(value: &Value) -> Option<LoggedTime> {
    let text = shown(value)?;
    let whole: u64 = match text.split('.').next()?.parse() {
        Ok(whole) => whole,
        Err(_) => return iso_time(&text).or_else(|| common_time(&text)),
    };
    let unit_ns = match whole {
        0..100_000_000_000 => {
            let time = epoch(&text)?;
            // A floating-point number has no more.
            let resolution_ns = time.resolution_ns.max(MICROSECOND);
            return Some(LoggedTime {
                resolution_ns,
                ..time
            });
        }
        100_000_000_000..100_000_000_000_000 => MILLISECOND,
        100_000_000_000_000..100_000_000_000_000_000 => MICROSECOND,
        _ => 1,
    };
    Some(LoggedTime {
        at_ns: i64::try_from(decimal(&text, unit_ns)?).ok()?,
        resolution_ns: unit_ns,
        moment: Moment::End,
    })
}

fn duration(value: &Value, unit_ns: u64) -> Option<u64> {
    let text = shown(value)?;
    match unit_ns {
        0 if text.ends_with(|c: char| c.is_ascii_digit()) => fraction(&text, SECOND),
        0 => with_unit(&text),
        unit => fraction(&text, unit),
    }
}

/// Reads a number of a unit, also one like `9.5e-05`.
fn fraction(text: &str, unit_ns: u64) -> Option<u64> {
    decimal(text, unit_ns).or_else(|| {
        let number: f64 = text.parse().ok()?;
        let ns = number * unit_ns as f64;
        (0.0..1e18).contains(&ns).then_some(ns as u64)
    })
}

/// Reads `1.2ms`, as Go writes durations.
fn with_unit(text: &str) -> Option<u64> {
    let at = text.find(|c: char| c != '.' && !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(at);
    let unit_ns = match unit {
        "ns" => 1,
        "us" | "µs" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        _ => {
            let whole = units::duration(text).ok()?;
            return u64::try_from(whole.as_nanos()).ok();
        }
    };
    decimal(number, unit_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> AccessLine {
        read(text).expect("it can be read").expect("a request")
    }

    #[test]
    fn lines_of_caddy_are_read() {
        let caddy = line(
            r#"{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"41342","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/a?b=c","headers":{"User-Agent":["curl/7.82.0"],"Traceparent":["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]}},"bytes_read":0,"user_id":"","duration":0.000929675,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"]}}"#,
        );
        assert_eq!(
            (&*caddy.method, &*caddy.target, caddy.status),
            ("GET", "/a?b=c", 200)
        );
        assert_eq!(caddy.bytes, Some(LoggedBytes::Body(10_900)));
        assert_eq!(caddy.server_ns, Some(929_675));
        assert_eq!(caddy.agent.as_deref(), Some("curl/7.82.0"));
        assert_eq!(caddy.time.at_ns / 1_000_000, 1_646_861_401_524);
        assert_eq!(caddy.time.moment, Moment::End);
        assert!(caddy.trace.is_some());
        let worded = line(
            r#"{"ts":"2022-03-09T21:30:01.524Z","request":{"method":"GET","uri":"/"},"duration":"1.5ms","size":0,"status":304}"#,
        );
        assert_eq!(worded.server_ns, Some(1_500_000));
        assert_eq!(worded.time.resolution_ns, MILLISECOND);
    }

    #[test]
    fn lines_of_other_servers_are_read_by_the_names_of_their_fields() {
        let nginx = line(
            r#"{"time":"2022-03-09T21:30:01+00:00","request":"GET /a HTTP/1.1","status":"200","bytes_sent":"312","request_time":"0.012","upstream_response_time":"0.010","http_user_agent":"-","traceparent":""}"#,
        );
        assert_eq!(
            (&*nginx.target, nginx.bytes),
            ("/a", Some(LoggedBytes::Whole(312)))
        );
        assert_eq!(
            (nginx.server_ns, nginx.upstream_ns),
            (Some(12_000_000), Some(10_000_000))
        );
        assert_eq!((nginx.agent, nginx.trace), (None, None));
        let traefik = line(
            r#"{"DownstreamStatus":200,"DownstreamContentSize":5,"Duration":1500000,"RequestMethod":"GET","RequestPath":"/b","StartUTC":"2022-03-09T21:30:01.5Z","time":"2022-03-09T21:30:01Z"}"#,
        );
        assert_eq!(
            (&*traefik.target, traefik.server_ns),
            ("/b", Some(1_500_000))
        );
        let own = line(
            r#"{"timestamp":1646861401524,"method":"GET","path":"/c","query":"d=e","status":200,"duration_ms":1.25}"#,
        );
        assert_eq!((&*own.target, own.server_ns), ("/c?d=e", Some(1_250_000)));
        assert_eq!(own.time.resolution_ns, MILLISECOND);
        let tiny =
            line(r#"{"ts":1646861401,"method":"GET","uri":"/","status":200,"duration":9.5e-05}"#);
        assert_eq!(tiny.server_ns, Some(95_000));
    }

    #[test]
    fn other_messages_are_no_requests_and_broken_lines_are_refused() {
        assert_eq!(read(r#"{"level":"info","ts":1,"msg":"serving"}"#), Ok(None));
        for text in [
            "{",
            "[]",
            r#"{"method":"GET","uri":"/","ts":1}"#,
            r#"{"method":"GET","uri":"/","status":200}"#,
            r#"{"method":"GET","uri":"/","status":200,"ts":"soon"}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
