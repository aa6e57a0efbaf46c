//! Makes a text that a pattern matches.

use regex::Regex;
use regex_syntax::hir::{Class, Hir, HirKind};

/// The longest text.
const MAX_CHARS: usize = 1_000;

/// Returns a text of at least so many characters; `None` for a pattern that is not understood.
pub(super) fn matching(pattern: &str, least: usize) -> Option<String> {
    let hir = regex_syntax::parse(pattern).ok()?;
    let regex = Regex::new(pattern).ok()?;
    // A group that may repeat is written as often as it must.
    for more in [0, least] {
        let mut text = String::new();
        write(&hir, u32::try_from(more).ok()?, &mut text)?;
        if text.chars().count() >= least && regex.is_match(&text) {
            return Some(text);
        }
    }
    None
}

fn write(hir: &Hir, more: u32, out: &mut String) -> Option<()> {
    if out.len() > MAX_CHARS {
        return None;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(Class::Unicode(class)) => {
            let mut candidates = ['a', 'A', '0'].into_iter();
            let has = |c: &char| {
                class
                    .iter()
                    .any(|range| range.start() <= *c && *c <= range.end())
            };
            let found = candidates
                .find(has)
                .or_else(|| class.iter().next().map(|range| range.start()));
            out.push(found?);
        }
        HirKind::Class(Class::Bytes(class)) => {
            let first = class.iter().next()?.start();
            out.push(first.is_ascii().then_some(char::from(first))?);
        }
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX);
            let count = repetition.min.max(more.min(most));
            for _ in 0..count {
                write(&repetition.sub, more, out)?;
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, more, out)?,
        HirKind::Concat(parts) => {
            for part in parts {
                write(part, more, out)?;
            }
        }
        HirKind::Alternation(parts) => write(parts.first()?, more, out)?,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::matching;

    #[test]
    fn what_is_made_matches() {
        for (pattern, least, expected) in [
            ("^(GB|DE)[0-9]{3}$", 0, Some("GB000")),
            ("^[a-z]*$", 3, Some("aaa")),
            ("^\\p{Lu}\\.$", 0, Some("A.")),
            ("(?=x)y", 0, None),
            ("^(a{1000}){1000}$", 0, None),
            ("[", 0, None),
        ] {
            assert_eq!(matching(pattern, least).as_deref(), expected, "{pattern}");
        }
    }
}
