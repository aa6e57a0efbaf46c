//! The configuration of a run. [`Settings`] is one layer of it (command line, environment or `plan {}`), all
//! optional; [`Config`] is the meaning of all layers together, with every value that a run needs. It has three parts:
//! [`RunConfig`] is the same on every machine that takes part in a run, [`LocalConfig`] belongs to one machine, and
//! [`ScreenConfig`] to the terminal there.

mod co_mitigation;
mod load;
mod logs;
mod misfit;
mod output;
mod part;
mod settings;
mod target;
mod thresholds;
mod transport;
mod value;

pub(crate) use co_mitigation::CoMitigation;
pub(crate) use load::{Load, MOST_USERS, Spacing, Stage};
pub(crate) use logs::{LogFile, LogFormat, Logs};
pub(crate) use misfit::Misfit;
pub use output::Format;
pub(crate) use output::Output;
pub(crate) use part::{Part, share_of};
pub(crate) use settings::{Settings, unknown_word};
pub(crate) use target::{Http, Pin, address};
#[cfg(test)]
pub(crate) use thresholds::OPTIONS as THRESHOLD_OPTIONS;
pub(crate) use transport::{Client, Proxy};
pub use value::Value;

use crate::error::Diagnostic;
use crate::threshold::Threshold;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The details shown of each request during the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Show {
    /// No details: figures only.
    #[default]
    Nothing,
    /// A line for each request and its outcome.
    Requests,
    /// The headers and bodies too.
    Messages,
}

/// The configuration of a run, from all layers together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    /// What the run is, on whatever machines.
    pub run: RunConfig,
    /// What this machine does for it.
    pub local: LocalConfig,
    /// What the terminal shows of it.
    pub screen: ScreenConfig,
}

/// What a run is: the load, the target, how users behave, and how the figures are judged. Holds no path and nothing
/// else that differs from machine to machine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunConfig {
    /// The base URL; missing if neither the command line, the environment nor the plan has one.
    pub host: Option<String>,
    /// The most users at the same time.
    pub users: u64,
    /// The load: the number of users, or of iterations started, over time.
    pub load: Load,
    /// Users started per second.
    pub hatch_rate: f64,
    /// The run time once all users have started, or in all with stages or a rate; `None`: until stopped.
    pub run_time: Option<Duration>,
    /// Iterations per user; `None`: no limit.
    pub iterations: Option<u64>,
    /// The most requests per second of all users together.
    pub throttle_requests: Option<f64>,
    /// The factor by which every pause of the plan is multiplied.
    pub wait_factor: f64,
    /// The scenarios that run, `*` standing for any text; none: all.
    pub scenarios: Vec<String>,
    /// The tags of the tasks that run; none: all.
    pub tags: Vec<String>,
    /// The warm-up, whose figures are kept apart from those that count.
    pub warmup: Option<Duration>,
    /// Whether figures from before all users had started are dropped.
    pub reset_stats: bool,
    /// The time that running tasks may take to finish after a stop.
    pub stop_timeout: Duration,
    /// The time that `test_start` may take.
    pub setup_timeout: Duration,
    /// The time that `test_stop` may take.
    pub teardown_timeout: Duration,
    /// A request's timeout.
    pub timeout: Duration,
    /// The largest body read, in bytes.
    pub max_body: u64,
    /// Headers of every request.
    pub headers: BTreeMap<String, String>,
    /// The version of HTTP.
    pub http: Http,
    /// The client that sends the requests.
    pub client: Client,
    /// The proxy; only [`Client::Reqwest`] can use one.
    pub proxy: Proxy,
    /// Whether every certificate is trusted.
    pub insecure: bool,
    /// Addresses of hosts that are not looked up.
    pub resolve: Vec<Pin>,
    /// The time for which an answer of DNS is kept; `None`: for the whole run.
    pub dns_ttl: Option<Duration>,
    /// Whether connections are used again.
    pub keep_alive: bool,
    /// Whether cookies are kept.
    pub cookies: bool,
    /// Whether a user that is redirected to another host continues there.
    pub sticky_follow: bool,
    /// Whether and how the requests that late users could not make are filled in.
    pub co_mitigation: CoMitigation,
    /// Whether that was asked for: then the corrected figures are shown even if they are the same.
    pub co_wanted: bool,
    /// Limits that figures have to keep.
    pub thresholds: Vec<Threshold>,
    /// Whether a failed request or task makes the exit code 1.
    pub fail_on_error: bool,
    /// Whether lgoose being the bottleneck makes the exit code 1.
    pub fail_on_saturation: bool,
    /// Whether thresholds are judged also in a run that is cut short.
    pub allow_short: bool,
    /// The seed of all random choices.
    pub seed: u64,
    /// Memory a user's VM may take, in bytes.
    pub lua_memory: u64,
    /// Lua time that a task may take without waiting.
    pub lua_time: Duration,
}

