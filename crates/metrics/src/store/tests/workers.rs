//! Tests of runs whose figures come from workers: tallies of each, exact figures of labels, and thresholds on them.

use super::*;
use crate::generator::Effort;
use crate::{PortableDelta, WorkerIdentity, WorkerState};
use lgoose_base::threshold::Threshold;

/// Returns a worker of one shard with these labels, such as `region=eu`.
pub(super) fn worker(shard: usize, labels: &[&str]) -> WorkerIdentity {
    let pairs = labels.iter().filter_map(|label| label.split_once('='));
    WorkerIdentity {
        name: format!("worker-{shard}"),
        labels: pairs
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
        version: "1.2.3".to_owned(),
        threads: 1,
        shards: shard..shard + 1,
        offset: -1_500_000,
        uncertainty: Duration::from_micros(250),
    }
}

/// Records `count` requests that end within a second, the n-th after `latency(n)` milliseconds; every `failing`-th
/// fails.
fn requests(
    recorder: &mut Recorder,
    second: u64,
    count: u64,
    latency: fn(u64) -> u64,
    failing: u64,
) {
    let request = recorder.request("GET", "/");
    for n in 0..count {
        let failed = failing > 0 && n % failing == 0;
        let latency = Duration::from_millis(latency(n));
        let end = Duration::from_millis(second * 1_000 + n * 900 / count);
        recorder.record(&Sample {
            request,
            start: recorder.zero() + end.saturating_sub(latency),
            latency: latency.min(end),
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
}

/// A run of workers of one shard each, which hand over once a second.
struct SimulatedRun {
    store: Store,
    recorders: Vec<Recorder>,
    second: u64,
}

impl SimulatedRun {
    fn new(thresholds: &[&str], workers: &[&[&str]]) -> SimulatedRun {
        let mut store = Store::new(RunIdentity::default());
        let read = |text: &&str| Threshold::read(text).expect("a threshold");
        store.judge_by(thresholds.iter().map(read).collect());
        store.expect(workers.len());
        for (shard, labels) in workers.iter().enumerate() {
            store.add_worker(worker(shard, labels));
        }
        let start = std::time::Instant::now();
        let recorder = |shard| Recorder::new(shard).of_run(start, start, None);
        SimulatedRun {
            store,
            recorders: (0..workers.len()).map(recorder).collect(),
            second: 0,
        }
    }

    /// Plays a second in which each worker measures what `measure` says.
    fn second(&mut self, mut measure: impl FnMut(usize, u64, &mut Recorder)) -> Arc<Snapshot> {
        for (worker, recorder) in self.recorders.iter_mut().enumerate() {
            measure(worker, self.second, recorder);
            recorder.effort(Effort {
                wall: SECOND,
                busy: SECOND / 4 * (1 + 2 * worker as u32),
                lag: Some(Duration::from_millis(1)),
                connections: 3,
                ..Effort::default()
            });
            recorder.come_to(recorder.zero() + SECOND * (self.second as u32 + 1));
            let delta = recorder.take();
            let portable = PortableDelta::from(&delta);
            recorder.recycle(delta);
            self.store.merge(portable.of_worker(worker));
        }
        self.second += 1;
        self.store.tick(SECOND * self.second as u32)
    }

    fn report(&mut self) -> Report {
        self.store.report(SECOND * self.second as u32)
    }
}

/// One worker in each region: fast and faultless in one, slow and faulty in the other.
fn two_regions(thresholds: &[&str], seconds: u64) -> SimulatedRun {
    let mut run = SimulatedRun::new(thresholds, &[&["region=eu"], &["region=us", "size=xl"]]);
    for _ in 0..seconds {
        run.second(two_speeds);
    }
    run
}

fn two_speeds(worker: usize, second: u64, recorder: &mut Recorder) {
    if second == 0 {
        (0..=worker).for_each(|_| recorder.user_started("visitor", recorder.zero()));
    }
    match worker {
        0 => requests(recorder, second, 200, |n| 1 + n % 9, 0),
        _ => requests(recorder, second, 100, |n| 100 + n % 90, 4),
    }
}

#[test]
fn each_worker_has_a_row_with_its_own_figures() {
    let mut run = two_regions(&[], 5);
    let snapshot = run.second(two_speeds);
    let [eu, us] = &snapshot.workers[..] else {
        panic!("two workers: {:?}", snapshot.workers);
    };
    assert_eq!((&*eu.name, &*eu.labels_text()), ("worker-0", "region=eu"));
    assert_eq!(us.labels_text(), "region=us size=xl");
    assert_eq!((eu.users, eu.requests, eu.rate_now), (1, 1_200, 200.0));
    assert_eq!((us.users, us.failures, us.rate_now), (2, 150, 100.0));
    assert_eq!((eu.busy, us.busy), (0.25, 0.75));
    assert!(!us.saturated && eu.state == WorkerState::Running);
    run.store.worker_ended(0);
    run.store.worker_away(1, SECOND * 6);
    let report = run.report();
    let [eu, us] = &report.workers[..] else {
        panic!("two workers: {:?}", report.workers);
    };
    assert_eq!((eu.requests, eu.failures, eu.bytes), (1_200, 0, 12_000));
    assert_eq!((eu.state, eu.lost_at_s), (WorkerState::Done, None));
    assert_eq!((us.state, us.lost_at_s), (WorkerState::Lost, Some(6.0)));
    assert_eq!(
        (us.users, us.offset_ms, us.offset_within_ms),
        (2, -1.5, 0.25)
    );
    let near = |found: Option<f64>, expected: f64| {
        let found = found.expect("it made requests");
        assert!(
            (found / expected - 1.0).abs() < 0.005,
            "{found} is not {expected}"
        );
    };
    near(eu.p95_ms, 9.0);
    near(us.p95_ms, 184.0);
}

#[test]
fn figures_of_labels_are_exact_and_add_up_to_the_whole() {
    let report = two_regions(&[], 5).report();
    let labels: Vec<_> = report
        .by_label
        .iter()
        .map(|row| (&*row.label, row.workers))
        .collect();
    assert_eq!(labels, [("region=eu", 1), ("region=us", 1), ("size=xl", 1)]);
    let [eu, us, xl] = &report.by_label[..] else {
        panic!("three labels");
    };
    assert_eq!((eu.aggregated.count, eu.aggregated.failures), (1_000, 0));
    assert_eq!((us.aggregated.count, us.aggregated.failures), (500, 125));
    assert_eq!(report.aggregated.count, 1_500);
    assert_eq!((&us.requests, &us.series), (&xl.requests, &xl.series));
    let p99 = eu.aggregated.latency_ms.expect("requests").p99;
    assert!((p99 / 9.0 - 1.0).abs() < 0.001, "{p99}");
    let users: Vec<u64> = us.series.iter().map(|point| point.users).collect();
    assert_eq!(users, [2; 5]);
    let counts = |row: &crate::LabelRow| -> Vec<u64> {
        row.series.iter().map(|point| point.count).collect()
    };
    assert_eq!((counts(eu), counts(us)), (vec![200; 5], vec![100; 5]));
}

#[test]
fn a_threshold_that_names_a_label_is_judged_on_its_figures_alone() {
    let thresholds = [
        "region=us: p95 < 50ms",
        "p50 < 50ms",
        "region=eu: p95 < 50ms",
        "region=us: failures < 1%",
        "region=eu: failures < 1%",
        "region=us: rate > 90/s",
        "region=mars: p95 < 1s",
        "region=us: p95 < 50ms during 2s",
    ];
    let mut run = two_regions(&thresholds, 5);
    let report = run.report();
    let passed: Vec<bool> = report.thresholds.iter().map(|row| row.passed).collect();
    assert_eq!(passed, [false, true, true, false, true, true, false, false]);
    let names: Vec<_> = report
        .thresholds
        .iter()
        .map(|row| row.name.as_deref())
        .collect();
    assert_eq!(names[..2], [Some("region=us"), None]);
    assert!(report.thresholds[7].broken_s.is_some());
    assert_eq!(report.thresholds[3].value, Some(25.0));
    let unseen: Vec<_> = report
        .warnings
        .iter()
        .filter(|text| text.contains("no data"))
        .collect();
    assert!(
        matches!(&unseen[..], [one] if one.contains("region=mars") && one.contains("label of workers")),
        "{unseen:?}"
    );
    let live = run.second(two_speeds).thresholds.clone();
    let passed: Vec<bool> = live.iter().map(|row| row.passed).collect();
    assert_eq!(passed, [false, true, true, false, true, true, false, false]);
}

#[test]
fn a_broken_threshold_of_a_label_ends_the_run() {
    let run = two_regions(&["p95 < 1s abort", "region=us: p95 < 50ms abort"], 2);
    let row = run.store.stopping_threshold().expect("it is broken");
    assert_eq!(row.name.as_deref(), Some("region=us"));
    let calm = two_regions(&["region=eu: p95 < 50ms abort"], 2);
    assert_eq!(calm.store.stopping_threshold(), None);
}

#[test]
fn a_label_without_a_request_is_reported() {
    let mut run = SimulatedRun::new(&["region=us: p95 < 1s"], &[&["region=eu"], &["region=us"]]);
    run.second(|worker, second, recorder| {
        if worker == 0 {
            requests(recorder, second, 10, |_| 1, 0);
        }
    });
    let report = run.report();
    let warning = "the threshold 'region=us: p95 < 1s' has no data: no worker with that label has made a request";
    assert!(
        report.warnings.iter().any(|text| text == warning),
        "{:?}",
        report.warnings
    );
    assert!(!report.thresholds[0].passed);
}

#[test]
fn a_reset_restarts_the_figures_of_labels_and_workers() {
    let mut run = two_regions(&["region=us: failures < 1%"], 3);
    run.store.reset(SECOND * 3, 1);
    for recorder in &mut run.recorders {
        recorder.schedule_measurement(1, recorder.zero() + SECOND * 3);
    }
    run.second(|worker, second, recorder| {
        requests(recorder, second, 10 * (worker as u64 + 1), |_| 5, 0);
    });
    let report = run.report();
    let counts: Vec<u64> = report
        .by_label
        .iter()
        .map(|row| row.aggregated.count)
        .collect();
    assert_eq!(counts, [10, 20, 20]);
    let requests: Vec<u64> = report.workers.iter().map(|row| row.requests).collect();
    assert_eq!(requests, [10, 20]);
    assert!(report.thresholds[0].passed);
    assert_eq!(report.workers[1].users, 2, "users at work stay");
}

#[test]
fn a_worker_that_joins_later_brings_its_label_with_it() {
    let mut run = SimulatedRun::new(&["region=us: p95 < 50ms"], &[&["region=eu"]]);
    run.second(two_speeds);
    run.store.pause(SECOND);
    run.store.resume(SECOND * 2);
    run.second += 1;
    run.store.expect_more(2);
    run.store.add_worker(worker(1, &["region=us"]));
    let start = run.recorders[0].zero();
    run.recorders
        .push(Recorder::new(1).of_run(start, start, None));
    run.second(two_speeds);
    let report = run.report();
    assert_eq!(report.paused_s, 1.0);
    let us = &report.by_label[1];
    assert_eq!(
        (us.aggregated.count, us.aggregated.rate),
        (100, 50.0),
        "by the time of the run"
    );
    assert_eq!(
        us.series.last().map(|point| (point.second, point.count)),
        Some((2, 100))
    );
    assert!(!report.thresholds[0].passed);
}

#[test]
fn users_of_an_absent_worker_are_not_counted_until_it_is_back() {
    let mut run = two_regions(&[], 2);
    run.store.worker_away(1, SECOND * 2);
    run.store.lose(1);
    let users = |run: &mut SimulatedRun| {
        let snapshot = run.second(|_, _, _| {});
        let series = run
            .store
            .report_so_far(Detail::Live)
            .by_label
            .remove(1)
            .series;
        (snapshot.workers[1].users, series.len())
    };
    assert_eq!(users(&mut run).0, 0);
    run.store.worker_back(1);
    run.store.find(1);
    assert_eq!(users(&mut run).0, 2);
}

#[test]
fn connections_of_a_lost_worker_do_not_count_any_more() {
    let mut run = two_regions(&[], 2);
    let open = |run: &mut SimulatedRun| run.store.tick(SECOND * run.second as u32).connections;
    assert_eq!(open(&mut run), 6);
    run.store.lose(1);
    assert_eq!(open(&mut run), 3);
}

#[test]
fn of_many_labels_the_first_have_figures_of_their_own() {
    let mut store = Store::new(RunIdentity::default());
    store.expect(60);
    for shard in 0..60 {
        store.add_worker(worker(shard, &[&format!("rack={shard:02}")]));
    }
    let report = store.report(SECOND);
    assert_eq!((report.workers.len(), report.by_label.len()), (60, 50));
    assert!(
        report
            .warnings
            .iter()
            .any(|text| text.contains("more than 50 labels"))
    );
}
