//! Functions of a script: the calls of `http`, pauses, groups and checks that are written down. Every other statement is noted.

use super::options::seconds;
use super::script::{ScriptConstants, ScriptCursor, ScriptValue, TextPiece, end_of};
use crate::calls::{LuaLiteral, OutlineCall, OutlineStep, PlanOutline};
use crate::lua_text::{comment, is_shallow, quoted};
use crate::parts::{Concatenation, is_token};
use crate::request::PlanAttachments;
use crate::secrets::{is_secret_field, is_secret_header};
use crate::visit::MAX_REQUESTS;
use serde_json::Value;

/// The most notes.
const MAX_NOTES: usize = 200;
/// The deepest groups within groups.
const MAX_DEPTH: usize = 40;

pattern!(
    CALL,
    r"^(?:(?:const|let|var)\s+)?(?:(\w+)\s*=\s*)?(?:await\s+)?http\s*\.\s*(get|post|put|patch|del|delete|head|options|request|asyncRequest)\s*\("
);
pattern!(SLEEP, r"^sleep\s*\(");
pattern!(GROUP, r"^group\s*\(");
pattern!(
    FUNCTION,
    r"^(?:async\s+)?(?:function\s*\w*\s*\([^)]{0,300}\)|\([^)]{0,300}\)\s*=>|\w+\s*=>)\s*\{"
);
pattern!(CHECK, r"^check\s*\(\s*(\w+)\s*,\s*\{");
pattern!(
    LAMBDA,
    r"^(?:\(\s*(\w+)\s*\)|(\w+))\s*=>\s*(?s:(.+))$|^function\s*\(\s*(\w+)\s*\)\s*\{\s*return\s+(?s:(.+?))\s*;?\s*\}$"
);
pattern!(
    BETWEEN,
    r"^(?:randomIntBetween|randomInt)\s*\(\s*(\d+(?:\.\d+)?)\s*,\s*(\d+(?:\.\d+)?)\s*\)$"
);
pattern!(
    CHANCE,
    r"^Math\.random\(\)\s*\*\s*(\d+(?:\.\d+)?)(?:\s*\+\s*(\d+(?:\.\d+)?))?$"
);
pattern!(STATUS, r"^\.status\s*(===?|!==?|<=|>=|<|>)\s*(\d{3})$");
pattern!(
    DURATION,
    r"^\.timings\.duration\s*(<=|>=|<|>)\s*(\d+(?:\.\d+)?)$"
);
pattern!(
    INCLUDES,
    r#"^\.body\.includes\(\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*\)$"#
);
pattern!(CONSTANT, r"^(?:export\s+)?(?:const|let|var)\s+(\w+)\s*=\s*");

/// A reader of the functions of a script.
pub(super) struct BodyReader<'a> {
    pub(super) constants: &'a mut ScriptConstants,
    pub(super) calls: &'a mut PlanOutline,
    pub(super) files: &'a mut PlanAttachments,
    /// Requests so far.
    pub(super) requests: &'a mut usize,
    /// The variable that has the last response.
    pub(super) response: Option<String>,
}

