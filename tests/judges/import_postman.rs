//! Collections of Postman: what the plan sends that `lgoose import` makes of one, as newman, Postman's own runner, sends it.

use crate::faulty::{Asked, Site, answer};
use crate::import_curl::{Sent, sent};
use crate::plans::hold_for_two_users;
use crate::program::{Lgoose, empty_folder};
use crate::skipping::skip;
use crate::table::{Table, two_at_a_time};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Where CI installs newman; elsewhere it is on the PATH.
const IN_CI: &str = concat!(
    env!("CARGO_TARGET_TMPDIR"),
    "/../newman/node_modules/.bin/newman"
);

/// A collection with what is run beside it; `SITE` is the host and port of a site.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Collection {
    /// The rule that it is about.
    rule: String,
    collection: Value,
    /// The rows of a data file, as CSV.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    environment: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    globals: Option<Value>,
    /// Values of variables that only whoever runs the collection knows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    set: BTreeMap<String, String>,
}

/// The files that collections upload.
const FILES: [(&str, &[u8]); 2] = [("a.json", b"{}\n"), ("b.txt", b"a file\n")];

/// What the site has for scripts to take values from.
const RESPONSE: &str = r#"{"token":"tok123","id":7,"ok":true,"none":null,"data":{"token":"deep","list":[]},"items":[{"id":5,"name":"tea"},{"id":6}]}"#;

fn response(asked: &Asked) -> Vec<crate::faulty::Act> {
    let path = asked.path.split('?').next().unwrap_or_default();
    match path {
        "/created" => answer(201, "Location: /items/17\r\nX-Token: h1\r\n", RESPONSE),
        "/moved" => answer(302, "Location: /target\r\n", ""),
        "/cookie" => answer(200, "Set-Cookie: sid=c1; Path=/\r\n", "{}"),
        _ => answer(200, "Content-Type: application/json\r\n", RESPONSE),
    }
}

/// Runs each collection in a folder, and returns what the site of each saw.
fn requests(
    folder: &str,
    collections: &[Collection],
    run: impl Fn(&Path, &Collection, &str) + Sync,
) -> Vec<Vec<Sent>> {
    two_at_a_time(collections, |case, thread| {
        let folder = empty_folder(&format!("{folder}_{thread}"));
        let site = Site::start(response);
        let address = format!("127.0.0.1:{}", site.port());
        let write = |name: &str, text: &str| {
            let text = text.replace("SITE", &address);
            std::fs::write(folder.join(name), text).expect("written");
        };
        for (name, bytes) in FILES {
            std::fs::write(folder.join(name), bytes).expect("written");
        }
        write("collection.json", &case.collection.to_string());
        let beside = [
            ("environment.json", &case.environment),
            ("globals.json", &case.globals),
        ];
        for (name, value) in beside {
            if let Some(value) = value {
                write(name, &value.to_string());
            }
        }
        if let Some(rows) = &case.data {
            write("rows.csv", rows);
        }
        run(&folder, case, &address);
        let mut all: Vec<Sent> = site
            .asked()
            .iter()
            .map(|asked| sent(asked, &address))
            .collect();
        // What newman says of itself.
        let is_own = |line: &String| {
            [
                "postman-token:",
                "user-agent: PostmanRuntime",
                "cache-control: no-cache",
            ]
            .iter()
            .any(|start| line.starts_with(start))
        };
        for request in &mut all {
            // Fields of JSON have no order, and blanks between them no meaning.
            if let Ok(value) = serde_json::from_str::<Value>(&request.body) {
                request.body = value.to_string();
            }
            request.headers.retain(|line| !is_own(line));
            for line in &mut request.headers {
                *line = line.replace(&address, "SITE");
            }
        }
        all
    })
}

/// The flags for the files beside a collection: those of `lgoose import`, or of newman.
fn flags(case: &Collection, environment: &str, globals: &str, data: &str) -> Vec<String> {
    let all = [
        (case.environment.is_some(), environment, "environment.json"),
        (case.globals.is_some(), globals, "globals.json"),
        (case.data.is_some(), data, "rows.csv"),
    ];
    let there = all.into_iter().filter(|(is_there, ..)| *is_there);
    there
        .flat_map(|(_, flag, file)| [flag.to_owned(), file.to_owned()])
        .collect()
}

#[test]
fn the_plan_of_a_collection_sends_what_newman_sends() {
    let table = Table::<Collection, Vec<Sent>>::open("import_postman");
    let run = |folder: &Path, case: &Collection, address: &str| {
        let mut words = ["import", "collection.json", "--to", "."]
            .map(str::to_owned)
            .to_vec();
        words.extend(flags(case, "--environment", "--environment", "--data"));
        let imported = Lgoose::new(&words).within(folder).finish();
        if imported.code != 0 {
            // The comparison shows which it is.
            return eprintln!("{}\n{}", case.rule, imported.stderr);
        }
        std::fs::write(folder.join("plan.lua"), &imported.stdout).expect("written");
        let iterations = case
            .data
            .as_ref()
            .map_or(1, |rows| rows.trim_end().lines().count() - 1);
        let mut flags = vec!["-i".to_owned(), iterations.to_string()];
        for (name, value) in &case.set {
            flags.push("-e".to_owned());
            flags.push(format!("{name}={}", value.replace("SITE", address)));
        }
        if !imported.stdout.contains("host = ") {
            flags.extend(["-H".to_owned(), format!("http://{address}")]);
        }
        let mut words = ["plan.lua", "-u", "1", "-q"].map(str::to_owned).to_vec();
        words.extend_from_slice(&flags);
        let ran = Lgoose::new(&words).within(folder).finish();
        let rule = &case.rule;
        assert_eq!(ran.code, 0, "{rule}\n{}\n{}", imported.stdout, ran.stderr);
        let other = Site::start(response);
        hold_for_two_users(folder, &imported.stdout, &flags, (address, &other));
    };
    let own = requests("judge_collection_own", &table.inputs(), run);
    table.compare(own, |_, _| ());
}

#[test]
fn the_record_of_collections_is_what_newman_does_today() {
    let Some((newman, version)) = newman() else {
        return skip("imports of Postman", "'npm install -g newman'");
    };
    let table = Table::<Collection, Vec<Sent>>::open("import_postman");
    let run = |folder: &Path, case: &Collection, address: &str| {
        let mut command = Command::new(newman);
        command.args(["run", "collection.json", "--silent"]);
        command.args(flags(case, "-e", "-g", "-d"));
        for (name, value) in &case.set {
            let value = value.replace("SITE", address);
            command.args(["--env-var", &format!("{name}={value}")]);
        }
        let ran = command.current_dir(folder).output();
        ran.expect("newman runs");
    };
    let today = requests("judge_collection", &table.inputs(), run);
    table.judge(&format!("newman {version}"), today);
}

/// Returns the command and the version of newman, if it is installed.
fn newman() -> Option<(&'static str, String)> {
    ["newman", IN_CI].into_iter().find_map(|command| {
        let said = Command::new(command).arg("--version").output().ok()?;
        let version = String::from_utf8(said.stdout).ok()?;
        Some((command, version.trim().to_owned()))
    })
}
