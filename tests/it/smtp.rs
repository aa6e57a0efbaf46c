//! `require "lgoose.smtp"` against a mail server that did not come from here (aiosmtpd, a package of Python), which says what it has
//! accepted. Without one the test says "skipped" and passes, and fails with `LGOOSE_NEED_AIOSMTPD=1`; `AIOSMTPD_PYTHON` names a
//! Python that has it.

use crate::outside_server::{OutsideServer, python};
use crate::report::iterate_at;
use crate::secure::Authority;
use serde_json::{Value, json};

#[test]
fn mails_arrive_as_they_were_written() {
    let authority = Authority::new();
    let [cert, key] = authority.sign(&["judge.test"]).files("smtp");
    let python = python("AIOSMTPD_PYTHON", "aiosmtpd");
    let skipped = [
        "mails over SMTP",
        "a Python that has 'aiosmtpd', named by AIOSMTPD_PYTHON",
    ];
    let files = [&*cert, &key];
    let Some(judge) = OutsideServer::start(&python, "tests/smtp_judge.py", &files, skipped) else {
        let needed = std::env::var_os("LGOOSE_NEED_AIOSMTPD").is_some();
        return assert!(!needed, "aiosmtpd is missing");
    };
    let url = format!("http://127.0.0.1:{}", judge.port);
    let ca = authority.file("smtp_ca.pem");
    let report = iterate_at("tests/lua/smtp.lua", &url, 1, 1, &["--ca", &ca]);
    let mails = judge.finish();
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
