//! The sorter of logs: puts their lines in order without keeping them all in memory. Lines are sorted in parts, which are
//! spilled to an unnamed file in a folder and merged at the end. Used by the request log of a run and by `lgoose audit`.
//!
//! Own code instead of a crate for external sorting: those limit the number of lines, not their memory. A run with a
//! sorted log took 1.08 and 1.10 times the CPU of one without a log (`benches/README.md`, logs).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

/// The memory for lines that have not been spilled, in bytes. The growing buffers may take twice as much: 64 MiB.
const MEMORY_BYTES: usize = 32 << 20;

/// The bytes read at a time of each sorted part.
const READ_BYTES: usize = 64 * 1024;

/// The key that orders lines, such as the connection, unknown ones last, and the time.
pub type LineKey = (u64, u64);

/// The size in bytes of a spilled line's header: its key and length.
const HEADER_BYTES: usize = 20;

/// Lines to be sorted.
#[derive(Debug)]
pub struct Sorter {
    folder: PathBuf,
    most: usize,
    text: Vec<u8>,
    /// Key, offset and length of each line in `text`.
    lines: Vec<(LineKey, usize, usize)>,
    spilled: Option<File>,
    /// The offset in the file of each sorted part, and of the end of the last one.
    parts: Vec<u64>,
}

impl Sorter {
    /// Creates a sorter that spills lines to a file in this folder.
    pub fn new(folder: PathBuf) -> Sorter {
        Sorter::within(folder, MEMORY_BYTES)
    }

    fn within(folder: PathBuf, most: usize) -> Sorter {
        Sorter {
            folder,
            most,
            text: Vec::new(),
            lines: Vec::new(),
            spilled: None,
            parts: vec![0],
        }
    }

    /// Adds one line.
    ///
    /// # Errors
    /// Returns an error if there is no room to spill lines.
    pub fn add(&mut self, key: LineKey, line: &[u8]) -> io::Result<()> {
        self.lines.push((key, self.text.len(), line.len()));
        self.text.extend_from_slice(line);
        if self.text.len() + self.lines.len() * size_of::<(LineKey, usize, usize)>() > self.most {
            self.spill()
        } else {
            Ok(())
        }
    }

    fn spill(&mut self) -> io::Result<()> {
        let mut file = match self.spilled.take() {
            Some(file) => file,
            None => tempfile::tempfile_in(&self.folder)?,
        };
        self.lines.sort_unstable();
        let mut end = self.parts.last().copied().unwrap_or_default();
        let mut out = io::BufWriter::with_capacity(READ_BYTES, &mut file);
        for ((first, second), at, length) in self.lines.drain(..) {
            out.write_all(&first.to_ne_bytes())?;
            out.write_all(&second.to_ne_bytes())?;
            out.write_all(&(length as u32).to_ne_bytes())?;
            out.write_all(&self.text[at..at + length])?;
            end += (HEADER_BYTES + length) as u64;
        }
        out.flush()?;
        drop(out);
        self.text.clear();
        self.parts.push(end);
        self.spilled = Some(file);
        Ok(())
    }

    /// Passes all lines to `put` in order, until it returns false.
    ///
    /// # Errors
    /// Returns an error if spilled lines cannot be read.
    pub fn each(mut self, mut put: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
        self.lines.sort_unstable();
        let mut memory = self.lines.iter().peekable();
        let mut parts = Vec::new();
        if let Some(file) = &self.spilled {
            for ends in self.parts.windows(2) {
                parts.push(SortedChunk::new(file, ends[0], ends[1]));
            }
        }
        let mut next = BinaryHeap::new();
        for (number, part) in parts.iter_mut().enumerate() {
            next.extend(part.key()?.map(|key| Reverse((key, number))));
        }
        loop {
            let spilled = next.peek().map(|Reverse((key, _))| *key);
            let line = match memory.peek() {
                Some((key, at, length)) if spilled.is_none_or(|spilled| *key < spilled) => {
                    let line = &self.text[*at..*at + *length];
                    memory.next();
                    line
                }
                _ => {
                    let Some(Reverse((_, number))) = next.pop() else {
                        return Ok(());
                    };
                    let part = &mut parts[number];
                    part.line()?;
                    next.extend(part.key()?.map(|key| Reverse((key, number))));
                    &part.line
                }
            };
            if !put(line) {
                return Ok(());
            }
        }
    }
}

/// A sorted part being read.
#[derive(Debug)]
struct SortedChunk<'a> {
    file: &'a File,
    /// The offset in the file up to which the part was read.
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    /// The number of bytes of the buffer that were consumed.
    consumed: usize,
    line: Vec<u8>,
}

impl SortedChunk<'_> {
    fn new(file: &File, at: u64, end: u64) -> SortedChunk<'_> {
        SortedChunk {
            file,
            at,
            end,
            buffer: Vec::new(),
            consumed: 0,
            line: Vec::new(),
        }
    }

    /// Returns the key of the next line; `None` at the end.
    fn key(&mut self) -> io::Result<Option<LineKey>> {
        if self.consumed == self.buffer.len() && self.at == self.end {
            return Ok(None);
        }
        let head = self.ahead(HEADER_BYTES)?;
        let number = |at: usize| head[at..at + 8].try_into().map(u64::from_ne_bytes);
        Ok(number(0).ok().zip(number(8).ok()))
    }

    /// Reads the next line.
    fn line(&mut self) -> io::Result<()> {
        let head = self.ahead(HEADER_BYTES)?;
        let length =
            u32::from_ne_bytes(head[16..HEADER_BYTES].try_into().unwrap_or_default()) as usize;
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        line.extend_from_slice(&self.ahead(HEADER_BYTES + length)?[HEADER_BYTES..]);
        self.line = line;
        self.consumed += HEADER_BYTES + length;
        Ok(())
    }

    /// Returns the next `count` bytes without consuming them.
    fn ahead(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.buffer.len() - self.consumed < count {
            self.buffer.drain(..self.consumed);
            self.consumed = 0;
            let old = self.buffer.len();
            let remaining = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
            let more = (count - old).max(READ_BYTES).min(remaining);
            self.buffer.resize(old + more, 0);
            self.file.read_exact_at(&mut self.buffer[old..], self.at)?;
            self.at += more as u64;
        }
        self.buffer
            .get(self.consumed..self.consumed + count)
            .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_in_order_whether_they_fit_into_memory_or_not() {
        let mut shuffled: Vec<u64> = (0..5_000).collect();
        // A fixed shuffle: 7 and 5,000 have no common factor.
        shuffled.iter_mut().for_each(|n| *n = *n * 7 % 5_000);
        for most in [64 << 20, 20_000, 100] {
            let mut sorter = Sorter::within(std::env::temp_dir(), most);
            for n in &shuffled {
                // Lengths differ; some are longer than the read buffer.
                let filler = "x".repeat(if n % 1_000 == 7 {
                    100_000
                } else {
                    (n % 50) as usize
                });
                let line = format!("{n} {filler}\n");
                sorter.add((n % 10, *n), line.as_bytes()).expect("room");
            }
            let mut seen = Vec::new();
            sorter
                .each(|line| {
                    let line = std::str::from_utf8(line).expect("text");
                    assert!(line.ends_with('\n'));
                    let number = line.split(' ').next().expect("a number");
                    let n: u64 = number.parse().expect("a number");
                    seen.push((n % 10, n));
                    true
                })
                .expect("what was spilled can be read");
            assert_eq!(seen.len(), 5_000);
            assert!(seen.is_sorted(), "{most}");
        }
    }
}
