//! The iterations of a step's run: how many of each scenario were due and have ended since its figures began to count, and
//! how many are under way. Read from snapshots, which count since the last reset.

use lgoose_metrics::Snapshot;
use lgoose_metrics::capacity::{IterationCounts, StepIterations};
use lgoose_plan::Scenario;
use std::time::Duration;

/// Iterations by which rounding may change a scenario's share of the starts.
const ROUNDING: f64 = 1.0;

/// Time by which two snapshots of the same measurement may differ in its beginning.
const SAME_MEASUREMENT: Duration = Duration::from_millis(100);

/// Iterations of a run since its beginning.
#[derive(Debug)]
pub(super) struct IterationTally {
    by_users: bool,
    scenarios: Vec<ScenarioTally>,
    counts: Vec<IterationCounts>,
    measured_since: Duration,
    /// Starts by the latest snapshot, since the last reset.
    started: u64,
    /// Iterations in which something failed, likewise.
    failed: u64,
}

/// Iterations of one scenario.
#[derive(Debug)]
struct ScenarioTally {
    name: String,
    /// Its share of the starts.
    share: f64,
    /// Whether its iterations ever end: a scenario may have only tasks of the start and the end.
    has_iterations: bool,
    users: u64,
    started: f64,
    ended: u64,
    /// Iterations that users have left by leaving the run: they were started, have not ended, and have no user.
    left: f64,
    /// Ended iterations by the latest snapshot, since the last reset.
    latest: u64,
    /// Iterations that were due and that had ended when the figures began to count.
    base: (f64, f64),
}

impl IterationTally {
    /// Begins to count iterations of these scenarios, which share the load by weight.
    pub(super) fn new(scenarios: &[Scenario], by_users: bool) -> IterationTally {
        let weights: f64 = scenarios.iter().map(|one| f64::from(one.weight)).sum();
        let tally = |one: &Scenario| ScenarioTally {
            name: one.name.clone(),
            share: f64::from(one.weight) / weights,
            has_iterations: !one.tasks.iter().all(|task| task.on_start || task.on_stop),
            users: 0,
            started: 0.0,
            ended: 0,
            left: 0.0,
            latest: 0,
            base: (0.0, 0.0),
        };
        IterationTally {
            by_users,
            counts: vec![IterationCounts::default(); scenarios.len()],
            scenarios: scenarios.iter().map(tally).collect(),
            measured_since: Duration::ZERO,
            started: 0,
            failed: 0,
        }
    }

    /// Counts the iterations until a snapshot.
    pub(super) fn count(&mut self, now: &Snapshot) {
        let since = now.progress.measured_since();
        if since.abs_diff(self.measured_since) > SAME_MEASUREMENT {
            self.measured_since = since;
            self.started = 0;
            for one in &mut self.scenarios {
                one.latest = 0;
                one.base = one.totals();
            }
        }
        let started = now.arrivals.started.saturating_sub(self.started) as f64;
        self.started = now.arrivals.started;
        self.failed = now.scenarios.iter().map(|row| row.iterations_failed).sum();
        for (one, counts) in self.scenarios.iter_mut().zip(&mut self.counts) {
            let row = now.scenarios.iter().find(|row| row.name == one.name);
            let (ended, users) = row.map_or((0, 0), |row| (row.iterations, row.users));
            one.add(started, ended, users);
            *counts = one.since_base(self.by_users);
        }
    }

    /// Returns the iterations since the figures began to count.
    pub(super) fn current(&self) -> StepIterations<'_> {
        let own = |one: &ScenarioTally| {
            if self.by_users {
                one.users as f64
            } else {
                one.under_way()
            }
        };
        StepIterations {
            scenarios: &self.counts,
            under_way: self.scenarios.iter().map(own).sum(),
            failed: self.failed,
        }
    }
}

impl ScenarioTally {
    fn add(&mut self, started: f64, ended: u64, users: u64) {
        if !self.has_iterations {
            return;
        }
        self.started += started * self.share;
        self.ended += ended.saturating_sub(self.latest);
        self.latest = ended;
        self.users = users;
        let without_user = self.started - self.ended as f64 - users as f64 - ROUNDING;
        self.left = self.left.max(without_user);
    }

