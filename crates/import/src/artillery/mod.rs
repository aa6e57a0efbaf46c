//! Tests of Artillery: a scenario for each of theirs, whose flow is one task. Each arrival of a phase is an iteration of a new user.
//!
//! <https://www.artillery.io/docs/reference/test-script>

mod draft;
mod flow;
mod load;
mod request;
mod values;

use super::calls::{self, LuaLiteral, OutlineHook, OutlineScenario, OutlineStep, OutlineTask};
use super::imported::Imported;
use super::lua_text::{comment, field, quoted};
use super::names::title;
use super::row_source::{RowSource, columns, header};
use super::site::ImportOptions;
use draft::ArtilleryImport;
use flow::read_flow;
use lgoose_base::error::Diagnostic;
use load::{add_phases, add_thresholds};
use request::header_value;
use serde_json::{Map, Value};
use values::number;

/// Fields of a scenario that are carried over.
const SCENARIO: [&str; 4] = ["name", "weight", "flow", "engine"];
/// Fields of the configuration that are carried over or change nothing.
const CONFIG: [&str; 13] = [
    "target",
    "phases",
    "defaults",
    "http",
    "payload",
    "variables",
    "environments",
    "plugins",
    "ensure",
    "tls",
    "statsInterval",
    "processor",
    "engines",
];

/// Returns whether JSON or YAML is of Artillery.
pub(super) fn is_artillery(file: &Map<String, Value>) -> bool {
    let config = file.get("config").and_then(Value::as_object);
    let is_config = config.is_some_and(|config| {
        [
            "target",
            "phases",
            "payload",
            "environments",
            "processor",
            "http",
            "plugins",
        ]
        .iter()
        .any(|key| config.contains_key(*key))
    });
    is_config && file.contains_key("scenarios")
}

/// Returns whether a text is a test in YAML.
pub(super) fn is_yaml(text: &str) -> bool {
    let has = |key: &str| {
        text.lines()
            .any(|line| line.trim_start_matches('\u{feff}').starts_with(key))
    };
    has("config:") && has("scenarios:")
}

/// Writes the plan of a test.
///
/// # Errors
/// A test without a request over HTTP.
pub(super) fn import(
    name: &str,
    file: Map<String, Value>,
    choices: &ImportOptions,
) -> Result<Imported, Diagnostic> {
    let file = Value::Object(file);
    let config = &file["config"];
    let folder = choices.path.as_ref().and_then(|path| path.parent());
    let mut import = ArtilleryImport::default();
    import.files.enabled = choices.files;
    import.folder = folder.map(ToOwned::to_owned);
    import.calls.title = "A test of Artillery".to_owned();
    let mut begin = set_variables(&mut import, config);
    begin.extend(take_rows(&mut import, &config["payload"]));
    collect_captures(&file["before"]["flow"], 0, &mut |name| {
        import.own.insert(name.to_owned());
        import.shared.insert(name.to_owned());
    });
    for scenario in file["scenarios"].as_array().into_iter().flatten() {
        collect_captures(&scenario["flow"], 0, &mut |name| {
            import.own.insert(name.to_owned());
        });
    }
    set_target(&mut import, &config["target"]);
    set_options(&mut import, config);
    add_phases(&mut import, &config["phases"]);
    add_thresholds(&mut import, &config["ensure"]);
    add_thresholds(&mut import, &config["plugins"]["ensure"]);
    leave_out(&mut import, &file, config);
    for (key, event) in [("before", "test_start"), ("after", "test_stop")] {
        let mut steps = read_flow(&mut import, &file[key]["flow"]);
        if steps.iter().any(|step| step.requests() > 0) {
            if key == "before" && !import.shared.is_empty() {
                steps.push(OutlineStep::Statement("return user.data".to_owned()));
            }
            import.calls.hooks.push(OutlineHook { event, steps });
        }
    }
    add_scenarios(&mut import, &file["scenarios"], &begin);
    import.calls.note_omitted(import.requests);
    if import.calls.scenarios.is_empty() {
        let message = format!("{name} has no HTTP request that a plan could send");
        return Err(import.calls.without_requests(
            &message,
            "give a test whose scenarios have a 'flow' with requests over HTTP",
        ));
    }
    Ok(calls::write(import.calls, import.files))
}

