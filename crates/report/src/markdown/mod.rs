//! The report as Markdown, short enough for a pull request: the verdict, the diagnosis, and the tables of the document.
//!
//! Names and messages are formatted as code: their characters have no special meaning, mention nobody and link to
//! nothing.

mod comparison;

pub(crate) use comparison::comparison;

use crate::display::{capacity_facts, scalability_facts};
use crate::document::{self, Cell, ColumnKind, Head, Mark, Outcome, Scope, Statement, Table};
use lgoose_base::figures::with_share;
use lgoose_base::line::{cut_middle, one_line};
use lgoose_base::units::{show_count, show_duration, three_digits};
use lgoose_metrics::Report;
use std::time::Duration;

/// The most columns of a name.
const MAX_NAME_CHARS: usize = 80;
/// The most characters of a message.
const MAX_MESSAGE_CHARS: usize = 300;

/// Renders the report as GitHub and GitLab Markdown.
pub(crate) fn to_markdown(report: &Report) -> String {
    let head = Head::of(report);
    let mark = match head.outcome {
        Outcome::Passed | Outcome::PassedSoFar => '✅',
        Outcome::Failed => '❌',
        Outcome::Open => '⚪',
    };
    let mut out = format!(
        "### {mark} {}: {}\n\n{}\n",
        head.outcome.word(),
        name(&report.plan),
        overview(report)
    );
    if let Some((diagnosis, heading)) = &head.diagnosis {
        out += &format!("\n> **{}**", prose(heading));
        for (question, text) in diagnosis.findings() {
            let text = prose(&cut(&text, MAX_MESSAGE_CHARS));
            // Two blanks before it break the line.
            out += &format!("  \n> {question}: {text}");
        }
        out.push('\n');
    }
    let sentences = head.sentences.iter().map(|(kind, text)| {
        let mark = match kind {
            Statement::Verdict => "verdict:",
            Statement::Ending => "ending:",
            Statement::Reason => "❌",
            Statement::Remark => "💬",
            Statement::Warning => "⚠️",
        };
        (mark, &**text)
    });
    list(sentences, &mut out);
    if let Some(found) = &report.capacity {
        let facts = [capacity_facts(found), scalability_facts(found)].concat();
        let facts = facts
            .iter()
            .map(|(label, text)| (format!("{label}:"), &**text));
        list(facts, &mut out);
    }
    for each in document::tables(report, Scope::Brief) {
        table(&each, &mut out);
    }
    out += &format!(
        "\nlgoose {} · {} · seed {}\n",
        prose(&cut(&one_line(&report.version), MAX_NAME_CHARS)),
        prose(&cut(&one_line(&report.started), MAX_NAME_CHARS)),
        report.seed
    );
    out
}

/// Appends a list of sentences, each after its mark; nothing if there are none.
fn list<'a>(sentences: impl Iterator<Item = (impl AsRef<str>, &'a str)>, out: &mut String) {
    for (at, (mark, text)) in sentences.enumerate() {
        let before = if at == 0 { "\n" } else { "" };
        let text = prose(&cut(text, MAX_MESSAGE_CHARS));
        *out += &format!("{before}- {} {text}\n", mark.as_ref());
    }
}

/// Returns a line with the plan's host, the load and the results.
fn overview(report: &Report) -> String {
    let all = &report.aggregated;
    let elapsed = Duration::try_from_secs_f64(report.elapsed_s).unwrap_or_default();
    let noun = |count, noun: &str| match count {
        1 => format!("1 {noun}"),
        count => format!("{} {noun}s", show_count(count)),
    };
    let [_, tasks, checks] = report.failures();
    let failed = [(tasks, "task"), (checks, "check")].map(|((failed, all), kind)| match failed {
        0 => String::new(),
        failed => format!(" · {} of {} failed", show_count(failed), noun(all, kind)),
    });
    format!(
        "{} · {} · {} · {} · {}/s · {} failed{}",
        name(&report.host),
        noun(report.users, "user"),
        show_duration(elapsed),
        noun(all.count, "request"),
        three_digits(all.rate),
        with_share(all.failures, all.count),
        failed.concat()
    )
}

