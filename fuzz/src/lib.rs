//! What the fuzz targets call: the readers of bytes from outside, each with rules that must hold for any bytes. A function
//! panics if one is broken. `tests/readers` calls them with the inputs of `corpus`.

use lgoose_base::yaml;
use lgoose_html::{self as html, Document, Selector, find_form};
use lgoose_http::{Target as RequestTarget, fuzzing};
use lgoose_import::{ImportOptions, import};
use lgoose_lua::{decode_any_message, read_any_descriptions, read_in_pieces};
use std::borrow::Cow;
use url::Url;

/// A reader, which takes any bytes.
pub type Target = fn(&[u8]);

/// The targets with their names.
pub const TARGETS: [(&str, Target); 18] = [
    ("html", html),
    ("forms", forms),
    ("css", css),
    ("xml", xml),
    ("cookies", cookies),
    ("urls", urls),
    ("head", head),
    ("chunks", chunks),
    ("codings", codings),
    ("http2", http2),
    ("websocket", websocket),
    ("events", events),
    ("grpc", grpc),
    ("protobuf", protobuf),
    ("schemas", schemas),
    ("yaml", yaml),
    ("imports", imports),
    ("reports", reports),
];

/// The content codings of [`codings`].
const CODINGS: [&str; 7] = [
    "gzip",
    "deflate",
    "br",
    "zstd",
    "gzip, br",
    "zstd, gzip",
    " ,x-gzip;",
];

/// The names of the files of [`imports`].
const NAMES: [&str; 6] = ["a.har", "a.json", "a.jmx", "a.yml", "a.js", "a.txt"];

fn page() -> Url {
    Url::parse("http://goose.test:8080/dir/page?q=1").expect("a URL")
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Splits off the first byte, which is a choice of the input.
fn choice(input: &[u8]) -> (usize, &[u8]) {
    input
        .split_first()
        .map_or((0, &[]), |(first, rest)| (usize::from(*first), rest))
}

/// A page's title, reason, assets and links.
pub fn html(body: &[u8]) {
    html::title(body);
    for is_error in [false, true] {
        let reason = html::reason(body, is_error);
        assert!(reason.is_none_or(|reason| reason.chars().count() <= 201));
    }
    let (assets, links) = (html::assets(body, &page()), html::links(body, &page()));
    for found in assets.iter().chain(&links) {
        let url = Url::parse(found).expect("what is found can be requested");
        assert!(matches!(url.scheme(), "http" | "https"), "{found}");
    }
    html::decode_entities(&text(body));
}

/// Every form of a page, as it would be sent.
pub fn forms(body: &[u8]) {
    let document = Document::parse(body);
    let forms = Selector::parse("form").expect("a selector");
    for key in document.select(&forms, None) {
        document.html(key);
    }
    find_form(&document, Some(&document.select(&forms, None)), &page());
    let button = Selector::parse("[name=op], input").expect("a selector");
    find_form(&document, Some(&document.select(&button, None)), &page());
    find_form(&document, None, &page());
}

/// A selector of the plan, up to the first zero byte, against a page: what is behind it.
pub fn css(input: &[u8]) {
    let end = input.iter().position(|byte| *byte == 0).unwrap_or(0);
    let css = text(&input[..end]);
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
}

/// A document of XML.
pub fn xml(bytes: &[u8]) {
    if let Ok(document) = Document::parse_xml_while(&text(bytes), 64 << 20, &mut |_| true) {
        let all = Selector::parse("*").expect("a selector");
        for key in document.select(&all, None) {
            document.text(key);
        }
    }
}

/// `Set-Cookie` lines from one URL, asked for by another: both come first, a line each.
pub fn cookies(input: &[u8]) {
    let mut lines = input.split(|byte| *byte == b'\n');
    let mut url = || text(lines.next().unwrap_or_default()).into_owned();
    let (from, to) = (url(), url());
    fuzzing::cookies(lines, &from, &to);
}

/// References, a line each, resolved one after the other as redirects and links are: what comes out is what the
/// URL standard says, and a URL.
pub fn urls(input: &[u8]) {
    let Ok(input) = str::from_utf8(input) else {
        return;
    };
    let page = Url::parse("http://127.0.0.1:8080/dir/page?q=1").expect("a URL");
    let mut target = RequestTarget::of(&page).expect("a target");
    for reference in input.lines() {
        let expected = target.url().join(reference);
        let Ok(next) = target.join(reference) else {
            continue;
        };
        let Ok(mut expected) = expected else {
            // More than two slashes are as two for Chromium and the standard, not for the crate.
            let reference = reference.trim_matches(|c| c <= ' ');
            let slashes = reference
                .chars()
                .filter(|c| !matches!(c, '\t' | '\r' | '\n'));
            let slashes = slashes.take_while(|c| matches!(c, '/' | '\\')).count();
            assert!(slashes > 2, "{reference:?}");
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
}

/// The start of an answer of HTTP/1.1, cut in two where the first byte says.
pub fn head(input: &[u8]) {
    let (cut, bytes) = choice(input);
    fuzzing::head(bytes, cut);
}

/// A chunked body in pieces of the size that the first byte says.
pub fn chunks(input: &[u8]) {
    let (size, bytes) = choice(input);
    fuzzing::chunks(bytes, size);
}

/// A body with the content codings that the first byte picks.
pub fn codings(input: &[u8]) {
    let (pick, body) = choice(input);
    fuzzing::coding(CODINGS[pick % CODINGS.len()], body);
}

/// What a server of HTTP/2 sends, in pieces of the size that the first byte says.
pub fn http2(input: &[u8]) {
    let (size, bytes) = choice(input);
    fuzzing::http2(bytes, size);
}

/// What a server sends over a WebSocket, in pieces of the size that the first byte says, compressed if it is even.
pub fn websocket(input: &[u8]) {
    let (size, bytes) = choice(input);
    fuzzing::websocket(bytes, size, size.is_multiple_of(2));
}

/// Server-sent events and lines, in pieces of the size that the first byte says.
pub fn events(input: &[u8]) {
    let (size, bytes) = choice(input);
    read_in_pieces(bytes, size);
}

/// The body of a call of gRPC, in pieces of the size that the first byte says, of gRPC-Web if it is even.
pub fn grpc(input: &[u8]) {
    let (size, bytes) = choice(input);
    fuzzing::grpc(bytes, size, size.is_multiple_of(2));
}

/// Messages of Protocol Buffers that a server sends, as tables of a plan.
pub fn protobuf(input: &[u8]) {
    decode_any_message(input);
}

/// Descriptions of schemas that a server sends, each after its length in four bytes.
pub fn schemas(input: &[u8]) {
    read_any_descriptions(input);
}

/// A document of YAML.
pub fn yaml(bytes: &[u8]) {
    // Whether it is one does not matter.
    let _parsed = yaml::parse(&text(bytes));
}

/// A file of another tool, of the kind that the first byte picks.
pub fn imports(input: &[u8]) {
    let (pick, bytes) = choice(input);
    // Whether it can be imported does not matter.
    let _imported = import(NAMES[pick % NAMES.len()], bytes, &ImportOptions::default());
}

/// A report of a run.
pub fn reports(bytes: &[u8]) {
    // Whether it is one does not matter.
    let _read = lgoose_report::json::from_json(&text(bytes), "run.json");
}
