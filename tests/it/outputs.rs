//! Reports of whole runs in every format, each read by a parser that lgoose does not write with; reports that cannot be
//! written; and saved runs shown and converted again.

use crate::program::{Ended, Lgoose, in_repository, plan, scratch, wait_until};
use crate::server::Server;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use yaml_rust2::YamlLoader;

/// A plan with a page, a page that fails, a check, a metric, and names that formats must escape.
const PLAN: &str = r#"
local sizes = metric.trend "page size"
local hostile = {
  "=cmd|' /C calc'!A0", "<script>alert(1)</script>", "@SUM(1+1)", "esc \27[2J \0 \7", "a|b`c`\n# d, \"e\"",
  "csi \194\155", ("long "):rep(1 << 12),
}
task { "look", function(user)
  local page = user:get "/page"
  sizes:add(page.size)
  check(page.ok, "the page is there")
  user:get "/status/503"
  for _, name in ipairs(hostile) do
    user:get("/page", { name = name })
    check(true, name)
    user:get("/page", { name = name, expect = { text = name .. " is not there" } })
  end
end }

task { "raise", function() error("not UTF-8 \255\254 \27[2J", 0) end }
"#;

/// Creates the empty folder of one test.
fn folder(name: &str) -> PathBuf {
    let folder = scratch(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the scratch folder is ours");
    }
    fs::create_dir(&folder).expect("the scratch folder takes a folder");
    folder
}

fn written(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Runs one user for two iterations in a folder, with more arguments.
fn run(name: &str, folder: &Path, more: &[&str]) -> Ended {
    let server = Server::start();
    let url = server.url();
    let path = plan(name, PLAN);
    let arguments = [&path, "-H", &url, "-u", "1", "-i", "2"];
    Lgoose::new(arguments.into_iter().chain(more.iter().copied()))
        .within(folder)
        .finish()
}

const ALL: [&str; 12] = [
    "-o",
    "json=run.json",
    "-o",
    "yaml=run.yaml",
    "-o",
    "csv=run.csv",
    "-o",
    "hdr=run.hlog",
    "-o",
    "md=run.md",
    "-o",
    "junit=run.xml",
];

/// Asserts that a text has no control characters that a terminal would obey.
fn assert_harmless(file: &str, text: &str) {
    let obeyed = |c: char| c.is_control() && c != '\n';
    assert!(!text.contains(obeyed), "{file}");
}

fn rows(text: &str) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().collect::<Result<_, _>>().expect("CSV")
}

#[test]
fn every_format_has_the_same_counts_and_nothing_that_is_obeyed() {
    let folder = folder("every_format");
    let ended = run("every_format.lua", &folder, &ALL);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert_harmless("the tables", &ended.stdout);
    let mut files: Vec<String> = fs::read_dir(&folder)
        .expect("the folder is there")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into()
        })
        .collect();
    files.sort();
    let expected = [
        "run.csv",
        "run.hlog",
        "run.json",
        "run.md",
        "run.xml",
        "run.yaml",
        "run_series.csv",
    ];
    assert_eq!(files, expected, "and nothing half-written");
    for file in &files {
        assert_harmless(file, &written(&folder, file));
    }

    let json: Value = serde_json::from_str(&written(&folder, "run.json")).expect("JSON");
    let requests = json["requests"].as_array().expect("a list");
    let count = json["aggregated"]["count"].as_u64().expect("a count");
    assert_eq!((requests.len(), count), (8, 2 * (2 + 2 * 7)));

    let yaml = YamlLoader::load_from_str(&written(&folder, "run.yaml")).expect("YAML");
    let yaml = &yaml[0];
    assert_eq!(yaml["aggregated"]["count"].as_i64(), Some(count as i64));
    assert_eq!(
        yaml["requests"].as_vec().map(Vec::len),
        Some(requests.len())
    );

    let names = rows(&written(&folder, "run.csv"));
    let of = |kind: &'static str| names.iter().filter(move |row| row["kind"] == kind);
    let sum = |rows: &mut dyn Iterator<Item = &HashMap<String, String>>| -> u64 {
        rows.map(|row| row["count"].parse::<u64>().expect("a count"))
            .sum()
    };
    assert_eq!(sum(&mut of("request")), count);
    assert_eq!(sum(&mut of("aggregated")), count);
    assert_eq!(sum(&mut of("trend")), 2);
    assert!(names.iter().any(|row| row["name"] == "'=cmd|' /C calc'!A0"));
    let points = rows(&written(&folder, "run_series.csv"));
    assert_eq!(sum(&mut points.iter()), count);

    assert_eq!(histograms(&written(&folder, "run.hlog")), (9, 2 * count));
    assert!(tables(&written(&folder, "run.md")).contains(&"requests".to_owned()));
    let xml = written(&folder, "run.xml");
    let xml = roxmltree::Document::parse(&xml).expect("XML");
    let cases = xml
        .descendants()
        .filter(|node| node.has_tag_name("testcase"));
    assert_eq!(cases.count(), 2 + 8 + 8 + 2, "run, checks, requests, tasks");
}

