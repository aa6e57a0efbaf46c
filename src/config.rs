//! What a run is told: [`Settings`] is one layer of it (command line, environment or `plan {}`), all
//! optional; [`Config`] is what the layers mean together, nothing optional that a run must know.

use crate::error::{Diagnostic, nearest};
use crate::units;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// One layer of options. A field that is `None` leaves it to the next layer: command line, then
/// environment, then `plan {}`, then the built-in default.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The base URL, or `demo:NAME`.
    pub host: Option<String>,
    /// How many users run at the same time.
    pub users: Option<u64>,
    /// Users started per second.
    pub hatch_rate: Option<f64>,
    /// Spread the start of all users over this time.
    pub startup_time: Option<Duration>,
    /// How long to run once all users have started.
    pub run_time: Option<Duration>,
    /// Iterations per user.
    pub iterations: Option<u64>,
    /// How long running tasks may take to finish after a stop.
    pub stop_timeout: Option<Duration>,
    /// A request's timeout.
    pub timeout: Option<Duration>,
    /// The largest body read, in bytes.
    pub max_body: Option<u64>,
    /// Headers of every request.
    pub headers: Option<BTreeMap<String, String>>,
    /// The seed of all random choices.
    pub seed: Option<u64>,
    /// Threads that drive users.
    pub threads: Option<usize>,
    /// Memory a user's VM may take, in bytes.
    pub lua_memory: Option<u64>,
    /// Lua time that a task may take without waiting.
    pub lua_time: Option<Duration>,
}

const HEADERS: &str = "a table of strings is wanted, such as { [\"Accept\"] = \"text/html\" }";

/// A value as a plan writes it.
#[derive(Debug, Clone)]
pub enum Value {
    /// A string.
    Text(String),
    /// A number, in seconds where a duration is wanted.
    Number(f64),
    /// A table of strings.
    Map(BTreeMap<String, String>),
    /// Anything else; the name of its Lua type.
    Other(&'static str),
}

impl Value {
    fn type_name(&self) -> &'static str {
        match self {
            Value::Text(_) => "a string",
            Value::Number(_) => "a number",
            Value::Map(_) => "a table",
            Value::Other(name) => name,
        }
    }

    fn duration(&self) -> Result<Duration, String> {
        match self {
            Value::Text(text) => units::duration(text),
            Value::Number(seconds) => units::duration(&seconds.to_string()),
            other => Err(format!(
                "{}: {}",
                other.type_name(),
                units::DURATION_GRAMMAR
            )),
        }
    }

    fn rate(&self) -> Result<f64, String> {
        match self {
            Value::Text(text) => units::rate(text),
            Value::Number(rate) => units::rate(&rate.to_string()),
            other => Err(format!("{}: {}", other.type_name(), units::RATE_GRAMMAR)),
        }
    }

    fn size(&self) -> Result<u64, String> {
        match self {
            Value::Text(text) => units::size(text),
            Value::Number(bytes) if *bytes >= 1.0 => Ok(*bytes as u64),
            other => Err(format!("{}: {}", other.type_name(), units::SIZE_GRAMMAR)),
        }
    }

    fn whole(&self, least: u64) -> Result<u64, String> {
        match self {
            Value::Number(n) if n.fract() == 0.0 && *n >= least as f64 && *n < 1e15 => {
                Ok(*n as u64)
            }
            Value::Number(n) => Err(format!("{n} is not a whole number of at least {least}")),
            other => Err(format!(
                "a whole number is wanted, not {}",
                other.type_name()
            )),
        }
    }

    fn text(&self) -> Result<String, String> {
        match self {
            Value::Text(text) => Ok(text.clone()),
            other => Err(format!("a string is wanted, not {}", other.type_name())),
        }
    }
}

impl Settings {
    /// The fields that `plan {}` knows, in the order of the documentation.
    pub const FIELDS: [&str; 14] = [
        "host",
        "users",
        "hatch_rate",
        "startup_time",
        "run_time",
        "iterations",
        "stop_timeout",
        "timeout",
        "max_body",
        "headers",
        "seed",
        "threads",
        "lua_memory",
        "lua_time",
    ];

