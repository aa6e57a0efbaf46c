//! The report as HdrHistogram's log, which the public tools of HdrHistogram open: a line without a tag for all
//! requests, and one for each name with the name as its tag. Values are microseconds; an interval is the run.

use super::text::{one_line, request_name};
use crate::error::Error;
use crate::metrics::Report;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};
use std::collections::HashSet;
use std::time::{Duration, SystemTime};

/// The tools show an interval's maximum in milliseconds; the histograms stay in microseconds.
const US_PER_MS: f64 = 1_000.0;

/// The log, compressed histograms of version 2 as the tools expect them.
///
/// # Errors
/// Trouble that names the row whose histogram cannot be read; only a file that was changed by hand has one.
pub fn to_log(report: &Report) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    let plan = one_line(&report.plan);
    builder
        .add_comment(&format!(
            "[lgoose {}: latencies of {plan} in µs, maxima in ms]",
            one_line(&report.version)
        ))
        .add_comment("[Histogram log format version 1.3]")
        .with_max_value_divisor(US_PER_MS);
    if let Ok(started) = report.started.parse::<jiff::Timestamp>() {
        builder.with_start_time(SystemTime::from(started));
    }
    let elapsed = Duration::try_from_secs_f64(report.elapsed_s).unwrap_or_default();
    let mut log = builder
        .begin_log_with(&mut out, &mut serializer)
        .map_err(trouble)?;
    let mut tags = Tags::default();
    let all = ("Aggregated".to_owned(), None, &report.aggregated.histogram);
    let rows = report.requests.iter().map(|row| {
        let name = request_name(&row.method, &row.name);
        let tag = tags.tag(&name);
        (name, Some(tag), &row.figures.histogram)
    });
    for (name, tag, encoded) in std::iter::once(all).chain(rows) {
        let histogram = decoded(encoded).ok_or_else(|| {
            Error::Trouble(format!(
                "cannot write an HdrHistogram log: the report's histogram of '{name}' cannot be read"
            ))
        })?;
        let tag = tag.as_deref().and_then(Tag::new);
        log.write_histogram(&histogram, Duration::ZERO, elapsed, tag)
            .map_err(trouble)?;
    }
    Ok(out)
}

fn trouble(error: impl std::fmt::Display) -> Error {
    Error::Trouble(format!("cannot write an HdrHistogram log: {error}"))
}

fn decoded(base64: &str) -> Option<Histogram<u64>> {
    let bytes = BASE64.decode(base64).ok()?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
}

/// Names as tags, in which the log allows no space and no comma; each tag is given out once.
#[derive(Default)]
struct Tags(HashSet<String>);

impl Tags {
    fn tag(&mut self, name: &str) -> String {
        let safe = |c: char| match c {
            ',' => '_',
            c if c.is_whitespace() => '_',
            c => c,
        };
        let tag: String = name.chars().map(safe).collect();
        let numbered = (2_u64..).map(|n| format!("{tag}~{n}"));
        let free = std::iter::once(tag.clone())
            .chain(numbered)
            .find(|tag| !self.0.contains(tag))
            .unwrap_or(tag);
        self.0.insert(free.clone());
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixture;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use hdrhistogram::serialization::{Serializer as _, V2Serializer};

    /// Tag, histogram and seconds of each interval, and the seconds since 1970 of the log's start.
    type Read = (Vec<(Option<String>, Histogram<u64>, f64)>, f64);

    fn read(log: &[u8]) -> Read {
        let mut intervals = Vec::new();
        let mut start = 0.0;
        for entry in IntervalLogIterator::new(log) {
            match entry.expect("a line of a log") {
                LogEntry::StartTime(time) => start = time.as_secs_f64(),
                LogEntry::BaseTime(_) => panic!("times count from the start"),
                LogEntry::Interval(interval) => {
                    let histogram = decoded(interval.encoded_histogram()).expect("a histogram");
                    let max_ms = histogram.max() as f64 / US_PER_MS;
                    assert!((interval.max() - max_ms).abs() < 0.001);
                    let tag = interval.tag().map(|tag| tag.as_str().to_owned());
                    intervals.push((tag, histogram, interval.duration().as_secs_f64()));
                }
            }
        }
        (intervals, start)
    }

    #[test]
    fn a_reader_of_logs_finds_each_name_with_its_counts() {
        let report = fixture::report();
        let log = to_log(&report).expect("histograms of the fixture");
        let (intervals, start) = read(&log);
        assert!((start - 1_773_480_413.589).abs() < 0.001, "{start}");
        assert_eq!(intervals.len(), 1 + report.requests.len());
        let (tag, all, seconds) = &intervals[0];
        assert_eq!((tag, all.len(), *seconds), (&None, 23_863, 60.25));
        for ((tag, histogram, _), row) in intervals[1..].iter().zip(&report.requests) {
            let tag = tag.as_deref().expect("a tag");
            assert_eq!(histogram.len(), row.figures.count, "{tag}");
        }
        assert_eq!(intervals[1].0.as_deref(), Some("GET_front_page"));
    }

    /// How well a histogram is compressed is the compressor's business: the file has them uncompressed.
    #[test]
    fn the_fixed_report_is_the_checked_in_one() {
        let log = to_log(&fixture::report()).expect("histograms of the fixture");
        let text = String::from_utf8(log).expect("text");
        let line = |line: &str| match line.rsplit_once(',') {
            Some((start, payload)) if !line.starts_with('#') => {
                let histogram = decoded(payload).expect("a histogram");
                let mut bytes = Vec::new();
                V2Serializer::new()
                    .serialize(&histogram, &mut bytes)
                    .expect("memory");
                format!("{start},{}\n", BASE64.encode(bytes))
            }
            _ => format!("{line}\n"),
        };
        let plain: String = text.lines().map(line).collect();
        fixture::golden("report.hlog", &plain);
    }

    #[test]
    fn names_that_look_alike_as_tags_stay_apart() {
        let mut tags = Tags::default();
        assert_eq!(tags.tag("GET a b"), "GET_a_b");
        assert_eq!(tags.tag("GET a,b"), "GET_a_b~2");
        assert_eq!(tags.tag("GET a\u{2028}b"), "GET_a_b~3");
    }

    #[test]
    fn hostile_names_are_one_tag_each() {
        let report = fixture::hostile();
        let log = to_log(&report).expect("histograms of the fixture");
        fixture::assert_harmless(std::str::from_utf8(&log).expect("text"));
        let (intervals, _) = read(&log);
        let tags: HashSet<_> = intervals.iter().map(|(tag, ..)| tag).collect();
        assert_eq!(tags.len(), 1 + report.requests.len());
    }

    #[test]
    fn a_histogram_that_was_changed_by_hand_is_named() {
        let mut report = fixture::report();
        report.requests[1].figures.histogram = "nothing".into();
        let error = to_log(&report).expect_err("no histogram").to_string();
        assert!(error.contains("'GET article"), "{error}");
    }
}
