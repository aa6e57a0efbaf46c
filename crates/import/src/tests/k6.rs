//! Scripts of k6 and lists of targets: their plans and notes.

use super::{ImportOptions, Imported, import};

fn read(text: &str) -> Imported {
    import("a file", text.as_bytes(), &ImportOptions::default()).expect("it can be read")
}

fn has(imported: &Imported, parts: &[&str]) {
    for part in parts {
        assert!(imported.plan.contains(part), "{part} in\n{}", imported.plan);
    }
}

fn notes(imported: &Imported, parts: &[&str]) {
    let notes = imported.notes.join("\n");
    for part in parts {
        assert!(
            notes.contains(part),
            "{part} in\n{notes}\n{}",
            imported.plan
        );
    }
}

const SCRIPT: &str = r#"
import http from 'k6/http';
import { check, group, sleep } from 'k6';
import { Trend } from 'k6/metrics';

const BASE = __ENV.BASE || 'http://127.0.0.1:8080'; // the site
const JSON_TYPE = { 'Content-Type': 'application/json' };
const price = new Trend('price');

export const options = {
  stages: [
    { duration: '1m30s', target: 10 },
    { duration: '30s', target: 0 },
  ],
  thresholds: {
    http_req_duration: ['p(95)<500', { threshold: 'avg<200', abortOnFail: true }],
    http_req_failed: ['rate<0.01'],
    'http_req_duration{name:x}': ['p(99)<800'],
  },
  insecureSkipTLSVerify: true,
  dns: { ttl: '1m' },
};

export function setup() {
  http.post(`${BASE}/reset`);
}

export default function () {
  const res = http.get(`${BASE}/products?limit=5`, { tags: { name: 'products', kind: 'list' }, headers: { Accept: 'a/b' } });
  check(res, {
    'is 200': (r) => r.status === 200,
    'is quick': r => r.timings.duration < 300 && r.body.includes('tea'),
    'has a name': (r) => r.json().name !== '',
  });
  group('order', () => {
    http.post(`${BASE}/orders`, JSON.stringify({ product: 1, password: 'hunter2', list: [1, 'a'] }), { headers: JSON_TYPE });
    http.post(BASE + '/form', { a: 'b', c: 1 });
    http.get(`${BASE}/u/${__VU}`);
    http.del(`${BASE}/orders/${res.json().id}`);
  });
  for (let i = 0; i < 3; i++) {
    http.get(BASE + '/again');
  }
  price.add(1);
  sleep(1);
  sleep(Math.random() * 2 + 1);
}

export function handleSummary(data) { return {}; }
"#;

#[test]
fn the_data_of_a_script_is_carried_over_and_the_rest_is_noted() {
    let imported = read(SCRIPT);
    has(
        &imported,
        &[
            "host = env(\"BASE\", \"http://127.0.0.1:8080\")",
            "stages = { \"90s:10\", \"30s:0\" }",
            "thresholds = { \"p95 < 500ms\", \"avg < 200ms\", \"failures < 1%\" }",
            "insecure = true",
            "on(\"test_start\", function(user)\n  user:post(\"/reset\")",
            "local answer = user:get(\"/products?limit=5\", {",
            "name = \"products\"",
            "tags = { kind = \"list\" }",
            "check(answer.status == 200, \"is 200\")",
            "check(answer.time < 0.3 and answer:contains(\"tea\"), \"is quick\")",
            "user:transaction(\"order\", function()",
            "json = { product = 1, password = PASSWORD, list = { 1, \"a\" } }",
            "headers = { [\"Content-Type\"] = \"application/json\" }",
            "form = { a = \"b\", c = 1 }",
            "user:get(\"/u/\" .. user.id)",
            "user:wait(1)\n",
            "user:wait(1, 3)\n",
        ],
    );
    notes(
        &imported,
        &[
            "left out the limit of 'http_req_duration{name:x}'",
            "does not abort the run",
            "left out the option 'dns'",
            "left out 'price = new Trend('price')'",
            "left out the check 'has a name'",
            "${res.json().id}`);', whose address is no literal",
            "left out 'for (let i = 0; i < 3; i++) { …', with the requests in it",
            "left out 'price.add(1);'",
            "left out 'handleSummary'",
            "set PASSWORD",
        ],
    );
    assert!(!imported.plan.contains("hunter2") && !imported.plan.contains("/again"));
}

