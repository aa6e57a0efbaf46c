//! One request of a collection as a call.

use super::address::{PostmanAddress, PostmanPath, PostmanQuery};
use super::body::{add_body, enabled, text_of};
use super::scripts::{ScriptActions, ScriptStep, set_in};
use super::values::ScriptValue;
use super::variables::{PostmanVariables, ValueSource, VariableExpression, has_variables};
use crate::calls::{LuaLiteral, OutlineCall, PlanOutline};
use crate::lua_text::{comment, quoted};
use crate::parts::{Concatenation, is_token};
use crate::request::PlanAttachments;
use crate::secrets;
use serde_json::Value;

/// Headers that Postman adds, or that the client sends by itself.
const OWN: [&str; 6] = [
    "accept-encoding",
    "connection",
    "content-length",
    "host",
    "postman-token",
    "transfer-encoding",
];
/// The most lines of a script in a note.
const MAX_SCRIPT_LINES: usize = 5;

/// The context in which the call of a request is made.
pub(super) struct BodyMaker<'a> {
    pub(super) variables: &'a mut PostmanVariables,
    pub(super) calls: &'a mut PlanOutline,
    pub(super) files: &'a mut PlanAttachments,
    /// Method and path, for messages.
    pub(super) place: String,
}

impl BodyMaker<'_> {
    /// Returns the value of a field, which is a variable of the environment if it is a secret.
    pub(super) fn field(&mut self, name: &str, value: &str) -> LuaLiteral {
        LuaLiteral::Expression(self.field_expression(name, value).code)
    }

    /// Returns the same with the source of the value.
    pub(super) fn field_expression(&mut self, name: &str, value: &str) -> VariableExpression {
        if secrets::is_secret_field(name, value) && !has_variables(value) {
            let what = format!("field '{name}' of {}", self.place);
            return VariableExpression::fixed(self.calls.secrets.variable(name, value, &what));
        }
        self.variables.expression(value, self.calls)
    }

    /// Returns the call of a request, which the report counts under the name `row`, if there is one.
    pub(super) fn call(
        &mut self,
        method: &str,
        address: &PostmanAddress,
        path: PostmanPath,
        row: Option<&str>,
        request: &Value,
        auth: Option<&Value>,
    ) -> OutlineCall {
        let mut call = OutlineCall {
            method: method.to_owned(),
            path: path.text,
            ..OutlineCall::default()
        };
        let name = row.map(str::to_owned).or(path.name);
        call.options
            .extend(name.map(|name| ("name".to_owned(), LuaLiteral::text(&name))));
        if let PostmanQuery::Fields(fields) = &address.query
            && !fields.is_empty()
        {
            let fields = fields.iter().map(|(name, value)| {
                let name = self.variables.expanded(name);
                let value = self.field(&name, value);
                (name, value)
            });
            call.option("query", LuaLiteral::fields(fields.collect()));
        }
        let mut content_type = None;
        // The chosen authorization replaces a header.
        let auth = auth.filter(|auth| auth["type"] != "noauth");
        let mut has_authorization = false;
        for header in headers(&request["header"]) {
            let (name, value) = header;
            let name = self.variables.expanded(&name);
            let lower = name.to_ascii_lowercase();
            let is_own = OWN.contains(&lower.as_str())
                || lower == "accept" && value.starts_with("*/*")
                || lower == "user-agent" && value.starts_with("PostmanRuntime");
            if is_own || !is_token(&name) || value.chars().any(char::is_control) {
                continue;
            }
            match lower.as_str() {
                "content-type" => {
                    let mode = request["body"]["mode"].as_str();
                    if matches!(mode, Some("urlencoded" | "formdata")) {
                        continue;
                    }
                    content_type = Some(value.clone());
                    let json = mode != Some("raw") && mode != Some("file");
                    if json || value.eq_ignore_ascii_case("application/json") && mode == Some("raw")
                    {
                        continue;
                    }
                    let value = self.variables.text(&value, self.calls);
                    call.set("headers", "content-type", LuaLiteral::Expression(value));
                }
                "cookie" => {
                    for (name, value) in value.split(';').filter_map(|pair| pair.split_once('=')) {
                        let value = self.secret_or_text(name.trim(), value.trim());
                        call.set("cookies", name.trim(), value);
                    }
                }
                "authorization" if auth.is_some() => {}
                "authorization" => {
                    has_authorization = true;
                    let bearer = value
                        .split_once(' ')
                        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
                    match bearer {
                        Some((_, token)) => self.bearer(token.trim(), &mut call),
                        None => {
                            let value = self.secret_or_text(&lower, &value);
                            call.set("headers", &name, value);
                        }
                    }
                }
                _ => {
                    let value = self.secret_or_text(&lower, &value);
                    call.set("headers", &name, value);
                }
            }
        }
        match (auth, &address.credentials) {
            (Some(auth), _) => self.auth(auth, &mut call),
            _ if has_authorization => {}
            (None, Some((user, password))) => {
                let user = self.variables.text(user, self.calls);
                let password = self.secret(password, "PASSWORD", "the password").code;
                call.authenticate(&user, &password, false);
            }
            (None, None) => {}
        }
        add_body(self, &request["body"], content_type.as_deref(), &mut call);
        // A body that is no table has a content type of its own.
        let is_table = call.options.iter().any(|(name, _)| name == "json");
        if call.body.is_some()
            && !is_table
            && let Some(kind) = &content_type
        {
            let kind = LuaLiteral::Expression(self.variables.text(kind, self.calls));
            call.set("headers", "content-type", kind);
        }
        call
    }

    /// Returns a header's value: a variable of the environment, if it is a secret.
    fn secret_or_text(&mut self, name: &str, value: &str) -> LuaLiteral {
        let is_secret = secrets::is_secret_header(name)
            || secrets::looks_secret(name, value)
            || ["session", "sid"].iter().any(|word| name.ends_with(word));
        if is_secret && !has_variables(value) && !value.is_empty() {
            let what = format!("'{name}' of {}", self.place);
            return LuaLiteral::Expression(self.calls.secrets.variable(name, value, &what));
        }
        LuaLiteral::Expression(self.variables.text(value, self.calls))
    }

    fn bearer(&mut self, token: &str, call: &mut OutlineCall) {
        let token = self.secret(token, "TOKEN", "the bearer token");
        let mut code = token.code;
        // Where no script has set it, the site refuses the empty one.
        if token.source == ValueSource::User {
            code += " or \"\"";
        }
        call.set("auth", "bearer", LuaLiteral::Expression(code));
    }

    /// Returns the variable for a value that must not stand in the plan.
    fn secret(&mut self, value: &str, name: &str, what: &str) -> VariableExpression {
        if has_variables(value) {
            return self.variables.expression(value, self.calls);
        }
        let what = if value.is_empty() {
            format!("{what}, which the collection lacks")
        } else {
            format!("{what} of {}", self.place)
        };
        VariableExpression::fixed(self.calls.secrets.variable(name, value, &what))
    }

    fn auth(&mut self, auth: &Value, call: &mut OutlineCall) {
        let kind = auth["type"].as_str().unwrap_or("noauth");
        let get = |key: &str| {
            let parameters = &auth[kind];
            match parameters {
                Value::Array(pairs) => {
                    let mut pairs = pairs.iter();
                    pairs
                        .find(|pair| pair["key"] == key)
                        .map(|pair| text_of(&pair["value"]))
                        .unwrap_or_default()
                }
                fields => text_of(&fields[key]),
            }
        };
        match kind {
            "noauth" => {}
            "bearer" => self.bearer(&get("token"), call),
            "oauth2" if get("addTokenTo") != "queryParams" => {
                self.bearer(&get("accessToken"), call)
            }
            "basic" | "digest" => {
                let user = self.variables.text(&get("username"), self.calls);
                let password = get("password");
                let password = if password.is_empty() {
                    quoted("")
                } else {
                    self.secret(&password, "PASSWORD", "the password").code
                };
                call.authenticate(&user, &password, kind == "digest");
            }
            "apikey" => {
                let key = Some(get("key"))
                    .filter(|key| is_token(key))
                    .unwrap_or_else(|| "x-api-key".to_owned());
                let value = self.secret(&get("value"), &key, "the API key").code;
                let option = if get("in") == "query" {
                    "query"
                } else {
                    "headers"
                };
                call.set(option, &key, LuaLiteral::Expression(value));
            }
            other => call.note(format!(
                "authorization of the kind '{}' is not imported: set it in 'headers' or 'auth'",
                comment(other)
            )),
        }
    }

    /// Adds the effects of scripts, and the status of saved responses.
    pub(super) fn apply_scripts(
        &mut self,
        findings: &ScriptActions,
        saved: &Value,
        call: &mut OutlineCall,
    ) {
        let before = self.statements(&findings.before, "", call);
        call.before.extend(before);
        let status = if findings.status.is_empty() {
            saved_status(saved).into_iter().collect()
        } else {
            findings.status.clone()
        };
        let numbers: Vec<LuaLiteral> = status
            .iter()
            .map(|status| LuaLiteral::Expression(status.to_string()))
            .collect();
        match numbers.as_slice() {
            [] => {}
            [one] => call.set("expect", "status", one.clone()),
            _ => call.set("expect", "status", LuaLiteral::List(numbers)),
        }
        if status.iter().any(|status| (300..400).contains(status)) {
            call.option("max_redirects", LuaLiteral::Expression("0".to_owned()));
        }
        let texts: Vec<LuaLiteral> = findings
            .texts
            .iter()
            .map(|text| LuaLiteral::text(text))
            .collect();
        if !texts.is_empty() {
            call.set("expect", "text", LuaLiteral::List(texts));
        }
        let json = findings
            .json
            .iter()
            .map(|(path, value)| (path.clone(), LuaLiteral::json(value)));
        let json: Vec<(String, LuaLiteral)> = json.collect();
        if !json.is_empty() {
            call.set("expect", "json", LuaLiteral::Table(json));
        }
        let headers = findings.headers.iter().map(|(name, value)| {
            let value = value
                .as_ref()
                .map_or(LuaLiteral::Expression("true".to_owned()), |value| {
                    LuaLiteral::text(value)
                });
            (name.clone(), value)
        });
        let headers: Vec<(String, LuaLiteral)> = headers.collect();
        if !headers.is_empty() {
            call.set("expect", "header", LuaLiteral::Table(headers));
        }
        let after = self.statements(&findings.after, "", call);
        call.after.extend(after);
        if let Some(limit) = findings.under_ms {
            call.note(format!("a script wants an answer within {limit} ms: write a threshold, such as [\"{}\"] = \"p95 < {limit}ms\"", self.place));
        }
        for line in findings.unknown.iter().take(MAX_SCRIPT_LINES) {
            call.note(format!(
                "write in Lua what the script does: {}",
                comment(line)
            ));
        }
        if findings.unknown.len() > MAX_SCRIPT_LINES {
            let more = findings.unknown.len() - MAX_SCRIPT_LINES;
            call.note(format!("and {more} more lines of its scripts"));
        }
    }

    /// Returns the lines of Lua for steps of a script, each after `pad`.
    fn statements(
        &mut self,
        steps: &[ScriptStep],
        pad: &str,
        call: &mut OutlineCall,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        for step in steps {
            match step {
                ScriptStep::Set(name, value) => {
                    if let Some(place) = self.variables.place(name) {
                        lines.push(format!("{pad}{place} = {}", self.value(value)));
                        self.variables.already.insert(name.clone());
                    }
                }
                ScriptStep::If {
                    condition,
                    then,
                    otherwise,
                } => {
                    let lua = condition.lua(&mut |value| match value {
                        ScriptValue::Variable(name) if !self.variables.has(name) => None,
                        value => Some(self.value(value)),
                    });
                    let Some(lua) = lua else {
                        call.note(format!(
                            "write in Lua when the script sets '{}'",
                            comment(&set_in(step).join("', '"))
                        ));
                        continue;
                    };
                    let inner = format!("{pad}  ");
                    lines.push(format!("{pad}if {lua} then"));
                    lines.extend(self.statements(then, &inner, call));
                    if !otherwise.is_empty() {
                        lines.push(format!("{pad}else"));
                        lines.extend(self.statements(otherwise, &inner, call));
                    }
                    lines.push(format!("{pad}end"));
                }
            }
        }
        lines
    }

    /// Returns the code for an expression of a script.
    fn value(&mut self, value: &ScriptValue) -> String {
        match value {
            ScriptValue::Json(steps) => format!("answer:json(){steps}"),
            ScriptValue::Encoded(steps) => format!("json.encode(answer:json(){steps})"),
            ScriptValue::Header(name) => format!("answer:header({})", quoted(name)),
            ScriptValue::Cookie(name) => format!("user.cookies:get({})", quoted(name)),
            ScriptValue::Body => "answer.body".to_owned(),
            ScriptValue::Status => "answer.status".to_owned(),
            ScriptValue::Variable(name) => {
                self.variables.text(&format!("{{{{{name}}}}}"), self.calls)
            }
            ScriptValue::Text(text) => self.variables.text(text, self.calls),
            ScriptValue::Number(number) => number.clone(),
            ScriptValue::Joined(parts) => {
                let mut whole = Concatenation::default();
                for part in parts {
                    match part {
                        ScriptValue::Text(text) if !has_variables(text) => whole.literal(text),
                        part => whole.expression(self.value(part)),
                    }
                }
                whole.finish()
            }
            ScriptValue::Nothing => "nil".to_owned(),
        }
    }
}

/// Returns names and values of the headers that are not switched off: a list, or lines.
fn headers(headers: &Value) -> Vec<(String, String)> {
    let of_line = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    };
    match headers {
        Value::String(lines) => lines.lines().filter_map(of_line).collect(),
        list => enabled(list)
            .filter_map(|header| match header {
                Value::String(line) => of_line(line),
                header => Some((
                    text_of(&header["key"]).trim().to_owned(),
                    text_of(&header["value"]),
                )),
            })
            .collect(),
    }
}

/// Returns the status of the first saved response that is no error, else of the first.
fn saved_status(saved: &Value) -> Option<u64> {
    let codes = saved.as_array().into_iter().flatten();
    let codes: Vec<u64> = codes
        .filter_map(|response| response["code"].as_u64())
        .filter(|code| (100..600).contains(code))
        .collect();
    let fine = codes.iter().find(|code| **code < 400);
    fine.or(codes.first()).copied()
}
