//! Writes the plan of calls.

use super::{OutlineCall, OutlineFunction, OutlineScenario, OutlineStep, PlanOutline};
use crate::head::variables;
use crate::imported::Imported;
use crate::lua_text::{comment, list, quoted, table};
use crate::parts::call;
use crate::request::PlanAttachments;

/// The indentation of statements in a task and in a function.
const TASK: usize = 4;
const FUNCTION: usize = 2;
/// The most notes on single lines.
const MAX_NOTES: usize = 200;

/// Writes it; long bodies have been put into files.
pub(in super::super) fn write(calls: PlanOutline, files: PlanAttachments) -> Imported {
    let mut out = head(&calls, &files);
    let mut line_notes = Vec::new();
    for function in &calls.functions {
        write_function(function, &mut out, &mut line_notes);
    }
    for hook in &calls.hooks {
        out += &format!("on({}, function(user)\n", quoted(hook.event));
        let mut has_response = false;
        write_steps(
            &hook.steps,
            FUNCTION,
            &mut has_response,
            &mut out,
            &mut line_notes,
        );
        out += "end)\n\n";
    }
    for (number, scenario) in calls.scenarios.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        write_scenario(scenario, &mut out, &mut line_notes);
    }
    let mut notes = calls.notes;
    let more = line_notes.len().saturating_sub(MAX_NOTES);
    let lines = line_notes.into_iter().take(MAX_NOTES);
    notes.extend(lines.map(|(line, note)| format!("line {line}: {note}")));
    if more > 0 {
        notes.push(format!("and {more} more notes on later lines"));
    }
    for (name, secret) in calls.secrets.iter() {
        let what = comment(&secret.what);
        notes.push(format!(
            "set {name} ('-e {name}=…', the environment or '--env-file'): {what}"
        ));
    }
    let files = files
        .all
        .into_iter()
        .map(|(_, name, content)| (name, content));
    Imported {
        plan: out,
        files: files.collect(),
        notes,
    }
}

fn write_scenario(scenario: &OutlineScenario, out: &mut String, notes: &mut Vec<(usize, String)>) {
    *out += &format!("scenario {{ {},", quoted(&scenario.name));
    if scenario.serial {
        *out += " order = \"serial\",";
    }
    for (name, value) in &scenario.options {
        *out += &format!(" {name} = {},", value.render(2));
    }
    out.push('\n');
    let mut group: &Option<String> = &None;
    for task in &scenario.tasks {
        if task.group != *group {
            let name = task.group.as_deref().unwrap_or("others");
            *out += &format!("  -- {}\n", comment(name));
            group = &task.group;
        }
        let tags: Vec<String> = task.tags.iter().map(|tag| quoted(tag)).collect();
        let tagged = match tags.as_slice() {
            [] => String::new(),
            [tag] => format!(" tags = {tag},"),
            tags => format!(" tags = {},", list(tags, 2)),
        };
        *out += &format!("  task {{ {},{tagged} function(user)\n", quoted(&task.name));
        let mut has_response = false;
        write_steps(&task.steps, TASK, &mut has_response, out, notes);
        *out += "  end },\n";
    }
    *out += "}\n";
}

/// Writes steps; `has_response` is whether there is a variable for responses, which those within a block see, too.
fn write_steps(
    steps: &[OutlineStep],
    indent: usize,
    has_response: &mut bool,
    out: &mut String,
    notes: &mut Vec<(usize, String)>,
) {
    let pad = " ".repeat(indent);
    for step in steps {
        match step {
            OutlineStep::Comment(text) => *out += &format!("{pad}-- {}\n", comment(text)),
            OutlineStep::Statement(text) => *out += &format!("{pad}{text}\n"),
            OutlineStep::Call(call) => {
                write_call(call, indent, !*has_response, out, notes);
                *has_response |= !call.after.is_empty();
            }
            OutlineStep::Block(block) => {
                *out += &format!("{pad}{}\n", block.open);
                let mut has_inner = *has_response;
                write_steps(&block.steps, indent + 2, &mut has_inner, out, notes);
                *out += &format!("{pad}{}\n", block.close);
            }
        }
    }
}