    /// Sets the field of that name from a plan's value.
    ///
    /// # Errors
    /// The message and the help of a diagnostic: an unknown name with the nearest known one, or a value
    /// that does not fit.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), Diagnostic> {
        let outcome = match name {
            "host" => value.text().map(|v| self.host = Some(v)),
            "users" => value.whole(1).map(|v| self.users = Some(v)),
            "hatch_rate" => value.rate().map(|v| self.hatch_rate = Some(v)),
            "startup_time" => value.duration().map(|v| self.startup_time = Some(v)),
            "run_time" => value.duration().map(|v| self.run_time = Some(v)),
            "iterations" => value.whole(1).map(|v| self.iterations = Some(v)),
            "stop_timeout" => value.duration().map(|v| self.stop_timeout = Some(v)),
            "timeout" => value.duration().map(|v| self.timeout = Some(v)),
            "max_body" => value.size().map(|v| self.max_body = Some(v)),
            "headers" => match value {
                Value::Map(map) => {
                    self.headers = Some(map.clone());
                    Ok(())
                }
                Value::Other(_) => Err(HEADERS.to_owned()),
                other => Err(format!("{HEADERS}, not {}", other.type_name())),
            },
            "seed" => value.whole(0).map(|v| self.seed = Some(v)),
            "threads" => value.whole(1).map(|v| self.threads = Some(v as usize)),
            "lua_memory" => value.size().map(|v| self.lua_memory = Some(v)),
            "lua_time" => value.duration().map(|v| self.lua_time = Some(v)),
            unknown => return Err(unknown_word("field", unknown, "plan", &Settings::FIELDS)),
        };
        outcome.map_err(|problem| Diagnostic::new(format!("field '{name}' of plan: {problem}")))
    }

    /// This layer over `below`: a field set here wins, field by field.
    pub fn over(self, below: Settings) -> Settings {
        Settings {
            host: self.host.or(below.host),
            users: self.users.or(below.users),
            hatch_rate: self.hatch_rate.or(below.hatch_rate),
            startup_time: self.startup_time.or(below.startup_time),
            run_time: self.run_time.or(below.run_time),
            iterations: self.iterations.or(below.iterations),
            stop_timeout: self.stop_timeout.or(below.stop_timeout),
            timeout: self.timeout.or(below.timeout),
            max_body: self.max_body.or(below.max_body),
            headers: self.headers.or(below.headers),
            seed: self.seed.or(below.seed),
            threads: self.threads.or(below.threads),
            lua_memory: self.lua_memory.or(below.lua_memory),
            lua_time: self.lua_time.or(below.lua_time),
        }
    }
}

/// The diagnostic for a word that is not among the valid ones: names the nearest and lists them all.
pub fn unknown_word(kind: &str, word: &str, owner: &str, valid: &[&str]) -> Diagnostic {
    // 'task 'front page'' has the fields of any task.
    let any = match owner.split_once(" '") {
        Some((noun, _)) => format!("a {noun}"),
        None => owner.to_owned(),
    };
    let list = format!("{kind}s of {any}: {}", valid.join(", "));
    let help = match nearest(word, valid.iter().copied()) {
        Some(near) => format!("did you mean '{near}'? {list}"),
        None => list,
    };
    Diagnostic::new(format!("unknown {kind} '{word}' in {owner}")).help(help)
}

/// What is shown of each request while it runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Show {
    /// Nothing: figures only.
    #[default]
    Nothing,
    /// A line for each request and its outcome.
    Requests,
    /// The headers and bodies too.
    Messages,
}

