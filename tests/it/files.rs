//! Files that a run reads and writes: a plan writes beside itself only, nothing is written over what is read, only
//! files are read, and the environment can be kept from a plan.

use crate::faulty::{Site, answer};
use crate::program::{Ended, Lgoose, scratch};
use crate::report::read;
use crate::server::Server;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns a new folder with these files.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = scratch(name);
    // It is there only from an earlier run of the tests.
    let _absent = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the scratch folder takes a folder");
    for (name, text) in files {
        fs::write(folder.join(name), text).expect("a folder takes a file");
    }
    folder
}

fn site() -> Site {
    Site::start(|_| answer(200, "", "good"))
}

fn run(folder: &Path, site: &Site, arguments: &[&str]) -> Ended {
    let url = site.url();
    let own = ["plan.lua", "-H", &url, "-u", "1", "-i", "1"];
    Lgoose::new(own.iter().chain(arguments))
        .within(folder)
        .finish()
}

const TASK: &str = "task { function(user) user:get '/' end }\n";

#[test]
fn a_plan_writes_its_logs_beside_itself_unless_it_may_write_anywhere() {
    let elsewhere = folder("files_elsewhere", &[]).display().to_string();
    for (nth, (path, stays)) in [
        ("log.csv", true),
        ("sub/log.csv", true),
        ("sub/../log.csv", false),
        ("../files_elsewhere/up.csv", false),
        ("link/linked.csv", false),
        (&format!("{elsewhere}/absolute.csv"), false),
    ]
    .into_iter()
    .enumerate()
    {
        let plan = format!("plan {{ error_log = '{path}' }}\n{TASK}");
        let folder = folder(&format!("files_beside_{nth}"), &[("plan.lua", &plan)]);
        fs::create_dir(folder.join("sub")).expect("a folder");
        std::os::unix::fs::symlink(&elsewhere, folder.join("link")).expect("a link");
        let site = site();
        let ended = run(&folder, &site, &["-q"]);
        assert_eq!(ended.code == 0, stays, "{path}: {}", ended.stderr);
        assert_eq!(site.received(), u64::from(stays));
        if !stays {
            assert_eq!(ended.code, 2);
            for word in ["'error_log'", path, "--allow-files"] {
                assert!(ended.stderr.contains(word), "{path}: {}", ended.stderr);
            }
            let none = fs::read_dir(&elsewhere).expect("a folder").count();
            assert_eq!(none, 0, "{path}");
        }
        let ended = run(&folder, &site, &["-q", "--allow-files"]);
        assert_eq!(ended.code, 0, "{path}: {}", ended.stderr);
        let ended = run(&folder, &site, &["-q", "--error-log", "typed.csv"]);
        assert_eq!(ended.code, 0, "{path}: {}", ended.stderr);
        for left in fs::read_dir(&elsewhere).expect("a folder").flatten() {
            fs::remove_file(left.path()).expect("it was written");
        }
    }
}

