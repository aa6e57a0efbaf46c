//! The routes of the site: the targets of its paths, and the labels that requests are counted under. Pure; driven by
//! the site.

use std::sync::LazyLock;

use http::Method;

use crate::fields::number;

/// A language of the site; as a number its index in every pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lang {
    En,
    Es,
}

/// The part of the site that a path leads to. Whether there is such an article, recipe or term is not decided here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RouteKind {
    Front,
    About,
    Articles,
    Article,
    Recipes,
    Recipe,
    /// A recipe category or a tag.
    Term,
    /// A node by its number.
    Node(u32),
    Edit(u32),
    Search,
    Contact,
    Login,
    /// `/user`, which leads on to the login or the profile.
    Account,
    Profile,
    Logout,
    /// A static file, with the label that requests for it are counted under.
    Asset(&'static str),
    /// Anything else.
    Unknown,
}

/// The route of a path: its language and the part of the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UmamiRoute {
    /// The language that the path begins with.
    pub(super) prefix: Option<Lang>,
    pub(super) kind: RouteKind,
}

/// The labels of a route, without a prefix and in English and Spanish.
macro_rules! row {
    ($method:literal $path:literal) => {
        [
            concat!($method, " ", $path),
            concat!($method, " /en", $path),
            concat!($method, " /es", $path),
        ]
    };
}

const ROWS: [[&str; 3]; 18] = [
    ["GET /", "GET /en", "GET /es"],
    [
        "GET /about-umami",
        "GET /en/about-umami",
        "GET /es/acerca-de-umami",
    ],
    row!("GET" "/articles"),
    row!("GET" "/articles/%"),
    row!("GET" "/recipes"),
    row!("GET" "/recipes/%"),
    row!("GET" "/term/%"),
    row!("GET" "/node/%"),
    row!("GET" "/node/%/edit"),
    row!("POST" "/node/%/edit"),
    row!("GET" "/search/node"),
    row!("POST" "/search/node"),
    row!("GET" "/contact"),
    row!("POST" "/contact"),
    row!("GET" "/user/login"),
    row!("POST" "/user/login"),
    row!("GET" "/user/%"),
    row!("GET" "/user/logout"),
];

/// All labels that requests are counted under, the most frequent first: they are searched in order. `%` stands for
/// a number or a name; `/user` counts as `/user/%`.
pub(super) static LABELS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let assets = ["GET /sites", "GET /core"].into_iter();
    assets
        .chain(ROWS.into_iter().flatten())
        .chain(["other"])
        .collect()
});

impl UmamiRoute {
    /// The route of a path, with or without a slash at its end.
    pub(super) fn of(path: &str) -> UmamiRoute {
        let path = path.strip_prefix('/').unwrap_or(path);
        let path = path.strip_suffix('/').unwrap_or(path);
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let (prefix, path) = match first {
            "en" => (Some(Lang::En), rest),
            "es" => (Some(Lang::Es), rest),
            _ => (None, path),
        };
        let kind = RouteKind::of(path);
        match (kind, prefix) {
            // Files have no language.
            (RouteKind::Asset(_), Some(_)) => UmamiRoute {
                prefix,
                kind: RouteKind::Unknown,
            },
            _ => UmamiRoute { prefix, kind },
        }
    }

    /// The language of the page; that of the site is English.
    pub(super) fn lang(self) -> Lang {
        self.prefix.unwrap_or(Lang::En)
    }

    /// The label that a request with `method` is counted under: one of [`LABELS`].
    pub(super) fn label(self, method: &Method) -> &'static str {
        let is_post = method == Method::POST;
        if method != Method::GET && !is_post {
            return "other";
        }
        let row = match self.kind {
            RouteKind::Edit(_) if is_post => 9,
            RouteKind::Search if is_post => 11,
            RouteKind::Contact if is_post => 13,
            RouteKind::Login if is_post => 15,
            _ if is_post => return "other",
            RouteKind::Front => 0,
            RouteKind::About => 1,
            RouteKind::Articles => 2,
            RouteKind::Article => 3,
            RouteKind::Recipes => 4,
            RouteKind::Recipe => 5,
            RouteKind::Term => 6,
            RouteKind::Node(_) => 7,
            RouteKind::Edit(_) => 8,
            RouteKind::Search => 10,
            RouteKind::Contact => 12,
            RouteKind::Login => 14,
            RouteKind::Account | RouteKind::Profile => 16,
            RouteKind::Logout => 17,
            RouteKind::Asset(label) => return label,
            RouteKind::Unknown => return "other",
        };
        ROWS[row][self.prefix.map_or(0, |lang| 1 + lang as usize)]
    }
}

