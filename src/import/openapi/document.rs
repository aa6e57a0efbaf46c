//! An OpenAPI document and what its references lead to, in itself and in the files beside it.

use serde_json::Value;
use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};

/// How many references are followed one after another, and on the way to one place.
const CHAIN: usize = 16;
const DETOURS: usize = 64;
/// The most parts that a schema is put together from.
const LAYERS: usize = 64;
/// The longest reference.
const REFERENCE: usize = 4 << 10;
/// How much is looked at to make values for all requests: many may refer to the same large schema or example.
const LOOKS: usize = 2_000_000;
/// The characters of an example that count as one look.
const CHARACTERS: usize = 4;
/// The most that one request has of a kind: fields, parameters, ways in, answers.
pub(super) const EACH: usize = 1_000;

static NOTHING: Value = Value::Null;

#[derive(Debug)]
pub(super) struct OpenApiDocument {
    root: Value,
    /// By the names that references call them before '#'.
    files: BTreeMap<String, Value>,
    /// How much may still be looked at.
    looks: Cell<usize>,
}

/// The parts of a schema that hold together: itself, what it refers to, all of `allOf`, the first of `oneOf` and `anyOf`.
#[derive(Debug, Default)]
pub(super) struct SchemaLayers<'a> {
    pub(super) parts: Vec<&'a Value>,
    /// The references that were followed.
    pub(super) references: Vec<&'a str>,
}

impl OpenApiDocument {
    pub(super) fn new(root: Value, files: BTreeMap<String, Value>) -> Self {
        let looks = Cell::new(LOOKS);
        OpenApiDocument { root, files, looks }
    }

    /// Returns whether so much may still be looked at.
    fn spend(&self, looks: usize) -> bool {
        let remaining = self.looks.get().checked_sub(looks);
        self.looks.set(remaining.unwrap_or(0));
        remaining.is_some()
    }

    /// Returns a value that is to be written as it is; `None` if too much has been written.
    pub(super) fn affordable<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.spend(weight(value)).then_some(value)
    }

    /// Returns names and schemas of all properties, each once, as many as may be looked at.
    pub(super) fn properties<'a>(&self, layers: &SchemaLayers<'a>) -> Vec<(&'a str, &'a Value)> {
        let mut names = HashSet::new();
        let lists = layers
            .parts
            .iter()
            .filter_map(|part| part["properties"].as_object());
        lists
            .flatten()
            .take_while(|_| self.spend(1))
            .map(|(name, schema)| (name.as_str(), schema))
            .filter(|(name, _)| names.insert(*name))
            .collect()
    }

    /// Returns the names of the properties that are required, as many as may be looked at.
    pub(super) fn required<'a>(&self, layers: &SchemaLayers<'a>) -> HashSet<&'a str> {
        let lists = layers
            .parts
            .iter()
            .filter_map(|part| part["required"].as_array());
        let names = lists.flatten().take_while(|_| self.spend(1));
        names.filter_map(Value::as_str).collect()
    }

    pub(super) fn root(&self) -> &Value {
        &self.root
    }

    pub(super) fn has_file(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Follows references; what cannot be found is null.
    pub(super) fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        let mut value = value;
        for _ in 0..CHAIN {
            match value["$ref"].as_str() {
                Some(reference) => value = self.find(reference),
                None => return value,
            }
        }
        &NOTHING
    }

    /// Returns what a reference leads to.
    pub(super) fn find(&self, reference: &str) -> &Value {
        let mut detours = DETOURS;
        self.find_within(reference, &mut detours)
            .unwrap_or(&NOTHING)
    }

    /// Finds a place; references that stand on the way there are followed.
    fn find_within(&self, reference: &str, detours: &mut usize) -> Option<&Value> {
        if reference.len() > REFERENCE {
            return None;
        }
        let (file, pointer) = reference.split_once('#')?;
        let mut value = match file {
            "" => &self.root,
            file => self.files.get(file)?,
        };
        let decoded = percent_encoding::percent_decode_str(pointer).decode_utf8_lossy();
        if decoded.is_empty() {
            return Some(value);
        }
        for token in decoded.strip_prefix('/')?.split('/') {
            let name = token.replace("~1", "/").replace("~0", "~");
            loop {
                let found = match value {
                    Value::Array(items) => items.get(name.parse::<usize>().ok()?),
                    value => value.get(&name),
                };
                if let Some(found) = found {
                    value = found;
                    break;
                }
                *detours = detours.checked_sub(1)?;
                value = self.find_within(value["$ref"].as_str()?, detours)?;
            }
        }
        Some(value)
    }

    /// Returns the parts of a schema.
    pub(super) fn layers<'a>(&'a self, schema: &'a Value) -> SchemaLayers<'a> {
        let mut layers = SchemaLayers::default();
        self.gather(schema, &mut layers);
        layers
    }

    fn gather<'a>(&'a self, schema: &'a Value, layers: &mut SchemaLayers<'a>) {
        if layers.parts.len() >= LAYERS || !schema.is_object() {
            return;
        }
        layers.parts.push(schema);
        if let Some(reference) = schema["$ref"].as_str() {
            // One that leads back to itself says nothing new.
            if !layers.references.contains(&reference) {
                layers.references.push(reference);
                self.gather(self.find(reference), layers);
            }
        }
        for part in schema["allOf"]
            .as_array()
            .into_iter()
            .flatten()
            .take(LAYERS)
        {
            self.gather(part, layers);
        }
        for choice in ["oneOf", "anyOf"] {
            let branches = schema[choice].as_array().into_iter().flatten().take(LAYERS);
            let mut branches = branches.filter(|branch| branch["type"] != "null");
            if let Some(first) = branches.next() {
                self.gather(first, layers);
            }
        }
    }
}

impl<'a> SchemaLayers<'a> {
    /// Returns a field of the first part that has it.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.parts.iter().find_map(|part| part.get(name))
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(Value::as_f64)
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name).and_then(Value::as_str)
    }

    /// Returns the type: said, or what the other fields tell.
    pub(super) fn kind(&self) -> &'a str {
        let declared = self.parts.iter().find_map(|part| match &part["type"] {
            Value::String(kind) => Some(kind.as_str()),
            Value::Array(kinds) => kinds
                .iter()
                .filter_map(Value::as_str)
                .find(|kind| *kind != "null"),
            _ => None,
        });
        let has = |name: &str| self.get(name).is_some();
        declared.unwrap_or(match () {
            () if has("properties") || has("additionalProperties") => "object",
            () if has("items") => "array",
            () if has("minimum") || has("maximum") || has("multipleOf") => "number",
            () => "string",
        })
    }

    /// Returns the value that the author of a schema has given as an example, as the one to use, or as the only one.
    pub(super) fn preferred_value(&self) -> Option<&'a Value> {
        let first = |name: &str| {
            self.get(name)
                .and_then(Value::as_array)
                .and_then(|list| list.first())
        };
        self.get("example")
            .or_else(|| first("examples"))
            .or_else(|| self.get("const"))
            .or_else(|| self.get("default").filter(|value| !value.is_null()))
            .or_else(|| first("enum"))
    }
}

/// Returns how much a value counts.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len() / CHARACTERS,
        Value::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::Object(fields) => {
            let names = fields.keys().map(|name| name.len() / CHARACTERS);
            1 + fields.values().map(weight).chain(names).sum::<usize>()
        }
        _ => 1,
    }
}