impl BodyReader<'_> {
    /// Returns the steps of a function's body. `what` names the function in notes.
    pub(super) fn steps(&mut self, body: &str, what: &str, deep: usize) -> Vec<OutlineStep> {
        let mut steps: Vec<OutlineStep> = Vec::new();
        let mut cursor = ScriptCursor::new(body);
        loop {
            cursor.skip_blank();
            if cursor.take(";") || cursor.take("}") {
                continue;
            }
            if cursor.rest.is_empty() {
                return steps;
            }
            let statement = cursor.rest;
            if let Some(found) = CALL.captures(statement) {
                let variable = found.get(1).map(|name| name.as_str().to_owned());
                let method = found[2].to_owned();
                cursor.rest = &statement[found.get_match().end()..];
                let arguments = cursor.block();
                let call = self.call(&method, arguments);
                // The response is used at once.
                if cursor.rest.trim_start().starts_with('.') {
                    self.leave_out(&mut cursor, statement, what);
                }
                let Some(call) = call else {
                    self.response = None;
                    let first = statement.lines().next().unwrap_or_default().trim();
                    self.note(format!(
                        "{what}: left out '{}', whose address is no literal: write it in Lua",
                        comment(first)
                    ));
                    continue;
                };
                *self.requests += 1;
                if *self.requests <= MAX_REQUESTS {
                    self.response = variable;
                    steps.push(OutlineStep::Call(Box::new(call)));
                }
            } else if SLEEP.is_match(statement) {
                cursor.rest = &statement[statement.find('(').map_or(0, |at| at + 1)..];
                let argument = cursor.block().trim();
                match self.pause(argument) {
                    Some(wait) => steps.push(OutlineStep::Statement(wait)),
                    None => self.note(format!(
                        "{what}: left out the pause '{}': set it with 'user:wait'",
                        comment(argument)
                    )),
                }
            } else if GROUP.is_match(statement) && deep < MAX_DEPTH {
                cursor.rest = &statement[statement.find('(').map_or(0, |at| at + 1)..];
                let inside = cursor.block();
                let mut inner = ScriptCursor::new(inside);
                let name = inner.value(self.constants, 1);
                let _comma = inner.take(",");
                inner.skip_blank();
                match FUNCTION.captures(inner.rest) {
                    Some(found) => {
                        inner.rest = &inner.rest[found.get_match().end()..];
                        let body = inner.block();
                        let inner_steps = self.steps(body, what, deep + 1);
                        if !inner_steps.is_empty() {
                            let name = self.expression(&name);
                            steps.push(OutlineStep::block(
                                format!("user:transaction({name}, function()"),
                                inner_steps,
                                "end)",
                            ));
                        }
                        // The variables of a group end with it.
                        self.response = None;
                    }
                    None => self.note(format!("{what}: left out the group {}", comment(inside))),
                }
            } else if let Some(found) = CHECK.captures(statement) {
                let variable = found[1].to_owned();
                cursor.rest = &statement[found.get_match().end()..];
                let checks = cursor.block();
                let _rest_of_call = cursor.block();
                self.checks(&variable, checks, what, &mut steps);
            } else if let Some(found) = CONSTANT.captures(statement) {
                let name = found[1].to_owned();
                let mut inner = ScriptCursor::new(&statement[found.get_match().end()..]);
                match inner.value(self.constants, 0) {
                    ScriptValue::Unknown(_) => {
                        self.constants.remove(&name);
                        self.leave_out(&mut cursor, statement, what);
                    }
                    value => {
                        self.constants.insert(name, value);
                        cursor.rest = inner.rest;
                    }
                }
            } else {
                self.leave_out(&mut cursor, statement, what);
            }
        }
    }

    fn note(&mut self, note: String) {
        if self.calls.notes.len() < MAX_NOTES && !self.calls.notes.contains(&note) {
            self.calls.note(note);
        }
    }

    /// Notes a statement that is not carried over, and goes beyond it.
    fn leave_out(&mut self, cursor: &mut ScriptCursor<'_>, statement: &str, what: &str) {
        let length = statement_length(statement);
        let text = &statement[..length];
        let first = text.lines().next().unwrap_or_default().trim();
        let dots = if text.trim().lines().count() > 1 {
            " …"
        } else {
            ""
        };
        let sends = if text.contains("http.") && !CALL.is_match(statement) {
            ", with the requests in it"
        } else {
            ""
        };
        self.note(format!(
            "{what}: left out '{}{dots}'{sends}: write in Lua what it does",
            comment(first)
        ));
        // The parts of the statement that were read stay read.
        let beyond = &statement[length..];
        if beyond.len() < cursor.rest.len() {
            cursor.rest = &cursor.rest[cursor.rest.len() - beyond.len()..];
        }
    }

    fn pause(&mut self, text: &str) -> Option<String> {
        if let Some(found) = BETWEEN.captures(text) {
            return Some(format!("user:wait({}, {})", &found[1], &found[2]));
        }
        if let Some(found) = CHANCE.captures(text) {
            let range: f64 = found[1].parse().ok()?;
            let from: f64 = found
                .get(2)
                .map_or(Some(0.0), |from| from.as_str().parse().ok())?;
            return Some(format!("user:wait({from}, {})", from + range));
        }
        let value = ScriptCursor::new(text).value(self.constants, 1);
        value
            .as_number()
            .filter(|time| *time >= 0.0)
            .map(|time| format!("user:wait({time})"))
    }

    /// Returns the request of a call; `None` if its address is not known.
    fn call(&mut self, method: &str, arguments: &str) -> Option<OutlineCall> {
        let mut cursor = ScriptCursor::new(arguments);
        let mut values = Vec::new();
        while !cursor.rest.trim().is_empty() && values.len() < 5 {
            values.push(cursor.value(self.constants, 1));
            if !cursor.take(",") {
                break;
            }
        }
        let mut values = values.into_iter();
        let method = match method {
            "request" | "asyncRequest" => {
                let named = values.next();
                let named = named
                    .as_ref()
                    .and_then(ScriptValue::as_text)
                    .unwrap_or("GET");
                named.to_ascii_uppercase()
            }
            "del" => "DELETE".to_owned(),
            method => method.to_ascii_uppercase(),
        };
        let method = match http::Method::from_bytes(method.as_bytes()) {
            Ok(_) => method,
            Err(_) => "GET".to_owned(),
        };
        let mut call = OutlineCall {
            method,
            tolerates_failure: true,
            ..OutlineCall::default()
        };
        let url = values.next().unwrap_or(ScriptValue::Null);
        let shown = shown(&url);
        let place = format!("{} {}", call.method, comment(&shown));
        let ScriptValue::Text(pieces) = &url else {
            return None;
        };
        call.path = self.path(pieces);
        let has_body = !matches!(call.method.as_str(), "GET" | "HEAD");
        let body = if has_body { values.next() } else { None };
        let params = values.next().unwrap_or(ScriptValue::Null);
        self.body(body.unwrap_or(ScriptValue::Null), &place, &mut call);
        self.params(&params, &place, &mut call);
        call.name_in_notes(&place);
        Some(call)
    }

    /// Returns the path of a URL: one of the host of the plan begins with a slash.
    fn path(&mut self, pieces: &[TextPiece]) -> String {
        let host = self.calls.host.clone();
        let origin = origin(pieces);
        let expression = concatenated(pieces);
        match (origin, host) {
            (Some((origin, rest)), Some(host)) if concatenated(&origin) == host => {
                let rest = concatenated(&rest);
                match rest.as_str() {
                    "\"\"" => quoted("/"),
                    _ => rest,
                }
            }
            _ => expression,
        }
    }

    fn expression(&mut self, value: &ScriptValue) -> String {
        match value {
            ScriptValue::Text(pieces) => concatenated(pieces),
            ScriptValue::Number(number) => quoted(&number.to_string()),
            _ => quoted("group"),
        }
    }

    /// Returns a value as one of the plan; `None` if it is known only to the script.
    fn literal(&mut self, name: &str, value: &ScriptValue, place: &str) -> Option<LuaLiteral> {
        Some(match value {
            ScriptValue::Null => LuaLiteral::Scalar(Value::Null),
            ScriptValue::Bool(on) => LuaLiteral::from(*on),
            ScriptValue::Number(number) => LuaLiteral::number(*number),
            ScriptValue::Text(pieces) => match value.as_text() {
                Some(text) if is_secret_field(name, text) => {
                    let what = format!("'{}' of {place}", comment(name));
                    LuaLiteral::Expression(self.calls.secrets.variable(name, text, &what))
                }
                Some(text) => LuaLiteral::text(text),
                None => LuaLiteral::Expression(concatenated(pieces)),
            },
            ScriptValue::List(items) => {
                let items = items.iter().map(|item| self.literal(name, item, place));
                LuaLiteral::List(items.collect::<Option<_>>()?)
            }
            ScriptValue::Object(fields) => LuaLiteral::Table(self.fields(fields, place)?),
            ScriptValue::Json(_) | ScriptValue::Unknown(_) => return None,
        })
    }

    /// Returns fields with values of the plan; `None` if one is known only to the script.
    fn fields(
        &mut self,
        fields: &[(String, ScriptValue)],
        place: &str,
    ) -> Option<Vec<(String, LuaLiteral)>> {
        let fields = fields.iter();
        fields
            .map(|(name, value)| Some((name.clone(), self.literal(name, value, place)?)))
            .collect()
    }

    fn body(&mut self, body: ScriptValue, place: &str, call: &mut OutlineCall) {
        let option = match &body {
            ScriptValue::Null => return,
            ScriptValue::Text(_) => {
                call.body = Some(match body.as_text() {
                    Some(text) => self.files.store(text.to_owned(), "txt"),
                    None => self.expression(&body),
                });
                return;
            }
            ScriptValue::Json(value) => self
                .literal("", value, place)
                .filter(|json| json.as_json().as_ref().is_none_or(is_shallow))
                .map(|json| ("json", json)),
            ScriptValue::Object(fields) => self
                .fields(fields, place)
                .map(|fields| ("form", LuaLiteral::fields(fields))),
            _ => None,
        };
        match option {
            Some((name, value)) => call.option(name, value),
            None => call.note("its body is not known: write it in Lua"),
        }
    }

    fn params(&mut self, params: &ScriptValue, place: &str, call: &mut OutlineCall) {
        if !matches!(params, ScriptValue::Null | ScriptValue::Object(_)) {
            call.note("its parameters are not known: write headers and the like in Lua");
        }
        for (name, value) in params.fields() {
            match name.as_str() {
                "headers" => self.headers(value, place, call),
                "tags" => {
                    for (name, value) in value.fields() {
                        let Some(value) = self.literal("", value, place) else {
                            call.note(format!("left out the tag '{}'", comment(name)));
                            continue;
                        };
                        match name.as_str() {
                            "name" => call.option("name", value),
                            name => call.set("tags", name, value),
                        }
                    }
                }
                "cookies" => {
                    for (name, value) in value.fields() {
                        let value = value.field("value").unwrap_or(value).clone();
                        match self.literal(name, &value, place) {
                            Some(value) => call.set("cookies", name, value),
                            None => call.note(format!("left out the cookie '{}'", comment(name))),
                        }
                    }
                }
                "redirects" if value.as_number().is_some() => {
                    call.option(
                        "max_redirects",
                        value.as_number().unwrap_or_default() as u64,
                    );
                }
                "timeout" if seconds(value).is_some() => {
                    call.option("timeout", seconds(value).unwrap_or_default());
                }
                "responseType" | "compression" | "responseCallback" => {}
                other => call.note(format!("left out '{}'", comment(other))),
            }
        }
    }

    fn headers(&mut self, headers: &ScriptValue, place: &str, call: &mut OutlineCall) {
        for (name, value) in headers.fields() {
            let lower = name.to_ascii_lowercase();
            if !is_token(name) {
                call.note(format!("left out the header '{}'", comment(name)));
                continue;
            }
            let value = match value.as_text() {
                Some(text) if is_secret_header(&lower) && !text.is_empty() => {
                    let what = format!("header '{}' of {place}", comment(name));
                    Some(self.calls.secret_header(name, text, name, &what))
                }
                _ => self.literal("", value, place),
            };
            match value {
                Some(value) => call.set("headers", name, value),
                None => call.note(format!(
                    "left out the header '{}', whose value is not known",
                    comment(name)
                )),
            }
        }
    }

    /// Adds the checks of a response to its request.
    fn checks(&mut self, variable: &str, checks: &str, what: &str, steps: &mut [OutlineStep]) {
        let mut cursor = ScriptCursor::new(checks);
        let mut statements = Vec::new();
        while !cursor.rest.trim().is_empty() {
            let end = end_of(cursor.rest, |c| c == ',');
            let entry = cursor.rest[..end].trim();
            cursor.rest = cursor.rest.get(end + 1..).unwrap_or("");
            if entry.is_empty() {
                continue;
            }
            let mut inner = ScriptCursor::new(entry);
            inner.skip_blank();
            // A name in quotation marks, or one without.
            let name = if inner.rest.starts_with(['\'', '"', '`']) {
                let end = end_of(inner.rest, |c| c == ':');
                let name = ScriptCursor::new(&inner.rest[..end]).value(self.constants, 1);
                inner.rest = &inner.rest[end..];
                name.as_text().map(str::to_owned)
            } else {
                inner.name().map(str::to_owned)
            };
            let _colon = inner.take(":");
            inner.skip_blank();
            let condition = condition(inner.rest.trim());
            match (name, condition) {
                (Some(name), Some(condition)) => {
                    statements.push(format!("check({condition}, {})", quoted(&name)));
                }
                _ => self.note(format!(
                    "{what}: left out the check {}: write it in Lua",
                    comment(entry)
                )),
            }
        }
        let is_last = self.response.as_deref() == Some(variable);
        match steps.last_mut() {
            Some(OutlineStep::Call(call)) if is_last => call.after.extend(statements),
            _ if statements.is_empty() => {}
            _ => self.note(format!("{what}: left out the checks of '{}', which is not the response just before: write them in Lua", comment(variable))),
        }
    }
}

