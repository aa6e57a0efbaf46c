//! Whether the options of a command line fit each other and what is run.

use super::capacity::{self, Capacity};
use super::run::Run;
use clap::ArgMatches;
use clap::error::ErrorKind;
use clap::parser::ValueSource;

/// What is wrong with options that do not fit, and its kind.
pub(super) type Misfit = (ErrorKind, String);

/// Checks that the options fit what is run: no `--host` beside a URL, no `--method` and `--body` without one.
pub(super) fn fitting(matches: &ArgMatches, run: &Run) -> Result<(), Misfit> {
    let typed = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    if run.screen.http_debug && !run.load.once {
        let told = "'--http-debug' shows the requests of one iteration: add '--once'; \
                    '--debug-log FILE' keeps the failed ones of a whole run";
        return Err((ErrorKind::MissingRequiredArgument, told.to_owned()));
    }
    let (url, host) = (run.url().is_some(), typed("host"));
    let lonely = ["method", "body"].into_iter().find(|name| typed(name));
    #[cfg(any(feature = "gaggle", feature = "web"))]
    let none_of = |names: &[&str], told: &str| match names.iter().find(|name| typed(name)) {
        Some(flag) => {
            let told = format!("'--{}' is for {told}", flag.replace('_', "-"));
            Err((ErrorKind::MissingRequiredArgument, told))
        }
        None => Ok(()),
    };
    #[cfg(feature = "gaggle")]
    if run.gaggle.workers.is_none() {
        none_of(
            &["nats", "nats_listen", "workers_timeout", "on_worker_loss"],
            "a run on workers: say how many with '--workers'",
        )?;
    }
    #[cfg(feature = "web")]
    if run.web.web.is_none() {
        none_of(
            &[
                "web_token",
                "web_read_only",
                "web_insecure",
                "web_cert",
                "web_key",
                "open",
            ],
            "a run that is served over HTTP: add '--web'",
        )?;
    }
    let told = match (url, host, lonely) {
        (true, true, _) => "a URL and '--host' both say whom to load: give one of them".to_owned(),
        (false, _, Some(name)) => {
            format!(
                "'--{name}' is for a URL in the place of a plan, as in 'lgoose http://127.0.0.1:8080/ --{name} …'"
            )
        }
        _ => return Ok(()),
    };
    Err((ErrorKind::ArgumentConflict, told))
}

/// Checks the options of a search.
pub(super) fn searching(matches: &ArgMatches, search: &Capacity) -> Result<(), Misfit> {
    let told = match (capacity::refused(matches), &search.run.plan) {
        (Some(told), _) => told,
        (None, None) => "no plan is given: lgoose capacity plan.lua --slo 'p95 < 300ms'".to_owned(),
        (None, Some(_)) => return fitting(matches, &search.run),
    };
    Err((ErrorKind::ArgumentConflict, told))
}
