//! Scripts of k6, as far as they are data: `options`, and the calls of `http` that stand in a function with literal arguments. A script
//! is a program, which nobody but a person carries over: every statement that is not understood is noted.
//!
//! <https://grafana.com/docs/k6/latest/using-k6/k6-options/reference/>

mod body;
mod options;
mod script;

use super::calls::{
    self, LuaLiteral, OutlineHook, OutlineScenario, OutlineStep, OutlineTask, PlanOutline,
};
use super::imported::Imported;
use super::lua_text::comment;
use super::request::PlanAttachments;
use super::site::ImportOptions;
use super::visit::MAX_REQUESTS;
use body::{BodyReader, concatenated, origin};
use lgoose_base::error::Diagnostic;
use lgoose_base::foreign_formats::{ForeignFile, recognise};
use script::{ScriptConstants, ScriptCursor, ScriptValue, end_of};
use std::collections::BTreeMap;

/// The most bytes of an address that are read.
const ADDRESS: usize = 2_000;

pattern!(
    CONSTANT,
    r"^(?:export\s+)?(?:const|let|var)\s+(\w+)\s*(?::\s*\w+\s*)?=\s*"
);
pattern!(
    FUNCTION,
    r"^(export\s+)?(default\s+)?(?:async\s+)?function\s*(\w*)\s*\([^)]{0,300}\)\s*(?::\s*\w+\s*)?\{"
);
pattern!(
    ARROW,
    r"^export\s+(?:default\s+|const\s+(\w+)\s*=\s*)(?:async\s+)?(?:\([^)]{0,300}\)|\w+)\s*=>\s*\{"
);

/// A script, taken apart.
#[derive(Default)]
struct K6Script<'a> {
    constants: ScriptConstants,
    /// Bodies of functions by their names; the default one is `default`.
    functions: BTreeMap<&'a str, &'a str>,
    /// First lines of other statements.
    others: Vec<String>,
}

/// Returns whether a text is a script of k6.
pub(super) fn is_k6(text: &str) -> bool {
    recognise(text) == Some(ForeignFile::K6)
}

/// Writes the plan of a script.
///
/// # Errors
/// A script without a request that is written down.
pub(super) fn import(
    name: &str,
    text: &str,
    choices: &ImportOptions,
) -> Result<Imported, Diagnostic> {
    let script = K6Script::read(text.trim_start_matches('\u{feff}'));
    let mut calls = PlanOutline {
        title: "A script of k6".to_owned(),
        ..PlanOutline::default()
    };
    calls.host = main_host(text, &script.constants);
    if calls.host.is_none() {
        calls.note("say the host with '-H http://…': the script names none at the beginning of its addresses");
    }
    let mut files = PlanAttachments::new(choices.files);
    for other in &script.others {
        calls.note(format!(
            "left out '{}': write in Lua what it does",
            comment(other)
        ));
    }
    let nothing = ScriptValue::Null;
    let options = script.constants.get("options").unwrap_or(&nothing);
    let mut notes = Vec::new();
    let limits = options
        .field("thresholds")
        .and_then(|limits| options::thresholds(limits, &mut notes));
    calls.options.extend(options::others(options, &mut notes));
    calls
        .options
        .extend(limits.map(|limits| ("thresholds".to_owned(), limits)));
    let scenarios = options
        .field("scenarios")
        .map_or(&[][..], ScriptValue::fields);
    let runs: Vec<(String, &str, options::OptionFields)> = match scenarios {
        [] => {
            let load = options::load(options, &mut notes, "the script");
            calls.options.extend(load);
            vec![("default".to_owned(), "default", Vec::new())]
        }
        scenarios => scenarios
            .iter()
            .map(|(name, spec)| {
                let function = spec
                    .field("exec")
                    .and_then(ScriptValue::as_text)
                    .unwrap_or("default");
                let shown = format!("the scenario '{}'", comment(name));
                let mut fields = options::load(spec, &mut notes, &shown);
                fields.extend(tables(spec));
                (name.clone(), function, fields)
            })
            .collect(),
    };
    calls.notes.append(&mut notes);
    let mut requests = 0;
    let mut steps_of = |calls: &mut PlanOutline, function: &str| -> Vec<OutlineStep> {
        let Some(body) = script.functions.get(function) else {
            return Vec::new();
        };
        let mut reader = BodyReader {
            constants: &mut script.constants.clone(),
            calls,
            files: &mut files,
            requests: &mut requests,
            response: None,
        };
        let what = match function {
            "default" => "the default function".to_owned(),
            name => format!("the function '{}'", comment(name)),
        };
        reader.steps(body, &what, 0)
    };
    for (function, event) in [("setup", "test_start"), ("teardown", "test_stop")] {
        let steps = steps_of(&mut calls, function);
        if steps.iter().any(|step| step.requests() > 0) {
            calls.hooks.push(OutlineHook { event, steps });
        }
    }
    if script.functions.contains_key("handleSummary") {
        calls.note("left out 'handleSummary': on(\"report\") is called with the report");
    }
    for (name, function, fields) in runs {
        let steps = steps_of(&mut calls, function);
        let shown = comment(&name);
        if !steps.iter().any(|step| step.requests() > 0) {
            calls.note(format!("left out the scenario '{shown}': no call of 'http' with a literal address stands in its function"));
            continue;
        }
        calls.scenarios.push(OutlineScenario {
            name: name.clone(),
            serial: true,
            options: fields,
            tasks: vec![OutlineTask {
                name,
                steps,
                ..OutlineTask::default()
            }],
        });
    }
    calls.note_omitted(requests);
    if calls.scenarios.is_empty() {
        let message = format!("{name} has no request that could be carried over");
        return Err(calls.without_requests(&message, "'lgoose help other-tools' shows the words of k6 beside those of lgoose; for the requests, record a visit in a browser and import that"));
    }
    Ok(calls::write(calls, files))
}

