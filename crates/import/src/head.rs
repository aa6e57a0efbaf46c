//! The part of a plan before its tasks, and the cookies with which a visit begins.

use super::exchange::{ExchangeKind, PlanOptions};
use super::lua_text::{comment, quoted, table};
use super::random::is_random;
use super::request::PlanAttachments;
use super::resolve::ValueResolver;
use super::script_variables::{TextPart, variable_host};
use super::secrets::Secrets;
use super::site::SelectedExchanges;
use super::visit::Visit;
use std::collections::BTreeMap;

/// Cookies of statistics, which no site needs from its visitors.
const TRACKERS: [&str; 10] = [
    "_ga", "_gid", "_gat", "_gcl", "_fbp", "_hj", "_pk_", "_uet", "__utm", "optanon",
];

/// Returns the text before the tasks.
pub(super) fn head(
    selection: &SelectedExchanges,
    visit: &Visit,
    host_field: String,
    options: &PlanOptions,
    secrets: &Secrets,
    files: &PlanAttachments,
) -> String {
    let host = match variable_host(&selection.site) {
        Some(_) => "a site that the script has in a variable".to_owned(),
        None => selection.site.origin().ascii_serialization(),
    };
    let steps = visit.tasks.iter().flat_map(|task| &task.steps);
    let requests: usize = steps.map(|step| step.requests().len()).sum();
    let pages = selection
        .exchanges
        .iter()
        .filter(|exchange| exchange.kind == ExchangeKind::Page)
        .count();
    let counted =
        |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let extent = match pages {
        0 => counted(requests, "request"),
        _ => format!(
            "{}, {}",
            counted(pages, "page"),
            counted(requests - pages.min(requests), "other request")
        ),
    };
    let start = selection
        .exchanges
        .iter()
        .map(|exchange| exchange.start_ms)
        .find(|start| *start > 0.0);
    let start = start.and_then(|start| jiff::Timestamp::from_millisecond(start as i64).ok());
    let start = start
        .map(|start| format!(", recorded on {}", start.strftime("%Y-%m-%d")))
        .unwrap_or_default();
    let flags: String = secrets
        .names()
        .map(|name| format!(" -e {name}=…"))
        .collect();
    let mut out = format!(
        "-- A visit to {}{start}: {extent}. Written by 'lgoose import'.\n--\n\
         --   lgoose plan.lua{flags} --once             # one user, every request shown\n\
         --   lgoose plan.lua{flags} -u 10 -t 1m        # ten users, one minute\n\n",
        comment(&host)
    );
    let mut plan = vec![
        ("host".to_owned(), host_field),
        ("request_names".to_owned(), quoted("path")),
    ];
    plan.extend(options.fields.iter().cloned());
    out += &format!("plan {}\n\n", table(&plan, 0));
    out += &variables(secrets, files);
    out + "scenario { \"visitor\", order = \"serial\",\n"
}

/// Returns the plan's host as an expression. One that is in a variable has a default: a plan is loaded without it, too.
pub(super) fn host_field(selection: &SelectedExchanges, secrets: &mut Secrets) -> String {
    let Some(text) = variable_host(&selection.site) else {
        return quoted(&selection.site.origin().ascii_serialization());
    };
    let mut parts = Vec::new();
    for part in selection.variables.split(&text) {
        parts.push(match part {
            TextPart::Literal(text) => quoted(text),
            TextPart::Variable(variable) | TextPart::Encoded(variable) => {
                let name = secrets.variable_name(&variable.name, "", &variable.note());
                let default = if parts.is_empty() {
                    "http://127.0.0.1"
                } else {
                    "127.0.0.1"
                };
                format!("env({}, {})", quoted(&name), quoted(default))
            }
        });
    }
    parts.join(" .. ")
}

/// Returns the variables of a plan for its secrets and files.
pub(super) fn variables(secrets: &Secrets, files: &PlanAttachments) -> String {
    let mut out = String::new();
    for name in secrets.locals() {
        out += &format!("local {name} = env {}\n", quoted(name));
    }
    for (variable, name, _) in &files.all {
        out += &format!("local {variable} = file {}\n", quoted(name));
    }
    if !secrets.is_empty() {
        out += "\n-- What is secret is not in this plan.\non(\"test_start\", function()\n";
        for name in secrets.names() {
            let value = secrets.expression(name);
            out +=
                &format!("  assert({value}, \"{name} is not set: give it with '-e {name}=…'\")\n");
        }
        out += "end)\n";
    }
    if !secrets.is_empty() || !files.all.is_empty() {
        out += "\n";
    }
    out
}

/// Returns the statements with which a visit begins: without cookies, but for those that the recording had from before.
pub(super) fn cookies(
    selection: &SelectedExchanges,
    resolver: &mut ValueResolver<'_>,
) -> Vec<String> {
    let mut set_before: Vec<String> = Vec::new();
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    let mut any = false;
    for exchange in &selection.exchanges {
        for pair in exchange.header("cookie").unwrap_or_default().split(';') {
            let Some((name, value)) = pair.split_once('=') else {
                continue;
            };
            let name = name.trim().to_owned();
            any = true;
            let lower = name.to_ascii_lowercase();
            let tracks = TRACKERS.iter().any(|tracker| lower.starts_with(tracker));
            if !tracks && !name.is_empty() && !set_before.contains(&name) {
                first.entry(name).or_insert_with(|| value.trim().to_owned());
            }
        }
        let headers = exchange
            .response
            .iter()
            .flat_map(|response| &response.headers);
        for (_, lines) in headers.filter(|(name, _)| name == "set-cookie") {
            any = true;
            let names = lines
                .lines()
                .filter_map(|line| line.split_once('=').map(|(name, _)| name.trim().to_owned()));
            set_before.extend(names);
        }
    }
    let mut statements = Vec::new();
    if any {
        statements.push("user.cookies:clear() -- each iteration is a new visitor".to_owned());
    }
    for (name, value) in first {
        let lower = name.to_ascii_lowercase();
        let is_session = is_random(&value)
            || ["sess", "sid", "token", "auth"]
                .iter()
                .any(|word| lower.contains(word));
        let value = if is_session {
            resolver.secrets.variable(&format!("COOKIE_{name}"), &value, &format!("cookie '{name}', which the recording had from before: a session, or log in first"))
        } else {
            quoted(&value)
        };
        statements.push(format!("user.cookies:set({}, {value})", quoted(&name)));
    }
    statements
}
