//! Recognition of other load testers' files by their contents, for the message about a plan that is, say, a locustfile.
//!
//! Driven by the loading of plans, for a text that is not a plan, and by the import. Knows the tools and no file
//! system.

use crate::error::Diagnostic;
use regex::Regex;
use std::sync::LazyLock;

/// The command that shows the words of other tools beside those of lgoose.
const PAGE: &str = "'lgoose help other-tools'";

/// A file of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignFile {
    /// A test of Artillery.
    Artillery,
    /// A command line of curl.
    Curl,
    /// A simulation of Gatling.
    Gatling,
    /// A recording of a browser.
    Har,
    /// A test plan of JMeter.
    JMeter,
    /// A script of k6.
    K6,
    /// A locustfile.
    Locust,
    /// An OpenAPI document.
    OpenApi,
    /// A collection of Postman.
    Postman,
    /// Targets of vegeta, one JSON object a line.
    VegetaJson,
    /// A script of wrk.
    Wrk,
}

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("the pattern is one"));
    };
}

pattern!(
    K6,
    r#"(?m)(?:^[ \t]*(?:import\b[^;'"]*|\}[ \t]*from[ \t]*)|\brequire\([ \t]*)['"]k6(?:/[\w./-]*)?['"]"#
);
pattern!(
    LOCUST,
    r"(?m)^[ \t]*(?:from[ \t]+locust(?:\.\w+)*[ \t]+import\b|import[ \t]+locust\b)"
);
pattern!(
    GATLING,
    r#"(?m)^[ \t]*import[ \t]+(?:static[ \t]+)?io\.gatling\.|^[ \t]*import\b[^;'"]*['"]@gatling\.io/"#
);
pattern!(
    ARTILLERY_CONFIG,
    r#"(?m)^(?:config:|[ \t]*"config"[ \t]*:)"#
);
pattern!(
    ARTILLERY_SCENARIOS,
    r#"(?m)^(?:scenarios:|[ \t]*"scenarios"[ \t]*:)"#
);
pattern!(
    ARTILLERY_PHASES,
    r#"(?m)^[ \t]*(?:- )?"?(?:target|phases|flow|arrivalRate|engines)"?[ \t]*:"#
);
pattern!(
    WRK,
    r"(?m)^[ \t]*(?:return[ \t]+)?wrk\.(?:method|path|body|headers|format|scheme|host|port|thread|init|connect|lookup)\b|^(?:request[ \t]*=[ \t]*function[ \t]*\(|function[ \t]+request[ \t]*\()"
);
pattern!(LGOOSE, r"(?m)^[ \t]*(?:plan|scenario|task)[ \t]*[({]");
pattern!(
    OPENAPI,
    r#"(?m)^(?:openapi|swagger):[ \t]|^\{[\s]*"(?:openapi|swagger)"[ \t]*:"#
);
pattern!(CURL, r"^(?:\$[ \t]+)?curl[ \t]+['\x22h-]");

/// Returns the tool that a text belongs to, if it is known. A correct plan of lgoose belongs to none, whatever its
/// comments and texts contain; for one with a mistake, only marks that stand where no Lua has them count.
pub fn recognise(text: &str) -> Option<ForeignFile> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    match text.as_bytes().first()? {
        b'<' => {
            let head = &text[..text.floor_char_boundary(4096)];
            return head
                .contains("<jmeterTestPlan")
                .then_some(ForeignFile::JMeter);
        }
        b'{' => return of_json(text),
        _ => {}
    }
    if CURL.is_match(text) {
        return Some(ForeignFile::Curl);
    }
    let is_artillery = ARTILLERY_CONFIG.is_match(text)
        && ARTILLERY_SCENARIOS.is_match(text)
        && ARTILLERY_PHASES.is_match(text);
    [
        (K6.is_match(text), ForeignFile::K6),
        (LOCUST.is_match(text), ForeignFile::Locust),
        (GATLING.is_match(text), ForeignFile::Gatling),
        (is_artillery, ForeignFile::Artillery),
        (OPENAPI.is_match(text), ForeignFile::OpenApi),
        (
            WRK.is_match(text) && !LGOOSE.is_match(text),
            ForeignFile::Wrk,
        ),
    ]
    .into_iter()
    .find_map(|(is_it, tool)| is_it.then_some(tool))
}

/// Returns the tool that JSON belongs to, by the names near its beginning.
fn of_json(text: &str) -> Option<ForeignFile> {
    let head = &text[..text.floor_char_boundary(4096)];
    let has = |name: &str| head.contains(&format!("\"{name}\""));
    let first = text.lines().next().unwrap_or_default();
    let is_line = first.trim_end().ends_with('}');
    [
        (OPENAPI.is_match(head), ForeignFile::OpenApi),
        (
            has("log") && (has("entries") || has("creator")),
            ForeignFile::Har,
        ),
        (
            has("info") && (has("_postman_id") || head.contains("schema.getpostman.com")),
            ForeignFile::Postman,
        ),
        (
            has("config") && (has("target") || has("phases")),
            ForeignFile::Artillery,
        ),
        (
            is_line && has("method") && has("url"),
            ForeignFile::VegetaJson,
        ),
    ]
    .into_iter()
    .find_map(|(is_it, tool)| is_it.then_some(tool))
}

