//! The imitation of the Umami demo of Drupal 8, a food magazine in English and Spanish: what is at which path,
//! who may see it, and what posting does. Driven by the server for each request; leaves HTML to the pages and
//! judgement of forms to the forms.

mod content;
mod files;
mod flood;
mod forms;
mod layout;
mod pages;
mod parts;
mod place;
#[cfg(test)]
mod tests;
mod words;

use std::time::{Duration, Instant};

use http::header::{
    CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_TYPE, EXPIRES, HeaderName, HeaderValue, LOCATION,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{Method, StatusCode};
use percent_encoding::{CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

use self::content::Node;
use self::flood::Flood;
use self::forms::Verdict;
use self::layout::Message;
use self::pages::{Own, Pages, Sheet};
use self::place::{Kind, Lang, Place};
use self::words::Words;
use super::assets::{Assets, Compress};
use super::cookie;
use super::fields::Fields;
use super::server::{Answer, Imitation, Visit, not_allowed, plain};
use super::sessions::{Member, Sessions};
use super::template::escape;

/// How many messages an address may send within [`FLOOD_WINDOW`]: Drupal's default.
const FLOOD_LIMIT: usize = 5;
const FLOOD_WINDOW: Duration = Duration::from_secs(3_600);
/// In English on Spanish pages too, as on the imitated site.
const FLOODED: &str = "You cannot send more than <em class=\"placeholder\">5</em> messages in 1 hour. \
     Try again later.";
/// The number of the administrator, the only one with an account.
const ADMIN_UID: u32 = 1;

const X_CACHE: HeaderName = HeaderName::from_static("x-cache");

/// An Umami with 7 articles, 10 recipes, 33 terms and one editor.
pub(super) struct Umami {
    assets: Assets,
    pages: Pages,
    sessions: Sessions,
    messages: Flood,
}

/// A request and what is known of it.
struct Call<'a> {
    visit: &'a Visit<'a>,
    host: &'a str,
    place: Place,
    lang: Lang,
    member: Option<Member>,
}

impl Imitation for Umami {
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
        let place = Place::of(visit.path);
        let sessions = &self.sessions;
        let call = Call {
            visit,
            host,
            place,
            lang: place.lang(),
            member: cookie::values(visit.headers).find_map(|session| sessions.member(session)),
        };
        match *visit.method {
            Method::GET | Method::HEAD => self.get(&call),
            Method::POST => self.post(&call),
            _ => not_allowed("GET, HEAD, POST"),
        }
    }
}

impl Umami {
    pub(super) fn new() -> Self {
        let pages = Pages::new();
        Umami {
            assets: Assets::new(files::files(pages.nodes()), Compress::Text),
            pages,
            sessions: Sessions::new(),
            messages: Flood::new(FLOOD_LIMIT, FLOOD_WINDOW),
        }
    }

    fn get(&self, call: &Call<'_>) -> Answer {
        let lang = call.lang;
        match (call.place.kind, &call.member) {
            (Kind::Asset(_), _) => self.asset(call),
            (Kind::Edit(nid), member) => match (self.pages.node(nid), member) {
                (None, _) => self.own(call, Own::NotFound),
                (Some(_), None) => self.own(call, Own::Denied),
                (Some(node), Some(member)) => self.form(call, node, member, Vec::new()),
            },
            (Kind::Search, member) => {
                match Fields::parse(call.visit.query.as_bytes()).get("keys") {
                    "" => self.page(call),
                    keys => {
                        let headers = call.visit.headers;
                        let answer = self.pages.results(lang, keys, member.is_some(), headers);
                        finished(answer, call, false)
                    }
                }
            }
            (Kind::Account | Kind::Login, Some(_)) => go(call, StatusCode::FOUND, "/user/1"),
            (Kind::Account, None) => go(call, StatusCode::FOUND, "/user/login"),
            (Kind::Profile, Some(_)) => self.own(call, Own::Profile),
            (Kind::Profile | Kind::Logout, None) => self.own(call, Own::Denied),
            (Kind::Logout, Some(member)) => {
                self.sessions.close(member);
                let mut answer = go(call, StatusCode::FOUND, "");
                cookie::delete(&mut answer, call.host);
                answer
            }
            _ => self.page(call),
        }
    }

    /// Any page takes posts: what is posted to one without a form just gets the page.
    fn post(&self, call: &Call<'_>) -> Answer {
        let fields = &Fields::read(call.visit);
        match (call.place.kind, &call.member) {
            (Kind::Asset(_), _) => not_allowed("GET, HEAD"),
            (Kind::Login, None) => self.log_in(call, fields),
            (Kind::Search, _) => match forms::search(fields) {
                Verdict::Good => go(call, StatusCode::SEE_OTHER, &results_path(fields)),
                Verdict::Again(errors) => self.again(call, errors),
            },
            (Kind::Contact, _) => self.contact(call, fields),
            (Kind::Edit(nid), Some(member)) => match self.pages.node(nid) {
                Some(node) => self.save(call, node, member, fields),
                None => self.own(call, Own::NotFound),
            },
            _ => self.get(call),
        }
    }

    fn log_in(&self, call: &Call<'_>, fields: &Fields) -> Answer {
        match forms::login(fields) {
            Verdict::Again(errors) => self.again(call, errors),
            Verdict::Good => {
                let member = self.sessions.open(ADMIN_UID);
                let mut answer = go(call, StatusCode::SEE_OTHER, "/user/1");
                cookie::set(&mut answer, call.host, &member.session);
                answer
            }
        }
    }

