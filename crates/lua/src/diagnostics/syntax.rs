//! Remedies for texts that are not Lua: habits of other languages, or a missing comma, `end` or bracket. Lua itself
//! says where it gave up; the remedy is found from the words before that place.

use super::tokens::{Token, TokenKind, tokens};

/// A word that opens a block or bracket, which another word closes.
#[derive(Debug, Clone, Copy)]
struct Opener<'a> {
    word: Token<'a>,
    close: &'static str,
}

/// Returns the remedy for a text that Lua does not compile, if there is a known one. `message` is Lua's, and `line` the
/// one on which it gave up.
pub(super) fn remedy(message: &str, line: u32, source: &str) -> Option<String> {
    let words = tokens(source);
    let end = words.partition_point(|word| word.line <= line);
    let start = words.partition_point(|word| word.line < line);
    let near = message
        .rsplit_once(" near '")
        .map(|(_, near)| near.strip_suffix('\'').unwrap_or(near));
    habit(message, near, &words[start..end])
        .map(str::to_owned)
        .or_else(|| missing_comma(message, near?, &words, start..end))
        .or_else(|| unbalanced(message, near, &words, end))
}

/// Finds syntax of other languages on the line of the mistake.
fn habit(message: &str, near: Option<&str>, line: &[Token<'_>]) -> Option<&'static str> {
    let has = |sign: &str| {
        line.iter()
            .any(|word| word.kind == TokenKind::Sign && word.text == sign)
    };
    let sign = |remedies: &[(&str, &'static str)]| {
        remedies
            .iter()
            .find_map(|(sign, help)| has(sign).then_some(*help))
    };
    let by_sign = sign(&[
        ("“", "these quotes are typographic: write \"…\" or '…'"),
        ("”", "these quotes are typographic: write \"…\" or '…'"),
        ("„", "these quotes are typographic: write \"…\" or '…'"),
        ("‘", "these quotes are typographic: write \"…\" or '…'"),
        ("’", "these quotes are typographic: write \"…\" or '…'"),
        (
            "`",
            "write a text as \"…\", and join texts by '..', as in \"/node/\" .. id",
        ),
        ("!==", "Lua writes '~=' for 'is not equal to'"),
        ("!=", "Lua writes '~=' for 'is not equal to'"),
        ("===", "Lua writes '==' for 'is equal to'"),
        ("&&", "Lua writes 'and'"),
        ("||", "Lua writes 'or'"),
        ("??", "Lua writes 'or'"),
        ("!", "Lua writes 'not'"),
        ("=>", "Lua writes a function as function(user) … end"),
        (
            "/*",
            "a comment is --[[ … ]] in Lua, or -- to the end of the line",
        ),
        ("+=", "Lua writes x = x + 1"),
        ("-=", "Lua writes x = x - 1"),
        ("*=", "Lua writes x = x * 2"),
        ("++", "Lua writes x = x + 1"),
        ("?.", "Lua writes a and a.b"),
        ("?", "Lua writes 'condition and a or b'"),
    ]);
    if by_sign.is_some() {
        return by_sign;
    }
    let declares = |word: &str| {
        line.windows(2)
            .any(|pair| pair[0].text == word && pair[1].kind == TokenKind::Name)
    };
    if ["const", "let", "var"].into_iter().any(declares) {
        return Some("Lua declares a variable by 'local', as in local name = 1");
    }
    if ["async", "await"].into_iter().any(declares) {
        return Some("leave out 'async' and 'await': a request returns when its response is there");
    }
    if declares("import") || declares("from") {
        return Some("a plan loads a module by local name = require \"name\"");
    }
    if declares("def") || declares("func") || declares("fn") {
        return Some("Lua writes a function as local function name(user) … end");
    }
    if ["elif", "elsif", "elseif"]
        .into_iter()
        .any(|word| line.iter().any(|found| found.text == word))
        && !message.starts_with("'then'")
        && near.is_some_and(|near| near != "elseif")
    {
        return Some("Lua writes 'elseif condition then'");
    }
    let opens_block =
        message.starts_with("'then' expected") || message.starts_with("'do' expected");
    if opens_block && has("{") && !line.iter().any(|word| ["then", "do"].contains(&word.text)) {
        return Some(
            "a block of Lua has no braces: it begins with 'then' or 'do' and ends with 'end'",
        );
    }
    let is_near = |word: &Token<'_>| near == Some(word.text);
    if has("//") && (message.starts_with("syntax error") || line.iter().any(is_near)) {
        return Some("a comment begins with '--' in Lua; '//' divides");
    }
    let near = near?;
    match near {
        "{" => {
            Some("a block of Lua has no braces: it begins with 'then' or 'do' and ends with 'end'")
        }
        ":" => Some("a field of a table is name = value, or [\"any name\"] = value"),
        "=" if message.starts_with("'then' expected") || message.starts_with("'do' expected") => {
            Some("'==' compares; '=' sets a variable")
        }
        _ if message.starts_with("<name> expected") && near.starts_with(['"', '\'']) => {
            Some("a field of a table is name = value, or [\"any name\"] = value")
        }
        _ => None,
    }
}

/// Finds a missing comma between two values of a table or of a call.
fn missing_comma(
    message: &str,
    near: &str,
    words: &[Token<'_>],
    line: std::ops::Range<usize>,
) -> Option<String> {
    if !message.starts_with("'}' expected") && !message.starts_with("')' expected") {
        return None;
    }
    let place = line
        .clone()
        .find(|place| words[*place].text == near && *place > 0 && ends_value(words, place - 1))?;
    let (next, before) = (&words[place], &words[place - 1]);
    let is_start = match next.kind {
        TokenKind::Name => {
            !is_keyword(next.text)
                || ["function", "nil", "true", "false", "not"].contains(&next.text)
        }
        TokenKind::Number | TokenKind::Text => true,
        TokenKind::Sign => next.text == "{" || next.text == "[",
    };
    let opener = open_at(&words[..place]).open.last().copied()?;
    if !is_start {
        return None;
    }
    let on = if before.line == next.line {
        String::new()
    } else {
        format!(" on line {}", before.line)
    };
    Some(format!(
        "put a comma after {}{on}, or close the '{}' of line {} there",
        shown(before.text),
        opener.word.text,
        opener.word.line
    ))
}

/// Finds a block or a bracket that is not closed, or that is closed twice.
fn unbalanced(
    message: &str,
    near: Option<&str>,
    words: &[Token<'_>],
    end: usize,
) -> Option<String> {
    // Only the words up to the one at which Lua gave up are surely as they seem.
    let at = near.and_then(|near| words[..end].iter().rposition(|word| word.text == near));
    let before = &words[..at.map_or(end, |at| at)];
    let state = open_at(before);
    let describe = |opener: Opener<'_>| {
        let Opener { word, close } = opener;
        format!("the '{}' of line {} has no '{close}'", word.text, word.line)
    };
    let lacks_end = state.suspect.or(state.open.last().copied());
    let lacks_end = lacks_end.is_some_and(|opener| opener.close == "end");
    let chained = before.windows(2).any(|pair| {
        let same_line = pair[0].line == pair[1].line;
        same_line && (pair[0].text, pair[1].text) == ("else", "if")
    });
    if lacks_end && chained {
        return Some(
            "write 'elseif' as one word: the 'if' of 'else if' needs an 'end' of its own"
                .to_owned(),
        );
    }
    if let Some(opener) = state.suspect {
        return Some(describe(opener));
    }
    let closes = near.is_some_and(|near| ["end", "}", ")", "]", "until"].contains(&near));
    match state.open.last() {
        Some(opener)
            if !message.contains("(to close") && (closes && near != Some(opener.close)) =>
        {
            Some(describe(*opener))
        }
        None if closes => Some(format!(
            "there is nothing for this '{}' to close",
            near.unwrap_or_default()
        )),
        _ => None,
    }
}

/// The blocks and brackets still open after some words.
#[derive(Default)]
struct OpenBlocks<'a> {
    open: Vec<Opener<'a>>,
    /// An opener whose `end` stands further to the left than itself: that most likely belongs to another one.
    suspect: Option<Opener<'a>>,
}

fn open_at<'a>(words: &[Token<'a>]) -> OpenBlocks<'a> {
    let mut state = OpenBlocks::default();
    // The 'do' of a loop opens nothing of its own.
    let mut loops = 0;
    for word in words {
        let close = match (word.kind, word.text) {
            (TokenKind::Name, "function" | "if") => "end",
            (TokenKind::Name, "for" | "while") => {
                loops += 1;
                "end"
            }
            (TokenKind::Name, "do") if loops > 0 => {
                loops -= 1;
                continue;
            }
            (TokenKind::Name, "do") => "end",
            (TokenKind::Name, "repeat") => "until",
            (TokenKind::Sign, "{") => "}",
            (TokenKind::Sign, "(") => ")",
            (TokenKind::Sign, "[") => "]",
            (TokenKind::Name, "end" | "until") | (TokenKind::Sign, "}" | ")" | "]") => {
                if let Some(opener) = state.open.pop_if(|opener| opener.close == word.text) {
                    let outside = word.first && word.indent < opener.word.indent;
                    if outside && word.line > opener.word.line && state.suspect.is_none() {
                        state.suspect = Some(opener);
                    }
                }
                continue;
            }
            _ => continue,
        };
        let word = *word;
        state.open.push(Opener { word, close });
    }
    state
}

