//! Tests of the shop over real connections: granted and refused requests.

use crate::fixture::{FixtureResponse, Visitor};
use crate::{Behaviour, Demo, Site};
use serde_json::{Value, json};

fn visitor() -> Visitor {
    let demo = Demo::start(Site::Api, 0, Behaviour::default(), 1);
    Visitor {
        demo: demo.expect("a free port is found"),
        cookie: String::new(),
    }
}

fn send(visitor: &Visitor, method: &str, path: &str, token: &str, body: &str) -> FixtureResponse {
    let more = format!(
        "Authorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
        body.len()
    );
    visitor.send(method, path, &more, body)
}

fn json_of(reply: &FixtureResponse) -> Value {
    serde_json::from_slice(&reply.body).expect("the answer is JSON")
}

fn token(visitor: &Visitor, name: &str) -> String {
    let body = json!({ "username": name, "password": "12345" }).to_string();
    let reply = send(visitor, "POST", "/api/login", "", &body);
    assert_eq!(reply.status, 200);
    json_of(&reply)["token"]
        .as_str()
        .expect("a token")
        .to_owned()
}

#[test]
fn an_order_is_made_read_changed_and_deleted_by_its_owner_alone() {
    let visitor = visitor();
    let (own, other) = (token(&visitor, "user7"), token(&visitor, "user8"));
    let made = send(
        &visitor,
        "POST",
        "/api/orders",
        &own,
        r#"{"product":7,"quantity":2}"#,
    );
    assert_eq!(made.status, 201);
    let place = made.header("location").expect("where it is").to_owned();
    assert_eq!(
        json_of(&made),
        json_of(&send(&visitor, "GET", &place, &own, ""))
    );
    let invoice = format!("{place}/invoice");
    for status in [503, 503, 200] {
        let reply = send(&visitor, "GET", &invoice, &own, "");
        assert_eq!(reply.status, status);
        assert_eq!(reply.header("retry-after").is_some(), status == 503);
    }
    for (method, token, body, status) in [
        ("GET", &other, "", 404),
        ("DELETE", &other, "", 404),
        ("PATCH", &other, r#"{"quantity":3}"#, 404),
        ("PATCH", &own, r#"{"quantity":3}"#, 200),
        ("PUT", &own, r#"{"quantity":3}"#, 422),
        ("PUT", &own, r#"{"product":8,"quantity":3}"#, 200),
        ("PUT", &own, "{", 400),
        ("DELETE", &own, "", 204),
        ("DELETE", &own, "", 404),
        ("GET", &own, "", 404),
    ] {
        let reply = send(&visitor, method, &place, token, body);
        assert_eq!(reply.status, status, "{method} {body}");
        assert_eq!(reply.body.is_empty(), status == 204, "{method}");
    }
}

#[test]
fn a_request_without_a_valid_token_or_password_is_refused() {
    let visitor = visitor();
    for path in ["/api/me", "/api/orders", "/api/orders/1"] {
        for token in ["", "7.0.x"] {
            let reply = send(&visitor, "GET", path, token, "");
            assert_eq!(reply.status, 401, "{path}");
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
        }
    }
    let wrong = r#"{"username":"user7","password":"x"}"#;
    assert_eq!(send(&visitor, "POST", "/api/login", "", wrong).status, 401);
    let form = visitor.post(
        "/api/login",
        &[("username", "user7"), ("password", "12345")],
    );
    assert_eq!(form.status, 415);
    let realm = Some("Basic realm=\"shop\"");
    assert_eq!(visitor.get("/basic").header("www-authenticate"), realm);
    let good = "Authorization: Basic dXNlcjc6MTIzNDU=\r\n";
    let reply = visitor.send("GET", "/basic", good, "");
    assert_eq!(json_of(&reply), json!({ "name": "user7" }));
}

#[test]
fn the_form_logs_in_and_out_by_a_cookie() {
    let mut visitor = visitor();
    assert_eq!(visitor.get("/account").header("location"), Some("/login"));
    let wrong = visitor.post("/login", &[("username", "user7"), ("password", "x")]);
    assert!(wrong.status == 200 && wrong.contains("Wrong username or password"));
    assert_eq!(wrong.header("set-cookie"), None);
    let right = visitor.post("/login", &[("username", "user7"), ("password", "12345")]);
    assert_eq!(
        (right.status, right.header("location")),
        (303, Some("/account"))
    );
    let cookie = right.header("set-cookie").expect("a cookie");
    visitor.cookie = cookie.split(';').next().unwrap_or_default().to_owned();
    assert!(visitor.get("/account").contains("user7"));
    let out = visitor.send("POST", "/logout", "Content-Length: 0\r\n", "");
    assert!(
        out.header("set-cookie")
            .is_some_and(|cookie| cookie.contains("Max-Age=0"))
    );
    assert_eq!(
        visitor.send("DELETE", "/login", "", "").header("allow"),
        Some("GET, POST")
    );
    assert_eq!(visitor.get("/nowhere").status, 404);
    let served = visitor.demo.served();
    assert_eq!(
        (
            served["POST /login"],
            served["GET /account"],
            served["other"]
        ),
        (2, 2, 2)
    );
}
