//! Everything that decided the load of a run, so that two runs can be compared: the options with their values,
//! what the plan was made of, and the machine. Holds no secret: no variable of the environment, no value of a header,
//! no password of a proxy.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The options of a run, all layers together, under the names that flags and `plan {}` have for them. Durations are
/// texts that the command line takes, such as `60s`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct RunSettings {
    /// Users at the same time, at most.
    pub users: u64,
    /// Users started per second; `null` is all at once.
    pub hatch_rate: Option<f64>,
    /// How long to run once all users have started; `null` without such a time.
    pub run_time: Option<String>,
    /// Stages: `300s:100` for users, `300s:200/s` for a rate; empty without any.
    pub stages: Vec<String>,
    /// Iterations started per second; `null` in a run of users and with stages.
    pub rate: Option<f64>,
    /// How arrivals at a rate are spaced, `even` or `poisson`; `null` in a run of users.
    pub arrivals: Option<String>,
    /// Iterations per user; `null` without a limit.
    pub iterations: Option<u64>,
    /// Iterations of all users together; `null` without a limit.
    pub shared_iterations: Option<u64>,
    /// The loads that scenarios have for themselves, in words, by the names of the scenarios.
    pub own_loads: BTreeMap<String, String>,
    /// The ceiling on requests per second; `null` without one.
    pub throttle_requests: Option<f64>,
    /// Factor by which every pause of the plan was multiplied.
    pub wait_factor: f64,
    /// The scenarios that were chosen, `*` for any text; empty for all.
    pub scenarios: Vec<String>,
    /// The tags of the tasks that were chosen; empty for all.
    pub tags: Vec<String>,
    /// The tags of the tasks that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_tags: Vec<String>,
    /// Length of the warm-up, whose figures were kept apart; `null` without one.
    pub warmup: Option<String>,
    /// Whether what came before all users had started was dropped.
    pub reset_stats: bool,
    /// How long running tasks might take to finish after a stop.
    pub stop_timeout: String,
    /// The timeout of a request.
    pub timeout: String,
    /// The largest body that was read, in bytes.
    pub max_body: u64,
    /// HTTP version that was spoken, `1.1` or `2`; `any` is the one that the server offered.
    pub http: String,
    /// HTTP client that sent the requests, `direct` or `reqwest`.
    pub client: String,
    /// The proxy without its user and password, `env`, or `none`.
    pub proxy: String,
    /// Whether every certificate was trusted.
    pub insecure: bool,
    /// The names of the headers that every request had beside the usual ones.
    pub headers: Vec<String>,
    /// Addresses that were not looked up, `HOST:PORT:ADDRESS` each.
    pub resolve: Vec<String>,
    /// How long an answer of DNS was kept; `null` for the whole run.
    pub dns_ttl: Option<String>,
    /// The address of the machine that connections came from; `null` for any.
    pub local_address: Option<String>,
    /// Whether each request had a connection of its own.
    pub no_keepalive: bool,
    /// Whether cookies were not kept.
    pub no_cookies: bool,
    /// The number of redirects after which the next one was the answer; `null`: it was a failure, after ten.
    pub max_redirects: Option<u32>,
    /// Whether requests said which page they came from.
    pub referer: bool,
    /// Whether users kept what a browser would not ask for again.
    pub cache: bool,
    /// How long users kept their connections: `user`, as long as they lived, or `iteration`.
    pub connections: String,
    /// Whether a user that was redirected to another host went on there.
    pub sticky_follow: bool,
    /// The share of requests whose trace the site was asked to keep; `null` if requests had no trace context.
    pub trace_sample: Option<f64>,
    /// What requests without a name of their own were counted under: `task` or `path`.
    #[serde(default)]
    pub request_names: String,
    /// Cadence that late users were compared with; `disabled` if nothing was filled in.
    pub co_mitigation: String,
    /// The thresholds, as the command line takes them.
    pub thresholds: Vec<String>,
    /// Whether a failed request or task was to make the exit code 1.
    pub fail_on_error: bool,
    /// Whether lgoose being the bottleneck was to make the exit code 1.
    pub fail_on_saturation: bool,
    /// Whether thresholds were to be judged also in a run that is cut short.
    pub allow_short: bool,
    /// Whether it was one iteration to look at (`--once`), by which no threshold is judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// Threads that drove users.
    pub threads: u64,
    /// Memory that a user's VM might take, in bytes.
    pub lua_memory: u64,
    /// Lua time that a task might take without waiting.
    pub lua_time: String,
    /// SHA-256 of the plan and of the modules and data files that it had read by the end of the run: equal for equal
    /// contents, wherever they are.
    pub plan_sha256: String,
    /// The machine that it ran on.
    pub machine: MachineRow,
}

/// The machine of a run, and the lgoose on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct MachineRow {
    /// The processor's own name; empty if it has none.
    pub cpu_model: String,
    /// Cores that this process may use.
    pub cores: u64,
    /// Memory in bytes; `null` if it is not known.
    pub memory_bytes: Option<u64>,
    /// The kernel's name, release and architecture.
    pub kernel: String,
    /// The version and the build of lgoose.
    pub lgoose: String,
}
