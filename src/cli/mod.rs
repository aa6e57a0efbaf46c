//! The command line as it was typed. Every option is optional here and also an environment variable `LGOOSE_*`;
//! `config` combines the options.

mod audit;
mod brief;
mod capacity;
mod check;
mod compare;
mod demo;
mod doctor;
mod elsewhere;
mod export;
mod fitting;
mod gaggle;
mod help;
mod import;
mod load;
mod masked;
mod new;
mod one_request;
mod outputs;
mod run;
mod saved;
mod serve;
mod traces;
mod values;
mod web;
mod words;

pub(crate) use audit::AuditArgs;
pub(crate) use capacity::{CapacityArgs, STEP_TIME_MAX, SearchVariable};
pub(crate) use check::CheckArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use demo::DemoArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use export::ExportArgs;
pub(crate) use gaggle::{
    AttachArgs, BrokerArgs, GaggleArgs, GatherArgs, NatsArgs, OnLoss, WorkerArgs,
};
pub(crate) use help::HelpArgs;
pub(crate) use import::ImportArgs;
pub(crate) use new::{NewArgs, PlanTemplate};
pub(crate) use one_request::OneRequest;
pub(crate) use run::RunArgs;
pub(crate) use saved::ReportArgs;
pub(crate) use serve::ServeArgs;
pub(crate) use traces::TraceArgs;
pub(crate) use web::{LingerArgs, WebArgs, WebPlace};
pub(crate) use words::misspelt_variables;

use clap::builder::BoolishValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;
use fitting::{fitting, searching};
use lgoose_base::error::{Diagnostic, exit};
use lgoose_plan::config::Output;

const EXAMPLES: &str = "\
Examples:
  lgoose new load-test                         # write a plan to start from
  lgoose check plan.lua                        # look for mistakes, send nothing
  lgoose plan.lua -H http://127.0.0.1 --once   # one user, every request shown
  lgoose plan.lua -H http://127.0.0.1 -u 12 -t 10m   # twelve users, 10 minutes
  lgoose http://127.0.0.1/page -u 50 -t 3s     # one page, without a plan
";

/// Flags of a single call, which have no environment variable.
const NOT_FROM_ENVIRONMENT: [&str; 14] = [
    "plan",
    "plans",
    "data",
    "method",
    "body",
    "stream",
    "once",
    "http_debug",
    "list",
    "env",
    "allow_files",
    "brief",
    "help",
    "version",
];

const ENVIRONMENT: &str = "\
Every option of a run can also be set in the environment: LGOOSE_USERS, LGOOSE_HATCH_RATE and so on. A flag without
a value is set by 1, true, yes or on. An empty variable counts as none.
A plan can set them, too. The command line comes first, then the environment, then the plan.";

/// A load tester whose test plans are Lua scripts.
#[derive(Debug, Parser)]
#[command(name = "lgoose", version, long_version = long_version(), before_help = EXAMPLES, args_conflicts_with_subcommands = true, disable_help_flag = true, disable_help_subcommand = true)]
#[command(override_usage = "lgoose <PLAN.lua | URL | URLS.txt> [options]\n       lgoose <COMMAND>")]
pub(crate) struct Cli {
    /// A command other than running a plan.
    #[command(subcommand)]
    pub command: Option<CliCommand>,
    /// The plan and how to run it.
    #[command(flatten)]
    pub run: RunArgs,
    /// List the options on one screen
    #[arg(short = 'h', help_heading = "Help")]
    pub brief: bool,
    /// Explain the options
    #[arg(long, help_heading = "Help", action = ArgAction::HelpLong)]
    help: Option<bool>,
}

