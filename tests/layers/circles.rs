//! Circles of imports between the files inside one crate, or inside one module of the program.
//!
//! A file imports another if a path in it leads there: `super::…`, `self::…`, `crate::…` or one that begins with a
//! child. A re-export leads to the file that defines the name. Tests do not count.

use super::{source_files, without_comments};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The most files that may import each other: a few that belong together.
const MOST_FILES: usize = 3;

#[test]
fn the_files_inside_a_crate_do_not_import_each_other_in_circles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &std::path::PathBuf| {
        let text = fs::read_to_string(file).expect("a source file is readable text");
        let name = file.strip_prefix(root).unwrap_or(file).to_string_lossy();
        as_module(name.replace('\\', "/"), text)
    };
    let sources = source_files(root).iter().map(read).collect();
    let too_large = |circle: &BTreeSet<String>| circle.len() > MOST_FILES;
    let found: Vec<_> = circles(&sources).into_iter().filter(too_large).collect();
    assert!(found.is_empty(), "these import each other: {found:#?}");
}

#[test]
fn a_circle_is_found_whichever_way_a_path_is_written() {
    for (first, second) in [
        ("use super::b::B;", "use crate::m::a::A;"),
        ("use super::{b, c};", "use super::a::{A, X};"),
        ("fn f() { super::b::f() }", "use super::A;"),
        ("use super::b::B;", "use crate::{m::A, n};"),
    ] {
        let found = circles(&sources(first, second));
        assert_eq!(found.len(), 1, "{first} {second}");
        assert_eq!(found[0].len(), 2, "{first} {second}: {found:?}");
    }
}

#[test]
fn what_goes_one_way_or_is_for_tests_is_no_circle() {
    for (first, second) in [
        ("use super::b::B;", ""),
        ("use super::b::B;", "use super::c::C;"),
        ("use super::b::B;", "#[cfg(test)]\nuse super::a::A;"),
        (
            "use super::b::B;",
            "#[cfg(test)]\nmod tests {\n    use super::super::a::A;\n}",
        ),
        ("use super::b::B;", "//! See [`super::a::A`]."),
        ("use super::b::B;", "use crate::n::a::A;"),
    ] {
        let found = circles(&sources(first, second));
        assert!(found.is_empty(), "{first} {second}: {found:?}");
    }
}

/// A module `m` of four files, of which two are given.
fn sources(a: &str, b: &str) -> BTreeMap<String, String> {
    [
        ("src/m/mod.rs", "mod a;\nmod b;\nmod c;\npub use a::A;\n"),
        ("src/m/a.rs", a),
        ("src/m/b.rs", b),
        ("src/m/c.rs", ""),
        ("src/n.rs", ""),
    ]
    .map(|(file, text)| (file.to_owned(), text.to_owned()))
    .into()
}

/// A module by the names on the way to it.
type ModulePath = Vec<String>;

/// One file: its `use` statements, all other code, and the children that its paths may begin with.
struct Room {
    file: String,
    body: String,
    children: BTreeSet<String>,
    uses: Vec<Use>,
}

/// A name that a `use` brings into a file.
struct Use {
    public: bool,
    name: String,
    path: Vec<String>,
}

/// The sets of at least two files that all import each other, directly or through each other.
fn circles(sources: &BTreeMap<String, String>) -> Vec<BTreeSet<String>> {
    let rooms = rooms(sources);
    let imports: BTreeMap<&ModulePath, BTreeSet<ModulePath>> = rooms
        .keys()
        .map(|path| (path, imports(path, &rooms)))
        .collect();
    let reached: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> = imports
        .keys()
        .map(|path| (*path, reachable(path, &imports)))
        .collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (path, reach) in &reached {
        let circle: BTreeSet<String> = reach
            .iter()
            .filter(|other| reached[**other].contains(*path))
            .map(|other| rooms[*other].file.clone())
            .collect();
        if circle.len() > 1 && !found.contains(&circle) {
            found.push(circle);
        }
    }
    found
}

