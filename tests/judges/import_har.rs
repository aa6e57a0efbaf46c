//! Recordings of browsers: what the plan sends that `lgoose import` makes of one, as its entries have it. The judge is the
//! recording itself, read here anew; each entry names the headers that a script set in `_script`.

use crate::faulty::{Asked, Site, answer};
use crate::program::{Lgoose, empty_folder};
use crate::table::{Table, two_at_a_time};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Mutex;

/// A recording; `SITE` is the host and port of its site.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Recording {
    what: String,
    /// What the plan asks the environment for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    variables: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    flags: Vec<String>,
    har: Value,
}

/// A request as the site saw it, without what each client says of itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Sent {
    /// Method and target.
    line: String,
    /// `name: value`, sorted.
    headers: Vec<String>,
    body: String,
}

/// Headers that clients send by themselves, or that say how a body is written.
const OWN: [&str; 11] = [
    "host",
    "connection",
    "content-length",
    "accept-encoding",
    "transfer-encoding",
    "content-type",
    "referer",
    "origin",
    "user-agent",
    "accept",
    "cookie",
];

fn sent(asked: &Asked) -> Sent {
    let lines = asked.head.lines().skip(1);
    let lines = lines.filter_map(|line| line.split_once(':'));
    let lines = lines.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
    let headers = lines.filter(|(name, value)| match name.as_str() {
        "cookie" => true,
        "accept" => value != "*/*" && !value.starts_with("text/html,application/"),
        "user-agent" => !value.starts_with("lgoose") && !value.starts_with("Mozilla/"),
        name => !OWN.contains(&name),
    });
    let body = String::from_utf8_lossy(&asked.body);
    Sent {
        line: format!("{} {}", asked.method, asked.path),
        headers: sorted(headers),
        body: as_meant(asked.header("content-type"), &body),
    }
}

fn sorted(headers: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let mut headers: Vec<String> = headers
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    headers.sort();
    headers
}

/// Returns a body without what a plan need not keep: blanks and order of an object, the order of a form's fields unless a
/// name comes again after others, the boundary of parts.
fn as_meant(kind: &str, body: &str) -> String {
    if let Some((_, boundary)) = kind.split_once("boundary=") {
        return body
            .replace(boundary.trim_matches('"'), "BOUNDARY")
            .to_lowercase();
    }
    if kind.contains("json")
        && let Ok(mut json) = serde_json::from_str::<Value>(body)
    {
        json.sort_all_objects();
        return json.to_string();
    }
    let mut fields: Vec<&str> = body.split('&').collect();
    let name = |field: &&str| field.split('=').next().unwrap_or_default().to_owned();
    let mut names: Vec<String> = fields.iter().map(name).collect();
    names.dedup();
    let runs = names.len();
    names.sort();
    names.dedup();
    if kind.starts_with("application/x-www-form-urlencoded") && names.len() == runs {
        fields.sort_by_key(name);
    }
    fields.join("&")
}

/// Returns what the entries of a recording say that its site has got.
fn recorded(recording: &Recording) -> Vec<Sent> {
    let entries = recording.har["log"]["entries"].as_array();
    let entries = entries.expect("a recording has entries").iter();
    let mut all: Vec<Sent> = entries.filter_map(recorded_request).collect();
    all.sort();
    all
}

fn recorded_request(entry: &Value) -> Option<Sent> {
    let request = &entry["request"];
    let target = request["url"].as_str()?.strip_prefix("http://SITE")?;
    let status = entry["response"]["status"].as_i64()?;
    let kind = entry["_resourceType"].as_str().unwrap_or_default();
    let is_asset = !matches!(kind, "document" | "fetch" | "xhr" | "");
    let is_in_cache = entry["_fromCache"].is_string() || status == 304;
    let method = request["method"].as_str()?;
    let is_readable = matches!(request["headers"], Value::Null | Value::Array(_));
    if !is_readable
        || !(100..600).contains(&status)
        || matches!(kind, "ping" | "eventsource" | "websocket" | "preflight")
        || is_asset && (is_in_cache || status >= 400)
    {
        return None;
    }
    let headers = pairs(&request["headers"]);
    let by_script = entry["_script"].as_array();
    let by_script: Vec<&str> = by_script
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let value = |wanted: &str| {
        let mut found = headers.iter().filter(|(name, _)| name == wanted);
        found.next().map_or("", |(_, value)| value)
    };
    let meant = headers.iter().filter(|(name, _)| {
        by_script.contains(&name.as_str()) || matches!(name.as_str(), "cookie" | "authorization")
    });
    let body = request["postData"]["text"].as_str().unwrap_or_default();
    let kind = request["postData"]["mimeType"].as_str();
    Some(Sent {
        line: format!("{method} {target}"),
        headers: sorted(meant.cloned()),
        body: as_meant(kind.unwrap_or(value("content-type")), body),
    })
}