#[test]
fn nothing_is_written_over_what_is_read_or_written_otherwise() {
    let plan = "local rows = data.lines 'rows.csv'\nlocal part = require 'part'\n\
                task { function(user) user:get '/' end }\n";
    let files = [
        ("plan.lua", plan),
        ("rows.csv", "a\n"),
        ("part.lua", "return 1\n"),
        ("some.env", "A=1\n"),
    ];
    let folder = folder("files_over", &files);
    std::os::unix::fs::symlink("rows.csv", folder.join("link.csv")).expect("a link");
    let site = site();
    for (arguments, words) in [
        (
            &["--log-file", "plan.lua"][..],
            ["'--log-file'", "the plan"],
        ),
        (
            &["--list", "--log-file", "part.lua"],
            ["'--log-file'", "part.lua"],
        ),
        (&["-o", "json=part.lua"], ["'-o json'", "part.lua"]),
        (
            &["--request-log", "rows.csv"],
            ["the request log", "rows.csv"],
        ),
        (&["--task-log", "link.csv"], ["the task log", "rows.csv"]),
        (
            &["--env-file", "some.env", "-o", "md=some.env"],
            ["'-o md'", "'--env-file'"],
        ),
        (
            &["-o", "csv=run.csv", "--error-log", "run_series.csv"],
            ["the series", "the error log"],
        ),
        (
            &["-o", "json=out.csv", "--debug-log", "./out.csv"],
            ["'-o json'", "the debug log"],
        ),
        (
            &["-o", "json=same", "--log-file", "same"],
            ["'-o json'", "'--log-file'"],
        ),
    ] {
        let ended = run(&folder, &site, arguments);
        assert_eq!(ended.code, 2, "{arguments:?}: {}", ended.stderr);
        for word in words {
            assert!(
                ended.stderr.contains(word),
                "{arguments:?}: {}",
                ended.stderr
            );
        }
    }
    assert_eq!(site.received(), 0);
    for (name, text) in files {
        assert_eq!(
            fs::read_to_string(folder.join(name)).ok().as_deref(),
            Some(text)
        );
    }
    let ended = run(
        &folder,
        &site,
        &[
            "-o",
            "json=/dev/null",
            "--request-log",
            "log.csv",
            "--log-file",
            "log.txt",
        ],
    );
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

#[test]
fn a_pipe_that_a_plan_names_for_its_report_is_refused() {
    let folder = folder("files_report_pipe", &[]);
    let made = Command::new("mkfifo").arg(folder.join("pipe")).status();
    assert!(made.is_ok_and(|made| made.success()));
    let site = site();
    let url = site.url();
    let writes = format!("{TASK}\non('report', function() return {{ ['pipe'] = 'x' }} end)");
    fs::write(folder.join("writes.lua"), writes).expect("written");
    let run = ["writes.lua", "-H", &url, "-u", "1", "-i", "1", "-q"];
    let ended = Lgoose::new(run).within(&folder).finish();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let told = "cannot write 'pipe', which on(\"report\") returned (writes.lua:3): it is a pipe, not a file";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
}

#[test]
fn what_is_no_file_is_not_read_to_reach_a_broker() {
    let folder = folder("files_broker", &[("plan.lua", TASK), ("cert.pem", "")]);
    let made = Command::new("mkfifo").arg(folder.join("pipe")).status();
    assert!(made.is_ok_and(|made| made.success()));
    let url = "tls://127.0.0.1:1";
    let commands = [
        &[
            "plan.lua",
            "-H",
            "127.0.0.1:1",
            "--workers",
            "1",
            "--nats",
            url,
        ][..],
        &["worker", url],
        &["gather", url, "--label", "a=b"],
        &["gaggle", url],
        &["attach", "any", url],
    ];
    let files = [
        &["--nats-creds", "pipe"][..],
        &["--nats-creds", "/dev/zero"],
        &["--nats-ca", "pipe"],
        &["--nats-cert", "pipe"],
        &["--nats-cert", "cert.pem", "--nats-key", "pipe"],
    ];
    for (command, file) in commands
        .iter()
        .flat_map(|command| files.iter().map(move |file| (command, file)))
    {
        let arguments = [*command, *file].concat();
        let ended = Lgoose::new(&arguments).within(&folder).finish();
        assert_eq!(ended.code, 3, "{arguments:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(", not a file"),
            "{arguments:?}: {}",
            ended.stderr
        );
    }
}

#[test]
fn what_is_no_file_is_not_read_and_nothing_hangs() {
    let folder = folder("files_special", &[("plan.lua", TASK)]);
    let made = Command::new("mkfifo").arg(folder.join("pipe.lua")).status();
    assert!(made.is_ok_and(|made| made.success()));
    let site = site();
    let url = site.url();
    for arguments in [
        &["pipe.lua"][..],
        &["check", "pipe.lua"],
        &["/dev/zero"],
        &["."],
        &["plan.lua", "--env-file", "pipe.lua"],
        &["plan.lua", "--ca", "pipe.lua"],
        &["plan.lua", "--cert", "pipe.lua"],
        &["report", "pipe.lua"],
        &["report", "/dev/zero"],
        &[&url, "--body", "@pipe.lua"],
    ] {
        let program = Lgoose::new(arguments).within(&folder);
        let ended = program.finish();
        assert_eq!(ended.code, 2, "{arguments:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(", not a file"),
            "{arguments:?}: {}",
            ended.stderr
        );
    }
    for code in ["require 'pipe'", "data.lines 'pipe.lua'"] {
        fs::write(folder.join("reads.lua"), format!("{code}\n{TASK}")).expect("written");
        let ended = Lgoose::new(["check", "reads.lua"]).within(&folder).finish();
        assert_eq!(ended.code, 2, "{code}: {}", ended.stderr);
        assert!(
            ended.stderr.contains("not a file"),
            "{code}: {}",
            ended.stderr
        );
    }
    assert_eq!(site.received(), 0);
}

#[test]
fn a_pipe_that_a_shell_hands_over_is_a_plan() {
    let folder = folder("files_handed", &[("plan.lua", TASK)]);
    let shell = "\"$0\" check <(cat plan.lua)";
    let ended = Lgoose::new([""; 0])
        .through("bash", &["-c", shell])
        .within(&folder)
        .finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains("is fine"), "{}", ended.stdout);
}