/// A file of a crate as one of a module of that name, with its text.
fn as_module(file: String, text: String) -> (String, String) {
    let inside = file.strip_prefix("crates/");
    let Some((name, inside)) = inside.and_then(|inside| inside.split_once("/src/")) else {
        return (file, text);
    };
    let inside = if inside == "lib.rs" { "mod.rs" } else { inside };
    let text = text.replace("crate::", &format!("crate::{name}::"));
    (format!("src/{name}/{inside}"), text)
}

/// What can be reached from a file by one import or several.
fn reachable<'a>(
    from: &ModulePath,
    imports: &'a BTreeMap<&ModulePath, BTreeSet<ModulePath>>,
) -> BTreeSet<&'a ModulePath> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&ModulePath> = imports[from].iter().collect();
    while let Some(path) = open.pop() {
        if reached.insert(path) {
            open.extend(&imports[path]);
        }
    }
    reached
}

/// The files that are not for tests alone.
fn rooms(sources: &BTreeMap<String, String>) -> BTreeMap<ModulePath, Room> {
    let mut rooms = BTreeMap::new();
    let mut for_tests = BTreeSet::new();
    for (file, text) in sources {
        let path = module_path(file);
        // How far an item can be seen is no import.
        let visible = without_comments(text).replace("pub(in super::super)", "pub");
        let (code, test_modules) = without_tests(&visible);
        for_tests.extend(test_modules.into_iter().map(|name| joined(&path, &name)));
        let (uses, body) = split_uses(&code);
        let room = Room {
            file: file.clone(),
            children: children(&code),
            uses,
            body,
        };
        rooms.insert(path, room);
    }
    rooms.retain(|path: &ModulePath, _| {
        let above = |length: usize| for_tests.contains(&path[..length]);
        !(1..=path.len()).any(above)
    });
    rooms
}

/// `src/http/h1/mod.rs` → `http`, `h1`.
fn module_path(file: &str) -> ModulePath {
    let inside = file.strip_prefix("src/").unwrap_or(file);
    let inside = inside.strip_suffix(".rs").unwrap_or(inside);
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    inside.split('/').map(str::to_owned).collect()
}

fn joined(path: &[String], name: &str) -> ModulePath {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

/// The code without what stands behind `#[cfg(test)]`, and the files that are modules for tests.
fn without_tests(code: &str) -> (String, Vec<String>) {
    let (mut kept, mut modules) = (String::new(), Vec::new());
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let is_for_tests = [
            "#[cfg(test)]",
            "#[cfg(any(test, feature = \"test-support\"))]",
        ];
        if !is_for_tests.contains(&line.trim()) {
            kept.push_str(line);
            kept.push('\n');
            continue;
        }
        let item = lines.find(|line| !line.trim_start().starts_with('#'));
        let (_, item) = visibility(item.unwrap_or_default());
        match item.strip_prefix("mod ") {
            Some(module) if module.ends_with(';') => {
                modules.push(module.trim_end_matches(';').to_owned());
            }
            // The tests of a file are its end.
            Some(_) => break,
            None if item.starts_with("use ") && !item.ends_with(';') => {
                lines.find(|line| line.trim_end().ends_with(';'));
            }
            None => {}
        }
    }
    (kept, modules)
}

/// Whether a line has a `pub`, and the line without it.
fn visibility(line: &str) -> (bool, &str) {
    let line = line.trim();
    match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with(' ') => (true, rest.trim_start()),
        Some(rest) if rest.starts_with('(') => (
            true,
            rest.split_once(')')
                .map_or("", |(_, rest)| rest.trim_start()),
        ),
        _ => (false, line),
    }
}

/// The names of the modules that are files of their own.
fn children(code: &str) -> BTreeSet<String> {
    let items = code.lines().map(|line| visibility(line).1);
    items
        .filter_map(|item| item.strip_prefix("mod ")?.strip_suffix(';'))
        .map(str::to_owned)
        .collect()
}

