//! Tests of the search on simulated sites.

mod simulated;
mod watch;

use crate::capacity::{Search, SearchAction, SearchAims, SearchEnd, SearchTime};
use crate::{CapacityOutcome, LoadKind, StepResult};
use lgoose_base::threshold::Threshold;
use simulated::{ModelSite, SimulatedSearch, Visit, aims};

const LIMIT_MS: f64 = 300.0;

fn slo() -> Vec<Threshold> {
    ["p95 < 300ms", "failures < 1%"]
        .map(|text| Threshold::read(text).expect("a limit"))
        .to_vec()
}

/// Searches of one site.
struct SearchCounts {
    /// Results that were confirmed and within a share of the capacity.
    hits: usize,
    /// Seconds of a search, on average: of simulated time, which no machine makes longer.
    mean_s: f64,
}

impl SearchCounts {
    /// Asserts that nearly all results are right, and that a search takes at most so many seconds on average.
    fn assert_right_within(&self, seconds: f64) {
        let SearchCounts { hits, mean_s } = *self;
        assert!(hits >= 18, "{hits} of 20");
        assert!(mean_s <= seconds, "{mean_s:.0} s");
    }
}

/// Searches twenty times from different loads.
fn searches(site: ModelSite, share: f64) -> SearchCounts {
    let (slo, capacity) = (slo(), site.capacity(LIMIT_MS));
    let search = SimulatedSearch {
        site,
        visit: Visit::ONE,
        slo: &slo,
        step_time_max_s: None,
    };
    let found = (0..20_u32).map(|seed| {
        let aims = SearchAims {
            from: 5.0 + f64::from(seed) * 0.7,
            ..aims()
        };
        search.run(aims, seed.into())
    });
    let found: Vec<(SearchEnd, f64)> = found.collect();
    let near = |end: &SearchEnd| (end.low.unwrap_or(0.0) / capacity - 1.0).abs() <= share;
    let hits = found.iter().filter(|(end, _)| end.confirmed && near(end));
    let seconds = found.iter().map(|(_, seconds)| *seconds);
    SearchCounts {
        hits: hits.count(),
        mean_s: seconds.sum::<f64>() / found.len() as f64,
    }
}

#[test]
fn the_capacity_of_a_queue_with_fixed_times_is_found() {
    for (workers, service_ms) in [(1, 10.0), (4, 50.0), (20, 100.0)] {
        let found = searches(
            ModelSite::Fixed {
                workers,
                service_ms,
            },
            0.05,
        );
        found.assert_right_within(240.0);
    }
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn the_capacity_of_a_queue_with_random_times_is_found() {
    for (workers, service_ms) in [(4, 20.0), (8, 50.0)] {
        let found = searches(
            ModelSite::Random {
                workers,
                service_ms,
            },
            0.05,
        );
        found.assert_right_within(420.0);
    }
}

#[test]
fn a_limit_on_connections_is_found() {
    let found = searches(
        ModelSite::Connections {
            most: 25,
            service_ms: 100.0,
        },
        0.05,
    );
    found.assert_right_within(240.0);
}

#[test]
fn a_site_that_degrades_after_half_a_minute_is_found_out_by_the_confirming_run() {
    let found = searches(
        ModelSite::Degrading {
            workers: 8,
            service_ms: 50.0,
        },
        0.1,
    );
    found.assert_right_within(420.0);
}

/// Returns the search of a site that has one worker for ten requests a second, by a plan of two requests with two minutes between
/// them: five iterations a second.
fn long_iterations(slo: &[Threshold], step_time_max_s: Option<f64>) -> SimulatedSearch<'_> {
    SimulatedSearch {
        site: ModelSite::Fixed {
            workers: 1,
            service_ms: 100.0,
        },
        visit: Visit {
            requests: 2,
            pause_s: 120.0,
        },
        slo,
        step_time_max_s,
    }
}

#[test]
fn iterations_that_take_longer_than_a_step_are_waited_for() {
    let slo = slo();
    let aims = SearchAims {
        from: 1.0,
        ..aims()
    };
    let (end, _) = long_iterations(&slo, None).run(aims, 1);
    let low = end.low.expect("something held");
    assert!(end.confirmed && (4.75..=5.0).contains(&low), "{end:?}");
}

