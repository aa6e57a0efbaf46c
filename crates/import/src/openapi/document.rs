//! An OpenAPI document and the targets of its references, in itself and in the files beside it.

use super::beside::DocumentFiles;
use super::choice;
use super::notes::OperationNotes;
use crate::lua_text::comment;
use serde_json::Value;
use std::cell::{Cell, RefCell, RefMut};
use std::collections::HashSet;
use std::path::Path;

/// The number of references that are followed one after another, and on the way to one place.
const CHAIN: usize = 16;
const DETOURS: usize = 64;
/// The most parts that a schema is put together from.
const LAYERS: usize = 64;
/// The longest reference.
const REFERENCE: usize = 4 << 10;
/// The number of values that are visited to make values for all requests: many may refer to the same large schema or
/// example.
const LOOKS: usize = 2_000_000;
/// The characters of an example that count as one look.
const CHARACTERS: usize = 4;
/// The most items of each kind in one request: fields, parameters, ways in, responses.
pub(super) const EACH: usize = 1_000;

static NOTHING: Value = Value::Null;

#[derive(Debug)]
pub(super) struct OpenApiDocument {
    root: Value,
    files: DocumentFiles,
    /// The number of values that may still be visited.
    looks: Cell<usize>,
    notes: RefCell<OperationNotes>,
}

/// A reference that leads nowhere.
#[derive(Debug)]
struct LostReference {
    reference: String,
    /// The fault, with a remedy.
    what: String,
    /// Whether it is no name of a file.
    is_dead_end: bool,
}

/// The parts of a schema that hold together: itself, the targets of its references, all of `allOf`, the first of
/// `oneOf` and `anyOf`.
#[derive(Debug, Default)]
pub(super) struct SchemaLayers<'a> {
    pub(super) parts: Vec<&'a Value>,
    /// The references that were followed.
    pub(super) references: Vec<&'a str>,
}

impl OpenApiDocument {
    /// Reads a document; `path` is where it lies, and where the files are that it refers to.
    pub(super) fn new(mut root: Value, path: Option<&Path>) -> Self {
        let files = DocumentFiles::new(path);
        files.rewrite("", &mut root);
        OpenApiDocument {
            root,
            files,
            looks: Cell::new(LOOKS),
            notes: RefCell::default(),
        }
    }

    /// Puts another version of the document in its place, whose references are those of this one.
    pub(super) fn replace_root(&mut self, root: Value) {
        self.root = root;
    }

