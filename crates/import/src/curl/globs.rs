//! The lists and ranges that curl expands in a URL: `{a,b}`, `[1-3]`, `[001-100:10]`, `[a-z]` (its manual page, "URL").

/// The most URLs of one text.
const MAX_URLS: usize = 1_000;

/// Returns the URLs that a text stands for; `None` if they are too many, or a bracket is left open. Square brackets
/// around anything but a range stay, such as those of an IPv6 address.
pub(super) fn expand(text: &str) -> Option<Vec<String>> {
    let mut urls = vec![String::new()];
    let mut rest = text;
    while let Some(at) = rest.find(['{', '[', '\\']) {
        for url in &mut urls {
            url.push_str(&rest[..at]);
        }
        let opening = rest[at..].chars().next()?;
        let after = &rest[at + 1..];
        if opening == '\\' {
            let escaped = after.starts_with(['{', '}', '[', ']']);
            let length = usize::from(escaped);
            let kept = if escaped { &after[..1] } else { "\\" };
            urls.iter_mut().for_each(|url| url.push_str(kept));
            rest = &after[length..];
            continue;
        }
        let closing = if opening == '{' { '}' } else { ']' };
        let end = after.find(closing)?;
        let inner = &after[..end];
        let choices = if opening == '{' {
            inner.split(',').map(str::to_owned).collect()
        } else {
            range(inner).unwrap_or_else(|| vec![format!("[{inner}]")])
        };
        if urls.len() * choices.len() > MAX_URLS {
            return None;
        }
        urls = urls
            .iter()
            .flat_map(|url| choices.iter().map(move |choice| format!("{url}{choice}")))
            .collect();
        rest = &after[end + 1..];
    }
    for url in &mut urls {
        url.push_str(rest);
    }
    Some(urls)
}

/// Reads `1-10`, `001-100`, `a-z`, each with `:STEP`.
fn range(text: &str) -> Option<Vec<String>> {
    let (span, step) = text.split_once(':').unwrap_or((text, "1"));
    let step: usize = step.parse().ok().filter(|step| *step > 0)?;
    let (from, to) = span.split_once('-')?;
    if let (Ok(first), Ok(last)) = (from.parse::<u64>(), to.parse::<u64>()) {
        let width = if from.starts_with('0') { from.len() } else { 1 };
        let numbers = (first..=last).step_by(step).take(MAX_URLS + 1);
        return Some(numbers.map(|number| format!("{number:0width$}")).collect());
    }
    let letter = |text: &str| {
        let mut chars = text.chars();
        let letter = chars.next().filter(char::is_ascii_alphabetic)?;
        chars.next().is_none().then_some(letter)
    };
    let letters = (letter(from)?..=letter(to)?).step_by(step);
    Some(letters.map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_stand_for_all_of_their_urls() {
        for (text, expected) in [
            (
                "http://a/{x,y}/[1-2]",
                vec![
                    "http://a/x/1",
                    "http://a/x/2",
                    "http://a/y/1",
                    "http://a/y/2",
                ],
            ),
            (
                "http://a/[08-10]",
                vec!["http://a/08", "http://a/09", "http://a/10"],
            ),
            (
                "http://a/[a-e:2]",
                vec!["http://a/a", "http://a/c", "http://a/e"],
            ),
            ("http://[::1]:8080/x", vec!["http://[::1]:8080/x"]),
            (r"http://a/\{x\}\[1\]", vec!["http://a/{x}[1]"]),
            ("http://a/plain", vec!["http://a/plain"]),
        ] {
            let expected = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(expand(text), Some(expected), "{text}");
        }
        assert_eq!(expand("http://a/[1-2000]"), None);
        assert_eq!(expand("http://a/{x"), None);
    }
}
