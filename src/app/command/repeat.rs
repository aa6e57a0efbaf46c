//! Runs a plan several times for `lgoose compare`: against two sites in turn, or only after a change, if there are
//! reports of runs before it.

use super::compare::read_reports;
use super::screen::{aside, warn};
use super::{flags, outputs};
use crate::app::preflight;
use crate::app::prepare::prepare;
use crate::app::runtime;
use crate::app::signal_handler::SignalHandler;
use crate::app::signals::Signals;
use crate::app::supervisor::Supervisor;
use crate::cli;
use lgoose_base::error::{Diagnostic, Error, Trouble};
use lgoose_base::units;
use lgoose_metrics::compare::NamedReport;
use lgoose_metrics::{Cause, Report};
use lgoose_plan::config::Format;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The reports before a change, and those after it.
pub(super) type Sides = [Vec<NamedReport>; 2];

/// Side of the comparison that a run belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Side::Before => "before",
            Side::After => "after",
        }
    }
}

/// The runs for a comparison.
#[derive(Debug)]
pub(super) struct RepeatedRuns<'a> {
    plan: &'a Path,
    flags: cli::RunArgs,
    /// The site after the change, if the plan runs against two sites.
    against: Option<&'a str>,
    /// Reports of runs before the change. If there are none, the plan runs for both sides.
    pub(super) before: &'a [PathBuf],
    repeat: u64,
    report_folder: Option<&'a Path>,
}

/// Returns whether this is a plan and not a report.
fn is_plan(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "lua")
}

