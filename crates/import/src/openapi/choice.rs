//! Discriminators: the field that identifies the chosen one of several schemas, and its value for that.

use super::document::{OpenApiDocument, SchemaLayers};
use super::references;
use serde_json::Value;

/// A field that identifies the chosen schema.
#[derive(Debug)]
pub(super) struct ChoiceField<'a> {
    pub(super) name: &'a str,
    pub(super) value: String,
    /// Whether the document has the value; else it is the name of the schema, unless the field has one of its own.
    pub(super) is_mapped: bool,
}

/// Returns the fields that identify the choices of a schema.
pub(super) fn fields<'a>(
    document: &'a OpenApiDocument,
    layers: &SchemaLayers<'a>,
) -> Vec<ChoiceField<'a>> {
    let mut fields: Vec<ChoiceField<'a>> = Vec::new();
    for part in &layers.parts {
        let discriminator = &part["discriminator"];
        let Some(name) = discriminator["propertyName"].as_str() else {
            continue;
        };
        if fields.iter().any(|field| field.name == name) {
            continue;
        }
        let mapping: Vec<(&String, &str)> = mapping(document, discriminator).collect();
        let mapped = layers.references.iter().find_map(|reference| {
            let mut mapping = mapping.iter();
            let (value, _) = mapping.find(|(_, to)| is_name_of(to, reference))?;
            Some((*value).clone())
        });
        let is_mapped = mapped.is_some();
        let value = mapped.or_else(|| {
            let chosen = match part["oneOf"].as_array().or(part["anyOf"].as_array()) {
                Some(branches) => {
                    let mut branches = branches.iter().filter(|branch| branch["type"] != "null");
                    branches.next()?["$ref"].as_str()
                }
                None => layers.references.first().copied(),
            };
            chosen.map(references::name_of)
        });
        if let Some(value) = value {
            fields.push(ChoiceField {
                name,
                value,
                is_mapped,
            });
        }
    }
    fields
}

/// Returns the first schema of a mapping with its name there, for a base that others extend by `allOf`, unless a
/// reference has chosen one.
pub(super) fn first_kind<'a>(
    document: &'a OpenApiDocument,
    layers: &SchemaLayers<'a>,
) -> Option<(&'a str, &'a Value)> {
    let has = |part: &Value, name: &str| part.get(name).is_some();
    let mut base = layers.parts.iter();
    let base = base.position(|part| has(part, "discriminator"))?;
    let is_composed = layers.parts[..base].iter().any(|part| has(part, "allOf"));
    let is_choice = |part: &&Value| has(part, "oneOf") || has(part, "anyOf");
    if is_composed || layers.parts.iter().any(is_choice) {
        return None;
    }
    let discriminator = &layers.parts[base]["discriminator"];
    let mapping: Vec<(&String, &'a str)> = mapping(document, discriminator).collect();
    let is_chosen = mapping.iter().any(|(_, to)| {
        let mut references = layers.references.iter();
        references.any(|reference| is_name_of(to, reference))
    });
    let (_, first) = mapping.first().filter(|_| !is_chosen)?;
    let schema = if first.contains(['#', '/']) {
        document.find(first)
    } else {
        &document.root()["components"]["schemas"][*first]
    };
    Some((first, schema))
}

fn mapping<'a>(
    document: &'a OpenApiDocument,
    discriminator: &'a Value,
) -> impl Iterator<Item = (&'a String, &'a str)> {
    let mapping = discriminator["mapping"].as_object().into_iter().flatten();
    let mapping = mapping.take_while(|_| document.spend(1));
    mapping.filter_map(|(value, to)| Some((value, to.as_str()?)))
}

/// Returns whether a mapping leads to a reference: as one, or by the name of the schema.
fn is_name_of(to: &str, reference: &str) -> bool {
    to == reference || !to.contains(['#', '/']) && reference.rsplit('/').next() == Some(to)
}
