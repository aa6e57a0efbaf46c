//! A small shop: a few pages with a login, and the API behind them in JSON and GraphQL, with bearer tokens, basic
//! authentication and uploads. Driven by the server for each request; what the examples are tried against.

mod accounts;
mod graphql;
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

use self::accounts::{Accounts, Member};
use self::orders::{Orders, Wish};
use self::route::{LABELS, Route};
use super::server::{Answer, Imitation, Visit};

/// Why a request is not done.
type Refusal = (StatusCode, &'static str);

/// The shop with its 100 products and the users user1 to user1000.
pub(super) struct Api {
    accounts: Accounts,
    orders: Orders,
}

impl Imitation for Api {
    fn labels(&self) -> &'static [&'static str] {
        LABELS
    }

    fn label(&self, method: &Method, path: &str) -> &'static str {
        Route::of(path).label(method).unwrap_or("other")
    }

    fn answer(&self, visit: &Visit<'_>) -> Answer {
        let route = Route::of(visit.path);
        if route == Route::Unknown {
            return refusal(StatusCode::NOT_FOUND, "there is nothing at this path");
        }
        if route.label(visit.method).is_none() {
            let answer = refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                "this method is not for this path",
            );
            return with(answer, ALLOW, &route.allowed());
        }
        match route {
            Route::Front => page(pages::front()),
            Route::About => page(pages::about()),
            Route::Style => asset("text/css; charset=utf-8", pages::STYLE),
            Route::Logo => asset("image/svg+xml", pages::LOGO),
            Route::Login => self.log_in_by_form(visit),
            Route::Account => self.account(visit),
            Route::Logout => log_out(),
            Route::ApiLogin => self.log_in(visit),
            Route::Products => found(products::list(products::COUNT)),
            Route::Product(id) => match products::product(id) {
                Some(product) => found(product),
                None => refusal(StatusCode::NOT_FOUND, "there is no such product"),
            },
            Route::Graphql => self::graphql(visit),
            Route::Upload => self::upload(visit),
            Route::Basic => self.basic(visit),
            route => match self.bearer(visit) {
                Some(member) => self.members_only(route, &member, visit),
                None => with(
                    refusal(
                        StatusCode::UNAUTHORIZED,
                        "this needs the token of POST /api/login",
                    ),
                    WWW_AUTHENTICATE,
                    "Bearer",
                ),
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

    fn log_in(&self, visit: &Visit<'_>) -> Answer {
        let wanted = match read_json(visit) {
            Ok(wanted) => wanted,
            Err((status, why)) => return refusal(status, why),
        };
        let text = |key: &str| wanted[key].as_str().unwrap_or_default();
        match accounts::check(text("username"), text("password")) {
            Some(member) => found(json!({ "token": self.accounts.token(&member) })),
            None => refusal(StatusCode::UNAUTHORIZED, "wrong username or password"),
        }
    }

    fn log_in_by_form(&self, visit: &Visit<'_>) -> Answer {
        if visit.method != Method::POST {
            return page(pages::login(""));
        }
        let fields: Vec<_> = url::form_urlencoded::parse(visit.body).collect();
        let field = |wanted: &str| {
            let found = fields.iter().rfind(|(name, _)| name == wanted);
            found.map_or("", |(_, value)| value)
        };
        // As most sites do: 200 and the form once more.
        let Some(member) = accounts::check(field("username"), field("password")) else {
            return page(pages::login("Wrong username or password."));
        };
        let cookie = format!(
            "session={}; Path=/; HttpOnly; SameSite=Lax",
            self.accounts.token(&member)
        );
        with(go("/account"), SET_COOKIE, &cookie)
    }

    fn account(&self, visit: &Visit<'_>) -> Answer {
        let lines = visit.headers.get_all(COOKIE).iter();
        let lines = lines.filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';'));
        let session = pairs.find_map(|pair| pair.trim().strip_prefix("session="));
        match session.and_then(|token| self.accounts.member(token)) {
            Some(member) => page(pages::account(&member.name())),
            None => go("/login"),
        }
    }

    fn basic(&self, visit: &Visit<'_>) -> Answer {
        match accounts::basic(authorization(visit)) {
            Some(member) => found(json!({ "name": member.name() })),
            None => with(
                refusal(StatusCode::UNAUTHORIZED, "this needs basic authentication"),
                WWW_AUTHENTICATE,
                "Basic realm=\"shop\"",
            ),
        }
    }

    fn bearer(&self, visit: &Visit<'_>) -> Option<Member> {
        let (scheme, token) = authorization(visit).split_once(' ')?;
        let is_bearer = scheme.eq_ignore_ascii_case("bearer");
        is_bearer.then(|| self.accounts.member(token)).flatten()
    }

    /// What needs a token. An order of somebody else's is as good as none.
    fn members_only(&self, route: Route, member: &Member, visit: &Visit<'_>) -> Answer {
        let none = || refusal(StatusCode::NOT_FOUND, "you have no such order");
        match (route, visit.method.as_str()) {
            (Route::Orders, "POST") => match read_wish(visit, None) {
                Ok(wish) => {
                    let order = self.orders.add(member, wish);
                    let place = format!("/api/orders/{}", order["id"]);
                    let answer = with_status(found(order), StatusCode::CREATED);
                    with(answer, LOCATION, &place)
                }
                Err((status, why)) => refusal(status, why),
            },
            (Route::Orders, _) => found(self.orders.list(member)),
            (Route::Order(id), "DELETE") => match self.orders.remove(member, id) {
                true => with_status(Response::default(), StatusCode::NO_CONTENT),
                false => none(),
            },
            (Route::Order(id), "PUT" | "PATCH") => {
                let Some(known) = self.orders.wish(member, id) else {
                    return none();
                };
                let below = (visit.method == Method::PATCH).then_some(known);
                match read_wish(visit, below) {
                    Ok(wish) => self
                        .orders
                        .change(member, id, wish)
                        .map_or_else(none, found),
                    Err((status, why)) => refusal(status, why),
                }
            }
            (Route::Order(id), _) => self.orders.get(member, id).map_or_else(none, found),
            (Route::Invoice(id), _) => match self.orders.invoice(member, id) {
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
            _ => found(json!({ "name": member.name() })),
        }
    }
}