#[test]
fn steps_that_may_not_last_as_long_as_an_iteration_find_nothing() {
    let slo = slo();
    let (end, _) = long_iterations(&slo, Some(90.0)).run(aims(), 1);
    let expected = (CapacityOutcome::StepsTooShort, None, false);
    assert_eq!((end.outcome, end.low, end.confirmed), expected);
}

/// Searches a site that holds what `holds` says.
fn ended(aims: SearchAims, holds: impl Fn(f64) -> StepResult) -> (SearchEnd, Vec<f64>) {
    let mut search = Search::new(aims);
    let mut loads = Vec::new();
    loop {
        let next = search.next();
        let load = match next {
            SearchAction::Over(end) => return (end, loads),
            SearchAction::Step { load } | SearchAction::Confirm { load } => load,
        };
        loads.push(load);
        assert!(loads.len() < 99, "{loads:?}");
        search.note(next, holds(load));
    }
}

fn up_to(limit: f64) -> impl Fn(f64) -> StepResult {
    move |load| {
        if load <= limit {
            StepResult::Held
        } else {
            StepResult::Failed
        }
    }
}

#[test]
fn an_estimate_that_is_right_saves_steps_and_one_that_is_wrong_costs_few() {
    let searched = |estimate: Option<f64>| {
        let mut search = Search::new(aims());
        let mut steps = 0;
        loop {
            let interval = search.interval();
            let within = interval.zip(estimate);
            search.estimate(within.map(|((low, high), capacity)| capacity.clamp(low, high)));
            let next = search.next();
            match next {
                SearchAction::Over(end) => return (end, steps),
                SearchAction::Step { load } | SearchAction::Confirm { load } => {
                    search.note(next, up_to(109.5)(load));
                }
            }
            steps += 1;
            assert!(steps < 99, "{estimate:?}");
        }
    };
    let (_, by_halves) = searched(None);
    for (estimate, most) in [
        (109.5, by_halves - 2),
        (112.0, by_halves - 1),
        (106.0, by_halves),
        (81.0, by_halves + 3),
        (159.0, by_halves + 3),
    ] {
        let (end, steps) = searched(Some(estimate));
        let low = end.low.expect("something holds");
        assert!(end.confirmed && (106.8..=109.5).contains(&low), "{end:?}");
        assert!(
            steps <= most,
            "{steps} by {estimate}, {by_halves} by halves"
        );
    }
}

/// Searches a site that holds 100 until the time of the search is as it says, after so many steps.
fn cut(steps: usize, time: SearchTime) -> SearchEnd {
    let mut search = Search::new(aims());
    for done in 0..99 {
        if done == steps {
            search.limit(time);
        }
        let next = search.next();
        match next {
            SearchAction::Over(end) => return end,
            SearchAction::Step { load } | SearchAction::Confirm { load } => {
                search.note(next, up_to(100.0)(load));
            }
        }
    }
    unreachable!("a search ends");
}

#[test]
fn a_search_whose_time_is_short_confirms_what_it_has() {
    let end = |low, high, confirmed| SearchEnd {
        outcome: CapacityOutcome::TimeUp,
        low,
        high,
        confirmed,
    };
    let short = SearchTime::ToConfirm;
    assert_eq!(cut(3, short), end(Some(40.0), None, true));
    assert_eq!(cut(5, short), end(Some(80.0), Some(160.0), true));
    assert_eq!(cut(0, short), end(None, None, false));
    assert_eq!(cut(5, SearchTime::Up), end(Some(80.0), Some(160.0), false));
    let found = cut(98, short);
    assert_eq!(found.outcome, CapacityOutcome::Found);
}

