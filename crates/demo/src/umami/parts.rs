//! The content of pages as HTML, without the layout around it. Driven by the pages; knows neither paths nor
//! requests.

use super::content::{Node, NodeType, Term};
use super::files::picture;
use super::layout::{filled, term_links};
use super::route::Lang;
use super::translation::Translation;
use crate::filler::{ENGLISH, FillerText, SPANISH};
use crate::sessions::{LoggedInUser, random_key};
use crate::template::{Template, escape};

/// The lengths of texts that make pages as large as on the observed site: 26 kB for a recipe, 33 kB for the front
/// page, 35 kB for the list of articles, 61 kB for the form of a node.
const NODE_BYTES: usize = 4_930;
const FRONT_TEASER_BYTES: usize = 520;
const LIST_TEASER_BYTES: usize = 705;
const EDITED_BYTES: usize = 37_000;
/// The recipes and articles on the front page.
const ON_FRONT: [u32; 7] = [1, 11, 5, 15, 7, 13, 10];

/// The templates, texts, nodes and terms that contents are made of.
pub(super) struct PageParts {
    pub(super) nodes: Vec<Node>,
    pub(super) terms: Vec<Term>,
    /// The filler texts in English and Spanish.
    pub(super) texts: [FillerText; 2],
    card: Template<6>,
    hero: Template<4>,
    node: Template<4>,
    search: Template<6>,
    edit: Template<7>,
}

impl PageParts {
    pub(super) fn new(nodes: Vec<Node>, terms: Vec<Term>) -> Self {
        PageParts {
            nodes,
            terms,
            texts: [FillerText::new(&ENGLISH), FillerText::new(&SPANISH)],
            card: Template::new(
                include_str!("card.html"),
                ["type", "title", "picture", "text", "path", "more"],
            ),
            hero: Template::new(include_str!("hero.html"), ["title", "text", "path", "more"]),
            node: Template::new(
                include_str!("node.html"),
                ["type", "picture", "terms", "text"],
            ),
            search: Template::new(
                include_str!("search.html"),
                ["lang", "label", "search", "keys", "build_id", "results"],
            ),
            edit: Template::new(
                include_str!("edit.html"),
                [
                    "type", "path", "title", "text", "terms", "build_id", "token",
                ],
            ),
        }
    }

    pub(super) fn find(&self, nid: u32) -> Option<&Node> {
        self.nodes.iter().find(|node| node.nid == nid)
    }

    pub(super) fn front(&self, lang: Lang) -> String {
        let nodes = ON_FRONT.iter().filter_map(|nid| self.find(*nid));
        self.banner(lang, NodeType::Recipe) + &self.cards(lang, nodes, FRONT_TEASER_BYTES)
    }

    /// The list of all articles or recipes.
    pub(super) fn list(&self, lang: Lang, kind: NodeType) -> String {
        let nodes = self.nodes.iter().filter(|node| node.kind() == kind);
        self.banner(lang, kind) + &self.cards(lang, nodes, LIST_TEASER_BYTES)
    }

    /// The list of the nodes that have a term.
    pub(super) fn tagged(&self, lang: Lang, term: &Term) -> String {
        let nodes = self
            .nodes
            .iter()
            .filter(|node| term.nids.contains(&node.nid));
        self.cards(lang, nodes, LIST_TEASER_BYTES)
    }

    pub(super) fn article(&self, lang: Lang, node: &Node) -> String {
        let terms = self
            .terms
            .iter()
            .filter(|term| term.nids.contains(&node.nid));
        let picture = match node.kind() {
            NodeType::Page => String::new(),
            _ => picture(node, &node.titles[lang as usize]),
        };
        let values = [
            node.kind().machine_name(),
            &picture,
            &term_links(lang, terms),
            self.texts[lang as usize].article(node.nid, NODE_BYTES),
        ];
        filled(&self.node, values)
    }

    /// The form of a search for `keys`, which are HTML.
    pub(super) fn search_form(&self, lang: Lang, keys: &str, results: &str) -> String {
        let words = Translation::of(lang);
        let values = [
            words.code,
            words.search_label,
            words.search,
            keys,
            &build_id(),
            results,
        ];
        filled(&self.search, values)
    }

