//! The imitation of a Drupal 7 site: what is at which path, who may see it, and what posting does. Driven by
//! the server for each request; leaves HTML to the pages and judgement of forms to the forms.

mod assets;
mod comments;
mod forms;
mod pages;
mod place;
mod sessions;
mod template;
#[cfg(test)]
mod tests;
mod text;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_TYPE, COOKIE, EXPIRES, HeaderMap, HeaderName,
    HeaderValue, LOCATION, SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{Method, Response, StatusCode};
use http_body_util::Full;
use jiff::Timestamp;

use self::assets::Assets;
use self::comments::Comments;
use self::forms::{Draft, Fields, Login, Reply, is_user};
use self::pages::{Frame, LAST_ARTICLE, Page, Pages};
use self::place::Place;
use self::sessions::{Member, Sessions};
use super::server::{Answer, Imitation, Visit, plain};

/// How long a browser keeps the session cookie.
const COOKIE_AGE: Duration = Duration::from_secs(2_000_000);

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
            has_posted: false,
            errors: Vec::new(),
        };
        match *visit.method {
            Method::GET | Method::HEAD => self.get(frame),
            Method::POST => self.post(frame, &Fields::read(visit)),
            _ => not_allowed("GET, HEAD, POST"),
        }
    }
}

impl Drupal {
    pub(super) fn new() -> Self {
        Drupal {
            assets: Assets::new(),
            pages: Pages::new(),
            sessions: Sessions::new(),
            comments: Comments::new(),
        }
    }

    fn get(&self, frame: Frame<'_>) -> Answer {
        match Place::of(frame.path) {
            Place::Asset(_) => match self.assets.answer(frame.path) {
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
    fn post(&self, frame: Frame<'_>, fields: &Fields) -> Answer {
        match Place::of(frame.path) {
            Place::Asset(_) => not_allowed("GET, HEAD"),
            Place::Reply(nid) if is_article(nid) => self.comment(frame, nid, fields),
            Place::Account if frame.member.is_none() => self.log_in(frame, fields),
            _ if frame.member.is_none() && fields.get("form_id") == "user_login_block" => {
                self.log_in_by_block(frame, fields)
            }
            _ => self.get(frame),
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
    fn log_in_by_block(&self, mut frame: Frame<'_>, fields: &Fields) -> Answer {
        match forms::login(fields, "user_login_block") {
            Login::Good(uid) => self.welcome(&frame, uid, frame.path.trim_matches('/')),
            Login::Again(errors) => {
                frame.errors = errors;
                self.get(frame)
            }
        }
    }

    fn welcome(&self, frame: &Frame<'_>, uid: u32, path: &str) -> Answer {
        let member = self.sessions.open(uid);
        let expires = Timestamp::now() + COOKIE_AGE;
        let cookie = format!(
            "{}={}; expires={}; Max-Age={}; path=/; HttpOnly",
            cookie_name(frame.host),
            member.session,
            expires.strftime("%a, %d-%b-%Y %H:%M:%S GMT"),
            COOKIE_AGE.as_secs(),
        );
        with_cookie(go(frame, path), cookie)
    }

    fn log_out(&self, frame: Frame<'_>) -> Answer {
        let Some(member) = &frame.member else {
            return self.show(frame, &Page::Forbidden);
        };
        self.sessions.close(member);
        let cookie = format!(
            "{}=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0; path=/; HttpOnly",
            cookie_name(frame.host)
        );
        with_cookie(go(&frame, ""), cookie)
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
                self.sessions.posted(member);
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
        frame.has_posted = member.is_some_and(|member| self.sessions.take_posted(member));
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
        let lines = headers.get_all(COOKIE).iter();
        let lines = lines.filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';'));
        let mut pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
        pairs.find_map(|(name, value)| {
            let is_session = name.starts_with("SESS");
            is_session.then(|| self.sessions.member(value)).flatten()
        })
    }
}

fn is_article(nid: u32) -> bool {
    (1..=LAST_ARTICLE).contains(&nid)
}

/// `SESS` and 32 hexadecimal digits that depend on the host.
fn cookie_name(host: &str) -> String {
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        (seed, host).hash(&mut hasher);
        hasher.finish()
    };
    format!("SESS{:016x}{:016x}", half(0), half(1))
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

fn with_cookie(mut answer: Answer, cookie: String) -> Answer {
    let cookie = HeaderValue::try_from(cookie).expect("cookies are made of plain characters");
    answer.headers_mut().insert(SET_COOKIE, cookie);
    answer
}

fn not_allowed(methods: &'static str) -> Answer {
    let mut answer = plain(
        StatusCode::METHOD_NOT_ALLOWED,
        "This method is not for this page.\n",
    );
    answer
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(methods));
    answer
}
