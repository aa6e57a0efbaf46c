//! A plan that is edited while it runs: `--watch`, and the key 'r' of the live view.

use crate::program::{Lgoose, scratch, wait_until};
use crate::server::Server;
use crate::terminal::Terminal;
use std::path::{Path, PathBuf};

/// Writes a file as editors do: to a temporary file that then replaces it.
fn save(path: &Path, text: &str) {
    let draft = path.with_extension("draft");
    std::fs::write(&draft, text).expect("the folder takes a file");
    std::fs::rename(&draft, path).expect("it takes the place of the other");
}

fn asking_for(path: &str) -> String {
    format!(
        "local page = require \"page\"\ntask {{ \"{path}\", function(user) user:get(page(\"{path}\")); user:wait(0.02) end }}\n"
    )
}

/// Creates a folder with a plan and its module.
fn folder(name: &str) -> PathBuf {
    let folder = scratch(name);
    std::fs::create_dir_all(&folder).expect("the scratch folder takes a folder");
    save(
        &folder.join("page.lua"),
        "return function(path) return path end",
    );
    save(&folder.join("plan.lua"), &asking_for("/first"));
    folder
}

#[test]
fn with_watch_every_saved_change_is_taken_and_a_mistake_is_shown_and_changes_nothing() {
    let server = Server::start();
    let folder = folder("reload_watch");
    let (plan, report) = (folder.join("plan.lua"), folder.join("report.json"));
    let output = format!("json={}", report.display());
    let arguments = [
        plan.to_str().expect("a plain path"),
        "--watch",
        "-H",
        &server.url(),
        "-u",
        "3",
        "-r",
        "100",
        "-o",
        &output,
    ];
    let run = Lgoose::new(arguments).start();
    let asked = |path: &str| server.count(&format!("GET {path}"));
    wait_until("the first plan", || asked("/first") > 0);
    save(&plan, &asking_for("/second"));
    wait_until("the second plan", || asked("/second") > 3);
    save(&plan, "task { wieght = 3, function() end }");
    wait_until("what is wrong", || {
        run.stderr().contains("unknown field 'wieght'")
    });
    let then = asked("/second");
    wait_until("the second plan still", || asked("/second") > then + 3);
    save(&plan, &asking_for("/third"));
    wait_until("the third plan", || asked("/third") > 3);
    save(
        &folder.join("page.lua"),
        "return function(path) return path .. \"/of-module\" end",
    );
    wait_until("the other module", || asked("/third/of-module") > 3);
    run.interrupt();
    let ended = run.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(ended.stdout.matches("figures before").count(), 3);
    let text = std::fs::read_to_string(&report).expect("it was written");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let earlier = report["earlier"].as_array().expect("a list");
    let count = |report: &serde_json::Value| report["aggregated"]["count"].as_u64();
    let counts: Vec<_> = earlier.iter().chain([&report]).map(count).collect();
    assert_eq!(counts.len(), 4);
    let sum: u64 = counts.into_iter().flatten().sum();
    assert_eq!(sum, server.received());
    let names = |report: &serde_json::Value| report["requests"].to_string();
    assert!(names(&earlier[0]).contains("\"/first\"") && !names(&report).contains("\"/first\""));
}

#[test]
fn in_the_live_view_a_key_loads_the_plan_or_shows_what_is_wrong_with_it() {
    let server = Server::start();
    let folder = folder("reload_view");
    let plan = folder.join("plan.lua");
    let url = server.url();
    let arguments = ["plan.lua", "-H", &url, "-u", "3", "-r", "100", "--exit"];
    let program = env!("CARGO_BIN_EXE_lgoose");
    let mut view = Terminal::start(program, &arguments, &folder, (80, 24));
    view.wait_for("GET /first");
    save(&plan, "task { wieght = 3, function() end }");
    view.press_for("r", "unknown field 'wieght'");
    view.wait_for("still running the previous plan; fix it");
    let then = server.received();
    wait_until("the plan runs on", || server.received() > then + 3);
    view.press("jj\r4");
    view.press_for("\x1b7", "unknown field 'wieght'");
    view.press("1");
    save(&plan, &asking_for("/mended"));
    view.press_for("r", "reloaded: users take the plan");
    view.wait_for("GET /mended");
    view.press_for("q", "stop the run?");
    view.press("y");
    assert_eq!(view.end(), 0);
    view.wait_for("figures before");
}

#[test]
fn what_cannot_be_loaded_a_second_time_is_refused() {
    for (plan, words) in [
        ("-", "a plan from standard input cannot be loaded"),
        ("http://127.0.0.1:9", "a URL is no plan"),
    ] {
        let ended = Lgoose::new([plan, "--watch"])
            .input("task { function() end }")
            .finish();
        assert_eq!(ended.code, 2);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
        assert!(
            ended.stderr.contains("write the plan into a file"),
            "{}",
            ended.stderr
        );
    }
}
