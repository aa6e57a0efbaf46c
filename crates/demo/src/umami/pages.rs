//! The pages of the site, made once when it starts: visitors and members get the same bytes every time. Only
//! messages, results of a search and the form of a node are made for each request. Driven by the site, which
//! decides who sees what.

use std::collections::HashMap;

use bytes::Bytes;
use http::StatusCode;
use http::header::HeaderMap;
use percent_encoding::percent_decode_str;

use super::content::{self, Node, NodeType};
use super::forms::ADMIN;
use super::layout::{PageHead, PageLayout, StatusMessage};
use super::parts::{PageParts, contact, login};
use super::route::Lang;
use super::translation::Translation;
use crate::prepared::{self, PreparedBody};
use crate::server::SiteResponse;
use crate::sessions::LoggedInUser;
use crate::template::escape;

/// A page that is ready to be sent, with its path in the two languages.
pub(super) struct PreparedPage {
    lang: Lang,
    /// The title, as HTML.
    title: String,
    content: String,
    paths: [String; 2],
    status: StatusCode,
    anonymous: PreparedBody,
    member: PreparedBody,
}

/// The pages that no path leads to.
#[derive(Clone, Copy)]
pub(super) enum SystemPage {
    Denied,
    NotFound,
    Profile,
}

const SYSTEM_PAGES: [SystemPage; 3] = [
    SystemPage::Denied,
    SystemPage::NotFound,
    SystemPage::Profile,
];

/// The pages of the site.
pub(super) struct PageStore {
    layout: PageLayout,
    parts: PageParts,
    pages: Vec<PreparedPage>,
    /// The indexes of pages by path, which is decoded and without a slash at the end.
    by_path: HashMap<String, usize>,
    /// The indexes of those that no path leads to, of one language after the other.
    system_pages: Vec<usize>,
}

impl PageStore {
    pub(super) fn new() -> Self {
        let parts = PageParts::new(content::nodes(), content::terms());
        let mut pages = PageStore {
            layout: PageLayout::new(&parts.terms, &parts.texts),
            parts,
            pages: Vec::new(),
            by_path: HashMap::new(),
            system_pages: Vec::new(),
        };
        for lang in [Lang::En, Lang::Es] {
            pages.add_fixed(lang);
            pages.add_system_pages(lang);
            pages.add_nodes(lang);
            pages.add_terms(lang);
        }
        pages
    }

    /// The page at a path as it came in a request.
    pub(super) fn at(&self, path: &str) -> Option<&PreparedPage> {
        let path = path.strip_suffix('/').unwrap_or(path);
        let found = match self.by_path.get(path) {
            None if path.contains('%') => {
                let decoded = percent_decode_str(path).decode_utf8().ok()?;
                self.by_path.get(decoded.as_ref())
            }
            found => found,
        };
        found.map(|page| &self.pages[*page])
    }

    pub(super) fn system_page(&self, lang: Lang, system_page: SystemPage) -> &PreparedPage {
        &self.pages[self.system_pages[lang as usize * SYSTEM_PAGES.len() + system_page as usize]]
    }

    pub(super) fn node(&self, nid: u32) -> Option<&Node> {
        self.parts.find(nid)
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.parts.nodes
    }

    /// Responds with a page as everybody gets it, or with messages for this client alone.
    pub(super) fn show(
        &self,
        page: &PreparedPage,
        is_member: bool,
        messages: &[StatusMessage],
        headers: &HeaderMap,
    ) -> SiteResponse {
        let mut response = match (messages, is_member) {
            ([], false) => page.anonymous.respond(headers),
            ([], true) => page.member.respond(headers),
            _ => {
                let head = PageHead {
                    lang: page.lang,
                    title: &page.title,
                    paths: &page.paths,
                };
                let html = self
                    .layout
                    .render(&head, &page.content, is_member, messages);
                prepared::uncached(html, headers)
            }
        };
        if response.status() == StatusCode::OK {
            *response.status_mut() = page.status;
        }
        response
    }

