//! Arguments as they stand in the line of the plan that is being executed, for messages about their values.

use super::location::plan_line;
use super::tokens::{Token, TokenKind, tokens};
use crate::sandbox::VmHost;
use crate::values::shorten;
use mlua::Lua;

/// Returns the text of an argument, from 0, of the method that the line being executed calls. `None` if the line calls it twice or
/// the call goes on in the next line, and for a constant, which says nothing more.
pub(crate) fn argument_text(lua: &Lua, method: &str, place: usize) -> Option<String> {
    let (file, line) = plan_line(lua)?;
    let source = VmHost::of(lua).program.sources.text(&file);
    let text = source.lines().nth(line.checked_sub(1)? as usize)?;
    let argument = argument_of(text, method, place)?;
    (argument != "nil").then(|| shorten(argument))
}

fn argument_of<'a>(line: &'a str, method: &str, place: usize) -> Option<&'a str> {
    let words = tokens(line);
    let mut calls = words.windows(3).enumerate().filter(|(_, three)| {
        three[0].text == ":" && three[1].text == method && three[2].text == "("
    });
    let (Some((call, _)), None) = (calls.next(), calls.next()) else {
        return None;
    };
    let mut depth = 0_usize;
    let mut from = call + 3;
    let mut number = 0;
    for at in call + 2..words.len() {
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
    use super::argument_of;

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
            assert_eq!(argument_of(line, "bearer", place), expected, "{line}");
        }
    }
}
