//! Types of scripts, stylesheets and images that a browser takes, by the attributes `type`, `language` and `as`. It
//! does not fetch others.

/// A script that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScriptKind {
    /// One that browsers without modules run, too.
    Classic,
    /// A module.
    Module,
}

/// Returns the kind of a script ("prepare the script element" of the HTML standard); `None` for data and for other
/// languages.
pub(super) fn script(kind: Option<&[u8]>, language: Option<&[u8]>) -> Option<ScriptKind> {
    let classic = Some(ScriptKind::Classic);
    match (kind, language) {
        (Some([]), _) | (None, None | Some([])) => classic,
        (Some(kind), _) => {
            let kind = kind.trim_ascii();
            if kind.eq_ignore_ascii_case(b"module") {
                return Some(ScriptKind::Module);
            }
            classic.filter(|_| is_javascript(kind))
        }
        (None, Some(language)) => classic.filter(|_| is_javascript(&[b"text/", language].concat())),
    }
}

/// Returns whether a type is one of JavaScript (the MIME Sniffing standard).
fn is_javascript(kind: &[u8]) -> bool {
    const SUBTYPES: [&[u8]; 4] = [
        b"ecmascript",
        b"javascript",
        b"x-ecmascript",
        b"x-javascript",
    ];
    const OLD: [&[u8]; 8] = [
        b"javascript1.0",
        b"javascript1.1",
        b"javascript1.2",
        b"javascript1.3",
        b"javascript1.4",
        b"javascript1.5",
        b"jscript",
        b"livescript",
    ];
    let Some(slash) = kind.iter().position(|byte| *byte == b'/') else {
        return false;
    };
    let (family, subtype) = (&kind[..slash], &kind[slash + 1..]);
    let is_text = family.eq_ignore_ascii_case(b"text");
    (is_text || family.eq_ignore_ascii_case(b"application")) && is_one_of(subtype, &SUBTYPES)
        || is_text && is_one_of(subtype, &OLD)
}

/// Returns whether a stylesheet of this type is CSS.
pub(super) fn is_style(kind: Option<&[u8]>) -> bool {
    is_none_or(kind, &[b"text/css"])
}

/// Returns whether browsers show images of this type.
pub(super) fn is_image(kind: Option<&[u8]>) -> bool {
    const SHOWN_TYPES: [&[u8]; 11] = [
        b"image/apng",
        b"image/avif",
        b"image/bmp",
        b"image/gif",
        b"image/jpeg",
        b"image/jpg",
        b"image/png",
        b"image/svg+xml",
        b"image/vnd.microsoft.icon",
        b"image/webp",
        b"image/x-icon",
    ];
    is_none_or(kind, &SHOWN_TYPES)
}

/// Returns whether a browser preloads something for this purpose (`as`), of this type.
pub(super) fn is_preloaded(purpose: &[u8], kind: Option<&[u8]>) -> bool {
    const FONTS: [&[u8]; 7] = [
        b"application/font-woff",
        b"application/font-woff2",
        b"font/otf",
        b"font/ttf",
        b"font/woff",
        b"font/woff2",
        b"font/collection",
    ];
    let purpose = purpose.to_ascii_lowercase();
    match &purpose[..] {
        b"fetch" => true,
        b"font" => is_none_or(kind, &FONTS),
        b"image" => is_image(kind),
        b"script" => script(kind, None).is_some(),
        b"style" => is_style(kind),
        b"track" => is_none_or(kind, &[b"text/vtt"]),
        _ => false,
    }
}

/// Returns whether a type, without its parameters, is one of these, or is not given.
fn is_none_or(kind: Option<&[u8]>, known: &[&[u8]]) -> bool {
    let essence = kind.and_then(|kind| kind.split(|byte| *byte == b';').next());
    let essence = essence.unwrap_or_default().trim_ascii();
    essence.is_empty() || is_one_of(essence, known)
}

fn is_one_of(word: &[u8], known: &[&[u8]]) -> bool {
    known.iter().any(|known| word.eq_ignore_ascii_case(known))
}
