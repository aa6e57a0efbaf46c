//! Small documents that stand for far more than they are.

use super::read;
use serde_json::{Map, Value, json};

/// Returns the address of a server in a document of one operation.
fn origin(url: &str, variables: Value) -> String {
    let server = json!({ "url": url, "variables": variables });
    let imported = read(&json!({
        "openapi": "3.0.0", "servers": [server], "paths": { "/a": { "get": {} } },
    }));
    assert!(imported.plan.len() < 20_000, "{}", imported.plan.len());
    imported.plan
}

#[test]
fn variables_of_a_server_are_put_in_once() {
    let variables: Map<String, Value> = (0..20)
        .map(|level| {
            let next = format!("{{v{:02}}}", level + 1);
            let twice = json!({ "default": format!("{next}{next}") });
            (format!("v{level:02}"), twice)
        })
        .collect();
    origin("http://a.x/{v00}", Value::Object(variables));
    let long = json!({ "v": { "default": "x".repeat(5_000) } });
    assert!(!origin("http://a.x/{v}{v}", long).contains("xxx"));
    let usual =
        json!({ "host": { "default": "{port}.x" }, "port": { "enum": ["81"] }, "none": {} });
    for (url, part) in [
        ("http://a.{port}.x/{none}b", "host = \"http://a.81.x\""),
        ("http://a.x:{port}/{b", "host = \"http://a.x:81\""),
        ("/{port}/{other}", "\"/81/{other}/a\""),
        ("/{host}", "\"/{port}.x/a\""),
    ] {
        let plan = origin(url, usual.clone());
        assert!(plan.contains(part), "{url}: {plan}");
    }
}

/// A collection whose variables are each made of eight of the next; `last` is the value of the last.
fn collection(last: &str) -> Value {
    let variables = (0..8).map(|level| {
        let next = format!("{{{{v{}}}}}", level + 1).repeat(8);
        json!({ "key": format!("v{level}"), "value": if level == 7 { last } else { &next } })
    });
    let variables: Vec<Value> = variables.collect();
    let request = |url: &str| {
        let body = json!({ "mode": "raw", "raw": "{{v0}}" });
        json!({ "name": "a", "request": { "method": "POST", "url": url, "body": body } })
    };
    json!({
        "info": { "name": "a" }, "variable": variables,
        "item": [request("http://a.x/{{v0}}"), request("http://a.x/{{v0}}"), request("http://a.x/{{v1}}")],
    })
}

#[test]
fn variables_of_a_collection_that_are_made_of_each_other_have_an_end() {
    for last in ["x", "{{$guid}}", "{{none}}"] {
        let imported = read(&collection(last));
        assert!(imported.plan.len() < 32 << 20, "{}", imported.plan.len());
        let told = imported.notes.iter();
        let told = told.filter(|note| note.starts_with("left some '{{variables}}' as they are"));
        assert_eq!(told.count(), 1, "{:?}", imported.notes);
    }
}
