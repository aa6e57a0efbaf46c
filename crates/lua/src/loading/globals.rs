//! Globals and members of libraries that a plan uses and that do not exist. Each is looked up as a task would look it up, so
//! a mistake in a task that no user has run yet has the message of the run.

use super::constants::MOST_BYTES;
use crate::api::{prefixed_text, refused, start_prelude};
use crate::diagnostics::{KEYWORDS, Token, TokenKind, to_raised, tokens};
use crate::limits::VmLimits;
use crate::plan_files::{Program, SourceFile};
use crate::sandbox::{self, VmHost};
use lgoose_base::error::Diagnostic;
use mlua::{Function, Lua, Table, Value};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

/// Libraries that are no functions.
const LIBRARIES: [&str; 12] = [
    "wait", "random", "json", "data", "url", "time", "html", "log", "os", "math", "string", "table",
];

/// Filled by a run.
const OF_A_RUN: [&str; 2] = ["run", "shared"];

/// A VM without tasks, in which names are looked up.
#[derive(Debug)]
pub(super) struct Globals {
    lua: Lua,
    find: Function,
    env: Table,
}

impl Globals {
    /// # Errors
    /// If there is no memory for a VM.
    pub(super) fn new(program: &Arc<Program>) -> mlua::Result<Self> {
        let lua = sandbox::new_state()?;
        let limits = VmLimits::of_loading(Arc::default());
        let host = VmHost::new(program.clone(), 0, "", None, limits);
        lua.set_app_data(Rc::new(host));
        let env = start_prelude(&lua, program, lua.create_table()?)?.env;
        // A function has no members: what a run would say has the name of the variable.
        let find = "local env, name, member = ... local value = env[name] \
                    if not member then return end \
                    if type(value) == 'function' then \
                    error(\"attempt to index a function value (global '\" .. name .. \"')\", 0) end \
                    value = value[member]";
        lua.globals().set(
            "type",
            lua.create_function(|_, value: Value| Ok(value.type_name()))?,
        )?;
        let find = lua.load(find).set_name("=lgoose").into_function()?;
        Ok(Self { lua, find, env })
    }

    /// Returns the VM, in which constants can be judged.
    pub(super) fn lua(&self) -> &Lua {
        &self.lua
    }

    /// Returns a warning for each name of a file that no local declares and that does not exist.
    pub(super) fn missing(&self, source: &SourceFile) -> Vec<Diagnostic> {
        let words = tokens(&source.text);
        let (declared, mut reported) = (declared(&words), HashSet::new());
        let uses = (0..words.len()).filter(|place| is_read(&words, *place));
        let missing = uses.filter_map(|place| {
            let name = words[place].text;
            if declared.contains(name) || OF_A_RUN.contains(&name) {
                return None;
            }
            let member = match (text(&words, place + 1), words.get(place + 2)) {
                ("." | ":", Some(member)) if member.kind == TokenKind::Name => Some(member.text),
                ("[", Some(member)) if member.kind == TokenKind::Text => {
                    Some(member.text.trim_matches(['"', '\'']))
                }
                _ => None,
            };
            if !reported.insert((name, member)) {
                return None;
            }
            let problem = self.problem_of(&words, place, member)?;
            let (message, help) = problem.split_once("; ").unwrap_or((&problem, ""));
            let line = Some(words[place].line);
            let warning = Diagnostic::new(message).at(&source.name, line, &source.text);
            Some(if help.is_empty() {
                warning
            } else {
                warning.help(help)
            })
        });
        missing.collect()
    }

    /// Returns the error that a task would get for the name in some words: for setting it, or for reading it and its member.
    fn problem_of(
        &self,
        words: &[Token<'_>],
        place: usize,
        member: Option<&str>,
    ) -> Option<String> {
        let name = words[place].text;
        let problem = self.look_up(name, None);
        let is_called = words.get(place + 1).is_some_and(|next| next.text == "(");
        if problem.is_none() && is_called && LIBRARIES.contains(&name) {
            let help = match name {
                "wait" => {
                    "a task pauses by user:wait(seconds), and has the field wait = wait.between(1, 5)"
                }
                _ => "its members are called, as in random.int(1, 6)",
            };
            return Some(format!(
                "'{name}' is a library, and cannot be called; {help}"
            ));
        }
        let Some(problem) = problem else {
            return member.and_then(|member| self.look_up(name, Some(member)));
        };
        let before = place
            .checked_sub(1)
            .map_or("", |before| text(words, before));
        let next = words.get(place + 1);
        if let Some(next) = next
            && next.kind == TokenKind::Text
            && next.at == words[place].end()
            // Not as in "a "b" c".
            && place.checked_sub(1).is_none_or(|before| {
                words[before].kind != TokenKind::Text || words[before].end() < words[place].at
            })
            && let Some(ours) = prefixed_text(name)
        {
            return Some(format!("global '{name}' is not declared; {ours}"));
        }
        let is_function = before == "function";
        let is_set = next.is_some_and(|next| next.text == "=") && !["(", ","].contains(&before);
        Some(if is_function || is_set {
            refused("_G", name, is_function)
        } else {
            problem
        })
    }

    /// Returns the error that a task would get for a call with constant arguments.
    pub(super) fn problem_of_call(&self, call: &str) -> Option<String> {
        if call.len() > MOST_BYTES {
            return None;
        }
        let chunk = self.lua.load(format!("return {call}"));
        let chunk = chunk.set_name("=lgoose").set_environment(self.env.clone());
        let called = chunk.into_function().ok()?.call::<()>(());
        let host = VmHost::of(&self.lua);
        called
            .err()
            .map(|error| to_raised(&error, &host.program.sources).message)
    }

    /// Returns the error that a task would get for the name, or `None` where it exists.
    fn look_up(&self, name: &str, member: Option<&str>) -> Option<String> {
        let found = self.find.call::<()>((&self.env, name, member));
        let host = VmHost::of(&self.lua);
        found
            .err()
            .map(|error| to_raised(&error, &host.program.sources).message)
    }
}

fn text<'a>(words: &[Token<'a>], place: usize) -> &'a str {
    words.get(place).map_or("", |word| word.text)
}

