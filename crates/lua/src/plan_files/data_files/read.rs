//! Reading of data files: CSV, lines, JSON in its notations, YAML, and bytes as they are. Driven by `data_files` at a
//! plan's first use of one.

use super::streamed::{RowLimit, RowShape, StreamedRows};
use super::{CellTexts, CsvFormat, DataContent, DataFormat, JsonTree};
use crate::large_integers;
use flate2::read::MultiGzDecoder;
use lgoose_base::files::{DataCharge, FileError, NamedFile};
use lgoose_base::yaml;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

/// Reads a file in that format. All but bytes as they are may be compressed with gzip. Memory is taken from `charge` before it
/// is used.
///
/// # Errors
/// A sentence that names the file, and its line if one is wrong; or that it takes too much memory.
pub(super) fn read(
    format: &DataFormat,
    file: &str,
    path: &NamedFile,
    charge: &mut DataCharge,
) -> Result<DataContent, String> {
    let fault = |error: FileError| format!("cannot read '{file}': {error}");
    match format {
        DataFormat::Csv(csv) => table(file, path, csv, charge),
        DataFormat::Lines { streamed: true } => {
            let fault = |error: csv::Error| format!("cannot read '{file}': {error}");
            match StreamedRows::index(file, path, RowShape::Line, charge, fault)? {
                rows if rows.len() == 0 => Err(format!("'{file}' is empty")),
                rows => Ok(DataContent::Streamed(rows)),
            }
        }
        DataFormat::Lines { streamed: false } => {
            lines(file, unpacked(path, charge).map_err(fault)?, charge)
        }
        DataFormat::Whole => {
            let opened = path.open().map_err(fault)?;
            let bytes = charge.read_all(&opened, length(&opened));
            Ok(DataContent::Whole(
                bytes.map_err(|error| fault(error.into()))?.into(),
            ))
        }
        DataFormat::JsonLines => json_lines(file, &unpacked(path, charge).map_err(fault)?, charge),
        DataFormat::Json | DataFormat::Json5 | DataFormat::Yaml => {
            let bytes = unpacked(path, charge).map_err(fault)?;
            let text = strip_byte_order_mark(&bytes);
            if text.trim_ascii().is_empty() {
                return Err(format!("'{file}' is empty"));
            }
            let tree = match format {
                DataFormat::Json => json(text, charge).map_err(|error| error.to_string()),
                DataFormat::Json5 => utf8(text).and_then(|text| json5(text, charge)),
                _ => utf8(text).and_then(|text| yaml(text, charge)),
            };
            if let Some(full) = charge.refusal() {
                return Err(format!("cannot read '{file}': {full}"));
            }
            let kind = match format {
                DataFormat::Json => "JSON",
                DataFormat::Json5 => "JSON5",
                _ => "YAML",
            };
            tree.map(|tree| DataContent::Json(Arc::new(tree)))
                .map_err(|problem| format!("'{file}' is not {kind}: {problem}"))
        }
    }
}

fn json(text: &[u8], charge: &mut DataCharge) -> serde_json::Result<JsonTree> {
    let quoted = large_integers::quoted(text);
    let text = quoted.as_deref().unwrap_or(text);
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let tree = JsonTree::read_within(&mut deserializer, charge)?;
    deserializer.end()?;
    Ok(tree)
}

fn json5(text: &str, charge: &mut DataCharge) -> Result<JsonTree, String> {
    let mut deserializer = json5::Deserializer::from_str(text);
    JsonTree::read_within(&mut deserializer, charge).map_err(|error| error.to_string())
}

fn yaml(text: &str, charge: &mut DataCharge) -> Result<JsonTree, String> {
    /// The memory of a value while it is read, in bytes.
    const NODE_BYTES: usize = 120;
    // Each value needs one of these beside it. `yaml::parse` has a limit for those that stand for others.
    let marks = text.bytes().filter(|byte| b"\n,:[{-".contains(byte));
    let values = (1 + marks.count()).saturating_mul(NODE_BYTES);
    charge
        .take(values.saturating_add(text.len()))
        .map_err(|full| full.to_string())?;
    let value = yaml::parse(text).map_err(|fault| fault.what)?;
    JsonTree::read_within(value, charge).map_err(|error| error.to_string())
}

fn utf8(text: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(text).map_err(|error| {
        let line = memchr::memchr_iter(b'\n', &text[..error.valid_up_to()]).count() + 1;
        format!("line {line} is not UTF-8")
    })
}

/// Makes a reader of a file, also of one that is compressed with gzip.
fn unpacking(file: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let mut input = BufReader::with_capacity(1 << 16, file);
    Ok(if is_compressed(&mut input)? {
        Box::new(MultiGzDecoder::new(input))
    } else {
        Box::new(input)
    })
}

/// Returns whether the input begins like a file of gzip (RFC 1952, section 2.3.1).
pub(super) fn is_compressed(input: &mut impl BufRead) -> io::Result<bool> {
    Ok(input.fill_buf()?.starts_with(b"\x1f\x8b"))
}

/// Reads a file as a whole, unpacked.
fn unpacked(path: &NamedFile, charge: &mut DataCharge) -> Result<Vec<u8>, FileError> {
    let opened = path.open()?;
    // Of one that is compressed, the length is not known, and at least that.
    let length = length(&opened);
    Ok(charge.read_all(unpacking(opened)?, length)?)
}

