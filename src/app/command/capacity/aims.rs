//! Reads the flags of a search, and checks that the plan fits them.

use crate::app::prepare::PreparedRun;
use crate::cli::{self, SearchVariable};
use lgoose_base::error::{Diagnostic, Error};
use lgoose_base::threshold::{FigureKind, Threshold};
use lgoose_base::units;
use lgoose_metrics::LoadKind;
use lgoose_metrics::capacity::SearchAims;
use lgoose_plan::config::MOST_USERS;
use std::sync::Arc;
use std::time::Duration;

/// The narrowest interval, as a share of the load.
const NARROWEST: f64 = 0.001;

/// The shortest step and the shortest confirming run.
const SHORTEST: Duration = Duration::from_secs(2);

/// The least time that '--step-time-max' must leave beyond '--step-time'.
const LEAST_SPARE: Duration = Duration::from_secs(5);

/// Number of users in the flags until each step sets its own load.
const SOME_USERS: u64 = 1_000;

/// Reads the aims of the search.
///
/// # Errors
/// A mistake in a flag.
pub(super) fn aims(options: &cli::CapacityArgs) -> Result<SearchAims, Error> {
    let by = match options.by {
        SearchVariable::Rate => LoadKind::Rate,
        SearchVariable::Users => LoadKind::Users,
    };
    let mistake = |message: String, help: &str| Err(Diagnostic::new(message).help(help).into());
    for (flag, load) in [("--from", Some(options.from)), ("--to", options.to)] {
        let users = load.filter(|_| by == LoadKind::Users);
        if users.is_some_and(|users| users.fract() != 0.0 || users > MOST_USERS as f64) {
            let message = format!("'{flag} {}' is not a number of users", load.unwrap_or(0.0));
            return mistake(
                message,
                "write a whole number up to a million, or search '--by rate'",
            );
        }
    }
    if let Some(to) = options.to.filter(|to| *to < options.from) {
        let message = format!("'--from {}' is more than '--to {to}'", options.from);
        return mistake(
            message,
            "the search goes up from there: start with a load that the site can hold",
        );
    }
    if options.within < NARROWEST {
        let message = format!("'--within {}%' is too narrow", options.within * 100.0);
        return mistake(message, "0.1% is the narrowest; each halving costs a step");
    }
    for (flag, time) in [
        ("--step-time", options.step_time),
        ("--confirm-time", options.confirm_time),
    ] {
        if time < SHORTEST {
            let message = format!("'{flag}' of {time:?} is too short to judge by");
            return mistake(message, "give it 2s or more");
        }
    }
    let step_time_max = options.step_time_max.unwrap_or(cli::STEP_TIME_MAX);
    if step_time_max < options.step_time + LEAST_SPARE {
        let message = "'--step-time-max' leaves no time for a step to settle".to_owned();
        return mistake(message, "let it be at least 5s longer than '--step-time'");
    }
    let least = options.step_time + options.confirm_time + LEAST_SPARE * 3;
    if let Some(time) = options.time.filter(|time| *time < least) {
        let shown = units::show_long;
        let message = format!(
            "'--time {}' leaves no time for a step and the confirming run",
            shown(time)
        );
        let help = format!(
            "give it {} or more, or shorten '--step-time' and '--confirm-time'",
            shown(least)
        );
        return mistake(message, &help);
    }
    Ok(SearchAims {
        by,
        from: options.from,
        to: options.to,
        within: options.within,
    })
}

/// Returns the flags of a run with the kind of load and the limits of the search. Settings of the load that came from
/// the environment are dropped.
pub(super) fn run_flags(options: &cli::CapacityArgs) -> cli::RunArgs {
    let mut run = options.run.clone();
    let load = &mut run.load;
    (load.users, load.hatch_rate, load.startup_time) = (None, None, None);
    (load.run_time, load.warmup) = (None, None);
    (load.iterations, load.shared_iterations) = (None, None);
    (load.stage, load.test_plan, load.rate) = (Vec::new(), None, None);
    (load.reset_stats, load.paused, load.part, load.once) = (false, false, None, false);
    match options.by {
        SearchVariable::Rate => load.rate = Some(options.from),
        SearchVariable::Users => {
            load.users = Some(SOME_USERS);
            load.hatch_rate = Some(SOME_USERS as f64);
            (load.max_users, load.arrivals) = (None, None);
        }
    }
    run.outputs.co_mitigation = None;
    (run.outputs.request_log, run.outputs.task_log) = (None, None);
    (run.outputs.error_log, run.outputs.debug_log) = (None, None);
    run.verdict.threshold.clone_from(&options.slo);
    (run.screen.watch, run.screen.list, run.screen.http_debug) = (false, false, false);
    run
}

/// The limit on failures of a search that has no other: a site that refuses most requests is quick.
const FAILURES: &str = "failures < 1%";

/// Checks that a search can vary the load of the plan, and limits failures unless that is done already.
///
/// # Errors
/// A mistake in the plan, or that no limit is given.
pub(super) fn fit(base: &mut PreparedRun) -> Result<(), Diagnostic> {
    if base.run.config.thresholds.is_empty() {
        return Err(Diagnostic::new("the search needs at least one limit")
            .help("add '--slo', such as --slo 'p95 < 300ms' --slo 'failures < 1%', or thresholds to the plan"));
    }
    let limits = &mut Arc::make_mut(&mut base.run.config).thresholds;
    let limits_failures = limits
        .iter()
        .any(|limit| limit.figure == FigureKind::Failures);
    if !limits_failures && let Ok(limit) = Threshold::read(FAILURES) {
        limits.push(limit);
    }
    let scenarios = &base.plan().scenarios;
    if let Some(scenario) = scenarios.iter().find(|scenario| scenario.load.is_some()) {
        let message = format!(
            "scenario '{}' has a load of its own, and the search decides the load",
            scenario.name
        );
        return Err(Diagnostic::new(message).help(
            "leave its load out, or search without it: '--scenario' chooses which ones run",
        ));
    }
    if let Some(scenario) = scenarios.iter().find(|scenario| scenario.users.is_some()) {
        let message = format!(
            "scenario '{}' has a fixed number of users, and the search decides the load",
            scenario.name
        );
        return Err(Diagnostic::new(message)
            .help("give it a 'weight' instead of 'users', its share of the load"));
    }
    Ok(())
}

/// Returns a limit as text.
pub(super) fn shown(limit: &Threshold) -> String {
    match &limit.name {
        Some(name) => format!("{name}: {limit}"),
        None => limit.to_string(),
    }
}