/// Returns the number of intervals of a log and of the values in them.
fn histograms(log: &str) -> (usize, u64) {
    use base64::Engine as _;
    let mut values = Vec::new();
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        if let LogEntry::Interval(interval) = entry.expect("a line of a log") {
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(interval.encoded_histogram())
                .expect("base64");
            let histogram: hdrhistogram::Histogram<u64> =
                hdrhistogram::serialization::Deserializer::new()
                    .deserialize(&mut bytes.as_slice())
                    .expect("a histogram");
            values.push(histogram.len());
        }
    }
    (values.len(), values.iter().sum())
}

/// Returns the first word of each table's head.
fn tables(markdown: &str) -> Vec<String> {
    let mut heads = Vec::new();
    let mut awaited = false;
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::TableHead) => awaited = true,
            Event::Text(text) if awaited => {
                heads.push(text.to_string());
                awaited = false;
            }
            _ => {}
        }
    }
    heads
}

#[test]
fn the_report_of_a_run_keeps_to_the_schema() {
    let folder = folder("schema");
    let more = [
        "-o",
        "json=run.json",
        "--threshold",
        "p95 < 60s",
        "--co-mitigation",
        "average",
    ];
    let ended = run("schema.lua", &folder, &more);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let schema = crate::program::in_repository("schema/report.schema.json");
    let schema = fs::read_to_string(schema).expect("the schema is checked in");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let mut report: Value = serde_json::from_str(&written(&folder, "run.json")).expect("JSON");
    let problems = |report: &Value| -> Vec<String> {
        let errors = validator.iter_errors(report);
        errors
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    };
    assert_eq!(problems(&report), Vec::<String>::new());
    report["aggregated"]["count"] = "many".into();
    report["requests"][0]["latency_ms"]["p99.9"].take();
    assert_eq!(problems(&report).len(), 2, "it does find what is wrong");
}

#[test]
fn one_output_that_fails_leaves_the_others_and_the_tables() {
    let folder = folder("full_disk");
    let ended = run(
        "full_disk.lua",
        &folder,
        &["-o", "json=/dev/full", "-o", "csv=run.csv"],
    );
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let words = "'/dev/full': No space";
    assert!(ended.stderr.contains(words), "{}", ended.stderr);
    assert!(ended.stdout.contains("Aggregated"), "{}", ended.stdout);
    assert_eq!(rows(&written(&folder, "run.csv")).len(), 21);
    assert!(!rows(&written(&folder, "run_series.csv")).is_empty());
}

#[test]
fn a_report_replaces_a_file_in_one_step_and_keeps_its_mode_and_links() {
    let folder = folder("replaced");
    let (old, link) = (folder.join("old.json"), folder.join("run.json"));
    fs::write(&old, "an old report").expect("the folder takes a file");
    fs::set_permissions(&old, fs::Permissions::from_mode(0o640)).expect("a mode");
    symlink("old.json", &link).expect("the folder takes a link");
    // Whoever holds the old file open sees it whole: it was not written into.
    let mut held = fs::File::open(&old).expect("it is there");
    let ended = run(
        "replaced.lua",
        &folder,
        &["-o", "json=run.json", "-o", "md=new.md"],
    );
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let mut text = String::new();
    std::io::Read::read_to_string(&mut held, &mut text).expect("text");
    assert_eq!(text, "an old report");
    assert!(written(&folder, "old.json").starts_with("{\n"));
    assert!(
        fs::symlink_metadata(&link)
            .expect("it is there")
            .is_symlink()
    );
    let mode = fs::metadata(&old)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o640);
    let mode = fs::metadata(folder.join("new.md")).expect("it is there");
    assert_ne!(mode.permissions().mode() & 0o044, 0, "as any new file");
}

