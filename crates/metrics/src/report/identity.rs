//! Identity of a run: the facts that are known before it begins, and the order in which its rows are shown.

use crate::report::{Cadence, ScenarioRow, TaskRow};
use std::time::{Duration, SystemTime};

/// Facts about a run that are known before it begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunIdentity {
    /// Version of lgoose.
    pub version: String,
    /// The plan's path as given.
    pub plan: String,
    /// Base URL of the target.
    pub host: String,
    /// Beginning of the run, RFC 3339.
    pub started: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Cadence that late users are compared with, if the requests that they could not make are filled in.
    pub co_mitigation: Option<Cadence>,
    /// Whether that correction was requested: then it is shown even where it changes nothing.
    pub co_wanted: bool,
    /// Whether reports leave out the latencies of points over time.
    pub no_intervals: bool,
    /// Beginning of the load on the clock of the logs, in nanoseconds: after `test_start`.
    pub start_ns: u64,
    /// Scenarios and tasks in the order of the plan, in which rows are shown. Other rows come after them, in the
    /// order of their first appearance.
    pub order: Vec<(String, String)>,
}

impl RunIdentity {
    /// Makes the identity of a run by this version of lgoose that begins at `started`.
    pub fn new(
        plan: impl Into<String>,
        host: impl Into<String>,
        seed: u64,
        started: SystemTime,
    ) -> Self {
        let seconds = jiff::Timestamp::try_from(started).unwrap_or_default();
        RunIdentity {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            plan: plan.into(),
            host: host.into(),
            started: format!("{seconds:.3}"),
            seed,
            co_mitigation: None,
            co_wanted: false,
            no_intervals: false,
            start_ns: 0,
            order: Vec::new(),
        }
    }

    /// Returns the wall clock at that time since the load began: `06:45:10 UTC`.
    pub(crate) fn wall_clock(&self, at: Duration) -> String {
        let started: jiff::Timestamp = self.started.parse().unwrap_or_default();
        let at = at.saturating_add(Duration::from_nanos(self.start_ns));
        // Beyond the year 9999 there is none.
        let at = started.checked_add(at).unwrap_or(jiff::Timestamp::MAX);
        at.strftime("%H:%M:%S UTC").to_string()
    }

    /// Returns whether the target, or a part of it, is a site built into lgoose.
    pub(crate) fn has_own_site(&self) -> bool {
        self.host.split(", ").any(|host| host.starts_with("demo:"))
    }

    /// Returns the place of a request's name among the tasks.
    pub(crate) fn place_of_name(&self, name: &str) -> usize {
        let place = self.order.iter().position(|(_, task)| task == name);
        place.unwrap_or(usize::MAX)
    }

    pub(crate) fn place_of_task(&self, row: &TaskRow) -> usize {
        let same =
            |(scenario, task): &(String, String)| *scenario == row.scenario && *task == row.name;
        self.order.iter().position(same).unwrap_or(usize::MAX)
    }

    pub(crate) fn place_of_scenario(&self, row: &ScenarioRow) -> usize {
        let place = self
            .order
            .iter()
            .position(|(scenario, _)| *scenario == row.name);
        place.unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    #[test]
    fn the_wall_clock_counts_from_the_beginning_of_the_load() {
        let started = UNIX_EPOCH + Duration::from_secs(6 * 3_600 + 44 * 60 + 9);
        let mut identity = RunIdentity::new("a.lua", "http://a", 1, started);
        let seconds = Duration::from_secs;
        assert_eq!(identity.wall_clock(seconds(61)), "06:45:10 UTC");
        identity.start_ns = 5_000_000_000;
        assert_eq!(identity.wall_clock(seconds(61)), "06:45:15 UTC");
        assert_eq!(identity.wall_clock(seconds(24 * 3_600)), "06:44:14 UTC");
        assert_eq!(
            identity.wall_clock(Duration::MAX),
            jiff::Timestamp::MAX.strftime("%H:%M:%S UTC").to_string()
        );
    }
}
