//! The HTTP log of HAProxy (`option httplog`, its configuration manual, section 8.2.3), with what syslog puts before it.
//!
//! `haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {agent}
//! "GET /index.html HTTP/1.1"`: the five timers are TR, Tw, Tc, Tr and Ta, in milliseconds. The time has no zone: it is taken for that of this
//! machine.

use super::access_line::{AccessLine, LoggedBytes, LoggedTime};
use super::values::{
    MILLISECOND, Unreadable, end_of_quoted, local_time, request, trace, unescaped,
};

/// Reads a line. `None` if it has no request, as for `<BADREQ>`.
pub(super) fn read(text: &str) -> Result<Option<AccessLine>, Unreadable> {
    let (time, rest) = time(text).ok_or("it has no time like [06/Feb/2009:12:14:14.655]")?;
    let mut line = AccessLine {
        time,
        ..AccessLine::default()
    };
    // The frontend, and the backend with its server.
    let mut words = rest.split_whitespace().skip(2);
    let timers = words.next().ok_or("it has no timers")?;
    let timers: Vec<Option<u64>> = timers.split('/').map(timer).collect();
    let [_, _, _, response, active] = timers[..] else {
        return Err("it has no five timers");
    };
    line.server_ns = active;
    line.upstream_ns = response;
    let status = words.next().ok_or("it has no status")?;
    line.status = match status {
        "-1" => 0,
        digits => digits.parse().map_err(|_| "its status is no number")?,
    };
    let bytes = words.next().ok_or("it has no bytes")?;
    let bytes = bytes.trim_start_matches('+').parse();
    line.bytes = Some(LoggedBytes::Whole(
        bytes.map_err(|_| "its bytes are no number")?,
    ));
    // Captured headers are in braces before the request, with '|' between them.
    let (captured, quoted) = rest
        .split_once(" \"")
        .ok_or("it has no request in quotes")?;
    let header = captured
        .split(['{', '}', '|', ' '])
        .find_map(|header| trace(header).filter(|_| header.len() == 55));
    line.trace = header;
    // A long request is cut, quotes and all.
    let end = end_of_quoted(quoted).unwrap_or(quoted.len());
    Ok(request(&unescaped(&quoted[..end]), &mut line).then_some(line))
}

fn time(text: &str) -> Option<(LoggedTime, &str)> {
    text.match_indices('[').find_map(|(at, _)| {
        let (inner, rest) = text[at + 1..].split_once(']')?;
        Some((local_time(inner)?, rest))
    })
}

/// Reads a timer: `-1` stands for a phase that was not reached, a `+` for one that went on after the line was written.
fn timer(text: &str) -> Option<u64> {
    let ms: u64 = text.parse().ok()?;
    ms.checked_mul(MILLISECOND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::access_line::Moment;

    const LINE: &str = r#"Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1""#;

    #[test]
    fn lines_of_the_manual_are_read() {
        let line = read(LINE).expect("it can be read").expect("a request");
        assert_eq!((&*line.method, &*line.target), ("GET", "/index.html"));
        assert_eq!(
            (line.status, line.bytes),
            (200, Some(LoggedBytes::Whole(2750)))
        );
        assert_eq!(line.server_ns, Some(109 * MILLISECOND));
        assert_eq!(line.upstream_ns, Some(69 * MILLISECOND));
        assert_eq!(line.time.moment, Moment::Start);
        assert_eq!(line.time.resolution_ns, MILLISECOND);
    }

    #[test]
    fn requests_of_http2_captured_traces_and_unended_ones_are_read() {
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let text = LINE.replace("{1wt.eu}", &format!("{{a|{trace}}}"));
        let text = text.replace(
            "GET /index.html HTTP/1.1",
            "GET https://example.org/a HTTP/2.0",
        );
        let text = text.replace("69/109 200 2750", "-1/+30001 -1 +212");
        let line = read(&text).expect("it can be read").expect("a request");
        assert_eq!((&*line.target, line.status), ("/a", 0));
        assert_eq!(line.bytes, Some(LoggedBytes::Whole(212)));
        assert_eq!(
            (line.server_ns, line.upstream_ns),
            (Some(30_001 * MILLISECOND), None)
        );
        assert!(line.trace.is_some());
        let bad = LINE.replace("GET /index.html HTTP/1.1", "<BADREQ>");
        assert_eq!(read(&bad), Ok(None));
    }

    #[test]
    fn lines_of_connections_and_broken_ones_are_refused() {
        let tcp = "haproxy[1]: 10.0.1.2:33313 [06/Feb/2009:12:12:51.443] fnt bck/srv1 0/0/5007 212 -- 0/0/0/0/3 0/0";
        for text in ["", "haproxy", tcp, &LINE[..100], &LINE[..130]] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
