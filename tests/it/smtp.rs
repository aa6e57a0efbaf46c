//! `require "lgoose.smtp"` against a mail server that did not come from here (aiosmtpd, a package of Python), which says what it has
//! accepted. Without one the test says "skipped" and passes, and fails with `LGOOSE_NEED_AIOSMTPD=1`; `AIOSMTPD_PYTHON` names a
//! Python that has it.

use crate::program::in_repository;
use crate::report::iterate_at;
use crate::secure::Authority;
use crate::skipping::skip;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// The Python of CI.
const IN_CI: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/../aiosmtpd/bin/python3");

#[test]
fn mails_arrive_as_they_were_written() {
    let authority = Authority::new();
    let files = authority.sign(&["judge.test"]).files("smtp");
    let of_ci = Path::new(IN_CI).exists().then_some(IN_CI);
    let python = std::env::var("AIOSMTPD_PYTHON");
    let python = python.unwrap_or_else(|_| of_ci.unwrap_or("python3").to_owned());
    let judge = Command::new(&python)
        .arg(in_repository("tests/smtp_judge.py"))
        .args(files)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let needed = std::env::var_os("LGOOSE_NEED_AIOSMTPD").is_some();
    let missing = || {
        assert!(!needed, "aiosmtpd is missing");
        skip(
            "mails over SMTP",
            "a Python that has 'aiosmtpd', named by AIOSMTPD_PYTHON",
        );
    };
    let Ok(mut judge) = judge else {
        return missing();
    };
    let mut stdout = BufReader::new(judge.stdout.take().expect("stdout is piped"));
    let mut port = String::new();
    stdout.read_line(&mut port).expect("it prints text");
    if port.is_empty() {
        let status = judge.wait().expect("it ends");
        let mut why = String::new();
        let stderr = judge.stderr.as_mut().expect("stderr is piped");
        stderr.read_to_string(&mut why).expect("it prints text");
        assert_eq!(status.code(), Some(77), "{why}");
        return missing();
    }
    let url = format!("http://127.0.0.1:{}", port.trim());
    let ca = authority.file("smtp_ca.pem");
    let report = iterate_at("tests/lua/smtp.lua", &url, 1, 1, &["--ca", &ca]);
    drop(judge.stdin.take());
    let mails: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(&line.expect("text")).expect("JSON"))
        .collect();
    judge.wait().expect("it ends");
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let mail = |from: &str, to: Value, subject: &str, text: &str| {
        json!({
            "from": from, "to": to, "subject": subject, "text": text, "tls": false, "user": null, "kind": null,
            "defects": [], "date": true,
        })
    };
    let (load, ann) = ("load@example.org", json!(["ann@example.org"]));
    let both = json!(["ann@example.org", "bob@example.org"]);
    let long = format!("Grüße\n{}", "x".repeat(2000));
    let subject = format!("Größe {}", "ä".repeat(60));
    let mut expected = vec![
        mail(load, ann.clone(), "plain", "one\n.two\n..\nthree\n"),
        mail(load, both, &subject, &long),
        mail("<>", ann.clone(), "", ""),
        mail(load, ann.clone(), "own", ".\n.end\n"),
        mail(load, ann.clone(), "after", ""),
        mail(load, ann.clone(), "secret", ""),
        mail(load, ann.clone(), "beside", ""),
        mail(load, ann, "beside", ""),
    ];
    expected[2]["kind"] = json!("order");
    expected[3]["date"] = json!(false);
    (expected[5]["tls"], expected[5]["user"]) = (json!(true), json!("ann"));
    for (mail, expected) in mails.iter().zip(&expected) {
        assert_eq!(mail, expected);
    }
    assert_eq!(mails.len(), expected.len());
    let rows = report.json["requests"].as_array().expect("rows");
    let count = |name: &str| {
        let of = |row: &&Value| row["method"] == "SMTP" && row["name"] == name;
        let row = rows.iter().find(of).expect(name);
        (row["count"].as_u64(), row["failures"].as_u64())
    };
    assert_eq!(count("send"), (Some(5), Some(0)));
    assert_eq!(count("refused"), (Some(1), Some(1)));
    assert_eq!(count("starttls"), (Some(3), Some(1)));
    assert_eq!(count("auth"), (Some(3), Some(2)));
    assert_eq!(count("hello"), (Some(7), Some(0)));
}
