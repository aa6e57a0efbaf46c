//! Tests of what a recorder hands over.

use super::*;
use crate::delta::SliceBorder;
use crate::{Phases, SampleFailure};
use crate::{SampleResponse, Traffic};

fn sample(start: Instant, request: RequestId, failure: Option<SampleFailure<'_>>) -> Sample<'_> {
    Sample {
        request,
        start,
        latency: Duration::from_millis(3),
        delay: None,
        phases: Phases::default(),
        response: SampleResponse::of_status(200),
        redirects: 1,
        retries: 0,
        traffic: Traffic::received(10),
        failure,
        context: None,
    }
}

#[test]
fn what_was_taken_is_not_counted_again() {
    let mut recorder = Recorder::new(0);
    let id = recorder.request("GET", "/");
    recorder.record(&sample(recorder.zero(), id, None));
    let taken = recorder.take();
    assert_eq!(taken.slices[0].requests[0].figures.counts.count(), 1);
    assert!(recorder.take().is_empty());
}

#[test]
fn a_recycled_delta_covers_names_that_came_since() {
    let mut recorder = Recorder::new(0);
    let first = recorder.request("GET", "/");
    recorder.record(&sample(recorder.zero(), first, None));
    let mut delta = recorder.take();
    let second = recorder.request("GET", "/new");
    delta.slices[0].clear();
    recorder.recycle(delta);
    recorder.take();
    recorder.record(&sample(recorder.zero(), second, None));
    recorder.record(&sample(recorder.zero(), first, None));
    let delta = recorder.take();
    assert_eq!(&*delta.slices[0].requests[1].label.name, "/new");
    assert_eq!(delta.slices[0].requests[1].figures.counts.count(), 1);
}

#[test]
fn equal_failures_are_one_error_and_the_hundred_and_first_kind_is_omitted() {
    let mut recorder = Recorder::new(0);
    let id = recorder.request("GET", "/");
    for n in 0..102 {
        let message = format!("error {}", n.max(1));
        let failure = SampleFailure {
            message: &message,
            line: None,
        };
        recorder.record(&sample(recorder.zero(), id, Some(failure)));
    }
    let delta = recorder.take().slices.remove(0);
    assert_eq!((delta.errors.len(), delta.errors[0].count), (100, 2));
    assert_eq!(delta.errors_left_out, 1);
}

/// Slices that have a request: their beginning in milliseconds, requests, failures, and the shard's state at their
/// end if they are over.
fn slices_of(delta: &Delta) -> Vec<(u64, u64, i64, Option<SliceBorder>)> {
    let slices = delta.slices.iter().map(|slice| {
        let rows = || slice.requests.iter().map(|row| &row.figures.counts);
        (
            slice.span.from / 1_000_000,
            rows().map(|counts| counts.count()).sum(),
            rows().map(|counts| counts.failures_change()).sum(),
            slice.border,
        )
    });
    slices
        .filter(|(_, count, failures, _)| (*count, *failures) != (0, 0))
        .collect()
}

#[test]
fn a_request_counts_in_the_slice_in_which_it_ended_whenever_it_is_recorded() {
    let mut recorder = Recorder::new(0);
    let id = recorder.request("GET", "/");
    let zero = recorder.zero();
    let at = |ms| zero + Duration::from_millis(ms);
    recorder.user_started("s", at(10));
    let flight = recorder.start_request(at(100), id);
    // It takes 3 ms; time has gone on when it is recorded.
    recorder.end_request(flight, at(1_246), Duration::from_millis(3), true);
    let _under_way = recorder.start_request(at(1_249), id);
    recorder.come_to(at(2_100));
    recorder.record(&sample(at(1_246), id, None));
    recorder.record(&sample(at(1_247), id, None));
    let over = |under_way, oldest_ms: u64| {
        Some(SliceBorder {
            users: 1,
            under_way,
            oldest: oldest_ms * 1_000_000,
        })
    };
    let delta = recorder.take();
    assert_eq!(
        slices_of(&delta),
        [(1_000, 1, 0, over(1, 1)), (1_250, 1, 0, over(1, 251))]
    );
    // The slice was handed over already: it is handed over again, but it ends only once.
    recorder.record(&sample(at(1_246), id, None));
    assert_eq!(slices_of(&recorder.take()), [(1_000, 1, 0, None)]);
}

#[test]
fn a_later_verdict_reaches_the_slice_of_its_request() {
    let mut recorder = Recorder::new(0);
    let id = recorder.request("GET", "/");
    let zero = recorder.zero();
    let bad = SampleFailure {
        message: "bad",
        line: None,
    };
    let plain = sample(zero, id, None);
    recorder.enter(&plain, true);
    let entered = recorder.take();
    assert_eq!(slices_of(&entered), [(0, 1, 0, None)]);
    assert_eq!(entered.slices[0].requests[0].figures.counts.ok.count, 0);
    recorder.come_to(zero + Duration::from_secs(3));
    recorder.conclude(&sample(zero, id, Some(bad)), &ProvisionalCounts::default());
    let concluded = recorder.take();
    let first = &concluded.slices[0];
    assert_eq!(
        (slices_of(&concluded)[0].1, slices_of(&concluded)[0].2),
        (0, 1)
    );
    assert_eq!(first.requests[0].figures.counts.failed.count, 1);
    assert_eq!(
        (first.errors[0].count, first.errors[0].message.as_str()),
        (1, "bad")
    );
    // The other way round: what failed passes after all.
    recorder.enter(&sample(zero, id, Some(bad)), true);
    let before = ProvisionalCounts {
        failed: true,
        failure: Some(bad),
    };
    recorder.conclude(&plain, &before);
    let passed = recorder.take();
    assert_eq!(slices_of(&passed), [(0, 1, 0, None)]);
    assert_eq!(passed.slices[0].errors[0].count, -1);
}

#[test]
fn a_measurement_that_starts_divides_what_ended_before_and_after_it() {
    let mut recorder = Recorder::new(0);
    let id = recorder.request("GET", "/");
    let zero = recorder.zero();
    recorder.schedule_measurement(1, zero + Duration::from_millis(1_100));
    recorder.come_to(zero + Duration::from_millis(1_500));
    for ms in [1_096, 1_097, 1_098, 1_400] {
        recorder.record(&sample(zero + Duration::from_millis(ms), id, None));
    }
    let mut delta = recorder.take();
    let later = delta.split_off(1);
    let counts = |delta: &Delta| {
        slices_of(delta)
            .iter()
            .map(|slice| (slice.0, slice.1))
            .collect::<Vec<_>>()
    };
    assert_eq!(counts(&delta), [(1_000, 1)]);
    assert_eq!(counts(&later), [(0, 2), (250, 1)]);
}

#[test]
fn a_warning_is_reported_once() {
    let mut recorder = Recorder::new(0);
    recorder.warn("slow timers".to_owned());
    recorder.take();
    recorder.warn("slow timers".to_owned());
    assert!(recorder.take().warnings.is_empty());
}

#[test]
fn too_many_names_warn_once_with_the_remedy() {
    let mut recorder = Recorder::new(0);
    for n in 0..MAX_NAMES + 5 {
        recorder.request("GET", &format!("/{n}"));
    }
    let warnings = recorder.take().warnings;
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("2,000") && warnings[0].contains("name ="));
}
