//! lgoose as a Rust library: a test, its options and its report. Works like the command, but reads no flags,
//! handles no signals and prints nothing; the plan's log goes to `tracing`.

use super::loading;
use super::preflight::preflight;
use super::prepare::{TestInput, prepare};
use super::runtime;
use super::supervisor::Supervisor;
use lgoose_base::error::Error;
use lgoose_base::files::{FileReach, PlanFolder};
use lgoose_lua::{Program, Written};
use lgoose_metrics::control::{Command, Handle};
use lgoose_metrics::{Report, Snapshot};
use lgoose_plan::config::Value;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A plan and the options of its run. An option that is not set here comes from the plan, or else is lgoose's default.
/// Only the command reads the environment variables `LGOOSE_*`.
///
/// ```
/// # fn main() -> Result<(), lgoose::Error> {
/// let plan = "task { function(user) user:get('/api/products/' .. random.int(1, 100)) end }";
/// let report = lgoose::Test::from_source(plan)
///     .host("demo:api")
///     .users(2)
///     .hatch_rate(100.0)
///     .iterations(3)
///     .run()?;
/// assert_eq!(report.aggregated.count, 6);
/// assert_eq!(report.aggregated.failures, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Test {
    pub(super) input: TestInput,
}

impl Test {
    /// Creates a test from the text of a plan. The modules and data files that the plan names are looked up in the
    /// current folder.
    pub fn from_source(source: impl Into<String>) -> Test {
        Test {
            input: TestInput::new(source.into()),
        }
    }

    /// Creates a test from a plan file.
    ///
    /// # Errors
    /// Returns a diagnostic that names the file if it cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Test, Error> {
        let path = path.as_ref();
        let (name, source) = lgoose_lua::read(path)?;
        let input = TestInput {
            name,
            folder: PlanFolder::new(path.parent().unwrap_or(Path::new("")), FileReach::Folder),
            ..TestInput::new(source)
        };
        Ok(Test { input })
    }

    /// Sets the base URL, or a built-in site such as `demo:drupal`.
    #[must_use]
    pub fn host(self, host: impl Into<String>) -> Test {
        self.option("host", Value::Text(host.into()))
    }

    /// Sets the number of concurrent users.
    #[must_use]
    pub fn users(self, users: u64) -> Test {
        self.option("users", Value::Number(users as f64))
    }

    /// Sets the number of users started per second.
    #[must_use]
    pub fn hatch_rate(self, rate: f64) -> Test {
        self.option("hatch_rate", Value::Number(rate))
    }

    /// Sets how long to run once all users have started. If neither this nor [`iterations`](Test::iterations) is set,
    /// here or in the plan, the run goes on until it is stopped.
    #[must_use]
    pub fn run_time(mut self, time: Duration) -> Test {
        self.input.settings.run_time = Some(time);
        self
    }

    /// Sets the number of iterations per user.
    #[must_use]
    pub fn iterations(self, iterations: u64) -> Test {
        self.option("iterations", Value::Number(iterations as f64))
    }

    /// Sets the seed of all random choices.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Test {
        self.input.settings.seed = Some(seed);
        self
    }

    /// Sets a variable for the plan's `env()`.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Test {
        self.input
            .variables
            .configured
            .insert(name.into(), value.into());
        self
    }

    /// Sets any field of `plan {}`, such as `stages` or `thresholds`. An invalid one is reported when the run starts.
    ///
    /// ```
    /// use lgoose::{Test, Value};
    ///
    /// let limits = ["p95 < 300ms", "failures < 1%"].map(str::to_owned);
    /// Test::from_source("task { function(user) user:get '/' end }")
    ///     .option("run_time", Value::Text("10m".to_owned()))
    ///     .option("thresholds", Value::List(limits.to_vec()));
    /// ```
    #[must_use]
    pub fn option(mut self, name: &str, value: Value) -> Test {
        if let Err(mistake) = self.input.settings.set(name, &value) {
            self.input.mistake.get_or_insert(mistake);
        }
        self
    }

    /// Runs the test to its end, and returns its report with the verdict.
    ///
    /// # Errors
    /// Returns the errors of [`start`](Test::start), and trouble inside lgoose during the run.
    pub fn run(self) -> Result<Report, Error> {
        let outcome = self.start()?.wait()?;
        match outcome.trouble {
            Some(trouble) => Err(trouble),
            None => Ok(outcome.report),
        }
    }

    /// Starts the test on its own threads; can be called inside and outside of async code.
    ///
    /// # Errors
    /// Returns a diagnostic for a mistake in the plan or in an option, or trouble inside lgoose. No request has been
    /// sent then.
    pub fn start(self) -> Result<Running, Error> {
        Supervisor::default().start(self)
    }
}

