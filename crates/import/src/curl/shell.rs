//! Commands of a shell script: words, quotes, comments, here-documents, the effects of pipes and redirects, and
//! variables (POSIX.1-2017, XCU, chapter 2; `$'…'` and `<<<` are of bash). Nothing is run.

use super::variables::ShellVariables;
use std::iter::Peekable;
use std::str::Chars;

/// A command with its arguments.
#[derive(Debug, PartialEq)]
pub(super) struct ShellCommand {
    /// The line where it begins, from 1.
    pub(super) line: usize,
    pub(super) words: Vec<String>,
    /// Its standard input, if the script has it.
    pub(super) input: Option<ShellInput>,
    /// The first word of the command that its output goes to.
    pub(super) pipe: Option<String>,
    /// Whether it runs only where the command before it fails.
    pub(super) is_alternative: bool,
}

impl ShellCommand {
    /// Returns whether it is the program of that name, wherever that lies.
    pub(super) fn runs(&self, program: &str) -> bool {
        let first = self.words.first().and_then(|word| word.rsplit('/').next());
        first == Some(program)
    }

    /// Returns its output, if the script has it.
    fn output(&mut self) -> Option<ShellInput> {
        if self.runs("cat") {
            let file = self.words.get(1).map(|file| ShellInput::File(file.clone()));
            return self.input.take().or(file);
        }
        let text = self.words.get(1..)?.join(" ") + "\n";
        self.runs("echo").then_some(ShellInput::Text(text))
    }
}

/// The input of a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ShellInput {
    Text(String),
    File(String),
}

/// A quotation mark that is never closed, by its line, from 1.
#[derive(Debug, PartialEq)]
pub(super) struct UnclosedQuote(pub(super) usize);

/// Words that begin a command without being one.
const PREFIXES: [&str; 17] = [
    "env", "$", "%", ">", "!", "{", "}", "(", ")", "then", "do", "else", "time", "command", "exec",
    "nohup", "sudo",
];

/// Reads the commands of a script; variables that it sets are put in, and `variables` notes the others.
///
/// # Errors
/// A quotation mark is never closed.
pub(super) fn commands(
    text: &str,
    variables: &mut ShellVariables,
) -> Result<Vec<ShellCommand>, UnclosedQuote> {
    let text = without_prompts(text);
    let mut reader = ShellReader {
        chars: text.chars().peekable(),
        line: 1,
        variables,
        commands: Vec::new(),
        documents: Vec::new(),
        is_alternative: false,
    };
    while reader.command()? {}
    Ok(reader.commands)
}

/// Removes the `> ` with which a shell prompts for the rest of a command, in a transcript of one.
fn without_prompts(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let is_transcript = text.lines().any(|line| line.trim_start().starts_with("$ "));
    let mut continues = false;
    let lines = text.split_inclusive('\n').map(|line| {
        let rest = line.trim_start().strip_prefix("> ");
        let line = match rest {
            Some(rest) if continues || is_transcript => rest,
            _ => line,
        };
        continues = line.trim_end_matches('\n').ends_with('\\');
        line
    });
    lines.collect()
}

struct ShellReader<'a, 'b> {
    chars: Peekable<Chars<'a>>,
    line: usize,
    variables: &'b mut ShellVariables,
    commands: Vec<ShellCommand>,
    /// Here-documents that begin after this line: the number of their command, the word that ends them, whether tabs before
    /// their lines are left out, and whether variables are put in.
    documents: Vec<HereDocument>,
    /// Whether the next command runs only where the one before it fails.
    is_alternative: bool,
}

struct HereDocument {
    command: usize,
    end: String,
    strips_tabs: bool,
    expands: bool,
}

/// Ends of a command.
#[derive(Debug, Clone, Copy, PartialEq)]
enum CommandEnd {
    Text,
    Command,
    Pipe,
}

impl ShellReader<'_, '_> {
    fn next(&mut self) -> Option<char> {
        let c = self.chars.next();
        self.line += usize::from(c == Some('\n'));
        c
    }

