//! An imitation of the Umami demo of Drupal 8, a food magazine in English and Spanish: the content of its paths, the
//! access to it, and the effects of posting. Driven by the server for each request; leaves HTML to the pages and
//! validation to the forms.

mod content;
mod files;
mod flood;
mod forms;
mod layout;
mod pages;
mod parts;
mod route;
#[cfg(test)]
mod tests;
mod translation;

use std::time::{Duration, Instant};

use http::header::{
    CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_TYPE, EXPIRES, HeaderName, HeaderValue, LOCATION,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{Method, StatusCode};
use percent_encoding::{CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

use self::content::Node;
use self::flood::FloodControl;
use self::forms::FormOutcome;
use self::layout::StatusMessage;
use self::pages::{PageStore, PreparedPage, SystemPage};
use self::route::{Lang, RouteKind, UmamiRoute};
use self::translation::Translation;
use super::cookie;
use super::fields::FormFields;
use super::server::{Handler, SiteRequest, SiteResponse, not_allowed, plain};
use super::sessions::{LoggedInUser, Sessions};
use super::static_files::{Compress, StaticFiles};
use super::template::escape;

/// The number of messages that an address may send within [`FLOOD_WINDOW`]: Drupal's default.
const FLOOD_LIMIT: usize = 5;
const FLOOD_WINDOW: Duration = Duration::from_secs(3_600);
/// The error of an address that sent too many messages. In English on Spanish pages too, as on the imitated site.
const FLOODED: &str = "You cannot send more than <em class=\"placeholder\">5</em> messages in 1 hour. \
     Try again later.";
/// The number of the administrator, the only one with an account.
const ADMIN_UID: u32 = 1;

const X_CACHE: HeaderName = HeaderName::from_static("x-cache");

/// A site of Umami with 7 articles, 10 recipes, 33 terms and one editor.
pub(super) struct Umami {
    assets: StaticFiles,
    pages: PageStore,
    sessions: Sessions,
    messages: FloodControl,
}

/// A request with its route, language and member.
struct RequestContext<'a> {
    request: &'a SiteRequest<'a>,
    host: &'a str,
    route: UmamiRoute,
    lang: Lang,
    member: Option<LoggedInUser>,
}

impl Handler for Umami {
    fn labels(&self) -> &'static [&'static str] {
        &route::LABELS
    }

    fn label(&self, method: &Method, path: &str) -> &'static str {
        UmamiRoute::of(path).label(method)
    }

    fn respond(&self, request: &SiteRequest<'_>) -> SiteResponse {
        let Some(host) = request.host() else {
            return plain(
                StatusCode::BAD_REQUEST,
                "The Host header is missing or wrong.\n",
            );
        };
        let route = UmamiRoute::of(request.path);
        let sessions = &self.sessions;
        let context = RequestContext {
            request,
            host,
            route,
            lang: route.lang(),
            member: cookie::values(request.headers).find_map(|session| sessions.member(session)),
        };
        match *request.method {
            Method::GET | Method::HEAD => self.get(&context),
            Method::POST => self.post(&context),
            _ => not_allowed("GET, HEAD, POST"),
        }
    }
}

impl Umami {
    pub(super) fn new() -> Self {
        let pages = PageStore::new();
        Umami {
            assets: StaticFiles::new(files::files(pages.nodes()), Compress::Text),
            pages,
            sessions: Sessions::new(),
            messages: FloodControl::new(FLOOD_LIMIT, FLOOD_WINDOW),
        }
    }

