//! The command that searches for the greatest load that a site holds.

use super::RunArgs;
use super::values::threshold;
use clap::{ArgMatches, Args, ValueEnum, parser::ValueSource};
use lgoose_base::threshold::Threshold;
use lgoose_base::units;
use std::time::Duration;

/// The heading of its own options in the help.
pub(super) const HEADING: &str = "Search";

/// Time for which a step whose figures are not steady goes on if no option says so, beside that of an iteration.
pub(crate) const STEP_TIME_MAX: Duration = Duration::from_secs(90);

/// Options of a run that the search decides itself, or that belong to a single run, and the advice for each.
const REFUSED: [(&[&str], &str); 6] = [
    (
        &[
            "users",
            "hatch_rate",
            "startup_time",
            "stage",
            "test_plan",
            "rate",
        ],
        "the search decides the load: say with '--by' what it raises, and with '--from' and '--to' between what",
    ),
    (
        &["run_time", "iterations", "shared_iterations"],
        "a step goes on until its figures are steady: '--step-time-max' limits it, '--time' limits the search, '--confirm-time' is the length of the last run",
    ),
    (
        &["warmup", "reset_stats", "co_mitigation"],
        "the search itself leaves out the beginning of each step",
    ),
    (&["threshold"], "give the limits with '--slo'"),
    (
        &[
            "request_log",
            "request_log_sorted",
            "task_log",
            "error_log",
            "debug_log",
        ],
        "a search is many runs: keep a log of one run at the load that it finds",
    ),
    (
        &[
            "once",
            "http_debug",
            "list",
            "watch",
            "paused",
            "part",
            "web",
            "otlp",
        ],
        "it is for a single run",
    ),
];

/// Load that a search raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchVariable {
    /// Iterations started per second, however long answers take.
    Rate,
    /// Users at the same time.
    Users,
}

/// `lgoose capacity`.
#[derive(Debug, Args)]
#[command(
    override_usage = "lgoose capacity <PLAN.lua | URL> --slo 'p95 < 300ms' [options]",
    after_help = "It takes the options of a run, too, but for those of its load: -H, -o html=capacity.html, --max-users, --workers and \
        so on; 'lgoose --help' has them. Exit codes: 0 found, 1 the first \
        step fails or nothing was confirmed, 2 a mistake in the plan or the command line, 3 lgoose itself is the limit, 130 aborted. How \
        it searches: docs/capacity.md."
)]
pub(crate) struct CapacityArgs {
    /// A limit that has to be kept, such as 'p95 < 300ms' or 'failures < 1%' (repeatable) [default: the plan's thresholds]
    #[arg(long, value_name = "LIMIT", value_parser = threshold, help_heading = HEADING)]
    pub slo: Vec<Threshold>,
    /// What is raised: rate, the iterations started per second, or users
    #[arg(long, value_name = "LOAD", default_value = "rate", help_heading = HEADING, hide_possible_values = true)]
    pub by: SearchVariable,
    /// The load of the first step
    #[arg(long, value_name = "N", default_value = "10", value_parser = units::rate, help_heading = HEADING)]
    pub from: f64,
    /// The greatest load to try [default: until a step fails or lgoose is the limit]
    #[arg(long, value_name = "N", value_parser = units::rate, help_heading = HEADING)]
    pub to: Option<f64>,
    /// How far the result may be below the capacity; its interval is half as wide
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = units::share, help_heading = HEADING)]
    pub within: f64,
    /// Judge at least so much of each step
    #[arg(long, value_name = "D", default_value = "10s", value_parser = units::duration, help_heading = HEADING)]
    pub step_time: Duration,
    /// Let a step whose figures are not steady go on for so long [default: 90s, and as much longer as an iteration takes]
    #[arg(long, value_name = "D", value_parser = units::duration, help_heading = HEADING)]
    pub step_time_max: Option<Duration>,
    /// Measure the run that confirms the result for so long
    #[arg(long, value_name = "D", default_value = "60s", value_parser = units::duration, help_heading = HEADING)]
    pub confirm_time: Duration,
    /// Wait for so long after a step that did not hold until the site has recovered
    #[arg(long, value_name = "D", default_value = "60s", value_parser = units::duration, help_heading = HEADING)]
    pub recovery_time: Duration,
    /// End the search after this time, with the best interval that is confirmed by then [default: when it is narrow enough]
    #[arg(long, value_name = "D", value_parser = units::duration, help_heading = HEADING)]
    pub time: Option<Duration>,
    /// The plan and the other options of its runs.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Returns why one of the options that were typed does not fit a search.
pub(super) fn refused(matches: &ArgMatches) -> Option<String> {
    let typed = |name: &&&str| {
        let is_defined = matches.try_contains_id(name).unwrap_or(false);
        is_defined && matches.value_source(name) == Some(ValueSource::CommandLine)
    };
    REFUSED.iter().find_map(|(names, instead)| {
        let name = names.iter().find(typed)?;
        let flag = name.replace('_', "-");
        Some(format!(
            "'--{flag}' does not go with 'lgoose capacity': {instead}"
        ))
    })
}
