//! The command line: mistakes are reported with the remedy and exit code 2, trouble with 3; environment variables
//! take the place of flags, which override them.

use crate::program::{Ended, Lgoose, in_repository, plan, scratch, wait_until};
use crate::report::{read, run};
use crate::server::Server;

const PAGE: &str = "task { \"page\", function(user) user:get \"/\" end }";

/// Asserts that the arguments are refused as a mistake, with all these words and nothing on standard output.
fn refused(arguments: &[&str], words: &[&str]) -> Ended {
    let ended = Lgoose::new(arguments).finish();
    assert_eq!(ended.code, 2, "{arguments:?}: {}", ended.stderr);
    for word in words {
        assert!(
            ended.stderr.contains(word),
            "{arguments:?}: '{word}' is missing in\n{}",
            ended.stderr
        );
    }
    assert_eq!(ended.stdout, "", "{arguments:?}");
    ended
}

#[test]
fn a_plan_that_is_not_there_is_named() {
    let words = [
        "error: cannot read the plan 'no/such/plan.lua'",
        "No such file",
        "help: give the path of a Lua file",
    ];
    refused(&["no/such/plan.lua"], &words);
    refused(&["check", "no/such/plan.lua"], &words);
}

#[test]
fn a_plan_that_is_no_text_is_refused() {
    let path = scratch("binary.lua");
    std::fs::write(&path, [0x1b, b'L', b'u', b'a', 0xff, 0xfe])
        .expect("the scratch folder takes a file");
    refused(
        &[&path.display().to_string()],
        &["a plan is Lua text in UTF-8"],
    );
    let path = plan("bytecode.lua", "\x1bLua\x54\x00");
    let ended = refused(&[&path], &["error: "]);
    assert!(
        !ended.stderr.contains('\x1b'),
        "control characters are shown, not sent: {}",
        ended.stderr
    );
}

#[test]
fn no_host_names_the_three_places_to_put_one() {
    let path = plan("no_host.lua", PAGE);
    refused(
        &[&path],
        &[
            "error: no host is given",
            "'--host URL'",
            "plan { host = \"URL\" }",
            "LGOOSE_HOST",
            "demo:drupal",
        ],
    );
}

#[test]
fn a_host_that_is_none_is_refused_before_any_load() {
    let path = plan("bad_host.lua", PAGE);
    refused(
        &[&path, "-H", "http://"],
        &["'http://' is not a host", "help: write a base URL such as"],
    );
    refused(
        &[&path, "-H", "ftp://example.org"],
        &["'ftp://example.org' is not a host"],
    );
    refused(
        &[&path, "-H", "demo:drupol"],
        &["no built-in site 'drupol'", "did you mean 'drupal'?"],
    );
}

#[test]
fn a_value_that_does_not_fit_shows_the_grammar_and_the_flag() {
    let grammar = "write a duration as '500ms', '300s', '20m' or '1h30m'; a bare number is seconds";
    for value in ["abc", "", "-5", "5x", "30s1h", "1e3"] {
        let argument = format!("--run-time={value}");
        refused(
            &["plans/drupal.lua", &argument],
            &[
                &format!("'{value}' is not a duration"),
                grammar,
                "--run-time",
            ],
        );
    }
    refused(
        &["plans/drupal.lua", "-t", "abc"],
        &["'abc' is not a duration", grammar, "--run-time"],
    );
    refused(
        &["plans/drupal.lua", "-r", "0"],
        &["'0' is not a rate: write a rate as '10'", "--hatch-rate"],
    );
    refused(
        &["plans/drupal.lua", "--max-body", "big"],
        &["'big' is not a size", "--max-body"],
    );
    refused(&["plans/drupal.lua", "-u", "0"], &["--users", "0"]);
    refused(&["plans/drupal.lua", "-u", "many"], &["--users", "many"]);
    refused(&["plans/drupal.lua", "-i", "0"], &["--iterations"]);
    refused(
        &["plans/drupal.lua", "-e", "NAME"],
        &["'NAME' is not a variable: write NAME=VALUE"],
    );
    refused(&["plans/drupal.lua", "-o", "xml=a"], &["xml", "json"]);
    refused(&["plans/drupal.lua", "-o", "json"], &["json=", "--output"]);
}

#[test]
fn a_flag_that_is_unknown_is_named_with_the_nearest() {
    refused(&["plans/drupal.lua", "--user", "5"], &["--user", "--users"]);
    refused(&["plans/drupal.lua", "--bogus"], &["--bogus"]);
}