/// The commands beside running a plan.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Load a plan, and show its scenarios and one iteration; send nothing
    Check(CheckArgs),
    /// Write a first plan, and the files that an editor needs to complete and check it
    New(NewArgs),
    /// Write a plan from a recorded visit (HAR), curl command lines, a Postman collection, an OpenAPI document, or a test
    /// of JMeter, Artillery or k6
    Import(ImportArgs),
    /// Run one of the built-in sites, drupal, umami, api, llm or redis, until Ctrl-C
    Demo(DemoArgs),
    /// Show a run saved with '-o json=FILE', or write it in other formats
    Report(ReportArgs),
    /// Compare runs before and after a change: what is slower, what is faster, what is chance
    Compare(CompareArgs),
    /// Compare a run with the access logs of the site: what either side lacks, and how much of the latency was on the way
    Audit(AuditArgs),
    /// Check whether this machine can run this many users, and say what to change
    Doctor(DoctorArgs),
    /// Search for the greatest load at which a site keeps its limits
    Capacity(Box<CapacityArgs>),
    /// Serve runs on workers ('--workers'), one after another, until Ctrl-C
    Worker(WorkerArgs),
    /// Add up the figures of many workers, so that a manager has less to do
    Gather(GatherArgs),
    /// List the workers, the gathers and the runs at a broker
    Gaggle(BrokerArgs),
    /// Watch a run on workers from anywhere, or take over a run whose manager is lost
    Attach(AttachArgs),
    /// Serve a page and an API to run plans, one after another, and keep the runs, until Ctrl-C
    Serve(ServeArgs),
    /// Do what 'lgoose serve' says over standard input.
    #[command(hide = true)]
    Hosted,
    /// Print the completion script for a shell, such as: lgoose completions bash >>~/.bashrc
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, as in: lgoose man >lgoose.1
    Man,
    /// Explain a command, a page of the documentation, or a name of the language: lgoose help thresholds
    Help(HelpArgs),
}

/// Parses the command line of this process. Help and version (`--help`, `--version`) and errors are printed here.
///
/// # Errors
/// The exit code, if nothing is left for the process to do.
pub(crate) fn parse() -> Result<Cli, u8> {
    // A path that is no text is not one that could be mistaken for a word.
    let texts = std::env::args_os().map(|word| word.into_string().ok());
    let arguments = texts
        .collect::<Option<Vec<String>>>()
        .map(words::without_run);
    let matches = match &arguments {
        Some(arguments) => command().try_get_matches_from(arguments),
        None => command().try_get_matches(),
    };
    matches
        .and_then(|matches| {
            let cli = Cli::from_arg_matches(&matches)?;
            let misfit = match (&cli.command, matches.subcommand()) {
                (Some(CliCommand::Capacity(search)), Some((_, matches))) => {
                    searching(matches, search)
                }
                _ => fitting(&matches, &cli.run),
            };
            misfit.map_err(|(kind, message)| command().error(kind, message))?;
            apart(&cli)?;
            Ok(with_flags_of_command(cli))
        })
        .map_err(|error| {
            let error = match &arguments {
                Some(arguments) => words::with_remedy(error, arguments),
                None => error,
            };
            // Nobody reads the message if the terminal is gone.
            let _gone = error.print();
            if error.use_stderr() {
                exit::MISTAKE
            } else {
                exit::OK
            }
        })
}

/// Parses the arguments of a run that another command starts: one that 'lgoose serve' hosts, or that is compared.
///
/// # Errors
/// The error in them, as it would be printed, without the usage.
pub(crate) fn parse_run(arguments: impl IntoIterator<Item = String>) -> Result<RunArgs, String> {
    let all = std::iter::once("lgoose".to_owned()).chain(arguments);
    let parsed = command().try_get_matches_from(all).and_then(|matches| {
        let cli = Cli::from_arg_matches(&matches)?;
        fitting(&matches, &cli.run).map_err(|(kind, message)| command().error(kind, message))?;
        Ok(cli.run)
    });
    parsed.map_err(|error| {
        let text = error.to_string();
        let message = text.split("\n\nUsage:").next().unwrap_or_default();
        let message = message.split("\n\nFor more information").next();
        message.unwrap_or_default().to_owned()
    })
}

