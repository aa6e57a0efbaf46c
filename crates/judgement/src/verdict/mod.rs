//! The verdict on a run: reached once, at its end, from the report, and stored in it. All outputs and the exit code
//! read it there.

use super::errors::{first_task_error, task_error};
use super::thresholds::{broken_line, threshold_name};
use lgoose_base::error::{Error, exit};
use lgoose_base::figures::{moment, share};
use lgoose_base::line::one_line;
use lgoose_base::threshold::{FigureKind, LatencySubset, Unit};
use lgoose_base::units::{counted, show_count};
use lgoose_metrics::{
    Cause, Ending, MOST_MISSING, ReasonKind, Report, RunSettings, ScenarioArrivals, ScenarioRow,
    SubjectKind, SubjectRow, TaskRow, ThresholdRow, Verdict, VerdictResult, WorkerRow, WorkerState,
};

/// The most tasks, checks and thresholds that get a line each; the rest is counted.
const MAX_REMARKS: usize = 5;

/// The share of failures above which fast failures may pull a latency below its limit.
const MANY_FAILURES: f64 = 0.01;

/// Judges a report that has its ending and settings. `trouble` is a failure of lgoose itself. Without an ending, the
/// run is still in progress or its ending is unknown, and the verdict is provisional.
pub fn judge(report: &Report, trouble: Option<&Error>) -> Verdict {
    let usual = RunSettings::default();
    let settings = report.settings.as_ref().unwrap_or(&usual);
    let (reason_kinds, reasons): (Vec<ReasonKind>, Vec<String>) =
        reasons(report, settings, trouble, Errors::Quoted)
            .into_iter()
            .unzip();
    let ending = report.ending.as_ref();
    let in_warmup = ending.is_some_and(|ending| ending.in_warmup);
    let judged = (!report.thresholds.is_empty() && !in_warmup)
        || settings.fail_on_error
        || settings.fail_on_saturation;
    let result = match (reasons.is_empty(), judged) {
        (false, _) => VerdictResult::Failed,
        (true, true) => VerdictResult::Passed,
        (true, false) => VerdictResult::None,
    };
    let exit_code = match (trouble, ending.map(|ending| ending.cause), result) {
        (Some(trouble), ..) => trouble.exit_code(),
        (_, Some(Cause::Aborted), _) => exit::ABORTED,
        (_, Some(Cause::StoppedByPlan), VerdictResult::Failed) => exit::VERDICT,
        // The target is not known to be the cause.
        (_, Some(Cause::WorkersLost), _) if !has_limits(report, settings) => exit::TROUBLE,
        _ if is_before_users(report) => exit::ABORTED,
        (.., VerdictResult::Failed) => exit::VERDICT,
        _ => exit::OK,
    };
    Verdict {
        text: text(report, settings, result, &reasons),
        remarks: remarks(report),
        result,
        exit_code,
        reasons,
        reason_kinds,
    }
}

/// Whether the reasons quote the errors that they are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Errors {
    Quoted,
    /// They stand in a list beside the verdict.
    Listed,
}

/// Returns the verdict of a report with all its reasons, for a reader who has the list of errors beside it: no reason quotes one.
/// `None` without a verdict.
pub fn beside_errors(report: &Report) -> Option<String> {
    let verdict = report.verdict.as_ref()?;
    let usual = RunSettings::default();
    let settings = report.settings.as_ref().unwrap_or(&usual);
    let is_failure = verdict.result == VerdictResult::Failed;
    // The trouble of lgoose is in no report.
    if !is_failure || verdict.reason_kinds.contains(&ReasonKind::Trouble) {
        return Some(verdict.text.clone());
    }
    let reasons = reasons(report, settings, None, Errors::Listed);
    let reasons: Vec<String> = reasons.into_iter().map(|(_, reason)| reason).collect();
    Some(format!("failed: {}", reasons.join("; ")))
}

/// Returns lines that are reasons of a kind.
fn of(
    kind: ReasonKind,
    lines: impl IntoIterator<Item = String>,
) -> impl Iterator<Item = (ReasonKind, String)> {
    lines.into_iter().map(move |line| (kind, line))
}

