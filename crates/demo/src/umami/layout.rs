//! The layout around the content of every page. Driven by the pages; knows nothing of their content.

use super::content::Term;
use super::route::Lang;
use super::translation::Translation;
use crate::filler::FillerText;
use crate::template::{Template, escape};

/// The length of the footer's text that makes pages as large as on the observed site: the login has 21 kB.
const FOOTER_BYTES: usize = 9_300;

/// The language, title and paths of a page, as HTML.
pub(super) struct PageHead<'a> {
    pub(super) lang: Lang,
    pub(super) title: &'a str,
    /// The path of the page in each language.
    pub(super) paths: &'a [String; 2],
}

/// A message above the content, as HTML.
pub(super) enum StatusMessage {
    Status(String),
    Error(String),
}

/// The layout of all pages. Pairs are English and Spanish.
pub(super) struct PageLayout {
    page: Template<10>,
    headers: [String; 2],
    footers: [String; 2],
    toolbars: [String; 2],
}

impl PageLayout {
    pub(super) fn new(terms: &[Term], texts: &[FillerText; 2]) -> Self {
        let languages = [Lang::En, Lang::Es];
        PageLayout {
            page: Template::new(
                include_str!("layout.html"),
                [
                    "lang", "title", "path", "en_path", "es_path", "toolbar", "header", "messages",
                    "content", "footer",
                ],
            ),
            headers: languages.map(header),
            footers: languages.map(|lang| footer(lang, terms, &texts[lang as usize])),
            toolbars: languages.map(toolbar),
        }
    }

    /// Renders a page, with the toolbar that only members see or without.
    pub(super) fn render(
        &self,
        head: &PageHead<'_>,
        content: &str,
        is_member: bool,
        messages: &[StatusMessage],
    ) -> String {
        let lang = head.lang as usize;
        let (header, footer) = (&self.headers[lang], &self.footers[lang]);
        let around = header.len() + footer.len() + (8 << 10);
        let mut html = String::with_capacity(around + content.len());
        let toolbar = if is_member { &self.toolbars[lang] } else { "" };
        let [en_path, es_path] = head.paths;
        let values = [
            Translation::of(head.lang).code,
            head.title,
            &head.paths[lang],
            en_path,
            es_path,
            toolbar,
            header,
            &shown(messages),
            content,
            footer,
        ];
        self.page.render(&mut html, values);
        html
    }
}

fn header(lang: Lang) -> String {
    let words = Translation::of(lang);
    let names = ["lang", "search", "log_in", "home", "articles", "recipes"];
    let values = [
        words.code,
        words.search,
        words.log_in,
        words.home,
        words.articles,
        words.recipes,
    ];
    filled(&Template::new(include_str!("header.html"), names), values)
}

fn footer(lang: Lang, terms: &[Term], text: &FillerText) -> String {
    let words = Translation::of(lang);
    let names = [
        "lang",
        "collections",
        "terms",
        "text",
        "about_path",
        "about",
        "contact",
    ];
    let values = [
        words.code,
        words.collections,
        &term_links(lang, terms.iter()),
        text.article(0, FOOTER_BYTES),
        words.about_path,
        words.about,
        words.contact_link,
    ];
    filled(&Template::new(include_str!("footer.html"), names), values)
}

fn toolbar(lang: Lang) -> String {
    let template = Template::new(include_str!("toolbar.html"), ["lang"]);
    filled(&template, [Translation::of(lang).code])
}

/// The links to terms, as items of a list.
pub(super) fn term_links<'a>(lang: Lang, terms: impl Iterator<Item = &'a Term>) -> String {
    let link = |term: &Term| {
        let (path, title) = (&term.paths[lang as usize], &term.titles[lang as usize]);
        let title = escape(title);
        format!(
            "<li class=\"field__item\"><a href=\"{path}\" hreflang=\"{}\">{title}</a></li>\n",
            Translation::of(lang).code
        )
    };
    terms.map(link).collect()
}

/// Renders a template on its own.
pub(super) fn filled<const SLOTS: usize>(
    template: &Template<SLOTS>,
    values: [&str; SLOTS],
) -> String {
    let mut html = String::new();
    template.render(&mut html, values);
    html
}

fn shown(messages: &[StatusMessage]) -> String {
    let shown = |message: &StatusMessage| {
        let (kind, label, text) = match message {
            StatusMessage::Status(text) => ("status", "Status message", text),
            StatusMessage::Error(text) => ("error", "Error message", text),
        };
        format!(
            "<div role=\"contentinfo\" aria-label=\"{label}\" class=\"messages messages--{kind}\">\
             <h2 class=\"visually-hidden\">{label}</h2>{text}</div>\n"
        )
    };
    messages.iter().map(shown).collect()
}
