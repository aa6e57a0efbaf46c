//! Values of options that are parsed here and not by the module that uses them: each error names the expected form of the
//! value.

use lgoose_base::error::carets;
use lgoose_base::threshold::{GRAMMAR, Threshold};
use lgoose_base::units;
use lgoose_plan::config::{LoadStage, MOST_THREADS, MOST_USERS};

/// All stages of one option; clap would read a plain list as an option that is given several times.
#[derive(Debug, Clone)]
pub(crate) struct TestPlan(pub(super) Vec<LoadStage>);

pub(super) fn test_plan(text: &str) -> Result<TestPlan, String> {
    LoadStage::parse_test_plan(text).map(TestPlan)
}

/// Parses a threshold; a mistake is shown below the text, with carets at its place.
pub(super) fn threshold(text: &str) -> Result<Threshold, String> {
    let shown = |message: &str, place| {
        let below = carets(text, place);
        format!("{message}\n\n  {text}\n  {below}\n\n{GRAMMAR}")
    };
    let threshold =
        Threshold::read(text).map_err(|misread| shown(&misread.message, misread.place))?;
    let checked = threshold.check();
    checked.map_err(|problem| shown(&problem, 0..text.len()))?;
    Ok(threshold)
}

pub(super) fn at_least_one<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    if let Some(large) = number.filter(|number| *number >= 1_000_000_000_000_000) {
        return Err(format!("'{large}' is more than anything counts to"));
    }
    let fitting = number.and_then(|number| N::try_from(number).ok());
    fitting.ok_or_else(|| format!("'{text}' is not a whole number of at least 1"))
}

pub(super) fn users(text: &str) -> Result<u64, String> {
    match at_least_one(text)? {
        users if users > MOST_USERS => Err(format!(
            "'{text}' is more than the {} users that one lgoose may have: share them among machines",
            units::show_count(MOST_USERS)
        )),
        users => Ok(users),
    }
}

pub(super) fn threads(text: &str) -> Result<usize, String> {
    match at_least_one(text)? {
        threads if threads > MOST_THREADS as usize => Err(format!(
            "'{text}' is more than the {} threads that one lgoose may have",
            units::show_count(MOST_THREADS)
        )),
        threads => Ok(threads),
    }
}

pub(super) fn whole(text: &str) -> Result<u64, String> {
    let number = text.parse();
    number.map_err(|_| format!("'{text}' is not a whole number of at least 0"))
}

pub(super) fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(format!("'{text}' is not a header: write 'NAME: VALUE'")),
    }
}

pub(super) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("'{text}' is not a variable: write NAME=VALUE")),
    }
}

/// Parses a label of a worker.
pub(super) fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(format!(
            "'{text}' is not a label: write KEY=VALUE, such as region=eu"
        )),
    }
}

pub(super) fn variable_name(text: &str) -> Result<String, String> {
    match text.trim() {
        name if name.contains('=') => Err(format!(
            "'{text}' is not the name of a variable: write names with commas between, such as HOME,USER"
        )),
        name => Ok(name.to_owned()),
    }
}

/// Returns the values, if at least one was given.
pub(super) fn some<T: Clone>(items: &[T]) -> Option<Vec<T>> {
    (!items.is_empty()).then(|| items.to_vec())
}
