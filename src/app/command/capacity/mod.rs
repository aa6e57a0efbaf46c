//! `lgoose capacity`: runs the steps of a search for the greatest load that a site holds, one after another, shows
//! them as they happen, and writes the report of the run that confirms the result.

mod aims;
mod found;
mod progress;
mod step;

use super::run::{conclude, on_workers};
use super::{flags, outputs, screen, summary};
use crate::app::guard::Guard;
use crate::app::prepare::{PreparedRun, prepare};
use crate::app::signals::Signals;
use crate::app::supervisor::Supervisor;
use crate::app::{log, preflight, runtime, writable};
use crate::capacity::{self, Recovery, Search, SearchAction, SearchSummary};
use crate::cli;
use crate::control::Handle;
use crate::engine::Outcome;
use crate::error::Error;
use crate::metrics::{CapacityOutcome, CapacityStep, StepResult};
use progress::SearchProgress;
use step::StepRunner;

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
}

/// Searches for the greatest load at which the limits hold, and returns the exit code.
///
/// # Errors
/// A mistake in the plan or in a flag; trouble that keeps a run from starting.
pub(super) fn capacity(options: &cli::CapacityArgs, guard: &Guard) -> Result<u8, Error> {
    let aims = aims::aims(options)?;
    let run = aims::run_flags(options);
    let path = run.plan.clone().unwrap_or_default();
    let base = prepare(flags::test(&path, &run)?)?;
    aims::fits(&base)?;
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
    progress.print_header(&base);
    let to_files = run.outputs.output.iter().any(|one| one.path.is_some());
    let supervisor = Supervisor::new(Signals::ObeyedByAll(guard.clone()));
    let steps = StepRunner::new((&supervisor, guard), &base, options, &run, &progress);
    let mut search = Search::new(aims);
    let mut found = SearchRuns {
        steps: Vec::new(),
        reported: None,
    };
    let trouble = loop {
        let next = search.next();
        let Some((step, ended)) = steps.run(next, &found.steps)? else {
            break None;
        };
        progress.done(&step);
        search.note(next, step.result);
        let broken = ended.outcome.trouble.is_some();
        let stopped = ended.handle.is_stopped();
        if stopped || broken {
            search.abort(CapacityOutcome::Stopped);
        }
        found.store(step, ended);
        if broken {
            break found.trouble();
        }
        if !stopped && !matches!(search.next(), SearchAction::Over(_)) {
            pause(&steps, &mut search, &mut found)?;
        }
    };
    guard.note_files_due(to_files);
    report((&base, &run, guard), aims, &search, found, trouble)
}

/// Lets the site recover. If it no longer answers, this ends the search.
fn pause(steps: &StepRunner<'_>, search: &mut Search, found: &mut SearchRuns) -> Result<(), Error> {
    let held = |step: &&CapacityStep| step.result == StepResult::Held;
    let Some(first) = found.steps.iter().find(held) else {
        return Ok(());
    };
    let Some(pause) = steps.pause(Recovery::like(first))? else {
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
    fn store(&mut self, step: CapacityStep, ended: SearchRun) {
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
    (base, run, guard): (&PreparedRun, &cli::RunArgs, &Guard),
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
    let writing = outputs::write_until((guard, &handle), &run.outputs.output, &outcome.report);
    let written = runtime.block_on(writing);
    let summary = summary::write(&outcome, &config, run);
    let ended = ((&outcome, summary), written);
    Ok(runtime.block_on(conclude(ended, (guard, &handle), &config, run)))
}
