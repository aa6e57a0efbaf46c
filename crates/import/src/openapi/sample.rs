//! Makes values that a schema allows.

use super::choice;
use super::document::{OpenApiDocument, SchemaLayers};
use super::pattern;
use super::styles::json_text;
use crate::calls::LuaLiteral;
use crate::exchange::{is_json, media_of};
use crate::lua_text::comment;
use crate::secrets::{self, Secrets};
use serde_json::{Value, json};

/// The depth of values in values.
const MAX_DEPTH: usize = 12;
/// The most values of one body.
const VALUES: usize = 2_000;
/// The longest list and text that are made.
const ITEMS: u64 = 1_000;
const CHARACTERS: u64 = 10_000;

/// Makes the values of one request.
pub(super) struct Sampler<'a, 'b> {
    document: &'a OpenApiDocument,
    secrets: &'b mut Secrets,
    /// Notes on the values.
    pub(super) notes: Vec<String>,
    references: Vec<&'a str>,
    remaining: usize,
    depth: usize,
}

impl<'a, 'b> Sampler<'a, 'b> {
    pub(super) fn new(document: &'a OpenApiDocument, secrets: &'b mut Secrets) -> Self {
        Sampler {
            document,
            secrets,
            notes: Vec::new(),
            references: Vec::new(),
            remaining: VALUES,
            depth: 0,
        }
    }

    /// Returns a value for a media type, a header or a parameter: its example, or one of its schema. `None` if the schema
    /// is one of itself without end.
    pub(super) fn of_content(&mut self, content: &'a Value, name: &str) -> Option<LuaLiteral> {
        match example(self.document, content) {
            Some(value) => {
                let layers = self.document.layers(&content["schema"]);
                self.document
                    .affordable(value)
                    .map(|value| authored(value, &layers))
            }
            None => self.of_schema(&content["schema"], name),
        }
    }

    /// Returns a value for a parameter, as its style writes it, or as JSON text where its content is that.
    pub(super) fn of_parameter(&mut self, parameter: &'a Value, name: &str) -> Option<LuaLiteral> {
        let mut contents = parameter["content"].as_object().into_iter().flatten();
        let Some((media, content)) = contents.next() else {
            return self.of_content(parameter, name);
        };
        let value = match example(self.document, parameter) {
            Some(value) => self.document.affordable(value).map(LuaLiteral::json),
            None => self.of_content(content, name),
        };
        value.map(|value| {
            if is_json(&media_of(media)) {
                json_text(&value)
            } else {
                value
            }
        })
    }

    /// Returns a value of the first content of a parameter.
    pub(super) fn of_first_content(
        &mut self,
        parameter: &'a Value,
        name: &str,
    ) -> Option<LuaLiteral> {
        let content = parameter["content"].as_object()?.values().next()?;
        self.of_content(content, name)
    }

    /// Returns a value of a schema.
    pub(super) fn of_schema(&mut self, schema: &'a Value, name: &str) -> Option<LuaLiteral> {
        let layers = self.document.layers(schema);
        let again = layers
            .references
            .iter()
            .any(|reference| self.references.contains(reference));
        if self.depth >= MAX_DEPTH || self.remaining == 0 {
            let note = format!(
                "is cut short: a request has {VALUES} values and {MAX_DEPTH} levels of them at most"
            );
            self.document.notes().add(note);
            return None;
        }
        if again {
            return None;
        }
        self.remaining -= 1;
        self.depth += 1;
        let length = self.references.len();
        self.references.extend(&layers.references);
        let value = self.of_layers(&layers, name);
        self.references.truncate(length);
        self.depth -= 1;
        value
    }

    fn of_layers(&mut self, layers: &SchemaLayers<'a>, name: &str) -> Option<LuaLiteral> {
        if let Some(value) = layers.preferred_value() {
            return self
                .document
                .affordable(value)
                .map(|value| authored(value, layers));
        }
        Some(match layers.kind() {
            "object" => self.object(layers),
            "array" => {
                let count = layers.get("minItems").and_then(Value::as_u64).unwrap_or(1);
                let items = layers.get("items").unwrap_or(&Value::Null);
                if count > ITEMS {
                    let note = format!(
                        "'{}' has {ITEMS} of its {count} items: a list has no more here",
                        comment(name)
                    );
                    self.notes.push(note);
                }
                let count = count.clamp(1, ITEMS);
                let values = (0..count).map_while(|_| self.of_schema(items, name));
                LuaLiteral::List(values.collect())
            }
            "integer" => LuaLiteral::json(&json!(number(layers, true) as i64)),
            "number" => {
                let number = number(layers, false);
                if number.fract() == 0.0 && number.abs() < 9e15 {
                    LuaLiteral::json(&json!(number as i64))
                } else {
                    LuaLiteral::json(&json!(number))
                }
            }
            "boolean" => LuaLiteral::json(&json!(true)),
            "null" => LuaLiteral::json(&Value::Null),
            _ => self.text(layers, name),
        })
    }