    fn takes(&mut self, c: char) -> bool {
        let found = self.chars.next_if_eq(&c).is_some();
        self.line += usize::from(found && c == '\n');
        found
    }

    /// Reads a command, and the pipe behind it. Returns whether there may be more.
    fn command(&mut self) -> Result<bool, UnclosedQuote> {
        let mut first = None;
        loop {
            let at = self.commands.len();
            let (mut command, end) = self.simple_command(at)?;
            let name = command.words.first().cloned();
            match (first, name) {
                // In a pipe, the command is curl.
                (Some(before), Some(_)) if command.runs("curl") => {
                    let before: usize = before;
                    let number = self.commands.len();
                    self.hand_documents(before, number);
                    self.hand_documents(at, number);
                    command.input = command.input.or(self.commands[before].output());
                    first = Some(number);
                    self.commands.push(command);
                }
                (None, Some(_)) => {
                    // Commands whose output it takes may have come before it.
                    let number = self.commands.len();
                    self.hand_documents(at, number);
                    first = Some(number);
                    self.commands.push(command);
                }
                // The here-documents of a command that is left out are left out, too.
                (Some(first), Some(name)) => {
                    self.hand_documents(at, usize::MAX);
                    let before: &mut ShellCommand = &mut self.commands[first];
                    before.pipe.get_or_insert(name);
                }
                (_, None) => {}
            }
            match end {
                CommandEnd::Pipe => {}
                CommandEnd::Command => return Ok(true),
                CommandEnd::Text => return Ok(false),
            }
        }
    }

    /// Gives the here-documents of a command to another.
    fn hand_documents(&mut self, from: usize, to: usize) {
        for document in &mut self.documents {
            if document.command == from {
                document.command = to;
            }
        }
    }

    /// Reads the words of one command, which is to be the one with that number.
    fn simple_command(&mut self, at: usize) -> Result<(ShellCommand, CommandEnd), UnclosedQuote> {
        let mut command = ShellCommand {
            line: self.line,
            words: Vec::new(),
            input: None,
            pipe: None,
            is_alternative: self.is_alternative,
        };
        self.is_alternative = false;
        let mut assigns = true;
        loop {
            let Some(&c) = self.chars.peek() else {
                return Ok((command, CommandEnd::Text));
            };
            match c {
                ' ' | '\t' | '\r' => drop(self.next()),
                '\n' => {
                    self.next();
                    self.here_documents(&mut command, at);
                    return Ok((command, CommandEnd::Command));
                }
                ';' | '(' | ')' => {
                    self.next();
                    return Ok((command, CommandEnd::Command));
                }
                '&' => {
                    self.next();
                    if self.takes('>') {
                        self.takes('>');
                        self.blanks();
                        self.word()?;
                        continue;
                    }
                    self.takes('&');
                    return Ok((command, CommandEnd::Command));
                }
                '|' => {
                    self.next();
                    if self.takes('|') {
                        self.is_alternative = true;
                        return Ok((command, CommandEnd::Command));
                    }
                    self.takes('&');
                    return Ok((command, CommandEnd::Pipe));
                }
                '#' => while self.chars.next_if(|c| *c != '\n').is_some() {},
                '<' | '>' => self.redirect(&mut command, at)?,
                _ => {
                    let line = self.line;
                    let (word, is_plain) = self.word()?;
                    if is_plain
                        && word.bytes().all(|byte| byte.is_ascii_digit())
                        && matches!(self.chars.peek(), Some('<' | '>'))
                    {
                        // The number of a descriptor that is redirected.
                        continue;
                    }
                    if is_plain && word.is_empty() {
                        // A line went on, and nothing follows.
                        continue;
                    }
                    if command.words.is_empty() {
                        command.line = line;
                        if is_plain && PREFIXES.contains(&word.as_str()) {
                            continue;
                        }
                        if is_plain
                            && matches!(word.as_str(), "export" | "local" | "readonly" | "declare")
                        {
                            assigns = true;
                            continue;
                        }
                        if assigns && self.variables.assign(&word) {
                            continue;
                        }
                    }
                    assigns = false;
                    command.words.push(word);
                }
            }
        }
    }

