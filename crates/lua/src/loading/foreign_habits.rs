//! Code that Lua can read and that does not do what its author means, as habits of other languages make it: '+' between texts,
//! loops over tables, lists that begin at 0, conditions of bits, keys that stand twice in a table. Found in the text of a plan's
//! files, by words, and only where there is hardly a doubt.

use crate::api::method_elsewhere;
use crate::diagnostics::{Token, TokenKind, closing, outer, tokens};
use crate::plan_files::SourceFile;
use lgoose_base::error::Diagnostic;
use std::collections::HashMap;

/// The literal that a local variable is declared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeclaredLiteral {
    List,
    Text,
}

/// A finding: line, message and help.
type Finding = (u32, String, String);

/// Returns a warning for each habit in a file.
pub(super) fn foreign_habits(source: &SourceFile) -> Vec<Diagnostic> {
    let words = tokens(&source.text);
    let reader = HabitReader {
        literals: literals(&words),
        words: &words,
    };
    let found = (0..words.len()).flat_map(|place| {
        let habit = reader.finding(place);
        habit.into_iter().chain(reader.repeated_keys(place))
    });
    let warning = |(line, message, help): Finding| {
        let warning = Diagnostic::new(message).at(&source.name, Some(line), &source.text);
        warning.help(help)
    };
    found.map(warning).collect()
}

struct HabitReader<'a> {
    words: &'a [Token<'a>],
    /// The variables that hold a list or a text in the whole file.
    literals: HashMap<&'a str, DeclaredLiteral>,
}

