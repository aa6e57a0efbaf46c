//! An imitation of a Drupal 7 site: the content of its paths, the access to it, and the effects of posting. Driven by
//! the server for each request; leaves HTML to the pages and validation to the forms.

mod comments;
mod files;
mod forms;
mod pages;
mod route;
#[cfg(test)]
mod tests;

use http::header::{
    CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_TYPE, EXPIRES, HeaderMap, HeaderName, HeaderValue,
    LOCATION, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{Method, Response, StatusCode};
use http_body_util::Full;

use self::comments::Comments;
use self::forms::{CommentDraft, CommentOutcome, LoginOutcome, is_user};
use self::pages::{LAST_ARTICLE, PageContent, PageFrame, PageRenderer};
use self::route::DrupalRoute;
use super::cookie;
use super::fields::FormFields;
use super::server::{Handler, SiteRequest, SiteResponse, not_allowed, plain};
use super::sessions::{LoggedInUser, Sessions};
use super::static_files::{Compress, StaticFiles};

/// A site of Drupal 7 with 10,000 articles and the users user2 to user5001.
pub(super) struct Drupal {
    assets: StaticFiles,
    pages: PageRenderer,
    sessions: Sessions,
    comments: Comments,
}

impl Handler for Drupal {
    fn labels(&self) -> &'static [&'static str] {
        &route::LABELS
    }

    fn label(&self, method: &Method, path: &str) -> &'static str {
        DrupalRoute::of(path).label(method)
    }

    fn respond(&self, request: &SiteRequest<'_>) -> SiteResponse {
        let Some(host) = request.host() else {
            return plain(
                StatusCode::BAD_REQUEST,
                "The Host header is missing or wrong.\n",
            );
        };
        let frame = PageFrame {
            host,
            path: request.path,
            member: self.member(request.headers),
            notice: None,
            errors: Vec::new(),
        };
        match *request.method {
            Method::GET | Method::HEAD => self.get(frame, request.headers),
            Method::POST => self.post(frame, request),
            _ => not_allowed("GET, HEAD, POST"),
        }
    }
}

impl Drupal {
    pub(super) fn new() -> Self {
        let files = files::FILES.map(|(path, size)| (path.to_owned(), size));
        Drupal {
            assets: StaticFiles::new(files, Compress::Nothing),
            pages: PageRenderer::new(),
            sessions: Sessions::new(),
            comments: Comments::new(),
        }
    }

    fn get(&self, frame: PageFrame<'_>, headers: &HeaderMap) -> SiteResponse {
        match DrupalRoute::of(frame.path) {
            DrupalRoute::Asset(_) => match self.assets.respond(frame.path, headers) {
                Some(response) => response,
                None => self.show(frame, &PageContent::NotFound),
            },
            DrupalRoute::Logout => self.log_out(frame),
            DrupalRoute::Reply(nid) if !is_article(nid) => self.show(frame, &PageContent::NotFound),
            DrupalRoute::Reply(nid) if frame.member.is_none() => {
                redirect(&frame, &format!("node/{nid}"))
            }
            DrupalRoute::Reply(nid) => {
                self.show(frame, &PageContent::Reply(nid, CommentDraft::default()))
            }
            route => self.show_route(frame, route),
        }
    }

    /// Handles a POST. Any page takes them: one without that form is just shown.
    fn post(&self, frame: PageFrame<'_>, request: &SiteRequest<'_>) -> SiteResponse {
        let fields = &FormFields::read(request);
        match DrupalRoute::of(frame.path) {
            DrupalRoute::Asset(_) => not_allowed("GET, HEAD"),
            DrupalRoute::Reply(nid) if is_article(nid) => self.comment(frame, nid, fields),
            DrupalRoute::Account if frame.member.is_none() => self.log_in(frame, fields),
            _ if frame.member.is_none() && fields.get("form_id") == "user_login_block" => {
                self.log_in_by_block(frame, fields, request.headers)
            }
            _ => self.get(frame, request.headers),
        }
    }

    fn show_route(&self, frame: PageFrame<'_>, route: DrupalRoute) -> SiteResponse {
        let page = match (route, &frame.member) {
            (DrupalRoute::Front, _) => PageContent::Front,
            (DrupalRoute::Article(nid), _) if is_article(nid) => PageContent::Article(nid),
            (DrupalRoute::Profile(uid), _) if is_user(uid) => PageContent::Profile(uid),
            (DrupalRoute::Account, Some(member)) => PageContent::Profile(member.uid),
            (DrupalRoute::Account, None) => PageContent::Login(String::new()),
            _ => PageContent::NotFound,
        };
        self.show(frame, &page)
    }