    fn get(&self, context: &RequestContext<'_>) -> SiteResponse {
        let lang = context.lang;
        match (context.route.kind, &context.member) {
            (RouteKind::Asset(_), _) => self.asset(context),
            (RouteKind::Edit(nid), member) => match (self.pages.node(nid), member) {
                (None, _) => self.system_page(context, SystemPage::NotFound),
                (Some(_), None) => self.system_page(context, SystemPage::Denied),
                (Some(node), Some(member)) => self.form(context, node, member, Vec::new()),
            },
            (RouteKind::Search, member) => {
                match FormFields::parse(context.request.query.as_bytes()).get("keys") {
                    "" => self.page(context),
                    keys => {
                        let headers = context.request.headers;
                        let response = self.pages.results(lang, keys, member.is_some(), headers);
                        with_page_headers(response, context, false)
                    }
                }
            }
            (RouteKind::Account | RouteKind::Login, Some(_)) => {
                redirect(context, StatusCode::FOUND, "/user/1")
            }
            (RouteKind::Account, None) => redirect(context, StatusCode::FOUND, "/user/login"),
            (RouteKind::Profile, Some(_)) => self.system_page(context, SystemPage::Profile),
            (RouteKind::Profile | RouteKind::Logout, None) => {
                self.system_page(context, SystemPage::Denied)
            }
            (RouteKind::Logout, Some(member)) => {
                self.sessions.close(member);
                let mut response = redirect(context, StatusCode::FOUND, "");
                cookie::delete(&mut response, context.host);
                response
            }
            _ => self.page(context),
        }
    }

    /// Handles a POST. Any page takes them: one without a form is just shown.
    fn post(&self, context: &RequestContext<'_>) -> SiteResponse {
        let fields = &FormFields::read(context.request);
        match (context.route.kind, &context.member) {
            (RouteKind::Asset(_), _) => not_allowed("GET, HEAD"),
            (RouteKind::Login, None) => self.log_in(context, fields),
            (RouteKind::Search, _) => match forms::search(fields) {
                FormOutcome::Good => {
                    redirect(context, StatusCode::SEE_OTHER, &results_path(fields))
                }
                FormOutcome::Again(errors) => self.again(context, errors),
            },
            (RouteKind::Contact, _) => self.contact(context, fields),
            (RouteKind::Edit(nid), Some(member)) => match self.pages.node(nid) {
                Some(node) => self.save(context, node, member, fields),
                None => self.system_page(context, SystemPage::NotFound),
            },
            _ => self.get(context),
        }
    }

    fn log_in(&self, context: &RequestContext<'_>, fields: &FormFields) -> SiteResponse {
        match forms::login(fields) {
            FormOutcome::Again(errors) => self.again(context, errors),
            FormOutcome::Good => {
                let member = self.sessions.open(ADMIN_UID);
                let mut response = redirect(context, StatusCode::SEE_OTHER, "/user/1");
                cookie::set(&mut response, context.host, &member.session);
                response
            }
        }
    }

    fn contact(&self, context: &RequestContext<'_>, fields: &FormFields) -> SiteResponse {
        match forms::contact(fields) {
            FormOutcome::Again(errors) => self.again(context, errors),
            FormOutcome::Good if !self.messages.admits(context.request.peer, Instant::now()) => {
                self.again(context, vec![FLOODED.to_owned()])
            }
            FormOutcome::Good => redirect(context, StatusCode::SEE_OTHER, ""),
        }
    }

    fn save(
        &self,
        context: &RequestContext<'_>,
        node: &Node,
        member: &LoggedInUser,
        fields: &FormFields,
    ) -> SiteResponse {
        let kind = node.kind();
        match forms::edit(fields, kind.machine_name(), &member.form_token) {
            FormOutcome::Again(errors) => self.form(context, node, member, errors),
            FormOutcome::Good => {
                let title = escape(&node.titles[context.lang as usize]);
                let notice = format!(
                    "{} <em class=\"placeholder\">{title}</em> has been updated.",
                    kind.name()
                );
                self.sessions.set_notice(member, notice);
                // The alias begins with the language, which `go` adds.
                let alias = &node.paths[context.lang as usize];
                redirect(
                    context,
                    StatusCode::SEE_OTHER,
                    alias.get(3..).unwrap_or_default(),
                )
            }
        }
    }

    fn asset(&self, context: &RequestContext<'_>) -> SiteResponse {
        let Some(mut response) = self
            .assets
            .respond(context.request.path, context.request.headers)
        else {
            return self.system_page(context, SystemPage::NotFound);
        };
        response
            .headers_mut()
            .insert(X_CACHE, HeaderValue::from_static("HIT"));
        response
    }