impl<'a> HabitReader<'a> {
    fn text(&self, place: usize) -> &'a str {
        self.words.get(place).map_or("", |word| word.text)
    }

    fn before(&self, place: usize) -> Option<&Token<'a>> {
        place.checked_sub(1).map(|before| &self.words[before])
    }

    fn is_kind(&self, place: usize, kind: TokenKind) -> bool {
        self.words.get(place).is_some_and(|word| word.kind == kind)
    }

    /// Returns the finding that begins with a word.
    fn finding(&self, place: usize) -> Option<Finding> {
        let word = self.words[place];
        let (message, help) = match (word.kind, word.text) {
            (TokenKind::Sign, "+") => self.joined_by_plus(place)?,
            (TokenKind::Sign, "%") => self.formatted_by_percent(place)?,
            (TokenKind::Sign, "..") => self.call_before_join(place)?,
            (TokenKind::Name, "for") => self.odd_loop(place)?,
            (TokenKind::Name, "not") => self.negated_comparison(place)?,
            (TokenKind::Name, "if" | "elseif" | "while") => self.bits_in_condition(place)?,
            (TokenKind::Text, _) => self.quotes(place)?,
            (TokenKind::Name, "rawset") => self.written_shared(place, "(")?,
            (TokenKind::Name, "table") => self.written_shared(place + 2, "(")?,
            (TokenKind::Name, _) => self.use_of_literal(place)?,
            _ => return None,
        };
        Some((word.line, message, help))
    }

    /// Finds keys that stand twice in the table that begins with a word: Lua keeps the last value of each, and says nothing.
    fn repeated_keys(&self, place: usize) -> Vec<Finding> {
        let is_table = self.text(place) == "{" && self.is_kind(place, TokenKind::Sign);
        let Some(end) = closing(self.words, place).filter(|_| is_table) else {
            return Vec::new();
        };
        let mut counts: HashMap<(bool, &str), usize> = HashMap::new();
        let mut found = Vec::new();
        for at in outer(self.words, place + 1..end) {
            let Some((is_number, key)) = self.key_at(at) else {
                continue;
            };
            let count = counts.entry((is_number, key)).or_default();
            *count += 1;
            if *count == 2 {
                found.push((
                    self.words[at].line,
                    format!("'{key}' stands twice in this table, and the last value holds"),
                    "remove one of the two, or give it the name that was meant".to_owned(),
                ));
            }
        }
        found
    }

    /// Returns the key of a table that begins at a place, and whether it is a number: that of `name = …`, `["name"] = …` or
    /// `[1] = …`.
    fn key_at(&self, place: usize) -> Option<(bool, &'a str)> {
        if !["{", ",", ";"].contains(&self.text(place.checked_sub(1)?)) {
            return None;
        }
        if self.is_kind(place, TokenKind::Name) && self.text(place + 1) == "=" {
            return Some((false, self.text(place)));
        }
        let is_key = self.text(place) == "[" && self.text(place + 2) == "]";
        let key = self.words.get(place + 1).filter(|_| is_key)?;
        let is_set = self.text(place + 3) == "=";
        match key.kind {
            TokenKind::Text if is_set => Some((false, key.text.trim_matches(['"', '\'']))),
            TokenKind::Number if is_set => Some((true, key.text)),
            _ => None,
        }
    }

    fn joined_by_plus(&self, place: usize) -> Option<(String, String)> {
        let is_text = |place: usize| {
            self.is_kind(place, TokenKind::Text)
                && self
                    .text(place)
                    .trim_matches(['"', '\''])
                    .parse::<f64>()
                    .is_err()
        };
        // 'f "x" + 1' adds to what a call returns.
        let is_argument = |place: usize| {
            place > 0
                && self.is_kind(place - 1, TokenKind::Name)
                && !self.words[place - 1].is_keyword()
        };
        let left = place
            .checked_sub(1)
            .is_some_and(|left| is_text(left) && !is_argument(left));
        let right = is_text(place + 1);
        (left || right).then(|| {
            (
                "'+' adds numbers, and a text is none".to_owned(),
                "'..' joins texts, as in \"/node/\" .. id".to_owned(),
            )
        })
    }

    fn formatted_by_percent(&self, place: usize) -> Option<(String, String)> {
        let text = self.before(place)?;
        let is_format = text.kind == TokenKind::Text && text.text.contains('%');
        is_format.then(|| {
            (
                "'%' is the rest of a division, and a text has none".to_owned(),
                "Lua writes string.format(\"%d users\", n), or (\"%d users\"):format(n)".to_owned(),
            )
        })
    }

    /// Finds `user:get "/node/" .. id`, which joins the response.
    fn call_before_join(&self, place: usize) -> Option<(String, String)> {
        let argument = place.checked_sub(1)?;
        let method = argument.checked_sub(1)?;
        let colon = method.checked_sub(1)?;
        let is_request = self.is_kind(argument, TokenKind::Text)
            && self.text(colon) == ":"
            && ["get", "head", "delete", "post", "put", "patch", "options"]
                .contains(&self.text(method));
        is_request.then(|| {
            let (name, text) = (self.text(method), self.text(argument));
            (
                format!("the call of '{name}' ends before '..', which then joins the response"),
                format!("a call with a joined text needs parentheses: user:{name}({text} .. …)"),
            )
        })
    }

    fn odd_loop(&self, place: usize) -> Option<(String, String)> {
        let end = (place..self.words.len().min(place + 40)).find(|at| self.text(*at) == "do")?;
        let sign = (place..end).find(|at| ["in", "="].contains(&self.text(*at)))?;
        let name = self.text(sign - 1);
        let first = sign + 1;
        if self.text(sign) == "=" {
            let comparison =
                (first..end).find(|at| ["<", "<=", ">", ">="].contains(&self.text(*at)))?;
            let is_limit = (first..comparison).any(|at| self.text(at) == ",")
                && !(first..comparison).any(|at| ["(", "and", "or"].contains(&self.text(at)));
            if !is_limit {
                return None;
            }
            let limit = self.text(comparison + 1);
            let last = match (self.text(comparison), limit.parse::<i64>()) {
                ("<", Ok(limit)) => limit.saturating_sub(1).to_string(),
                ("<", Err(_)) => format!("{limit} - 1"),
                _ => limit.to_owned(),
            };
            let from = self.text(first);
            return Some((
                "the second value of 'for' is the last number, not a condition".to_owned(),
                format!("Lua writes for {name} = {from}, {last} do … end"),
            ));
        }
        let is_number = self.is_kind(first, TokenKind::Number);
        if is_number {
            let last = match self.text(first + 1) {
                "," => self.text(first + 2),
                _ => self.text(first),
            };
            return Some((
                "a loop over numbers has '=', not 'in'".to_owned(),
                format!("Lua writes for {name} = 1, {last} do … end"),
            ));
        }
        let is_table = self.text(first) == "{";
        let is_list =
            end == first + 1 && self.literals.get(self.text(first)) == Some(&DeclaredLiteral::List);
        (is_table || is_list).then(|| {
            let list = if is_list { format!("({})", self.text(first)) } else { " { … }".to_owned() };
            (
                "a table is nothing that 'for … in' can call".to_owned(),
                format!("Lua writes for _, {name} in ipairs{list} do … end, or pairs for the fields of a table"),
            )
        })
    }

    /// Finds `not a == b`, which compares true or false with `b`.
    fn negated_comparison(&self, place: usize) -> Option<(String, String)> {
        let mut at = place + 1;
        if !self.is_kind(at, TokenKind::Name) || self.words[at].is_keyword() {
            return None;
        }
        while [".", ":"].contains(&self.text(at + 1)) && self.is_kind(at + 2, TokenKind::Name) {
            at += 2;
        }
        let sign = self.text(at + 1);
        let right = self.words.get(at + 2)?;
        let is_value =
            matches!(right.kind, TokenKind::Number | TokenKind::Text) || right.text == "nil";
        (["==", "~="].contains(&sign) && is_value).then(|| {
            let other = if sign == "==" { "~=" } else { "==" };
            (
                format!(
                    "'not' binds before '{sign}': this compares true or false with {}",
                    right.text
                ),
                format!("write a {other} b, or not (a {sign} b)"),
            )
        })
    }

    fn bits_in_condition(&self, place: usize) -> Option<(String, String)> {
        let end = (place..self.words.len().min(place + 60))
            .find(|at| ["then", "do"].contains(&self.text(*at)))?;
        let header = place + 1..end;
        let compares = header
            .clone()
            .any(|at| ["==", "~=", "<", ">", "<=", ">="].contains(&self.text(at)));
        for at in header {
            if self.words[at].kind != TokenKind::Sign {
                continue;
            }
            let ours = match self.text(at) {
                "&" if compares => "and",
                "|" if compares => "or",
                "~" if at == place + 1 => "not",
                _ => continue,
            };
            let sign = self.text(at);
            return Some((
                format!("'{sign}' is for the bits of whole numbers"),
                format!("Lua writes '{ours}' in a condition"),
            ));
        }
        None
    }

    /// Finds quotes within a text, and texts in three quotes.
    fn quotes(&self, place: usize) -> Option<(String, String)> {
        let (word, next) = (self.words[place], self.words.get(place + 1)?);
        if next.at != word.end() {
            return None;
        }
        if ["\"\"", "''"].contains(&word.text) && next.kind == TokenKind::Text {
            return Some((
                "three quotes are an empty text and another one".to_owned(),
                "a text of several lines stands in [[ … ]], and a comment in --[[ … ]]".to_owned(),
            ));
        }
        let third = self.words.get(place + 2)?;
        let is_broken = next.kind == TokenKind::Name
            && third.kind == TokenKind::Text
            && third.at == next.end()
            && word.text.starts_with(['"', '\''])
            && third.text.chars().next() == word.text.chars().next();
        is_broken.then(|| {
            (
                format!("the quotes before '{}' end the text", next.text),
                "quotes within a text are \\\", or the text stands between the other quotes: 'a \"b\" c'"
                    .to_owned(),
            )
        })
    }

    /// Finds functions that would write to `shared`, which all users read.
    fn written_shared(&self, place: usize, open: &str) -> Option<(String, String)> {
        let function = self.text(place);
        let writes = ["rawset", "sort", "insert", "remove"].contains(&function);
        let is_it = writes && self.text(place + 1) == open && self.text(place + 2) == "shared";
        is_it.then(|| {
            (
                format!("'{function}' cannot change 'shared', which all users read"),
                "copy it first, as in local own = json.copy(shared.list); require \"lgoose.shared\" has counters, \
                 queues and maps that users share"
                    .to_owned(),
            )
        })
    }

    /// Finds what is no part of a list or of a text in Lua.
    fn use_of_literal(&self, place: usize) -> Option<(String, String)> {
        let name = self.text(place);
        let literal = self.literals.get(name)?;
        if [".", ":", "local"].contains(&self.before(place).map_or("", |word| word.text)) {
            return None;
        }
        let (sign, member) = (self.text(place + 1), self.text(place + 2));
        let sets_zero = || {
            let mut fours = self.words.windows(4);
            fours.any(|four| {
                (four[0].text, four[1].text, four[2].text, four[3].text) == ("[", "0", "]", "=")
            })
        };
        if sign == "[" && member == "0" && self.text(place + 3) == "]" && !sets_zero() {
            return (*literal == DeclaredLiteral::List).then(|| {
                (
                    format!("the list '{name}' has no place 0"),
                    format!("a list begins at 1 in Lua: {name}[1] is the first value, and {name}[#{name}] the last"),
                )
            });
        }
        if ![".", ":"].contains(&sign) || self.text(place + 3) == "=" || self.defines(member) {
            return None;
        }
        // What texts of Lua have.
        let of_text = [
            "len", "upper", "lower", "find", "format", "gsub", "sub", "rep", "match",
        ];
        if *literal == DeclaredLiteral::Text && of_text.contains(&member) {
            return None;
        }
        let ours = method_elsewhere(name, member)?;
        let noun = match literal {
            DeclaredLiteral::List => "a table",
            DeclaredLiteral::Text => "a text",
        };
        Some((format!("{noun} has no '{member}' in Lua"), ours))
    }

    /// Returns whether the file gives any value a member of that name.
    fn defines(&self, member: &str) -> bool {
        (0..self.words.len()).any(|at| {
            self.text(at) == member
                && (self.text(at + 1) == "="
                    || self.text(at + 1) == "(" && at >= 3 && {
                        let head = at.saturating_sub(5)..at;
                        head.into_iter()
                            .any(|before| self.text(before) == "function")
                    })
        })
    }
}

