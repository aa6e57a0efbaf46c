//! Splits a script of JavaScript into statements, without their wrappers.

/// A piece of a script.
#[derive(Debug, PartialEq)]
pub(super) enum Statement {
    Plain(String),
    If {
        condition: String,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    /// The first line of a statement that is not read: a loop, a function.
    Other(String),
}

/// The most bytes of a script that are read.
const MAX_SCRIPT_BYTES: usize = 64 << 10;
/// The deepest blocks that are read.
const MAX_DEPTH: usize = 20;

// The head of a test: `pm.test("name", function () {`, or an arrow function with or without a block.
pattern!(
    TEST,
    r#"^pm\s*\.\s*test\(\s*(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)\s*,\s*(?:async\s*)?(?:function\s*\w*\s*\([^)]*\)|\([^)]*\)\s*=>|\w+\s*=>)\s*"#
);
pattern!(OTHER, r"^(?:for|while|switch|do|function|async|class)\b");

/// Returns the statements of a script, in their order.
pub(super) fn statements(script: &str) -> Vec<Statement> {
    let mut end = script.len().min(MAX_SCRIPT_BYTES);
    while !script.is_char_boundary(end) {
        end -= 1;
    }
    let mut reader = ScriptReader {
        rest: &script[..end],
        depth: 0,
    };
    let mut found = Vec::new();
    while !reader.rest.is_empty() {
        found.extend(reader.block());
        // A brace that closes nothing.
        reader.take('}');
    }
    found
}

/// The unread rest of a script.
struct ScriptReader<'a> {
    rest: &'a str,
    /// The number of open blocks.
    depth: usize,
}

impl<'a> ScriptReader<'a> {
    /// Reads statements up to the brace that ends their block, or to the end.
    fn block(&mut self) -> Vec<Statement> {
        let mut found = Vec::new();
        loop {
            self.skip_blank();
            if self.take(';') {
                continue;
            }
            if self.rest.is_empty() || self.rest.starts_with('}') {
                return found;
            }
            found.extend(self.statement());
        }
    }

    /// Reads one statement, or those of a block.
    fn statement(&mut self) -> Vec<Statement> {
        self.skip_blank();
        if self.depth >= MAX_DEPTH {
            let text = self.expression();
            return vec![Statement::Other(first_line(&text))];
        }
        self.depth += 1;
        let found = self.inner();
        self.depth -= 1;
        found
    }

    fn inner(&mut self) -> Vec<Statement> {
        if self.take('{') {
            let found = self.block();
            self.take('}');
            return found;
        }
        if let Some(head) = TEST.find(self.rest) {
            self.rest = &self.rest[head.end()..];
            let found = self.statement();
            self.skip_blank();
            self.take(')');
            return found;
        }
        if self.word("if") {
            self.skip_blank();
            let condition = self.parentheses();
            let then = self.statement();
            self.skip_end();
            let otherwise = if self.word("else") {
                self.statement()
            } else {
                Vec::new()
            };
            return vec![Statement::If {
                condition,
                then,
                otherwise,
            }];
        }
        if self.word("try") {
            let mut found = self.statement();
            self.skip_blank();
            if self.word("catch") {
                self.skip_blank();
                self.parentheses();
                // Only a failure leads here.
                self.statement();
                self.skip_blank();
            }
            if self.word("finally") {
                found.extend(self.statement());
            }
            return found;
        }
        if OTHER.is_match(self.rest) {
            let line = first_line(self.rest);
            self.pass_over();
            return vec![Statement::Other(line)];
        }
        match self.expression() {
            text if text.is_empty() => Vec::new(),
            text => vec![Statement::Plain(text)],
        }
    }

    /// Passes over a statement that ends with a block.
    fn pass_over(&mut self) {
        loop {
            self.skip_blank();
            match self.rest.chars().next() {
                None | Some('}') => return,
                Some('(') => drop(self.parentheses()),
                Some('{') => {
                    self.balanced();
                    self.skip_end();
                    // `do { … } while (…)`.
                    if !self.word("while") {
                        return;
                    }
                }
                Some(';') => return,
                Some(_) => self.token(),
            }
        }
    }

    /// Reads up to the end of a statement, without comments, and with its lines in one.
    fn expression(&mut self) -> String {
        let mut text = String::new();
        let mut open = 0_usize;
        loop {
            let before = self.rest;
            self.skip_blank();
            let blank = &before[..before.len() - self.rest.len()];
            let Some(next) = self.rest.chars().next() else {
                return text;
            };
            if open == 0
                && (matches!(next, ';' | '}' | ')' | ']') || next == ',' && text.is_empty())
            {
                // A closing bracket without an opening one belongs to the text around it.
                if matches!(next, ')' | ']' | ',') && text.is_empty() {
                    self.rest = &self.rest[1..];
                    continue;
                }
                return text;
            }
            let goes_on = text.ends_with(|c| "=([{,.+-*/%&|<>?:!".contains(c))
                || next != '(' && next != '[' && ".,+-*/%&|<>?:=".contains(next);
            if open == 0 && blank.contains('\n') && !text.is_empty() && !goes_on {
                return text;
            }
            let is_tight = matches!(next, '.' | ',' | ')' | ']') || text.ends_with(['(', '[', '.']);
            if !blank.is_empty() && !text.is_empty() && !is_tight {
                text.push(' ');
            }
            let from = self.rest;
            match next {
                '(' | '[' | '{' => open += 1,
                ')' | ']' | '}' => open = open.saturating_sub(1),
                _ => {}
            }
            self.token();
            text.push_str(&from[..from.len() - self.rest.len()]);
        }
    }

