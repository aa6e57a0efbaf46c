//! Patterns in which '*' stands for any text.

/// Returns whether a name matches a pattern. Every part between stars must follow the one before it; taking the
/// first match is enough, as the last part is compared with the end.
pub fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut remaining) = name.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        match remaining.find(part) {
            Some(at) => remaining = &remaining[at + part.len()..],
            None => return false,
        }
    }
    remaining.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, fit) in [
            ("visitor", "visitor", true),
            ("visitor", "visitors", false),
            ("*", "visitor", true),
            ("*", "", true),
            ("visi*", "visitor", true),
            ("*tor", "visitor", true),
            ("v*t*r", "visitor", true),
            ("v*x*r", "visitor", false),
            ("*visitor*", "visitor", true),
            ("ab*ba", "aba", false),
            ("ab*ba", "abba", true),
            ("a**b", "ab", true),
            ("Auth*", "AnonAuth", false),
        ] {
            assert_eq!(fits(pattern, name), fit, "'{pattern}' and '{name}'");
        }
    }
}
