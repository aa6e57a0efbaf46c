//! Tests of the scanner.

use super::{ScannedElement, Scanner};

/// Returns every element found, with its attributes as `name=value`.
fn tags(page: &str) -> Vec<(ScannedElement, String)> {
    let mut scanner = Scanner::new(page.as_bytes());
    let mut found = Vec::new();
    while let Some(element) = scanner.next() {
        let mut attributes = Vec::new();
        while let Some((name, value)) = scanner.attribute() {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            attributes.push(format!("{}={}", text(name), text(value)));
        }
        if scanner.is_whole() {
            found.push((element, attributes.join(" ")));
        }
    }
    found
}

#[test]
fn attributes_are_read_however_they_are_quoted() {
    let page = "<IMG Src = \"a>b\"\nalt='it\"s' width=5 hidden/><a href=/x/>t</a><a =b c==d e=>";
    let expected = [
        (ScannedElement::Img, "Src=a>b alt=it\"s width=5 hidden="),
        (ScannedElement::A, "href=/x/"),
        (ScannedElement::A, "=b= c==d e="),
    ];
    assert_eq!(tags(page), expected.map(|(e, a)| (e, a.to_owned())));
}

#[test]
fn comments_scripts_and_templates_hide_their_tags() {
    for hidden in [
        "<!-- <img> -->",
        "<!-- > <img> --!>",
        "<!--><!--->",
        "<!-- a -- <img> -->",
        "<!doctype html><?php <img ?>",
        "</ <img>",
        "<script>'<img>' </x</script>",
        "<SCRIPT>'</scripts><img>'</Script >",
        "<textarea><img></textarea><noscript><img></noscript>",
        "<template><img><template><a></template><style></style><img></template>",
        "<svg><script href=x /><title/></svg>",
        "<imgs><im g>a < b<1",
    ] {
        let page = format!("{hidden}<img id=x>");
        let found = tags(&page)
            .into_iter()
            .filter(|(e, _)| *e != ScannedElement::Script);
        assert_eq!(
            found.collect::<Vec<_>>(),
            [(ScannedElement::Img, "id=x".to_owned())],
            "{hidden}"
        );
    }
}

#[test]
fn a_tag_that_the_page_ends_in_is_dropped() {
    for cut in [
        "<img",
        "<img ",
        "<img src",
        "<img src=",
        "<img src=a",
        "<img src=\"a>",
        "<!-- <img>",
    ] {
        assert_eq!(tags(cut), [], "{cut}");
    }
}

#[test]
fn raw_text_is_what_stands_before_its_own_end_tag() {
    let mut scanner = Scanner::new(b"<style media=all>a</b> < </styles></STYLE><a>");
    assert_eq!(scanner.next(), Some(ScannedElement::Style));
    assert_eq!(scanner.text(), b"a</b> < </styles>");
    assert_eq!(scanner.next(), Some(ScannedElement::A));
    let mut scanner = Scanner::new(b"<style>never closed");
    assert_eq!(scanner.next(), Some(ScannedElement::Style));
    assert_eq!(scanner.text(), b"never closed");
    assert_eq!(scanner.next(), None);
}
