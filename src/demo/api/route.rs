//! The routes of the shop: what its paths lead to, the methods they take, and the labels that requests are counted
//! under.

use http::Method;

/// All labels that requests are counted under.
pub(super) const LABELS: &[&str] = &[
    "GET /",
    "GET /about",
    "GET /assets",
    "GET /login",
    "POST /login",
    "GET /account",
    "POST /logout",
    "POST /api/login",
    "GET /api/me",
    "GET /api/products",
    "GET /api/products/%",
    "GET /api/orders",
    "POST /api/orders",
    "GET /api/orders/%",
    "PUT /api/orders/%",
    "PATCH /api/orders/%",
    "DELETE /api/orders/%",
    "GET /api/orders/%/invoice",
    "GET /basic",
    "POST /graphql",
    "POST /upload",
    "other",
];

/// The page or the part of the API that a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    Front,
    About,
    Style,
    Logo,
    Login,
    Account,
    Logout,
    ApiLogin,
    Me,
    Products,
    Product(u64),
    Orders,
    Order(u64),
    Invoice(u64),
    Basic,
    Graphql,
    Upload,
    Unknown,
}

impl Route {
    pub(super) fn of(path: &str) -> Route {
        match path {
            "/" => Route::Front,
            "/about" => Route::About,
            "/style.css" => Route::Style,
            "/logo.svg" => Route::Logo,
            "/login" => Route::Login,
            "/account" => Route::Account,
            "/logout" => Route::Logout,
            "/api/login" => Route::ApiLogin,
            "/api/me" => Route::Me,
            "/api/products" => Route::Products,
            "/api/orders" => Route::Orders,
            "/basic" => Route::Basic,
            "/graphql" => Route::Graphql,
            "/upload" => Route::Upload,
            _ => numbered(path).unwrap_or(Route::Unknown),
        }
    }

    /// The label that a request is counted under; `None` if the path does not take that method.
    pub(super) fn label(self, method: &Method) -> Option<&'static str> {
        let method = match *method {
            Method::HEAD => "GET",
            _ => method.as_str(),
        };
        let mut labels = self.labels().iter();
        labels
            .find(|label| {
                label
                    .split_once(' ')
                    .is_some_and(|(known, _)| known == method)
            })
            .copied()
    }

    /// The methods that the path takes, as the header `Allow` lists them.
    pub(super) fn allowed(self) -> String {
        let methods = self
            .labels()
            .iter()
            .filter_map(|label| label.split_once(' '));
        let methods: Vec<_> = methods.map(|(method, _)| method).collect();
        methods.join(", ")
    }

    fn labels(self) -> &'static [&'static str] {
        match self {
            Route::Front => &["GET /"],
            Route::About => &["GET /about"],
            Route::Style | Route::Logo => &["GET /assets"],
            Route::Login => &["GET /login", "POST /login"],
            Route::Account => &["GET /account"],
            Route::Logout => &["POST /logout"],
            Route::ApiLogin => &["POST /api/login"],
            Route::Me => &["GET /api/me"],
            Route::Products => &["GET /api/products"],
            Route::Product(_) => &["GET /api/products/%"],
            Route::Orders => &["GET /api/orders", "POST /api/orders"],
            Route::Order(_) => &[
                "GET /api/orders/%",
                "PUT /api/orders/%",
                "PATCH /api/orders/%",
                "DELETE /api/orders/%",
            ],
            Route::Invoice(_) => &["GET /api/orders/%/invoice"],
            Route::Basic => &["GET /basic"],
            Route::Graphql => &["POST /graphql"],
            Route::Upload => &["POST /upload"],
            Route::Unknown => &[],
        }
    }
}

fn numbered(path: &str) -> Option<Route> {
    if let Some(id) = path.strip_prefix("/api/products/") {
        return id.parse().ok().map(Route::Product);
    }
    let id = path.strip_prefix("/api/orders/")?;
    match id.strip_suffix("/invoice") {
        Some(id) => id.parse().ok().map(Route::Invoice),
        None => id.parse().ok().map(Route::Order),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_has_its_labels_and_no_others() {
        for label in LABELS.iter().filter(|label| **label != "other") {
            let (method, path) = label.split_once(' ').expect("a method and a path");
            let path = match path {
                "/assets" => "/logo.svg".to_owned(),
                path => path.replace('%', "7"),
            };
            let method = Method::try_from(method).expect("a method");
            assert_eq!(Route::of(&path).label(&method), Some(*label));
        }
        for path in [
            "/api",
            "/api/orders/x",
            "/api/orders/",
            "/api/orders/7/x",
            "/About",
        ] {
            assert_eq!(Route::of(path), Route::Unknown, "{path}");
        }
        assert_eq!(Route::of("/login").allowed(), "GET, POST");
    }
}
