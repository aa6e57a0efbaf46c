//! The routes of the shop: the targets of its paths, the methods they take, and the labels that requests are counted
//! under.

use http::Method;

use crate::calls::PREFIX;

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
    "GET /oauth/authorize",
    "POST /oauth/token",
    "GET /api/me",
    "GET /api/products",
    "GET /api/products/%",
    "GET /api/orders",
    "POST /api/orders",
    "GET /api/orders/events",
    "GET /api/chat",
    "GET /api/orders/%",
    "PUT /api/orders/%",
    "PATCH /api/orders/%",
    "DELETE /api/orders/%",
    "GET /api/orders/%/invoice",
    "GET /basic",
    "POST /graphql",
    "POST /upload",
    "POST /shop.v1.Orders/%",
    "other",
];

/// The page or the part of the API that a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApiRoute {
    Front,
    About,
    Style,
    Logo,
    Login,
    Account,
    Logout,
    ApiLogin,
    Authorize,
    Token,
    Me,
    Products,
    Product(u64),
    Orders,
    Events,
    Chat,
    Order(u64),
    Invoice(u64),
    Basic,
    Graphql,
    Upload,
    /// A method of gRPC.
    Call,
    Unknown,
}

impl ApiRoute {
    pub(super) fn of(path: &str) -> ApiRoute {
        match path {
            "/" => ApiRoute::Front,
            "/about" => ApiRoute::About,
            "/style.css" => ApiRoute::Style,
            "/logo.svg" => ApiRoute::Logo,
            "/login" => ApiRoute::Login,
            "/account" => ApiRoute::Account,
            "/logout" => ApiRoute::Logout,
            "/api/login" => ApiRoute::ApiLogin,
            "/oauth/authorize" => ApiRoute::Authorize,
            "/oauth/token" => ApiRoute::Token,
            "/api/me" => ApiRoute::Me,
            "/api/products" => ApiRoute::Products,
            "/api/orders" => ApiRoute::Orders,
            "/api/orders/events" => ApiRoute::Events,
            "/api/chat" => ApiRoute::Chat,
            "/basic" => ApiRoute::Basic,
            "/graphql" => ApiRoute::Graphql,
            "/upload" => ApiRoute::Upload,
            path if path.starts_with(PREFIX) => ApiRoute::Call,
            _ => numbered(path).unwrap_or(ApiRoute::Unknown),
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
            .find(|label| label.split_once(' ').is_some_and(|(key, _)| key == method))
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
            ApiRoute::Front => &["GET /"],
            ApiRoute::About => &["GET /about"],
            ApiRoute::Style | ApiRoute::Logo => &["GET /assets"],
            ApiRoute::Login => &["GET /login", "POST /login"],
            ApiRoute::Account => &["GET /account"],
            ApiRoute::Logout => &["POST /logout"],
            ApiRoute::ApiLogin => &["POST /api/login"],
            ApiRoute::Authorize => &["GET /oauth/authorize"],
            ApiRoute::Token => &["POST /oauth/token"],
            ApiRoute::Me => &["GET /api/me"],
            ApiRoute::Products => &["GET /api/products"],
            ApiRoute::Product(_) => &["GET /api/products/%"],
            ApiRoute::Orders => &["GET /api/orders", "POST /api/orders"],
            ApiRoute::Events => &["GET /api/orders/events"],
            ApiRoute::Chat => &["GET /api/chat"],
            ApiRoute::Order(_) => &[
                "GET /api/orders/%",
                "PUT /api/orders/%",
                "PATCH /api/orders/%",
                "DELETE /api/orders/%",
            ],
            ApiRoute::Invoice(_) => &["GET /api/orders/%/invoice"],
            ApiRoute::Basic => &["GET /basic"],
            ApiRoute::Graphql => &["POST /graphql"],
            ApiRoute::Upload => &["POST /upload"],
            ApiRoute::Call => &["POST /shop.v1.Orders/%"],
            ApiRoute::Unknown => &[],
        }
    }
}

fn numbered(path: &str) -> Option<ApiRoute> {
    if let Some(id) = path.strip_prefix("/api/products/") {
        return id.parse().ok().map(ApiRoute::Product);
    }
    let id = path.strip_prefix("/api/orders/")?;
    match id.strip_suffix("/invoice") {
        Some(id) => id.parse().ok().map(ApiRoute::Invoice),
        None => id.parse().ok().map(ApiRoute::Order),
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
            assert_eq!(ApiRoute::of(&path).label(&method), Some(*label));
        }
        for path in [
            "/api",
            "/api/orders/x",
            "/api/orders/",
            "/api/orders/7/x",
            "/About",
        ] {
            assert_eq!(ApiRoute::of(path), ApiRoute::Unknown, "{path}");
        }
        assert_eq!(ApiRoute::of("/login").allowed(), "GET, POST");
    }
}
