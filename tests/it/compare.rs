//! `lgoose compare` with the reports of whole runs: what is found, what is refused, and what is written.

use crate::program::{Ended, Lgoose, Running, empty_folder, wait_until};
use crate::report::saved;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A plan of two pages, one of them slower to make.
const PLAN: &str = r#"
task { "front page", function(user) user:get "/" end }
task { "article", weight = 3, function(user) user:get "/node/1" end }
"#;

/// Creates the empty folder of one test, with the plan in it.
fn folder(name: &str) -> PathBuf {
    let folder = empty_folder(name);
    fs::write(folder.join("plan.lua"), PLAN).expect("the folder takes a file");
    folder
}

/// Starts the built-in site with a latency, and returns its URL.
fn site(latency: &str) -> (Running, String) {
    let running = Lgoose::new(["demo", "drupal", "--port", "0", "--latency", latency]).start();
    wait_until("the site says where it is", || {
        running.stdout().contains("http://")
    });
    let told = running.stdout();
    let from = told.find("http://").expect("its URL");
    let url = told[from..].split_whitespace().next().unwrap_or_default();
    let url = url.trim_end_matches(['/', ',', ';', '.']).to_owned();
    (running, url)
}

/// Starts a run whose report goes to a file in the folder; options in `more` take the place of the usual ones.
fn start(folder: &Path, url: &str, file: &str, more: &[&str]) -> Running {
    let output = format!("json={file}");
    let usual = [
        ["-o", &output],
        ["-H", url],
        ["--max-users", "40"],
        ["--rate", "40"],
        ["-t", "2s"],
        ["--warmup", "500ms"],
        ["--seed", "1"],
    ];
    let usual = usual.iter().filter(|[name, _]| !more.contains(name));
    let all = ["plan.lua", "-q"]
        .into_iter()
        .chain(usual.flatten().copied());
    Lgoose::new(all.chain(more.iter().copied()))
        .within(folder)
        .start()
}

