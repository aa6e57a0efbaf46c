//! The options of the load: a fixed number of users, stages of users, or iterations at a rate. Reads stages and reports
//! options that contradict each other, with the remedy.

use super::load_stage::{Goal, LoadStage, MOST_USERS, STAGE_GRAMMAR};
use super::{LoadSamples, MitigationCadence, Settings, Value};
use lgoose_base::error::Diagnostic;
use lgoose_base::units;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The most threads that drive users in one process: more than any machine has cores.
pub const MOST_THREADS: u64 = 4_096;

/// The default of the most users at the same time in a run at a rate.
const USERS_OF_A_RATE: u64 = 1_000;

/// The spacing of arrivals at a rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spacing {
    /// Equal distances.
    #[default]
    Even,
    /// Random distances, independent of each other, as between independent visitors.
    Poisson,
}

/// The load, as determined by all its options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum Load {
    /// A fixed number of users, started at a rate.
    #[default]
    Users,
    /// Stages of users: a number at the end of each.
    Stages(Vec<(Duration, u64)>),
    /// The open model: iterations start on schedule, at a rate given for the end of each stage. A stage without a
    /// length is a jump; the last rate stays.
    Rate(Vec<(Duration, f64)>, Spacing),
}

/// Returns the default hatch rate in users per second: one, or more where all users would otherwise take longer than a
/// tenth of the run time to start.
pub(super) fn usual_hatch_rate(users: u64, run_time: Option<Duration>) -> f64 {
    let last = users.saturating_sub(1) as f64;
    let within_a_tenth = run_time.map_or(0.0, |time| 10.0 * last / time.as_secs_f64());
    within_a_tenth.max(1.0)
}

impl Spacing {
    /// Reads `even` or `poisson`.
    ///
    /// # Errors
    /// A sentence that names both.
    pub fn parse(text: &str) -> Result<Spacing, String> {
        match text {
            "even" => Ok(Spacing::Even),
            "poisson" => Ok(Spacing::Poisson),
            _ => Err(format!(
                "'{text}' is not a way to space arrivals: write 'even' or 'poisson'"
            )),
        }
    }
}

impl Load {
    /// Returns the load, the most users at the same time and the length of the run; `users` is the default number of
    /// users.
    ///
    /// # Errors
    /// A [`Diagnostic`] that names options that contradict each other.
    pub(super) fn of(
        settings: &Settings,
        users: u64,
    ) -> Result<(Load, u64, Option<Duration>), Diagnostic> {
        agree(settings)?;
        let function = settings.load.as_ref();
        let sampled = function.map(|load| load.stages(settings.run_time));
        let written = settings.stages.as_ref().or(settings.test_plan.as_ref());
        let stages = sampled.as_ref().or(written);
        let spacing = settings.arrivals.unwrap_or_default();
        let most = settings.max_users.unwrap_or(USERS_OF_A_RATE);
        let Some(stages) = stages else {
            return Ok(match settings.rate {
                Some(rate) => {
                    let level = vec![(Duration::ZERO, rate)];
                    (Load::Rate(level, spacing), most, settings.run_time)
                }
                None => {
                    let users = settings.users.unwrap_or(users);
                    (Load::Users, users, settings.run_time)
                }
            });
        };
        let total = stages.iter().map(|stage| stage.time).sum();
        let users = stages.iter().filter_map(|stage| match stage.to {
            Goal::Users(users) => Some((stage.time, users)),
            Goal::Rate(_) => None,
        });
        let users: Vec<_> = users.collect();
        if !users.is_empty() {
            let peak = users.iter().map(|(_, users)| *users).max().unwrap_or(0);
            return Ok((Load::Stages(users), peak, Some(total)));
        }
        let rates = stages.iter().filter_map(|stage| match stage.to {
            Goal::Rate(rate) => Some((stage.time, rate)),
            Goal::Users(_) => None,
        });
        Ok((Load::Rate(rates.collect(), spacing), most, Some(total)))
    }
}

/// Checks that the options of the load agree with each other.
///
/// # Errors
/// Returns a [`Diagnostic`] that names two that do not, and the remedy.
pub fn agree(settings: &Settings) -> Result<(), Diagnostic> {
    contradiction(settings).map_or(Ok(()), Err)
}

