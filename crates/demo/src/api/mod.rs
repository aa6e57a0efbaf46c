//! An imitation of a small shop: a few pages with a login, and their API in JSON and GraphQL, with bearer tokens, basic
//! authentication, OAuth 2 and uploads. Driven by the server for each request; the examples run against it.

mod accounts;
mod graphql;
mod oauth;
mod orders;
mod pages;
mod products;
mod route;
#[cfg(test)]
mod tests;
mod upload;

use bytes::Bytes;
use http::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, COOKIE, HeaderValue, LOCATION, RETRY_AFTER,
    SET_COOKIE, WWW_AUTHENTICATE,
};
use http::{HeaderName, Method, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

use self::accounts::{Accounts, Customer};
use self::orders::{OrderRequest, Orders};
use self::route::{ApiRoute, LABELS};
use super::events::{SiteEvent, SiteEvents};
use super::fields::{FormFields, number};
use super::server::{Handler, SiteRequest, SiteResponse};

/// The status and the reason with which a request is refused.
type ApiRefusal = (StatusCode, &'static str);

/// The shop with its 100 products and the users user1 to user1000.
pub(super) struct Api {
    accounts: Accounts,
    orders: Orders,
}

impl Handler for Api {
    fn labels(&self) -> &'static [&'static str] {
        LABELS
    }

    fn label(&self, method: &Method, path: &str) -> &'static str {
        ApiRoute::of(path).label(method).unwrap_or("other")
    }

    fn has_calls(&self) -> bool {
        true
    }

    fn is_chat(&self, path: &str) -> bool {
        ApiRoute::of(path) == ApiRoute::Chat
    }

    fn respond(&self, request: &SiteRequest<'_>) -> SiteResponse {
        let route = ApiRoute::of(request.path);
        // Methods of gRPC are there over HTTP/2.
        if matches!(route, ApiRoute::Unknown | ApiRoute::Call) {
            return refusal(StatusCode::NOT_FOUND, "there is nothing at this path");
        }
        if route.label(request.method).is_none() {
            let response = refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                "this method is not for this path",
            );
            return with(response, ALLOW, &route.allowed());
        }
        match route {
            ApiRoute::Front => page(pages::front()),
            ApiRoute::About => page(pages::about()),
            ApiRoute::Style => asset("text/css; charset=utf-8", pages::STYLE),
            ApiRoute::Logo => asset("image/svg+xml", pages::LOGO),
            ApiRoute::Login => self.log_in_by_form(request),
            ApiRoute::Account => self.account(request),
            ApiRoute::Logout => log_out(),
            ApiRoute::ApiLogin => self.log_in(request),
            ApiRoute::Authorize => self.authorize(request),
            ApiRoute::Token => self.grant(request),
            ApiRoute::Products => found(products::list(products::COUNT)),
            ApiRoute::Product(id) => match products::product(id) {
                Some(product) => found(product),
                None => refusal(StatusCode::NOT_FOUND, "there is no such product"),
            },
            ApiRoute::Events => events(request),
            ApiRoute::Chat => refusal(StatusCode::UPGRADE_REQUIRED, "this is a WebSocket"),
            ApiRoute::Graphql => self::graphql(request),
            ApiRoute::Upload => self::upload(request),
            ApiRoute::Basic => self.basic(request),
            route => match self.bearer(request) {
                Some(customer) => self.customers_only(route, &customer, request),
                None => unauthorized("this needs the token of POST /api/login", "Bearer"),
            },
        }
    }
}

impl Api {
    pub(super) fn new() -> Self {
        Api {
            accounts: Accounts::new(),
            orders: Orders::default(),
        }
    }

    fn log_in(&self, request: &SiteRequest<'_>) -> SiteResponse {
        let body = match read_json(request) {
            Ok(body) => body,
            Err((status, why)) => return refusal(status, why),
        };
        let text = |key: &str| body[key].as_str().unwrap_or_default();
        match accounts::check(text("username"), text("password")) {
            Some(customer) => found(json!({ "token": self.accounts.token(&customer) })),
            None => refusal(StatusCode::UNAUTHORIZED, "wrong username or password"),
        }
    }