/// Returns the length of a file, 0 if it is not known.
fn length(file: &File) -> u64 {
    file.metadata().map_or(0, |metadata| metadata.len())
}

fn table(
    file: &str,
    path: &NamedFile,
    format: &CsvFormat,
    charge: &mut DataCharge,
) -> Result<DataContent, String> {
    let named = format.columns.as_ref();
    let unequal = |position: Option<&csv::Position>, expected: u64, got: u64| {
        let line = position.map_or(0, |position| line_of_row(path, position));
        let columns = if got == 1 { "column" } else { "columns" };
        let names = match named {
            Some(_) => "option 'columns'",
            None => "its first line",
        };
        format!("'{file}', line {line}: {got} {columns}, but {names} names {expected}")
    };
    let fault = |error: csv::Error| match error.kind() {
        csv::ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => unequal(pos.as_ref(), *expected_len, *len),
        csv::ErrorKind::Utf8 { .. } => format!("the first line of '{file}' is not UTF-8"),
        _ => format!("cannot read '{file}': {error}"),
    };
    let cannot = |error: FileError| format!("cannot read '{file}': {error}");
    let input = if format.streamed {
        path.open_of_any_size()
    } else {
        path.open()
    };
    let input = unpacking(input.map_err(cannot)?).map_err(|error| cannot(error.into()))?;
    let input = RowLimit::new(input, charge);
    let read = input.read_bytes();
    let mut reader = format.reader().from_reader(input);
    let columns = match named {
        Some(columns) => columns.clone(),
        None => header(file, reader.headers().map_err(fault)?)?,
    };
    let mut record = csv::ByteRecord::new();
    if !reader.read_byte_record(&mut record).map_err(fault)? {
        return Err(match named {
            Some(_) => format!("'{file}' is empty"),
            None => format!(
                "'{file}' has no rows; its first line names the columns, the others are the rows"
            ),
        });
    }
    // From here on, the reader compares each row with the first.
    if record.len() != columns.len() {
        let (expected, got) = (columns.len() as u64, record.len() as u64);
        return Err(unequal(record.position(), expected, got));
    }
    if format.streamed {
        let shape = RowShape::Table(format.clone(), columns);
        return StreamedRows::index(file, path, shape, charge, fault).map(DataContent::Streamed);
    }
    let mut cells = CellTexts::default();
    loop {
        read.set(0);
        for cell in &record {
            let pushed = cells.push(cell, charge);
            pushed.map_err(|fault| fault.of(file))?;
        }
        if !reader.read_byte_record(&mut record).map_err(fault)? {
            break;
        }
    }
    let cells = cells.shrunk();
    Ok(DataContent::Table { columns, cells })
}

/// Reads the names of the columns.
fn header(file: &str, header: &csv::StringRecord) -> Result<Vec<String>, String> {
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
    Ok(columns)
}

/// Returns the line where a row begins: the reader's position is before the empty lines above it.
fn line_of_row(path: &NamedFile, position: &csv::Position) -> u64 {
    let mut above = Vec::new();
    // A file that can no longer be read has the line that the reader says.
    let mut line = position.line();
    let input = path.open_of_any_size().map_err(io::Error::other);
    let input = input.and_then(unpacking);
    let Ok(mut input) = input.map(BufReader::new) else {
        return line;
    };
    let skipped = io::copy(&mut input.by_ref().take(position.byte()), &mut io::sink());
    while skipped.is_ok() && input.by_ref().take(1).read_to_end(&mut above).is_ok() {
        match above.pop() {
            Some(b'\n') => line += 1,
            Some(b'\r') => {}
            _ => break,
        }
    }
    line
}

/// Splits a file into lines without their ends; empty lines are not rows.
fn lines(file: &str, bytes: Vec<u8>, charge: &mut DataCharge) -> Result<DataContent, String> {
    let mut cells = CellTexts::default();
    let mut from = bytes.len() - strip_byte_order_mark(&bytes).len();
    while from < bytes.len() {
        let end = memchr::memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |at| from + at);
        let line = &bytes[from..end];
        let length = line.strip_suffix(b"\r").unwrap_or(line).len();
        if length > 0 {
            let added = cells.span(from, from + length, charge);
            added.map_err(|fault| fault.of(file))?;
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
fn json_lines(file: &str, text: &[u8], charge: &mut DataCharge) -> Result<DataContent, String> {
    let mut builder = JsonTree::of_list(charge);
    for (number, line) in (1..).zip(strip_byte_order_mark(text).split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let quoted = large_integers::quoted(line);
        let mut json = serde_json::Deserializer::from_slice(quoted.as_deref().unwrap_or(line));
        let added = builder.add(&mut json).and_then(|()| json.end());
        added.map_err(|error| match builder.refusal() {
            Some(full) => format!("cannot read '{file}': {full}"),
            None => {
                let column = error.column();
                format!("'{file}', line {number}, is not JSON: it is wrong at column {column}")
            }
        })?;
    }
    match builder.finish() {
        Ok(tree) if tree.root().elements().len() == 0 => Err(format!("'{file}' is empty")),
        Ok(tree) => Ok(DataContent::Json(Arc::new(tree))),
        Err(problem) => Err(format!("cannot read '{file}': {problem}")),
    }
}

/// Strips the byte order mark that some editors write.
pub(super) fn strip_byte_order_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}
