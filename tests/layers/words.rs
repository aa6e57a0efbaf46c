//! Nothing is decided by the words of a message: code that looks for two words or more in a text reads what another program
//! has written, and is listed here.

use super::{root, source_files, without_comments};
use std::fs;

/// Files that read the words of others, and whose words they are.
const READERS: [(&str, &str); 4] = [
    ("crates/base/src/pem.rs", "keys in PEM"),
    ("crates/gaggle/src/broker/denials.rs", "the NATS server"),
    ("crates/lua/src/diagnostics/raised.rs", "Lua"),
    ("crates/lua/src/diagnostics/syntax/context.rs", "Lua"),
];

/// The calls that compare texts.
const COMPARING: [&str; 9] = [
    ".starts_with(\"",
    ".ends_with(\"",
    ".contains(\"",
    ".strip_prefix(\"",
    ".strip_suffix(\"",
    ".split_once(\"",
    ".find(\"",
    "== \"",
    "== Some(\"",
];

#[test]
fn nothing_is_decided_by_the_words_of_a_message() {
    let mut found = Vec::new();
    for file in source_files(root()) {
        let name = file.strip_prefix(root()).unwrap_or(&file);
        let name = name.to_string_lossy().replace('\\', "/");
        let is_for_tests = name.contains("/tests") || name.contains("fixture");
        let text = fs::read_to_string(&file).expect("a source file is readable text");
        let mut words = deciding_words(&text).peekable();
        if READERS.iter().any(|(reader, _)| *reader == name) {
            assert!(words.peek().is_some(), "{name} reads no words any more");
        } else if !is_for_tests {
            found.extend(words.map(|words| format!("{name}: \"{words}\"")));
        }
    }
    assert!(found.is_empty(), "decided by words:\n{}", found.join("\n"));
}

#[test]
fn words_that_decide_are_found() {
    let code = "
        if message.starts_with(\"dropped the \") { fail() } // starts_with(\"in a comment\")
        if name == \"p95\" || kind.ends_with(\"/json\") || text == \"the run is over\" { end() }
        #[cfg(test)]
        mod tests { fn t() { assert!(text.contains(\"two words\")); } }";
    let found: Vec<_> = deciding_words(code).collect();
    assert_eq!(found, ["dropped the ", "the run is over"]);
}

/// Returns the literals of several words that code outside of tests compares texts with.
fn deciding_words(text: &str) -> impl Iterator<Item = String> {
    let code = without_comments(text);
    let end = code
        .find("#[cfg(test)]\nmod tests")
        .or_else(|| code.find("mod tests {"));
    let code = code[..end.unwrap_or(code.len())].to_owned();
    let mut literals: Vec<(usize, String)> = Vec::new();
    for call in COMPARING {
        for (at, _) in code.match_indices(call) {
            let literal = &code[at + call.len()..];
            let literal = &literal[..literal.find('"').unwrap_or(0)];
            if is_of_words(literal) {
                literals.push((at, literal.to_owned()));
            }
        }
    }
    literals.sort();
    literals.into_iter().map(|(_, literal)| literal)
}

/// Returns whether a text has two words of two letters or more beside each other.
fn is_of_words(text: &str) -> bool {
    let is_word = |part: &str| part.len() > 1 && part.chars().all(char::is_alphabetic);
    let words: Vec<_> = text.split(' ').collect();
    words
        .windows(2)
        .any(|pair| is_word(pair[0]) && is_word(pair[1]))
}