    /// Reads where a command reads from or writes to.
    fn redirect(&mut self, command: &mut ShellCommand, at: usize) -> Result<(), UnclosedQuote> {
        if self.next() == Some('>') {
            let _also = self.takes('>') || self.takes('|') || self.takes('&');
            self.blanks();
            return self.word().map(drop);
        }
        if !self.takes('<') {
            self.takes('&');
            self.blanks();
            command.input = Some(ShellInput::File(self.word()?.0));
            return Ok(());
        }
        if self.takes('<') {
            self.blanks();
            let text = self.word()?.0 + "\n";
            command.input = Some(ShellInput::Text(text));
            return Ok(());
        }
        let strips_tabs = self.takes('-');
        self.blanks();
        let (end, is_plain) = self.word()?;
        self.documents.push(HereDocument {
            command: at,
            end,
            strips_tabs,
            expands: is_plain,
        });
        Ok(())
    }

    fn blanks(&mut self) {
        while self.chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
    }

    /// Reads the here-documents of the line that has ended; those of `command`, which gets the number `at`, into it.
    fn here_documents(&mut self, command: &mut ShellCommand, at: usize) {
        for document in std::mem::take(&mut self.documents) {
            let mut text = String::new();
            loop {
                let mut line = String::new();
                while let Some(c) = self.chars.next_if(|c| *c != '\n') {
                    line.push(c);
                }
                let ended = !self.takes('\n');
                let line = if document.strips_tabs {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if line == document.end {
                    break;
                }
                text.push_str(line);
                text.push('\n');
                if ended {
                    break;
                }
            }
            if document.expands {
                text = self.expand(&text);
            }
            let input = Some(ShellInput::Text(text));
            if document.command == at {
                command.input = input;
            } else if let Some(command) = self.commands.get_mut(document.command) {
                command.input = input;
            }
        }
    }

    /// Puts variables into a text as within double quotes.
    fn expand(&mut self, text: &str) -> String {
        let mut reader = ShellReader {
            chars: text.chars().peekable(),
            line: self.line,
            variables: self.variables,
            commands: Vec::new(),
            documents: Vec::new(),
            is_alternative: false,
        };
        let mut out = String::new();
        while let Some(c) = reader.next() {
            reader.quoted_char(c, "$`\\", &mut out);
        }
        self.commands.append(&mut reader.commands);
        out
    }

    /// Reads a word; returns also whether nothing in it was quoted.
    fn word(&mut self) -> Result<(String, bool), UnclosedQuote> {
        let (mut word, mut is_plain) = (String::new(), true);
        while let Some(&c) = self.chars.peek() {
            let line = self.line;
            match c {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\\' => {
                    self.next();
                    if !self.takes('\n') {
                        is_plain = false;
                        word.extend(self.next());
                    } else if word.is_empty() {
                        // The next line continues the command; a word may begin there.
                        self.blanks();
                        if matches!(self.chars.peek(), None | Some('\n' | '#')) {
                            break;
                        }
                    }
                }
                '\'' => {
                    self.next();
                    is_plain = false;
                    loop {
                        match self.next() {
                            None => return Err(UnclosedQuote(line)),
                            Some('\'') => break,
                            Some(c) => word.push(c),
                        }
                    }
                }
                '"' => {
                    self.next();
                    is_plain = false;
                    self.double_quoted(line, &mut word)?;
                }
                '$' => {
                    self.next();
                    if self.takes('\'') {
                        is_plain = false;
                        self.ansi_quoted(line, &mut word)?;
                    } else if self.takes('"') {
                        is_plain = false;
                        self.double_quoted(line, &mut word)?;
                    } else {
                        self.dollar(&mut word);
                    }
                }
                '`' => {
                    self.next();
                    self.backquoted(&mut word);
                }
                c => {
                    self.next();
                    word.push(c);
                }
            }
        }
        Ok((word, is_plain))
    }

    fn double_quoted(&mut self, line: usize, word: &mut String) -> Result<(), UnclosedQuote> {
        loop {
            match self.next() {
                None => return Err(UnclosedQuote(line)),
                Some('"') => return Ok(()),
                Some(c) => self.quoted_char(c, "$`\"\\", word),
            }
        }
    }

