//! Schemas of gRPC: `.proto` files of a plan, compiled once per process, and the descriptions that a server has sent.
//! Knows no Lua.

use super::cache::TextCache;
use super::data_files::{DataFiles, DataFormat, refused};
use super::descriptions::{check_maps, lower, read_descriptions, unread_edition};
use super::edition_text::{READ_EDITION, edition_of, with_syntax};
use super::schema_work::{SchemaText, check_imports, check_references, check_work, lighten};
use lgoose_base::error::nearest;
use lgoose_base::files::{DataCharge, FileError};
use prost_reflect::prost::Message as _;
use prost_reflect::prost_types::FileDescriptorProto;
use prost_reflect::{DescriptorPool, MessageDescriptor};
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex, PoisonError};

/// A method of a service.
pub(crate) struct GrpcMethod {
    /// Its name as plans have it: `package.Service/Method`.
    pub(crate) name: String,
    pub(crate) input: MessageDescriptor,
    pub(crate) output: MessageDescriptor,
    pub(crate) client_streams: bool,
    pub(crate) server_streams: bool,
    /// The reason why it cannot be called, if its server's description of it is unreadable. Its messages are empty
    /// then.
    pub(crate) unread: Option<Arc<str>>,
}

impl GrpcMethod {
    /// A method with unknown messages, for that reason.
    pub(crate) fn unread(name: &str, streams: bool, reason: &str) -> GrpcMethod {
        let empty = DescriptorPool::global().get_message_by_name("google.protobuf.Empty");
        let empty = empty.expect("it is one of Google's own types");
        GrpcMethod {
            name: name.strip_prefix('/').unwrap_or(name).to_owned(),
            input: empty.clone(),
            output: empty,
            client_streams: false,
            server_streams: streams,
            unread: Some(reason.into()),
        }
    }
}

impl Debug for GrpcMethod {
    // A descriptor's output includes all that it refers to, which has no end for messages that contain themselves.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GrpcMethod").field(&self.name).finish()
    }
}

/// Services with their messages.
#[derive(Debug)]
pub(crate) struct Schema {
    pool: DescriptorPool,
    pub(crate) methods: BTreeMap<String, Arc<GrpcMethod>>,
    /// The services that a server has and whose descriptions cannot be read, each with the reason.
    unread_services: BTreeMap<String, Arc<str>>,
    /// The problem of an unreadable description whose services are unknown.
    undecoded: Option<Arc<str>>,
    /// The memory that counts for it among the files of the plan, if it is from those.
    _charge: Option<DataCharge>,
}

impl Schema {
    fn of(pool: &DescriptorPool) -> Schema {
        let mut methods = BTreeMap::new();
        for service in pool.services() {
            for method in service.methods() {
                let name = format!("{}/{}", service.full_name(), method.name());
                let method = GrpcMethod {
                    name: name.clone(),
                    input: method.input(),
                    output: method.output(),
                    client_streams: method.is_client_streaming(),
                    server_streams: method.is_server_streaming(),
                    unread: None,
                };
                methods.insert(name, Arc::new(method));
            }
        }
        Schema {
            pool: pool.clone(),
            methods,
            unread_services: BTreeMap::new(),
            undecoded: None,
            _charge: None,
        }
    }

    /// Compiles a text that lgoose has itself.
    pub(crate) fn of_text(name: &str, text: &str) -> Result<Schema, String> {
        let file = File::from_source(name, text).map_err(|error| error.to_string())?;
        let mut pool = DescriptorPool::global();
        let added = pool.add_file_descriptor_proto(file.file_descriptor_proto().clone());
        added.map_err(|error| error.to_string())?;
        Ok(Schema::of(&pool))
    }