fn graphql(visit: &Visit<'_>) -> Answer {
    match read_json(visit) {
        Ok(asked) => found(graphql::answer(&asked)),
        Err((status, why)) => refusal(status, why),
    }
}

fn upload(visit: &Visit<'_>) -> Answer {
    let kind = visit.headers.get(CONTENT_TYPE);
    match upload::read(kind.and_then(|kind| kind.to_str().ok()), visit.body) {
        Ok(parts) => with_status(found(parts), StatusCode::CREATED),
        Err(why) => refusal(StatusCode::BAD_REQUEST, why),
    }
}

fn log_out() -> Answer {
    with(go("/"), SET_COOKIE, "session=; Path=/; Max-Age=0; HttpOnly")
}

fn authorization<'a>(visit: &Visit<'a>) -> &'a str {
    let header = visit.headers.get(AUTHORIZATION);
    header
        .and_then(|header| header.to_str().ok())
        .unwrap_or_default()
}

/// The body, which has to say that it is JSON and to be that.
fn read_json(visit: &Visit<'_>) -> Result<Value, Refusal> {
    let kind = visit.headers.get(CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json")) {
        return Err((
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body must be of the type application/json",
        ));
    }
    serde_json::from_slice(visit.body)
        .map_err(|_| (StatusCode::BAD_REQUEST, "the body is not JSON"))
}

/// What an order is to be; what the body leaves out is as in `below`, if there is that.
fn read_wish(visit: &Visit<'_>, below: Option<Wish>) -> Result<Wish, Refusal> {
    Wish::read(&read_json(visit)?, below).map_err(|why| (StatusCode::UNPROCESSABLE_ENTITY, why))
}

fn found(value: Value) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(value.to_string())));
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(CONTENT_TYPE, json);
    answer
}

fn refusal(status: StatusCode, why: &str) -> Answer {
    with_status(found(json!({ "error": why })), status)
}

fn page(html: String) -> Answer {
    let mut answer = Response::new(Full::from(html));
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, html);
    answer
}

fn asset(kind: &'static str, text: &'static str) -> Answer {
    let answer = Response::new(Full::from(text));
    let answer = with(answer, CONTENT_TYPE, kind);
    with(answer, CACHE_CONTROL, "max-age=3600")
}

fn go(path: &str) -> Answer {
    let answer = with_status(Response::default(), StatusCode::SEE_OTHER);
    with(answer, LOCATION, path)
}

fn with_status(mut answer: Answer, status: StatusCode) -> Answer {
    *answer.status_mut() = status;
    answer
}

fn with(mut answer: Answer, name: HeaderName, value: &str) -> Answer {
    // All values are made of plain characters.
    if let Ok(value) = HeaderValue::try_from(value) {
        answer.headers_mut().insert(name, value);
    }
    answer
}
