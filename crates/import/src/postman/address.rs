//! The addresses of the requests of a collection: texts with variables, or the parts of an address.

use super::body::{enabled, text_of};
use super::variables::{PostmanVariables, has_variables};
use crate::calls::PlanOutline;
use crate::keys::is_key;
use crate::parts::Concatenation;
use crate::secrets;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;
use std::borrow::Cow;
use url::Url;

/// Characters that cannot stand in a path; encoded ones stay encoded.
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

/// Characters that are encoded in a query (<https://url.spec.whatwg.org/#special-query-percent-encode-set>).
const QUERY: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'\'');

/// An address, taken apart.
#[derive(Debug)]
pub(super) struct PostmanAddress {
    /// `http://127.0.0.1:8080`, or the variable without a value.
    pub(super) origin: AddressOrigin,
    /// User and password, where the address has them.
    pub(super) credentials: Option<(String, String)>,
    /// With variables.
    path: String,
    pub(super) query: PostmanQuery,
    /// Values of the parts of the path that are named `:id`.
    named: Vec<(String, String)>,
}

/// A query, as the plan is to have it.
#[derive(Debug)]
pub(super) enum PostmanQuery {
    /// Within the path, as it is written.
    Written(String),
    /// Names and values, decoded.
    Fields(Vec<(String, String)>),
}

impl PostmanQuery {
    /// Creates a query from names and values as they are written. They stay so where a table of them would not send the
    /// same: with a sign that forms encode, with a name that has no value. Variables and secrets need fields.
    fn of(pairs: Vec<(String, Option<String>)>) -> PostmanQuery {
        let is_plain = |text: &str| {
            let mut bytes = text.bytes();
            bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_.*".contains(&byte))
        };
        let all_plain = pairs
            .iter()
            .all(|(name, value)| is_plain(name) && value.as_deref().is_some_and(is_plain));
        let fields: Vec<(String, String)> = pairs
            .iter()
            .map(|(name, value)| (decoded(name), decoded(value.as_deref().unwrap_or_default())))
            .collect();
        let needs_fields = fields.iter().any(|(name, value)| {
            has_variables(name) || has_variables(value) || secrets::is_secret_field(name, value)
        });
        if all_plain || needs_fields {
            return PostmanQuery::Fields(fields);
        }
        let encoded = |text: &str| utf8_percent_encode(text, QUERY).to_string();
        let written = pairs.iter().map(|(name, value)| match value {
            Some(value) => format!("{}={}", encoded(name), encoded(value)),
            None => encoded(name),
        });
        PostmanQuery::Written(written.collect::<Vec<_>>().join("&"))
    }
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
                let value = &pair["value"];
                let value = (!value.is_null()).then(|| text_of(value));
                (text_of(&pair["key"]), value)
            })
            .collect(),
        None => query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| match pair.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (pair.to_owned(), None),
            })
            .collect(),
    };
    let (before, credentials) = without_credentials(before);
    let (origin, path) = origin(&before, variables)?;
    let named = enabled(&url["variable"]);
    let named = named.map(|pair| (text_of(&pair["key"]), text_of(&pair["value"])));
    Some(PostmanAddress {
        origin,
        credentials,
        path,
        query: PostmanQuery::of(pairs),
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

/// Takes `user:password@` out of an address.
fn without_credentials(text: &str) -> (Cow<'_, str>, Option<(String, String)>) {
    let from = text.find("://").map_or(0, |at| at + 3);
    let to = text[from..].find('/').map_or(text.len(), |at| from + at);
    let Some(at) = text[from..to].rfind('@').map(|at| from + at) else {
        return (Cow::Borrowed(text), None);
    };
    let (user, password) = text[from..at]
        .split_once(':')
        .unwrap_or((&text[from..at], ""));
    let decoded = |text| {
        percent_encoding::percent_decode_str(text)
            .decode_utf8_lossy()
            .into_owned()
    };
    let rest = format!("{}{}", &text[..from], &text[at + 1..]);
    (Cow::Owned(rest), Some((decoded(user), decoded(password))))
}

/// Returns the length of the authority of a text without a slash, in which a variable may have the path: `shop.test{{path}}`.
fn authority_length(text: &str) -> usize {
    match text.find("{{") {
        Some(at) if at > 0 && text[..at].ends_with(char::is_alphanumeric) => at,
        _ => text.len(),
    }
}

/// Splits an address into where it goes and its path.
fn origin(text: &str, variables: &PostmanVariables) -> Option<(AddressOrigin, String)> {
    // Only the part before the path needs its value here.
    let scheme = text.find("://").map_or(0, |at| at + 3);
    let slash = text[scheme..]
        .find('/')
        .unwrap_or_else(|| authority_length(&text[scheme..]));
    let slash = scheme + slash;
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
    /// The address as it is shown to people.
    pub(super) shown: String,
}

impl PostmanAddress {
    /// Returns the path as an expression, after its origin if that is not the plan's.
    pub(super) fn path(
        &self,
        is_elsewhere: bool,
        variables: &mut PostmanVariables,
        calls: &mut PlanOutline,
    ) -> PostmanPath {
        let mut whole = Concatenation::default();
        match &self.origin {
            _ if !is_elsewhere => {}
            AddressOrigin::Fixed(origin) => whole.literal(origin),
            AddressOrigin::Unknown(origin) => whole.expression(variables.text(origin, calls)),
        }
        let (mut shown, mut varies) = (String::new(), false);
        if !self.path.starts_with('/') && !self.path.starts_with("{{") {
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
            } else if is_key(text) {
                // Some services have the key in the path.
                varies = true;
                let what = format!("the key in {shown}…");
                whole.expression(calls.secrets.variable("API_KEY", text, &what));
                shown.push_str(":key");
            } else {
                let literal = utf8_percent_encode(text, PATH).to_string();
                whole.literal(&literal);
                shown.push_str(&literal);
            }
        }
        if let PostmanQuery::Written(query) = &self.query {
            whole.literal("?");
            whole.literal(query);
        }
        PostmanPath {
            text: whole.finish(),
            name: varies.then(|| shown.clone()),
            shown,
        }
    }
}