fn add_scenarios(import: &mut ArtilleryImport, scenarios: &Value, begin: &[String]) {
    for (number, scenario) in (1..).zip(scenarios.as_array().into_iter().flatten()) {
        let name = scenario["name"].as_str().unwrap_or_default();
        let mut name = title(name, &format!("scenario {number}"));
        let mut before = import.calls.scenarios.iter();
        if before.any(|other| other.name == name) {
            name = format!("{name} ({number})");
        }
        let shown = comment(&name);
        let engine = scenario["engine"].as_str().unwrap_or("http");
        if engine != "http" {
            let engine = comment(engine);
            import.note_once(format!("left out the scenario '{shown}', whose engine is '{engine}': lgoose sends requests over HTTP"));
            continue;
        }
        for key in scenario.as_object().into_iter().flat_map(Map::keys) {
            if !SCENARIO.contains(&key.as_str()) {
                let key = comment(key);
                import.note_once(format!(
                    "left out '{key}' of the scenario '{shown}': write in Lua what it does"
                ));
            }
        }
        let mut steps: Vec<OutlineStep> =
            begin.iter().cloned().map(OutlineStep::Statement).collect();
        steps.append(&mut read_flow(import, &scenario["flow"]));
        if !steps.iter().any(|step| step.requests() > 0) {
            import.note_once(format!(
                "left out the scenario '{shown}', which sends no request over HTTP"
            ));
            continue;
        }
        let weight = match values::number(&scenario["weight"]) {
            Some(weight) if weight != 1.0 => {
                Some(("weight".to_owned(), LuaLiteral::from(weight as u64)))
            }
            _ => None,
        };
        import.calls.scenarios.push(OutlineScenario {
            name: name.clone(),
            serial: true,
            options: weight.into_iter().collect(),
            tasks: vec![OutlineTask {
                name,
                steps,
                ..OutlineTask::default()
            }],
        });
    }
}

/// Sets the host of the plan.
fn set_target(import: &mut ArtilleryImport, target: &Value) {
    let text = target
        .as_str()
        .unwrap_or_default()
        .trim()
        .trim_end_matches('/');
    if text.is_empty() {
        return import
            .calls
            .note("say the host with '-H http://…': the test names no target");
    }
    if !text.contains("{{") {
        import.calls.host = Some(quoted(text));
        return;
    }
    let mut text = text.to_owned();
    for (name, value) in &import.fixed {
        let value = value.as_str().filter(|value| !value.contains("{{"));
        for braces in [format!("{{{{ {name} }}}}"), format!("{{{{{name}}}}}")] {
            text = text.replace(&braces, value.unwrap_or(&braces));
        }
    }
    // The plan's options stand before its variables.
    let late = import.late_values;
    let host = import.expression(&text);
    if import.late_values > late {
        let shown = comment(&text);
        import.calls.note(format!(
            "say the host with '-H http://…': the target of the test is '{shown}'"
        ));
    } else {
        import.calls.host = Some(host)
    }
}

/// Sets headers of all requests, the timeout and the trust in certificates.
fn set_options(import: &mut ArtilleryImport, config: &Value) {
    let mut headers: Vec<(String, LuaLiteral)> = Vec::new();
    for defaults in [
        &config["defaults"]["headers"],
        &config["http"]["defaults"]["headers"],
    ] {
        for (name, value) in defaults.as_object().into_iter().flatten() {
            let is_fixed = value.as_str().is_none_or(|text| !text.contains("{{"));
            let secrets = import.calls.secrets.names().count();
            let literal = header_value(import, name, value, "all requests");
            // The plan's options stand before its variables.
            if is_fixed && import.calls.secrets.names().count() == secrets {
                headers.push((name.clone(), literal))
            } else {
                import.headers.push((name.clone(), value.clone()))
            }
        }
    }
    if !headers.is_empty() {
        let headers = LuaLiteral::Table(headers);
        import.calls.option("headers", headers);
    }
    if let Some(timeout) = number(&config["http"]["timeout"]) {
        import.calls.option("timeout", timeout);
    }
    if config["tls"]["rejectUnauthorized"] == false {
        import.calls.option("insecure", true);
    }
}

