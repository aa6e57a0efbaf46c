//! One layer of options, as a table: each line makes an option a field of `plan {}`; the flag of the same name is in
//! `cli`.

use super::load::{giving_way_to, read_threads, read_users};
use super::request_names::RequestNames;
use super::target::{Http, Pin, address};
use super::thresholds::thresholds;
use super::transport::{
    CONNECTIONS_PER_HOST, ClientKind, ConnectionLifetime, DiscardedBodies, Proxy,
    connections_per_host, few_redirects,
};
use super::{
    Load, LoadSamples, LoadStage, LogFile, Misfit, MitigationCadence, Spacing, SummaryExtent, Value,
};
use crate::config::unknown_word;
use lgoose_base::error::{Diagnostic, masked_url};
use lgoose_base::files::{FileUse, NamedFile};
use lgoose_base::threshold::Threshold;
use lgoose_base::units;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Makes [`Settings`] from its table: the documentation, name and type of each field, then how a plan's value is read.
/// A field that a run takes over as it is also becomes a field of [`RunConfig`]: `or` gives its default, `=> optional`
/// means that it has none. The fields that only a run has come first.
macro_rules! settings {
    (
        run { $($(#[$run_doc:meta])* $run_field:ident: $run_kind:ty;)* }
        $($(#[$doc:meta])* $field:ident: $kind:ty = $read:expr $(, or $default:expr)? $(=> $optional:ident)?;)*
    ) => {
        /// Definition of a run: the load, the target, how users behave, and how the figures are judged. Contains no
        /// paths and nothing else that differs between machines. Fields without a description are described in
        /// [`Settings`].
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct RunConfig {
            $($(#[$run_doc])* pub $run_field: $run_kind,)*
            $($(#[doc = concat!("Unless said: `", stringify!($default), "`.")] pub $field: $kind,)?)*
            $($(#[doc = concat!("An ", stringify!($optional), " field.")] pub $field: Option<$kind>,)?)*
        }

        /// The fields of a [`RunConfig`] that follow from several options.
        #[derive(Debug)]
        pub(super) struct Derived {
            $(pub(super) $run_field: $run_kind,)*
        }

        impl Settings {
            /// Returns the configuration of a run from these options and the values derived from them.
            pub(super) fn into_run(self, derived: Derived) -> RunConfig {
                RunConfig {
                    $($run_field: derived.$run_field,)*
                    $($($field: self.$field.unwrap_or($default),)?)*
                    $($($field: { let $optional = self.$field; $optional },)?)*
                }
            }
        }

        /// One layer of options. A field that is `None` comes from the next layer: command line, then environment, then
        /// `plan {}`, then the built-in default.
        #[derive(Debug, Clone, Default)]
        pub struct Settings {
            $($(#[$doc])* pub $field: Option<$kind>,)*
        }

        impl Settings {
            /// The fields of `plan {}`, in the order of the documentation.
            pub const FIELDS: &[&str] = &[$(stringify!($field)),*];

            fn read(&mut self, name: &str, value: &Value) -> Option<Result<(), Misfit>> {
                match name {
                    // The second name of the field, for runs at a rate.
                    "max_iterations" => self.read("shared_iterations", value),
                    $(stringify!($field) => {
                        let read: fn(&Value) -> Result<$kind, _> = $read;
                        let read = read(value).map_err(Misfit::from);
                        Some(read.map(|value| self.$field = Some(value)))
                    })*
                    _ => None,
                }
            }

            /// Returns this layer merged over `below`: a field that is set here wins. A different kind of load replaces
            /// the one of the lower layer as a whole; headers are added to those of the lower layer.
            pub fn over(mut self, below: Settings) -> Settings {
                let mut below = giving_way_to(below, &self);
                if self.trace_sample.is_some() {
                    // A share of traces implies traces, unless the same layer says otherwise.
                    below.trace = None;
                }
                if let (Some(headers), Some(more)) = (&mut self.headers, &below.headers) {
                    add_missing(headers, more);
                }
                Settings { $($field: self.$field.or(below.$field),)* }
            }
        }
    };
}

settings! {
    run {
        /// The most users at the same time.
        users: u64;
        /// The load: the number of users, or of iterations started, over time.
        load: Load;
        /// Users started per second.
        hatch_rate: f64;
        /// The run time once all users have started, or in total with stages or a rate; `None` until stopped.
        run_time: Option<Duration>;
        /// The client that sends the requests.
        client: ClientKind;
        /// The proxy; only `Client::Reqwest` can use one.
        proxy: Proxy;
        /// Whether connections are reused.
        keep_alive: bool;
        /// Whether cookies are kept.
        cookies: bool;
        /// Whether and how the requests that late users could not make are filled in.
        co_mitigation: MitigationCadence;
        /// Whether the correction was explicitly requested: then the corrected figures are shown even if they do not
        /// differ.
        co_wanted: bool;
        /// The share of requests whose trace is sampled; `None` if requests have no trace context.
        trace_sample: Option<f64>;
        /// The seed of all random choices.
        seed: u64;
    }
    /// The base URL, or `demo:NAME`.
    host: String = Value::text => optional;
    /// The number of concurrent users.
    users: u64 = read_users;
    /// Users started per second.
    hatch_rate: f64 = Value::rate;
    /// The time over which the start of all users is spread.
    startup_time: Duration = Value::duration;
    /// The run time once all users have started.
    run_time: Duration = Value::duration;
    /// Stages of the load, in order.
    stages: Vec<LoadStage> = LoadStage::parse_list;
    /// All stages in one text.
    test_plan: Vec<LoadStage> = |value| LoadStage::parse_test_plan(&value.text()?);
    /// The load as a function of the time, by second.
    load: LoadSamples = LoadSamples::refused;
    /// Iterations started per second.
    rate: f64 = Value::rate;
    /// The most users at the same time in a run at a rate.
    max_users: u64 = read_users;
    /// The spacing of iterations in a run at a rate.
    arrivals: Spacing = |value| Spacing::parse(&value.text()?);
    /// Iterations per user.
    iterations: u64 = |value| value.whole(1) => optional;
    /// Iterations of all users in total.
    shared_iterations: u64 = |value| value.whole(1) => optional;
    /// The most requests per second of all users in total.
    throttle_requests: f64 = Value::rate => optional;
    /// The factor by which all pauses are multiplied.
    wait_factor: f64 = Value::factor, or 1.0;
    /// The scenarios that run; '*' stands for any text.
    scenarios: Vec<String> = |value| value.each(|name| Ok(name.to_owned())), or Vec::new();
    /// The tags of the tasks that run.
    tags: Vec<String> = |value| value.each(|tag| Ok(tag.to_owned())), or Vec::new();
    /// The tags of the tasks that are left out.
    exclude_tags: Vec<String> = |value| value.each(|tag| Ok(tag.to_owned())), or Vec::new();
    /// The warm-up, whose figures are kept separate.
    warmup: Duration = Value::duration => optional;
    /// Whether figures from before all users had started are dropped.
    reset_stats: bool = Value::flag, or false;
    /// The time that running tasks may take to finish after a stop.
    stop_timeout: Duration = Value::duration, or Duration::from_secs(30);
    /// The time that `test_start` may take.
    setup_timeout: Duration = Value::duration, or Duration::from_secs(60);
    /// The time that `test_stop` may take.
    teardown_timeout: Duration = Value::duration, or Duration::from_secs(60);
    /// The timeout of a request.
    timeout: Duration = |value| value.duration().and_then(units::above_zero), or Duration::from_secs(60);
    /// The largest body read, in bytes.
    max_body: u64 = Value::size, or 64 << 20;
    /// The version of HTTP.
    http: Http = |value| value.text().and_then(|text| Http::parse(&text)), or Http::default();
    /// The client that sends the requests.
    client: ClientKind = |value| value.text().and_then(|text| ClientKind::parse(&text));
    /// The proxy that requests go through.
    proxy: Proxy = |value| value.text().and_then(|text| Proxy::parse(&text));
    /// The only hosts that requests may go to; '*' stands for any text. Empty for all hosts.
    allow_host: Vec<String> = |value| value.each(|host| Ok(host.to_owned())), or Vec::new();
    /// Whether every certificate is trusted.
    insecure: bool = Value::flag, or false;
    /// Certificates to trust instead of the system's.
    ca: NamedFile = |value| value.text().map(NamedFile::from);
    /// The client's certificate chain.
    cert: NamedFile = |value| value.text().map(NamedFile::from);
    /// The client's private key.
    key: NamedFile = |value| value.text().map(NamedFile::from);
    /// Addresses for hosts that are not looked up.
    resolve: Vec<Pin> = |value| value.each(Pin::parse), or Vec::new();
    /// The time for which a DNS response is cached.
    dns_ttl: Duration = Value::duration => optional;
    /// The addresses that connections come from.
    local_address: Vec<IpAddr> = |value| value.each(address);
    /// Whether each request opens a new connection.
    no_keepalive: bool = Value::flag;
    /// Whether cookies are ignored.
    no_cookies: bool = Value::flag;
    /// The number of redirects to follow before another one counts as the response.
    max_redirects: u32 = |value| value.whole(0).and_then(few_redirects) => optional;
    /// Whether requests send a `Referer` header.
    referer: bool = Value::flag, or true;
    /// Whether users have a cache, as a browser does.
    cache: bool = Value::flag, or false;
    /// The time for which users keep their connections.
    connections: ConnectionLifetime = |value| value.text().and_then(|text| ConnectionLifetime::parse(&text)), or ConnectionLifetime::User;
    /// The most connections of a user to one host at the same time.
    connections_per_host: u32 = |value| value.whole(1).and_then(connections_per_host), or CONNECTIONS_PER_HOST;
    /// The bodies that are only counted, and not kept.
    discard: DiscardedBodies = DiscardedBodies::read, or DiscardedBodies::None;
    /// Whether a user that is redirected to another host continues there.
    sticky_follow: bool = Value::flag, or false;
    /// Whether each request has a W3C trace context.
    trace: bool = Value::flag;
    /// The share of requests whose trace is sampled.
    trace_sample: f64 = Value::share;
    /// Headers of every request.
    headers: BTreeMap<String, String> = Value::map, or BTreeMap::new();
    /// Whether and how the requests that late users could not make are filled in.
    co_mitigation: MitigationCadence = MitigationCadence::read;
    /// The names under which requests without their own are counted.
    request_names: RequestNames = |value| RequestNames::parse(&value.text()?), or RequestNames::Task;
    /// Whether the report leaves out the latencies of single seconds.
    no_intervals: bool = Value::flag, or false;
    /// Limits on figures.
    thresholds: Vec<Threshold> = thresholds, or Vec::new();
    /// Whether the exit code is 1 if any request, task or check failed.
    fail_on_error: bool = Value::flag, or false;
    /// Whether the exit code is 1 if lgoose and not the target set the latency.
    fail_on_saturation: bool = Value::flag, or false;
    /// Whether thresholds are judged even if the run is cut short.
    allow_short: bool = Value::flag, or false;
    /// Whether only the tables at the end are printed.
    only_summary: bool = Value::flag;
    /// Whether the table of status codes is shown even if all codes are the same.
    status_codes: bool = Value::flag;
    /// How much the tables at the end show.
    summary: SummaryExtent = |value| SummaryExtent::parse(&value.text()?);
    /// The interval at which the running figures are printed.
    running_metrics: Duration = Value::duration;
    /// The log of every request.
    request_log: LogFile = |value| value.text().and_then(|text| LogFile::parse(&text));
    /// The log of every run of a task or transaction.
    task_log: LogFile = |value| value.text().and_then(|text| LogFile::parse(&text));
    /// The log of failed requests and runs.
    error_log: LogFile = |value| value.text().and_then(|text| LogFile::parse(&text));
    /// The log of failed requests with their headers and bodies.
    debug_log: LogFile = |value| value.text().and_then(|text| LogFile::parse(&text));
    /// Whether the log of every request is sorted by connection and time.
    request_log_sorted: bool = Value::flag;
    /// The seed of all random choices.
    seed: u64 = |value| value.whole(0);
    /// Threads that drive users.
    threads: usize = read_threads;
    /// Memory that the process may take, in bytes.
    memory: u64 = Value::size;
    /// Memory that a user's VM may take, in bytes.
    lua_memory: u64 = Value::size, or LUA_MEMORY;
    /// Lua time that a task may take between waits.
    lua_time: Duration = Value::duration, or LUA_TIME;
}

/// A file that a field of the settings names.
#[derive(Debug)]
pub struct SettingFile<'a> {
    /// The name of the field.
    pub field: &'static str,
    /// Whether the file is read or written.
    pub usage: FileUse,
    /// The file that the field names.
    pub file: &'a mut NamedFile,
}

/// Memory that a user's VM may take by default, in bytes.
pub(super) const LUA_MEMORY: u64 = 64 << 20;
/// Lua time that a task may take by default.
pub(super) const LUA_TIME: Duration = Duration::from_secs(1);

impl Settings {
    /// Returns the share of traces that is sampled; `None` if requests have no trace context. Setting only the share
    /// also enables traces.
    pub(super) fn traces(&self) -> Option<f64> {
        let is_traced = self.trace.unwrap_or(self.trace_sample.is_some());
        is_traced.then(|| self.trace_sample.unwrap_or(1.0))
    }

    /// Returns the files that are named here, with the fields that name them. The rules for the files of plans apply to
    /// these; `tests/layers.rs` finds a field that is missing.
    pub fn files(&mut self) -> Vec<SettingFile<'_>> {
        let of = |field, usage, file| SettingFile { field, usage, file };
        let read = [
            ("ca", &mut self.ca),
            ("cert", &mut self.cert),
            ("key", &mut self.key),
        ];
        let read = read
            .into_iter()
            .filter_map(|(field, file)| Some(of(field, FileUse::Read, file.as_mut()?)));
        let written = [
            ("request_log", &mut self.request_log),
            ("task_log", &mut self.task_log),
            ("error_log", &mut self.error_log),
            ("debug_log", &mut self.debug_log),
        ];
        let written = written
            .into_iter()
            .filter_map(|(field, log)| Some(of(field, FileUse::Write, &mut log.as_mut()?.file)));
        read.chain(written).collect()
    }

    /// Returns whether an option says how many users there are, or how many iterations start.
    pub fn has_load(&self) -> bool {
        self.users.is_some() || self.has_shape()
    }

    /// Returns whether the load is anything else than a fixed number of users.
    pub(super) fn has_shape(&self) -> bool {
        let stages = self.stages.is_some() || self.test_plan.is_some();
        self.rate.is_some() || stages || self.load.is_some()
    }

    /// Sets the field of that name from the value in a plan.
    ///
    /// # Errors
    /// Returns a diagnostic for an unknown name, with the nearest known one, or for a value that does not fit.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), Diagnostic> {
        self.set_of("plan", name, value)
    }

    /// Does the same for an owner other than `plan`.
    pub(super) fn set_of(
        &mut self,
        owner: &str,
        name: &str,
        value: &Value,
    ) -> Result<(), Diagnostic> {
        match self.read(name, value) {
            None => Err(unknown_field(owner, name)),
            Some(outcome) => outcome.map_err(|misfit| misfit.in_field(name, owner)),
        }
    }
}

/// Returns the mistake of a field that a plan does not have; some belong to its scenarios and tasks.
fn unknown_field(owner: &str, name: &str) -> Diagnostic {
    let elsewhere = match name {
        "wait" | "wait_time" | "think_time" | "min_wait" | "max_wait" | "pause" => {
            "a pause is a field of a scenario or of a task: scenario { \"name\", wait = { 1, 5 }, task { … } }"
        }
        "weight" | "order" | "sequence" | "on_start" | "on_stop" => {
            "it is a field of a scenario or of a task: task { \"name\", weight = 3, function(user) … end }"
        }
        "phases" => "did you mean 'stages'? They are texts: stages = { \"5m:100\", \"1m:0\" }",
        "env" => "it is a field of a scenario; a plan reads variables by env(\"NAME\")",
        _ => return unknown_word("field", name, owner, Settings::FIELDS),
    };
    Diagnostic::new(format!("unknown field '{name}' in {owner}")).help(elsewhere)
}

impl RunConfig {
    /// Returns the same without anything that may be secret: the values of headers, the credentials of a proxy and of
    /// the host.
    pub fn without_secrets(&self) -> RunConfig {
        let names = self.headers.keys().cloned();
        RunConfig {
            headers: names.map(|name| (name, String::new())).collect(),
            proxy: self.proxy.without_credentials(),
            host: self
                .host
                .as_deref()
                .map(|host| masked_url(host).into_owned()),
            ..self.clone()
        }
    }
}

/// Adds the headers whose names are not set yet, whatever their case.
fn add_missing(headers: &mut BTreeMap<String, String>, more: &BTreeMap<String, String>) {
    for (name, value) in more {
        if !headers
            .keys()
            .any(|existing| existing.eq_ignore_ascii_case(name))
        {
            headers.insert(name.clone(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_field_of_plan_names_the_nearest_one() {
        let mut settings = Settings::default();
        let mistake = settings
            .set("user", &Value::Number(5.0))
            .expect_err("unknown")
            .to_string();
        assert!(
            mistake.starts_with("error: unknown field 'user' in plan"),
            "{mistake}"
        );
        assert!(mistake.contains("did you mean 'users'?"), "{mistake}");
    }

    #[test]
    fn every_listed_field_can_be_set() {
        // A load is set from what its function returns.
        let fields = Settings::FIELDS.iter().filter(|name| **name != "load");
        for name in fields {
            let map = Value::Map(BTreeMap::new());
            let text = |text: &str| Value::Text(text.to_owned());
            let fits = [
                Value::Number(1.0),
                text("1"),
                text("1.1"),
                text("::1"),
                text("a:1:::1"),
                text("1s:1"),
                text("1,1s"),
                text("even"),
                text("short"),
                text("direct"),
                text("none"),
                text("p95 < 1s"),
                text("average"),
                text("task"),
                text("user"),
                text("log.csv"),
                Value::Flag(true),
                map,
            ]
            .iter()
            .any(|value| Settings::default().set(name, value).is_ok());
            assert!(fits, "{name}");
        }
    }
}
