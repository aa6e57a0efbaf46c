//! Requests of a flow: their contents, captures and expectations.

use super::draft::ArtilleryImport;
use super::values::number;
use crate::calls::{LuaLiteral, OutlineCall};
use crate::lua_text::{comment, field, is_shallow, quoted};
use crate::parts::is_token;
use crate::secrets::is_secret_header;
use crate::value_paths::{json_path, pattern};
use serde_json::{Map, Value};

/// Fields of a request that are carried over or change nothing.
const KNOWN: [&str; 21] = [
    "url",
    "uri",
    "name",
    "headers",
    "qs",
    "json",
    "form",
    "formData",
    "body",
    "cookie",
    "auth",
    "followRedirect",
    "gzip",
    "capture",
    "match",
    "expect",
    "ifTrue",
    "think",
    "decompress",
    "method",
    "timeout",
];

/// Returns the request.
pub(super) fn read_request(
    import: &mut ArtilleryImport,
    method: &str,
    spec: &Map<String, Value>,
) -> OutlineCall {
    let of = |name: &str| spec.get(name).unwrap_or(&Value::Null);
    let url = of("url").as_str().or(of("uri").as_str()).unwrap_or("/");
    let what = format!("{} {}", method.to_uppercase(), comment(url));
    let mut call = OutlineCall {
        method: method.to_uppercase(),
        path: import.expression(url),
        tolerates_failure: true,
        ..OutlineCall::default()
    };
    if let Some(name) = of("name").as_str() {
        call.option("name", import.text(name));
    }
    for (name, value) in import.headers.clone() {
        let value = header_value(import, &name, &value, "all requests");
        call.set("headers", &name, value);
    }
    add_headers(import, of("headers"), &what, &mut call);
    for (name, option) in [("qs", "query"), ("cookie", "cookies"), ("form", "form")] {
        if let Some(fields) = of(name).as_object() {
            let fields = fields.iter();
            let fields =
                fields.map(|(name, value)| (name.clone(), import.value(name, value, &what)));
            call.option(option, LuaLiteral::Table(fields.collect()));
        }
    }
    match of("json") {
        Value::Null => {}
        value if is_shallow(value) => {
            call.option("json", import.value("", value, &what));
        }
        value => call.body = Some(quoted(&value.to_string())),
    }
    match of("body") {
        Value::Null => {}
        Value::String(text) if !text.contains("{{") => {
            call.body = Some(import.files.store(text.clone(), "txt"));
        }
        Value::String(text) => call.body = Some(import.expression(text)),
        other => call.body = Some(quoted(&other.to_string())),
    }
    add_parts(import, of("formData"), &what, &mut call);
    if let Some(auth) = of("auth").as_object() {
        let part = |import: &mut ArtilleryImport, names: [&str; 2], is_password: bool| {
            let value = names
                .iter()
                .find_map(|name| auth.get(*name)?.as_str())
                .unwrap_or("");
            if is_password && !value.contains("{{") && !value.is_empty() {
                import
                    .calls
                    .secrets
                    .variable("PASSWORD", value, &format!("the password of {what}"))
            } else {
                import.expression(value)
            }
        };
        let user = part(import, ["user", "username"], false);
        let password = part(import, ["pass", "password"], true);
        call.authenticate(&user, &password, false);
    }
    if of("followRedirect") == &Value::Bool(false) {
        call.option("max_redirects", 0);
    }
    if let Some(seconds) = number(of("timeout")) {
        call.option("timeout", seconds);
    }
    for rule in items(of("expect")).into_iter().chain(items(of("match"))) {
        expect(import, rule, &mut call);
    }
    for rule in items(of("capture")) {
        capture(import, rule, &mut call);
    }
    for name in spec.keys().filter(|name| !KNOWN.contains(&name.as_str())) {
        let shown = comment(name);
        call.note(format!("left out '{shown}': write in Lua what it does"));
    }
    call.name_in_notes(&what);
    call
}

/// Returns the objects of a list, or an object alone.
fn items(value: &Value) -> Vec<&Map<String, Value>> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_object).collect(),
        Value::Object(one) => vec![one],
        _ => Vec::new(),
    }
}

