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
        let notes = imported.notes.iter();
        let notes = notes.filter(|note| note.starts_with("left some '{{variables}}' as they are"));
        assert_eq!(notes.count(), 1, "{:?}", imported.notes);
    }
}

/// A document of many operations that refer to the same thing.
fn shared(name: &str, operation: &Value, components: Value) -> usize {
    let paths = (0..200).map(|number| (format!("/{number}"), json!({ "put": operation })));
    let paths: Map<String, Value> = paths.collect();
    let imported = read(&json!({ "openapi": "3.0.0", "paths": paths, "components": components }));
    assert!(imported.plan.len() > 200, "{name}");
    imported.plan.len()
}

#[test]
fn what_many_operations_of_a_document_share_is_written_as_often_as_fits() {
    let text = "x".repeat(200_000);
    let content = |content: Value| json!({ "content": { "application/json": content } });
    let body = json!({ "requestBody": { "$ref": "#/components/requestBodies/B" } });
    let example = json!({ "B": content(json!({ "example": { "a": text } })) });
    let length = shared("an example", &body, json!({ "requestBodies": example }));
    assert!(length < 20 << 20, "{length}");
    let fields: Map<String, Value> = (0..8)
        .map(|number| {
            (
                format!("{number}"),
                json!({ "$ref": "#/components/schemas/B" }),
            )
        })
        .collect();
    let levels = ["A", "B", "C", "D"].windows(2).map(|pair| {
        let next = format!("#/components/schemas/{}", pair[1]);
        let fields = fields
            .keys()
            .map(|name| (name.clone(), json!({ "$ref": next })));
        (
            pair[0].to_owned(),
            json!({ "properties": fields.collect::<Map<_, _>>() }),
        )
    });
    let schemas: Map<String, Value> = levels.collect();
    let many = (0..500).map(|number| {
        let schema = json!({ "$ref": "#/components/schemas/A" });
        (format!("p{number}"), schema)
    });
    let schema = json!({ "properties": many.collect::<Map<_, _>>() });
    let body = json!({ "content": { "multipart/form-data": { "schema": schema } } });
    let imported = read(&json!({
        "openapi": "3.0.0", "components": { "schemas": schemas },
        "paths": { "/a": { "post": { "requestBody": body } } },
    }));
    assert!(imported.plan.len() < 1 << 20, "{}", imported.plan.len());
}

#[test]
fn scripts_that_all_requests_share_are_read_as_often_as_fits() {
    let script = json!({ "exec": vec!["pm.environment.set('x', 1);"; 2_000] });
    let event = json!([{ "listen": "test", "script": script }]);
    let request = json!({ "name": "a", "request": { "url": "http://a.x/" } });
    let imported = read(&json!({
        "info": { "name": "a" }, "event": event, "item": vec![request; 500],
    }));
    let notes = imported.notes.iter();
    let notes = notes.filter(|note| note.starts_with("left out scripts"));
    assert_eq!(notes.count(), 1, "{:?}", imported.notes);
    assert!(imported.plan.len() < 30 << 20, "{}", imported.plan.len());
}

#[test]
fn names_that_others_have_get_the_next_number() {
    let mut names = crate::names::UsedNames::default();
    let mut secrets = crate::secrets::Secrets::default();
    for expected in ["id", "id_2", "id_3"] {
        assert_eq!(names.unique("id"), expected);
        let value = format!("value of {expected}");
        let name = expected.to_ascii_uppercase();
        assert_eq!(secrets.variable("id", &value, "it"), name);
        assert_eq!(secrets.variable("other", &value, "it"), name);
    }
    assert_eq!(secrets.variable("a", "", "it"), "A");
    assert_eq!(secrets.variable("b", "", "it"), "A");
}
