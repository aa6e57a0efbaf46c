//! One step of a search: a run of the engine with one load, watched each second and ended as soon as its result is
//! known.

use super::SearchRun;
use super::progress::SearchProgress;
#[cfg(feature = "gaggle")]
use crate::app::command::workers;
use crate::app::guard::Guard;
use crate::app::prepare::PreparedRun;
use crate::app::runtime;
use crate::app::supervisor::Supervisor;
use crate::capacity::{
    Decision, Judgement, Recovery, SearchAction, StepLengths, StepWatch, StepWindow,
};
use crate::cli::{self, SearchVariable};
use crate::config::{Config, Load, Logs};
use crate::control::{Command, Handle};
use crate::error::Error;
use crate::metrics::{CapacityStep, Cause, RunPhase, SeriesPoint, Snapshot, StepResult};
#[cfg(feature = "gaggle")]
use std::cell::Cell;
use std::time::Duration;

/// Time in which a step reaches its load.
const RAMP: Duration = Duration::from_secs(2);

/// Time at the beginning of a step that is never judged: the ramp, and the cost of new users and connections.
const SETTLE: Duration = Duration::from_secs(3);

/// Time by which the run of a step may exceed the step; the search ends it earlier.
const SPARE: Duration = Duration::from_secs(5);

/// The longest time that the tasks of a finished step may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The least and the most users at a time if no option sets a number: in between, one for each iteration that starts
/// within two seconds.
const USERS: (u64, u64) = (1_000, 10_000);

/// Greatest length of a thorough step, which lasts at least as long as a confirming run, as a multiple of that.
const THOROUGH: f64 = 1.5;

/// Common parts of the steps of a search.
pub(super) struct StepRunner<'a> {
    supervisor: &'a Supervisor,
    guard: &'a Guard,
    base: &'a PreparedRun,
    options: &'a cli::CapacityArgs,
    run: &'a cli::RunArgs,
    progress: &'a SearchProgress,
    /// Whether workers were hired before, so that messages about them are not repeated.
    #[cfg(feature = "gaggle")]
    hired: Cell<bool>,
}

/// A pause between two steps.
pub(super) struct StepPause {
    pub(super) seconds: f64,
    pub(super) recovered: bool,
    /// Whether the site answered nothing until the end of the pause.
    pub(super) is_down: bool,
    /// Whether somebody stopped the search.
    pub(super) stopped: bool,
    pub(super) handle: Handle,
}

/// What to do with a run after a look at it.
enum StepAction {
    GoOn,
    Anew,
    Finish,
}

/// State of a step while it is watched.
struct WatchedStep<'a> {
    watch: StepWatch<'a>,
    /// Whether this is the confirming run, which ends early only if it clearly fails.
    confirms: bool,
    /// The judgement if the run ended now.
    at_end: Judgement,
    judgement: Option<Judgement>,
    step: CapacityStep,
}

