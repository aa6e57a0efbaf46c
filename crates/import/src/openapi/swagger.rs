//! Documents of Swagger 2.0, made documents of OpenAPI 3: the parts that the import reads, and no others. Schemas stay
//! where they are, under `definitions`.
//!
//! <https://spec.openapis.org/oas/v2.0.html>

use super::document::{EACH, OpenApiDocument};
use crate::exchange::{is_json, media_of};
use serde_json::{Map, Value, json};

const JSON: &str = "application/json";
const URL_ENCODED: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data";
/// The most media types that are read.
const MEDIA: usize = 20;
const METHODS: [&str; 7] = ["get", "head", "options", "post", "put", "patch", "delete"];

/// Returns the document as one of OpenAPI 3.
pub(super) fn converted(document: &OpenApiDocument) -> Value {
    let root = document.root();
    let mut new = root.clone();
    let paths = document.resolve(&root["paths"]).as_object();
    let paths = paths.into_iter().flatten().map(|(path, item)| {
        let item = document.resolve(item);
        let methods = METHODS.iter().filter(|method| item[**method].is_object());
        let operations = methods.map(|method| {
            document
                .notes()
                .begin(format!("{} {path}", method.to_uppercase()));
            (
                (*method).to_owned(),
                operation(document, item, &item[*method]),
            )
        });
        (path.clone(), Value::Object(operations.collect()))
    });
    new["paths"] = Value::Object(paths.collect());
    document.notes().begin(String::new());
    new["servers"] = json!([{ "url": server(root) }]);
    let schemes = root["securityDefinitions"].as_object();
    let schemes = schemes.into_iter().flatten().map(|(name, scheme)| {
        let mut scheme = scheme.clone();
        if scheme["type"] == "basic" {
            scheme = json!({ "type": "http", "scheme": "basic" });
        }
        (name.clone(), scheme)
    });
    let schemes: Map<String, Value> = schemes.collect();
    new["components"] = json!({ "securitySchemes": schemes });
    new
}

fn server(root: &Value) -> String {
    let base = root["basePath"].as_str().unwrap_or_default();
    match root["host"].as_str() {
        Some(host) => {
            let scheme = root["schemes"][0].as_str().unwrap_or("http");
            format!("{scheme}://{host}{base}")
        }
        None if base.is_empty() => "/".to_owned(),
        None => base.to_owned(),
    }
}

/// A parameter, and the value that stands for it in other places: a reference to it, or itself.
struct SwaggerParameter<'a> {
    definition: &'a Value,
    reference: Option<&'a str>,
}

impl SwaggerParameter<'_> {
    /// Returns a field of the parameter, such as a body's schema, or a reference to it.
    fn at(&self, document: &OpenApiDocument, field: &str) -> Value {
        match self.reference {
            Some(reference) => json!({ "$ref": format!("{reference}/{field}") }),
            None => copied(document, &self.definition[field]),
        }
    }

    /// Returns the schema: the parameter itself without the fields that no schema has.
    fn schema(&self, document: &OpenApiDocument) -> Value {
        let mut schema = match self.reference {
            Some(reference) => return json!({ "$ref": reference }),
            None => copied(document, self.definition),
        };
        if let Some(fields) = schema.as_object_mut() {
            fields.remove("required");
            if fields.get("type").is_some_and(|kind| kind == "file") {
                fields.insert("type".to_owned(), json!("string"));
                fields.insert("format".to_owned(), json!("binary"));
            }
            if let Some(example) = fields.remove("x-example") {
                fields.entry("example").or_insert(example);
            }
        }
        schema
    }

    /// Returns the style that a list has.
    fn style(&self) -> Value {
        let own = self.definition["collectionFormat"].as_str();
        let (style, explode) = match own.unwrap_or("csv") {
            "multi" => ("form", true),
            "ssv" => ("spaceDelimited", false),
            "pipes" => ("pipeDelimited", false),
            _ => ("form", false),
        };
        json!({ "style": style, "explode": explode })
    }
}

/// Returns a part of the document by itself; null if too much was taken already.
fn copied(document: &OpenApiDocument, value: &Value) -> Value {
    document.affordable(value).cloned().unwrap_or_default()
}