/// Returns one line for each reason why the run failed, with its kind; none if it did not fail.
fn reasons(
    report: &Report,
    settings: &RunSettings,
    trouble: Option<&Error>,
    errors: Errors,
) -> Vec<(ReasonKind, String)> {
    let ending = report.ending.as_ref();
    let mut reasons = Vec::new();
    reasons.extend(of(ReasonKind::Trouble, trouble.map(first_line)));
    let ended = ending.and_then(|ending| match ending.cause {
        cause if cause == Cause::Aborted || ending.in_test_start => Some(ending.text.clone()),
        _ if is_before_users(report) => {
            Some(format!("{}, before any user was started", ending.text))
        }
        Cause::NotStarted => ending.raised.clone(),
        Cause::WorkersLost => Some(ending.without_workers()),
        _ => None,
    });
    let users_lost = ending
        .filter(|ending| ending.all_lost)
        .map(|_| match errors {
            Errors::Quoted => all_lost(report),
            Errors::Listed => ALL_LOST.to_owned(),
        });
    reasons.extend(of(ReasonKind::Ending, ended.into_iter().chain(users_lost)));
    if ending.is_none_or(|ending| ending.cause != Cause::NotStarted) && !is_before_users(report) {
        let nothing = nothing_succeeded(report);
        reasons.extend(of(ReasonKind::NothingSucceeded, nothing));
    }
    let failed_by_plan = ending.iter().flat_map(|ending| &ending.failed);
    reasons.extend(of(
        ReasonKind::Plan,
        failed_by_plan.map(|why| one_line(why)),
    ));
    reasons.extend(of(ReasonKind::Threshold, broken(report).map(broken_line)));
    if settings.fail_on_saturation {
        reasons.extend(of(ReasonKind::Saturation, saturated(report)));
        let fewer = ending.and_then(fewer_users);
        let fewer = fewer.map(|fewer| format!("{fewer} were started ('--fail-on-saturation')"));
        reasons.extend(of(ReasonKind::Load, fewer));
    }
    reasons.extend(of(ReasonKind::Task, always_failed_tasks(report, errors)));
    reasons.extend(of(ReasonKind::Check, never_held_checks(report)));
    if settings.fail_on_error {
        reasons.extend(of(ReasonKind::Failures, failed(report)));
        let raised = test_stop(ending).map(|raised| format!("{raised} ('--fail-on-error')"));
        reasons.extend(of(ReasonKind::Ending, raised));
    }
    if has_limits(report, settings) && !settings.allow_short {
        let missing = load_not_reached(report);
        let missing = missing
            .map(|missing| format!("not judged: the load was not reached: {missing}{ACCEPT}"));
        reasons.extend(of(ReasonKind::Load, missing));
    }
    if let Some(short) = ending.and_then(|ending| short(ending, report, settings)) {
        let text = if ending.is_some_and(|ending| ending.in_warmup) {
            format!("{short}, before anything was judged{ACCEPT}")
        } else if reasons.is_empty() {
            format!("cut short (passed so far, {short}){ACCEPT}")
        } else {
            format!("cut short ({short})")
        };
        reasons.push((ReasonKind::Ending, text));
    }
    reasons
}

/// Returns the reason that applies when every user ended in `on_start`, with the error that ended the first.
pub fn all_lost(report: &Report) -> String {
    match first_task_error(report) {
        Some(first) => format!("{ALL_LOST}: {first}"),
        None => ALL_LOST.to_owned(),
    }
}

/// The reason that every user was lost.
const ALL_LOST: &str = "every user ended in 'on_start'";

/// The remedy after a reason that may be waived.
const ACCEPT: &str = "; '--allow-short' accepts that";

/// Returns how the run was cut short, if that keeps its thresholds from being judged.
fn short(ending: &Ending, report: &Report, settings: &RunSettings) -> Option<String> {
    let waits = matches!(
        ending.cause,
        Cause::Signal
            | Cause::StoppedByUser
            | Cause::Plan
            | Cause::StoppedByPlan
            | Cause::TimeUp
            | Cause::IterationsDone
    );
    let limits = has_limits(report, settings);
    let short = (ending.cut_short || ending.in_warmup) && limits && !settings.allow_short;
    (short && waits && !is_before_users(report)).then(|| ending.short())
}

