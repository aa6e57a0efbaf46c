//! Damaged inputs of all kinds: each is imported or refused in words.

use super::{ImportOptions, import};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;

/// The number of damaged inputs; `LGOOSE_RUNS` sets another.
const RUNS: u64 = 400;

/// The inputs of the tables in `tests/judges`, a case a line, and the key under which each has its text.
const TABLES: [(&str, &str); 4] = [
    (
        include_str!("../../../../tests/judges/import_curl.jsonl"),
        "script",
    ),
    (
        include_str!("../../../../tests/judges/import_har.jsonl"),
        "har",
    ),
    (
        include_str!("../../../../tests/judges/import_postman.jsonl"),
        "collection",
    ),
    (
        include_str!("../../../../tests/judges/import_openapi.jsonl"),
        "document",
    ),
];

/// Texts that mean something to one of the formats.
const PIECES: [&str; 24] = [
    "\"", "'", "{", "}", "[", "]", "\\", "\n", "\0", "é", "null", "-1", "1e999", "{{x}}", "$ref",
    "#/", "http://", "://", "?", "&", "=", ";", "<<EOF\n", "\u{202e}",
];

/// Damages a text at a few places.
fn damaged(text: &str, random: &mut Xoshiro256PlusPlus) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..random.random_range(1..6) {
        let length = chars.len().max(1);
        let (at, until) = (
            random.random_range(0..length),
            random.random_range(0..length),
        );
        let (from, to) = (at.min(until), at.max(until).min(at.min(until) + 200));
        match random.random_range(0..4) {
            0 => drop(chars.drain(from..to.min(chars.len()))),
            1 => {
                let again: Vec<char> = chars[from..to.min(chars.len())].to_vec();
                chars.splice(from..from, again);
            }
            2 => {
                let other = random.random_range(0..PIECES.len());
                chars.splice(from..from, PIECES[other].chars());
            }
            _ => {
                if let Some(c) = chars.get_mut(from) {
                    *c = char::from(random.random_range(0..128_u8));
                }
            }
        }
    }
    chars.into_iter().collect()
}

#[test]
fn whatever_is_damaged_is_imported_or_refused() {
    let inputs: Vec<String> = TABLES
        .iter()
        .flat_map(|(table, key)| {
            table.lines().skip(1).map(|line| {
                let mut case: Value = serde_json::from_str(line).expect("a case");
                if *key == "document" && case[*key].is_object() && case[*key]["swagger"].is_null() {
                    case[*key]["openapi"] = "3.1.0".into();
                }
                match &case[*key] {
                    Value::String(text) => text.clone(),
                    value => value.to_string(),
                }
            })
        })
        .collect();
    let runs = std::env::var("LGOOSE_RUNS").ok();
    let runs = runs.and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    for seed in 0..runs {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let input = &inputs[random.random_range(0..inputs.len())];
        let text = damaged(&input.replace("SITE", "127.0.0.1:8"), &mut random);
        match import("a file", text.as_bytes(), &ImportOptions::default()) {
            Ok(imported) => assert!(!imported.plan.is_empty(), "seed {seed}"),
            Err(refusal) => assert!(!refusal.to_string().is_empty(), "seed {seed}"),
        }
    }
}
