//! Tests of the path from samples over shards and ticks to a report.

mod gathered;
mod long_runs;
mod percentiles;
mod tags;
mod workers;

use super::*;
use crate::latencies::buckets;
use crate::{
    Detail, Phases, PortableDelta, ProvisionalCounts, Recorder, Report, RequestId, Sample,
    SampleFailure, SampleResponse, TaskRun, Traffic,
};
use lgoose_base::phases::TimedPart;
use std::time::SystemTime;

const SECOND: Duration = Duration::from_secs(1);

/// Records the n-th of many samples that differ in everything; every tenth failed.
fn record(recorder: &mut Recorder, n: u64) {
    let request = recorder.request("GET", ["/", "/node", "/login"][n as usize % 3]);
    let failed = n.is_multiple_of(10);
    recorder.record(&Sample {
        request,
        start: recorder.zero() + Duration::from_millis(n * 2),
        latency: Duration::from_micros(1_000 + n * 37 % 90_000),
        delay: None,
        phases: Phases {
            connect: Duration::from_micros(n % 2 * 100),
            receive: Duration::from_micros(50),
            ..Phases::default()
        },
        response: SampleResponse::of_status(if failed { 503 } else { 200 }),
        redirects: n.is_multiple_of(4).into(),
        retries: n.is_multiple_of(5).into(),
        traffic: Traffic::received(n),
        failure: failed.then_some(SampleFailure {
            message: "status 503",
            line: Some("plan.lua:3"),
        }),
        context: None,
    });
    let at = recorder.zero() + Duration::from_millis(n * 2);
    let gap = Duration::from_micros(n * 31 % 5_000);
    recorder.messages(request, at, received(1), &[(TimedPart::EventGap, gap)]);
    let task = recorder.task("visitor", "browse");
    recorder.record_task(&TaskRun {
        task,
        start: recorder.zero() + Duration::from_millis(n * 2),
        latency: Duration::from_millis(n % 50),
        failure: None,
        context: None,
    });
    let iterations = recorder.iterations("visitor");
    recorder.iteration("visitor", iterations, Duration::from_millis(n % 50), false);
}

/// The report of 5,000 samples dealt to that many shards, with a tick every hundred samples.
fn report_of(shards: usize) -> Report {
    played(shards).report(10 * SECOND)
}

fn played(shards: usize) -> Store {
    let mut store = Store::new(RunIdentity::default());
    let mut recorders: Vec<_> = (0..shards).map(Recorder::new).collect();
    let start = recorders[0].zero();
    recorders[0].user_started("visitor", start);
    for n in 0..5_000 {
        record(&mut recorders[n as usize % shards], n);
        if n % 100 == 99 {
            for recorder in &mut recorders {
                let empty = store.merge(recorder.take());
                recorder.recycle(empty);
            }
            store.tick(Duration::from_millis(n * 2));
        }
    }
    store
}

/// The traffic of messages that have come.
fn received(count: usize) -> Traffic {
    Traffic {
        messages_received: count as u64,
        ..Traffic::default()
    }
}

#[test]
fn what_flows_in_a_tick_without_a_request_is_counted_each_way() {
    let (mut store, mut recorder) = (Store::new(RunIdentity::default()), Recorder::new(0));
    let request = recorder.request("TCP", "socket");
    let flows = [
        received(1),
        Traffic {
            messages_sent: 2,
            ..Traffic::default()
        },
        Traffic::received(3),
        Traffic {
            sent: 4,
            ..Traffic::default()
        },
    ];
    for traffic in flows {
        recorder.messages(request, recorder.zero(), traffic, &[]);
        let delta = recorder.take();
        let mut gathered = PortableDelta::from(&delta);
        assert!(
            gathered.split_off(0).is_some(),
            "a worker hands it over: {traffic:?}"
        );
        let empty = store.merge(delta);
        recorder.recycle(empty);
    }
    let row = &store.report(SECOND).requests[0].figures;
    let messages = row.messages.expect("there were some");
    assert_eq!((messages.received, messages.sent), (1, 2));
    assert_eq!((row.bytes, row.bytes_sent), (3, Some(4)));
}

