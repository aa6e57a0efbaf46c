//! Files of JSON that are no recording, and faults in one that cannot be read.

use lgoose_base::error::Diagnostic;
use std::io::ErrorKind;

/// The most bytes of a file that is no recording, and names in it that identify its kind.
pub(in super::super) const DOCUMENT_BYTES: u64 = 32 << 20;
pub(super) const DOCUMENT_KEYS: [&str; 37] = [
    "$defs",
    "after",
    "auth",
    "basePath",
    "before",
    "collection",
    "collections",
    "components",
    "config",
    "consumes",
    "definitions",
    "environments",
    "event",
    "folders",
    "host",
    "id",
    "info",
    "item",
    "name",
    "openapi",
    "order",
    "parameters",
    "paths",
    "requests",
    "responses",
    "scenarios",
    "schemes",
    "security",
    "securityDefinitions",
    "servers",
    "swagger",
    "tags",
    "values",
    "variable",
    "version",
    "webhooks",
    "_postman_variable_scope",
];

/// Returns the fault in a file, with its place.
pub(super) fn explain(name: &str, has_log: bool, error: &serde_json::Error) -> Diagnostic {
    let place = format!("line {}, column {}", error.line(), error.column());
    let (kind, again) = if has_log {
        ("HAR file", "save the recording again")
    } else {
        ("JSON", "save it again where it comes from")
    };
    if error.is_eof() {
        let message = format!("{name} is cut off: it ends at {place}, within its JSON");
        return Diagnostic::new(message).help(format!("{again}; a part of a file cannot be read"));
    }
    if error.io_error_kind() == Some(ErrorKind::FileTooLarge) {
        let most = DOCUMENT_BYTES >> 20;
        return Diagnostic::new(format!("{name} is larger than {most} MiB"))
            .help("export it without saved answers, or a part of it; a HAR file may be larger");
    }
    if error.is_io() {
        return Diagnostic::new(format!("cannot read {name}: {error}"))
            .help("name a file that can be read");
    }
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    Diagnostic::new(format!("{name} is no {kind}: {what}, at {place}"))
        .help(format!("{again}, and do not edit the file"))
}