    /// Makes a schema of descriptions that a server has sent, in any order; `undescribed` are services that it lists
    /// and does not describe, each with the reason. Unreadable descriptions are left out.
    pub(crate) fn of_descriptions(
        descriptions: &[Vec<u8>],
        undescribed: Vec<(String, String)>,
    ) -> Schema {
        let described = read_descriptions(descriptions);
        let undecoded = described.undecoded;
        let undecoded = undecoded.map(|error| {
            format!("a description that the server has sent cannot be decoded: {error}").into()
        });
        let mut schema = Schema {
            unread_services: described.unread_services,
            undecoded,
            ..Schema::of(&described.pool)
        };
        for (service, why) in undescribed {
            let reason = format!("the server does not describe '{service}': {why}");
            let services = &mut schema.unread_services;
            services.entry(service).or_insert_with(|| reason.into());
        }
        schema
    }

    /// Returns the message of that name.
    pub(crate) fn message(&self, name: &str) -> Option<MessageDescriptor> {
        self.pool.get_message_by_name(name)
    }

    /// Returns the reason why a method that is not among [`Schema::methods`] is unknown, if the server may have it.
    pub(crate) fn why_unread(&self, method: &str) -> Option<&Arc<str>> {
        let method = method.strip_prefix('/').unwrap_or(method);
        let (service, _) = method.split_once('/')?;
        let is_read = |name: &String| name.split_once('/').is_some_and(|(of, _)| of == service);
        if self.methods.keys().any(is_read) {
            return None;
        }
        let unread = self.unread_services.get(service);
        unread.or(self.undecoded.as_ref())
    }
}

/// The schemas of a plan.
#[derive(Debug)]
pub(crate) struct Schemas {
    compiled: TextCache<Schema>,
    /// The schemas from servers, by the address of each.
    reflected: Mutex<BTreeMap<String, Arc<Schema>>>,
}

impl Schemas {
    pub(super) fn new() -> Schemas {
        Schemas {
            compiled: TextCache::new(usize::MAX),
            reflected: Mutex::default(),
        }
    }

    /// Compiles files, whose imports are looked for in these folders; once per process.
    ///
    /// # Errors
    /// A message with the file and line that are wrong.
    pub(crate) fn load(
        &self,
        data: &DataFiles,
        files: &[String],
        paths: &[String],
    ) -> Result<Arc<Schema>, String> {
        let key = format!("{files:?} {paths:?}");
        self.compiled
            .get_or_insert_with(&key, |_| compile(data, files, paths))
    }

    /// Returns a server's schema, if it was requested before.
    pub(crate) fn reflected(&self, server: &str) -> Option<Arc<Schema>> {
        let reflected = self.reflected.lock();
        let reflected = reflected.unwrap_or_else(PoisonError::into_inner);
        reflected.get(server).cloned()
    }

    /// Keeps a server's schema.
    pub(crate) fn keep_reflected(&self, server: &str, schema: Schema) {
        let reflected = self.reflected.lock();
        let mut reflected = reflected.unwrap_or_else(PoisonError::into_inner);
        reflected.insert(server.to_owned(), Arc::new(schema));
    }
}

/// Files by the names that imports have.
struct KnownFiles(HashMap<String, File>);

impl FileResolver for KnownFiles {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let file = self.0.get(name).cloned();
        file.ok_or_else(|| protox::Error::file_not_found(name))
    }
}

fn compile(data: &DataFiles, files: &[String], paths: &[String]) -> Result<Schema, String> {
    // The schema is kept as long as the plan, and so is what it counts.
    let mut charge = data.memory().charge();
    let known = read_all(data, files, paths, &mut charge)?;
    let parsed = known.values().map(File::file_descriptor_proto);
    check_imports(parsed.clone())?;
    // Files that come with the compiler.
    let imports: BTreeSet<&String> = parsed.clone().flat_map(|file| &file.dependency).collect();
    let imports = imports
        .into_iter()
        .filter(|name| !known.contains_key(*name));
    let google: Vec<File> = imports
        .filter_map(|name| GoogleFileResolver::new().open_file(name).ok())
        .collect();
    check_references(parsed.chain(google.iter().map(File::file_descriptor_proto)))?;
    let mut resolver = ChainFileResolver::new();
    resolver.add(KnownFiles(known));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    for file in files {
        let opened = compiler.open_file(file);
        opened.map_err(|error| described(&error))?;
    }
    let pool = compiler.descriptor_pool();
    for file in pool.file_descriptor_protos() {
        let checked = check_maps(&file.message_type);
        checked.map_err(|problem| format!("'{}' {problem}", file.name()))?;
    }
    Ok(Schema {
        _charge: Some(charge),
        ..Schema::of(&pool)
    })
}