/// Adds headers to a request.
pub(super) fn add_headers(
    import: &mut ArtilleryImport,
    headers: &Value,
    what: &str,
    call: &mut OutlineCall,
) {
    for (name, value) in headers.as_object().into_iter().flatten() {
        if !is_token(name) {
            let name = comment(name);
            call.note(format!("left out the header '{name}', which is none"));
            continue;
        }
        let value = header_value(import, name, value, what);
        call.set("headers", name, value);
    }
}

/// Returns the value of a header; a secret comes from the environment.
pub(super) fn header_value(
    import: &mut ArtilleryImport,
    name: &str,
    value: &Value,
    what: &str,
) -> LuaLiteral {
    let lower = name.to_ascii_lowercase();
    match value {
        Value::String(text)
            if !text.contains("{{") && is_secret_header(&lower) && !text.is_empty() =>
        {
            let what = format!("header '{}' of {what}", comment(name));
            let calls = &mut import.calls;
            calls.secret_header(name, text, "AUTHORIZATION", &what)
        }
        Value::String(text) => import.text(&text.replace(['\r', '\n'], " ")),
        Value::Number(_) | Value::Bool(_) => LuaLiteral::Scalar(value.clone()),
        other => LuaLiteral::text(&other.to_string()),
    }
}

fn add_parts(import: &mut ArtilleryImport, parts: &Value, what: &str, call: &mut OutlineCall) {
    for (name, value) in parts.as_object().into_iter().flatten() {
        let file = value["fromFile"].as_str();
        let part = match file {
            Some(path) => {
                let shown = path.rsplit('/').next().unwrap_or_default();
                let media = value["contentType"].as_str();
                let (data, note) = import.files.stand_in(shown, media);
                call.note(note);
                let filename = value["filename"].as_str().unwrap_or(shown);
                let mut fields = vec![
                    ("filename".to_owned(), import.text(filename)),
                    ("data".to_owned(), LuaLiteral::Expression(data)),
                ];
                fields.extend(media.map(|media| ("type".to_owned(), LuaLiteral::text(media))));
                LuaLiteral::Table(fields)
            }
            None => import.value(name, value, what),
        };
        call.add("multipart", name, part);
    }
}

/// Adds the expectations of the response.
fn expect(import: &mut ArtilleryImport, rule: &Map<String, Value>, call: &mut OutlineCall) {
    let fail = |call: &mut OutlineCall, broken: String, why: &str| {
        call.after.push(format!(
            "if answer.ok and {broken} then answer:fail({}) end",
            quoted(why)
        ));
    };
    if let (Some(path), Some(expected)) =
        (rule.get("json").and_then(Value::as_str), rule.get("value"))
    {
        match json_path(path).filter(|path| !path.is_list) {
            Some(path) => {
                let at = import.json_at();
                let expected = import.value("", expected, "a match").render(4);
                let why = format!("'{}' is not as expected", path.text);
                let path = quoted(&path.text);
                let broken = format!("tostring({at}(answer, {path})) ~= tostring({expected})");
                fail(call, broken, &why);
            }
            None => call.note(format!(
                "left out what '{}' is to be: check it in Lua",
                comment(path)
            )),
        }
        return;
    }
    for (name, value) in rule {
        let text = value.as_str().map(str::to_owned).or_else(|| match value {
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        });
        let carried = match (name.as_str(), text.as_deref()) {
            ("statusCode", _) => {
                let all = match value {
                    Value::Array(all) => all.clone(),
                    one => vec![one.clone()],
                };
                let all = all.iter().map(number).collect::<Option<Vec<f64>>>();
                all.map(|all| {
                    let mut all: Vec<LuaLiteral> = all
                        .into_iter()
                        .map(|status| LuaLiteral::from(status as u64))
                        .collect();
                    let status = match all.len() {
                        1 => all.swap_remove(0),
                        _ => LuaLiteral::List(all),
                    };
                    call.set("expect", "status", status);
                })
            }
            ("notStatusCode", Some(status)) => number(&Value::from(status)).map(|status| {
                let broken = format!("answer.status == {status}");
                fail(call, broken, "the status is not as expected");
            }),
            ("contentType", Some(kind)) => {
                let find = format!(
                    "not (answer:header \"content-type\" or \"\"):find({}, 1, true)",
                    quoted(kind)
                );
                fail(call, find, "the content type is not as expected");
                Some(())
            }
            ("hasProperty" | "notHasProperty", Some(path)) => json_path(path).map(|path| {
                let at = import.json_at();
                let operator = if name == "hasProperty" { "==" } else { "~=" };
                let why = format!("'{}' is not as expected", path.text);
                let broken = format!("{at}(answer, {}) {operator} nil", quoted(&path.text));
                fail(call, broken, &why);
            }),
            ("hasHeader", Some(header)) => {
                let header = vec![(header.to_owned(), LuaLiteral::from(true))];
                call.set("expect", "header", LuaLiteral::Table(header));
                Some(())
            }
            ("headerEquals", _) => match value.as_array().map(Vec::as_slice) {
                Some([Value::String(header), Value::String(text)]) => {
                    let header = vec![(header.clone(), import.text(text))];
                    call.set("expect", "header", LuaLiteral::Table(header));
                    Some(())
                }
                _ => None,
            },
            ("matchesRegexp", Some(text)) => pattern(text).map(|_| {
                let broken = format!("not regex({}):test(answer)", quoted(text));
                fail(call, broken, "the body is not as expected");
            }),
            ("equals", _) => match value.as_array().map(Vec::as_slice) {
                Some([Value::String(left), Value::String(right)]) => {
                    let (left, right) = (import.expression(left), import.expression(right));
                    let broken = format!("tostring({left}) ~= tostring({right})");
                    fail(call, broken, "what is expected to be equal is not");
                    Some(())
                }
                // One value is equal to itself.
                Some([_]) => Some(()),
                _ => None,
            },
            _ => None,
        };
        if carried.is_none() {
            let shown = comment(name);
            call.note(format!(
                "left out the expectation '{shown}': check it in Lua"
            ));
        }
    }
}

