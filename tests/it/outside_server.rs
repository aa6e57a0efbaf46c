//! Servers that did not come from here, started by a script: it prints a line when it is ready, and ends when its standard input is
//! closed; it exits with 77 and says why where something that it needs is missing.

use crate::program::in_repository;
use crate::skipping::skip;
use serde_json::Value;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// The exit code of a script that lacks something.
const MISSING: i32 = 77;

/// Such a script, which ends with this.
pub(crate) struct Script {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Script {
    /// Starts a script, and waits until it is ready. Returns it with the line that it has printed, or why it lacks something.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(command: &mut Command) -> io::Result<Result<(Script, String), String>> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.stderr(Stdio::piped()).spawn()?;
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("it prints text");
        if line.is_empty() {
            let status = child.wait().expect("it ends");
            let mut why = String::new();
            let stderr = child.stderr.as_mut().expect("stderr is piped");
            stderr.read_to_string(&mut why).expect("it prints text");
            assert_eq!(status.code(), Some(MISSING), "{why}");
            return Ok(Err(why.trim().to_owned()));
        }
        Ok(Ok((Script { child, stdout }, line.trim_end().to_owned())))
    }

    /// Sends it an empty line, and returns the line that it prints then.
    pub(crate) fn ask(&mut self) -> String {
        let stdin = self.child.stdin.as_mut().expect("stdin is piped");
        stdin.write_all(b"\n").expect("the script reads");
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it prints text");
        line
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // The end of its input is what it waits for; it ends its own processes and removes its folder.
        drop(self.child.stdin.take());
        let _ended = self.child.wait();
    }
}

/// A server that a script of the tests starts on a port of 127.0.0.1, its first line.
pub(crate) struct OutsideServer {
    script: Script,
    pub(crate) port: u16,
}

impl OutsideServer {
    /// Starts a script of the tests with the program that is its interpreter. `None` where it is missing, or its package is: then
    /// `skipped`, what is not tested and what it wants, is said.
    pub(crate) fn start(
        program: &str,
        script: &str,
        arguments: &[&str],
        [what, wants]: [&str; 2],
    ) -> Option<OutsideServer> {
        let mut command = Command::new(program);
        let started = Script::start(command.arg(in_repository(script)).args(arguments));
        let Ok(Ok((script, port))) = started else {
            skip(what, wants);
            return None;
        };
        let port = port.parse().expect("a port");
        Some(OutsideServer { script, port })
    }

    /// Has it do what it does for a line of its input, and waits until it has.
    pub(crate) fn ask(&mut self) -> String {
        self.script.ask()
    }

    /// Has it end. Returns what it has printed since, each line a value of JSON.
    pub(crate) fn finish(mut self) -> Vec<Value> {
        drop(self.script.child.stdin.take());
        let lines = self.script.stdout.by_ref().lines();
        let value = |line: String| serde_json::from_str(&line).expect("JSON");
        lines.map(|line| value(line.expect("text"))).collect()
    }

    /// Has it end. Returns the one value that it has printed.
    pub(crate) fn seen(self) -> Value {
        let mut lines = self.finish();
        assert_eq!(lines.len(), 1, "it prints one line");
        lines.remove(0)
    }
}

/// Returns the Python of a package: the one that a variable names, that of the virtual environment which CI has put beside what is
/// built, or else the machine's.
pub(crate) fn python(variable: &str, environment: &str) -> String {
    let of_ci = format!("{environment}/bin/python3");
    found(variable, &of_ci).unwrap_or_else(|| "python3".to_owned())
}

/// Returns the path of a program or a folder: the one that a variable names, or that which CI has put beside what is built.
pub(crate) fn found(variable: &str, in_ci: &str) -> Option<String> {
    let of_ci = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("..")
        .join(in_ci);
    let of_ci = of_ci.exists().then(|| of_ci.display().to_string());
    std::env::var(variable).ok().or(of_ci)
}