#[test]
fn a_stream_has_its_row_from_its_opening_on() {
    let (mut store, mut recorder) = (Store::new(RunIdentity::default()), Recorder::new(0));
    let silent = recorder.request("WS", "chat");
    let _other = recorder.request("GET", "/");
    recorder.open_stream(silent, recorder.zero());
    recorder.open_stream(RequestId::UNCOUNTED, recorder.zero());
    let delta = recorder.take();
    let mut gathered = PortableDelta::from(&delta);
    assert!(gathered.split_off(0).is_some(), "a worker hands it over");
    let empty = store.merge(delta);
    recorder.recycle(empty);
    let snapshot = store.tick(SECOND);
    let rows = snapshot.requests.rows.iter();
    let rows: Vec<_> = rows.map(|row| (&*row.name, row.count)).collect();
    assert_eq!(rows, [("chat", 0)]);
    assert_eq!(snapshot.requests.total.count, 0);
    // A report has what was counted.
    assert!(store.report(SECOND).requests.is_empty());
}

#[test]
fn messages_of_a_stream_count_before_its_request_does() {
    let (mut store, mut recorder) = (Store::new(RunIdentity::default()), Recorder::new(0));
    let request = recorder.request("GET", "/events");
    let ms = Duration::from_millis;
    let first = [
        (TimedPart::FirstEvent, ms(5)),
        (TimedPart::EventGap, ms(20)),
    ];
    for (second, times) in [(1, &first[..]), (2, &[(TimedPart::EventGap, ms(40))])] {
        let at = recorder.zero() + second * SECOND;
        recorder.messages(request, at, received(times.len()), times);
        let empty = store.merge(recorder.take());
        recorder.recycle(empty);
        let snapshot = store.tick(second * SECOND);
        let row = &snapshot.requests.rows[0];
        assert_eq!(
            (row.count, row.messages),
            (0, second as u64 + 1),
            "it goes on"
        );
        let report = store.report(second * SECOND);
        assert_eq!(
            (
                report.requests[0].figures.count,
                &report.requests[0].figures.latency_ms
            ),
            (0, &None)
        );
    }
    recorder.record(&Sample {
        request,
        start: recorder.zero(),
        latency: 3 * SECOND,
        delay: None,
        phases: Phases::default(),
        response: SampleResponse::of_status(200),
        redirects: 0,
        retries: 0,
        traffic: Traffic::received(1),
        failure: None,
        context: None,
    });
    store.merge(recorder.take());
    let report = store.report(4 * SECOND);
    for figures in [&report.requests[0].figures, &report.aggregated] {
        let of = |part: Option<crate::Latency>| part.map(|part| (part.min, part.max));
        assert_eq!(figures.count, 1);
        assert_eq!(of(figures.first_event_ms), Some((5.0, 5.0)));
        assert_eq!(of(figures.event_gap_ms), Some((20.0, 40.0)));
    }
}

#[test]
fn totals_are_all_that_a_live_report_holds_but_points_over_time() {
    let mut store = played(2);
    let mut live = store.report_so_far(Detail::Live);
    let totals = store.report_so_far(Detail::Totals);
    assert_ne!(live, totals);
    for row in &mut live.requests {
        assert!(!row.series.is_empty());
        row.series = Default::default();
    }
    assert!(!live.series.is_empty());
    live.series.clear();
    assert_eq!(live, totals);
}

#[test]
fn many_shards_report_what_one_shard_would() {
    let mut one = report_of(1);
    let mut three = report_of(4);
    for report in [&mut one, &mut three] {
        report.requests.sort_by(|a, b| a.name.cmp(&b.name));
    }
    // The bytes of a histogram also tell how far it has grown.
    three.aggregated.histogram = one.aggregated.histogram.clone();
    assert_eq!(one, three);
}

#[test]
fn nothing_is_lost_between_samples_and_report() {
    let report = report_of(3);
    let total = &report.aggregated;
    assert_eq!(
        (total.count, total.failures, total.redirects, total.retries),
        (5_000, 500, 1_250, 1_000)
    );
    assert_eq!(total.bytes, (0..5_000).sum::<u64>());
    assert_eq!(
        total.status,
        [("200".into(), 4_500), ("503".into(), 500)].into()
    );
    assert_eq!(total.rate, 500.0);
    assert_eq!(
        report
            .requests
            .iter()
            .map(|row| row.figures.count)
            .sum::<u64>(),
        5_000
    );
    assert_eq!(
        report.series.iter().map(|point| point.count).sum::<u64>(),
        5_000
    );
    assert_eq!(
        report.errors.iter().map(|error| error.count).sum::<u64>(),
        500
    );
    assert_eq!(
        (report.tasks[0].runs, report.scenarios[0].iterations),
        (5_000, 5_000)
    );
    assert_eq!((report.users, report.scenarios[0].users), (1, 1));
    assert_eq!(total.phases_ms.connect, Some(0.1));
    assert_eq!(total.phases_ms.tls, None);
}

