//! Data files of a plan: rows of a CSV file, lines, JSON, YAML, or bytes as they are. Read once per process and kept
//! outside of Lua, so that a million rows cost their memory once, whatever the number of users. Driven by
//! `api/data.rs`; knows no Lua.

mod read;
mod streamed;

use self::read::read;
use self::streamed::StreamedRows;
use super::cache::TextCache;
use super::digest::{self, ContentDigest};
use super::json_tree::{JsonNode, JsonTree};
use bytes::Bytes;
use lgoose_base::allotment::{Allotment, Reservations, Taken};
use lgoose_base::files::{
    DataCharge, DataMemory, DataMemoryFull, FileError, FileUse, NamedFile, PathRefusal, PlanFolder,
};
use lgoose_plan::config::LoadPart;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The format of a data file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DataFormat {
    Csv(CsvFormat),
    Lines {
        /// Lines stay in the file.
        streamed: bool,
    },
    Json,
    Json5,
    /// A value in each line.
    JsonLines,
    Yaml,
    /// The bytes as they are.
    Whole,
}

/// The format of a CSV file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CsvFormat {
    /// The byte between cells.
    pub(crate) separator: u8,
    /// The names of the columns, if its first line has none.
    pub(crate) columns: Option<Vec<String>>,
    /// Rows stay in the file.
    pub(crate) streamed: bool,
}

impl Default for CsvFormat {
    fn default() -> Self {
        CsvFormat {
            separator: b',',
            columns: None,
            streamed: false,
        }
    }
}

impl CsvFormat {
    /// Returns a reader of the whole file.
    fn reader(&self) -> csv::ReaderBuilder {
        self.builder(self.columns.is_none())
    }

    /// Returns a reader of the file, or of rows alone.
    fn builder(&self, has_headers: bool) -> csv::ReaderBuilder {
        let mut builder = csv::ReaderBuilder::new();
        builder
            .trim(csv::Trim::Headers)
            .delimiter(self.separator)
            .has_headers(has_headers);
        builder
    }
}

/// A file beside a plan, read once per process.
#[derive(Debug, Clone)]
pub(crate) struct PlanFile {
    /// Its name without folders.
    pub(crate) name: String,
    /// Its content.
    pub(crate) bytes: Bytes,
}

/// The order in which users get rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowOrder {
    /// All users take rows in turn, from the beginning again after the last.
    Circular,
    /// Rows are drawn from the user's own random stream, with replacement.
    Random,
    /// Each row is taken at most once in the whole test.
    Unique,
    /// Each user takes all rows from the first on, then again.
    Sequential,
}

impl RowOrder {
    /// The names that plans write.
    pub(crate) const NAMES: [&str; 4] = ["circular", "random", "unique", "sequential"];

    /// Returns the order with that name.
    pub(crate) fn parse(name: &str) -> Option<RowOrder> {
        match name {
            "circular" => Some(RowOrder::Circular),
            "random" => Some(RowOrder::Random),
            "unique" => Some(RowOrder::Unique),
            "sequential" => Some(RowOrder::Sequential),
            _ => None,
        }
    }
}

/// The data files of a plan.
#[derive(Debug)]
pub(crate) struct DataFiles {
    folder: PlanFolder,
    memory: DataMemory,
    files: TextCache<DataRows>,
    /// The formats in which each CSV file has been read: it is kept once for each.
    csv_formats: Mutex<HashMap<PathBuf, Vec<CsvFormat>>>,
    share: Arc<OnceLock<RowShare>>,
}

/// The rows of `order = "unique"` that this process deals out.
#[derive(Debug)]
struct RowShare {
    /// The part of the load that it drives: no other part has any of its rows.
    part: LoadPart,
    /// The reservations of rows before users take them, if another process may have to go on in its place, and the
    /// plan's version.
    reserved: Option<(Arc<Reservations>, u64)>,
}

/// The rows of one file and the position of all users together in them.
#[derive(Debug)]
pub(crate) struct DataRows {
    /// The file as the plan names it.
    pub(crate) file: String,
    /// The key that distinguishes it from all other rows of the plan.
    key: String,
    /// SHA-256 of the file's bytes.
    digest: ContentDigest,
    content: DataContent,
    /// The memory of its content, which counts as long as this is there.
    _charge: DataCharge,
    circular: AtomicU64,
    unique: OnceLock<UniqueRows>,
    share: Arc<OnceLock<RowShare>>,
    warned: AtomicBool,
}