/// Returns the shortfalls of the load that keep thresholds from being judged.
fn load_not_reached(report: &Report) -> impl Iterator<Item = String> {
    let ending = report.ending.as_ref();
    let of_scenarios = missing_of_scenarios(report);
    let judged = of_scenarios.filter(|(name, _)| is_judged_by(report, name));
    let dropped = judged.map(|(_, text)| text);
    let fewer = ending.filter(|ending| {
        let users = ending.fewer_users();
        users.is_some_and(|(started, due)| is_missing(due - started, due))
    });
    let fewer = fewer.and_then(fewer_users);
    dropped
        .chain(fewer.map(|fewer| format!("{fewer} were started")))
        .chain(lost_workers(report).or_else(|| unknown_iterations(report)))
}

/// Returns whether more of the load is missing than a verdict passes over.
fn is_missing(missing: u64, due: u64) -> bool {
    missing as f64 > due as f64 * MOST_MISSING
}

/// Returns each scenario whose load was not reached, with the missing part.
fn missing_of_scenarios(report: &Report) -> impl Iterator<Item = (&str, String)> {
    let several = report.scenarios.len() > 1;
    let all_lost = report.ending.as_ref().is_some_and(|ending| ending.all_lost);
    report.scenarios.iter().flat_map(move |row| {
        let of = if several {
            format!(" of '{}'", one_line(&row.name))
        } else {
            String::new()
        };
        let arrivals = row.arrivals.filter(|counts| {
            is_missing(counts.dropped, counts.due()) && !is_allowed(report, row, *counts)
        });
        let dropped = arrivals.map(|counts| {
            let (dropped, due) = (counts.dropped, counts.due());
            format!(
                "{} of {}{of} were dropped ({})",
                show_count(dropped),
                counted(due, "iteration"),
                share(dropped, due)
            )
        });
        let (lost, started) = (row.users_lost, row.users_started);
        let lost = (is_missing(lost, started) && !all_lost).then(|| {
            format!(
                "{} of {}{of} ended in 'on_start'",
                show_count(lost),
                counted(started, "user")
            )
        });
        dropped
            .into_iter()
            .chain(lost)
            .map(|text| (&*row.name, text))
    })
}

/// Returns whether a threshold allows that many dropped iterations of a scenario: one on those of the scenario, or else of all.
fn is_allowed(report: &Report, scenario: &ScenarioRow, counts: ScenarioArrivals) -> bool {
    let limits = report.thresholds.iter().filter_map(|row| {
        let subject = row.subject.as_ref()?;
        let of_arrivals = subject.kind == SubjectKind::Arrivals;
        Some((subject, row.parsed()?)).filter(|_| of_arrivals)
    });
    let of = |own: bool| {
        let is_of = |subject: &SubjectRow| match subject.scenarios.first() {
            Some(name) => own && *name == scenario.name,
            None => !own,
        };
        let mut limits = limits.clone();
        limits.find(|(subject, _)| is_of(subject))
    };
    of(true).or_else(|| of(false)).is_some_and(|(_, limit)| {
        let dropped = counts.dropped as f64;
        limit.holds(match limit.unit {
            Unit::Percent => 100.0 * dropped / counts.due() as f64,
            _ => dropped,
        })
    })
}

/// Returns whether some threshold covers a scenario.
fn is_judged_by(report: &Report, scenario: &str) -> bool {
    report.thresholds.iter().any(|row| {
        let subject = row.subject.as_ref();
        subject.is_none_or(|subject| {
            subject.scenarios.is_empty() || subject.scenarios.iter().any(|name| name == scenario)
        })
    }) || report.thresholds.is_empty()
}

/// Returns which workers were lost, with their part of the load. Where all were, that is how the run ended.
fn lost_workers(report: &Report) -> Option<String> {
    let ending = report.ending.as_ref();
    let ending = ending?;
    let is_known = ending.missing_load.is_some();
    if ending.cause == Cause::WorkersLost || (is_known && !ending.misses_load()) {
        return None;
    }
    let workers = report.workers.iter();
    let lost: Vec<&WorkerRow> = workers
        .filter(|row| row.state == WorkerState::Lost)
        .collect();
    let first = lost
        .iter()
        .min_by(|a, b| f64::total_cmp(&a.lost_at_s.unwrap_or(0.0), &b.lost_at_s.unwrap_or(0.0)))?;
    let (name, at) = (
        one_line(&first.name),
        moment(first.lost_at_s.unwrap_or(0.0).max(0.0)),
    );
    let missing = ending.missing();
    let missing = missing.map_or_else(String::new, |missing| {
        format!(": {missing} of the load was missing")
    });
    Some(match lost.len() {
        1 => format!("worker '{name}' was lost at {at}{missing}"),
        count => format!(
            "{} of {} were lost, the first ('{name}') at {at}{missing}",
            show_count(count as u64),
            counted(report.workers.len() as u64, "worker")
        ),
    })
}

