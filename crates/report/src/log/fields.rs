//! One line of a log in either format, field by field. Hand-written instead of a serializer: at full speed there are a
//! hundred thousand lines per second, and their cost adds to the load on lgoose.
//!
//! Texts come from plans and targets. Each line stays one line: JSON escapes control characters and those that change
//! the direction of writing; CSV shows them as `\x1b` and `\u{202e}`, quotes where needed, and puts a `'` before a text
//! that a spreadsheet would take for a formula.

use lgoose_base::error::is_directing;

/// A receiver of a line's fields, in the order of the columns.
pub(super) trait FieldSink {
    fn text(&mut self, name: &'static str, value: &str);
    fn optional_text(&mut self, name: &'static str, value: Option<&str>);
    fn number(&mut self, name: &'static str, value: u64);
    fn optional_number(&mut self, name: &'static str, value: Option<u64>);
    fn optional_flag(&mut self, name: &'static str, value: Option<bool>);
    /// Adds the lines of a text as a list.
    fn list(&mut self, name: &'static str, lines: &str);
}

/// The header line of a CSV file.
pub(super) struct CsvHeader<'a>(pub(super) &'a mut Vec<u8>);

impl CsvHeader<'_> {
    fn add(&mut self, name: &str) {
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(b',');
    }
}

impl FieldSink for CsvHeader<'_> {
    fn text(&mut self, name: &'static str, _: &str) {
        self.add(name);
    }
    fn optional_text(&mut self, name: &'static str, _: Option<&str>) {
        self.add(name);
    }
    fn number(&mut self, name: &'static str, _: u64) {
        self.add(name);
    }
    fn optional_number(&mut self, name: &'static str, _: Option<u64>) {
        self.add(name);
    }
    fn optional_flag(&mut self, name: &'static str, _: Option<bool>) {
        self.add(name);
    }
    fn list(&mut self, name: &'static str, _: &str) {
        self.add(name);
    }
}

/// A row of CSV; the caller replaces the comma after its last field.
pub(super) struct Csv<'a>(pub(super) &'a mut Vec<u8>);

impl FieldSink for Csv<'_> {
    fn text(&mut self, _: &'static str, value: &str) {
        csv_text(self.0, value);
        self.0.push(b',');
    }
    fn optional_text(&mut self, name: &'static str, value: Option<&str>) {
        self.text(name, value.unwrap_or_default());
    }
    fn number(&mut self, _: &'static str, value: u64) {
        decimal(self.0, value);
        self.0.push(b',');
    }
    fn optional_number(&mut self, name: &'static str, value: Option<u64>) {
        match value {
            Some(value) => self.number(name, value),
            None => self.0.push(b','),
        }
    }
    fn optional_flag(&mut self, name: &'static str, value: Option<bool>) {
        self.optional_text(name, value.map(|flag| if flag { "true" } else { "false" }));
    }
    fn list(&mut self, name: &'static str, lines: &str) {
        self.text(name, &lines.trim_end().replace('\n', " | "));
    }
}

/// A JSON object; the caller adds its braces and replaces the comma after its last field.
pub(super) struct Jsonl<'a>(pub(super) &'a mut Vec<u8>);

impl Jsonl<'_> {
    fn name(&mut self, name: &'static str) {
        self.0.push(b'"');
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }
}

impl FieldSink for Jsonl<'_> {
    fn text(&mut self, name: &'static str, value: &str) {
        self.name(name);
        json_text(self.0, value);
        self.0.push(b',');
    }
    fn optional_text(&mut self, name: &'static str, value: Option<&str>) {
        match value {
            Some(value) => self.text(name, value),
            None => {
                self.name(name);
                self.0.extend_from_slice(b"null,");
            }
        }
    }
    fn number(&mut self, name: &'static str, value: u64) {
        self.name(name);
        decimal(self.0, value);
        self.0.push(b',');
    }
    fn optional_number(&mut self, name: &'static str, value: Option<u64>) {
        match value {
            Some(value) => self.number(name, value),
            None => {
                self.name(name);
                self.0.extend_from_slice(b"null,");
            }
        }
    }
    fn optional_flag(&mut self, name: &'static str, value: Option<bool>) {
        self.name(name);
        self.0.extend_from_slice(match value {
            Some(true) => b"true,",
            Some(false) => b"false,",
            None => b"null,",
        });
    }
    fn list(&mut self, name: &'static str, lines: &str) {
        self.name(name);
        self.0.push(b'[');
        for (place, line) in lines.lines().enumerate() {
            if place > 0 {
                self.0.push(b',');
            }
            json_text(self.0, line);
        }
        self.0.extend_from_slice(b"],");
    }
}

fn decimal(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn csv_text(out: &mut Vec<u8>, text: &str) {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' if !matches!(byte, b',' | b'"'));
    let is_formula = matches!(text.as_bytes().first(), Some(b'=' | b'+' | b'-' | b'@'));
    if !is_formula && text.as_bytes().iter().all(is_plain) {
        return out.extend_from_slice(text.as_bytes());
    }
    out.push(b'"');
    if is_formula {
        out.push(b'\'');
    }
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"\"\""),
            c if c.is_control() => {
                out.extend_from_slice(format!("\\x{:02x}", u32::from(c)).as_bytes());
            }
            c if is_directing(c) => {
                out.extend_from_slice(c.escape_unicode().to_string().as_bytes());
            }
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

fn json_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' if !matches!(byte, b'"' | b'\\'));
    if text.as_bytes().iter().all(is_plain) {
        out.extend_from_slice(text.as_bytes());
    } else {
        for c in text.chars() {
            match c {
                '"' => out.extend_from_slice(b"\\\""),
                '\\' => out.extend_from_slice(b"\\\\"),
                '\n' => out.extend_from_slice(b"\\n"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\t' => out.extend_from_slice(b"\\t"),
                c if c.is_control() || is_directing(c) => {
                    out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes());
                }
                c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }
    out.push(b'"');
}