    fn log_in(&self, mut frame: PageFrame<'_>, fields: &FormFields) -> SiteResponse {
        match forms::login(fields, "user_login") {
            LoginOutcome::Good(uid) => self.start_session(&frame, uid, &format!("user/{uid}")),
            LoginOutcome::Again(errors) => {
                frame.errors = errors;
                self.show(frame, &PageContent::Login(fields.get("name").to_owned()))
            }
        }
    }

    /// Logs in by the block beside each page that visitors see, which leads back to that page.
    fn log_in_by_block(
        &self,
        mut frame: PageFrame<'_>,
        fields: &FormFields,
        headers: &HeaderMap,
    ) -> SiteResponse {
        match forms::login(fields, "user_login_block") {
            LoginOutcome::Good(uid) => {
                self.start_session(&frame, uid, frame.path.trim_matches('/'))
            }
            LoginOutcome::Again(errors) => {
                frame.errors = errors;
                self.get(frame, headers)
            }
        }
    }

    fn start_session(&self, frame: &PageFrame<'_>, uid: u32, path: &str) -> SiteResponse {
        let member = self.sessions.open(uid);
        let mut response = redirect(frame, path);
        cookie::set(&mut response, frame.host, &member.session);
        response
    }

    fn log_out(&self, frame: PageFrame<'_>) -> SiteResponse {
        let Some(member) = &frame.member else {
            return self.show(frame, &PageContent::Forbidden);
        };
        self.sessions.close(member);
        let mut response = redirect(&frame, "");
        cookie::delete(&mut response, frame.host);
        response
    }

    fn comment(&self, mut frame: PageFrame<'_>, nid: u32, fields: &FormFields) -> SiteResponse {
        let Some(member) = &frame.member else {
            return redirect(&frame, &format!("node/{nid}"));
        };
        match forms::reply(fields, &member.form_token) {
            CommentOutcome::Post(draft) => {
                let cid = self
                    .comments
                    .add(nid, member.uid, &draft.subject, &draft.body);
                self.sessions
                    .set_notice(member, "Your comment has been posted.".to_owned());
                redirect(&frame, &format!("node/{nid}#comment-{cid}"))
            }
            CommentOutcome::Preview(draft) => self.show(frame, &PageContent::Preview(nid, draft)),
            CommentOutcome::Again(errors, draft) => {
                frame.errors = errors;
                self.show(frame, &PageContent::Reply(nid, draft))
            }
        }
    }

    fn show(&self, mut frame: PageFrame<'_>, page: &PageContent) -> SiteResponse {
        let member = frame.member.as_ref();
        frame.notice = member.and_then(|member| self.sessions.take_notice(member));
        let html = self.pages.render(&frame, page, &self.comments);
        let status = match page {
            PageContent::Forbidden => StatusCode::FORBIDDEN,
            PageContent::NotFound => StatusCode::NOT_FOUND,
            _ => StatusCode::OK,
        };
        new_response(status, Full::from(html))
    }

    /// The member whose session cookie the request has.
    fn member(&self, headers: &HeaderMap) -> Option<LoggedInUser> {
        cookie::values(headers).find_map(|session| self.sessions.member(session))
    }
}

fn is_article(nid: u32) -> bool {
    (1..=LAST_ARTICLE).contains(&nid)
}

/// A response with the headers of every page of the site.
fn new_response(status: StatusCode, body: Full<bytes::Bytes>) -> SiteResponse {
    const GENERATOR: HeaderName = HeaderName::from_static("x-generator");
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.reserve(10);
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-cache, must-revalidate"),
        (EXPIRES, "Sun, 19 Nov 1978 05:00:00 GMT"),
        (CONTENT_LANGUAGE, "en"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "SAMEORIGIN"),
        (GENERATOR, "Drupal 7 (http://drupal.org)"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A redirect to `path` of the site, which has no leading slash.
fn redirect(frame: &PageFrame<'_>, path: &str) -> SiteResponse {
    let mut response = new_response(StatusCode::FOUND, Full::default());
    // A path that came in a request line can stand in a header.
    if let Ok(location) = HeaderValue::try_from(format!("http://{}/{path}", frame.host)) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}
