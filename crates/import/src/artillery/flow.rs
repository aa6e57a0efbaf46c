//! Flows: the steps of a scenario.

use super::draft::ArtilleryImport;
use super::request::read_request;
use super::values::{duration, number};
use crate::calls::OutlineStep;
use crate::lua_text::{comment, field};
use crate::visit::MAX_REQUESTS;
use serde_json::{Map, Value};

/// Steps that are requests.
const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];
/// The deepest loops within loops: Lua reads blocks to a certain depth.
const MAX_DEPTH: usize = 40;

/// Returns the steps of a flow.
pub(super) fn read_flow(import: &mut ArtilleryImport, flow: &Value) -> Vec<OutlineStep> {
    let mut steps = Vec::new();
    for step in flow.as_array().into_iter().flatten() {
        match step {
            Value::Object(fields) => steps.append(&mut read_step(import, fields)),
            other => {
                let shown = comment(&other.to_string());
                import.note_once(format!("left out the step '{shown}', which is none"));
            }
        }
    }
    steps
}

fn read_step(import: &mut ArtilleryImport, step: &Map<String, Value>) -> Vec<OutlineStep> {
    let mut steps = Vec::new();
    if let Some(list) = step.get("loop") {
        return read_loop(import, list, step);
    }
    for (name, value) in step {
        match name.as_str() {
            method if METHODS.contains(&method) => {
                steps.append(&mut request(import, method, value));
            }
            "think" => steps.extend(think(import, value)),
            "log" => {
                let text = match value {
                    Value::String(text) => import.expression(text),
                    other => crate::lua_text::quoted(&other.to_string()),
                };
                steps.push(OutlineStep::Statement(format!("user:log({text})")));
            }
            "parallel" => {
                import.note_once("requests of 'parallel' follow each other: 'user:batch' sends them side by side".to_owned());
                steps.append(&mut read_flow(import, value));
            }
            "ifTrue" if step.len() > 1 => {}
            other => {
                let shown = comment(other);
                let what = match value {
                    Value::String(text) => format!(" ({})", comment(text)),
                    _ => String::new(),
                };
                import.note_once(format!(
                    "left out the step '{shown}'{what}: write in Lua what it does"
                ));
            }
        }
    }
    match step.get("ifTrue").and_then(Value::as_str) {
        Some(text) if step.len() > 1 => conditional(import, text, steps),
        _ => steps,
    }
}

fn request(import: &mut ArtilleryImport, method: &str, value: &Value) -> Vec<OutlineStep> {
    let nothing = Map::new();
    let mut plain = Map::new();
    let spec = match value {
        Value::Object(spec) => spec,
        // A URL alone.
        Value::String(url) => {
            plain.insert("url".to_owned(), Value::from(url.as_str()));
            &plain
        }
        _ => &nothing,
    };
    import.requests += 1;
    if import.requests > MAX_REQUESTS {
        return Vec::new();
    }
    let call = read_request(import, method, spec);
    let mut steps = vec![OutlineStep::Call(Box::new(call))];
    steps.extend(spec.get("think").and_then(|time| think(import, time)));
    match spec.get("ifTrue").and_then(Value::as_str) {
        Some(text) => conditional(import, text, steps),
        None => steps,
    }
}

/// Returns steps that are done where a variable is true.
fn conditional(
    import: &mut ArtilleryImport,
    text: &str,
    steps: Vec<OutlineStep>,
) -> Vec<OutlineStep> {
    let name = text.trim();
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name && import.own.contains(name) {
        let open = format!("if user.data{} then", field(name));
        return vec![OutlineStep::block(open, steps, "end")];
    }
    let shown = comment(text);
    import.note_once(format!(
        "requests are sent whether or not '{shown}' is true: write the condition in Lua"
    ));
    steps
}

fn think(import: &mut ArtilleryImport, value: &Value) -> Option<OutlineStep> {
    let time = match duration(value) {
        Some(seconds) => seconds.to_string(),
        None => {
            let text = value.as_str().filter(|text| text.contains("{{"));
            let Some(text) = text else {
                let shown = comment(&value.to_string());
                import.note_once(format!("left out the pause {shown}, which is no time"));
                return None;
            };
            format!("tonumber({}) or 0", import.expression(text))
        }
    };
    Some(OutlineStep::Statement(format!("user:wait({time})")))
}

fn read_loop(
    import: &mut ArtilleryImport,
    list: &Value,
    step: &Map<String, Value>,
) -> Vec<OutlineStep> {
    if import.depth >= MAX_DEPTH {
        import.note_once(format!(
            "left out loops that lie more than {MAX_DEPTH} deep"
        ));
        return Vec::new();
    }
    if let Some(name) = step.get("whileTrue").and_then(Value::as_str) {
        let name = comment(name);
        import.note_once(format!(
            "a loop runs once, as '{name}' decides when it ends: write the condition in Lua"
        ));
        return read_flow(import, list);
    }
    let over = match step.get("over") {
        Some(Value::String(name)) => match import.variable(name) {
            Some(expression) => Some(format!(
                "for count, element in ipairs(type({expression}) == \"table\" and {expression} or {{}}) do"
            )),
            None => return read_flow(import, list),
        },
        Some(items @ Value::Array(_)) => {
            let items = import.value("", items, "a loop").render(4);
            Some(format!("for count, element in ipairs {items} do"))
        }
        _ => None,
    };
    import.depth += 1;
    let steps = read_flow(import, list);
    import.depth -= 1;
    if steps.is_empty() {
        return steps;
    }
    let open = match (over, step.get("count")) {
        (Some(open), _) => open,
        (None, Some(count)) => match (number(count), count.as_str()) {
            (Some(count), _) => format!("for count = 1, {} do", count as u64),
            (None, Some(range))
                if range.contains("..") || range.contains('-') && !range.contains("{{") =>
            {
                let ends = range.split(['-', '.']).filter(|end| !end.is_empty());
                let ends: Vec<u64> = ends.filter_map(|end| end.trim().parse().ok()).collect();
                match ends.as_slice() {
                    [from, to] => format!("for count = {from}, {to} do"),
                    _ => "for count = 1, 1 do".to_owned(),
                }
            }
            (None, Some(text)) => {
                format!(
                    "for count = 1, tonumber({}) or 1 do",
                    import.expression(text)
                )
            }
            (None, None) => "for count = 1, 1 do".to_owned(),
        },
        (None, None) => "for count = 1, math.huge do".to_owned(),
    };
    vec![OutlineStep::block(open, steps, "end")]
}