/// What a run is told, all layers together.
#[derive(Debug, Clone)]
pub struct Config {
    /// The base URL; missing if neither the command line, the environment nor the plan has one.
    pub host: Option<String>,
    /// How many users run at the same time.
    pub users: u64,
    /// Users started per second.
    pub hatch_rate: f64,
    /// How long to run once all users have started; `None`: until stopped.
    pub run_time: Option<Duration>,
    /// Iterations per user; `None`: no limit.
    pub iterations: Option<u64>,
    /// How long running tasks may take to finish after a stop.
    pub stop_timeout: Duration,
    /// A request's timeout.
    pub timeout: Duration,
    /// The largest body read, in bytes.
    pub max_body: u64,
    /// Headers of every request.
    pub headers: BTreeMap<String, String>,
    /// The seed of all random choices.
    pub seed: u64,
    /// Threads that drive users.
    pub threads: usize,
    /// Memory a user's VM may take, in bytes.
    pub lua_memory: u64,
    /// Lua time that a task may take without waiting.
    pub lua_time: Duration,
    /// What is shown of each request.
    pub show: Show,
}

impl Config {
    /// What the merged layers mean. `cores` is the default of users and threads, `seed` that of the seed.
    ///
    /// # Errors
    /// A [`Diagnostic`] that names two options that contradict each other.
    pub fn new(settings: Settings, cores: usize, seed: u64) -> Result<Config, Diagnostic> {
        let users = settings.users.unwrap_or(cores as u64);
        let hatch_rate = match (settings.hatch_rate, settings.startup_time) {
            (Some(_), Some(_)) => {
                return Err(Diagnostic::new(
                    "'--hatch-rate' and '--startup-time' both say how fast users start",
                )
                .help("give one of them: a rate, or the time until all users run"));
            }
            (None, Some(time)) if time.is_zero() => f64::INFINITY,
            (None, Some(time)) => users as f64 / time.as_secs_f64(),
            (rate, None) => rate.unwrap_or(1.0),
        };
        Ok(Config {
            host: settings.host,
            users,
            hatch_rate,
            run_time: settings.run_time,
            iterations: settings.iterations,
            stop_timeout: settings.stop_timeout.unwrap_or(Duration::from_secs(30)),
            timeout: settings.timeout.unwrap_or(Duration::from_secs(60)),
            max_body: settings.max_body.unwrap_or(64 << 20),
            headers: settings.headers.unwrap_or_default(),
            seed: settings.seed.unwrap_or(seed),
            threads: settings
                .threads
                .unwrap_or(cores)
                .clamp(1, users.max(1) as usize),
            lua_memory: settings.lua_memory.unwrap_or(64 << 20),
            lua_time: settings.lua_time.unwrap_or(Duration::from_secs(1)),
            show: Show::Nothing,
        })
    }
}

/// Where a report goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it is written.
    pub format: Format,
    /// The file, or `None` for standard output.
    pub path: Option<PathBuf>,
}

/// The formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The documented JSON schema.
    Json,
}

impl Output {
    /// Reads `FORMAT=PATH`; `-` as path is standard output.
    ///
    /// # Errors
    /// A sentence that says what is wrong and which formats there are.
    pub fn parse(text: &str) -> Result<Output, String> {
        const GRAMMAR: &str =
            "write FORMAT=PATH, for instance 'json=run.json' or 'json=-'; formats: json";
        let (format, path) = text.split_once('=').unwrap_or((text, ""));
        let format = match format {
            "json" => Format::Json,
            other => return Err(format!("'{other}' is not a format: {GRAMMAR}")),
        };
        match path {
            "" => Err(format!("'{text}' names no file: {GRAMMAR}")),
            "-" => Ok(Output { format, path: None }),
            path => Ok(Output {
                format,
                path: Some(path.into()),
            }),
        }
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
            (config.users, config.run_time),
            (30, Some(Duration::from_secs(60)))
        );
    }

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
        for name in Settings::FIELDS {
            let map = Value::Map(BTreeMap::new());
            let fits = [Value::Number(1.0), Value::Text("1".to_owned()), map]
                .iter()
                .any(|value| Settings::default().set(name, value).is_ok());
            assert!(fits, "{name}");
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
