//! The imitation of a Drupal 7 site: what is at which path, who may see it, and what posting does. Driven by
//! the server for each request; leaves HTML to the pages and judgement of forms to the forms.

mod comments;
mod files;
mod forms;
mod pages;
mod place;
#[cfg(test)]
mod tests;

use http::header::{
    CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_TYPE, EXPIRES, HeaderMap, HeaderName, HeaderValue,
    LOCATION, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{Method, Response, StatusCode};
use http_body_util::Full;

use self::comments::Comments;
use self::forms::{Draft, Login, Reply, is_user};
use self::pages::{Frame, LAST_ARTICLE, Page, Pages};
use self::place::Place;
use super::assets::{Assets, Compress};
use super::cookie;
use super::fields::Fields;
use super::server::{Answer, Imitation, Visit, not_allowed, plain};
use super::sessions::{Member, Sessions};

/// A Drupal 7 with 10,000 articles and the users user2 to user5001.
pub(super) struct Drupal {
    assets: Assets,
    pages: Pages,
    sessions: Sessions,
    comments: Comments,
}

impl Imitation for Drupal {
    fn labels(&self) -> &'static [&'static str] {
        &place::LABELS
    }

    fn label(&self, method: &Method, path: &str) -> &'static str {
        Place::of(path).label(method)
    }

    fn answer(&self, visit: &Visit<'_>) -> Answer {
        let Some(host) = visit.host() else {
            return plain(
                StatusCode::BAD_REQUEST,
                "The Host header is missing or wrong.\n",
            );
        };
        let frame = Frame {
            host,
            path: visit.path,
            member: self.member(visit.headers),
            notice: None,
            errors: Vec::new(),
        };
        match *visit.method {
            Method::GET | Method::HEAD => self.get(frame, visit.headers),
            Method::POST => self.post(frame, visit),
            _ => not_allowed("GET, HEAD, POST"),
        }
    }
}

impl Drupal {
    pub(super) fn new() -> Self {
        let files = files::FILES.map(|(path, size)| (path.to_owned(), size));
        Drupal {
            assets: Assets::new(files, Compress::Nothing),
            pages: Pages::new(),
            sessions: Sessions::new(),
            comments: Comments::new(),
        }
    }

    fn get(&self, frame: Frame<'_>, headers: &HeaderMap) -> Answer {
        match Place::of(frame.path) {
            Place::Asset(_) => match self.assets.answer(frame.path, headers) {
                Some(answer) => answer,
                None => self.show(frame, &Page::NotFound),
            },
            Place::Logout => self.log_out(frame),
            Place::Reply(nid) if !is_article(nid) => self.show(frame, &Page::NotFound),
            Place::Reply(nid) if frame.member.is_none() => go(&frame, &format!("node/{nid}")),
            Place::Reply(nid) => self.show(frame, &Page::Reply(nid, Draft::default())),
            place => self.show_place(frame, place),
        }
    }

    /// Any page takes posts: what is posted to one without that form just gets the page.
    fn post(&self, frame: Frame<'_>, visit: &Visit<'_>) -> Answer {
        let fields = &Fields::read(visit);
        match Place::of(frame.path) {
            Place::Asset(_) => not_allowed("GET, HEAD"),
            Place::Reply(nid) if is_article(nid) => self.comment(frame, nid, fields),
            Place::Account if frame.member.is_none() => self.log_in(frame, fields),
            _ if frame.member.is_none() && fields.get("form_id") == "user_login_block" => {
                self.log_in_by_block(frame, fields, visit.headers)
            }
            _ => self.get(frame, visit.headers),
        }
    }

    fn show_place(&self, frame: Frame<'_>, place: Place) -> Answer {
        let page = match (place, &frame.member) {
            (Place::Front, _) => Page::Front,
            (Place::Article(nid), _) if is_article(nid) => Page::Article(nid),
            (Place::Profile(uid), _) if is_user(uid) => Page::Profile(uid),
            (Place::Account, Some(member)) => Page::Profile(member.uid),
            (Place::Account, None) => Page::Login(String::new()),
            _ => Page::NotFound,
        };
        self.show(frame, &page)
    }

    fn log_in(&self, mut frame: Frame<'_>, fields: &Fields) -> Answer {
        match forms::login(fields, "user_login") {
            Login::Good(uid) => self.welcome(&frame, uid, &format!("user/{uid}")),
            Login::Again(errors) => {
                frame.errors = errors;
                self.show(frame, &Page::Login(fields.get("name").to_owned()))
            }
        }
    }

    /// The block beside each page that visitors see leads back to that page.
    fn log_in_by_block(
        &self,
        mut frame: Frame<'_>,
        fields: &Fields,
        headers: &HeaderMap,
    ) -> Answer {
        match forms::login(fields, "user_login_block") {
            Login::Good(uid) => self.welcome(&frame, uid, frame.path.trim_matches('/')),
            Login::Again(errors) => {
                frame.errors = errors;
                self.get(frame, headers)
            }
        }
    }

    fn welcome(&self, frame: &Frame<'_>, uid: u32, path: &str) -> Answer {
        let member = self.sessions.open(uid);
        let mut answer = go(frame, path);
        cookie::set(&mut answer, frame.host, &member.session);
        answer
    }

    fn log_out(&self, frame: Frame<'_>) -> Answer {
        let Some(member) = &frame.member else {
            return self.show(frame, &Page::Forbidden);
        };
        self.sessions.close(member);
        let mut answer = go(&frame, "");
        cookie::delete(&mut answer, frame.host);
        answer
    }

    fn comment(&self, mut frame: Frame<'_>, nid: u32, fields: &Fields) -> Answer {
        let Some(member) = &frame.member else {
            return go(&frame, &format!("node/{nid}"));
        };
        match forms::reply(fields, &member.form_token) {
            Reply::Post(draft) => {
                let cid = self
                    .comments
                    .add(nid, member.uid, &draft.subject, &draft.body);
                self.sessions
                    .tell(member, "Your comment has been posted.".to_owned());
                go(&frame, &format!("node/{nid}#comment-{cid}"))
            }
            Reply::Preview(draft) => self.show(frame, &Page::Preview(nid, draft)),
            Reply::Again(errors, draft) => {
                frame.errors = errors;
                self.show(frame, &Page::Reply(nid, draft))
            }
        }
    }

    fn show(&self, mut frame: Frame<'_>, page: &Page) -> Answer {
        let member = frame.member.as_ref();
        frame.notice = member.and_then(|member| self.sessions.take_notice(member));
        let html = self.pages.render(&frame, page, &self.comments);
        let status = match page {
            Page::Forbidden => StatusCode::FORBIDDEN,
            Page::NotFound => StatusCode::NOT_FOUND,
            _ => StatusCode::OK,
        };
        answer(status, Full::from(html))
    }

    /// The member whose session cookie came along.
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
fn go(frame: &Frame<'_>, path: &str) -> Answer {
    let mut answer = answer(StatusCode::FOUND, Full::default());
    // A path that came in a request line can stand in a header.
    if let Ok(location) = HeaderValue::try_from(format!("http://{}/{path}", frame.host)) {
        answer.headers_mut().insert(LOCATION, location);
    }
    answer
}
