//! Tests of the figures of one tag while a run goes on.

use super::*;
use crate::{LiveTag, Snapshot};
use lgoose_base::tags::Tags;

/// Records a request of a name with a tag, on two shards in turn.
fn request(recorder: &mut Recorder, name: &str, region: &str, failed: bool) {
    let mut tags = Tags::default();
    tags.put("region", region);
    let tags = recorder.tags(&tags);
    let request = recorder.tagged_request("GET", name, tags);
    recorder.record(&Sample {
        request,
        start: recorder.zero(),
        latency: Duration::from_millis(if region == "eu" { 4 } else { 9 }),
        delay: None,
        phases: Phases::default(),
        response: SampleResponse::of_status(if failed { 503 } else { 200 }),
        redirects: 0,
        retries: 0,
        traffic: Traffic::received(10),
        failure: failed.then_some(SampleFailure {
            message: "status 503",
            line: None,
        }),
        context: None,
    });
}

/// A second in which that many requests of each region and name are made.
fn second(
    store: &mut Store,
    recorder: &mut Recorder,
    number: u64,
    counts: &[(&str, &str, u64)],
) -> Arc<Snapshot> {
    for (region, name, count) in counts {
        for n in 0..*count {
            request(recorder, name, region, n == 0);
        }
    }
    let empty = store.merge(recorder.take());
    recorder.recycle(empty);
    store.tick(Duration::from_secs(number))
}

fn rows(live: &LiveTag) -> Vec<(&str, u64, u64)> {
    let rows = live.requests.rows.iter();
    rows.map(|row| (&*row.name, row.count, row.failures))
        .collect()
}

#[test]
fn figures_of_a_tag_are_those_of_its_requests_over_all_and_of_the_last_ten_seconds() {
    let (mut store, mut recorder) = (Store::new(RunIdentity::default()), Recorder::new(0));
    // A tag that appears late does not have a lower rate for it.
    for number in 1..=20 {
        second(
            &mut store,
            &mut recorder,
            number,
            &[("eu", "/a", 6), ("eu", "/b", 4)],
        );
    }
    let mut last = Arc::default();
    for number in 21..=30 {
        let counts = [("eu", "/a", 1), ("us", "/a", 20)];
        last = second(&mut store, &mut recorder, number, &counts);
    }
    let tags: Vec<&str> = last.tags.iter().map(|tag| &**tag).collect();
    assert_eq!(tags, ["region=eu", "region=us"]);
    let eu = store.live_tag("region=eu", true).expect("it has requests");
    let us = store.live_tag("region=us", false).expect("it has requests");
    assert_eq!(rows(&eu), [("/a", 130, 30), ("/b", 80, 20)]);
    assert_eq!(rows(&us), [("/a", 200, 10)]);
    assert_eq!(
        (eu.requests.total.count, us.requests.total.count),
        (210, 200)
    );
    let rates = |live: &LiveTag| {
        (
            live.requests.total.rate_now,
            live.requests.total.failures_now,
        )
    };
    assert_eq!((rates(&eu), rates(&us)), ((1.0, 1.0), (20.0, 1.0)));
    assert_eq!(eu.requests.rows[1].rate_now, 0.0);
    let p50 = |live: &LiveTag| live.requests.total.p50.as_millis();
    assert_eq!((p50(&eu), p50(&us)), (4, 9));
    assert_eq!(eu.requests.bytes, 2_100);
    // In full, the row is that of the report.
    let report = store.report_so_far(Detail::Live);
    assert_eq!(eu.row.as_ref(), report.by_tag.first());
    assert_eq!(us.row, None);
    assert!(store.report_so_far(Detail::Pages).by_tag.is_empty());
    let ended = LiveTag::from(&report.by_tag[0]);
    assert_eq!(rows(&ended), rows(&eu));
    for nothing in ["region=asia", "region", "zone=eu", ""] {
        assert_eq!(store.live_tag(nothing, true), None, "{nothing}");
    }
    store.reset(Duration::from_secs(30), 1);
    assert_eq!(store.live_tag("region=eu", true), None);
    assert!(store.snapshot().tags.is_empty());
}
