//! The memory that lgoose counts for what plans hold outside of Lua, beside what the allocator gives for it. One test,
//! because the allocator's figures are those of the whole process.

use lgoose_html::Document;
use lgoose_lua::CompiledRegex;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Makes a value and returns the bytes that the allocator holds for it.
fn allocated<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = dhat::HeapStats::get().curr_bytes;
    let made = make();
    (made, dhat::HeapStats::get().curr_bytes - before)
}

fn assert_close(what: &str, counted: usize, allocated: usize) {
    let ratio = counted as f64 / allocated as f64;
    assert!(
        (0.8..=1.2).contains(&ratio),
        "{what}: {counted} bytes counted, {allocated} allocated"
    );
}

#[test]
fn what_is_counted_is_within_a_fifth_of_what_is_allocated() {
    let _profiler = dhat::Profiler::builder().testing().build();
    // What is made once per process, such as the names of elements.
    drop(Document::parse(b"<p class=a>text"));
    drop(CompiledRegex::compile("a"));

    let article = "<article class='node teaser' id=n1><h2><a href='/node/1'>Title of it</a></h2>\
                   <p>Some text of a paragraph that is as long as one.</p></article>";
    for (what, page) in [
        ("a page of articles", article.repeat(400)),
        ("a page of articles a bit longer", article.repeat(530)),
        ("paragraphs without text", "<p>".repeat(20_000)),
        ("one long text", format!("<p>{}", "words ".repeat(50_000))),
        (
            "a text of several pieces",
            format!("<p>{}", "words ".repeat(2_700_000)),
        ),
        ("many short texts", "<b>a</b>b".repeat(10_000)),
        (
            "a table",
            format!("<table>{}", "<tr><td>1<td>2<td>3".repeat(5_000)),
        ),
        (
            "attributes",
            "<i a=1 b=2 c='three and more' d>x</i>".repeat(5_000),
        ),
        (
            "formatting that is left open",
            format!(
                "{}{}",
                "<b class=x1><i class=x2><u>".repeat(20),
                "<p>word".repeat(500)
            ),
        ),
    ] {
        let (document, bytes) = allocated(|| Document::parse(page.as_bytes()));
        assert_close(what, document.weight(), bytes);
    }
    for pattern in [
        r"name=.form_build_id. value=.([\w-]+)",
        r"\w{5,20}",
        r"(?i)set-cookie: ([^;]+); path=(/[a-z0-9/]*)",
        r"[a-z]{1,500}",
        r"\pL{30}",
        r"(foo|bar|baz|qux){1,50}",
        "literal",
        "one|two|three",
        "a literal that is as long as the beginning of an error message of a site",
    ] {
        let (compiled, bytes) = allocated(|| CompiledRegex::compile(pattern));
        let compiled = compiled.expect("a pattern");
        assert_close(pattern, compiled.weight, bytes);
    }
}
