//! The work and the memory that `.proto` files may take. The compiler reads a file in time that grows with it, but for a few
//! things that it compares each with each; those have limits here. Driven by `schemas`; knows no Lua.

use super::schemas::{comment_length, quoted_length};
use lgoose_base::files::{DataCharge, DataMemoryFull};
use prost_reflect::prost_types::{
    DescriptorProto, EnumDescriptorProto, FileDescriptorProto, UninterpretedOption,
};
use protox::file::File;
use std::collections::{HashMap, HashSet};

/// The most ranges of reserved numbers and of extensions of a message or an enumeration: each of its fields is compared with
/// all of them.
const MAX_RANGES: usize = 1_000;

/// The most values that the defaults of a file's fields are compared with.
const MAX_DEFAULTS: usize = 20_000_000;

/// The most names of a package: the compiler keeps each beginning of it.
const MAX_PACKAGE_NAMES: usize = 100;

/// The most extensions of a file, which the compiler compares with each other.
const MAX_EXTENSIONS: usize = 5_000;

/// The most names of types that nothing defines: for each, the compiler looks through all that there are.
const MAX_UNDEFINED: usize = 100;

/// The most files that import each other one after another; the compiler calls itself for each.
const MAX_IMPORT_DEPTH: usize = 100;

/// The most steps in which public imports are followed: the compiler follows each way to a file once more.
const MAX_IMPORT_STEPS: u64 = 1_000_000;

/// The size of a file's text, without comments and blanks.
pub(super) struct SchemaText {
    bytes: usize,
    definitions: usize,
}

impl SchemaText {
    /// Measures a text.
    pub(super) fn of(text: &str) -> SchemaText {
        let (mut rest, mut definitions) = (text, 0);
        while let Some(first) = rest.chars().next() {
            let length = match first {
                '"' | '\'' => quoted_length(rest, first),
                _ => comment_length(rest).unwrap_or(first.len_utf8()),
            };
            let is_one = length == first.len_utf8() && !first.is_whitespace();
            definitions += usize::from(is_one);
            rest = &rest[length..];
        }
        SchemaText {
            bytes: text.len(),
            definitions,
        }
    }

    /// Takes the memory of the compiled file before it is compiled.
    ///
    /// # Errors
    /// There is not enough.
    pub(super) fn take(&self, charge: &mut DataCharge) -> Result<(), DataMemoryFull> {
        /// The memory for each byte of definitions, measured with the shortest messages, fields, values and ranges.
        const COMPILED_BYTES: usize = 256;
        charge.take(self.bytes + self.definitions.saturating_mul(COMPILED_BYTES))
    }
}

/// Removes the places of definitions from a large file with many options: the compiler looks through all places for each
/// option. Its messages have no lines then.
pub(super) fn lighten(file: File) -> File {
    const MOST_STEPS: usize = 50_000_000;
    let proto = file.file_descriptor_proto();
    let places = proto.source_code_info.as_ref();
    let places = places.map_or(0, |places| places.location.len());
    if places.saturating_mul(options_of(proto)) <= MOST_STEPS {
        return file;
    }
    let mut proto = proto.clone();
    proto.source_code_info = None;
    File::from_file_descriptor_proto(proto)
}

/// Returns the number of options in a file.
fn options_of(file: &FileDescriptorProto) -> usize {
    fn of_enum(of: &EnumDescriptorProto) -> usize {
        let values = of.value.iter().filter_map(|value| value.options.as_ref());
        let values = values.map(|options| options.uninterpreted_option.len());
        let own = of.options.as_ref();
        own.map_or(0, |own| own.uninterpreted_option.len()) + values.sum::<usize>()
    }
    fn of_message(message: &DescriptorProto) -> usize {
        let count = |options: &[UninterpretedOption]| options.len();
        let fields = message.field.iter().chain(&message.extension);
        let fields = fields.filter_map(|field| field.options.as_ref());
        let fields = fields.map(|options| count(&options.uninterpreted_option));
        let oneofs = message
            .oneof_decl
            .iter()
            .filter_map(|oneof| oneof.options.as_ref());
        let oneofs = oneofs.map(|options| count(&options.uninterpreted_option));
        let ranges = message.extension_range.iter();
        let ranges = ranges.filter_map(|range| range.options.as_ref());
        let ranges = ranges.map(|options| count(&options.uninterpreted_option));
        let own = message.options.as_ref();
        own.map_or(0, |own| count(&own.uninterpreted_option))
            + fields.chain(oneofs).chain(ranges).sum::<usize>()
            + message.nested_type.iter().map(of_message).sum::<usize>()
            + message.enum_type.iter().map(of_enum).sum::<usize>()
    }
    let own = file.options.as_ref();
    let extensions = file
        .extension
        .iter()
        .filter_map(|field| field.options.as_ref());
    let methods = file.service.iter().flat_map(|service| &service.method);
    let methods = methods.filter_map(|method| method.options.as_ref());
    let services = file
        .service
        .iter()
        .filter_map(|service| service.options.as_ref());
    own.map_or(0, |own| own.uninterpreted_option.len())
        + extensions
            .map(|options| options.uninterpreted_option.len())
            .sum::<usize>()
        + methods
            .map(|options| options.uninterpreted_option.len())
            .sum::<usize>()
        + services
            .map(|options| options.uninterpreted_option.len())
            .sum::<usize>()
        + file.message_type.iter().map(of_message).sum::<usize>()
        + file.enum_type.iter().map(of_enum).sum::<usize>()
}