#[test]
fn a_percentile_stays_between_the_exact_extremes() {
    let report = report_of(2);
    for row in report
        .requests
        .iter()
        .map(|row| &row.figures)
        .chain([&report.aggregated])
    {
        for latency in [row.latency_ms, row.latency_ok_ms] {
            let latency = latency.expect("every name had a success");
            assert!(latency.min <= latency.p50 && latency.p50 <= latency.avg.max(latency.p75));
            assert!(latency.p99 <= latency.p99_99 && latency.p99_99 <= latency.max);
        }
    }
}

#[test]
fn slow_failures_do_not_change_the_latency_of_successes() {
    let mut store = Store::new(RunIdentity::default());
    let mut recorder = Recorder::new(0);
    let request = recorder.request("GET", "/");
    for n in 0..100 {
        recorder.record(&Sample {
            request,
            start: recorder.zero(),
            delay: None,
            latency: if n < 90 {
                Duration::from_millis(2)
            } else {
                60 * SECOND
            },
            phases: Phases::default(),
            response: SampleResponse::of_status(0),
            redirects: 0,
            retries: 0,
            traffic: Traffic::received(0),
            failure: (n >= 90).then_some(SampleFailure {
                message: "timeout",
                line: None,
            }),
            context: None,
        });
    }
    store.merge(recorder.take());
    let total = store.report(SECOND).aggregated;
    assert_eq!(total.latency_ok_ms.map(|latency| latency.max), Some(2.0));
    assert_eq!(total.latency_ms.map(|latency| latency.p99), Some(60_000.0));
}

#[test]
fn the_failed_requests_of_a_second_are_those_that_failed_in_the_end() {
    // Verdicts that come while the second is open, and after it was closed.
    for closed in [false, true] {
        let mut store = Store::new(RunIdentity::default());
        let mut recorder = Recorder::new(0);
        let request = recorder.request("GET", "/");
        let failure = Some(SampleFailure {
            message: "status 503",
            line: None,
        });
        let sample = |ms, failure| Sample {
            request,
            start: recorder.zero(),
            delay: None,
            latency: Duration::from_millis(ms),
            phases: Phases::default(),
            response: SampleResponse::of_status(200),
            redirects: 0,
            retries: 0,
            traffic: Traffic::received(0),
            failure,
            context: None,
        };
        // Each with what it seems to be at first, and what it is in the end.
        let requests = [(2, failure, None), (30, None, failure), (400, None, None)]
            .map(|(ms, first, last)| (sample(ms, first), sample(ms, last)));
        for (first, _) in &requests {
            recorder.enter(first, true);
        }
        store.merge(recorder.take());
        if closed {
            store.tick(SECOND * 9);
        }
        for (first, last) in &requests {
            let before = ProvisionalCounts {
                failed: first.failure.is_some(),
                failure: None,
            };
            recorder.conclude(last, &before);
        }
        store.merge(recorder.take());
        let report = store.report(SECOND * 10);
        let row = &report.requests[0];
        for (failed, failures) in [
            (
                &report.series[0].failed_histogram,
                report.series[0].failures,
            ),
            (&row.series.failed_histogram[0], row.series.failures[0]),
            (&row.figures.failed_histogram, row.figures.failures),
            (
                &report.aggregated.failed_histogram,
                report.aggregated.failures,
            ),
        ] {
            let failed = buckets(failed).expect("a histogram");
            let found = failed.iter().map(|bucket| bucket.count).sum::<u64>();
            assert_eq!((found, failures), (1, 1), "{closed}");
            assert!(
                failed[0].from_us <= 30_000 && 30_000 < failed[0].to_us,
                "{closed}"
            );
        }
    }
}

