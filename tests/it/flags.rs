//! Every flag: an invalid value is refused with the flag's name and what to write instead, and some test shows that the
//! flag does what its help says.

use crate::program::{Lgoose, in_repository};
use std::collections::BTreeMap;

/// Each flag that takes a value, an invalid value, and words that the message must contain beside the flag.
const MISFITS: [(&str, &str, &[&str]); 95] = [
    (
        "--otlp",
        "plan.lua",
        &["http://collector:4318", "after the plan"],
    ),
    (
        "--web",
        "plan.lua",
        &["'plan.lua' is not an address", "127.0.0.1:7400"],
    ),
    ("--web-token", "0123456789abcdef", &["add '--web'"]),
    ("--web-read-only", "yes", &["unexpected value 'yes'"]),
    ("--web-insecure", "yes", &["unexpected value 'yes'"]),
    (
        "--web-origin",
        "load.example.com",
        &[
            "'load.example.com' is not an origin",
            "https://load.example.com",
        ],
    ),
    ("--web-cert", "a.pem", &["add '--web'"]),
    ("--web-key", "a.pem", &["add '--web'"]),
    ("--web-linger", "5s", &["add '--web'"]),
    ("--open", "yes", &["unexpected value 'yes'"]),
    (
        "--workers",
        "0",
        &["'0' is not a whole number of at least 1"],
    ),
    (
        "--nats",
        "nats://broker",
        &["say how many with '--workers'"],
    ),
    (
        "--nats-listen",
        "0.0.0.0",
        &["say how many with '--workers'"],
    ),
    ("--workers-timeout", "soon", &["'soon' is not a duration"]),
    (
        "--on-worker-loss",
        "panic",
        &["continue", "replace", "spread", "stop"],
    ),
    ("--users", "0", &["'0' is not a whole number of at least 1"]),
    (
        "--hatch-rate",
        "0",
        &["'0' is not a rate", "write a rate as '10'"],
    ),
    (
        "--startup-time",
        "soon",
        &["'soon' is not a duration", "'1h30m'"],
    ),
    ("--run-time", "-5", &["'-5' is not a duration", "'1h30m'"]),
    ("--stage", "1m", &["'1m' is not a stage", "5m:200/s"]),
    (
        "--test-plan",
        "10",
        &["'10' is not a stage", "10,5m;10,30m;0,1m"],
    ),
    ("--rate", "fast", &["'fast' is not a rate", "'10'"]),
    (
        "--max-users",
        "none",
        &["'none' is not a whole number of at least 1"],
    ),
    ("--arrivals", "odd", &["'odd'", "even", "poisson"]),
    (
        "--summary",
        "long",
        &["'long' is no summary", "'short' or 'full'"],
    ),
    ("--cache", "yes", &["unexpected value 'yes'"]),
    ("--paused", "yes", &["unexpected value 'yes'"]),
    ("--part", "5/4", &["write '2/4' for the second of four"]),
    ("--throttle-requests", "0", &["'0' is not a rate"]),
    ("--wait-factor", "-1", &["'-1' is not a factor", "0.1"]),
    ("--scenario", "nobody", &["nobody", "AnonBrowsingUser"]),
    (
        "--tags",
        "smoke",
        &["nothing has the tag 'smoke'", "tags = {"],
    ),
    (
        "--exclude-tags",
        "smoke",
        &["nothing has the tag 'smoke' ('--exclude-tags')", "tags = {"],
    ),
    (
        "--request-names",
        "host",
        &["'host' names no requests", "'task' or 'path'"],
    ),
    ("--no-intervals", "yes", &["unexpected value 'yes'"]),
    ("--warmup", "x", &["'x' is not a duration"]),
    (
        "--iterations",
        "0",
        &["'0' is not a whole number of at least 1"],
    ),
    (
        "--shared-iterations",
        "0",
        &["'0' is not a whole number of at least 1"],
    ),
    (
        "--seed",
        "lucky",
        &["'lucky' is not a whole number of at least 0"],
    ),
    ("--stop-timeout", "x", &["'x' is not a duration"]),
    ("--setup-timeout", "-1s", &["'-1s' is not a duration"]),
    ("--teardown-timeout", "x", &["'x' is not a duration"]),
    (
        "--host",
        "ftp://a",
        &["'ftp://a' is not a host", "http://127.0.0.1:8080"],
    ),
    (
        "--max-redirects",
        "many",
        &["'many' is not a whole number from 0 to 100"],
    ),
    ("--referer", "never", &["'never'", "true, false"]),
    (
        "--connections",
        "forever",
        &["'forever'", "write user or iteration"],
    ),
    ("--timeout", "x", &["'x' is not a duration"]),
    ("--max-body", "big", &["'big' is not a size", "64MiB"]),
    ("--http", "3", &["'3'", "1.1", "2"]),
    ("--client", "curl", &["'curl'", "direct", "reqwest"]),
    ("--proxy", "ftp://a", &["ftp://a", "socks5://"]),
    ("--ca", "/no/such.pem", &["/no/such.pem"]),
    ("--cert", "/no/such.pem", &["/no/such.pem"]),
    ("--key", "/no/such.pem", &["--cert"]),
    ("--resolve", "a:b", &["'a:b'", "HOST:PORT:ADDRESS"]),
    ("--dns-ttl", "x", &["'x' is not a duration"]),
    ("--local-address", "here", &["'here'", "address"]),
    (
        "--header",
        "nothing",
        &["'nothing' is not a header", "NAME: VALUE"],
    ),
    ("--method", "GET", &["a URL in the place of a plan"]),
    ("--body", "text", &["a URL in the place of a plan"]),
    ("--stream", "yes", &["unexpected value 'yes'"]),
    ("--subprotocol", "v1", &["a URL in the place of a plan"]),
    ("--running-metrics", "x", &["'x' is not a duration"]),
    ("--output", "xml=a", &["'xml' is not a format", "json"]),
    ("--request-log", "a.txt", &["'a.txt'", ".csv or .jsonl"]),
    ("--task-log", "a", &["'a'", ".csv or .jsonl"]),
    ("--error-log", "csv", &["'csv'", ".csv or .jsonl"]),
    ("--debug-log", "a.json", &["'a.json'", ".csv or .jsonl"]),
    ("--request-log-sorted", "yes", &["unexpected value 'yes'"]),
    ("--co-mitigation", "sometimes", &["'sometimes'", "average"]),
    ("--threshold", "p95 <", &["p95 <", "^"]),
    (
        "--threads",
        "0",
        &["'0' is not a whole number of at least 1"],
    ),
    (
        "--threads",
        "100000000",
        &["'100000000' is more than the 4,096 threads"],
    ),
    ("--env", "NAME", &["'NAME' is not a variable", "NAME=VALUE"]),
    ("--env-file", "/no/such.env", &["/no/such.env"]),
    (
        "--env-allow",
        "NAME=VALUE",
        &["'NAME=VALUE' is not the name of a variable"],
    ),
    ("--sandbox", "yes", &["unexpected value 'yes'"]),
    ("--memory", "lots", &["'lots' is not a size", "64MiB"]),
    ("--data-memory", "all", &["'all' is not a size", "64MiB"]),
    ("--lua-memory", "x", &["'x' is not a size"]),
    ("--lua-time", "x", &["'x' is not a duration"]),
    // Flags that take no value.
    ("--once", "yes", &["unexpected value 'yes'"]),
    ("--reset-stats", "yes", &["unexpected value 'yes'"]),
    ("--insecure", "yes", &["unexpected value 'yes'"]),
    ("--no-keepalive", "yes", &["unexpected value 'yes'"]),
    ("--no-cookies", "yes", &["unexpected value 'yes'"]),
    (
        "--connections-per-host",
        "0",
        &["'0' is not a whole number from 1 to 256"],
    ),
    (
        "--discard",
        "failed",
        &["'failed' is not a kind of bodies", "successful or all"],
    ),
    ("--sticky-follow", "yes", &["unexpected value 'yes'"]),
    ("--trace", "yes", &["unexpected value 'yes'"]),
    (
        "--trace-sample",
        "200%",
        &["'200%' is not a share", "'1%' or '0.01'"],
    ),
    ("--http-debug", "yes", &["unexpected value 'yes'"]),
    ("--fail-on-saturation", "yes", &["unexpected value 'yes'"]),
    ("--allow-files", "yes", &["unexpected value 'yes'"]),
    ("--allow-short", "yes", &["unexpected value 'yes'"]),
];

