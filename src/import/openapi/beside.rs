//! The files that a document refers to: those in its folder and the folders in that are read, and put together with it.
//! Nothing is fetched, and what cannot be read is told and left out.

use super::document::OpenApiDocument;
use super::references::{self, ReferenceTarget};
use super::yaml;
use crate::files;
use crate::import::har::DOCUMENT_BYTES;
use crate::import::lua_text::comment;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The most files, and values in all of them.
const FILES: usize = 1_000;
const VALUES: usize = 2_000_000;
/// The most files in YAML that stand for more than is read: each takes a second to find out.
const LARGE: usize = 2;
/// The most remarks.
const MOST_REMARKS: usize = 20;

/// What is told about references that lead to one place.
#[derive(Debug)]
struct Remark {
    /// The file, or what cannot be one.
    target: String,
    /// Where the first of them stands.
    place: String,
    what: String,
    /// How many others there are.
    more: usize,
}

#[derive(Debug)]
struct Gatherer {
    /// `None` for what has none, such as standard input.
    folder: Option<PathBuf>,
    /// The name of the document in its folder.
    own: String,
    files: BTreeMap<String, Value>,
    /// Names of files, and where the first reference to each stands.
    waiting: VecDeque<(String, String)>,
    queued: BTreeSet<String>,
    /// All references to other files, and where the first of each stands.
    references: BTreeMap<String, String>,
    remarks: Vec<Remark>,
    /// The places of remarks by their targets and what is told.
    remark_numbers: HashMap<(String, String), usize>,
    remaining_bytes: u64,
    remaining_values: usize,
}

/// Reads all that a document refers to; `path` is where it lies itself. Returns what is told besides.
pub(super) fn gather(
    file: Map<String, Value>,
    path: Option<&Path>,
) -> (OpenApiDocument, Vec<String>) {
    let folder = path.and_then(|path| {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        folder.unwrap_or(Path::new(".")).canonicalize().ok()
    });
    let own = path.and_then(Path::file_name);
    let mut gatherer = Gatherer {
        folder,
        own: own.map_or(String::new(), |name| {
            references::key(&name.to_string_lossy())
        }),
        files: BTreeMap::new(),
        waiting: VecDeque::new(),
        queued: BTreeSet::new(),
        references: BTreeMap::new(),
        remarks: Vec::new(),
        remark_numbers: HashMap::new(),
        remaining_bytes: DOCUMENT_BYTES,
        remaining_values: VALUES,
    };
    let mut root = Value::Object(file);
    gatherer.rewrite("", &mut root);
    gatherer.read_all();
    let document = OpenApiDocument::new(root, std::mem::take(&mut gatherer.files));
    gatherer.look_for_holes(&document);
    (document, gatherer.remarks())
}

impl Gatherer {
    fn read_all(&mut self) {
        let mut count = 0;
        while let Some((name, place)) = self.waiting.pop_front() {
            count += 1;
            if count > FILES {
                let what = format!(
                    "is one of more than {FILES} files, and not read: put the document together as one, with a bundler such as 'redocly bundle'"
                );
                return self.add_remark(&name, &place, what);
            }
            match self.read(&name) {
                Ok(mut value) => {
                    self.rewrite(&name, &mut value);
                    self.files.insert(name, value);
                }
                Err(what) => self.add_remark(&name, &place, what),
            }
        }
    }

    /// Writes the references of a file as the document knows them, and notes the files that they lead to.
    fn rewrite(&mut self, base: &str, value: &mut Value) {
        references::for_each(value, &mut |pointer, text| {
            let place = match base {
                "" => format!("at '{}'", comment(pointer)),
                base if pointer.is_empty() => format!("in '{}'", comment(base)),
                base => format!("in '{}' at '{}'", comment(base), comment(pointer)),
            };
            if let Some(reference) = self.reference(base, &place, text) {
                *text = reference;
            }
        });
    }

