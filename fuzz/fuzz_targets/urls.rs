//! References, a line each, resolved one after the other as redirects and links are: what comes out is what the
//! URL standard says, and a URL.
#![no_main]

use lgoose_http::Target;
use libfuzzer_sys::fuzz_target;
use url::Url;

fuzz_target!(|input: &str| {
    let page = Url::parse("http://127.0.0.1:8080/dir/page?q=1").expect("a URL");
    let mut target = Target::of(&page).expect("a target");
    for reference in input.lines() {
        let expected = target.url().join(reference);
        let Ok(next) = target.join(reference) else {
            continue;
        };
        let Ok(mut expected) = expected else {
            // More than two slashes are as two for Chromium and the standard, not for the crate.
            let slashes = reference.trim_matches(|c| c <= ' ').chars().filter(|c| !matches!(c, '\t' | '\r' | '\n'));
            assert!(slashes.take_while(|c| matches!(c, '/' | '\\')).count() > 2, "{reference:?}");
            target = next;
            continue;
        };
        expected.set_fragment(None);
        let (_, _) = (expected.set_username(""), expected.set_password(None));
        // The standard of today encodes these in a path, and so does Chromium; the crate does not.
        let path = expected.path().replace('|', "%7C").replace('^', "%5E");
        expected.set_path(&path);
        assert_eq!(next.url(), expected, "{reference:?}");
        target = next;
    }
});
