//! What was typed. Every option is optional here and also an environment variable `LGOOSE_*`; what they
//! mean together is decided in `config`.

use crate::config::{Output, Settings};
use crate::error::exit;
use crate::units;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  lgoose plans/drupal.lua -u 12 -t 10m         twelve users for ten minutes
  lgoose plan.lua -H http://127.0.0.1:8080      against another site
  lgoose plan.lua -u 500 -r 50 -t 5m           start 50 users a second
  lgoose check plan.lua                        look for mistakes, send nothing
  lgoose new load-test                         write a first plan to start from
  lgoose demo drupal --port 8080               a site to try it on";

const ENVIRONMENT: &str = "\
Every option of a run is also read from the environment: LGOOSE_USERS, LGOOSE_HATCH_RATE and so on.
A plan may set them too; the command line comes first, then the environment, then the plan.";

/// A load tester whose test plans are Lua scripts.
#[derive(Debug, Parser)]
#[command(name = "lgoose", version, before_help = EXAMPLES, args_conflicts_with_subcommands = true)]
#[command(override_usage = "lgoose <PLAN.lua> [options]\n       lgoose <COMMAND>")]
pub struct Cli {
    /// A command other than running a plan.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The plan and how to run it.
    #[command(flatten)]
    pub run: Run,
}

/// The commands beside running a plan.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load a plan, show its scenarios and one iteration, send nothing
    Check {
        /// The plan
        plan: PathBuf,
        /// Show the plan's call stack with an error
        #[arg(long)]
        backtrace: bool,
    },
    /// Write a first plan with what an editor needs to complete and check it
    New {
        /// The folder to write into, made if it is not there
        #[arg(default_value = ".")]
        dir: PathBuf,
    },
    /// Run one of the built-in sites
    Demo(Demo),
}

/// `lgoose demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Which site: drupal
    pub site: String,
    /// The port on 127.0.0.1; 0 takes any free one
    #[arg(long, default_value_t = 8080)]
    pub port: u16,
    /// Answer no sooner than after this time
    #[arg(long, value_parser = units::duration, default_value = "0", value_name = "D")]
    pub latency: Duration,
    /// Spread the latency by up to this much both ways
    #[arg(long, value_parser = units::duration, default_value = "0", value_name = "D")]
    pub jitter: Duration,
    /// Answer this share of the requests with a 500
    #[arg(long, value_parser = units::share, default_value = "0", value_name = "SHARE")]
    pub errors: f64,
}

/// `lgoose PLAN`.
#[derive(Debug, Args)]
pub struct Run {
    /// The plan, a Lua file; '-' reads it from standard input
    #[arg(value_name = "PLAN.lua")]
    pub plan: Option<PathBuf>,

