//! Values of `plan {}`, and how each kind of option reads them. The error of each reader completes a sentence that
//! begins with the name of the field.

use lgoose_base::units;
use std::collections::BTreeMap;
use std::time::Duration;

/// The value of a `plan {}` field.
#[derive(Debug, Clone)]
pub enum Value {
    /// A string.
    Text(String),
    /// A number; seconds if the field is a duration.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// A list of strings.
    List(Vec<String>),
    /// A table of named strings, or an empty one.
    Map(BTreeMap<String, String>),
    /// Any other table: its list and its named entries.
    Table(Vec<Value>, BTreeMap<String, Value>),
    /// Any other value, by the name of its Lua type.
    Other(&'static str),
}

impl Value {
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Value::Text(_) => "a string",
            Value::Number(_) => "a number",
            Value::Flag(_) => "a boolean",
            Value::List(_) => "a list",
            Value::Map(_) => "a table",
            Value::Table(list, _) if list.is_empty() => "a table of anything but strings",
            Value::Table(..) => "a list of other values",
            Value::Other(name) => name,
        }
    }

    pub(super) fn duration(&self) -> Result<Duration, String> {
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

    /// Reads a rate in iterations or requests a second.
    ///
    /// # Errors
    /// A sentence that shows the form of a rate.
    pub fn rate(&self) -> Result<f64, String> {
        match self {
            Value::Text(text) => units::rate(text),
            Value::Number(rate) => units::rate(&rate.to_string()),
            other => Err(format!("{}: {}", other.type_name(), units::RATE_GRAMMAR)),
        }
    }

    pub(super) fn factor(&self) -> Result<f64, String> {
        match self {
            Value::Number(factor) => units::factor(&factor.to_string()),
            other => Err(format!("expected a number, not {}", other.type_name())),
        }
    }

    pub(super) fn share(&self) -> Result<f64, String> {
        match self {
            Value::Text(text) => units::share(text),
            Value::Number(share) => units::share(&share.to_string()),
            other => Err(format!("{}: write '1%' or 0.01", other.type_name())),
        }
    }

    pub(super) fn size(&self) -> Result<u64, String> {
        match self {
            Value::Text(text) => units::size(text),
            Value::Number(bytes) if *bytes >= 1.0 && bytes.is_finite() => {
                units::size(&bytes.trunc().to_string())
            }
            other => Err(format!("{}: {}", other.type_name(), units::SIZE_GRAMMAR)),
        }
    }

    pub(super) fn whole(&self, least: u64) -> Result<u64, String> {
        match self {
            Value::Number(n) if n.fract() == 0.0 && *n >= least as f64 && *n < 1e15 => {
                Ok(*n as u64)
            }
            Value::Number(n) if n.fract() == 0.0 && *n >= 1e15 => {
                Err(format!("{n} is more than anything counts to"))
            }
            Value::Number(n) => Err(format!("{n} is not a whole number of at least {least}")),
            other => Err(format!(
                "expected a whole number, not {}",
                other.type_name()
            )),
        }
    }

    pub(super) fn text(&self) -> Result<String, String> {
        match self {
            Value::Text(text) => Ok(text.clone()),
            other => Err(format!("expected a string, not {}", other.type_name())),
        }
    }

    pub(super) fn flag(&self) -> Result<bool, String> {
        match self {
            Value::Flag(flag) => Ok(*flag),
            other => Err(format!("expected true or false, not {}", other.type_name())),
        }
    }

    /// Reads each string of a list; a single string is a list of one.
    pub(super) fn each<T>(
        &self,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        match self {
            Value::List(texts) => texts.iter().map(|text| read(text)).collect(),
            Value::Text(text) => Ok(vec![read(text)?]),
            other => Err(format!(
                "expected a list of strings, not {}",
                other.type_name()
            )),
        }
    }

    /// Reads a table of strings, such as the headers of every request.
    pub(super) fn map(&self) -> Result<BTreeMap<String, String>, String> {
        const EXPECTED: &str =
            "expected a table of strings, such as { [\"Accept\"] = \"text/html\" }";
        match self {
            Value::Map(map) => Ok(map.clone()),
            Value::Other(_) | Value::Table(..) => Err(EXPECTED.to_owned()),
            other => Err(format!("{EXPECTED}, not {}", other.type_name())),
        }
    }
}
