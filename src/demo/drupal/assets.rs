//! The static files of a Drupal 7 with its standard theme: real names, types and sizes, made-up content.
//! Built once when the site starts; knows nothing of who asks.

use std::collections::HashMap;

use bytes::Bytes;
use http::header::{ACCEPT_RANGES, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, LAST_MODIFIED};
use http::{Response, StatusCode};
use http_body_util::Full;

use crate::demo::server::Answer;

/// Path without the leading slash, and size in bytes. All stylesheets together have 51,700.
const FILES: [(&str, usize); 21] = [
    ("misc/jquery.js", 78_601),
    ("misc/jquery-extend-3.4.0.js", 3_415),
    ("misc/jquery-html-prefilter-3.5.0-backport.js", 12_629),
    ("misc/jquery.once.js", 2_974),
    ("misc/drupal.js", 20_611),
    ("misc/form-single-submit.js", 2_619),
    ("misc/feed.png", 656),
    ("themes/bartik/logo.png", 3_479),
    ("modules/system/system.base.css", 5_428),
    ("modules/system/system.menus.css", 2_035),
    ("modules/system/system.messages.css", 961),
    ("modules/system/system.theme.css", 3_711),
    ("modules/comment/comment.css", 184),
    ("modules/field/theme/field.css", 550),
    ("modules/node/node.css", 144),
    ("modules/search/search.css", 564),
    ("modules/user/user.css", 1_827),
    ("themes/bartik/css/layout.css", 1_634),
    ("themes/bartik/css/style.css", 32_700),
    ("themes/bartik/css/colors.css", 1_357),
    ("themes/bartik/css/print.css", 605),
];

/// All static files, ready to be sent.
pub(super) struct Assets {
    by_path: HashMap<&'static str, Asset>,
}

struct Asset {
    body: Bytes,
    content_type: HeaderValue,
    etag: HeaderValue,
}

impl Assets {
    pub(super) fn new() -> Self {
        let assets = FILES.iter().map(|&(path, size)| (path, asset(path, size)));
        Assets {
            by_path: assets.collect(),
        }
    }

    /// The file at `path`, which starts with a slash, if there is one.
    pub(super) fn answer(&self, path: &str) -> Option<Answer> {
        let asset = self.by_path.get(path.strip_prefix('/')?)?;
        let mut answer = Response::new(Full::new(asset.body.clone()));
        *answer.status_mut() = StatusCode::OK;
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, asset.content_type.clone());
        headers.insert(ETAG, asset.etag.clone());
        let modified = HeaderValue::from_static("Wed, 04 Dec 2024 20:11:44 GMT");
        headers.insert(LAST_MODIFIED, modified);
        let two_weeks = HeaderValue::from_static("max-age=1209600");
        headers.insert(CACHE_CONTROL, two_weeks);
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("none"));
        Some(answer)
    }
}

fn asset(path: &str, size: usize) -> Asset {
    let (content_type, body) = match path.rsplit_once('.') {
        Some((_, "js")) => ("application/javascript", comment(path, size)),
        Some((_, "css")) => ("text/css", comment(path, size)),
        _ => ("image/png", image(size)),
    };
    let etag = format!("\"{size:x}-{:x}\"", path.len());
    Asset {
        body: body.into(),
        content_type: HeaderValue::from_static(content_type),
        etag: HeaderValue::try_from(etag).expect("hexadecimal digits make a header"),
    }
}

/// A comment of exactly `size` bytes, which scripts and stylesheets write the same way.
fn comment(path: &str, size: usize) -> Vec<u8> {
    let mut text = format!("/* {path} of the demo site: the size is real, the content is not.\n");
    while text.len() < size {
        text.push_str(
            " * The quick brown fox jumps over the lazy dog, again and again and again.\n",
        );
    }
    text.truncate(size - 3);
    text.push_str("*/\n");
    text.into_bytes()
}

/// `size` bytes that start as a PNG does.
fn image(size: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let filler = (0_u32..).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8);
    bytes.extend(filler.take(size - bytes.len()));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_exactly_its_size() {
        let assets = Assets::new();
        for (path, size) in FILES {
            assert_eq!(assets.by_path[path].body.len(), size, "{path}");
        }
    }

    #[test]
    fn stylesheets_and_scripts_add_up_to_what_drupal_sends() {
        let sum = |ending: &str| -> usize {
            let files = FILES.iter().filter(|(path, _)| path.ends_with(ending));
            files.map(|(_, size)| size).sum()
        };
        assert_eq!(sum(".css"), 51_700);
        assert_eq!(sum(".js") + sum(".png"), 122_365 + 2_619);
    }
}
