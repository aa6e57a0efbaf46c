//! `regex "…"`: Rust's regular expressions, compiled once per process, applied to strings and to the
//! bodies of responses without copying them.

use super::function::{converted, function, method};
use crate::diagnostics::ArgumentCount;
use crate::limits::{Budget, HeapSize, Held};
use crate::plan_files::Pattern;
use crate::requests::ResponseAddress;
use crate::sandbox::VmHost;
use mlua::{IntoLua as _, Lua, LuaString, MultiValue, Table, UserData, UserDataMethods, Value};
use regex::bytes::Captures;

/// Creates `regex`.
pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    let compile = function(lua, |lua, (_, pattern): (Value, Value)| {
        // The value before it is 'regex' itself.
        let pattern = MultiValue::from_iter([pattern]);
        let pattern: String = converted(lua, pattern, ArgumentCount::Written)?;
        let pattern = compile(lua, &pattern)?;
        VmHost::of(lua).held(lua, pattern)
    })?;
    library.raw_set("__call", compile)?;
    Ok(library)
}

fn compile(lua: &Lua, pattern: &str) -> mlua::Result<Pattern> {
    match VmHost::of(lua).program.patterns.regex(pattern) {
        Ok(compiled) => Ok(Pattern { compiled }),
        Err(problem) => Err(mlua::Error::runtime(format!(
            "this regular expression is not valid: {problem}"
        ))),
    }
}

/// Returns the pattern given as `regex "…"` or as plain text.
pub(super) fn pattern(lua: &Lua, value: &Value) -> mlua::Result<Pattern> {
    match value {
        Value::String(text) => compile(lua, &text.to_str()?),
        Value::UserData(data) if data.is::<Held<Pattern>>() => {
            let pattern = data.borrow::<Held<Pattern>>()?;
            Ok(Pattern::clone(&pattern))
        }
        other => Err(mlua::Error::runtime(format!(
            "expected a regular expression: regex \"…\" or a string, not {}",
            crate::values::type_phrase(other)
        ))),
    }
}

/// Runs `use_bytes` on a string's bytes or a response's body.
fn with_subject<R>(
    lua: &Lua,
    subject: &Value,
    use_bytes: impl FnOnce(&[u8]) -> mlua::Result<R>,
) -> mlua::Result<R> {
    match subject {
        Value::String(text) => use_bytes(&text.as_bytes()),
        Value::Table(response) => {
            let address = ResponseAddress::of(response)?;
            use_bytes(&VmHost::of(lua).body(lua, address)?)
        }
        other => Err(mlua::Error::runtime(format!(
            "expected a string or a response, not {}",
            crate::values::type_phrase(other)
        ))),
    }
}

impl Pattern {
    fn check_length(&self, bytes: &[u8]) -> mlua::Result<()> {
        let checked = self.compiled.check_length(bytes.len());
        checked.map_err(mlua::Error::runtime)
    }

    /// Checks that the groups of the first `most` matches take short enough to find out. Where a match is short enough
    /// because the whole text is, none is looked for.
    fn check_groups(&self, lua: &Lua, bytes: &[u8], most: usize) -> mlua::Result<()> {
        let compiled = &self.compiled;
        if compiled.may_group(bytes.len()) {
            return Ok(());
        }
        let limits = &VmHost::of(lua).limits;
        for found in compiled.regex.find_iter(bytes).take(most) {
            limits.spend(lua, found.len() as u64 + 64)?;
            let checked = compiled.check_match(found.len());
            checked.map_err(mlua::Error::runtime)?;
        }
        Ok(())
    }

    /// Returns the captures of the first match, the whole match if the pattern has no groups, or nil. Named groups are
    /// returned as one table.
    pub(super) fn first(&self, lua: &Lua, bytes: &[u8]) -> mlua::Result<MultiValue> {
        self.check_length(bytes)?;
        if self.compiled.regex.captures_len() == 1 {
            let whole = self
                .compiled
                .regex
                .find(bytes)
                .map(|found| lua.create_string(found.as_bytes()));
            return Ok(MultiValue::from_iter([whole.transpose()?.into_lua(lua)?]));
        }
        self.check_groups(lua, bytes, 1)?;
        match self.compiled.regex.captures(bytes) {
            None => Ok(MultiValue::from_iter([Value::Nil])),
            Some(captures) if self.is_named() => Ok(MultiValue::from_iter([self
                .table(lua, &captures)?
                .into_lua(lua)?])),
            Some(captures) => self.groups(lua, &captures).map(MultiValue::from_iter),
        }
    }

