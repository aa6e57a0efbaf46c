//! `lgoose capacity`: runs the steps of a search for the greatest load that a site holds, one after another, shows
//! them as they happen, and writes the report of the run that confirms the result.

mod aims;
mod clock;
mod found;
mod iterations;
mod progress;
mod step;

use super::context::RunContext;
use super::run::{conclude, on_workers};
use super::{flags, outputs, screen, summary};
use crate::app::prepare::{PreparedRun, prepare};
use crate::app::signal_handler::SignalHandler;
use crate::app::signals::Signals;
use crate::app::supervisor::Supervisor;
use crate::app::{log, preflight, runtime, writable};
use crate::cli;
use clock::{RunTimes, SearchClock};
use lgoose_base::error::Error;
use lgoose_engine::Outcome;
use lgoose_metrics::capacity::{
    self, CapacityEstimate, Recovery, Search, SearchAction, SearchSummary,
};
use lgoose_metrics::control::Handle;
use lgoose_metrics::{CapacityOutcome, CapacityStep, StepResult};
use progress::SearchProgress;
use std::cell::Cell;
use std::time::Duration;
use step::{FinishedStep, StepRunner, TimeLeft};

/// A run of the search that has ended.
struct SearchRun {
    outcome: Outcome,
    handle: Handle,
}

/// Results of a search so far.
struct SearchRuns {
    steps: Vec<CapacityStep>,
    /// The run to report, with its rank: the confirming one, else the one with the greatest load that held, else the
    /// last.
    reported: Option<(f64, SearchRun)>,
    /// Speed of the site once it has recovered, by the first step that held.
    recovery: Option<Recovery>,
}

/// Searches for the greatest load at which the limits hold, and returns the exit code.
///
/// # Errors
/// A mistake in the plan or in a flag; trouble that keeps a run from starting.
pub(super) fn capacity(options: &cli::CapacityArgs, handler: &SignalHandler) -> Result<u8, Error> {
    let aims = aims::aims(options)?;
    let run = aims::run_flags(options);
    let path = run.plan.clone().unwrap_or_default();
    let mut base = prepare(flags::test(&path, &run)?)?;
    aims::fit(&mut base)?;
    writable::try_places(&run.outputs.output, &base.run.local.logs)?;
    if let Some(path) = &run.screen.log_file {
        log::write_to(path)?;
    }
    if !on_workers(&run) {
        for shortage in preflight::preflight(&base) {
            screen::warn(&shortage);
        }
    }
    let progress = SearchProgress::new(aims.by, run.screen.quiet);
    let supervisor = Supervisor::new(Signals::ObeyedByAll(handler.clone()));
    let steps = StepRunner {
        supervisor: &supervisor,
        handler,
        base: &base,
        options,
        run: &run,
        progress: &progress,
        has_recruited: Cell::new(false),
    };
    let mut search = Search::new(aims);
    let times = steps.times(None, &[]);
    let clock = SearchClock::start(options.time);
    progress.print_header(
        &base,
        &clock.announcement(search.expected_steps(), times, steps.longest()),
    );
    let mut estimate = CapacityEstimate::new(aims.by, &base.run.config.thresholds);
    let mut found = SearchRuns {
        steps: Vec::new(),
        reported: None,
        recovery: None,
    };
    let trouble = loop {
        let interval = search.interval();
        search.estimate(interval.and_then(|(low, high)| estimate.between(low, high)));
        let times = steps.times(search.interval().map(|(low, _)| low), &found.steps);
        search.limit(clock.allows(times));
        let next = search.next();
        let left = time_left(&clock, &search, next, times);
        let Some(finished) = steps.run(next, &found.steps, left)? else {
            break None;
        };
        if !finished.is_undecided {
            estimate.note(&finished.step, finished.last_throughput);
            search.note(next, finished.step.result);
        }
        let goes_on = !matches!(search.next(), SearchAction::Over(_));
        let forecast = goes_on.then(|| clock.forecast(search.expected_steps(), times));
        progress.done(&finished.step, forecast);
        let broken = finished.run.outcome.trouble.is_some();
        let stopped = finished.run.handle.is_stopped();
        if stopped || broken {
            search.abort(CapacityOutcome::Stopped);
        }
        found.store(finished);
        if broken {
            break found.trouble();
        }
        if !stopped && !matches!(search.next(), SearchAction::Over(_)) {
            pause(&steps, &mut search, &mut found, clock.left_for_step(times))?;
        }
    };
    handler.note_outputs_due();
    report(&base, &run, handler, aims, &search, found, trouble)
}