/// Returns the variables that are declared once in a file, with a table or a text, and never set again.
fn literals<'a>(words: &[Token<'a>]) -> HashMap<&'a str, DeclaredLiteral> {
    let text = |place: usize| words.get(place).map_or("", |word| word.text);
    // Metatables give tables any member.
    if words.iter().any(|word| word.text == "setmetatable") {
        return HashMap::new();
    }
    let mut literals = HashMap::new();
    let mut others: Vec<&str> = Vec::new();
    for place in 0..words.len() {
        let name = words[place];
        if name.kind != TokenKind::Name || name.is_keyword() {
            continue;
        }
        let before = place.checked_sub(1).map_or("", text);
        let is_plain = before == "local" && text(place + 1) == "=";
        if is_plain {
            let value = words.get(place + 2);
            let literal = match value {
                Some(value) if value.text == "{" && value.kind == TokenKind::Sign => {
                    Some((DeclaredLiteral::List, closing(words, place + 2)))
                }
                Some(value) if value.kind == TokenKind::Text => {
                    Some((DeclaredLiteral::Text, Some(place + 2)))
                }
                _ => None,
            };
            // The value may be a part of an expression.
            let ends = literal.and_then(|(literal, end)| {
                let behind = end.map(|end| text(end + 1))?;
                (![".", "..", "[", ":", "and", "or", "(", "%", "+", "=="].contains(&behind))
                    .then_some(literal)
            });
            match ends {
                Some(literal) if !literals.contains_key(name.text) => {
                    literals.insert(name.text, literal);
                    continue;
                }
                _ => others.push(name.text),
            }
        } else if ["local", "function", "for"].contains(&before)
            || text(place + 1) == "=" && ![".", "{", ","].contains(&before)
            || is_parameter(words, place)
        {
            others.push(name.text);
        }
    }
    for name in others {
        literals.remove(name);
    }
    literals
}

