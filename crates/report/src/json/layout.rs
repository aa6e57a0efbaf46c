//! Layout of JSON that is readable and small: indented, but with all numbers of a list on one line.

use serde_json::ser::Formatter;
use std::io::{Result, Write};

/// The layout's state: the depth and the contents of the innermost list.
#[derive(Debug, Default)]
pub(super) struct JsonLayout {
    /// For each open list or object, whether something in it has a line of its own.
    open: Vec<bool>,
    /// Whether an element of a list is open of which nothing is written yet.
    due: bool,
}

impl JsonLayout {
    fn line<W: Write + ?Sized>(&mut self, writer: &mut W) -> Result<()> {
        self.due = false;
        if let Some(broken) = self.open.last_mut() {
            *broken = true;
        }
        writer.write_all(b"\n")?;
        self.open.iter().try_for_each(|_| writer.write_all(b"  "))
    }

    /// Opens a list or an object.
    fn open<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> Result<()> {
        if self.due {
            self.line(writer)?;
        }
        self.open.push(false);
        writer.write_all(bracket)
    }

    fn end<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> Result<()> {
        if self.open.pop() == Some(true) {
            writer.write_all(b"\n")?;
            self.open.iter().try_for_each(|_| writer.write_all(b"  "))?;
        }
        writer.write_all(bracket)
    }
}

impl Formatter for JsonLayout {
    fn begin_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.due = true;
        writer.write_all(if first { b"" } else { b"," })
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, _writer: &mut W) -> Result<()> {
        self.due = false;
        Ok(())
    }

    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> Result<()> {
        self.end(writer, b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        writer.write_all(if first { b"" } else { b"," })?;
        self.line(writer)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> Result<()> {
        writer.write_all(b": ")
    }

    fn begin_string<W: Write + ?Sized>(&mut self, writer: &mut W) -> Result<()> {
        if self.due {
            self.line(writer)?;
        }
        writer.write_all(b"\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize as _;
    use serde_json::json;

    #[test]
    fn only_numbers_share_a_line() {
        let value = json!({
            "a": [1, 2.5, null],
            "b": ["x", "y"],
            "c": [{ "d": [] }, { "e": {}, "f": [[1, 2], [3]] }],
        });
        let mut text = Vec::new();
        let mut serializer =
            serde_json::Serializer::with_formatter(&mut text, JsonLayout::default());
        value.serialize(&mut serializer).expect("plain values");
        let expected = r#"{
  "a": [1,2.5,null],
  "b": [
    "x",
    "y"
  ],
  "c": [
    {
      "d": []
    },
    {
      "e": {},
      "f": [
        [1,2],
        [3]
      ]
    }
  ]
}"#;
        assert_eq!(String::from_utf8_lossy(&text), expected);
    }
}