#[test]
fn the_files_and_hosts_that_a_plan_names_are_listed() {
    let plan = "plan { host = 'http://127.0.0.1:8080/shop', request_log = 'log.csv', ca = 'ca.pem' }\n\
                local rows, lib = data.lines 'rows.txt', require 'words'\n\
                task { function(user) user:get 'https://cdn.example/a' user:tcp('cache:6379'):close() end }\n";
    let files = [
        ("plan.lua", plan),
        ("rows.txt", "a\n"),
        ("words.lua", "return { 'http://words.example' }"),
        ("ca.pem", ""),
    ];
    let folder = folder("files_listed", &files);
    let ended = Lgoose::new(["check", "plan.lua"]).within(&folder).finish();
    for listed in [
        "\nfiles that it reads: ca.pem, rows.txt, words.lua\n",
        "\nfiles that it writes: log.csv\n",
        "\nhosts that it names: 127.0.0.1:8080, cache:6379, cdn.example, words.example\n",
    ] {
        assert!(ended.stdout.contains(listed), "{listed}{}", ended.stdout);
    }
}

#[test]
fn what_a_plan_reads_of_the_environment_is_listed_and_can_be_kept_from_it() {
    let plan = "for _, name in ipairs { 'FILES_A', 'FILES_B', 'FILES_C' } do log.info(name, env(name, 'none')) end\n\
                local a, b = env 'FILES_A', env(\"FILES_B\", 'none')\n\
                task { function(user) user:get '/' end }\n";
    let folder = folder("files_env", &[("plan.lua", plan)]);
    let ended = Lgoose::new(["check", "plan.lua"]).within(&folder).finish();
    let listed = "environment variables that it reads: FILES_A, FILES_B\nnot set: FILES_A\n\
                  default: FILES_B = 'none'\n";
    assert!(ended.stdout.contains(listed), "{}", ended.stdout);
    let url = site().url();
    for (arguments, told) in [
        (&[][..], ["FILES_A\ta", "FILES_B\tb", "FILES_C\tc"]),
        (
            &["--env-allow", "FILES_A,FILES_C"],
            ["FILES_A\ta", "FILES_B\tnone", "FILES_C\tc"],
        ),
        (
            &["--env-allow", "FILES_A", "-e", "FILES_B=given"],
            ["FILES_A\ta", "FILES_B\tgiven", "FILES_C\tnone"],
        ),
    ] {
        let own = ["plan.lua", "-H", &url, "-u", "1", "-i", "1"];
        let mut program = Lgoose::new(own.iter().chain(arguments)).within(&folder);
        for (name, value) in [("FILES_A", "a"), ("FILES_B", "b"), ("FILES_C", "c")] {
            program = program.env(name, value);
        }
        let ended = program.finish();
        for line in told {
            assert!(
                ended.stderr.contains(line),
                "{arguments:?}: {}",
                ended.stderr
            );
        }
    }
    let own = ["plan.lua", "-H", &url, "-u", "1", "-i", "1"];
    let ended = Lgoose::new(own).within(&folder).finish();
    let told = "the plan reads the variable 'FILES_A', which is not set\n --> plan.lua:2";
    assert_eq!(ended.stderr.matches(told).count(), 1, "{}", ended.stderr);
    assert!(!ended.stderr.contains("'FILES_B'"), "{}", ended.stderr);
}