/// Returns whether a word stands among others between commas that something declares or sets.
fn is_parameter(words: &[Token<'_>], place: usize) -> bool {
    let text = |place: usize| words.get(place).map_or("", |word| word.text);
    let mut at = place;
    // Back over 'a, b,' to what they belong to.
    while at >= 2 && text(at - 1) == "," && words[at - 2].kind == TokenKind::Name {
        at -= 2;
    }
    let before = at.checked_sub(1).map_or("", text);
    match before {
        "local" | "for" => true,
        "(" => {
            let head = at.saturating_sub(6)..at;
            head.into_iter().any(|at| text(at) == "function")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::foreign_habits;
    use crate::plan_files::SourceFile;

    fn messages(text: &str) -> Vec<String> {
        let source = SourceFile {
            name: "p.lua".to_owned(),
            text: text.into(),
        };
        let found = foreign_habits(&source);
        found
            .iter()
            .map(|warning| warning.message().to_owned())
            .collect()
    }

    #[test]
    fn writing_to_what_all_users_read_is_reported() {
        for text in [
            "rawset(shared, 'a', 1)",
            "table.sort(shared.list)",
            "table.insert(shared.list, 1)",
        ] {
            assert_eq!(messages(text).len(), 1, "{text}");
        }
        for text in [
            "rawset(own, 'a', shared.a)",
            "table.sort(own)",
            "local n = #shared.list",
        ] {
            assert_eq!(messages(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_key_that_stands_twice_in_one_table_is_reported() {
        for text in [
            "f { name = 'a', name = 'b' }",
            "f { name = 'a', ['name'] = 'b' }",
            "f { [1] = 'a'; [1] = 'b' }",
            "f { g = function() local a = 1; a = 2 end, x = 1, x = 2 }",
        ] {
            assert_eq!(messages(text).len(), 1, "{text}");
        }
        let expected = "'name' stands twice in this table, and the last value holds";
        assert_eq!(messages("f { name = 'a',\nname = 'b' }"), [expected]);
        for text in [
            "f { name = 'a', t = { name = 'b' } }",
            "f { name = 'a' } f { name = 'b' }",
            "f { function() local a, b = 1; b = 2; b = 3 end }",
            "f { [x] = 1, [x] = 2, a == 1, a == 1 }",
            "f { a = b, c = a, [1] = 'a', ['1'] = 'b' }",
        ] {
            assert_eq!(messages(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_variable_that_is_set_again_is_no_literal() {
        for text in [
            "local t = {} t = other() t.push(1)",
            "local t = {} local function f(t) t.push(1) end",
            "local t = setmetatable({}, m) t.push(1)",
            "local s = 'a' .. b print(s.length)",
            "for _, t in ipairs(x) do t.push(1) end local t = {}",
        ] {
            assert_eq!(messages(text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(
            messages("local t = {} t.push(1)"),
            ["a table has no 'push' in Lua"]
        );
    }
}