/// Reads files and all that they import as files of the plan, so that workers of a run get them, too. The files that
/// come with every compiler (`google/protobuf/…`) need not exist.
fn read_all(
    data: &DataFiles,
    files: &[String],
    paths: &[String],
    charge: &mut DataCharge,
) -> Result<HashMap<String, File>, String> {
    let mut read = HashMap::new();
    let mut pending: Vec<(String, Option<String>)> =
        files.iter().map(|file| (file.clone(), None)).collect();
    while let Some((name, importer)) = pending.pop() {
        if read.contains_key(&name) {
            continue;
        }
        let within = |path: &String| match path.as_str() {
            "" | "." => name.clone(),
            path => format!("{}/{name}", path.trim_end_matches('/')),
        };
        let mut places = paths.iter().map(within);
        let Some(place) = places.find(|place| data.real_path(place).is_ok()) else {
            if GoogleFileResolver::new().open_file(&name).is_ok() {
                continue;
            }
            for place in paths.iter().map(within) {
                if let Err(FileError::Refused(refusal)) = data.named(&place).real_path() {
                    return Err(refused(&place, &refusal));
                }
            }
            let folders: Vec<_> = paths.iter().map(|path| format!("'{path}'")).collect();
            let folders = folders.join(" or ");
            let import =
                importer.map_or_else(String::new, |file| format!(", which '{file}' imports,"));
            return Err(format!(
                "'{name}'{import} is not in {folders} of the plan's folder: name the folders of such files in 'paths'"
            ));
        };
        let rows = data.open(&DataFormat::Whole, &place)?;
        let bytes = rows.whole().map(|file| file.bytes).unwrap_or_default();
        let text = text_of(&place, &bytes)?;
        let edition = edition_of(&text);
        if let Some(edition) = edition.filter(|edition| *edition != READ_EDITION) {
            return Err(format!("'{place}' {}", unread_edition(edition)));
        }
        if let Some(line) = too_deep_at(&text) {
            return Err(format!(
                "'{place}', line {line}: nested deeper than {MAX_DEPTH} levels"
            ));
        }
        let kept = SchemaText::of(&text).take(charge);
        kept.map_err(|full| format!("cannot read '{place}': {full}"))?;
        let has_edition = edition.is_some();
        let text = if has_edition {
            with_syntax(&text)
        } else {
            text
        };
        // Messages name the file as the plan's folder has it.
        File::from_source(&place, &text).map_err(|error| described(&error))?;
        let mut file = File::from_source(&name, &text).map_err(|error| described(&error))?;
        if has_edition {
            let mut proto = file.file_descriptor_proto().clone();
            let lowered = lower(&mut proto, None);
            lowered.map_err(|problem| format!("'{place}' {problem}"))?;
            file = File::from_file_descriptor_proto(proto);
        }
        let file = lighten(file);
        let work = check_work(file.file_descriptor_proto());
        work.map_err(|problem| format!("'{place}' {problem}"))?;
        for import in &file.file_descriptor_proto().dependency {
            pending.push((import.clone(), Some(place.clone())));
        }
        read.insert(name, file);
    }
    Ok(read)
}