/// Names in lower case, and values.
fn pairs(headers: &Value) -> Vec<(String, String)> {
    let text = |header: &Value, name: &str| header[name].as_str().unwrap_or_default().to_owned();
    let headers = headers.as_array().into_iter().flatten();
    headers
        .map(|header| (text(header, "name").to_lowercase(), text(header, "value")))
        .collect()
}

/// Starts a site that answers as the recording has it; of several answers to one request, the last goes on.
fn site_of(recording: &Recording) -> Site {
    let mut answers: HashMap<String, Vec<Value>> = HashMap::new();
    for entry in recording.har["log"]["entries"].as_array().expect("entries") {
        let request = &entry["request"];
        let (Some(method), Some(url)) = (request["method"].as_str(), request["url"].as_str())
        else {
            continue;
        };
        let target = url.strip_prefix("http://SITE").unwrap_or(url);
        let all = answers.entry(format!("{method} {target}")).or_default();
        all.push(entry["response"].clone());
    }
    let answers = Mutex::new(answers);
    Site::start(move |asked| {
        let mut answers = answers.lock().expect("nobody panics");
        let line = format!("{} {}", asked.method, asked.path);
        let Some(all) = answers.get_mut(&line) else {
            return answer(404, "", "");
        };
        let response = all[0].clone();
        if all.len() > 1 {
            all.remove(0);
        }
        let content = &response["content"];
        let kind = content["mimeType"].as_str().unwrap_or("text/plain");
        let host = asked.header("host");
        let mut head = format!("Content-Type: {kind}\r\n");
        for (name, value) in pairs(&response["headers"]) {
            head += &format!("{name}: {}\r\n", value.replace("SITE", host));
        }
        // What the browser had in its cache, a new visitor gets.
        let status = match response["status"].as_u64().unwrap_or(500) {
            304 if asked.header("if-none-match").is_empty() => 200,
            status => u16::try_from(status).expect("a status"),
        };
        let text = content["text"].as_str().unwrap_or_default();
        answer(status, &head, text.replace("SITE", host))
    })
}

/// Imports a recording and runs its plan for one user, then for two.
fn requests(recording: &Recording, folder: &Path) -> Vec<Sent> {
    let site = site_of(recording);
    let address = format!("127.0.0.1:{}", site.port());
    let text = recording.har.to_string().replace("SITE", &address);
    std::fs::write(folder.join("visit.har"), text).expect("written");
    let what = &recording.what;
    let mut words = ["import", "visit.har", "--to", "."]
        .map(str::to_owned)
        .to_vec();
    let flags = recording.flags.iter();
    words.extend(flags.map(|flag| flag.replace("SITE", &address)));
    let imported = Lgoose::new(&words).within(folder).finish();
    assert_eq!(imported.code, 0, "{what}: {}", imported.stderr);
    std::fs::write(folder.join("plan.lua"), &imported.stdout).expect("written");
    let checked = Lgoose::new(["check", "plan.lua"]).within(folder).finish();
    let told = format!("{what}\n{}\n{}", imported.stdout, imported.stderr);
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""), "{told}");
    let run = |users: &str| {
        let mut words = [
            "plan.lua",
            "-i",
            "1",
            "-q",
            "--wait-factor",
            "0",
            "-u",
            users,
        ]
        .map(str::to_owned)
        .to_vec();
        for (name, value) in &recording.variables {
            words.extend(["-e".to_owned(), format!("{name}={value}")]);
        }
        let ran = Lgoose::new(&words).within(folder).finish();
        assert_eq!(ran.code, 0, "{told}\n{}", ran.stderr);
    };
    run("1");
    let mut all: Vec<Sent> = site.asked().iter().map(sent).collect();
    all.sort();
    run("2");
    all
}

#[test]
fn the_plan_of_a_recording_sends_what_the_browser_sent() {
    let table = Table::<Recording, Vec<Sent>>::open("import_har");
    let own = two_at_a_time(&table.inputs(), |recording, thread| {
        requests(
            recording,
            &empty_folder(&format!("judge_import_har_{thread}")),
        )
    });
    table.compare(own, |_, _| ());
}

#[test]
fn the_record_of_recordings_is_what_their_entries_say() {
    let table = Table::<Recording, Vec<Sent>>::open("import_har");
    let today = table.inputs().iter().map(recorded).collect();
    table.judge("the entries of each recording", today);
}