/// Adds the variables of the test, and returns the statements that choose one of several values.
fn set_variables(import: &mut ArtilleryImport, config: &Value) -> Vec<String> {
    let mut begin = Vec::new();
    for (name, value) in config["variables"].as_object().into_iter().flatten() {
        match value {
            Value::Array(values) if !values.is_empty() => {
                import.own.insert(name.clone());
                let list = import.value(name, value, "the test").render(4);
                begin.push(format!("user.data{} = random.choice {list}", field(name)));
            }
            value => {
                import.fixed.insert(name.clone(), value.clone());
            }
        }
    }
    begin
}

/// Returns the statements that take the next rows of the test's files.
fn take_rows(import: &mut ArtilleryImport, payload: &Value) -> Vec<String> {
    let payloads = match payload {
        Value::Array(payloads) => payloads.as_slice(),
        Value::Null => &[],
        one => std::slice::from_ref(one),
    };
    let mut begin = Vec::new();
    for payload in payloads {
        let path = payload["path"].as_str().unwrap_or_default();
        let file = path.trim_start_matches("./");
        let shown = comment(file);
        if file.is_empty() || file.contains("{{") || payload["loadAll"] == true {
            import.note_once(format!(
                "left out the rows of '{shown}': read them with 'data.csv'"
            ));
            continue;
        }
        let names: Vec<String> = payload["fields"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect();
        let first = header(import.folder.as_deref(), file);
        let separator = payload["delimiter"].as_str().unwrap_or(",");
        let source = RowSource {
            file,
            has_header: names.is_empty() || payload["skipHeader"] == true,
            header: first.as_deref(),
            names: &names,
            separator,
            order: match payload["order"].as_str() {
                Some("sequence") => None,
                _ => Some("random"),
            },
            is_quoted: false,
        };
        match source.statements(&mut import.calls) {
            Ok((statements, notes)) => {
                begin.extend(statements);
                for note in notes {
                    import.note_once(note);
                }
                let columns = first
                    .map(|line| columns(&line, separator))
                    .unwrap_or_default();
                import
                    .own
                    .extend(if names.is_empty() { columns } else { names });
            }
            Err(why) => import.note_once(format!("left out the rows of '{shown}': {why}")),
        }
    }
    begin
}

/// Finds the names that a flow captures.
fn collect_captures(value: &Value, deep: usize, found: &mut impl FnMut(&str)) {
    const MAX_DEPTH: usize = 200;
    if deep > MAX_DEPTH {
        return;
    }
    match value {
        Value::Array(items) => {
            for item in items {
                collect_captures(item, deep + 1, found);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "capture" {
                    let items = value
                        .as_array()
                        .map_or(std::slice::from_ref(value), Vec::as_slice);
                    for name in items.iter().filter_map(|item| item["as"].as_str()) {
                        found(name);
                    }
                } else if name != "json" {
                    collect_captures(value, deep + 1, found);
                }
            }
        }
        _ => {}
    }
}

/// Notes the fields of the configuration that no plan carries over.
fn leave_out(import: &mut ArtilleryImport, file: &Value, config: &Value) {
    if let Some(path) = config["processor"].as_str() {
        let path = comment(path);
        import.note_once(format!(
            "left out the functions of '{path}': write them in Lua"
        ));
    }
    let environments = config["environments"].as_object();
    let names: Vec<String> = environments
        .into_iter()
        .flat_map(Map::keys)
        .map(|name| comment(name))
        .collect();
    if !names.is_empty() {
        import.note_once(format!(
            "left out the environments {}: '-H' says the host, '--rate' and '--stage' the load",
            names.join(", ")
        ));
    }
    for name in config["plugins"]
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
    {
        if !matches!(
            name.as_str(),
            "expect" | "ensure" | "metrics-by-endpoint" | "apdex"
        ) {
            let name = comment(name);
            import.note_once(format!("left out the plugin '{name}'"));
        }
    }
    for name in config.as_object().into_iter().flat_map(Map::keys) {
        if !CONFIG.contains(&name.as_str()) {
            let name = comment(name);
            import.note_once(format!("left out '{name}' of the configuration"));
        }
    }
    for name in file.as_object().into_iter().flat_map(Map::keys) {
        if !matches!(name.as_str(), "config" | "scenarios" | "before" | "after") {
            let name = comment(name);
            import.note_once(format!("left out '{name}' of the test"));
        }
    }
}