#[test]
fn a_run_without_requests_has_no_latency_and_no_rate() {
    let report = Store::new(RunIdentity::default()).report(Duration::ZERO);
    assert_eq!((report.aggregated.count, report.aggregated.rate), (0, 0.0));
    assert_eq!(report.aggregated.latency_ms, None);
    assert!(report.requests.is_empty() && report.series.is_empty());
    let json = serde_json::to_string(&report).expect("plain data");
    assert!(json.contains(r#""latency_ms":null"#), "{json}");
}

#[test]
fn the_two_thousand_and_first_name_counts_as_other_with_a_warning() {
    let mut store = Store::new(RunIdentity::default());
    let mut recorder = Recorder::new(0);
    for n in 0..2_001 {
        let request = recorder.request("GET", &format!("/product/{n}"));
        recorder.record(&Sample {
            request,
            start: recorder.zero(),
            latency: SECOND,
            delay: None,
            phases: Phases::default(),
            response: SampleResponse::of_status(200),
            redirects: 0,
            retries: 0,
            traffic: Traffic::received(0),
            failure: None,
            context: None,
        });
    }
    store.merge(recorder.take());
    let report = store.report(SECOND);
    assert_eq!(report.requests.len(), 2_001);
    assert_eq!(
        (&*report.requests[2_000].name, report.aggregated.count),
        ("(other)", 2_001)
    );
    assert_eq!(report.warnings.len(), 1);
}

#[test]
fn a_snapshot_shows_the_last_ten_seconds_beside_the_whole() {
    let mut store = Store::new(RunIdentity::default());
    let mut recorder = Recorder::new(0);
    recorder.user_started("visitor", recorder.zero());
    let (mut early, mut last) = (Arc::default(), Arc::default());
    for second in 0..20 {
        for n in 0..if second < 10 { 300 } else { 30 } {
            record(&mut recorder, n);
        }
        let empty = store.merge(recorder.take());
        recorder.recycle(empty);
        last = store.tick(SECOND * (second + 1));
        if second == 3 {
            early = last.clone();
        }
    }
    assert_eq!((last.users, last.requests.total.count), (1, 3_300));
    assert_eq!(
        (last.requests.total.rate, last.requests.total.rate_now),
        (165.0, 30.0)
    );
    assert_eq!(
        (last.requests.rows.len(), last.requests.rows[0].rate_now),
        (3, 10.0)
    );
    assert_eq!(last.recent.len(), 20);
    let [p50, p95, p99, max] = early.requests.rows[0].worst_now;
    assert!(Duration::ZERO < p50 && p50 <= p95 && p99 <= max && max <= early.requests.rows[0].max);
    assert_eq!(
        last.requests.rows[0].worst_now,
        [Duration::ZERO; 4],
        "all of it began long ago"
    );
    assert!(
        last.requests.total.p50 <= last.requests.total.p95
            && last.requests.total.p99 <= last.requests.total.max
    );
}

#[test]
fn after_a_reset_only_what_follows_counts_and_users_stay() {
    let mut store = Store::new(RunIdentity::default());
    let mut recorder = Recorder::new(0);
    recorder.user_started("visitor", recorder.zero());
    for n in 0..100 {
        record(&mut recorder, n);
    }
    let empty = store.merge(recorder.take());
    recorder.recycle(empty);
    recorder.schedule_measurement(1, recorder.zero() + 4 * SECOND);
    recorder.come_to(recorder.zero() + 4 * SECOND);
    store.reset(4 * SECOND, 1);
    let blank = store.report(4 * SECOND);
    assert!(blank.requests.is_empty() && blank.errors.is_empty() && blank.tasks.is_empty());
    for n in 2_001..2_010 {
        record(&mut recorder, n);
    }
    store.merge(recorder.take());
    let report = store.report(5 * SECOND);
    assert_eq!((report.aggregated.count, report.aggregated.rate), (9, 9.0));
    assert_eq!((report.elapsed_s, report.users), (1.0, 1));
}

#[test]
fn the_histogram_can_be_read_back_by_other_tools() {
    use base64::Engine as _;
    let report = report_of(2);
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(&report.aggregated.histogram)
        .expect("base64");
    let histogram: hdrhistogram::Histogram<u64> = hdrhistogram::serialization::Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .expect("HdrHistogram V2");
    assert_eq!(histogram.len(), 5_000);
}

#[test]
fn a_run_starts_at_a_moment_written_as_rfc_3339() {
    let identity = RunIdentity::new("plan.lua", "http://a", 1, SystemTime::UNIX_EPOCH);
    assert_eq!(identity.started, "1970-01-01T00:00:00.000Z");
}

#[test]
fn a_delta_and_a_snapshot_can_go_to_another_thread() {
    fn sendable<T: Send>() {}
    sendable::<Delta>();
    sendable::<Arc<Snapshot>>();
    sendable::<Store>();
}

#[test]
fn each_name_has_a_series_of_its_own_that_adds_up() {
    let report = report_of(2);
    for row in &report.requests {
        let series = &row.series;
        assert_eq!(series.count.iter().sum::<u64>(), row.figures.count);
        assert_eq!(series.failures.iter().sum::<u64>(), row.figures.failures);
        assert_eq!(series.second.len(), series.p99_ms.len());
        assert!(series.second.is_sorted(), "{:?}", series.second);
    }
    let all: u64 = report.series.iter().map(|point| point.count).sum();
    assert_eq!(all, report.aggregated.count);
}
