//! Search for the line of a word within a declaration of a plan's text, for messages.

/// The number of lines of a declaration that are searched.
const MAX_LINES: usize = 200;

/// Finds the line, from 1, on which `word` is a field of the declaration that begins on line `from`, else the first
/// line from there on that has the word at all.
pub(crate) fn word_line(source: &str, from: u32, word: &str) -> Option<u32> {
    let skipped = from.saturating_sub(1) as usize;
    let lines: Vec<&str> = source.lines().skip(skipped).take(MAX_LINES).collect();
    let text = lines.join("\n");
    let at = field(&text, word).or_else(|| {
        words(&text)
            .find(|(_, found)| *found == word)
            .map(|(at, _)| at)
    })?;
    Some(from + text[..at].matches('\n').count() as u32)
}

/// Finds `word` between the first braces, outside of nested ones.
fn field(text: &str, word: &str) -> Option<usize> {
    let mut depth = 0;
    let mut at = 0;
    for (place, found) in words(text) {
        for bracket in brackets(&text[at..place]) {
            depth += bracket;
        }
        at = place + found.len();
        if depth == 1 && found == word {
            return Some(place);
        }
    }
    None
}

/// Yields +1 for each opening brace or parenthesis and -1 for each closing one, except in comments.
fn brackets(text: &str) -> impl Iterator<Item = i32> {
    let code = text.lines().flat_map(|line| line.split("--").next());
    code.flat_map(str::chars).filter_map(|c| match c {
        '{' | '(' => Some(1),
        '}' | ')' => Some(-1),
        _ => None,
    })
}

/// Yields names and the contents of strings with their positions. Comments are skipped.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        loop {
            let rest = &text[at..];
            let first = rest.chars().next()?;
            let length = match first {
                '-' if rest.starts_with("--") => {
                    at += rest.find('\n').unwrap_or(rest.len());
                    continue;
                }
                '"' | '\'' => {
                    let inside = &rest[1..];
                    let end = inside.find([first, '\n']).unwrap_or(inside.len());
                    let found = (at + 1, &inside[..end]);
                    at += (end + 2).min(rest.len());
                    return Some(found);
                }
                c if is_name(c) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
                c => {
                    at += c.len_utf8();
                    continue;
                }
            };
            let found = (at, &rest[..length]);
            at += length;
            return Some(found);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "plan {}\nscenario { \"wait\",\n  task { \"a\", wait = {1, 2}, f }, -- wait\n  wait = {5, 1},\n}\n";

    #[test]
    fn a_field_is_found_outside_of_inner_declarations() {
        assert_eq!(word_line(PLAN, 3, "wait"), Some(3));
        assert_eq!(
            word_line(
                "scenario { \"x\",\n task { wait = 1 },\n wait = {5, 1} }",
                1,
                "wait"
            ),
            Some(3)
        );
    }

    #[test]
    fn a_word_of_an_inner_declaration_on_the_same_line_is_found_too() {
        assert_eq!(word_line("x {\n y { wieght = 1 } }", 1, "wieght"), Some(2));
        assert_eq!(word_line("x { é }", 1, "nowhere"), None);
    }
}
