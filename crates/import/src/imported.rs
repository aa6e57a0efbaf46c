//! The result of an import, and the kinds of files that can be imported.

use lgoose_base::error::Diagnostic;
use lgoose_base::yaml;
use serde_json::{Map, Value};

/// The kinds of files that can be imported.
pub(super) const KINDS: &str = "give a HAR file (the browser's network view, 'Save all as HAR'), a curl command line ('Copy as cURL (bash)'), \
    a Postman collection v2.1, an OpenAPI document, a JMeter test plan, an Artillery test, a k6 script or a list of targets";

/// Kind of a file in YAML, for messages.
pub(super) struct YamlKind {
    /// Its full name: `OpenAPI document`.
    pub(super) name: &'static str,
    /// The word for such a file in advice: `document`.
    pub(super) noun: &'static str,
}

/// Reads a YAML file of that kind.
///
/// # Errors
/// A fault in the YAML, with its place, or that it is YAML of another kind.
pub(super) fn read_yaml(
    name: &str,
    text: &str,
    kind: &YamlKind,
    is_one: fn(&Map<String, Value>) -> bool,
) -> Result<Map<String, Value>, Diagnostic> {
    match yaml::parse(text) {
        Ok(Value::Object(file)) if is_one(&file) => Ok(file),
        Ok(_) => Err(Diagnostic::new(format!("{name} is YAML, and no {}", kind.name)).help(KINDS)),
        Err(fault) => {
            let message = format!("{name} is no YAML: {}", fault.what);
            let help = format!("mend it there, or save the {} as JSON", kind.noun);
            Err(Diagnostic::new(message).help(help))
        }
    }
}

/// A plan, its files and the notes on it.
#[derive(Debug)]
pub struct Imported {
    /// The text of the plan.
    pub plan: String,
    /// Names, without folders, and contents of the files that it reads.
    pub files: Vec<(String, Vec<u8>)>,
    /// Open points for the author, a line each.
    pub notes: Vec<String>,
}
