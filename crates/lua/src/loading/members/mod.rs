//! Names that a task uses but that do not exist: members of its user, of responses and of streams, and options of
//! requests. They are found in the plan's text, without running it. The search knows only names that stand there
//! literally, and passes over the rest: a variable that is set anew, a table that is computed, a user that is handed to
//! another function.

use crate::api::{RESPONSE, Returned, STREAM, USER_MEMBERS, UserMember, ValueType, user_member};
use crate::diagnostics::{Token, TokenKind, closing, outer, tokens};
use crate::loading::constants::{is_constant, option_problem, wait_problem};
use crate::loading::globals::Globals;
use crate::plan_files::SourceFile;
use crate::requests::{EXPECT, OPTIONS};
use lgoose_base::error::{Diagnostic, nearest};
use std::collections::HashMap;
use std::ops::Range;

/// The known content of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VariableContent {
    User,
    Value(&'static ValueType),
}

/// A construct that is open at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opened {
    TaskTable,
    Table,
    Other,
}

/// A variable, and how many blocks and brackets were open where it was made.
#[derive(Debug, Clone, Copy)]
struct Variable {
    holds: VariableContent,
    depth: usize,
}

/// Returns a warning for each name in a file that does not exist.
///
/// With a VM, also the constant options and arguments that a call would refuse.
pub(super) fn unknown_names(source: &SourceFile, globals: Option<&Globals>) -> Vec<Diagnostic> {
    let words = tokens(&source.text);
    let mut reader = MemberReader {
        source,
        globals,
        words: &words,
        variables: HashMap::new(),
        found: Vec::new(),
    };
    reader.read();
    let warnings = reader.found.into_iter();
    warnings
        .map(|(line, message, help)| {
            let diagnostic = Diagnostic::new(message).at(&source.name, Some(line), &source.text);
            match help.as_str() {
                "" => diagnostic,
                help => diagnostic.help(help),
            }
        })
        .collect()
}

struct MemberReader<'a> {
    source: &'a SourceFile,
    globals: Option<&'a Globals>,
    words: &'a [Token<'a>],
    variables: HashMap<&'a str, Variable>,
    /// Line, message and help.
    found: Vec<(u32, String, String)>,
}

impl<'a> MemberReader<'a> {
    fn read(&mut self) {
        let mut open: Vec<Opened> = Vec::new();
        let mut loops = 0;
        for place in 0..self.words.len() {
            let word = self.words[place];
            if word.kind == TokenKind::Text || word.kind == TokenKind::Number {
                continue;
            }
            match word.text {
                "function" => {
                    let of_task = open.last() == Some(&Opened::TaskTable);
                    self.parameters(place, of_task, open.len());
                    open.push(Opened::Other);
                }
                "for" | "while" => {
                    loops += 1;
                    open.push(Opened::Other);
                    if word.text == "for" {
                        self.forget_until(place + 1, &["in", "="]);
                    }
                }
                "do" if loops > 0 => loops -= 1,
                "if" | "do" | "repeat" | "(" | "[" => open.push(Opened::Other),
                "{" if place > 0 && self.text(place - 1) == "task" => open.push(Opened::TaskTable),
                "{" => open.push(Opened::Table),
                "end" | "until" | ")" | "]" | "}" => {
                    open.pop();
                    let depth = open.len();
                    self.variables.retain(|_, variable| variable.depth <= depth);
                }
                "local" => self.local(place, open.len()),
                _ if word.kind == TokenKind::Name => {
                    let is_key = open.last().is_some_and(|open| *open != Opened::Other)
                        && self.text(place + 1) == "=";
                    if !is_key {
                        self.name(place);
                    }
                }
                _ => {}
            }
        }
    }

