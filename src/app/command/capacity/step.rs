//! One step of a search: a run of the engine with one load, watched each second and ended as soon as its result is
//! known.

use super::SearchRun;
use super::clock::RunTimes;
use super::iterations::IterationTally;
use super::progress::SearchProgress;
use crate::app::command::workers;
use crate::app::prepare::PreparedRun;
use crate::app::runtime;
use crate::app::signal_handler::SignalHandler;
use crate::app::supervisor::Supervisor;
use crate::cli::{self, SearchVariable};
use lgoose_base::error::Error;
use lgoose_base::units;
use lgoose_metrics::capacity::{
    Decision, Judgement, Recovery, SearchAction, ShortStep, StepIterations, StepLengths, StepWatch,
    StepWindow,
};
use lgoose_metrics::control::{Command, Handle};
use lgoose_metrics::{
    CapacityStep, Cause, Ending, Report, RunPhase, SeriesPoint, Snapshot, StepResult,
};
use lgoose_plan::config::{Config, Load, Logs, MOST_USERS};
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

/// Time after which a step ends whose iterations have not begun to end as fast as they start, if no option sets one.
const LONGEST_STEP: Duration = Duration::from_secs(900);

/// Free users, as a multiple of those that iterations keep at work.
const SPARE_USERS: f64 = 1.5;

/// Time of a confirming run by users, as a multiple of the time between two iterations of a user.
const WHOLE_ITERATION: f64 = 1.25;

/// Seconds at the beginning of a step that are like a pause.
const FIRST_SECONDS: usize = 2;

/// Seconds by which the whole seconds of a step may be fewer than the time that it lasted.
const LAST_SECOND: f64 = 2.0;

/// Seconds at the end of a step that show the greatest throughput of the site.
const LAST_SECONDS: usize = 5;

/// Common parts of the steps of a search.
pub(super) struct StepRunner<'a> {
    pub(super) supervisor: &'a Supervisor,
    pub(super) handler: &'a SignalHandler,
    pub(super) base: &'a PreparedRun,
    pub(super) options: &'a cli::CapacityArgs,
    pub(super) run: &'a cli::RunArgs,
    pub(super) progress: &'a SearchProgress,
    /// Whether workers were recruited before, so that messages about them are not repeated.
    pub(super) has_recruited: Cell<bool>,
}

/// Length of iterations, by the first step that held.
#[derive(Debug, Clone, Copy, PartialEq)]
struct KnownIterations {
    /// Seconds within which nearly all of them are over.
    lasts_s: f64,
    /// Seconds from one to the next of the same user in a search by users, else the same.
    between_s: f64,
}

/// A pause between two steps.
pub(super) struct StepPause {
    pub(super) seconds: f64,
    pub(super) recovered: bool,
    /// Whether the site sent no response until the end of the pause.
    pub(super) is_down: bool,
    /// Whether somebody stopped the search.
    pub(super) stopped: bool,
    pub(super) handle: Handle,
}

/// A step that is over.
pub(super) struct FinishedStep {
    pub(super) step: CapacityStep,
    pub(super) run: SearchRun,
    /// Successful requests per second in its last seconds.
    pub(super) last_throughput: f64,
    /// Mean latency of its first seconds, when iterations had only begun, as they have in a pause.
    pub(super) first_ms: Option<f64>,
    /// Whether the time of the search was up before it could be judged.
    pub(super) is_undecided: bool,
}

/// Time that is left of a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeLeft {
    /// Time limit of the next run; `None` for any.
    pub(super) run: Option<Duration>,
    /// Likely time of the search, the next run included.
    pub(super) search: Duration,
}

/// Action on a run after a look at it.
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
    /// Whether iterations are started at a rate.
    by_rate: bool,
    /// The judgement if the run ended now.
    at_end: Judgement,
    /// Whether the time of a confirming run is up, and its figures of that moment are noted.
    is_over: bool,
    judgement: Option<Judgement>,
    step: CapacityStep,
    /// Successful requests per second in the last seconds.
    last_throughput: f64,
    /// Mean latency of the first seconds.
    first_ms: Option<f64>,
}