fn operation(document: &OpenApiDocument, item: &Value, old: &Value) -> Value {
    let root = document.root();
    let mut new = Map::new();
    for field in ["operationId", "tags", "security"] {
        if let Some(value) = old.get(field) {
            new.insert(field.to_owned(), copied(document, value));
        }
    }
    if let Some(scheme) = old["schemes"][0].as_str()
        && root["host"].is_string()
        && old["schemes"] != root["schemes"]
    {
        let mut other = json!({ "host": root["host"], "basePath": root["basePath"] });
        other["schemes"] = json!([scheme]);
        new.insert("servers".to_owned(), json!([{ "url": server(&other) }]));
    }
    let consumes = old.get("consumes").unwrap_or(&root["consumes"]);
    let consumes = consumes.as_array().into_iter().flatten().take(MEDIA);
    let consumes: Vec<&str> = consumes.filter_map(Value::as_str).collect();
    let mut parameters: Vec<Value> = Vec::new();
    let mut fields: Vec<SwaggerParameter<'_>> = Vec::new();
    for parameter in all_parameters(document, item, old) {
        let definition = parameter.definition;
        match definition["in"].as_str() {
            Some("body") => {
                let media = consumes.iter().find(|media| is_json(&media_of(media)));
                let media = media.or(consumes.first()).copied().unwrap_or(JSON);
                let mut content = Map::new();
                let schema = parameter.at(document, "schema");
                content.insert(media.to_owned(), json!({ "schema": schema }));
                if let Some(example) = definition.get("x-example") {
                    content[media]["example"] = copied(document, example);
                }
                new.insert("requestBody".to_owned(), json!({ "content": content }));
            }
            Some("formData") => fields.push(parameter),
            place => {
                let mut converted = json!({ "schema": parameter.schema(document) });
                for field in ["name", "in", "required"] {
                    converted[field] = definition[field].clone();
                }
                if definition["collectionFormat"] == "tsv" {
                    document.notes().add(
                        "has lists with tabs between their values, which are sent with commas"
                            .to_owned(),
                    );
                }
                if place == Some("query") && definition["type"] == "array" {
                    let style = parameter.style();
                    converted["style"] = style["style"].clone();
                    converted["explode"] = style["explode"].clone();
                }
                parameters.push(converted);
            }
        }
    }
    new.insert("parameters".to_owned(), Value::Array(parameters));
    if !fields.is_empty() {
        let body = form(document, &fields, &consumes);
        new.insert("requestBody".to_owned(), body);
    }
    let responses = old["responses"].as_object();
    let responses = responses.into_iter().flatten().take(EACH);
    let responses =
        responses.map(|(status, response)| (status.clone(), self::response(document, response)));
    new.insert("responses".to_owned(), Value::Object(responses.collect()));
    Value::Object(new)
}

fn all_parameters<'a>(
    document: &'a OpenApiDocument,
    item: &'a Value,
    operation: &'a Value,
) -> Vec<SwaggerParameter<'a>> {
    let lists = [&operation["parameters"], &item["parameters"]];
    let lists = lists.into_iter().filter_map(Value::as_array).flatten();
    let mut all: Vec<SwaggerParameter<'a>> = Vec::new();
    for parameter in lists.take(EACH) {
        let definition = document.resolve(parameter);
        let same = |other: &SwaggerParameter<'_>| {
            ["name", "in"]
                .iter()
                .all(|field| other.definition[*field] == definition[*field])
        };
        if !all.iter().any(same) {
            all.push(SwaggerParameter {
                definition,
                reference: parameter["$ref"].as_str(),
            });
        }
    }
    all
}

fn form(document: &OpenApiDocument, fields: &[SwaggerParameter<'_>], consumes: &[&str]) -> Value {
    let has_file = fields
        .iter()
        .any(|field| field.definition["type"] == "file");
    let is_encoded = consumes.iter().any(|media| media_of(media) == URL_ENCODED);
    let takes_parts = consumes.iter().any(|media| media_of(media) == MULTIPART);
    let media = if has_file || takes_parts && !is_encoded {
        MULTIPART
    } else {
        URL_ENCODED
    };
    let (mut properties, mut required, mut encoding) = (Map::new(), Vec::new(), Map::new());
    for field in fields {
        let name = field.definition["name"].as_str().unwrap_or_default();
        properties.insert(name.to_owned(), field.schema(document));
        if field.definition["required"] == true {
            required.push(json!(name));
        }
        if field.definition["type"] == "array" {
            encoding.insert(name.to_owned(), field.style());
        }
    }
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let mut content = Map::new();
    content.insert(
        media.to_owned(),
        json!({ "schema": schema, "encoding": encoding }),
    );
    json!({ "content": content })
}

fn response(document: &OpenApiDocument, response: &Value) -> Value {
    let resolved = document.resolve(response);
    let schema = match response["$ref"].as_str() {
        _ if resolved["schema"].is_null() => return json!({}),
        Some(reference) => json!({ "$ref": format!("{reference}/schema") }),
        None => copied(document, &resolved["schema"]),
    };
    let mut content = json!({ "schema": schema });
    if let Some(example) = resolved["examples"].get(JSON) {
        content["example"] = copied(document, example);
    }
    let mut media = Map::new();
    media.insert(JSON.to_owned(), content);
    json!({ "content": media })
}