    fn log_in_by_form(&self, request: &SiteRequest<'_>) -> SiteResponse {
        if request.method != Method::POST {
            return page(pages::login(""));
        }
        let fields: Vec<_> = url::form_urlencoded::parse(request.body).collect();
        let field = |key: &str| {
            let found = fields.iter().rfind(|(name, _)| name == key);
            found.map_or("", |(_, value)| value)
        };
        // As most sites do: 200 and the form once more.
        let Some(customer) = accounts::check(field("username"), field("password")) else {
            return page(pages::login("Wrong username or password."));
        };
        let cookie = format!(
            "session={}; Path=/; HttpOnly; SameSite=Lax",
            self.accounts.token(&customer)
        );
        with(redirect("/account"), SET_COOKIE, &cookie)
    }

    fn account(&self, request: &SiteRequest<'_>) -> SiteResponse {
        match self.session(request) {
            Some(customer) => page(pages::account(&customer.name())),
            None => redirect("/login"),
        }
    }

    /// The customer whose session the cookies name.
    fn session(&self, request: &SiteRequest<'_>) -> Option<Customer> {
        let lines = request.headers.get_all(COOKIE).iter();
        let lines = lines.filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';'));
        let session = pairs.find_map(|pair| pair.trim().strip_prefix("session="));
        session.and_then(|token| self.accounts.customer(token))
    }

    fn authorize(&self, request: &SiteRequest<'_>) -> SiteResponse {
        let Some(customer) = self.session(request) else {
            return redirect("/login");
        };
        let fields = FormFields::parse(request.query.as_bytes());
        match oauth::authorize(&self.accounts, customer, &fields) {
            Some(address) => redirect(&address),
            None => refusal(StatusCode::BAD_REQUEST, "invalid_request"),
        }
    }

    fn grant(&self, request: &SiteRequest<'_>) -> SiteResponse {
        let fields = FormFields::read(request);
        match oauth::grant(&self.accounts, authorization(request), &fields) {
            Ok(tokens) => with(found(tokens), CACHE_CONTROL, "no-store"),
            Err(code @ "invalid_client") => unauthorized(code, "Basic realm=\"shop\""),
            Err(code) => refusal(StatusCode::BAD_REQUEST, code),
        }
    }

    fn basic(&self, request: &SiteRequest<'_>) -> SiteResponse {
        match accounts::basic(authorization(request)) {
            Some(customer) => found(json!({ "name": customer.name() })),
            None => unauthorized("this needs basic authentication", "Basic realm=\"shop\""),
        }
    }

    fn bearer(&self, request: &SiteRequest<'_>) -> Option<Customer> {
        let (scheme, token) = authorization(request).split_once(' ')?;
        let is_bearer = scheme.eq_ignore_ascii_case("bearer");
        is_bearer.then(|| self.accounts.customer(token)).flatten()
    }

    /// Handles a request that needs a token. An order of another customer counts as none.
    fn customers_only(
        &self,
        route: ApiRoute,
        customer: &Customer,
        request: &SiteRequest<'_>,
    ) -> SiteResponse {
        let none = || refusal(StatusCode::NOT_FOUND, "you have no such order");
        match (route, request.method.as_str()) {
            (ApiRoute::Orders, "POST") => match read_order_request(request, None) {
                Ok(order_request) => {
                    let order = self.orders.add(customer, order_request);
                    let place = format!("/api/orders/{}", order["id"]);
                    let response = with_status(found(order), StatusCode::CREATED);
                    with(response, LOCATION, &place)
                }
                Err((status, why)) => refusal(status, why),
            },
            (ApiRoute::Orders, _) => found(self.orders.list(customer)),
            (ApiRoute::Order(id), "DELETE") => {
                if self.orders.remove(customer, id) {
                    with_status(Response::default(), StatusCode::NO_CONTENT)
                } else {
                    none()
                }
            }
            (ApiRoute::Order(id), "PUT" | "PATCH") => {
                let Some(existing) = self.orders.get_request(customer, id) else {
                    return none();
                };
                let below = (request.method == Method::PATCH).then_some(existing);
                match read_order_request(request, below) {
                    Ok(order_request) => self
                        .orders
                        .change(customer, id, order_request)
                        .map_or_else(none, found),
                    Err((status, why)) => refusal(status, why),
                }
            }
            (ApiRoute::Order(id), _) => self.orders.get(customer, id).map_or_else(none, found),
            (ApiRoute::Invoice(id), _) => match self.orders.invoice(customer, id) {
                None => none(),
                Some(Ok(invoice)) => found(invoice),
                Some(Err(_)) => with(
                    refusal(
                        StatusCode::SERVICE_UNAVAILABLE,
                        "the invoice is being written, ask again",
                    ),
                    RETRY_AFTER,
                    "1",
                ),
            },
            _ => found(json!({ "name": customer.name() })),
        }
    }
}