#[test]
fn flags_that_contradict_each_other_are_both_named() {
    let arguments = ["plans/drupal.lua", "-r", "5", "--startup-time", "10s"];
    refused(
        &arguments,
        &["--hatch-rate", "--startup-time", "help: give one of them"],
    );
}

#[test]
fn no_threads_are_refused() {
    refused(
        &["plans/drupal.lua", "-u", "1", "-i", "1", "--threads", "0"],
        &["--threads"],
    );
}

#[test]
fn without_arguments_the_help_is_shown_as_a_mistake() {
    let ended = Lgoose::new::<&str>([]).finish();
    assert_eq!(ended.code, 2);
    assert!(
        ended.stdout.contains("--users") && ended.stdout.contains("lgoose new load-test"),
        "{}",
        ended.stdout
    );
}

#[test]
fn help_and_version_are_no_mistakes() {
    for (flag, word) in [
        ("-h", "--run-time"),
        ("--help", "--run-time"),
        ("--version", env!("CARGO_PKG_VERSION")),
    ] {
        let ended = Lgoose::new([flag]).finish();
        assert_eq!(ended.code, 0, "{flag}");
        assert!(ended.stdout.contains(word), "{flag}: {}", ended.stdout);
    }
}

#[test]
fn the_short_help_fits_one_screen_and_the_long_one_explains() {
    let brief = Lgoose::new(["-h"]).finish().stdout;
    assert!(brief.lines().count() <= 40, "{brief}");
    assert!(
        brief.lines().all(|line| line.chars().count() <= 80),
        "{brief}"
    );
    assert_eq!(
        brief
            .lines()
            .filter(|line| line.starts_with("  lgoose "))
            .count(),
        5,
        "{brief}"
    );
    let long = Lgoose::new(["--help"]).finish().stdout;
    assert!(long.contains("Replaces those of the plan"), "{long}");
    for command in ["check", "demo", "completions"] {
        let ended = Lgoose::new([command, "-h"]).finish();
        assert_eq!(ended.code, 0, "{command}: {}", ended.stderr);
        assert!(ended.stdout.contains("Usage: lgoose "), "{}", ended.stdout);
    }
}

#[test]
fn shells_and_man_are_given_what_they_need() {
    for (shell, word) in [
        ("bash", "complete -F _lgoose"),
        ("zsh", "#compdef lgoose"),
        ("fish", "complete -c lgoose"),
    ] {
        let ended = Lgoose::new(["completions", shell]).finish();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert!(ended.stdout.contains(word), "{shell}: {}", ended.stdout);
        assert!(ended.stdout.contains("throttle-requests"), "{shell}");
    }
    refused(&["completions", "dos"], &["'dos'", "bash", "fish"]);
    let page = Lgoose::new(["man"]).finish();
    assert_eq!(page.code, 0, "{}", page.stderr);
    for word in [".TH lgoose 1", "throttle\\-requests", "LGOOSE_USERS"] {
        assert!(page.stdout.contains(word), "'{word}' in\n{}", page.stdout);
    }
}

#[test]
fn an_output_that_cannot_be_written_is_trouble_and_the_tables_are_still_printed() {
    let server = Server::start();
    let url = server.url();
    let path = plan("unwritable.lua", PAGE);
    let ended = Lgoose::new([
        &path,
        "-H",
        &url,
        "-u",
        "1",
        "-i",
        "1",
        "-o",
        "json=/dev/full",
    ])
    .finish();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("/dev/full"), "{}", ended.stderr);
    assert!(ended.stdout.contains("Aggregated"), "{}", ended.stdout);
}

#[test]
fn every_output_is_written() {
    let server = Server::start();
    let (url, file) = (server.url(), scratch("written.json"));
    let (path, to_file) = (
        plan("two_outputs.lua", PAGE),
        format!("json={}", file.display()),
    );
    let ended = Lgoose::new([
        &path, "-H", &url, "-u", "1", "-i", "1", "-o", &to_file, "-o", "json=-",
    ])
    .finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let written = std::fs::read_to_string(file).expect("the report was written");
    assert_eq!(
        written, ended.stdout,
        "standard output has the report and nothing else"
    );
}

#[test]
fn variables_of_the_environment_stand_in_for_flags_and_give_way_to_them() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "environment.lua",
        &format!("plan {{ users = 4, iterations = 1 }}\n{PAGE}"),
    );
    let count = |environment: &[(&str, &str)], flags: &[&str]| {
        let arguments = [path.as_str(), "-r", "1000", "-o", "json=-"]
            .into_iter()
            .chain(flags.iter().copied());
        let program = Lgoose::new(arguments).env("LGOOSE_HOST", &url);
        let program = environment
            .iter()
            .fold(program, |program, (name, value)| program.env(name, value));
        read(program.finish()).total("count")
    };
    assert_eq!(count(&[], &[]), 4, "the plan's own");
    assert_eq!(
        count(&[("LGOOSE_USERS", "3")], &[]),
        3,
        "the environment over the plan"
    );
    assert_eq!(
        count(&[("LGOOSE_USERS", "3")], &["-u", "2"]),
        2,
        "the command line over the environment"
    );
    assert_eq!(
        count(&[("LGOOSE_ITERATIONS", "2")], &["-u", "2"]),
        4,
        "each its own field only"
    );
}

