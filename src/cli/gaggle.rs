//! Options of a run on many machines: those of its manager, its workers, and of whoever looks at them.

use super::values::{at_least_one, label, threads};
use clap::{Args, ValueEnum};
use lgoose_base::units;
use lgoose_plan::config::Output;
use std::path::PathBuf;
use std::time::Duration;

/// How the broker is reached, beside its URL.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct NatsArgs {
    /// File with the credentials for the broker, as written by 'nsc'
    #[arg(long, value_name = "FILE", env = "LGOOSE_NATS_CREDS", hide_env = true)]
    pub nats_creds: Option<PathBuf>,
    /// Certificates to trust for the broker, PEM
    #[arg(long, value_name = "FILE", env = "LGOOSE_NATS_CA", hide_env = true)]
    pub nats_ca: Option<PathBuf>,
    /// Client certificate for the broker, PEM
    #[arg(long, value_name = "FILE", env = "LGOOSE_NATS_CERT", hide_env = true)]
    pub nats_cert: Option<PathBuf>,
    /// Key of that certificate, PEM [default: the same file]
    #[arg(long, value_name = "FILE", env = "LGOOSE_NATS_KEY", hide_env = true)]
    pub nats_key: Option<PathBuf>,
}

/// A broker, and how it is reached.
#[derive(Debug, Args)]
pub(crate) struct BrokerArgs {
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
    pub reached: NatsArgs,
}

/// Options of a run whose users are on other machines.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct GaggleArgs {
    /// Run all users on this many workers ('lgoose worker'), which get the plan from here
    ///
    /// Without --nats, lgoose starts the 'nats-server' of this machine for the run, and prints the command that starts a
    /// worker.
    #[arg(long, value_name = "N", value_parser = at_least_one::<usize>, conflicts_with_all = ["once", "part"])]
    pub workers: Option<usize>,
    /// The broker that connects them: nats://[TOKEN@ or USER:PASSWORD@]HOST[:4222], or tls://…
    #[arg(long, value_name = "URL", hide_env_values = true)]
    pub nats: Option<String>,
    /// How the broker is reached.
    #[command(flatten)]
    pub reached: NatsArgs,
    /// Where the broker started by lgoose listens, such as 0.0.0.0:4222 [default: 127.0.0.1 and a free port]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "nats")]
    pub nats_listen: Option<String>,
    /// How long to wait for workers [default: 60s]
    #[arg(long, value_name = "D", value_parser = units::duration)]
    pub workers_timeout: Option<Duration>,
    /// What to do if a worker is lost: 'continue' without it, 'replace' it by a free one, 'spread' its load over the others,
    /// or 'stop' [default: continue]
    #[arg(long, value_name = "WHAT")]
    pub on_worker_loss: Option<OnLoss>,
}

/// Policy of a run that loses a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnLoss {
    Continue,
    Replace,
    Spread,
    Stop,
}

/// `lgoose attach`.
#[derive(Debug, Args)]
#[command(
    after_help = "If the manager of the run gives signs of life, this command only watches it: Ctrl-C leaves the run, and it goes \
        on. If the manager is lost, this command leads the run: you can steer and stop it, and its report is written at its \
        end. The figures are those of the whole run, because the broker has kept them. The exit code is then that of the run."
)]
pub(crate) struct AttachArgs {
    /// The run, as 'lgoose gaggle' lists it
    pub run: String,
    /// The broker.
    #[command(flatten)]
    pub broker: BrokerArgs,
    /// Write a report, as 'lgoose PLAN' does (repeatable)
    #[arg(short, long, value_name = "FORMAT=PATH", value_parser = Output::parse)]
    pub output: Vec<Output>,
    /// Print lines instead of the live view
    #[arg(long)]
    pub headless: bool,
    /// Close the live view when the run is over
    #[arg(long)]
    pub exit: bool,
    /// Print nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// `lgoose worker`.
#[derive(Debug, Args)]
#[command(
    after_help = "A worker needs no files: it gets plan, modules and data from the run ('--workers'). It serves one run after \
        another until Ctrl-C. It stops its users if it has not reached the broker for 40 s. It runs any plan that the broker's \
        accounts let through; '--allow-host' limits where it can send requests."
)]
pub(crate) struct WorkerArgs {
    /// The broker.
    #[command(flatten)]
    pub broker: BrokerArgs,
    /// The name in tables and reports [default: the machine's]
    #[arg(long)]
    pub name: Option<String>,
    /// A label such as region=eu; reports compare the workers of each label (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub label: Vec<(String, String)>,
    /// Threads that drive users [default: one for each core]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Send requests to these hosts only, '*' for any text (repeatable)
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// End after one run
    #[arg(long)]
    pub once: bool,
    /// Log more: what fails and is tried again
    #[arg(short, long)]
    pub verbose: bool,
    /// Memory that the process may use [default: most of what the machine has]
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub memory: Option<u64>,
    /// Memory that the data files of a plan may take together [default: what is left of --memory]
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub data_memory: Option<u64>,
}

/// `lgoose gather`.
#[derive(Debug, Args)]
#[command(
    after_help = "A gather is for runs with more workers than one manager can add up. Start one or more before the run, near the \
        workers or next to a leaf node of the broker. It needs no files and serves any number of runs until Ctrl-C. It keeps \
        nothing that the broker does not have: if it dies, the manager goes on without it, and another one can take its place."
)]
pub(crate) struct GatherArgs {
    /// The broker.
    #[command(flatten)]
    pub broker: BrokerArgs,
    /// Add up the figures of workers with this label, such as region=eu (repeatable: with any of them)
    #[arg(long, value_name = "KEY=VALUE", value_parser = label, required = true)]
    pub label: Vec<(String, String)>,
    /// The name in lists and warnings [default: the machine's]
    #[arg(long)]
    pub name: Option<String>,
}