/// Streams the orders of the whole shop: `n` events (10), each `gap` milliseconds (100) after the one before.
fn events(request: &SiteRequest<'_>) -> SiteResponse {
    const MAX_EVENTS: u32 = 1_000_000;
    let fields = FormFields::parse(request.query.as_bytes());
    let field = |name, usual| number(fields.get(name)).unwrap_or(usual);
    let count = field("n", 10).min(MAX_EVENTS);
    let gap = Duration::from_millis(field("gap", 100).into());
    let event = move |number| {
        let product = number % products::COUNT as u32 + 1;
        let order = json!({ "order": number, "product": product });
        (number <= count).then(|| SiteEvent {
            after: gap,
            text: format!("id: {number}\ndata: {order}\n\n"),
            is_logged: false,
        })
    };
    let events = SiteEvents {
        event: Arc::new(event),
        recorder: None,
    };
    events.response()
}

fn graphql(request: &SiteRequest<'_>) -> SiteResponse {
    match read_json(request) {
        Ok(query) => found(graphql::execute(&query)),
        Err((status, why)) => refusal(status, why),
    }
}

fn upload(request: &SiteRequest<'_>) -> SiteResponse {
    let kind = request.headers.get(CONTENT_TYPE);
    match upload::read(kind.and_then(|kind| kind.to_str().ok()), request.body) {
        Ok(parts) => with_status(found(parts), StatusCode::CREATED),
        Err(why) => refusal(StatusCode::BAD_REQUEST, why),
    }
}

fn log_out() -> SiteResponse {
    with(
        redirect("/"),
        SET_COOKIE,
        "session=; Path=/; Max-Age=0; HttpOnly",
    )
}

fn authorization<'a>(request: &SiteRequest<'a>) -> &'a str {
    let header = request.headers.get(AUTHORIZATION);
    header
        .and_then(|header| header.to_str().ok())
        .unwrap_or_default()
}

/// Reads a body of JSON, which its `Content-Type` has to say.
fn read_json(request: &SiteRequest<'_>) -> Result<Value, ApiRefusal> {
    let kind = request.headers.get(CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json")) {
        return Err((
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body must be of the type application/json",
        ));
    }
    serde_json::from_slice(request.body)
        .map_err(|_| (StatusCode::BAD_REQUEST, "the body is not JSON"))
}

/// Reads the order in the body, with `below` for the fields that the body leaves out.
fn read_order_request(
    request: &SiteRequest<'_>,
    below: Option<OrderRequest>,
) -> Result<OrderRequest, ApiRefusal> {
    OrderRequest::read(&read_json(request)?, below)
        .map_err(|why| (StatusCode::UNPROCESSABLE_ENTITY, why))
}

fn found(value: Value) -> SiteResponse {
    let mut response = Response::new(Full::new(Bytes::from(value.to_string())));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn unauthorized(why: &str, challenge: &str) -> SiteResponse {
    let response = refusal(StatusCode::UNAUTHORIZED, why);
    with(response, WWW_AUTHENTICATE, challenge)
}

fn refusal(status: StatusCode, why: &str) -> SiteResponse {
    with_status(found(json!({ "error": why })), status)
}

fn page(html: String) -> SiteResponse {
    let mut response = Response::new(Full::from(html));
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, html);
    response
}

fn asset(kind: &'static str, text: &'static str) -> SiteResponse {
    let response = Response::new(Full::from(text));
    let response = with(response, CONTENT_TYPE, kind);
    with(response, CACHE_CONTROL, "max-age=3600")
}

fn redirect(path: &str) -> SiteResponse {
    let response = with_status(Response::default(), StatusCode::SEE_OTHER);
    with(response, LOCATION, path)
}

fn with_status(mut response: SiteResponse, status: StatusCode) -> SiteResponse {
    *response.status_mut() = status;
    response
}

fn with(mut response: SiteResponse, name: HeaderName, value: &str) -> SiteResponse {
    // All values are made of plain characters.
    if let Ok(value) = HeaderValue::try_from(value) {
        response.headers_mut().insert(name, value);
    }
    response
}
