//! Tests of the search on simulated sites.

mod simulated;
mod watch;

use crate::capacity::{Search, SearchAction, SearchAims, SearchEnd};
use crate::metrics::{CapacityOutcome, LoadKind, StepResult};
use crate::threshold::Threshold;
use simulated::{ModelSite, aims, search};

const LIMIT_MS: f64 = 300.0;

fn slo() -> Vec<Threshold> {
    ["p95 < 300ms", "failures < 1%"]
        .map(|text| Threshold::read(text).expect("a limit"))
        .to_vec()
}

/// Searches twenty times from different loads, and returns how often the result was confirmed and within a share of the
/// capacity.
fn hits(site: ModelSite, share: f64) -> usize {
    let (slo, capacity) = (slo(), site.capacity(LIMIT_MS));
    let found = (0..20_u32).map(|seed| {
        let aims = SearchAims {
            from: 5.0 + f64::from(seed) * 0.7,
            ..aims()
        };
        search(site, aims, &slo, seed.into())
    });
    let near = |end: &SearchEnd| (end.low.unwrap_or(0.0) / capacity - 1.0).abs() <= share;
    found.filter(|end| end.confirmed && near(end)).count()
}

#[test]
fn the_capacity_of_a_queue_with_fixed_times_is_found() {
    for (workers, service_ms) in [(1, 10.0), (4, 50.0), (20, 100.0)] {
        let found = hits(
            ModelSite::Fixed {
                workers,
                service_ms,
            },
            0.05,
        );
        assert!(found >= 18, "{found} with {workers}");
    }
}

#[test]
fn the_capacity_of_a_queue_with_random_times_is_found() {
    for (workers, service_ms) in [(4, 20.0), (8, 50.0)] {
        let found = hits(
            ModelSite::Random {
                workers,
                service_ms,
            },
            0.05,
        );
        assert!(found >= 18, "{found} with {workers}");
    }
}

#[test]
fn a_limit_on_connections_is_found() {
    let found = hits(
        ModelSite::Connections {
            most: 25,
            service_ms: 100.0,
        },
        0.05,
    );
    assert!(found >= 18, "{found}");
}

#[test]
fn a_site_that_degrades_after_half_a_minute_is_found_out_by_the_confirming_run() {
    let found = hits(
        ModelSite::Degrading {
            workers: 8,
            service_ms: 50.0,
        },
        0.1,
    );
    assert!(found >= 18, "{found}");
}

/// Searches a site that holds what `holds` says.
fn ended(aims: SearchAims, holds: impl Fn(f64) -> StepResult) -> (SearchEnd, Vec<f64>) {
    let mut search = Search::new(aims);
    let mut loads = Vec::new();
    loop {
        let next = search.next();
        let load = match next {
            SearchAction::Over(end) => return (end, loads),
            SearchAction::Step { load, .. } | SearchAction::Confirm { load } => load,
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
            SearchAction::Step { load, .. } | SearchAction::Confirm { load } => load,
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
            SearchAction::Step { load, .. } => search.note(next, up_to(100.0)(load)),
            SearchAction::Confirm { .. } => search.note(next, StepResult::Failed),
        }
    };
    assert!(!end.confirmed, "{end:?}");
    let aborted = [CapacityOutcome::NotConfirmed, CapacityOutcome::NothingHolds];
    assert!(aborted.contains(&end.outcome), "{end:?}");
}