impl<'a> StepRunner<'a> {
    pub(super) fn new(
        (supervisor, guard): (&'a Supervisor, &'a Guard),
        base: &'a PreparedRun,
        options: &'a cli::CapacityArgs,
        run: &'a cli::RunArgs,
        progress: &'a SearchProgress,
    ) -> StepRunner<'a> {
        StepRunner {
            supervisor,
            guard,
            base,
            options,
            run,
            progress,
            #[cfg(feature = "gaggle")]
            hired: Cell::new(false),
        }
    }

    /// Runs a step or the confirming run; `None` if the search is over.
    ///
    /// # Errors
    /// Trouble that keeps the run from starting.
    pub(super) fn run(
        &self,
        next: SearchAction,
        before: &[CapacityStep],
    ) -> Result<Option<(CapacityStep, SearchRun)>, Error> {
        let confirm_s = self.options.confirm_time.as_secs_f64();
        let most_s = self.options.step_time_max.as_secs_f64();
        let (load, confirms, lengths) = match next {
            SearchAction::Over(_) => return Ok(None),
            SearchAction::Step { load, thorough } => {
                let (least_s, most_s) = if thorough {
                    (
                        confirm_s,
                        most_s.max(confirm_s * THOROUGH + SETTLE.as_secs_f64()),
                    )
                } else {
                    (self.options.step_time.as_secs_f64(), most_s)
                };
                (load, false, StepLengths { least_s, most_s })
            }
            SearchAction::Confirm { load } => {
                let endless = StepLengths {
                    least_s: f64::INFINITY,
                    most_s: f64::INFINITY,
                };
                (load, true, endless)
            }
        };
        let same = before.iter().rfind(|step| step.load == load);
        let settle = same.map_or(0.0, |step| step.settling_s).min(most_s);
        let settle = Duration::from_secs_f64(settle).max(SETTLE);
        let settle = if confirms { settle } else { SETTLE };
        let length = if confirms {
            settle + self.options.confirm_time
        } else {
            Duration::from_secs_f64(lengths.most_s) + SPARE
        };
        let mut config = self.config(load, length);
        config.run.warmup = Some(settle);
        let slo = config.run.thresholds.clone();
        let rate = (self.options.by == SearchVariable::Rate).then_some(load);
        let mut watched = WatchedStep {
            watch: StepWatch::new(lengths, &slo, rate),
            confirms,
            at_end: Judgement::default(),
            judgement: None,
            step: CapacityStep {
                load,
                confirms,
                ..CapacityStep::default()
            },
        };
        let ended = self.conduct(config, |now, points| {
            let doing = match (now.progress.wanted.warmup_ends, confirms) {
                (Some(_), _) => "settling",
                (None, false) => "measuring",
                (None, true) => "confirming",
            };
            self.progress.now(load, doing, now);
            match now.progress.wanted.warmup_ends {
                Some(_) => StepAction::GoOn,
                None => watched.look(now, points),
            }
        })?;
        let judgement = watched.judged(&ended);
        let step = CapacityStep {
            result: judgement.result,
            reason: judgement.reason,
            limited_by: judgement.limited_by,
            ..watched.step
        };
        Ok(Some((step, ended)))
    }

    /// Lets the site recover under the load of the first step; `None` if the options allow no time for this.
    ///
    /// # Errors
    /// Trouble that keeps the run from starting.
    pub(super) fn pause(&self, recovery: Recovery) -> Result<Option<StepPause>, Error> {
        let most = self.options.recovery_time;
        if most.is_zero() {
            return Ok(None);
        }
        let mut config = self.config(self.options.from, most);
        config.run.warmup = None;
        config.run.thresholds.clear();
        let (mut recovered, mut last, mut seconds) = (false, Vec::new(), 0.0);
        let ended = self.conduct(config, |now, points| {
            self.progress.now(
                self.options.from,
                "waiting until the site has recovered",
                now,
            );
            if recovered {
                return StepAction::GoOn;
            }
            seconds = now.progress.elapsed.as_secs_f64();
            recovered = recovery.is_over(points);
            last = points.to_vec();
            if recovered {
                StepAction::Finish
            } else {
                StepAction::GoOn
            }
        })?;
        let is_down = !recovered && Recovery::is_down(&last);
        let stopped = ended.handle.is_stopped() || ended.outcome.trouble.is_some();
        if !recovered && !stopped {
            let most = crate::units::show_long(most);
            self.progress.print_line(&if is_down {
                format!("  the site answers nothing any more, {most} after that step")
            } else {
                format!("  the site is still slower than at first, {most} after that step")
            });
        }
        Ok(Some(StepPause {
            seconds,
            recovered,
            is_down,
            stopped,
            handle: ended.handle,
        }))
    }

    /// Returns the configuration of a run with this load and length.
    fn config(&self, load: f64, length: Duration) -> Config {
        let mut config = self.base.config();
        let run = &mut config.run;
        match self.options.by {
            SearchVariable::Rate => {
                let spacing = match run.load {
                    Load::Rate(_, spacing) => spacing,
                    Load::Users | Load::Stages(_) => Default::default(),
                };
                run.load = Load::Rate(vec![(RAMP, load)], spacing);
                if self.run.load.max_users.is_none() {
                    let usual = (load * 2.0).ceil() as u64;
                    run.users = run.users.max(usual.clamp(USERS.0, USERS.1));
                }
            }
            SearchVariable::Users => {
                run.load = Load::Users;
                run.users = load as u64;
                run.hatch_rate = load / RAMP.as_secs_f64();
            }
        }
        run.run_time = Some(length);
        (run.iterations, run.shared_iterations) = (None, None);
        run.reset_stats = false;
        run.stop_timeout = run.stop_timeout.min(STOP_TIMEOUT);
        config.local.logs = Logs::default();
        config
    }

    /// Runs to the end, and until then does what `act` returns for each snapshot.
    fn conduct(
        &self,
        config: Config,
        act: impl FnMut(&Snapshot, &[SeriesPoint]) -> StepAction,
    ) -> Result<SearchRun, Error> {
        #[cfg_attr(
            not(feature = "gaggle"),
            expect(unused_mut, reason = "users stay here")
        )]
        let (slot, mut prepared) = self
            .supervisor
            .start_test(|| Ok(self.base.with_config(config)))?;
        let handle = slot.handle().clone();
        self.guard.attend(&handle);
        #[cfg(feature = "gaggle")]
        let dismissal = {
            let mut run = self.run.clone();
            run.screen.quiet |= self.hired.replace(true);
            workers::hire(&mut prepared, &handle, &run, self.guard)?
        };
        let runtime = runtime()?;
        let outcome = runtime.block_on(slot.run(prepared, None, |handle| watch(handle, act)));
        #[cfg(feature = "gaggle")]
        if let Some(dismissal) = dismissal {
            dismissal.now();
        }
        runtime.shutdown_background();
        Ok(SearchRun {
            outcome: outcome?,
            handle,
        })
    }
}