/// Rows that each are taken once.
#[derive(Debug)]
struct UniqueRows {
    part: LoadPart,
    /// The number of rows in that part.
    count: u64,
    allotment: Arc<Allotment>,
}

#[derive(Debug)]
enum DataContent {
    Table {
        columns: Vec<String>,
        cells: CellTexts,
    },
    Lines(CellTexts),
    Json(Arc<JsonTree>),
    /// Rows that stay in the file.
    Streamed(StreamedRows),
    Whole(Bytes),
}

/// Texts stored one after the other in one buffer.
#[derive(Debug, Default)]
struct CellTexts {
    bytes: Vec<u8>,
    /// The start and end of each text; four bytes each limit a file to 4 GiB.
    spans: Vec<(u32, u32)>,
}

/// One row.
#[derive(Debug)]
pub(crate) enum DataRow<'a> {
    /// The names of the columns and their values, equally many.
    Cells(Vec<(&'a str, Cow<'a, [u8]>)>),
    Line(Cow<'a, [u8]>),
    Json(JsonNode<'a>),
}

impl DataFiles {
    /// Creates the collection for the folder of a plan, whose files may take that memory together.
    pub(crate) fn new(folder: PlanFolder, memory: DataMemory) -> DataFiles {
        DataFiles {
            folder,
            memory,
            files: TextCache::new(usize::MAX),
            csv_formats: Mutex::default(),
            share: Arc::default(),
        }
    }

    /// Deals out only the rows of `order = "unique"` that belong to this part of a load, and reserves them first if
    /// `reserved` has reservations, and the number of the plan's version.
    pub(crate) fn serve_part(&self, part: LoadPart, reserved: Option<(Arc<Reservations>, u64)>) {
        // It is the same each time.
        let _previous = self.share.set(RowShare { part, reserved });
        // Rows taken at the top level cannot wait for a reservation.
        for rows in self.files.all() {
            rows.unique();
        }
    }

    /// Returns whether this process deals out a part of the rows, and others deal out the rest.
    pub(crate) fn is_part(&self) -> bool {
        let share = self.share.get();
        share.is_some_and(|share| share.part != LoadPart::WHOLE)
    }

    /// Returns the rows of a file, which is read at its first use.
    ///
    /// # Errors
    /// A sentence that names the file, and its line if one is wrong.
    pub(crate) fn open(&self, format: &DataFormat, file: &str) -> Result<Arc<DataRows>, String> {
        let path = self.real_path(file)?;
        if let DataFormat::Csv(csv) = format {
            self.note_format(&path, csv, file)?;
        }
        let key = format!("{format:?} {}", path.display());
        self.files.get_or_insert_with(&key, |_| {
            let named = self.named(file);
            let mut charge = self.memory.charge();
            let content = read(format, file, &named, &mut charge)?;
            let kept = charge.set(content.heap_bytes());
            kept.map_err(|full| format!("cannot read '{file}': {full}"))?;
            let digest = digest::of_file(&named)
                .map_err(|error| format!("cannot read '{file}': {error}"))?;
            let folder = self.folder.real_path().unwrap_or_default();
            let within = path.strip_prefix(folder).unwrap_or(&path).display();
            let rows = DataRows {
                file: file.to_owned(),
                key: format!("{format:?} {within}"),
                digest,
                content,
                _charge: charge,
                circular: AtomicU64::new(0),
                unique: OnceLock::new(),
                share: self.share.clone(),
                warned: AtomicBool::new(false),
            };
            Ok(rows)
        })
    }

    /// Refuses one format too many: a file has one format, and a plan that tries out many gains nothing.
    fn note_format(&self, path: &Path, format: &CsvFormat, file: &str) -> Result<(), String> {
        const MOST_FORMATS: usize = 4;
        let noted = self.csv_formats.lock();
        let mut noted = noted.unwrap_or_else(PoisonError::into_inner);
        let formats = noted.entry(path.to_owned()).or_default();
        if formats.contains(format) {
            return Ok(());
        }
        if formats.len() == MOST_FORMATS {
            return Err(format!(
                "'{file}' has been read with {MOST_FORMATS} other separators or columns, and each takes its memory once \
                 more; choose those that it has"
            ));
        }
        formats.push(format.clone());
        Ok(())
    }

    /// Returns the columns of a CSV file that has been read; `None` if it has been read with several formats, or not at all.
    pub(crate) fn columns(&self, file: &str) -> Option<Vec<String>> {
        let files = self.files.all();
        let mut found = files.iter().filter(|rows| rows.file == file);
        let (Some(rows), None) = (found.next(), found.next()) else {
            return None;
        };
        match &rows.content {
            DataContent::Table { columns, .. } => Some(columns.clone()),
            DataContent::Streamed(rows) => rows.columns().map(<[String]>::to_vec),
            _ => None,
        }
    }

    /// Returns the memory that the files may take together, and what they take now.
    pub(crate) fn memory(&self) -> &DataMemory {
        &self.memory
    }

    /// Returns the paths of the files that have been read so far.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let files = self.files.all();
        files
            .iter()
            .map(|rows| self.named(&rows.file).place(FileUse::Read))
            .collect()
    }

    /// Returns the files that have been read so far as the plan names them, each with its digest.
    pub(crate) fn digests(&self) -> Vec<(String, ContentDigest)> {
        let files = self.files.all();
        files
            .iter()
            .map(|rows| (rows.file.clone(), rows.digest))
            .collect()
    }

    /// Returns a file as the plan names it.
    pub(super) fn named(&self, file: &str) -> NamedFile {
        NamedFile::from(file).of_plan(&self.folder)
    }

    /// Returns the path of a file without links.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub(super) fn real_path(&self, file: &str) -> Result<PathBuf, String> {
        self.named(file).real_path().map_err(|error| match error {
            FileError::Io(error) if error.kind() == ErrorKind::NotFound => {
                format!("there is no file '{file}' in the plan's folder")
            }
            FileError::Io(error) => format!("cannot read '{file}': {error}"),
            FileError::Refused(refusal) => refused(file, &refusal),
        })
    }
}

