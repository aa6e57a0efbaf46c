//! Supervises the tests of this process, one after another, each from its plan to its verdict, for the command and for
//! the library alike. A test is steered and watched through its handle.

use super::embed::{Running, Test};
use super::prepare::{Placement, PreparedRun};
use super::reload::{ReloadSource, Reloader};
use super::retained_logs::RetainedLogs;
use super::signals::Signals;
use lgoose_base::error::Error;
use lgoose_engine::Outcome;
use lgoose_metrics::Cause;
use lgoose_metrics::control::{Control, Handle, Stage};
use tokio::sync::watch;

/// Runs tests one after another, and publishes its current stage.
///
/// ```
/// use lgoose::control::Stage;
/// use lgoose::{Supervisor, Test};
///
/// # fn main() -> Result<(), lgoose::Error> {
/// let supervisor = Supervisor::default();
/// let stage = supervisor.stage();
/// let plan = "task { function(user) user:get '/api/products/1' end }";
/// for iterations in [1, 2] {
///     let test = Test::from_source(plan).host("demo:api").users(1).iterations(iterations);
///     let outcome = supervisor.start(test)?.wait()?;
///     assert_eq!(outcome.report.aggregated.count, iterations);
/// }
/// assert!(matches!(*stage.borrow(), Stage::Done(Ok(_))));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Supervisor {
    signals: Signals,
    stage: watch::Sender<Stage>,
}

impl Default for Supervisor {
    /// Returns an idle supervisor that leaves the signals of this process to others.
    fn default() -> Supervisor {
        Supervisor::new(Signals::Ignored)
    }
}

impl Supervisor {
    pub(super) fn new(signals: Signals) -> Supervisor {
        let (stage, _) = watch::channel(Stage::Idle);
        Supervisor { signals, stage }
    }

    /// Starts a test on its own threads; can be called inside and outside of async code.
    ///
    /// # Errors
    /// Returns a diagnostic for a mistake in the plan or in an option, or trouble: inside lgoose, or because another
    /// test is running. No request has been sent then.
    pub fn start(&self, test: Test) -> Result<Running, Error> {
        Running::start(self, test)
    }

