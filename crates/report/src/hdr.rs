//! The report as an HdrHistogram log, which the public HdrHistogram tools can open and plot over time: for each second
//! (more in long runs) a line without a tag for all requests, and a line for each name, with the name as its tag.
//! Values are microseconds to two significant digits.

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use lgoose_base::error::Error;
use lgoose_base::line::{one_line, request_name};
use lgoose_metrics::{Report, read_histogram};
use std::collections::HashSet;
use std::time::{Duration, SystemTime};

/// The divisor of the maxima: the tools show an interval's maximum in milliseconds, the histograms stay in
/// microseconds.
const US_PER_MS: f64 = 1_000.0;

/// Renders the log, with compressed histograms of version 2, as the tools expect.
///
/// # Errors
/// Returns trouble that names the row whose histogram cannot be read, which happens only in a report that was edited by
/// hand.
pub(crate) fn to_log(report: &Report) -> Result<Vec<u8>, Error> {
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
        // Intervals count from the beginning of the measurement, which a warm-up or a reset has moved.
        let origin = Duration::from_nanos(report.origin_ns);
        builder.with_start_time(SystemTime::from(started) + origin);
    }
    let mut log = builder
        .begin_log_with(&mut out, &mut serializer)
        .map_err(trouble)?;
    for interval in intervals(report) {
        let histogram = read_histogram(interval.encoded).ok_or_else(|| {
            let name = &interval.name;
            let reason = format!("a histogram of '{name}' in the report cannot be read");
            Error::cannot(ACTION, reason)
        })?;
        let tag = interval.tag.as_deref().and_then(Tag::new);
        let [start, length] = [interval.start_s, interval.length_s]
            .map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default());
        log.write_histogram(&histogram, start, length, tag)
            .map_err(trouble)?;
    }
    Ok(out)
}

/// One line of the log.
struct HdrInterval<'a> {
    start_s: f64,
    length_s: f64,
    name: String,
    tag: Option<String>,
    encoded: &'a str,
}

/// Returns the points of all requests and of each name, ordered by time. A report without points, as earlier versions
/// wrote them, has one interval: the whole run.
fn intervals(report: &Report) -> Vec<HdrInterval<'_>> {
    let mut tags = HdrTags::default();
    let mut intervals = Vec::new();
    let non_empty = report.series.iter().filter(|row| !row.histogram.is_empty());
    for point in non_empty {
        intervals.push(HdrInterval {
            start_s: point.second as f64,
            length_s: point.seconds,
            name: ALL.to_owned(),
            tag: None,
            encoded: &point.histogram,
        });
    }
    let whole = intervals.is_empty();
    if whole {
        intervals.push(HdrInterval {
            start_s: 0.0,
            length_s: report.elapsed_s,
            name: ALL.to_owned(),
            tag: None,
            encoded: &report.aggregated.histogram,
        });
    }
    for row in &report.requests {
        let name = request_name(&row.method, &row.name);
        let tag = tags.tag(&name);
        let line = |start_s, length_s, encoded| HdrInterval {
            start_s,
            length_s,
            name: name.clone(),
            tag: Some(tag.clone()),
            encoded,
        };
        if whole {
            intervals.push(line(0.0, report.elapsed_s, &row.figures.histogram));
            continue;
        }
        let series = &row.series;
        let times = series.second.iter().zip(&series.seconds);
        for ((second, seconds), encoded) in times.zip(&series.histogram) {
            intervals.push(line(*second as f64, *seconds, encoded));
        }
    }
    intervals.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    intervals
}

/// The action that the error names when the log cannot be written.
const ACTION: &str = "write an HdrHistogram log";

/// The name for all requests together in messages.
const ALL: &str = "Aggregated";

fn trouble(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::cannot(ACTION, error)
}

/// Tags made of names, unique, and without the spaces and commas that the log does not allow.
#[derive(Default)]
struct HdrTags(HashSet<String>);

impl HdrTags {
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
    use crate::fixture;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD as BASE64;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};

    /// Tag, histogram and seconds of each interval, and the seconds since 1970 of the log's start.
    type DecodedLog = (Vec<(Option<String>, Histogram<u64>, f64)>, f64);

    fn decoded(base64: &str) -> Option<Histogram<u64>> {
        let bytes = BASE64.decode(base64).ok()?;
        Deserializer::new().deserialize(&mut &bytes[..]).ok()
    }

    fn read(log: &[u8]) -> DecodedLog {
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
        let begun = 1_773_480_413.589 + report.origin_ns as f64 / 1e9;
        assert!((start - begun).abs() < 0.001, "{start}");
        assert_eq!(intervals.len(), 1 + 3 * report.requests.len());
        let (tag, all, seconds) = &intervals[0];
        assert_eq!((tag, all.len(), *seconds), (&None, 390, 1.0));
        for row in &report.requests {
            let tag = HdrTags::default().tag(&request_name(&row.method, &row.name));
            let of_name = || {
                intervals
                    .iter()
                    .filter(|(found, ..)| found.as_ref() == Some(&tag))
            };
            let count: u64 = of_name().map(|(_, histogram, _)| histogram.len()).sum();
            assert_eq!(count, row.series.count.iter().sum::<u64>(), "{tag}");
            let lengths: Vec<f64> = of_name().map(|(.., seconds)| *seconds).collect();
            assert_eq!(lengths, [1.0, 1.002, 0.25], "{tag}");
        }
        assert_eq!(intervals[1].0.as_deref(), Some("GET_front_page"));
    }

    #[test]
    fn what_follows_a_warm_up_stands_where_it_was() {
        let mut report = fixture::report();
        let before = read(&to_log(&report).expect("histograms of the fixture")).1;
        report.origin_ns += 7_500_000_000;
        let after = read(&to_log(&report).expect("histograms of the fixture")).1;
        assert!((after - before - 7.5).abs() < 0.001, "{before} {after}");
    }

    #[test]
    fn a_report_that_stores_nothing_over_time_is_one_interval() {
        let mut report = fixture::report();
        report.series.clear();
        let (intervals, _) = read(&to_log(&report).expect("histograms of the fixture"));
        assert_eq!(intervals.len(), 1 + report.requests.len());
        assert_eq!((intervals[0].1.len(), intervals[0].2), (23_863, 60.25));
    }

    /// The golden file has the histograms uncompressed: how they are compressed is up to the compressor.
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
        let mut tags = HdrTags::default();
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
        report.requests[1].series.histogram[1] = "nothing".into();
        let error = to_log(&report).expect_err("no histogram").to_string();
        assert!(error.contains("'GET article"), "{error}");
    }
}