/// Returns the time that is left for the next run.
fn time_left(
    clock: &SearchClock,
    search: &Search,
    next: SearchAction,
    times: RunTimes,
) -> TimeLeft {
    let is_step = matches!(next, SearchAction::Step { .. });
    TimeLeft {
        run: clock.left_for_step(times).filter(|_| is_step),
        search: clock.forecast(search.expected_steps(), times),
    }
}

/// Lets the site recover from a step that did not hold, for `left` at most. If it no longer responds, this ends the search.
fn pause(
    steps: &StepRunner<'_>,
    search: &mut Search,
    found: &mut SearchRuns,
    left: Option<Duration>,
) -> Result<(), Error> {
    let last = found.steps.last().map(|step| step.result);
    let recovery = found.recovery.filter(|_| last != Some(StepResult::Held));
    let Some(recovery) = recovery else {
        return Ok(());
    };
    let Some(pause) = steps.pause(recovery, left)? else {
        return Ok(());
    };
    if let Some(last) = found.steps.last_mut() {
        (last.pause_s, last.recovered) = (pause.seconds, Some(pause.recovered));
    }
    if pause.stopped {
        search.abort(CapacityOutcome::Stopped);
    } else if pause.is_down {
        search.abort(CapacityOutcome::NotRecovered);
    }
    if pause.stopped
        && let Some((_, reported)) = &mut found.reported
    {
        // From here on, a second Ctrl-C must have its effect.
        reported.handle = pause.handle;
    }
    Ok(())
}

impl SearchRuns {
    /// Keeps a step, and its run if that is to be reported in place of the earlier one.
    fn store(&mut self, finished: FinishedStep) {
        let (step, ended) = (finished.step, finished.run);
        if step.result == StepResult::Held && self.recovery.is_none() {
            self.recovery = Some(Recovery::like(&step, finished.first_ms));
        }
        let rank = |step: &CapacityStep| match (step.confirms, step.result) {
            (true, StepResult::Held) => f64::INFINITY,
            (_, StepResult::Held) => step.load,
            _ => 0.0,
        };
        let (rank, interrupted) = (rank(&step), ended.handle.is_stopped());
        match &mut self.reported {
            Some((stored_rank, stored)) if *stored_rank > rank => {
                if interrupted || ended.outcome.trouble.is_some() {
                    stored.handle = ended.handle;
                    stored.outcome.trouble = ended.outcome.trouble;
                }
            }
            reported => *reported = Some((rank, ended)),
        }
        self.steps.push(step);
    }

    /// Takes the trouble out of the run to report.
    fn trouble(&mut self) -> Option<Error> {
        let (_, ended) = self.reported.as_mut()?;
        ended.outcome.trouble.take()
    }
}

/// Completes the report with the result of the search, writes and shows it, and returns the exit code.
fn report(
    base: &PreparedRun,
    run: &cli::RunArgs,
    handler: &SignalHandler,
    aims: capacity::SearchAims,
    search: &Search,
    found: SearchRuns,
    trouble: Option<Error>,
) -> Result<u8, Error> {
    let SearchAction::Over(end) = search.next() else {
        return Err(Error::trouble("the search has no end"));
    };
    let Some((
        _,
        SearchRun {
            mut outcome,
            handle,
        },
    )) = found.reported
    else {
        return Err(Error::trouble("the search has no step"));
    };
    let findings = SearchSummary {
        aims,
        slo: base.run.config.thresholds.iter().map(aims::shown).collect(),
        end,
        steps: found.steps,
    };
    outcome.trouble = trouble;
    found::complete(
        &mut outcome,
        capacity::summary(findings),
        handle.is_aborted(),
    );
    let config = base.config();
    let runtime = runtime()?;
    let context = RunContext {
        flags: run,
        handler,
        handle: &handle,
    };
    let written = runtime.block_on(outputs::write_until(context, &outcome.report));
    let summary = runtime.block_on(summary::write(context, &outcome, &config));
    Ok(runtime.block_on(conclude(context, &outcome, &config, summary, written)))
}
