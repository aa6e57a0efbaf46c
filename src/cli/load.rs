//! Options of the load of `lgoose PLAN`.

use super::values::{TestPlan, at_least_one, test_plan, users, whole};
use clap::Args;
use lgoose_base::units;
use lgoose_plan::config::{LoadPart, LoadStage, Spacing};
use std::time::Duration;

/// Options of the load: users or iterations over time.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadArgs {
    /// Concurrent users [default: number of cores]
    #[arg(short, long, value_name = "N", visible_aliases = ["clients", "vus"], short_alias = 'c', value_parser = users)]
    pub users: Option<u64>,
    /// Users started per second, such as 10 or 0.5/s [default: 1]
    ///
    /// More if all users would otherwise take longer than a tenth of the run time to start. With a URL instead of a plan, all
    /// start at once. The first line of a run says how long the start takes.
    #[arg(short = 'r', long, value_name = "RATE", visible_aliases = ["spawn-rate", "increase-rate"], value_parser = units::rate)]
    pub hatch_rate: Option<f64>,
    /// Start all users within this time instead
    #[arg(long, value_name = "D", value_parser = units::duration)]
    pub startup_time: Option<Duration>,
    /// Run this long once all users have started [default: until Ctrl-C]
    #[arg(short = 't', long, value_name = "D", visible_alias = "duration", short_alias = 'd', value_parser = units::duration)]
    pub run_time: Option<Duration>,
    /// A stage: its duration and the users at its end, or 5m:200/s for a rate (repeatable)
    #[arg(long, value_name = "D:USERS", visible_alias = "stages", value_parser = LoadStage::parse, value_delimiter = ';')]
    pub stage: Vec<LoadStage>,
    /// All stages at once, as in "10,5m;10,30m;0,1m"
    #[arg(long, value_name = "USERS,D;…", value_parser = test_plan)]
    pub test_plan: Option<TestPlan>,
    /// Start this many iterations per second, however long responses take
    #[arg(long, value_name = "RATE", value_parser = units::rate)]
    pub rate: Option<f64>,
    /// With a rate: the maximum of concurrent users [default: 1000]
    #[arg(long, value_name = "N", value_parser = users)]
    pub max_users: Option<u64>,
    /// With a rate: start iterations even (at equal intervals) or poisson (at random) [default: even]
    #[arg(long, value_name = "SPACING", value_parser = Spacing::parse)]
    pub arrivals: Option<Spacing>,
    /// Send at most this many requests per second, all users together
    #[arg(long, value_name = "RATE", value_parser = units::rate)]
    pub throttle_requests: Option<f64>,
    /// Multiply every pause of the plan: 0.1 for a tenth, 0 for none [default: 1]
    #[arg(long, value_name = "N", value_parser = units::factor)]
    pub wait_factor: Option<f64>,
    /// Run only the scenarios with this name, '*' for any text (repeatable)
    #[arg(long, value_name = "NAME")]
    pub scenario: Vec<String>,
    /// Run only the tasks that have one of these tags, on the task or its scenario (comma-separated)
    #[arg(long, value_name = "TAG,…", value_delimiter = ',')]
    pub tags: Vec<String>,
    /// Leave out the tasks that have one of these tags, on the task or its scenario (comma-separated)
    #[arg(long, value_name = "TAG,…", value_delimiter = ',')]
    pub exclude_tags: Vec<String>,
    /// Warm up this long, and keep the figures of that time separate
    #[arg(long, value_name = "D", value_parser = units::duration)]
    pub warmup: Option<Duration>,
    /// Discard the figures from before all users had started
    #[arg(long)]
    pub reset_stats: bool,
    /// Wait for a command before the first user starts: 'p' in the live view, or a command over HTTP
    #[arg(long, conflicts_with_all = ["once", "list"])]
    pub paused: bool,
    /// Run only this part of the load, such as 2/4; 'lgoose report' joins the parts' JSON reports
    ///
    /// Users, arrivals, unique rows of data and the ceiling on requests are divided by number, so that all parts together
    /// do what one run would do. Use the same plan, options and '--seed' on each machine, and start them at the same time.
    #[arg(long, value_name = "N/OF", value_parser = LoadPart::parse)]
    pub part: Option<LoadPart>,
    /// Iterations per user [default: no limit]
    #[arg(short, long, value_name = "N", value_parser = at_least_one::<u64>)]
    pub iterations: Option<u64>,
    /// Iterations of all users together; with a rate, the run ends after so many [default: no limit]
    #[arg(long, value_name = "N", visible_alias = "max-iterations", value_parser = at_least_one::<u64>)]
    pub shared_iterations: Option<u64>,
    /// Run one user per scenario for one iteration, and show every request
    #[arg(long, conflicts_with_all = ["users", "hatch_rate", "startup_time", "run_time", "stage", "test_plan", "rate", "max_users", "arrivals", "warmup", "reset_stats", "iterations", "shared_iterations"])]
    pub once: bool,
    /// Seed of all random choices, to repeat a run [default: random, shown in the report]
    #[arg(long, value_name = "N", value_parser = whole)]
    pub seed: Option<u64>,
    /// How long running tasks may take to finish after a stop [default: 30s]
    #[arg(long, value_name = "D", value_parser = units::duration)]
    pub stop_timeout: Option<Duration>,
    /// How long test_start may take; then it is cut off and the run does not start [default: 60s]
    #[arg(long, value_name = "D", value_parser = units::duration)]
    pub setup_timeout: Option<Duration>,
    /// How long test_stop may take; then it is cut off [default: 60s]
    #[arg(long, value_name = "D", value_parser = units::duration)]
    pub teardown_timeout: Option<Duration>,
}
