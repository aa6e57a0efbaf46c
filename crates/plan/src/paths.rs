//! Paths of URLs, as names of requests, and which paths are pages of one kind.

use std::borrow::Cow;

/// Returns the path of `https://host/path?query` or `/path?query`: `/path`.
pub fn path_of(url: &str) -> &str {
    let path = match url.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |slash| &rest[slash..]),
        None => url,
    };
    path.split(['?', '#']).next().unwrap_or(path)
}

/// Returns a path with `:id` in the place of each segment that is a number, a UUID or a hash; an ending such as
/// `.css` stays.
pub fn without_ids(path: &str) -> Cow<'_, str> {
    if !path.bytes().any(|byte| byte.is_ascii_digit()) {
        return path.into();
    }
    let segments = path.split('/').map(|segment| {
        let (stem, ending) = segment.split_at(segment.find('.').unwrap_or(segment.len()));
        if is_id(stem) {
            format!(":id{ending}").into()
        } else {
            Cow::from(segment)
        }
    });
    segments.collect::<Vec<_>>().join("/").into()
}

/// Returns whether a segment of a path is a number, a UUID or a hash of at least 16 hexadecimal digits.
fn is_id(segment: &str) -> bool {
    /// The least length at which a hash is distinguished from a word.
    const HASH: usize = 16;
    let hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has_digit = segment.bytes().any(|byte| byte.is_ascii_digit());
    let is_number = has_digit && segment.bytes().all(|byte| byte.is_ascii_digit());
    let groups: Vec<usize> = segment.split('-').map(str::len).collect();
    let is_uuid = groups == [8, 4, 4, 4, 12] && segment.split('-').all(hexadecimal);
    is_number || is_uuid || (has_digit && segment.len() >= HASH && hexadecimal(segment))
}

/// Returns whether two paths differ only in ids, or only in the last of several segments: then they are pages of one
/// kind, distinguished by titles.
pub fn are_alike(one: &str, other: &str) -> bool {
    // Most are: nothing has to be put together to see it.
    if let (Some((above, _)), Some((also, _))) = (one.rsplit_once('/'), other.rsplit_once('/'))
        && !above.is_empty()
        && above == also
    {
        return true;
    }
    let (one, other) = (without_ids(one), without_ids(other));
    match (one.rsplit_once('/'), other.rsplit_once('/')) {
        _ if one == other => true,
        (Some((above, _)), Some((also, _))) => !above.is_empty() && above == also,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_a_name_is_counted_under_its_path() {
        for (url, path) in [
            ("/node/1?page=2", "/node/1"),
            ("http://example.org/a/b?c#d", "/a/b"),
            ("https://example.org", "/"),
            ("page#top", "page"),
        ] {
            assert_eq!(path_of(url), path, "{url}");
        }
    }

    #[test]
    fn pages_of_one_kind_are_alike() {
        for (one, other, alike) in [
            ("/node/1", "/node/2", true),
            ("/en/recipes/soup", "/en/recipes/cake", true),
            ("/cart", "/checkout", false),
            ("/", "/cart", false),
            ("/en/recipes", "/en/recipes/soup", false),
            ("/a/x/c", "/a/y/c", false),
        ] {
            assert_eq!(are_alike(one, other), alike, "{one} {other}");
        }
    }

    #[test]
    fn ids_in_a_path_are_one() {
        for (path, name) in [
            ("/node/17/edit", "/node/:id/edit"),
            ("/", "/"),
            ("/a/6f9619ff-8b86-d011-b42d-00cf4fc964ff", "/a/:id"),
            ("/css/css_3a1f", "/css/css_3a1f"),
            ("/css/da39a3ee5e6b4b0d3255bfef95601890.css", "/css/:id.css"),
            ("/v2/deadbeef", "/v2/deadbeef"),
            ("/2024/05/news", "/:id/:id/news"),
            ("/accommodations", "/accommodations"),
        ] {
            assert_eq!(without_ids(path), name);
        }
    }
}
