//! Rows that stay in their file, which may be larger than the memory. It is read once to learn where rows begin.

use super::read::{is_compressed, strip_byte_order_mark};
use super::{CsvFormat, DataRow};
use lgoose_base::files::{DataCharge, DataMemory, DataMemoryFull, FileError, NamedFile};
use lgoose_base::units::show_size;
use std::borrow::Cow;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

/// The rows from one noted place to the next: reading one reads all of these, and each place takes 8 bytes.
const ROWS_OF_A_BLOCK: usize = 16;

/// The most bytes of a row: an open quote would make one of all that follows, which memory may not take.
const LONGEST_ROW: u64 = 64 << 20;

/// The rows of a file that is not kept in memory.
#[derive(Debug)]
pub(super) struct StreamedRows {
    file: String,
    input: Mutex<File>,
    /// The memory in which blocks of rows are read.
    memory: DataMemory,
    shape: RowShape,
    /// The first byte of each block of rows, and the end of the last one.
    blocks: Vec<u64>,
    count: usize,
}

/// The form of the rows.
#[derive(Debug)]
pub(super) enum RowShape {
    /// Cells under the names of their columns.
    Table(CsvFormat, Vec<String>),
    Line,
}

impl StreamedRows {
    /// Returns the names of the columns; `None` for lines.
    pub(super) fn columns(&self) -> Option<&[String]> {
        match &self.shape {
            RowShape::Table(_, columns) => Some(columns),
            RowShape::Line => None,
        }
    }

    /// Reads a file to the end, and notes where its rows begin.
    ///
    /// # Errors
    /// A sentence that names the file: it cannot be read, or is compressed; `fault` makes it of a wrong row.
    pub(super) fn index(
        file: &str,
        path: &NamedFile,
        shape: RowShape,
        charge: &mut DataCharge,
        fault: impl Fn(csv::Error) -> String,
    ) -> Result<StreamedRows, String> {
        let cannot = |error: io::Error| format!("cannot read '{file}': {error}");
        let input = path.open_of_any_size();
        let input = input.map_err(|error: FileError| format!("cannot read '{file}': {error}"))?;
        let limit = RowLimit::new(input.try_clone().map_err(cannot)?, charge);
        let read = limit.read_bytes();
        let mut reader = BufReader::with_capacity(1 << 16, limit);
        if is_compressed(&mut reader).map_err(cannot)? {
            return Err(format!(
                "'{file}' is compressed, so that no row of it can be read alone; unpack it, or leave out 'stream'"
            ));
        }
        let (blocks, count) = match &shape {
            RowShape::Table(format, _) => {
                rows_of_table(format, reader, &read, charge).map_err(fault)?
            }
            RowShape::Line => lines(reader, &read, charge).map_err(cannot)?,
        };
        Ok(StreamedRows {
            file: file.to_owned(),
            input: Mutex::new(input),
            memory: charge.memory().clone(),
            shape,
            blocks,
            count,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Returns the memory that it takes, in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<u64>()
    }

    /// Reads the row with that index, from 0.
    ///
    /// # Errors
    /// The file cannot be read, or has changed.
    pub(super) fn row(&self, place: usize) -> Result<Option<DataRow<'_>>, String> {
        if place >= self.count {
            return Ok(None);
        }
        let block = place / ROWS_OF_A_BLOCK;
        let mut charge = self.memory.charge();
        let bytes = self
            .read(self.blocks[block], self.blocks[block + 1], &mut charge)
            .map_err(|error| format!("cannot read '{}': {error}", self.file))?;
        let number = place % ROWS_OF_A_BLOCK;
        let row = match &self.shape {
            RowShape::Line => line(&bytes, number).map(DataRow::Line),
            RowShape::Table(format, columns) => {
                let mut reader = format.builder(false).from_reader(bytes.as_slice());
                let record = reader.byte_records().nth(number);
                let record = record.and_then(Result::ok);
                record
                    .filter(|record| record.len() == columns.len())
                    .map(|record| {
                        let cells = record.iter().map(|cell| Cow::Owned(cell.to_vec()));
                        let names = columns.iter().map(String::as_str);
                        DataRow::Cells(names.zip(cells).collect())
                    })
            }
        };
        row.map(Some).ok_or_else(|| {
            format!(
                "'{}' has changed since it was first read: row {} is no longer where it was",
                self.file,
                place + 1
            )
        })
    }

    fn read(&self, from: u64, to: u64, charge: &mut DataCharge) -> io::Result<Vec<u8>> {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        input.seek(SeekFrom::Start(from))?;
        charge.read_all((&*input).take(to - from), to - from)
    }
}

/// An input of which no row may be longer than [`LONGEST_ROW`], nor take more memory than there is.
pub(super) struct RowLimit<R> {
    input: R,
    longest: u64,
    /// The number of bytes read since the last row was complete.
    read: Rc<Cell<u64>>,
    full: DataMemoryFull,
}

impl<R> RowLimit<R> {
    /// Reads an input from where it is.
    pub(super) fn new(input: R, charge: &DataCharge) -> RowLimit<R> {
        /// A row is kept, and grows, in the memory of the reader before it is in that of the file.
        const COPIES: u64 = 4;
        let most = charge.remaining() / COPIES;
        RowLimit {
            input,
            longest: most.min(LONGEST_ROW),
            read: Rc::default(),
            full: charge.full_after(most),
        }
    }

