//! The named fields of a declaration, read as the types that they must have. Messages name the field and its owner.

use super::setting::{check_size, entries, read_setting};
use crate::requests::{WaitMistake, header_line, read_wait_rule, set_tag};
use crate::values::{escape_invalid, read_scalar, type_phrase};
use http::HeaderMap;
use lgoose_base::error::Diagnostic;
use lgoose_base::tags::{SCENARIO, Tags};
use lgoose_base::threshold::Threshold;
use lgoose_plan::config::{OwnLoadSettings, Value as Setting, scenario_thresholds, unknown_word};
use lgoose_plan::{TaskOrder, Wait};
use mlua::{Table, Value};
use std::collections::BTreeMap;

/// A mistake in a declaration, with the word that it is about.
pub(super) struct DeclarationError {
    pub(super) diagnostic: Diagnostic,
    pub(super) word: Option<String>,
}

impl From<Diagnostic> for DeclarationError {
    fn from(diagnostic: Diagnostic) -> Self {
        DeclarationError {
            diagnostic,
            word: None,
        }
    }
}

/// One named field of a declaration.
pub(super) struct DeclaredField<'a> {
    pub(super) name: String,
    owner: &'a str,
    value: &'a Value,
}

impl<'a> DeclaredField<'a> {
    pub(super) fn new(name: String, owner: &'a str, value: &'a Value) -> Self {
        DeclaredField { name, owner, value }
    }

    pub(super) fn wrong(&self, expected: &str) -> DeclarationError {
        let got = match self.value {
            Value::Integer(n) => n.to_string(),
            Value::Number(n) => n.to_string(),
            Value::String(text) => format!("'{}'", escape_invalid(text)),
            other => type_phrase(other).to_owned(),
        };
        let mut diagnostic = Diagnostic::new(format!(
            "field '{}' of {} must be {expected}, not {got}",
            self.name, self.owner
        ));
        if self.value.is_function() && self.name.starts_with("on_") {
            diagnostic = diagnostic.help(format!(
                "write task {{ {} = true, function(user) … end }}: the function is the last entry",
                self.name
            ));
        }
        DeclarationError {
            diagnostic,
            word: Some(self.name.clone()),
        }
    }

    fn wrong_as(&self, expected: &str, got: &str) -> DeclarationError {
        let message = format!(
            "field '{}' of {} must be {expected}, not {got}",
            self.name, self.owner
        );
        DeclarationError {
            diagnostic: Diagnostic::new(message)
                .help("write wait = { 1, 5 } for a pause of 1 to 5 seconds, or wait.constant(2) and the like"),
            word: Some(self.name.clone()),
        }
    }

    pub(super) fn unknown(&self, valid: &[&str]) -> DeclarationError {
        // Names and functions are entries without a name here.
        let entry = match (self.name.as_str(), self.value) {
            ("name", Value::String(name)) => Some(format!(
                "a name stands first, without 'name =', as in task {{ \"{}\", … }}",
                escape_invalid(name)
            )),
            (_, Value::Function(_)) => Some(
                "a function stands in a task, as its last entry: task { \"name\", function(user) … end }"
                    .to_owned(),
            ),
            _ => None,
        };
        if let Some(entry) = entry {
            let message = format!("unknown field '{}' in {}", self.name, self.owner);
            return DeclarationError {
                diagnostic: Diagnostic::new(message).help(entry),
                word: Some(self.name.clone()),
            };
        }
        DeclarationError {
            diagnostic: unknown_word("field", &self.name, self.owner, valid),
            word: Some(self.name.clone()),
        }
    }

    pub(super) fn at_least_one(&self) -> Result<u32, DeclarationError> {
        match self.value.as_integer() {
            Some(n) if (1..=1_000_000).contains(&n) => Ok(n as u32),
            _ => Err(self.wrong("a whole number from 1 to 1,000,000")),
        }
    }

    /// Reads a weight; 0 leaves its owner out.
    pub(super) fn weight(&self) -> Result<u32, DeclarationError> {
        match self.value.as_integer() {
            Some(n) if (0..=1_000_000).contains(&n) => Ok(n as u32),
            _ => Err(self.wrong("a whole number from 0 to 1,000,000")),
        }
    }

    pub(super) fn whole(&self) -> Result<i64, DeclarationError> {
        self.value
            .as_integer()
            .ok_or_else(|| self.wrong("a whole number"))
    }

    pub(super) fn flag(&self) -> Result<bool, DeclarationError> {
        self.value
            .as_boolean()
            .ok_or_else(|| self.wrong("true or false"))
    }

    pub(super) fn text(&self) -> Result<String, DeclarationError> {
        match self.value {
            Value::String(text) => Ok(escape_invalid(text)),
            _ => Err(self.wrong("a string")),
        }
    }

    /// Reads a list of strings; one string is a list of one.
    pub(super) fn texts(&self) -> Result<Vec<String>, DeclarationError> {
        let wrong = || self.wrong("a list of strings, such as { \"smoke\", \"checkout\" }");
        match self.value {
            Value::String(text) => Ok(vec![escape_invalid(text)]),
            Value::Table(table) if table.raw_len() == table.pairs::<Value, Value>().count() => {
                let texts = table.sequence_values::<mlua::LuaString>();
                let texts = texts.map(|text| text.map(|text| escape_invalid(&text)));
                texts.collect::<Result<_, _>>().map_err(|_| wrong())
            }
            _ => Err(wrong()),
        }
    }

