//! What stands around the content of every page. Driven by the pages; knows nothing of what they show.

use super::content::Term;
use super::place::Lang;
use super::words::Words;
use crate::demo::template::{Template, escape};
use crate::demo::text::Text;

/// Text in the footer that makes pages as large as on the observed site: the login has 21 kB.
const FOOTER_BYTES: usize = 9_300;

/// What a page says of itself, as HTML.
pub(super) struct Head<'a> {
    pub(super) lang: Lang,
    pub(super) title: &'a str,
    /// Where it is in each language.
    pub(super) paths: &'a [String; 2],
}

/// A message above the content, as HTML.
pub(super) enum Message {
    Status(String),
    Error(String),
}

/// Everything around the content. Pairs are English and Spanish.
pub(super) struct Layout {
    page: Template<10>,
    headers: [String; 2],
    footers: [String; 2],
    toolbars: [String; 2],
}

impl Layout {
    pub(super) fn new(terms: &[Term], texts: &[Text; 2]) -> Self {
        let languages = [Lang::En, Lang::Es];
        Layout {
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

    /// The whole page, with the toolbar that only members see or without.
    pub(super) fn render(
        &self,
        head: &Head<'_>,
        content: &str,
        is_member: bool,
        messages: &[Message],
    ) -> String {
        let lang = head.lang as usize;
        let (header, footer) = (&self.headers[lang], &self.footers[lang]);
        let around = header.len() + footer.len() + (8 << 10);
        let mut html = String::with_capacity(around + content.len());
        let toolbar = if is_member { &self.toolbars[lang] } else { "" };
        let [en_path, es_path] = head.paths;
        let values = [
            Words::of(head.lang).code,
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
    let words = Words::of(lang);
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

fn footer(lang: Lang, terms: &[Term], text: &Text) -> String {
    let words = Words::of(lang);
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
    filled(&template, [Words::of(lang).code])
}

/// A link to each term, as items of a list.
pub(super) fn term_links<'a>(lang: Lang, terms: impl Iterator<Item = &'a Term>) -> String {
    let link = |term: &Term| {
        let (path, title) = (&term.paths[lang as usize], &term.titles[lang as usize]);
        let title = escape(title);
        format!(
            "<li class=\"field__item\"><a href=\"{path}\" hreflang=\"{}\">{title}</a></li>\n",
            Words::of(lang).code
        )
    };
    terms.map(link).collect()
}

/// A template with values in its slots.
pub(super) fn filled<const SLOTS: usize>(
    template: &Template<SLOTS>,
    values: [&str; SLOTS],
) -> String {
    let mut html = String::new();
    template.render(&mut html, values);
    html
}

fn shown(messages: &[Message]) -> String {
    let shown = |message: &Message| {
        let (kind, label, text) = match message {
            Message::Status(text) => ("status", "Status message", text),
            Message::Error(text) => ("error", "Error message", text),
        };
        format!(
            "<div role=\"contentinfo\" aria-label=\"{label}\" class=\"messages messages--{kind}\">\
             <h2 class=\"visually-hidden\">{label}</h2>{text}</div>\n"
        )
    };
    messages.iter().map(shown).collect()
}