impl<'a> RepeatedRuns<'a> {
    /// Returns the runs that the flags request; `None` if they only name reports.
    ///
    /// # Errors
    /// A mistake in the flags, or in the options of the runs.
    pub(super) fn of(flags: &'a cli::CompareArgs) -> Result<Option<RepeatedRuns<'a>>, Error> {
        let files = flags.file.iter().chain(&flags.after);
        let plans: Vec<&PathBuf> = files.filter(|path| is_plan(path)).collect();
        let [plan] = plans[..] else {
            return if plans.is_empty() {
                Ok(without_plan(flags).map(|()| None)?)
            } else {
                Err(Diagnostic::new(format!(
                    "'{}' and '{}' are two plans, and only runs of one can be compared",
                    plans[0].display(),
                    plans[1].display()
                ))
                .help("name one plan, and say with '--against URL' which site is the other")
                .into())
            };
        };
        let before = before(flags, plan)?;
        let runs = RepeatedRuns {
            plan,
            flags: options(plan, &flags.options)?,
            against: flags.against.as_deref(),
            before,
            repeat: flags.repeat.unwrap_or(1),
            report_folder: flags.keep.as_deref(),
        };
        if before.is_empty() && runs.against.is_none() && runs.repeat < 2 {
            let message = format!(
                "there is nothing to compare runs of '{}' with",
                plan.display()
            );
            let help = "say with '--against URL' which site is the one after the change, put the reports before it first, or \
                        compare runs of one site with each other: '--repeat 3'";
            return Err(Diagnostic::new(message).help(help).into());
        }
        if let Some(folder) = runs.report_folder {
            runs.none_there(folder)?;
        }
        Ok(Some(runs))
    }

    /// Checks that the folder has none of the reports yet.
    fn none_there(&self, folder: &Path) -> Result<(), Error> {
        let taken = self
            .order()
            .into_iter()
            .map(|(side, number)| file(folder, side, number));
        match taken.into_iter().find(|path| path.exists()) {
            Some(path) => Err(
                Diagnostic::new(format!("'{}' is there already", path.display()))
                    .help("give '--keep' another folder, or move the reports of earlier runs away")
                    .into(),
            ),
            None => Ok(()),
        }
    }

    /// Returns the side of each run and its number on that side, in the order of the runs. If there are two sides,
    /// they alternate as A B B A, so that slow changes on the machines affect both alike.
    fn order(&self) -> Vec<(Side, u64)> {
        let pair = |number: u64| match (self.before.is_empty(), number % 2) {
            (false, _) => vec![Side::After],
            (true, 1) => vec![Side::Before, Side::After],
            (true, _) => vec![Side::After, Side::Before],
        };
        let numbers = 1..=self.repeat;
        let all =
            numbers.flat_map(|number| pair(number).into_iter().map(move |side| (side, number)));
        all.collect()
    }

    /// Runs the plan as often as requested, and returns all reports; `None` if somebody stopped the runs.
    ///
    /// # Errors
    /// A mistake in the plan, a report that cannot be read or written, or trouble in a run. Of the earlier runs, only
    /// the reports that `--keep` has written remain.
    pub(super) fn run(mut self, handler: &SignalHandler) -> Result<Option<Sides>, Error> {
        let mut sides = [read_reports(self.before, &mut Vec::new())?, Vec::new()];
        if let Some(first) = sides[0].first() {
            // Without a common seed, each run would request other pages.
            self.flags.load.seed.get_or_insert(first.report.seed);
        }
        let order = self.order();
        let supervisor = Supervisor::new(Signals::ObeyedByAll(handler.clone()));
        for (nth, (side, number)) in order.iter().enumerate() {
            let label = format!("run {} of {}, {}", nth + 1, order.len(), side.name());
            let ran = self.run_once(&supervisor, *side, &label, nth == 0);
            // Between the runs and after them there is no run that a signal could stop: it ends the process.
            handler.leave();
            let (report, stopped) = ran?;
            let short = report.ending.as_ref().filter(|ending| ending.cut_short);
            let short = short.map(|ending| (ending.cause, ending.text.clone()));
            self.flags.load.seed.get_or_insert(report.seed);
            let file = self.store_report(*side, *number, &report)?;
            match short {
                Some((Cause::Signal | Cause::Aborted, why)) => {
                    aside(&format!("{label}: {why}; nothing is compared"));
                    return Ok(None);
                }
                Some((_, why)) => {
                    let message = format!("{label}, was cut short: {why}");
                    let help = "runs can be compared only if they reach their planned ends; '--keep DIR' keeps the reports";
                    return Err(Diagnostic::new(message).help(help).into());
                }
                None if stopped => {
                    aside(&format!("{label}: stopped at its end; nothing is compared"));
                    return Ok(None);
                }
                None => {}
            }
            sides[usize::from(*side == Side::After)].push(NamedReport { file, report });
        }
        Ok(Some(sides))
    }

    /// Runs the plan once for that side, and returns its report and whether it was to be stopped, even when it
    /// was over; `label` names the run in messages.
    fn run_once(
        &self,
        supervisor: &Supervisor,
        side: Side,
        label: &str,
        first: bool,
    ) -> Result<(Report, bool), Error> {
        let mut flags = self.flags.clone();
        if let (Some(host), Side::After) = (self.against, side) {
            flags.target.host = Some(host.to_owned());
        }
        let (slot, prepared) =
            supervisor.start_test(|| prepare(flags::test(self.plan, &flags)?))?;
        if first {
            if let Some(folder) = self.report_folder {
                make(folder)?;
            }
            for shortage in preflight::preflight(&prepared) {
                warn(&shortage);
            }
            aside(&prepared.announcement());
        }
        aside(&format!("{label}: {}", prepared.run.target));
        let handle = slot.handle().clone();
        let outcome = runtime()?.block_on(slot.run(prepared, None, |_| std::future::pending()))?;
        if let Some(trouble) = outcome.trouble {
            return Err(trouble);
        }
        let figures = &outcome.report.aggregated;
        let p95 = figures.latency_ms.map(|latency| {
            let p95 = Duration::from_secs_f64(latency.p95 / 1e3);
            format!(", p95 {}", units::show_duration(p95))
        });
        aside(&format!(
            "{label}: {}, {} failed, {} requests/s{}",
            units::counted(figures.count, "request"),
            units::show_count(figures.failures),
            units::show_count(figures.rate.round() as u64),
            p95.unwrap_or_default(),
        ));
        Ok((outcome.report, handle.is_stopped()))
    }

    /// Writes the report of a run into the folder of `--keep`, if there is one, and returns the name of the report.
    fn store_report(&self, side: Side, number: u64, report: &Report) -> Result<String, Error> {
        let Some(folder) = self.report_folder else {
            return Ok(format!("{}-{number}", side.name()));
        };
        let path = file(folder, side, number);
        outputs::write(Some(&path), &lgoose_report::render(report, Format::Json)?)?;
        Ok(path.display().to_string())
    }
}

/// Makes the folder for the reports.
fn make(folder: &Path) -> Result<(), Error> {
    let cannot = |error| {
        Trouble::cannot("make the folder")
            .with_path(folder)
            .because(error)
    };
    Ok(fs::create_dir_all(folder).map_err(cannot)?)
}

fn file(folder: &Path, side: Side, number: u64) -> PathBuf {
    folder.join(format!("{}-{number}.json", side.name()))
}

/// Checks that no option for runs is given if no plan is named.
fn without_plan(flags: &cli::CompareArgs) -> Result<(), Diagnostic> {
    let typed = [
        ("--against", flags.against.is_some()),
        ("--repeat", flags.repeat.is_some()),
        ("--keep", flags.keep.is_some()),
        ("--", !flags.options.is_empty()),
    ];
    match typed.into_iter().find(|(_, typed)| *typed) {
        Some((flag, _)) => Err(Diagnostic::new(format!(
            "'{flag}' is for runs of a plan, and only reports are named"
        ))
        .help("name a plan, a file that ends in '.lua': lgoose compare before.json plan.lua --repeat 3")),
        None => Ok(()),
    }
}

/// Returns the reports before the change; none if the plan runs for both sides.
fn before<'a>(flags: &'a cli::CompareArgs, plan: &Path) -> Result<&'a [PathBuf], Diagnostic> {
    let shown = plan.display();
    let before = match (&flags.file[..], &flags.after[..]) {
        ([before @ .., last], []) if last == plan => before,
        (before, [only]) if only == plan => before,
        _ => {
            let message = format!("'{shown}' stands before or among reports");
            let help = format!(
                "runs of a plan are those after the change: lgoose compare before.json {shown}"
            );
            return Err(Diagnostic::new(message).help(help));
        }
    };
    if !before.is_empty() && flags.against.is_some() {
        let message = "reports before the change and '--against' both say what to compare with";
        let help = "leave out one of them; '-- -H URL' says which site runs of the plan are for";
        return Err(Diagnostic::new(message).help(help));
    }
    Ok(before)
}

