//! An OpenAPI document and what its references lead to.

use serde_json::{Map, Value};

/// How many references are followed one after another.
const CHAIN: usize = 16;
/// The most parts that a schema is put together from.
const LAYERS: usize = 64;

static NOTHING: Value = Value::Null;

#[derive(Debug)]
pub(super) struct Document(Value);

/// The parts of a schema that hold together: itself, what it refers to, all of `allOf`, the first of `oneOf` and `anyOf`.
#[derive(Debug, Default)]
pub(super) struct Layers<'a> {
    pub(super) parts: Vec<&'a Value>,
    /// The references that were followed.
    pub(super) references: Vec<&'a str>,
}

impl Document {
    pub(super) fn new(file: Map<String, Value>) -> Self {
        Document(Value::Object(file))
    }

    pub(super) fn root(&self) -> &Value {
        &self.0
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

    /// Returns what a reference within the document leads to.
    fn find(&self, reference: &str) -> &Value {
        let Some(pointer) = reference.strip_prefix('#') else {
            return &NOTHING;
        };
        let decoded = percent_encoding::percent_decode_str(pointer).decode_utf8_lossy();
        self.0.pointer(&decoded).unwrap_or(&NOTHING)
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
        let mut all: Vec<(&str, &Value)> = Vec::new();
        for part in &self.parts {
            for (name, schema) in part["properties"].as_object().into_iter().flatten() {
                if !all.iter().any(|(known, _)| *known == name) {
                    all.push((name, schema));
                }
            }
        }
        all
    }

    pub(super) fn requires(&self, name: &str) -> bool {
        let lists = self
            .parts
            .iter()
            .filter_map(|part| part["required"].as_array());
        lists.flatten().any(|known| known == name)
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
