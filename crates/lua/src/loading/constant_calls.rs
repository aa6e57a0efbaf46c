//! Calls of libraries whose arguments stand in a plan's text as they are: each is made in the VM of the review, so that a mistake
//! in a task that no user has run yet has the message of the run.

use super::constants::is_constant;
use super::globals::{Globals, declared};
use crate::api::has_signing_algorithm;
use crate::diagnostics::{Token, TokenKind, closing, outer, tokens};
use crate::plan_files::SourceFile;
use lgoose_base::error::Diagnostic;

/// The functions that are called: what they return depends on their arguments alone, and they take little time.
const FUNCTIONS: [(&str, &str); 14] = [
    ("regex", ""),
    ("json", "decode"),
    ("json", "get"),
    ("random", "int"),
    ("random", "float"),
    ("random", "sample"),
    ("base64", "decode"),
    ("base32", "decode"),
    ("hex", "decode"),
    ("url", "parse"),
    ("time", "parse"),
    ("time", "format"),
    ("xml", "parse"),
    ("hash", "sign"),
];

/// Returns a warning for each call in a file that would raise an error.
pub(super) fn wrong_calls(source: &SourceFile, globals: &Globals) -> Vec<Diagnostic> {
    let words = tokens(&source.text);
    let declared = declared(&words);
    let calls = (0..words.len()).filter_map(|place| {
        let (library, member) = function_at(&words, place)?;
        if declared.contains(library) {
            return None;
        }
        let open = place + if member.is_empty() { 1 } else { 3 };
        let problem = problem(&words, place, open, source, globals)?;
        let (message, help) = problem.split_once("; ").unwrap_or((&problem, ""));
        let warning =
            Diagnostic::new(message).at(&source.name, Some(words[place].line), &source.text);
        Some(match help {
            "" => warning,
            help => warning.help(help),
        })
    });
    calls.collect()
}

/// Returns the function of a library that a place names.
fn function_at(words: &[Token<'_>], place: usize) -> Option<(&'static str, &'static str)> {
    let text = |place: usize| words.get(place).map_or("", |word| word.text);
    let before = place.checked_sub(1).map_or("", text);
    if words[place].kind != TokenKind::Name || [".", ":", "function", "local"].contains(&before) {
        return None;
    }
    FUNCTIONS.into_iter().find(|(library, member)| {
        *library == text(place)
            && (member.is_empty() || text(place + 1) == "." && text(place + 2) == *member)
    })
}

/// Returns the error of the call that begins at a place and whose arguments begin at `open`.
fn problem(
    words: &[Token<'_>],
    place: usize,
    open: usize,
    source: &SourceFile,
    globals: &Globals,
) -> Option<String> {
    let first = words.get(open)?;
    let (end, arguments) = match first.text {
        "(" => {
            let end = closing(words, open)?;
            (end, open + 1..end)
        }
        "{" => {
            let end = closing(words, open)?;
            (end, open..end + 1)
        }
        _ if first.kind == TokenKind::Text => (open, open..open + 1),
        _ => return None,
    };
    if words[place].text == "hash" {
        // The key and the text are seldom constant.
        let algorithm = outer(words, arguments.clone()).next()?;
        let is_alone = words
            .get(algorithm + 1)
            .is_some_and(|next| next.text == ",");
        if words[algorithm].kind != TokenKind::Text || !is_alone {
            return None;
        }
        let name = words[algorithm].text.trim_matches(['"', '\'']);
        return has_signing_algorithm(name)
            .err()
            .map(|problem| format!("hash.sign, {name}: {problem}"));
    }
    if !is_constant(&words[arguments]) {
        return None;
    }
    let call = source.text.get(words[place].at..words[end].end())?;
    globals.problem_of_call(call)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn messages(body: &str) -> Vec<String> {
        let plan = format!("task {{ 'a', function(user) {body} end }}");
        let (program, ..) =
            crate::load("p.lua", &plan, BTreeMap::new(), 0).expect("the plan is fine");
        let globals = Globals::new(&program).expect("a VM");
        let sources = program.sources.all();
        let found = sources
            .iter()
            .flat_map(|source| wrong_calls(source, &globals));
        found.map(|warning| warning.message().to_owned()).collect()
    }

    #[test]
    fn a_constant_that_a_run_would_refuse_is_reported() {
        for (body, begins) in [
            ("regex '('", "this regular expression is not valid"),
            (
                "local a = regex(\"[a-\")",
                "this regular expression is not valid",
            ),
            ("print(random.int(9, 1))", "random.int"),
            ("json.decode '{'", "this is not JSON"),
            (
                "hash.sign('RS255', key, text)",
                "hash.sign, RS255: unknown algorithm",
            ),
            ("json.get({}, 'a[')", "the path 'a['"),
        ] {
            let found = messages(body);
            assert!(
                found.len() == 1 && found[0].starts_with(begins),
                "{body}: {found:?}"
            );
        }
    }

    #[test]
    fn calls_that_may_be_right_are_not_reported() {
        for body in [
            "print(regex '(a)', regex(pattern), x.regex '(', regex('(' .. a .. ')'))",
            "local regex = f regex '('",
            "random.int(1, 9) random.int(a, 1) random.int(-5, -1)",
            "json.decode '{}' json.decode(text)",
            "hash.sign('RS256', key, text) hash.sign(name, key, text)",
            "time.format(0) url.parse 'http://a/b' base64.decode 'YQ=='",
        ] {
            assert_eq!(messages(body), Vec::<String>::new(), "{body}");
        }
    }
}
