//! The first words of a response, for messages that say what it is instead of what was expected.

use lgoose_base::error::{masked_secrets, one_line};

/// The most bytes of a body that are looked at.
const MOST_READ: usize = 64 << 10;
/// The most characters that are shown.
const MOST_SHOWN: usize = 60;

/// Returns the first words of a body on one line, those of a page without its tags, head and scripts.
pub(super) fn first_words(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(MOST_READ)]);
    let text = text.trim_start();
    let words = if text.starts_with('<') {
        without_tags(text)
    } else {
        text.chars().take(4 * MOST_SHOWN).collect()
    };
    let words: Vec<&str> = words.split_whitespace().collect();
    let words = words.join(" ");
    let words = masked_secrets(&words);
    let end = words.char_indices().nth(MOST_SHOWN);
    match end {
        Some((end, _)) => one_line(&format!("{}…", &words[..end])),
        None => one_line(&words),
    }
}

fn without_tags(page: &str) -> String {
    let mut rest = &page[page.find("<body").unwrap_or(0)..];
    let mut words = String::new();
    while let Some((before, after)) = rest.split_once('<') {
        words.push_str(before);
        words.push(' ');
        let skipped = ["script", "style", "title"]
            .into_iter()
            .find(|name| after.starts_with(name));
        let after = match skipped {
            Some(name) => after
                .split_once(&format!("</{name}"))
                .map_or("", |(_, after)| after),
            None => after,
        };
        rest = after.split_once('>').map_or("", |(_, after)| after);
        if words.len() > 4 * MOST_SHOWN {
            return words;
        }
    }
    words.push_str(rest);
    words
}

#[cfg(test)]
mod tests {
    use super::first_words;

    #[test]
    fn a_page_is_described_by_its_words() {
        for (body, expected) in [
            (
                "<html><head><title>T</title></head><body><script>x</script><h1>Log  in</h1><p>now</p>",
                "Log in now",
            ),
            ("Not found", "Not found"),
            ("", ""),
            ("<", ""),
            ("<p>a", "a"),
        ] {
            assert_eq!(first_words(body.as_bytes()), expected, "{body}");
        }
        assert_eq!(
            first_words("é ".repeat(1_000).as_bytes()).chars().count(),
            61
        );
    }
}
