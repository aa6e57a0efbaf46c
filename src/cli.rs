//! What was typed. Every option is optional here and also an environment variable `LGOOSE_*`; what they
//! mean together is decided in `config`.

mod run;

pub use run::Run;

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

/// What is asked of one call, not of every run.
const NOT_FROM_ENVIRONMENT: [&str; 7] = [
    "plan",
    "once",
    "http_debug",
    "list",
    "env",
    "help",
    "version",
];

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

/// Reads the command line of this process. What it asks for itself (`--help`, `--version`) and what is
/// wrong with it is printed here.
///
/// # Errors
/// The exit code with which the process has nothing left to do.
pub fn parse() -> Result<Cli, u8> {
    let matches = command().try_get_matches();
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
    command().render_help().to_string()
}

/// The command line, each option of a run a variable of the environment as well: `LGOOSE_` and its name.
/// Saying so at each would double the help.
fn command() -> clap::Command {
    Cli::command()
        .mut_args(|arg| {
            let name = arg.get_id().as_str().to_owned();
            match NOT_FROM_ENVIRONMENT.contains(&name.as_str()) {
                true => arg,
                false => arg
                    .env(format!("LGOOSE_{}", name.to_uppercase()))
                    .hide_env(true),
            }
        })
        .after_help(ENVIRONMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
