//! Bodies of type `multipart/form-data` (RFC 7578).

use crate::config::unknown_word;
use crate::lua::limits::Budget;
use crate::lua::values::{
    ENTRY_BYTES, byte_length, describe_mismatch, read_scalar, read_string, sorted_pairs,
    to_one_line,
};
use mlua::{Table, Value};

pub(in crate::lua) const PART: [&str; 3] = ["filename", "type", "data"];

/// Encodes a body and returns it with its content type. `parts` is `{ name = value, file = { filename =, type =, data =
/// } }`; parts are sorted by name so that equal tables give equal requests.
///
/// # Errors
/// The message to raise at the plan's line.
pub(super) fn encode(parts: &Value, budget: &mut Budget) -> Result<(Vec<u8>, String), String> {
    let Value::Table(parts) = parts else {
        return Err(describe_mismatch(
            "option 'multipart'",
            "a table { name = value }",
            parts,
        ));
    };
    let mut read = Vec::new();
    for (name, value) in sorted_pairs(parts, "names of parts", budget)? {
        let content = value.as_table().map(|part| part.raw_get("data"));
        // Once as a part and once in the body.
        let content = byte_length(&content.unwrap_or(Ok(value.clone())).unwrap_or(Value::Nil));
        budget.take(content.saturating_mul(2) + 4 * ENTRY_BYTES)?;
        read.push(Part::read(name, &value, budget)?);
    }
    read.sort_by(|left, right| left.name.cmp(&right.name));
    let boundary = boundary(&read);
    let mut body = Vec::new();
    for part in &read {
        body.extend_from_slice(format!("--{boundary}\r\n{}", part.head()).as_bytes());
        body.extend_from_slice(&part.data);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok((body, format!("multipart/form-data; boundary={boundary}")))
}

struct Part {
    name: String,
    filename: Option<String>,
    kind: Option<String>,
    data: Vec<u8>,
}

impl Part {
    fn read(name: String, value: &Value, budget: &mut Budget) -> Result<Part, String> {
        let what = format!("part '{name}' of 'multipart'");
        let Value::Table(table) = value else {
            let data = read_scalar(value, &what)?;
            return Ok(Part {
                name,
                filename: None,
                kind: None,
                data,
            });
        };
        for (field, _) in sorted_pairs(table, &format!("fields of {what}"), budget)? {
            if !PART.contains(&field.as_str()) {
                return Err(to_one_line(unknown_word("field", &field, &what, &PART)));
            }
        }
        let mut text = |field: &str| match table.raw_get::<Value>(field) {
            Ok(Value::Nil) | Err(_) => Ok(None),
            Ok(value) => {
                budget.take(byte_length(&value).saturating_mul(4))?;
                read_string(&value, &format!("'{field}' of {what}")).map(Some)
            }
        };
        Ok(Part {
            filename: text("filename")?,
            kind: text("type")?.filter(|kind| !kind.contains(['\r', '\n'])),
            data: data(table, &what)?,
            name,
        })
    }

    fn head(&self) -> String {
        let mut head = format!(
            "content-disposition: form-data; name=\"{}\"",
            escaped(&self.name)
        );
        if let Some(filename) = &self.filename {
            head += &format!("; filename=\"{}\"", escaped(filename));
        }
        match (&self.kind, &self.filename) {
            (Some(kind), _) => head += &format!("\r\ncontent-type: {kind}"),
            (None, Some(_)) => head += "\r\ncontent-type: application/octet-stream",
            (None, None) => {}
        }
        head + "\r\n\r\n"
    }
}

fn data(table: &Table, what: &str) -> Result<Vec<u8>, String> {
    match table.raw_get::<Value>("data") {
        Ok(Value::String(data)) => Ok(data.as_bytes().to_vec()),
        _ => Err(format!(
            "{what} needs its content: {{ filename = \"a.txt\", data = \"…\" }}"
        )),
    }
}

/// Escapes a name as browsers do: quotes and line breaks percent-encoded (the HTML standard).
fn escaped(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Chooses a boundary that no part contains.
fn boundary(parts: &[Part]) -> String {
    let free = |candidate: &String| {
        let finder = memchr::memmem::Finder::new(candidate);
        parts.iter().all(|part| finder.find(&part.data).is_none())
    };
    let candidates = (0u64..).map(|n| format!("lgoose-boundary-{n:016x}"));
    candidates.into_iter().find(free).unwrap_or_default()
}
