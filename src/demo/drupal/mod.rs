//! An imitation of a Drupal 7 site: the content of its paths, who may see it, and what posting does. Driven by the
//! server for each request; leaves HTML to the pages and validation to the forms.

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
use self::pages::{Frame, LAST_ARTICLE, PageContent, PageRenderer};
use self::route::DrupalRoute;
use super::cookie;
use super::fields::FormFields;
use super::server::{Answer, Handler, SiteRequest, not_allowed, plain};
use super::sessions::{Member, Sessions};
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

    fn answer(&self, request: &SiteRequest<'_>) -> Answer {
        let Some(host) = request.host() else {
            return plain(
                StatusCode::BAD_REQUEST,
                "The Host header is missing or wrong.\n",
            );
        };
        let frame = Frame {
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

    fn get(&self, frame: Frame<'_>, headers: &HeaderMap) -> Answer {
        match DrupalRoute::of(frame.path) {
            DrupalRoute::Asset(_) => match self.assets.answer(frame.path, headers) {
                Some(answer) => answer,
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

    /// Answers a POST. Any page takes them: one without that form is just shown.
    fn post(&self, frame: Frame<'_>, request: &SiteRequest<'_>) -> Answer {
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

    fn show_route(&self, frame: Frame<'_>, route: DrupalRoute) -> Answer {
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

    fn log_in(&self, mut frame: Frame<'_>, fields: &FormFields) -> Answer {
        match forms::login(fields, "user_login") {
            LoginOutcome::Good(uid) => self.welcome(&frame, uid, &format!("user/{uid}")),
            LoginOutcome::Again(errors) => {
                frame.errors = errors;
                self.show(frame, &PageContent::Login(fields.get("name").to_owned()))
            }
        }
    }

    /// Logs in by the block beside each page that visitors see, which leads back to that page.
    fn log_in_by_block(
        &self,
        mut frame: Frame<'_>,
        fields: &FormFields,
        headers: &HeaderMap,
    ) -> Answer {
        match forms::login(fields, "user_login_block") {
            LoginOutcome::Good(uid) => self.welcome(&frame, uid, frame.path.trim_matches('/')),
            LoginOutcome::Again(errors) => {
                frame.errors = errors;
                self.get(frame, headers)
            }
        }
    }

    fn welcome(&self, frame: &Frame<'_>, uid: u32, path: &str) -> Answer {
        let member = self.sessions.open(uid);
        let mut answer = redirect(frame, path);
        cookie::set(&mut answer, frame.host, &member.session);
        answer
    }

    fn log_out(&self, frame: Frame<'_>) -> Answer {
        let Some(member) = &frame.member else {
            return self.show(frame, &PageContent::Forbidden);
        };
        self.sessions.close(member);
        let mut answer = redirect(&frame, "");
        cookie::delete(&mut answer, frame.host);
        answer
    }

    fn comment(&self, mut frame: Frame<'_>, nid: u32, fields: &FormFields) -> Answer {
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

    fn show(&self, mut frame: Frame<'_>, page: &PageContent) -> Answer {
        let member = frame.member.as_ref();
        frame.notice = member.and_then(|member| self.sessions.take_notice(member));
        let html = self.pages.render(&frame, page, &self.comments);
        let status = match page {
            PageContent::Forbidden => StatusCode::FORBIDDEN,
            PageContent::NotFound => StatusCode::NOT_FOUND,
            _ => StatusCode::OK,
        };
        answer(status, Full::from(html))
    }

    /// The member whose session cookie the request has.
    fn member(&self, headers: &HeaderMap) -> Option<Member> {
        cookie::values(headers).find_map(|session| self.sessions.member(session))
    }
}

fn is_article(nid: u32) -> bool {
    (1..=LAST_ARTICLE).contains(&nid)
}

/// An answer with the headers of every page of the site.
fn answer(status: StatusCode, body: Full<bytes::Bytes>) -> Answer {
    const GENERATOR: HeaderName = HeaderName::from_static("x-generator");
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
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
    answer
}

/// A redirect to `path` of the site, which has no leading slash.
fn redirect(frame: &Frame<'_>, path: &str) -> Answer {
    let mut answer = answer(StatusCode::FOUND, Full::default());
    // A path that came in a request line can stand in a header.
    if let Ok(location) = HeaderValue::try_from(format!("http://{}/{path}", frame.host)) {
        answer.headers_mut().insert(LOCATION, location);
    }
    answer
}
