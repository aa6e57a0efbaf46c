//! Tests of when a second is attributed to lgoose itself.

use super::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Effort of a shard in 250 ms whose timer was 2 ms late and whose probe has no samples.
fn effort(busy_ms: u64) -> Effort {
    Effort {
        wall: ms(250),
        busy: ms(busy_ms),
        lag: Some(ms(2)),
        connections: 7,
        ..Effort::default()
    }
}

/// The same effort with a probe that was `late` every time.
fn probed(busy_ms: u64, late: Duration) -> Effort {
    let mut lateness = Lateness::default();
    lateness.record_many(late, 50);
    Effort {
        lateness,
        ..effort(busy_ms)
    }
}

fn latencies(p50: Duration, p99: Duration) -> Latencies {
    Latencies {
        count: 1_000,
        p50,
        p99,
        cycle: None,
    }
}

#[test]
fn a_second_is_marked_when_a_tenth_of_its_median_or_p99_is_lgooses_own() {
    let (quick, us) = (latencies(ms(2), ms(3)), Duration::from_micros);
    for (busy_ms, late, measured, saturated) in [
        (20, ms(6), latencies(ms(7), ms(9)), true),
        (20, ms(6), latencies(ms(100), ms(200)), false),
        // A tenth of the median, not of p99.
        (20, ms(6), latencies(ms(30), ms(200)), true),
        // Time to wake an idle thread; then a round of a thread that never sleeps.
        (20, us(900), quick, false),
        (240, us(300), quick, true),
        // Fully busy, but the target is slower by far.
        (250, us(300), latencies(ms(80), ms(90)), false),
    ] {
        let mut log = GeneratorLog::default();
        log.add(0, 0, &probed(busy_ms, late));
        let strain = log.strain(0, Some(&measured));
        assert_eq!(
            strain.saturated, saturated,
            "{busy_ms}, {late:?}, {measured:?}"
        );
        assert!(!log.strain(0, None).saturated, "without a request");
    }
}

#[test]
fn a_call_that_holds_up_a_thread_for_seconds_marks_each_of_them() {
    let tick = |busy_ms: u64, late: Duration| Effort {
        wall: ms(3_200),
        ..probed(busy_ms, late)
    };
    // From 0.9 s to 4.1 s; what had waited is answered at the end.
    let measured = latencies(ms(2_000), ms(2_600));
    let marked = |tick: &Effort| {
        let mut log = GeneratorLog::default();
        log.add_tick(4_100_000_000, 0, tick);
        let all = log.whole[0];
        assert_eq!((all.wall, all.lags), (ms(3_200), 1));
        [0, 1, 2, 3, 4].map(|second| {
            log.strain(second, (second == 4).then_some(&measured))
                .saturated
        })
    };
    assert_eq!(
        marked(&tick(3_190, ms(2_600))),
        [false, true, true, true, true]
    );
    // It was over before the measurement began, or nearly so.
    for ended in [0, 1, 900_000_000] {
        let mut log = GeneratorLog::default();
        log.add_tick(ended, 0, &tick(3_190, ms(2_600)));
        assert_eq!((log.open.len(), log.whole[0].lags), (1, 1), "{ended}");
    }
    // The thread slept, as where the process was stopped.
    assert_eq!(marked(&tick(10, ms(0))), [false; 5]);
}

#[test]
fn where_more_than_a_few_failed_late_starts_are_not_estimated() {
    let service = |count| {
        let mut row: RequestDelta = RequestDelta::default();
        for _ in 0..count {
            row.counts.service.record(300_000);
            row[LatencyKind::Service].record(300_000);
        }
        row
    };
    // 1,000 succeeded, at 10 ms after their scheduled start.
    let measured = latencies(ms(10), ms(12));
    for (all, saturated) in [(1_000, true), (1_010, true), (1_011, false), (5_000, false)] {
        let mut log = GeneratorLog::default();
        log.add(0, 0, &probed(20, ms(0)));
        log.add_service(0, &service(all));
        let strain = log.strain(0, Some(&measured));
        assert_eq!(strain.saturated, saturated, "{all} requests");
    }
}

#[test]
fn the_cause_is_what_threads_did_in_the_seconds_that_are_marked() {
    let measured = latencies(ms(2), ms(9));
    // Busy and starved milliseconds of a tick, and how late the thread came.
    for (busy, starved, late, cause) in [
        (240, 10, 6, SlowCause::OwnWork),
        (240, 200, 6, SlowCause::Starved),
        (40, 35, 60, SlowCause::NotMeasured),
        (5, 0, 300, SlowCause::NotMeasured),
        (70, 60, 60, SlowCause::Starved),
    ] {
        let mut log = GeneratorLog::default();
        // A second in which other programs had the cores, and nothing was late.
        let quiet = Effort {
            starved: ms(200),
            ..probed(240, ms(0))
        };
        log.add(0, 0, &quiet);
        log.close(0, Some(&latencies(ms(900), ms(990))), ms(1_000));
        log.add(
            1,
            0,
            &Effort {
                starved: ms(starved),
                ..probed(busy, ms(late))
            },
        );
        let open = log.slow(|_| Some(measured)).cause(Duration::ZERO);
        assert!(log.close(1, Some(&measured), ms(1_000)).saturated);
        let closed = log.slow(|_| None).cause(Duration::ZERO);
        assert_eq!((open, closed), (cause, cause), "{busy} {starved} {late}");
    }
}

