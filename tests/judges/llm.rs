//! Responses of language models as `lgoose.llm` reads them, and as OpenAI's and Anthropic's own clients for Python do.

use crate::faulty::{Act, Site, answer};
use crate::program::{Lgoose, empty_folder, in_repository};
use crate::skipping::skip;
use crate::table::Table;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// A response of a server to a request of that API.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Answer {
    /// What the case is about.
    about: String,
    /// The function of `lgoose.llm`.
    api: String,
    /// Whether it is requested as a stream.
    #[serde(default = "yes")]
    stream: bool,
    #[serde(default = "found")]
    status: u16,
    /// The content type, that of what was requested unless it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    body: String,
    /// What becomes of the connection after it: it is cut off within the body, or stays open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    then: Option<String>,
}

/// What a client has read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Reading {
    ok: bool,
    text: String,
    reasoning: String,
    refusal: String,
    finish_reason: Option<String>,
    /// Identity, name, arguments and type of each call of a tool.
    calls: Vec<(Option<String>, Option<String>, String, String)>,
    /// Tokens of the prompt and of the answer.
    usage: (Option<u64>, Option<u64>),
    embeddings: Vec<Vec<f64>>,
}

/// The exit code of the script where a client is not installed.
const MISSING: i32 = 77;
/// The Python of the environment which `.ci/run` makes beside what is built.
const IN_CI: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/../openai/bin/python3");

const PLAN: &str = r#"
local llm = require "lgoose.llm"
local HELLO = { { role = "user", content = "hello" } }
local PATHS = { chat = "chat/completions", completion = "completions", response = "responses", message = "messages", embeddings = "embeddings" }
local INPUTS = { completion = "prompt", response = "input", embeddings = "input" }
local cases = data.json "cases.json"
task { function(user)
  for number, case in ipairs(cases) do
    local request = { model = "m", path = "/case/" .. number - 1 .. "/v1/" .. PATHS[case.api], name = "case", timeout = 5 }
    request[INPUTS[case.api] or "messages"] = INPUTS[case.api] and "hello" or HELLO
    if case.api ~= "embeddings" then request.stream = case.stream end
    local answer = llm[case.api](user, request)
    local calls = json.array {}
    for at, call in ipairs(answer.tool_calls or {}) do
      calls[at] = json.array { call.id or json.null, call.name or json.null, call.arguments, call.type }
    end
    local usage = answer.tokens_by == "events" and {} or { answer.input_tokens, answer.output_tokens }
    user:post("/read", nil, { json = {
      ok = answer.ok, text = answer.text, reasoning = answer.reasoning or "", refusal = answer.refusal or "",
      finish_reason = answer.finish_reason or json.null, calls = calls,
      usage = json.array { usage[1] or json.null, usage[2] or json.null }, embeddings = json.array(answer.embeddings or {}),
    } })
  end
end }"#;

fn yes() -> bool {
    true
}

fn found() -> u16 {
    200
}

impl Answer {
    fn response(&self) -> Vec<Act> {
        let usual = if self.stream && self.api != "embeddings" {
            "text/event-stream"
        } else {
            "application/json"
        };
        let kind = self.kind.as_deref().unwrap_or(usual);
        let mut bytes = format!(
            "HTTP/1.1 {} Whatever\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{}\r\n",
            self.status,
            self.body.len(),
            self.body
        );
        let then = match self.then.as_deref() {
            Some("open") => Act::Hold,
            Some(_) => Act::Close,
            None => {
                bytes += "0\r\n\r\n";
                Act::Close
            }
        };
        vec![Act::Send(bytes.into_bytes()), then]
    }
}

/// Starts a site whose `/case/7/…` responds as the case at that place says.
fn site(cases: &[Answer]) -> Site {
    let cases: Arc<[Answer]> = cases.into();
    Site::start(move |asked| {
        let number = asked.path.strip_prefix("/case/");
        let number = number.and_then(|rest| rest.split('/').next()?.parse::<usize>().ok());
        number.map_or_else(|| answer(200, "", ""), |number| cases[number].response())
    })
}

fn lgoose(cases: &[Answer]) -> Vec<Reading> {
    let site = site(cases);
    let folder = empty_folder("judge_llm");
    std::fs::write(folder.join("cases.json"), json!(cases).to_string()).expect("written");
    std::fs::write(folder.join("plan.lua"), PLAN).expect("written");
    let ran = Lgoose::new(["plan.lua", "-H", &site.url(), "-u", "1", "-i", "1", "-q"])
        .within(&folder)
        .finish();
    let read = site.asked_for("/read");
    assert_eq!(read.len(), cases.len(), "{}\n{}", ran.stdout, ran.stderr);
    let readings = read.iter().map(|asked| serde_json::from_slice(&asked.body));
    readings
        .map(|reading| reading.expect("a reading"))
        .collect()
}

/// Asks the clients for their versions and readings; `None` with a printed reason where they are not installed.
fn clients(cases: &[Answer]) -> Option<(String, Vec<Reading>)> {
    let site = site(cases);
    let of_ci = Path::new(IN_CI).exists().then_some(IN_CI);
    let python = std::env::var("OPENAI_PYTHON");
    let python = python.unwrap_or_else(|_| of_ci.unwrap_or("python3").to_owned());
    let script = Command::new(python)
        .arg(in_repository("tests/judges/llm.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let output = script.ok().map(|mut script| {
        let mut input = script.stdin.take().expect("it is piped");
        let asked = json!({ "url": site.url(), "cases": cases }).to_string();
        // One without the clients ends before it has read it.
        input.write_all(asked.as_bytes()).ok();
        drop(input);
        script.wait_with_output().expect("it ends")
    });
    let output = output.filter(|output| output.status.code() != Some(MISSING));
    let Some(output) = output else {
        skip(
            "responses by the clients of OpenAI and Anthropic",
            "a Python that has 'openai' and 'anthropic', named by OPENAI_PYTHON",
        );
        return None;
    };
    assert!(output.status.success(), "the script fails");
    let mut output: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let readings = serde_json::from_value(output["readings"].take()).expect("readings");
    let version = output["version"].as_str().expect("a version");
    Some((version.to_owned(), readings))
}

#[test]
fn responses_of_models_are_what_their_own_clients_take_them_for() {
    let table = Table::<Answer, Reading>::open("llm");
    let own = lgoose(&table.inputs());
    table.compare(own, |own, judge| {
        // lgoose counts events where the server counts nothing, and keeps what had come of a response that has failed.
        if !judge.ok {
            *own = Reading {
                ok: own.ok,
                ..judge.clone()
            };
        }
        if judge.usage.1 == Some(0) {
            own.usage.1 = judge.usage.1;
        }
        let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
        for (call, judged) in own.calls.iter_mut().zip(&judge.calls) {
            // One of the clients gives them decoded.
            if parsed(&call.2).is_some() && parsed(&call.2) == parsed(&judged.2) {
                call.2.clone_from(&judged.2);
            }
        }
    });
}

#[test]
fn the_record_of_responses_of_models_is_what_their_clients_do_today() {
    let table = Table::<Answer, Reading>::open("llm");
    if let Some((version, readings)) = clients(&table.inputs()) {
        table.judge(&version, readings);
    }
}