    /// Returns the number of bytes read since the last row was complete, which is set to 0 then.
    pub(super) fn read_bytes(&self) -> Rc<Cell<u64>> {
        self.read.clone()
    }
}

impl<R: io::Read> io::Read for RowLimit<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read.get() > self.longest {
            if self.longest < LONGEST_ROW {
                return Err(io::Error::other(self.full.clone()));
            }
            let longest = show_size(LONGEST_ROW as f64);
            let message = format!("a row has more than {longest}; is a quote not closed?");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let count = self.input.read(buffer)?;
        self.read.set(self.read.get() + count as u64);
        Ok(count)
    }
}

fn rows_of_table(
    format: &CsvFormat,
    input: BufReader<RowLimit<File>>,
    read: &Cell<u64>,
    charge: &mut DataCharge,
) -> Result<(Vec<u64>, usize), csv::Error> {
    let mut reader = format.reader().from_reader(input);
    if format.columns.is_none() {
        reader.byte_headers()?;
    }
    let mut blocks = Vec::new();
    let mut count = 0;
    let mut record = csv::ByteRecord::new();
    loop {
        let place = reader.position().byte();
        if !reader.read_byte_record(&mut record)? {
            blocks.push(place);
            return Ok((blocks, count));
        }
        read.set(0);
        if count % ROWS_OF_A_BLOCK == 0 {
            let room = charge.reserve(&mut blocks, 2);
            room.map_err(io::Error::other)?;
            blocks.push(place);
        }
        count += 1;
    }
}

fn lines(
    mut input: BufReader<RowLimit<File>>,
    read: &Cell<u64>,
    charge: &mut DataCharge,
) -> io::Result<(Vec<u64>, usize)> {
    let mut blocks = Vec::new();
    let mark = input.fill_buf()?;
    let mark = mark.len() - strip_byte_order_mark(mark).len();
    input.consume(mark);
    let (mut place, mut count) = (mark as u64, 0);
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = input.read_until(b'\n', &mut line)?;
        read.set(0);
        if length == 0 {
            blocks.push(place);
            return Ok((blocks, count));
        }
        if !without_end(&line).is_empty() {
            if count % ROWS_OF_A_BLOCK == 0 {
                let room = charge.reserve(&mut blocks, 2);
                room.map_err(io::Error::other)?;
                blocks.push(place);
            }
            count += 1;
        }
        place += length as u64;
    }
}

/// Returns the line with that number among those of a block that are not empty.
fn line(block: &[u8], number: usize) -> Option<Cow<'static, [u8]>> {
    let lines = block.split(|byte| *byte == b'\n');
    let mut lines = lines.map(without_end).filter(|line| !line.is_empty());
    let line = lines.nth(number)?;
    Some(Cow::Owned(line.to_vec()))
}

/// Returns a line without its line ending.
fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
