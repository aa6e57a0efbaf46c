//! The servers of a document: where requests go, and how their paths begin.

use super::document::OpenApiDocument;
use super::operation::Operation;
use serde_json::Value;
use url::Url;

/// The longest address of a server.
const MAX_URL_BYTES: usize = 8 << 10;

/// Returns origin and path of the server of an operation: its own, that of its path, or the document's.
pub(super) fn server_of(
    document: &OpenApiDocument,
    operation: &Operation<'_>,
) -> (Option<String>, String) {
    let lists = [
        &operation.definition["servers"],
        &operation.item["servers"],
        &document.root()["servers"],
    ];
    let mut lists = lists.into_iter();
    let list = lists.find(|list| list.as_array().is_some_and(|list| !list.is_empty()));
    server(list.map_or(&Value::Null, |list| &list[0]))
}

/// Returns origin and path of a server; without an origin it is where the document comes from.
pub(super) fn server(server: &Value) -> (Option<String>, String) {
    let text = address(server).unwrap_or_default();
    let path = |path: &str| path.trim_end_matches('/').to_owned();
    match Url::parse(&text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => {
            (Some(url.origin().ascii_serialization()), path(url.path()))
        }
        _ if text.starts_with('/') && !text.starts_with("//") => (None, path(&text)),
        _ => (None, String::new()),
    }
}

/// Returns the address of a server with the values of its variables, which are not looked through for more of them;
/// `None` if it is too long.
fn address(server: &Value) -> Option<String> {
    let mut rest = server["url"]
        .as_str()
        .filter(|url| url.len() <= MAX_URL_BYTES)?;
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let substituted = after.find(['{', '}']).and_then(|end| {
            let (name, after) = (&after[..end], after[end..].strip_prefix('}')?);
            let variable = server["variables"].get(name)?;
            let value = variable["default"].as_str();
            let value = value.or(variable["enum"][0].as_str());
            Some((value.unwrap_or_default(), after))
        });
        let value;
        (value, rest) = substituted.unwrap_or(("{", after));
        text.push_str(value);
        if text.len() > MAX_URL_BYTES {
            return None;
        }
    }
    text.push_str(rest);
    (text.len() <= MAX_URL_BYTES).then_some(text)
}
