//! Collections of Postman in its formats 2.0 and 2.1: a task per folder, or per request where there are none.
//!
//! <https://schema.postman.com/collection/json/v2.1.0/draft-07/docs/index.html>

mod address;
mod beside;
mod body;
mod request;
mod scripts;
mod statements;
mod values;
mod variables;

use super::calls::{self, OutlineScenario, OutlineStep, OutlineTask, PlanOutline};
use super::imported::Imported;
use super::lua_text::{comment, quoted};
use super::request::PlanAttachments;
use super::site::{ImportOptions, counted_hosts, is_host_named};
use super::visit::MAX_REQUESTS;
use address::{AddressOrigin, PostmanAddress};
use beside::BesideFiles;
use lgoose_base::error::Diagnostic;
use request::BodyMaker;
use scripts::{ScriptActions, needs_truthy, set_in};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use values::{TRUTHY, TRUTHY_FUNCTION};
use variables::{PostmanVariables, only_variable};

/// The most bytes of scripts that are read for all requests: each has those of its folders, too.
const SCRIPTS: usize = 8 << 20;

/// Returns whether JSON is of Postman, in any version.
pub(super) fn is_postman(file: &Map<String, Value>) -> bool {
    let schema = file.get("info").and_then(|info| info["schema"].as_str());
    file.contains_key("item") && file.contains_key("info")
        || schema.is_some_and(|schema| {
            schema.contains("getpostman.com") || schema.contains("postman.com")
        })
        || file
            .get("collection")
            .is_some_and(|collection| collection.get("item").is_some())
        || file.contains_key("requests")
            && (file.contains_key("order") || file.contains_key("folders"))
        || file.contains_key("values")
            && (file.contains_key("_postman_variable_scope") || file.contains_key("name"))
        || file.contains_key("collections") && file.contains_key("environments")
}

/// Writes the plan of a collection.
///
/// # Errors
/// Another format of Postman, and how to get this one.
pub(super) fn import(
    name: &str,
    mut file: Map<String, Value>,
    choices: &ImportOptions,
) -> Result<Imported, Diagnostic> {
    const EXPORT: &str =
        "export it again in Postman: the collection's menu, 'Export', 'Collection v2.1'";
    if let Some(Value::Object(inner)) = file.remove("collection") {
        file = inner;
    }
    if file.contains_key("collections") {
        let message = format!("{name} is a dump of all of Postman's data, not a collection");
        return Err(Diagnostic::new(message).help(EXPORT));
    }
    if file.contains_key("values") && !file.contains_key("item") {
        let message = format!("{name} is an environment of Postman, not a collection");
        return Err(Diagnostic::new(message)
            .help(format!("import the collection with its environment: 'lgoose import collection.json --environment {}'", name.trim_matches('\''))));
    }
    if file.contains_key("requests") && !file.contains_key("item") {
        let message = format!("{name} is a collection of Postman's format 1");
        return Err(Diagnostic::new(message).help(EXPORT));
    }
    let collection = Value::Object(file);
    let schema = collection["info"]["schema"].as_str().unwrap_or_default();
    if schema.contains("v1.") {
        let message = format!("{name} is a collection of Postman's format 1");
        return Err(Diagnostic::new(message).help(EXPORT));
    }
    let beside = BesideFiles::read(&choices.environments, choices.data.as_deref())?;
    let mut found = CollectionItems::default();
    found.walk(&collection, &InheritedOptions::default(), None);
    if found.requests.is_empty() {
        let message = format!("{name} is a collection without a request");
        return Err(Diagnostic::new(message).help("add requests in Postman, and export it again"));
    }
    let mut calls = PlanOutline {
        title: format!("The collection '{}'", title(&collection)),
        scenarios: vec![OutlineScenario {
            name: title(&collection),
            serial: true,
            ..OutlineScenario::default()
        }],
        ..PlanOutline::default()
    };
    calls.note_omitted(found.requests.len());
    found.requests.truncate(MAX_REQUESTS);
    let mut files = PlanAttachments::new(choices.files);
    fill(&found, &beside, choices, &mut calls, &mut files);
    if calls.tasks().is_empty() {
        let message = format!("{name} has no request that a plan could send");
        return Err(Diagnostic::new(message).help("give its requests addresses of http or https"));
    }
    Ok(calls::write(calls, files))
}