/// Checks that a file has no more of what is compared each with each than it may.
///
/// # Errors
/// The problem with it, as the predicate of a sentence.
pub(super) fn check_work(file: &FileDescriptorProto) -> Result<(), String> {
    /// The fields with a default, and the values of the largest enumeration.
    #[derive(Default)]
    struct Defaults {
        fields: usize,
        values: usize,
    }
    fn ranges(of: &str, count: usize) -> Result<(), String> {
        if count <= MAX_RANGES {
            return Ok(());
        }
        Err(format!(
            "has {count} ranges of reserved numbers or extensions in '{of}'; at most {MAX_RANGES} are read"
        ))
    }
    fn enumeration(of: &EnumDescriptorProto, defaults: &mut Defaults) -> Result<(), String> {
        defaults.values = defaults.values.max(of.value.len());
        ranges(of.name(), of.reserved_range.len())
    }
    fn message(of: &DescriptorProto, defaults: &mut Defaults) -> Result<(), String> {
        let fields = of.field.iter().chain(&of.extension);
        defaults.fields += fields.filter(|field| field.default_value.is_some()).count();
        ranges(
            of.name(),
            of.reserved_range.len() + of.extension_range.len(),
        )?;
        for one in &of.enum_type {
            enumeration(one, defaults)?;
        }
        of.nested_type
            .iter()
            .try_for_each(|one| message(one, defaults))
    }
    let names = file.package().split('.').count();
    if names > MAX_PACKAGE_NAMES {
        return Err(format!(
            "has a package of {names} names; at most {MAX_PACKAGE_NAMES} are read"
        ));
    }
    let mut extensions = file.extension.len();
    each_message(file, &mut |message| extensions += message.extension.len());
    if extensions > MAX_EXTENSIONS {
        return Err(format!(
            "has {extensions} extensions; at most {MAX_EXTENSIONS} are read"
        ));
    }
    let mut defaults = Defaults::default();
    for one in &file.enum_type {
        enumeration(one, &mut defaults)?;
    }
    for one in &file.message_type {
        message(one, &mut defaults)?;
    }
    if defaults.fields.saturating_mul(defaults.values) > MAX_DEFAULTS {
        return Err(format!(
            "has {} fields with a default and an enumeration of {} values, which is too much together; leave out the defaults",
            defaults.fields, defaults.values
        ));
    }
    Ok(())
}

/// Calls a function with each message of a file, those within others too.
fn each_message<'a>(file: &'a FileDescriptorProto, see: &mut impl FnMut(&'a DescriptorProto)) {
    let mut waiting: Vec<&DescriptorProto> = file.message_type.iter().collect();
    while let Some(message) = waiting.pop() {
        see(message);
        waiting.extend(&message.nested_type);
    }
}