impl RouteKind {
    /// The part of the site that a path without its language leads to.
    fn of(path: &str) -> RouteKind {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        match (first, rest) {
            ("", "") | ("node", "") => RouteKind::Front,
            ("about-umami" | "acerca-de-umami", "") => RouteKind::About,
            ("articles", "") => RouteKind::Articles,
            ("articles", _) => RouteKind::Article,
            ("recipes", "") => RouteKind::Recipes,
            ("recipes", _) => RouteKind::Recipe,
            ("recipe-category" | "tags", name) if !name.is_empty() => RouteKind::Term,
            ("node", rest) => match rest.strip_suffix("/edit") {
                Some(nid) => number(nid).map_or(RouteKind::Unknown, RouteKind::Edit),
                None => number(rest).map_or(RouteKind::Unknown, RouteKind::Node),
            },
            ("search", "node") => RouteKind::Search,
            ("contact", "" | "feedback") => RouteKind::Contact,
            ("user", "login") => RouteKind::Login,
            ("user", "") => RouteKind::Account,
            ("user", "1") => RouteKind::Profile,
            ("user", "logout") => RouteKind::Logout,
            ("core", _) => RouteKind::Asset("GET /core"),
            ("sites", _) => RouteKind::Asset("GET /sites"),
            _ => RouteKind::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_its_place_and_label() {
        for (method, path, kind, label) in [
            (Method::GET, "/", RouteKind::Front, "GET /"),
            (Method::GET, "/en", RouteKind::Front, "GET /en"),
            (Method::GET, "/es/", RouteKind::Front, "GET /es"),
            (
                Method::GET,
                "/es/acerca-de-umami",
                RouteKind::About,
                "GET /es/acerca-de-umami",
            ),
            (
                Method::GET,
                "/en/articles/",
                RouteKind::Articles,
                "GET /en/articles",
            ),
            (
                Method::GET,
                "/en/articles/a",
                RouteKind::Article,
                "GET /en/articles/%",
            ),
            (
                Method::GET,
                "/es/recipes/a",
                RouteKind::Recipe,
                "GET /es/recipes/%",
            ),
            (
                Method::GET,
                "/es/tags/cocci%C3%B3n",
                RouteKind::Term,
                "GET /es/term/%",
            ),
            (
                Method::GET,
                "/en/recipe-category/a",
                RouteKind::Term,
                "GET /en/term/%",
            ),
            (Method::GET, "/node/19", RouteKind::Node(19), "GET /node/%"),
            (Method::GET, "/node/+9", RouteKind::Unknown, "other"),
            (
                Method::GET,
                "/en/node/11/edit",
                RouteKind::Edit(11),
                "GET /en/node/%/edit",
            ),
            (
                Method::POST,
                "/en/node/11/edit",
                RouteKind::Edit(11),
                "POST /en/node/%/edit",
            ),
            (
                Method::POST,
                "/es/search/node",
                RouteKind::Search,
                "POST /es/search/node",
            ),
            (
                Method::POST,
                "/en/contact",
                RouteKind::Contact,
                "POST /en/contact",
            ),
            (
                Method::POST,
                "/en/user/login",
                RouteKind::Login,
                "POST /en/user/login",
            ),
            (Method::POST, "/en", RouteKind::Front, "other"),
            (Method::GET, "/user", RouteKind::Account, "GET /user/%"),
            (
                Method::GET,
                "/en/user/1",
                RouteKind::Profile,
                "GET /en/user/%",
            ),
            (Method::GET, "/en/user/2", RouteKind::Unknown, "other"),
            (
                Method::GET,
                "/core/a.js",
                RouteKind::Asset("GET /core"),
                "GET /core",
            ),
            (Method::GET, "/en/core/a.js", RouteKind::Unknown, "other"),
            (
                Method::HEAD,
                "/sites/a.js",
                RouteKind::Asset("GET /sites"),
                "other",
            ),
            (Method::GET, "*", RouteKind::Unknown, "other"),
        ] {
            let route = UmamiRoute::of(path);
            assert_eq!(route.kind, kind, "{path}");
            assert_eq!(route.label(&method), label, "{method} {path}");
            assert!(LABELS.contains(&label));
        }
    }

    #[test]
    fn no_two_routes_share_a_label() {
        let mut labels = LABELS.clone();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), LABELS.len());
    }
}