/// Exempt flags: those without a value that choose what is shown, those that take any path or text, and those that every
/// program has.
const OTHERS: [&str; 19] = [
    "--allow-host",
    "--nats-creds",
    "--nats-ca",
    "--nats-cert",
    "--nats-key",
    "--exit",
    "--headless",
    "--watch",
    "--no-color",
    "--log-file",
    "--list",
    "--only-summary",
    "--quiet",
    "--verbose",
    "--status-codes",
    "--backtrace",
    "--fail-on-error",
    "--help",
    "--version",
];

#[test]
fn a_value_that_does_not_fit_is_refused_with_the_remedy() {
    for (flag, value, words) in MISFITS {
        let argument = format!("{flag}={value}");
        let ended = Lgoose::new(["plans/drupal.lua", &argument]).finish();
        assert_eq!(ended.code, 2, "{argument}: {}", ended.stderr);
        // A value that fits by itself is refused for what it names.
        let named = flag.trim_start_matches('-').replace('-', "_");
        let known = ended.stderr.contains(flag)
            || ended.stderr.contains(&named)
            || words.iter().any(|word| word.contains(value));
        assert!(
            known,
            "{argument}: the flag is not named in\n{}",
            ended.stderr
        );
        for word in words {
            assert!(
                ended.stderr.contains(word),
                "{argument}: '{word}' is missing in\n{}",
                ended.stderr
            );
        }
    }
}

