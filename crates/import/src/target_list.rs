//! Lists of targets: a scenario whose only task sends them in their order. `lgoose LIST` runs a list as it is; a plan
//! of one can be changed.

use super::calls::{
    self, LuaLiteral, OutlineCall, OutlineScenario, OutlineStep, OutlineTask, PlanOutline,
};
use super::imported::Imported;
use super::lua_text::{comment, quoted, quoted_bytes};
use super::parts::is_token;
use super::request::PlanAttachments;
use super::secrets::is_secret_header;
use super::site::ImportOptions;
use super::visit::MAX_REQUESTS;
use crate::targets::{self, Target};
use lgoose_base::error::Diagnostic;
use lgoose_base::files::{FileReach, PlanFolder};
use std::collections::BTreeMap;
use std::path::Path;

/// Writes the plan of a list.
///
/// # Errors
/// The line that is wrong.
pub(super) fn import(
    name: &str,
    text: &str,
    choices: &ImportOptions,
) -> Result<Imported, Diagnostic> {
    let folder = choices.path.as_ref().and_then(|path| path.parent());
    let folder = PlanFolder::new(folder.unwrap_or(Path::new("")), FileReach::Folder);
    let list = targets::parse(name.trim_matches('\''), text, &folder)?;
    let mut calls = PlanOutline {
        title: "A list of targets".to_owned(),
        ..PlanOutline::default()
    };
    let mut files = PlanAttachments::new(choices.files);
    let site = main_site(&list);
    match &site {
        Some(site) => calls.host = Some(quoted(site)),
        None => calls.note("say the host with '-H http://…': the list has paths alone"),
    }
    if list.len() > MAX_REQUESTS {
        let more = list.len() - MAX_REQUESTS;
        calls.note(format!("left out the last {more} targets: a plan that is written has {MAX_REQUESTS} at most, and 'lgoose LIST' sends them all"));
    }
    let mut steps = Vec::new();
    for target in list.iter().take(MAX_REQUESTS) {
        let call = call(target, site.as_deref(), &mut calls, &mut files);
        steps.push(OutlineStep::Call(Box::new(call)));
    }
    calls.scenarios.push(OutlineScenario {
        name: "targets".to_owned(),
        serial: true,
        options: Vec::new(),
        tasks: vec![OutlineTask {
            name: "targets".to_owned(),
            steps,
            ..OutlineTask::default()
        }],
    });
    Ok(calls::write(calls, files))
}

fn call(
    target: &Target,
    site: Option<&str>,
    calls: &mut PlanOutline,
    files: &mut PlanAttachments,
) -> OutlineCall {
    let (origin, path) = split(&target.url);
    let path = if Some(origin) == site || origin.is_empty() {
        path
    } else {
        &target.url
    };
    let mut call = OutlineCall {
        method: target.method.clone(),
        path: quoted(path),
        tolerates_failure: true,
        ..OutlineCall::default()
    };
    let place = format!("{} {}", target.method, comment(path));
    for (name, value) in &target.headers {
        if !is_token(name) {
            continue;
        }
        let lower = name.to_ascii_lowercase();
        let value = if is_secret_header(&lower) && !value.is_empty() {
            let what = format!("header '{}' of {place}", comment(name));
            LuaLiteral::Expression(calls.secrets.variable(name, value, &what))
        } else {
            LuaLiteral::text(value)
        };
        call.set("headers", name, value);
    }
    if let Some(body) = &target.body {
        let ending = Path::new(&body.path)
            .extension()
            .and_then(|ending| ending.to_str());
        let ending = ending.filter(|ending| ending.chars().all(|c| c.is_ascii_alphanumeric()));
        call.body = Some(match std::str::from_utf8(&body.bytes) {
            Ok(text) => files.store(text.to_owned(), ending.unwrap_or("txt")),
            Err(_) if files.enabled => {
                files.bytes("body", body.bytes.to_vec(), ending.unwrap_or("bin"))
            }
            Err(_) => quoted_bytes(&body.bytes),
        });
    }
    call
}

/// Returns the site that most targets are of.
fn main_site(list: &[Target]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for target in list {
        let (origin, _) = split(&target.url);
        if !origin.is_empty() {
            *counts.entry(origin).or_default() += 1;
        }
    }
    let most = counts
        .into_iter()
        .max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(a.0)));
    most.map(|(origin, _)| origin.to_owned())
}

/// Splits a URL into scheme and host, and its path.
fn split(url: &str) -> (&str, &str) {
    let start = url.find("://").map_or(0, |at| at + 3);
    match url[start..].find(['/', '?']) {
        Some(end) if url[start + end..].starts_with('/') => url.split_at(start + end),
        _ => (url, "/"),
    }
}