/// Returns the condition of a check as an expression of Lua.
fn condition(text: &str) -> Option<String> {
    let found = LAMBDA.captures(text)?;
    let name = found.get(1).or(found.get(2)).or(found.get(4))?.as_str();
    let body = found.get(3).or(found.get(5))?.as_str().trim();
    let each = body.split("&&").map(|part| {
        let part = part.trim().strip_prefix(name)?;
        if let Some(found) = STATUS.captures(part) {
            let operator = match &found[1] {
                "==" | "===" => "==",
                "!=" | "!==" => "~=",
                order => order,
            };
            return Some(format!("answer.status {operator} {}", &found[2]));
        }
        if let Some(found) = DURATION.captures(part) {
            let time: f64 = found[2].parse().ok()?;
            return Some(format!("answer.time {} {}", &found[1], time / 1000.0));
        }
        let found = INCLUDES.captures(part)?;
        let text = found.get(1).or(found.get(2))?.as_str();
        Some(format!("answer:contains({})", quoted(text)))
    });
    let each: Vec<String> = each.collect::<Option<_>>()?;
    Some(each.join(" and "))
}

/// Returns the length of a statement: to its semicolon, or to the end of a line or a block that nothing continues.
fn statement_length(statement: &str) -> usize {
    let mut at = 0;
    loop {
        let end = at + end_of(&statement[at..], |c| matches!(c, ';' | '\n'));
        let rest = &statement[end..];
        if !rest.starts_with('\n') {
            return (end + 1).min(statement.len());
        }
        let before = statement[..end].trim_end();
        let goes_on = before.ends_with(['=', '(', ',', '+', '.', '&', '|', '?', ':', '>'])
            || rest.trim_start().starts_with(['.', '?', '+'])
            || rest.trim_start().starts_with("else")
            || rest.trim_start().starts_with("catch");
        if !goes_on {
            return end;
        }
        at = end + 1;
        if at >= statement.len() {
            return statement.len();
        }
    }
}

