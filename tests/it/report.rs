//! The JSON report of a run for tests. Reads the keys that scripts rely on, by name.

use crate::program::{Ended, Lgoose};
use crate::server::Server;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The report of a run and the end of the program.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) json: Value,
    pub(crate) ended: Ended,
}

/// Returns the report that a run has written to a file.
pub(crate) fn saved(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("the report was written");
    serde_json::from_str(&text).expect("it is whole")
}

/// Runs the program with `-o json=-` beside the arguments and reads the report.
pub(crate) fn run<I: AsRef<str>>(arguments: impl IntoIterator<Item = I>) -> Report {
    let arguments = arguments
        .into_iter()
        .map(|argument| argument.as_ref().to_owned());
    read(Lgoose::new(arguments.chain(["-o".to_owned(), "json=-".to_owned()])).finish())
}

/// Runs a number of users of a plan, started at once, for a number of iterations each.
pub(crate) fn iterate(plan: &str, server: &Server, users: u32, iterations: u32) -> Report {
    iterate_with(plan, server, users, iterations, &[])
}

/// Runs them with more arguments.
pub(crate) fn iterate_with(
    plan: &str,
    server: &Server,
    users: u32,
    iterations: u32,
    more: &[&str],
) -> Report {
    iterate_at(plan, &server.url(), users, iterations, more)
}

/// The same at any address.
pub(crate) fn iterate_at(
    plan: &str,
    url: &str,
    users: u32,
    iterations: u32,
    more: &[&str],
) -> Report {
    let (users, iterations) = (users.to_string(), iterations.to_string());
    let arguments = [
        plan,
        "-H",
        url,
        "-u",
        &users,
        "-r",
        "1000",
        "-i",
        &iterations,
    ];
    run(arguments.into_iter().chain(more.iter().copied()))
}

/// Reads the report that a program started with `-o json=-` has printed.
pub(crate) fn read(ended: Ended) -> Report {
    match serde_json::from_str(&ended.stdout) {
        Ok(json) => Report { json, ended },
        Err(error) => panic!(
            "standard output is no JSON: {error}\n{}\n{}",
            ended.stdout, ended.stderr
        ),
    }
}

impl Report {
    fn list(&self, key: &str) -> &[Value] {
        self.json[key]
            .as_array()
            .unwrap_or_else(|| panic!("'{key}' is a list"))
    }

    /// Returns the messages of all WebSockets together that were "sent" or "received".
    pub(crate) fn websocket_messages(&self, way: &str) -> u64 {
        let sockets = self.list("requests").iter();
        let sockets = sockets.filter(|row| row["method"] == "WS");
        let messages = sockets.filter_map(|row| row["messages"][way].as_u64());
        messages.sum()
    }

    /// Returns the row of `METHOD name`.
    pub(crate) fn row(&self, row: &str) -> &Value {
        let found = self.list("requests").iter().find(|json| label(json) == row);
        found.unwrap_or_else(|| panic!("there is no '{row}'"))
    }

    /// Returns a figure of `METHOD name` over all requests, 0 without such a row.
    pub(crate) fn figure(&self, row: &str, key: &str) -> u64 {
        let found = self.list("requests").iter().find(|json| label(json) == row);
        found.map_or(0, |json| number(&json[key]))
    }

    pub(crate) fn count(&self, row: &str) -> u64 {
        self.figure(row, "count")
    }

    pub(crate) fn failures(&self, row: &str) -> u64 {
        self.figure(row, "failures")
    }

    /// Returns a figure of all requests together.
    pub(crate) fn total(&self, key: &str) -> u64 {
        number(&self.json["aggregated"][key])
    }

    /// Returns a figure of the requests of `test_start` and `test_stop`, which are counted apart.
    pub(crate) fn start_stop(&self, key: &str) -> u64 {
        let rows = self.json["start_stop"].as_array();
        rows.map_or(0, |rows| rows.iter().map(|row| number(&row[key])).sum())
    }

