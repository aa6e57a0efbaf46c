//! Which part of the site a path leads to, and as what a request for it is counted. Pure; driven by the site.

use std::sync::LazyLock;

use http::Method;

/// A language of the site; as a number its place in every pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lang {
    En,
    Es,
}

/// A part of the site. Whether there is such an article, recipe or term is not decided here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
    /// A static file, and as what it is counted.
    Asset(&'static str),
    /// Anything else.
    Nowhere,
}

/// Where a path leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The language that the path begins with.
    pub(super) prefix: Option<Lang>,
    pub(super) kind: Kind,
}

/// As what requests are counted, without a prefix and in English and Spanish.
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

/// Everything a request can be counted as, the most frequent first: they are searched in order. `%` stands for a
/// number or a name; `/user` counts as `/user/%`.
pub(super) static LABELS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let assets = ["GET /sites", "GET /core"].into_iter();
    assets
        .chain(ROWS.into_iter().flatten())
        .chain(["other"])
        .collect()
});

impl Place {
    /// The place of a path, with or without a slash at its end.
    pub(super) fn of(path: &str) -> Place {
        let path = path.strip_prefix('/').unwrap_or(path);
        let path = path.strip_suffix('/').unwrap_or(path);
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let (prefix, path) = match first {
            "en" => (Some(Lang::En), rest),
            "es" => (Some(Lang::Es), rest),
            _ => (None, path),
        };
        let kind = Kind::of(path);
        match (kind, prefix) {
            // Files have no language.
            (Kind::Asset(_), Some(_)) => Place {
                prefix,
                kind: Kind::Nowhere,
            },
            _ => Place { prefix, kind },
        }
    }

    /// The language of what is there; that of the site is English.
    pub(super) fn lang(self) -> Lang {
        self.prefix.unwrap_or(Lang::En)
    }

    /// As what a request with `method` is counted: one of [`LABELS`].
    pub(super) fn label(self, method: &Method) -> &'static str {
        let is_post = method == Method::POST;
        if method != Method::GET && !is_post {
            return "other";
        }
        let row = match self.kind {
            Kind::Edit(_) if is_post => 9,
            Kind::Search if is_post => 11,
            Kind::Contact if is_post => 13,
            Kind::Login if is_post => 15,
            _ if is_post => return "other",
            Kind::Front => 0,
            Kind::About => 1,
            Kind::Articles => 2,
            Kind::Article => 3,
            Kind::Recipes => 4,
            Kind::Recipe => 5,
            Kind::Term => 6,
            Kind::Node(_) => 7,
            Kind::Edit(_) => 8,
            Kind::Search => 10,
            Kind::Contact => 12,
            Kind::Login => 14,
            Kind::Account | Kind::Profile => 16,
            Kind::Logout => 17,
            Kind::Asset(label) => return label,
            Kind::Nowhere => return "other",
        };
        ROWS[row][self.prefix.map_or(0, |lang| 1 + lang as usize)]
    }
}

impl Kind {
    /// What a path without its language leads to.
    fn of(path: &str) -> Kind {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        match (first, rest) {
            ("", "") | ("node", "") => Kind::Front,
            ("about-umami" | "acerca-de-umami", "") => Kind::About,
            ("articles", "") => Kind::Articles,
            ("articles", _) => Kind::Article,
            ("recipes", "") => Kind::Recipes,
            ("recipes", _) => Kind::Recipe,
            ("recipe-category" | "tags", name) if !name.is_empty() => Kind::Term,
            ("node", rest) => match rest.strip_suffix("/edit") {
                Some(nid) => number(nid).map_or(Kind::Nowhere, Kind::Edit),
                None => number(rest).map_or(Kind::Nowhere, Kind::Node),
            },
            ("search", "node") => Kind::Search,
            ("contact", "" | "feedback") => Kind::Contact,
            ("user", "login") => Kind::Login,
            ("user", "") => Kind::Account,
            ("user", "1") => Kind::Profile,
            ("user", "logout") => Kind::Logout,
            ("core", _) => Kind::Asset("GET /core"),
            ("sites", _) => Kind::Asset("GET /sites"),
            _ => Kind::Nowhere,
        }
    }
}

/// Digits only: `+7` is no number of a node.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_its_place_and_label() {
        for (method, path, kind, label) in [
            (Method::GET, "/", Kind::Front, "GET /"),
            (Method::GET, "/en", Kind::Front, "GET /en"),
            (Method::GET, "/es/", Kind::Front, "GET /es"),
            (
                Method::GET,
                "/es/acerca-de-umami",
                Kind::About,
                "GET /es/acerca-de-umami",
            ),
            (
                Method::GET,
                "/en/articles/",
                Kind::Articles,
                "GET /en/articles",
            ),
            (
                Method::GET,
                "/en/articles/a",
                Kind::Article,
                "GET /en/articles/%",
            ),
            (
                Method::GET,
                "/es/recipes/a",
                Kind::Recipe,
                "GET /es/recipes/%",
            ),
            (
                Method::GET,
                "/es/tags/cocci%C3%B3n",
                Kind::Term,
                "GET /es/term/%",
            ),
            (
                Method::GET,
                "/en/recipe-category/a",
                Kind::Term,
                "GET /en/term/%",
            ),
            (Method::GET, "/node/19", Kind::Node(19), "GET /node/%"),
            (Method::GET, "/node/+9", Kind::Nowhere, "other"),
            (
                Method::GET,
                "/en/node/11/edit",
                Kind::Edit(11),
                "GET /en/node/%/edit",
            ),
            (
                Method::POST,
                "/en/node/11/edit",
                Kind::Edit(11),
                "POST /en/node/%/edit",
            ),
            (
                Method::POST,
                "/es/search/node",
                Kind::Search,
                "POST /es/search/node",
            ),
            (
                Method::POST,
                "/en/contact",
                Kind::Contact,
                "POST /en/contact",
            ),
            (
                Method::POST,
                "/en/user/login",
                Kind::Login,
                "POST /en/user/login",
            ),
            (Method::POST, "/en", Kind::Front, "other"),
            (Method::GET, "/user", Kind::Account, "GET /user/%"),
            (Method::GET, "/en/user/1", Kind::Profile, "GET /en/user/%"),
            (Method::GET, "/en/user/2", Kind::Nowhere, "other"),
            (
                Method::GET,
                "/core/a.js",
                Kind::Asset("GET /core"),
                "GET /core",
            ),
            (Method::GET, "/en/core/a.js", Kind::Nowhere, "other"),
            (
                Method::HEAD,
                "/sites/a.js",
                Kind::Asset("GET /sites"),
                "other",
            ),
            (Method::GET, "*", Kind::Nowhere, "other"),
        ] {
            let place = Place::of(path);
            assert_eq!(place.kind, kind, "{path}");
            assert_eq!(place.label(&method), label, "{method} {path}");
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