/// Checks that the types that files refer to are there, by the first and the last part of their names: the compiler checks the
/// rest, and says where one is missing.
///
/// # Errors
/// A sentence that names a file with too many that are not.
pub(super) fn check_references<'a>(
    files: impl Iterator<Item = &'a FileDescriptorProto> + Clone,
) -> Result<(), String> {
    let mut names: HashSet<&str> = HashSet::new();
    for file in files.clone() {
        names.extend(file.package().split('.'));
        names.extend(file.enum_type.iter().map(|one| one.name()));
        each_message(file, &mut |message| {
            names.insert(message.name());
            names.extend(message.enum_type.iter().map(|one| one.name()));
        });
    }
    for file in files {
        let (mut count, mut first) = (0, "");
        let mut refer = |name: &'a str| {
            let mut parts = name.trim_start_matches('.').split('.');
            let is_there = |part: Option<&str>| part.is_none_or(|part| names.contains(part));
            let is_known = is_there(parts.next()) && is_there(parts.next_back());
            if !name.is_empty() && !is_known {
                count += 1;
                first = name;
            }
        };
        file.extension
            .iter()
            .for_each(|field| refer(field.type_name()));
        each_message(file, &mut |message| {
            let fields = message.field.iter().chain(&message.extension);
            fields.for_each(|field| refer(field.type_name()));
        });
        if count > MAX_UNDEFINED {
            return Err(format!(
                "'{}' refers to {count} types that nothing defines, such as '{first}'",
                file.name()
            ));
        }
    }
    Ok(())
}

/// A file as its imports are followed.
struct ImportedFile<'a> {
    proto: &'a FileDescriptorProto,
    /// The files that import each other from here on, and the steps in which its public imports are followed; once they are known.
    known: Option<(usize, u64)>,
    is_open: bool,
}

/// Checks that the imports of files can be followed.
///
/// # Errors
/// A sentence that names the file whose imports cannot.
pub(super) fn check_imports<'a>(
    files: impl Iterator<Item = &'a FileDescriptorProto>,
) -> Result<(), String> {
    let files = files.map(|proto| {
        let file = ImportedFile {
            proto,
            known: None,
            is_open: false,
        };
        (proto.name(), file)
    });
    let mut files: HashMap<&str, ImportedFile<'_>> = files.collect();
    let names: Vec<&str> = files.keys().copied().collect();
    let mut steps = 0_u64;
    for name in names {
        follow(&mut files, name, 0)?;
        for import in &files[name].proto.dependency {
            let (_, ways) = follow(&mut files, import, 0)?;
            steps = steps.saturating_add(ways);
        }
        if steps > MAX_IMPORT_STEPS {
            return Err(format!(
                "the files that '{name}' imports lead to each other in too many ways by 'import public'; import each where it \
                 is needed"
            ));
        }
    }
    Ok(())
}

