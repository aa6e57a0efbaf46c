//! A field of `-F`: `name=text`, `name=@file,file`, `name=<file`, with `;type=`, `;filename=` and quotes (curl's manual page,
//! `--form`).

use super::shown;
use crate::exchange::RecordedPart;

/// The media types that curl gives files by the endings of their names.
const MEDIA: [(&str, &str); 9] = [
    (".gif", "image/gif"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".png", "image/png"),
    (".svg", "image/svg+xml"),
    (".txt", "text/plain"),
    (".htm", "text/html"),
    (".html", "text/html"),
    (".pdf", "application/pdf"),
];

/// Returns a part that is a text.
pub(super) fn text(name: &str, text: &str) -> RecordedPart {
    RecordedPart {
        name: name.to_owned(),
        filename: None,
        media: None,
        data: Some(text.to_owned()),
        content: None,
    }
}

/// Reads a field; `file` reads a file, and notes where it cannot.
///
/// # Errors
/// It has no `=`.
pub(super) fn read(
    field: &str,
    file: &mut impl FnMut(&str) -> Option<Vec<u8>>,
) -> Result<Vec<RecordedPart>, String> {
    let Some((name, mut rest)) = field.split_once('=') else {
        return Err(format!("'-F {}' has no '='", shown(field)));
    };
    let kind = rest.chars().next().filter(|c| matches!(c, '@' | '<'));
    if kind.is_some() {
        rest = &rest[1..];
    }
    let mut parts = Vec::new();
    loop {
        let ends = if kind == Some('@') { ",;" } else { ";" };
        let (word, after) = word(rest, ends);
        let (mut media, mut filename) = (None, None);
        rest = after;
        while let Some(after) = rest.strip_prefix(';') {
            let after = after.trim_start();
            let (option, value) = after.split_once('=').unwrap_or((after, ""));
            let is_known = matches!(option, "type" | "filename" | "headers" | "encoder");
            let start = if is_known { value } else { after };
            let (value, after) = self::word(start, ends);
            match option {
                "type" => media = Some(value),
                "filename" => filename = Some(value),
                // Plans send neither headers of parts nor other encodings; curl itself skips unknown options.
                _ => {}
            }
            rest = after;
        }
        let ending = MEDIA
            .iter()
            .find(|(ending, _)| word.to_ascii_lowercase().ends_with(ending));
        parts.push(match kind {
            Some('@') => {
                let base = word.rsplit('/').next().unwrap_or(&word).to_owned();
                let usual = ending.map_or("application/octet-stream", |(_, media)| media);
                RecordedPart {
                    name: name.to_owned(),
                    filename: Some(filename.unwrap_or(base)),
                    media: media.or_else(|| Some(usual.to_owned())),
                    data: None,
                    content: file(&word),
                }
            }
            Some(_) => {
                let bytes = file(&word).unwrap_or_default();
                RecordedPart {
                    media,
                    filename,
                    ..text(name, &String::from_utf8_lossy(&bytes))
                }
            }
            None => RecordedPart {
                media,
                filename,
                ..text(name, &word)
            },
        });
        match rest.strip_prefix(',') {
            Some(after) if kind == Some('@') => rest = after,
            _ => return Ok(parts),
        }
    }
}

/// Reads a word up to one of these characters, or one in quotes; returns the rest, too.
fn word<'a>(text: &'a str, ends: &str) -> (String, &'a str) {
    let trimmed = text.trim_start();
    if let Some(quoted) = trimmed.strip_prefix('"') {
        let mut out = String::new();
        let mut chars = quoted.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    let rest = &quoted[at + 1..];
                    let end = rest.find(|c| ends.contains(c)).unwrap_or(rest.len());
                    return (out, &rest[end..]);
                }
                '\\' => match chars.clone().next() {
                    Some((_, escaped @ ('\\' | '"'))) => {
                        chars.next();
                        out.push(escaped);
                    }
                    _ => out.push('\\'),
                },
                c => out.push(c),
            }
        }
    }
    let end = text.find(|c| ends.contains(c)).unwrap_or(text.len());
    (text[..end].to_owned(), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(field: &str) -> Vec<(String, Option<String>, String)> {
        let mut file = |path: &str| Some(format!("in {path}").into_bytes());
        let parts = read(field, &mut file).expect("a field");
        let shown = parts.into_iter().map(|part| {
            let data = part.data.or(part
                .content
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
            (
                part.filename.unwrap_or_default(),
                part.media,
                data.unwrap_or_default(),
            )
        });
        shown.collect()
    }

    #[test]
    fn fields_are_read_as_curl_reads_them() {
        let media = |media: &str| Some(media.to_owned());
        for (field, filename, kind, data) in [
            ("a=b;c", "", None, "b"),
            (
                "a={\"a\":1};type=application/json",
                "",
                media("application/json"),
                "{\"a\":1}",
            ),
            (
                "a=\"x;y\\\"\";type=text/plain",
                "",
                media("text/plain"),
                "x;y\"",
            ),
            ("a=@d/b.png", "b.png", media("image/png"), "in d/b.png"),
            (
                "a=@b.bin;filename=\"c d.bin\"",
                "c d.bin",
                media("application/octet-stream"),
                "in b.bin",
            ),
            (
                "a=@\"x;y.txt\";type=text/html",
                "x;y.txt",
                media("text/html"),
                "in x;y.txt",
            ),
            ("a=<b.txt", "", None, "in b.txt"),
        ] {
            let expected = (filename.to_owned(), kind, data.to_owned());
            assert_eq!(shown(field), [expected], "{field}");
        }
        let names: Vec<String> = shown("f=@a.txt,b.png;type=image/x")
            .into_iter()
            .map(|part| part.0)
            .collect();
        assert_eq!(names, ["a.txt", "b.png"]);
        assert!(read("nothing", &mut |_: &str| None).is_err());
    }
}