/// Appends a table of the document: the row of all rows comes first, and the name of a group stands once.
fn table(table: &Table<'_>, out: &mut String) {
    let marks = table
        .columns
        .iter()
        .position(|column| column.kind == ColumnKind::Mark);
    let columns = || {
        table
            .columns
            .iter()
            .enumerate()
            .filter(|(at, _)| Some(*at) != marks)
    };
    // The title of the table heads the names.
    let names = columns()
        .position(|(_, column)| column.kind == ColumnKind::Text)
        .unwrap_or(0);
    let titles = columns().enumerate().map(|(at, (_, column))| {
        if at == names {
            table.title.to_lowercase()
        } else {
            column.title.clone()
        }
    });
    let rules = columns().map(|(_, column)| match column.kind {
        ColumnKind::Number => "---:".to_owned(),
        _ => "---".to_owned(),
    });
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    out.push('\n');
    *out += &line(titles.collect());
    *out += &line(rules.collect());
    let row = |cells: &[Cell], before: Option<&[Cell]>| {
        let cells = columns().map(|(at, column)| {
            let is_same = before.is_some_and(|before| before[at] == cells[at]);
            if column.kind == ColumnKind::Group && is_same {
                return String::new();
            }
            let mark = marks
                .filter(|marks| marks + 1 == at)
                .map_or("", |at| mark(&cells[at]));
            format!("{mark}{}", cell(&cells[at], column.kind))
        });
        cells.collect::<Vec<String>>()
    };
    if let Some(total) = &table.total {
        let mut cells = row(total, None);
        cells[names] = format!("**{}**", cells[names]);
        *out += &line(cells);
    }
    let mut before = None;
    for each in &table.rows {
        *out += &line(row(&each.cells, before));
        before = Some(&each.cells);
    }
    for remark in &table.remarks {
        *out += &format!("\n{}\n", prose(remark));
    }
}

fn cell(cell: &Cell, kind: ColumnKind) -> String {
    match cell {
        Cell::Foreign(text) if kind == ColumnKind::Prose => {
            code(&cut(&one_line(text), MAX_MESSAGE_CHARS))
        }
        Cell::Foreign(text) => name(text),
        Cell::Words(text) => prose(&cut(text, MAX_MESSAGE_CHARS)),
        Cell::Figure(_, text, _) => prose(text),
        Cell::Mark(_) | Cell::None => String::new(),
    }
}

fn mark(cell: &Cell) -> &'static str {
    match cell {
        Cell::Mark(Mark::Good) => "✅ ",
        Cell::Mark(Mark::Bad) => "❌ ",
        Cell::Mark(Mark::Doubtful) => "🔺 ",
        _ => "",
    }
}

/// Returns a name as code, its middle cut out if it is long.
fn name(text: &str) -> String {
    code(&cut_middle(&one_line(text), MAX_NAME_CHARS))
}

/// Returns a line of text as code. Backticks, bars and backslashes have no safe form between backticks, so a text
/// with one becomes a `<code>` element whose punctuation is written as character references.
fn code(line: &str) -> String {
    let line = line.trim();
    if line.is_empty() {
        return String::new();
    }
    if !line.contains(['`', '|', '\\']) {
        return format!("`{line}`");
    }
    let mut out = "<code>".to_owned();
    for c in line.chars() {
        if c.is_ascii_punctuation() {
            out += &format!("&#{};", u32::from(c))
        } else {
            out.push(c)
        }
    }
    out + "</code>"
}

/// Escapes a sentence of lgoose that may contain names: Markdown signs are escaped, addresses are not linked and
/// `@name` mentions nobody.
fn prose(text: &str) -> String {
    let mut out = String::new();
    for c in one_line(text).chars() {
        if "\\`*_{}[]<>()#!|~&$^".contains(c) {
            out.push('\\');
        }
        out.push(c);
        if c == '@' {
            // A word joiner is invisible and no letter of a name, so nobody is mentioned.
            out.push('\u{2060}');
        }
    }
    out.replace("www.", "www\\.").replace("://", "\\://")
}

fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
