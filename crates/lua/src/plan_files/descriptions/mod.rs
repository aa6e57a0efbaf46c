//! Descriptions of `.proto` files that a server has sent, which may be wrong in any way, as a pool of descriptors. A file that
//! cannot be read is left out, with the reason. Knows no server.
//!
//! Each file is checked, and reduced to the encoding of its messages, before the pool gets it: given a syntax that it
//! does not know, an entry of a map without a key, options of another shape than Google's or public imports in a
//! circle, `prost-reflect` panics or recurses without end.

mod editions;
mod reduced;

pub(super) use editions::lower;
pub(super) use reduced::check_maps;

use indexmap::IndexMap;
use prost_reflect::prost::Message as _;
use prost_reflect::prost_types::FileDescriptorProto;
use prost_reflect::{DescriptorPool, DynamicMessage};
use reduced::{NameRoom, reduce};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The most memory, in bytes, that the names in descriptions may take.
const MAX_NAMES: usize = 64 << 20;

/// The most work of leaving out wrong files, in names that are looked at: for each such file, `prost-reflect` goes through all
/// names that it has, and through all files for the name of each package.
const MAX_UNDOING: usize = 50_000_000;

/// The most work of following imports: for each file that one sees, `prost-reflect` goes through all that that one sees.
const MAX_FOLLOWING: usize = 1_000_000;

/// The files that a server has described.
#[derive(Debug)]
pub(super) struct DescribedFiles {
    /// The files that can be read, beside those that come with every compiler (`google/protobuf/…`), which are lgoose's own.
    pub(super) pool: DescriptorPool,
    /// The services of files that cannot be read, each with the reason.
    pub(super) unread_services: BTreeMap<String, Arc<str>>,
    /// The problem of a description that is not one of a file.
    pub(super) undecoded: Option<Arc<str>>,
}

/// Reads descriptions in any order. Of those with the same name, the first counts.
pub(super) fn read_descriptions(descriptions: &[Vec<u8>]) -> DescribedFiles {
    let mut described = DescribedFiles {
        pool: DescriptorPool::global(),
        unread_services: BTreeMap::new(),
        undecoded: None,
    };
    let mut files = IndexMap::new();
    for bytes in descriptions {
        match FileDescriptorProto::decode(&bytes[..]) {
            Ok(file) if described.pool.get_file_by_name(file.name()).is_some() => {}
            Ok(file) => {
                let name = file.name().to_owned();
                files.entry(name).or_insert(DescribedFile { file, bytes });
            }
            Err(error) => described.undecoded = Some(error.to_string().into()),
        }
    }
    let mut reader = DescriptionReader {
        described,
        public_imports: HashMap::new(),
        unread: HashMap::new(),
        room: NameRoom::new(MAX_NAMES),
        packages: 0,
        undoing: MAX_UNDOING,
        visible: HashMap::new(),
        following: MAX_FOLLOWING,
    };
    for file in in_order(&files) {
        if let Err(unread) = reader.add(file) {
            reader.leave_out(&file.file, unread);
        }
    }
    for (name, file) in &files {
        if !reader.has_seen(name) {
            let unread = Unread::new(name, "is one of files that import each other in a circle");
            reader.leave_out(&file.file, unread);
        }
    }
    reader.described
}

/// The syntax of files that have an edition instead.
const EDITIONS: &str = "editions";
/// The number of the edition that is read.
const EDITION_2023: i32 = 1000;

/// A file as it was described.
struct DescribedFile<'a> {
    file: FileDescriptorProto,
    bytes: &'a [u8],
}

impl DescribedFile<'_> {
    /// Returns it with its edition and its features, which the types of `prost` lack.
    fn whole(&self) -> Option<DynamicMessage> {
        let kind = "google.protobuf.FileDescriptorProto";
        let kind = DescriptorPool::global().get_message_by_name(kind)?;
        DynamicMessage::decode(kind, self.bytes).ok()
    }
}

/// Returns the files so that each comes after those that it imports. Those that import each other in a circle, or such a file,
/// are not among them.
fn in_order<'a>(files: &'a IndexMap<String, DescribedFile<'a>>) -> Vec<&'a DescribedFile<'a>> {
    let mut importers: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut pending: HashMap<&str, usize> = HashMap::new();
    let mut ready = Vec::new();
    for (name, DescribedFile { file, .. }) in files {
        let imports: BTreeSet<&String> = file.dependency.iter().collect();
        let imports = imports
            .into_iter()
            .filter(|import| files.contains_key(*import));
        let mut count = 0;
        for import in imports {
            importers.entry(import).or_default().push(name);
            count += 1;
        }
        if count == 0 {
            ready.push(&**name);
        }
        pending.insert(name, count);
    }
    let mut next = 0;
    while let Some(name) = ready.get(next) {
        next += 1;
        for importer in importers.remove(name).unwrap_or_default() {
            if let Some(count) = pending.get_mut(importer) {
                *count -= 1;
                if *count == 0 {
                    ready.push(importer);
                }
            }
        }
    }
    ready.into_iter().map(|name| &files[name]).collect()
}

/// The reason for which a file cannot be read: its own problem, or the lack of another one that it imports.
#[derive(Debug, Clone)]
struct Unread {
    cause: Arc<str>,
    /// The problem of that one, as the predicate of a sentence.
    problem: Arc<str>,
    /// The problem of the file without it.
    error: Option<String>,
}