fn head(calls: &PlanOutline, files: &PlanAttachments) -> String {
    let scenarios = calls.scenarios.iter();
    let tasks = scenarios.flat_map(|scenario| &scenario.tasks);
    let hooks = calls.hooks.iter().flat_map(|hook| &hook.steps);
    let steps = tasks.flat_map(|task| &task.steps).chain(hooks);
    let requests: usize = steps.map(OutlineStep::requests).sum();
    let requests = requests + calls.functions.len();
    let s = if requests == 1 { "" } else { "s" };
    let mut flags: String = match calls.host {
        Some(_) => String::new(),
        None => " -H http://…".to_owned(),
    };
    flags.extend(calls.secrets.names().map(|name| format!(" -e {name}=…")));
    let mut out = format!(
        "-- {}: {requests} request{s}. Written by 'lgoose import'.\n--\n\
         --   lgoose plan.lua{flags} --once             # one user, every request shown\n\
         --   lgoose plan.lua{flags} -u 10 -t 1m        # ten users, one minute\n\n",
        comment(&calls.title)
    );
    let host = calls
        .host
        .as_ref()
        .map(|host| ("host".to_owned(), host.clone()));
    let mut plan: Vec<(String, String)> = host.into_iter().collect();
    plan.push(("request_names".to_owned(), quoted("path")));
    let options = calls.options.iter();
    plan.extend(options.map(|(name, value)| (name.clone(), value.render(2))));
    out += &format!("plan {}\n", table(&plan, 0));
    for remark in &calls.remarks {
        out += &format!("-- {}\n", comment(remark));
    }
    out += "\n";
    out += &variables(&calls.secrets, files);
    for (name, value) in &calls.locals {
        out += &format!("local {name} = {value}\n");
    }
    if !calls.locals.is_empty() {
        out += "\n";
    }
    out
}

fn write_function(function: &OutlineFunction, out: &mut String, notes: &mut Vec<(usize, String)>) {
    *out += &format!(
        "-- {}\nlocal function {}(user)\n",
        comment(&function.comment),
        function.name
    );
    write_call(&function.call, FUNCTION, true, out, notes);
    *out += &format!("  {}\nend\n\n", function.end);
}

/// Writes a request, and the statements that take values from its response; `is_first` where the variable for that is
/// new.
fn write_call(
    call: &OutlineCall,
    indent: usize,
    is_first: bool,
    out: &mut String,
    notes: &mut Vec<(usize, String)>,
) {
    let pad = " ".repeat(indent);
    for statement in &call.before {
        *out += &format!("{pad}{statement}\n");
    }
    // Lines are counted only for the notes that are shown.
    let line = if call.notes.is_empty() || notes.len() >= MAX_NOTES {
        0
    } else {
        out.matches('\n').count() + 1
    };
    notes.extend(call.notes.iter().map(|note| (line, note.clone())));
    let text = text(call, indent);
    let ensured = if call.tolerates_failure {
        ""
    } else {
        ":ensure()"
    };
    match (call.after.is_empty(), is_first) {
        (true, _) => *out += &format!("{pad}{text}\n"),
        (false, true) => *out += &format!("{pad}local answer = {text}{ensured}\n"),
        (false, false) => *out += &format!("{pad}answer = {text}{ensured}\n"),
    }
    for statement in &call.after {
        *out += &format!("{pad}{statement}\n");
    }
}

fn text(request: &OutlineCall, indent: usize) -> String {
    let options = request.options.iter();
    let options = options.map(|(name, value)| (name.clone(), value.render(indent + 2)));
    call(
        &request.method,
        request.path.clone(),
        request.body.clone(),
        options.collect(),
        indent,
    )
}
