//! `lgoose help`: the help of a command, a page of the documentation, or a part of the language reference.

use clap::Args;
use lgoose_base::error::{Diagnostic, nearest};
use lgoose_base::line::wrapped;

/// What to explain.
#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// A command, a page (load, thresholds, data, …), or a name of the language such as user:get or Expect
    pub(super) topic: Option<String>,
}

/// The pages that the program carries, by topic.
const PAGES: [(&str, &str); 14] = [
    ("plans", include_str!("../../docs/plans.md")),
    ("load", include_str!("../../docs/load.md")),
    ("thresholds", include_str!("../../docs/verdicts.md")),
    ("data", include_str!("../../docs/data.md")),
    ("correlation", include_str!("../../docs/correlation.md")),
    ("auth", include_str!("../../docs/auth.md")),
    ("debugging", include_str!("../../docs/debugging.md")),
    ("report", include_str!("../../docs/report.md")),
    ("metrics", include_str!("../../docs/metrics.md")),
    ("access-logs", include_str!("../../docs/audit.md")),
    ("test-types", include_str!("../../docs/test-types.md")),
    ("workers", include_str!("../../docs/gaggle.md")),
    ("other-tools", include_str!("../../docs/other-tools.md")),
    ("faq", include_str!("../../docs/faq.md")),
];

/// Other words that a page is about.
const SYNONYMS: [(&str, &[&str]); 5] = [
    (
        "load",
        &[
            "users",
            "stages",
            "stage",
            "rate",
            "scenarios",
            "iterations",
            "run-time",
        ],
    ),
    (
        "thresholds",
        &["verdict", "verdicts", "exit", "exit-code", "exit-codes"],
    ),
    ("correlation", &["extract", "css", "forms"]),
    (
        "other-tools",
        &["k6", "locust", "gatling", "jmeter", "goose", "wrk"],
    ),
    ("workers", &["nats"]),
];

/// The reference of the language.
const LANGUAGE: &str = include_str!("../../docs/language.md");

/// The widest text, for terminals that are wider.
const WIDEST: usize = 100;

/// Explains a topic that is no command, for a terminal of so many columns.
///
/// # Errors
/// There is no such topic.
pub(crate) fn explain(
    topic: &str,
    columns: usize,
    commands: &[String],
) -> Result<String, Diagnostic> {
    let page = |topic: &str| PAGES.iter().find(|(name, _)| *name == topic);
    let related = SYNONYMS.iter().find(|(_, words)| words.contains(&topic));
    let text = match (page(topic), part_of_reference(topic), related) {
        (Some((_, text)), ..) => Some((*text).to_owned()),
        (None, Some(part), Some((name, _))) => Some(format!(
            "{part}'lgoose help {name}' is the page about it.\n"
        )),
        (None, part @ Some(_), None) => part,
        (None, None, related) => related.and_then(|(name, _)| Some(page(name)?.1.to_owned())),
    };
    let Some(text) = text else {
        let pages = PAGES.map(|(name, _)| name.to_owned());
        let known = pages.iter().chain(commands).map(String::as_str);
        let near = nearest(topic, known);
        let near = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        let problem = format!("there is no help on '{topic}'");
        return Err(Diagnostic::new(problem).help(format!(
            "{near}pages: {}; names of the language, such as user:get, Expect or random; and the commands of 'lgoose -h'",
            pages.join(", ")
        )));
    };
    Ok(plain(&text, columns.min(WIDEST)))
}

