//! Test plans of JMeter (JMX): a scenario per thread group, whose requests, pauses, extractors and assertions follow each other as
//! JMeter runs them.
//!
//! <https://jmeter.apache.org/usermanual/component_reference.html>

mod assertions;
mod conditions;
mod draft;
mod element;
mod extractors;
mod groups;
mod rows;
mod sampler;
mod scope;
mod steps;
mod texts;
mod timers;

use super::calls;
use super::imported::Imported;
use super::lua_text::comment;
use super::site::ImportOptions;
use super::visit::MAX_REQUESTS;
use super::xml;
use draft::JmeterImport;
use element::JmeterElement;
use extractors::sets;
use groups::{add_group, define_all, is_group, plan_options, plan_variables};
use lgoose_base::error::Diagnostic;
use rows::header_columns;
use scope::JmeterScope;
use std::rc::Rc;
use steps::begins;

/// The most names of elements of one kind that a note has.
const NAMES: usize = 6;

/// The most thread groups: each is a scenario.
const MAX_GROUPS: usize = 100;

/// Returns whether a text is of JMeter.
pub(super) fn is_jmeter(text: &str) -> bool {
    let head = &text[..text.floor_char_boundary(4096)];
    head.contains("<jmeterTestPlan")
}

/// Writes the plan of a test plan.
///
/// # Errors
/// A fault in the XML, or a test plan without a request.
pub(super) fn import(
    name: &str,
    text: &str,
    choices: &ImportOptions,
) -> Result<Imported, Diagnostic> {
    let root = xml::parse(text).map_err(|fault| {
        Diagnostic::new(format!("{name} is no XML that can be read: {fault}"))
            .help("open it in JMeter, and save it again")
    })?;
    let tree = root.children.iter().find(|child| child.name == "hashTree");
    let Some(tree) = tree.filter(|_| root.name == "jmeterTestPlan") else {
        let message = format!("{name} is XML, and no test plan of JMeter");
        return Err(Diagnostic::new(message)
            .help("give the file that JMeter saves, whose root is 'jmeterTestPlan'"));
    };
    // The first pass finds the host that most requests go to.
    let mut first = JmeterImport::new(tree, choices);
    run(&mut first);
    let site = first.main_origin();
    let mut import = JmeterImport::new(tree, choices);
    import.site = site;
    run(&mut import);
    conclude(import, name)
}

fn run(import: &mut JmeterImport<'_>) {
    let plan = import
        .root
        .iter()
        .find(|element| element.kind() == "TestPlan");
    let (title, outer) = match plan {
        Some(plan) => {
            let variables = plan_variables(*plan);
            let (name, children) = (plan.name(), plan.children());
            define_all(import, variables);
            (name, children)
        }
        None => ("test plan", import.root.clone()),
    };
    import.calls.title = format!("The test plan '{}' of JMeter", comment(title));
    let mut all = Vec::new();
    collect(&outer, &mut all);
    for element in &all {
        if element.kind() == "Arguments" {
            define_all(import, element.collection("Arguments.arguments"));
        }
    }
    for element in &all {
        let names = sets(*element);
        if element.kind() == "CSVDataSet" && names.is_empty() {
            for name in header_columns(import, *element) {
                import.variables.sets(&name);
            }
        }
        for name in names {
            import.variables.sets(name);
        }
    }
    plan_options(import, &all);
    let scope = Rc::new(JmeterScope::default()).with(&outer);
    let is_load = |element: &&JmeterElement<'_>| {
        is_group(**element) && !matches!(element.kind(), "SetupThreadGroup" | "PostThreadGroup")
    };
    let enabled = outer.iter().filter(|element| element.is_enabled());
    let is_only = enabled.filter(is_load).count() < 2;
    let beside: Vec<JmeterElement<'_>> = outer
        .iter()
        .copied()
        .filter(|element| begins(*element))
        .collect();
    for element in &outer {
        if !element.is_enabled() {
            import.disabled += 1;
        } else if is_group(*element) {
            import.groups += 1;
            if import.groups > MAX_GROUPS {
                import.leave_out(*element);
                continue;
            }
            add_group(import, *element, &beside, &scope, is_only);
        } else {
            let carried =
                scope::ScopeRole::of(*element).is_some() || steps::is_setting(element.kind());
            if !carried {
                import.leave_out(*element);
            }
        }
    }
}

fn conclude(mut import: JmeterImport<'_>, name: &str) -> Result<Imported, Diagnostic> {
    import.calls.host = import.site.clone();
    let mut notes = Vec::new();
    if import.site.is_none() {
        notes.push("say the host with '-H http://…': the test plan names none".to_owned());
    }
    if import.requests > MAX_REQUESTS {
        notes.push(format!(
            "left out the last {} requests: a plan has {MAX_REQUESTS} at most",
            import.requests - MAX_REQUESTS
        ));
    }
    if import.disabled > 0 {
        let s = if import.disabled == 1 { "" } else { "s" };
        notes.push(format!(
            "left out {} element{s} that the test plan has disabled",
            import.disabled
        ));
    }
    if import.listeners > 0 {
        let s = if import.listeners == 1 { "" } else { "s" };
        notes.push(format!(
            "left out {} listener{s}: '-o html=FILE' and '--request-log FILE' keep results",
            import.listeners
        ));
    }
    for (kind, names) in &import.left_out {
        let shown: Vec<String> = names
            .iter()
            .take(NAMES)
            .map(|name| format!("'{}'", comment(name)))
            .collect();
        let more = match names.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        notes.push(format!(
            "left out {}{more} ({}): {}",
            shown.join(", "),
            comment(kind),
            remedy(kind)
        ));
    }
    notes.append(&mut import.calls.notes);
    import.calls.notes = notes;
    let sends = import
        .calls
        .scenarios
        .iter()
        .any(|scenario| !scenario.tasks.is_empty());
    if !sends {
        let message = format!("{name} has no HTTP request that a plan could send");
        return Err(import.calls.without_requests(
            &message,
            "give a test plan whose thread groups have HTTP samplers",
        ));
    }
    Ok(calls::write(import.calls, import.files))
}

/// Collects all elements that are not disabled, with those below them.
fn collect<'a>(elements: &[JmeterElement<'a>], all: &mut Vec<JmeterElement<'a>>) {
    for element in elements.iter().filter(|element| element.is_enabled()) {
        all.push(*element);
        collect(&element.children(), all);
    }
}

/// Returns the remedy for an element that is not carried over.
fn remedy(kind: &str) -> &'static str {
    match kind {
        _ if kind.contains("Extractor") => {
            "take the value from 'answer' in Lua and put it into 'user.data'"
        }
        _ if kind.contains("Assertion") => {
            "check the response in Lua, with 'expect' or 'answer:fail(\"why\")'"
        }
        _ if kind.contains("Timer") => "pause with 'user:wait'",
        _ if kind.contains("PreProcessor")
            || kind.contains("PostProcessor")
            || kind.starts_with("JSR223")
            || kind.starts_with("BeanShell") =>
        {
            "write in Lua what the script does"
        }
        "IncludeController" | "ModuleController" => {
            "import the other test plan, or write its requests into this one"
        }
        _ if kind.contains("Controller") => "write in Lua when its requests are sent",
        _ if kind.ends_with("ThreadGroup") => "a plan has a hundred scenarios at most",
        _ if kind.contains("Sampler") || kind.contains("Sample") => {
            "lgoose sends requests over HTTP"
        }
        _ => "nothing in a plan stands for it",
    }
}