impl WatchedStep<'_> {
    /// Looks at the figures so far.
    fn look(&mut self, now: &Snapshot, points: &[SeriesPoint]) -> StepAction {
        if now.progress.phase != RunPhase::Running || self.judgement.is_some() {
            return StepAction::GoOn;
        }
        self.note(now, points);
        let look = StepWindow {
            elapsed_s: now.progress.elapsed.as_secs_f64(),
            points,
            limits: &now.thresholds,
            dropped: now.arrivals.dropped,
        };
        self.at_end = self.watch.at_end(&look);
        match self.watch.look(&look) {
            Decision::GoOn => StepAction::GoOn,
            Decision::Anew => StepAction::Anew,
            Decision::Over(judgement) => {
                self.judgement = Some(judgement);
                StepAction::Finish
            }
        }
    }

    /// Notes the figures of the complete seconds so far.
    fn note(&mut self, now: &Snapshot, points: &[SeriesPoint]) {
        let seconds = points.len() as f64;
        if points.is_empty() {
            return;
        }
        let count: u64 = points.iter().map(|point| point.count).sum();
        let failures: u64 = points.iter().map(|point| point.failures).sum();
        let sum_ms: f64 = points.iter().map(|point| point.latency.sum_ms).sum();
        let total = &now.requests.total;
        let ms = |time: Duration| (total.count > 0).then_some(time.as_secs_f64() * 1e3);
        let step = &mut self.step;
        step.settling_s = now.progress.measured_since().as_secs_f64();
        step.measured_s = seconds;
        (step.count, step.failures) = (count, failures);
        step.throughput = (count - failures) as f64 / seconds;
        step.concurrency = sum_ms / 1e3 / seconds;
        step.avg_ms = (count > 0).then(|| sum_ms / count as f64);
        (step.p50_ms, step.p95_ms, step.p99_ms) = (ms(total.p50), ms(total.p95), ms(total.p99));
        step.figures = now.thresholds.iter().map(|row| row.value).collect();
    }

    /// Returns the judgement of the run once it is over.
    fn judged(&mut self, ended: &SearchRun) -> Judgement {
        let report = &ended.outcome.report;
        let ending = report.ending.as_ref();
        let text = ending.map(|ending| ending.text.clone());
        let cause = ending.map(|ending| ending.cause);
        let broken = report.thresholds.iter().find(|row| !row.passed);
        let by_itself = self.confirms && cause == Some(Cause::TimeUp);
        let judgement = self.judgement.take();
        let judgement = judgement.or_else(|| by_itself.then(|| self.at_end.clone()));
        match (judgement, broken) {
            _ if ended.handle.is_stopped() || ended.outcome.trouble.is_some() => Judgement {
                reason: text,
                ..Judgement::default()
            },
            (Some(judgement), Some(row))
                if self.confirms && judgement.result == StepResult::Held =>
            {
                Judgement::broke(row)
            }
            (Some(judgement), _) => judgement,
            (None, _) if matches!(cause, Some(Cause::StoppedByPlan | Cause::WorkersLost)) => {
                Judgement {
                    reason: text,
                    ..Judgement::default()
                }
            }
            (None, _) => Judgement::failed("no answer", text.unwrap_or_default()),
        }
    }
}

/// Passes each snapshot of a run to `act` and does what it returns. Never ends.
async fn watch(
    handle: Handle,
    mut act: impl FnMut(&Snapshot, &[SeriesPoint]) -> StepAction,
) -> Error {
    let mut pictures = handle.snapshots();
    let (mut points, mut start): (Vec<SeriesPoint>, _) = (Vec::new(), Duration::MAX);
    while pictures.changed().await.is_ok() {
        let Some(now) = pictures.borrow_and_update().clone() else {
            continue;
        };
        let start_now = now.progress.measured_since();
        if start_now.abs_diff(start) > Duration::from_millis(100) {
            points.clear();
            start = start_now;
        }
        for point in now.recent.iter().filter(|point| point.seconds > 0.99) {
            if points.last().is_none_or(|last| last.second < point.second) {
                points.push(point.clone());
            }
        }
        match act(&now, &points) {
            StepAction::GoOn => {}
            // A run that is over takes no commands.
            StepAction::Anew => drop(handle.send(Command::ResetStatistics).await),
            StepAction::Finish => handle.finish(),
        }
    }
    std::future::pending().await
}