#[test]
fn executors_become_loads() {
    let scenario = |executor: &str, more: &str| format!("{{ executor: '{executor}', {more} }}");
    let all = [
        scenario("constant-vus", "vus: 5, duration: '10s'"),
        scenario(
            "ramping-arrival-rate",
            "startRate: 60, timeUnit: '1m', preAllocatedVUs: 7, stages: [{ duration: '5s', target: 120 }]",
        ),
        scenario(
            "constant-arrival-rate",
            "rate: 20, duration: '3s', maxVUs: 9, startTime: '2s', exec: 'buy', tags: { phase: 'load' }",
        ),
        scenario("per-vu-iterations", "vus: 2, iterations: 4"),
        scenario("shared-iterations", "vus: 2, iterations: 4"),
    ];
    let all: Vec<String> = all
        .iter()
        .enumerate()
        .map(|(number, one)| format!("s{number}: {one}"))
        .collect();
    let text = format!(
        "import http from \"k6/http\";\nexport let options = {{ scenarios: {{ {} }} }};\nexport default () => {{ http.get('http://a/') }}\nexport function buy() {{ http.request('PUT', 'http://a/b', 'x'); }}",
        all.join(", ")
    );
    has(
        &read(&text),
        &[
            "scenario { \"s0\", order = \"serial\", users = 5, startup_time = 0, run_time = 10,\n",
            "scenario { \"s1\", order = \"serial\", stages = { \"0s:1/s\", \"5s:2/s\" }, max_users = 7,\n",
            "scenario { \"s2\", order = \"serial\", rate = \"20/s\", run_time = 3, max_users = 9, start = 2, tags = { phase = \"load\" },\n",
            "scenario { \"s3\", order = \"serial\", users = 2, startup_time = 0, iterations = 4,\n",
            "scenario { \"s4\", order = \"serial\", users = 2, startup_time = 0, shared_iterations = 4,\n",
            "user:put(\"/b\", \"x\")",
        ],
    );
}

#[test]
fn scripts_that_are_cut_off_or_endless_end() {
    let marks: Vec<usize> = (0..SCRIPT.len())
        .step_by(7)
        .filter(|at| SCRIPT.is_char_boundary(*at))
        .collect();
    for at in marks {
        let _whatever = import(
            "a file",
            &SCRIPT.as_bytes()[..at],
            &ImportOptions::default(),
        );
    }
    let deep = format!(
        "import http from 'k6/http';\nconst a = {};\nexport default function () {{ http.get('http://a/'); {} }}",
        "[{a:".repeat(50_000),
        "group('a', () => {".repeat(5_000)
    );
    let _whatever = import("a file", deep.as_bytes(), &ImportOptions::default());
    let long = format!(
        "import http from 'k6/http';\nexport default function () {{ {} }}",
        "x;\n".repeat(20_000) + "http.get('http://a/');"
    );
    assert!(read(&long).notes.len() < 400);
    let none = "import http from 'k6/http';\nexport default function () { run(); }";
    let error =
        import("a file", none.as_bytes(), &ImportOptions::default()).expect_err("a mistake");
    assert!(
        error
            .to_string()
            .contains("no request that could be carried over"),
        "{error}"
    );
}

#[test]
fn a_list_of_targets_becomes_a_task() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.json"), "{}").expect("written");
    let choices = ImportOptions {
        path: Some(folder.path().join("list.txt")),
        ..ImportOptions::default()
    };
    let list = "GET http://a/x?y=1\nAuthorization: Bearer abc\n\nPOST http://a/z\nAccept: b/c\n@a.json\n\nDELETE http://b:1/\n";
    let imported = import("'list.txt'", list.as_bytes(), &choices).expect("it can be read");
    has(
        &imported,
        &[
            "host = \"http://a\"",
            "user:get(\"/x?y=1\", { headers = { Authorization = AUTHORIZATION } })",
            "user:post(\"/z\", \"{}\", { headers = { Accept = \"b/c\" } })",
            "user:delete(\"http://b:1/\")",
        ],
    );
    let error =
        import("'list.txt'", "http://a/\nnonsense\n".as_bytes(), &choices).expect_err("a mistake");
    assert!(error.to_string().contains("list.txt:2"), "{error}");
    for (script, part) in [
        ("from locust import HttpUser\n", "a locustfile"),
        ("wrk.method = \"POST\"\n", "a script of wrk"),
        ("package a\nimport io.gatling.core.Predef._\n", "Gatling"),
    ] {
        let error = import("'a'", script.as_bytes(), &choices).expect_err("a mistake");
        assert!(error.to_string().contains(part), "{error}");
    }
}
