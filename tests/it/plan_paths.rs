//! Paths that a plan names, which may be a stranger's: what it reads and writes stays in its folder, hidden files and those of
//! others stay as they are, and messages name the line and the path as the plan has it.

use crate::faulty::{Site, answer};
use crate::program::{Ended, Lgoose, empty_folder, plan, scratch};
use crate::web_serve::Host;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

const TASK: &str = "task { function(user) user:get '/' end }\n";

/// A folder with a plan's folder in it, and with files outside that the plan must not touch.
struct Folders {
    outer: PathBuf,
    plans: PathBuf,
}

impl Folders {
    fn new(name: &str) -> Folders {
        let outer = empty_folder(name);
        let plans = outer.join("plans");
        for made in ["plans/sub", "plans/.git", "outside"] {
            fs::create_dir_all(outer.join(made)).expect("a folder");
        }
        for file in [
            "outside/secret.csv",
            "plans/.git/config",
            "plans/mine.csv",
            "plans/other.lua",
        ] {
            fs::write(outer.join(file), "of,a\nperson,x\n").expect("a file");
        }
        for (target, link) in [
            ("../outside", "up"),
            ("../outside/secret.csv", "secret.csv"),
            ("nowhere.csv", "dangling.csv"),
            ("sub", "down"),
            (".git", "git"),
        ] {
            symlink(target, plans.join(link)).expect("a link");
        }
        fs::hard_link(outer.join("outside/secret.csv"), plans.join("hard.csv")).expect("a link");
        let made = Command::new("mkfifo").arg(plans.join("pipe.csv")).status();
        assert!(made.is_ok_and(|made| made.success()));
        Folders { outer, plans }
    }

    /// Runs one iteration of a plan, named by its whole path.
    fn run(&self, source: &str, site: &Site, more: &[&str]) -> Ended {
        let path = self.plans.join("plan.lua");
        fs::write(&path, source).expect("a file");
        let (path, url) = (path.display().to_string(), site.url());
        let own = [path.as_str(), "-H", &url, "-u", "1", "-i", "1", "-q"];
        Lgoose::new(own.iter().chain(more)).finish()
    }

    /// Checks that the files of others are as they were.
    fn are_kept(&self, what: &str) {
        for file in [
            "outside/secret.csv",
            "plans/.git/config",
            "plans/mine.csv",
            "plans/other.lua",
        ] {
            let text = fs::read_to_string(self.outer.join(file)).expect("it is there");
            assert_eq!(text, "of,a\nperson,x\n", "{what}: {file}");
        }
        for (folder, count) in [("outside", 1), ("plans/.git", 1)] {
            let files = fs::read_dir(self.outer.join(folder)).expect("a folder");
            assert_eq!(files.count(), count, "{what}: {folder}");
        }
    }

    /// Checks that a text names nothing of where the plan's folder is.
    fn is_silent_about_the_machine(&self, text: &str, path: &str) {
        // The line of the plan begins with its own path, as the command line has it.
        let own = self.plans.join("plan.lua").display().to_string();
        let text = text.replace(&own, "").replace(path, "");
        let outer = self.outer.display().to_string();
        assert!(!text.contains(&outer), "{path}: {text}");
    }
}

fn site() -> Site {
    Site::start(|_| answer(200, "", "good"))
}

/// Paths that no plan writes to, each with a part of the reason.
const NEVER_WRITTEN: [(&str, &str); 21] = [
    (".git/config", "'.git' begins with a dot"),
    ("./.git/config", "'.git' begins with a dot"),
    ("sub/../.git/config", "'..' leads outside"),
    ("git/config", "'.git' begins with a dot"),
    (".GIT/config", "'.GIT' begins with a dot"),
    (".bashrc", "'.bashrc' begins with a dot"),
    ("sub/.x/y", "'.x' begins with a dot"),
    ("up/new", "a symbolic link leads outside"),
    ("secret", "a symbolic link leads outside"),
    ("dangling", "a symbolic link leads nowhere"),
    ("/etc/passwd", "an absolute path leads outside"),
    ("/dev/stdout", "an absolute path leads outside"),
    ("../new", "'..' leads outside"),
    ("../outside/secret", "'..' leads outside"),
    ("..", "'..' leads outside"),
    ("mine", "it is there already"),
    ("./mine", "it is there already"),
    ("hard", "it is there already"),
    ("pipe", "it is a pipe, not a file"),
    ("none/new", "No such file or directory"),
    ("a\\0b", "it contains a NUL character"),
];

