//! `lgoose import` of tests of other load testers: the plans run, and send what the tests send.

use crate::import::checks_clean;
use crate::program::{Lgoose, empty_folder, in_repository};
use crate::report::{Report, read};
use lgoose::demo::{Behaviour, Demo, Site};
use std::path::Path;

fn shop() -> Demo {
    Demo::start(Site::Api, 0, Behaviour::default(), 1).expect("a port is free")
}

/// Imports a file of `tests/import` into a folder with all that lies beside it; returns the path of the plan, its text and the notes.
fn imported(name: &str) -> (String, String, String) {
    let folder = empty_folder(&format!("import_{name}"));
    let from = in_repository("tests/import");
    std::fs::copy(from.join("logins.csv"), folder.join("logins.csv")).expect("copied");
    let file = from.join(name).display().to_string();
    let ended = Lgoose::new(["import", &file]).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let path = folder.join("plan.lua");
    std::fs::write(&path, &ended.stdout).expect("written");
    let path = path.display().to_string();
    checks_clean(&path, &ended.stdout);
    (path, ended.stdout, ended.stderr)
}

fn runs(path: &str, site: &Demo, more: &[&str]) -> Report {
    let host = site.url();
    let arguments = [path, "-H", &host, "-o", "json=-"];
    let report = read(Lgoose::new(arguments.iter().chain(more)).finish());
    assert_eq!(report.errors(), [""; 0]);
    assert_eq!((report.total("failures"), report.task_failures()), (0, 0));
    report
}

#[test]
fn a_test_plan_of_jmeter_sends_what_it_sends_there() {
    let site = shop();
    let (path, text, notes) = imported("shop.jmx");
    for part in [
        "host = \"http://127.0.0.1:8080\"",
        "users = tonumber(env(\"users\", \"5\"))",
        "iterations = 2",
        "user.data.login, user.data.pin = logins:next():match(",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert_eq!(
        notes,
        "note: left out 1 listener: '-o html=FILE' and '--request-log FILE' keep results\n"
    );
    let report = runs(&path, &site, &[]);
    let served = site.served();
    let counts = [
        "POST /api/login",
        "GET /api/products",
        "GET /api/products/%",
        "POST /api/orders",
        "GET /api/orders",
        "GET /",
    ];
    // Five users, two iterations each.
    assert_eq!(
        counts.map(|label| served[label]),
        [10, 10, 20, 10, 10, 5],
        "{served:?}"
    );
    assert_eq!(report.count("GET product"), 20);
    assert_eq!(report.task("order"), (10, 0));
}

#[test]
fn a_test_of_artillery_sends_what_it_sends_there() {
    let site = shop();
    let (path, text, notes) = imported("shop.artillery.yml");
    assert!(
        text.contains("stages = { \"0s:5/s\", \"60s:5/s\" }"),
        "{text}"
    );
    assert!(notes.contains("set PASSWORD"), "{notes}");
    runs(
        &path,
        &site,
        &["-e", "PASSWORD=12345", "--rate", "50/s", "-t", "200ms"],
    );
    let served = site.served();
    let iterations = served["POST /api/login"];
    assert!(iterations > 0);
    let counts = [
        "GET /api/products",
        "GET /api/products/%",
        "POST /api/orders",
    ];
    assert_eq!(
        counts.map(|label| served[label]),
        [iterations, 2 * iterations, iterations],
        "{served:?}"
    );
}

#[test]
fn a_script_of_k6_sends_the_calls_that_are_written_down() {
    let site = shop();
    let folder = empty_folder("import_k6");
    for (script, part) in [
        ("k6.js", "stages = { "),
        ("k6_scenarios.js", "rate = \"20/s\""),
    ] {
        let file = in_repository(&format!("examples/from/{script}"))
            .display()
            .to_string();
        let ended = Lgoose::new(["import", &file]).finish();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert!(ended.stdout.contains(part), "{}", ended.stdout);
        assert!(ended.stderr.contains("note: "), "{}", ended.stderr);
        let path = folder.join(script).with_extension("lua");
        std::fs::write(&path, &ended.stdout).expect("written");
        let path = path.display().to_string();
        checks_clean(&path, &ended.stdout);
        let host = site.url();
        let arguments = [path.as_str(), "-H", &host, "-e", "PASSWORD=12345", "--once"];
        let once = Lgoose::new(arguments).finish();
        assert!(once.code < 2, "{}", once.stderr);
    }
    let served = site.served();
    // The login leads to the account.
    assert_eq!(
        (served["POST /login"], served["GET /account"]),
        (1, 2),
        "{served:?}"
    );
    assert_eq!(served["GET /api/orders"], 1, "{served:?}");
}

#[test]
fn files_that_cannot_be_imported_are_reported() {
    let folder = empty_folder("import_broken");
    let write = |name: &str, text: &str| {
        let path: &Path = &folder.join(name);
        std::fs::write(path, text).expect("written");
        path.display().to_string()
    };
    for (file, part) in [
        (
            write("a.jmx", "<jmeterTestPlan><hashTree>"),
            "is no XML that can be read: line 1",
        ),
        (
            write("b.jmx", "<jmeterTestPlan><hashTree/></jmeterTestPlan>"),
            "has no HTTP request",
        ),
        (
            write("c.yml", "config:\n  target: [\nscenarios: []\n"),
            "is no YAML",
        ),
        (
            write("d.yml", "config:\n  target: http://a\nscenarios: []\n"),
            "has no HTTP request",
        ),
        (write("e.xml", "<a/>"), "cannot be imported"),
    ] {
        let ended = Lgoose::new(["import", &file]).finish();
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (2, ""),
            "{}",
            ended.stderr
        );
        assert!(ended.stderr.contains(part), "{part} in\n{}", ended.stderr);
    }
}
