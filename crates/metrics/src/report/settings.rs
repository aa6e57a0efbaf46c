//! Everything that determined the load of a run, so that two runs can be compared: the options with their values, the
//! contents of the plan, and the machine. Contains no secrets: no environment variables, no header values, no proxy
//! passwords.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The options of a run, from all layers, with the names that flags and `plan {}` use. Durations are written as on the
/// command line, such as `60s`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RunSettings {
    /// The most concurrent users.
    pub users: u64,
    /// Users started per second; `null` for all at once.
    pub hatch_rate: Option<f64>,
    /// How long to run once all users have started; `null` if not set.
    pub run_time: Option<String>,
    /// Stages, such as `300s:100` for users or `300s:200/s` for a rate; empty if there are none.
    pub stages: Vec<String>,
    /// Iterations started per second; `null` in a run of users and with stages.
    pub rate: Option<f64>,
    /// How arrivals at a rate are spaced, `even` or `poisson`; `null` in a run of users.
    pub arrivals: Option<String>,
    /// Iterations per user; `null` without a limit.
    pub iterations: Option<u64>,
    /// Iterations of all users in total; `null` without a limit.
    pub shared_iterations: Option<u64>,
    /// Scenarios with their own load, each with a description of the load.
    pub own_loads: BTreeMap<String, String>,
    /// The most requests per second; `null` without a limit.
    pub throttle_requests: Option<f64>,
    /// Factor by which all pauses of the plan were multiplied.
    pub wait_factor: f64,
    /// The scenarios that were selected, with `*` for any text; empty for all.
    pub scenarios: Vec<String>,
    /// The tags of the tasks that were selected; empty for all.
    pub tags: Vec<String>,
    /// The tags of the tasks that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_tags: Vec<String>,
    /// Length of the warm-up, whose figures were kept separate; `null` without one.
    pub warmup: Option<String>,
    /// Whether the figures from before all users had started were dropped.
    pub reset_stats: bool,
    /// How long running tasks had to finish after a stop.
    pub stop_timeout: String,
    /// Timeout of a request.
    pub timeout: String,
    /// Limit on the response body that was read, in bytes.
    pub max_body: u64,
    /// HTTP version, `1.1` or `2`; `any` for the one that the server offered.
    pub http: String,
    /// HTTP client that sent the requests, `direct` or `reqwest`.
    pub client: String,
    /// The proxy without its user and password, `env`, or `none`.
    pub proxy: String,
    /// Whether every certificate was trusted.
    pub insecure: bool,
    /// Names of the additional headers of every request.
    pub headers: Vec<String>,
    /// Hosts that were not looked up, each as `HOST:PORT:ADDRESS`.
    pub resolve: Vec<String>,
    /// How long a DNS response was cached; `null` for the whole run.
    pub dns_ttl: Option<String>,
    /// The local addresses that connections came from, with commas between them; `null` for any.
    pub local_address: Option<String>,
    /// Whether each request used a new connection.
    pub no_keepalive: bool,
    /// Whether cookies were not kept.
    pub no_cookies: bool,
    /// The number of redirects that were followed before another one counted as the response; `null`: ten, before
    /// another one counted as a failure.
    pub max_redirects: Option<u32>,
    /// Whether requests sent a `Referer` header.
    pub referer: bool,
    /// Whether users had a cache, as a browser does.
    pub cache: bool,
    /// How long users kept their connections: `user` for their lifetime, or `iteration`.
    pub connections: String,
    /// The most connections of a user to one host at the same time.
    pub connections_per_host: u32,
    /// The bodies that were only counted, and not kept: `none`, `successful` or `all`.
    pub discard: String,
    /// Whether users that were redirected to another host stayed there.
    pub sticky_follow: bool,
    /// The share of requests whose trace the site was asked to keep; `null` if requests had no trace context.
    pub trace_sample: Option<f64>,
    /// What requests without their own name were counted under: `task` or `path`.
    #[serde(default)]
    pub request_names: String,
    /// Cadence that late users were compared with; `disabled` if no requests were filled in.
    pub co_mitigation: String,
    /// The thresholds, written as on the command line.
    pub thresholds: Vec<String>,
    /// Whether a failed request, task or check set the exit code to 1.
    pub fail_on_error: bool,
    /// Whether saturation of lgoose set the exit code to 1.
    pub fail_on_saturation: bool,
    /// Whether thresholds were judged even if the run was cut short.
    pub allow_short: bool,
    /// Whether it was one iteration to look at (`--once`), by which no threshold is judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// Threads that drove users.
    pub threads: u64,
    /// Limit on the memory of a user's VM, in bytes.
    pub lua_memory: u64,
    /// Limit on the Lua time of a task between waits.
    pub lua_time: String,
    /// SHA-256 of the plan and of the modules and data files that it had read by the end of the run. Equal contents
    /// have the same hash, wherever the files are.
    pub plan_sha256: String,
    /// The machine of the run.
    pub machine: MachineRow,
}

/// The machine of a run, and the lgoose on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MachineRow {
    /// Name of the processor, as it reports it; empty if it has none.
    pub cpu_model: String,
    /// Cores that this process may use.
    pub cores: u64,
    /// Memory in bytes; `null` if unknown.
    pub memory_bytes: Option<u64>,
    /// Name, release and architecture of the kernel.
    pub kernel: String,
    /// Version and build of lgoose.
    pub lgoose: String,
}
