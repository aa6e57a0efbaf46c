//! The files for CI: what the step of a job leaves behind and when it fails, and that the book shows them as they are.

use crate::program::{empty_folder, in_repository};
use crate::server::Server;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PLAN: &str = "task { 'front', wait = 0.02, function(user) user:get '/' end }";

/// Creates the empty folder of one test, with the plan in it.
fn folder(name: &str) -> PathBuf {
    let folder = empty_folder(name);
    fs::write(folder.join("plan.lua"), PLAN).expect("the folder takes a file");
    folder
}

/// Runs the step as a job does, with `lgoose` on its path.
fn step(folder: &Path, url: &str, more: &[&str]) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_lgoose"));
    let tools = program.parent().expect("it is in a folder").display();
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new(in_repository("deploy/ci/load-test.sh"))
        .args([
            "plan.lua", "-H", url, "-u", "2", "-r", "100", "-t", "2s", "--warmup", "500ms",
            "--seed", "1",
        ])
        .args(more)
        .env("PATH", format!("{tools}:{path}"))
        .current_dir(folder)
        .output()
        .expect("bash runs")
}

#[test]
fn the_step_of_a_job_leaves_reports_and_compares_with_the_main_branch() {
    let folder = folder("ci_step");
    let server = Server::start();
    let left = |name: &str| folder.join("load-test").join(name);
    let first = step(&folder, &server.url(), &["--threshold", "failures < 1%"]);
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    for name in ["run.json", "run.xml", "run.html", "summary.md"] {
        assert!(left(name).exists(), "{name}");
    }
    assert!(
        !left("compared.md").exists(),
        "there is nothing to compare with"
    );
    fs::copy(left("run.json"), left("baseline.json")).expect("the folder takes a copy");
    let second = step(&folder, &server.url(), &["--threshold", "failures < 1%"]);
    assert_eq!(second.status.code(), Some(0), "{second:?}");
    let summary = fs::read_to_string(left("summary.md")).expect("it was written");
    let compared = fs::read_to_string(left("compared.md")).expect("it was written");
    assert!(
        compared.contains("baseline.json") && summary.ends_with(&compared),
        "{summary}"
    );
}

#[test]
fn the_step_of_a_job_fails_with_its_thresholds_and_mistakes() {
    let folder = folder("ci_fails");
    let server = Server::start();
    let broken = step(&folder, &server.url(), &["--threshold", "count < 1"]);
    assert_eq!(broken.status.code(), Some(1), "{broken:?}");
    let summary = fs::read_to_string(folder.join("load-test/summary.md"))
        .expect("it is written all the same");
    assert!(summary.contains("| ❌ `count` | \\< 1 |"), "{summary}");
    let mistake = step(&folder, &server.url(), &["--treshold", "p95 < 1s"]);
    assert_eq!(mistake.status.code(), Some(2), "{mistake:?}");
}

#[test]
fn the_page_shows_the_files_as_they_are() {
    let read = |path: &str| fs::read_to_string(in_repository(path)).expect(path);
    let page = read("docs/ci.md");
    for file in ["deploy/ci/github.yml", "deploy/ci/gitlab.yml"] {
        let shown = format!("```yaml\n{}```\n", read(file));
        assert!(page.contains(&shown), "copy {file} to docs/ci.md");
    }
}