#[test]
fn a_load_whose_confirming_run_failed_is_not_the_result_of_a_search_whose_time_is_up() {
    let mut search = Search::new(aims());
    loop {
        let next = search.next();
        match next {
            SearchAction::Over(_) => unreachable!("it has a confirming run"),
            SearchAction::Step { load } => search.note(next, up_to(100.0)(load)),
            SearchAction::Confirm { load } => {
                search.note(next, StepResult::Failed);
                search.limit(SearchTime::Up);
                let SearchAction::Over(end) = search.next() else {
                    unreachable!("there is no time for anything");
                };
                assert_eq!(
                    (end.outcome, end.high),
                    (CapacityOutcome::TimeUp, Some(load))
                );
                assert!(
                    !end.confirmed && end.low.is_some_and(|low| low < load),
                    "{end:?}"
                );
                return;
            }
        }
    }
}

#[test]
fn whole_users_are_found_exactly() {
    let by_users = SearchAims {
        by: LoadKind::Users,
        from: 1.0,
        ..aims()
    };
    for users in [1.0, 2.0, 3.0, 7.0, 12.0, 17.0] {
        let (end, _) = ended(by_users, up_to(users));
        let outcome = (end.outcome, end.low, end.high, end.confirmed);
        let expected = (CapacityOutcome::Found, Some(users), Some(users + 1.0), true);
        assert_eq!(outcome, expected);
    }
    let (end, _) = ended(by_users, up_to(0.0));
    assert_eq!(end.outcome, CapacityOutcome::FirstStepFails);
}

#[test]
fn the_greatest_load_that_is_allowed_is_tried_and_confirmed() {
    let aims = SearchAims {
        to: Some(70.0),
        ..aims()
    };
    let (end, loads) = ended(aims, up_to(1e9));
    assert_eq!(loads, [10.0, 20.0, 40.0, 70.0, 70.0]);
    let outcome = (end.outcome, end.low, end.high, end.confirmed);
    assert_eq!(outcome, (CapacityOutcome::AtLeast, Some(70.0), None, true));
    let from = SearchAims { from: 70.0, ..aims };
    assert_eq!(ended(from, up_to(1e9)).1, [70.0, 70.0]);
}

#[test]
fn a_first_step_that_fails_ends_the_search() {
    let (end, loads) = ended(aims(), up_to(1.0));
    assert_eq!(loads, [10.0, 10.0], "once more, in case it was chance");
    let outcome = (end.outcome, end.low, end.high);
    assert_eq!(outcome, (CapacityOutcome::FirstStepFails, None, Some(10.0)));
}

#[test]
fn a_generator_that_is_too_slow_again_and_again_ends_the_search_with_what_was_found() {
    let (end, loads) = ended(aims(), |load| {
        if load < 100.0 {
            StepResult::Held
        } else {
            StepResult::Generator
        }
    });
    assert_eq!(loads, [10.0, 20.0, 40.0, 80.0, 160.0, 160.0, 160.0]);
    let outcome = (end.outcome, end.low, end.confirmed);
    assert_eq!(outcome, (CapacityOutcome::Generator, Some(80.0), false));
}

#[test]
fn a_step_that_failed_by_chance_is_tried_again() {
    let mut search = Search::new(aims());
    let mut failed = false;
    let end = loop {
        let next = search.next();
        let load = match next {
            SearchAction::Over(end) => break end,
            SearchAction::Step { load } | SearchAction::Confirm { load } => load,
        };
        let by_chance = load == 160.0 && !failed;
        failed |= by_chance;
        let held = load <= 500.0 && !by_chance;
        search.note(
            next,
            if held {
                StepResult::Held
            } else {
                StepResult::Failed
            },
        );
    };
    let low = end.low.expect("there is one");
    assert!((476.0..=500.0).contains(&low) && end.confirmed, "{end:?}");
}

#[test]
fn what_no_confirming_run_confirms_is_not_called_found() {
    let mut search = Search::new(aims());
    let end = loop {
        let next = search.next();
        match next {
            SearchAction::Over(end) => break end,
            SearchAction::Step { load } => search.note(next, up_to(100.0)(load)),
            SearchAction::Confirm { .. } => search.note(next, StepResult::Failed),
        }
    };
    assert!(!end.confirmed, "{end:?}");
    let aborted = [CapacityOutcome::NotConfirmed, CapacityOutcome::NothingHolds];
    assert!(aborted.contains(&end.outcome), "{end:?}");
}
