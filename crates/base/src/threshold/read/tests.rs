//! Tests of the text of thresholds: its reading, and the place of a mistake.

use super::*;

#[test]
fn names_that_are_no_rows_are_named_with_what_is_meant() {
    for (name, part) in [
        ("http_req_failed", "write \"failures < 1%\""),
        ("http_req_duration{type:API}", "write \"p95 < 300ms\""),
        ("kind=image metric size", "write 'kind=image, metric size'"),
        (
            "kind=a, region=eu check shown",
            "write 'kind=a, region=eu, check shown'",
        ),
    ] {
        let mistake = read_for(name, "p95 < 5ms").expect_err(name);
        assert!(mistake.message.contains(part), "{mistake:?}");
    }
    for name in [
        "GET http_req",
        "metric size",
        "kind=image, metric size",
        "the metric size",
        "city=New York",
    ] {
        assert!(read_for(name, "p95 < 5ms").is_ok(), "{name}");
    }
}

#[test]
fn what_is_read_is_written_back() {
    for (text, name, written) in [
        ("p95 < 300ms", None, "p95 < 300ms"),
        ("p99.9<=1.5s", None, "p99.9 <= 1.5s"),
        (" max  >  250 \u{b5}s ", None, "max > 250us"),
        ("failures < 1%", None, "failures < 1%"),
        ("failures < 10", None, "failures < 10"),
        ("rate >= 100/s", None, "rate >= 100/s"),
        ("count > 1000", None, "count > 1000"),
        ("first_byte p95<200ms", None, "first_byte p95 < 200ms"),
        ("tls max < 1s", None, "tls max < 1s"),
        ("bytes < 10MB", None, "bytes < 10MB"),
        (
            "bytes >= 2.5 KiB/s during 10s",
            None,
            "bytes >= 2.5KiB/s during 10s",
        ),
        ("checks > 99.5%", None, "checks > 99.5%"),
        (
            "GET static asset: p99 < 50ms",
            Some("GET static asset"),
            "p99 < 50ms",
        ),
        (
            "GET http://a:81/x: avg < 1s",
            Some("GET http://a:81/x"),
            "avg < 1s",
        ),
        ("検索 <b>: p50 < 2s", Some("検索 <b>"), "p50 < 2s"),
        (
            "temperature: min > -12.5",
            Some("temperature"),
            "min > -12.5",
        ),
        ("queue: value < 10 abort", Some("queue"), "value < 10 abort"),
        (
            "p95 < 300ms abort after 1m during 30s",
            None,
            "p95 < 300ms during 30s abort after 60s",
        ),
    ] {
        let threshold = Threshold::read(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert_eq!(threshold.name.as_deref(), name, "{text}");
        assert_eq!(threshold.to_string(), written);
        assert_eq!(threshold.check(), Ok(()), "{text}");
        let again = Threshold::read(written);
        let again = again.map(|again| Threshold {
            name: threshold.name.clone(),
            ..again
        });
        if name.is_none() {
            assert_eq!(again, Ok(threshold));
        }
    }
}

#[test]
fn a_mistake_points_at_its_place_and_shows_what_is_expected() {
    for (text, marked, message) in [
        ("", "", "a figure is missing"),
        ("p95", "", "expected a comparison here"),
        ("p95 300ms", "300ms", "not '300ms'"),
        ("first_byte < 1s", "", "a figure is missing"),
        (
            "first_byt p95 < 1s",
            "first_byt",
            "did you mean 'first_byte'?",
        ),
        ("tls count > 1", "tls", "'tls' stands before a latency only"),
        ("GET /: first_byte p95 < 300", "300", "needs a unit"),
        ("bytes < 10", "10", "needs a unit: 'KB'"),
        ("bytes < 10ms", "ms", "is not a unit of 'bytes'"),
        ("p95 < 10MB", "MB", "is not a unit of 'p95'"),
        ("p95 == 300ms", "==", "'==' is not a comparison"),
        ("p95 <", "", "expected a number here"),
        ("p95 < fast", "fast", "not 'fast'"),
        ("p95 < 1.2.3s", "1.2.3", "'1.2.3' is not a number"),
        ("p95 < 1,000ms", "1,000", "'1,000' is not a number"),
        ("p95 < 300", "300", "needs a unit: 'us', 'ms' or 's'"),
        ("p95 < 300sec", "sec", "unknown unit 'sec'"),
        ("p95 < 3%", "%", "'%' is not a unit of 'p95'"),
        ("p100 < 3s", "p100", "there is no percentile 100"),
        ("p0 < 3s", "p0", "there is no percentile 0"),
        ("fialures < 1%", "fialures", "did you mean 'failures'?"),
        ("p(95) < 1s", "p(95)", "did you mean 'p95'?"),
        ("GET / p95 < 1s", "GET", "unknown figure 'GET'"),
        (": p95 < 1s", ":", "a name is missing"),
        ("failures < 101%", "101%", "at most 100%"),
        ("rate > 5", "5", "needs a unit: '/s'"),
        ("count > 5ms", "ms", "'ms' is not a unit of 'count'"),
        ("value > 5", "5", "name one"),
        ("p95 < -3ms", "-3", "below zero"),
        ("p95 < 3ms soon", "soon", "'soon' is not expected here"),
        ("p95 < 3ms after", "", "'after' needs a time"),
        ("p95 < 3ms during x", "x", "'x' is not a duration"),
    ] {
        let error = Threshold::read(text).expect_err(text);
        assert_eq!(&text[error.place.clone()], marked, "{text}: {error:?}");
        assert!(error.message.contains(message), "{text}: {error:?}");
    }
}

#[test]
fn parts_that_do_not_go_together_are_reported() {
    for (text, message) in [
        ("p95 < 3ms during 500ms", "at least 1s"),
        ("count < 3 after 5s", "'abort' or 'during'"),
        ("count > 100 abort", "abort after 30s"),
        ("rate > 100/s abort", "abort after 30s"),
    ] {
        let threshold = Threshold::read(text).expect(text);
        let problem = threshold.check().expect_err(text);
        assert!(problem.contains(message), "{text}: {problem}");
    }
    for text in [
        "count > 100 abort after 30s",
        "rate > 5/s during 10s abort",
        "count < 9 abort",
    ] {
        assert_eq!(Threshold::read(text).expect(text).check(), Ok(()), "{text}");
    }
}

#[test]
fn limits_stay_as_they_are_written() {
    for (text, holds) in [
        ("< 3ms", false),
        ("<= 3ms", true),
        ("> 3ms", false),
        (">= 3ms", true),
    ] {
        let threshold = Threshold::read(&format!("p95 {text}")).expect(text);
        assert_eq!(threshold.holds(3.0), holds, "{text}");
    }
}
