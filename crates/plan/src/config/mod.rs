//! The configuration of a run. [`Settings`] is one layer (command line, environment or `plan {}`), in which every
//! option may be missing; [`Config`] is the result of all layers, with every value that a run needs. It has three
//! parts: [`RunConfig`] is the same on every machine of a run, [`LocalConfig`] belongs to one machine, and
//! [`ScreenConfig`] to its terminal.

mod co_mitigation;
mod environment_proxies;
mod load;
mod load_samples;
mod load_stage;
mod logs;
mod misfit;
mod output;
mod own_limits;
mod own_load;
mod part;
mod request_names;
mod settings;
mod summary;
mod target;
mod thresholds;
mod transport;
mod unknown_word;
mod value;

pub use co_mitigation::MitigationCadence;
pub use environment_proxies::EnvironmentProxies;
pub use load::{Load, MOST_THREADS, Spacing, agree, start_at_once};
pub use load_samples::LoadSamples;
pub use load_stage::{Goal, LoadStage, MOST_USERS};
pub use logs::{LogFile, LogFormat, Logs};
pub(crate) use misfit::Misfit;
pub use output::{Format, Output};
pub use own_limits::check_own_limits;
pub use own_load::{OwnLoad, OwnLoadSettings};
pub use part::{LoadPart, share_of};
pub use request_names::RequestNames;
use settings::Derived;
pub use settings::{RunConfig, SettingFile, Settings};
pub use summary::SummaryExtent;
pub use target::{Http, Pin, address};
pub use thresholds::{OPTIONS as THRESHOLD_OPTIONS, scenario_thresholds};
pub use transport::{
    ClientKind, ConnectionLifetime, DiscardedBodies, Proxy, read_connections_per_host,
    read_max_redirects,
};
pub use unknown_word::unknown_word;
pub use value::Value;

use lgoose_base::error::Diagnostic;
use lgoose_base::files::NamedFile;
use std::net::IpAddr;
use std::time::Duration;

/// The details of each request that are shown during the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ShowLevel {
    /// No details: figures only.
    #[default]
    Nothing,
    /// A line for each request and its outcome.
    Requests,
    /// The headers too, and the beginning of bodies that are text.
    Messages,
    /// The headers and whole bodies.
    WholeMessages,
}

/// The configuration of a run, from all layers together.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The settings that are the same on every machine of the run.
    pub run: RunConfig,
    /// The part of this machine in the run.
    pub local: LocalConfig,
    /// The terminal's view of the run.
    pub screen: ScreenConfig,
}

/// The part of one machine in a run: its share of the load, its threads, its files and its address.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalConfig {
    /// Certificates to trust instead of the system's.
    pub ca: Option<NamedFile>,
    /// The client's certificate chain.
    pub cert: Option<NamedFile>,
    /// The client's private key; if `None`, the file of the certificate contains it.
    pub key: Option<NamedFile>,
    /// The address that connections come from.
    pub local_addresses: Vec<IpAddr>,
    /// The logs that are kept.
    pub logs: Logs,
    /// The part of the load that this process drives.
    pub part: LoadPart,
    /// Threads that drive users.
    pub threads: usize,
    /// Memory that the process may take, in bytes; `None` for most of the machine's memory.
    pub memory: Option<u64>,
    /// The details shown of each request.
    pub show: ShowLevel,
    /// Whether the run waits for a command before its first user.
    pub paused: bool,
}

/// The terminal's view of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ScreenConfig {
    /// Whether only the tables at the end are printed.
    pub only_summary: bool,
    /// Whether the table of status codes is shown even if all codes are the same.
    pub status_codes: bool,
    /// How much the tables at the end show.
    pub summary: SummaryExtent,
    /// The interval at which the running figures are printed; zero for never.
    pub running_metrics: Duration,
}

impl Config {
    /// Returns the configuration for the merged layers. `cores` is the default number of users and threads, `seed` the
    /// default seed.
    ///
    /// # Errors
    /// Returns a [`Diagnostic`] that names two options that contradict each other.
    pub fn new(mut settings: Settings, cores: usize, seed: u64) -> Result<Config, Diagnostic> {
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
        let proxy = settings.proxy.take().unwrap_or_default();
        let local = LocalConfig {
            ca: settings.ca.take(),
            cert: settings.cert.take(),
            key: settings.key.take(),
            local_addresses: settings.local_address.clone().unwrap_or_default(),
            logs,
            threads: settings
                .threads
                .unwrap_or(cores)
                .clamp(1, users.max(1) as usize),
            memory: settings.memory,
            part: LoadPart::WHOLE,
            show: ShowLevel::Nothing,
            paused: false,
        };
        let screen = ScreenConfig {
            only_summary: settings.only_summary.unwrap_or(false),
            status_codes: settings.status_codes.unwrap_or(false),
            summary: settings.summary.unwrap_or_default(),
            running_metrics: settings.running_metrics.unwrap_or(Duration::from_secs(10)),
        };
        let run = Derived {
            users,
            load,
            hatch_rate,
            run_time,
            client: transport::chosen(settings.client, &proxy)?,
            proxy,
            keep_alive: !settings.no_keepalive.unwrap_or(false),
            cookies: !settings.no_cookies.unwrap_or(false),
            co_mitigation: settings.co_mitigation.unwrap_or(if open {
                MitigationCadence::Disabled
            } else {
                MitigationCadence::Average
            }),
            co_wanted: settings.co_mitigation.is_some(),
            trace_sample: settings.traces(),
            seed: settings.seed.unwrap_or(seed),
        };
        Ok(Config {
            run: settings.into_run(run),
            local,
            screen,
        })
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
    fn a_share_of_traces_enables_traces_unless_its_own_layer_disables_them() {
        let layer = |trace, trace_sample| Settings {
            trace,
            trace_sample,
            ..Settings::default()
        };
        let none = || layer(None, None);
        for (above, below, expected) in [
            (none(), none(), None),
            (layer(Some(true), None), none(), Some(1.0)),
            (layer(None, Some(0.5)), none(), Some(0.5)),
            (layer(Some(false), Some(0.5)), none(), None),
            (none(), layer(Some(false), Some(0.5)), None),
            (
                layer(Some(true), None),
                layer(Some(false), Some(0.5)),
                Some(0.5),
            ),
            (layer(None, Some(0.1)), layer(Some(false), None), Some(0.1)),
            (
                layer(None, Some(0.1)),
                layer(Some(true), Some(1.0)),
                Some(0.1),
            ),
        ] {
            let shown = format!("{above:?} {below:?}");
            let config = Config::new(above.over(below), 1, 1).expect("valid");
            assert_eq!(config.run.trace_sample, expected, "{shown}");
        }
    }

    #[test]
    fn a_run_time_beside_stages_is_refused_whatever_they_lead_to() {
        for stage in ["10s:5", "10s:5/s"] {
            let command_line = Settings {
                run_time: Some(Duration::from_secs(1)),
                ..Settings::default()
            };
            let plan = Settings {
                stages: Some(vec![LoadStage::parse(stage).expect("a stage")]),
                ..Settings::default()
            };
            let refused = Config::new(command_line.over(plan), 1, 0).expect_err(stage);
            let expected = "'--stage' and '--run-time' both describe the load";
            assert_eq!(refused.message(), expected, "{stage}");
        }
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
