//! Which part of the site a path leads to, and as what a request for it is counted. Pure; driven by the site.

use http::Method;

/// Everything a request can be counted as. `%` stands for a number.
pub(super) const LABELS: [&str; 12] = [
    "GET /",
    "GET /node/%",
    "GET /user/%",
    "GET /user",
    "GET /user/logout",
    "GET /comment/reply/%",
    "POST /user",
    "POST /comment/reply/%",
    "GET /misc",
    "GET /modules",
    "GET /themes",
    "other",
];

/// A part of the site. Whether there is an article or a user of that number is not decided here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// `/` or `/node`.
    Front,
    /// `/node/%`.
    Article(u32),
    /// `/user/%`.
    Profile(u32),
    /// `/user` or `/user/login`: the login form, or for members their profile.
    Account,
    /// `/user/logout`.
    Logout,
    /// `/comment/reply/%`.
    Reply(u32),
    /// A static file, and as what it is counted.
    Asset(&'static str),
    /// Anything else.
    Nowhere,
}

impl Place {
    /// The place of a path, with or without a slash at its end.
    pub(super) fn of(path: &str) -> Place {
        let path = path.strip_prefix('/').unwrap_or(path);
        let path = path.strip_suffix('/').unwrap_or(path);
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let numbered =
            |text: &str, place: fn(u32) -> Place| number(text).map_or(Place::Nowhere, place);
        match (first, rest) {
            ("" | "node", "") => Place::Front,
            ("node", nid) => numbered(nid, Place::Article),
            ("user", "" | "login") => Place::Account,
            ("user", "logout") => Place::Logout,
            ("user", uid) => numbered(uid, Place::Profile),
            ("comment", rest) => numbered(rest.strip_prefix("reply/").unwrap_or(""), Place::Reply),
            ("misc", _) => Place::Asset("GET /misc"),
            ("modules", _) => Place::Asset("GET /modules"),
            ("themes", _) => Place::Asset("GET /themes"),
            _ => Place::Nowhere,
        }
    }

    /// As what a request with `method` is counted: one of [`LABELS`].
    pub(super) fn label(self, method: &Method) -> &'static str {
        if method == Method::GET {
            return match self {
                Place::Front => "GET /",
                Place::Article(_) => "GET /node/%",
                Place::Profile(_) => "GET /user/%",
                Place::Account => "GET /user",
                Place::Logout => "GET /user/logout",
                Place::Reply(_) => "GET /comment/reply/%",
                Place::Asset(label) => label,
                Place::Nowhere => "other",
            };
        }
        match self {
            Place::Account if method == Method::POST => "POST /user",
            Place::Reply(_) if method == Method::POST => "POST /comment/reply/%",
            _ => "other",
        }
    }
}

/// Digits only: `+7` is no number of an article.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_its_place_and_label() {
        for (method, path, place, label) in [
            (Method::GET, "/", Place::Front, "GET /"),
            (Method::GET, "/node/", Place::Front, "GET /"),
            (Method::GET, "/node/5", Place::Article(5), "GET /node/%"),
            (Method::GET, "/node/+5", Place::Nowhere, "other"),
            (Method::GET, "/node/5/edit", Place::Nowhere, "other"),
            (Method::GET, "/node/99999999999", Place::Nowhere, "other"),
            (Method::GET, "/user", Place::Account, "GET /user"),
            (Method::GET, "/user/7/", Place::Profile(7), "GET /user/%"),
            (
                Method::GET,
                "/user/logout",
                Place::Logout,
                "GET /user/logout",
            ),
            (Method::POST, "/user", Place::Account, "POST /user"),
            (
                Method::POST,
                "/comment/reply/5",
                Place::Reply(5),
                "POST /comment/reply/%",
            ),
            (Method::POST, "/node/5", Place::Article(5), "other"),
            (
                Method::GET,
                "/misc/drupal.js",
                Place::Asset("GET /misc"),
                "GET /misc",
            ),
            (
                Method::HEAD,
                "/misc/drupal.js",
                Place::Asset("GET /misc"),
                "other",
            ),
            (Method::GET, "*", Place::Nowhere, "other"),
        ] {
            assert_eq!(Place::of(path), place, "{path}");
            assert_eq!(place.label(&method), label, "{method} {path}");
            assert!(LABELS.contains(&label));
        }
    }
}