#[test]
fn late_starts_are_lgooses_own_to_the_microsecond() {
    let mut log = GeneratorLog::default();
    log.add(0, 0, &probed(20, ms(0)));
    let measured = latencies(ms(10), ms(12));
    assert!(!log.strain(0, Some(&measured)).saturated);
    let mut row: RequestDelta = RequestDelta::default();
    for ns in [6_900_000; 1_000] {
        row.counts.service.record(ns);
        row[LatencyKind::Service].record(ns);
    }
    log.add_service(0, &row);
    let strain = log.strain(0, Some(&measured));
    let own = strain.own.expect("there is a probe");
    let waking = Duration::from_micros(8)..=Duration::from_micros(9);
    assert!(
        waking.contains(&(own.p50 - Duration::from_micros(3_100))),
        "{own:?}"
    );
    assert!(
        waking.contains(&(own.p99 - Duration::from_micros(5_100))),
        "{own:?}"
    );
    assert!(strain.saturated);
    log.close(0, Some(&measured), ms(250));
    let row = log.row(Some(&measured), |_| None).expect("a piece");
    assert_eq!(row.own_p99_ms, Some(own.p99.as_secs_f64() * 1e3));
}

#[test]
fn without_a_probe_a_thread_that_is_busy_all_the_time_is_the_sign() {
    for (busy_ms, ticks, saturated) in [
        (250, 4, true),
        (226, 4, true),
        (220, 4, false),
        (250, 1, false),
    ] {
        let mut log = GeneratorLog::default();
        for _ in 0..ticks {
            log.add(0, 0, &effort(1));
            log.add(0, 1, &effort(busy_ms));
        }
        let strain = log.strain(0, Some(&latencies(ms(1), ms(1))));
        let case = format!("{busy_ms} ms of 250 busy, {ticks} times");
        assert_eq!((strain.saturated, strain.own), (saturated, None), "{case}");
    }
}

#[test]
fn without_a_probe_timers_that_are_late_are_the_other_sign() {
    for (lag_ms, p50_ms, saturated) in [(12, 50, true), (12, 150, false), (9, 1, false)] {
        let mut log = GeneratorLog::default();
        for _ in 0..4 {
            let lag = Some(ms(lag_ms));
            log.add(0, 0, &Effort { lag, ..effort(10) });
        }
        let strain = log.strain(0, Some(&latencies(ms(p50_ms), ms(p50_ms))));
        assert_eq!(strain.saturated, saturated, "{lag_ms} ms late of {p50_ms}");
    }
}

#[test]
fn a_run_adds_its_seconds_up_and_judges_the_last_piece() {
    let mut log = GeneratorLog::default();
    assert_eq!(log.row(None, |_| None), None);
    let measured = latencies(ms(2), ms(9));
    for (second, busy_ms, late) in [(0, 50, ms(0)), (1, 240, ms(6))] {
        for _ in 0..4 {
            log.add(second, 0, &probed(1, ms(0)));
            log.add(second, 1, &probed(busy_ms, late));
        }
        log.close(second, Some(&measured), ms(1_000));
    }
    let row = log.row(Some(&measured), |_| None).expect("two seconds");
    assert_eq!((row.saturated_s, row.judged_s), (1.0, 2.0));
    assert_eq!((row.threads, row.connections), (2, 14));
    assert_eq!(row.busiest, 0.96);
    assert!(
        row.lag_max_ms > 5.7,
        "that of the probe: {}",
        row.lag_max_ms
    );
    assert!((row.lag_avg_ms - 2.0).abs() < 1e-9, "{}", row.lag_avg_ms);
    assert!((row.busy - 0.292).abs() < 1e-9, "{}", row.busy);
    let warning = row
        .warning(Some(&measured), log.slow(|_| None))
        .expect("one second was marked");
    assert!(
        warning.starts_with(
            "lgoose itself was the bottleneck in 1 of 2 s; over the whole run p99 9.00 ms, of which about "
        ),
        "{warning}"
    );
    assert!(warning.contains("up to 96% busy); use more"), "{warning}");

    log.add(2, 1, &probed(100, ms(6)));
    let row = log
        .row(Some(&measured), |_| Some(measured))
        .expect("a piece more");
    assert_eq!((row.saturated_s, row.judged_s), (1.25, 2.25));
}

#[test]
fn the_busiest_second_is_no_less_busy_than_the_average_when_the_last_piece_is_short() {
    let mut log = GeneratorLog::default();
    for _ in 0..4 {
        log.add(0, 0, &effort(10));
        log.add(0, 1, &effort(5));
    }
    log.close(0, None, ms(1_000));
    let row = |log: &GeneratorLog| log.row(None, |_| None).expect("a second");
    assert_eq!(row(&log).busiest, 0.04);
    for shard in [0, 1] {
        log.add(1, shard, &effort(200));
    }
    // 240 of 1,250 ms, and 220 of 1,250 ms.
    let piece = row(&log);
    assert!((piece.busiest - 0.192).abs() < 1e-9, "{}", piece.busiest);
    assert!((piece.busy - 0.184).abs() < 1e-9, "{}", piece.busy);
    // A run of less than a second is its own busiest.
    let mut log = GeneratorLog::default();
    log.add(0, 0, &effort(50));
    assert_eq!((row(&log).busiest, row(&log).busy), (0.2, 0.2));
}

#[test]
fn a_run_in_which_nothing_was_marked_has_no_warning() {
    let mut log = GeneratorLog::default();
    log.add(0, 0, &probed(20, ms(1)));
    let measured = latencies(ms(20), ms(30));
    let row = log
        .row(Some(&measured), |_| Some(measured))
        .expect("a piece");
    assert_eq!(
        (
            row.saturated_s,
            row.warning(Some(&measured), log.slow(|_| None))
        ),
        (0.0, None)
    );
    assert!(row.own_part(30.0).is_some());
}
