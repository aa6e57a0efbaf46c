//! Every form of a page, from any bytes, as it would be sent.
#![no_main]

use lgoose_html::{Document, Selector, find_form};
use libfuzzer_sys::fuzz_target;
use url::Url;

fuzz_target!(|body: &[u8]| {
    let page = Url::parse("http://goose.test/dir/page").expect("a URL");
    let document = Document::parse(body);
    let forms = Selector::parse("form").expect("a selector");
    for key in document.select(&forms, None) {
        document.html(key);
    }
    find_form(&document, Some(&document.select(&forms, None)), &page);
    let button = Selector::parse("[name=op], input").expect("a selector");
    find_form(&document, Some(&document.select(&button, None)), &page);
    find_form(&document, None, &page);
});
