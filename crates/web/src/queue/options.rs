//! The options of a run as JSON, which become arguments of a command line. Only those that decide the load, the target and
//! the verdict: a client that may start runs writes no other files, reads none of this machine's and raises no limit.

use lgoose_base::error::masked_url;
use serde_json::{Map, Value};

/// The options that may be given, as in a plan and in reports: a flag's name with '_' for '-'.
const ALLOWED: [&str; 55] = [
    "users",
    "hatch_rate",
    "startup_time",
    "run_time",
    "stage",
    "test_plan",
    "rate",
    "max_users",
    "arrivals",
    "throttle_requests",
    "wait_factor",
    "scenario",
    "tags",
    "exclude_tags",
    "warmup",
    "reset_stats",
    "paused",
    "iterations",
    "shared_iterations",
    "seed",
    "stop_timeout",
    "setup_timeout",
    "teardown_timeout",
    "host",
    "timeout",
    "max_body",
    "http",
    "client",
    "proxy",
    "insecure",
    "resolve",
    "dns_ttl",
    "local_address",
    "no_keepalive",
    "no_cookies",
    "max_redirects",
    "referer",
    "cache",
    "connections",
    "connections_per_host",
    "discard",
    "sticky_follow",
    "trace",
    "trace_sample",
    "header",
    "co_mitigation",
    "request_names",
    "no_intervals",
    "threshold",
    "fail_on_error",
    "fail_on_saturation",
    "allow_short",
    "threads",
    "env",
    "running_metrics",
];

/// Options that a command line has and a request has not, with the reason.
const REFUSED: [(&str, &[&str]); 5] = [
    (
        "writes files: each run's report is kept by itself",
        &[
            "output",
            "request_log",
            "request_log_sorted",
            "task_log",
            "error_log",
            "debug_log",
            "log_file",
            "allow_files",
        ],
    ),
    (
        "reads a file of the machine that lgoose serves from: set it there, as LGOOSE_… in its environment",
        &["ca", "cert", "key", "env_file"],
    ),
    (
        "widens what a plan may do: set it where lgoose serves, as LGOOSE_… in its environment",
        &[
            "env_allow",
            "allow_host",
            "sandbox",
            "memory",
            "data_memory",
            "lua_memory",
            "lua_time",
        ],
    ),
    (
        "sends figures elsewhere: set it where lgoose serves, as LGOOSE_OTLP in its environment",
        &["otlp"],
    ),
    (
        "belongs to a run on the command line",
        &[
            "body",
            "method",
            "stream",
            "subprotocol",
            "once",
            "part",
            "http_debug",
            "list",
            "headless",
            "exit",
            "watch",
            "no_color",
            "only_summary",
            "quiet",
            "verbose",
            "status_codes",
            "summary",
            "backtrace",
            "workers",
            "workers_timeout",
            "on_worker_loss",
            "nats",
            "nats_listen",
            "nats_creds",
            "nats_ca",
            "nats_cert",
            "nats_key",
            "web",
            "web_token",
            "web_read_only",
            "web_insecure",
            "web_origin",
            "web_cert",
            "web_key",
            "web_linger",
            "open",
        ],
    ),
];

/// Options whose values may be secret after the first `=` or `:`.
const SECRET: [(&str, char); 2] = [("env", '='), ("header", ':')];

/// Returns the arguments that give these options.
///
/// # Errors
/// The fault of one of them, in words.
pub(super) fn arguments(options: &Map<String, Value>) -> Result<Vec<String>, String> {
    let mut arguments = Vec::new();
    for (name, value) in options {
        let flag = format!("--{}", allowed(name)?.replace('_', "-"));
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in values {
            arguments.extend(match value {
                Value::Null | Value::Bool(false) => None,
                Value::Bool(true) => Some(flag.clone()),
                Value::Number(number) => Some(format!("{flag}={number}")),
                Value::String(text) if text.contains('\0') => {
                    return Err(format!("option '{name}' contains a NUL character"));
                }
                Value::String(text) => Some(format!("{flag}={text}")),
                Value::Array(_) | Value::Object(_) => {
                    return Err(format!(
                        "option '{name}' is a text, a number, true, or a list of those"
                    ));
                }
            });
        }
    }
    Ok(arguments)
}

