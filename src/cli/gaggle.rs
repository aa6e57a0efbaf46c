//! Options of a run on many machines: those of its manager, its workers, and of whoever looks at them.

use super::values::{at_least_one, label};
use crate::config::Output;
use crate::units;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// How the broker is reached, beside its URL.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct Nats {
    /// File with the credentials for the broker, as 'nsc' writes it
    #[arg(long, value_name = "FILE", env = "LGOOSE_NATS_CREDS", hide_env = true)]
    pub nats_creds: Option<PathBuf>,
    /// Certificates to trust for the broker, PEM
    #[arg(long, value_name = "FILE", env = "LGOOSE_NATS_CA", hide_env = true)]
    pub nats_ca: Option<PathBuf>,
    /// Certificate to show the broker, PEM
    #[arg(long, value_name = "FILE", env = "LGOOSE_NATS_CERT", hide_env = true)]
    pub nats_cert: Option<PathBuf>,
    /// Key of that certificate, PEM [default: the same file]
    #[arg(long, value_name = "FILE", env = "LGOOSE_NATS_KEY", hide_env = true)]
    pub nats_key: Option<PathBuf>,
}

/// A broker, and how it is reached.
#[derive(Debug, Args)]
pub(crate) struct Broker {
    /// The broker: nats://[TOKEN@ or USER:PASSWORD@]HOST[:4222], or tls://…; also from LGOOSE_NATS
    #[arg(
        value_name = "URL",
        env = "LGOOSE_NATS",
        hide_env = true,
        hide_env_values = true
    )]
    pub url: String,
    /// How the broker is reached.
    #[command(flatten)]
    pub reached: Nats,
}

/// Options of a run whose users are on other machines.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct Workers {
    /// Run all users on so many workers ('lgoose worker'), which get the plan from here
    ///
    /// Without --nats lgoose starts the 'nats-server' of this machine for the run, and prints the line that starts a
    /// worker.
    #[arg(long, value_name = "N", value_parser = at_least_one::<usize>, conflicts_with_all = ["once", "part"])]
    pub workers: Option<usize>,
    /// The broker that joins them: nats://[TOKEN@ or USER:PASSWORD@]HOST[:4222], or tls://…
    #[arg(long, value_name = "URL", hide_env_values = true)]
    pub nats: Option<String>,
    /// How the broker is reached.
    #[command(flatten)]
    pub reached: Nats,
    /// Where a broker that lgoose starts listens, such as 0.0.0.0:4222 [default: 127.0.0.1 and a free port]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "nats")]
    pub nats_listen: Option<String>,
    /// How long to wait for workers [default: 60s]
    #[arg(long, value_name = "D", value_parser = units::duration)]
    pub workers_timeout: Option<Duration>,
    /// What a worker's loss means: 'continue' without it, 'replace' it by a free one, or 'stop' [default: continue]
    #[arg(long, value_name = "WHAT")]
    pub on_worker_loss: Option<OnLoss>,
}

/// What becomes of a run that loses a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnLoss {
    Continue,
    Replace,
    Stop,
}

/// `lgoose attach`.
#[derive(Debug, Args)]
#[command(
    after_help = "A run whose manager gives signs of life is watched: Ctrl-C leaves it, and it goes on. One whose manager is \
        lost is led from here on: it can be steered and stopped, and its report is written at its end. The figures are \
        those of the whole run, since the broker has kept them. Afterwards the exit code is that of the run."
)]
pub(crate) struct Attach {
    /// The run, as 'lgoose gaggle' lists it
    pub run: String,
    /// The broker.
    #[command(flatten)]
    pub broker: Broker,
    /// Write a report, as 'lgoose PLAN' does (repeatable)
    #[arg(short, long, value_name = "FORMAT=PATH", value_parser = Output::parse)]
    pub output: Vec<Output>,
    /// Print lines instead of the live view
    #[arg(long)]
    pub headless: bool,
    /// Leave the live view when the run is over
    #[arg(long)]
    pub exit: bool,
    /// Print nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// `lgoose worker`.
#[derive(Debug, Args)]
#[command(
    after_help = "A worker needs no files: plan, modules and data come from whoever starts a run with '--workers'. It runs one \
        after another until Ctrl-C, and stops its users when it has not reached the broker for 40 s. It runs any plan that \
        the broker's accounts let through: '--allow-host' bounds where it can send."
)]
pub(crate) struct Worker {
    /// The broker.
    #[command(flatten)]
    pub broker: Broker,
    /// The name in tables and reports [default: the machine's]
    #[arg(long)]
    pub name: Option<String>,
    /// A label such as region=eu; reports compare the workers of each (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub label: Vec<(String, String)>,
    /// Threads that drive users [default: one for each core]
    #[arg(long, value_name = "N", value_parser = at_least_one::<usize>)]
    pub threads: Option<usize>,
    /// Send to these hosts only, '*' for any text (repeatable)
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// End after one run
    #[arg(long)]
    pub once: bool,
    /// Say more: what fails and is tried again
    #[arg(short, long)]
    pub verbose: bool,
    /// Memory that the process may take [default: most of what the machine has]
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub memory: Option<u64>,
}

/// `lgoose gather`.
#[derive(Debug, Args)]
#[command(
    after_help = "For runs of more workers than one manager adds up: start one or more before the run, near the workers or \
        next to a leaf node of the broker. It needs no files, serves any number of runs until Ctrl-C, and keeps nothing that \
        the broker does not have: when it dies, the manager goes on without it, and another one can take its place."
)]
pub(crate) struct Gather {
    /// The broker.
    #[command(flatten)]
    pub broker: Broker,
    /// Add up the figures of workers with this label, such as region=eu (repeatable: with any of them)
    #[arg(long, value_name = "KEY=VALUE", value_parser = label, required = true)]
    pub label: Vec<(String, String)>,
    /// The name in lists and warnings [default: the machine's]
    #[arg(long)]
    pub name: Option<String>,
}