    /// Takes a character within double quotes, in which a backslash stands before these.
    fn quoted_char(&mut self, c: char, escaped: &str, word: &mut String) {
        match c {
            '\\' => {
                if self.takes('\n') {
                    return;
                }
                match self.chars.next_if(|c| escaped.contains(*c)) {
                    Some(c) => word.push(c),
                    None => word.push('\\'),
                }
            }
            '$' => self.dollar(word),
            '`' => self.backquoted(word),
            c => word.push(c),
        }
    }

    /// Reads the text after a `$` that begins no quotes.
    fn dollar(&mut self, word: &mut String) {
        let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let mut name = String::new();
        match self.chars.peek() {
            Some('{') => {
                self.next();
                while let Some(c) = self.next().filter(|c| *c != '}') {
                    name.push(c);
                }
                let end = name.find(|c| !is_name(&c)).unwrap_or(name.len());
                let default = name[end..].trim_start_matches(':');
                let default = default.strip_prefix(['-', '=']).map(str::to_owned);
                let text = self.variables.value(&name[..end], default.as_deref());
                word.push_str(&text);
            }
            Some('(') => {
                self.next();
                let (mut depth, mut text) = (1, String::new());
                while let Some(c) = self.next() {
                    depth += i32::from(c == '(') - i32::from(c == ')');
                    if depth == 0 {
                        break;
                    }
                    text.push(c);
                }
                self.substitution(&text, word);
            }
            Some(c) if c.is_ascii_alphabetic() || *c == '_' => {
                while let Some(c) = self.chars.next_if(is_name) {
                    name.push(c);
                }
                let text = self.variables.value(&name, None);
                word.push_str(&text);
            }
            Some(c) if c.is_ascii_digit() => {
                name.push('_');
                name.extend(self.next());
                let text = self.variables.value(&format!("ARGUMENT{name}"), None);
                word.push_str(&text);
            }
            _ => word.push('$'),
        }
    }

    fn backquoted(&mut self, word: &mut String) {
        let mut text = String::new();
        while let Some(c) = self.next().filter(|c| *c != '`') {
            text.push(c);
        }
        self.substitution(&text, word);
    }

    /// Takes a command whose output is put in: its output is not known.
    fn substitution(&mut self, text: &str, word: &mut String) {
        // A command that cannot be read is no more than its text.
        let inner = self.variables.deeper(|variables| commands(text, variables));
        if let Some(Ok(mut inner)) = inner {
            for command in &mut inner {
                command.line += self.line - 1;
            }
            self.commands.append(&mut inner);
        }
        word.push_str(&self.variables.output_of(text));
    }

    /// Reads the text after `$'`: escapes as in C, of which `\NNN` and `\xHH` are bytes.
    fn ansi_quoted(&mut self, line: usize, word: &mut String) -> Result<(), UnclosedQuote> {
        let mut bytes = Vec::new();
        let push = |bytes: &mut Vec<u8>, c: char| {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        };
        loop {
            let c = match self.next() {
                None => return Err(UnclosedQuote(line)),
                Some('\'') => break,
                Some('\\') => self.next(),
                Some(c) => {
                    push(&mut bytes, c);
                    continue;
                }
            };
            match c {
                None => return Err(UnclosedQuote(line)),
                Some('n') => bytes.push(b'\n'),
                Some('t') => bytes.push(b'\t'),
                Some('r') => bytes.push(b'\r'),
                Some('a') => bytes.push(7),
                Some('b') => bytes.push(8),
                Some('e' | 'E') => bytes.push(0x1b),
                Some('f') => bytes.push(0xc),
                Some('v') => bytes.push(0xb),
                Some('x') => bytes.push(self.number(16, 2, 0) as u8),
                Some(digit @ '0'..='7') => {
                    let first = digit.to_digit(8).unwrap_or_default();
                    bytes.push(self.number(8, 2, first) as u8);
                }
                Some('u') => {
                    let code = self.number(16, 4, 0);
                    push(&mut bytes, self.surrogate(code));
                }
                Some('U') => {
                    let code = self.number(16, 8, 0);
                    push(&mut bytes, char::from_u32(code).unwrap_or('\u{fffd}'));
                }
                Some(c) => {
                    if !matches!(c, '\\' | '\'' | '"' | '?') {
                        bytes.push(b'\\');
                    }
                    push(&mut bytes, c);
                }
            }
        }
        word.push_str(&self.variables.text_of(bytes));
        Ok(())
    }