/// Splits a URL into its scheme with the host and the rest; `None` if it begins with neither a scheme nor a variable.
pub(super) fn origin(pieces: &[TextPiece]) -> Option<(Vec<TextPiece>, Vec<TextPiece>)> {
    match pieces.first()? {
        TextPiece::Literal(text) => {
            let start = text.find("://")? + 3;
            match text[start..].find(['/', '?']) {
                Some(end) => {
                    let (origin, path) = text.split_at(start + end);
                    let mut rest = vec![TextPiece::Literal(path.to_owned())];
                    rest.extend(pieces[1..].iter().cloned());
                    Some((vec![TextPiece::Literal(origin.to_owned())], rest))
                }
                None if pieces.len() == 1 => Some((pieces.to_vec(), Vec::new())),
                None => None,
            }
        }
        TextPiece::User(_) => None,
        TextPiece::Env(..) => match pieces.get(1) {
            None => Some((pieces.to_vec(), Vec::new())),
            Some(TextPiece::Literal(text)) if text.starts_with('/') => {
                Some((vec![pieces[0].clone()], pieces[1..].to_vec()))
            }
            _ => None,
        },
    }
}

/// Returns the expression for a text.
pub(super) fn concatenated(pieces: &[TextPiece]) -> String {
    let mut whole = Concatenation::default();
    for piece in pieces {
        match piece {
            TextPiece::Literal(text) => whole.literal(text),
            TextPiece::Env(name, default) => {
                let default = quoted(default.as_deref().unwrap_or(""));
                whole.expression(format!("env({}, {default})", quoted(name)));
            }
            TextPiece::User(expression) => whole.expression((*expression).to_owned()),
        }
    }
    whole.finish()
}

/// Returns a URL as a note shows it.
fn shown(url: &ScriptValue) -> String {
    match url {
        ScriptValue::Text(pieces) => pieces
            .iter()
            .map(|piece| match piece {
                TextPiece::Literal(text) => text.clone(),
                TextPiece::Env(name, _) => format!("${{{name}}}"),
                TextPiece::User(expression) => format!("${{{expression}}}"),
            })
            .collect(),
        ScriptValue::Unknown(text) => text.clone(),
        _ => String::new(),
    }
}