/// Returns whether a value may end with that word.
fn ends_value(words: &[Token<'_>], place: usize) -> bool {
    let word = words[place];
    match word.kind {
        TokenKind::Name => {
            !is_keyword(word.text) || ["end", "nil", "true", "false"].contains(&word.text)
        }
        TokenKind::Number | TokenKind::Text => true,
        TokenKind::Sign => ["}", ")", "]", "..."].contains(&word.text),
    }
}

fn is_keyword(word: &str) -> bool {
    const KEYWORDS: [&str; 22] = [
        "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if",
        "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
    ];
    KEYWORDS.contains(&word)
}

fn shown(text: &str) -> String {
    const MAX_SHOWN: usize = 30;
    if text.chars().count() > MAX_SHOWN || text.contains('\n') {
        "the text".to_owned()
    } else if text.starts_with(['"', '\'']) {
        text.to_owned()
    } else {
        format!("'{text}'")
    }
}

#[cfg(test)]
mod tests {
    use crate::plan_files::Sources;

    /// Compiles a text and returns the remedy for Lua's error.
    fn remedy_of(text: &str) -> String {
        let error = mlua::Lua::new()
            .load(text)
            .set_name("@p.lua")
            .into_function();
        let error = error.expect_err(text);
        super::super::diagnose(&error, &Sources::of_plan("p.lua", text)).to_string()
    }

    #[test]
    fn habits_of_other_languages_are_explained() {
        for (text, help) in [
            ("task { “a”, f }", "write \"…\" or '…'"),
            ("const x = 1", "local name = 1"),
            ("let x = 1", "local name = 1"),
            ("task { 'a', (user) => user }", "function(user) … end"),
            ("if a != b then end", "'~='"),
            ("if a && b then end", "'and'"),
            ("if a || b then end", "'or'"),
            ("if !a then end", "'not'"),
            ("// a comment", "begins with '--'"),
            ("local x = 1 // so many", "begins with '--'"),
            ("x += 1", "x = x + 1"),
            ("if a { b() }", "ends with 'end'"),
            ("if a = 1 then end", "'==' compares"),
            ("t = { \"name\": 1 }", "name = value"),
            ("t = { name: \"a\" }", "name = value"),
            ("x = `a`", "write a text as"),
            ("if a then elif b then end", "'elseif condition then'"),
            ("x = a ? 1 : 2", "condition and a or b"),
        ] {
            assert!(
                remedy_of(text).contains(help),
                "{text}: {}",
                remedy_of(text)
            );
        }
    }

    #[test]
    fn a_missing_comma_is_reported_with_both_sides() {
        for (text, help) in [
            (
                "f { name = 'x' expect = 1 }",
                "put a comma after 'x', or close the '{' of line 1 there",
            ),
            (
                "f { 'a'\n  function() end }",
                "put a comma after 'a' on line 1, or close the '{' of line 1",
            ),
            (
                "f { 1, {\n 2 } 3 }",
                "put a comma after '}', or close the '{' of line 1",
            ),
            (
                "f(1 2)",
                "put a comma after '1', or close the '(' of line 1",
            ),
        ] {
            assert!(
                remedy_of(text).contains(help),
                "{text}: {}",
                remedy_of(text)
            );
        }
    }

    #[test]
    fn what_is_not_closed_is_reported_with_its_line() {
        for (text, help) in [
            (
                "task { 'a', function(u)\n  if u then\n    u:get '/'\nend }",
                "the 'if' of line 2 has no 'end'",
            ),
            (
                "task { 'a', function(u)\n  u:get '/'\n}",
                "the 'function' of line 1 has no 'end'",
            ),
            (
                "task { function(u)\n  for i = 1, 2 do\n    f()\nend }",
                "the 'for' of line 2 has no 'end'",
            ),
            (
                "function f()\n  while x do\n    y()\nend\n",
                "the 'while' of line 2 has no 'end'",
            ),
            ("f(function() g('/' end)", "the '(' of line 1 has no ')'"),
            (
                "if a then b() else if c then d() end\nf { 'x' }",
                "write 'elseif' as one word",
            ),
            ("f()\nend", "nothing for this 'end' to close"),
        ] {
            assert!(
                remedy_of(text).contains(help),
                "{text}: {}",
                remedy_of(text)
            );
        }
    }

    #[test]
    fn what_is_reported_already_is_not_repeated() {
        for text in ["if x do end", "x = = 1", "f(", "goto 1", "local function"] {
            assert!(
                !remedy_of(text).contains("help"),
                "{text}: {}",
                remedy_of(text)
            );
        }
    }
}