/// Runs, and waits for the end.
fn run(folder: &Path, url: &str, file: &str, more: &[&str]) {
    let ended = start(folder, url, file, more).end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

fn compare(folder: &Path, arguments: &[&str]) -> Ended {
    let all = ["compare"].into_iter().chain(arguments.iter().copied());
    Lgoose::new(all).within(folder).finish()
}

fn row<'a>(json: &'a Value, name: Option<&str>, figure: &str) -> &'a Value {
    let rows = json["rows"].as_array().expect("rows");
    rows.iter()
        .find(|row| row["name"].as_str() == name && row["figure"] == figure)
        .unwrap_or_else(|| panic!("a row {name:?} {figure} in {json}"))
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_site_that_became_slower_is_called_so_and_the_other_way_round_faster() {
    let folder = folder("compare_slower");
    let ((_fast, fast), (_slow, slow)) = (site("5ms"), site("250ms"));
    let long = "-t 26s --warmup 1s --seed 7 --max-users 200";
    let long: Vec<&str> = long.split(' ').collect();
    let runs = [(&fast, "before.json"), (&slow, "after.json")];
    let runs = runs.map(|(url, file)| start(&folder, url, file, &long));
    for run in runs {
        let ended = run.end();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
    }
    // A busy machine may have kept lgoose itself waiting, which the verdict on exit codes must not hang on.
    let anyway = |arguments: &[&str]| {
        let all: Vec<&str> = arguments.iter().chain(&["--anyway"]).copied().collect();
        compare(&folder, &all)
    };
    let outputs = [
        "before.json",
        "after.json",
        "-o",
        "json=c.json",
        "-o",
        "md=c.md",
        "-o",
        "html=c.html",
    ];
    let ended = anyway(&outputs);
    assert_eq!(ended.code, 0, "without a limit: {}", ended.stderr);
    assert!(ended.stdout.contains("slower"), "{}", ended.stdout);
    assert!(
        ended.stdout.lines().all(|line| line.chars().count() <= 80),
        "{}",
        ended.stdout
    );
    let json = saved(&folder.join("c.json"));
    for name in [None, Some("front page"), Some("article")] {
        for figure in ["median", "p95", "mean"] {
            let row = row(&json, name, figure);
            let [low, change, high] = ["low", "change", "high"].map(|key| row[key].as_f64());
            assert!(low < change && change < high && change > Some(0.1), "{row}");
            // The slowest requests of a busy machine may say too little.
            if figure != "p95" {
                assert_eq!(row["verdict"], "slower", "{row}");
            }
        }
        assert_eq!(row(&json, name, "rate")["verdict"], "no difference seen");
        assert_eq!(
            row(&json, name, "failures")["verdict"],
            "no difference seen"
        );
    }
    let before = saved(&folder.join("before.json"));
    let p95 = &before["aggregated"]["latency_ms"]["p95"];
    assert_eq!(
        &row(&json, None, "p95")["before"],
        p95,
        "as the report has it"
    );
    let names: Vec<&Value> = json["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| &row["name"])
        .collect();
    assert_eq!(
        (names[0], &names[6], &names[12]),
        (&Value::Null, &&"article".into(), &&"front page".into())
    );
    for (file, words) in [
        ("c.md", "| 🔺 median |"),
        ("c.md", "| slower |"),
        ("c.html", "<td><bdi>slower</bdi></td>"),
    ] {
        let text = fs::read_to_string(folder.join(file)).expect("it was written");
        assert!(text.contains(words), "{text}");
    }
    let limited = anyway(&["before.json", "after.json", "--max-regression", "median 5%"]);
    assert_eq!(limited.code, 1, "{}", limited.stderr);
    assert!(
        limited.stderr.contains("beyond chance"),
        "{}",
        limited.stderr
    );
    assert!(limited.stdout.contains("✗ median"), "{}", limited.stdout);
    for (files, limit) in [
        (["before.json", "after.json"], "p95 100000%"),
        (["before.json", "after.json"], "failures 0%"),
        (["after.json", "before.json"], "median 0%"),
    ] {
        let ended = anyway(&[files[0], files[1], "--max-regression", limit]);
        assert_eq!(ended.code, 0, "{files:?} {limit}: {}", ended.stdout);
    }
    let faster = anyway(&["after.json", "before.json", "-o", "json=-"]);
    let json: Value = serde_json::from_str(&faster.stdout).expect("nothing but JSON");
    assert_eq!(row(&json, None, "median")["verdict"], "faster");
    let mixed = anyway(&["before.json", "--after", "after.json", "-o", "json=-"]);
    let json: Value = serde_json::from_str(&mixed.stdout).expect("nothing but JSON");
    assert_eq!(row(&json, None, "median")["verdict"], "slower");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn what_makes_runs_incomparable_is_said_first_and_fails() {
    let folder = folder("compare_apart");
    let (_site, url) = site("1ms");
    run(&folder, &url, "a.json", &[]);
    run(&folder, &url, "seed.json", &["--seed", "2"]);
    run(&folder, &url, "rate.json", &["--rate", "50"]);
    run(&folder, &url, "cold.json", &["--warmup", "0s"]);
    run(&folder, &url, "short.json", &["--no-intervals"]);
    let other_choices = compare(&folder, &["a.json", "seed.json", "--anyway"]);
    assert_eq!(other_choices.code, 0, "{}", other_choices.stderr);
    let told: Vec<&str> = other_choices.stdout.split_whitespace().collect();
    let note = "note 'a.json' and 'seed.json' have different seeds, 1 and 2";
    assert!(told.join(" ").contains(note), "{}", other_choices.stdout);
    for (file, words) in [
        ("rate.json", "'rate' is 40.0 and 50.0"),
        ("cold.json", "have different loads"),
    ] {
        let ended = compare(&folder, &["a.json", file]);
        assert_eq!(ended.code, 2, "{file}: {}", ended.stdout);
        assert!(ended.stderr.contains("not comparable"), "{}", ended.stderr);
        let told = ended
            .stdout
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let (at, table) = (told.find(words), told.find("Figures before after"));
        assert!(
            at.is_some() && at < table,
            "{file}: {words} before the table of\n{}",
            ended.stdout
        );
        assert!(told.contains("too few data"), "{told}");
        let json = compare(&folder, &["a.json", file, "-o", "json=-", "--anyway"]);
        assert_eq!(json.code, 0, "{}", json.stderr);
        let json: Value = serde_json::from_str(&json.stdout).expect("nothing but JSON");
        assert_eq!(json["comparable"], false);
        assert!(json["reasons"][0].is_string());
    }
    let kept = saved(&folder.join("a.json"));
    assert!(kept["requests"][0]["series"]["histogram"][0].is_string());
    assert!(kept["series"][0]["histogram"].is_string());
    let left = saved(&folder.join("short.json"));
    assert_eq!(left["requests"][0]["series"]["histogram"], Value::Null);
    assert_eq!(left["series"][0]["histogram"], Value::Null);
    assert!(
        left["requests"][0]["series"]["p95_ms"][0].is_number(),
        "the rest stays"
    );
    let ended = compare(&folder, &["a.json", "short.json", "--anyway"]);
    let told = ended
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        told.contains("'short.json' has no latencies of its seconds"),
        "{told}"
    );
    let limited = compare(
        &folder,
        &["a.json", "short.json", "--max-regression", "p95 5%"],
    );
    assert_eq!(
        limited.code, 2,
        "what cannot be judged does not pass: {}",
        limited.stdout
    );
    let told = limited
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        told.contains("too little data for the limit 'p95 5%'"),
        "{told}"
    );
}