    /// Returns every match: the whole match or the only group as a string, else a table of the groups.
    pub(super) fn all(&self, lua: &Lua, bytes: &[u8]) -> mlua::Result<Table> {
        self.check_length(bytes)?;
        self.check_groups(lua, bytes, usize::MAX)?;
        let list = lua.create_table()?;
        let host = VmHost::of(lua);
        for captures in self.compiled.regex.captures_iter(bytes) {
            host.limits.spend(lua, captures[0].len() as u64 + 64)?;
            let value = match self.compiled.regex.captures_len() {
                1 => lua.create_string(&captures[0])?.into_lua(lua)?,
                2 if !self.is_named() => self.groups(lua, &captures)?.swap_remove(0),
                _ => self.table(lua, &captures)?.into_lua(lua)?,
            };
            list.raw_push(value)?;
        }
        Ok(list)
    }

    /// Replaces every match.
    ///
    /// # Errors
    /// The task's time is over, or the result may take more than a user may hold, as a short text and a long replacement
    /// soon do.
    fn replace(&self, lua: &Lua, bytes: &[u8], with: &[u8]) -> mlua::Result<Vec<u8>> {
        self.check_groups(lua, bytes, usize::MAX)?;
        let host = VmHost::of(lua);
        let mut budget = host.budget(lua);
        let references = with.iter().filter(|byte| **byte == b'$').count();
        let mut replaced = Vec::new();
        let mut rest = 0;
        for captures in self.compiled.regex.captures_iter(bytes) {
            let whole = captures.get_match();
            host.limits.spend(lua, (whole.end() - rest) as u64 + 64)?;
            // No group is longer than the match.
            let longest = with
                .len()
                .saturating_add(references.saturating_mul(whole.len()));
            let between = &bytes[rest..whole.start()];
            make_room(
                &mut replaced,
                longest.saturating_add(between.len()),
                &mut budget,
            )?;
            replaced.extend_from_slice(between);
            rest = whole.end();
            captures.expand(with, &mut replaced);
        }
        make_room(&mut replaced, bytes.len() - rest, &mut budget)?;
        replaced.extend_from_slice(&bytes[rest..]);
        Ok(replaced)
    }

    fn is_named(&self) -> bool {
        self.compiled
            .regex
            .capture_names()
            .flatten()
            .next()
            .is_some()
    }

    fn groups(&self, lua: &Lua, captures: &Captures<'_>) -> mlua::Result<Vec<Value>> {
        captures
            .iter()
            .skip(1)
            .map(|group| {
                group
                    .map(|group| lua.create_string(group.as_bytes()))
                    .transpose()?
                    .into_lua(lua)
            })
            .collect()
    }

    fn table(&self, lua: &Lua, captures: &Captures<'_>) -> mlua::Result<Table> {
        let table = lua.create_table()?;
        for (place, name) in self.compiled.regex.capture_names().enumerate().skip(1) {
            let value = captures
                .get(place)
                .map(|group| lua.create_string(group.as_bytes()))
                .transpose()?;
            table.raw_set(place, value.clone())?;
            if let Some(name) = name {
                table.raw_set(name, value)?;
            }
        }
        Ok(table)
    }
}

/// Reserves some more bytes in a growing text, out of the plan's budget.
fn make_room(text: &mut Vec<u8>, more: usize, budget: &mut Budget) -> mlua::Result<()> {
    if text.capacity() - text.len() >= more {
        return Ok(());
    }
    let half = text.capacity() / 2;
    let more = more.max(half.min(budget.remaining()));
    let added = more.saturating_sub(text.capacity() - text.len());
    budget.take(added).map_err(mlua::Error::runtime)?;
    text.reserve_exact(more);
    Ok(())
}

impl HeapSize for Pattern {
    fn heap_bytes(&self) -> usize {
        self.compiled.weight
    }
}

impl UserData for Held<Pattern> {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        method(methods, "match", |lua, this, subject: Value| {
            with_subject(lua, &subject, |bytes| this.first(lua, bytes))
        });
        method(methods, "matches", |lua, this, subject: Value| {
            with_subject(lua, &subject, |bytes| this.all(lua, bytes))
        });
        method(methods, "test", |lua, this, subject: Value| {
            with_subject(lua, &subject, |bytes| {
                this.check_length(bytes)?;
                Ok(this.compiled.regex.is_match(bytes))
            })
        });
        method(
            methods,
            "replace",
            |lua, this, (subject, with): (Value, LuaString)| {
                with_subject(lua, &subject, |bytes| {
                    this.check_length(bytes)?;
                    lua.create_string(this.replace(lua, bytes, &with.as_bytes())?)
                })
            },
        );
    }
}