/// The names that the `use` statements bring, and the code without them.
fn split_uses(code: &str) -> (Vec<Use>, String) {
    let (mut found, mut body) = (Vec::new(), String::new());
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let (public, item) = visibility(line);
        let Some(start) = item.strip_prefix("use ") else {
            // A module's declaration does not use what a re-export brings under the same name.
            if item.starts_with("mod ") && item.ends_with(';') {
                continue;
            }
            body.push_str(line);
            body.push('\n');
            continue;
        };
        let mut tree = start.to_owned();
        while !tree.contains(';') {
            let Some(more) = lines.next() else { break };
            tree.push_str(more);
        }
        let tree = tree.split(';').next().unwrap_or_default();
        for (path, name) in leaves(&[], tree) {
            found.push(Use { public, name, path });
        }
    }
    (found, body)
}

/// The paths of a `use` tree, each with the name it brings.
fn leaves(before: &[String], tree: &str) -> Vec<(Vec<String>, String)> {
    let tree = tree.trim();
    let Some((start, group)) = tree.split_once('{') else {
        let (path, alias) = tree
            .split_once(" as ")
            .map_or((tree, None), |(path, alias)| {
                (path, Some(alias.trim().to_owned()))
            });
        let more = path.split("::").map(|part| part.trim().to_owned());
        let path: Vec<_> = before.iter().cloned().chain(more).collect();
        let path: Vec<_> = match path.split_last() {
            Some((last, module)) if last == "self" && !module.is_empty() => module.to_vec(),
            _ => path,
        };
        let name = alias.or_else(|| path.last().cloned()).unwrap_or_default();
        return vec![(path, name)];
    };
    let parts = start.split("::").map(|part| part.trim().to_owned());
    let before: Vec<_> = before
        .iter()
        .cloned()
        .chain(parts.filter(|part| !part.is_empty()))
        .collect();
    let group = group.rsplit_once('}').map_or(group, |(group, _)| group);
    let (mut found, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let member = &group[from..at];
                if !member.trim().is_empty() {
                    found.extend(leaves(&before, member));
                }
                from = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// The other files of the same top-level module that a file imports.
fn imports(path: &ModulePath, rooms: &BTreeMap<ModulePath, Room>) -> BTreeSet<ModulePath> {
    let room = &rooms[path];
    let is_used = |name: &str| !super::words(&room.body, name).is_empty();
    let imported = room
        .uses
        .iter()
        // A re-export that the file does not use itself is no import.
        .filter(|one| !one.public || is_used(&one.name))
        .map(|one| one.path.clone());
    imported
        .chain(paths(&room.body))
        .filter_map(|used| absolute(path, &used, room))
        .filter_map(|used| defining(&used, rooms, 0))
        .filter(|other| other != path && other[0] == path[0])
        .collect()
}

/// The paths in the code.
fn paths(body: &str) -> Vec<Vec<String>> {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    body.split(|c: char| !part(c))
        .filter(|word| word.contains("::"))
        .map(|word| word.split("::").map(str::to_owned).collect())
        .collect()
}

/// A path from the root of the crate on; `None` for one into another crate.
fn absolute(from: &ModulePath, used: &[String], room: &Room) -> Option<Vec<String>> {
    let (head, rest) = used.split_first()?;
    let mut base = from.clone();
    let mut rest = rest;
    match head.as_str() {
        "crate" => base.clear(),
        "self" => {}
        "super" => {
            base.pop();
            while let Some((next, more)) = rest.split_first()
                && next == "super"
            {
                base.pop();
                rest = more;
            }
        }
        child if room.children.contains(child) => base.push(child.to_owned()),
        _ => return None,
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

/// The file that defines what an absolute path names.
fn defining(
    used: &[String],
    rooms: &BTreeMap<ModulePath, Room>,
    depth: usize,
) -> Option<ModulePath> {
    let length = (1..=used.len())
        .rev()
        .find(|length| rooms.contains_key(&used[..*length]))?;
    let (module, rest) = used.split_at(length);
    let room = &rooms[module];
    let exported = rest.first().and_then(|name| {
        let one = room.uses.iter().find(|one| one.name == *name)?;
        let path = absolute(&module.to_vec(), &one.path, room)?;
        Some(
            path.into_iter()
                .chain(rest[1..].iter().cloned())
                .collect::<Vec<_>>(),
        )
    });
    match exported {
        Some(path) if depth < 8 => defining(&path, rooms, depth + 1).or(Some(module.to_vec())),
        _ => Some(module.to_vec()),
    }
}
