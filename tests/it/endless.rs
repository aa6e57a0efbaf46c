//! Plans that do without end what is over at once. Whatever they do, and wherever, the other users of their thread go on, and the
//! run ends when it should: the kernel ends a run that takes more processor time.

use crate::program::{Ended, Lgoose, Running, in_repository, plan, wait_until};
use crate::report::{Report, read, run};
use crate::server::Server;
use crate::web_client::Served;
use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The processor time that a run may take, in seconds, for the shell that starts it.
const LIMITED: &str = "ulimit -t 3 && exec \"$@\"";

/// How many runs there are at a time.
const SIDE_BY_SIDE: usize = 3;

/// Returns the path of a file of these tests.
fn file(name: &str) -> String {
    in_repository("tests/endless")
        .join(name)
        .display()
        .to_string()
}

/// Prepares a run, on one thread, that may not take more processor time than it should.
fn limited(path: &str, more: &[&str]) -> Lgoose {
    let arguments = [path, "--threads", "1", "-o", "json=-"];
    let lgoose = Lgoose::new(arguments.iter().chain(more));
    lgoose.through("sh", &["-c", LIMITED, "sh"])
}

/// Returns the keys of the table in a file, in their order.
fn keys(name: &str) -> Vec<String> {
    let text = fs::read_to_string(file(name)).expect("it is checked in");
    let key = |line: &str| {
        let line = line.strip_prefix("places").unwrap_or(line);
        let (key, value) = line.split_once(" = ")?;
        let key = match key.trim_start().strip_prefix("[\"") {
            Some(key) => key.strip_suffix("\"]")?,
            None => key
                .strip_prefix("  ")
                .filter(|_| value.starts_with("{ run"))?,
        };
        Some(key.to_owned())
    };
    text.lines().filter_map(key).collect()
}

/// Returns what is wrong with a run in which a user does one thing without end beside an innocent one, which has ended it.
fn problem(variable: &str, name: &str) -> Option<String> {
    let more = ["-t", "100s", "--stop-timeout", "100ms"];
    let run = limited(&file("plan.lua"), &more).env(variable, name);
    let ended = match run.start().wait() {
        Ok(ended) => ended,
        Err(problem) => return Some(problem),
    };
    if !matches!(ended.code, 0 | 1) {
        return Some(ended.stderr);
    }
    let report = read(ended);
    if report.json["ending"]["cause"] != "stopped_by_plan" {
        return Some(report.json["ending"].to_string());
    }
    let (_, unprepared) = report.task("prepare");
    let sent = report.count("GET innocent");
    // The innocent user may have had no time for more.
    let is_at_once = report.json["ending"]["reason"] == "at once";
    let responses = sent - report.failures("GET innocent");
    if unprepared > 0 || responses == 0 && !is_at_once {
        return Some(format!("{responses} of {sent}, {:?}", report.errors()));
    }
    None
}

/// Runs the plan for each of these names of operations or places, a few at a time.
fn all_end(variable: &str, names: &[String]) {
    let (next, problems) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(problem) = problem(variable, name) {
                        let problem = format!("{name}: {problem}");
                        problems.lock().expect("no other panicked").push(problem);
                    }
                }
            });
        }
    });
    let problems = problems.into_inner().expect("none panicked");
    assert!(
        problems.is_empty(),
        "{} of {}:\n{}",
        problems.len(),
        names.len(),
        problems.join("\n")
    );
}

