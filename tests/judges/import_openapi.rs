//! Documents of OpenAPI: what the plan sends that `lgoose import` makes of one, and whether openapi-core takes that for what
//! the document describes.

use crate::faulty::{Asked, Site, answer};
use crate::program::{Lgoose, empty_folder, in_repository};
use crate::skipping::skip;
use crate::table::{Table, two_at_a_time};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// A document without what is the same in all.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Described {
    /// What the case is about.
    class: String,
    document: Value,
    /// The same in words of OpenAPI 3, for a document that the judge does not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    judged: Option<Value>,
    /// Status and body of what the site responds to a method and path, where that is not 200 and `{}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    responses: BTreeMap<String, (u16, Value)>,
    /// What the notes have to say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// A request as the site saw it, without what the client says of itself, and what the judge says of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Judged {
    /// Method and target.
    line: String,
    /// `name: value`, sorted.
    headers: Vec<String>,
    body: String,
    /// "valid", or what is wrong with it.
    verdict: String,
}

/// Headers that the client sends by itself.
const OWN: [&str; 6] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "host",
    "user-agent",
];

/// The exit code of the script where openapi-core is not installed.
const MISSING: i32 = 77;
/// The Python of the environment which `.ci/run` makes beside what is built.
const IN_CI: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/../openapi-core/bin/python3");

impl Described {
    fn whole(&self, document: &Value) -> Value {
        let mut whole = document.clone();
        if whole.get("swagger").is_none() && whole.get("openapi").is_none() {
            whole["openapi"] = json!("3.1.0");
        }
        whole["info"] = json!({ "title": "t", "version": "1" });
        whole
    }

    /// Imports the document, runs its plan with two users, and returns what the site saw, each request once; lgoose takes
    /// all of it for valid.
    fn requests(&self, folder: &str) -> Vec<Judged> {
        let folder = empty_folder(folder);
        let document = self.whole(&self.document).to_string();
        std::fs::write(folder.join("openapi.json"), &document).expect("written");
        let imported = Lgoose::new(["import", "openapi.json"])
            .within(&folder)
            .finish();
        assert_eq!(imported.code, 0, "{document}\n{}", imported.stderr);
        for note in &self.notes {
            let notes = &imported.stderr;
            assert!(
                notes.contains(note),
                "{note} in the notes of {document}\n{notes}"
            );
        }
        std::fs::write(folder.join("plan.lua"), &imported.stdout).expect("written");
        let checked = Lgoose::new(["check", "plan.lua"]).within(&folder).finish();
        let checked = (checked.code, checked.stderr);
        assert_eq!(checked, (0, String::new()), "{}", imported.stdout);
        let responses = self.responses.clone();
        let site = Site::start(move |asked| {
            let line = format!("{} {}", asked.method, asked.path);
            let response = responses.get(&line);
            let (status, body) = response.map_or((200, json!({})), Clone::clone);
            let body = match status {
                204 => String::new(),
                _ => body.to_string(),
            };
            answer(status, "Content-Type: application/json\r\n", &body)
        });
        let mut words = [
            "plan.lua", "-u", "2", "-r", "100", "-i", "1", "-q", "--seed", "1",
        ]
        .map(str::to_owned)
        .to_vec();
        words.extend(["-H".to_owned(), site.url()]);
        for line in imported.stderr.lines() {
            let variable = line.strip_prefix("note: set ");
            let variable = variable.filter(|rest| !rest.contains("to one that exists"));
            if let Some((name, _)) = variable.and_then(|rest| rest.split_once(" (")) {
                words.extend(["-e".to_owned(), format!("{name}=SECRET")]);
            }
        }
        let ran = Lgoose::new(&words).within(&folder).finish();
        assert_eq!(
            ran.code, 0,
            "{}\n{}\n{}",
            imported.stdout, ran.stdout, ran.stderr
        );
        let mut seen: Vec<Judged> = site.asked().iter().map(sent).collect();
        seen.sort();
        seen.dedup();
        seen
    }
}

fn sent(asked: &Asked) -> Judged {
    let lines = asked.head.lines().skip(1);
    let lines = lines.filter_map(|line| line.split_once(':'));
    let lines = lines.map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim()));
    let mut headers: Vec<String> = lines
        .filter(|(name, _)| !OWN.contains(&name.as_str()))
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    headers.sort();
    Judged {
        line: format!("{} {}", asked.method, asked.path),
        headers,
        body: String::from_utf8_lossy(&asked.body).into_owned(),
        verdict: "valid".to_owned(),
    }
}

/// Returns what the site saw of each case.
fn requests(folder: &str, cases: &[Described]) -> Vec<Vec<Judged>> {
    two_at_a_time(cases, |case, thread| {
        case.requests(&format!("{folder}_{thread}"))
    })
}

/// Asks openapi-core for its version and its verdicts; `None` with a printed reason where it is not installed.
fn judge(cases: &Value) -> Option<(String, Vec<Vec<String>>)> {
    let of_ci = Path::new(IN_CI).exists().then_some(IN_CI);
    let python = std::env::var("OPENAPI_CORE_PYTHON");
    let python = python.unwrap_or_else(|_| of_ci.unwrap_or("python3").to_owned());
    let missing = || {
        skip(
            "requests by openapi-core",
            "a Python that has 'openapi-core', named by OPENAPI_CORE_PYTHON",
        )
    };
    let script = Command::new(python)
        .arg(in_repository("tests/judges/import_openapi.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut script) = script else {
        missing();
        return None;
    };
    let mut input = script.stdin.take().expect("it is piped");
    // One without openapi-core ends before it has read it.
    input.write_all(cases.to_string().as_bytes()).ok();
    drop(input);
    let output = script.wait_with_output().expect("it ends");
    if output.status.code() == Some(MISSING) {
        missing();
        return None;
    }
    assert!(output.status.success(), "the script fails");
    let mut output: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let verdicts = serde_json::from_value(output["verdicts"].take()).expect("verdicts");
    Some((
        output["version"].as_str().expect("a version").to_owned(),
        verdicts,
    ))
}

#[test]
fn the_plan_of_a_document_sends_what_the_document_describes() {
    let table = Table::<Described, Vec<Judged>>::open("import_openapi");
    let inputs = table.inputs();
    let own = requests("judge_openapi_own", &inputs);
    table.compare(own, |own, judged| {
        // What is sent is as recorded, whatever the judge says of it.
        let requests = |all: &[Judged]| -> Vec<Judged> {
            let all = all.iter().cloned();
            all.map(|request| Judged {
                verdict: String::new(),
                ..request
            })
            .collect()
        };
        assert_eq!(requests(own), requests(judged));
    });
}

#[test]
fn the_record_of_documents_is_what_openapi_core_says_today() {
    let table = Table::<Described, Vec<Judged>>::open("import_openapi");
    let inputs = table.inputs();
    let mut requests = requests("judge_openapi", &inputs);
    let cases = inputs.iter().zip(&requests).map(|(input, requests)| {
        let document = input.judged.as_ref().unwrap_or(&input.document);
        json!({ "document": input.whole(document), "requests": requests })
    });
    let Some((version, verdicts)) = judge(&cases.collect()) else {
        return;
    };
    let all = requests.iter_mut().flatten();
    for (request, verdict) in all.zip(verdicts.into_iter().flatten()) {
        request.verdict = verdict;
    }
    table.judge(&version, requests);
}