impl StepRunner<'_> {
    /// Runs a step or the confirming run; `None` if the search is over.
    ///
    /// # Errors
    /// Trouble that keeps the run from starting.
    pub(super) fn run(
        &self,
        next: SearchAction,
        before: &[CapacityStep],
        left: TimeLeft,
    ) -> Result<Option<FinishedStep>, Error> {
        let known = KnownIterations::of(before);
        let (load, confirms, lengths) = match next {
            SearchAction::Over(_) => return Ok(None),
            SearchAction::Step { load } => (load, false, self.lengths(known)),
            SearchAction::Confirm { load } => (load, true, self.confirming_lengths()),
        };
        let lengths = left.cut(lengths);
        let (settle, length) = if confirms {
            let settle = self.confirming_settle(load, before, known);
            (settle, settle + self.confirm_time(known))
        } else {
            (SETTLE, Duration::from_secs_f64(lengths.longest_s) + SPARE)
        };
        let mut config = self.config(load, length, known);
        config.run.warmup = Some(settle);
        let slo = config.run.thresholds.clone();
        let rate = (!self.is_by_users()).then_some(load);
        let mut iterations = IterationTally::new(&self.base.plan().scenarios, rate.is_none());
        let mut watched = WatchedStep {
            watch: StepWatch::new(lengths, &slo, rate),
            confirms,
            by_rate: rate.is_some(),
            at_end: Judgement::default(),
            is_over: false,
            judgement: None,
            step: CapacityStep {
                load,
                confirms,
                ..CapacityStep::default()
            },
            last_throughput: 0.0,
            first_ms: None,
        };
        let ended = self.conduct(config, |now, points| {
            let doing = match (now.progress.wanted.warmup_ends, confirms) {
                (Some(_), _) => "settling",
                (None, false) => "measuring",
                (None, true) => "confirming",
            };
            let search_left = left.search.saturating_sub(now.progress.elapsed);
            self.progress.now(load, doing, now, Some(search_left));
            iterations.count(now);
            match now.progress.wanted.warmup_ends {
                Some(_) => StepAction::GoOn,
                None => watched.look(now, points, iterations.current()),
            }
        })?;
        if let Some(last) = ended.handle.snapshots().borrow().clone()
            && watched.step.count == 0
        {
            // A short run may be over before a look at its first second.
            iterations.count(&last);
            let points: Vec<_> = whole_seconds(&last.recent).cloned().collect();
            watched.look(&last, &points, iterations.current());
        }
        let mut judgement = watched.judged(&ended);
        let iteration_s = iteration_s(&ended.outcome.report);
        if judgement.result == StepResult::TooShort {
            let short = ShortStep {
                lasted_s: watched.step.settling_s + watched.step.measured_s,
                iteration_s,
                pauses_s: self.pauses_s(),
                judged_s: self.options.step_time.as_secs_f64(),
                has_limit: self.options.step_time_max.is_some(),
            };
            let counts = judgement.reason.take().unwrap_or_default();
            judgement.reason = Some(format!("{counts}; {}", short.advice()));
        }
        let lasted_s = watched.step.settling_s + watched.step.measured_s;
        let is_undecided = left.is_used_up(lasted_s) && judgement.is_for_want_of_time();
        if is_undecided {
            judgement = Judgement {
                reason: Some("the time of the search was up before it was steady".to_owned()),
                ..Judgement::default()
            };
        }
        let step = CapacityStep {
            result: judgement.result,
            reason: judgement.reason,
            limited_by: judgement.limited_by,
            iteration_s,
            ..watched.step
        };
        Ok(Some(FinishedStep {
            step,
            run: ended,
            last_throughput: watched.last_throughput,
            first_ms: watched.first_ms,
            is_undecided,
        }))
    }

    /// Returns the times of the next step, at least, and of a run that confirms a load.
    pub(super) fn times(&self, load: Option<f64>, before: &[CapacityStep]) -> RunTimes {
        let pauses_s = self.pauses_s();
        let known = KnownIterations::of(before).or((pauses_s > 0.0).then_some(KnownIterations {
            lasts_s: pauses_s,
            between_s: pauses_s,
        }));
        let load = load.unwrap_or(self.options.from);
        RunTimes {
            step: self.confirming_settle(0.0, &[], known) + self.options.step_time,
            confirm: self.confirming_settle(load, before, known) + self.confirm_time(known),
        }
    }

    /// Returns how long a step goes on at most, by the declarations of the plan.
    pub(super) fn longest(&self) -> Duration {
        let usual = cli::STEP_TIME_MAX + Duration::from_secs_f64(self.pauses_s());
        self.options.step_time_max.unwrap_or(usual)
    }

    /// Returns the seconds that the declared pauses of an iteration take.
    fn pauses_s(&self) -> f64 {
        let scenarios = self.base.plan().scenarios.iter();
        let pauses = scenarios.map(|one| one.pauses().as_secs_f64());
        pauses.fold(0.0, f64::max) * self.base.run.config.wait_factor
    }

    fn is_by_users(&self) -> bool {
        self.options.by == SearchVariable::Users
    }

    /// Returns the times of a step.
    fn lengths(&self, known: Option<KnownIterations>) -> StepLengths {
        let iteration_s = known.map_or(0.0, |known| known.between_s);
        let flag_s = self.options.step_time_max.map(|most| most.as_secs_f64());
        let most_s = flag_s.unwrap_or(cli::STEP_TIME_MAX.as_secs_f64() + iteration_s);
        let longest_s = match flag_s {
            Some(_) => most_s,
            None => most_s.max(LONGEST_STEP.as_secs_f64()),
        };
        // Users are under way all the time: there is nothing that settles, and nothing that piles up.
        let known = known.filter(|_| !self.is_by_users());
        StepLengths {
            least_s: self.options.step_time.as_secs_f64(),
            most_s,
            longest_s,
            settles_s: known.map(|known| RAMP.as_secs_f64() + known.lasts_s),
        }
    }

    /// Returns the times of a confirming run, whose end its run time decides.
    fn confirming_lengths(&self) -> StepLengths {
        StepLengths {
            least_s: f64::INFINITY,
            most_s: f64::INFINITY,
            longest_s: f64::INFINITY,
            settles_s: (!self.is_by_users()).then_some(0.0),
        }
    }

    /// Returns the time at the beginning of a confirming run that is not judged: as much as the step with this load needed.
    fn confirming_settle(
        &self,
        load: f64,
        before: &[CapacityStep],
        known: Option<KnownIterations>,
    ) -> Duration {
        let same = before.iter().rfind(|step| step.load == load);
        let settled_s = same.map_or(0.0, |step| step.settling_s);
        let known = known.filter(|_| !self.is_by_users());
        let lasts_s = known.map_or(0.0, |known| RAMP.as_secs_f64() + known.lasts_s);
        Duration::from_secs_f64(settled_s.max(lasts_s)).max(SETTLE)
    }

    /// Returns how long a confirming run is measured: by users, at least an iteration of each.
    fn confirm_time(&self, known: Option<KnownIterations>) -> Duration {
        let known = known.filter(|_| self.is_by_users());
        let whole_s = known.map_or(0.0, |known| known.between_s * WHOLE_ITERATION);
        let whole = Duration::from_secs_f64(whole_s);
        self.options.confirm_time.max(whole)
    }

    /// Lets the site recover under the load of the first step; `None` if the options, or the remaining time, allow none
    /// for this.
    ///
    /// # Errors
    /// Trouble that keeps the run from starting.
    pub(super) fn pause(
        &self,
        recovery: Recovery,
        left: Option<Duration>,
    ) -> Result<Option<StepPause>, Error> {
        let most = self.options.recovery_time;
        let most = left.map_or(most, |left| left.min(most));
        if most.is_zero() {
            return Ok(None);
        }
        let mut config = self.config(self.options.from, most, None);
        config.run.warmup = None;
        config.run.thresholds.clear();
        let (mut recovered, mut last, mut seconds) = (false, Vec::new(), 0.0);
        let ended = self.conduct(config, |now, points| {
            self.progress.now(
                self.options.from,
                "waiting until the site has recovered",
                now,
                None,
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
            let most = units::show_long(most);
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
    fn config(&self, load: f64, length: Duration, known: Option<KnownIterations>) -> Config {
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
                    run.users = run.users.max(usual_users(load, known));
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

    /// Runs to the end, and until then takes the action that `act` returns for each snapshot.
    fn conduct(
        &self,
        config: Config,
        act: impl FnMut(&Snapshot, &[SeriesPoint]) -> StepAction,
    ) -> Result<SearchRun, Error> {
        let (slot, mut prepared) = self
            .supervisor
            .start_test(|| Ok(self.base.with_config(config)))?;
        let handle = slot.handle().clone();
        self.handler.attend(&handle);
        let teardown = {
            let mut run = self.run.clone();
            run.screen.quiet |= self.has_recruited.replace(true);
            workers::recruit(&mut prepared, &handle, &run, self.handler)?
        };
        let runtime = runtime()?;
        let outcome = runtime.block_on(slot.run(prepared, None, |handle| watch(handle, act)));
        if let Some(teardown) = teardown {
            teardown.now();
        }
        runtime.shutdown_background();
        Ok(SearchRun {
            outcome: outcome?,
            handle,
        })
    }
}

impl TimeLeft {
    fn run_s(self) -> f64 {
        self.run.map_or(f64::INFINITY, |left| left.as_secs_f64())
    }

    /// Limits the times of a step to the remaining time.
    fn cut(self, lengths: StepLengths) -> StepLengths {
        StepLengths {
            most_s: lengths.most_s.min(self.run_s()),
            longest_s: lengths.longest_s.min(self.run_s()),
            ..lengths
        }
    }

    /// Returns whether a step that lasted so long was over because no time was left.
    fn is_used_up(self, lasted_s: f64) -> bool {
        lasted_s + LAST_SECOND >= self.run_s()
    }
}

impl KnownIterations {
    fn of(steps: &[CapacityStep]) -> Option<KnownIterations> {
        let held = |step: &&CapacityStep| step.result == StepResult::Held;
        let step = steps.iter().find(held)?;
        let lasts_s = step.iteration_s?;
        let between_s = match step.iterations_started {
            Some(_) => lasts_s,
            None => step.load * step.measured_s / step.iterations_ended.max(1) as f64,
        };
        Some(KnownIterations {
            lasts_s,
            between_s: between_s.max(lasts_s),
        })
    }
}

/// Returns the most users of a run at a rate if no option sets a number: some for a site that is slow, and all that iterations
/// keep at work.
fn usual_users(rate: f64, known: Option<KnownIterations>) -> u64 {
    let slow = ((rate * 2.0).ceil() as u64).clamp(USERS.0, USERS.1);
    let at_work = match known {
        Some(known) => rate * known.lasts_s * SPARE_USERS,
        None => (rate * LONGEST_STEP.as_secs_f64()).min(USERS.1 as f64),
    };
    slow.max(at_work.ceil() as u64).min(MOST_USERS)
}

/// Returns the seconds within which nearly all iterations of a run were over, in the scenario whose iterations take longest.
fn iteration_s(report: &Report) -> Option<f64> {
    let latencies = report
        .scenarios
        .iter()
        .filter_map(|row| row.iteration_ms.as_ref());
    let seconds = latencies.map(|latency| latency.p99 / 1e3);
    seconds.max_by(f64::total_cmp)
}

impl WatchedStep<'_> {
    /// Looks at the figures so far.
    fn look(
        &mut self,
        now: &Snapshot,
        points: &[SeriesPoint],
        iterations: StepIterations<'_>,
    ) -> StepAction {
        let is_over = self.confirms && now.progress.phase == RunPhase::Stopping;
        let is_due = now.progress.phase == RunPhase::Running || is_over && !self.is_over;
        if !is_due || self.judgement.is_some() {
            return StepAction::GoOn;
        }
        self.is_over = is_over;
        self.note(now, points, iterations);
        let look = StepWindow {
            elapsed_s: now.progress.elapsed.as_secs_f64(),
            points,
            limits: &now.thresholds,
            dropped: now.arrivals.dropped,
            iterations,
        };
        if is_over {
            self.at_end = self.watch.at_end(&look);
            return StepAction::GoOn;
        }
        let decision = self.watch.look(&look);
        self.at_end = self.watch.at_end(&look);
        match decision {
            Decision::GoOn => StepAction::GoOn,
            Decision::Anew => StepAction::Anew,
            Decision::Over(judgement) => {
                self.judgement = Some(judgement);
                StepAction::Finish
            }
        }
    }

    /// Records the figures of the complete seconds so far.
    fn note(&mut self, now: &Snapshot, points: &[SeriesPoint], iterations: StepIterations<'_>) {
        let seconds = points.len() as f64;
        if points.is_empty() {
            return;
        }
        let count: u64 = points.iter().map(|point| point.count).sum();
        let failures: u64 = points.iter().map(|point| point.failures).sum();
        let sum_ms: f64 = points.iter().map(|point| point.latency.sum_ms).sum();
        let last = &points[points.len().saturating_sub(LAST_SECONDS)..];
        let succeeded = last.iter().map(|point| point.count - point.failures);
        self.last_throughput = succeeded.sum::<u64>() as f64 / last.len() as f64;
        if count > 0 && points.len() >= FIRST_SECONDS {
            self.first_ms.get_or_insert(sum_ms / count as f64);
        }
        let total = &now.requests.total;
        let ms = |time: Duration| (total.count > 0).then_some(time.as_secs_f64() * 1e3);
        let step = &mut self.step;
        // Iterations are counted up to this moment, the figures up to the last whole second.
        if step.measured_s != seconds || step.count == 0 {
            let (due, ended) = iterations.totals();
            step.iterations_started = self.by_rate.then_some(due.round() as u64);
            step.iterations_ended = ended;
            step.iterations_failed = iterations.failed.min(ended);
        }
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
        let none = |reason| Judgement {
            reason,
            ..Judgement::default()
        };
        match (judgement, broken) {
            _ if ended.handle.is_stopped() || ended.outcome.trouble.is_some() => none(text),
            // With less than its load, a step says nothing about the site.
            _ if ending.is_some_and(Ending::misses_load) => none(
                ending
                    .and_then(Ending::missing)
                    .map(|missing| format!("{missing} of the load was missing: workers were lost")),
            ),
            (Some(judgement), Some(row))
                if self.confirms && judgement.result == StepResult::Held =>
            {
                Judgement::broke(row)
            }
            (Some(judgement), _) => judgement,
            (None, _) if matches!(cause, Some(Cause::StoppedByPlan | Cause::WorkersLost)) => {
                none(text)
            }
            (None, _) => Judgement::failed("no answer", text.unwrap_or_default()),
        }
    }
}

/// Returns the seconds of a run that are over.
fn whole_seconds(points: &[SeriesPoint]) -> impl Iterator<Item = &SeriesPoint> {
    points.iter().filter(|point| point.seconds > 0.99)
}

/// Passes each snapshot of a run to `act` and takes the action that it returns. Never ends.
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
        for point in whole_seconds(&now.recent) {
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