    fn contact(&self, call: &Call<'_>, fields: &Fields) -> Answer {
        match forms::contact(fields) {
            Verdict::Again(errors) => self.again(call, errors),
            Verdict::Good if !self.messages.admits(call.visit.peer, Instant::now()) => {
                self.again(call, vec![FLOODED.to_owned()])
            }
            Verdict::Good => go(call, StatusCode::SEE_OTHER, ""),
        }
    }

    fn save(&self, call: &Call<'_>, node: &Node, member: &Member, fields: &Fields) -> Answer {
        let kind = node.kind();
        match forms::edit(fields, kind.machine_name(), &member.form_token) {
            Verdict::Again(errors) => self.form(call, node, member, errors),
            Verdict::Good => {
                let title = escape(&node.titles[call.lang as usize]);
                let notice = format!(
                    "{} <em class=\"placeholder\">{title}</em> has been updated.",
                    kind.name()
                );
                self.sessions.tell(member, notice);
                // The alias begins with the language, which `go` adds.
                let alias = &node.paths[call.lang as usize];
                go(
                    call,
                    StatusCode::SEE_OTHER,
                    alias.get(3..).unwrap_or_default(),
                )
            }
        }
    }

    fn asset(&self, call: &Call<'_>) -> Answer {
        let Some(mut answer) = self.assets.answer(call.visit.path, call.visit.headers) else {
            return self.own(call, Own::NotFound);
        };
        answer
            .headers_mut()
            .insert(X_CACHE, HeaderValue::from_static("HIT"));
        answer
    }

    /// The page at the path, if there is one.
    fn page(&self, call: &Call<'_>) -> Answer {
        match self.pages.at(call.visit.path) {
            Some(sheet) => self.show(call, sheet, Vec::new()),
            None => self.own(call, Own::NotFound),
        }
    }

    fn own(&self, call: &Call<'_>, own: Own) -> Answer {
        self.show(call, self.pages.own(call.lang, own), Vec::new())
    }

    /// The page of a form once more.
    fn again(&self, call: &Call<'_>, errors: Vec<String>) -> Answer {
        match self.pages.at(call.visit.path) {
            Some(sheet) => self.show(call, sheet, errors),
            None => self.own(call, Own::NotFound),
        }
    }

    fn show(&self, call: &Call<'_>, sheet: &Sheet, errors: Vec<String>) -> Answer {
        let messages = self.messages(call, errors);
        let (is_member, headers) = (call.member.is_some(), call.visit.headers);
        let answer = self.pages.show(sheet, is_member, &messages, headers);
        finished(answer, call, !is_member && messages.is_empty())
    }

    fn form(&self, call: &Call<'_>, node: &Node, member: &Member, errors: Vec<String>) -> Answer {
        let messages = self.messages(call, errors);
        let headers = call.visit.headers;
        let answer = self.pages.form(call.lang, node, member, &messages, headers);
        finished(answer, call, false)
    }

    /// What a page has to say above its content.
    fn messages(&self, call: &Call<'_>, errors: Vec<String>) -> Vec<Message> {
        let member = call.member.as_ref();
        let notice = member.and_then(|member| self.sessions.take_notice(member));
        let errors = errors.into_iter().map(Message::Error);
        notice
            .map(Message::Status)
            .into_iter()
            .chain(errors)
            .collect()
    }
}

/// Where a search leads, without the language.
fn results_path(fields: &Fields) -> String {
    let keys = utf8_percent_encode(fields.get("keys").trim(), NON_ALPHANUMERIC);
    format!("/search/node?keys={keys}")
}

/// The answer with the headers of every page, of those that a cache gave and of those that were made.
fn finished(mut answer: Answer, call: &Call<'_>, is_cached: bool) -> Answer {
    const GENERATOR: HeaderName = HeaderName::from_static("x-generator");
    const DRUPAL_CACHE: HeaderName = HeaderName::from_static("x-drupal-cache");
    let (cache, age) = match is_cached {
        true => ("HIT", "max-age=900, public"),
        false => ("MISS", "must-revalidate, no-cache, private"),
    };
    let headers = answer.headers_mut();
    headers.reserve(12);
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=UTF-8"),
        (CACHE_CONTROL, age),
        (EXPIRES, "Sun, 19 Nov 1978 05:00:00 GMT"),
        (CONTENT_LANGUAGE, Words::of(call.lang).code),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "SAMEORIGIN"),
        (GENERATOR, "Drupal 8 (https://www.drupal.org)"),
        (DRUPAL_CACHE, cache),
        (X_CACHE, cache),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Some(member) = &call.member {
        cookie::set(&mut answer, call.host, &member.session);
    }
    answer
}

/// A redirect to `path` in the language of the request, without which that is "/en".
fn go(call: &Call<'_>, status: StatusCode, path: &str) -> Answer {
    let mut answer = finished(Answer::default(), call, false);
    *answer.status_mut() = status;
    let code = Words::of(call.lang).code;
    let path = utf8_percent_encode(path, CONTROLS);
    if let Ok(location) = HeaderValue::try_from(format!("http://{}/{code}{path}", call.host)) {
        answer.headers_mut().insert(LOCATION, location);
    }
    answer
}