/// Returns how many iterations of a run at a rate have no figures, if there are many.
fn unknown_iterations(report: &Report) -> Option<String> {
    let counts = report.arrivals?;
    let due = counts.started + counts.dropped + counts.missing;
    is_missing(counts.missing, due).then(|| {
        format!(
            "nothing is known of {} of {}",
            show_count(counts.missing),
            counted(due, "iteration")
        )
    })
}

/// Returns whether the run has thresholds, judged or not.
fn has_limits(report: &Report, settings: &RunSettings) -> bool {
    !(report.thresholds.is_empty() && settings.thresholds.is_empty())
}

/// Returns whether the run was stopped before any user was started: in `test_start`, or while it was paused.
fn is_before_users(report: &Report) -> bool {
    let by_somebody = |cause| matches!(cause, Cause::Signal | Cause::StoppedByUser);
    let ending = report.ending.as_ref();
    ending.is_some_and(|ending| {
        ending.in_test_start || (by_somebody(ending.cause) && report.users == 0)
    })
}

/// Returns remarks: facts that do not affect the verdict but that readers should know.
fn remarks(report: &Report) -> Vec<String> {
    let flattered = report
        .thresholds
        .iter()
        .filter_map(|row| flattered(report, row));
    let ending = report.ending.as_ref();
    let mut remarks: Vec<String> = test_stop(ending).into_iter().collect();
    let reason = ending.and_then(|ending| ending.reason.as_deref());
    remarks.extend(reason.map(|why| format!("the plan stopped the run: {}", one_line(why))));
    remarks.extend(ending.and_then(fewer_users).map(|fewer| {
        format!(
            "{fewer} were started: lgoose was too slow; start fewer at a time ('--hatch-rate', '--startup-time'), or \
             share them among machines ('--part')"
        )
    }));
    remarks.extend(at_most(flattered.collect(), "threshold"));
    let unjudged = missing_of_scenarios(report).filter(|(name, _)| !is_judged_by(report, name));
    remarks.extend(at_most(
        unjudged.map(|(_, text)| text).collect(),
        "scenario",
    ));
    let tasks = report.tasks.iter();
    let mostly_failed =
        tasks.filter(|task| task.failures * 2 > task.runs && !always_fails(report, task));
    let mostly_failed = mostly_failed.map(|task| failed_runs(report, task, true));
    remarks.extend(at_most(mostly_failed.collect(), "task"));
    remarks
}

/// Returns whether a threshold on the failures of a task or check itself accepts some.
fn accepts_failures(
    report: &Report,
    kind: SubjectKind,
    name: &str,
    scenario: Option<&str>,
) -> bool {
    report.thresholds.iter().any(|row| {
        let subject = row.subject.as_ref();
        subject.is_some_and(|subject| {
            let of_name = subject.name.as_deref().is_none_or(|own| own == name);
            let of_scenario = subject.scenarios.is_empty()
                || scenario.is_none_or(|one| subject.scenarios.iter().any(|own| own == one));
            subject.kind == kind && of_name && of_scenario
        }) && row.parsed().is_some_and(|limit| limit.is_on_failures())
    })
}

/// Returns whether a task failed in all of its runs and no threshold accepts that.
fn always_fails(report: &Report, task: &TaskRow) -> bool {
    task.failures > 0
        && task.failures == task.runs
        && !accepts_failures(report, SubjectKind::Task, &task.name, Some(&task.scenario))
}

/// Returns a line for each task that failed in all of its runs.
fn always_failed_tasks(report: &Report, errors: Errors) -> Vec<String> {
    let all_lost = report.ending.as_ref().is_some_and(|ending| ending.all_lost);
    let tasks = report.tasks.iter();
    let tasks = tasks.filter(|task| always_fails(report, task));
    // Where all users were lost, that is the first reason already.
    let tasks = tasks.map(|task| failed_runs(report, task, errors == Errors::Quoted && !all_lost));
    at_most(tasks.collect(), "task")
}

