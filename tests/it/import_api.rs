//! `lgoose import` of what describes an API: collections of Postman and OpenAPI documents become plans that run.

use crate::import::imported;
use crate::program::{Lgoose, in_repository, plan, scratch};
use crate::report::run;
use crate::web_client::Web;
use lgoose::demo::{Behaviour, Demo, Site};
use serde_json::{Value, json};
use std::io::Write as _;

fn shop() -> Demo {
    Demo::start(Site::Api, 0, Behaviour::default(), 1).expect("a port is free")
}

fn fixture(name: &str) -> String {
    in_repository(&format!("tests/import/{name}"))
        .display()
        .to_string()
}

/// Runs a plan with ten users who go through it twice.
fn ten_users(path: &str, site: &Demo, more: &[&str]) -> Vec<String> {
    let host = site.url();
    let many = [
        path,
        "-H",
        host.as_str(),
        "-u",
        "10",
        "-r",
        "1000",
        "-i",
        "2",
        "-e",
        "PASSWORD=12345",
    ];
    let report = run(many.iter().copied().chain(more.iter().copied()));
    assert!(report.total("count") > 0);
    let mut errors = report.errors();
    if report.task_failures() > 0 {
        errors.push(format!("{} tasks failed", report.task_failures()));
    }
    errors
}

