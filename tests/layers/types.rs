//! Types: each one's `impl` stands in one file, and one name stands for one type.
//!
//! A type is what `struct`, `enum`, `union`, `trait` or `type` declares outside of tests. An `impl` belongs to the type
//! of its name that is declared nearest to it: in its file, else in the folder that shares most of its path.

use super::{first_word, source_files, without_comments};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The most percent of type names that may stand for two types or more.
const MOST_SHARED_PERCENT: usize = 6;

/// Types whose inherent `impl` may stand in several files, each with the reason.
const TORN: [(&str, &str); 1] = [(
    "Outcome",
    "its summary is the plan's own report, which the engine may not ask for",
)];

#[test]
fn the_impl_of_a_type_stands_in_one_file() {
    let sources = sources();
    let found: Vec<_> = torn(&sources)
        .into_iter()
        .filter(|(name, _)| !TORN.iter().any(|(torn, _)| torn == name))
        .map(|(name, files)| format!("{name}: {}", Vec::from_iter(files).join(", ")))
        .collect();
    assert!(
        found.is_empty(),
        "make one file of each, or two types with a meaning:\n{}\n",
        found.join("\n")
    );
}

#[test]
fn few_names_stand_for_several_types() {
    let sources = sources();
    let declared = declared(&sources);
    let shared: Vec<_> = declared
        .iter()
        .filter(|(_, files)| files.len() > 1)
        .map(|(name, files)| format!("{name}: {}", files.join(", ")))
        .collect();
    assert!(
        shared.len() * 100 < declared.len() * MOST_SHARED_PERCENT,
        "{} of {} names stand for several types, give some a name that says of what they are:\n{}\n",
        shared.len(),
        declared.len(),
        shared.join("\n")
    );
}

#[test]
fn torn_types_are_found() {
    for (first, second, expected) in [
        ("struct A;\nimpl A {\n}", "use super::A;\nimpl A {\n}", true),
        (
            "struct A<T>(T);\nimpl<T> A<T> {\n}",
            "impl<T: Fn(u8) -> u8> A<T>\nwhere\n    T: Copy,\n{\n}",
            true,
        ),
        ("struct A;\nimpl A {\n}\nimpl A {\n}", "", false),
        ("struct A;\nimpl A {\n}", "impl Drop for A {\n}", false),
        ("struct A;\nimpl A {\n}", "struct A;\nimpl A {\n}", false),
        (
            "struct A;\nimpl A {\n}",
            "// impl A {\nmod tests {\n    impl A {\n    }\n}",
            false,
        ),
    ] {
        let sources = [("src/m/a.rs", first), ("src/m/b.rs", second)]
            .map(|(file, text)| (file.to_owned(), text.to_owned()));
        let found = torn(&sources.into());
        assert_eq!(
            !found.is_empty(),
            expected,
            "{first}\n--\n{second}\n{found:?}"
        );
    }
}

/// Returns the code of every file without comments and without what tests alone have.
fn sources() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = BTreeMap::new();
    for file in source_files(root) {
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy();
        let name = name.replace('\\', "/");
        if !name
            .split('/')
            .any(|part| matches!(part.trim_end_matches(".rs"), "tests" | "fixture"))
        {
            let text = fs::read_to_string(&file).expect("a source file is readable text");
            sources.insert(name, text);
        }
    }
    sources
}

/// Returns the code without comments, up to the tests at its end.
fn code(text: &str) -> String {
    let code = without_comments(text);
    let end = code.find("\nmod tests {").unwrap_or(code.len());
    code[..end].to_owned()
}

/// Returns the files that declare a type of each name.
fn declared(sources: &BTreeMap<String, String>) -> BTreeMap<String, Vec<String>> {
    let mut declared: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, text) in sources {
        for line in code(text).lines() {
            if let Some(name) = declared_by(line) {
                declared
                    .entry(name.to_owned())
                    .or_default()
                    .push(file.clone());
            }
        }
    }
    declared
}

/// Returns the name of the type that this line declares.
fn declared_by(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    let is_nested = rest.len() < line.len();
    if let Some(public) = rest.strip_prefix("pub") {
        let end = public.starts_with('(').then(|| public.find(')')).flatten();
        rest = end.map_or(public, |end| &public[end + 1..]).trim_start();
    }
    // A nested 'type' belongs to a trait.
    let words: &[&str] = if is_nested {
        &["struct ", "enum ", "union ", "trait "]
    } else {
        &["struct ", "enum ", "union ", "trait ", "type "]
    };
    let name = words.iter().find_map(|word| rest.strip_prefix(word))?;
    let name = first_word(name);
    name.starts_with(char::is_uppercase).then_some(name)
}

/// Returns the types whose inherent `impl` stands in several files, with these.
fn torn(sources: &BTreeMap<String, String>) -> Vec<(String, BTreeSet<String>)> {
    let declared = declared(sources);
    let mut places: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (file, text) in sources {
        let code = format!("\n{}", code(text));
        for (at, _) in code.match_indices("\nimpl") {
            let Some(name) = implemented_by(&code[at + 1..]) else {
                continue;
            };
            let candidates = declared.get(name).map_or(&[][..], Vec::as_slice);
            let Some(home) = candidates.iter().max_by_key(|home| nearness(home, file)) else {
                continue;
            };
            let key = (name.to_owned(), home.clone());
            places.entry(key).or_default().insert(file.clone());
        }
    }
    places
        .into_iter()
        .filter(|(_, files)| files.len() > 1)
        .map(|((name, _), files)| (name, files))
        .collect()
}

/// Returns the name of the type of an inherent `impl` that begins here.
fn implemented_by(code: &str) -> Option<&str> {
    let head = &code["impl".len()..code.find('{')?];
    if head.split_whitespace().any(|word| word == "for") {
        return None;
    }
    let mut depth = 0;
    let mut last = ' ';
    let end = head.find(|c: char| {
        match c {
            '<' => depth += 1,
            '>' if last != '-' => depth -= 1,
            _ => {}
        }
        last = c;
        depth == 0 && c.is_uppercase()
    })?;
    Some(first_word(&head[end..]))
}

/// Returns how near a file is to another: whole parts of the path that they share, all for itself.
fn nearness(home: &str, file: &str) -> usize {
    if home == file {
        return usize::MAX;
    }
    let folder = |path: &str| path.trim_end_matches("/mod.rs").to_owned();
    let (home, file) = (folder(home), folder(file));
    let shared = home
        .split('/')
        .zip(file.split('/'))
        .take_while(|(a, b)| a == b);
    shared.count()
}