    /// The results of a search: the nodes whose title and terms have all of the keys.
    pub(super) fn results(&self, lang: Lang, keys: &str) -> String {
        let words = Translation::of(lang);
        let search_words: Vec<String> = keys.split_whitespace().map(str::to_lowercase).collect();
        let found = self.nodes.iter().filter(|node| {
            let text = self.searched(lang, node);
            search_words.iter().all(|word| text.contains(word.as_str()))
        });
        let items = found.map(|node| {
            let (path, title) = (&node.paths[lang as usize], &node.titles[lang as usize]);
            let title = escape(title);
            format!(
                "<li><h3 class=\"search-result__title\"><a href=\"{path}\">{title}</a></h3></li>\n"
            )
        });
        match items.collect::<String>().as_str() {
            "" => format!("<h2>{}</h2>\n<h3>{}</h3>", words.results, words.no_results),
            items => format!("<h2>{}</h2>\n<ol>\n{items}</ol>", words.results),
        }
    }

    /// The form of a node, for an editor.
    pub(super) fn edit_form(&self, lang: Lang, node: &Node, member: &LoggedInUser) -> String {
        let options = self.terms.iter().map(|term| {
            let selected = if term.nids.contains(&node.nid) {
                " selected=\"selected\""
            } else {
                ""
            };
            let name = escape(&term.titles[lang as usize]);
            format!("<option value=\"{name}\"{selected}>{name}</option>\n")
        });
        let values = [
            node.kind().machine_name(),
            &format!("/{}/node/{}/edit", Translation::of(lang).code, node.nid),
            &escape(&node.titles[lang as usize]),
            self.texts[lang as usize].article(node.nid, EDITED_BYTES),
            &options.collect::<String>(),
            &build_id(),
            &member.form_token,
        ];
        filled(&self.edit, values)
    }

    fn banner(&self, lang: Lang, kind: NodeType) -> String {
        let Some(node) = self.nodes.iter().rfind(|node| node.kind() == kind) else {
            return String::new();
        };
        let values = [
            &*escape(&node.titles[lang as usize]),
            self.texts[lang as usize].article(100 + node.nid, FRONT_TEASER_BYTES),
            &node.paths[lang as usize],
            Translation::of(lang).more,
        ];
        filled(&self.hero, values)
    }

    fn cards<'a>(
        &self,
        lang: Lang,
        nodes: impl Iterator<Item = &'a Node>,
        teaser_bytes: usize,
    ) -> String {
        let card = |node: &Node| {
            let title = &node.titles[lang as usize];
            let values = [
                node.kind().machine_name(),
                &*escape(title),
                &picture(node, title),
                self.texts[lang as usize].article(node.nid, teaser_bytes),
                &node.paths[lang as usize],
                Translation::of(lang).more,
            ];
            filled(&self.card, values)
        };
        nodes.map(card).collect()
    }

    /// The text that a search looks through, in lower case.
    fn searched(&self, lang: Lang, node: &Node) -> String {
        let terms = self
            .terms
            .iter()
            .filter(|term| term.nids.contains(&node.nid));
        let mut text = node.titles[lang as usize].to_lowercase();
        for term in terms {
            text.push(' ');
            text.push_str(&term.titles[lang as usize].to_lowercase());
        }
        text
    }
}

/// The login form.
pub(super) fn login(words: &Translation) -> String {
    let names = ["lang", "username", "password", "log_in", "build_id"];
    let values = [
        words.code,
        words.username,
        words.password,
        words.log_in,
        &build_id(),
    ];
    filled(&Template::new(include_str!("login.html"), names), values)
}

/// The form for a message to the site.
pub(super) fn contact(words: &Translation) -> String {
    let names = [
        "lang", "name", "mail", "subject", "message", "send", "preview", "build_id",
    ];
    let values = [
        words.code,
        words.name,
        words.mail,
        words.subject,
        words.message,
        words.send,
        words.preview,
        &build_id(),
    ];
    filled(&Template::new(include_str!("contact.html"), names), values)
}

/// A form_build_id, new for each form that is made: forms of pages that everybody gets keep theirs, as in Drupal's
/// page cache.
fn build_id() -> String {
    format!("form-{}", random_key())
}
