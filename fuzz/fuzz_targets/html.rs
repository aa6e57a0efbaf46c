//! A page's title, reason, assets and links, from any bytes.
#![no_main]

use lgoose_html as html;
use libfuzzer_sys::fuzz_target;
use url::Url;

fuzz_target!(|body: &[u8]| {
    let page = Url::parse("http://goose.test:8080/dir/page?q=1").expect("a URL");
    html::title(body);
    for is_error in [false, true] {
        let reason = html::reason(body, is_error);
        assert!(reason.is_none_or(|reason| reason.chars().count() <= 201));
    }
    for found in html::assets(body, &page)
        .iter()
        .chain(&html::links(body, &page))
    {
        let url = Url::parse(found).expect("what is found can be requested");
        assert!(matches!(url.scheme(), "http" | "https"), "{found}");
    }
    html::decode_entities(&String::from_utf8_lossy(body));
});
