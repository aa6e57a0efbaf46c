//! Where the requests of a collection go: texts with variables, or the parts of an address.

use super::body::{enabled, text_of};
use super::variables::{PostmanVariables, has_variables};
use crate::import::calls::PlanOutline;
use crate::import::parts::Concatenation;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;
use url::Url;

/// What cannot stand in a path as it is; what is encoded already stays so.
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'`')
    .add(b'#')
    .add(b'?')
    .add(b'{')
    .add(b'}')
    .add(b'\\')
    .add(b'^')
    .add(b'|');

/// An address, taken apart.
#[derive(Debug)]
pub(super) struct PostmanAddress {
    /// `http://127.0.0.1:8080`, or the variable that nobody has given a value.
    pub(super) origin: AddressOrigin,
    /// With variables.
    path: String,
    query: Vec<(String, String)>,
    /// Values of the parts of the path that are named `:id`.
    named: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AddressOrigin {
    Fixed(String),
    Unknown(String),
}

/// Reads an address; `None` if there is none.
pub(super) fn read(url: &Value, variables: &PostmanVariables) -> Option<PostmanAddress> {
    let raw = match url {
        Value::String(text) => text.clone(),
        Value::Object(_) => match url["raw"].as_str().filter(|raw| !raw.is_empty()) {
            Some(raw) => raw.to_owned(),
            None => compose(url),
        },
        _ => return None,
    };
    let raw = raw.trim();
    // A variable may have these signs in its value, not in its name.
    let (before, query) = raw.split_once('?').unwrap_or((raw, ""));
    let before = before.split('#').next().unwrap_or_default();
    let query = query.split('#').next().unwrap_or_default();
    let pairs = match url["query"].as_array() {
        Some(_) => enabled(&url["query"])
            .map(|pair| {
                (
                    decoded(&text_of(&pair["key"])),
                    decoded(&text_of(&pair["value"])),
                )
            })
            .collect(),
        None => query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(name, value)| (decoded(name), decoded(value)))
            .collect(),
    };
    let (origin, path) = origin(before, variables)?;
    let named = enabled(&url["variable"]);
    let named = named.map(|pair| (text_of(&pair["key"]), text_of(&pair["value"])));
    Some(PostmanAddress {
        origin,
        path,
        query: pairs,
        named: named.collect(),
    })
}

fn compose(url: &Value) -> String {
    let list = |value: &Value, between: &str| match value {
        Value::Array(parts) => {
            let parts = parts.iter().map(|part| match part {
                Value::Object(_) => text_of(&part["value"]),
                part => text_of(part),
            });
            parts.collect::<Vec<_>>().join(between)
        }
        other => text_of(other),
    };
    let protocol = url["protocol"]
        .as_str()
        .map(|protocol| format!("{protocol}://"));
    let port = Some(text_of(&url["port"])).filter(|port| !port.is_empty());
    let port = port.map(|port| format!(":{port}"));
    let path = list(&url["path"], "/");
    let path = path.trim_start_matches('/');
    format!(
        "{}{}{}/{path}",
        protocol.unwrap_or_default(),
        list(&url["host"], "."),
        port.unwrap_or_default()
    )
}

/// Splits an address into where it goes and its path.
fn origin(text: &str, variables: &PostmanVariables) -> Option<(AddressOrigin, String)> {
    // Only what is before the path needs its value here.
    let scheme = text.find("://").map_or(0, |at| at + 3);
    let slash = text[scheme..]
        .find('/')
        .map_or(text.len(), |at| scheme + at);
    let prefix = variables.expanded(&text[..slash]);
    let prefix = match prefix.find("://") {
        _ if prefix.starts_with("{{") => prefix,
        Some(_) => prefix,
        None => format!("http://{prefix}"),
    };
    let rest = &text[slash..];
    let scheme = prefix.find("://").map_or(0, |at| at + 3);
    let slash = prefix[scheme..]
        .find('/')
        .map_or(prefix.len(), |at| scheme + at);
    let (authority, path) = prefix.split_at(slash);
    let path = if rest.is_empty() || path.ends_with('/') && rest.starts_with('/') {
        format!(
            "{}{rest}",
            path.strip_suffix('/')
                .filter(|_| !rest.is_empty())
                .unwrap_or(path)
        )
    } else {
        format!("{path}{rest}")
    };
    if has_variables(authority) {
        return Some((AddressOrigin::Unknown(authority.to_owned()), path));
    }
    let url = Url::parse(authority).ok()?;
    let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
    is_http.then(|| {
        (
            AddressOrigin::Fixed(url.origin().ascii_serialization()),
            path,
        )
    })
}

fn decoded(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_encoding::percent_decode_str(&spaced)
        .decode_utf8_lossy()
        .into_owned()
}

/// A path in a plan.
pub(super) struct PostmanPath {
    /// The expression.
    pub(super) text: String,
    /// The name of its row, where the path is another in each request.
    pub(super) name: Option<String>,
    /// As it is shown to people.
    pub(super) shown: String,
}

impl PostmanAddress {
    /// Returns the path as an expression; `before` is the origin where it is not the plan's.
    pub(super) fn path(
        &self,
        before: Option<&str>,
        variables: &mut PostmanVariables,
        calls: &mut PlanOutline,
    ) -> PostmanPath {
        let mut whole = Concatenation::default();
        whole.literal(before.unwrap_or_default());
        let (mut shown, mut varies) = (String::new(), false);
        if !self.path.starts_with('/') {
            whole.literal("/");
            shown.push('/');
        }
        for (at, segment) in self.path.split('/').enumerate() {
            if at > 0 {
                whole.literal("/");
                shown.push('/');
            }
            let name = segment.strip_prefix(':').filter(|name| !name.is_empty());
            let named = name.map(|name| {
                let mut values = self.named.iter();
                let value = values
                    .find(|(key, _)| key == name)
                    .map(|(_, value)| value.clone());
                value
                    .filter(|value| !value.is_empty())
                    .unwrap_or_else(|| format!("{{{{{name}}}}}"))
            });
            let text = named.as_deref().unwrap_or(segment);
            if has_variables(text) {
                let expanded = variables.expanded(text);
                if !has_variables(&expanded) {
                    let literal = utf8_percent_encode(&expanded, PATH).to_string();
                    whole.literal(&literal);
                    shown.push_str(&literal);
                    continue;
                }
                varies = true;
                whole.expression(variables.text(text, calls));
                match name {
                    Some(name) => shown.push_str(&format!(":{name}")),
                    None => shown.push_str(
                        &text
                            .replace("{{", ":")
                            .replace("}}", "")
                            .replace([' ', '$'], ""),
                    ),
                }
            } else {
                let literal = utf8_percent_encode(text, PATH).to_string();
                whole.literal(&literal);
                shown.push_str(&literal);
            }
        }
        PostmanPath {
            text: whole.finish(),
            name: varies.then(|| shown.clone()),
            shown,
        }
    }

    pub(super) fn query(&self) -> &[(String, String)] {
        &self.query
    }
}
