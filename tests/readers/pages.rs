//! Readers of pages and of XML, which sites send.

use super::{Reader, assert_bounded, text};
use lgoose_html::{Document, Selector, assets, find_form, form_selectors, links, reason, title};
use url::Url;

fn page() -> Url {
    Url::parse("http://site/dir/page").expect("a URL")
}

/// Looks for the form of each element that matches.
fn form_of(page_bytes: &[u8], css: &str) {
    let document = Document::parse(page_bytes);
    let selector = Selector::parse(css).expect("a selector");
    let among = document.select(&selector, None);
    find_form(&document, Some(&among), &page());
    find_form(&document, None, &page());
    document.referrer_policy();
    form_selectors(&document);
}

fn query(page_bytes: &[u8], css: &str) {
    let document = Document::parse(page_bytes);
    let selector = Selector::parse(css).expect("a selector");
    for key in document.select(&selector, None) {
        document.text(key);
        document.attrs(key).count();
    }
}

fn xml(bytes: &[u8]) {
    let text = str::from_utf8(bytes).expect("it is a text");
    // A document beyond the bound is refused.
    let _read = Document::parse_xml_while(text, 64 << 20, &mut |_| true);
}

const READERS: &[Reader] = &[
    Reader {
        name: "form: inputs of other forms",
        bound: "linear",
        size: 5_000,
        input: |n| {
            text(
                "<form id=f>",
                n,
                |i| format!("<input form=x{i} name=n{i}>"),
                "",
            )
        },
        read: |page| form_of(page, "input"),
    },
    Reader {
        name: "form: inputs of no form, deep in the page",
        bound: "linear",
        size: 5_000,
        input: |n| text(&"<div>".repeat(900), n, |_| "<input name=a>".to_owned(), ""),
        read: |page| form_of(page, "input"),
    },
    Reader {
        name: "form: names of one group",
        bound: "linear",
        size: 5_000,
        input: |n| {
            text(
                "<form>",
                n,
                |_| "<input type=radio name=r checked required>".to_owned(),
                "",
            )
        },
        read: |page| form_of(page, "form"),
    },
    Reader {
        name: "form: directions of controls in one text",
        bound: "linear",
        size: 2_000,
        input: |n| {
            text(
                "<form><p dir=auto>",
                n,
                |i| format!("<input name=n dirname=d>{i}"),
                "",
            )
        },
        read: |page| form_of(page, "form"),
    },
    Reader {
        name: "form: disabled fieldsets",
        bound: "linear",
        size: 2_000,
        input: |n| {
            text(
                "<form>",
                n,
                |_| "<fieldset disabled><p><input name=a></fieldset>".to_owned(),
                "",
            )
        },
        read: |page| form_of(page, "form"),
    },
    Reader {
        name: "form: options of a list",
        bound: "linear",
        size: 5_000,
        input: |n| {
            text(
                "<form><select multiple name=s>",
                n,
                |i| format!("<option selected>{i}"),
                "",
            )
        },
        read: |page| form_of(page, "form"),
    },
    Reader {
        name: "form: forms without controls",
        bound: "linear",
        size: 5_000,
        input: |n| text("", n, |i| format!("<form id=f{i}></form>"), ""),
        read: |page| form_of(page, "p"),
    },
    Reader {
        name: "form: forms in tables",
        bound: "linear",
        size: 2_000,
        input: |n| {
            text(
                "<table>",
                n,
                |_| "<form><tr><td><input name=a></td></tr></form>".to_owned(),
                "",
            )
        },
        read: |page| form_of(page, "input"),
    },
    Reader {
        name: "referrer policies of a page",
        bound: "linear",
        size: 2_000,
        input: |n| {
            text(
                &"<div>".repeat(900),
                n,
                |_| "<meta name=referrer content=origin>".to_owned(),
                "",
            )
        },
        read: |page| form_of(page, "p"),
    },
    Reader {
        name: "a tree: elements within each other",
        bound: "1,024",
        size: 1_024,
        input: |n| text("", n, |_| "<b><i>".to_owned(), "x"),
        read: |page| query(page, "b"),
    },
    Reader {
        name: "a tree: formats left open",
        bound: "1,024",
        size: 1_024,
        input: |n| text("", n, |i| format!("<p><font a={i}>"), ""),
        read: |page| {
            // One that would take more memory is refused.
            let _read = Document::parse_within(page, 16 << 20);
        },
    },
    Reader {
        name: "a tree: attributes of a tag",
        bound: "2,000",
        size: 2_000,
        input: |n| text("<p ", n, |i| format!("a{i} "), ">"),
        read: |page| query(page, "p"),
    },
    Reader {
        name: "a tree: classes of an element",
        bound: "linear",
        size: 20_000,
        input: |n| text("<p class='", n, |i| format!("c{i} "), "'>"),
        read: |page| query(page, ".x"),
    },
    Reader {
        name: "links",
        bound: "100,000",
        size: 10_000,
        input: |n| text("", n, |i| format!("<a href='a{i}/../{i}'>"), ""),
        read: |page_bytes| drop(links(page_bytes, &page())),
    },
    Reader {
        name: "assets: candidates of an image",
        bound: "100,000",
        size: 10_000,
        input: |n| text("<img srcset='", n, |i| format!("/{i} 1x,"), "'>"),
        read: |page_bytes| drop(assets(page_bytes, &page())),
    },
    Reader {
        name: "assets: imports of a style",
        bound: "100,000",
        size: 10_000,
        input: |n| text("<style>", n, |i| format!("@import '{i}';/*"), "*/"),
        read: |page_bytes| drop(assets(page_bytes, &page())),
    },
    Reader {
        name: "a title that never ends",
        bound: "1 MiB",
        size: 1 << 20,
        input: |n| text("<title>", n / 8, |_| "</titl&lt".to_owned(), ""),
        read: |page| drop(title(page)),
    },
    Reader {
        name: "the reason of a failed page",
        bound: "256 KiB",
        size: 10_000,
        input: |n| text("", n, |i| format!("<li class=errorlist>{i}"), ""),
        read: |page| drop(reason(page, true)),
    },
    Reader {
        name: "XML: elements",
        bound: "linear",
        size: 10_000,
        input: |n| text("<a>", n, |i| format!("<b c='&lt;{i}'>&amp;</b>"), "</a>"),
        read: xml,
    },
    Reader {
        name: "XML: attributes of a tag",
        bound: "2,000",
        size: 2_000,
        input: |n| text("<a", n, |i| format!(" a{i}=''"), "/>"),
        read: xml,
    },
    Reader {
        name: "XML: elements within each other",
        bound: "1,024",
        size: 1_024,
        input: |n| text("", n, |_| "<a>".to_owned(), ""),
        read: xml,
    },
];

#[test]
fn pages_are_read_in_proportion_to_their_size() {
    assert_bounded(READERS);
}