/// Starts all users at once, unless an option already says how they start.
pub fn start_at_once(settings: &mut Settings) {
    let is_set = settings.hatch_rate.is_some() || settings.startup_time.is_some();
    if !settings.has_shape() && !is_set {
        settings.startup_time = Some(Duration::ZERO);
    }
}

/// Returns whether the load is one of iterations at a rate.
fn is_open(settings: &Settings) -> bool {
    let rates = |stage: &LoadStage| matches!(stage.to, Goal::Rate(_));
    let mut stages = settings.stages.iter().flatten();
    let function = settings.load.as_ref();
    settings.rate.is_some() || stages.any(rates) || function.is_some_and(LoadSamples::is_open)
}

/// Returns a layer without the load options that `above` replaces: `--stage` on the command line does not
/// contradict `users` in the plan, it takes precedence.
pub(super) fn giving_way_to(mut settings: Settings, above: &Settings) -> Settings {
    let staged = above.stages.is_some() || above.test_plan.is_some();
    let numbered =
        above.users.is_some() || above.hatch_rate.is_some() || above.startup_time.is_some();
    if staged || above.rate.is_some() {
        (settings.users, settings.hatch_rate, settings.startup_time) = (None, None, None);
        (settings.stages, settings.test_plan, settings.load) = (None, None, None);
    }
    if staged {
        (settings.rate, settings.run_time) = (None, None);
    }
    if numbered {
        (settings.stages, settings.test_plan, settings.load) = (None, None, None);
        settings.rate = None;
    }
    if numbered || (staged && !is_open(above)) {
        (settings.max_users, settings.arrivals) = (None, None);
    }
    settings
}

