//! Lists that are read, and lines that are refused.

use super::*;
use lgoose_base::files::FileReach;
use std::fs;
use std::path::Path;

fn folder(path: &Path) -> PlanFolder {
    PlanFolder::new(path, FileReach::Folder)
}

fn read(text: &str) -> Vec<Target> {
    parse("list.txt", text, &folder(Path::new(""))).expect("a good list")
}

fn mistake(text: &str) -> String {
    let mistake = parse("list.txt", text, &folder(Path::new("/no/such")));
    mistake.expect_err("a mistake").to_string()
}

fn short(targets: &[Target]) -> Vec<String> {
    let each = targets.iter();
    each.map(|target| format!("{}: {} {}", target.line, target.method, target.url))
        .collect()
}

#[test]
fn a_line_is_a_url_with_or_without_a_method() {
    let targets = read(
        "# mine\n\nhttp://a/b\nPOST https://a/c?d=1\n  DELETE\thttp://a/e \n/f\nPUT /g\n"
            .replace("/f\n", "\n")
            .as_str(),
    );
    assert_eq!(
        short(&targets),
        [
            "3: GET http://a/b",
            "4: POST https://a/c?d=1",
            "5: DELETE http://a/e",
            "7: PUT /g"
        ]
    );
}

#[test]
fn headers_and_a_body_belong_to_the_target_above_them() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("b.json"), b"{}").expect("written");
    let text = "POST http://a/1\nX-Id: 7\nAccept: a: b\n@b.json\n\nGET http://a/2\nPUT http://a/3\n# c\n@b.json\n";
    let targets = parse("list", text, &self::folder(folder.path())).expect("a good list");
    let headers = [("X-Id", "7"), ("Accept", "a: b")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(targets[0].headers, headers);
    let bodies = targets.iter().map(|target| target.body.as_ref());
    let bodies: Vec<Option<&[u8]>> = bodies
        .map(|body| body.map(|body| body.bytes.as_slice()))
        .collect();
    assert_eq!(bodies, [Some(&b"{}"[..]), None, Some(&b"{}"[..])]);
}

#[test]
fn a_bad_line_is_reported_with_its_number() {
    for (text, part, place) in [
        ("http://a/\nhttp://[/\n", "this is no URL", "list.txt:2"),
        (
            "GET http://a/\nnonsense\n",
            "no target, header or body",
            "list.txt:2",
        ),
        (
            "http://a/\n\nX-Id: 7\n",
            "'X-Id' belongs to no target",
            "list.txt:3",
        ),
        (
            "http://a/\n\n@b\n",
            "'@b' belongs to no target",
            "list.txt:3",
        ),
        (
            "POST http://a/\n@b\n",
            "cannot read the body 'b'",
            "list.txt:2",
        ),
        ("get http://a/\n", "write 'GET'", "list.txt:1"),
        ("http://a/\nPSOT http://a/ b\n", "no target", "list.txt:2"),
        ("http://a/ # no comment\n", "no target", "list.txt:1"),
    ] {
        let text = mistake(text);
        assert!(text.contains(part) && text.contains(place), "{text}");
    }
    let many = "http://a/\n".repeat(MAX_TARGETS + 1);
    assert!(mistake(&many).contains("data.lines"));
}

#[test]
fn a_list_is_recognised_and_lua_is_not() {
    for list in [
        "http://a/",
        "\u{feff}# x\n\nGET https://a/b\nX: y\n",
        "POST /orders\n",
        "demo:api/products\r\n",
    ] {
        assert!(is_list("(standard input)", list), "{list}");
    }
    for plan in [
        "",
        "# only a comment",
        "#!/usr/bin/env lgoose\ntask { function(user) user:get \"http://a/\" end }",
        "-- http://a/\nplan { host = \"http://a\" }",
        "local urls = [[\nhttp://a/\nhttp://b/\nhttp://c/\n]]",
        "return /x",
        "wget http://a/",
        "user:get \"/\"",
    ] {
        assert!(!is_list("plan.lua", plan), "{plan}");
    }
    let wrong = "htp://a/\nhttp://a/1\nhttp://a/2\n";
    assert!(is_list("urls.txt", wrong) && !is_list("urls.lua", wrong));
}
