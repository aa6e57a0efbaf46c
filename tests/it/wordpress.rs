//! `plans/wordpress.lua` against a real WordPress, which `tests/wordpress/site.sh` starts. Where that is not possible,
//! the test is skipped with a message.

use crate::program::in_repository;
use crate::report::{Report, run};
use crate::skipping::skip;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// The exit code of the script if something that it needs is not installed.
const SKIPPED: i32 = 77;

/// A WordPress that runs until this is dropped.
pub(crate) struct WordPress {
    script: Child,
    pub(crate) url: String,
    pub(crate) name: String,
    pub(crate) password: String,
}

impl WordPress {
    /// Starts one; `None` with a printed reason where that is not possible.
    pub(crate) fn start() -> Option<WordPress> {
        let mut script = Command::new(in_repository("tests/wordpress/site.sh"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the script can be started");
        let mut line = String::new();
        let stdout = script.stdout.as_mut().expect("stdout is piped");
        let read = BufReader::new(stdout).read_line(&mut line);
        read.expect("the script prints text");
        if line.is_empty() {
            let status = script.wait().expect("the script ends");
            let mut why = String::new();
            let stderr = script.stderr.as_mut().expect("stderr is piped");
            stderr.read_to_string(&mut why).expect("it prints text");
            assert_eq!(status.code(), Some(SKIPPED), "{why}");
            skip("WordPress", why.trim());
            return None;
        }
        let mut words = line.trim_end().split('\t').map(str::to_owned);
        let mut word = || words.next().expect("URL, name and password");
        let (url, name, password) = (word(), word(), word());
        Some(WordPress {
            script,
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

impl Drop for WordPress {
    fn drop(&mut self) {
        // The end of its input is what it waits for; it ends its own processes and removes its folder.
        drop(self.script.stdin.take());
        let _ended = self.script.wait();
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