    /// Returns the notes on operations.
    pub(super) fn notes(&self) -> RefMut<'_, OperationNotes> {
        self.notes.borrow_mut()
    }

    /// Returns whether so many values may still be visited.
    pub(super) fn spend(&self, looks: usize) -> bool {
        let remaining = self.looks.get().checked_sub(looks);
        if remaining.is_none() {
            self.notes().add(
                "is cut short: the examples and schemas of all requests together are larger than what is read, so import parts of the document by themselves".to_owned(),
            );
        }
        self.looks.set(remaining.unwrap_or(0));
        remaining.is_some()
    }

    /// Returns a value that is to be written as it is; `None` if too much has been written.
    pub(super) fn affordable<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.spend(weight(value)).then_some(value)
    }

    /// Returns names and schemas of all properties, each once, as many as may be visited.
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

    /// Returns the names of the properties that are required, as many as may be visited.
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

    /// Follows references; a missing target is null.
    pub(super) fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        let mut value = value;
        for _ in 0..CHAIN {
            match value["$ref"].as_str() {
                Some(reference) => value = self.find(reference),
                None => return value,
            }
        }
        self.notes().add(format!(
            "a reference leads through more than {CHAIN} others or back to itself, and is left out"
        ));
        &NOTHING
    }

    /// Returns the target of a reference; a missing one is null, and noted.
    pub(super) fn find(&self, reference: &str) -> &Value {
        let mut detours = DETOURS;
        self.find_within(reference, &mut detours)
            .unwrap_or_else(|lost| {
                let place = self.files.place(&lost.reference);
                let file = lost.reference.split('#').next();
                let file = file.filter(|file| !file.is_empty() && !lost.is_dead_end);
                let target = comment(file.unwrap_or(&lost.reference));
                let what = lost.what;
                self.notes().add(format!(
                    "{place}the document refers to '{target}', which {what}"
                ));
                &NOTHING
            })
    }

    /// Finds a place; references that stand on the way there are followed.
    fn find_within(&self, reference: &str, detours: &mut usize) -> Result<&Value, LostReference> {
        let lost = |what: String| LostReference {
            reference: reference.to_owned(),
            what,
            is_dead_end: false,
        };
        if reference.len() > REFERENCE {
            return Err(lost("is too long".to_owned()));
        }
        if let Some(what) = self.files.dead_end(reference) {
            return Err(LostReference {
                is_dead_end: true,
                ..lost(what.to_owned())
            });
        }
        let hole = |pointer: &str| {
            lost(match reference.split_once('#') {
                Some(("", _)) | None => "is not there: mend the '$ref'".to_owned(),
                Some(_) => format!("has nothing at '#{}': mend the '$ref'", comment(pointer)),
            })
        };
        let (file, pointer) = reference.split_once('#').ok_or_else(|| hole(""))?;
        let mut value = match file {
            "" => &self.root,
            file => self.files.get(file).map_err(&lost)?,
        };
        let decoded = percent_encoding::percent_decode_str(pointer).decode_utf8_lossy();
        if decoded.is_empty() {
            return Ok(value);
        }
        let path = decoded.strip_prefix('/').ok_or_else(|| hole(pointer))?;
        for token in path.split('/') {
            let name = token.replace("~1", "/").replace("~0", "~");
            loop {
                let found = match value {
                    Value::Array(items) => name.parse().ok().and_then(|at: usize| items.get(at)),
                    value => value.get(&name),
                };
                if let Some(found) = found {
                    value = found;
                    break;
                }
                *detours = detours
                    .checked_sub(1)
                    .ok_or_else(|| lost("leads through too many others".to_owned()))?;
                let further = value["$ref"].as_str().ok_or_else(|| hole(pointer))?;
                value = self.find_within(further, detours)?;
            }
        }
        Ok(value)
    }

    /// Returns the parts of a schema.
    pub(super) fn layers<'a>(&'a self, schema: &'a Value) -> SchemaLayers<'a> {
        let mut layers = SchemaLayers::default();
        self.gather(schema, &mut layers);
        if let Some((name, schema)) = choice::first_kind(self, &layers) {
            layers.references.push(name);
            self.gather(schema, &mut layers);
        }
        layers
    }

    fn gather<'a>(&'a self, schema: &'a Value, layers: &mut SchemaLayers<'a>) {
        if !schema.is_object() {
            return;
        }
        if layers.parts.len() >= LAYERS {
            self.notes().add(format!(
                "a schema is put together from more than {LAYERS} parts, and the others are left out"
            ));
            return;
        }
        layers.parts.push(schema);
        if let Some(reference) = schema["$ref"].as_str() {
            self.follow(reference, layers);
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

    fn follow<'a>(&'a self, reference: &'a str, layers: &mut SchemaLayers<'a>) {
        // One that leads back to itself adds nothing.
        if !layers.references.contains(&reference) {
            layers.references.push(reference);
            self.gather(self.find(reference), layers);
        }
    }
}

impl<'a> SchemaLayers<'a> {
    /// Returns a field of the first part that has it.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.parts.iter().find_map(|part| part.get(name))
    }

    /// Returns the schema of a property.
    pub(super) fn property(&self, name: &str) -> Option<&'a Value> {
        self.parts
            .iter()
            .find_map(|part| part.get("properties")?.get(name))
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(Value::as_f64)
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name).and_then(Value::as_str)
    }

    /// Returns the type, stated or inferred from the other fields.
    pub(super) fn kind(&self) -> &'a str {
        self.known_kind().unwrap_or("string")
    }

    /// Returns the type; `None` where any is allowed.
    pub(super) fn known_kind(&self) -> Option<&'a str> {
        let declared = self.parts.iter().find_map(|part| match &part["type"] {
            Value::String(kind) => Some(kind.as_str()),
            Value::Array(kinds) => kinds
                .iter()
                .filter_map(Value::as_str)
                .find(|kind| *kind != "null"),
            _ => None,
        });
        let has = |name: &str| self.get(name).is_some();
        let kinds = [
            ("object", &["properties", "additionalProperties"][..]),
            ("array", &["items"]),
            ("number", &["minimum", "maximum", "multipleOf"]),
        ];
        let mut kinds = kinds.into_iter();
        declared.or_else(|| {
            let (kind, _) = kinds.find(|(_, names)| names.iter().any(|name| has(name)))?;
            Some(kind)
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