#[test]
fn a_plan_of_somebody_else_does_only_what_the_command_line_allows() {
    let server = Server::start();
    let url = server.url();
    let elsewhere = url.replace("127.0.0.1", "localhost");
    let evil = format!(
        "task {{ function(user) user:get('{elsewhere}/evil', {{ name = 'evil' }}) user:get('/' .. env('FILES_A', 'none'), {{ name = 'own' }}) end }}"
    );
    let writes = "plan { request_log = 'evil.csv' } task { function(user) user:get '/' end }";
    let report = "on('report', function() return { ['evil.txt'] = 'evil' } end) task { function(user) user:get '/' end }";
    let folder = folder(
        "files_sandbox",
        &[
            ("evil.lua", &evil),
            ("writes.lua", writes),
            ("report.lua", report),
        ],
    );
    let start = |arguments: &[&str]| {
        let own = ["-u", "1", "-i", "1", "-o", "json=-"];
        let program = Lgoose::new(arguments.iter().chain(&own)).within(&folder);
        program.env("FILES_A", "a").finish()
    };
    for limit in [&["--sandbox"][..], &["--allow-host", "127.0.0.1"]] {
        let ended = start(&[&["evil.lua", "-H", &url], limit].concat());
        let report = read(ended);
        let counted = |name: &str| (report.count(name), report.failures(name));
        assert_eq!((counted("GET evil"), counted("GET own")), ((1, 1), (1, 0)));
        let shown = report.errors_with("host not allowed: 'localhost' is not among the hosts");
        assert_eq!(shown, 1, "{:?}", report.errors());
        let read_variable = server.count("GET /a");
        assert_eq!(read_variable, usize::from(limit != ["--sandbox"]));
    }
    for (arguments, told) in [
        (&["evil.lua", "--sandbox"][..], "which names none"),
        (
            &["evil.lua", "-H", &url, "--allow-host", "x.example"],
            "'127.0.0.1' is not among the hosts",
        ),
        (
            &[
                "evil.lua",
                "-H",
                &url,
                "--allow-host",
                "*",
                "--resolve",
                "a:80:127.0.0.1",
            ],
            "'--resolve' would lead elsewhere",
        ),
        (
            &["writes.lua", "-H", &url, "--sandbox"],
            "cannot write 'evil.csv', the 'request_log' of the plan: '--sandbox' lets a plan write no file",
        ),
    ] {
        let refused = start(arguments);
        assert_eq!(refused.code, 2, "{arguments:?}: {}", refused.stderr);
        assert!(
            refused.stderr.contains(told),
            "{arguments:?}: {}",
            refused.stderr
        );
    }
    let ended = start(&["report.lua", "-H", &url, "--sandbox"]);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let shown = "cannot write 'evil.txt', which on(\"report\") returned";
    assert!(ended.stderr.contains(shown), "{}", ended.stderr);
    for name in ["evil.csv", "evil.txt"] {
        assert!(!folder.join(name).exists(), "{name}");
    }
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn nothing_in_a_plan_steers_the_terminal_that_shows_it() {
    let hostile = "a\\27[2J\\u{9b}31m\\u{202e}evil\\u{2066}\\u{200f}\\u{61c}";
    let plan = format!(
        "local name = \"{hostile}\"\nprint(name)\nscenario {{ name, task {{ name, weight = 20000, function(user) user:log(name) user:get('/', {{ name = name }}) error(name) end }} }}\n"
    );
    let folder = folder("files_hostile", &[("plan.lua", &plan)]);
    let site = site();
    let url = site.url();
    for arguments in [
        &["check", "plan.lua"][..],
        &["plan.lua", "-l"],
        &[
            "plan.lua",
            "-H",
            &url,
            "-u",
            "1",
            "-t",
            "1s",
            "--running-metrics",
            "0.2",
        ],
        &["plan.lua", "-H", &url, "--once"],
        &["plan.lua", "-H", "\u{202e}\u{9b}bad host", "--once"],
        &["plan.lua", "--scenario", "\u{202e}\u{9b}none"],
    ] {
        let ended = Lgoose::new(arguments).within(&folder).finish();
        let shown = ended.stdout + &ended.stderr;
        assert!(
            shown.contains("\\u{202e}") && shown.contains("\\x9b"),
            "{arguments:?}: {shown}"
        );
        let steering = |c: char| {
            c.is_control() && c != '\n' && c != '\t'
                || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!shown.contains(steering), "{arguments:?}: {shown:?}");
    }
}

#[test]
fn absurd_times_and_numbers_are_refused_and_nothing_panics() {
    let folder = folder("files_absurd", &[("good.lua", TASK)]);
    for argument in [
        "--run-time=20000000000000000000",
        "--startup-time=11000d",
        "--stage=99999999h:5",
        "--test-plan=5,99999999h",
        "--warmup=20000000000000000000s",
        "--timeout=20000000000000000000",
        "--stop-timeout=20000000000000000000",
        "--dns-ttl=20000000000000000000",
        "--running-metrics=20000000000000000000",
        "--lua-time=20000000000000000000",
        "--max-body=20000000000000000000",
        "--lua-memory=20000000000GiB",
        "--hatch-rate=1e9",
        "--hatch-rate=10000000000",
        "--rate=99999999999999999999999999",
        "--wait-factor=99999999999999999999",
        "--iterations=18446744073709551615",
        "--threshold=p95 < 1s during 99999999h",
    ] {
        let ended = Lgoose::new(["good.lua", argument]).within(&folder).finish();
        assert_eq!(ended.code, 2, "{argument}: {}", ended.stderr);
        assert!(
            !ended.stderr.contains("panicked"),
            "{argument}: {}",
            ended.stderr
        );
    }
    for (field, told) in [
        ("run_time = 2e19", "longer than ten years"),
        ("run_time = 1/0", "inf"),
        ("timeout = '20000000000000000000s'", "longer than ten years"),
        ("users = 1e14", "1,000,000 users"),
        ("iterations = 1e18", "more than anything"),
        ("max_body = 1e300", "more than 1 PiB"),
        ("rate = 1e300", "a billion"),
    ] {
        let text = format!("plan {{ {field} }}\n{TASK}");
        fs::write(folder.join("plan.lua"), text).expect("written");
        let ended = Lgoose::new(["check", "plan.lua"]).within(&folder).finish();
        assert_eq!(ended.code, 2, "{field}: {}", ended.stderr);
        assert!(ended.stderr.contains(told), "{field}: {}", ended.stderr);
    }
    for wait in [
        "2e19",
        "wait.constant(1e10)",
        "wait.between(1, 1e300)",
        "wait.pacing(2e19)",
    ] {
        let text = format!("task {{ wait = {wait}, function(user) user:get '/' end }}\n");
        fs::write(folder.join("plan.lua"), text).expect("written");
        let ended = Lgoose::new(["check", "plan.lua"]).within(&folder).finish();
        assert_eq!(ended.code, 2, "{wait}: {}", ended.stderr);
        assert!(
            ended.stderr.contains("ten years"),
            "{wait}: {}",
            ended.stderr
        );
    }
    let site = site();
    let text = "task { function(user) user:get '/' user:wait(2e19) end }\n";
    fs::write(folder.join("plan.lua"), text).expect("written");
    let ended = run(&folder, &site, &[]);
    let shown = ended.stdout + &ended.stderr;
    assert!(shown.contains("longer than ten years"), "{shown}");
}