#[test]
fn the_names_of_flags_in_other_load_testers_work() {
    let server = Server::start();
    let (url, path) = (server.url(), plan("aliases.lua", PAGE));
    for users in [["-c", "2"], ["--clients", "2"], ["--vus", "2"]] {
        let arguments = [
            path.as_str(),
            "-H",
            &url,
            "--spawn-rate",
            "1000/s",
            "-i",
            "1",
        ];
        assert_eq!(
            run(arguments.into_iter().chain(users)).total("count"),
            2,
            "{users:?}"
        );
    }
}

#[test]
fn a_plan_can_come_from_standard_input() {
    let server = Server::start();
    let url = server.url();
    let ended = Lgoose::new(["-", "-H", &url, "-u", "1", "-i", "1", "-o", "json=-"])
        .input(PAGE)
        .finish();
    assert_eq!(read(ended).total("count"), 1);
}

#[test]
fn a_host_without_a_scheme_is_http() {
    let server = Server::start();
    let url = server.url();
    let report = run([
        &plan("scheme.lua", PAGE),
        "-H",
        url.trim_start_matches("http://"),
        "-u",
        "1",
        "-i",
        "1",
    ]);
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
}

#[test]
fn quiet_prints_nothing() {
    let server = Server::start();
    let (url, path) = (server.url(), plan("quiet.lua", PAGE));
    let ended = Lgoose::new([&path, "-H", &url, "-u", "1", "-i", "1", "-q"]).finish();
    assert_eq!(
        (ended.code, ended.stdout.as_str(), ended.stderr.as_str()),
        (0, "", "")
    );
}

#[test]
fn the_screen_shows_running_figures_and_codes_as_often_as_asked_for() {
    let server = Server::start();
    let (url, path) = (server.url(), plan("screen.lua", PAGE));
    let shown = |more: &[&str]| {
        let first = [
            path.as_str(),
            "-H",
            &url,
            "-u",
            "2",
            "-r",
            "1000",
            "-t",
            "1500ms",
        ];
        let ended = Lgoose::new(first.iter().chain(more)).finish();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        ended.stdout
    };
    let running = |text: &str| text.lines().filter(|line| line.contains("/s now")).count();
    let often = shown(&["--running-metrics", "500ms", "--status-codes"]);
    assert!(running(&often) >= 1, "{often}");
    assert!(often.contains("Status codes"), "{often}");
    let never = shown(&["--running-metrics", "0"]);
    assert_eq!(running(&never), 0, "{never}");
    assert!(
        never.contains("2 users started in") && !never.contains("Status codes"),
        "{never}"
    );
    let last = shown(&["--only-summary", "--running-metrics", "500ms"]);
    assert_eq!(running(&last), 0, "{last}");
    assert!(!last.contains("users started in"), "{last}");
}

#[test]
fn the_log_goes_to_a_file_too() {
    let server = Server::start();
    let (url, file) = (server.url(), scratch("run.log"));
    let path = plan(
        "logs.lua",
        "task { function(user) user:log(\"hello\") user:get \"/\" end }",
    );
    let file = file.display().to_string();
    let arguments = [&path, "-H", &url, "-u", "1", "-i", "2", "--log-file", &file];
    let ended = Lgoose::new(arguments).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let log = std::fs::read_to_string(&file).expect("it was written");
    assert_eq!(log.matches("hello").count(), 2, "{log}");
    assert_eq!(ended.stderr.matches("hello").count(), 2, "{}", ended.stderr);
    let nowhere = ["plans/drupal.lua", "--log-file", "/no/such/folder/run.log"];
    let ended = Lgoose::new(nowhere).finish();
    assert_eq!(ended.code, 2);
    assert!(
        ended
            .stderr
            .contains("cannot write '--log-file' to '/no/such/folder/run.log'"),
        "{}",
        ended.stderr
    );
}