    /// Returns the properties that are required, all of them if none is, without those that only responses have.
    fn object(&mut self, layers: &SchemaLayers<'a>) -> LuaLiteral {
        let properties = self.document.properties(layers);
        let required = self.document.required(layers);
        let any = properties.iter().any(|(name, _)| required.contains(name));
        let mut fields = Vec::new();
        for (name, schema) in properties {
            if any && !required.contains(name) {
                continue;
            }
            if self.document.layers(schema).get("readOnly") == Some(&Value::Bool(true)) {
                continue;
            }
            match self.of_schema(schema, name) {
                Some(value) => fields.push((name.to_owned(), value)),
                None if required.contains(name) => self.notes.push(format!(
                    "left out '{}', which has to be there: its schema is one of itself without end, or too much",
                    comment(name)
                )),
                None => {}
            }
        }
        for choice in choice::fields(self.document, layers) {
            let own = layers.property(choice.name);
            let own = own.map(|schema| self.document.layers(schema));
            let is_fixed =
                own.is_some_and(|own| own.get("enum").is_some() || own.get("const").is_some());
            if choice.is_mapped || !is_fixed {
                fields.retain(|(key, _)| *key != choice.name);
                fields.push((choice.name.to_owned(), LuaLiteral::text(&choice.value)));
            }
        }
        LuaLiteral::Table(fields)
    }

    fn text(&mut self, layers: &SchemaLayers<'_>, name: &str) -> LuaLiteral {
        let format = layers.text("format").unwrap_or_default();
        if format == "password" || secrets::is_secret(name) {
            let what = format!("field '{}'", comment(name));
            return LuaLiteral::Expression(self.secrets.variable(name, "", &what));
        }
        let made = match format {
            "uuid" => return LuaLiteral::uuid(),
            "email" | "idn-email" => "random.email()",
            "date-time" => "os.date(\"!%Y-%m-%dT%H:%M:%SZ\")",
            "date" => "os.date(\"!%Y-%m-%d\")",
            "time" => "os.date(\"!%H:%M:%SZ\")",
            _ => "",
        };
        if !made.is_empty() {
            return LuaLiteral::Expression(made.to_owned());
        }
        let fixed = match format {
            "uri" | "url" | "iri" => "https://example.com/",
            "uri-reference" | "iri-reference" => "/",
            "hostname" | "idn-hostname" => "example.com",
            "ipv4" => "127.0.0.1",
            "ipv6" => "::1",
            "duration" => "PT1H",
            "byte" => "dGV4dA==",
            _ => "",
        };
        if !fixed.is_empty() {
            return LuaLiteral::text(fixed);
        }
        let bound = |name: &str| layers.get(name).and_then(Value::as_u64);
        let least = bound("minLength").unwrap_or(0).min(CHARACTERS) as usize;
        let most = bound("maxLength").unwrap_or(u64::MAX).max(least as u64);
        if let Some(text) = layers.text("pattern") {
            match pattern::matching(text, least) {
                Some(found) if found.chars().count() as u64 <= most => {
                    return LuaLiteral::text(&found);
                }
                _ => self.notes.push(format!(
                    "'{}' is to match a pattern that is not understood: write a value",
                    comment(name)
                )),
            }
        }
        let long = "text".repeat(least.div_ceil(4).max(1));
        let length = least
            .max(4)
            .min(usize::try_from(most).unwrap_or(usize::MAX));
        LuaLiteral::text(&long[..length.min(long.len())])
    }
}

/// Returns the example of a media type, a header or a parameter.
pub(super) fn example<'a>(document: &'a OpenApiDocument, content: &'a Value) -> Option<&'a Value> {
    let first = || {
        let mut examples = content["examples"].as_object()?.values();
        let example = document.resolve(examples.next()?);
        example.get("value").or_else(|| example.get("dataValue"))
    };
    content.get("example").or_else(first)
}

/// Returns a value of the author's. A text is read as JSON where the schema does not allow a text.
fn authored(value: &Value, layers: &SchemaLayers<'_>) -> LuaLiteral {
    let parsed = value
        .as_str()
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    let is_meant = |parsed: &Value| match layers.known_kind() {
        Some("object") => parsed.is_object(),
        Some("array") => parsed.is_array(),
        Some("integer" | "number") => parsed.is_number(),
        Some("boolean") => parsed.is_boolean(),
        Some(_) => false,
        None => parsed.is_object() || parsed.is_array(),
    };
    LuaLiteral::json(
        parsed
            .as_ref()
            .filter(|parsed| is_meant(parsed))
            .unwrap_or(value),
    )
}

