//! Bodies of type `multipart/form-data` (RFC 7578).

use super::request::plan_file;
use crate::limits::Budget;
use crate::values::{
    ENTRY_BYTES, byte_length, describe_mismatch, list_values, read_scalar, read_string, shorten,
    sorted_pairs, to_one_line,
};
use bytes::Bytes;
use lgoose_plan::config::unknown_word;
use mlua::{Table, Value};

pub(crate) const PART: [&str; 4] = ["name", "filename", "type", "data"];
/// The fields of a part whose name stands elsewhere.
pub(super) const NAMED: &[&str] = PART.split_at(1).1;

/// Encodes a body and returns it with its content type. `parts` is `{ name = value, file = { filename =, type =, data =
/// }, several = { … } }`, sorted by name so that equal tables give equal requests, or a list of `{ name =, data =, … }`
/// in the order to send.
///
/// # Errors
/// The message to raise at the plan's line.
pub(super) fn encode(parts: &Value, budget: &mut Budget) -> Result<(Vec<u8>, String), String> {
    let Value::Table(parts) = parts else {
        return Err(describe_mismatch(
            "option 'multipart'",
            "a table { name = value } or a list of parts",
            parts,
        ));
    };
    let mut read = Vec::new();
    if is_list(parts) {
        listed(parts, &mut read, budget)?;
        return Ok(joined(&read));
    }
    for (name, value) in sorted_pairs(parts, "names of parts", budget)? {
        match value.as_table().filter(|table| is_list(table)) {
            Some(several) => {
                for value in
                    list_values(several, &format!("'multipart', part '{}'", shorten(&name)))?
                {
                    read.push(MultipartField::read(name.clone(), &value, NAMED, budget)?);
                }
            }
            None => read.push(MultipartField::read(name, &value, NAMED, budget)?),
        }
    }
    Ok(joined(&read))
}

/// Reads a list of parts with their names.
fn listed(
    parts: &Table,
    read: &mut Vec<MultipartField>,
    budget: &mut Budget,
) -> Result<(), String> {
    for pair in parts.pairs::<Value, Value>() {
        let (key, _) = pair.map_err(|error| error.to_string())?;
        if !key.is_integer() {
            return Err(
                "option 'multipart' is either { name = value } or a list of parts { { name = \"a\", data = \"…\" } }"
                    .to_owned(),
            );
        }
    }
    for (place, value) in list_values(parts, "option 'multipart'")?
        .into_iter()
        .enumerate()
    {
        let name = value.as_table().map(|part| part.raw_get::<Value>("name"));
        let what = format!("part {} of 'multipart'", place + 1);
        let name = match name {
            Some(Ok(name @ Value::String(_))) => {
                budget.take(byte_length(&name).saturating_mul(4))?;
                read_string(&name, &format!("'name' of {what}"))?
            }
            _ => {
                return Err(format!(
                    "{what} needs its name: {{ name = \"a\", data = \"…\" }}"
                ));
            }
        };
        read.push(MultipartField::read(name, &value, &PART, budget)?);
    }
    Ok(())
}

/// Returns whether the table is a list, and not the fields of a part.
pub(super) fn is_list(table: &Table) -> bool {
    !matches!(table.raw_get::<Value>(1), Ok(Value::Nil) | Err(_))
}