/// Returns how many files import each other one after another from this one on, and in how many steps its public imports are
/// followed.
fn follow<'a>(
    files: &mut HashMap<&'a str, ImportedFile<'a>>,
    name: &str,
    level: usize,
) -> Result<(usize, u64), String> {
    let too_deep = || {
        format!(
            "'{name}' is imported by files that import each other more than {MAX_IMPORT_DEPTH} deep"
        )
    };
    let Some(file) = files.get_mut(name) else {
        return Ok((0, 1));
    };
    // The compiler says where files import each other in a circle.
    let known = file.known.or(file.is_open.then_some((0, 1)));
    if let Some(known) = known {
        return Ok(known);
    }
    if level > MAX_IMPORT_DEPTH {
        return Err(too_deep());
    }
    file.is_open = true;
    let proto = file.proto;
    let public = &proto.public_dependency;
    let mut depth = 0;
    // Each import is looked for among the public ones.
    let mut steps = (1 + proto.dependency.len() as u64) * (1 + public.len() as u64);
    for (place, import) in (0..).zip(&proto.dependency) {
        let (below, ways) = follow(files, import, level + 1)?;
        depth = depth.max(below + 1);
        if public.contains(&place) {
            steps = steps.saturating_add(ways);
        }
    }
    if depth > MAX_IMPORT_DEPTH {
        return Err(too_deep());
    }
    let known = (depth, steps);
    if let Some(file) = files.get_mut(name) {
        (file.known, file.is_open) = (Some(known), false);
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: usize, imports: &[usize]) -> FileDescriptorProto {
        FileDescriptorProto {
            name: Some(name.to_string()),
            dependency: imports.iter().map(usize::to_string).collect(),
            public_dependency: (0..imports.len() as i32).collect(),
            ..FileDescriptorProto::default()
        }
    }

    #[test]
    fn public_imports_are_followed_in_steps_that_have_a_limit() {
        // Each file imports the two before it, so that the ways to the first are as many as the numbers of Fibonacci.
        let files = |count: usize| -> Vec<_> {
            (0..count)
                .map(|name| file(name, &(name.saturating_sub(2)..name).collect::<Vec<_>>()))
                .collect()
        };
        assert_eq!(check_imports(files(20).iter()), Ok(()));
        let problem = check_imports(files(79).iter()).expect_err("too many ways");
        assert!(
            problem.contains("in too many ways by 'import public'"),
            "{problem}"
        );
    }

    #[test]
    fn imports_have_a_depth_and_circles_are_left_to_the_compiler() {
        let chain = |count: usize| -> Vec<_> {
            let one = |name| file(name, &[name + 1][..usize::from(name + 1 < count)]);
            (0..count).map(one).collect()
        };
        assert_eq!(check_imports(chain(100).iter()), Ok(()));
        let problem = check_imports(chain(1_000).iter()).expect_err("too deep");
        assert!(problem.ends_with("more than 100 deep"), "{problem}");
        let circle = [file(0, &[1]), file(1, &[2]), file(2, &[0])];
        assert_eq!(check_imports(circle.iter()), Ok(()));
    }

    #[test]
    fn what_is_compared_each_with_each_has_a_limit() {
        let parse = |text: &str| File::from_source("x.proto", text).expect("it is a schema");
        let check = |text: &str| check_work(parse(text).file_descriptor_proto());
        let ranges = |count: usize| {
            let ranges: String = (1..count).map(|place| format!(", {}", 2 * place)).collect();
            format!("syntax = 'proto2'; message A {{ message M {{ reserved 1{ranges}; }} }}")
        };
        assert_eq!(check(&ranges(1_000)), Ok(()));
        let problem = check(&ranges(10_000)).expect_err("too many");
        assert!(problem.starts_with("has 10000 ranges of reserved numbers or extensions in 'M'"));
        let defaults = |count: usize| {
            let values: String = (0..count)
                .map(|place| format!("V{place} = {place};"))
                .collect();
            let field = |place| format!("optional E f{place} = {} [default = V0];", 20_000 + place);
            let fields: String = (0..count).map(field).collect();
            format!("syntax = 'proto2'; enum E {{ {values} }} message M {{ {fields} }}")
        };
        assert_eq!(check(&defaults(1_000)), Ok(()));
        assert!(check(&defaults(5_000)).is_err());
        let lightened = |count| {
            let file = lighten(parse(
                &defaults(count).replace("default =", "deprecated = true, default ="),
            ));
            file.file_descriptor_proto().source_code_info.is_none()
        };
        assert!(!lightened(100) && lightened(5_000));
    }

    #[test]
    fn packages_extensions_and_types_that_are_missing_have_limits() {
        let parse = |text: &str| File::from_source("x.proto", text).expect("it is a schema");
        let check = |text: &str| {
            let file = parse(text);
            let proto = file.file_descriptor_proto();
            check_work(proto).and_then(|()| check_references([proto].into_iter()))
        };
        let package = |names: usize| format!("package {}a; message M {{}}", "a.".repeat(names - 1));
        assert_eq!(check(&package(100)), Ok(()));
        assert!(check(&package(101)).is_err());
        let extend = "extend M { optional int32 a = 1; } ".to_owned();
        assert_eq!(check(&extend.repeat(100)), Ok(()));
        assert!(check(&extend.repeat(5_001)).is_err());
        let fields = |count: usize, name: &str| -> String {
            let field = |place| format!("optional {name} f{place} = {place};");
            let fields: String = (1..=count).map(field).collect();
            format!("message M {{ {fields} message N {{}} enum E {{ A = 0; }} }}")
        };
        for there in ["N", "M.N", ".M.N", "E"] {
            assert_eq!(check(&fields(200, there)), Ok(()), "{there}");
        }
        for missing in ["X", "M.X", "X.N"] {
            assert_eq!(check(&fields(100, missing)), Ok(()), "{missing}");
            let problem = check(&fields(101, missing)).expect_err(missing);
            assert!(
                problem.contains("refers to 101 types that nothing defines"),
                "{problem}"
            );
        }
    }

    #[test]
    fn comments_and_blanks_take_no_memory_of_the_schema() {
        let definitions = |text: &str| SchemaText::of(text).definitions;
        assert_eq!(definitions("message M { }\n"), 10);
        assert_eq!(definitions("/* message */ message M {} // }\n"), 10);
        assert_eq!(definitions("'}}'"), 0);
    }
}
