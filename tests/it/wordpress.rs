//! `plans/wordpress.lua` against a real WordPress, which `tests/wordpress/site.sh` starts. Where that is not possible,
//! the test is skipped with a message.

use crate::outside_server::Script;
use crate::program::in_repository;
use crate::report::{Report, run};
use crate::skipping::skip;
use std::process::Command;

/// A WordPress that runs until this is dropped.
pub(crate) struct WordPress {
    _script: Script,
    pub(crate) url: String,
    pub(crate) name: String,
    pub(crate) password: String,
}

impl WordPress {
    /// Starts one; `None` with a printed reason where that is not possible.
    pub(crate) fn start() -> Option<WordPress> {
        let mut command = Command::new(in_repository("tests/wordpress/site.sh"));
        let started = Script::start(&mut command).expect("the script can be started");
        let (script, line) = match started {
            Ok(started) => started,
            Err(why) => {
                skip("WordPress", &why);
                return None;
            }
        };
        let mut words = line.split('\t').map(str::to_owned);
        let mut word = || words.next().expect("URL, name and password");
        let (url, name, password) = (word(), word(), word());
        Some(WordPress {
            _script: script,
            url,
            name,
            password,
        })
    }

    /// Runs one iteration of the plan's users, with more arguments.
    fn run(&self, password: &str, more: &[&str]) -> Report {
        let variables = [
            format!("WP_USER={}", self.name),
            format!("WP_PASSWORD={password}"),
        ];
        let [name, password] = variables.each_ref().map(String::as_str);
        let plan = ["plans/wordpress.lua", "-H", &self.url];
        let variables = ["-e", name, "-e", password];
        let load = ["-r", "1000", "-i", "1", "--wait-factor", "0"];
        let arguments = [&plan[..], &variables, &load, more].concat();
        run(arguments)
    }
}

#[test]
fn a_real_wordpress_is_browsed_searched_and_commented_on() {
    let Some(site) = WordPress::start() else {
        return;
    };
    let report = site.run(&site.password, &["-u", "10"]);
    let errors = report.errors().join("\n");
    assert_eq!(
        (report.total("failures"), report.task_failures()),
        (0, 0),
        "{errors}"
    );
    // Nine readers, and one author with a comment of its own.
    for (row, count) in [
        ("GET search", 18),
        ("POST comment", 10),
        ("POST login", 1),
        ("GET logout", 1),
    ] {
        assert_eq!(report.count(row), count, "{row}: {:?}", report.rows());
    }
    assert!(report.count("GET asset") > 0);
    // A login that did not work is seen, though WordPress answers it with 200; that user is then gone.
    let report = site.run("not the password", &["-u", "1", "--scenario", "author"]);
    assert_eq!(report.failures("POST login"), 1, "{:?}", report.errors());
    assert_eq!(report.task("log in"), (1, 1));
}