    /// Users at the same time [default: number of cores]
    #[arg(
        short,
        long,
        env = "LGOOSE_USERS",
        help_heading = "Load",
        value_name = "N"
    )]
    #[arg(visible_aliases = ["clients", "vus"], short_alias = 'c', value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub users: Option<u64>,
    /// Users started per second, such as 10 or 0.5/s [default: 1]
    #[arg(
        short = 'r',
        long,
        env = "LGOOSE_HATCH_RATE",
        help_heading = "Load",
        value_name = "RATE"
    )]
    #[arg(visible_aliases = ["spawn-rate", "increase-rate"], value_parser = units::rate)]
    pub hatch_rate: Option<f64>,
    /// Start all users within this time instead
    #[arg(long, env = "LGOOSE_STARTUP_TIME", help_heading = "Load", value_name = "D", value_parser = units::duration)]
    pub startup_time: Option<Duration>,
    /// Run this long once all users have started [default: until Ctrl-C]
    #[arg(
        short = 't',
        long,
        env = "LGOOSE_RUN_TIME",
        help_heading = "Load",
        value_name = "D"
    )]
    #[arg(visible_alias = "duration", short_alias = 'd', value_parser = units::duration)]
    pub run_time: Option<Duration>,
    /// Iterations per user [default: no limit]
    #[arg(
        short,
        long,
        env = "LGOOSE_ITERATIONS",
        help_heading = "Load",
        value_name = "N"
    )]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub iterations: Option<u64>,
    /// One user per scenario, one iteration, every request shown
    #[arg(long, help_heading = "Load", conflicts_with_all = ["users", "hatch_rate", "startup_time", "run_time", "iterations"])]
    pub once: bool,
    /// With --once: show headers and bodies too
    #[arg(long, help_heading = "Screen", requires = "once")]
    pub http_debug: bool,
    /// Seed of all random choices, to repeat a run [default: random, shown in the report]
    #[arg(long, env = "LGOOSE_SEED", help_heading = "Load", value_name = "N")]
    pub seed: Option<u64>,
    /// How long running tasks may take to finish after a stop [default: 30s]
    #[arg(long, env = "LGOOSE_STOP_TIMEOUT", help_heading = "Load", value_name = "D", value_parser = units::duration)]
    pub stop_timeout: Option<Duration>,

    /// The site's base URL, or 'demo:drupal' for the built-in one
    #[arg(
        short = 'H',
        long,
        env = "LGOOSE_HOST",
        help_heading = "Target",
        value_name = "URL"
    )]
    pub host: Option<String>,
    /// A request's timeout [default: 60s]
    #[arg(long, env = "LGOOSE_TIMEOUT", help_heading = "Target", value_name = "D", value_parser = units::duration)]
    pub timeout: Option<Duration>,
    /// The largest body that is read [default: 64MiB]
    #[arg(long, env = "LGOOSE_MAX_BODY", help_heading = "Target", value_name = "SIZE", value_parser = units::size)]
    pub max_body: Option<u64>,

    /// Print the plan's scenarios and tasks, one per line, and run nothing
    #[arg(short, long, help_heading = "Screen")]
    pub list: bool,
    /// Print the tables at the end only
    #[arg(long, env = "LGOOSE_ONLY_SUMMARY", help_heading = "Screen")]
    pub only_summary: bool,
    /// Print nothing but errors
    #[arg(short, long, env = "LGOOSE_QUIET", help_heading = "Screen")]
    pub quiet: bool,
    /// Show the log of plans from 'debug' on
    #[arg(short, long, env = "LGOOSE_VERBOSE", help_heading = "Screen")]
    pub verbose: bool,
    /// Show the table of status codes also when all are the same
    #[arg(long, env = "LGOOSE_STATUS_CODES", help_heading = "Screen")]
    pub status_codes: bool,
    /// How often the running figures are printed
    #[arg(long, env = "LGOOSE_RUNNING_METRICS", help_heading = "Screen", value_name = "D", default_value = "10s", value_parser = units::duration)]
    pub running_metrics: Duration,
    /// Show the plan's call stack with an error
    #[arg(long, env = "LGOOSE_BACKTRACE", help_heading = "Screen")]
    pub backtrace: bool,

    /// Write a report, such as json=run.json or json=- (repeatable)
    #[arg(short, long, env = "LGOOSE_OUTPUT", help_heading = "Output", value_name = "FORMAT=PATH", value_parser = Output::parse)]
    pub output: Vec<Output>,

    /// Exit with 1 if any request or task failed
    #[arg(long, env = "LGOOSE_FAIL_ON_ERROR", help_heading = "Verdict")]
    pub fail_on_error: bool,

    /// Threads that drive users [default: number of cores]
    #[arg(
        long,
        env = "LGOOSE_THREADS",
        help_heading = "Machine",
        value_name = "N",
        value_parser = at_least_one
    )]
    pub threads: Option<usize>,
    /// A variable for the plan's env() (repeatable)
    #[arg(short, long, help_heading = "Machine", value_name = "NAME=VALUE", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// Memory that a user's VM may take [default: 64MiB]
    #[arg(long, env = "LGOOSE_LUA_MEMORY", help_heading = "Machine", value_name = "SIZE", value_parser = units::size)]
    pub lua_memory: Option<u64>,
    /// Lua that a task may compute without waiting [default: 1s]
    #[arg(long, env = "LGOOSE_LUA_TIME", help_heading = "Machine", value_name = "D", value_parser = units::duration)]
    pub lua_time: Option<Duration>,
}

impl Run {
    /// The options that a plan may also set, as one layer.
    pub fn settings(&self) -> Settings {
        Settings {
            host: self.host.clone(),
            users: self.users,
            hatch_rate: self.hatch_rate,
            startup_time: self.startup_time,
            run_time: self.run_time,
            iterations: self.iterations,
            stop_timeout: self.stop_timeout,
            timeout: self.timeout,
            max_body: self.max_body,
            headers: None,
            seed: self.seed,
            threads: self.threads,
            lua_memory: self.lua_memory,
            lua_time: self.lua_time,
        }
    }
}

/// Reads the command line of this process. What it asks for itself (`--help`, `--version`) and what is
/// wrong with it is printed here.
///
/// # Errors
/// The exit code with which the process has nothing left to do.
pub fn parse() -> Result<Cli, u8> {
    // Each option is a variable of the environment as well; saying so at each would double the help.
    let command = Cli::command()
        .mut_args(|arg| arg.hide_env(true))
        .after_help(ENVIRONMENT);
    let matches = command.try_get_matches();
    matches
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map_err(|error| {
            // Nothing is left to tell if the terminal is gone.
            let _gone = error.print();
            if error.use_stderr() {
                exit::MISTAKE
            } else {
                exit::OK
            }
        })
}

/// The one-screen help.
pub fn help() -> String {
    Cli::command()
        .mut_args(|arg| arg.hide_env(true))
        .after_help(ENVIRONMENT)
        .render_help()
        .to_string()
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("'{text}' is not a whole number of at least 1")),
        Ok(number) => Ok(number),
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("'{text}' is not a variable: write NAME=VALUE")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