/// Returns a number within the bounds, 1 if that is.
fn number(layers: &SchemaLayers<'_>, whole: bool) -> f64 {
    let step = if whole { 1.0 } else { 0.5 };
    let is_exclusive = |name: &str| layers.get(name) == Some(&Value::Bool(true));
    let mut least = layers.number("minimum");
    if let Some(minimum) = least.filter(|_| is_exclusive("exclusiveMinimum")) {
        least = Some(minimum + step);
    }
    if let Some(exclusive) = layers.number("exclusiveMinimum") {
        least = Some(least.unwrap_or(f64::MIN).max(exclusive + step));
    }
    let mut most = layers.number("maximum");
    if let Some(maximum) = most.filter(|_| is_exclusive("exclusiveMaximum")) {
        most = Some(maximum - step);
    }
    if let Some(exclusive) = layers.number("exclusiveMaximum") {
        most = Some(most.unwrap_or(f64::MAX).min(exclusive - step));
    }
    let mut number: f64 = 1.0;
    if let Some(most) = most {
        number = number.min(most);
    }
    if let Some(least) = least {
        number = number.max(least);
    }
    if let Some(multiple) = layers
        .number("multipleOf")
        .filter(|multiple| *multiple > 0.0)
    {
        let up = (number / multiple).ceil() * multiple;
        let fits = most.is_none_or(|most| up <= most);
        number = if fits {
            up
        } else {
            (number / multiple).floor() * multiple
        };
    }
    if whole { number.ceil() } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(schemas: Value, schema: Value) -> String {
        let file = json!({ "components": { "schemas": schemas } });
        let document = OpenApiDocument::new(file, None);
        let mut secrets = Secrets::default();
        let mut sampler = Sampler::new(&document, &mut secrets);
        let value = sampler.of_schema(&schema, "x");
        value.map_or("none".to_owned(), |value| value.render(0))
    }

    #[test]
    fn bounds_formats_and_patterns_are_respected() {
        for (schema, expected) in [
            (json!({ "type": "integer" }), "1"),
            (json!({ "type": "integer", "minimum": 18 }), "18"),
            (
                json!({ "type": "integer", "minimum": 3, "exclusiveMinimum": true }),
                "4",
            ),
            (
                json!({ "type": "integer", "exclusiveMinimum": 3, "multipleOf": 5 }),
                "5",
            ),
            (json!({ "type": "number", "maximum": 0.25 }), "0.25"),
            (json!({ "type": ["null", "boolean"] }), "true"),
            (json!({ "type": "string", "minLength": 6 }), "\"textte\""),
            (json!({ "type": "string", "maxLength": 2 }), "\"te\""),
            (
                json!({ "type": "string", "pattern": "^[A-Z]{3}-\\d{2,4}$" }),
                "\"AAA-00\"",
            ),
            (
                json!({ "type": "string", "format": "uuid" }),
                "random.uuid()",
            ),
            (json!({ "enum": ["b", "a"] }), "\"b\""),
            (json!({ "const": 7 }), "7"),
            (
                json!({ "type": "array", "items": { "type": "integer" }, "minItems": 2 }),
                "{ 1, 1 }",
            ),
            (
                json!({ "anyOf": [{ "type": "null" }, { "type": "integer", "examples": [9] }] }),
                "9",
            ),
            (json!(true), "\"text\""),
        ] {
            assert_eq!(sample(json!({}), schema.clone()), expected, "{schema}");
        }
    }

    #[test]
    fn objects_have_what_is_required_and_no_end_is_bounded() {
        let schemas = json!({
            "Base": { "type": "object", "required": ["id", "name"], "properties": {
                "id": { "type": "integer", "readOnly": true }, "name": { "type": "string", "example": "tea" }, "note": { "type": "string" } } },
            "Node": { "type": "object", "required": ["value", "next", "all"], "properties": {
                "value": { "type": "integer" }, "next": { "$ref": "#/components/schemas/Node" },
                "all": { "type": "array", "items": { "$ref": "#/components/schemas/Node" } } } },
            "Loop": { "$ref": "#/components/schemas/Loop" },
            "Cat": { "type": "object", "properties": { "kind": { "type": "string" } } },
        });
        let reference = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
        for (schema, expected) in [
            (
                json!({ "allOf": [reference("Base"), { "required": ["price"], "properties": { "price": { "type": "number" } } }] }),
                "{ name = \"tea\", price = 1 }",
            ),
            (reference("Node"), "{ all = json.array {}, value = 1 }"),
            (reference("Loop"), "\"text\""),
            (reference("Missing"), "\"text\""),
            (
                json!({ "oneOf": [reference("Cat"), reference("Base")], "discriminator": { "propertyName": "kind" } }),
                "{ kind = \"Cat\" }",
            ),
        ] {
            assert_eq!(
                sample(schemas.clone(), schema.clone()),
                expected,
                "{schema}"
            );
        }
    }

    #[test]
    fn schemas_that_double_at_each_step_are_cut_short() {
        let mut schemas = serde_json::Map::new();
        for level in 0..30 {
            let next = json!({ "$ref": format!("#/components/schemas/S{}", level + 1) });
            let fields = json!({ "a": next, "b": next, "c": next });
            schemas.insert(
                format!("S{level}"),
                json!({ "type": "object", "properties": fields }),
            );
        }
        let text = sample(
            Value::Object(schemas),
            json!({ "$ref": "#/components/schemas/S0" }),
        );
        assert!(text.len() < 200_000, "{}", text.len());
    }
}
