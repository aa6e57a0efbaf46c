//! The files that a document refers to: those in its folder and in the folders below it, read once they are needed.
//! Nothing is fetched, and a file that cannot be read is noted where it is needed.

use super::references::{self, ReferenceTarget};
use crate::har::DOCUMENT_BYTES;
use crate::lua_text::comment;
use lgoose_base::files;
use lgoose_base::yaml;
use serde_json::Value;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The most files, and values in all of them.
const FILES: usize = 10_000;
const VALUES: usize = 2_000_000;
/// The most files in YAML that stand for more than is read: each takes a second to find out.
const LARGE: usize = 2;

/// The files, by the names that references call them before '#'.
#[derive(Debug)]
pub(super) struct DocumentFiles {
    /// `None` for a document without one, such as standard input.
    folder: Option<PathBuf>,
    /// The name of the document in its folder.
    own: String,
    /// The files that were read, in their order; a file that could not be read leaves a gap.
    contents: Vec<OnceCell<Value>>,
    /// The place of each file in `contents`, or the reason why it has none.
    numbers: RefCell<HashMap<String, Result<usize, String>>>,
    /// The place of the first of each reference.
    places: RefCell<HashMap<String, String>>,
    /// References that lead to no file, and why.
    dead_ends: RefCell<HashMap<String, &'static str>>,
    remaining_bytes: Cell<u64>,
    remaining_values: Cell<usize>,
}

impl DocumentFiles {
    /// Creates the files of a document at that path.
    pub(super) fn new(path: Option<&Path>) -> Self {
        let folder = path.and_then(|path| {
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            folder.unwrap_or(Path::new(".")).canonicalize().ok()
        });
        let own = path.and_then(Path::file_name);
        let files = if folder.is_some() { FILES } else { 0 };
        DocumentFiles {
            folder,
            own: own.map_or(String::new(), |name| {
                references::key(&name.to_string_lossy())
            }),
            contents: (0..files).map(|_| OnceCell::new()).collect(),
            numbers: RefCell::default(),
            places: RefCell::default(),
            dead_ends: RefCell::default(),
            remaining_bytes: Cell::new(DOCUMENT_BYTES),
            remaining_values: Cell::new(VALUES),
        }
    }

    /// Returns where the first of a reference stands, as the beginning of a sentence.
    pub(super) fn place(&self, reference: &str) -> String {
        let places = self.places.borrow();
        let place = places.get(reference);
        place.map_or(String::new(), |place| format!("{place} "))
    }

    /// Returns why a reference leads to no file, if that is so.
    pub(super) fn dead_end(&self, reference: &str) -> Option<&'static str> {
        self.dead_ends.borrow().get(reference).copied()
    }

    /// Returns the content of a file, which is read if it was not before.
    ///
    /// # Errors
    /// The fault, with a remedy.
    pub(super) fn get(&self, name: &str) -> Result<&Value, String> {
        let known = self.numbers.borrow().get(name).cloned();
        let number = known.unwrap_or_else(|| {
            let mut numbers = self.numbers.borrow_mut();
            let number = numbers.len();
            let number = self.load(name, number).map(|()| number);
            numbers.insert(name.to_owned(), number.clone());
            number
        })?;
        let content = self.contents.get(number).and_then(OnceCell::get);
        content.ok_or_else(|| "was not read".to_owned())
    }

    /// Reads a file into its place.
    fn load(&self, name: &str, number: usize) -> Result<(), String> {
        let content = self.contents.get(number).ok_or_else(|| {
            format!("is one of more than {FILES} files, and not read: put the document together as one, with a bundler such as 'redocly bundle'")
        })?;
        let mut value = self.read(name)?;
        self.rewrite(name, &mut value);
        content.set(value).map_err(|_| "was read before".to_owned())
    }

    /// Writes the references of a file as the document knows them, and notes where they stand; the document's own name is
    /// empty.
    pub(super) fn rewrite(&self, base: &str, value: &mut Value) {
        references::for_each(value, &mut |pointer, text| {
            if let Some(reference) = self.reference(base, text) {
                *text = reference;
            }
            let mut places = self.places.borrow_mut();
            if !places.contains_key(text) {
                let place = match base {
                    "" => format!("at '{}'", comment(pointer)),
                    base if pointer.is_empty() => format!("in '{}'", comment(base)),
                    base => format!("in '{}' at '{}'", comment(base), comment(pointer)),
                };
                places.insert(text.clone(), place);
            }
        });
    }

    /// Returns a reference as the document knows it; `None` if it stays, since it is one already or leads nowhere.
    fn reference(&self, base: &str, text: &str) -> Option<String> {
        let dead_end = |what: &'static str| {
            self.dead_ends.borrow_mut().insert(text.to_owned(), what);
            None
        };
        match references::target(base, text) {
            ReferenceTarget::Within(_) if base.is_empty() => None,
            ReferenceTarget::Within(fragment) => Some(format!("{base}#{fragment}")),
            ReferenceTarget::File(_, _) if self.folder.is_none() => dead_end(
                "is not known where: what comes by standard input has no folder, so give the document by its file name",
            ),
            ReferenceTarget::File(name, fragment) if name == self.own => {
                Some(format!("#{fragment}"))
            }
            ReferenceTarget::File(name, fragment) => Some(format!("{name}#{fragment}")),
            ReferenceTarget::Nowhere(what) => dead_end(what),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The fault, with a remedy.
    fn read(&self, name: &str) -> Result<Value, String> {
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
        let read = file
            .take(self.remaining_bytes.get() + 1)
            .read_to_end(&mut bytes);
        read.map_err(unreadable)?;
        let Some(remaining) = self.remaining_bytes.get().checked_sub(bytes.len() as u64) else {
            let most = DOCUMENT_BYTES >> 20;
            return Err(format!(
                "is not read: the files that the document refers to may have {most} MiB together, so leave out what no request needs"
            ));
        };
        self.remaining_bytes.set(remaining);
        let text = String::from_utf8(bytes)
            .map_err(|_| "is no text in UTF-8: save it as JSON or YAML".to_owned())?;
        let many = || {
            format!(
                "is left out: the files that the document refers to may have {VALUES} values together"
            )
        };
        if self.remaining_values.get() == 0 {
            return Err(many());
        }
        let value = self.parse(name, text.trim_start_matches('\u{feff}'))?;
        let remaining = self.remaining_values.get();
        let remaining = remaining.checked_sub(references::count(&value));
        self.remaining_values.set(remaining.ok_or_else(many)?);
        Ok(value)
    }

    /// Reads JSON or YAML, by the name or the text.
    fn parse(&self, name: &str, text: &str) -> Result<Value, String> {
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
                let remaining = self.remaining_values.get();
                self.remaining_values
                    .set(remaining.saturating_sub(VALUES / LARGE));
            }
            let what = fault.what;
            format!("is no YAML: {what}; mend it there, or save it as JSON")
        })
    }
}
