//! `tests/django/admin.lua` against a real Django over https, which `tests/django/site.py` starts: what the report says is
//! what its access log and its database have. Where there is no Django, the test is skipped with a message.

use crate::outside_server::{Script, python};
use crate::program::{Lgoose, in_repository, scratch};
use crate::report::{Report, run};
use crate::secure::Authority;
use serde_json::Value;
use std::process::Command;

/// The variable that names the Python which has Django, such as that of a virtual environment. Without it, that of the
/// environment which `.ci/run` makes beside what is built is taken, or else the machine's.
const PYTHON: &str = "DJANGO_PYTHON";

const PLAN: &str = "tests/django/admin.lua";

/// A Django that runs until this is dropped.
struct Django {
    script: Script,
    url: String,
    name: String,
    password: String,
    authority: String,
}

impl Django {
    /// Starts one; `None` with a printed reason where that is not possible.
    fn start() -> Option<Django> {
        let authority = Authority::new();
        let identity = authority.sign(&["localhost"]);
        let files = [
            ("django.crt", identity.certificate.pem()),
            ("django.key", identity.key.serialize_pem()),
        ];
        let files = files.map(|(name, text)| {
            let path = scratch(name);
            std::fs::write(&path, text).expect("the scratch folder takes a file");
            path
        });
        let python = python(PYTHON, "django");
        let mut command = Command::new(&python);
        let command = command
            .arg(in_repository("tests/django/site.py"))
            .args(files);
        let (script, line) = match Script::start(command) {
            Ok(Ok(started)) => started,
            Ok(Err(why)) => {
                skip(&why);
                return None;
            }
            Err(error) => {
                skip(&format!("skipped: {python}: {error}"));
                return None;
            }
        };
        let mut words = line.split('\t').map(str::to_owned);
        let mut word = || words.next().expect("URL, name and password");
        let (url, name, password) = (word(), word(), word());
        let authority = authority.file("django-authority.crt");
        Some(Django {
            script,
            url,
            name,
            password,
            authority,
        })
    }

    /// Runs the plan with these arguments.
    fn run(&self, password: &str, more: &[&str]) -> Report {
        let variables = [
            format!("DJANGO_USER={}", self.name),
            format!("DJANGO_PASSWORD={password}"),
        ];
        let [name, password] = variables.each_ref().map(String::as_str);
        let site = ["-H", &self.url, "--ca", &self.authority];
        let variables = ["-e", name, "-e", password];
        let load = ["-r", "1000", "--wait-factor", "0"];
        run([&[PLAN][..], &site, &variables, &load, more].concat())
    }

    /// Asks what it has counted by now.
    fn counted(&mut self) -> Value {
        let line = self.script.ask();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: '{line}'"))
    }
}

/// Says why nothing is tested; a failure where that must not be.
fn skip(why: &str) {
    crate::skipping::skip(PLAN, &format!("{why}; {PYTHON} names a Python that has it"));
    assert!(std::env::var_os("LGOOSE_NEED_DJANGO").is_none(), "{why}");
}

/// Returns the number of requests in an access log whose method, path and status begin and end so.
fn logged(counted: &Value, beginning: &str, end: &str) -> u64 {
    let log = counted["access"].as_object().expect("requests");
    let fits = |line: &str| line.starts_with(beginning) && line.ends_with(end);
    let fitting = log.iter().filter(|(line, _)| fits(line));
    fitting
        .map(|(_, count)| count.as_u64().expect("a number"))
        .sum()
}

#[test]
fn the_plan_for_the_admin_checks_without_a_warning() {
    let checked = Lgoose::new(["check", PLAN]).finish();
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""));
}