/// Returns the functions that plans have, as the stubs name them: `User:get`, `json.encode`, `shared.Counter.incr`.
fn functions() -> BTreeSet<String> {
    let mut functions = BTreeSet::new();
    for stub in fs::read_dir(in_repository("lua/meta")).expect("the stubs are there") {
        let text = fs::read_to_string(stub.expect("it can be read").path());
        let text = text.expect("a stub is text");
        let names = text
            .lines()
            .filter_map(|line| line.strip_prefix("function "));
        functions.extend(names.filter_map(|line| Some(line.split_once('(')?.0.to_owned())));
        // A library that is called itself.
        let lines: Vec<&str> = text.lines().collect();
        functions.extend(lines.windows(2).filter_map(|pair| {
            let class = pair[0].strip_prefix("---@class lgoose.")?;
            pair[1]
                .starts_with("---@overload fun(")
                .then(|| class.to_owned())
        }));
    }
    let text = fs::read_to_string(in_repository("lua/lgoose/shared.lua"));
    let mut class = String::new();
    for line in text.expect("it is there").lines() {
        if let Some(name) = line.strip_prefix("---@class lgoose.") {
            name.clone_into(&mut class);
        } else if let Some(field) = line.strip_prefix("---@field ")
            && let Some((name, _)) = field.split_once(" fun(")
        {
            functions.insert(format!("{class}.{name}"));
        }
    }
    functions
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn every_function_alone_in_a_task_leaves_others_their_turn_and_the_run_its_end() {
    let names = keys("operations.lua");
    let listed: BTreeSet<String> = names.iter().cloned().collect();
    assert_eq!(
        listed,
        functions(),
        "tests/endless/operations.lua has a line for each function that a plan can call"
    );
    all_end("OPERATION", &names);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn every_place_leaves_others_their_turn_and_the_run_its_end() {
    all_end("PLACE", &keys("places.lua"));
}

/// Returns the share of their pace that innocent users keep beside each of the functions in `pace.lua`, or beside one of them
/// alone, of that which they have beside a plain loop in the same run.
fn paces(server: &Server, only: &str, seconds: &str) -> Vec<(String, f64)> {
    let (path, url) = (file("pace.lua"), server.url());
    let variables = [format!("ONLY={only}"), format!("SECONDS={seconds}")];
    let report = run([
        &path,
        "-H",
        &url,
        "-u",
        "22",
        "-r",
        "1000",
        "--threads",
        "1",
        "-e",
        &variables[0],
        "-e",
        &variables[1],
    ]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let metrics = report.json["metrics"].as_array().expect("a list");
    let counted = |name: &str, plain: bool| {
        let row = format!("requests{{beside={name}, plain={plain}}}");
        let row = metrics.iter().find(|metric| metric["name"] == *row);
        row.map_or(0.0, |row| row["value"].as_f64().expect("a number"))
    };
    let names = metrics.iter().filter_map(|metric| {
        let name = metric["name"].as_str()?.strip_prefix("requests{beside=")?;
        name.strip_suffix(", plain=true}")
    });
    names
        .map(|name| (name.to_owned(), counted(name, false) / counted(name, true)))
        .collect()
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_function_whose_work_grows_leaves_others_the_pace_that_a_plain_loop_leaves_them() {
    /// The share of their pace that the others keep at least.
    const LEAST: f64 = 0.85;
    let server = Server::start();
    let first = paces(&server, "", "0.4");
    assert!(first.len() > 25, "{first:?}");
    for (name, pace) in first.into_iter().filter(|(_, pace)| *pace < LEAST) {
        // Other programs have the processor at times: one good run of some says that it was them.
        let again = (0..3).flat_map(|_| paces(&server, &name, "1.5"));
        let best = again.map(|(_, pace)| pace).find(|pace| *pace >= LEAST);
        assert!(
            best.is_some(),
            "{name}: {pace:.2} at first, and never more than {LEAST}"
        );
    }
}

/// Places from which some that have no end of their own are taken, where it matters how the run ends.
const PLACES: [&str; 8] = [
    "iterations",
    "a task",
    "an error in a timed function",
    "on_start",
    "on_stop",
    "a chain of jobs",
    "a hundred jobs",
    "at a rate, without end",
];

/// Starts a run at one of those places that the innocent user does not end, and waits until both users are at work.
fn started(place: &str, more: &[&str]) -> Running {
    let run = limited(&file("plan.lua"), more);
    let running = run.env("PLACE", place).env("ENDS_RUN", "no").start();
    wait_until("both are at work", || {
        assert!(!running.has_ended(), "{place}: {}", running.stderr());
        running.stderr().contains("both are at work")
    });
    running
}

fn assert_ended(place: &str, cause: &str, ended: Ended) -> Report {
    let report = read(ended);
    assert_eq!(report.json["ending"]["cause"], cause, "{place}");
    assert!(report.count("GET innocent") > 0, "{place}");
    report
}

#[test]
fn the_time_of_a_run_ends_what_has_no_end() {
    for place in PLACES {
        let running = started(place, &["-t", "300ms", "--stop-timeout", "100ms"]);
        assert_ended(place, "time_up", running.end());
    }
}

#[test]
fn one_ctrl_c_and_a_second_end_what_has_no_end() {
    for place in PLACES {
        let running = started(place, &["--stop-timeout", "100ms"]);
        running.interrupt();
        assert_ended(place, "signal", running.end());
    }
    // These end by themselves once they were told to stop.
    let ends = |place: &&str| matches!(*place, "iterations" | "an error in a timed function");
    for place in PLACES.iter().filter(|place| !ends(place)) {
        let running = started(place, &["--stop-timeout", "100s"]);
        running.interrupt();
        wait_until("the first Ctrl-C is reported", || {
            running.stderr().contains("Ctrl-C again")
        });
        running.interrupt();
        let report = assert_ended(place, "aborted", running.end());
        assert_eq!(report.ended.code, 130, "{place}");
    }
}

#[test]
fn a_stop_from_the_page_ends_what_has_no_end() {
    for place in PLACES {
        let path = file("plan.lua");
        let arguments = ["--threads", "1", "--stop-timeout", "100ms", "-o", "json=-"];
        let arguments = [&[&*path], &arguments[..]].concat();
        let variables = [("PLACE", place), ("ENDS_RUN", "no")];
        let Served { running, web } = Served::start_in(&arguments, &variables);
        wait_until("both are at work", || {
            running.stderr().contains("both are at work")
        });
        assert_eq!(web.post("/api/v1/stop", "").status, 202, "{place}");
        assert_ended(place, "stopped_by_user", running.end());
    }
}

#[test]
fn events_that_have_no_end_are_cut_off() {
    let endless = "while true do user:timed('timed', function() return 1 end) end";
    let jobs = "local function link() user:spawn(link) end link()";
    for (number, body) in [endless, jobs].into_iter().enumerate() {
        for event in ["test_start", "test_stop"] {
            let text = format!(
                "plan {{ host = 'demo:api' }}\n\
                 on('{event}', function(user) {body} end)\n\
                 task {{ 'page', function(user) user:get '/' end }}"
            );
            let path = plan(&format!("endless_{event}_{number}.lua"), &text);
            let times = ["--setup-timeout", "200ms", "--teardown-timeout", "200ms"];
            let ended = limited(&path, &[&["-i", "2", "-u", "1"], &times[..]].concat()).finish();
            let report = read(ended);
            let expected = u64::from(event == "test_stop") * 2;
            assert_eq!(report.count("GET page"), expected, "{body}");
            let late = format!("{event} did not end within 0.2 s");
            assert!(report.json.to_string().contains(&late), "{}", report.json);
        }
    }
}
