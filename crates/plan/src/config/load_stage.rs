//! A stage of a load: its time, and the users or the rate at its end.

use super::Value;
use lgoose_base::units;
use std::time::Duration;

/// The most users that any option accepts.
pub const MOST_USERS: u64 = 1_000_000;

pub(super) const STAGE_GRAMMAR: &str = "write a stage as '5m:100', its time and the users at its end, or as '5m:200/s' with the \
     iterations started per second at its end";
const TEST_PLAN_GRAMMAR: &str =
    "write a test plan as '10,5m;10,30m;0,1m', the users at the end of each stage and its time";

/// A stage of a load: a straight line to a target within a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadStage {
    /// Length of the stage.
    pub time: Duration,
    /// The target at the end of the stage.
    pub to: Goal,
}

/// The target of a stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// A number of users.
    Users(u64),
    /// A number of iterations started per second.
    Rate(f64),
}

impl Goal {
    /// Returns the number of users nearest to a number; `None` if it is negative, too large or none.
    pub fn of_number(number: f64) -> Option<Goal> {
        let users = number.round();
        (0.0..=MOST_USERS as f64)
            .contains(&users)
            .then_some(Goal::Users(users as u64))
    }

    /// Reads a rate such as `20/s`; 0 is one.
    pub fn of_rate(text: &str) -> Option<Goal> {
        text.contains('/')
            .then(|| stage_rate(text))?
            .map(Goal::Rate)
    }

    /// Returns the number of users, or of iterations started per second.
    pub(super) fn amount(self) -> f64 {
        match self {
            Goal::Users(users) => users as f64,
            Goal::Rate(rate) => rate,
        }
    }
}

impl LoadStage {
    /// Reads `5m:100` or `5m:200/s`.
    ///
    /// # Errors
    /// A sentence that quotes the text and shows the grammar.
    pub fn parse(text: &str) -> Result<LoadStage, String> {
        let bad = |why: &str| format!("'{text}' is not a stage: {why}{STAGE_GRAMMAR}");
        let (time, goal) = text.split_once(':').ok_or_else(|| bad(""))?;
        let time = units::duration(time).map_err(|_| bad("its time is not a duration; "))?;
        let to = if goal.contains('/') {
            Goal::of_rate(goal).ok_or_else(|| bad("its rate is not a rate; "))?
        } else {
            Goal::Users(users(goal).ok_or_else(|| bad("its number of users is not a number; "))?)
        };
        Ok(LoadStage { time, to })
    }

    /// Reads a list of stages.
    ///
    /// # Errors
    /// As [`LoadStage::parse`], and one that says how a stage is written that is a table.
    pub(super) fn parse_list(value: &Value) -> Result<Vec<LoadStage>, String> {
        let Value::Table(list, _) = value else {
            return value.each(LoadStage::parse);
        };
        let field = |name: &str| match list.first()? {
            Value::Table(_, fields) => match fields.get(name)? {
                Value::Text(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            },
            Value::Map(fields) => fields.get(name).cloned(),
            _ => None,
        };
        let text = match (field("duration"), field("target")) {
            (Some(time), Some(target)) => format!("\"{time}:{target}\""),
            _ => "\"5m:100\"".to_owned(),
        };
        Err(format!(
            "a stage is a text, its duration and the users or the rate at its end: write {{ {text} }}"
        ))
    }

    /// Reads a whole test plan: `10,5m;10,30m;0,1m`.
    ///
    /// # Errors
    /// Returns a sentence that quotes the wrong part and shows the grammar.
    pub fn parse_test_plan(text: &str) -> Result<Vec<LoadStage>, String> {
        let stage = |part: &str| {
            let (number, time) = part.split_once(',')?;
            Some(LoadStage {
                time: units::duration(time).ok()?,
                to: Goal::Users(users(number)?),
            })
        };
        let parts = text.trim().trim_end_matches(';').split(';');
        parts
            .map(|part| {
                stage(part).ok_or_else(|| {
                    format!("'{part}' is not a stage of a test plan: {TEST_PLAN_GRAMMAR}")
                })
            })
            .collect()
    }
}

/// Reads a rate that may be 0, which other rates may not.
fn stage_rate(text: &str) -> Option<f64> {
    let number = text.split('/').next().unwrap_or_default().trim();
    if !number.is_empty() && number.bytes().all(|byte| b"0.".contains(&byte)) {
        units::rate(&text.replacen(number, "1", 1)).map(|_| 0.0)
    } else {
        units::rate(text)
    }
    .ok()
}

fn users(text: &str) -> Option<u64> {
    text.trim()
        .parse()
        .ok()
        .filter(|users| *users <= MOST_USERS)
}