/// Returns the variables and tags of a scenario.
fn tables(spec: &ScriptValue) -> options::OptionFields {
    let mut fields = Vec::new();
    for name in ["env", "tags"] {
        let values = spec.field(name).map_or(&[][..], ScriptValue::fields);
        let values: Vec<(String, LuaLiteral)> = values
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), LuaLiteral::text(value.as_text()?))))
            .collect();
        if !values.is_empty() {
            fields.push((name.to_owned(), LuaLiteral::Table(values)));
        }
    }
    fields
}

/// Returns the expression for the host that most addresses of a script begin with.
fn main_host(text: &str, constants: &ScriptConstants) -> Option<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (at, _) in text.match_indices("http.").take(10 * MAX_REQUESTS) {
        let call = &text[at..];
        let Some(open) = call.find('(').filter(|open| *open < 40) else {
            continue;
        };
        // An address is short; anything else could be as long as the script.
        let end = call.floor_char_boundary(call.len().min(open + 1 + ADDRESS));
        let mut cursor = ScriptCursor::new(&call[open + 1..end]);
        let mut value = cursor.value(constants, 1);
        if call.starts_with("http.request") && cursor.take(",") {
            value = cursor.value(constants, 1);
        }
        if let ScriptValue::Text(pieces) = value
            && let Some((origin, _)) = origin(&pieces)
        {
            *counts.entry(concatenated(&origin)).or_default() += 1;
        }
    }
    let most = counts
        .into_iter()
        .max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
    most.map(|(origin, _)| origin)
}

impl<'a> K6Script<'a> {
    fn read(text: &'a str) -> K6Script<'a> {
        let mut script = K6Script::default();
        let mut cursor = ScriptCursor::new(text);
        loop {
            cursor.skip_blank();
            if cursor.take(";") || cursor.take("}") || cursor.take(")") || cursor.take("]") {
                continue;
            }
            if cursor.rest.is_empty() {
                return script;
            }
            let statement = cursor.rest;
            if statement.starts_with("import") {
                let end = statement
                    .find(['\'', '"'])
                    .map_or(statement.len(), |quote| {
                        let after = &statement[quote + 1..];
                        quote + 1 + after.find(['\'', '"']).map_or(after.len(), |end| end + 1)
                    });
                cursor.rest = &statement[end..];
            } else if let Some(found) = FUNCTION.captures(statement) {
                cursor.rest = &statement[found.get_match().end()..];
                let body = cursor.block();
                let name = match (found.get(2), found.get(3)) {
                    (Some(_), _) => "default",
                    (None, name) => name.map_or("", |name| name.as_str()),
                };
                script.functions.insert(name, body);
            } else if let Some(found) = ARROW.captures(statement) {
                cursor.rest = &statement[found.get_match().end()..];
                let body = cursor.block();
                let name = found.get(1).map_or("default", |name| name.as_str());
                script.functions.insert(name, body);
            } else if let Some(found) = CONSTANT.captures(statement) {
                let name = found[1].to_owned();
                cursor.rest = &statement[found.get_match().end()..];
                match cursor.value(&script.constants, 0) {
                    ScriptValue::Unknown(text) => {
                        // Metrics and the like are measurements of the script itself.
                        let first = text.lines().next().unwrap_or_default().to_owned();
                        script.others.push(format!("{name} = {first}"));
                    }
                    value => {
                        script.constants.insert(name, value);
                    }
                }
            } else {
                let end = end_of(statement, |c| matches!(c, ';' | '\n'));
                let first = statement[..end].lines().next().unwrap_or_default().trim();
                script.others.push(first.to_owned());
                let end = (end + 1).min(statement.len());
                cursor.rest = statement.get(end..).unwrap_or("");
            }
            if script.others.len() > 100 {
                script.others.truncate(100);
            }
        }
    }
}
