//! The pages of the site, made once when it starts: visitors and members get the same bytes every time. Only
//! what depends on who asks is made for each request: messages, results of a search, the form of a node.
//! Driven by the site, which decides what is shown to whom.

use std::collections::HashMap;

use bytes::Bytes;
use http::StatusCode;
use http::header::HeaderMap;
use percent_encoding::percent_decode_str;

use super::content::{self, Node, Type};
use super::forms::ADMIN;
use super::layout::{Head, Layout, Message};
use super::parts::{Parts, contact, login};
use super::place::Lang;
use super::words::Words;
use crate::demo::coded::{self, Coded};
use crate::demo::server::Answer;
use crate::demo::sessions::Member;
use crate::demo::template::escape;

/// A page, and where it is in the two languages.
pub(super) struct Sheet {
    lang: Lang,
    /// HTML.
    title: String,
    content: String,
    paths: [String; 2],
    status: StatusCode,
    anonymous: Coded,
    member: Coded,
}

/// A page that no path leads to.
#[derive(Clone, Copy)]
pub(super) enum Own {
    Denied,
    NotFound,
    Profile,
}

const OWN: [Own; 3] = [Own::Denied, Own::NotFound, Own::Profile];

/// All pages.
pub(super) struct Pages {
    layout: Layout,
    parts: Parts,
    sheets: Vec<Sheet>,
    /// Without a slash at the end, decoded.
    by_path: HashMap<String, usize>,
    /// Those that no path leads to, of one language after the other.
    own: Vec<usize>,
}

impl Pages {
    pub(super) fn new() -> Self {
        let parts = Parts::new(content::nodes(), content::terms());
        let mut pages = Pages {
            layout: Layout::new(&parts.terms, &parts.texts),
            parts,
            sheets: Vec::new(),
            by_path: HashMap::new(),
            own: Vec::new(),
        };
        for lang in [Lang::En, Lang::Es] {
            pages.add_fixed(lang);
            pages.add_own(lang);
            pages.add_nodes(lang);
            pages.add_terms(lang);
        }
        pages
    }

    /// The page at a path as it came in a request.
    pub(super) fn at(&self, path: &str) -> Option<&Sheet> {
        let path = path.strip_suffix('/').unwrap_or(path);
        let found = match self.by_path.get(path) {
            None if path.contains('%') => {
                let decoded = percent_decode_str(path).decode_utf8().ok()?;
                self.by_path.get(decoded.as_ref())
            }
            found => found,
        };
        found.map(|sheet| &self.sheets[*sheet])
    }

    pub(super) fn own(&self, lang: Lang, own: Own) -> &Sheet {
        &self.sheets[self.own[lang as usize * OWN.len() + own as usize]]
    }

    pub(super) fn node(&self, nid: u32) -> Option<&Node> {
        self.parts.find(nid)
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.parts.nodes
    }

    /// A page as everybody gets it, or with messages for this client alone.
    pub(super) fn show(
        &self,
        sheet: &Sheet,
        is_member: bool,
        messages: &[Message],
        headers: &HeaderMap,
    ) -> Answer {
        let mut answer = match (messages, is_member) {
            ([], false) => sheet.anonymous.answer(headers),
            ([], true) => sheet.member.answer(headers),
            _ => {
                let head = Head {
                    lang: sheet.lang,
                    title: &sheet.title,
                    paths: &sheet.paths,
                };
                let html = self
                    .layout
                    .render(&head, &sheet.content, is_member, messages);
                coded::once(html, headers)
            }
        };
        if answer.status() == StatusCode::OK {
            *answer.status_mut() = sheet.status;
        }
        answer
    }

    /// What was found for these keys.
    pub(super) fn results(
        &self,
        lang: Lang,
        keys: &str,
        is_member: bool,
        headers: &HeaderMap,
    ) -> Answer {
        let results = self.parts.results(lang, keys);
        let keys = escape(keys);
        let content = self.parts.search_form(lang, &keys, &results);
        let head = Head {
            lang,
            title: &format!("{} {keys}", Words::of(lang).search_for),
            paths: &paths("/search/node"),
        };
        let html = self.layout.render(&head, &content, is_member, &[]);
        coded::once(html, headers)
    }

