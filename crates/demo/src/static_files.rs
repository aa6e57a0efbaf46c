//! The static files of a site: real names, types and sizes, made-up content. Built once when the site starts; knows
//! nothing of requests.

use std::collections::HashMap;

use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, LAST_MODIFIED,
};

use super::filler::{ENGLISH, FillerText};
use super::prepared::PreparedBody;
use super::server::SiteResponse;

/// The compression of text files by a site.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Compress {
    /// All files are sent as they are.
    Nothing,
    /// Scripts, stylesheets and drawings are sent in gzip to clients that accept it.
    Text,
}

/// All static files, ready to be sent.
pub(super) struct StaticFiles {
    by_path: HashMap<String, Asset>,
}

struct Asset {
    body: PreparedBody,
    content_type: HeaderValue,
}

impl StaticFiles {
    /// The files of these paths, which have no leading slash, and sizes in bytes.
    pub(super) fn new(
        files: impl IntoIterator<Item = (String, usize)>,
        compress: Compress,
    ) -> Self {
        let files: Vec<_> = files.into_iter().collect();
        let maker = FileBuilder {
            text: FillerText::new(&ENGLISH),
            pictures: PICTURES.map(|(ending, _, magic)| picture(ending, magic, &files)),
            compress,
        };
        let assets = files.into_iter().map(|(path, size)| {
            let asset = maker.asset(&path, size);
            (path, asset)
        });
        StaticFiles {
            by_path: assets.collect(),
        }
    }

    /// The file at `path`, which starts with a slash, if there is one; 304 if the client has it already.
    pub(super) fn respond(&self, path: &str, headers: &HeaderMap) -> Option<SiteResponse> {
        let asset = self.by_path.get(path.strip_prefix('/')?)?;
        let mut response = asset.body.respond(headers);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, asset.content_type.clone());
        let modified = HeaderValue::from_static("Wed, 04 Dec 2024 20:11:44 GMT");
        headers.insert(LAST_MODIFIED, modified);
        let two_weeks = HeaderValue::from_static("max-age=1209600");
        headers.insert(CACHE_CONTROL, two_weeks);
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("none"));
        Some(response)
    }
}

/// The kinds of images: ending, type and first bytes.
const PICTURES: [(&str, &str, &[u8]); 3] = [
    ("png", "image/png", b"\x89PNG\r\n\x1a\n"),
    ("jpg", "image/jpeg", b"\xff\xd8\xff\xe0"),
    ("ico", "image/x-icon", b"\0\0\x01\0"),
];

/// The beginning and the end of a script or stylesheet.
const CODE: [&str; 2] = ["/*", "*/\n"];
/// The beginning and the end of a drawing.
const DRAWING: [&str; 2] = [
    "<svg xmlns=\"http://www.w3.org/2000/svg\"><!--",
    "--></svg>\n",
];

/// The material that files are made of.
struct FileBuilder {
    text: FillerText,
    /// The largest picture of each kind; the others are its beginning and so cost no memory.
    pictures: [Bytes; PICTURES.len()],
    compress: Compress,
}

impl FileBuilder {
    fn asset(&self, path: &str, size: usize) -> Asset {
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        let tag = format!("{size:x}-{:x}", path.len());
        let comment = |[open, close]: [&str; 2]| {
            let text = self.comment(path, size, open, close);
            match self.compress {
                Compress::Nothing => PreparedBody::plain(text, &tag),
                Compress::Text => PreparedBody::compressed(text, &tag),
            }
        };
        let mut pictures = PICTURES.iter().zip(&self.pictures);
        let picture = pictures.find(|((kind, ..), _)| *kind == ending);
        let (content_type, body) = match (ending, picture) {
            (_, Some(((_, kind, _), bytes))) => {
                (*kind, PreparedBody::plain(bytes.slice(..size), &tag))
            }
            ("js", _) => ("application/javascript", comment(CODE)),
            ("svg", _) => ("image/svg+xml", comment(DRAWING)),
            _ => ("text/css", comment(CODE)),
        };
        Asset {
            body,
            content_type: HeaderValue::from_static(content_type),
        }
    }

    /// A file of exactly `size` bytes that is all comment.
    fn comment(&self, path: &str, size: usize, open: &str, close: &str) -> Bytes {
        let mut text =
            format!("{open} {path} of the demo site: the size is real, the content is not.\n");
        for part in 0.. {
            if text.len() >= size {
                break;
            }
            text.push_str(self.text.article(part, 997));
            text.push('\n');
        }
        text.truncate(size - close.len());
        text.push_str(close);
        text.into()
    }
}

/// A picture of its kind, as large as the largest among `files`.
fn picture(ending: &str, magic: &[u8], files: &[(String, usize)]) -> Bytes {
    let sizes = files.iter().filter(|(path, _)| path.ends_with(ending));
    let size = sizes.map(|(_, size)| *size).max().unwrap_or(0);
    // Does not shrink when it is compressed, as pictures do not.
    let mut state = 1_u64;
    let filler = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    });
    magic.iter().copied().chain(filler).take(size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_exactly_its_size_and_starts_as_its_kind_does() {
        let files = [
            ("a.js", 900),
            ("b.css", 20_611),
            ("c.png", 656),
            ("d.jpg", 70_000),
            ("e.svg", 700),
        ];
        let assets = StaticFiles::new(
            files.map(|(path, size)| (path.to_owned(), size)),
            Compress::Text,
        );
        for (path, size) in files {
            assert_eq!(assets.by_path[path].body.bytes().len(), size, "{path}");
        }
        let starts = |path: &str, with: &[u8]| assets.by_path[path].body.bytes().starts_with(with);
        assert!(starts("c.png", b"\x89PNG") && starts("d.jpg", b"\xff\xd8"));
        assert!(starts("a.js", b"/*") && starts("e.svg", b"<svg "));
    }
}
