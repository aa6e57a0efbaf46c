//! Reads `--env-file`: variables for the plan's `env()`, one `NAME=VALUE` per line, as for shells and containers.
//!
//! This does not use `dotenvy`, whose rules differ: it replaces `$NAME` by a variable of the environment, which
//! changes a password with a dollar sign, it interprets backslashes and `#` within values, it refuses a value of
//! several words without quotes, and its errors do not name the line.

use lgoose_base::error::{Diagnostic, Error};
use lgoose_base::files;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads a file of variables. It skips empty lines, lines that begin with `#`, and `export ` before a name. It
/// removes one pair of quotes around a value, and a comment after them or, without quotes, after a space. If a name occurs
/// twice, the later line counts.
///
/// # Errors
/// A mistake with the file, or with a line that is not a variable.
pub(super) fn read(path: &Path) -> Result<BTreeMap<String, String>, Error> {
    let text = files::read_to_string(path).map_err(|error| {
        Diagnostic::new(format!(
            "cannot read the file of '--env-file' '{}': {error}",
            path.display()
        ))
        .help("give the path of a text file with a line NAME=VALUE for each variable")
    })?;
    Ok(parse(&text, &path.display().to_string())?)
}

fn parse(text: &str, file: &str) -> Result<BTreeMap<String, String>, Diagnostic> {
    let mut variables = BTreeMap::new();
    // Editors of Windows write a mark in front of UTF-8.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let exported = line.strip_prefix("export");
        let exported = exported.filter(|rest| rest.starts_with([' ', '\t']));
        let line = exported.unwrap_or(line);
        let variable = line
            .split_once('=')
            .filter(|(name, _)| is_name(name.trim()));
        let Some((name, value)) = variable else {
            return Err(Diagnostic::new("this line is not a variable")
                .at(file, Some(number), text)
                .help("write NAME=VALUE; a comment begins with '#'"));
        };
        variables.insert(name.trim().to_owned(), unquoted(value).to_owned());
    }
    Ok(variables)
}

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '-';
    !text.is_empty() && text.chars().all(plain)
}

fn unquoted(value: &str) -> &str {
    let within = |quote: char| {
        let inner = value.trim().strip_prefix(quote)?;
        let commented = || {
            let (inner, rest) = inner.split_once(quote)?;
            rest.trim_start().starts_with('#').then_some(inner)
        };
        inner.strip_suffix(quote).or_else(commented)
    };
    let quoted = ['"', '\''].into_iter().find_map(within);
    quoted.unwrap_or_else(|| uncommented(value))
}

/// A value without the comment that a '#' after a space begins, as in shells.
fn uncommented(value: &str) -> &str {
    let mut marks = value.match_indices('#').map(|(place, _)| &value[..place]);
    let before = marks.find(|before| before.ends_with(char::is_whitespace));
    before.unwrap_or(value).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_as_shells_and_containers_write_them() {
        let text = "\u{feff}# site\nHOST=http://a=b?c\n\n export USER = goose \r\nWORDS=\"two words # and more\"\n\
                    EMPTY=\nQUOTE='it''s'\nNOTED='a word' # why\nHOST=later\n\
                    BARE=x # why\nHASH=a#b\nNONE= # why\nexport\tTAB=1\nSHARP=#x\n";
        let read = parse(text, "x.env").expect("all are variables");
        let expected = [
            ("BARE", "x"),
            ("EMPTY", ""),
            ("HASH", "a#b"),
            ("HOST", "later"),
            ("NONE", ""),
            ("NOTED", "a word"),
            ("QUOTE", "it''s"),
            ("SHARP", "#x"),
            ("TAB", "1"),
            ("USER", "goose"),
            ("WORDS", "two words # and more"),
        ];
        let read: Vec<(&str, &str)> = read.iter().map(|(k, v)| (&**k, &**v)).collect();
        assert_eq!(read, expected);
    }

    #[test]
    fn a_line_that_is_no_variable_is_quoted_with_its_number() {
        for line in ["HOST", "=value", "two words=1", "\"A\"=1"] {
            let message = parse(&format!("A=1\n{line}\n"), "x.env")
                .expect_err(line)
                .to_string();
            assert!(
                message.contains("x.env:2") && message.contains(line),
                "{message}"
            );
        }
    }
}
