//! Credentials of an API: tokens, keys and passwords, which become variables.

use super::document::{EACH, OpenApiDocument};
use crate::calls::{LuaLiteral, OutlineCall};
use crate::lua_text::{comment, quoted};
use crate::parts::is_token;
use crate::secrets::Secrets;
use serde_json::Value;

/// The way in which an unused credential would be sent: in words, and as a field of the plan if that has one.
#[derive(Debug)]
pub(super) struct UnusedCredential {
    pub(super) what: String,
    pub(super) field: Option<String>,
}

/// Returns the security schemes of a document none of whose operations names any, though it has some.
pub(super) fn unused<'a>(
    document: &'a OpenApiDocument,
    mut definitions: impl Iterator<Item = &'a Value>,
) -> Vec<UnusedCredential> {
    let root = document.root();
    if root.get("security").is_some()
        || definitions.any(|definition| definition.get("security").is_some())
    {
        return Vec::new();
    }
    let schemes = root["components"]["securitySchemes"].as_object();
    let schemes = schemes.into_iter().flatten().take(EACH / 100);
    let schemes = schemes.map(|(name, scheme)| {
        let scheme = document.resolve(scheme);
        let kind = scheme["type"].as_str().unwrap_or_default();
        let http = scheme["scheme"].as_str().unwrap_or_default();
        let key = scheme["name"].as_str().unwrap_or_default();
        let place = scheme["in"].as_str().unwrap_or("header");
        let (how, field) = match (kind, http.to_ascii_lowercase().as_str()) {
            ("http", "basic") => (
                "Authorization: Basic …".to_owned(),
                Some("headers = { Authorization = \"Basic \" .. base64.encode(env \"USERNAME\" .. \":\" .. env \"PASSWORD\") }".to_owned()),
            ),
            ("http", "bearer") | ("oauth2" | "openIdConnect", _) => (
                "Authorization: Bearer …".to_owned(),
                Some("headers = { Authorization = \"Bearer \" .. env \"TOKEN\" }".to_owned()),
            ),
            ("apiKey", _) if place == "header" && is_token(key) => (
                format!("{}: …", comment(key)),
                Some(format!("headers = {{ [{}] = env \"API_KEY\" }}", quoted(key))),
            ),
            ("apiKey", _) => (format!("'{}' in the {}", comment(key), comment(place)), None),
            (kind, _) => (comment(kind), None),
        };
        UnusedCredential {
            what: format!("'{}' ({how})", comment(name)),
            field,
        }
    });
    schemes.collect()
}

/// Adds the credentials of an operation to its call.
pub(super) fn secure(
    document: &OpenApiDocument,
    operation: &Value,
    secrets: &mut Secrets,
    call: &mut OutlineCall,
) {
    let root = document.root();
    let requirements = operation.get("security").unwrap_or(&root["security"]);
    // The first of several ways; one without anything lets everybody in, and comes with others where it does not matter.
    let mut ways = requirements
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_object);
    let Some(way) = ways.find(|way| !way.is_empty()) else {
        return;
    };
    for name in way.keys().take(EACH / 10) {
        let scheme = document.resolve(&root["components"]["securitySchemes"][name.as_str()]);
        let shown = comment(name);
        let kind = scheme["type"].as_str().unwrap_or_default();
        let http = scheme["scheme"]
            .as_str()
            .unwrap_or_default()
            .to_ascii_lowercase();
        match (kind, http.as_str()) {
            ("http", "basic" | "digest") => {
                let user = secrets.variable("USERNAME", "", &format!("the user name for '{shown}'"));
                let password = secrets.variable("PASSWORD", "", &format!("the password for '{shown}'"));
                call.authenticate(&user, &password, http == "digest");
            }
            ("http", "bearer") | ("oauth2" | "openIdConnect", _) => {
                let token = secrets.variable("TOKEN", "", &format!("the token for '{shown}'"));
                call.set("auth", "bearer", LuaLiteral::Expression(token));
            }
            ("apiKey", _) => {
                let key = scheme["name"].as_str().unwrap_or_default();
                let option = match scheme["in"].as_str() {
                    Some("query") => "query",
                    Some("cookie") => "cookies",
                    _ => "headers",
                };
                if option != "query" && !is_token(key) {
                    call.note(format!(
                        "the key of the security scheme '{shown}' has no name that can be sent: set it in 'headers' or 'cookies'"
                    ));
                    continue;
                }
                let what = if key.eq_ignore_ascii_case("authorization") { format!("the whole header for '{shown}', with 'Bearer ' or what else the site wants before the key") } else { format!("the key for '{shown}'") };
                let value = secrets.variable("API_KEY", "", &what);
                call.set(option, key, LuaLiteral::Expression(value));
            }
            ("mutualTLS", _) => document.notes().add(format!(
                "the security scheme '{shown}' is a client certificate: set 'cert' and 'key' in the plan"
            )),
            _ => call.note(format!(
                "the security scheme '{shown}' is of a kind that is not imported: set it in 'headers' or 'auth'"
            )),
        }
    }
}
