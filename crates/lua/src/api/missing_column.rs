//! Columns that a row of a data file does not have. A row is a plain table, so that its fields cost nothing; the error of Lua
//! about a value that is nil is explained once it is there, from the text of the plan.

use crate::diagnostics::{Token, TokenKind, tokens};
use crate::plan_files::{Program, SourceFile};

/// Returns the explanation of an error about a field that is nil, if the line of the plan reads that field of a row.
pub(super) fn explain(program: &Program, file: &str, line: u32, message: &str) -> Option<String> {
    let field = message.split_once("(field '")?.1.split_once('\'')?.0;
    let source = program.sources.text(file);
    let words = tokens(&source);
    let read = words.windows(3).position(|three| {
        three[0].line == line && three[1].text == "." && three[2].text == field
    })?;
    missing_column(program, &words, read, field)
}

/// Returns the line and the sentence of each field of a row in a file that is joined to a text and that the row does not have.
pub(crate) fn missing_columns(program: &Program, source: &SourceFile) -> Vec<(u32, String)> {
    let words = tokens(&source.text);
    let text = |place: usize| words.get(place).map_or("", |word| word.text);
    let joined = (1..words.len().saturating_sub(2)).filter(|place| {
        let is_field = text(place + 1) == "." && words[place + 2].kind == TokenKind::Name;
        is_field && (text(place - 1) == ".." || text(place + 3) == "..")
    });
    let missing = joined.filter_map(|place| {
        let field = words[place + 2].text;
        let sentence = missing_column(program, &words, place, field)?;
        Some((words[place].line, sentence))
    });
    missing.collect()
}

/// Returns a sentence about a field of the variable at a place, if that is a row of a CSV file without such a column.
fn missing_column(
    program: &Program,
    words: &[Token<'_>],
    place: usize,
    field: &str,
) -> Option<String> {
    let text = |place: usize| words.get(place).map_or("", |word| word.text);
    // local row = rows:next()
    let row = text(place);
    let declared = (0..place).rev().find(|at| {
        text(*at) == "local" && text(at + 1) == row && text(at + 2) == "=" && text(at + 4) == ":"
    })?;
    let rows = text(declared + 3);
    let is_row = ["next", "get"].contains(&text(declared + 5));
    // local rows = data.csv "file"
    let opened = (0..declared).rev().find(|at| {
        let names = [
            text(at + 1),
            text(at + 2),
            text(at + 3),
            text(at + 4),
            text(at + 5),
        ];
        text(*at) == "local" && names == [rows, "=", "data", ".", "csv"]
    })?;
    let bracket = usize::from(text(opened + 6) == "(");
    let file = words.get(opened + 6 + bracket)?;
    let file = (file.kind == TokenKind::Text).then(|| file.text.trim_matches(['"', '\'']))?;
    let columns = is_row.then(|| program.data.columns(file))??;
    if columns.iter().any(|column| column == field) {
        return None;
    }
    let separator = match &columns[..] {
        [only] => [";", "\t", "|"]
            .into_iter()
            .find(|sign| only.contains(sign)),
        _ => None,
    };
    let hint = separator.map_or_else(String::new, |separator| {
        let shown = separator.replace('\t', "\\t");
        format!("; is the separator '{shown}'? data.csv(\"{file}\", {{ separator = \"{shown}\" }})")
    });
    let columns: Vec<String> = columns.iter().map(|column| format!("'{column}'")).collect();
    Some(format!(
        "'{file}' has no column '{field}'; it has {}{hint}",
        columns.join(", ")
    ))
}