    /// Returns a reference as the document knows it; `None` if it stays, since it is one already or leads nowhere.
    fn reference(&mut self, base: &str, place: &str, text: &str) -> Option<String> {
        let (name, fragment) = match references::target(base, text) {
            ReferenceTarget::Within(_) if base.is_empty() => return None,
            ReferenceTarget::Within(fragment) => (base.to_owned(), fragment),
            ReferenceTarget::File(_, _) if self.folder.is_none() => {
                let what = "is not known where: what comes by standard input has no folder, so give the document by its file name";
                self.add_remark(text, place, what.to_owned());
                return None;
            }
            ReferenceTarget::File(name, fragment) if name == self.own => {
                return Some(format!("#{fragment}"));
            }
            ReferenceTarget::File(name, fragment) => (name, fragment),
            ReferenceTarget::Nowhere(what) => {
                self.add_remark(text, place, what.to_owned());
                return None;
            }
        };
        let reference = format!("{name}#{fragment}");
        if self.queued.insert(name.clone()) && name != base {
            self.waiting.push_back((name, place.to_owned()));
        }
        let reference_place = self.references.entry(reference.clone());
        reference_place.or_insert_with(|| place.to_owned());
        Some(reference)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it, and what to do.
    fn read(&mut self, name: &str) -> Result<Value, String> {
        let folder = self.folder.as_deref().ok_or("has no folder")?;
        let unreadable = |error: std::io::Error| {
            format!("cannot be read: {error}; put it there, or mend the '$ref'")
        };
        let path = folder.join(references::path(name));
        let path = path.canonicalize().map_err(unreadable)?;
        if !path.starts_with(folder) {
            return Err(
                "is a link that leads out of the document's folder, and not read: copy it there"
                    .to_owned(),
            );
        }
        let file = files::open(&path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        let read = file.take(self.remaining_bytes + 1).read_to_end(&mut bytes);
        read.map_err(unreadable)?;
        let Some(remaining) = self.remaining_bytes.checked_sub(bytes.len() as u64) else {
            let most = DOCUMENT_BYTES >> 20;
            return Err(format!(
                "is not read: the files that the document refers to may have {most} MiB together, so leave out what no request needs"
            ));
        };
        self.remaining_bytes = remaining;
        let text = String::from_utf8(bytes)
            .map_err(|_| "is no text in UTF-8: save it as JSON or YAML".to_owned())?;
        let many = || {
            format!(
                "is left out: the files that the document refers to may have {VALUES} values together"
            )
        };
        if self.remaining_values == 0 {
            return Err(many());
        }
        let value = self.parse(name, text.trim_start_matches('\u{feff}'))?;
        let remaining = self.remaining_values.checked_sub(references::count(&value));
        self.remaining_values = remaining.ok_or_else(many)?;
        Ok(value)
    }

    /// Reads JSON or YAML, as the name or the text says.
    fn parse(&mut self, name: &str, text: &str) -> Result<Value, String> {
        let is_json = name.to_ascii_lowercase().ends_with(".json");
        if is_json || text.trim_start().starts_with(['{', '[']) {
            match serde_json::from_str(text) {
                Err(error) if is_json => {
                    let what = comment(&error.to_string());
                    return Err(format!("is no JSON: {what}; mend it there"));
                }
                // Flow style of YAML.
                Err(_) => {}
                Ok(value) => return Ok(value),
            }
        }
        yaml::parse(text).map_err(|fault| {
            if fault.is_large {
                self.remaining_values = self.remaining_values.saturating_sub(VALUES / LARGE);
            }
            let what = fault.what;
            format!("is no YAML: {what}; mend it there, or save it as JSON")
        })
    }

    /// Tells the references to places that their files do not have.
    fn look_for_holes(&mut self, document: &OpenApiDocument) {
        for (reference, place) in std::mem::take(&mut self.references) {
            let Some((name, fragment)) = reference.split_once('#') else {
                continue;
            };
            if document.has_file(name) && document.find(&reference).is_null() {
                let what = format!("has nothing at '#{}': mend the '$ref'", comment(fragment));
                self.add_remark(name, &place, what);
            }
        }
    }

    fn add_remark(&mut self, target: &str, place: &str, what: String) {
        let next = self.remarks.len();
        let key = (target.to_owned(), what.clone());
        let number = *self.remark_numbers.entry(key).or_insert(next);
        match self.remarks.get_mut(number) {
            Some(existing) => existing.more += 1,
            None => self.remarks.push(Remark {
                target: target.to_owned(),
                place: place.to_owned(),
                what,
                more: 0,
            }),
        }
    }

    /// Returns the remarks in words.
    fn remarks(self) -> Vec<String> {
        let more = self.remarks.len().saturating_sub(MOST_REMARKS);
        let lines = self.remarks.into_iter().take(MOST_REMARKS).map(|remark| {
            let Remark { place, what, .. } = &remark;
            let others = match remark.more {
                0 => String::new(),
                1 => " (and from another place)".to_owned(),
                more => format!(" (and from {more} other places)"),
            };
            let target = comment(&remark.target);
            format!("{place} the document refers to '{target}'{others}, which {what}")
        });
        let mut lines: Vec<String> = lines.collect();
        if more > 0 {
            lines.push(format!("and {more} more references that lead nowhere"));
        }
        lines
    }
}
