//! Uploads (`multipart/form-data`, RFC 7578): read by `multer`, described and dropped.

use std::convert::Infallible;
use std::future::ready;

use bytes::Bytes;
use futures_util::{FutureExt as _, stream};
use http::header::CONTENT_TYPE;
use multer::{Error, Multipart};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The number of parts that are read; further ones are ignored.
const MAX_PARTS: usize = 100;

const BREAKS_OFF: &str = "the body breaks off";
const NO_HEAD: &str = "a part has no head";

/// Describes the parts of a body with that `Content-Type`: `{ files: [{ name, filename, type, bytes, sha256 }],
/// fields: { name: value } }`.
///
/// # Errors
/// The reason why it is not an upload, or not a whole one.
pub(super) fn read(content_type: Option<&str>, body: &[u8]) -> Result<Value, &'static str> {
    let boundary = content_type
        .and_then(|kind| multer::parse_boundary(kind).ok())
        .ok_or("the body must be multipart/form-data with a boundary")?;
    let body = Ok::<_, Infallible>(Bytes::copy_from_slice(body));
    let parts = Multipart::new(stream::once(ready(body)), boundary);
    // The whole body is there: reading it never waits.
    describe(parts).now_or_never().unwrap_or(Err(BREAKS_OFF))
}

async fn describe(mut parts: Multipart<'_>) -> Result<Value, &'static str> {
    let (mut files, mut fields) = (Vec::new(), Map::new());
    for _ in 0..MAX_PARTS {
        let Some(part) = parts.next_field().await.map_err(reason)? else {
            break;
        };
        let name = part.name().map(str::to_owned);
        let filename = part.file_name().map(str::to_owned);
        let kind = part.headers().get(CONTENT_TYPE).cloned();
        let content = part.bytes().await.map_err(reason)?;
        let name = name.ok_or("a part has no name")?;
        match filename {
            Some(filename) => files.push(json!({
                "name": name,
                "filename": filename,
                "type": kind.as_ref().and_then(|kind| kind.to_str().ok()),
                "bytes": content.len(),
                "sha256": hex(&content),
            })),
            None => {
                let value = String::from_utf8_lossy(&content).into_owned();
                fields.insert(name, value.into());
            }
        }
    }
    Ok(json!({ "files": files, "fields": fields }))
}

/// The words for an error of `multer`.
fn reason(error: Error) -> &'static str {
    match error {
        Error::IncompleteHeaders | Error::ReadHeaderFailed(_) => NO_HEAD,
        _ => BREAKS_OFF,
    }
}

/// The SHA-256 of a file, in hexadecimal digits.
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