/// What one machine does for a run: its share, its threads, the files it reads and writes, the address it has.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LocalConfig {
    /// Certificates to trust instead of the system's.
    pub ca: Option<PathBuf>,
    /// The client's certificate chain.
    pub cert: Option<PathBuf>,
    /// The client's private key; the certificate's file has it if there is none.
    pub key: Option<PathBuf>,
    /// The address that connections come from.
    pub local_address: Option<IpAddr>,
    /// The logs that are kept.
    pub logs: Logs,
    /// The part of the load that this process drives.
    pub part: Part,
    /// Threads that drive users.
    pub threads: usize,
    /// Memory that the process may take, in bytes; `None`: most of what the machine has.
    pub memory: Option<u64>,
    /// The details shown of each request.
    pub show: Show,
}

/// What the terminal shows of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScreenConfig {
    /// Whether only the tables at the end are printed.
    pub only_summary: bool,
    /// Whether the table of status codes is shown also when all are the same.
    pub status_codes: bool,
    /// The interval at which the running figures are printed; zero: never.
    pub running_metrics: Duration,
}

impl Config {
    /// Returns the meaning of the merged layers. `cores` is the default of users and threads, `seed` that of the
    /// seed.
    ///
    /// # Errors
    /// A [`Diagnostic`] that names two options that contradict each other.
    pub(crate) fn new(
        mut settings: Settings,
        cores: usize,
        seed: u64,
    ) -> Result<Config, Diagnostic> {
        let (load, users, run_time) = Load::of(&settings, cores as u64)?;
        let hatch_rate = match settings.startup_time {
            Some(time) if time.is_zero() => f64::INFINITY,
            Some(time) => users as f64 / time.as_secs_f64(),
            None => settings
                .hatch_rate
                .unwrap_or_else(|| load::usual_hatch_rate(users, run_time)),
        };
        let logs = Logs::of(&mut settings)?;
        let open = matches!(load, Load::Rate(..));
        let proxy = settings.proxy.unwrap_or_default();
        let local = LocalConfig {
            ca: settings.ca,
            cert: settings.cert,
            key: settings.key,
            local_address: settings.local_address,
            logs,
            threads: settings
                .threads
                .unwrap_or(cores)
                .clamp(1, users.max(1) as usize),
            memory: settings.memory,
            part: Part::WHOLE,
            show: Show::Nothing,
        };
        let screen = ScreenConfig {
            only_summary: settings.only_summary.unwrap_or(false),
            status_codes: settings.status_codes.unwrap_or(false),
            running_metrics: settings.running_metrics.unwrap_or(Duration::from_secs(10)),
        };
        let run = RunConfig {
            host: settings.host,
            users,
            hatch_rate,
            run_time,
            load,
            throttle_requests: settings.throttle_requests,
            wait_factor: settings.wait_factor.unwrap_or(1.0),
            scenarios: settings.scenarios.unwrap_or_default(),
            tags: settings.tags.unwrap_or_default(),
            warmup: settings.warmup,
            reset_stats: settings.reset_stats.unwrap_or(false),
            iterations: settings.iterations,
            stop_timeout: settings.stop_timeout.unwrap_or(Duration::from_secs(30)),
            setup_timeout: settings.setup_timeout.unwrap_or(Duration::from_secs(60)),
            teardown_timeout: settings.teardown_timeout.unwrap_or(Duration::from_secs(60)),
            timeout: settings.timeout.unwrap_or(Duration::from_secs(60)),
            max_body: settings.max_body.unwrap_or(64 << 20),
            headers: settings.headers.unwrap_or_default(),
            http: settings.http.unwrap_or_default(),
            client: transport::chosen(settings.client, &proxy)?,
            proxy,
            insecure: settings.insecure.unwrap_or(false),
            resolve: settings.resolve.unwrap_or_default(),
            dns_ttl: settings.dns_ttl,
            keep_alive: !settings.no_keepalive.unwrap_or(false),
            cookies: !settings.no_cookies.unwrap_or(false),
            sticky_follow: settings.sticky_follow.unwrap_or(false),
            co_mitigation: settings.co_mitigation.unwrap_or(match open {
                true => CoMitigation::Disabled,
                false => CoMitigation::Average,
            }),
            co_wanted: settings.co_mitigation.is_some(),
            thresholds: settings.thresholds.unwrap_or_default(),
            fail_on_error: settings.fail_on_error.unwrap_or(false),
            fail_on_saturation: settings.fail_on_saturation.unwrap_or(false),
            allow_short: settings.allow_short.unwrap_or(false),
            seed: settings.seed.unwrap_or(seed),
            lua_memory: settings.lua_memory.unwrap_or(settings::LUA_MEMORY),
            lua_time: settings.lua_time.unwrap_or(settings::LUA_TIME),
        };
        Ok(Config { run, local, screen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_overrides_only_what_it_sets() {
        let command_line = Settings {
            users: Some(30),
            ..Settings::default()
        };
        let mut plan = Settings::default();
        plan.set("users", &Value::Number(5.0)).expect("valid");
        plan.set("run_time", &Value::Text("1m".to_owned()))
            .expect("valid");
        let config = Config::new(command_line.over(plan), 2, 1).expect("valid");
        assert_eq!(
            (config.run.users, config.run.run_time),
            (30, Some(Duration::from_secs(60)))
        );
    }

    #[test]
    fn rate_and_startup_time_together_are_refused() {
        let settings = Settings {
            hatch_rate: Some(1.0),
            startup_time: Some(Duration::from_secs(1)),
            ..Settings::default()
        };
        assert!(Config::new(settings, 1, 0).is_err());
    }
}
