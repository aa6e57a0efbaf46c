//! The number of character classes in the text of a pattern.

/// The most character classes of a pattern. Each takes up to 60 KiB while the pattern is compiled, and a tenth of a
/// millisecond that nothing can end.
const MOST_CLASSES: usize = 1000;

/// The same where case is ignored, which takes up to 4.4 ms for each.
const MOST_CLASSES_WITHOUT_CASE: usize = 100;

/// Refuses a pattern with so many character classes that compiling it takes long. They are counted in its text, one in
/// brackets by its brackets and the classes that it names.
pub(super) fn check_classes(pattern: &str) -> Result<(), String> {
    let (mut classes, mut ignores_case) = (0, false);
    let mut rest = pattern;
    while let Some(at) = rest.find(['[', '\\', '(']) {
        let (found, behind) = (&rest[at..=at], &rest[at + 1..]);
        rest = behind;
        match found {
            "[" => classes += 1,
            "\\" => {
                let named = behind.starts_with(['p', 'P', 'w', 'W', 'd', 'D', 's', 'S']);
                classes += usize::from(named);
                let mut characters = behind.chars();
                characters.next();
                rest = characters.as_str();
            }
            _ => {
                let flags = behind.strip_prefix('?').unwrap_or_default();
                let end = flags.find(|character: char| !character.is_ascii_alphabetic());
                ignores_case |= flags[..end.unwrap_or(flags.len())].contains('i');
            }
        }
    }
    let (most, why) = if ignores_case {
        (MOST_CLASSES_WITHOUT_CASE, " where case is ignored ('(?i)')")
    } else {
        (MOST_CLASSES, "")
    };
    if classes <= most {
        Ok(())
    } else {
        Err(format!(
            "it has {classes} character classes, and may have {most}{why}; repeat them ('\\w{{8}}'), or write several patterns"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_very_many_classes_is_refused_before_it_is_compiled() {
        for (pattern, refused) in [
            (
                r"[^\w]".repeat(501),
                "it has 1002 character classes, and may have 1000;",
            ),
            (r"\p{L}".repeat(1001), "may have 1000;"),
            (
                format!("(?i){}", r"[\x{80}-\x{ffff}]".repeat(101)),
                "may have 100 where case is ignored",
            ),
            (
                format!("(?s)(?m-s:a)(?mi:{})", "[ab]".repeat(101)),
                "may have 100 where",
            ),
            (format!("(?i){}", r"\\\[\(\w".repeat(100)), ""),
            (format!("(?P<i>{})", "[ab]".repeat(200)), ""),
            (format!("(?<i>{})", "[ab]".repeat(200)), ""),
            ("\\".to_owned(), ""),
        ] {
            let message = check_classes(&pattern).err().unwrap_or_default();
            assert_eq!(
                message.is_empty(),
                refused.is_empty(),
                "{message} {pattern}"
            );
            assert!(message.contains(refused), "{message} {pattern}");
        }
    }
}