    /// The page at the path, if there is one.
    fn page(&self, context: &RequestContext<'_>) -> SiteResponse {
        match self.pages.at(context.request.path) {
            Some(page) => self.show(context, page, Vec::new()),
            None => self.system_page(context, SystemPage::NotFound),
        }
    }

    fn system_page(&self, context: &RequestContext<'_>, system_page: SystemPage) -> SiteResponse {
        self.show(
            context,
            self.pages.system_page(context.lang, system_page),
            Vec::new(),
        )
    }

    /// The page of a form once more.
    fn again(&self, context: &RequestContext<'_>, errors: Vec<String>) -> SiteResponse {
        match self.pages.at(context.request.path) {
            Some(page) => self.show(context, page, errors),
            None => self.system_page(context, SystemPage::NotFound),
        }
    }

    fn show(
        &self,
        context: &RequestContext<'_>,
        page: &PreparedPage,
        errors: Vec<String>,
    ) -> SiteResponse {
        let messages = self.messages(context, errors);
        let (is_member, headers) = (context.member.is_some(), context.request.headers);
        let response = self.pages.show(page, is_member, &messages, headers);
        with_page_headers(response, context, !is_member && messages.is_empty())
    }

    fn form(
        &self,
        context: &RequestContext<'_>,
        node: &Node,
        member: &LoggedInUser,
        errors: Vec<String>,
    ) -> SiteResponse {
        let messages = self.messages(context, errors);
        let headers = context.request.headers;
        let response = self
            .pages
            .form(context.lang, node, member, &messages, headers);
        with_page_headers(response, context, false)
    }

    /// The messages above the content of a page.
    fn messages(&self, context: &RequestContext<'_>, errors: Vec<String>) -> Vec<StatusMessage> {
        let member = context.member.as_ref();
        let notice = member.and_then(|member| self.sessions.take_notice(member));
        let errors = errors.into_iter().map(StatusMessage::Error);
        notice
            .map(StatusMessage::Status)
            .into_iter()
            .chain(errors)
            .collect()
    }
}

/// The path of a search's results, without the language.
fn results_path(fields: &FormFields) -> String {
    let keys = utf8_percent_encode(fields.get("keys").trim(), NON_ALPHANUMERIC);
    format!("/search/node?keys={keys}")
}

/// Adds the headers of every page to a response, those of a cached page or of one that was made.
fn with_page_headers(
    mut response: SiteResponse,
    context: &RequestContext<'_>,
    is_cached: bool,
) -> SiteResponse {
    const GENERATOR: HeaderName = HeaderName::from_static("x-generator");
    const DRUPAL_CACHE: HeaderName = HeaderName::from_static("x-drupal-cache");
    let (cache, age) = if is_cached {
        ("HIT", "max-age=900, public")
    } else {
        ("MISS", "must-revalidate, no-cache, private")
    };
    let headers = response.headers_mut();
    headers.reserve(12);
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=UTF-8"),
        (CACHE_CONTROL, age),
        (EXPIRES, "Sun, 19 Nov 1978 05:00:00 GMT"),
        (CONTENT_LANGUAGE, Translation::of(context.lang).code),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "SAMEORIGIN"),
        (GENERATOR, "Drupal 8 (https://www.drupal.org)"),
        (DRUPAL_CACHE, cache),
        (X_CACHE, cache),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Some(member) = &context.member {
        cookie::set(&mut response, context.host, &member.session);
    }
    response
}

/// A redirect to `path` in the language of the request, without which that is "/en".
fn redirect(context: &RequestContext<'_>, status: StatusCode, path: &str) -> SiteResponse {
    let mut response = with_page_headers(SiteResponse::default(), context, false);
    *response.status_mut() = status;
    let code = Translation::of(context.lang).code;
    let path = utf8_percent_encode(path, CONTROLS);
    if let Ok(location) = HeaderValue::try_from(format!("http://{}/{code}{path}", context.host)) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}