    /// The form of a node, for an editor.
    pub(super) fn form(
        &self,
        lang: Lang,
        node: &Node,
        member: &Member,
        messages: &[Message],
        headers: &HeaderMap,
    ) -> Answer {
        let content = self.parts.edit_form(lang, node, member);
        let title = escape(&node.titles[lang as usize]);
        let head = Head {
            lang,
            title: &format!("Edit {} {title}", node.kind().name()),
            paths: &paths(&format!("/node/{}/edit", node.nid)),
        };
        let html = self.layout.render(&head, &content, true, messages);
        coded::once(html, headers)
    }

    fn add_fixed(&mut self, lang: Lang) {
        let (words, parts) = (Words::of(lang), &self.parts);
        let fixed = [
            ("", words.home, parts.front(lang)),
            ("/articles", words.articles, parts.list(lang, Type::Article)),
            ("/recipes", words.recipes, parts.list(lang, Type::Recipe)),
            (
                "/search/node",
                words.search,
                parts.search_form(lang, "", ""),
            ),
            ("/contact", words.contact, contact(words)),
            ("/user/login", words.log_in, login(words)),
        ];
        for (path, title, content) in fixed {
            self.add_at(lang, title, content, paths(path));
        }
    }

    fn add_own(&mut self, lang: Lang) {
        let words = Words::of(lang);
        for own in OWN {
            let (title, text, status) = match own {
                Own::Denied => (words.denied, words.denied_text, StatusCode::FORBIDDEN),
                Own::NotFound => (words.not_found, words.not_found_text, StatusCode::NOT_FOUND),
                Own::Profile => (ADMIN, "", StatusCode::OK),
            };
            let sheet = self.add(lang, title, text.to_owned(), paths(""), status);
            self.own.push(sheet);
        }
    }

    fn add_nodes(&mut self, lang: Lang) {
        for index in 0..self.parts.nodes.len() {
            let node = &self.parts.nodes[index];
            let title = escape(&node.titles[lang as usize]).into_owned();
            let (number, aliases) = (paths(&format!("/node/{}", node.nid)), node.paths.clone());
            let content = self.parts.article(lang, node);
            let sheet = self.add_at(lang, &title, content, aliases);
            self.reach(lang, &number[lang as usize], sheet);
        }
    }

    fn add_terms(&mut self, lang: Lang) {
        for index in 0..self.parts.terms.len() {
            let term = &self.parts.terms[index];
            let title = escape(&term.titles[lang as usize]).into_owned();
            let (content, paths) = (self.parts.tagged(lang, term), term.paths.clone());
            self.add_at(lang, &title, content, paths);
        }
    }

    /// Makes a page that its path leads to.
    fn add_at(&mut self, lang: Lang, title: &str, content: String, paths: [String; 2]) -> usize {
        let path = paths[lang as usize].clone();
        let sheet = self.add(lang, title, content, paths, StatusCode::OK);
        self.reach(lang, &path, sheet);
        sheet
    }

    /// Makes a page.
    fn add(
        &mut self,
        lang: Lang,
        title: &str,
        content: String,
        paths: [String; 2],
        status: StatusCode,
    ) -> usize {
        let sheet = self.sheets.len();
        let head = Head {
            lang,
            title,
            paths: &paths,
        };
        let coded = |is_member: bool| {
            let html = self.layout.render(&head, &content, is_member, &[]);
            let tag = format!("{sheet:x}-{}", u8::from(is_member));
            Coded::compressed(Bytes::from(html), &tag)
        };
        let (anonymous, member) = (coded(false), coded(true));
        self.sheets.push(Sheet {
            lang,
            title: title.to_owned(),
            content,
            paths,
            status,
            anonymous,
            member,
        });
        sheet
    }

    /// Lets a path lead to a page; an English one also without its language.
    fn reach(&mut self, lang: Lang, path: &str, sheet: usize) {
        if let (Lang::En, Some(path)) = (lang, path.strip_prefix("/en")) {
            self.by_path.insert(path.to_owned(), sheet);
        }
        self.by_path.insert(path.to_owned(), sheet);
    }
}

/// A path in both languages.
fn paths(path: &str) -> [String; 2] {
    [Lang::En, Lang::Es].map(|lang| format!("/{}{path}", Words::of(lang).code))
}
