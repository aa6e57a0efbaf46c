//! Words that no identifier has: riddles for what the field has a plain term for. CONTRIBUTING.md lists them.
//!
//! An identifier is declared by `fn`, `struct`, `let` and the like, as a field or parameter by `name: Type`, or as a
//! parameter of a closure.

use super::{first_word, source_files, without_comments};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// How the list in CONTRIBUTING.md begins.
const LIST: &str = "No identifier has one of these words: ";

/// Identifiers that have such a word all the same, each with the reason.
const ALLOWED: [(&str, &str); 1] = [(
    "begun",
    "a key in the record of a run that `lgoose serve` keeps",
)];

/// What is followed by a name that it declares.
const DECLARING: [&str; 11] = [
    "fn", "struct", "enum", "trait", "type", "const", "static", "mod", "let", "mut", "for",
];

#[test]
fn identifiers_have_the_words_of_the_field() {
    let words = listed();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    for file in source_files(root) {
        let text = fs::read_to_string(&file).expect("a source file is readable text");
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy();
        for identifier in declared(&text) {
            if let Some(word) = riddle(&identifier, &words) {
                found.insert(format!("{name}: '{identifier}' has '{word}'"));
            }
        }
    }
    let found = Vec::from_iter(found);
    assert!(
        found.is_empty(),
        "{} identifiers have words of the list in CONTRIBUTING.md:\n{}\n",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn the_words_of_an_identifier_are_told_apart() {
    let words = BTreeSet::from(["told".to_owned()]);
    for (identifier, expected) in [
        ("told", true),
        ("is_told", true),
        ("ToldTwice", true),
        ("NOT_TOLD", true),
        ("stolden", false),
        ("Toldo", false),
    ] {
        assert_eq!(
            riddle(identifier, &words).is_some(),
            expected,
            "{identifier}"
        );
    }
    let code = "fn a(b: u8) { let c = |d, e| (f::<g>(h), \"let i\"); } // let j\nstruct K { l: M }\nfor n in o {}";
    let declared = declared(code);
    assert_eq!(
        Vec::from_iter(declared),
        ["K", "a", "b", "c", "d", "e", "l", "n"]
    );
}

/// Returns the words that CONTRIBUTING.md lists.
fn listed() -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("CONTRIBUTING.md");
    let page = fs::read_to_string(page).expect("CONTRIBUTING.md is readable text");
    let list = page.split_once(LIST).map(|(_, list)| list);
    let list = list.and_then(|list| list.split_once('.'));
    let (list, _) = list.expect("CONTRIBUTING.md lists the words");
    list.split(',')
        .map(|word| word.trim().trim_matches('`').to_owned())
        .collect()
}

/// Returns the word of the list that the identifier has.
fn riddle(identifier: &str, words: &BTreeSet<String>) -> Option<String> {
    if ALLOWED.iter().any(|(allowed, _)| *allowed == identifier) {
        return None;
    }
    let mut parts = vec![String::new()];
    let mut last = '_';
    for c in identifier.chars() {
        if c == '_' || (c.is_uppercase() && last.is_lowercase()) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| c != '_') {
            part.extend(c.to_lowercase());
        }
        last = c;
    }
    parts.into_iter().find(|part| words.contains(part))
}

/// Returns the identifiers that the code declares.
fn declared(text: &str) -> BTreeSet<String> {
    let code = without_texts(&without_comments(text));
    let mut declared = BTreeSet::new();
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut before = "";
    let mut at = 0;
    while let Some(start) = code[at..].find(part).map(|start| at + start) {
        let word = first_word(&code[start..]);
        let end = start + word.len();
        let is_type = code[end..].strip_prefix(": ").is_some();
        if DECLARING.contains(&before) || is_type {
            declared.insert(word.to_owned());
        }
        (before, at) = (word, end);
    }
    for line in code.lines() {
        let mut bars = line.split('|');
        let Some(after) = bars.next().and_then(|_| bars.next()) else {
            continue;
        };
        let is_list = after.chars().all(|c| part(c) || " ,&()".contains(c));
        if is_list && bars.next().is_some() {
            let names = after
                .split(|c: char| !part(c))
                .filter(|name| !name.is_empty());
            declared.extend(names.map(str::to_owned));
        }
    }
    declared.retain(|name| {
        name != "_" && name != "mut" && !name.starts_with(|c: char| c.is_ascii_digit())
    });
    declared
}

/// Returns the code with nothing inside of its string literals.
fn without_texts(code: &str) -> String {
    let code = code.replace("'\"'", "' '");
    let mut rest = &*code;
    let mut cleared = String::new();
    while let Some((before, after)) = rest.split_once('"') {
        cleared.push_str(before);
        cleared.push_str("\"\"");
        let mut escaped = false;
        let end = after.char_indices().find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        rest = end.map_or("", |(end, _)| &after[end + 1..]);
    }
    cleared + rest
}
