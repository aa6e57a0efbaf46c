//! URLs of requests: their hosts, and rows named by a task whose requests go to different pages.

use lgoose_metrics::RequestId;
use lgoose_plan::{are_alike, path_of};
use memchr::{memchr, memchr3};

/// Returns the scheme and authority of an absolute URL; empty for a path.
pub(crate) fn host_of(url: &str) -> &str {
    let bytes = url.as_bytes();
    let authority = memchr(b':', bytes).map(|colon| (colon, colon + "://".len()));
    match authority {
        Some((colon, start)) if bytes[colon..].starts_with(b"://") => {
            let end = memchr3(b'/', b'?', b'#', &bytes[start..]);
            &url[..end.map_or(url.len(), |end| start + end)]
        }
        _ => "",
    }
}

/// Returns whether a URL has that scheme and authority, as [`host_of`] returns them.
pub(crate) fn is_on(url: &str, host: &str) -> bool {
    match url.strip_prefix(host) {
        _ if host.is_empty() => host_of(url).is_empty(),
        Some(rest) => rest.is_empty() || rest.starts_with(['/', '?', '#']),
        None => false,
    }
}

/// The latest URL of each row that counts requests under the name of their task.
#[derive(Debug, Default)]
pub(crate) struct Paths(Vec<LatestUrl>);

/// The latest URL of a row.
#[derive(Debug, Default)]
enum LatestUrl {
    #[default]
    None,
    Url(String),
    /// There were several URLs, of different kinds.
    Several,
}

impl Paths {
    /// Notes the URL of a request, and returns two paths of the row the first time that they are of different kinds.
    pub(super) fn differs(&mut self, row: RequestId, url: &str) -> Option<[String; 2]> {
        let at = row.place();
        if self.0.len() <= at {
            self.0.resize_with(at + 1, LatestUrl::default);
        }
        let latest = &mut self.0[at];
        match latest {
            // Most tasks request the same page again.
            LatestUrl::Url(previous) if *previous == url => None,
            LatestUrl::Url(previous) => {
                let paths = [path_of(previous), path_of(url)];
                if are_alike(paths[0], paths[1]) {
                    url.clone_into(previous);
                    return None;
                }
                let paths = paths.map(str::to_owned);
                *latest = LatestUrl::Several;
                Some(paths)
            }
            LatestUrl::Several => None,
            LatestUrl::None => {
                *latest = LatestUrl::Url(url.to_owned());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_differ_by_scheme_and_authority() {
        assert_eq!(host_of("http://a:81/x"), "http://a:81");
        assert_eq!(host_of("https://a?x"), "https://a");
        assert_eq!(host_of("http://a"), "http://a");
        assert_eq!(host_of("/x"), "");
        assert_eq!(host_of("/x:y/z"), "");
        let urls = [
            "http://a",
            "http://a/x",
            "http://a:81?x",
            "http://ab#",
            "/http://a",
            "a:b",
            "",
        ];
        for (one, other) in urls
            .iter()
            .flat_map(|one| urls.iter().map(move |other| (one, other)))
        {
            assert_eq!(
                is_on(one, host_of(other)),
                host_of(one) == host_of(other),
                "{one} {other}"
            );
        }
    }
}
