//! A scenario's own load, next to the load of the run: its options have the same names as those of the run.

use super::{Load, Settings, Value, load};
use lgoose_base::error::Diagnostic;
use lgoose_base::units;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A scenario's own load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnLoad {
    /// The start of the load, as the time since the start of the run.
    pub start: Duration,
    /// Users or iterations over time.
    pub load: Load,
    /// The most users at the same time.
    pub users: u64,
    /// Users started per second; `None` for the default of a run.
    hatch_rate: Option<f64>,
    /// The run time once all its users have started, or in total with stages or a rate; `None` for that of the run.
    run_time: Option<Duration>,
}

/// Options of a scenario's own load.
#[derive(Debug, Default)]
pub struct OwnLoadSettings {
    settings: Settings,
    start: Option<Duration>,
}

impl OwnLoad {
    /// The options that give a scenario its own load; `users` alone is a share of the run's users.
    pub const FIELDS: [&str; 8] = [
        "rate",
        "max_users",
        "arrivals",
        "stages",
        "hatch_rate",
        "startup_time",
        "run_time",
        "start",
    ];

    /// Returns the run time of the load in a run with the run time `usual`.
    pub fn run_time(&self, usual: Option<Duration>) -> Option<Duration> {
        self.run_time.or(usual)
    }

    /// Returns how many users of the load start per second, given its run time.
    pub fn hatch_rate(&self, run_time: Option<Duration>) -> f64 {
        self.hatch_rate
            .unwrap_or_else(|| load::usual_hatch_rate(self.users, run_time))
    }
}

/// Formats the load, such as `up to 50 users in 3 stages, from 2m on`.
impl fmt::Display for OwnLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let users = units::counted(self.users, "user");
        match &self.load {
            Load::Users => f.write_str(&users)?,
            Load::Stages(stages) => {
                let stages = units::counted(stages.len() as u64, "stage");
                write!(f, "up to {users} in {stages}")?;
            }
            Load::Rate(rates, _) => {
                if !matches!(rates[..], [(Duration::ZERO, _)]) {
                    let stages = units::counted(rates.len() as u64, "stage");
                    write!(f, "in {stages}, up to ")?;
                }
                let most = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
                write!(f, "{most} iterations started per second by at most {users}")?;
            }
        }
        if !self.start.is_zero() {
            write!(f, ", from {} on", units::show_long(self.start))?;
        }
        match self.run_time {
            Some(time) if self.load == Load::Users => {
                write!(f, ", for {} once all run", units::show_long(time))
            }
            Some(time) => write!(f, ", for {}", units::show_long(time)),
            None => Ok(()),
        }
    }
}

impl OwnLoadSettings {
    /// Sets `users` or one of [`OwnLoad::FIELDS`] of an owner such as `scenario 'buyers'`.
    ///
    /// # Errors
    /// Returns a [`Diagnostic`] for a value that does not fit.
    pub fn set(&mut self, owner: &str, name: &str, value: &Value) -> Result<(), Diagnostic> {
        if name == "start" {
            let start = value.duration();
            self.start = Some(start.map_err(|why| super::Misfit::from(why).in_field(name, owner))?);
            return Ok(());
        }
        self.settings.set_of(owner, name, value)
    }

    /// Returns the load.
    ///
    /// # Errors
    /// Returns a [`Diagnostic`] for options that contradict each other, or if none sets the size of the load.
    pub fn load(self, owner: &str) -> Result<OwnLoad, Diagnostic> {
        let settings = &self.settings;
        let amount = settings.users.is_some() || settings.rate.is_some();
        if !amount && settings.stages.is_none() {
            let message = format!("{owner} has a load of its own, but no amount");
            return Err(Diagnostic::new(message).help("add 'users', 'rate' or 'stages'"));
        }
        let (load, users, run_time) = Load::of(settings, 1)?;
        let hatch_rate = match settings.startup_time {
            Some(time) if time.is_zero() => Some(f64::INFINITY),
            Some(time) => Some(users as f64 / time.as_secs_f64()),
            None => settings.hatch_rate,
        };
        Ok(OwnLoad {
            start: self.start.unwrap_or_default(),
            load,
            users,
            hatch_rate,
            run_time,
        })
    }
}

#[cfg(test)]
impl OwnLoad {
    /// Returns that number of users, started at once, from `start` on.
    pub(crate) fn of_users(users: u64, start: Duration) -> OwnLoad {
        OwnLoad {
            start,
            load: Load::Users,
            users,
            hatch_rate: Some(f64::INFINITY),
            run_time: None,
        }
    }
}