/// A running test. Dropping this does not stop it.
///
/// ```
/// # fn main() -> Result<(), lgoose::Error> {
/// let plan = "task { wait = 0.01, function(user) user:get '/api/products/1' end }";
/// let running = lgoose::Test::from_source(plan).host("demo:api").start()?;
/// while running.snapshot().is_none_or(|snapshot| snapshot.requests.total.count == 0) {
///     std::thread::yield_now();
/// }
/// running.stop();
/// assert!(running.wait()?.report.aggregated.count > 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Running {
    handle: Handle,
    thread: JoinHandle<Result<Outcome, Error>>,
}

impl Running {
    pub(super) fn start(supervisor: &Supervisor, test: Test) -> Result<Running, Error> {
        let (slot, prepared) = supervisor.start_test(|| prepare(test.input))?;
        let handle = slot.handle().clone();
        let run = move || {
            let shortages = preflight(&prepared);
            let running = slot.run(prepared, None, |_| std::future::pending());
            let mut outcome = runtime()?.block_on(running)?;
            let warnings = shortages
                .iter()
                .map(|shortage| shortage.message().to_owned());
            outcome.report.warnings.extend(warnings);
            Ok(outcome.into())
        };
        let thread = std::thread::Builder::new()
            .name("lgoose".to_owned())
            .spawn(run)
            .map_err(|error| Error::cannot("start a thread", error))?;
        Ok(Running { handle, thread })
    }

    /// Stops the run once its running tasks have finished.
    pub fn stop(&self) {
        self.command(Command::Stop);
    }

    /// Sends a command to the run: to pause it, to change the number of users, and so on. A command that comes too late
    /// is not an error; use the [`handle`](Running::handle) to learn its effect.
    pub fn command(&self, command: Command) {
        drop(self.handle.send(command));
    }

    /// Returns the handle, which steers and watches the run from any thread.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Returns the latest figures, updated four times a second; `None` before the first.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.handle.snapshot()
    }

    /// Waits for the end of the run.
    ///
    /// # Errors
    /// Returns the trouble that kept the run from starting. Later trouble is in the outcome, next to the figures.
    pub fn wait(self) -> Result<Outcome, Error> {
        let fault = |_| Error::trouble("the run ended because of a bug in lgoose".to_owned());
        self.thread.join().map_err(fault)?
    }
}

/// Result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The figures, the ending of the run and the settings of its load. Without a verdict as long as logs are still being
    /// written.
    pub report: Report,
    /// Trouble inside lgoose, if any; the figures of the report are still correct.
    pub trouble: Option<Error>,
    /// The plan as it was at the end, if it has an `on("report")` function.
    reporting: Option<Arc<Program>>,
}

impl From<lgoose_engine::Outcome> for Outcome {
    fn from(outcome: lgoose_engine::Outcome) -> Outcome {
        Outcome {
            report: outcome.report,
            trouble: outcome.trouble,
            reporting: outcome.has_report_hook.then_some(outcome.program),
        }
    }
}

impl Outcome {
    /// Passes the report to the plan's `on("report")` function, and returns the texts and files that it makes: at most one
    /// text, or files in the order of their names. Writes nothing itself; returns nothing if the plan has no such
    /// function.
    ///
    /// ```
    /// use lgoose::report::Written;
    ///
    /// # fn main() -> Result<(), lgoose::Error> {
    /// let plan = r#"
    ///   on("report", function(report) return report.aggregated.count .. " requests" end)
    ///   task { function(user) user:get "/api/products/1" end }
    /// "#;
    /// let test = lgoose::Test::from_source(plan).host("demo:api").users(1).iterations(2);
    /// let outcome = test.start()?.wait()?;
    /// assert_eq!(outcome.summary()?, [Written::Text(b"2 requests".to_vec())]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns trouble that names the error that the function raised, or the value it returned that cannot be written.
    pub fn summary(&self) -> Result<Vec<Written>, Error> {
        match &self.reporting {
            Some(program) => loading::summary_call(program, &self.report, None, Arc::default())?(),
            None => Ok(Vec::new()),
        }
    }
}
