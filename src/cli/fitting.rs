//! Checks that the options of a command line fit each other and the plan or URL that is run.

use super::capacity::{self, CapacityArgs};
use super::run::RunArgs;
use clap::ArgMatches;
use clap::error::ErrorKind;
use clap::parser::ValueSource;

/// Error in options that do not fit, with its kind.
pub(super) type OptionMisfit = (ErrorKind, String);

/// Checks that the options fit the plan or URL: no `--host` beside a URL, no `--method`, `--body` and `--stream` without one.
pub(super) fn fitting(matches: &ArgMatches, run: &RunArgs) -> Result<(), OptionMisfit> {
    let typed = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    if run.screen.http_debug && !run.load.once {
        let message = "'--http-debug' shows the requests of one iteration: add '--once'; \
                    '--debug-log FILE' keeps the failed ones of a whole run";
        return Err((ErrorKind::MissingRequiredArgument, message.to_owned()));
    }
    let (url, host) = (run.url().is_some(), typed("host"));
    let lonely = ["method", "body", "stream", "subprotocol"]
        .into_iter()
        .find(|name| typed(name));
    let none_of = |names: &[&str], message: &str| match names.iter().find(|name| typed(name)) {
        Some(flag) => {
            let message = format!("'--{}' is for {message}", flag.replace('_', "-"));
            Err((ErrorKind::MissingRequiredArgument, message))
        }
        None => Ok(()),
    };
    if run.gaggle.workers.is_none() {
        none_of(
            &["nats", "nats_listen", "workers_timeout", "on_worker_loss"],
            "a run on workers: say how many with '--workers'",
        )?;
    }
    if run.web.web.is_none() {
        none_of(
            &[
                "web_token",
                "web_read_only",
                "web_insecure",
                "web_origin",
                "web_cert",
                "web_key",
                "web_linger",
                "open",
            ],
            "a run that is served over HTTP: add '--web'",
        )?;
    }
    let message = match (url, host, lonely) {
        (true, true, _) => "a URL and '--host' both say whom to load: give one of them".to_owned(),
        (false, _, Some(name)) => {
            let value = if name == "stream" { "" } else { " …" };
            format!(
                "'--{name}' is for a URL in the place of a plan, as in 'lgoose http://127.0.0.1:8080/ --{name}{value}'"
            )
        }
        _ => return Ok(()),
    };
    Err((ErrorKind::ArgumentConflict, message))
}

/// Checks the options of a search.
pub(super) fn searching(matches: &ArgMatches, search: &CapacityArgs) -> Result<(), OptionMisfit> {
    let message = match (capacity::refused(matches), &search.run.plan) {
        (Some(message), _) => message,
        (None, None) => "no plan is given: lgoose capacity plan.lua --slo 'p95 < 300ms'".to_owned(),
        (None, Some(_)) => return fitting(matches, &search.run),
    };
    Err((ErrorKind::ArgumentConflict, message))
}