/// Joins parts to a body, and returns it with its content type.
pub(super) fn joined(parts: &[MultipartField]) -> (Vec<u8>, String) {
    let boundary = boundary(parts);
    let mut body = Vec::new();
    for part in parts {
        body.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
        body.extend_from_slice(&part.head());
        body.extend_from_slice(&part.data);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (body, format!("multipart/form-data; boundary={boundary}"))
}

/// One part of a body.
#[derive(Debug)]
pub(super) struct MultipartField {
    name: Vec<u8>,
    filename: Option<Vec<u8>>,
    kind: Option<String>,
    data: Bytes,
}

impl MultipartField {
    /// Reads a value, or a table with the `known` fields of [`PART`]. Charges for the part and its place in the body.
    pub(super) fn read(
        name: String,
        value: &Value,
        fields: &[&str],
        budget: &mut Budget,
    ) -> Result<MultipartField, String> {
        let content = value.as_table().map(|part| part.raw_get("data"));
        let content = byte_length(&content.unwrap_or(Ok(value.clone())).unwrap_or(Value::Nil));
        let names = name.len().saturating_mul(8);
        budget.take(content.saturating_mul(2) + names + 4 * ENTRY_BYTES)?;
        let what = format!("part '{name}' of 'multipart'");
        if let Some(file) = plan_file(value) {
            budget.take(file.bytes.len())?;
            return Ok(MultipartField {
                name: name.into_bytes(),
                filename: Some(file.name.into()),
                kind: None,
                data: file.bytes,
            });
        }
        let Value::Table(table) = value else {
            let data = read_scalar(value, &what)?.into();
            return Ok(MultipartField {
                name: name.into_bytes(),
                filename: None,
                kind: None,
                data,
            });
        };
        for (field, _) in sorted_pairs(table, &format!("fields of {what}"), budget)? {
            if !fields.contains(&field.as_str()) {
                return Err(to_one_line(unknown_word("field", &field, &what, fields)));
            }
        }
        let mut text = |field: &str| match table.raw_get::<Value>(field) {
            Ok(Value::Nil) | Err(_) => Ok(None),
            Ok(value) => {
                budget.take(byte_length(&value).saturating_mul(4))?;
                read_string(&value, &format!("'{field}' of {what}")).map(Some)
            }
        };
        let filename = text("filename")?;
        let kind = text("type")?;
        let file = table.raw_get("data").ok().and_then(|data| plan_file(&data));
        let length = file.as_ref().map_or(0, |file| file.bytes.len());
        budget.take(length)?;
        Ok(MultipartField {
            kind: kind.filter(|kind| !kind.contains(['\r', '\n'])),
            data: match &file {
                Some(file) => file.bytes.clone(),
                None => data(table, &what)?.into(),
            },
            filename: filename
                .or(file.map(|file| file.name))
                .map(String::into_bytes),
            name: name.into_bytes(),
        })
    }

    /// Creates the part of a file input without a file, as browsers send it.
    pub(super) fn without_file(name: String) -> MultipartField {
        MultipartField {
            name: name.into_bytes(),
            filename: Some(Vec::new()),
            kind: None,
            data: Bytes::new(),
        }
    }

    /// Sets the text of a part that is not a file.
    pub(super) fn set_text(&mut self, text: Vec<u8>) {
        self.data = text.into();
    }

    /// Changes the name, and that of the file.
    pub(super) fn rename(&mut self, change: impl Fn(&[u8]) -> Vec<u8>) {
        self.name = change(&self.name);
        self.filename = self.filename.as_deref().map(change);
    }

    fn head(&self) -> Vec<u8> {
        let mut head = b"content-disposition: form-data; name=\"".to_vec();
        escape(&self.name, &mut head);
        if let Some(filename) = &self.filename {
            head.extend_from_slice(b"\"; filename=\"");
            escape(filename, &mut head);
        }
        head.push(b'"');
        let kind = match (&self.kind, &self.filename) {
            (Some(kind), _) => Some(kind.as_str()),
            (None, Some(name)) => Some(kind_of(&String::from_utf8_lossy(name))),
            (None, None) => None,
        };
        if let Some(kind) = kind {
            head.extend_from_slice(b"\r\ncontent-type: ");
            head.extend_from_slice(kind.as_bytes());
        }
        head.extend_from_slice(b"\r\n\r\n");
        head
    }
}

/// Returns the media type of a file by the end of its name, as browsers choose it (IANA's registry of media types).
fn kind_of(filename: &str) -> &'static str {
    let ending = filename.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "avif" => "image/avif",
        "css" => "text/css",
        "csv" => "text/csv",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "gif" => "image/gif",
        "gz" => "application/gzip",
        "htm" | "html" => "text/html",
        "jpeg" | "jpg" => "image/jpeg",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "md" => "text/markdown",
        "mp3" => "audio/mpeg",
        "mp4" => "video/mp4",
        "odt" => "application/vnd.oasis.opendocument.text",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain",
        "wav" => "audio/wav",
        "webm" => "video/webm",
        "webp" => "image/webp",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xml" => "application/xml",
        "yaml" | "yml" => "application/yaml",
        "zip" => "application/zip",
        _ => "application/octet-stream",
    }
}

fn data(table: &Table, what: &str) -> Result<Vec<u8>, String> {
    match table.raw_get::<Value>("data") {
        Ok(
            data @ (Value::String(_) | Value::Integer(_) | Value::Number(_) | Value::Boolean(_)),
        ) => read_scalar(&data, what),
        _ => Err(format!(
            "{what} needs its content: {{ filename = \"a.txt\", data = \"…\" }}"
        )),
    }
}

/// Escapes a name as browsers do: quotes and line breaks percent-encoded (the HTML standard).
fn escape(name: &[u8], into: &mut Vec<u8>) {
    for byte in name {
        match byte {
            b'"' => into.extend_from_slice(b"%22"),
            b'\r' => into.extend_from_slice(b"%0D"),
            b'\n' => into.extend_from_slice(b"%0A"),
            byte => into.push(*byte),
        }
    }
}

/// Chooses a boundary that no part contains.
fn boundary(parts: &[MultipartField]) -> String {
    let free = |candidate: &String| {
        let finder = memchr::memmem::Finder::new(candidate);
        parts.iter().all(|part| finder.find(&part.data).is_none())
    };
    let candidates = (0u64..).map(|n| format!("lgoose-boundary-{n:016x}"));
    candidates.into_iter().find(free).unwrap_or_default()
}