impl ForeignFile {
    /// Its description in a message.
    fn noun(self) -> &'static str {
        match self {
            ForeignFile::Artillery => "a test of Artillery",
            ForeignFile::Curl => "a curl command line",
            ForeignFile::Gatling => "a simulation of Gatling",
            ForeignFile::Har => "a recording of a browser (HAR)",
            ForeignFile::JMeter => "a test plan of JMeter",
            ForeignFile::K6 => "a k6 script",
            ForeignFile::Locust => "a locustfile",
            ForeignFile::OpenApi => "an OpenAPI document",
            ForeignFile::Postman => "a collection of Postman",
            ForeignFile::VegetaJson => "a list of targets in vegeta's JSON format",
            ForeignFile::Wrk => "a script of wrk",
        }
    }

    /// Returns whether it is a program, which no import can read.
    pub fn is_no_recording(self) -> bool {
        matches!(
            self,
            ForeignFile::Gatling | ForeignFile::Locust | ForeignFile::Wrk
        )
    }

    /// Returns the mistake of taking the file of that name for a plan.
    pub fn mistake(self, name: &str) -> Diagnostic {
        let message = format!("'{name}' is {}, and no plan of lgoose", self.noun());
        let file = match name {
            "(standard input)" => "-",
            name => name,
        };
        Diagnostic::new(message).help(self.help(file))
    }

    fn help(self, file: &str) -> String {
        match self {
            ForeignFile::Har
            | ForeignFile::Curl
            | ForeignFile::Postman
            | ForeignFile::OpenApi => {
                format!("'lgoose import {file} > plan.lua' writes a plan from it")
            }
            ForeignFile::Locust => format!("{PAGE} shows the words of Locust beside those of lgoose"),
            ForeignFile::Wrk => format!("{PAGE} shows the hooks of wrk beside the words of lgoose"),
            ForeignFile::Gatling => format!("{PAGE} shows the words of other tools beside those of lgoose; for the requests, record the visit in a browser and run 'lgoose import visit.har'"),
            ForeignFile::VegetaJson => "'lgoose FILE' runs a list in vegeta's HTTP format: 'METHOD URL', then headers and '@FILE' with the body, a line each".to_owned(),
            ForeignFile::K6 => format!("'lgoose import {file} > plan.lua' carries over its options and the calls with literal arguments; {PAGE} shows the words of k6 beside those of lgoose"),
            ForeignFile::JMeter | ForeignFile::Artillery => {
                format!("'lgoose import {file} > plan.lua' writes a plan from it, and lists what is left to do")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_tools_are_recognised() {
        let json = |fields: &str| format!("{{\n  {fields}\n}}");
        for (text, tool) in [
            (
                "import http from 'k6/http';\nexport default function () {}",
                ForeignFile::K6,
            ),
            (
                "// x\nimport {\n  check,\n  sleep,\n} from \"k6\";",
                ForeignFile::K6,
            ),
            ("const http = require('k6/http')", ForeignFile::K6),
            (
                "import random\nfrom locust import HttpUser, task",
                ForeignFile::Locust,
            ),
            ("import locust\n", ForeignFile::Locust),
            (
                "from locust.contrib.fasthttp import FastHttpUser",
                ForeignFile::Locust,
            ),
            (
                "<?xml version=\"1.0\"?>\n<jmeterTestPlan version=\"1.2\">",
                ForeignFile::JMeter,
            ),
            (
                "package a\n\nimport io.gatling.core.Predef._",
                ForeignFile::Gatling,
            ),
            (
                "import static io.gatling.javaapi.core.CoreDsl.*;",
                ForeignFile::Gatling,
            ),
            (
                "import { simulation } from \"@gatling.io/core\";",
                ForeignFile::Gatling,
            ),
            (
                "config:\n  target: http://a\n  phases: []\nscenarios:\n  - flow: []",
                ForeignFile::Artillery,
            ),
            (
                &json("\"config\": { \"target\": \"http://a\" }"),
                ForeignFile::Artillery,
            ),
            ("wrk.method = \"POST\"\nwrk.body = \"{}\"", ForeignFile::Wrk),
            (
                "request = function()\n  return wrk.format(nil, \"/\")\nend",
                ForeignFile::Wrk,
            ),
            (
                "local n = 0\nfunction request()\n  n = n + 1\nend",
                ForeignFile::Wrk,
            ),
            (
                &json("\"log\": { \"version\": \"1.2\", \"creator\": {} }"),
                ForeignFile::Har,
            ),
            (
                &json("\"info\": { \"_postman_id\": \"1\" }"),
                ForeignFile::Postman,
            ),
            (&json("\"openapi\": \"3.1.0\""), ForeignFile::OpenApi),
            ("openapi: 3.0.3\npaths: {}", ForeignFile::OpenApi),
            (
                "{\"method\":\"GET\",\"url\":\"http://a\"}\n",
                ForeignFile::VegetaJson,
            ),
            ("curl 'http://a/'", ForeignFile::Curl),
        ] {
            assert_eq!(recognise(text), Some(tool), "{text}");
            let text = tool.mistake("x.y").to_string();
            assert!(
                text.starts_with("error: 'x.y' is a") && text.contains("= help: "),
                "{text}"
            );
        }
    }

    #[test]
    fn plans_with_mistakes_are_not_taken_for_them() {
        for text in [
            "",
            "-- What a script of k6 does: import http from 'k6/http'\ntask { function(user) user:gte \"/\" end }",
            "-- from locust import task\nplan { users = }",
            "local function request(user)\n  user:get \"/\"\nend\ntask { function(user) request(user) end ",
            "-- wrk.method = \"POST\"\ntask {",
            "local wrk = require \"wrk\"\nwrk.init()\nscenario { \"a\" ",
            "config = { target = 1 }\nscenarios = { }",
            "local x = [[<jmeterTestPlan]]",
            "{ 1, 2 }",
            "os.execute \"curl http://a\"",
        ] {
            assert_eq!(recognise(text), None, "{text}");
        }
    }
}