#[test]
fn a_real_django_admin_counts_the_same_in_its_access_log_and_its_database() {
    let Some(mut site) = Django::start() else {
        return;
    };
    let (users, iterations) = (4, 12);
    let report = site.run(&site.password, &["-u", "4", "-i", "3"]);
    let errors = report.errors().join("\n");
    assert_eq!(
        (report.total("failures"), report.task_failures()),
        (0, 0),
        "{errors}"
    );
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    let counted = site.counted();
    assert_eq!(logged(&counted, "", ""), report.sent(), "{counted}");
    assert_eq!(
        logged(&counted, "", " 200") + logged(&counted, "", " 302"),
        report.sent()
    );

    const PRODUCTS: &str = " /admin/shop/product/";
    for (row, method, path, status, count) in [
        ("POST login", "POST", " /admin/login/ ", " 302", users),
        ("POST logout", "POST", " /admin/logout/ ", " 200", users),
        (
            "POST add",
            "POST",
            " /admin/shop/product/add/ ",
            " 302",
            2 * iterations,
        ),
    ] {
        assert_eq!(report.count(row), count, "{row}");
        assert_eq!(
            logged(&counted, &format!("{method}{path}"), status),
            count,
            "{row}: {counted}"
        );
    }
    for (row, end) in [
        ("GET change form", "/change/ 200"),
        ("GET delete form", "/delete/ 200"),
    ] {
        assert_eq!(report.count(row), iterations, "{row}");
        assert_eq!(
            logged(&counted, &format!("GET{PRODUCTS}"), end),
            iterations,
            "{row}: {counted}"
        );
    }
    assert_eq!(report.count("POST delete"), iterations);
    assert_eq!(
        logged(&counted, &format!("POST{PRODUCTS}"), "/delete/ 302"),
        iterations
    );
    // "Save and add another" leads to an empty form, "Save" and a deletion to the list.
    let forms = logged(&counted, &format!("GET{PRODUCTS}add/ "), " 200");
    assert_eq!(forms, report.count("GET add form") + iterations);
    let lists = logged(&counted, &format!("GET{PRODUCTS} "), " 200");
    assert_eq!(lists, report.count("GET list") + 2 * iterations);

    // Of two products that each iteration added one is left, which is not for sale.
    assert_eq!(counted["added"], 2 * iterations, "{counted}");
    assert_eq!(counted["deleted"], iterations, "{counted}");
    let left = counted["products"].as_array().expect("names");
    assert_eq!(left.len() as u64, iterations, "{left:?}");
    let second = |name: &Value| name.as_str().is_some_and(|name| name.ends_with(" II"));
    assert!(left.iter().all(second), "{left:?}");
    assert_eq!(counted["for_sale"], 0);
    assert_eq!(counted["sessions"], 0, "all have logged out");
    // The manuals came as they were: one file of the plan's folder for all, and one of its own for each other product.
    let manual = std::fs::read(in_repository("tests/django/manual.txt")).expect("it can be read");
    let manuals = counted["manuals"].as_object().expect("files");
    let sent = manuals.values().filter(|count| **count == 1).count() as u64;
    assert_eq!(sent, iterations, "{manuals:?}");
    assert_eq!(manuals[&sha256(&manual)], iterations, "{manuals:?}");

    // A login that did not work is seen, though Django answers it with 200; that user is then gone.
    let report = site.run("not the password", &["-u", "1", "-i", "1"]);
    assert_eq!(report.failures("POST login"), 1, "{:?}", report.errors());
    assert_eq!(report.task("log in"), (1, 1));
    let errors = report.json["errors"].as_array().expect("a list");
    let said = |error: &Value| {
        error["exemplars"][0]["page_says"]
            .as_str()
            .map(str::to_owned)
    };
    let said: Vec<String> = errors.iter().filter_map(said).collect();
    let wrong = "Please enter the correct username and password for a staff account.";
    assert!(said.len() == 1 && said[0].starts_with(wrong), "{said:?}");
    assert_eq!(site.counted()["added"], 2 * iterations);
}

/// The SHA-256 of some bytes in hexadecimal digits.
fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