    /// Reads tags: strings, which select tasks, and named values, which distinguish figures.
    pub(super) fn tags(&self) -> Result<(Vec<String>, Tags), DeclarationError> {
        let Value::Table(table) = self.value else {
            return Ok((self.texts()?, Tags::default()));
        };
        let mut words = Vec::new();
        let mut tags = Tags::default();
        for (key, value) in entries(table) {
            match (&key, &value) {
                (Value::Integer(_), Value::String(word)) => words.push(escape_invalid(word)),
                (Value::String(key), value) => {
                    let key = escape_invalid(key);
                    set_tag(&mut tags, &key, value).map_err(|problem| DeclarationError {
                        diagnostic: Diagnostic::new(format!(
                            "field '{}' of {}: {problem}",
                            self.name, self.owner
                        )),
                        word: Some(key),
                    })?;
                }
                _ => {
                    return Err(self.wrong(
                        "a list of strings, such as { \"smoke\" }, or named values, such as { region = \"eu\" }",
                    ));
                }
            }
        }
        Ok((words, tags))
    }

    /// Reads variables for `env`.
    pub(super) fn variables(&self) -> Result<BTreeMap<String, String>, DeclarationError> {
        let wrong = || self.wrong("a table of strings, such as { LANG = \"de\" }");
        let Value::Table(table) = self.value else {
            return Err(wrong());
        };
        let mut variables = BTreeMap::new();
        for (key, value) in entries(table) {
            let (Value::String(key), Ok(value)) = (&key, read_scalar(&value, "a variable")) else {
                return Err(wrong());
            };
            let value = String::from_utf8(value).map_err(|_| wrong())?;
            variables.insert(escape_invalid(key), value);
        }
        Ok(variables)
    }

    /// Reads thresholds on the requests of a scenario.
    pub(super) fn thresholds_of(&self, scenario: &str) -> Result<Vec<Threshold>, DeclarationError> {
        let here = |diagnostic: Diagnostic| DeclarationError {
            diagnostic,
            word: Some(self.name.clone()),
        };
        if scenario.contains(',') {
            let message = format!(
                "thresholds cannot choose {}: its name has a comma",
                self.owner
            );
            return Err(here(Diagnostic::new(message).help("give it another name")));
        }
        let mut thresholds =
            scenario_thresholds(self.owner, &read_setting(self.value)).map_err(here)?;
        for threshold in &mut thresholds {
            let of_scenario = format!("{SCENARIO}={scenario}");
            threshold.name = Some(match threshold.name.take() {
                Some(name) => format!("{of_scenario}, {name}"),
                None => of_scenario,
            });
        }
        Ok(thresholds)
    }

    /// Reads a table of headers.
    pub(super) fn headers(&self) -> Result<HeaderMap, DeclarationError> {
        let Setting::Map(texts) = read_setting(self.value) else {
            return Err(self.wrong("a table of strings, such as { [\"X-Test\"] = \"1\" }"));
        };
        let header = |(name, value): (String, String)| {
            header_line(&name, value.as_bytes()).map_err(|problem| DeclarationError {
                diagnostic: Diagnostic::new(format!(
                    "field '{}' of {}: {problem}",
                    self.name, self.owner
                )),
                word: Some(name),
            })
        };
        texts.into_iter().map(header).collect()
    }

    /// Reads a rate: a number per second, or text such as "20/s".
    pub(super) fn rate(&self) -> Result<f64, DeclarationError> {
        let rate = read_setting(self.value).rate();
        rate.map_err(|_| self.wrong("a rate such as 20 or \"20/s\""))
    }

    /// Sets the option of a load that the field names.
    pub(super) fn set_in(&self, settings: &mut OwnLoadSettings) -> Result<(), DeclarationError> {
        let set = settings.set(self.owner, &self.name, &read_setting(self.value));
        set.map_err(|diagnostic| DeclarationError {
            diagnostic,
            word: Some(self.name.clone()),
        })
    }

    pub(super) fn order(&self) -> Result<TaskOrder, DeclarationError> {
        let name = self.text()?;
        TaskOrder::parse(&name).ok_or_else(|| {
            let valid: Vec<&str> = TaskOrder::ALL.iter().map(|order| order.name()).collect();
            DeclarationError {
                diagnostic: unknown_word("order", &name, self.owner, &valid),
                word: Some(name),
            }
        })
    }

    pub(super) fn wait(&self) -> Result<Wait, DeclarationError> {
        read_wait_rule(self.value).map_err(|mistake: WaitMistake| match mistake.expected() {
            (expected, None) => self.wrong(expected),
            (expected, Some(got)) => self.wrong_as(expected, got),
        })
    }
}

/// Passes the named fields of a task or scenario to `read`, until one does not fit.
pub(super) fn for_each_field(
    table: &Table,
    owner: &str,
    mut read: impl FnMut(&DeclaredField<'_>) -> Result<(), DeclarationError>,
) -> Result<(), DeclarationError> {
    for (key, value) in entries(table) {
        let Value::String(key) = &key else { continue };
        let name = escape_invalid(key);
        check_size(&name, owner, &value)?;
        read(&DeclaredField::new(name, owner, &value))?;
    }
    Ok(())
}