/// Returns all names that are a local's somewhere in a file: in which parts of it is not looked at, so a global of the same
/// name is passed over.
pub(super) fn declared<'a>(words: &[Token<'a>]) -> HashSet<&'a str> {
    let mut names = HashSet::from(["_ENV"]);
    for (place, word) in words.iter().enumerate() {
        let rest = &words[place + 1..];
        match (word.kind, word.text) {
            (TokenKind::Name, "local") if text(rest, 0) == "function" => {
                names.insert(text(rest, 1));
            }
            (TokenKind::Name, "local") => names.extend(locals(rest)),
            (TokenKind::Name, "for") => names.extend(until(rest, &["in", "="])),
            // It has no name, or that of a field; a method declares 'self'.
            (TokenKind::Name, "function") => {
                if until(rest, &["("]).any(|word| word == ":") {
                    names.insert("self");
                }
                names.extend(until(rest, &[")"]).skip_while(|word| *word != "("));
            }
            _ => {}
        }
    }
    names
}

/// Returns the names of `a, b <const>` at the beginning of some words.
fn locals<'a>(words: &[Token<'a>]) -> Vec<&'a str> {
    let (mut names, mut at) = (vec![text(words, 0)], 1);
    loop {
        if text(words, at) == "<" {
            // 'const' is no variable either.
            names.push(text(words, at + 1));
            at += 3;
        }
        if text(words, at) != "," {
            return names;
        }
        names.push(text(words, at + 1));
        at += 2;
    }
}

/// Returns the words before the first of `ends`.
fn until<'a>(words: &[Token<'a>], ends: &[&str]) -> impl Iterator<Item = &'a str> {
    let words = words.iter().map(|word| word.text);
    words.take_while(|word| !ends.contains(word))
}

/// Returns whether the word is the name of a variable, and not of a field, a label or a key of a table.
fn is_read(words: &[Token<'_>], place: usize) -> bool {
    let word = words[place];
    if word.kind != TokenKind::Name || KEYWORDS.contains(&word.text) {
        return false;
    }
    let before = match place {
        0 => "",
        place => text(words, place - 1),
    };
    let is_key = matches!(before, "{" | "," | ";") && text(words, place + 1) == "=";
    !is_key && !matches!(before, "." | ":" | "::" | "goto")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn messages(plan: &str) -> Vec<String> {
        let (program, ..) =
            crate::load("p.lua", plan, BTreeMap::new(), 0).expect("the plan is fine");
        let globals = Globals::new(&program).expect("a VM");
        let sources = program.sources.all();
        let found = sources.iter().flat_map(|source| globals.missing(source));
        found
            .map(|diagnostic| diagnostic.message().to_owned())
            .collect()
    }

    #[test]
    fn names_that_do_not_exist_are_reported_once_as_a_run_reports_them() {
        for (body, message) in [
            ("x = tostrng(1)", "global 'x' is not declared"),
            (
                "print(tostrng(1), tostrng(2))",
                "global 'tostrng' is not declared",
            ),
            ("os.tme()", "'os.tme' does not exist"),
            (
                "local a = random.uid() .. random.uid()",
                "'random.uid' does not exist",
            ),
            ("if math.maxint then end", "'math.maxint' does not exist"),
            ("print(_G.tostrng)", "global 'tostrng' is not declared"),
            ("io.write 'x'", "global 'io' is not declared"),
            ("print { a = unknown }", "global 'unknown' is not declared"),
            ("console.log(1)", "global 'console' is not declared"),
        ] {
            let plan = format!("task {{ 'a', function(user) {body} end }}");
            let found = messages(&plan);
            assert_eq!(found[0], message, "{plan}");
            assert!(found.len() <= 2, "{plan}: {found:?}");
        }
    }

    #[test]
    fn names_that_exist_are_not_reported() {
        for body in [
            "local a <const>, b = 1 print(a, b, user.anything, user.data.x)",
            "for i, v in ipairs { x = 1, y = 2; z = 3 } do print(i, v) end for j = 1, 2 do print(j) end",
            "local function f(x, ...) return x, ... end f(f)",
            "local t = {} function t.a(x) print(x) end function t:b() print(self) end",
            "goto done ::done::",
            "print(string.format('%d', 1), ('x'):rep(2), string.gsub('a', 'b', 'c'), utf8.char(1))",
            "print(math.pi, math.random(2), table.concat {}, os.time(), coroutine.wrap(print))",
            "print(json.null, json.array {}, random.uuid(), url.encode 'x', wait.constant(1), log.info)",
            "print(shared.token, run.id, env 'X', regex '.', hash.md5 'x', base64.encode 'x')",
            "local _ENV = { a = 1 }",
            "print 'unknown' --[[ unknown ]]",
        ] {
            let plan = format!("task {{ 'a', function(user) {body} end }}");
            assert_eq!(messages(&plan), Vec::<String>::new(), "{plan}");
        }
    }
}