/// Returns the text of a `.proto` file.
fn text_of(place: &str, bytes: &[u8]) -> Result<String, String> {
    let line = |at: usize| 1 + memchr::memchr_iter(b'\n', &bytes[..at]).count();
    let control = bytes
        .iter()
        .position(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace());
    let problem = match (str::from_utf8(bytes), control) {
        (Ok(text), None) => return Ok(text.to_owned()),
        (_, Some(at)) => format!("line {} has a byte with the number {}", line(at), bytes[at]),
        (Err(error), None) => format!("line {} is not UTF-8", line(error.valid_up_to())),
    };
    Err(format!(
        "'{place}' is not a '.proto' file: {problem}; of a compiled set of descriptors ('protoc -o'), load the files that it was \
         made of, or write grpc.reflect()"
    ))
}

/// Levels of messages and values in a file. The compiler calls itself for each.
const MAX_DEPTH: usize = 100;

/// Returns the line in which a file is nested too deeply.
fn too_deep_at(text: &str) -> Option<usize> {
    let mut rest = text;
    let mut depth = 0_usize;
    while let Some(first) = rest.chars().next() {
        match first {
            '{' | '[' | '<' | '(' => depth += 1,
            '}' | ']' | '>' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            let before = &text[..text.len() - rest.len()];
            return Some(1 + before.matches('\n').count());
        }
        let length = match first {
            '"' | '\'' => quoted_length(rest, first),
            _ => comment_length(rest).unwrap_or(first.len_utf8()),
        };
        rest = &rest[length..];
    }
    None
}

/// Returns the length of the comment that a text begins with, if it begins with one.
pub(super) fn comment_length(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let block = text.strip_prefix("/*")?;
    Some(block.find("*/").map_or(text.len(), |end| end + 4))
}

