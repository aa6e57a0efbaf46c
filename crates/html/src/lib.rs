//! The contents of a page: its title, the assets a browser would load with it, its links, its forms, and CSS
//! queries.
//!
//! Pure functions over the bytes of a response, driven by the Lua `response` object and by `import`. A body may be
//! anything (cut short, not UTF-8, not HTML): nothing here panics or fails, it just finds less. Knows nothing about
//! requests, users or Lua.
//!
//! There are two readers, since their speed differs by a factor of twenty:
//! - `scan` walks the tags once and never builds a tree: [`title()`], [`reason()`], [`assets()`],
//!   [`links`].
//! - [`Document`] is the tree an HTML5 parser builds: [`Selector`], `form`, [`find_form`].
//!
//! Used by `http`, `import` and `lua`.
//!
//! ```
//! let page = b"<!doctype html><title>Fish &amp; chips</title><img src=/fish.png>";
//! assert_eq!(lgoose_html::title(page).as_deref(), Some("Fish & chips"));
//! ```

mod address;
mod assets;
mod charset;
mod controls;
mod depth;
mod direction;
mod document;
mod entities;
mod forms;
mod imports;
mod join;
mod matching;
mod names;
mod owners;
mod reason;
mod referrer_policy;
mod scan;
mod select;
mod sink;
mod title;
mod value;
mod weight;
mod xml;

#[cfg(test)]
mod fixture;

pub use address::PageAddress;
pub use assets::{PageUrls, assets, assets_within, links, links_within};
pub use charset::declared_charset;
pub use document::{Document, NodeKey, Selector};
pub use entities::decode_entities;
pub use forms::{
    Button, ControlPosition, Enctype, Form, find_form, find_form_within, form_selectors,
};
pub use matching::STEPS;
pub use reason::reason;
pub use referrer_policy::ReferrerPolicy;
pub use title::title;
pub use value::ValueRule;
pub use xml::{XmlFault, xml_reason};

/// Replaces each run of ASCII white space by one space and trims the ends. A no-break space stays.
fn collapse<'a>(pieces: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut gap = false;
    for piece in pieces {
        for (nth, word) in piece.split(|c: char| c.is_ascii_whitespace()).enumerate() {
            gap |= nth > 0;
            if word.is_empty() {
                continue;
            }
            if gap && !text.is_empty() {
                text.push(' ');
            }
            gap = false;
            text.push_str(word);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::collapse;

    #[test]
    fn white_space_collapses_across_pieces_and_words_do_not_split() {
        assert_eq!(collapse([" a\n\t b ", " c", "d "].into_iter()), "a b cd");
        assert_eq!(collapse(["\n", " "].into_iter()), "");
        assert_eq!(collapse(["a\u{a0}b"].into_iter()), "a\u{a0}b");
    }
}
