//! The source texts of a plan: the plan itself and the modules beside it. Messages name their lines and quote them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// A file of the plan and a line in it.
pub(crate) type SourceLine = (String, u32);

/// One file of a plan.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// The file's name as messages show it.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The source files of a plan that have been loaded so far, the plan's own first.
// Locked when a module is loaded for the first time and when an error is located, not by requests.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    files: RwLock<Vec<Arc<SourceFile>>>,
    /// Whether one of them seems to call `fail` or `pass` on something.
    judges: AtomicBool,
}

impl Sources {
    /// Creates the collection with the plan's own text.
    pub(crate) fn of_plan(name: &str, text: &str) -> Sources {
        let sources = Sources::default();
        sources.add(name, text);
        sources
    }

    /// Adds the text of a file, or replaces it.
    pub(crate) fn add(&self, name: &str, text: &str) {
        if calls_a_verdict(text) {
            self.judges.store(true, Ordering::Relaxed);
        }
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        let source = Arc::new(SourceFile {
            name: name.to_owned(),
            text: text.to_owned(),
        });
        match files.iter_mut().find(|file| file.name == name) {
            Some(file) => *file = source,
            None => files.push(source),
        }
    }

    /// Returns whether the plan may overrule verdicts on its requests. Otherwise its requests need not be kept for
    /// that.
    pub(crate) fn judge(&self) -> bool {
        self.judges.load(Ordering::Relaxed)
    }

    /// Returns all files.
    pub(crate) fn all(&self) -> Vec<Arc<SourceFile>> {
        self.files
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the text of a file by its name; empty if it is not one of the plan's.
    pub(crate) fn text(&self, name: &str) -> String {
        let found = self.all().into_iter().find(|source| source.name == name);
        found.map_or_else(String::new, |source| source.text.clone())
    }

    /// Splits `file:12: message` into (file, 12, message) if the file is one of the plan's.
    pub(crate) fn split_location<'a>(&self, text: &'a str) -> Option<(String, u32, &'a str)> {
        self.all().iter().find_map(|source| {
            let (line, message) = after_name(text, &source.name)?.split_once(": ")?;
            Some((source.name.clone(), line.parse().ok()?, message))
        })
    }

    /// Finds the first line of a stack trace that is in one of the plan's files, as `file:line`.
    pub(crate) fn first_plan_line(&self, stack: &str) -> Option<String> {
        let sources = self.all();
        stack.lines().find_map(|entry| {
            sources.iter().find_map(|source| {
                let rest = after_name(entry.trim_start(), &source.name)?;
                let line: u32 = rest.split(':').next()?.parse().ok()?;
                Some(format!("{}:{line}", source.name))
            })
        })
    }
}

/// Returns whether a text has `fail`, `pass` or `retry` as a member, such as `.fail` and `:fail`, or as a string.
fn calls_a_verdict(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    // 'retry' passes on values when it tries again.
    ["fail", "pass", "retry"].iter().any(|word| {
        text.match_indices(word).any(|(at, _)| {
            let before = text[..at].trim_end().as_bytes().last();
            let after = text.as_bytes().get(at + word.len());
            before.is_some_and(|byte| matches!(byte, b':' | b'.' | b'"' | b'\'' | b'['))
                && after.is_none_or(|byte| !is_word(*byte))
        })
    })
}

/// Returns the text after `file:`, the file written out or as Lua shortens it.
fn after_name<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.strip_prefix(short_source(name).as_str())
        .or_else(|| text.strip_prefix(name))?
        .strip_prefix(':')
}

/// Shortens a file's name as Lua's own messages do: to at most 59 bytes, cut at the front (`luaO_chunkid`).
fn short_source(file: &str) -> String {
    const MAX_BYTES: usize = 59;
    if file.len() <= MAX_BYTES {
        return file.to_owned();
    }
    let mut from = file.len() - (MAX_BYTES - 3);
    while !file.is_char_boundary(from) {
        from += 1;
    }
    format!("...{}", &file[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_placed_in_the_file_that_it_starts_with() {
        let sources = Sources::of_plan("plans/a.lua", "");
        sources.add("plans/lib/b.lua", "");
        let placed = |text| sources.split_location(text);
        let of = |file: &str, line, message| Some((file.to_owned(), line, message));
        assert_eq!(
            placed("plans/a.lua:12: boom"),
            of("plans/a.lua", 12, "boom")
        );
        assert_eq!(
            placed("plans/lib/b.lua:3: x"),
            of("plans/lib/b.lua", 3, "x")
        );
        assert_eq!(placed("plans/c.lua:3: x"), None);
        assert_eq!(placed("boom"), None);
    }

    #[test]
    fn a_plan_that_calls_no_verdict_is_recognized_as_such() {
        for (text, expected) in [
            ("page:fail \"x\"", true),
            ("page.pass(page)", true),
            ("user:retry { f }", true),
            ("page\n  : fail(x)", true),
            ("page[\"fail\"](page, x)", true),
            ("user:submit(form, { pass = \"1\" })", false),
            ("-- pass and fail\nuser:get \"/\"", false),
            ("thresholds = { \"failures < 1%\" }", false),
            ("x.failed = y:passed()", false),
        ] {
            assert_eq!(Sources::of_plan("p.lua", text).judge(), expected, "{text}");
        }
    }

    #[test]
    fn a_long_path_is_recognised_as_lua_shortens_it() {
        let file = format!("{}/plan.lua", "directory/".repeat(12));
        let sources = Sources::of_plan(&file, "");
        let message = format!("{}:7: boom", short_source(&file));
        assert_eq!(sources.split_location(&message), Some((file, 7, "boom")));
    }
}