fn title(item: &Value) -> String {
    let name = item["info"]["name"]
        .as_str()
        .or(item["name"].as_str())
        .unwrap_or_default();
    super::names::title(name, "collection")
}

/// Options that a request has from its folders.
#[derive(Default, Clone)]
struct InheritedOptions<'a> {
    auth: Option<&'a Value>,
    scripts: Vec<&'a Value>,
    /// Names of the folders.
    folders: Vec<&'a Value>,
}

#[derive(Default)]
struct CollectionItems<'a> {
    requests: Vec<(&'a Value, InheritedOptions<'a>)>,
    variables: Vec<&'a Value>,
}

impl<'a> CollectionItems<'a> {
    /// Collects the requests of a folder, or of the collection. Folders lie no deeper than JSON is read.
    fn walk(
        &mut self,
        folder: &'a Value,
        above: &InheritedOptions<'a>,
        as_folder: Option<&'a Value>,
    ) {
        let mut here = above.clone();
        if folder["auth"].is_object() {
            here.auth = Some(&folder["auth"]);
        }
        here.scripts.push(&folder["event"]);
        here.folders.extend(as_folder);
        self.variables.push(&folder["variable"]);
        for item in folder["item"].as_array().into_iter().flatten() {
            if item["item"].is_array() {
                self.walk(item, &here, Some(item));
            } else if item["request"].is_object() || item["request"].is_string() {
                let mut own = here.clone();
                own.scripts.push(&item["event"]);
                if item["request"]["auth"].is_object() {
                    own.auth = Some(&item["request"]["auth"]);
                }
                self.requests.push((item, own));
            }
        }
    }
}

/// Reads all scripts of a request, those of the folders first, as long as there are bytes `left` to be read.
fn read_scripts(scripts: &[&Value], remaining: &mut usize) -> ScriptActions {
    let mut findings = ScriptActions::default();
    for is_after in [false, true] {
        let listener = if is_after { "test" } else { "prerequest" };
        let events = scripts
            .iter()
            .filter_map(|events| events.as_array())
            .flatten();
        for event in events.filter(|event| event["listen"] == listener && event["disabled"] != true)
        {
            if *remaining == 0 {
                return findings;
            }
            let exec = &event["script"]["exec"];
            let text = match exec {
                Value::Array(lines) => {
                    let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
                    lines.join("\n")
                }
                other => other.as_str().unwrap_or_default().to_owned(),
            };
            let rest = remaining.checked_sub(text.len());
            *remaining = rest.unwrap_or(0);
            if rest.is_some() {
                findings.read(&text, is_after);
            }
        }
    }
    findings
}

