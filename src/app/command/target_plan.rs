//! Translates `lgoose URLS.txt`, which sends the requests of a list in their order, into a plan.

use super::url_plan::{quoted, split};
use lgoose_base::error::Diagnostic;
use lgoose_base::files::PlanFolder;
use lgoose_import::targets::{self, Target};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Returns the source of the plan that a list stands for; `None` if the text is no list. Its one task sends each target;
/// the host is that of the first, so that `-H` sends those of that host elsewhere. Bodies of responses are discarded unless
/// `retain` is set.
///
/// # Errors
/// The line of the list that is wrong.
pub(super) fn plan(
    name: &str,
    text: &str,
    folder: &PlanFolder,
    retain: bool,
) -> Result<Option<String>, Diagnostic> {
    if !targets::is_list(name, text) {
        return Ok(None);
    }
    let list = targets::parse(name, text, folder)?;
    let host = list
        .iter()
        .map(|target| split(&target.url).0)
        .find(|host| !host.is_empty())
        .unwrap_or_default();
    // A built-in site gets its address from the run, so that only the host of the run can be one.
    let other = list.iter().find(|target| {
        let own = split(&target.url).0;
        own.starts_with("demo:") && own != host
    });
    if let Some(target) = other {
        let message = format!(
            "'{}' is not the site of the first target",
            split(&target.url).0
        );
        let mistake = Diagnostic::new(message).at(name, Some(target.line), text);
        return Err(mistake.help("put the targets of each built-in site into a list of their own"));
    }
    Ok(Some(source(&list, host, task_name(name), retain)))
}

/// Returns the name of the task: that of the file, without its folder.
fn task_name(name: &str) -> &str {
    let file = Path::new(name).file_name().and_then(|file| file.to_str());
    file.unwrap_or(name)
}

fn source(list: &[Target], host: &str, task: &str, retain: bool) -> String {
    let mut source = String::new();
    if !host.is_empty() {
        source += &format!("plan {{ host = {} }}\n", quoted(host.as_bytes()));
    }
    // A body that several targets have is there once.
    let mut numbers: HashMap<*const Vec<u8>, usize> = HashMap::new();
    source += "local bodies = {\n";
    for body in list.iter().filter_map(|target| target.body.as_ref()) {
        let number = numbers.len() + 1;
        numbers.entry(Arc::as_ptr(&body.bytes)).or_insert_with(|| {
            source += &format!("  {},\n", quoted(&body.bytes));
            number
        });
    }
    source += "}\nlocal targets = {\n";
    for target in list {
        let (own, path) = split(&target.url);
        let is_elsewhere = !own.is_empty() && own != host;
        let url = if is_elsewhere { &target.url } else { path };
        let row = url.split(['?', '#']).next().unwrap_or_default();
        let row = row.split_once("://").map_or(row, |(_, rest)| rest);
        // Nobody reads a user's name and password in a report.
        let row = if is_elsewhere {
            row.rsplit_once('@').map_or(row, |(_, rest)| rest)
        } else {
            row
        };
        source += &format!(
            "  {{ method = {}, path = {}, name = {}, discard = {}",
            quoted(target.method.as_bytes()),
            quoted(url.as_bytes()),
            quoted(row.as_bytes()),
            !retain
        );
        if !target.headers.is_empty() {
            source += &format!(", headers = {}", headers(&target.headers));
        }
        if let Some(body) = &target.body {
            source += &format!(", body = bodies[{}]", numbers[&Arc::as_ptr(&body.bytes)]);
        }
        source += " },\n";
    }
    source += &format!(
        "}}\ntask {{ {}, function(user)\n  for _, target in ipairs(targets) do\n    user:request(target)\n  end\nend }}\n",
        quoted(task.as_bytes())
    );
    source
}

/// Returns a table of headers; values of one name are joined, as HTTP allows.
fn headers(headers: &[(String, String)]) -> String {
    let mut fields: Vec<(&str, String)> = Vec::new();
    for (name, value) in headers {
        let mut existing = fields.iter_mut();
        match existing.find(|(other, _)| other.eq_ignore_ascii_case(name)) {
            Some((_, values)) => *values += &format!(", {value}"),
            None => fields.push((name, value.clone())),
        }
    }
    let fields: Vec<String> = fields
        .into_iter()
        .map(|(name, value)| {
            format!(
                "[{}] = {}",
                quoted(name.as_bytes()),
                quoted(value.as_bytes())
            )
        })
        .collect();
    format!("{{ {} }}", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lgoose_base::files::FileReach;

    fn folder() -> PlanFolder {
        PlanFolder::new(Path::new(""), FileReach::Folder)
    }

    fn source(text: &str) -> String {
        let plan = plan("a/urls.txt", text, &folder(), false);
        plan.expect("a good list").expect("a list")
    }

    #[test]
    fn targets_are_named_by_their_paths_and_those_of_other_hosts_by_their_urls() {
        let source = source("http://a/b?c=1\nPUT http://u:p@d:1/e\nX: 1\nx: 2\n\nGET /f\n");
        assert_eq!(
            source,
            "plan { host = \"http://a\" }\nlocal bodies = {\n}\nlocal targets = {\n  \
             { method = \"GET\", path = \"/b?c=1\", name = \"/b\", discard = true },\n  \
             { method = \"PUT\", path = \"http://u:p@d:1/e\", name = \"d:1/e\", discard = true, headers = { [\"X\"] = \"1, 2\" } },\n}\n\
             task { \"urls.txt\", function(user)\n  for _, target in ipairs(targets) do\n    user:request(target)\n  end\nend }\n"
                .replace("},\n}\n", "},\n  { method = \"GET\", path = \"/f\", name = \"/f\", discard = true },\n}\n")
        );
    }

    #[test]
    fn what_is_no_list_is_none() {
        let lua = plan("plan.lua", "task { function() end }", &folder(), false);
        assert_eq!(lua, Ok(None));
    }

    #[test]
    fn targets_of_two_built_in_sites_are_reported() {
        let text = "demo:api/\nGET demo:umami/en\n";
        let error = plan("l", text, &folder(), false).expect_err("a mistake");
        assert!(error.to_string().contains("l:2"), "{error}");
    }
}