/// Returns the sentence about a file that the plan may not read.
pub(super) fn refused(file: &str, refusal: &PathRefusal) -> String {
    format!("cannot read '{file}': {refusal}; {}", refusal.help())
}

impl DataRows {
    /// Returns the number of rows, 0 for JSON that is not a list.
    pub(crate) fn len(&self) -> usize {
        match &self.content {
            DataContent::Table { columns, cells } => cells.spans.len() / columns.len(),
            DataContent::Lines(cells) => cells.spans.len(),
            DataContent::Json(tree) => tree.root().elements().len(),
            DataContent::Streamed(rows) => rows.len(),
            DataContent::Whole(_) => 0,
        }
    }

    /// Returns the whole value of a JSON file.
    pub(crate) fn json(&self) -> Option<&Arc<JsonTree>> {
        match &self.content {
            DataContent::Json(tree) => Some(tree),
            _ => None,
        }
    }

    /// Returns the bytes of a file that was opened as a whole.
    pub(crate) fn whole(&self) -> Option<PlanFile> {
        let DataContent::Whole(bytes) = &self.content else {
            return None;
        };
        let name = Path::new(&self.file).file_name().unwrap_or_default();
        Some(PlanFile {
            name: name.to_string_lossy().into_owned(),
            bytes: bytes.clone(),
        })
    }