fn fill(
    found: &CollectionItems<'_>,
    beside: &BesideFiles,
    choices: &ImportOptions,
    calls: &mut PlanOutline,
    files: &mut PlanAttachments,
) {
    let mut remaining = SCRIPTS;
    let each = found.requests.iter();
    let all_findings: Vec<ScriptActions> = each
        .map(|(_, above)| read_scripts(&above.scripts, &mut remaining))
        .collect();
    if remaining == 0 {
        let message = format!(
            "left out scripts: all requests together have more than {} MiB of them",
            SCRIPTS >> 20
        );
        calls.note(message);
    }
    let steps = || {
        let each = all_findings.iter();
        each.flat_map(|findings| findings.before.iter().chain(&findings.after))
    };
    if steps().any(needs_truthy) {
        let name = calls.names.unique(TRUTHY);
        calls.locals.push((name, TRUTHY_FUNCTION.to_owned()));
    }
    let set = steps().flat_map(set_in).map(str::to_owned);
    let lists: Vec<&Value> = beside
        .globals
        .iter()
        .chain(found.variables.iter().copied())
        .chain(&beside.environments)
        .collect();
    let columns = beside
        .rows
        .as_ref()
        .map_or(&[][..], |rows| rows.columns.as_slice());
    let mut variables = PostmanVariables::new(&lists, set.collect(), columns);
    let read = |item: &Value| {
        let request = &item["request"];
        let url = if request.is_string() {
            request
        } else {
            &request["url"]
        };
        address::read(url, &variables)
    };
    let addresses: Vec<Option<PostmanAddress>> =
        found.requests.iter().map(|(item, ..)| read(item)).collect();
    let Some(site) = site(addresses.iter().flatten().map(|address| &address.origin)) else {
        return;
    };
    match &site {
        AddressOrigin::Fixed(host) => calls.host = Some(quoted(host)),
        AddressOrigin::Unknown(text) => {
            let text = comment(text);
            calls.note(format!(
                "say the host with '-H http://…': the collection has no value for '{text}'"
            ));
        }
    }
    name_hosts(&addresses, &site, &mut variables, calls);
    let mut first = variables.first();
    if let Some(rows) = &beside.rows {
        let name = calls.names.unique("rows");
        first.push(format!("{} = {name}:next()", variables.row));
        calls.locals.push((name, rows.expression.clone()));
    }
    let rows = row_names(found);
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    let mut folder: Option<*const Value> = None;
    let mut inner: Option<*const Value> = None;
    let mut names = BTreeSet::new();
    let requests = found.requests.iter().zip(&all_findings);
    for ((((item, above), findings), address), row) in requests.zip(&addresses).zip(&rows) {
        let Some(address) = address else {
            calls.note(format!(
                "left out '{}', whose address is not http or https",
                comment(&title(item))
            ));
            continue;
        };
        let is_elsewhere = address.origin != site;
        if is_elsewhere
            && let AddressOrigin::Fixed(origin) = &address.origin
            && !choices.hosts.iter().any(|host| is_host_named(origin, host))
        {
            let host = origin.split("://").last().unwrap_or(origin);
            *others.entry(comment(host)).or_default() += 1;
            continue;
        }
        let top = above.folders.first().copied();
        let is_new = match top {
            Some(top) => folder != Some(std::ptr::from_ref(top)),
            None => true,
        };
        let path = address.path(is_elsewhere, &mut variables, calls);
        let method = method(item);
        let mut maker = BodyMaker {
            place: format!("{method} {}", comment(&path.shown)),
            variables: &mut variables,
            calls,
            files,
        };
        let request = sent_request(item, &method);
        let mut call = maker.call(&method, address, path, row.as_deref(), &request, above.auth);
        if matches!(request, Cow::Owned(_)) {
            call.note("its body is left out, as Postman sends none with this method");
        }
        if item["protocolProfileBehavior"]["followRedirects"] == false {
            call.option(
                "max_redirects",
                calls::LuaLiteral::Expression("0".to_owned()),
            );
        }
        maker.apply_scripts(findings, &item["response"], &mut call);
        let place = maker.place;
        call.name_in_notes(&place);
        let early = std::mem::take(&mut variables.early);
        for name in early
            .iter()
            .filter(|name| !variables.already.contains(*name))
        {
            let name = comment(name);
            call.note(format!("{place}: '{name}' is sent before a script sets it: put a value in, or the request that brings it before"));
        }
        if is_new {
            let mut name = title(top.unwrap_or(item));
            let plain = name.clone();
            let mut number = 2;
            while !names.insert(name.clone()) {
                name = format!("{plain} ({number})");
                number += 1;
            }
            let steps = if calls.tasks().is_empty() {
                first
                    .iter()
                    .map(|text| OutlineStep::Statement(text.clone()))
                    .collect()
            } else {
                Vec::new()
            };
            calls.tasks().push(OutlineTask {
                name,
                steps,
                ..OutlineTask::default()
            });
        }
        folder = top.map(std::ptr::from_ref);
        let Some(task) = calls.tasks().last_mut() else {
            continue;
        };
        let within = above.folders.get(1).copied().map(std::ptr::from_ref);
        if within.is_some() && (inner != within || is_new) {
            let names: Vec<String> = above.folders[1..]
                .iter()
                .map(|folder| title(folder))
                .collect();
            task.steps.push(OutlineStep::Comment(names.join(", ")));
        }
        inner = within;
        task.steps.push(OutlineStep::Call(Box::new(call)));
    }
    if variables.are_too_long() {
        let message = "left some '{{variables}}' as they are: their values, which are made of each other, are too long, so shorten them";
        calls.note(message);
    }
    if !others.is_empty() {
        let total: usize = others.values().sum();
        let shown = counted_hosts(&others);
        let s = if total == 1 { "" } else { "s" };
        let first = others.keys().next().cloned().unwrap_or_default();
        calls.note(format!(
            "left out {total} request{s} to other hosts: {shown}; '--hosts {first}' keeps those of one"
        ));
    }
}

