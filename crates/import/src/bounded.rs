//! JSON whose long texts are cut as it is read, so that a recording with a film in it takes no more memory than one without.
//! Driven by the reader of HAR files.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

/// The number of texts that were cut so far.
pub(super) type CutCount = Rc<Cell<u64>>;

/// The most bytes that are read, which may change on the way.
#[derive(Debug, Clone)]
pub(super) struct ByteLimit(Rc<Cell<u64>>);

impl ByteLimit {
    pub(super) fn set(&self, most: u64) {
        self.0.set(most);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CutterState {
    Between,
    Text,
    Escape,
    /// Within `\u1234`, with so many digits to come.
    Digits(u8),
}

/// A reader of JSON that leaves out all bytes of a text beyond a limit.
pub(super) struct BoundedTexts<R> {
    inner: R,
    cutter: Cutter,
    read: u64,
    limit: ByteLimit,
}

/// Decides byte by byte.
struct Cutter {
    most: usize,
    state: CutterState,
    /// Bytes of the text so far.
    length: usize,
    cutting: bool,
    cuts: CutCount,
}

impl<R: BufRead> BoundedTexts<R> {
    pub(super) fn new(inner: R, most: usize) -> (Self, CutCount, ByteLimit) {
        let cuts = CutCount::default();
        let cutter = Cutter {
            most,
            state: CutterState::Between,
            length: 0,
            cutting: false,
            cuts: cuts.clone(),
        };
        let limit = ByteLimit(Rc::new(Cell::new(u64::MAX)));
        let texts = BoundedTexts {
            inner,
            cutter,
            read: 0,
            limit: limit.clone(),
        };
        (texts, cuts, limit)
    }
}

impl Cutter {
    /// Takes a byte in, and returns whether it stays.
    fn stays(&mut self, byte: u8) -> bool {
        match (self.state, byte) {
            (CutterState::Between, b'"') => {
                (self.state, self.length, self.cutting) = (CutterState::Text, 0, false);
                true
            }
            (CutterState::Between, _) => true,
            (CutterState::Text, b'"') => {
                self.state = CutterState::Between;
                true
            }
            (CutterState::Text, _) => {
                self.length += 1;
                // A cut goes before an escape or a character, never through one.
                let whole = byte & 0xc0 != 0x80;
                if !self.cutting && self.length > self.most && whole {
                    self.cutting = true;
                    self.cuts.set(self.cuts.get() + 1);
                }
                if byte == b'\\' {
                    self.state = CutterState::Escape;
                }
                !self.cutting
            }
            (CutterState::Escape, _) => {
                self.state = match byte {
                    b'u' => CutterState::Digits(4),
                    _ => CutterState::Text,
                };
                self.length += 1;
                !self.cutting
            }
            (CutterState::Digits(remaining), _) => {
                self.state = match remaining {
                    1 => CutterState::Text,
                    remaining => CutterState::Digits(remaining - 1),
                };
                self.length += 1;
                !self.cutting
            }
        }
    }
}

impl<R: BufRead> Read for BoundedTexts<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled == 0 && !out.is_empty() {
            let bytes = self.inner.fill_buf()?;
            if bytes.is_empty() {
                return Ok(0);
            }
            let mut taken = 0;
            for byte in bytes {
                if filled == out.len() {
                    break;
                }
                taken += 1;
                if self.cutter.stays(*byte) {
                    out[filled] = *byte;
                    filled += 1;
                }
            }
            self.inner.consume(taken);
            self.read += taken as u64;
            if self.read > self.limit.0.get() {
                return Err(io::Error::from(io::ErrorKind::FileTooLarge));
            }
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(json: &str, most: usize) -> (String, u64) {
        let (mut reader, cuts, _) = BoundedTexts::new(json.as_bytes(), most);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("it is UTF-8");
        (text, cuts.get())
    }

    #[test]
    fn a_long_text_is_cut_where_no_character_and_no_escape_is_torn() {
        assert_eq!(
            cut(r#"{"a":"xyz","b":12345}"#, 3),
            (r#"{"a":"xyz","b":12345}"#.to_owned(), 0)
        );
        assert_eq!(cut(r#"["wxyz"]"#, 3), (r#"["wxy"]"#.to_owned(), 1));
        assert_eq!(
            cut(r#"["wxy\"z", "a"]"#, 3),
            (r#"["wxy", "a"]"#.to_owned(), 1)
        );
        assert_eq!(cut(r#"["xy\\"]"#, 3), (r#"["xy\\"]"#.to_owned(), 0));
        assert_eq!(
            cut(r#"["\u00e9\u00e9"]"#, 3),
            (r#"["\u00e9"]"#.to_owned(), 1)
        );
        assert_eq!(cut("[\"ééé zz\"]", 3), ("[\"éé\"]".to_owned(), 1));
    }
}
