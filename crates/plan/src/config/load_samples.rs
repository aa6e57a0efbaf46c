//! The load as a function of the time: what `plan { load = function(t) … end }` returns for each second, as stages.

use super::Value;
use super::load_stage::{Goal, LoadStage};
use lgoose_base::error::Diagnostic;
use lgoose_base::units;
use std::time::Duration;

/// The most pieces that a load is made of: one a second for an hour, fewer a second for longer loads.
const MOST_STAGES: u64 = 3_600;

/// The values of a load function, one for each second from 0 on; there is one at least.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadSamples(Vec<Goal>);

impl LoadSamples {
    /// The most seconds for which a function is asked: the load of one that never returns nil ends there.
    pub const MOST_SECONDS: u64 = 86_400;

    /// Makes a load from the values of a function; it ends a second after the last of them.
    ///
    /// # Errors
    /// Returns a [`Diagnostic`] if there is no value, if all are 0, or if some are users and others a rate.
    pub fn new(goals: Vec<Goal>) -> Result<LoadSamples, Diagnostic> {
        let rates = goals.iter().filter(|goal| matches!(goal, Goal::Rate(_)));
        let rates = rates.count();
        let (message, help) = if goals.is_empty() {
            (
                "'load' returns nil for t = 0, so that the load ends before it begins",
                "let it return the users for each second, and nil only after the last one",
            )
        } else if rates != 0 && rates != goals.len() {
            (
                "'load' returns users for some seconds and a rate for others",
                "return users (10) or a rate (\"10/s\") for all of them",
            )
        } else if goals.iter().all(|goal| goal.amount() == 0.0) {
            (
                "'load' returns 0 for every second",
                "let it return more than 0 for some",
            )
        } else {
            return Ok(LoadSamples(goals));
        };
        Err(Diagnostic::new(message).help(help))
    }

    /// Refuses what is no function; functions are asked where the plan is loaded.
    ///
    /// # Errors
    /// Always: a sentence with the form of a load.
    pub(super) fn refused(value: &Value) -> Result<LoadSamples, String> {
        Err(format!(
            "{}: it is a function of the time in seconds that returns the number of users: load = function(t) return 10 + t end",
            value.type_name()
        ))
    }

    /// Returns whether the function returns a rate.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.0.first(), Some(Goal::Rate(_)))
    }

    /// Returns the load at ten moments as text, for `lgoose check`.
    pub fn outline(&self, run_time: Option<Duration>) -> String {
        const ROWS: u32 = 10;
        let length = self.length(run_time);
        let mut text = format!(
            "the load of its function, for {}:",
            units::show_long(length)
        );
        for row in 0..=ROWS {
            // Whole seconds are those that the function was asked for.
            let at = Duration::from_secs((length * row / ROWS).as_secs());
            let goal = match self.goal_at(at) {
                Goal::Users(users) => units::counted(users, "user"),
                Goal::Rate(rate) => format!("{rate} iterations a second"),
            };
            text.push_str(&format!("\n  {:>8}  {goal}", units::show_long(at)));
        }
        text
    }

    fn length(&self, run_time: Option<Duration>) -> Duration {
        let whole = Duration::from_secs(self.0.len() as u64);
        run_time.map_or(whole, |time| time.min(whole))
    }

    /// Returns the value at a time; the last one stays.
    fn goal_at(&self, time: Duration) -> Goal {
        let second = time.as_secs() as usize;
        self.0[second.min(self.0.len() - 1)]
    }

    /// Returns straight lines through the values, until the function ends or for the run time if that is shorter. Seconds on
    /// one line are one stage.
    pub(super) fn stages(&self, run_time: Option<Duration>) -> Vec<LoadStage> {
        let length = self.length(run_time);
        let step = Duration::from_secs(length.as_secs().div_ceil(MOST_STAGES).max(1));
        let first = LoadStage {
            time: Duration::ZERO,
            to: self.0[0],
        };
        let mut stages = vec![first];
        let mut at = Duration::ZERO;
        let mut slope = None;
        while at < length {
            let time = step.min(length - at);
            let to = self.goal_at(at + time);
            let rise = (to.amount() - self.goal_at(at).amount()) / time.as_secs_f64();
            match stages.last_mut().filter(|_| slope == Some(rise)) {
                Some(last) => {
                    last.time += time;
                    last.to = to;
                }
                None => stages.push(LoadStage { time, to }),
            }
            slope = Some(rise);
            at += time;
        }
        stages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(load: impl Fn(u64) -> u64, seconds: u64) -> LoadSamples {
        let goals = (0..seconds).map(|second| Goal::Users(load(second)));
        LoadSamples::new(goals.collect()).expect("a load")
    }

    fn shown(stages: &[LoadStage]) -> Vec<(f64, f64)> {
        let pair = |stage: &LoadStage| (stage.time.as_secs_f64(), stage.to.amount());
        stages.iter().map(pair).collect()
    }

    #[test]
    fn seconds_on_one_line_are_one_stage_and_the_last_value_lasts_a_second() {
        let ramp = users(|t| 10 + 2 * t.min(5), 8);
        let stages = ramp.stages(None);
        assert_eq!(shown(&stages), [(0.0, 10.0), (5.0, 20.0), (3.0, 20.0)]);
        let cut = ramp.stages(Some(Duration::from_millis(2_500)));
        assert_eq!(shown(&cut), [(0.0, 10.0), (2.0, 14.0), (0.5, 14.0)]);
        let longer = ramp.stages(Some(Duration::from_secs(99)));
        assert_eq!(longer, stages, "nil ends it");
    }

    #[test]
    fn a_day_has_no_more_stages_than_an_hour() {
        let curve = users(|t| 1_000 + t * t % 977, 86_400);
        let stages = curve.stages(None);
        assert!(stages.len() <= 3_601, "{}", stages.len());
        let length: Duration = stages.iter().map(|stage| stage.time).sum();
        assert_eq!(length, Duration::from_secs(86_400));
    }

    #[test]
    fn what_is_no_load_is_refused() {
        let refused = |goals: &[Goal]| {
            let problem = LoadSamples::new(goals.to_vec());
            problem.expect_err("no load").to_string()
        };
        assert!(refused(&[]).contains("t = 0"));
        assert!(refused(&[Goal::Users(0), Goal::Users(0)]).contains("0 for every second"));
        assert!(refused(&[Goal::Users(1), Goal::Rate(1.0)]).contains("a rate for others"));
    }
}