    /// Returns the row with that index, from 0.
    ///
    /// # Errors
    /// A row that stays in its file cannot be read.
    pub(crate) fn row(&self, place: usize) -> Result<Option<DataRow<'_>>, String> {
        Ok(match &self.content {
            DataContent::Table { columns, cells } => {
                let from = place.checked_mul(columns.len());
                let to = from.and_then(|from| from.checked_add(columns.len()));
                let spans = from
                    .zip(to)
                    .and_then(|(from, to)| cells.spans.get(from..to));
                spans.map(|spans| {
                    let cells = spans.iter().map(|span| Cow::Borrowed(cells.text(*span)));
                    let names = columns.iter().map(String::as_str);
                    DataRow::Cells(names.zip(cells).collect())
                })
            }
            DataContent::Lines(cells) => {
                let span = cells.spans.get(place);
                span.map(|span| DataRow::Line(Cow::Borrowed(cells.text(*span))))
            }
            DataContent::Json(tree) => tree.root().element(place).map(DataRow::Json),
            DataContent::Streamed(rows) => return rows.row(place),
            DataContent::Whole(_) => None,
        })
    }

    /// Takes the index of the next row, from 0. `own` is how many the user has taken, `draw` returns a random number
    /// below the one given.
    pub(crate) fn take_next(
        &self,
        order: RowOrder,
        own: &mut u64,
        draw: impl FnOnce(usize) -> usize,
    ) -> Taken {
        let len = self.len() as u64;
        let place = match order {
            RowOrder::Circular => self.circular.fetch_add(1, Ordering::Relaxed) % len,
            RowOrder::Random => draw(self.len()) as u64,
            RowOrder::Unique => {
                let rows = self.unique();
                match rows.allotment.take(rows.count) {
                    Taken::Number(number) => rows.part.row(number),
                    other => return other,
                }
            }
            RowOrder::Sequential => *own % len,
        };
        *own += 1;
        Taken::Number(place)
    }

    fn unique(&self) -> &UniqueRows {
        self.unique.get_or_init(|| {
            let share = self.share.get();
            let part = share.map_or(LoadPart::WHOLE, |share| share.part);
            let count = part.rows(self.len() as u64);
            let allotment = match share.and_then(|share| share.reserved.as_ref()) {
                Some((reservations, version)) => {
                    reservations.allotment(&format!("{} {version}", self.key), count)
                }
                None => Allotment::free(),
            };
            UniqueRows {
                part,
                count,
                allotment,
            }
        })
    }

    /// Returns true for the first caller only, which warns that there is no row left.
    pub(crate) fn claim_warning(&self) -> bool {
        !self.warned.swap(true, Ordering::Relaxed)
    }
}

/// The reason why a text cannot be kept.
enum CellFault {
    /// A span cannot say where it is.
    TooLarge,
    Full(DataMemoryFull),
}

impl CellFault {
    /// Returns the sentence about the file.
    fn of(self, file: &str) -> String {
        match self {
            CellFault::TooLarge => format!("'{file}' is larger than 4 GiB; split it"),
            CellFault::Full(full) => format!("cannot read '{file}': {full}"),
        }
    }
}

impl DataContent {
    /// Returns the memory that it takes, in bytes.
    fn heap_bytes(&self) -> usize {
        match self {
            DataContent::Table { cells, .. } | DataContent::Lines(cells) => cells.heap_bytes(),
            DataContent::Json(tree) => tree.heap_bytes(),
            DataContent::Streamed(rows) => rows.heap_bytes(),
            DataContent::Whole(bytes) => bytes.len(),
        }
    }
}

impl CellTexts {
    fn push(&mut self, text: &[u8], charge: &mut DataCharge) -> Result<(), CellFault> {
        let from = self.bytes.len();
        let room = charge.reserve(&mut self.bytes, text.len());
        room.map_err(CellFault::Full)?;
        self.bytes.extend_from_slice(text);
        self.span(from, self.bytes.len(), charge)
    }

    fn span(&mut self, from: usize, to: usize, charge: &mut DataCharge) -> Result<(), CellFault> {
        let (Ok(from), Ok(to)) = (u32::try_from(from), u32::try_from(to)) else {
            return Err(CellFault::TooLarge);
        };
        let room = charge.reserve(&mut self.spans, 1);
        room.map_err(CellFault::Full)?;
        self.spans.push((from, to));
        Ok(())
    }

    fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.spans.capacity() * size_of::<(u32, u32)>()
    }

    fn text(&self, span: (u32, u32)) -> &[u8] {
        &self.bytes[span.0 as usize..span.1 as usize]
    }

    fn shrunk(mut self) -> Self {
        self.bytes.shrink_to_fit();
        self.spans.shrink_to_fit();
        self
    }
}

#[cfg(test)]
mod tests;
