//! A selector of the plan, up to the first zero byte, against a page: what is behind it.
#![no_main]

use lgoose_html::{Document, Selector};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|byte| *byte == 0).unwrap_or(0);
    let css = String::from_utf8_lossy(&input[..end]);
    // Selectors come from a plan: they are short.
    if css.len() > 200 {
        return;
    }
    let Ok(selector) = Selector::parse(&css) else {
        return;
    };
    let document = Document::parse(&input[end..]);
    for key in document.select(&selector, None) {
        document.text(key);
        document.attrs(key).count();
        document.select(&selector, Some(key));
    }
});