    /// Returns a character of `\u`: browsers write those beyond 0xffff as two.
    fn surrogate(&mut self, code: u32) -> char {
        if !(0xd800..0xdc00).contains(&code) {
            return char::from_u32(code).unwrap_or('\u{fffd}');
        }
        let mut ahead = self.chars.clone();
        if ahead.next() != Some('\\') || ahead.next() != Some('u') {
            return '\u{fffd}';
        }
        self.chars.next();
        self.chars.next();
        let low = self.number(16, 4, 0);
        let code = 0x10000 + ((code - 0xd800) << 10) + low.saturating_sub(0xdc00);
        char::from_u32(code).unwrap_or('\u{fffd}')
    }

    /// Reads up to so many digits after those of `start`.
    fn number(&mut self, radix: u32, most: usize, start: u32) -> u32 {
        let mut number = start;
        for _ in 0..most {
            let Some(digit) = self.chars.peek().and_then(|c| c.to_digit(radix)) else {
                break;
            };
            self.chars.next();
            number = number.wrapping_mul(radix).wrapping_add(digit);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<Vec<String>> {
        let found = commands(text, &mut ShellVariables::default()).expect("it is whole");
        found.into_iter().map(|command| command.words).collect()
    }

    #[test]
    fn words_are_those_of_a_shell() {
        for (text, expected) in [
            ("curl a \\\n", vec!["curl", "a"]),
            ("curl a \\\n\n", vec!["curl", "a"]),
            ("curl a '' \\\n  # b\n", vec!["curl", "a", ""]),
            (
                "$ curl 'a b' \\\n \"c;d\" e\\ f",
                vec!["curl", "a b", "c;d", "e f"],
            ),
            ("curl a   # first\n", vec!["curl", "a"]),
            ("curl a#b", vec!["curl", "a#b"]),
            ("# don't\ncurl a", vec!["curl", "a"]),
            (r"curl $'it\'s \u00e9\n\x41;'", vec!["curl", "it's é\nA;"]),
            (
                r"curl $'caf\303\251 \ud83e\udd86 \q'",
                vec!["curl", "café 🦆 \\q"],
            ),
            ("curl a > out 2>&1", vec!["curl", "a"]),
            ("curl a >> out.txt b 2> /dev/null", vec!["curl", "a", "b"]),
            ("curl a &> all b", vec!["curl", "a", "b"]),
            (
                "$ curl a \\\n> -d b \\\n> c",
                vec!["curl", "a", "-d", "b", "c"],
            ),
            ("X=1 curl a", vec!["curl", "a"]),
            ("time curl \"a\\\nb\"", vec!["curl", "ab"]),
            ("curl \"a\\b\\\"\\$c\"", vec!["curl", "a\\b\"$c"]),
            ("curl 'a\\\nb'", vec!["curl", "a\\\nb"]),
            (
                "curl {a,b} ~/x *.txt",
                vec!["curl", "{a,b}", "~/x", "*.txt"],
            ),
        ] {
            assert_eq!(split(text), [expected], "{text}");
        }
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        use rand::rngs::StdRng;
        use rand::{RngExt as _, SeedableRng as _};
        let pieces = [
            "curl", " ", "\n", "\\", "'", "\"", "$", "(", ")", "{", "}", "`", "#", "<", "<<", ">",
            "&", "|", ";", "=", "a", "$'", "\\x", "E\n", "<<-E", "é", "X=1", "${", "-d", "@-",
            "\t",
        ];
        let mut random = StdRng::seed_from_u64(1);
        for _ in 0..20_000 {
            let count = random.random_range(1..40);
            let mut piece = || pieces[random.random_range(0..pieces.len())];
            let text: String = (0..count).map(|_| piece()).collect();
            let mut variables = ShellVariables::default();
            if let Ok(found) = commands(&text, &mut variables) {
                assert!(
                    found.iter().all(|command| !command.words.is_empty()),
                    "{text}"
                );
            }
        }
        // Each in the one before: none is read too deep.
        for text in ["$(", "`", "\"$(", "$(curl "] {
            let _any = commands(&text.repeat(100_000), &mut ShellVariables::default());
        }
    }

    #[test]
    fn commands_end_where_a_shell_ends_them() {
        for text in [
            "curl a ;\ncurl b && curl c",
            "curl a & curl b || curl c",
            "(curl a; curl b)\ncurl c\n",
            "curl a\n\n\ncurl b\ncurl c",
            "if true; then curl a; curl b; fi; curl c",
            "for x in 1 2; do curl a\ncurl b; curl c; done",
        ] {
            let mut found = split(text);
            found.retain(|words| words[0] == "curl");
            assert_eq!(
                found,
                [["curl", "a"], ["curl", "b"], ["curl", "c"]],
                "{text}"
            );
        }
        assert_eq!(
            commands("curl 'a'\ncurl 'b", &mut ShellVariables::default()),
            Err(UnclosedQuote(2))
        );
    }

    #[test]
    fn what_is_read_and_where_output_goes_is_kept() {
        let of = |text: &str| {
            let mut found = commands(text, &mut ShellVariables::default()).expect("whole");
            found.swap_remove(0)
        };
        let input = |text: &str| of(text).input;
        let written = |text: &str| Some(ShellInput::Text(text.to_owned()));
        assert_eq!(
            input("curl -d @- a <<'END'\n{\"a\": $b}\nEND\ncurl c"),
            written("{\"a\": $b}\n")
        );
        assert_eq!(
            input("X=1\ncurl a <<-E\n\t\tx $X \\$X\n\tE\n"),
            written("x 1 $X\n")
        );
        assert_eq!(input("curl a <<< 'b c'"), written("b c\n"));
        assert_eq!(
            input("curl a < b.json"),
            Some(ShellInput::File("b.json".to_owned()))
        );
        assert_eq!(input("curl a <<E | jq .\nb\nE\n"), written("b\n"));
        for text in ["cat <<E | curl -d @- a\nb\nE\n", "echo b | curl -d @- a"] {
            let found = commands(text, &mut ShellVariables::default()).expect("whole");
            assert_eq!(found[1].input, written("b\n"), "{text}");
        }
        let piped = of("curl -s a | jq -r '.[0]' | head -1");
        assert_eq!(piped.words, ["curl", "-s", "a"]);
        assert_eq!(piped.pipe.as_deref(), Some("jq"));
        let lines = commands(
            "# one\n\ncurl a \\\n  b\ncurl c",
            &mut ShellVariables::default(),
        );
        let lines: Vec<usize> = lines.expect("whole").iter().map(|one| one.line).collect();
        assert_eq!(lines, [3, 5]);
    }

    #[test]
    fn variables_are_put_in_where_the_script_sets_them_and_named_elsewhere() {
        let mut variables = ShellVariables::default();
        let found = commands(
            "HOST='shop.test'\nexport P=/x\ncurl \"http://$HOST${P}y\" '$HOST' ${N:-5} $(curl inner)",
            &mut variables,
        );
        let found = found.expect("whole");
        assert_eq!(found[0].words, ["curl", "inner"]);
        let words = &found[1].words;
        assert_eq!(words[1..4], ["http://shop.test/xy", "$HOST", "5"]);
        assert_eq!(variables.shown(&words[4]), "$(curl inner)");
        let found = commands("curl \"a $ORG ${MESSAGE}\" $ $5", &mut variables).expect("whole");
        assert_eq!(variables.shown(&found[0].words[1]), "a $ORG $MESSAGE");
        assert_eq!(found[0].words[2], "$");
    }
}