/// Returns the option of that name, which may have '-' for '_'.
fn allowed(name: &str) -> Result<&'static str, String> {
    let plain = name.replace('-', "_");
    if let Some(option) = ALLOWED.iter().find(|other| **other == plain) {
        return Ok(option);
    }
    let refused = REFUSED.iter().find(|(_, names)| names.contains(&&*plain));
    Err(match refused {
        Some((reason, _)) => format!("option '{name}' cannot be given here: it {reason}"),
        None => format!(
            "there is no option '{name}'; options are those of the command line: {}",
            ALLOWED.join(", ")
        ),
    })
}

/// Returns the options as they are kept and shown, without secrets.
pub(super) fn shown(options: &Map<String, Value>) -> Map<String, Value> {
    let hidden = |name: &str, value: &Value| {
        let secret = SECRET.iter().find(|(secret, _)| name == *secret);
        match (secret, value) {
            (Some((_, border)), Value::String(text)) => {
                let name = text.split(*border).next().unwrap_or_default();
                Value::String(format!("{name}{border}…"))
            }
            (None, Value::String(text)) => masked_url(text).into(),
            (_, other) => other.clone(),
        }
    };
    let one = |(name, value): (&String, &Value)| {
        let name = name.replace('-', "_");
        let value = match value {
            Value::Array(values) => values.iter().map(|value| hidden(&name, value)).collect(),
            value => hidden(&name, value),
        };
        (name, value)
    };
    options
        .iter()
        .map(one)
        .filter(|(_, value)| !value.is_null())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn options_become_arguments_that_no_value_can_leave() {
        let options = json!({
            "users": 20, "run-time": "30s", "hatch_rate": 0.5, "insecure": true, "no_cookies": false,
            "threshold": ["p95 < 300ms", "--web"], "host": null,
        });
        let expected = [
            "--hatch-rate=0.5",
            "--insecure",
            "--run-time=30s",
            "--threshold=p95 < 300ms",
            "--threshold=--web",
            "--users=20",
        ];
        let mut found = arguments(&map(options)).expect("all fit");
        found.sort();
        let mut expected = expected.map(str::to_owned).to_vec();
        expected.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn options_that_reach_beyond_the_run_are_refused_with_the_reason() {
        for (name, reason) in [
            ("output", "writes files"),
            ("request-log", "writes files"),
            ("allow_files", "writes files"),
            ("env_file", "reads a file"),
            ("ca", "reads a file"),
            ("lua_memory", "widens"),
            ("web_token", "command line"),
            ("workers", "command line"),
            ("u", "there is no option 'u'"),
            ("users=1 --output", "there is no option"),
            ("", "there is no option ''"),
        ] {
            let mut options = Map::new();
            options.insert(name.to_owned(), json!("x"));
            let message = arguments(&options).expect_err(name);
            assert!(
                message.contains(reason) && message.contains(name),
                "{message}"
            );
        }
        for value in [json!({}), json!([[1]]), json!("a\0b")] {
            let mut options = Map::new();
            options.insert("host".to_owned(), value.clone());
            assert!(arguments(&options).is_err(), "{value}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let options = json!({
            "env": ["PASSWORD=secret"], "header": "Authorization: secret", "users": 5, "run_time": null,
            "proxy": "http://me:secret@proxy:8080", "host": ["http://me:secret@shop.test/", "buyers=http://me:secret@b.test"],
        });
        let expected = json!({
            "env": ["PASSWORD=…"], "header": "Authorization:…", "users": 5,
            "proxy": "http://***@proxy:8080", "host": ["http://***@shop.test/", "buyers=http://***@b.test"],
        });
        assert_eq!(shown(&map(options)), map(expected));
    }
}
