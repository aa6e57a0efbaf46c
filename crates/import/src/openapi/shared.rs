//! Parts of paths that many operations have and nothing fills, such as the `{owner}` of every repository: each is a
//! variable, which can be set when the plan is run, rather than a value and a note in every request.

use super::chain::Creator;
use super::document::OpenApiDocument;
use super::operation::Operation;
use super::path::{PathPart, made_value, parts};
use crate::calls::{LuaLiteral, PlanOutline};
use crate::lua_text::{comment, quoted, table};
use crate::names::UsedNames;
use crate::origin::singular;
use crate::secrets::Secrets;
use serde_json::Value;
use std::collections::BTreeMap;

/// The table of the plan that has them.
const TABLE: &str = "parameters";
/// Names that mean another thing in each collection.
const GENERIC: [&str; 8] = [
    "id", "key", "name", "slug", "uuid", "number", "code", "type",
];
/// Variables that credentials have.
const CREDENTIALS: [&str; 4] = ["api_key", "password", "token", "username"];
/// The most notes.
const MAX_NOTES: usize = 40;

/// The facts that equal parts of paths have in common.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PartKey {
    name: String,
    /// The path before it where the name alone is ambiguous.
    collection: String,
    /// The value that is sent unless the variable is set.
    value: String,
}

#[derive(Debug)]
struct SharedParameter {
    field: String,
    /// The number of operations that have it, and the first of them.
    count: usize,
    first: String,
}

/// The parts that several operations have.
#[derive(Debug, Default)]
pub(super) struct SharedParameters {
    all: BTreeMap<PartKey, SharedParameter>,
}

impl SharedParameters {
    /// Finds them.
    pub(super) fn find(
        document: &OpenApiDocument,
        operations: &[Operation<'_>],
        creators: &[Creator],
    ) -> Self {
        let mut all: BTreeMap<PartKey, SharedParameter> = BTreeMap::new();
        let mut secrets = Secrets::default();
        for operation in operations {
            let parameters = operation.parameters(document);
            for part in parts(operation.path) {
                let PathPart::Parameter { name, collection } = part else {
                    continue;
                };
                let is_made = |path| Creator::of(creators, path).is_some();
                if collection.is_some_and(is_made) {
                    continue;
                }
                let mut parameter = parameters.iter().copied();
                let parameter = parameter
                    .find(|parameter| parameter["in"] == "path" && parameter["name"] == name);
                let parameter = parameter.unwrap_or(&Value::Null);
                let made = made_value(document, &mut secrets, parameter, name);
                let Some(key) = made.and_then(|made| key(name, collection, &made)) else {
                    continue;
                };
                let shared = all.entry(key).or_insert_with(|| SharedParameter {
                    field: String::new(),
                    count: 0,
                    first: operation.name(),
                });
                shared.count += 1;
            }
        }
        all.retain(|_, shared| shared.count > 1);
        let mut names = UsedNames::default();
        for (key, shared) in &mut all {
            let thing = key
                .collection
                .rsplit('/')
                .find(|part| !part.starts_with('{'));
            let thing = thing.filter(|thing| !thing.is_empty()).map(singular);
            let proposed = match thing {
                Some(thing) => format!("{thing}_{}", key.name),
                None if CREDENTIALS.contains(&key.name.to_ascii_lowercase().as_str()) => {
                    format!("the_{}", key.name)
                }
                None => key.name.clone(),
            };
            shared.field = names.unique(&proposed);
        }
        SharedParameters { all }
    }

    /// Returns the variable for a part of a path, if several operations have that.
    pub(super) fn variable(
        &self,
        name: &str,
        collection: Option<&str>,
        made: &LuaLiteral,
    ) -> Option<LuaLiteral> {
        let shared = self.all.get(&key(name, collection, made)?)?;
        Some(LuaLiteral::Expression(format!("{TABLE}.{}", shared.field)))
    }

    /// Adds the variables to a plan.
    pub(super) fn write(&self, calls: &mut PlanOutline) {
        if self.all.is_empty() {
            return;
        }
        let mut fields = Vec::new();
        for (key, shared) in &self.all {
            let variable = shared.field.to_ascii_uppercase();
            let default = quoted(&key.value);
            fields.push((
                shared.field.clone(),
                format!("env({}, {default})", quoted(&variable)),
            ));
            if fields.len() <= MAX_NOTES {
                let shown = comment(&key.name);
                let value = comment(&key.value);
                calls.note(format!(
                    "set {variable} ('-e {variable}=…', the environment or '--env-file') to one that exists: '{shown}' of {} operations, such as {}, has no example, and '{value}' is sent",
                    shared.count, shared.first
                ));
            }
        }
        if let Some(more) = fields.len().checked_sub(MAX_NOTES + 1) {
            let more = more + 1;
            calls.note(format!(
                "set {more} more variables in '{TABLE}' at the top of the plan"
            ));
        }
        calls.locals.push((TABLE.to_owned(), table(&fields, 0)));
    }
}

/// Returns the key of a part; `None` for one whose value is new in each request.
fn key(name: &str, collection: Option<&str>, made: &LuaLiteral) -> Option<PartKey> {
    let value = match made {
        LuaLiteral::Scalar(value) => super::styles::scalar_text(value),
        made if made.is_uuid() => "00000000-0000-4000-8000-000000000000".to_owned(),
        _ => return None,
    };
    let is_generic = GENERIC.contains(&name.to_ascii_lowercase().as_str());
    let collection = collection.filter(|_| is_generic).unwrap_or_default();
    Some(PartKey {
        name: name.to_owned(),
        collection: collection.to_owned(),
        value,
    })
}