/// Returns a line for each check that never held.
fn never_held_checks(report: &Report) -> Vec<String> {
    let checks = report.checks.iter().filter(|check| {
        check.failures > 0
            && check.passes == 0
            && !accepts_failures(report, SubjectKind::Check, &check.name, None)
    });
    let checks = checks.map(|check| {
        let name = one_line(&check.name);
        match check.failures {
            1 => format!("the check '{name}' did not hold the only time"),
            times => format!(
                "the check '{name}' held in none of {}",
                counted(times, "time")
            ),
        }
    });
    at_most(checks.collect(), "check")
}

/// Describes how many runs of a task failed, with the reason if `with_why`.
fn failed_runs(report: &Report, task: &TaskRow, with_why: bool) -> String {
    let name = one_line(&task.name);
    let why = task_error(report, &task.name).filter(|_| with_why);
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    match (task.failures, task.runs) {
        (1, 1) => format!("the task '{name}' failed in its only run{why}"),
        (failures, runs) if failures == runs => format!(
            "the task '{name}' failed in all of its {} runs{why}",
            show_count(runs)
        ),
        (failures, runs) => format!(
            "the task '{name}' failed in {} of its {} runs{why}",
            show_count(failures),
            show_count(runs)
        ),
    }
}

fn at_most(mut remarks: Vec<String>, noun: &str) -> Vec<String> {
    if remarks.len() > MAX_REMARKS {
        let rest = remarks.split_off(MAX_REMARKS).len() as u64;
        remarks.push(format!(
            "the same of {}",
            counted(rest, &format!("more {noun}"))
        ));
    }
    remarks
}

/// Returns a remark on a latency limit over all requests that held although many failed: an error may be faster than a
/// successful response.
fn flattered(report: &Report, row: &ThresholdRow) -> Option<String> {
    let limit = row.parsed()?;
    let of_latency = matches!(&*row.unit, "us" | "ms" | "s");
    // How old the oldest request is has nothing to do with how it ended.
    let spared = limit.among == LatencySubset::Ok || limit.figure == FigureKind::Oldest;
    if !(row.passed && of_latency && limit.is_upper()) || spared {
        return None;
    }
    let (failures, count) = failures_of(report, row.name.as_deref());
    let many = failures as f64 > count as f64 * MANY_FAILURES;
    many.then(|| {
        format!(
            "{} failed: failed requests count towards the threshold '{}', which may be why it holds",
            share(failures, count),
            threshold_name(row)
        )
    })
}

/// Returns how many requests or tasks with the threshold's name, or requests of workers with that label, failed, and
/// how many there were.
fn failures_of(report: &Report, name: Option<&str>) -> (u64, u64) {
    let Some(name) = name else {
        return (report.aggregated.failures, report.aggregated.count);
    };
    let add = |sum: (u64, u64), next: (u64, u64)| (sum.0 + next.0, sum.1 + next.1);
    let requests = report
        .requests
        .iter()
        .filter(|row| row.name == name || format!("{} {}", row.method, row.name) == name)
        .map(|row| (row.figures.failures, row.figures.count))
        .reduce(add);
    let task = name.strip_prefix("task ").unwrap_or(name);
    let tasks = report.tasks.iter().filter(|row| row.name == task);
    let tasks = || tasks.map(|row| (row.failures, row.runs)).reduce(add);
    let mut labels = report.by_label.iter();
    let label = labels.find(|row| row.label == name);
    let label = || label.map(|row| (row.aggregated.failures, row.aggregated.count));
    requests.or_else(tasks).or_else(label).unwrap_or_default()
}

