//! Servers that did not come from here, in other languages: a script prints its port when it is ready, and ends when its standard
//! input is closed; it exits with 77 and says why where the package that it needs is missing.

use crate::program::in_repository;
use crate::skipping::skip;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// The exit code of a script whose package is missing.
const MISSING: i32 = 77;

/// Such a server, which ends with this.
pub(crate) struct OutsideServer {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub(crate) port: u16,
}

impl OutsideServer {
    /// Starts a script of the tests with the program that is its interpreter. `None` where it is missing, or its package is: then
    /// `skipped`, what is not tested and what it wants, is said.
    pub(crate) fn start(
        program: &str,
        script: &str,
        arguments: &[&str],
        skipped: [&str; 2],
    ) -> Option<OutsideServer> {
        let child = Command::new(program)
            .arg(in_repository(script))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let [what, wants] = skipped;
        let Ok(mut child) = child else {
            skip(what, wants);
            return None;
        };
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut port = String::new();
        stdout.read_line(&mut port).expect("it prints text");
        if port.is_empty() {
            let status = child.wait().expect("it ends");
            let mut why = String::new();
            let stderr = child.stderr.as_mut().expect("stderr is piped");
            stderr.read_to_string(&mut why).expect("it prints text");
            assert_eq!(status.code(), Some(MISSING), "{why}");
            skip(what, wants);
            return None;
        }
        let port = port.trim().parse().expect("a port");
        Some(OutsideServer {
            child,
            stdout,
            port,
        })
    }

    /// Has it end. Returns what it has printed since, each line a value of JSON.
    pub(crate) fn finish(mut self) -> Vec<Value> {
        drop(self.child.stdin.take());
        let lines = self.stdout.by_ref().lines();
        let value = |line: String| serde_json::from_str(&line).expect("JSON");
        let values = lines.map(|line| value(line.expect("text"))).collect();
        self.child.wait().expect("it ends");
        values
    }
}

impl Drop for OutsideServer {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Returns what stands for a program or a folder: what a variable names, what CI has put beside what is built, or else the other.
pub(crate) fn found(variable: &str, in_ci: &str, other: &str) -> String {
    let of_ci = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("..")
        .join(in_ci);
    let of_ci = of_ci.exists().then(|| of_ci.display().to_string());
    let named = std::env::var(variable).ok();
    named.or(of_ci).unwrap_or_else(|| other.to_owned())
}