impl Unread {
    fn new(cause: &str, problem: impl Into<Arc<str>>) -> Unread {
        Unread {
            cause: cause.into(),
            problem: problem.into(),
            error: None,
        }
    }

    /// Returns the reason for a file of that name.
    fn reason(&self, name: &str) -> String {
        let Unread { cause, problem, .. } = self;
        match &self.error {
            None => format!("'{name}' {problem}"),
            Some(error) => {
                format!("'{name}' is wrong: {error}; it lacks '{cause}', which {problem}")
            }
        }
    }
}

/// Adds files to a pool, each after those that it imports.
struct DescriptionReader {
    described: DescribedFiles,
    /// For each file that was read, those that its importers see, too.
    public_imports: HashMap<String, Vec<String>>,
    unread: HashMap<String, Unread>,
    room: NameRoom,
    /// The number of names of packages, with those around them.
    packages: usize,
    /// The names that may still be looked at to leave out wrong files.
    undoing: usize,
    /// The number of files that each one sees.
    visible: HashMap<String, usize>,
    /// The imports that may still be followed.
    following: usize,
}

impl DescriptionReader {
    fn has_seen(&self, name: &str) -> bool {
        self.public_imports.contains_key(name) || self.unread.contains_key(name)
    }

    /// Notes that a file is left out, with its services.
    fn leave_out(&mut self, file: &FileDescriptorProto, unread: Unread) {
        let name = file.name();
        let reason: Arc<str> = unread.reason(name).into();
        for service in &file.service {
            let service = match file.package() {
                "" => service.name().to_owned(),
                package => format!("{package}.{}", service.name()),
            };
            let services = &mut self.described.unread_services;
            services.entry(service).or_insert_with(|| reason.clone());
        }
        self.unread.insert(name.to_owned(), unread);
    }

    /// Adds a file.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    fn add(&mut self, described: &DescribedFile<'_>) -> Result<(), Unread> {
        let file = &described.file;
        let name = file.name();
        let own = |problem: String| Unread::new(name, problem);
        let mut reduced = self.reduced(described).map_err(own)?;
        // An absent import does not matter unless a type is missing then: many imports are for options alone.
        let mut absent = None;
        let mut visible = BTreeSet::new();
        let mut public = BTreeSet::new();
        let public_places: BTreeSet<i32> = file.public_dependency.iter().copied().collect();
        for (place, import) in (0..).zip(&file.dependency) {
            if self.described.pool.get_file_by_name(import).is_none() {
                let unread = self.unread.get(import).cloned();
                let missing = || Unread::new(import, "the server does not describe");
                absent = absent.or_else(|| Some(unread.unwrap_or_else(missing)));
                continue;
            }
            let by_way = self.public_imports.get(import).into_iter().flatten();
            for import in by_way.chain([import]) {
                let size = size_of::<String>() + import.len();
                self.room.take(size).map_err(own)?;
                visible.insert(import.clone());
                if public_places.contains(&place) {
                    public.insert(import.clone());
                }
            }
        }
        let seen = visible.iter().map(|import| self.visible.get(import));
        let followed = seen.map(|count| 1 + count.copied().unwrap_or(0)).sum();
        let following = self.following.checked_sub(followed);
        self.following = following.ok_or_else(|| {
            own("is not read, since the files of the server see too many others".to_owned())
        })?;
        self.visible.insert(name.to_owned(), visible.len());
        reduced.dependency = visible.into_iter().collect();
        self.packages += 1 + file.package().matches('.').count();
        let files = self.public_imports.len() + self.unread.len();
        let cost = self.room.names() + self.packages.saturating_mul(files);
        if cost > self.undoing {
            return Err(own(
                "is not read, since the server describes too many files, or too many wrong ones"
                    .to_owned(),
            ));
        }
        let added = self.described.pool.add_file_descriptor_proto(reduced);
        added.map_err(|error| {
            self.undoing -= cost;
            match absent {
                None => own(format!("is wrong: {error}")),
                Some(absent) => Unread {
                    error: Some(error.to_string()),
                    ..absent
                },
            }
        })?;
        let public = public.into_iter().collect();
        self.public_imports.insert(name.to_owned(), public);
        Ok(())
    }

    /// Returns a file reduced to the encoding of its messages, without its imports.
    ///
    /// # Errors
    /// The problem with it.
    fn reduced(&mut self, described: &DescribedFile<'_>) -> Result<FileDescriptorProto, String> {
        match described.file.syntax() {
            "" | "proto2" | "proto3" => reduce(&described.file, &mut self.room),
            EDITIONS => {
                let whole = described.whole();
                let edition = whole
                    .as_ref()
                    .and_then(|whole| whole.get_field_by_name("edition"));
                match edition.and_then(|edition| edition.as_enum_number()) {
                    Some(EDITION_2023) => {
                        let mut file = described.file.clone();
                        lower(&mut file, whole.as_ref())?;
                        reduce(&file, &mut self.room)
                    }
                    Some(1001) => Err(unread_edition("2024")),
                    other => Err(unread_edition(&format!(
                        "number {}",
                        other.unwrap_or_default()
                    ))),
                }
            }
            other => Err(format!("has the syntax '{other}', which is not known")),
        }
    }
}

/// The problem of a file that has an edition.
pub(super) fn unread_edition(edition: &str) -> String {
    format!(
        "has edition {edition} of Protocol Buffers, and lgoose reads proto2, proto3 and edition 2023"
    )
}

#[cfg(test)]
mod tests;