/// Returns the verdict as one line.
fn text(
    report: &Report,
    settings: &RunSettings,
    result: VerdictResult,
    reasons: &[String],
) -> String {
    let ending = report.ending.as_ref();
    let short = ending
        .filter(|ending| ending.cut_short || ending.in_warmup)
        .map(Ending::short);
    let fewer = ending.and_then(fewer_users);
    let but: String = [short, fewer]
        .into_iter()
        .flatten()
        .map(|but| format!(", {but}"))
        .collect();
    let in_warmup = ending.is_some_and(|ending| ending.in_warmup);
    match (result, reasons) {
        (VerdictResult::Failed, [reason]) => format!("failed: {reason}"),
        (VerdictResult::Failed, reasons) => {
            let rest = counted(reasons.len().saturating_sub(1) as u64, "more reason");
            let first = reasons.first().map_or("", |reason| reason.as_str());
            format!("failed: {first} (and {rest})")
        }
        (VerdictResult::None, _) if in_warmup => {
            format!("no verdict{but}, before anything was judged")
        }
        (VerdictResult::None, _) if settings.once => format!(
            "no verdict{but}: one iteration ('--once') is too little to judge by; {}",
            failed_in_all(report)
        ),
        (VerdictResult::None, _) => format!("no verdict{but}: nothing was set to be judged"),
        (VerdictResult::Passed, _) if ending.is_none() => {
            format!("passed so far: {}", held(report, settings))
        }
        (VerdictResult::Passed, _) => {
            if but.is_empty() {
                format!("passed: {}", held(report, settings))
            } else {
                format!("passed so far{but}")
            }
        }
    }
}

/// Returns how many requests and tasks failed, or that nothing did.
fn failed_in_all(report: &Report) -> String {
    let tasks = report.tasks.iter();
    let tasks = tasks.fold((0, 0), |(failed, all), task| {
        (failed + task.failures, all + task.runs)
    });
    let requests = (report.aggregated.failures, report.aggregated.count);
    let parts = [(requests, "request"), (tasks, "task")];
    let failed = parts.into_iter().filter(|((failed, _), _)| *failed > 0);
    let failed = failed
        .map(|((failed, all), noun)| format!("{} of {}", show_count(failed), counted(all, noun)));
    match failed.collect::<Vec<_>>() {
        none if none.is_empty() => "nothing failed".to_owned(),
        parts => format!("{} failed", parts.join(" and ")),
    }
}

/// Describes the judgement that passed.
fn held(report: &Report, settings: &RunSettings) -> String {
    match report.thresholds.len() as u64 {
        0 if settings.fail_on_error => "nothing failed".to_owned(),
        0 => "lgoose was never the bottleneck".to_owned(),
        count => format!("{} held", counted(count, "threshold")),
    }
}

/// Returns the broken thresholds.
fn broken(report: &Report) -> impl Iterator<Item = &ThresholdRow> {
    report.thresholds.iter().filter(|row| !row.passed)
}

/// Returns the reason that applies when no request succeeded.
fn nothing_succeeded(report: &Report) -> Option<String> {
    let all = &report.aggregated;
    let why = match all.count {
        0 => "no request was made",
        _ => "no request succeeded",
    };
    (all.failures == all.count).then(|| why.to_owned())
}

/// Returns the reason that applies when lgoose was the bottleneck.
fn saturated(report: &Report) -> Option<String> {
    let row = report.generator?;
    let why = "lgoose itself was the bottleneck ('--fail-on-saturation')";
    (row.saturated_s > 0.0).then(|| why.to_owned())
}

/// Returns a line for failed requests, one for failed tasks and one for failed checks.
fn failed(report: &Report) -> impl Iterator<Item = String> {
    let tasks: u64 = report.tasks.iter().map(|task| task.failures).sum();
    let checks: u64 = report.checks.iter().map(|check| check.failures).sum();
    let counts = [
        (report.aggregated.failures, "requests"),
        (tasks, "tasks"),
        (checks, "checks"),
    ];
    counts
        .into_iter()
        .filter(|(failures, _)| *failures > 0)
        .map(|(failures, what)| {
            let count = show_count(failures);
            format!("failed {what}: {count} ('--fail-on-error')")
        })
}

/// Describes how many users lgoose started, if fewer than planned.
fn fewer_users(ending: &Ending) -> Option<String> {
    let (started, due) = ending.fewer_users()?;
    Some(format!(
        "only {} of {} users",
        show_count(started),
        show_count(due)
    ))
}

/// Returns the error that `test_stop` raised.
fn test_stop(ending: Option<&Ending>) -> Option<String> {
    let ending = ending.filter(|ending| ending.cause != Cause::NotStarted)?;
    ending.raised.as_deref().map(one_line)
}

/// Returns the first line of an error, without its help.
fn first_line(trouble: &Error) -> String {
    one_line(trouble.text().lines().next().unwrap_or_default())
}

#[cfg(test)]
mod tests;
