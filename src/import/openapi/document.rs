//! An OpenAPI document and what its references lead to, in itself and in the files beside it.

use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// How many references are followed one after another, and on the way to one place.
const CHAIN: usize = 16;
const DETOURS: usize = 64;
/// The most parts that a schema is put together from.
const LAYERS: usize = 64;

static NOTHING: Value = Value::Null;

#[derive(Debug)]
pub(super) struct Document {
    root: Value,
    /// By the names that references call them before '#'.
    files: BTreeMap<String, Value>,
}

/// The parts of a schema that hold together: itself, what it refers to, all of `allOf`, the first of `oneOf` and `anyOf`.
#[derive(Debug, Default)]
pub(super) struct Layers<'a> {
    pub(super) parts: Vec<&'a Value>,
    /// The references that were followed.
    pub(super) references: Vec<&'a str>,
}

impl Document {
    pub(super) fn new(root: Value, files: BTreeMap<String, Value>) -> Self {
        Document { root, files }
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
    pub(super) fn layers<'a>(&'a self, schema: &'a Value) -> Layers<'a> {
        let mut layers = Layers::default();
        self.gather(schema, &mut layers);
        layers
    }

    fn gather<'a>(&'a self, schema: &'a Value, layers: &mut Layers<'a>) {
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
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.gather(part, layers);
        }
        for choice in ["oneOf", "anyOf"] {
            let branches = schema[choice].as_array().into_iter().flatten();
            let mut branches = branches.filter(|branch| branch["type"] != "null");
            if let Some(first) = branches.next() {
                self.gather(first, layers);
            }
        }
    }
}

impl<'a> Layers<'a> {
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

    /// Returns names and schemas of all properties, each once.
    pub(super) fn properties(&self) -> Vec<(&'a str, &'a Value)> {
        let mut known = HashSet::new();
        let lists = self
            .parts
            .iter()
            .filter_map(|part| part["properties"].as_object());
        lists
            .flatten()
            .map(|(name, schema)| (name.as_str(), schema))
            .filter(|(name, _)| known.insert(*name))
            .collect()
    }

    /// Returns the names of the properties that are required.
    pub(super) fn required(&self) -> HashSet<&'a str> {
        let lists = self
            .parts
            .iter()
            .filter_map(|part| part["required"].as_array());
        lists.flatten().filter_map(Value::as_str).collect()
    }

    /// Returns the type: said, or what the other fields tell.
    pub(super) fn kind(&self) -> &'a str {
        let said = self.parts.iter().find_map(|part| match &part["type"] {
            Value::String(kind) => Some(kind.as_str()),
            Value::Array(kinds) => kinds
                .iter()
                .filter_map(Value::as_str)
                .find(|kind| *kind != "null"),
            _ => None,
        });
        let has = |name: &str| self.get(name).is_some();
        said.unwrap_or(match () {
            () if has("properties") || has("additionalProperties") => "object",
            () if has("items") => "array",
            () if has("minimum") || has("maximum") || has("multipleOf") => "number",
            () => "string",
        })
    }

    /// Returns the value that the author of a schema has given as an example, as the one to use, or as the only one.
    pub(super) fn said(&self) -> Option<&'a Value> {
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