    /// Responds with the results of a search for `keys`.
    pub(super) fn results(
        &self,
        lang: Lang,
        keys: &str,
        is_member: bool,
        headers: &HeaderMap,
    ) -> SiteResponse {
        let results = self.parts.results(lang, keys);
        let keys = escape(keys);
        let content = self.parts.search_form(lang, &keys, &results);
        let head = PageHead {
            lang,
            title: &format!("{} {keys}", Translation::of(lang).search_for),
            paths: &paths("/search/node"),
        };
        let html = self.layout.render(&head, &content, is_member, &[]);
        prepared::uncached(html, headers)
    }

    /// Responds with the form of a node, for an editor.
    pub(super) fn form(
        &self,
        lang: Lang,
        node: &Node,
        member: &LoggedInUser,
        messages: &[StatusMessage],
        headers: &HeaderMap,
    ) -> SiteResponse {
        let content = self.parts.edit_form(lang, node, member);
        let title = escape(&node.titles[lang as usize]);
        let head = PageHead {
            lang,
            title: &format!("Edit {} {title}", node.kind().name()),
            paths: &paths(&format!("/node/{}/edit", node.nid)),
        };
        let html = self.layout.render(&head, &content, true, messages);
        prepared::uncached(html, headers)
    }

    fn add_fixed(&mut self, lang: Lang) {
        let (words, parts) = (Translation::of(lang), &self.parts);
        let fixed = [
            ("", words.home, parts.front(lang)),
            (
                "/articles",
                words.articles,
                parts.list(lang, NodeType::Article),
            ),
            (
                "/recipes",
                words.recipes,
                parts.list(lang, NodeType::Recipe),
            ),
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

    fn add_system_pages(&mut self, lang: Lang) {
        let words = Translation::of(lang);
        for system_page in SYSTEM_PAGES {
            let (title, text, status) = match system_page {
                SystemPage::Denied => (words.denied, words.denied_text, StatusCode::FORBIDDEN),
                SystemPage::NotFound => {
                    (words.not_found, words.not_found_text, StatusCode::NOT_FOUND)
                }
                SystemPage::Profile => (ADMIN, "", StatusCode::OK),
            };
            let page = self.add(lang, title, text.to_owned(), paths(""), status);
            self.system_pages.push(page);
        }
    }

    fn add_nodes(&mut self, lang: Lang) {
        for index in 0..self.parts.nodes.len() {
            let node = &self.parts.nodes[index];
            let title = escape(&node.titles[lang as usize]).into_owned();
            let (number, aliases) = (paths(&format!("/node/{}", node.nid)), node.paths.clone());
            let content = self.parts.article(lang, node);
            let page = self.add_at(lang, &title, content, aliases);
            self.add_path(lang, &number[lang as usize], page);
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
        let page = self.add(lang, title, content, paths, StatusCode::OK);
        self.add_path(lang, &path, page);
        page
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
        let page = self.pages.len();
        let head = PageHead {
            lang,
            title,
            paths: &paths,
        };
        let prepared = |is_member: bool| {
            let html = self.layout.render(&head, &content, is_member, &[]);
            let tag = format!("{page:x}-{}", u8::from(is_member));
            PreparedBody::compressed(Bytes::from(html), &tag)
        };
        let (anonymous, member) = (prepared(false), prepared(true));
        self.pages.push(PreparedPage {
            lang,
            title: title.to_owned(),
            content,
            paths,
            status,
            anonymous,
            member,
        });
        page
    }

    /// Makes a path lead to a page; an English one also without its language.
    fn add_path(&mut self, lang: Lang, path: &str, page: usize) {
        if let (Lang::En, Some(path)) = (lang, path.strip_prefix("/en")) {
            self.by_path.insert(path.to_owned(), page);
        }
        self.by_path.insert(path.to_owned(), page);
    }
}

/// A path in both languages.
fn paths(path: &str) -> [String; 2] {
    [Lang::En, Lang::Es].map(|lang| format!("/{}{path}", Translation::of(lang).code))
}