#[test]
fn a_collection_runs_for_ten_users() {
    let site = shop();
    let (path, text, told) = imported(
        &fixture("shop.postman_collection.json"),
        "imported_postman.lua",
    );
    for part in [
        "host = \"http://127.0.0.1:8080\"",
        "task { \"Log in\", function(user)",
        "task { \"Pages and files\", function(user)",
        "user.data.token = answer:json().token",
        "auth = { bearer = user.data.token or \"\" }",
        "user:get(\"/api/products/17\"",
        "expect = { json = { id = 17 } }",
        "json = { product = 17, quantity = 2 }",
        "user.data.order_id = answer:json().id",
        "user:delete(\"/api/orders/\" .. user.data.order_id, {",
        "name = \"Take it back\",",
        "query = { from = \"test\", note = random.uuid() }",
        "form = { { \"username\", customer }, { \"password\", PASSWORD } }",
        "auth = { customer, PASSWORD }",
        "-- Change it",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    for part in ["12345", "remember", "X-Shop", "stats.example"] {
        assert!(!text.contains(part), "{part} in\n{text}");
    }
    for part in [
        "left out 1 request to other hosts: stats.example (1)",
        "[\"GET /api/products/17\"] = \"p95 < 300ms\"",
        "POST /api/orders: write in Lua what the script does: pm.environment.set(\"total\", sum(jsonData.lines))",
        "what is in 'cat.png' is not known, and a small file is sent",
        "set PASSWORD",
    ] {
        assert!(told.contains(part), "{part} in\n{told}");
    }
    assert_eq!(ten_users(&path, &site, &[]), [""; 0], "{text}");
    let served = site.served();
    let counts = [
        "POST /api/login",
        "GET /api/products",
        "PATCH /api/orders/%",
        "DELETE /api/orders/%",
        "POST /upload",
    ];
    assert_eq!(counts.map(|label| served[label]), [20; 5]);
}

#[test]
fn a_document_runs_for_ten_users_and_orders_are_made_where_they_are_needed() {
    let site = shop();
    let (path, text, told) = imported(&fixture("shop.openapi.yaml"), "imported_openapi.lua");
    for part in [
        "host = \"http://127.0.0.1:8080\"",
        "local function new_order(user)",
        "user.data.order_id = answer:json().id",
        "local order_id = user.data.order_id or new_order(user)",
        "task { \"DELETE /orders/{id}\", tags = { \"orders\", \"changes\" }, function(user)",
        "json = { product = 1, quantity = 1 }",
        "json = { quantity = 3 }",
        "json = { password = PASSWORD, username = \"user7\" }",
        "[\"X-Trace\"] = random.uuid()",
        "query = { kind = \"tea\" }",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    for part in [
        "3 of the tasks change or remove what is there",
        "left out what other servers have: stats.example (1)",
        "GET /products/{productId}: 'productId' has no example, and '1' is sent",
        "set TOKEN ('-e TOKEN=…', the environment or '--env-file'): the token for 'token'",
    ] {
        assert!(told.contains(part), "{part} in\n{told}");
    }
    let address = site
        .url()
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .parse();
    let web = Web::at(address.expect("an address with its port"));
    let body = "{\"username\":\"user7\",\"password\":\"12345\"}";
    let login = web.raw(&format!(
        "POST /api/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    let token = format!("TOKEN={}", login.json()["token"].as_str().expect("a token"));
    let variables = [
        "-e",
        "PASSWORD_2=12345",
        "-e",
        "USERNAME=user7",
        "-e",
        &token,
    ];
    assert_eq!(ten_users(&path, &site, &variables), [""; 0], "{text}");
    let served = site.served();
    assert_eq!(served["DELETE /api/orders/%"], 20);
    assert!(served["POST /api/orders"] >= 20, "{served:?}");
    // Without what changes anything, the rest runs on its own.
    let few = [&variables[..], &["--exclude-tags", "changes"]].concat();
    assert_eq!(ten_users(&path, &site, &few), [""; 0], "{text}");
    assert_eq!(site.served()["DELETE /api/orders/%"], 20);
}

#[test]
fn the_same_document_as_json_gives_the_same_plan() {
    let yaml = std::fs::read_to_string(fixture("shop.openapi.yaml")).expect("it is there");
    let document: Value = yaml_value(&yaml);
    let path = plan("shop.openapi.json", &document.to_string());
    let (_, from_json, _) = imported(&path, "imported_openapi_json.lua");
    let (_, from_yaml, _) = imported(&fixture("shop.openapi.yaml"), "imported_openapi_yaml.lua");
    assert_eq!(from_json, from_yaml);
}

/// Reads YAML by another library than the one that is tested.
pub(crate) fn yaml_value(text: &str) -> Value {
    use yaml_rust2::{Yaml, YamlLoader};
    fn value(yaml: &Yaml) -> Value {
        match yaml {
            Yaml::Hash(fields) => {
                let fields = fields.iter().map(|(key, found)| {
                    let key = key.as_str().map(str::to_owned);
                    let key = key.or(yaml_number(fields, found)).unwrap_or_default();
                    (key, value(found))
                });
                Value::Object(fields.collect())
            }
            Yaml::Array(items) => items.iter().map(value).collect(),
            Yaml::String(text) => json!(text),
            Yaml::Integer(number) => json!(number),
            Yaml::Boolean(is) => json!(is),
            Yaml::Real(text) => json!(text.parse::<f64>().expect("a number")),
            _ => Value::Null,
        }
    }
    // A status without quotation marks is a number in YAML, and a text in JSON.
    fn yaml_number(fields: &yaml_rust2::yaml::Hash, wanted: &Yaml) -> Option<String> {
        let mut fields = fields.iter();
        let (key, _) = fields.find(|(_, found)| std::ptr::eq(*found, wanted))?;
        key.as_i64().map(|number| number.to_string())
    }
    value(&YamlLoader::load_from_str(text).expect("it is YAML")[0])
}

#[test]
fn other_formats_are_told_with_what_to_do() {
    let v2 = json!({ "info": { "name": "a", "schema": "https://schema.getpostman.com/json/collection/v2.0.0/collection.json" }, "item": [] });
    let v1 = json!({ "id": "1", "name": "a", "order": [], "requests": [{ "url": "http://127.0.0.1/" }] });
    let environment = json!({ "name": "a", "values": [{ "key": "a", "value": "b" }], "_postman_variable_scope": "environment" });
    let empty = json!({ "info": { "name": "a", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" }, "item": [] });
    let swagger = json!({ "swagger": "2.0", "info": {}, "paths": {} });
    let resources = json!({ "swaggerVersion": "1.2", "swagger": "1.2", "apis": [] });
    let bare = json!({ "openapi": "3.0.0", "info": {}, "paths": {} });
    let next = json!({ "openapi": "4.0.0", "paths": { "/": { "get": {} } } });
    let far = json!({ "openapi": "3.1.0", "paths": { "/": { "$ref": "paths.yaml#/a" } } });
    for (name, text, told, help) in [
        (
            "v2.json",
            v2.to_string(),
            "a collection without a request",
            "add requests",
        ),
        (
            "v1.json",
            v1.to_string(),
            "Postman's format 1",
            "Collection v2.1",
        ),
        (
            "environment.json",
            environment.to_string(),
            "is an environment of Postman",
            "--environment",
        ),
        (
            "empty.json",
            empty.to_string(),
            "a collection without a request",
            "add requests",
        ),
        (
            "swagger.json",
            swagger.to_string(),
            "has no operation",
            "the whole document",
        ),
        (
            "swagger1.json",
            resources.to_string(),
            "OpenAPI 1.2, which is not known",
            "Swagger 2.0",
        ),
        (
            "bare.json",
            bare.to_string(),
            "has no operation",
            "the whole document",
        ),
        (
            "far.json",
            far.to_string(),
            "has no operation",
            "refers to 'paths.yaml', which cannot be read: No such file",
        ),
        (
            "next.json",
            next.to_string(),
            "OpenAPI 4.0.0, which is not known",
            "3.0, 3.1 and 3.2",
        ),
        (
            "cut.json",
            bare.to_string()[..30].to_owned(),
            "is cut off",
            "a part of a file",
        ),
        (
            "wrong.yaml",
            "openapi: 3.0.0\npaths:\n  /a: [1\n  b: }".to_owned(),
            "is no YAML",
            "mend it there",
        ),
        ("bomb.yaml", bomb(), "is no YAML", "mend it there"),
        (
            "deep.yaml",
            format!("openapi: 3.0.0\npaths: {}", "[".repeat(5000)),
            "is no YAML",
            "mend it there",
        ),
        (
            "deep.json",
            format!("{{\"openapi\":\"3.0.0\",\"paths\":{}", "[".repeat(5000)),
            "recursion limit",
            "save it again",
        ),
    ] {
        let path = plan(name, &text);
        let ended = Lgoose::new(["import", path.as_str()]).finish();
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (2, ""),
            "{name}: {}",
            ended.stderr
        );
        assert!(
            ended.stderr.contains(told) && ended.stderr.contains(help),
            "{name}: {}",
            ended.stderr
        );
        assert!(ended.stderr.len() < 1_000, "{name}: {}", ended.stderr);
    }
}

/// A document that refers to itself so often that it would fill any memory.
fn bomb() -> String {
    let mut text = "openapi: 3.0.0\nx0: &x0 [a, a, a, a, a, a, a, a, a]\n".to_owned();
    for level in 1..12 {
        let many = vec![format!("*x{}", level - 1); 9].join(", ");
        text.push_str(&format!("x{level}: &x{level} [{many}]\n"));
    }
    text
}

#[test]
fn a_document_that_is_too_large_is_told_before_it_fills_the_memory() {
    for (name, begin, block) in [
        (
            "huge.json",
            "{\"openapi\":\"3.0.0\",\"paths\":[0",
            ",0".repeat(1 << 19),
        ),
        (
            "huge.yaml",
            "openapi: 3.0.0\npaths:\n",
            "  /a: {}\n".repeat(1 << 17),
        ),
    ] {
        let path = scratch(name);
        let mut file = std::fs::File::create(&path).expect("the scratch folder takes a file");
        file.write_all(begin.as_bytes()).expect("it is written");
        for _ in 0..60 {
            file.write_all(block.as_bytes()).expect("it is written");
        }
        drop(file);
        let named = path.display().to_string();
        // The shell's limit of addresses, in KiB: 1.5 GB, and the GiB that the allocator reserves of them at its start.
        let script = "ulimit -v 2550000; exec \"$0\" \"$@\"";
        let ended = Lgoose::new(["import", named.as_str()])
            .through("sh", &["-c", script])
            .finish();
        std::fs::remove_file(&path).expect("it is ours");
        assert_eq!(ended.code, 2, "{name}: {}", ended.stderr);
        assert!(
            ended.stderr.contains("is larger than 32 MiB"),
            "{name}: {}",
            ended.stderr
        );
    }
}

#[test]
fn a_document_of_many_parts_takes_time_that_grows_with_it_alone() {
    const MANY: usize = 100_000;
    let named = |name: &str, value: Value| -> Value {
        let all = (0..MANY).map(|number| (format!("{name}{number}"), value.clone()));
        Value::Object(all.collect())
    };
    let mut paths = named("/p", json!({ "get": {} }));
    for (number, item) in paths.as_object_mut().into_iter().flatten().enumerate() {
        item.1["get"]["tags"] = json!([format!("t{number}")]);
    }
    let required: Vec<String> = (0..MANY).map(|number| format!("p{number}")).collect();
    let schema = json!({ "properties": named("p", json!({})), "required": required });
    let content = json!({ "application/json": { "schema": schema } });
    paths["/a"] = json!({ "post": { "requestBody": { "content": content } } });
    let document = json!({ "openapi": "3.0.0", "paths": paths }).to_string();
    let path = plan("many_parts.json", &document);
    let script = "ulimit -t 30; exec \"$0\" \"$@\"";
    let ended = Lgoose::new(["import", path.as_str()])
        .through("sh", &["-c", script])
        .finish();
    let _kept = std::fs::remove_file(&path);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

#[test]
fn a_sum_of_very_many_values_loads() {
    let sum = "'a' + j.id + ".repeat(400) + "'b'";
    let script = format!("const j = pm.response.json(); pm.environment.set('x', {sum});");
    let event = json!([{ "listen": "test", "script": { "exec": [script] } }]);
    let items = json!([{ "name": "a", "event": event, "request": "http://127.0.0.1:8/a" }]);
    let collection = json!({
        "info": { "name": "a", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" }, "item": items,
    });
    let path = plan("sum.postman_collection.json", &collection.to_string());
    let (path, text, _) = imported(&path, "imported_sum.lua");
    assert!(text.contains("table.concat"), "{text}");
    let checked = Lgoose::new(["check", &path]).finish();
    assert_eq!(checked.code, 0, "{}", checked.stderr);
}

#[test]
fn keys_of_a_collection_are_known_by_their_shape_wherever_they_stand() {
    const GOOGLE: &str = "AIzaSyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q";
    const GITHUB: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    const BOT: &str = "bot123456789:AAHk3x9Qw7Zt5Rb2Lm8Nc4Vd6Fg1Hj0Kp-Y";
    let body = json!({ "mode": "raw", "raw": json!({ "a": GITHUB, "b": "b" }).to_string(), "options": { "raw": { "language": "json" } } });
    let header = json!([{ "key": "X-Own", "value": GITHUB }]);
    let items = json!([
        { "name": "query", "request": { "method": "GET", "url": format!("http://127.0.0.1:8/q?p=a|b&key={GOOGLE}") } },
        { "name": "body", "request": { "method": "POST", "url": "http://127.0.0.1:8/b", "header": header, "body": body } },
        { "name": "path", "request": { "method": "GET", "url": format!("http://127.0.0.1:8/{BOT}/getMe") } },
        { "name": "variable", "request": { "method": "GET", "url": "http://127.0.0.1:8/v/{{x}}" } },
    ]);
    let collection = json!({
        "info": { "name": "a", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
        "item": items, "variable": [{ "key": "x", "value": GITHUB }],
    });
    let path = plan("keys.postman_collection.json", &collection.to_string());
    let (_, text, told) = imported(&path, "imported_keys.lua");
    for key in [GOOGLE, GITHUB, BOT] {
        assert!(!text.contains(key) && !told.contains(key), "{text}\n{told}");
    }
    for part in ["set KEY", "set OWN", "set API_KEY"] {
        assert!(told.contains(part), "{part} in\n{told}");
    }
}

#[test]
fn files_beside_a_collection_are_refused_where_they_are_none_or_mean_nothing() {
    let collection = json!({
        "info": { "name": "a", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
        "item": [{ "name": "a", "request": "http://127.0.0.1:8/{{x}}" }],
    });
    let collection = plan("beside.postman_collection.json", &collection.to_string());
    let document = json!({ "openapi": "3.0.0", "info": {}, "paths": { "/a": { "get": {} } } });
    let document = plan("beside.openapi.json", &document.to_string());
    let other = plan("beside_other.json", "{\"a\":1}");
    let empty = plan("beside_empty.csv", "");
    let rows = plan("beside_rows.csv", "x,y\n1,2\n");
    for (flag, beside, file, said, help) in [
        (
            "--environment",
            &other,
            &collection,
            "is no environment of Postman",
            "exported of an environment",
        ),
        (
            "--environment",
            &"none.json".to_owned(),
            &collection,
            "cannot read 'none.json'",
            "with '--environment'",
        ),
        (
            "--data",
            &empty,
            &collection,
            "has no rows for a collection",
            "a CSV file",
        ),
        (
            "--data",
            &other,
            &collection,
            "has no rows for a collection",
            "a list of objects",
        ),
        (
            "--data",
            &rows,
            &document,
            "'--data' is for collections of Postman",
            "leave it out",
        ),
        (
            "--environment",
            &other,
            &document,
            "'--environment' is for collections",
            "leave it out",
        ),
        (
            "--site",
            &"x.test".to_owned(),
            &collection,
            "'--site' chooses one of the sites",
            "'-H'",
        ),
    ] {
        let ended = Lgoose::new(["import", file, flag, beside]).finish();
        assert_eq!(ended.code, 2, "{flag} {beside}: {}", ended.stdout);
        for part in [said, help] {
            assert!(ended.stderr.contains(part), "{part} in\n{}", ended.stderr);
        }
    }
    let ended = Lgoose::new(["import", &collection, "--data", &rows]).finish();
    assert!(
        ended.stdout.contains("user.data.row = rows:next()"),
        "{}",
        ended.stdout
    );
}
