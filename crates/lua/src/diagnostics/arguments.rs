//! Arguments as they stand in the line of the plan that is being executed, for messages about their values.

use super::location::{plan_call, plan_line};
use super::tokens::{Token, TokenKind, tokens};
use crate::plan_files::SourceLine;
use crate::sandbox::VmHost;
use crate::values::shorten;
use mlua::Lua;

/// The end of a remark on an argument that is nil.
pub(crate) const IS_NIL: &str = "' is nil";

/// How a call is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallSign {
    /// `user:get(…)`, which passes `user` first.
    Method,
    /// `json.decode(…)`, `regex(…)`.
    Function,
}

/// The places of the arguments that a function of lgoose counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentCount {
    /// From the first one that stands in the brackets.
    Written,
    /// From the value before the colon of a method, if there is one.
    Passed,
}

/// Returns the text of an argument, from 0, of the method that the line being executed calls. `None` if the line calls it twice or
/// the call goes on in the next line, and for a constant, which says nothing more.
pub(crate) fn argument_text(lua: &Lua, method: &str, place: usize) -> Option<String> {
    let line = plan_line(lua)?;
    text_at(lua, &line, method, place, ArgumentCount::Written)
}

/// Returns a remark on an argument that is nil, for the end of a message: `; 'token' is nil`. It is empty where
/// [`argument_text`] has none. The function is the one that the line being executed has called.
pub(crate) fn nil_argument(lua: &Lua, place: usize, count: ArgumentCount) -> String {
    let text =
        plan_call(lua).and_then(|(line, function)| text_at(lua, &line, &function?, place, count));
    text.map_or_else(String::new, |text| format!("; '{text}{IS_NIL}"))
}

/// Returns a remark on the first argument of the method that the line being executed has called, as [`nil_argument`] does, if the
/// method `is_about_first`.
pub(crate) fn nil_first_argument(lua: &Lua, is_about_first: impl Fn(&str) -> bool) -> String {
    let remark = || {
        let (line, function) = plan_call(lua)?;
        let function = match function {
            Some(function) => function,
            None => sole_method(&line_text(lua, &line)?, &is_about_first)?,
        };
        if !is_about_first(&function) {
            return None;
        }
        let first = text_at(lua, &line, &function, 0, ArgumentCount::Written)?;
        Some(format!("; '{first}{IS_NIL}"))
    };
    remark().unwrap_or_default()
}

/// Returns the method that a line calls, if it calls one of some and no other one.
fn sole_method(line: &str, is_it: impl Fn(&str) -> bool) -> Option<String> {
    let words = tokens(line);
    let mut methods = words
        .windows(3)
        .filter(|three| three[0].text == ":" && three[2].text == "(" && is_it(three[1].text));
    match (methods.next(), methods.next()) {
        (Some(only), None) => Some(only[1].text.to_owned()),
        _ => None,
    }
}

fn line_text(lua: &Lua, line: &SourceLine) -> Option<String> {
    let (file, number) = line;
    let source = VmHost::of(lua).program.sources.text(file);
    let text = source.lines().nth(number.checked_sub(1)? as usize)?;
    Some(text.to_owned())
}

fn text_at(
    lua: &Lua,
    line: &SourceLine,
    function: &str,
    place: usize,
    count: ArgumentCount,
) -> Option<String> {
    let text = line_text(lua, line)?;
    let argument = argument_of(&text, function, place, count)?;
    (argument != "nil").then(|| shorten(argument))
}

fn argument_of<'a>(
    line: &'a str,
    function: &str,
    place: usize,
    count: ArgumentCount,
) -> Option<&'a str> {
    let words = tokens(line);
    let text = |at: usize| words.get(at).map_or("", |word| word.text);
    let mut calls = (0..words.len()).filter(|at| {
        let is_declared = *at > 0 && text(at - 1) == "function";
        text(*at) == function && text(at + 1) == "(" && !is_declared
    });
    let (Some(call), None) = (calls.next(), calls.next()) else {
        return None;
    };
    let sign = match call.checked_sub(1).map(text) {
        Some(":") => CallSign::Method,
        _ => CallSign::Function,
    };
    let place = match (sign, count) {
        (CallSign::Method, ArgumentCount::Passed) => place.checked_sub(1)?,
        _ => place,
    };
    let mut depth = 0_usize;
    let mut from = call + 2;
    let mut number = 0;
    for at in call + 1..words.len() {
        let sign = (words[at].kind == TokenKind::Sign).then_some(words[at].text);
        match sign {
            Some("(" | "{" | "[") => depth += 1,
            Some(")" | "}" | "]") => depth = depth.saturating_sub(1),
            _ => {}
        }
        let ends = depth == 0 || depth == 1 && sign == Some(",");
        if ends && number == place {
            let last: Option<&Token<'_>> = words.get(at.checked_sub(1)?);
            let (first, last) = (words.get(from)?, last?);
            return line
                .get(first.at..last.end())
                .filter(|text| !text.is_empty());
        }
        if depth == 0 {
            return None;
        }
        if ends {
            (number, from) = (number + 1, at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{ArgumentCount, argument_of};

    #[test]
    fn an_argument_is_found_by_its_place() {
        for (line, place, expected) in [
            ("user:bearer(token)", 0, Some("token")),
            (
                "  user:bearer(page:json().token) -- x",
                0,
                Some("page:json().token"),
            ),
            ("user:bearer(f(1, 2), { a = 3 }.b)", 1, Some("{ a = 3 }.b")),
            ("user:bearer(a) user:bearer(b)", 0, None),
            ("user:bearer(a", 0, None),
            ("user:bearer()", 0, None),
            ("user:bearer(a)", 1, None),
        ] {
            let written = argument_of(line, "bearer", place, ArgumentCount::Written);
            assert_eq!(written, expected, "{line}");
        }
    }

    #[test]
    fn the_value_before_a_colon_may_count() {
        for (line, place, expected) in [
            ("user:set_header(name, x)", 1, Some("name")),
            ("user:set_header(name, x)", 0, None),
            ("user.set_header(user, name)", 1, Some("name")),
            ("local a = set_header(b)", 0, Some("b")),
            ("local function set_header(b) return c(b) end", 0, None),
        ] {
            let passed = argument_of(line, "set_header", place, ArgumentCount::Passed);
            assert_eq!(passed, expected, "{line}");
        }
    }
}