    /// Returns a receiver of the current stage and of all later ones.
    pub fn stage(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    /// Begins the test that `prepare` returns. It can be steered and watched from now on, and must be
    /// [run](Slot::run).
    ///
    /// # Errors
    /// Returns the error of `prepare`: a mistake in the plan or in an option, or trouble. Returns trouble, too, while
    /// another test is running.
    pub(super) fn start_test(
        &self,
        prepare: impl FnOnce() -> Result<PreparedRun, Error>,
    ) -> Result<(Slot, PreparedRun), Error> {
        let (handle, control) = Control::open();
        let free = self.stage.send_if_modified(|stage| {
            let free = !matches!(stage, Stage::Running(_));
            if free {
                *stage = Stage::Running(handle.clone());
            }
            free
        });
        if !free {
            let busy = "a test is under way: stop it, or wait until it ends";
            return Err(Error::trouble(busy.to_owned()));
        }
        let slot = Slot {
            signals: self.signals.clone(),
            reservation: Reservation(Some(self.stage.clone())),
            handle,
            control,
        };
        match prepare() {
            Ok(prepared) => Ok((slot, prepared)),
            Err(error) => {
                let stage = Stage::Done(Err(error.to_string()));
                slot.reservation.end(stage);
                Err(error)
            }
        }
    }
}

/// The right to be the running test; dropping this gives it up.
#[derive(Debug)]
struct Reservation(Option<watch::Sender<Stage>>);

impl Reservation {
    fn end(mut self, stage: Stage) {
        if let Some(current) = self.0.take() {
            current.send_replace(stage);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(current) = &self.0 {
            // The test was given up or ended by a fault, without a result.
            current.send_replace(Stage::Idle);
        }
    }
}

/// The place of the one test that runs, and its handle and controls. Dropping this gives the place up.
pub(super) struct Slot {
    signals: Signals,
    reservation: Reservation,
    handle: Handle,
    control: Control,
}

impl Slot {
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Runs the test to its end and judges it. The plan can be reloaded if there is a `source`. The future of `companion`
    /// is polled during the run; it ends the run only by returning an error.
    ///
    /// # Errors
    /// Returns the trouble that kept the run from starting, or the error of `companion`. Later trouble is in the outcome,
    /// next to the figures.
    pub(super) async fn run<F: Future<Output = Error>>(
        self,
        mut prepared: PreparedRun,
        source: Option<ReloadSource>,
        companion: impl FnOnce(Handle) -> F,
    ) -> Result<Outcome, Error> {
        let Slot {
            signals,
            reservation,
            handle,
            control,
        } = self;
        let ended: Result<Outcome, Error> = async {
            let of_workers = prepared.placement.logs.take();
            let logs = RetainedLogs::start(&prepared.run.local.logs, of_workers)?;
            prepared.run.run_logs = logs.run_logs();
            let companion = companion(handle.clone());
            let outcome = conduct(&signals, &handle, control, prepared, source, companion).await;
            let written = logs.finish(&signals, &handle).await;
            let mut outcome = outcome?;
            written?.enter(&mut outcome);
            #[cfg(feature = "cli")]
            super::log::enter(&mut outcome, &signals, &handle).await;
            settle(&mut outcome);
            Ok(outcome)
        }
        .await;
        reservation.end(Stage::Done(match &ended {
            Ok(Outcome { report, .. }) => Ok(report
                .verdict
                .clone()
                .unwrap_or_else(|| lgoose_judgement::judge(report, None))),
            Err(error) => Err(error.to_string()),
        }));
        ended
    }
}

/// Drives the run and everything that accompanies it until the run is over, or until one of them fails.
async fn conduct(
    signals: &Signals,
    handle: &Handle,
    control: Control,
    prepared: PreparedRun,
    source: Option<ReloadSource>,
    companion: impl Future<Output = Error>,
) -> Result<Outcome, Error> {
    let Control {
        calls,
        snapshots,
        reloads,
        news,
        log,
    } = control;
    #[cfg(feature = "cli")]
    let _feed = super::log::LogFeed::start(log);
    #[cfg(not(feature = "cli"))]
    drop(log);
    let config = prepared.config();
    let PreparedRun {
        run,
        sites,
        placement:
            Placement {
                place,
                offers,
                versions,
                ..
            },
        ..
    } = prepared;
    let has_end = run.plan_version.plan.ends_by_itself(&run.config);
    let program = run.plan_version.program.clone();
    let reloading = async {
        match source {
            Some(source) => {
                let reloader = Reloader::new(source, config, program, sites);
                reloader.serve(reloads, versions, news).await
            }
            None => {
                drop(reloads);
                let _for_the_run = sites;
                std::future::pending().await
            }
        }
    };
    tokio::select! {
        // Listen for signals before anything runs: one that comes at once must not kill the process.
        biased;
        error = signals.listen(handle, has_end) => Err(error),
        error = reloading => Err(error),
        error = companion => Err(error),
        outcome = lgoose_engine::run_at(place, run, calls, offers, snapshots) => outcome,
    }
}

/// Adds the verdict to the report, once everything that it depends on is known.
fn settle(outcome: &mut Outcome) {
    let not_started = outcome
        .report
        .ending
        .as_ref()
        .is_some_and(|ending| ending.cause == Cause::NotStarted);
    // An error in 'test_start' is the trouble of the plan or the target, not of lgoose.
    let trouble = outcome.trouble.as_ref().filter(|_| !not_started);
    outcome.report.verdict = Some(lgoose_judgement::judge(&outcome.report, trouble));
}

#[cfg(test)]
mod tests {
    use super::*;
    use lgoose_metrics::VerdictResult;
    use lgoose_metrics::control::Command;

    const PLAN: &str = "task { function(user) user:get '/api/products/1' end }";

    fn test(plan: &str) -> Test {
        Test::from_source(plan)
            .host("demo:api")
            .users(2)
            .hatch_rate(1e3)
    }

    #[test]
    fn one_test_follows_another_and_a_mistake_between_them_changes_nothing() {
        let supervisor = Supervisor::default();
        let stage = supervisor.stage();
        assert!(matches!(*stage.borrow(), Stage::Idle));
        for iterations in [3, 5] {
            let running = supervisor.start(test(PLAN).iterations(iterations));
            let running = running.expect("the plan is fine");
            let report = running.wait().expect("it runs").report;
            assert_eq!(
                report.aggregated.count,
                2 * iterations,
                "figures of its own"
            );
            match &*stage.borrow() {
                Stage::Done(Ok(verdict)) => assert_eq!(verdict.result, VerdictResult::None),
                stage => panic!("{stage:?}"),
            }
            let wrong = supervisor.start(test("task { wieght = 1, function() end }"));
            assert!(matches!(wrong, Err(Error::Mistake(_))), "{wrong:?}");
            match &*stage.borrow() {
                Stage::Done(Err(message)) => assert!(message.contains("unknown field 'wieght'")),
                stage => panic!("{stage:?}"),
            }
        }
    }

    #[test]
    fn there_is_one_test_at_a_time_and_whoever_finds_it_can_stop_it() {
        let supervisor = Supervisor::default();
        let running = supervisor.start(test(PLAN)).expect("the plan is fine");
        let refused = supervisor.start(test(PLAN)).expect_err("one at a time");
        assert!(refused.to_string().contains("a test is under way"));
        let Stage::Running(handle) = supervisor.stage().borrow().clone() else {
            panic!("it runs");
        };
        handle.send(Command::Stop).wait().expect("it stops");
        running.wait().expect("it ran");
        assert!(matches!(*supervisor.stage().borrow(), Stage::Done(Ok(_))));
        let again = supervisor.start(test(PLAN).iterations(1));
        again.expect("there is room again").wait().expect("it ran");
    }
}