/// Returns the length of the string that a text begins with, its quotes included. It ends with its line in any case.
pub(super) fn quoted_length(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => drop(chars.next()),
            '\n' => return at,
            char if char == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns an error as `file:line:column: message`.
fn described(error: &protox::Error) -> String {
    let text = format!("{error:?}");
    text.lines().next().unwrap_or_default().to_owned()
}

/// Returns the places of the descriptions without duplicates, and the names of missing files that they import. Those
/// that cannot be decoded are kept: the schema reports them.
pub(crate) fn described_files(descriptions: &[Vec<u8>]) -> (Vec<usize>, Vec<String>) {
    let mut names = HashSet::new();
    let mut imports = Vec::new();
    let mut places = Vec::new();
    for (place, bytes) in descriptions.iter().enumerate() {
        match FileDescriptorProto::decode(&bytes[..]) {
            Ok(file) if !names.insert(file.name().to_owned()) => continue,
            Ok(file) => imports.extend(file.dependency),
            Err(_) => {}
        }
        places.push(place);
    }
    imports.sort();
    imports.dedup();
    imports.retain(|name| !names.contains(name));
    (places, imports)
}

/// Reads descriptions as of a server, each after its length in four bytes, for tests of hostile ones.
pub fn read_any_descriptions(bytes: &[u8]) {
    let mut rest = bytes;
    let mut descriptions = Vec::new();
    while let Some((length, more)) = rest.split_first_chunk() {
        let length = u32::from_be_bytes(*length) as usize;
        let (one, more) = more.split_at(length.min(more.len()));
        descriptions.push(one.to_vec());
        rest = more;
    }
    let (places, _) = described_files(&descriptions);
    let distinct: Vec<_> = places
        .into_iter()
        .map(|place| descriptions[place].clone())
        .collect();
    let _schema = Schema::of_descriptions(&distinct, Vec::new());
}

/// Returns the method of that name in some schemas.
///
/// # Errors
/// There is none; the message has the nearest one.
pub(crate) fn find_method(schemas: &[Arc<Schema>], name: &str) -> Result<Arc<GrpcMethod>, String> {
    let plain = name.strip_prefix('/').unwrap_or(name);
    let found = schemas.iter().find_map(|schema| schema.methods.get(plain));
    if let Some(method) = found {
        return Ok(method.clone());
    }
    // Some tools write 'package.Service.Method'.
    if !plain.contains('/')
        && let Some((service, method)) = plain.rsplit_once('.')
    {
        let slashed = format!("{service}/{method}");
        let found = schemas.iter().any(|one| one.methods.contains_key(&slashed));
        if found {
            return Err(format!("'{name}' is written \"{slashed}\""));
        }
    }
    let names = schemas.iter().flat_map(|schema| schema.methods.keys());
    let names: Vec<&str> = names.map(String::as_str).collect();
    let hint = match nearest(plain, names.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None if names.is_empty() => "no service is known".to_owned(),
        None => {
            const MAX_METHODS: usize = 20;
            let shown = names[..names.len().min(MAX_METHODS)].join(", ");
            format!("the methods are: {shown}")
        }
    };
    Err(format!("there is no method '{name}'; {hint}"))
}

/// Returns the message of that name in some schemas, or among Google's own.
///
/// # Errors
/// There is none; the message has the nearest one.
pub(crate) fn find_message(
    schemas: &[Arc<Schema>],
    name: &str,
) -> Result<MessageDescriptor, String> {
    let google = DescriptorPool::global();
    let found = schemas.iter().find_map(|schema| schema.message(name));
    if let Some(message) = found.or_else(|| google.get_message_by_name(name)) {
        return Ok(message);
    }
    let all = schemas.iter().flat_map(|schema| schema.pool.all_messages());
    let all = all.filter(|message| !message.is_map_entry());
    let names: Vec<String> = all.map(|one| one.full_name().to_owned()).collect();
    let last = |name: &str| name.rsplit('.').next().map(str::to_owned);
    let same = names.iter().find(|one| last(one) == last(name));
    let near = same.or_else(|| {
        let near = nearest(name, names.iter().map(String::as_str))?;
        names.iter().find(|one| *one == near)
    });
    Err(match near {
        Some(near) => format!("there is no message '{name}'; did you mean \"{near}\"?"),
        None if schemas.is_empty() => format!(
            "there is no message '{name}': no schema is known; write grpc.load {{ \"file.proto\" }} at the top level of the plan"
        ),
        None => format!("there is no message '{name}' in the schemas of the plan"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_down_to_a_depth_that_the_compiler_can_take() {
        let option = |depth| {
            let (open, close) = ("{ a: ".repeat(depth), " }".repeat(depth));
            format!("syntax = \"proto3\";\noption (x) = {open}1{close};\n")
        };
        let message = |depth| {
            let (open, close) = ("message A { ".repeat(depth), "}".repeat(depth));
            format!("syntax = \"proto3\";\n\n{open}{close}\n")
        };
        for (text, line) in [
            (option(MAX_DEPTH), None),
            (option(MAX_DEPTH + 1), Some(2)),
            (option(5_000), Some(2)),
            (message(MAX_DEPTH), None),
            (message(100_000), Some(3)),
            (format!("// {}\nmessage A {{}}", "{".repeat(500)), None),
            (format!("/*/ {}\n*/ message A {{}}", "{".repeat(500)), None),
            (format!("/* {}", "{".repeat(500)), None),
            (format!("option x = \"\\\"{}\";", "<".repeat(500)), None),
            (format!("option x = '\\\\';{}", "<".repeat(500)), Some(1)),
            (format!("option x = 'open\n{}", "(".repeat(500)), Some(2)),
            (format!("/* é\n\n */ ü{}", "[".repeat(500)), Some(3)),
            ("{}".repeat(5_000), None),
            ("}".repeat(500), None),
        ] {
            assert_eq!(too_deep_at(&text), line, "{text:.80}");
            if line.is_none() {
                // It must not overflow the stack.
                let _read = File::from_source("deep.proto", &text);
            }
        }
    }
}