/// Returns the sections of the reference whose heading has that name: `user:get`, `get`, `Expect`, `random`.
fn part_of_reference(name: &str) -> Option<String> {
    let wanted = name.to_lowercase();
    let mut found = String::new();
    for section in LANGUAGE.split("\n### ").skip(1) {
        let heading = section.lines().next().unwrap_or_default();
        let heading = heading.split('`').nth(1).unwrap_or_default().to_lowercase();
        let called = heading.split(['(', ' ']).next().unwrap_or_default();
        let is_it = called == wanted || called.split([':', '.']).any(|part| part == wanted);
        if is_it {
            let section = section.split("\n## ").next().unwrap_or_default();
            found.push_str(&format!("## {}\n\n", section.trim()));
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Converts Markdown to text for a terminal: links without their addresses, code indented, paragraphs and rows of tables
/// wrapped.
fn plain(markdown: &str, width: usize) -> String {
    let mut out = String::new();
    let mut paragraph = String::new();
    let mut in_code = false;
    for line in markdown.lines() {
        let is_fence = line.starts_with("```");
        let goes_on = !in_code && !is_fence && !paragraph.is_empty() && continues(line);
        if !goes_on {
            put_wrapped(&std::mem::take(&mut paragraph), width, &mut out);
        }
        if is_fence {
            in_code = !in_code;
        } else if in_code {
            out.push_str(&format!("    {line}\n"));
        } else if let Some(heading) = line.strip_prefix('#') {
            let heading = heading.trim_start_matches('#').trim();
            out.push_str(&format!("{}\n", without_marks(heading).to_uppercase()));
        } else if let Some(row) = line.strip_prefix('|') {
            put_row(row, width, &mut out);
        } else if line.is_empty() {
            out.push('\n');
        } else if goes_on {
            paragraph.push(' ');
            paragraph.push_str(line.trim());
        } else if !line.starts_with("![") {
            line.clone_into(&mut paragraph);
        }
    }
    put_wrapped(&paragraph, width, &mut out);
    out
}

/// Returns whether a line belongs to the paragraph or to the item of a list before it.
fn continues(line: &str) -> bool {
    let start = line.trim_start();
    let is_numbered = start
        .split_once(". ")
        .is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    !start.is_empty() && !start.starts_with(['#', '|', '-', '*', '!']) && !is_numbered
}

/// Appends a paragraph or an item of a list, whose lines begin below its text.
fn put_wrapped(text: &str, width: usize, out: &mut String) {
    let text = without_marks(text);
    let item = text.trim_start().strip_prefix("- ");
    let indent = item.map_or(0, |item| text.len() - item.len());
    let (first, rest) = text.split_at(indent);
    for (place, line) in wrapped(rest, width.saturating_sub(indent))
        .iter()
        .enumerate()
    {
        let before = if place == 0 {
            first
        } else {
            &" ".repeat(indent)
        };
        out.push_str(&format!("{before}{line}\n"));
    }
}

/// Appends a row of a table: its first cell, and the others below it.
fn put_row(row: &str, width: usize, out: &mut String) {
    let cells = row.trim_end_matches('|').split('|');
    let cells: Vec<String> = cells.map(|cell| without_marks(cell.trim())).collect();
    let is_rule = cells
        .iter()
        .all(|cell| cell.chars().all(|c| matches!(c, '-' | ':')));
    if is_rule {
        return;
    }
    let [first, others @ ..] = &cells[..] else {
        return;
    };
    let mut put = |cell: &str, indent: usize| {
        for line in wrapped(cell, width.saturating_sub(indent)) {
            out.push_str(&format!("{:indent$}{line}\n", ""));
        }
    };
    put(first, 2);
    for cell in others.iter().filter(|cell| !cell.is_empty()) {
        put(cell, 6);
    }
}

/// Removes the marks of links, code and emphasis.
fn without_marks(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let Some(start) = before.rfind('[') else {
            out.push_str(&rest[..before.len() + 2]);
            rest = after;
            continue;
        };
        out.push_str(&before[..start]);
        out.push_str(&before[start + 1..]);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out.replace("**", "").replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_and_name_is_explained_within_the_width() {
        let names = [
            "user:get",
            "get",
            "Expect",
            "options",
            "random",
            "env",
            "Threshold",
        ];
        for topic in PAGES.map(|(name, _)| name).into_iter().chain(names) {
            let text = explain(topic, 80, &[]).expect(topic);
            assert!(text.lines().count() > 3, "{topic}: {text}");
            assert!(
                !text.contains("](") && !text.contains("```"),
                "{topic}: {text}"
            );
        }
        let text = explain("user:get", 80, &[]).expect("a method");
        assert!(text.starts_with("USER:GET(PATH, OPTIONS)"), "{text}");
    }

    #[test]
    fn other_words_lead_to_a_page_that_is_there() {
        for (page, words) in SYNONYMS {
            for word in words {
                let text = explain(word, 80, &[]).expect(word);
                let is_page = explain(page, 80, &[]).is_ok_and(|page| page == text);
                let names_page = text.contains(&format!("'lgoose help {page}'"));
                assert_eq!(is_page, part_of_reference(word).is_none(), "{word}");
                assert!(is_page || names_page, "{word}: {text}");
            }
        }
    }

    #[test]
    fn an_unknown_topic_names_what_there_is() {
        let commands = ["check".to_owned()];
        let error = explain("treshold", 80, &commands).expect_err("there is none");
        let text = error.to_string();
        for part in [
            "no help on 'treshold'",
            "did you mean 'thresholds'?",
            "pages: plans, load",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn marks_are_left_out_and_what_they_mark_stays() {
        assert_eq!(
            without_marks("see [the **page**](a.md#b), `code` and a[1](2"),
            "see the page, code and a1"
        );
        assert_eq!(
            plain("# A\n\n```lua\nx = 1\n```\n- one two three", 10),
            "A\n\n    x = 1\n- one two\n  three\n"
        );
    }

    #[test]
    fn paragraphs_items_and_rows_of_tables_are_wrapped() {
        let page =
            "one two\nthree four\n\n- five six\n  seven\n\n| a | b |\n|---|---|\n| `c` | d e f |\n";
        let text =
            "one two\nthree four\n\n- five six\n  seven\n\n  a\n      b\n  c\n      d e\n      f\n";
        assert_eq!(plain(page, 10), text);
        for (name, _) in PAGES {
            let text = explain(name, 80, &[]).expect(name);
            let prose = text.lines().filter(|line| !line.starts_with("    "));
            let longest = prose.map(|line| line.chars().count()).max();
            assert!(longest <= Some(80), "{name}: {longest:?}");
        }
    }
}