/// Makes variables of the plan for the hosts of other sites, with the number of requests to each in a note.
fn name_hosts(
    addresses: &[Option<PostmanAddress>],
    site: &AddressOrigin,
    variables: &mut PostmanVariables,
    calls: &mut PlanOutline,
) {
    let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
    for address in addresses.iter().flatten() {
        if let AddressOrigin::Unknown(text) = &address.origin
            && address.origin != *site
            && let Some(name) = only_variable(text)
            && !variables.has(name)
        {
            *hosts.entry(name).or_default() += 1;
        }
    }
    for (name, count) in hosts {
        let s = if count == 1 { "" } else { "s" };
        let what = format!(
            "'{{{{{name}}}}}', the host of {count} request{s}, as a URL: http://127.0.0.1:8080"
        );
        let expression = calls.secrets.variable(name, "", &what);
        variables.stand_for(name, expression);
    }
}

/// Returns the name of each request's row, if it has one of its own: the author's. A name that several have gets their
/// folders, or else a number.
fn row_names(found: &CollectionItems<'_>) -> Vec<Option<String>> {
    let own = |item: &Value| {
        let name = item["name"].as_str().unwrap_or_default().trim();
        // Postman's default name.
        let is_default = name.is_empty()
            || name.contains("://")
            || name.starts_with(['/', '{'])
            || matches!(name, "New Request" | "Untitled Request");
        (!is_default).then(|| title(item))
    };
    let names: Vec<Option<String>> = found.requests.iter().map(|(item, _)| own(item)).collect();
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names.iter().flatten() {
        *uses.entry(name).or_default() += 1;
    }
    let mut unique = BTreeSet::new();
    let mut next: BTreeMap<String, usize> = BTreeMap::new();
    let each = names.iter().zip(&found.requests);
    let each = each.map(|(name, (_, above))| {
        let name = name.as_ref()?;
        let folder = above.folders.last().filter(|_| uses[name.as_str()] > 1);
        let mut full = folder.map_or(name.clone(), |folder| format!("{} / {name}", title(folder)));
        if !unique.insert(full.clone()) {
            let number = next.entry(full.clone()).or_insert(1);
            *number += 1;
            full = format!("{full} ({number})");
            unique.insert(full.clone());
        }
        Some(full)
    });
    each.collect()
}

fn method(item: &Value) -> String {
    let method = item["request"]["method"].as_str().unwrap_or("GET");
    let is_plain = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_alphabetic());
    if is_plain && !method.eq_ignore_ascii_case("CONNECT") {
        method.to_ascii_uppercase()
    } else {
        "GET".to_owned()
    }
}

/// Returns where most requests go, the first of those that are equal.
fn site<'a>(origins: impl Iterator<Item = &'a AddressOrigin>) -> Option<AddressOrigin> {
    let mut counts: Vec<(&AddressOrigin, usize)> = Vec::new();
    for origin in origins {
        match counts.iter_mut().find(|(key, _)| *key == origin) {
            Some((_, count)) => *count += 1,
            None => counts.push((origin, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max()?;
    let first = counts.into_iter().find(|(_, count)| *count == most);
    first.map(|(origin, _)| origin.clone())
}

/// Returns the request of an item as Postman sends it: without a body where the method has none, unless the item says that
/// it is sent all the same.
fn sent_request<'a>(item: &'a Value, method: &str) -> Cow<'a, Value> {
    let request = &item["request"];
    let prunes = matches!(method, "GET" | "HEAD" | "COPY" | "PURGE" | "UNLOCK")
        && item["protocolProfileBehavior"]["disableBodyPruning"] != true;
    if !prunes || request["body"]["mode"].is_null() {
        return Cow::Borrowed(request);
    }
    let mut request = request.clone();
    request["body"] = Value::Null;
    Cow::Owned(request)
}