    /// Passes over a text in quotation marks, a word, or a sign.
    fn token(&mut self) {
        let mut chars = self.rest.char_indices();
        let Some((_, first)) = chars.next() else {
            return;
        };
        let end = match first {
            '"' | '\'' | '`' => {
                let mut escaped = false;
                let end = chars.find(|(_, c)| {
                    let ends = !escaped && (*c == first || *c == '\n' && first != '`');
                    escaped = !escaped && *c == '\\';
                    ends
                });
                end.map(|(at, _)| at + 1)
            }
            c if c.is_alphanumeric() || c == '_' || c == '$' => chars
                .find(|(_, c)| !(c.is_alphanumeric() || *c == '_' || *c == '$'))
                .map(|(at, _)| at),
            _ => chars.next().map(|(at, _)| at),
        };
        self.rest = &self.rest[end.unwrap_or(self.rest.len())..];
    }

    /// Reads the text in parentheses, which may be missing.
    fn parentheses(&mut self) -> String {
        if !self.rest.starts_with('(') {
            return String::new();
        }
        let inner = self.balanced();
        let inner = inner.strip_prefix('(').unwrap_or(inner);
        let inner = inner.strip_suffix(')').unwrap_or(inner);
        ScriptReader {
            rest: inner,
            depth: 0,
        }
        .expression()
    }

    /// Skips the text between two brackets, and returns it with them.
    fn balanced(&mut self) -> &'a str {
        let from = self.rest;
        let mut open = 0_usize;
        while let Some(next) = self.rest.chars().next() {
            match next {
                '(' | '[' | '{' => open += 1,
                ')' | ']' | '}' => open = open.saturating_sub(1),
                _ => {}
            }
            self.token();
            if open == 0 {
                break;
            }
            self.skip_blank();
        }
        &from[..from.len() - self.rest.len()]
    }

    fn take(&mut self, sign: char) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn word(&mut self, word: &str) -> bool {
        let rest = self.rest.strip_prefix(word);
        let rest = rest.filter(|rest| {
            !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$')
        });
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Skips blanks, and the `;` of a statement that an `else` may follow.
    fn skip_end(&mut self) {
        self.skip_blank();
        while self.take(';') {
            self.skip_blank();
        }
    }

    /// Skips blanks and comments.
    fn skip_blank(&mut self) {
        loop {
            let trimmed = self.rest.trim_start();
            self.rest = if trimmed.starts_with("//") {
                trimmed.find('\n').map_or("", |end| &trimmed[end..])
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").map_or("", |end| &trimmed[end + 2..])
            } else {
                self.rest = trimmed;
                return;
            };
        }
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Statement {
        Statement::Plain(text.to_owned())
    }

    #[test]
    fn statements_end_as_in_javascript() {
        let script = "// it's a comment; not one\nconst a = f(\n  1, // two\n  2)\nvar b = a\n  .c\nlet url = 'http://x/' /* ; */ + b; d(\"}\"); /* e */ g()";
        assert_eq!(
            statements(script),
            [
                "const a = f(1, 2)",
                "var b = a.c",
                "let url = 'http://x/' + b",
                "d(\"}\")",
                "g()"
            ]
            .map(plain)
        );
    }

    #[test]
    fn what_wraps_statements_is_left_out_and_conditions_are_kept() {
        let script = "pm.test('a', function () {\n  one();\n});\npm.test(\"b\", () => two());\npm.test('c', async () => { three() })\n\
             try { four() } catch (e) { five() } finally { six() }\n\
             if (x && (y || z)) seven(); else { eight() }\nfor (const i of list) {\n  nine(i);\n}\nten()";
        let found = statements(script);
        assert_eq!(
            found,
            [
                plain("one()"),
                plain("two()"),
                plain("three()"),
                plain("four()"),
                plain("six()"),
                Statement::If {
                    condition: "x && (y || z)".to_owned(),
                    then: vec![plain("seven()")],
                    otherwise: vec![plain("eight()")],
                },
                Statement::Other("for (const i of list) {".to_owned()),
                plain("ten()"),
            ]
        );
    }

    #[test]
    fn no_script_makes_it_hang_or_overflow() {
        let deep = "if (a) ".repeat(9_000);
        let open = "{".repeat(60_000);
        let closed = "}".repeat(60_000);
        for script in [
            &deep, &open, &closed, "))]]", "'", "`", "\\", "pm.test(", "if", "else", "try",
        ] {
            let _statements = statements(script);
        }
    }
}
