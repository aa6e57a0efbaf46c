//! Log files line by line, packed with gzip or not, in bounded memory however long their lines are.

use flate2::read::MultiGzDecoder;
use lgoose_base::error::{Diagnostic, Error};
use lgoose_base::files;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// The bytes read at a time.
const READ_BYTES: usize = 1 << 17;

/// The longest line, in bytes.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// The first bytes of a file of gzip (RFC 1952, section 2.3.1).
const GZIP: &[u8] = b"\x1f\x8b";

/// Lines of a log.
pub(crate) struct LogLines {
    name: String,
    input: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
}

/// A line of a log.
pub(crate) struct NumberedLine<'a> {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// Its text without the end of the line; `None` if it is too long to be one of a log.
    pub(crate) text: Option<&'a [u8]>,
}

/// Opens a log; `-` is standard input.
///
/// # Errors
/// A mistake that names the file and its kind, such as `the access log`.
pub(crate) fn open(path: &Path, kind: &str) -> Result<Box<dyn BufRead>, Error> {
    let cannot = |error: io::Error| {
        let name = path.display();
        let message = format!("cannot read {kind} '{name}': {error}");
        Diagnostic::new(message).help("name a file, or '-' for standard input")
    };
    let file: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(files::open_of_any_size(path).map_err(cannot)?)
    };
    let mut input = BufReader::with_capacity(READ_BYTES, file);
    let is_packed = input.fill_buf().map_err(cannot)?.starts_with(GZIP);
    Ok(if is_packed {
        Box::new(BufReader::with_capacity(
            READ_BYTES,
            MultiGzDecoder::new(input),
        ))
    } else {
        Box::new(input)
    })
}

impl LogLines {
    /// Opens an access log.
    ///
    /// # Errors
    /// A mistake that names the file.
    pub(crate) fn open(path: &Path) -> Result<LogLines, Error> {
        Ok(LogLines::new(
            path.display().to_string(),
            open(path, "the access log")?,
        ))
    }

    fn new(name: String, input: Box<dyn BufRead>) -> LogLines {
        LogLines {
            name,
            input,
            line: Vec::new(),
            number: 0,
        }
    }

    /// Returns the next line; `None` at the end.
    ///
    /// # Errors
    /// A mistake that names the file and the line, such as for a packed file that is cut.
    pub(crate) fn next(&mut self) -> Result<Option<NumberedLine<'_>>, Error> {
        self.line.clear();
        let mut is_too_long = false;
        loop {
            let bytes = self.input.fill_buf().map_err(|error| {
                let message = format!(
                    "cannot read '{}' after line {}: {error}",
                    self.name, self.number
                );
                Diagnostic::new(message).help("is the file whole?")
            })?;
            if bytes.is_empty() && self.line.is_empty() && !is_too_long {
                return Ok(None);
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(bytes.len());
            if self.line.len() + taken > MAX_LINE_BYTES {
                is_too_long = true;
            } else {
                self.line.extend_from_slice(&bytes[..taken]);
            }
            let is_end = end.is_some() || bytes.is_empty();
            self.input.consume(end.map_or(taken, |end| end + 1));
            if is_end {
                break;
            }
        }
        self.number += 1;
        let text = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        Ok(Some(NumberedLine {
            number: self.number,
            text: (!is_too_long).then_some(text),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(text: Vec<u8>) -> Vec<Option<usize>> {
        // Read in small pieces, so that lines lie across them.
        let input = BufReader::with_capacity(7, io::Cursor::new(text));
        let mut lines = LogLines::new("x".to_owned(), Box::new(input));
        let mut lengths = Vec::new();
        while let Some(line) = lines.next().expect("it is in memory") {
            lengths.push(line.text.map(<[u8]>::len));
        }
        lengths
    }

    #[test]
    fn lines_of_any_length_are_read() {
        assert_eq!(lengths(b"".to_vec()), []);
        assert_eq!(
            lengths(b"a\n\nbcdefghijk\r\nl".to_vec()),
            [Some(1), Some(0), Some(10), Some(1)]
        );
        let mut long = vec![b'x'; 3 * MAX_LINE_BYTES];
        long.extend_from_slice(b"\nshort\n");
        assert_eq!(lengths(long), [None, Some(5)]);
    }
}