/// Checks that no two reports go to one place.
fn apart(cli: &Cli) -> Result<(), clap::Error> {
    let outputs = match &cli.command {
        Some(CliCommand::Report(saved)) => &saved.output,
        Some(CliCommand::Compare(compare)) => &compare.output,
        Some(CliCommand::Audit(audit)) => &audit.output,
        Some(CliCommand::Capacity(search)) => &search.run.outputs.output,
        Some(CliCommand::Attach(attach)) => &attach.output,
        _ => &cli.run.outputs.output,
    };
    match Output::clash(outputs) {
        Some(message) => Err(command().error(ErrorKind::ArgumentConflict, message)),
        None => Ok(()),
    }
}

/// Makes the options that a command shares with a run options of that run.
fn with_flags_of_command(mut cli: Cli) -> Cli {
    match &cli.command {
        Some(CliCommand::Capacity(search)) => cli.run.screen.clone_from(&search.run.screen),
        Some(CliCommand::Worker(worker)) => cli.run.screen.verbose |= worker.verbose,
        Some(CliCommand::Attach(attach)) => {
            cli.run.outputs.output.clone_from(&attach.output);
            let screen = &mut cli.run.screen;
            screen.headless |= attach.headless;
            screen.exit |= attach.exit;
            screen.quiet |= attach.quiet;
        }
        _ => {}
    }
    cli
}

/// Returns version, commit, build, and versions of embedded libraries.
fn long_version() -> String {
    env!("CARGO_PKG_VERSION").to_owned() + &env!("LGOOSE_BUILD").replace("\\n", "\n")
}

/// Returns the one-screen help.
pub(crate) fn overview() -> String {
    brief::brief(&command())
}

/// Explains a command, a page of the documentation or a name of the language, for a terminal of so many columns; without a
/// topic, the options of a run.
///
/// # Errors
/// There is no such topic.
pub(crate) fn explain(what: &HelpArgs, columns: usize) -> Result<String, Diagnostic> {
    let mut command = command();
    let Some(topic) = &what.topic else {
        return Ok(command.render_long_help().to_string());
    };
    command.build();
    if let Some(command) = command.find_subcommand_mut(topic) {
        return Ok(command.render_long_help().to_string());
    }
    let commands = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    let commands: Vec<String> = commands
        .map(|command| command.get_name().to_owned())
        .collect();
    help::explain(topic, columns, &commands)
}

/// Returns the script with which a shell completes options.
pub(crate) fn completions(shell: Shell) -> Vec<u8> {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut command(), "lgoose", &mut out);
    out
}

/// Returns the manual page in roff, the language of man.
///
/// # Errors
/// None that writing to memory can have.
pub(crate) fn manual() -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    clap_mangen::Man::new(command()).render(&mut out)?;
    Ok(out)
}

/// Returns the command line, with an environment variable for each option of a run: `LGOOSE_` and its name. Naming
/// it at each option would double the help.
fn command() -> clap::Command {
    Cli::command()
        .mut_args(from_environment)
        .mut_subcommands(|command| {
            let command = command.arg(help_flag());
            match command.get_name() {
                "serve" => command.mut_args(from_environment),
                "capacity" => command.mut_args(|arg| match arg.get_help_heading() {
                    Some(capacity::HEADING) => arg,
                    _ => from_environment(arg).hide_short_help(true),
                }),
                _ => command,
            }
        })
        .after_help(ENVIRONMENT)
}

fn from_environment(arg: Arg) -> Arg {
    let name = arg.get_id().as_str();
    let variable = format!("LGOOSE_{}", name.to_uppercase());
    let is_empty = std::env::var_os(&variable).is_some_and(|value| value.is_empty());
    // An empty variable is how many a script sets none.
    if NOT_FROM_ENVIRONMENT.contains(&name) || is_empty {
        return arg;
    }
    let arg = match arg.get_action() {
        // 1, yes and on, too.
        ArgAction::SetTrue => arg.value_parser(BoolishValueParser::new()),
        _ => arg,
    };
    arg.env(variable).hide_env(true)
}

/// Returns the help flag of a command, whose options are few: `-h` and `--help` say the same.
fn help_flag() -> Arg {
    let help = Arg::new("help").short('h').long("help");
    help.action(ArgAction::HelpShort)
        .help("Explain the options of this command")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
