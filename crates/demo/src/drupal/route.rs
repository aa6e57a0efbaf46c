//! The routes of the site: the targets of its paths, and the labels that requests are counted under. Pure; driven by
//! the site.

use http::Method;

use crate::fields::number;

/// All labels that requests are counted under. `%` stands for a number.
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

/// The part of the site that a path leads to. Whether there is an article or a user of that number is not decided
/// here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DrupalRoute {
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
    /// A static file, with the label that requests for it are counted under.
    Asset(&'static str),
    /// Anything else.
    Unknown,
}

impl DrupalRoute {
    /// The route of a path, with or without a slash at its end.
    pub(super) fn of(path: &str) -> DrupalRoute {
        let path = path.strip_prefix('/').unwrap_or(path);
        let path = path.strip_suffix('/').unwrap_or(path);
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let numbered = |text: &str, route: fn(u32) -> DrupalRoute| {
            number(text).map_or(DrupalRoute::Unknown, route)
        };
        match (first, rest) {
            ("" | "node", "") => DrupalRoute::Front,
            ("node", nid) => numbered(nid, DrupalRoute::Article),
            ("user", "" | "login") => DrupalRoute::Account,
            ("user", "logout") => DrupalRoute::Logout,
            ("user", uid) => numbered(uid, DrupalRoute::Profile),
            ("comment", rest) => numbered(
                rest.strip_prefix("reply/").unwrap_or(""),
                DrupalRoute::Reply,
            ),
            ("misc", _) => DrupalRoute::Asset("GET /misc"),
            ("modules", _) => DrupalRoute::Asset("GET /modules"),
            ("themes", _) => DrupalRoute::Asset("GET /themes"),
            _ => DrupalRoute::Unknown,
        }
    }

    /// The label that a request with `method` is counted under: one of [`LABELS`].
    pub(super) fn label(self, method: &Method) -> &'static str {
        if method == Method::GET {
            return match self {
                DrupalRoute::Front => "GET /",
                DrupalRoute::Article(_) => "GET /node/%",
                DrupalRoute::Profile(_) => "GET /user/%",
                DrupalRoute::Account => "GET /user",
                DrupalRoute::Logout => "GET /user/logout",
                DrupalRoute::Reply(_) => "GET /comment/reply/%",
                DrupalRoute::Asset(label) => label,
                DrupalRoute::Unknown => "other",
            };
        }
        match self {
            DrupalRoute::Account if method == Method::POST => "POST /user",
            DrupalRoute::Reply(_) if method == Method::POST => "POST /comment/reply/%",
            _ => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_its_place_and_label() {
        for (method, path, route, label) in [
            (Method::GET, "/", DrupalRoute::Front, "GET /"),
            (Method::GET, "/node/", DrupalRoute::Front, "GET /"),
            (
                Method::GET,
                "/node/5",
                DrupalRoute::Article(5),
                "GET /node/%",
            ),
            (Method::GET, "/node/+5", DrupalRoute::Unknown, "other"),
            (Method::GET, "/node/5/edit", DrupalRoute::Unknown, "other"),
            (
                Method::GET,
                "/node/99999999999",
                DrupalRoute::Unknown,
                "other",
            ),
            (Method::GET, "/user", DrupalRoute::Account, "GET /user"),
            (
                Method::GET,
                "/user/7/",
                DrupalRoute::Profile(7),
                "GET /user/%",
            ),
            (
                Method::GET,
                "/user/logout",
                DrupalRoute::Logout,
                "GET /user/logout",
            ),
            (Method::POST, "/user", DrupalRoute::Account, "POST /user"),
            (
                Method::POST,
                "/comment/reply/5",
                DrupalRoute::Reply(5),
                "POST /comment/reply/%",
            ),
            (Method::POST, "/node/5", DrupalRoute::Article(5), "other"),
            (
                Method::GET,
                "/misc/drupal.js",
                DrupalRoute::Asset("GET /misc"),
                "GET /misc",
            ),
            (
                Method::HEAD,
                "/misc/drupal.js",
                DrupalRoute::Asset("GET /misc"),
                "other",
            ),
            (Method::GET, "*", DrupalRoute::Unknown, "other"),
        ] {
            assert_eq!(DrupalRoute::of(path), route, "{path}");
            assert_eq!(route.label(&method), label, "{method} {path}");
            assert!(LABELS.contains(&label));
        }
    }
}
