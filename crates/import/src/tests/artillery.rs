//! Tests of Artillery: their phases and flows, and hostile ones.

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
        assert!(notes.contains(part), "{part} in\n{notes}");
    }
}

const SHOP: &str = r#"
config:
  target: "http://127.0.0.1:8080"
  http:
    timeout: 10
  phases:
    - { duration: 60, arrivalRate: 5, name: warm up }
    - { duration: 2min, arrivalRate: 5, rampTo: 50, maxVusers: 200 }
    - { pause: 10 }
    - { duration: 30s, arrivalCount: 60 }
  defaults:
    headers:
      x-client: shop
      authorization: Bearer abc.def
  variables:
    kind: [tea, coffee]
    limit: 10
  payload:
    path: users.csv
    fields: [login, pin]
  processor: ./own.js
  plugins:
    ensure:
      maxErrorRate: 1
      thresholds:
        - http.response_time.p95: 300
before:
  flow:
    - post:
        url: /token
        capture: { json: $.token, as: shop_token }
scenarios:
  - name: buy
    weight: 3
    flow:
      - get:
          url: "/products?kind={{ kind }}&limit={{ limit }}"
          capture:
            - { json: "$.items[0].id", as: id }
            - { regexp: "csrf=(\\w+)", group: 1, as: csrf, strict: false }
          expect:
            - statusCode: [200, 201]
            - contentType: json
            - hasProperty: items
      - think: 2
      - loop:
          - post:
              url: /orders
              headers: { x-token: "{{ shop_token }}" }
              json: { product: "{{ id }}", note: "of {{ login }} at {{ $loopCount }}", password: hunter2 }
              beforeRequest: sign
        count: 3
      - function: own
      - get: { url: /ping, followRedirect: false, qs: { a: 1 } }
  - name: chat
    engine: ws
    flow:
      - send: hello
"#;

#[test]
fn a_test_becomes_scenarios_with_stages() {
    let imported = read(SHOP);
    has(
        &imported,
        &[
            "host = \"http://127.0.0.1:8080\"",
            "\"0s:5/s\", \"60s:5/s\", \"120s:50/s\", \"0s:0/s\", \"10s:0/s\", \"0s:2/s\", \"30s:2/s\"",
            "iterations = 1",
            "max_users = 200",
            "timeout = 10",
            "headers = { [\"x-client\"] = \"shop\" }",
            "thresholds = { \"failures <= 1%\", \"p95 < 300ms\" }",
            "on(\"test_start\", function(user)",
            "  return user.data\n",
            "scenario { \"buy\", order = \"serial\", weight = 3,\n",
            "user.data.kind = random.choice { \"tea\", \"coffee\" }",
            "user.data.login, user.data.pin = users:next():match(\"^([^%,]*)%,([^%,]*)\")",
            "\"/products?kind=\" .. tostring((user.data.kind or \"\")) .. \"&limit=\" .. tostring(limit)",
            "user.data.id = json_at(answer, \"items[0].id\")",
            "if user.data.id == nil then answer:fail(",
            "user.data.csrf = regex(\"csrf=(\\\\w+)\"):match(answer)",
            "expect = { status = { 200, 201 } }",
            "user:wait(2)",
            "for count = 1, 3 do",
            "product = (user.data.id or \"\")",
            "(user.data.shop_token or shared and shared.shop_token or \"\")",
            "password = PASSWORD",
            "max_redirects = 0",
        ],
    );
    notes(
        &imported,
        &[
            "left out the functions of './own.js'",
            "left out 'beforeRequest'",
            "left out the step 'function' (own)",
            "left out the scenario 'chat', whose engine is 'ws'",
            "put 'users.csv' beside the plan",
            "set AUTHORIZATION",
        ],
    );
    assert!(!imported.plan.contains("hunter2") && !imported.plan.contains("abc.def"));
}

#[test]
fn json_is_read_as_yaml_is() {
    let json = r#"{ "config": { "target": "{{ $env.SITE }}", "phases": [] }, "scenarios": [{ "flow": [{ "get": "/a" }] }] }"#;
    let imported = read(json);
    has(
        &imported,
        &[
            "host = env(\"SITE\", \"\")",
            "users = 1",
            "scenario { \"scenario 1\", order = \"serial\",\n",
            "user:get(\"/a\")",
        ],
    );
}

#[test]
fn what_is_no_test_is_refused_and_what_is_large_ends() {
    for (text, part) in [
        (
            "config:\n  target: http://a\nscenarios: []\n",
            "no HTTP request that a plan could send",
        ),
        ("config:\n  target: [\nscenarios: []\n", "is no YAML"),
        ("config:\n  a: 1\nscenarios: []\n", "no test of Artillery"),
    ] {
        let error =
            import("a file", text.as_bytes(), &ImportOptions::default()).expect_err("a mistake");
        assert!(error.to_string().contains(part), "{error}");
    }
    let nested = format!(
        "{}{}{}",
        "[{\"loop\":".repeat(100),
        "[{\"get\":\"/deep\"}]",
        ",\"count\":2}]".repeat(100)
    );
    let text = format!(
        "{{\"config\":{{\"target\":\"http://a\"}},\"scenarios\":[{{\"flow\":[{{\"get\":\"/a\"}},{}]}}]}}",
        &nested[1..nested.len() - 1]
    );
    // JSON is read to a depth of its own.
    let _whatever = import("a file", text.as_bytes(), &ImportOptions::default());
    let endless = "config:\n  target: http://a\n  variables:\n    a: '{{ b }}'\n    b: '{{ a }}'\nscenarios:\n  - flow:\n      - get: { url: '/{{ a }}' }\n";
    has(&read(endless), &["user:get("]);
}
