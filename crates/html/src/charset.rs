//! The character set that a page names itself, in its first kilobyte.

/// The bytes that are looked at.
const PRESCAN_BYTES: usize = 1024;
/// The elements whose content has no tags.
const RAW_ELEMENTS: [&[u8]; 4] = [b"script", b"style", b"title", b"textarea"];

/// Returns the label of the character set that a page declares: "prescan a byte stream to determine its encoding" of the
/// HTML standard. The label may be unknown.
pub fn declared_charset(page: &[u8]) -> Option<String> {
    let mut rest = &page[..page.len().min(PRESCAN_BYTES)];
    if let Some(label) = of_xml(rest) {
        return Some(label);
    }
    memchr::memmem::find(&rest.to_ascii_lowercase(), b"charset")?;
    loop {
        let at = memchr::memchr(b'<', rest)?;
        rest = &rest[at + 1..];
        if rest.starts_with(b"!--") {
            // '<!-->' is a comment, too.
            rest = &rest[1..];
            rest = &rest[memchr::memmem::find(rest, b"-->")? + b"-->".len()..];
            continue;
        }
        let name = rest.strip_prefix(b"/").unwrap_or(rest);
        let is_meta = rest
            .split_first_chunk::<4>()
            .filter(|(name, _)| name.eq_ignore_ascii_case(b"meta"))
            .and_then(|(_, rest)| rest.first().map(|next| (*next, &rest[1..])))
            .filter(|(next, _)| next.is_ascii_whitespace() || *next == b'/');
        if let Some((_, attributes)) = is_meta {
            rest = attributes;
            if let Some(label) = of_meta(&mut rest) {
                return Some(label);
            }
        } else if name.first().is_some_and(u8::is_ascii_alphabetic) {
            let end = name
                .iter()
                .position(|byte| byte.is_ascii_whitespace() || *byte == b'>')?;
            let is_start = name.len() == rest.len();
            rest = &name[end..];
            while attribute(&mut rest).is_some() {}
            // As in browsers; the standard looks for tags in a script, too.
            let name = name[..end].to_ascii_lowercase();
            if is_start && RAW_ELEMENTS.contains(&name.as_slice()) {
                let end = [b"</", name.as_slice()].concat();
                let lower = rest.to_ascii_lowercase();
                rest = &rest[memchr::memmem::find(&lower, &end)?..];
            }
        } else if matches!(rest.first(), Some(b'!' | b'/' | b'?')) {
            rest = &rest[memchr::memchr(b'>', rest)?..];
        }
    }
}

/// Returns the character set in `<?xml encoding="…"?>` at the start of a page.
fn of_xml(page: &[u8]) -> Option<String> {
    let start = page.strip_prefix(b"<?xml")?;
    let declaration = &start[..memchr::memchr(b'>', start)?];
    let at = memchr::memmem::find(declaration, b"encoding")? + b"encoding".len();
    let rest = declaration[at..].trim_ascii_start().strip_prefix(b"=")?;
    let (quote, rest) = rest.trim_ascii_start().split_first()?;
    let end = rest.iter().position(|byte| byte == quote)?;
    let is_quoted = matches!(quote, b'"' | b'\'');
    is_quoted.then(|| text(&rest[..end]))
}

/// Reads the attributes of a `meta`; returns the character set that they name.
fn of_meta(rest: &mut &[u8]) -> Option<String> {
    let (mut is_content_type, mut named, mut in_content) = (false, None, None);
    while let Some((name, value)) = attribute(rest) {
        match name.as_slice() {
            b"http-equiv" => is_content_type |= value.eq_ignore_ascii_case(b"content-type"),
            b"charset" => named = named.or(Some(text(value))),
            b"content" => in_content = in_content.or_else(|| of_content(value)),
            _ => {}
        }
    }
    named.or(in_content.filter(|_| is_content_type))
}

/// Returns the character set in a value such as `text/html; charset=x`: "extracting a character encoding from a meta
/// element".
fn of_content(value: &[u8]) -> Option<String> {
    let lower = value.to_ascii_lowercase();
    let mut at = 0;
    let rest = loop {
        at += memchr::memmem::find(&lower[at..], b"charset")? + b"charset".len();
        if let Some(rest) = value[at..].trim_ascii_start().strip_prefix(b"=") {
            break rest.trim_ascii_start();
        }
    };
    let label = match rest.first()? {
        quote @ (b'"' | b'\'') => {
            let end = rest[1..].iter().position(|byte| byte == quote)?;
            &rest[1..=end]
        }
        _ => {
            let end = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
            &rest[..rest.iter().position(end).unwrap_or(rest.len())]
        }
    };
    Some(text(label))
}

/// Reads one attribute of a tag, with its name in lower case; `None` at the end of the tag, which stays.
fn attribute<'a>(rest: &mut &'a [u8]) -> Option<(Vec<u8>, &'a [u8])> {
    let is_gap = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'/';
    let start = rest.iter().position(|byte| !is_gap(byte))?;
    *rest = &rest[start..];
    if rest[0] == b'>' {
        return None;
    }
    // A name may begin with '='.
    let end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>' | b'=');
    let length = 1 + rest[1..].iter().position(end)?;
    let name = rest[..length].to_ascii_lowercase();
    *rest = &rest[length..];
    let Some(value) = rest.trim_ascii_start().strip_prefix(b"=") else {
        return Some((name, b""));
    };
    let value = value.trim_ascii_start();
    let (value, after) = match value.first()? {
        quote @ (b'"' | b'\'') => {
            let length = value[1..].iter().position(|byte| byte == quote)?;
            (&value[1..=length], &value[length + 2..])
        }
        _ => {
            let end = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'>';
            value.split_at(value.iter().position(end)?)
        }
    };
    *rest = after;
    Some((name, value))
}

fn text(label: &[u8]) -> String {
    String::from_utf8_lossy(label).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_its_character_set() {
        let of = |page: &str| declared_charset(page.as_bytes());
        for page in [
            "<meta charset=x>",
            "<META CHARSET = 'x' >",
            "<!doctype html><html><head><title>a</title><meta charset=\"x\"/>",
            "<meta name=a content=b><meta charset=x>",
            "<meta http-equiv=Content-Type content='text/html; charset=x'>",
            "<meta content=\"text/html;charset = x;q\" http-equiv=content-type>",
            "<meta content='text/html;charset=\"x\"' http-equiv=content-type>",
            "<!-- <meta charset=y> --><meta charset=x>",
            "<!--><meta charset=x>",
            "<p title='<meta charset=y>'><meta charset=x>",
            "</p title='>'><meta charset=x>",
            "<Script a>'<meta charset=y>'</SCRIPT><title><meta charset=y></title><meta charset=x>",
            "<?php echo 1 ?><meta charset=x>",
            "<metal charset=y><meta charset=x><meta charset=z>",
            "<?xml version='1.0' encoding='x'?><meta charset=y>",
        ] {
            assert_eq!(of(page).as_deref(), Some("x"), "{page}");
        }
        for page in [
            "",
            "<",
            "<meta",
            "<meta charset",
            "<meta charset=",
            "<meta charset=x",
            "<meta charset='x",
            "<!-- <meta charset=x>",
            "<meta content='text/html; charset=x'>",
            "<meta http-equiv=refresh content='text/html; charset=x'>",
            "charset=x",
        ] {
            assert_eq!(of(page), None, "{page}");
        }
        let late = format!("{}<meta charset=x>", " ".repeat(1100));
        assert_eq!(of(&late), None);
    }
}
