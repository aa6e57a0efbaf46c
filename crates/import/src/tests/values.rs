//! Values from responses, secrets, and values without an origin.

use super::{PAGE, entry, har, read};
use serde_json::json;

#[test]
fn tokens_of_pages_and_headers_become_extractions() {
    let token = "9f86d081884c7d659a2feaa0c55ad015";
    let nonce = "Zk3Qp9xW2vLmN8rT";
    let page = format!(
        "<title>App</title><meta name=\"csrf-token\" content=\"{token}\">\n<script>var cfg = {{\"nonce\":\"{nonce}\"}};</script>"
    );
    let mut save = entry(
        2,
        "POST",
        "https://shop.example/save",
        "empty",
        "application/json",
        "{\"ok\":true}",
    );
    let headers = save["request"]["headers"].as_array_mut().expect("a list");
    headers.push(json!({ "name": "X-CSRF-Token", "value": token }));
    headers.push(json!({ "name": "Content-Type", "value": "application/json" }));
    save["request"]["postData"] = json!({ "mimeType": "application/json", "text": format!("{{\"nonce\":\"{nonce}\",\"text\":\"hi\"}}") });
    let imported = read(&har(&[
        entry(0, "GET", "https://shop.example/", "document", PAGE, &page),
        save,
    ]));
    for part in [
        "page:attr(\"meta[name=\\\"csrf-token\\\"]\", \"content\")",
        "[\"x-csrf-token\"] = csrf_token",
        "local nonce = page:match(\"",
        "nonce = nonce",
    ] {
        assert!(imported.plan.contains(part), "{part} in\n{}", imported.plan);
    }
    assert!(
        !imported.plan.contains(token) && !imported.plan.contains(nonce),
        "{}",
        imported.plan
    );
}

#[test]
fn what_changes_without_a_source_is_reported_with_its_line() {
    let imported = read(&har(&[
        entry(
            0,
            "GET",
            "https://shop.example/",
            "document",
            PAGE,
            "<title>App</title>",
        ),
        entry(
            1,
            "GET",
            "https://shop.example/x?id=550e8400-e29b-41d4-a716-446655440000",
            "empty",
            "application/json",
            "{}",
        ),
    ]));
    let line = imported
        .plan
        .lines()
        .position(|line| line.contains("550e8400"))
        .expect("it is in the plan")
        + 1;
    let beginning = format!("line {line}: GET /x: 'id' looks made for this visit");
    assert!(
        imported
            .notes
            .iter()
            .any(|note| note.starts_with(&beginning)),
        "{:?}",
        imported.notes
    );
}

#[test]
fn what_changes_in_many_requests_is_reported_once_with_all_lines() {
    let call = |second, id: &str| {
        let url = format!("https://shop.example/x?id={id}");
        entry(second, "GET", &url, "empty", "application/json", "{}")
    };
    let imported = read(&har(&[
        call(1, "550e8400-e29b-41d4-a716-446655440000"),
        call(1, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
        call(1, "9b2e4c1a-53d7-4f0e-8a6b-1c2d3e4f5a6b"),
    ]));
    assert_eq!(imported.notes.len(), 1, "{:?}", imported.notes);
    for id in ["f81d4fae", "9b2e4c1a"] {
        let line = imported.plan.lines().position(|line| line.contains(id));
        let line = (line.expect("it is in the plan") + 1).to_string();
        let (_, lines) = imported.notes[0]
            .split_once("; also in lines ")
            .expect("the lines");
        assert!(
            lines.split(", ").any(|listed| listed == line),
            "{:?}",
            imported.notes
        );
    }
}

#[test]
fn secrets_are_variables() {
    let mut login = entry(
        0,
        "POST",
        "https://shop.example/login",
        "empty",
        "application/json",
        "{}",
    );
    login["request"]["postData"] = json!({ "mimeType": "application/json", "text": "{\"password\":\"hunter22\",\"name\":\"ann\"}" });
    let headers = login["request"]["headers"].as_array_mut().expect("a list");
    headers.push(json!({ "name": "Authorization", "value": "Basic YW5uOmh1bnRlcjIy" }));
    headers.push(json!({ "name": "X-Api-Key", "value": "k-123" }));
    headers.push(json!({ "name": "Cookie", "value": "_ga=GA1.2.3; sid=4cdd81b51e8bd3a5e1b3c2a1" }));
    let imported = read(&har(&[login]));
    for secret in ["hunter22", "YW5u", "k-123", "4cdd81b5", "GA1"] {
        assert!(
            !imported.plan.contains(secret),
            "{secret} in\n{}",
            imported.plan
        );
    }
    for name in ["PASSWORD", "API_KEY", "COOKIE_SID"] {
        assert!(
            imported
                .plan
                .contains(&format!("local {name} = env \"{name}\"")),
            "{}",
            imported.plan
        );
        assert!(
            imported
                .notes
                .iter()
                .any(|note| note.starts_with(&format!("set {name} "))),
            "{:?}",
            imported.notes
        );
    }
    assert!(
        imported.plan.contains("auth = { \"ann\", PASSWORD }"),
        "{}",
        imported.plan
    );
}

#[test]
fn each_of_many_tokens_comes_from_the_response_before_it() {
    let token = |number: u64| {
        let part = |factor: u64| number.wrapping_mul(factor);
        let (a, b) = (part(0x9e37_79b9_7f4a_7c15), part(0xc2b2_ae3d_27d4_eb4f));
        format!("{a:016x}{b:016x}")
    };
    let call = |number: u64| {
        let url = format!("https://shop.example/list?cursor={}", token(number));
        let next = json!({ "next": token(number + 1), "again": token(1) }).to_string();
        entry(0, "GET", &url, "empty", "application/json", &next)
    };
    let entries: Vec<_> = (1..=300).map(call).collect();
    let imported = read(&har(&entries));
    let taken = imported.plan.matches(" = answer:json().next").count();
    assert_eq!(taken, 299, "{}", imported.plan);
    // The first one was sent before any response had it.
    assert!(imported.plan.contains(&token(1)), "{}", imported.plan);
    assert!(!imported.plan.contains(".again"), "{}", imported.plan);
    let remaining = (2..=300).filter(|number| imported.plan.contains(&token(*number)));
    assert_eq!(remaining.count(), 0, "{}", imported.plan);
}

/// Returns the plan of a file that is no recording.
fn plan_of(file: serde_json::Value) -> String {
    let choices = super::ImportOptions::default();
    let imported = super::import("a file", file.to_string().as_bytes(), &choices);
    imported.expect("it can be read").plan
}

#[test]
fn a_text_with_words_of_the_plan_language_is_a_text() {
    let plan = plan_of(json!({
        "info": { "name": "shop", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
        "variable": [
            { "key": "motto", "value": "random.org (user.data)" },
            { "key": "now", "value": "at {{$timestamp}}" },
        ],
        "item": [{ "name": "a", "request": {
            "method": "POST",
            "url": "http://shop.example/a?motto={{motto}}&now={{now}}",
        } }],
    }));
    assert!(
        plan.contains("local motto = \"random.org (user.data)\""),
        "{plan}"
    );
    assert!(
        !plan.contains("local now"),
        "a time is that of its request: {plan}"
    );
    let plan = plan_of(json!({
        "config": {
            "target": "http://{{ $env.SITE }}/user.php",
            "phases": [],
            "variables": { "s": "a" },
        },
        "scenarios": [{ "flow": [{ "get": "/{{ s }}" }] }],
    }));
    assert!(plan.contains("host = \"http://\" .. "), "{plan}");
}