/// Returns a mistake that names two contradicting options and the remedy, if there are any.
fn contradiction(settings: &Settings) -> Option<Diagnostic> {
    let options = [
        ("--users", settings.users.is_some()),
        ("--hatch-rate", settings.hatch_rate.is_some()),
        ("--startup-time", settings.startup_time.is_some()),
        ("--run-time", settings.run_time.is_some()),
        ("--rate", settings.rate.is_some()),
        ("--stage", settings.stages.is_some()),
        ("--test-plan", settings.test_plan.is_some()),
        ("load", settings.load.is_some()),
        ("--max-users", settings.max_users.is_some()),
        ("--arrivals", settings.arrivals.is_some()),
        ("--throttle-requests", settings.throttle_requests.is_some()),
    ];
    let has = |flag: &str| options.contains(&(flag, true));
    let first = |flags: &[&'static str]| flags.iter().copied().find(|flag| has(flag));
    let closed = ["--users", "--hatch-rate", "--startup-time"];
    let staged = first(&["--stage", "--test-plan"]);
    let both = |a: &str, b: &str, why: &str, help: &str| {
        Some(Diagnostic::new(format!("'{a}' and '{b}' {why}")).help(help))
    };
    if has("--hatch-rate") && has("--startup-time") {
        let help = "give one of them: a rate, or the time until all users run";
        return both(closed[1], closed[2], "both say how fast users start", help);
    }
    if has("--stage") && has("--test-plan") {
        let help = "give one of them: both are stages, '--stage 5m:10' is the test plan '10,5m'";
        return both("--stage", "--test-plan", "both describe the load", help);
    }
    if has("load")
        && let Some(rival) = first(&[closed[0], closed[1], closed[2], "--rate"]).or(staged)
    {
        let help = "leave out one of them: the function says the users or the rate of every second";
        return both("load", rival, "both describe the load", help);
    }
    if let Some(stages) = staged {
        let rival = first(&[closed[0], closed[1], closed[2], "--run-time", "--rate"]);
        if let Some(rival) = rival {
            let help = format!(
                "leave out '{rival}': each stage sets its time and the users or the rate at its end; or leave out the stages"
            );
            return both(stages, rival, "both describe the load", &help);
        }
        return stages_mistake(settings, stages);
    }
    if has("--rate")
        && let Some(rival) = first(&closed)
    {
        let help = "with '--rate' users are made as they are needed: limit them by '--max-users', or leave out '--rate'";
        return both("--rate", rival, "are two kinds of load", help);
    }
    open_mistake(settings, first(&["--max-users", "--arrivals"]))
}

/// Returns the mistake in the stages themselves, if there is one.
fn stages_mistake(settings: &Settings, flag: &'static str) -> Option<Diagnostic> {
    let stages = settings.stages.as_ref().or(settings.test_plan.as_ref())?;
    let rates = stages
        .iter()
        .filter(|stage| matches!(stage.to, Goal::Rate(_)))
        .count();
    let mistake = if stages.is_empty() {
        (format!("'{flag}' has no stage"), STAGE_GRAMMAR)
    } else if rates != 0 && rates != stages.len() {
        (
            "some stages lead to users, others to a rate".to_owned(),
            "give all of them users ('5m:100') or all of them a rate ('5m:200/s')",
        )
    } else if stages.iter().all(|stage| stage.time.is_zero()) {
        (
            "the stages take no time".to_owned(),
            "give at least one of them a time, as in '5m:100'",
        )
    } else if stages
        .iter()
        .all(|stage| matches!(stage.to, Goal::Users(0) | Goal::Rate(0.0)))
    {
        (
            "all stages lead to a load of 0".to_owned(),
            "let one lead to more than 0, as in '5m:100'",
        )
    } else {
        return open_mistake(settings, settings.max_users.map(|_| "--max-users"));
    };
    Some(Diagnostic::new(mistake.0).help(mistake.1))
}

/// Returns the mistake of an option for arrivals at a rate in a run of users, or the other way round.
fn open_mistake(settings: &Settings, about_rates: Option<&'static str>) -> Option<Diagnostic> {
    match (is_open(settings), about_rates) {
        (false, Some(flag)) => Some(
            Diagnostic::new(format!("'{flag}' is for iterations at a rate, and there is no rate"))
                .help(format!("add '--rate N/s' or stages such as '5m:200/s', or leave out '{flag}'; '--users' is the number of users without a rate")),
        ),
        (true, _) if settings.throttle_requests.is_some() => Some(
            Diagnostic::new("'--throttle-requests' delays requests, but at a rate iterations start on schedule")
                .help("leave it out and choose the rate instead, or run users ('--users') with the throttle"),
        ),
        (true, _) if settings.co_mitigation.is_some_and(|kind| kind != MitigationCadence::Disabled) => Some(
            Diagnostic::new("'--co-mitigation' fills in requests that late users could not make, and at a rate iterations start on schedule anyway")
                .help("leave it out: the latency of a run at a rate counts from the scheduled start"),
        ),
        (true, _) if settings.reset_stats == Some(true) => Some(
            Diagnostic::new("'--reset-stats' waits for all users to run, and a rate of iterations has no such moment")
                .help("give the time that should not count: '--warmup 30s'"),
        ),
        _ if settings.run_time.is_some_and(|time| time.is_zero()) => Some(
            Diagnostic::new("'--run-time' is 0, in which nothing can be measured")
                .help("leave it out to run until Ctrl-C, or give a time such as '30s'; '--once' runs one iteration"),
        ),
        _ if settings.reset_stats == Some(true) && settings.warmup.is_some() => Some(
            Diagnostic::new("'--reset-stats' and '--warmup' both say from when the figures count")
                .help("give one of them: '--warmup' keeps the earlier figures separate, '--reset-stats' drops them"),
        ),
        _ => None,
    }
}

/// Reads a number of threads.
///
/// # Errors
/// Returns a sentence with the expected form.
pub(super) fn read_threads(value: &Value) -> Result<usize, String> {
    match value.whole(1)? {
        threads if threads > MOST_THREADS => Err(format!(
            "{threads} is more than the {} threads that one lgoose may have",
            units::show_count(MOST_THREADS)
        )),
        threads => Ok(threads as usize),
    }
}

/// Reads a number of users.
///
/// # Errors
/// Returns a sentence with the expected form.
pub(super) fn read_users(value: &Value) -> Result<u64, String> {
    match value.whole(1)? {
        users if users > MOST_USERS => Err(format!(
            "{users} is more than the {} users that one lgoose may have: share them among machines",
            units::show_count(MOST_USERS)
        )),
        users => Ok(users),
    }
}
