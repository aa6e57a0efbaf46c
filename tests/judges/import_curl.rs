//! Scripts of curl command lines: what the plan sends that `lgoose import` makes of one, as curl itself sends it.

use crate::curl::version;
use crate::faulty::{Act, Asked, Site, answer};
use crate::plans::hold_for_two_users;
use crate::program::{Lgoose, empty_folder};
use crate::skipping::skip;
use crate::table::{Table, two_at_a_time};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;

/// A script; `SITE` is the host and port of a site.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Script {
    script: String,
}

/// A request as the site saw it, without what each client says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sent {
    /// Method and target.
    line: String,
    /// `name: value`, sorted.
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
}

/// The variables that the scripts find, and the files.
const VARIABLES: [(&str, &str); 7] = [
    ("ORG", "acme"),
    ("MESSAGE", "hello"),
    ("USER_ID", "17"),
    ("TOKEN", "tok123"),
    ("NAME", "a b"),
    ("EMPTY", "none"),
    // What a command gives.
    ("VALUE", "ignored"),
];
const FILES: [(&str, &[u8]); 4] = [
    ("body.json", b"{\"a\": 1,\n \"b\": \"x=y&z\"}\n"),
    ("note.txt", b"line one\nline two\n"),
    ("bytes.dat", b"\x00\x01\xff binary"),
    ("headers.txt", b"X-From-File: yes\nX-Two: 2\n"),
];

/// Headers that clients send by themselves.
const OWN: [&str; 8] = [
    "host",
    "connection",
    "content-length",
    "accept-encoding",
    "transfer-encoding",
    "expect",
    "accept",
    "user-agent",
];

pub(crate) fn sent(asked: &Asked, site: &str) -> Sent {
    let named = |name: &str| asked.header(name).to_owned();
    let lines = asked
        .head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(':'));
    let lines = lines.map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim()));
    let mut headers: Vec<String> = lines
        .filter(|(name, value)| match name.as_str() {
            "user-agent" => !value.starts_with("curl/") && !value.starts_with("lgoose"),
            "accept" => *value != "*/*",
            "host" => *value != site,
            name => !OWN.contains(&name),
        })
        .map(|(name, value)| match name.as_str() {
            "cookie" => format!("cookie: {}", value.replace("; ", ";")),
            _ => format!("{name}: {value}"),
        })
        .collect();
    let text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    };
    let mut body = text(&asked.body);
    let kind = named("content-type");
    if let Some((_, boundary)) = kind.split_once("boundary=") {
        // Each client makes up its own, and writes the names of headers as it likes.
        body = body
            .replace(boundary.trim_matches('"'), "BOUNDARY")
            .to_lowercase();
        headers.retain(|line| !line.starts_with("content-type:"));
        headers.push("content-type: multipart/form-data".to_owned());
    }
    headers.sort();
    Sent {
        line: format!("{} {}", asked.method, asked.path),
        headers,
        body,
    }
}

/// What the site does with a request.
fn response(asked: &Asked) -> Vec<Act> {
    let mut acts = Vec::new();
    if asked.header("expect") == "100-continue" {
        let go_on = b"HTTP/1.1 100 Continue\r\n\r\n".to_vec();
        acts.extend([Act::Send(go_on), Act::ReadBody]);
    }
    acts.extend(match asked.path.as_str() {
        "/redirect" => answer(302, "Location: /target\r\n", ""),
        _ => answer(200, "Content-Type: application/json\r\n", "{}"),
    });
    acts
}

/// Runs each script in a folder with the files, and returns what the site of each saw.
fn requests(
    folder: &str,
    scripts: &[Script],
    run: impl Fn(&Path, &str, &str) + Sync,
) -> Vec<Vec<Sent>> {
    two_at_a_time(scripts, |script, thread| {
        let folder = empty_folder(&format!("{folder}_{thread}"));
        for (name, bytes) in FILES {
            std::fs::write(folder.join(name), bytes).expect("written");
        }
        let site = Site::start(response);
        let address = format!("127.0.0.1:{}", site.port());
        run(&folder, &script.script.replace("SITE", &address), &address);
        let seen = site.asked();
        seen.iter().map(|asked| sent(asked, &address)).collect()
    })
}

#[test]
fn the_plan_of_a_script_sends_what_curl_sends() {
    let table = Table::<Script, Vec<Sent>>::open("import_curl");
    let own = requests(
        "judge_import_own",
        &table.inputs(),
        |folder, script, address| {
            std::fs::write(folder.join("script.sh"), script).expect("written");
            let imported = Lgoose::new(["import", "script.sh", "--to", "."])
                .within(folder)
                .finish();
            if imported.code != 0 {
                // The comparison shows which it is.
                return eprintln!("{script}\n{}", imported.stderr);
            }
            std::fs::write(folder.join("plan.lua"), &imported.stdout).expect("written");
            let mut flags = ["-i", "1"].map(str::to_owned).to_vec();
            for line in imported.stderr.lines() {
                let Some((name, _)) = line
                    .strip_prefix("note: set ")
                    .and_then(|rest| rest.split_once(" ("))
                else {
                    continue;
                };
                let value = VARIABLES.iter().find(|(known, _)| *known == name);
                flags.extend([
                    "-e".to_owned(),
                    format!("{name}={}", value.map_or("SECRET", |(_, value)| value)),
                ]);
            }
            let mut words = ["plan.lua", "-u", "1", "-q"].map(str::to_owned).to_vec();
            words.extend_from_slice(&flags);
            let ran = Lgoose::new(&words).within(folder).finish();
            assert_eq!(ran.code, 0, "{script}\n{}\n{}", imported.stdout, ran.stderr);
            let other = Site::start(response);
            hold_for_two_users(folder, &imported.stdout, &flags, (address, &other));
        },
    );
    table.compare(own, |_, _| ());
}

#[test]
fn the_record_of_scripts_is_what_curl_does_today() {
    let Some(version) = version() else {
        return skip("imports of curl", "Debian's package 'curl'");
    };
    let table = Table::<Script, Vec<Sent>>::open("import_curl");
    let today = requests("judge_import", &table.inputs(), |folder, script, _| {
        // A transcript has prompts.
        let script = script.replace("\n> ", "\n");
        let script = script.strip_prefix("$ ").unwrap_or(&script);
        let ran = Command::new("bash")
            .args(["-c", script])
            .envs(VARIABLES)
            .env("no_proxy", "*")
            .current_dir(folder)
            .output();
        ran.expect("bash is there");
    });
    table.judge(&version, today);
}