#[test]
fn a_log_of_a_plan_goes_to_a_new_file_of_its_folder_or_to_one_that_a_plan_wrote() {
    let (folders, site) = (Folders::new("paths_logs"), site());
    for (nth, (path, reason)) in NEVER_WRITTEN.into_iter().enumerate() {
        let field = ["request_log", "task_log", "error_log", "debug_log"][nth % 4];
        let path = format!("{path}.csv");
        let reason = match path.as_str() {
            "...csv" => "'...csv' begins with a dot",
            ".bashrc.csv" => "'.bashrc.csv' begins with a dot",
            _ => reason,
        };
        let source = format!("{TASK}plan {{\n  {field} = '{path}' }}\n");
        for more in [&[][..], &["--list"]] {
            let ended = folders.run(&source, &site, more);
            if more.is_empty() {
                assert_eq!(ended.code, 2, "{path}: {}", ended.stderr);
                let shown = path.replace("\\0", "\\x00");
                for words in [
                    format!("cannot write '{shown}', the '{field}' of the plan: "),
                    reason.to_owned(),
                    "plan.lua:3\n".to_owned(),
                    format!("{field} = '{path}'"),
                ] {
                    assert!(
                        ended.stderr.contains(&words),
                        "{path}: '{words}' in {}",
                        ended.stderr
                    );
                }
            }
            folders.is_silent_about_the_machine(&ended.stderr, &path);
            folders.are_kept(&path);
        }
    }
    assert_eq!(site.received(), 0);
    for path in ["new.csv", "./sub/new.jsonl", "down/linked.csv"] {
        let source = format!("plan {{ request_log = '{path}' }}\n{TASK}");
        for round in 0..3 {
            let ended = folders.run(&source, &site, &["-o", "json=-"]);
            assert_eq!(ended.code, 0, "{path}, {round}: {}", ended.stderr);
            let text = fs::read_to_string(folders.plans.join(path)).expect("a log");
            assert_eq!(
                text.lines().count(),
                if path.ends_with("csv") { 2 } else { 1 },
                "{text}"
            );
            let file = serde_json::from_str::<serde_json::Value>(&ended.stdout).expect("a report");
            assert_eq!(file["logs"][0]["file"], path);
        }
        // What a person has put there since is the person's.
        fs::write(folders.plans.join(path), "mine\n").expect("a file");
        let ended = folders.run(&source, &site, &[]);
        assert_eq!(ended.code, 2, "{path}: {}", ended.stderr);
        assert!(
            ended.stderr.contains("has changed since it was written"),
            "{}",
            ended.stderr
        );
        let ended = folders.run(&source, &site, &["--allow-files"]);
        assert_eq!(ended.code, 0, "{path}: {}", ended.stderr);
    }
    // A path of the command line is the operator's, and takes the place of the plan's.
    let typed = folders.plans.join("mine.csv").display().to_string();
    let source = format!("plan {{ request_log = '../../x.csv' }}\n{TASK}");
    let ended = folders.run(&source, &site, &["--request-log", &typed]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_ne!(
        fs::read_to_string(&typed).ok().as_deref(),
        Some("of,a\nperson,x\n")
    );
}

#[test]
fn what_a_plan_returns_for_its_report_follows_the_same_rules() {
    let (folders, site) = (Folders::new("paths_report"), site());
    for (path, reason) in NEVER_WRITTEN {
        let path = match path {
            "mine" | "./mine" | "secret" | "dangling" | "hard" | "pipe" => format!("{path}.csv"),
            path => path.to_owned(),
        };
        let source = format!(
            "{TASK}\non('report',\n function() return {{ ['{path}'] = 'evil', ['fine.txt'] = 'fine' }} end)"
        );
        let ended = folders.run(&source, &site, &[]);
        assert_eq!(ended.code, 3, "{path}: {}", ended.stderr);
        let shown = path.replace("\\0", "\\x00");
        let head = format!("cannot write '{shown}', which on(\"report\") returned (");
        for words in [head.as_str(), "plan.lua:3): ", reason] {
            assert!(
                ended.stderr.contains(words),
                "{path}: '{words}' in {}",
                ended.stderr
            );
        }
        folders.is_silent_about_the_machine(&ended.stderr, &path);
        folders.are_kept(&path);
        let fine = fs::read_to_string(folders.plans.join("fine.txt"));
        assert_eq!(
            fine.ok().as_deref(),
            Some("fine"),
            "the others are written, each time"
        );
    }
    let source = format!("{TASK}on('report', function() return {{ ['mine.csv'] = 'new' }} end)");
    let ended = folders.run(&source, &site, &["--allow-files"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let text = fs::read_to_string(folders.plans.join("mine.csv"));
    assert_eq!(text.ok().as_deref(), Some("new"));
}

#[test]
fn a_plan_reads_certificates_and_keys_of_its_folder_alone() {
    let (folders, site) = (Folders::new("paths_tls"), site());
    fs::write(folders.plans.join("bad.pem"), "no certificate").expect("a file");
    for (nth, (path, reason)) in [
        ("/etc/passwd", "an absolute path leads outside"),
        (
            "/etc/ssl/certs/ca-certificates.crt",
            "an absolute path leads outside",
        ),
        ("/dev/stdin", "an absolute path leads outside"),
        ("../outside/secret.csv", "'..' leads outside"),
        ("..", "'..' leads outside"),
        ("sub/../mine.csv", "'..' leads outside"),
        ("secret.csv", "a symbolic link leads outside"),
        ("up/secret.csv", "a symbolic link leads outside"),
        ("dangling.csv", "No such file or directory"),
        ("none.pem", "No such file or directory"),
        ("none/x.pem", "No such file or directory"),
        ("", "it names no file"),
        ("a\\0b", "it contains a NUL character"),
    ]
    .into_iter()
    .enumerate()
    {
        let field = ["ca", "cert", "key"][nth % 3];
        let source = format!("{TASK}plan {{\n  {field} = '{path}' }}\n");
        let ended = folders.run(&source, &site, &[]);
        assert_eq!(ended.code, 2, "{path}: {}", ended.stderr);
        let shown = path.replace("\\0", "\\x00");
        let head = format!("cannot read '{shown}', the '{field}' of the plan: ");
        for words in [head.as_str(), reason, "plan.lua:3\n"] {
            assert!(
                ended.stderr.contains(words),
                "{path}: '{words}' in {}",
                ended.stderr
            );
        }
        folders.is_silent_about_the_machine(&ended.stderr, path);
        // The command line takes precedence: then nothing reads the plan's.
        let typed = folders.plans.join("bad.pem").display().to_string();
        let flag = format!("--{field}");
        let ended = folders.run(&source, &site, &[&flag, &typed]);
        assert!(
            !ended.stderr.contains("of the plan"),
            "{path}: {}",
            ended.stderr
        );
    }
    for (path, reason) in [
        ("bad.pem", "'--ca bad.pem': there is no certificate in it"),
        (
            "./bad.pem",
            "'--ca ./bad.pem': there is no certificate in it",
        ),
        ("pipe.csv", "'--ca pipe.csv': it is a pipe, not a file"),
        ("sub", "'--ca sub': it is a folder, not a file"),
    ] {
        let ended = folders.run(&format!("plan {{ ca = '{path}' }}\n{TASK}"), &site, &[]);
        assert_eq!(ended.code, 2, "{path}: {}", ended.stderr);
        assert!(ended.stderr.contains(reason), "{path}: {}", ended.stderr);
        folders.is_silent_about_the_machine(&ended.stderr, path);
    }
    let outside = folders
        .outer
        .join("outside/secret.csv")
        .display()
        .to_string();
    let source = format!("plan {{ ca = '{outside}' }}\n{TASK}");
    let ended = folders.run(&source, &site, &["--allow-files"]);
    assert!(
        ended.stderr.contains("there is no certificate in it"),
        "{}",
        ended.stderr
    );
    assert_eq!(site.received(), 0);
}

#[test]
fn whatever_reads_a_file_for_a_plan_reads_those_of_its_folder_alone() {
    let (folders, site) = (Folders::new("paths_data"), site());
    fs::write(folders.outer.join("outside/evil.lua"), "return 1").expect("a file");
    fs::write(
        folders.outer.join("outside/evil.proto"),
        "syntax = \"proto3\";",
    )
    .expect("a file");
    symlink("../outside/evil.lua", folders.plans.join("evil.lua")).expect("a link");
    symlink("../outside/evil.proto", folders.plans.join("evil.proto")).expect("a link");
    let importing = "syntax = \"proto3\"; import \"../outside/evil.proto\";";
    fs::write(folders.plans.join("imports.proto"), importing).expect("a file");
    let outside = folders
        .outer
        .join("outside/secret.csv")
        .display()
        .to_string();
    for (call, reason) in [
        ("data.csv '../outside/secret.csv'", "'..' leads outside"),
        (
            &*format!("data.csv '{outside}'"),
            "an absolute path leads outside",
        ),
        ("data.csv 'secret.csv'", "a symbolic link leads outside"),
        (
            "data.csv('secret.csv', { stream = true })",
            "a symbolic link leads outside",
        ),
        (
            "data.lines('up/secret.csv', { stream = true })",
            "a symbolic link leads outside",
        ),
        ("data.lines '/etc/passwd'", "an absolute path leads outside"),
        (
            "data.json '/proc/self/environ'",
            "an absolute path leads outside",
        ),
        ("data.yaml '..'", "'..' leads outside"),
        ("data.json5 ''", "it names no file"),
        ("data.jsonl 'a\\0b'", "it contains a NUL character"),
        (
            "data.text 'sub/../../outside/secret.csv'",
            "'..' leads outside",
        ),
        (
            "data.bytes 'up/secret.csv'",
            "a symbolic link leads outside",
        ),
        ("file 'secret.csv'", "a symbolic link leads outside"),
        ("file '/etc/shadow'", "an absolute path leads outside"),
        ("file 'sub'", "it is a folder, not a file"),
        ("file 'pipe.csv'", "it is a pipe, not a file"),
        (
            "file 'none.png'",
            "there is no file 'none.png' in the plan's folder",
        ),
        ("require 'evil'", "a symbolic link leads outside"),
        ("require 'up.evil'", "a symbolic link leads outside"),
        ("require '../outside/evil'", "is not the name of a module"),
        ("grpc.load 'evil.proto'", "a symbolic link leads outside"),
        ("grpc.load '../outside/evil.proto'", "'..' leads outside"),
        ("grpc.load '/etc/passwd'", "an absolute path leads outside"),
        (
            "grpc.load { 'other.proto', paths = { '../outside' } }",
            "'..' leads outside",
        ),
        ("grpc.load 'imports.proto'", "imports.proto:1:27"),
    ] {
        let source = format!("{TASK}\nlocal _ = {call}\n");
        let ended = folders.run(&source, &site, &[]);
        assert_eq!(ended.code, 2, "{call}: {}", ended.stderr);
        for words in [reason, "plan.lua:3\n"] {
            assert!(
                ended.stderr.contains(words),
                "{call}: '{words}' in {}",
                ended.stderr
            );
        }
        folders.is_silent_about_the_machine(&ended.stderr, &outside);
    }
    assert_eq!(site.received(), 0);
    for call in [
        "data.csv './mine.csv'",
        "data.lines 'down/../mine.csv'",
        "data.csv 'hard.csv'",
        "data.text '.git/config'",
    ] {
        let ended = folders.run(&format!("{TASK}local _ = {call}\n"), &site, &[]);
        assert_eq!(
            ended.code == 0,
            !call.contains(".."),
            "{call}: {}",
            ended.stderr
        );
    }
    let calls = format!(
        "local _ = data.csv '../outside/secret.csv', data.csv '{outside}', file 'secret.csv', require 'evil',\n\
         grpc.load 'evil.proto'\n"
    );
    for command in [&[][..], &["--list"]] {
        let more = [&["--allow-files"], command].concat();
        let ended = folders.run(&format!("{TASK}{calls}"), &site, &more);
        assert_eq!(ended.code, 0, "{command:?}: {}", ended.stderr);
    }
    let path = folders.plans.join("plan.lua").display().to_string();
    let checked = |more: &[&str]| Lgoose::new(["check", path.as_str()].iter().chain(more)).finish();
    assert_eq!(checked(&[]).code, 2);
    let ended = checked(&["--allow-files"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

#[test]
fn a_check_reports_the_files_that_a_run_would_not_use() {
    let (folders, site) = (Folders::new("paths_check"), site());
    let path = folders.plans.join("plan.lua").display().to_string();
    for (setting, reason) in [
        (
            "request_log = '.git/config.csv'",
            "'.git' begins with a dot",
        ),
        ("task_log = 'mine.csv'", "was not written for a plan"),
        ("error_log = 'none/x.csv'", "No such file or directory"),
        ("cert = '/etc/passwd'", "an absolute path leads outside"),
    ] {
        fs::write(&path, format!("{TASK}plan {{ {setting} }}\n")).expect("a file");
        let ended = Lgoose::new(["check", &path]).finish();
        assert_eq!(ended.code, 2, "{setting}: {}", ended.stderr);
        for words in [reason, "plan.lua:2\n", setting] {
            assert!(ended.stderr.contains(words), "{setting}: {}", ended.stderr);
        }
        folders.are_kept(setting);
    }
    assert_eq!(site.received(), 0);
}

#[test]
fn a_body_of_a_list_lies_in_the_folder_of_the_list() {
    let (folders, site) = (Folders::new("paths_list"), site());
    let list = folders.plans.join("urls.txt").display().to_string();
    let outside = folders
        .outer
        .join("outside/secret.csv")
        .display()
        .to_string();
    for (body, reason) in [
        ("../outside/secret.csv", "'..' leads outside"),
        (outside.as_str(), "an absolute path leads outside"),
        ("/etc/passwd", "an absolute path leads outside"),
        ("secret.csv", "a symbolic link leads outside"),
        ("up/secret.csv", "a symbolic link leads outside"),
        ("dangling.csv", "No such file or directory"),
        ("pipe.csv", "it is a pipe, not a file"),
        ("sub", "it is a folder, not a file"),
    ] {
        fs::write(&list, format!("POST {}/\n@{body}\n", site.url())).expect("a file");
        let run = [list.as_str(), "-u", "1", "-i", "1", "-q"];
        for command in [&run[..], &["import", &list], &["check", &list]] {
            let ended = Lgoose::new(command).finish();
            assert_eq!(ended.code, 2, "{body}: {}", ended.stderr);
            for words in [reason, "urls.txt:2\n", &format!("the body '{body}'")] {
                assert!(ended.stderr.contains(words), "{body}: {}", ended.stderr);
            }
        }
        assert_eq!(site.received(), 0);
    }
    for (body, more) in [("mine.csv", &[][..]), (&outside, &["--allow-files"])] {
        fs::write(&list, format!("POST {}/\n@{body}\n", site.url())).expect("a file");
        let run = [list.as_str(), "-u", "1", "-i", "1", "-q"];
        let ended = Lgoose::new(run.iter().chain(more)).finish();
        assert_eq!(ended.code, 0, "{body}: {}", ended.stderr);
    }
    assert_eq!(site.received(), 2);
}

#[test]
fn a_served_plan_writes_to_the_folder_of_its_run_and_to_no_other() {
    let evil = format!(
        "plan {{ request_log = 'logs/requests.csv', users = 1, iterations = 1 }}\n{TASK}\
         on('report', function() return {{\n\
           ['other.lua'] = 'evil', ['report.json'] = 'evil', ['run.json'] = 'evil', ['deep/er/x.txt'] = 'fine',\n\
           ['../report.json'] = 'evil', ['../run.json'] = 'evil', ['.git/config'] = 'evil', ['/tmp/lgoose-evil'] = 'evil',\n\
         }} end)\n"
    );
    let host = Host::start(
        "paths_serve",
        &[
            ("evil.lua", &evil),
            ("other.lua", TASK),
            ("users.csv", "a\nb\n"),
        ],
        &[],
    );
    let site = site();
    for _ in 0..2 {
        let id = host.run("evil.lua", &json!({ "host": site.url() }));
        host.wait_for(&id, "kept");
        let (run, plans) = (host.data.join(&id), host.plans.clone());
        let files = run.join("files");
        for (file, text) in [
            ("other.lua", "evil"),
            ("report.json", "evil"),
            ("deep/er/x.txt", "fine"),
        ] {
            assert_eq!(
                fs::read_to_string(files.join(file)).ok().as_deref(),
                Some(text),
                "{file}"
            );
        }
        let log = fs::read_to_string(files.join("logs/requests.csv")).expect("a log");
        assert_eq!(log.lines().count(), 2, "{log}");
        assert_eq!(
            fs::read_to_string(plans.join("other.lua")).ok().as_deref(),
            Some(TASK)
        );
        assert_eq!(fs::read_dir(&plans).expect("a folder").count(), 3);
        let report = host
            .web
            .get(&format!("/api/v1/runs/{id}/report.json"))
            .json();
        assert_eq!(report["aggregated"]["count"], 1);
        assert_eq!(report["logs"][0]["file"], "logs/requests.csv");
        let error = host.row(&id)["error"]
            .as_str()
            .expect("what was refused")
            .to_owned();
        for path in [
            "../report.json",
            "../run.json",
            ".git/config",
            "/tmp/lgoose-evil",
        ] {
            assert!(error.contains(&format!("cannot write '{path}'")), "{error}");
        }
        assert!(!error.contains(&*run.display().to_string()), "{error}");
        let removed = host.web.send(&format!("DELETE /api/v1/runs/{id}"), "", "");
        assert_eq!(removed.status, 204, "{}", removed.text());
        assert!(!run.exists(), "the files of the plan go, too");
    }
    for (setting, reason) in [
        ("error_log = '../x.csv'", "'..' leads outside"),
        ("error_log = '.x.csv'", "begins with a dot"),
        ("cert = '/etc/passwd'", "an absolute path leads outside"),
        ("ca = 'none.pem'", "No such file"),
    ] {
        let source = format!("plan {{ {setting}, users = 1, iterations = 1 }}\n{TASK}");
        fs::write(host.plans.join("bad.lua"), source).expect("a file");
        let body = json!({ "plan": "bad.lua", "options": { "host": site.url() } }).to_string();
        let answer = host.web.post("/api/v1/runs", &body);
        assert_eq!(answer.status, 422, "{setting}: {}", answer.text());
        let told = answer.json()["error"].as_str().expect("a text").to_owned();
        assert!(
            told.contains(reason) && told.contains("bad.lua:1"),
            "{told}"
        );
    }
    let refused = json!({ "plan": "evil.lua", "options": { "allow_files": true } }).to_string();
    assert_eq!(host.web.post("/api/v1/runs", &refused).status, 400);
    host.end();
}

#[test]
fn the_operator_of_a_server_may_let_plans_use_any_file() {
    let (kept, site) = (scratch("paths_serve_allowed.txt"), site());
    fs::write(&kept, "of a person").expect("a file");
    let path = kept.display();
    let source = format!(
        "plan {{ users = 1, iterations = 1 }}\n{TASK}on('report', function() return {{ ['{path}'] = 'allowed', ['own.txt'] = 'x' }} end)\n"
    );
    let plans = [("a.lua", source.as_str())];
    let host = Host::start("paths_serve_allowed", &plans, &["--allow-files"]);
    let id = host.run("a.lua", &json!({ "host": site.url() }));
    host.wait_for(&id, "kept");
    assert_eq!(host.row(&id)["error"], serde_json::Value::Null);
    assert_eq!(fs::read_to_string(&kept).ok().as_deref(), Some("allowed"));
    assert!(host.data.join(&id).join("files/own.txt").exists());
    host.end();
}

#[test]
fn only_the_operator_lets_a_plan_use_any_file() {
    let site = site();
    let source = format!("plan {{ allow_files = true }}\n{TASK}");
    let path = plan("paths_own_leave.lua", &source);
    let ended = Lgoose::new([&path, "-H", &site.url(), "-i", "1"]).finish();
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("unknown field 'allow_files' in plan"),
        "{}",
        ended.stderr
    );
    assert!(Path::new(&path).exists());
}
