//! Reading of data files: CSV, lines, JSON, and bytes as they are. Driven by `data_files` when a plan first asks for one.

use super::{CellTexts, DataContent, DataFormat};
use crate::files;
use crate::lua::large_integers;
use std::collections::HashSet;
use std::fs;
use std::io::BufReader;
use std::path::Path;

/// Reads a file in that format.
///
/// # Errors
/// A sentence that names the file, and its line if one is wrong.
pub(super) fn read(format: DataFormat, file: &str, path: &Path) -> Result<DataContent, String> {
    let whole = || files::read(path).map_err(|error| format!("cannot read '{file}': {error}"));
    match format {
        DataFormat::Csv(separator) => table(file, path, separator),
        DataFormat::Lines => lines(file, whole()?),
        DataFormat::Whole => Ok(DataContent::Whole(whole()?.into())),
        DataFormat::JsonLines => json_lines(file, &whole()?),
        DataFormat::Json => match whole()? {
            text if text.trim_ascii().is_empty() => Err(format!("'{file}' is empty")),
            text => {
                let text = strip_byte_order_mark(&text);
                let quoted = large_integers::quoted(text);
                serde_json::from_slice(quoted.as_deref().unwrap_or(text))
                    .map(DataContent::Json)
                    .map_err(|error| format!("'{file}' is not JSON: {error}"))
            }
        },
    }
}

fn table(file: &str, path: &Path, separator: u8) -> Result<DataContent, String> {
    let fault = |error: csv::Error| match error.kind() {
        csv::ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => {
            let line = pos.as_ref().map_or(0, |pos| line_of_row(path, pos));
            let columns = if *len == 1 { "column" } else { "columns" };
            format!(
                "'{file}', line {line}: {len} {columns}, but its first line names {expected_len}"
            )
        }
        csv::ErrorKind::Utf8 { .. } => format!("the first line of '{file}' is not UTF-8"),
        _ => format!("cannot read '{file}': {error}"),
    };
    let input = files::open(path).map_err(|error| format!("cannot read '{file}': {error}"))?;
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::Headers)
        .delimiter(separator)
        .from_reader(BufReader::with_capacity(1 << 16, input));
    let header = reader.headers().map_err(fault)?;
    let columns: Vec<String> = header.iter().map(str::to_owned).collect();
    if columns.is_empty() {
        return Err(format!(
            "'{file}' is empty; its first line names the columns"
        ));
    }
    let mut names = HashSet::new();
    for (place, name) in columns.iter().enumerate() {
        if name.is_empty() {
            let place = place + 1;
            return Err(format!(
                "column {place} in the first line of '{file}' has no name"
            ));
        }
        if !names.insert(name) {
            return Err(format!("two columns of '{file}' are named '{name}'"));
        }
    }
    let mut cells = CellTexts::default();
    let mut record = csv::ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(fault)? {
        for cell in &record {
            cells.push(cell, file)?;
        }
    }
    if cells.spans.is_empty() {
        return Err(format!(
            "'{file}' has no rows; its first line names the columns, the others are the rows"
        ));
    }
    let cells = cells.shrunk();
    Ok(DataContent::Table { columns, cells })
}

/// Returns the line where a row begins: the reader's position is before the empty lines above it.
fn line_of_row(path: &Path, position: &csv::Position) -> u64 {
    let text = fs::read(path).unwrap_or_default();
    let empty = text.iter().skip(position.byte() as usize);
    let empty = empty.take_while(|byte| matches!(byte, b'\r' | b'\n'));
    position.line() + empty.filter(|byte| **byte == b'\n').count() as u64
}

/// Splits a file into lines without their ends; empty lines are not rows.
fn lines(file: &str, bytes: Vec<u8>) -> Result<DataContent, String> {
    let mut cells = CellTexts::default();
    let mut from = bytes.len() - strip_byte_order_mark(&bytes).len();
    while from < bytes.len() {
        let end = memchr::memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |at| from + at);
        let line = &bytes[from..end];
        let length = line.strip_suffix(b"\r").unwrap_or(line).len();
        if length > 0 {
            cells.span(from, from + length, file)?;
        }
        from = end + 1;
    }
    if cells.spans.is_empty() {
        return Err(format!("'{file}' is empty"));
    }
    cells.bytes = bytes;
    Ok(DataContent::Lines(cells.shrunk()))
}

/// Reads a value from each line; empty lines have none.
fn json_lines(file: &str, text: &[u8]) -> Result<DataContent, String> {
    let lines = strip_byte_order_mark(text).split(|byte| *byte == b'\n');
    let lines = (1..)
        .zip(lines)
        .filter(|(_, line)| !line.trim_ascii().is_empty());
    let value = |(number, line): (u64, &[u8])| {
        let quoted = large_integers::quoted(line);
        serde_json::from_slice(quoted.as_deref().unwrap_or(line)).map_err(|error| {
            format!(
                "'{file}', line {number}, is not JSON: it is wrong at column {}",
                error.column()
            )
        })
    };
    let values: Vec<serde_json::Value> = lines.map(value).collect::<Result<_, _>>()?;
    if values.is_empty() {
        Err(format!("'{file}' is empty"))
    } else {
        Ok(DataContent::Json(serde_json::Value::Array(values)))
    }
}

/// Strips the byte order mark that some editors write.
fn strip_byte_order_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}
