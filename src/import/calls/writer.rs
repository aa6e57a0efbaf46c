//! Writes the plan of calls.

use super::{Call, Calls, Function, Step};
use crate::import::head::variables;
use crate::import::imported::Imported;
use crate::import::lua_text::{comment, list, quoted, table};
use crate::import::parts::call;
use crate::import::request::Files;

/// The indentation of what a task does, and of what a function does.
const TASK: usize = 4;
const FUNCTION: usize = 2;
/// The most notes on single lines.
const TOLD: usize = 200;

/// Writes it; long bodies have been put into files.
pub(in super::super) fn write(calls: Calls, files: Files) -> Imported {
    let mut out = head(&calls, &files);
    let mut told = Vec::new();
    for function in &calls.functions {
        write_function(function, &mut out, &mut told);
    }
    out += &format!("scenario {{ {},", quoted(&calls.scenario));
    out += if calls.serial {
        " order = \"serial\",\n"
    } else {
        "\n"
    };
    let mut group: &Option<String> = &None;
    for task in &calls.tasks {
        if task.group != *group {
            let name = task.group.as_deref().unwrap_or("others");
            out += &format!("  -- {}\n", comment(name));
            group = &task.group;
        }
        let tags: Vec<String> = task.tags.iter().map(|tag| quoted(tag)).collect();
        let tagged = match tags.as_slice() {
            [] => String::new(),
            [tag] => format!(" tags = {tag},"),
            tags => format!(" tags = {},", list(tags, 2)),
        };
        out += &format!("  task {{ {},{tagged} function(user)\n", quoted(&task.name));
        let mut has_answer = false;
        for step in &task.steps {
            match step {
                Step::Comment(text) => out += &format!("    -- {}\n", comment(text)),
                Step::Statement(text) => out += &format!("    {text}\n"),
                Step::Call(call) => {
                    write_call(call, TASK, !has_answer, &mut out, &mut told);
                    has_answer |= !call.after.is_empty();
                }
            }
        }
        out += "  end },\n";
    }
    out += "}\n";
    let mut notes = calls.notes;
    let more = told.len().saturating_sub(TOLD);
    let lines = told.into_iter().take(TOLD);
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

fn head(calls: &Calls, files: &Files) -> String {
    let requests = calls.tasks.iter().flat_map(|task| &task.steps);
    let requests = requests
        .filter(|step| matches!(step, Step::Call(_)))
        .count();
    let requests = requests + calls.functions.len();
    let s = if requests == 1 { "" } else { "s" };
    let mut given: String = match calls.host {
        Some(_) => String::new(),
        None => " -H http://…".to_owned(),
    };
    given.extend(calls.secrets.names().map(|name| format!(" -e {name}=…")));
    let mut out = format!(
        "-- {}: {requests} request{s}. Written by 'lgoose import'.\n--\n\
         --   lgoose plan.lua{given} --once             one user, every request shown\n\
         --   lgoose plan.lua{given} -u 10 -t 1m        ten users, one minute\n\n",
        comment(&calls.title)
    );
    let host = calls
        .host
        .as_ref()
        .map(|host| ("host".to_owned(), quoted(host)));
    let mut plan: Vec<(String, String)> = host.into_iter().collect();
    plan.push(("request_names".to_owned(), quoted("path")));
    out += &format!("plan {}\n\n", table(&plan, 0));
    out += &variables(&calls.secrets, files);
    for (name, value) in &calls.locals {
        out += &format!("local {name} = {value}\n");
    }
    if !calls.locals.is_empty() {
        out += "\n";
    }
    out
}

fn write_function(function: &Function, out: &mut String, told: &mut Vec<(usize, String)>) {
    *out += &format!(
        "-- {}\nlocal function {}(user)\n",
        comment(&function.comment),
        function.name
    );
    write_call(&function.call, FUNCTION, true, out, told);
    *out += &format!("  {}\nend\n\n", function.end);
}

/// Writes a request and what is taken from its answer; `is_first` where the variable for that is new.
fn write_call(
    call: &Call,
    indent: usize,
    is_first: bool,
    out: &mut String,
    told: &mut Vec<(usize, String)>,
) {
    let pad = " ".repeat(indent);
    for statement in &call.before {
        *out += &format!("{pad}{statement}\n");
    }
    // Lines are counted only for what is shown.
    let line = if call.told.is_empty() || told.len() >= TOLD {
        0
    } else {
        out.matches('\n').count() + 1
    };
    told.extend(call.told.iter().map(|note| (line, note.clone())));
    let text = text(call, indent);
    match (call.after.is_empty(), is_first) {
        (true, _) => *out += &format!("{pad}{text}\n"),
        (false, true) => *out += &format!("{pad}local answer = {text}:ensure()\n"),
        (false, false) => *out += &format!("{pad}answer = {text}:ensure()\n"),
    }
    for statement in &call.after {
        *out += &format!("{pad}{statement}\n");
    }
}

fn text(request: &Call, indent: usize) -> String {
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