#[test]
fn mistakes_are_told_with_the_remedy() {
    let folder = folder("compare_mistakes");
    let (_site, url) = site("1ms");
    run(&folder, &url, "a.json", &[]);
    run(&folder, &url, "b.json", &[]);
    fs::copy(folder.join("a.json"), folder.join("copy.json")).expect("the folder takes a copy");
    fs::write(folder.join("text.json"), "no report").expect("the folder takes a file");
    fs::write(folder.join("other.json"), "{\"rows\": []}").expect("the folder takes a file");
    for (arguments, words) in [
        (
            &["a.json"][..],
            &[
                "'a.json' alone cannot be compared",
                "lgoose compare a.json after.json",
            ][..],
        ),
        (
            &["a.json", "b.json", "copy.json"],
            &["it is not clear which of 3 reports", "--after copy.json"],
        ),
        (
            &["a.json", "a.json"],
            &["'a.json' is named twice", "different runs"],
        ),
        (
            &["a.json", "copy.json"],
            &["'a.json' and 'copy.json' are the same report"],
        ),
        (
            &["a.json", "none.json"],
            &["cannot read the report 'none.json'"],
        ),
        (
            &["a.json", "text.json"],
            &["not a report of lgoose", "text.json:1"],
        ),
        (
            &["a.json", "other.json"],
            &["not a report of lgoose", "missing field"],
        ),
        (&["a.json", "plan.lua"], &["no host is given"]),
        (
            &["a.json", "b.json", "--max-regression", "p95"],
            &[
                "'--max-regression p95': a limit is missing",
                "such as 'p95 5%'",
            ],
        ),
        (
            &["a.json", "b.json", "--max-regression", "p96 5%"],
            &["did you mean 'p95'"],
        ),
        (
            &["a.json", "b.json", "-o", "csv=a.csv"],
            &["formats: json html md"],
        ),
        (
            &["a.json", "b.json", "-o", "md=x", "-o", "json=x"],
            &["'-o' writes both"],
        ),
        (&[], &["REPORT.json"]),
    ] {
        let ended = compare(&folder, arguments);
        assert_eq!(ended.code, 2, "{arguments:?}: {}", ended.stderr);
        for words in words {
            assert!(ended.stderr.contains(words), "{words} in\n{}", ended.stderr);
        }
        assert_eq!(ended.stdout, "", "{arguments:?}");
    }
    let absent = compare(
        &folder,
        &["a.json", "b.json", "--max-regression", "GET /gone: p95 5%"],
    );
    assert_eq!(absent.code, 2, "{}", absent.stdout);
    let told = absent
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        told.contains("nothing was requested under the name"),
        "{told}"
    );
    let full = compare(
        &folder,
        &["a.json", "b.json", "--anyway", "-o", "json=nowhere/c.json"],
    );
    assert_eq!(full.code, 3, "{}", full.stderr);
}

#[test]
fn nothing_is_written_over_a_report_that_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (before, after) = (path("before.json"), path("after.json"));
    for file in [&before, &after] {
        std::fs::write(file, "kept").expect("the folder takes a file");
    }
    let over = format!("json={after}");
    for command in [
        vec!["compare", &before, &after, "-o", &over],
        vec!["compare", &before, "--after", &after, "-o", &over],
        vec!["report", &after, "-o", &over],
    ] {
        let ended = Lgoose::new(command.iter().copied()).finish();
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{command:?}");
        let told = "would be written over a report";
        assert!(ended.stderr.contains(told), "{command:?}: {}", ended.stderr);
        assert_eq!(std::fs::read(&after).expect("it is there"), b"kept");
    }
}
