//! Uploads (`multipart/form-data`, RFC 7578): read, described and dropped.

use memchr::memmem;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// More parts than that are not looked at.
const MOST_PARTS: usize = 100;

/// Describes the parts of a body with that `Content-Type`: `{ files: [{ name, filename, type, bytes, sha256 }],
/// fields: { name: value } }`.
///
/// # Errors
/// What is wrong with the body.
pub(super) fn read(content_type: Option<&str>, body: &[u8]) -> Result<Value, &'static str> {
    let boundary = content_type
        .and_then(|kind| kind.strip_prefix("multipart/form-data"))
        .and_then(|parameters| parameter(parameters, "boundary"))
        .ok_or("the body must be multipart/form-data with a boundary")?;
    let (mut files, mut fields) = (Vec::new(), serde_json::Map::new());
    let mut rest = after(body, format!("--{boundary}").as_bytes());
    let delimiter = format!("\r\n--{boundary}");
    for _ in 0..MOST_PARTS {
        let part = match rest {
            Some([b'-', b'-', ..]) => break,
            Some([b'\r', b'\n', part @ ..]) => part,
            _ => return Err("the body breaks off"),
        };
        let end = memmem::find(part, delimiter.as_bytes()).ok_or("the body breaks off")?;
        let (part, behind) = part.split_at(end);
        rest = Some(&behind[delimiter.len()..]);
        let head_end = memmem::find(part, b"\r\n\r\n").ok_or("a part has no head")?;
        let head = std::str::from_utf8(&part[..head_end]).map_err(|_| "a head is not UTF-8")?;
        let content = &part[head_end + 4..];
        let disposition = header(head, "content-disposition").ok_or("a part has no name")?;
        let name = parameter(disposition, "name").ok_or("a part has no name")?;
        match parameter(disposition, "filename") {
            Some(filename) => files.push(json!({
                "name": name,
                "filename": filename,
                "type": header(head, "content-type"),
                "bytes": content.len(),
                "sha256": hex(content),
            })),
            None => {
                let value = String::from_utf8_lossy(content).into_owned();
                fields.insert(name.to_owned(), value.into());
            }
        }
    }
    Ok(json!({ "files": files, "fields": fields }))
}

fn after<'a>(text: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    memmem::find(text, mark).map(|place| &text[place + mark.len()..])
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim())
}

/// The value of `name=value` or `name="value"` behind a semicolon.
fn parameter<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut parts = text
        .split(';')
        .filter_map(|part| part.trim().split_once('='));
    let (_, value) = parts.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(value.trim_matches('"'))
}

fn hex(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Option<&str> = Some("multipart/form-data; boundary=\"cut\"");

    #[test]
    fn parts_are_files_or_fields() {
        let body = "--cut\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhello\r\n\
                    --cut\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\
                    Content-Type: text/plain\r\n\r\nabc\r\n--cut--\r\n";
        let read = read(KIND, body.as_bytes()).expect("it is whole");
        assert_eq!(read["fields"], json!({ "note": "hello" }));
        let file = &read["files"][0];
        assert_eq!(
            (&file["filename"], &file["bytes"]),
            (&json!("a.txt"), &json!(3))
        );
        let sum = file["sha256"].as_str().expect("a text");
        assert!(sum.starts_with("ba7816bf") && sum.len() == 64, "{sum}");
    }

    #[test]
    fn what_is_not_whole_is_refused() {
        for (kind, body) in [
            (None, "--cut--"),
            (Some("text/plain"), "--cut--"),
            (Some("multipart/form-data"), "--cut--"),
            (KIND, ""),
            (KIND, "--cut\r\nX: y\r\n\r\nabc"),
            (KIND, "--cut\r\nno head\r\n--cut--"),
            (KIND, "--cut\r\nX: y\r\n\r\nabc\r\n--cut--"),
        ] {
            assert!(read(kind, body.as_bytes()).is_err(), "{kind:?} {body}");
        }
        let empty = json!({ "files": [], "fields": {} });
        assert_eq!(read(KIND, b"--cut--"), Ok(empty));
    }
}
