//! The fields of a scenario: its users, and the load of its own that it may have.

use super::field::{DeclarationError, for_each_field};
use lgoose_base::error::Diagnostic;
use lgoose_base::threshold::Threshold;
use lgoose_plan::Scenario;
use lgoose_plan::config::{OwnLoad, OwnLoadSettings, Value as Setting};
use mlua::Table;
use std::collections::BTreeMap;

/// The fields of a scenario, except for the options of its own load.
const OTHER_SCENARIO_FIELDS: [&str; 12] = [
    "weight",
    "users",
    "wait",
    "host",
    "order",
    "tags",
    "iterations",
    "shared_iterations",
    "throttle_requests",
    "headers",
    "env",
    "thresholds",
];

/// Returns all fields of a scenario.
pub(super) fn scenario_fields() -> Vec<&'static str> {
    [&OTHER_SCENARIO_FIELDS[..], &OwnLoad::FIELDS[..]].concat()
}

/// The fields of a scenario in addition to its users and tasks.
#[derive(Debug, Default)]
pub(super) struct ScenarioExtras {
    /// The variables that `env` gives its users.
    pub(super) env: BTreeMap<String, String>,
    /// Limits on its requests.
    pub(super) thresholds: Vec<Threshold>,
}

/// Reads the fields of a scenario.
///
/// # Errors
/// The first mistake in them.
pub(super) fn read_scenario_fields(
    table: &Table,
    owner: &str,
    scenario: &mut Scenario,
) -> Result<ScenarioExtras, DeclarationError> {
    let mut extras = ScenarioExtras::default();
    let mut own_load: Option<OwnLoadSettings> = None;
    let mut weighted = None;
    for_each_field(table, owner, |field| {
        match field.name.as_str() {
            "weight" => {
                scenario.weight = field.weight()?;
                weighted = Some(field.name.clone());
            }
            "users" => scenario.users = Some(field.at_least_one()?),
            "iterations" => scenario.iterations = Some(field.at_least_one()?.into()),
            "shared_iterations" | "max_iterations" => {
                scenario.shared_iterations = Some(field.at_least_one()?.into());
            }
            "throttle_requests" => scenario.throttle_requests = Some(field.rate()?),
            "headers" => scenario.headers = field.headers()?,
            "wait" => scenario.wait = field.wait()?,
            "host" => scenario.host = Some(field.text()?),
            "order" => scenario.order = field.order()?,
            "env" => extras.env = field.variables()?,
            "thresholds" => extras.thresholds = field.thresholds_of(&scenario.name)?,
            "tags" => (scenario.tags, scenario.request_tags) = field.tags()?,
            name if OwnLoad::FIELDS.contains(&name) => {
                let settings = own_load.get_or_insert_default();
                field.set_in(settings)?;
            }
            _ => return Err(field.unknown(&scenario_fields())),
        }
        Ok(())
    })?;
    if let Some(mut settings) = own_load {
        if let Some(word) = weighted {
            let message =
                format!("{owner} has a load of its own, and a weight is a share of the run's");
            let diagnostic = Diagnostic::new(message).help("leave 'weight' out");
            return Err(DeclarationError {
                diagnostic,
                word: Some(word),
            });
        }
        if let Some(users) = scenario.users.take() {
            settings.set(owner, "users", &Setting::Number(users.into()))?;
        }
        scenario.load = Some(settings.load(owner)?);
    }
    Ok(extras)
}