#[test]
fn standard_output_and_descriptors_are_written_as_they_are() {
    let folder = folder("descriptors");
    let more = [
        "-o",
        "csv=/dev/stdout",
        "-o",
        "yaml=/dev/stderr",
        "-o",
        "md=/dev/null",
    ];
    let ended = run("descriptors.lua", &folder, &more);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert_eq!(rows(&ended.stdout).len(), 21, "the rows of names alone");
    assert!(ended.stderr.contains("\naggregated:\n"), "{}", ended.stderr);
    assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 0);
}

#[test]
fn two_reports_in_one_place_are_refused_before_the_run() {
    for more in [
        ["-o", "json=-", "-o", "csv=-"],
        ["-o", "md=a", "-o", "yaml=a"],
    ] {
        let ended = Lgoose::new(["plans/drupal.lua"].into_iter().chain(more)).finish();
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        assert!(
            ended.stderr.contains("'-o' writes both"),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn a_saved_run_shows_its_tables_and_becomes_what_the_run_would_have_written() {
    let folder = folder("saved");
    let full: Vec<&str> = ALL.into_iter().chain(["--summary", "full"]).collect();
    let ended = run("saved.lua", &folder, &full);
    let report = |arguments: &[&str]| Lgoose::new(arguments.iter().copied()).within(&folder);
    let shown = report(&["report", "run.json"]).finish();
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let start = ended
        .stdout
        .find('━')
        .expect("tables after the announcement");
    assert_eq!(shown.stdout, ended.stdout[start..]);
    let names = [
        "run.json",
        "run.yaml",
        "run.csv",
        "run_series.csv",
        "run.hlog",
        "run.md",
        "run.xml",
    ];
    let first = names.map(|name| written(&folder, name));
    let again: Vec<&str> = ["report", "-"].into_iter().chain(ALL).collect();
    let again = report(&again).input(&first[0]).finish();
    assert_eq!(again.code, 0, "{}", again.stderr);
    for (name, first) in names.iter().zip(first) {
        assert_eq!(written(&folder, name), first, "{name}");
    }
    for (columns, width) in [
        ("120", 120),
        (" 60 ", 60),
        ("0", 20),
        ("none", 80),
        ("-5", 80),
    ] {
        let shown = report(&["report", "run.json"]).env("COLUMNS", columns);
        let shown = shown.finish().stdout;
        let rule = shown.lines().next().map(|line| line.chars().count());
        assert_eq!(rule, Some(width), "COLUMNS={columns}\n{shown}");
    }
    let piped = report(&["report", "run.json", "-o", "md=-", "--status-codes"]).finish();
    assert_eq!(piped.stdout, written(&folder, "run.md"));
}

#[test]
fn what_is_no_report_is_refused_with_its_place_and_the_remedy() {
    let folder = folder("no_report");
    for (file, content, words) in [
        (
            "missing.json",
            None,
            "cannot read the report 'missing.json'",
        ),
        ("folder.json", None, "cannot read the report 'folder.json'"),
        ("empty.json", Some(&b""[..]), "not a report of lgoose: EOF"),
        (
            "half.json",
            Some(b"{\n  \"version\": \"0.1.0\",\n  \"pl"),
            "--> half.json:3",
        ),
        ("other.json", Some(b"[1, 2]"), "not a report of lgoose"),
        ("binary.json", Some(b"\xff\xfe{"), "it is not UTF-8"),
    ] {
        match content {
            Some(bytes) => fs::write(folder.join(file), bytes).expect("it takes a file"),
            None if file == "folder.json" => fs::create_dir(folder.join(file)).expect("a folder"),
            None => {}
        }
        let ended = Lgoose::new(["report", file]).within(&folder).finish();
        assert_eq!(ended.code, 2, "{file}: {}", ended.stderr);
        for words in [words, "json=run.json"] {
            assert!(ended.stderr.contains(words), "{words} in\n{}", ended.stderr);
        }
        assert_eq!(ended.stdout, "");
    }
    let ended = Lgoose::new(["report", "a.json", "-o", "xml=a"]).finish();
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("json yaml csv"), "{}", ended.stderr);
}

#[test]
fn test_cases_fail_where_the_exit_code_says_so() {
    let folder = folder("cases");
    let failed = |more: &[&str]| {
        let all: Vec<&str> = ["-o", "junit=run.xml"]
            .iter()
            .chain(more)
            .copied()
            .collect();
        let ended = run("cases.lua", &folder, &all);
        let xml = written(&folder, "run.xml");
        let xml = roxmltree::Document::parse(&xml).expect("XML");
        let failed = xml
            .descendants()
            .filter(|node| node.has_tag_name("failure"));
        (ended.code, failed.count())
    };
    // A task failed in all of its runs.
    assert_eq!(failed(&[]), (1, 1));
    assert_eq!(
        failed(&["--threshold", "failures < 1%", "--threshold", "p95 < 60s"]),
        (1, 2)
    );
    assert_eq!(
        failed(&["--fail-on-error"]),
        (1, 10),
        "the names that failed"
    );
}

/// Every page has a path of its own, and nothing names it; the last holds the run open.
const PATHS: &str = r#"
task { function(user)
  for n = 1, 5000 do user:get("/page/" .. user.id .. "-" .. n) end
  print "all asked for"
  user:get "/hold"
end }
"#;

/// More than 2,000 names cost in two threads and in the store (up to 156 MiB in a debug build on a busy machine); all
/// 10,000 would take several times as much.
const BOUND: u64 = 200 << 20;

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn paths_without_end_are_bounded_and_say_how_to_name_them() {
    let server = Server::start();
    let url = server.url();
    let path = plan("paths.lua", PATHS);
    let arguments = [
        path.as_str(),
        "-H",
        &url,
        "-u",
        "2",
        "-r",
        "1000",
        "-i",
        "1",
        "--threads",
        "2",
        "-o",
        "json=-",
    ];
    let program = Lgoose::new(arguments).start();
    wait_until("both users hold", || {
        program.stderr().matches("all asked for").count() == 2
    });
    let peak = program.peak_memory();
    program.interrupt();
    program.interrupt();
    let report = crate::report::read(program.end());
    assert!(peak < BOUND, "{} MiB", peak >> 20);
    assert_eq!(report.rows().len(), 2_001);
    assert!(
        report.count(" (other)") >= 8_000,
        "{}",
        report.count(" (other)")
    );
    assert_eq!(report.sent(), server.received());
    let warnings = report.json["warnings"].to_string();
    assert!(
        warnings.contains("more than 2,000 request names"),
        "{warnings}"
    );
}

#[test]
fn every_format_is_in_both_helps_in_the_docs_and_in_a_test() {
    let refused = Lgoose::new(["plans/drupal.lua", "-o", "nope=x"]).finish();
    let list = refused.stderr.split("formats: ").nth(1).unwrap_or_default();
    let list = list.lines().next().unwrap_or_default();
    let words: Vec<&str> = list.split_whitespace().collect();
    assert!(
        words.contains(&"json") && words.contains(&"junit"),
        "{}",
        refused.stderr
    );
    let page = fs::read_to_string(in_repository("docs/outputs.md")).expect("it is there");
    let helps = [["--help", ""], ["report", "--help"]].map(|arguments| {
        let arguments = arguments.iter().filter(|argument| !argument.is_empty());
        Lgoose::new(arguments).finish().stdout
    });
    for word in words {
        assert!(
            page.contains(&format!("| `{word}` |")),
            "{word} in docs/outputs.md"
        );
        for help in &helps {
            assert!(help.contains(word), "{word} in\n{help}");
        }
        let tests = [include_str!("outputs.rs"), include_str!("page.rs")];
        let tested = tests
            .iter()
            .any(|text| text.contains(&format!("\"{word}=")));
        assert!(tested, "{word} is written by no test here");
    }
}