/// Reads the options of the runs.
fn options(plan: &Path, options: &[String]) -> Result<cli::RunArgs, Diagnostic> {
    let Some(plan) = plan.to_str() else {
        return Err(Diagnostic::new(format!(
            "the name of '{}' is not UTF-8",
            plan.display()
        )));
    };
    let all = [plan.to_owned()].into_iter().chain(options.iter().cloned());
    let run = cli::parse_run(all).map_err(|message| {
        let message = message.split("\n\n").next().unwrap_or_default();
        let message = message.trim_start_matches("error: ");
        Diagnostic::new(format!("the options of the runs, after '--': {message}"))
    })?;
    let (outputs, screen) = (&run.outputs, &run.screen);
    let logs = [
        &outputs.request_log,
        &outputs.task_log,
        &outputs.error_log,
        &outputs.debug_log,
    ];
    let unfit = [
        (
            "-o",
            !outputs.output.is_empty(),
            "put it before '--' to write the comparison; '--keep DIR' keeps the reports",
        ),
        (
            "a log",
            logs.into_iter().any(Option::is_some),
            "each run would write over it: run lgoose by itself for a log",
        ),
        (
            "--once",
            run.load.once,
            "one iteration says nothing about how long requests take",
        ),
        ("--paused", run.load.paused, "nothing could resume the runs"),
        (
            "--part",
            run.load.part.is_some(),
            "join the reports of all parts with 'lgoose report', and compare those",
        ),
        (
            "--watch",
            screen.watch,
            "a plan that changes between runs is another plan",
        ),
        ("--list", screen.list, "it runs nothing"),
        (
            "--workers",
            run.gaggle.workers.is_some(),
            "run lgoose by itself with '-o json=…', and compare the reports",
        ),
        (
            "--web",
            run.web.web.is_some(),
            "run lgoose by itself with '-o json=…', and compare the reports",
        ),
    ];
    match unfit.into_iter().find(|(_, typed, _)| *typed) {
        Some((flag, _, help)) => Err(Diagnostic::new(format!(
            "{flag} is not an option for runs that are compared"
        ))
        .help(help)),
        None => Ok(run),
    }
}