    fn totals(&self) -> (f64, f64) {
        (self.started, self.ended as f64 + self.left)
    }

    fn under_way(&self) -> f64 {
        let (started, ended) = self.totals();
        (started - ended).max(0.0)
    }

    fn since_base(&self, by_users: bool) -> IterationCounts {
        let (started, ended) = self.totals();
        IterationCounts {
            due: if by_users {
                self.users as f64
            } else {
                started - self.base.0
            },
            ended: (ended - self.base.1).max(0.0).round() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lgoose_metrics::{LiveArrivals, Progress, ScenarioRow};
    use lgoose_plan::Task;

    fn scenarios(weights: &[u32]) -> Vec<Scenario> {
        let scenario = |(number, weight): (usize, &u32)| Scenario {
            weight: *weight,
            tasks: vec![Task::new(None, 0, 1)],
            ..Scenario::new(format!("s{number}"))
        };
        weights.iter().enumerate().map(scenario).collect()
    }

    /// Returns a snapshot so many seconds after the start, `measured_s` of which are measured, with users and iterations of
    /// each scenario.
    fn snapshot(elapsed_s: u64, measured_s: u64, started: u64, rows: &[(u64, u64)]) -> Snapshot {
        let row = |(number, (users, iterations)): (usize, &(u64, u64))| ScenarioRow {
            name: format!("s{number}"),
            users: *users,
            iterations: *iterations,
            iteration_ms: None,
            ..ScenarioRow::default()
        };
        Snapshot {
            progress: Progress {
                elapsed: Duration::from_secs(elapsed_s),
                measured: Duration::from_secs(measured_s),
                ..Progress::default()
            },
            arrivals: LiveArrivals {
                started,
                ..LiveArrivals::default()
            },
            scenarios: rows.iter().enumerate().map(row).collect(),
            ..Snapshot::default()
        }
    }

    #[test]
    fn what_is_under_way_outlasts_a_reset_and_what_is_due_does_not() {
        let mut tally = IterationTally::new(&scenarios(&[3, 1]), false);
        tally.count(&snapshot(2, 2, 40, &[(25, 5), (10, 0)]));
        assert_eq!(tally.current().under_way, 35.0);
        tally.count(&snapshot(3, 0, 0, &[(25, 0), (10, 0)]));
        tally.count(&snapshot(13, 10, 80, &[(30, 58), (10, 20)]));
        let current = tally.current();
        assert_eq!(current.under_way, 37.0);
        let counts = |due, ended| IterationCounts { due, ended };
        assert_eq!(current.scenarios, [counts(60.0, 58), counts(20.0, 20)]);
    }

    #[test]
    fn an_iteration_that_its_user_leaves_with_the_run_has_ended() {
        let mut tally = IterationTally::new(&scenarios(&[1]), false);
        tally.count(&snapshot(10, 10, 100, &[(4, 0)]));
        let counts = tally.current();
        assert_eq!(counts.scenarios[0].ended, 95);
        assert_eq!(counts.under_way, 5.0);
    }

    #[test]
    fn one_iteration_of_each_user_is_due_where_users_are_raised() {
        let mut tally = IterationTally::new(&scenarios(&[1]), true);
        tally.count(&snapshot(10, 7, 0, &[(12, 30)]));
        let expected = IterationCounts {
            due: 12.0,
            ended: 30,
        };
        assert_eq!(tally.current().scenarios, [expected]);
        assert_eq!(tally.current().under_way, 12.0);
    }

    #[test]
    fn a_scenario_without_iterations_has_none_due() {
        let mut all = scenarios(&[1]);
        all[0].tasks[0].on_start = true;
        let mut tally = IterationTally::new(&all, false);
        tally.count(&snapshot(10, 7, 70, &[(70, 0)]));
        assert_eq!(tally.current().scenarios, [IterationCounts::default()]);
    }
}