#[test]
fn check_shows_the_plan_and_sends_nothing() {
    let ended = Lgoose::new(["check", "plans/drupal.lua"]).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for line in [
        "plans/drupal.lua is fine",
        "AnonBrowsingUser: weight 4 (80 % of the users), shuffled order",
        "  an iteration of 28 tasks",
        "      15 × (Anon) front page",
        "AuthBrowsingUser: weight 1 (20 % of the users), shuffled order",
        "       1 × (Auth) login",
        "       3 × (Auth) comment form",
    ] {
        assert!(
            ended.stdout.lines().any(|shown| shown.contains(line)),
            "'{line}' is missing in\n{}",
            ended.stdout
        );
    }
}

#[test]
fn warnings_fail_a_check_that_denies_them() {
    let misspelt = plan(
        "check_warnings.lua",
        "task { function(user) user:get('/' .. tostrng(random.uid())) end }",
    );
    let fine = plan("check_fine.lua", "task { function(user) user:get '/' end }");
    for (arguments, code) in [
        (&["check", &misspelt][..], 0),
        (&["check", "--deny-warnings", &misspelt], 2),
        (&["check", "--deny-warnings", &fine], 0),
    ] {
        let ended = Lgoose::new(arguments).finish();
        assert_eq!(ended.code, code, "{arguments:?}: {}", ended.stderr);
        let warnings = ended.stderr.matches("warning: ").count();
        assert_eq!(
            warnings,
            if arguments.contains(&&*misspelt) {
                2
            } else {
                0
            }
        );
        let told = "has 2 warnings, and '--deny-warnings' accepts none";
        assert_eq!(ended.stderr.contains(told), code == 2, "{}", ended.stderr);
    }
}

#[test]
fn every_plan_and_example_is_fine() {
    for folder in ["plans", "examples"] {
        for entry in std::fs::read_dir(in_repository(folder)).expect("the folder can be listed") {
            let path = entry.expect("the folder can be listed").path();
            if path.extension().is_some_and(|ending| ending == "lua") {
                let ended = Lgoose::new(["check".as_ref(), path.as_os_str()]).finish();
                assert_eq!(ended.code, 0, "{}: {}", path.display(), ended.stderr);
            }
        }
    }
}

#[test]
fn the_demo_site_runs_alone_and_tells_where_and_what_it_served() {
    let program = Lgoose::new(["demo", "drupal", "--port", "0"]).start();
    wait_until("the site tells its address", || {
        program.stdout().ends_with('\n')
    });
    let told = program.stdout();
    let url = told
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .expect("the address is told");
    let url = url.trim_end_matches(';');
    let page = plan(
        "on_demo.lua",
        "task { function(user)\n  user:get(\"/node/5\")\n  \
        local served = user:get(\"/_demo/served\"):json()\n  assert(served[\"GET /node/%\"] == 1)\nend }",
    );
    let report = run([&page, "-H", url, "-u", "1", "-i", "1"]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    program.signal(rustix::process::Signal::TERM);
    let ended = program.end();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
}

#[test]
fn next_to_no_descriptors_are_told_before_anything_begins() {
    let limits = ["6", "7", "8", "9"].map(|limit| format!("--nofile={limit}:{limit}"));
    for limit in &limits {
        for arguments in [
            &["check", "plans/drupal.lua"][..],
            &["plans/drupal.lua", "-H", "127.0.0.1:1"],
            &["serve", "plans", "--data", "/tmp"],
        ] {
            let ended = Lgoose::new(arguments).through("prlimit", &[limit]).finish();
            assert_eq!(ended.code, 3, "{limit}: {}", ended.stderr);
            assert!(ended.stderr.contains("ulimit -n"), "{}", ended.stderr);
        }
    }
}

#[test]
fn a_demo_site_that_is_unknown_or_has_no_port_is_told() {
    refused(
        &["demo", "drupol"],
        &[
            "no built-in site 'drupol'",
            "did you mean 'drupal'? sites: drupal, umami, api, llm, redis",
        ],
    );
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = taken
        .local_addr()
        .expect("a bound socket has an address")
        .port()
        .to_string();
    let ended = Lgoose::new(["demo", "drupal", "--port", &port]).finish();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(
        ended.stderr.contains(&port) && ended.stderr.contains("choose another port"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_program_that_can_start_no_thread_says_so() {
    // More than there are addresses.
    let ended = Lgoose::new(["check", "no.lua"])
        .env("RUST_MIN_STACK", "140737488355328")
        .finish();
    assert_eq!(ended.code, 3);
    let told = "error: cannot listen for Ctrl-C: Resource temporarily unavailable";
    assert!(ended.stderr.starts_with(told), "{}", ended.stderr);
}

#[test]
fn options_without_a_plan_are_a_mistake_that_says_so() {
    refused(&["-u", "5"], &["no plan is given", "lgoose plan.lua -u 5"]);
}