    fn text(&self, place: usize) -> &'a str {
        self.words.get(place).map_or("", |word| word.text)
    }

    fn is_name(&self, place: usize) -> bool {
        let word = self.words.get(place);
        word.is_some_and(|word| word.kind == TokenKind::Name)
    }

    /// Reads the parameters of a function: the first one of a task's function is its user.
    fn parameters(&mut self, function: usize, of_task: bool, depth: usize) {
        let first = function + 2;
        if self.text(function + 1) != "(" {
            // The function has a name, which may be one of those that are known.
            return self.forget_until(function + 1, &[")"]);
        }
        self.forget_until(first, &[")"]);
        if of_task && self.is_name(first) {
            let holds = VariableContent::User;
            let depth = depth + 1;
            self.variables
                .insert(self.text(first), Variable { holds, depth });
        }
    }

    /// Forgets all names up to one of these words: from here on they stand for something else.
    fn forget_until(&mut self, from: usize, ends: &[&str]) {
        for place in from..self.words.len() {
            let word = self.text(place);
            if ends.contains(&word) {
                break;
            }
            self.variables.remove(word);
        }
    }

    /// Reads `local name = user:get …`, after which the name holds a response.
    fn local(&mut self, place: usize, depth: usize) {
        let name = self.text(place + 1);
        self.variables.remove(name);
        let mut next = place + 2;
        while self.text(next) == "," {
            self.variables.remove(self.text(next + 1));
            next += 2;
        }
        let receiver = self.variables.get(self.text(place + 3));
        let calls = receiver.is_some_and(|variable| variable.holds == VariableContent::User)
            && self.text(place + 2) == "="
            && self.text(place + 4) == ":";
        let member = calls.then(|| user_member(self.text(place + 5))).flatten();
        let Some(method) = member.and_then(|member| member.options.as_ref()) else {
            return;
        };
        let Some(arguments) = self.arguments(place + 6) else {
            return;
        };
        // If the expression goes on behind the call, its value is not the response itself.
        let behind = self.words.get(arguments.end + 1);
        let ends = behind.is_none_or(|word| {
            word.text == ";" || (word.kind == TokenKind::Name && !matches!(word.text, "and" | "or"))
        });
        if ends {
            let options = self.argument(&arguments, method.place);
            let is_stream = |table| {
                let keys: Vec<usize> = self.keys(table);
                keys.iter().any(|key| self.text(*key) == "stream")
            };
            let returned = match (&method.returned, options) {
                (Returned::Unchecked, _) => return,
                (Returned::Value(value), _) => value,
                // Options in a variable may make it either.
                (Returned::Response, Some(options)) if self.text(options) != "{" => return,
                (Returned::Response, Some(table)) if is_stream(table) => &STREAM,
                (Returned::Response, _) => &RESPONSE,
            };
            let holds = VariableContent::Value(returned);
            self.variables.insert(name, Variable { holds, depth });
        }
    }

    /// Returns the words of a call's arguments without its parentheses; for `f "x"` and `f {}`, the word or table
    /// itself. The range ends at the last word of the call.
    fn arguments(&self, place: usize) -> Option<Range<usize>> {
        let word = self.words.get(place)?;
        match word.text {
            "(" => Some(place + 1..closing(self.words, place)?),
            "{" => Some(place..closing(self.words, place)?),
            _ if word.kind == TokenKind::Text => Some(place..place),
            _ => None,
        }
    }

    /// Reads a name that may be a known variable, and the member of it that is used.
    fn name(&mut self, place: usize) {
        let Some(variable) = self.variables.get(self.text(place)).copied() else {
            return;
        };
        let before = match place {
            0 => "",
            place => self.text(place - 1),
        };
        if matches!(before, "." | ":" | "goto" | "::" | "local") {
            return;
        }
        let sign = self.text(place + 1);
        if sign == "=" || sign == "," && !matches!(before, "(" | "," | "{" | "=" | "return") {
            self.variables.remove(self.text(place));
            return;
        }
        if !matches!(sign, "." | ":") || !self.is_name(place + 2) {
            return;
        }
        let member = self.words[place + 2];
        if sign == "." && self.text(place + 3) == "=" {
            return self.set_member(place, member, variable.holds);
        }
        self.member(place, member, variable.holds);
        if sign == "." {
            self.dot(place, member, variable.holds);
        }
        if variable.holds == VariableContent::User
            && sign == ":"
            && let Some(member) = user_member(member.text)
        {
            self.options(place + 3, member);
            self.constant_arguments(place + 3, member);
        }
        if variable.holds == VariableContent::Value(&RESPONSE) && sign == ":" {
            self.constant_query(place + 3, member);
        }
    }

    /// Checks the constant selector, pattern or path that a method of a response gets, by the function that reads it there.
    fn constant_query(&mut self, place: usize, method: Token<'_>) {
        let (Some(globals), Some(arguments)) = (self.globals, self.arguments(place)) else {
            return;
        };
        let first = match self.text(place) {
            "(" => {
                let end = self.commas(arguments.clone()).next();
                arguments.start..end.unwrap_or(arguments.end)
            }
            _ => place..place + 1,
        };
        let [query] = &self.words[first] else {
            return;
        };
        if query.kind != TokenKind::Text {
            return;
        }
        let (name, query) = (method.text, query.text);
        let call = match name {
            "css" | "form" | "text" => format!("html.parse(''):{name}({query})"),
            "attr" => format!("html.parse(''):attr({query}, 'id')"),
            "match" | "matches" => format!("regex({query})"),
            "json" => format!("json.get({{}}, {query})"),
            _ => return,
        };
        if let Some(problem) = globals.problem_of_call(&call) {
            let (message, help) = problem.split_once("; ").unwrap_or((&problem, ""));
            let found = (method.line, message.to_owned(), help.to_owned());
            self.found.push(found);
        }
    }

    /// Finds fields of a user or a response that are set, and cannot be.
    fn set_member(&mut self, place: usize, member: Token<'_>, holds: VariableContent) {
        let (variable, name) = (self.text(place), member.text);
        let (message, help) = match holds {
            VariableContent::User => (
                format!("cannot set '{name}' of user"),
                format!("keep what belongs to a user in {variable}.data.{name}"),
            ),
            VariableContent::Value(value) => (
                format!("cannot set '{name}' of {}", value.noun),
                "keep what you need in a local or in user.data".to_owned(),
            ),
        };
        self.found.push((member.line, message, help));
    }

    /// Checks the arguments of a call that stand in the text as they are.
    fn constant_arguments(&mut self, place: usize, member: &UserMember) {
        let Some(arguments) = self.arguments(place) else {
            return;
        };
        let name = member.name;
        let is_bracketed = self.text(place) == "(";
        let line = self.words[place].line;
        let is_empty = is_bracketed && arguments.is_empty();
        let sends = member.options.is_some() && member.is_method();
        if is_empty && sends && !["submit", "timed"].contains(&name) {
            let message = format!("user:{name} needs a path or a table, and gets nothing");
            let help = format!("write user:{name}(\"/path\")");
            self.found.push((line, message, help));
            return;
        }
        if name == "wait" {
            let words: Vec<Token<'_>> = if is_bracketed {
                self.words[arguments.clone()].to_vec()
            } else {
                vec![self.words[place]]
            };
            let parts: Vec<&[Token<'_>]> = words.split(|word| word.text == ",").collect();
            let singles: Option<Vec<Token<'_>>> = parts
                .iter()
                .map(|part| match part {
                    [word] if word.kind != TokenKind::Name && word.kind != TokenKind::Sign => {
                        Some(*word)
                    }
                    _ => None,
                })
                .collect();
            let problem = singles.and_then(|singles| wait_problem(&singles));
            if let Some(problem) = problem {
                self.found.push((line, problem, String::new()));
            }
        }
        let Some(options) = &member.options else {
            return;
        };
        let Some(first) = self
            .argument(&arguments, options.place)
            .filter(|_| is_bracketed)
        else {
            return;
        };
        let is_literal = self.words.get(first).is_some_and(|word| {
            matches!(word.kind, TokenKind::Text | TokenKind::Number) || word.text == "true"
        });
        if options.place > 0 && is_literal && first + 1 == arguments.end {
            let message = format!(
                "the options of user:{name} are a table, not {}",
                self.text(first)
            );
            let help = format!("write user:{name}(…, {{ name = \"front page\", timeout = 5 }})");
            self.found.push((line, message, help));
        }
    }

    /// Finds a method that is called with a dot, which passes it no user or response.
    fn dot(&mut self, place: usize, member: Token<'_>, holds: VariableContent) {
        let method = match holds {
            VariableContent::User => user_member(member.text)
                // 'stop' needs no user.
                .is_some_and(|member| member.is_method() && member.name != "stop"),
            VariableContent::Value(value) => value.methods.contains(&member.text),
        };
        let first = match self.text(place + 3) {
            "(" => self.words.get(place + 4),
            _ => None,
        };
        let word = self.words.get(place + 3);
        let called = word.is_some_and(|word| word.kind == TokenKind::Text || word.text == "{")
            // A variable that is passed first may be the user.
            || first.is_some_and(|first| first.kind != TokenKind::Name);
        let is_value = matches!(
            self.text(place + 3),
            "." | "[" | ")" | ".." | "==" | "~=" | "<" | ">" | "+"
        );
        if method && is_value && holds != VariableContent::User {
            let (variable, name) = (self.text(place), member.text);
            let message = format!("'{variable}.{name}' is a method, and has no fields");
            let help = format!("call it: {variable}:{name}()");
            self.found.push((member.line, message, help));
        }
        if method && called {
            let (variable, name) = (self.text(place), member.text);
            let message = format!("'{variable}.{name}' is called with a dot");
            let help = format!("write {variable}:{name}(…), with a colon");
            self.found.push((member.line, message, help));
        }
    }

    fn member(&mut self, place: usize, member: Token<'_>, holds: VariableContent) {
        let (owner, names) = match holds {
            VariableContent::User => {
                let names = USER_MEMBERS.iter().map(|member| member.name);
                ("a user", names.collect())
            }
            VariableContent::Value(value) => (value.noun, [value.fields, value.methods].concat()),
        };
        if names.contains(&member.text) {
            return;
        }
        let (variable, name) = (self.text(place), member.text);
        let has = format!("{owner} has: {}", names.join(", "));
        let lower = name.to_ascii_lowercase();
        let same = names.iter().copied().find(|known| *known == lower);
        let is_client = ["client", "http", "https", "browser", "session", "page"];
        let help = match same.or_else(|| nearest(name, names.iter().copied())) {
            _ if holds == VariableContent::User && is_client.contains(&name) => {
                format!("a user sends requests itself: {variable}:get \"/\"; {has}")
            }
            Some(near) => format!("did you mean '{near}'? {has}"),
            None => has,
        };
        let message = format!("'{variable}{}{name}' does not exist", self.text(place + 1));
        self.found.push((member.line, message, help));
    }

    /// Checks the names in the table of options of a call whose arguments begin at `place`.
    fn options(&mut self, place: usize, member: &UserMember) {
        let (Some(options), Some(arguments)) = (&member.options, self.arguments(place)) else {
            return;
        };
        let second = self.commas(arguments.clone()).next();
        if member.sends_body()
            && let Some(body) = second
            && self.text(body + 1) == "{"
        {
            let line = self.words[body + 1].line;
            let message = format!("the body of user:{} is a text, not a table", member.name);
            let help = "send a table as an option after the body: \
                        user:post(path, nil, { json = { … } }), or form = { … }";
            self.found.push((line, message, help.to_owned()));
        }
        let first = self.argument(&arguments, options.place);
        let Some(table) = first.filter(|first| self.text(*first) == "{") else {
            return;
        };
        let names = options.names.concat();
        for key in self.keys(table) {
            self.key(key, "option", options.owner, &names);
            if options.owner == "a request" && names.contains(&self.text(key)) {
                self.constant_option(key, &names);
            }
            if self.text(key) == "expect" && self.text(key + 2) == "{" {
                for key in self.keys(key + 2) {
                    self.key(key, "field", "expect", options.expect);
                }
            }
        }
    }

    /// Checks an option whose value is constant, or the constant fields of its `expect`.
    fn constant_option(&mut self, key: usize, names: &[&str]) {
        let Some(lua) = self.globals.map(Globals::lua) else {
            return;
        };
        let others: Vec<&str> = names
            .iter()
            .copied()
            .filter(|name| !OPTIONS.contains(name))
            .collect();
        if others.contains(&self.text(key)) {
            return;
        }
        let end = self.value_end(key + 2);
        let is_expect = self.text(key) == "expect" && self.text(key + 2) == "{";
        if is_expect && let Some(status) = self.surplus_status(key + 2) {
            let (line, list) = status;
            let message = "'expect' has values without a name".to_owned();
            let help = format!("several statuses are a list: status = {{ {list} }}");
            self.found.push((line, message, help));
            return;
        }
        let entries: Vec<(usize, usize)> = if is_expect {
            let keys = self.keys(key + 2).into_iter();
            keys.map(|key| (key, self.value_end(key + 2))).collect()
        } else {
            vec![(key, end)]
        };
        for (entry, end) in entries {
            if !is_constant(&self.words[entry..end]) {
                continue;
            }
            let (first, last) = (self.words[entry], self.words[end - 1]);
            let text = &self.source.text[first.at..last.end()];
            let option = if is_expect {
                format!("expect = {{ {text} }}")
            } else {
                text.to_owned()
            };
            let Some(problem) = option_problem(lua, &option, &others) else {
                continue;
            };
            // Names that do not exist have their own message.
            let is_known = !is_expect || EXPECT.contains(&first.text);
            if is_known {
                let (message, help) = problem.split_once("; ").unwrap_or((&problem, ""));
                let found = (first.line, message.to_owned(), help.to_owned());
                self.found.push(found);
            }
        }
    }

    /// Returns the place behind the value of a field that begins at `from`.
    fn value_end(&self, from: usize) -> usize {
        let mut places = outer(self.words, from..self.words.len());
        let end = places.find(|place| matches!(self.text(*place), "," | ";" | "}" | ")"));
        end.unwrap_or(self.words.len())
    }

    /// Returns the line and the statuses of an `expect` that has further ones without a name.
    fn surplus_status(&self, table: usize) -> Option<(u32, String)> {
        let status = self
            .keys(table)
            .into_iter()
            .find(|key| self.text(*key) == "status")?;
        let number = |place: usize| {
            let word = self.words.get(place);
            word.is_some_and(|word| word.kind == TokenKind::Number)
        };
        let mut list = vec![self.text(status + 2)];
        let mut at = status + 3;
        while self.text(at) == "," && number(at + 1) && matches!(self.text(at + 2), "," | "}") {
            list.push(self.text(at + 1));
            at += 2;
        }
        (list.len() > 1).then(|| (self.words[status].line, list.join(", ")))
    }

    fn key(&mut self, key: usize, kind: &str, owner: &str, names: &[&str]) {
        let word = self.words[key];
        if names.contains(&word.text) {
            return;
        }
        let all = format!("{kind}s of {owner}: {}", names.join(", "));
        let help = match nearest(word.text, names.iter().copied()) {
            Some(near) => format!("did you mean '{near}'? {all}"),
            None => all,
        };
        let message = format!("unknown {kind} '{}' in {owner}", word.text);
        self.found.push((word.line, message, help));
    }

    /// Returns the places of the commas between arguments.
    fn commas(&self, arguments: Range<usize>) -> impl Iterator<Item = usize> {
        outer(self.words, arguments).filter(|place| self.text(*place) == ",")
    }

    /// Returns the place at which the argument with that number begins, from 0, if there is one.
    fn argument(&self, arguments: &Range<usize>, number: usize) -> Option<usize> {
        match number {
            0 => Some(arguments.start),
            number => {
                let comma = self.commas(arguments.clone()).nth(number - 1);
                comma.map(|comma| comma + 1)
            }
        }
    }

    /// Returns the places of the names that are set in a table by `name = value`.
    fn keys(&self, table: usize) -> Vec<usize> {
        let Some(end) = closing(self.words, table) else {
            return Vec::new();
        };
        let places = outer(self.words, table + 1..end);
        let keys = places.filter(|place| {
            let starts_pair = matches!(self.text(place - 1), "{" | "," | ";");
            self.is_name(*place) && starts_pair && self.text(place + 1) == "="
        });
        keys.collect()
    }
}

#[cfg(test)]
mod tests;