/// Adds the statements that keep a part of the response.
fn capture(import: &mut ArtilleryImport, rule: &Map<String, Value>, call: &mut OutlineCall) {
    let of = |name: &str| rule.get(name).and_then(Value::as_str);
    let Some(name) = of("as") else {
        call.note("left out what it captures without a name");
        return;
    };
    let value = if let Some(path) = of("json") {
        json_path(path).map(|path| match path.text.as_str() {
            "" => "answer:json()".to_owned(),
            text => {
                let at = import.json_at();
                // The first of several values is captured.
                let first = if path.is_list { "[1]" } else { "" };
                match first {
                    "" => format!("{at}(answer, {})", quoted(text)),
                    first => format!("({at}(answer, {}) or {{}}){first}", quoted(text)),
                }
            }
        })
    } else if let Some(text) = of("regexp") {
        let group = rule.get("group").and_then(number).unwrap_or(0.0);
        let flags = of("flags").unwrap_or_default();
        let text = if flags.contains('i') {
            format!("(?i){text}")
        } else {
            text.to_owned()
        };
        let groups = pattern(&text).map(|regex| regex.captures_len());
        match (groups, group as usize) {
            (Some(1), _) | (Some(_), 1) => Some(format!("regex({}):match(answer)", quoted(&text))),
            (Some(_), 0) => Some(format!(
                "regex({}):match(answer)",
                quoted(&format!("({text})"))
            )),
            (Some(groups), group) if group < groups => Some(format!(
                "(select({group}, regex({}):match(answer)))",
                quoted(&text)
            )),
            _ => None,
        }
    } else if let Some(header) = of("header") {
        Some(format!("answer:header({})", quoted(header)))
    } else if let Some(selector) = of("selector") {
        match (of("attr"), rule.get("index")) {
            (Some(attribute), None) => Some(format!(
                "answer:attr({}, {})",
                quoted(selector),
                quoted(attribute)
            )),
            (None, None) => Some(format!("answer:text({})", quoted(selector))),
            _ => None,
        }
    } else {
        None
    };
    let Some(value) = value else {
        let name = comment(name);
        call.note(format!(
            "left out how '{name}' is captured: take the value from 'answer' in Lua and put it into 'user.data'"
        ));
        return;
    };
    let target = format!("user.data{}", field(name));
    call.after.push(format!("{target} = {value}"));
    if rule.get("strict") != Some(&Value::Bool(false)) {
        let why = quoted(&format!("there is no '{name}' in it"));
        call.after.push(format!(
            "if {target} == nil then answer:fail({why}) user:exit_iteration() end"
        ));
    }
}