#[test]
fn every_flag_is_in_the_tables_above_and_in_a_test_of_what_it_does() {
    let help = Lgoose::new(["-h"]).finish().stdout;
    let options = help
        .split("\n\n")
        .nth(1)
        .expect("options after the examples");
    let words: Vec<&str> = options.split_whitespace().collect();
    // Each long name with the short one that stands before it.
    let flags: BTreeMap<&str, Option<&str>> = words
        .windows(2)
        .filter(|pair| pair[1].starts_with("--"))
        .map(|pair| (pair[1], Some(pair[0]).filter(|short| is_short(short))))
        .collect();
    let folders = ["tests/accuracy", "tests/it"].map(in_repository);
    let tests = folders.map(|folder| std::fs::read_dir(folder).expect("the tests are there"));
    let tests: String = tests
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("a folder can be read").path())
        .filter(|path| !path.ends_with("flags.rs"))
        .map(|path| std::fs::read_to_string(path).expect("a test is text"))
        .collect();
    let mut unused = Vec::new();
    for (flag, short) in flags {
        let wrong = MISFITS.iter().any(|(known, ..)| *known == flag);
        assert!(wrong || OTHERS.contains(&flag), "{flag} has no wrong value");
        let used = [Some(flag), short].into_iter().flatten().any(|name| {
            tests.contains(&format!("\"{name}\"")) || tests.contains(&format!("\"{name}="))
        });
        if !used {
            unused.push(flag);
        }
    }
    assert!(unused.is_empty(), "no test uses {unused:?}");
}

fn is_short(word: &str) -> bool {
    word.len() == 2 && word.starts_with('-')
}

#[test]
fn a_value_that_is_refused_is_shown_without_its_secret() {
    for (flag, value, parts) in [
        (
            "--proxy",
            "http://me:SECRET@host:99999",
            &["'http://***@host:99999' for '--proxy <URL>'", "socks5://"][..],
        ),
        ("--proxy", "me:SEC/SECRET@host", &["'***@host'"]),
        (
            "--otlp",
            "ftp://me:SECRET@host",
            &["'ftp://***@host' for '--otlp", "http://collector:4318"],
        ),
        (
            "--web-token",
            "SECRET",
            &["'***' for '--web-token <TOKEN>'", "openssl"],
        ),
    ] {
        let variable = format!("LGOOSE_{}", flag[2..].to_uppercase().replace('-', "_"));
        for ended in [
            Lgoose::new(["plans/drupal.lua", flag, value]).finish(),
            Lgoose::new(["plans/drupal.lua"])
                .env(&variable, value)
                .finish(),
        ] {
            assert_eq!(ended.code, 2, "{flag}: {}", ended.stderr);
            assert!(!ended.stderr.contains("SECRET"), "{}", ended.stderr);
            for part in parts {
                assert!(ended.stderr.contains(part), "'{part}': {}", ended.stderr);
            }
        }
    }
}

#[test]
fn empty_variables_are_none_and_a_timeout_of_zero_is_refused() {
    let list = |name: &str, value: &str| {
        let run = Lgoose::new(["plans/drupal.lua", "--list"]);
        run.env(name, value).finish()
    };
    for name in [
        "TIMEOUT", "RESOLVE", "HOST", "INSECURE", "USERS", "REFERER", "CA", "PROXY",
    ] {
        let ended = list(&format!("LGOOSE_{name}"), "");
        assert_eq!(ended.code, 0, "{name}: {}", ended.stderr);
    }
    for zero in ["0", "0s", "0ms"] {
        let ended = list("LGOOSE_TIMEOUT", zero);
        assert_eq!(ended.code, 2, "{zero}");
        assert!(
            ended.stderr.contains("a timeout of 0 fails every request"),
            "{}",
            ended.stderr
        );
    }
}