    /// Returns a figure of everything that was requested.
    pub(crate) fn whole(&self, key: &str) -> u64 {
        self.total(key) + self.start_stop(key)
    }

    /// Returns the number of requests that the target must have received: requests, redirect hops and retries.
    pub(crate) fn sent(&self) -> u64 {
        self.whole("count") + self.whole("redirects") + self.whole("retries")
    }

    /// Returns the requests that were sent once more because their connection was closed.
    pub(crate) fn retries(&self) -> u64 {
        self.whole("retries")
    }

    /// Returns `METHOD name` of every row, sorted.
    pub(crate) fn rows(&self) -> Vec<String> {
        let mut rows: Vec<String> = self.list("requests").iter().map(label).collect();
        rows.sort();
        rows
    }

    /// Returns the runs and failures of a task by its name.
    pub(crate) fn task(&self, name: &str) -> (u64, u64) {
        let found = self.list("tasks").iter().find(|json| json["name"] == name);
        found.map_or((0, 0), |json| {
            (number(&json["runs"]), number(&json["failures"]))
        })
    }

    /// Returns the runs of all tasks, by name.
    pub(crate) fn task_runs(&self) -> BTreeMap<String, u64> {
        let tasks = self.list("tasks").iter();
        tasks
            .map(|json| (text(&json["name"]), number(&json["runs"])))
            .collect()
    }

    pub(crate) fn task_failures(&self) -> u64 {
        self.list("tasks")
            .iter()
            .map(|json| number(&json["failures"]))
            .sum()
    }

    /// Returns the most users of each scenario at a time, by name.
    pub(crate) fn scenario_users(&self) -> BTreeMap<String, u64> {
        self.of_scenarios("users")
    }

    /// Returns the iterations of each scenario, by name.
    pub(crate) fn scenario_iterations(&self) -> BTreeMap<String, u64> {
        self.of_scenarios("iterations")
    }

    fn of_scenarios(&self, figure: &str) -> BTreeMap<String, u64> {
        let scenarios = self.list("scenarios").iter();
        scenarios
            .map(|json| (text(&json["name"]), number(&json[figure])))
            .collect()
    }

    pub(crate) fn iterations(&self) -> u64 {
        self.list("scenarios")
            .iter()
            .map(|json| number(&json["iterations"]))
            .sum()
    }

    /// Returns every error as `COUNT NAME: MESSAGE (LINE)`.
    pub(crate) fn errors(&self) -> Vec<String> {
        let shown = |json: &Value| {
            let line = json["line"].as_str().unwrap_or("no line");
            format!(
                "{} {}: {} ({line})",
                json["count"],
                text(&json["name"]),
                text(&json["message"])
            )
        };
        self.list("errors").iter().map(shown).collect()
    }

    /// Returns the messages of the errors of `METHOD name`.
    pub(crate) fn messages_of(&self, row: &str) -> Vec<String> {
        let errors = self.list("errors").iter();
        let own = errors.filter(|json| text(&json["name"]) == row);
        own.map(|json| text(&json["message"])).collect()
    }

    /// Returns the number of errors whose message begins with a text.
    pub(crate) fn errors_with(&self, beginning: &str) -> u64 {
        let begins = |json: &&Value| text(&json["message"]).starts_with(beginning);
        self.list("errors")
            .iter()
            .filter(begins)
            .map(|json| number(&json["count"]))
            .sum()
    }
}

fn label(json: &Value) -> String {
    format!("{} {}", text(&json["method"]), text(&json["name"]))
}

fn text(json: &Value) -> String {
    json.as_str()
        .unwrap_or_else(|| panic!("{json} is text"))
        .to_owned()
}

fn number(json: &Value) -> u64 {
    json.as_u64()
        .unwrap_or_else(|| panic!("{json} is a whole number"))
}
