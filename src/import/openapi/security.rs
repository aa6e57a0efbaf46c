//! What an API wants to know of who asks: tokens, keys and passwords, which become variables.

use super::document::{EACH, OpenApiDocument};
use crate::import::calls::{LuaLiteral, OutlineCall};
use crate::import::lua_text::comment;
use crate::import::parts::is_token;
use crate::import::secrets::Secrets;
use serde_json::Value;

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
                let digest = if http == "digest" { ", digest = true" } else { "" };
                let credentials = LuaLiteral::Expression(format!("{{ {user}, {password}{digest} }}"));
                call.options.push(("auth".to_owned(), credentials));
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
                    continue;
                }
                let value = secrets.variable("API_KEY", "", &format!("the key for '{shown}'"));
                call.set(option, key, LuaLiteral::Expression(value));
            }
            _ => call.notes.push(format!(
                "the security scheme '{shown}' is of a kind that is not imported: set it in 'headers' or 'auth'"
            )),
        }
    }
}
