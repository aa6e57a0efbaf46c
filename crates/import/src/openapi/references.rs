//! References in a document and in the files beside it: their places and their targets. Reads no file.

use serde_json::Value;
use std::path::PathBuf;

/// Fields whose values are the author's, not parts of the document.
const LITERALS: [&str; 5] = ["const", "default", "enum", "example", "value"];
/// Fields whose own fields have names that the author has chosen.
const NAMED: [&str; 19] = [
    "$defs",
    "callbacks",
    "content",
    "definitions",
    "dependentSchemas",
    "encoding",
    "examples",
    "headers",
    "links",
    "parameters",
    "pathItems",
    "paths",
    "patternProperties",
    "properties",
    "requestBodies",
    "responses",
    "schemas",
    "securitySchemes",
    "webhooks",
];

/// The target of a reference.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReferenceTarget {
    /// A place in the same file, without the '#'.
    Within(String),
    /// The name of another file, from the document's folder, and a place in it.
    File(String, String),
    /// Nothing that is read: the reason, with a remedy.
    Nowhere(&'static str),
}

/// Returns the target of a reference in a file; `base` is the name of the file, empty for the document.
pub(super) fn target(base: &str, reference: &str) -> ReferenceTarget {
    let (file, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let fragment = fragment.to_owned();
    if file.is_empty() {
        return ReferenceTarget::Within(fragment);
    }
    let scheme = file.split_once(':').map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    if scheme.is_some_and(is_scheme) || file.starts_with("//") {
        return ReferenceTarget::Nowhere(
            "is an address, and nothing is fetched: save it beside the document, and refer to that file",
        );
    }
    if file.starts_with('/') {
        return ReferenceTarget::Nowhere(
            "is an absolute path, and not read: write the path from the file that refers to it, within the document's folder",
        );
    }
    let decoded = percent_encoding::percent_decode_str(file).decode_utf8_lossy();
    let base = path(base);
    let mut parts: Vec<&str> = base.split('/').collect();
    parts.pop();
    for part in decoded.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => {
                return ReferenceTarget::Nowhere(
                    "lies outside of the document's folder, and is not read: copy it there, or import the document from the folder above",
                );
            }
            ".." => {}
            part => parts.push(part),
        }
    }
    ReferenceTarget::File(key(&parts.join("/")), fragment)
}

/// Returns the name of a file as references have it: without a '#' of its own.
pub(super) fn key(path: &str) -> String {
    path.replace('%', "%25").replace('#', "%23")
}

/// Returns the path of a file by its name.
pub(super) fn path(name: &str) -> String {
    name.replace("%23", "#").replace("%25", "%")
}

/// Returns the name of the target in a reference: the last part of the place, else the file without its ending.
pub(super) fn name_of(reference: &str) -> String {
    let (file, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    match fragment.rsplit('/').next().filter(|name| !name.is_empty()) {
        Some(name) => name.to_owned(),
        None => {
            let stem = PathBuf::from(path(file));
            let stem = stem.file_stem().unwrap_or_default();
            stem.to_string_lossy().into_owned()
        }
    }
}

/// Hands out all references, each with the place where it stands.
pub(super) fn for_each(value: &mut Value, take: &mut dyn FnMut(&str, &mut String)) {
    walk(value, &mut String::new(), false, take);
}

fn walk(
    value: &mut Value,
    place: &mut String,
    is_named: bool,
    take: &mut dyn FnMut(&str, &mut String),
) {
    let length = place.len();
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                *place += &format!("/{at}");
                walk(item, place, false, take);
                place.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), &mut *value) {
                    ("$ref", Value::String(reference)) => {
                        take(place, reference);
                        continue;
                    }
                    (name, _) if !is_named && LITERALS.contains(&name) => continue,
                    // In a schema they are a list of values.
                    ("examples", Value::Array(_)) if !is_named => continue,
                    _ => {}
                }
                *place += "/";
                *place += &name.replace('~', "~0").replace('/', "~1");
                match (name.as_str(), &mut *value) {
                    ("mapping", Value::Object(choices)) if !is_named => {
                        for choice in choices.values_mut() {
                            match choice {
                                Value::String(text) if is_reference(text) => take(place, text),
                                _ => {}
                            }
                        }
                    }
                    (name, value) => {
                        let is_named = !is_named && NAMED.contains(&name);
                        walk(value, place, is_named, take);
                    }
                }
                place.truncate(length);
            }
        }
        _ => {}
    }
}

/// Returns whether the target of a choice between schemas is more than a name.
fn is_reference(text: &str) -> bool {
    text.contains(['#', '/'])
        || [".json", ".yaml", ".yml"]
            .iter()
            .any(|ending| text.ends_with(ending))
}

/// Returns how many values a value has in it, itself included.
pub(super) fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_lead_to_files_of_the_folder_or_nowhere() {
        let file =
            |name: &str, place: &str| ReferenceTarget::File(name.to_owned(), place.to_owned());
        for (base, reference, expected) in [
            ("", "#/a", ReferenceTarget::Within("/a".to_owned())),
            ("", "pet.json", file("pet.json", "")),
            ("", "./a/../b/pet.yaml#/Pet", file("b/pet.yaml", "/Pet")),
            ("b/pet.yaml", "cat.yaml#", file("b/cat.yaml", "")),
            ("b/pet.yaml", "../cat.yaml", file("cat.yaml", "")),
            ("", "a%20b%23c.json#/x", file("a b%23c.json", "/x")),
            ("d%23e/a.json", "f.json", file("d%23e/f.json", "")),
        ] {
            assert_eq!(target(base, reference), expected, "{base} {reference}");
        }
        for (base, reference, message) in [
            ("", "https://example.com/a.json", "is an address"),
            ("", "file:///etc/passwd", "is an address"),
            ("", "//example.com/a.json", "is an address"),
            ("", "/etc/passwd#/a", "is an absolute path"),
            ("", "../a.yaml", "lies outside"),
            ("", "a/%2e%2e/../a.yaml", "lies outside"),
            ("b/pet.yaml", "../../a.yaml", "lies outside"),
        ] {
            let ReferenceTarget::Nowhere(what) = target(base, reference) else {
                panic!("{base} {reference} leads somewhere");
            };
            assert!(what.starts_with(message), "{base} {reference}: {what}");
        }
    }

    #[test]
    fn examples_have_no_references_but_names_may_be_those_of_fields() {
        let mut document = json!({
            "paths": { "$ref": "1" },
            "components": { "schemas": {
                "default": { "$ref": "2" },
                "A": {
                    "example": { "$ref": "no" }, "enum": [{ "$ref": "no" }], "examples": [{ "$ref": "no" }],
                    "properties": { "example": { "$ref": "3" }, "mapping": { "a": "no/no" }, "$ref": { "$ref": "4" } },
                    "discriminator": { "mapping": { "a": "5.yaml", "b": "no" } },
                },
            } },
            "x": { "examples": { "default": { "$ref": "6" }, "value": { "value": { "$ref": "no" } } } },
        });
        let mut found = Vec::new();
        for_each(&mut document, &mut |place, reference| {
            found.push((reference.clone(), place.to_owned()));
        });
        found.sort();
        let places: Vec<&str> = found.iter().map(|(_, place)| place.as_str()).collect();
        let expected = [
            "/paths",
            "/components/schemas/default",
            "/components/schemas/A/properties/example",
            "/components/schemas/A/properties/$ref",
            "/components/schemas/A/discriminator/mapping",
            "/x/examples/default",
        ];
        assert_eq!(places, expected, "{found:?}");
    }
}
