//! Splits command lines into words as a shell does. `shlex` does most of it; it knows no end of a command and no `$'…'`.

use crate::error::Diagnostic;

/// Splits a text as a shell does.
pub(super) fn words(name: &str, text: &str) -> Result<Vec<String>, Diagnostic> {
    let text = text.replace("\r\n", "\n").replace("\\\n", " ");
    let text = separated(&text);
    let text = text.trim_start().trim_start_matches("$ ");
    shlex::split(text).ok_or_else(|| {
        Diagnostic::new(format!(
            "{name} is cut off: a quotation mark is never closed"
        ))
        .help("copy the whole command line, or save the recording as HAR")
    })
}

/// Makes `;` and line breaks outside of quotes words of their own, and `$'…'` a plain quoted text.
fn separated(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut quote = None;
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '$') if chars.peek() == Some(&'\'') => {
                chars.next();
                out.push('\'');
                ansi(&mut chars, &mut out);
            }
            (None, ';' | '\n' | '&') => {
                // `&&` and `;` alike end a command.
                out.push_str(" '\u{1}' ");
            }
            (None, '\\') => {
                out.push(c);
                out.extend(chars.next());
            }
            (Some('"'), '\\') => {
                out.push(c);
                out.extend(chars.next());
            }
            (None, '\'' | '"') => {
                quote = Some(c);
                out.push(c);
            }
            (Some(open), c) if c == open => {
                quote = None;
                out.push(c);
            }
            (_, c) => out.push(c),
        }
    }
    out
}

/// Reads what follows `$'`, with escapes as in C.
fn ansi(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    let push = |c: char, out: &mut String| match c {
        '\'' => out.push_str("'\\''"),
        c => out.push(c),
    };
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                out.push('\'');
                return;
            }
            '\\' => {
                let Some(escaped) = chars.next() else { return };
                let digits = match escaped {
                    'x' => 2,
                    'u' => 4,
                    'U' => 8,
                    _ => 0,
                };
                let plain = match escaped {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'a' => '\u{7}',
                    'b' => '\u{8}',
                    'e' => '\u{1b}',
                    'f' => '\u{c}',
                    'v' => '\u{b}',
                    other => other,
                };
                if digits == 0 {
                    push(plain, out);
                    continue;
                }
                let mut code = 0;
                for _ in 0..digits {
                    let Some(digit) = chars.peek().and_then(|c| c.to_digit(16)) else {
                        break;
                    };
                    code = code * 16 + digit;
                    chars.next();
                }
                push(char::from_u32(code).unwrap_or('\u{fffd}'), out);
            }
            c => push(c, out),
        }
    }
}

/// Splits words where a command ends.
pub(super) fn commands(words: Vec<String>) -> Vec<Vec<String>> {
    let ends = words.split(|word| word == "\u{1}");
    ends.map(<[String]>::to_vec)
        .filter(|command| !command.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<Vec<String>> {
        commands(words("a file", text).expect("it is whole"))
    }

    #[test]
    fn words_are_those_of_a_shell() {
        assert_eq!(
            split("$ curl 'a b' \\\n \"c;d\" e\\ f"),
            [["curl", "a b", "c;d", "e f"]]
        );
        assert_eq!(
            split("curl a ;\ncurl b && curl c"),
            [["curl", "a"], ["curl", "b"], ["curl", "c"]]
        );
        assert_eq!(
            split(r"curl $'it\'s \u00e9\n\x41;'"),
            [["curl", "it's é\nA;"]]
        );
        assert!(words("a file", "curl 'a").is_err());
    }
}
